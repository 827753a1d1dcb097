"""Where a case gives way to another along one quantity: bracketed by enclosures, then bisected.

Between the ends of a box in which the enclosure of a case is one value there is no border. What is
left open is halved until it is narrow; the borders within are then located by bisection, to
neighbouring floats or whole numbers. Many lines are followed at once: along each the same quantity
varies, and the others stand at values of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symbolic.intervals import Interval, enclose
from symbolic.ops import Node, constant, interpret_all, references, where

__all__ = ["DEPTH", "Crossings", "crossings", "located"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: How often a gap between two edges is halved, and how many open pieces of it are followed.
DEPTH, WIDE = 20, 32
#: Boxes or points looked at together.
BATCH = 1 << 15
#: How far terms may lie apart that models call equal: a case that holds no further is passed over.
TIE = 1e-11
#: Digits to which a border is rounded, where the number is as near to its bracket.
DIGITS, NEAR = 11, 2e-12


class Crossings(NamedTuple):
    """Borders, in order along each line: the last number before and the first beyond, both cases.

    ``undecided`` counts the gaps between edges of which the enclosures told too little: what
    begins and ends there between two points may be missed.
    """

    line: Indices
    low: Floats
    high: Floats
    before: Floats
    after: Floats
    undecided: int


class _Lines:
    """A case along a quantity, at the values of the others on each line."""

    def __init__(self, root: Node, name: str, others: Mapping[str, Any]) -> None:
        self.root = constant(where(root, 1.0, 0.0)) if root.is_boolean else root
        self.name = name
        used = references(self.root)
        self.others = {key: np.asarray(others[key], dtype=float) for key in used if key != name}

    def _values(self, line: Indices) -> dict[str, Floats]:
        return {key: array[line] if array.ndim else array for key, array in self.others.items()}

    def at(self, line: Indices, x: Floats) -> Floats:
        """The case at points; one that is no number is -1."""
        found = np.empty(line.size)
        for first in range(0, line.size, BATCH):
            some = slice(first, first + BATCH)
            values = self._values(line[some]) | {self.name: x[some]}
            with np.errstate(all="ignore"):
                found[some] = interpret_all((self.root,), values)[0]
        found[np.isnan(found)] = -1.0
        return found

    def open(self, line: Indices, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Where more than one case is possible between two places."""
        found = np.empty(line.size, dtype=bool)
        for first in range(0, line.size, BATCH):
            some = slice(first, first + BATCH)
            values = {key: Interval(v, v) for key, v in self._values(line[some]).items()}
            values[self.name] = Interval(low[some], high[some])
            held: Any = enclose((self.root,), values, outward=False)[0]
            found[some] = (held.lo != held.hi) | held.undefined
        return found


def crossings(
    root: Node, name: str, others: Mapping[str, Any], edges: Floats, *, whole: bool = False
) -> Crossings:
    """Every border of a case, or condition, along a quantity.

    Parameters
    ----------
    root : Node
        The case over quantities; a condition counts as 1 where it holds, else 0.
    name : str
        The quantity that varies.
    others : mapping of str to array
        Values of the others: a number, or one for each line.
    edges : array
        Places along each line (lines, places), rising; also where the line begins and ends.
    whole : bool
        Whether only whole numbers count.

    >>> from symbolic.ops import reference
    >>> x, y = reference("x"), reference("y")
    >>> found = crossings(where(x * x < y, 1, 2), "x", {"y": [2, 9]}, np.array([[0, 4], [0, 4]]))
    >>> located(found).round(6).tolist(), found.before.tolist(), found.after.tolist()
    ([1.414214, 3.0], [1.0, 1.0], [2.0, 2.0])
    """
    edges = np.asarray(edges, dtype=float)
    lines = _Lines(root, name, others)
    extra_line, extra_x, undecided = _halved(lines, edges, whole)
    line = np.concatenate([np.repeat(np.arange(len(edges)), edges.shape[1]), extra_line])
    x = np.concatenate([edges.reshape(-1), extra_x])
    order = np.lexsort((x, line))
    line, x = line[order], x[order]
    case = lines.at(line, x)
    change = np.flatnonzero((line[1:] == line[:-1]) & (case[1:] != case[:-1]))
    brackets = line[change], x[change], x[change + 1], case[change], case[change + 1]
    found = _bisected(lines, brackets, whole)
    order = np.lexsort((found[1], found[0]))
    line, low, high, before, after = (part[order] for part in found)
    return _without_ties(Crossings(line, low, high, before, after, undecided), whole)


