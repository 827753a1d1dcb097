"""Inputs within ± over a grid: between which values each output lies, and what can be the best."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.problem import Boxes, Extremes, Problem, joined
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid, Leaf
from sweeps.prove.parts import best_within, parts_of
from sweeps.prove.targets import Meeting
from sweeps.runtime.loop import Tally
from symbolic.intervals import Interval, Trend, interval_of, trend_number, trends
from symbolic.ops import Node, constant, interpret_all, interpret_arrays, references, where
from symbolic.primitives.words import EVERY, any_of, choose, is_empty

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

    ``known`` holds a number, or one for each configuration; the ends do the latter.
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
        low, high = ({n: side[n][chosen] for n in self.moving} for side in (self.low, self.high))
        return low, high


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

    def each(leaf: Leaf) -> Any:
        return np.broadcast_to(np.asarray(at(leaf), dtype=float), len(numbers))

    used = references(root)
    uncertain = {one.name: one for one in inputs if one.name in used}
    leaves = grid.leaves[key]
    return Spread(
        root=root,
        known={name: at(leaves[name]) for name in used if name not in uncertain},
        low={name: each(one.low[key]) for name, one in uncertain.items()},
        high={name: each(one.high[key]) for name, one in uncertain.items()},
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

    The space of the inputs is cut into at most so many cells; within one, a configuration cannot be
    the best whose least is above the most of another one that is ``sure`` to be feasible.
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


def _between(low: Floats, high: Floats, share: float) -> Floats:
    """Return what lies a share of the way from low to high; at both ends these themselves."""
    return (high if share else low) if share in (0.0, 1.0) else low + (high - low) * share


def _part(spread: Spread, cell: Mapping[str, tuple[float, float]], some: Any) -> Spread:
    """Some configurations within a cell of the inputs, of which all numbers count."""
    low, high = spread.ends(some)
    return Spread(
        root=spread.root,
        known={n: (np.asarray(v)[some] if np.ndim(v) else v) for n, v in spread.known.items()},
        low={name: _between(low[name], high[name], cell[name][0]) for name in low},
        high={name: _between(low[name], high[name], cell[name][1]) for name in low},
        whole=frozenset(),
        count=some.size,
    )


# --- Which of very many configurations can be the best: boxes of configurations are halved
# A box is dropped where, in every cell of the inputs, its least is above the most of some
# configuration. What is the best at the middle and at the corners of the inputs is found by proof,
# so that it certainly can be.


#: Parts of each input, by how many inputs there are; boxes bounded together.
_PARTS, _TOGETHER = {1: 32, 2: 8, 3: 4}, sizes.RIVALS_TOGETHER
#: Parts of each input for chances, where no more boxes than these are left.
_FINE, _FEW = {1: 512, 2: 24, 3: 8}, sizes.RIVALS_FEW


class _Band:
    """The extremes of an input between two ends over ranges of indices."""

    def __init__(self, low: Leaf, high: Leaf, places: Sequence[int]) -> None:
        self.low, self.high = Extremes(low, places), Extremes(high, places)

    def __call__(self, lo: Any, hi: Any) -> Trend:
        a, b = self.low(lo, hi), self.high(lo, hi)
        undefined = any_of(a.range.undefined, b.range.undefined)
        empty = is_empty(undefined, a.range.lo, b.range.hi)  # a NaN among the ends of each
        least, most = choose(empty, np.inf, a.range.lo), choose(empty, -np.inf, b.range.hi)
        return Trend(Interval(least, most, undefined), a.up & b.up, a.down & b.down)


class _Within(Problem):
    """An objective over boxes, whatever the inputs are within their ends."""

    def __init__(
        self,
        root: Node,
        leaves: Mapping[str, Leaf],
        sizes: Mapping[str, int],
        ends: Mapping[str, tuple[Leaf, Leaf]],
    ) -> None:
        self.ends = ends
        super().__init__(root, leaves, sizes)
        place = {axis: k for k, axis in enumerate(self.dims)}
        for name, (low, high) in ends.items():
            if name in self.extremes:
                bands: dict[str, Any] = self.extremes
                bands[name] = _Band(low, high, [place[axis] for axis in low.axes])

    def _fixed(self, node: Node) -> Trend:
        if node.op == "reference" and node.args[0] in self.ends:
            low, high = (float(end.array) for end in self.ends[node.args[0]])
            return Trend(interval_of(np.float64(low), np.float64(high)), EVERY, EVERY)
        return super()._fixed(node)

    def least_and_most(self, boxes: Boxes) -> NDArray[np.float64]:
        """Between which numbers the objective lies in each box (rows: least, most)."""
        count = boxes.lo.shape[1]
        found = np.empty((2, count))
        for first in range(0, count, _TOGETHER):
            part = slice(first, first + _TOGETHER)
            held = self.trends(boxes.take(part))[id(self.root)].range
            found[0, part], found[1, part] = held.lo, held.hi
        return found


def rivals(
    grid: Grid, goal: Goal, inputs: Sequence[Uncertain], *, most: int
) -> tuple[Meeting, NDArray[np.float64]]:
    """Boxes outside of which no configuration is the best, whatever the inputs.

    Those that are ``certain`` hold one configuration, which is the best for some values of the
    inputs. ``complete`` where all boxes are single configurations.

    Parameters
    ----------
    grid : Grid
        Without switch axes; its inputs stand at what the study gives them.
    inputs : sequence of Uncertain
        At most three.
    most : int
        How many boxes at most.
    """
    with np.errstate(all="ignore"):
        return _Rivals(grid, goal, inputs).run(most)


class _Rivals:
    def __init__(self, grid: Grid, goal: Goal, inputs: Sequence[Uncertain]) -> None:
        (self.key,) = grid.graphs
        self.grid, self.goal, self.inputs, self.tally = grid, goal, inputs, Tally()
        self.sizes = {axis: grid.axes[axis].size for axis in grid.ordered(dims_of(grid, [goal]))}
        self.root = objective_node(grid, self.key, goal)

    def _at(self, one: Uncertain, share: float) -> Leaf:
        low, high = one.low[self.key], one.high[self.key]
        return replace(low, array=_between(low.array, high.array, share))

    def _cells(self, parts: int) -> list[_Within]:
        """The objective in each cell of the inputs."""
        cuts = [(k / parts, (k + 1) / parts) for k in range(parts)]
        found = []
        for cell in itertools.product(cuts, repeat=len(self.inputs)):
            ends = {
                one.name: (self._at(one, a), self._at(one, b))
                for one, (a, b) in zip(self.inputs, cell, strict=True)
            }
            found.append(_Within(self.root, self.grid.leaves[self.key], self.sizes, ends))
        return found

    def _winners(self) -> NDArray[np.int64]:
        """The best at the middle and at the corners of the inputs; a column each."""
        found = []
        middle = [] if any(one.whole for one in self.inputs) else [(0.5,) * len(self.inputs)]
        for chosen in [*middle, *itertools.product((0.0, 1.0), repeat=len(self.inputs))]:
            own = {o.name: self._at(o, s) for o, s in zip(self.inputs, chosen, strict=True)}
            leaves = {self.key: {**self.grid.leaves[self.key], **own}}
            held = replace(self.grid, leaves=leaves, kept={})
            best = best_within(held, parts_of(held, [self.goal], ()), {}, 0.0, self.tally)
            if best.place is not None and best.bound == best.value:
                found.append([best.place[axis] for axis in self.sizes])
        return np.unique(np.array(found, dtype=np.int64).reshape(-1, len(self.sizes)), axis=0).T

    def run(self, most: int) -> tuple[Meeting, NDArray[np.float64]]:
        """Halve boxes until all are single configurations, or there are enough."""
        winners = self._winners()
        points = Boxes(winners, winners)
        cells = self._cells(1)
        limits = [_limit(cell, points) for cell in cells]
        boxes = cells[0].whole
        fine = False
        while True:
            boxes, limits = self._kept(boxes, cells, limits)
            single = np.all(boxes.lo == boxes.hi, axis=0)
            late = self.tally.late or 2 * boxes.lo.shape[1] > most
            if not fine and (single.all() or late or boxes.lo.shape[1] > _TOGETHER):
                cells, fine = self._cells(_PARTS[len(self.inputs)]), True
                limits = [_limit(cell, points) for cell in cells]
                continue
            if single.all() or late:
                break
            boxes = _halved(boxes, single, cells[0])
        complete = bool(single.all())
        while (split := _holding(boxes, winners) & ~single).any():  # each winner by itself
            longest = np.argmax(boxes.hi - boxes.lo, axis=0)[split]
            boxes = joined([boxes.take(split).halves(longest), boxes.take(~split)])
            single = np.all(boxes.lo == boxes.hi, axis=0)
        found = Meeting(
            dims=tuple(self.sizes),
            lo=boxes.lo,
            hi=boxes.hi,
            certain=_holding(boxes, winners) & single,
            bounded=self.tally.boxes,
            complete=complete,
        )
        if boxes.lo.shape[1] <= _FEW:
            cells = self._cells(_FINE[len(self.inputs)])
        return found, _chances(boxes, cells)

    def _kept(
        self, boxes: Boxes, cells: Sequence[_Within], limits: list[float]
    ) -> tuple[Boxes, list[float]]:
        """The boxes that some cell leaves; what is known of single configurations bounds others."""
        alive, tightened = np.zeros(boxes.lo.shape[1], dtype=bool), []
        single = np.all(boxes.lo == boxes.hi, axis=0)
        for cell, limit in zip(cells, limits, strict=True):
            least, top = cell.least_and_most(boxes)
            self.tally.boxes += least.size
            limit = min([limit, *top[single].tolist()])
            alive |= (least <= limit) & (least < np.inf)
            tightened.append(limit)
        return boxes.take(alive), tightened


def _chances(boxes: Boxes, cells: Sequence[_Within]) -> NDArray[np.float64]:
    """In which share of the cells a box certainly holds the best, and in which it may."""
    found = np.zeros((2, boxes.lo.shape[1]))
    single = np.all(boxes.lo == boxes.hi, axis=0)
    for cell in cells:
        least, top = cell.least_and_most(boxes)
        limit = np.min(top[single], initial=np.inf)
        alive = (least <= limit) & (least < np.inf)
        found[1] += alive
        if np.count_nonzero(alive) == 1 and limit < np.inf:
            found[0] += alive
    return found / len(cells)


def _holding(boxes: Boxes, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which boxes hold one of some places (columns)."""
    lo, hi = boxes.lo[:, :, None], boxes.hi[:, :, None]
    inside = (lo <= places[:, None]) & (places[:, None] <= hi)
    return np.asarray(np.any(np.all(inside, axis=0), axis=1))


def _limit(cell: _Within, points: Boxes) -> float:
    """What some configuration certainly reaches in a cell."""
    return float(np.min(cell.least_and_most(points)[1], initial=np.inf))


def _halved(boxes: Boxes, single: NDArray[np.bool_], problem: _Within) -> Boxes:
    """The boxes of several configurations halved along the axis that parts their bounds most."""
    some, rest = boxes.take(~single), boxes.take(single)
    wide = some.hi > some.lo
    gains = np.full(wide.shape, -np.inf)
    for axis in range(len(wide)):
        own = np.flatnonzero(wide[axis])
        for first in range(0, own.size, _TOGETHER):
            part = own[first : first + _TOGETHER]
            halves = some.take(part).halves(np.full(part.size, axis))
            high = problem.bounded(halves)[0].reshape(2, -1).max(axis=0)
            gains[axis, part] = np.nan_to_num(high, posinf=1e300, neginf=-1e300)
    best = gains >= gains.max(axis=0)  # of equal ones the longest
    axis_of = np.argmax(np.where(best & wide, some.hi - some.lo, -1), axis=0)
    parts = some.halves(axis_of)
    return joined([parts, rest])
