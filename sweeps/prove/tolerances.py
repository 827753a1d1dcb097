"""Inputs within ± over a grid: between which values each output lies, and what can be the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import Grid, Leaf
from symbolic.intervals import Trend, interval_of, trend_number, trends
from symbolic.ops import Node, constant, interpret_all, interpret_arrays, references, where
from symbolic.primitives.words import EVERY

# --- Between which values a quantity lies where some inputs are known within ±, point by point
# An uncertain input lies between two ends at each configuration. Where a quantity goes one way
# along it, its extreme is at one of them; otherwise the ends are drawn together, piece by piece,
# until the extreme is bracketed closely or there are enough pieces.


Floats = NDArray[np.float64]

#: Rounds of halving; pieces of a configuration, on average; how close is close.
ROUNDS, PARTS, CLOSE = 20, sizes.RANGES_PIECES, 1e-4
#: Configurations looked at together.
TOGETHER = sizes.RANGES_TOGETHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A quantity over configurations, some of its inputs between ends of their own.

    ``known`` and the ends hold a number, or one for each configuration.
    """

    root: Node
    known: Mapping[str, Any]
    low: Mapping[str, Floats]
    high: Mapping[str, Floats]
    whole: frozenset[str]
    count: int

    @property
    def moving(self) -> tuple[str, ...]:
        """The uncertain inputs on which it depends."""
        return tuple(name for name in references(self.root) if name in self.low)

    def values(self, chosen: Any, at: Mapping[str, Floats]) -> Floats:
        """At places within the ends, of some configurations."""
        values = {**self._known(chosen), **at}
        found = interpret_arrays((self.root,), values)[0]
        return np.broadcast_to(np.asarray(found, dtype=float), np.shape(chosen))

    def trend(self, chosen: Any, low: Mapping[str, Floats], high: Mapping[str, Floats]) -> Trend:
        """Enclosed between ends, and how it goes along each of the inputs."""
        values: dict[str, Trend] = {}
        for name, value in self._known(chosen).items():
            values[name] = Trend(interval_of(value), EVERY, EVERY)
        for place, name in enumerate(self.moving):
            bit = np.uint64(1) << np.uint64(place)
            down = np.where(low[name] == high[name], EVERY, EVERY & ~bit)
            values[name] = Trend(interval_of(low[name], high[name]), EVERY, down)
        with np.errstate(all="ignore"):
            found: Trend = interpret_all((self.root,), values, trends(), trend_number)[0]
        return found

    def _known(self, chosen: Any) -> dict[str, Any]:
        names = [name for name in references(self.root) if name not in self.low]
        arrays = {name: np.asarray(self.known[name], dtype=float) for name in names}
        return {n: np.atleast_1d(a[chosen] if a.ndim else a) for n, a in arrays.items()}

    def ends(self, chosen: Any) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """The ends of the inputs at some configurations."""
        sides = []
        for side in (self.low, self.high):
            ends = {name: np.asarray(side[name], dtype=float) for name in self.moving}
            shape = np.shape(chosen)
            sides.append(
                {n: np.broadcast_to(e[chosen] if e.ndim else e, shape) for n, e in ends.items()}
            )
        return sides[0], sides[1]


def least(spread: Spread, *, pieces: int = PARTS) -> Floats:
    """For each configuration a number below which the quantity is certain not to fall.

    It is attained, or all but, where so many pieces suffice; NaN where the quantity may be NaN.
    """
    owner = np.arange(spread.count)
    low, high = spread.ends(owner)
    bound = np.full(spread.count, math.inf)
    attained = np.full(spread.count, math.inf)
    undefined = np.zeros(spread.count, dtype=bool)
    for turn in range(ROUNDS + 1):
        trend = spread.trend(owner, low, high)
        below = np.broadcast_to(trend.range.lo, owner.shape)
        if trend.range.undefined is not False:
            np.logical_or.at(undefined, owner, np.broadcast_to(trend.range.undefined, owner.shape))
        low, high = _settled(spread, trend, low, high)
        point = np.logical_and.reduce([low[name] == high[name] for name in low], axis=0)
        point = np.broadcast_to(point, owner.shape)
        middle = {name: _middle(spread, name, low[name], high[name]) for name in low}
        here = spread.values(owner, middle)
        np.fmin.at(attained, owner, here)
        below = np.where(point, here, below)  # it goes one way along all: the end is the extreme
        goal = attained[owner]
        last = turn == ROUNDS or 2 * owner.size > pieces * spread.count
        near = np.where(np.isfinite(goal), CLOSE * np.abs(goal), 0.0)
        done = point | last | (below >= goal - near) | undefined[owner]
        np.fmin.at(bound, owner[done], below[done])
        if done.all():
            break
        owner, low, high = _split(spread, owner, low, high, ~done)
    return np.where(undefined, math.nan, np.minimum(bound, attained))