def _without_ties(found: Crossings, whole: bool) -> Crossings:
    """Borders that lie next to each other as one, from the case before to the case after both."""
    if whole or not found.line.size:
        return found
    far = np.diff(found.low) > TIE * np.abs(found.low[1:])
    apart = np.concatenate([[True], far | (np.diff(found.line) > 0)])
    first, last = np.flatnonzero(apart), np.append(np.flatnonzero(apart)[1:], apart.size) - 1
    real = found.before[first] != found.after[last]
    first, last = first[real], last[real]
    return Crossings(
        found.line[first],
        found.low[first],
        found.high[last],
        found.before[first],
        found.after[last],
        found.undecided,
    )


def located(found: Crossings) -> Floats:
    """Each border as one number: the short one that lies in its bracket, or as good as there."""
    low, high = found.low, found.high
    middle = low / 2 + high / 2
    with np.errstate(all="ignore"):
        scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(middle))))
        short = np.rint(middle * scale) / scale
        room = NEAR * np.abs(middle)
    inside = (short >= low - room) & (short <= high + room)
    return np.asarray(np.where(inside, short, low))


def _middle(low: Floats, high: Floats, whole: bool) -> Floats:
    """Half way, by factors where the ends lie far apart."""
    far = (low > 0) & (high > 4 * low)
    with np.errstate(all="ignore"):
        middle = np.where(far, np.sqrt(low) * np.sqrt(high), low / 2 + high / 2)
    middle = np.floor(middle) if whole else middle
    return np.asarray(np.clip(middle, low, high))


def _splits(low: Floats, middle: Floats, high: Floats) -> Any:
    return (middle > low) & (middle < high)


def _halved(lines: _Lines, edges: Floats, whole: bool) -> tuple[Indices, Floats, int]:
    """Places inside of gaps, dense where a border may be; gaps given up."""
    count, gaps = len(edges), edges.shape[1] - 1
    line = np.arange(count)
    first, last = np.zeros(count, dtype=np.int64), np.full(count, gaps)
    held: list[tuple[Indices, Indices]] = []
    while line.size:  # between edges, half by half
        open_ = lines.open(line, edges[line, first], edges[line, last])
        line, first, last = line[open_], first[open_], last[open_]
        single = last - first <= 1
        held.append((line[single], first[single]))
        line, first, last = line[~single], first[~single], last[~single]
        mid = (first + last) // 2
        line = np.concatenate([line, line])
        first, last = np.concatenate([first, mid]), np.concatenate([mid, last])
    line, gap = (np.concatenate([part[k] for part in held]) for k in (0, 1))
    low, high = edges[line, gap], edges[line, gap + 1]
    owner = np.arange(line.size)
    extra: list[tuple[Indices, Floats]] = []
    given_up = 0
    for _ in range(DEPTH):
        middle = _middle(low, high, whole)
        some = _splits(low, middle, high)
        line, owner, low, middle, high = (p[some] for p in (line, owner, low, middle, high))
        if not line.size:
            break
        extra.append((line, middle))
        line, owner = np.tile(line, 2), np.tile(owner, 2)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        open_ = lines.open(line, low, high)
        line, owner, low, high = line[open_], owner[open_], low[open_], high[open_]
        pieces = np.bincount(owner) if owner.size else np.zeros(0, dtype=np.int64)
        given_up += int((pieces > WIDE).sum())
        few = pieces[owner] <= WIDE
        line, owner, low, high = line[few], owner[few], low[few], high[few]
    if not extra:
        return np.zeros(0, dtype=np.int64), np.zeros(0), given_up
    places, xs = (np.concatenate([part[k] for part in extra]) for k in (0, 1))
    return places, xs, given_up


def _bisected(lines: _Lines, brackets: tuple[Any, ...], whole: bool) -> list[Any]:
    """Brackets made as narrow as numbers allow; one that holds a third case becomes two."""
    done: list[tuple[Any, ...]] = []
    while brackets[0].size:
        line, low, high, before, after = brackets
        middle = _middle(low, high, whole)
        ends = ~_splits(low, middle, high)
        done.append(tuple(part[ends] for part in brackets))
        line, low, high, before, after = (part[~ends] for part in brackets)
        middle = middle[~ends]
        case = lines.at(line, middle)
        left, right = case != before, case != after  # on which sides of the middle a border lies
        brackets = tuple(
            np.concatenate([a[left], b[right]])
            for a, b in (
                (line, line),
                (low, middle),
                (middle, high),
                (before, case),
                (case, after),
            )
        )
    if not done:
        return list(brackets)
    return [np.concatenate([part[k] for part in done]) for k in range(5)]
