"""Find the borders between cases along one quantity, by interval enclosures and bisection.

There is no border in a box where the enclosure of the case is a single value. Other boxes are
halved until they are narrow. Bisection then locates each border between two neighbouring floats or
whole numbers. Many lines are searched together: the same quantity varies along all of them, and the
other quantities are fixed, at different values on each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.intervals import (
    ARRAY_ALGEBRA,
    Decision,
    EvaluationStep,
    Interval,
    PartialEvaluation,
    interval_algebra,
    interval_of,
    run_steps,
)
from symbolic.ops import Node, constant, reference, references, where
from symbolic.primitives.rule_operations import all_true, any_true

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class CaseLines:
    """A case along one quantity, on lines on which all other quantities are fixed.

    Subexpressions that do not depend on the varying quantity are computed once.
    """

    def __init__(self, root: Node, name: str, others: Mapping[str, Any]) -> None:
        root = constant(where(root, 1.0, 0.0)) if root.is_boolean else root
        values = {
            key: np.atleast_1d(np.asarray(others[key], dtype=float))
            for key in references(root)
            if key != name
        }
        parted = PartialEvaluation((root,), (name,), values)
        self.root, self.variable, self.steps = root, reference(name), parted.steps
        self.fixed_values = {node: np.asarray(value) for node, value in parted.fixed_values.items()}
        self.fixed_intervals = {n: _point_enclosure(a) for n, a in self.fixed_values.items()}

    def evaluate(self, line: Indices, x: Floats) -> Floats:
        """Return the case at each value ``x[i]`` on the line ``line[i]``; -1 for NaN."""
        result = np.empty(line.size)
        for first in range(0, line.size, sizes.LINES_BATCH):
            part = slice(first, first + sizes.LINES_BATCH)
            done = {n: _select_lines(array, line[part]) for n, array in self.fixed_values.items()}
            done[self.variable] = x[part]
            run_steps(self.steps, done, ARRAY_ALGEBRA)
            result[part] = done[self.root]
        result[np.isnan(result)] = -1.0
        return result

    def is_undecided(self, line: Indices, low: Floats, high: Floats) -> NDArray[np.bool_]:
        """Return a mask of the lines with several possible cases from ``low`` to ``high``."""
        result = np.empty(line.size, dtype=bool)
        for first in range(0, line.size, sizes.LINES_BATCH):
            part = slice(first, first + sizes.LINES_BATCH)
            box = self._enclose(line[part], low[part], high[part])[self.root]
            result[part] = (box.lo < box.hi) | (box.may_be_nan & (box.lo == box.hi))
        return result

    def _enclose(self, line: Indices, low: Floats, high: Floats) -> dict[Node, Any]:
        done: dict[Node, Any] = {
            node: type(box)(*(_select_lines(part, line) for part in box))
            for node, box in self.fixed_intervals.items()
        }
        done[self.variable] = Interval(low, high)
        run_steps(self.steps, done, interval_algebra(outward=False))
        return done

    def restrict(self, low: Floats, high: Floats) -> CaseLines:
        """Return a copy for values from ``low`` to ``high``, with a simpler tree for the case.

        Conditions that always hold or never hold in this range are removed from the tree.
        """
        if low.size > sizes.LINES_BATCH:
            return self
        boxes = self._enclose(np.arange(low.size), low, high)
        decided = {n: flag for n, box in boxes.items() if (flag := _truth_value(box)) is not None}
        same: dict[Node, Node] = {}
        steps: list[EvaluationStep] = []
        for node, op, parts in self.steps:
            args = tuple(same.get(arg, arg) for arg in parts)
            open_ = [arg for arg in args if arg not in decided]
            if node in decided:
                continue
            if op == "where" and args[0] in decided:
                same[node] = args[1 if decided[args[0]] else 2]
            elif op in ("both", "either") and len(open_) == 1:
                same[node] = open_[0]
            else:
                steps.append((node, op, args))
        lines = copy(self)
        lines.root = same.get(self.root, self.root)
        used, lines.steps = {lines.root}, []
        for node, op, args in reversed(steps):
            if node in used:
                used.update(args)
                lines.steps.append((node, op, args))
        lines.steps.reverse()
        fixed = self.fixed_values | {node: np.asarray(flag) for node, flag in decided.items()}
        lines.fixed_values = {node: array for node, array in fixed.items() if node in used}
        lines.fixed_intervals = {n: _point_enclosure(a) for n, a in lines.fixed_values.items()}
        return lines


def _select_lines(array: Any, line: Indices) -> Any:
    return array[line] if getattr(array, "size", 1) > 1 else array


def _truth_value(box: Interval | Decision) -> bool | None:
    if isinstance(box, Decision):
        if all_true(box.certain):
            return True
        if not any_true(box.possible):
            return False
    return None


def _point_enclosure(array: Any) -> Interval | Decision:
    return Decision(array, array) if array.dtype == bool else interval_of(array)


MAX_HALVINGS, _MAX_OPEN_PIECES = sizes.GAP_DEPTH, sizes.GAP_WIDE
_SMALLEST_FLOAT = 5e-324
_FIRST_LINE = np.zeros(1, dtype=np.int64)
#: Two borders at a smaller relative distance are merged, because the terms between them are equal
#: up to rounding.
_TIE_TOLERANCE = 1e-11
#: A border is rounded to _DIGITS digits if the result lies within this relative tolerance of its
#: bracket.
_DIGITS, _ROUNDING_TOLERANCE = 11, 2e-12


class Crossings(NamedTuple):
    """The borders between cases, in order along each line.

    A border lies between the neighbouring numbers ``low`` and ``high``; ``before`` and ``after``
    are the cases at these numbers. ``undecided_gaps`` counts the gaps between two given values in
    which enclosures could not exclude further borders. In such a gap, a case that begins and ends
    between two evaluated points can be missed.
    """

    line: Indices
    low: Floats
    high: Floats
    before: Floats
    after: Floats
    undecided_gaps: int


def find_crossings(
    root: Node, name: str, others: Mapping[str, Any], edges: Floats, *, whole: bool = False
) -> Crossings:
    """Return the values of a quantity at which the case changes, on each line.

    ``root`` is the case, or a condition, which counts as a case with the values 1 and 0. ``others``
    are the values of the other quantities: numbers, or arrays with one number per line. ``edges``
    (shape: lines, points) has ascending values of the quantity for each line; the search covers the
    range from the first to the last. ``whole`` says that the quantity takes whole numbers.
    """
    return _find_along(CaseLines(root, name, others), np.asarray(edges, dtype=float), whole)


def _find_along(lines: CaseLines, edges: Floats, whole: bool) -> Crossings:
    lines = lines.restrict(edges[:, 0], edges[:, -1])
    extra_line, extra_x, undecided = _refine_gaps(lines, edges, whole)
    line = np.concatenate([np.repeat(np.arange(len(edges)), edges.shape[1]), extra_line])
    x = np.concatenate([edges.reshape(-1), extra_x])
    order = np.lexsort((x, line))
    line, x = line[order], x[order]
    case = lines.evaluate(line, x)
    change = np.flatnonzero((line[1:] == line[:-1]) & (case[1:] != case[:-1]))
    brackets = line[change], x[change], x[change + 1], case[change], case[change + 1]
    result = _narrow_brackets(lines, brackets, whole)
    order = np.lexsort((result[1], result[0]))
    line, low, high, before, after = (part[order] for part in result)
    return _merge_ties(Crossings(line, low, high, before, after, undecided), whole)


def first_crossing(
    lines: CaseLines, path: Floats, *, whole: bool = False
) -> tuple[float, float] | None:
    """Return the last value on a path before a condition becomes true, and the first value after.

    ``path`` has ascending or descending values; its first value is not tested. Return None if the
    condition never becomes true.
    """
    if path.size < 2:
        return None
    rising = bool(path[1] > path[0])
    result = _find_along(lines, np.sort(path)[None, :], whole)
    before, after = (0.0, 1.0) if rising else (1.0, 0.0)
    hits = np.flatnonzero((result.before == before) & (result.after == after))
    if not hits.size:
        holds = not result.line.size and lines.evaluate(_FIRST_LINE, path[1:2])[0]
        return (float(path[0]), float(path[1])) if holds else None
    place = hits[0] if rising else hits[-1]
    low, high = float(result.low[place]), float(result.high[place])
    return (low, high) if rising else (high, low)


def _merge_ties(borders: Crossings, whole: bool) -> Crossings:
    """Merge borders that are close together, and drop borders at which the case does not change."""
    if whole or not borders.line.size:
        return borders
    far = np.diff(borders.low) > _TIE_TOLERANCE * np.abs(borders.low[1:])
    separate = np.concatenate([[True], far | (np.diff(borders.line) > 0)])
    first = np.flatnonzero(separate)
    last = np.append(first[1:], separate.size) - 1
    real = borders.before[first] != borders.after[last]
    first, last = first[real], last[real]
    return Crossings(
        borders.line[first],
        borders.low[first],
        borders.high[last],
        borders.before[first],
        borders.after[last],
        borders.undecided_gaps,
    )


def border_positions(borders: Crossings) -> Floats:
    """Return a number for each border: a short decimal in its bracket if any, or the lower end."""
    low, high = borders.low, borders.high
    middle = low / 2 + high / 2
    with np.errstate(all="ignore"):
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.abs(middle))))
        short = np.where(middle == 0, 0.0, np.rint(middle * scale) / scale)
        room = _ROUNDING_TOLERANCE * np.abs(middle)
    inside = (short >= low - room) & (short <= high + room)
    return np.asarray(np.where(inside, short, low))


def _subdivide(
    low: Floats, high: Floats, parts: int, whole: bool, *, to_zero: bool = False
) -> Floats:
    share = np.arange(parts + 1) / parts
    a, b = low[:, None], high[:, None]
    least = np.where(a == 0, _SMALLEST_FLOAT, a) if to_zero else a
    far = (least > 0) & (b > 4 * least)
    with np.errstate(all="ignore"):
        places = np.exp2(np.log2(least) * (1 - share) + np.log2(b) * share)
    places = np.where(far, places, a * (1 - share) + b * share)
    places = np.rint(places) if whole else places
    places[:, 0], places[:, -1] = low, high
    return np.asarray(np.minimum(np.maximum.accumulate(places, axis=1), b))


def _refine_gaps(lines: CaseLines, edges: Floats, whole: bool) -> tuple[Indices, Floats, int]:
    """Return extra points in the gaps between edges, and the number of undecided gaps.

    The points are dense near borders. They are two arrays: the index of each point's line, and the
    point's value.
    """
    count, gaps = len(edges), edges.shape[1] - 1
    if gaps == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0), 0
    line = np.arange(count)
    first, last = np.zeros(count, dtype=np.int64), np.full(count, gaps)
    open_gaps: list[tuple[Indices, Indices]] = []
    while line.size:  # select gaps that may contain a border
        open_ = lines.is_undecided(line, edges[line, first], edges[line, last])
        line, first, last = line[open_], first[open_], last[open_]
        single = last - first <= 1
        open_gaps.append((line[single], first[single]))
        line, first, last = line[~single], first[~single], last[~single]
        parts = sizes.GAP_FINE if line.size < sizes.GAP_FEW else 2
        ends = first[:, None] + (last - first)[:, None] * np.arange(parts + 1) // parts
        some = ends[:, 1:] > ends[:, :-1]
        line = np.repeat(line, some.sum(axis=1))
        first, last = ends[:, :-1][some], ends[:, 1:][some]
    line, gap = (np.concatenate([part[k] for part in open_gaps]) for k in (0, 1))
    low, high = edges[line, gap], edges[line, gap + 1]
    owner = np.arange(line.size)
    extra: list[tuple[Indices, Floats]] = []
    given_up, depth = 0, 0
    while depth < MAX_HALVINGS and line.size:
        parts = sizes.GAP_FINE if line.size < sizes.GAP_FEW else 2
        depth += parts.bit_length() - 1
        places = _subdivide(low, high, parts, whole)
        some = places[:, 1:] > places[:, :-1]
        some[some.sum(axis=1) < 2] = False  # no number lies between the ends
        pieces = some.sum(axis=1)
        line, owner = np.repeat(line, pieces), np.repeat(owner, pieces)
        low, high = places[:, :-1][some], places[:, 1:][some]
        extra.append((line, low))
        open_ = lines.is_undecided(line, low, high)
        line, owner, low, high = line[open_], owner[open_], low[open_], high[open_]
        left = np.bincount(owner) if owner.size else np.zeros(0, dtype=np.int64)
        given_up += int((left > _MAX_OPEN_PIECES).sum())
        few = left[owner] <= _MAX_OPEN_PIECES
        line, owner, low, high = line[few], owner[few], low[few], high[few]
    if not extra:
        return np.zeros(0, dtype=np.int64), np.zeros(0), given_up
    result, xs = (np.concatenate([part[k] for part in extra]) for k in (0, 1))
    return result, xs, given_up


def _narrow_brackets(lines: CaseLines, brackets: tuple[Any, ...], whole: bool) -> list[Any]:
    """Narrow each bracket to two neighbouring numbers; a bracket with a third case is split."""
    done: list[tuple[Any, ...]] = []
    while brackets[0].size:
        line, low, high, before, after = brackets
        parts = max(2, min(sizes.GAP_PARTS, sizes.BRACKETS_BATCH // line.size))
        places = _subdivide(low, high, parts, whole, to_zero=True)
        ends = ~((places > low[:, None]) & (places < high[:, None])).any(axis=1)
        done.append(tuple(part[ends] for part in brackets))
        line, places = line[~ends], places[~ends]
        inner = places[:, 1:-1]
        case = lines.evaluate(np.repeat(line, inner.shape[1]), inner.reshape(-1))
        case = case.reshape(inner.shape)
        case = np.concatenate([before[~ends][:, None], case, after[~ends][:, None]], axis=1)
        row, place = np.nonzero(case[:, 1:] != case[:, :-1])
        low, high = places[row, place], places[row, place + 1]
        brackets = line[row], low, high, case[row, place], case[row, place + 1]
    if not done:
        return list(brackets)
    return [np.concatenate([part[k] for part in done]) for k in range(5)]