def _settled(
    spread: Spread, trend: Trend, low: dict[str, Floats], high: dict[str, Floats]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The ends drawn to the one where the quantity is least, along the inputs it goes one way."""
    found_low, found_high = {}, {}
    for place, name in enumerate(spread.moving):
        bit = np.uint64(1) << np.uint64(place)
        rises, falls = (trend.up & bit) != 0, (trend.down & bit) != 0
        found_high[name] = np.where(rises, low[name], high[name])
        found_low[name] = np.where(falls & ~rises, high[name], low[name])
    return found_low, found_high


def _middle(spread: Spread, name: str, low: Floats, high: Floats) -> Floats:
    middle = low / 2 + high / 2
    middle = np.floor(middle) if name in spread.whole else middle
    return np.asarray(np.clip(middle, low, high))


def _split(
    spread: Spread,
    owner: Any,
    low: dict[str, Floats],
    high: dict[str, Floats],
    chosen: NDArray[np.bool_],
) -> tuple[Any, dict[str, Floats], dict[str, Floats]]:
    """Some pieces halved along the input whose ends lie furthest apart."""
    low = {name: ends[chosen] for name, ends in low.items()}
    high = {name: ends[chosen] for name, ends in high.items()}
    names = list(low)
    with np.errstate(all="ignore"):
        width = np.stack(
            [np.nan_to_num((high[n] - low[n]) / np.maximum(np.abs(high[n]), 1e-300)) for n in names]
        )
    widest = np.argmax(width, axis=0)
    lows, highs = [], []
    for half in (0, 1):
        a, b = dict(low), dict(high)
        for place, name in enumerate(names):
            middle = _middle(spread, name, low[name], high[name])
            mine = widest == place
            step = middle + 1 if name in spread.whole else middle
            if half:
                a[name] = np.where(mine, np.minimum(step, high[name]), low[name])
            else:
                b[name] = np.where(mine, middle, high[name])
        lows.append(a)
        highs.append(b)
    join = [
        {name: np.concatenate([one[name] for one in sides]) for name in names}
        for sides in (lows, highs)
    ]
    return np.tile(owner[chosen], 2), join[0], join[1]


#: Pieces of all configurations, and of one at most.
ALL_PIECES, PIECES = sizes.TOLERANCE_ALL, sizes.TOLERANCE_PIECES


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """An input between two ends, over the axes on which its value depends.

    ``low`` and ``high`` are keyed by the labels of the switch axes.
    """

    name: str
    low: Mapping[tuple[str, ...], Leaf]
    high: Mapping[tuple[str, ...], Leaf]
    whole: bool


def spread_dims(grid: Grid, roots: Mapping[tuple[str, ...], Node]) -> tuple[str, ...]:
    """The axes on which nodes over the leaves depend."""
    found: set[str] = set()
    for key, root in roots.items():
        found |= grid.node_dims(root, key)
    if len({id(root) for root in roots.values()}) > 1:
        found |= set(grid.switch_axes)
    return grid.ordered(found)


def extremes(
    grid: Grid,
    roots: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    inputs: Sequence[Uncertain],
    rules: Mapping[tuple[str, ...], Node],
    *,
    halved: bool = True,
) -> tuple[Floats, Floats]:
    """The least and the most of a node at each configuration, as far as rules allow the inputs.

    Infinite, the wrong way round, where they allow none. ``halved``: the ends are drawn together
    where that takes pieces.
    """
    found = np.empty((2, *grid.shape(dims)))
    pieces = min(max(ALL_PIECES // max(found.size, 1), 1), PIECES) if halved else 1
    plain = grid.plain(dims)
    count = math.prod(grid.shape(plain))
    for key, piece in grid.pieces(found, dims):
        flat = np.empty((2, count))
        for first in range(0, count, TOGETHER):
            numbers = np.arange(first, min(first + TOGETHER, count))
            for side, sign in enumerate((1.0, -1.0)):
                root = _number(roots[key])
                root = constant(root if side == 0 else -1.0 * root)
                root = constant(where(rules[key], root, math.inf)) if key in rules else root
                spread = _spread(grid, key, root, plain, inputs, numbers)
                flat[side, numbers] = sign * least(spread, pieces=pieces)
        piece[...] = flat.reshape(piece.shape)
    return found[0], found[1]


def _number(root: Node) -> Node:
    return constant(where(root, 1.0, 0.0)) if root.is_boolean else root


def _spread(
    grid: Grid,
    key: tuple[str, ...],
    root: Node,
    plain: Sequence[str],
    inputs: Sequence[Uncertain],
    numbers: Any,
) -> Spread:
    """A node at some configurations, numbered in the order of the axes that are no switches."""
    index = unravel(numbers, grid.shape(plain))
    along = dict(zip(plain, index, strict=True))

    def at(leaf: Leaf) -> Any:
        return np.asarray(leaf.array[tuple(along[axis] for axis in leaf.axes)])

    used = references(root)
    uncertain = {one.name: one for one in inputs if one.name in used}
    leaves = grid.leaves[key]
    return Spread(
        root=root,
        known={name: at(leaves[name]) for name in used if name not in uncertain},
        low={name: at(one.low[key]) for name, one in uncertain.items()},
        high={name: at(one.high[key]) for name, one in uncertain.items()},
        whole=frozenset(name for name, one in uncertain.items() if one.whole),
        count=len(numbers),
    )


def can_be_best(
    grid: Grid,
    roots: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    inputs: Sequence[Uncertain],
    held: tuple[Any, Any],
    cells: int,
) -> NDArray[np.bool_]:
    """Which configurations may have the least of a node; see :func:`sweeps.prove.tolerances`.

    ``held``: where every condition certainly holds, and where it may, over ``dims``. Where the axes
    hold switches, configurations under different labels are compared by their extremes alone.
    """
    sure, may = held
    low, high = extremes(grid, roots, dims, inputs, {}, halved=False)
    found = may & _unbeaten(low, high, sure)
    if any(dim in grid.switch_axes for dim in dims):
        return np.asarray(found)
    key = next(iter(roots))
    spread = _spread(grid, key, roots[key], dims, inputs, np.arange(found.size))
    kept = _survivors(spread, found.reshape(-1), np.asarray(sure).reshape(-1), cells)
    return np.asarray(kept.reshape(found.shape))


def _survivors(
    spread: Spread, allowed: NDArray[np.bool_], sure: NDArray[np.bool_], cells: int
) -> NDArray[np.bool_]:
    """Which configurations may be the least, the uncertain inputs being the same for all of them.

    The space of the inputs, each from its low to its high end, is cut into cells; within one, a
    configuration cannot be the best whose least is above the most of another one.

    Parameters
    ----------
    spread : Spread
    allowed, sure : array of bool
        Which configurations may be feasible, and which are whatever the inputs.
    cells : int
        How many at most.
    """
    found = np.zeros(spread.count, dtype=bool)
    names = spread.moving
    whole = dict.fromkeys(names, (0.0, 1.0))
    stack: list[tuple[dict[str, tuple[float, float]], Any, int]] = [
        (whole, np.flatnonzero(allowed), 1)
    ]
    while stack:
        cell, some, count = stack.pop()
        low, high = _both(spread, cell, some)
        some = some[_unbeaten(low, high, sure[some])]
        if not names or count >= cells or some.size < 2 or found[some].all():
            found[some] = True
            continue
        widest = max(cell, key=lambda name: cell[name][1] - cell[name][0])
        a, b = cell[widest]
        halves = ((a, (a + b) / 2), ((a + b) / 2, b))
        stack.extend(({**cell, widest: ends}, some, 2 * count) for ends in halves)
    return found


def _unbeaten(low: Any, high: Any, sure: Any) -> NDArray[np.bool_]:
    """Where the least of a configuration is not above the most of another one that is sure.

    An infinite value is never the best, as in an optimum.
    """
    counts = ~((low == math.inf) | (high == -math.inf))
    most = np.nanmin(np.where(sure & counts, high, math.inf), initial=math.inf)
    return np.asarray(counts & ~(low > most))


def _both(spread: Spread, cell: Mapping[str, tuple[float, float]], some: Any) -> Any:
    """The least and the most within a cell of the inputs, without halving."""
    ends = np.empty((2, some.size))
    for first in range(0, some.size, TOGETHER):
        block = slice(first, first + TOGETHER)
        part = _part(spread, cell, some[block])
        ends[0, block] = least(part, pieces=1)
        ends[1, block] = -least(replace(part, root=constant(-1.0 * part.root)), pieces=1)
    return ends


def _part(spread: Spread, cell: Mapping[str, tuple[float, float]], some: Any) -> Spread:
    """Some configurations within a cell of the inputs, of which all numbers count."""
    low, high = spread.ends(some)

    def at(name: str, share: float) -> Floats:
        if share in (0.0, 1.0):
            return high[name] if share else low[name]
        return low[name] + (high[name] - low[name]) * share

    return Spread(
        root=spread.root,
        known={n: (np.asarray(v)[some] if np.ndim(v) else v) for n, v in spread.known.items()},
        low={name: at(name, cell[name][0]) for name in spread.moving},
        high={name: at(name, cell[name][1]) for name in spread.moving},
        whole=frozenset(),
        count=some.size,
    )
