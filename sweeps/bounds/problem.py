"""Bound an objective over thousands of boxes at once; a box is a range of indices per axis.

In a box, each leaf lies between its minimum and its maximum over the box. From such intervals
:mod:`symbolic.intervals` encloses the objective, and finds the axes along which it rises or falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.grid import FEASIBLE, Grid, Leaf, Tiling
from sweeps.runtime.interrupts import raise_if_interrupted
from sweeps.runtime.search_loop import SearchStats
from symbolic.intervals import (
    Interval,
    Trend,
    enclose,
    interval_algebra,
    literal_trend,
    trend_algebra,
)
from symbolic.intervals import literal_enclosure as interval_number
from symbolic.ops import Node, both, constant, interpret_arrays, references, walk
from symbolic.primitives.rule_operations import ALL_AXES

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
TileNumbers = Indices
Places = Mapping[str, Indices]
Leaves = Mapping[str, Leaf]
#: A ``Key`` has one label for each switch axis. ``Roots`` maps keys to nodes.
Key = tuple[str, ...]
Roots = Mapping[Key, Node]
#: Maximum number of entries in a leaf's table of extremes. If a table would be larger, the leaf is
#: bounded by its extremes over all indices, except in boxes of a single point.
_MAX_SPARSE_TABLE = sizes.EXTREMES_TABLE


class Boxes(NamedTuple):
    """Several boxes: arrays of first and last indices, with a row per axis and a column per box."""

    lo: Indices
    hi: Indices

    @property
    def points(self) -> Floats:
        """Return the number of points in each box."""
        return np.asarray(np.prod((self.hi - self.lo + 1).astype(np.float64), axis=0))

    def take(self, selection: Any) -> Boxes:
        """Return the boxes that an index, slice or mask selects."""
        return Boxes(self.lo[:, selection], self.hi[:, selection])

    def halves(self, axis_of: Indices) -> Boxes:
        """Halve box k along ``axis_of[k]``; return all first halves, then all second halves."""
        at = np.arange(axis_of.size)
        middle = (self.lo[axis_of, at] + self.hi[axis_of, at]) // 2
        lo, hi = (np.tile(ends, 2) for ends in self)
        hi[axis_of, at] = middle
        lo[axis_of, at + axis_of.size] = middle + 1
        return Boxes(lo, hi)

    def all_points(self) -> Indices:
        """Return all points (columns), box by box, and within each box in axis order."""
        sizes = self.hi - self.lo + 1
        counts = np.prod(sizes, axis=0)
        owner = np.repeat(np.arange(counts.size), counts)
        rest = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.empty((len(sizes), rest.size), dtype=np.int64)
        for axis in reversed(range(len(sizes))):
            rest, step = np.divmod(rest, sizes[axis][owner])
            places[axis] = self.lo[axis][owner] + step
        return places


def evenly_spaced(size: int, count: int) -> Indices:
    """Return up to ``count`` evenly spaced indices of an axis; first and last are included."""
    return np.unique(np.linspace(0, size - 1, min(size, count)).astype(np.int64))


def concatenate_boxes(parts: Sequence[Boxes]) -> Boxes:
    """Join several sets of boxes."""
    lo, hi = (np.concatenate([boxes[k] for boxes in parts], axis=1) for k in (0, 1))
    return Boxes(lo, hi)


def best_axis(boxes: Boxes, score: Callable[[Boxes, Indices, int], Floats]) -> Indices:
    """Return, for each box, the axis with the highest score when the box is halved along it.

    ``score(halves, box_indices, axis)`` returns a score above -1 for each box in ``box_indices``;
    ``halves`` has all first halves, then all second halves. The first of equal scores wins.
    """
    count = boxes.lo.shape[1]
    best, axis_of = np.full(count, -1.0), np.zeros(count, dtype=np.int64)
    for axis, (low, high) in enumerate(zip(boxes.lo, boxes.hi, strict=True)):
        wide = np.flatnonzero(low < high)
        if wide.size:
            result = score(boxes.take(wide).halves(np.full(wide.size, axis)), wide, axis)
            better = result > best[wide]
            best[wide[better]], axis_of[wide[better]] = result[better], axis
    return axis_of


def order_by_similarity(rows: Floats, stats: SearchStats | None = None) -> Indices:
    """Return an order of the columns of ``rows`` that puts similar columns next to each other."""
    count = rows.shape[1]
    # compare positive quantities by ratios, other quantities by differences divided by the range
    positive = (rows > 0).all(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scaled = np.where(positive, np.log(rows), rows)
    scaled = np.nan_to_num(scaled, nan=0.0, posinf=1e300, neginf=-1e300)
    reach = np.ptp(scaled, axis=1, keepdims=True)
    scaled = scaled / np.where(positive | (reach == 0), 1.0, reach)
    order = np.lexsort(scaled[::-1])
    if count > sizes.ORDERED_ROWS or len(rows) == 1:
        return order
    stack = [(0, count)]
    while stack and not (stats and stats.is_late):
        low, high = stack.pop()
        if high - low <= sizes.ORDERED_PIECE:
            continue
        part = order[low:high]
        values = scaled[:, part]
        column = values[int(np.argmax(np.ptp(values, axis=1)))]
        order[low:high] = part[np.argsort(column, kind="stable")]
        mid = (low + high - 1) // 2 + 1
        stack += [(low, mid), (mid, high)]
    return order


class RangeExtremes:
    """The minimum and maximum of a leaf over ranges of indices."""

    def __init__(self, leaf: Leaf, axis_numbers: Sequence[int]) -> None:
        array = np.asarray(leaf.array, dtype=np.float64)
        self.axis_numbers, self.array, self.dims = tuple(axis_numbers), array, array.ndim
        self.has_nan = bool(np.isnan(array).any())
        numbers = array[~np.isnan(array)]
        self.least = float(numbers.min(initial=math.inf))
        self.most = float(numbers.max(initial=-math.inf))
        bits = [np.uint64(1) << np.uint64(place) for place in axis_numbers]
        self.bits = bits
        self.other_axes = ALL_AXES
        self.up = self.down = ALL_AXES
        for k, bit in enumerate(bits):
            step = np.diff(array, axis=k)
            self.other_axes &= ~bit
            if not np.all(step >= 0):
                self.up &= ~bit
            if not np.all(step <= 0):
                self.down &= ~bit
        #: True if the extremes over a range are the values at its two ends.
        rises_or_falls = self.dims == 1 and bool((self.up | self.down) & bits[0])
        self.is_sorted = rises_or_falls and not self.has_nan
        self.is_rising = self.dims == 1 and bool(self.up & bits[0])
        self.levels = [int(n).bit_length() for n in array.shape]
        self.table_size = math.prod(n * m for n, m in zip(array.shape, self.levels, strict=True))
        self.tables: tuple[Any, Any, Any] | None = None
        if not self.is_sorted and self.table_size <= _MAX_SPARSE_TABLE:
            known = np.where(np.isnan(array), math.inf, array)
            least = _sparse_table(known, np.minimum)
            known = np.where(np.isnan(array), -math.inf, array)
            holes = _sparse_table(np.isnan(array), np.logical_or) if self.has_nan else None
            self.tables = least, _sparse_table(known, np.maximum), holes

    def __call__(self, lo: Sequence[Indices], hi: Sequence[Indices]) -> Trend:
        """Return the trend of the leaf over boxes; ``lo`` and ``hi`` have one row per axis."""
        lows, highs = [lo[p] for p in self.axis_numbers], [hi[p] for p in self.axis_numbers]
        if self.is_sorted:
            first, last = self.array[lows[0]], self.array[highs[0]]
            known = Interval(first, last) if self.is_rising else Interval(last, first)
            return self._range_trend(known, lows, highs)
        if self.tables is None:
            return self._range_trend(self._single_or_whole(lows, highs), lows, highs)
        counts = [(h - low + 1).astype(np.float64) for low, h in zip(lows, highs, strict=True)]
        level = [np.frexp(count)[1] - 1 for count in counts]  # log2, rounded down
        ends = [(low, h - (1 << m) + 1) for low, h, m in zip(lows, highs, level, strict=True)]
        result: list[Any] = [None, None, None]
        joins = (np.minimum, np.maximum, np.logical_or)
        for corner in range(1 << self.dims):
            place: list[Any] = []
            for k in range(self.dims):
                place += [level[k], ends[k][corner >> k & 1]]
            for t, (table, join) in enumerate(zip(self.tables, joins, strict=True)):
                if table is not None:
                    part = table[tuple(place)]
                    result[t] = part if result[t] is None else join(result[t], part)
        least, most, holes = result
        undefined = holes if holes is not None and np.any(holes) else False
        return self._range_trend(Interval(least, most, undefined), lows, highs)

    def _single_or_whole(self, lows: Sequence[Indices], highs: Sequence[Indices]) -> Interval:
        single: Any = True
        for low, high in zip(lows, highs, strict=True):
            single = single & (low == high)
        value = self.array[tuple(lows)]
        nan = np.isnan(value)
        least = np.where(single, np.where(nan, math.inf, value), self.least)
        most = np.where(single, np.where(nan, -math.inf, value), self.most)
        undefined = np.where(single, nan, self.has_nan)
        return Interval(least, most, undefined if np.any(undefined) else False)

    def _range_trend(
        self, interval: Interval, lows: Sequence[Indices], highs: Sequence[Indices]
    ) -> Trend:
        up: Any = self.up
        down: Any = self.down
        for bit, low, high in zip(self.bits, lows, highs, strict=True):
            if self.dims > 1:
                single = np.where(low == high, bit, np.uint64(0))
                up, down = up | single, down | single
        same = interval.lo == interval.hi
        if interval.may_be_nan is not False:
            up = np.where(interval.may_be_nan, self.other_axes, up)
            down = np.where(interval.may_be_nan, self.other_axes, down)
            same = np.where(interval.may_be_nan, interval.lo > interval.hi, same)
        up, down = np.where(same, ALL_AXES, up), np.where(same, ALL_AXES, down)
        return Trend(interval, up, down)


def _sparse_table(array: NDArray[Any], join: Any) -> NDArray[Any]:
    """Return the extremes over ranges of 2**level indices. An axis becomes two: level and start."""
    for k in range(array.ndim):
        axis = 2 * k
        layers = [array]
        size = array.shape[axis]
        while (reach := 1 << (len(layers) - 1)) * 2 <= size:
            raise_if_interrupted()
            last = layers[-1]
            near = np.take(last, range(size - reach), axis=axis)
            far = np.take(last, range(reach, size), axis=axis)
            rest = np.take(last, range(size - reach, size), axis=axis)
            layers.append(np.concatenate([join(near, far), rest], axis=axis))
        array = np.stack(layers, axis=axis)
    return array


class BoxProblem:
    """One or more objectives, all to be minimized, over axes of indices."""

    def __init__(
        self, root: Node, leaves: Leaves, sizes: Mapping[str, int], more: Sequence[Node] = ()
    ) -> None:
        self.root, self.roots, self.dims = root, (root, *more), tuple(sizes)
        self.sizes = np.array(list(sizes.values()), dtype=np.int64)
        self.used_leaves = {name: leaves[name] for name in references(*self.roots)}
        self.algebra = trend_algebra()
        #: For each node, by its id: the mask of axes on which it depends, and the mask of all other
        #: axes.
        self.bits: dict[int, int] = {}
        self.idle: dict[int, Any] = {}
        self.fixed_trends: dict[int, Trend] = {}
        self.extremes: dict[str, RangeExtremes] = {}
        self.steps: list[Node] = []
        place = {axis: k for k, axis in enumerate(self.dims)}
        with np.errstate(all="ignore"):
            for node in walk(self.roots):
                if node.op == "constant":
                    bits = 0
                elif node.op == "reference":
                    leaf = self.used_leaves[node.args[0]]
                    bits = sum(1 << place[axis] for axis in leaf.axes)
                    if bits:
                        places = [place[axis] for axis in leaf.axes]
                        self.extremes[node.args[0]] = RangeExtremes(leaf, places)
                else:
                    bits = 0
                    for arg in node.args:
                        bits |= self.bits[id(arg)]
                self.bits[id(node)] = bits
                self.idle[id(node)] = np.uint64(~bits & int(ALL_AXES))
                if bits:
                    self.steps.append(node)
                else:
                    self.fixed_trends[id(node)] = self._fixed_trend(node)

    def with_objective(self, root: Node) -> BoxProblem:
        """Return the problem with another objective for the same leaves and axes."""
        sizes = dict(zip(self.dims, self.sizes.tolist(), strict=True))
        return BoxProblem(root, self.used_leaves, sizes)

    def _fixed_trend(self, node: Node) -> Trend:
        if node.op == "constant":
            return literal_trend(node.args[0])
        if node.op == "reference":
            return literal_trend(float(self.used_leaves[node.args[0]].array))
        return self.algebra[node.op](*(self.fixed_trends[id(arg)] for arg in node.args))

    @property
    def points(self) -> float:
        """Return the number of points."""
        return float(np.prod(self.sizes.astype(np.float64)))

    @property
    def whole_box(self) -> Boxes:
        """Return the box of all points."""
        return Boxes(np.zeros((len(self.sizes), 1), dtype=np.int64), self.sizes[:, None] - 1)

    def step_trends(self, boxes: Boxes) -> dict[int, Trend]:
        """Return the trend of every node over the boxes, by the id of the node."""
        done, lo, hi = dict(self.fixed_trends), list(boxes.lo), list(boxes.hi)
        for node in self.steps:
            if node.op == "reference":
                done[id(node)] = self.extremes[node.args[0]](lo, hi)
            else:
                result = self.algebra[node.op](*[done[id(arg)] for arg in node.args])
                idle = self.idle[id(node)]
                done[id(node)] = Trend(result.enclosure, result.up | idle, result.down | idle)
        return done

    def bound_boxes(
        self, boxes: Boxes, stats: SearchStats | None = None
    ) -> tuple[Floats, Any, Any]:
        """Return lower bounds of the objectives (rows) over boxes (columns), and monotone axes.

        The monotone axes of each box are two bit masks. Along the axes of the first mask no
        objective falls; along the axes of the second mask no objective rises.
        """
        shape, steps = (boxes.lo.shape[1],), self.step_trends(boxes)
        if stats is not None:
            stats.boxes += shape[0]
        result = [steps[id(root)] for root in self.roots]
        ways = [[np.broadcast_to(way, shape) for way in (each.up, each.down)] for each in result]
        up, down = np.bitwise_and.reduce(ways)
        return np.stack([np.broadcast_to(each.enclosure.lo, shape) for each in result]), up, down

    def values(self, places: Indices) -> Floats:
        """Return the first objective at points (columns), given by an index per axis (rows)."""
        return self._evaluate(self.roots[:1], places)[0]

    def all_values(self, places: Indices) -> Floats:
        """Return all objectives (rows) at points (columns)."""
        return np.stack(self._evaluate(self.roots, places))

    def _evaluate(self, roots: Sequence[Node], places: Indices) -> list[Floats]:
        along = dict(zip(self.dims, places, strict=True))
        values = {
            name: np.atleast_1d(leaf.array[tuple(along[axis] for axis in leaf.axes)])
            for name, leaf in self.used_leaves.items()
        }
        shape = places.shape[1:]
        result = interpret_arrays(roots, values)
        return [np.broadcast_to(np.asarray(each, dtype=np.float64), shape) for each in result]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedProblem:
    """A problem whose axes are axes of the grid, or stand for several merged axes."""

    problem: BoxProblem
    #: For each axis of the problem: the names of the grid axes that it stands for, and their
    #: indices, of shape (grid axes, size of the problem's axis). A "row" below is an index of the
    #: problem's axis.
    rows: tuple[tuple[tuple[str, ...], Indices], ...]
    fixed_indices: Mapping[str, int]

    def grid_place(self, place: Indices) -> dict[str, int]:
        """Return a point of the problem as an index along each axis of the grid."""
        result = dict(self.fixed_indices)
        for (axes, table), index in zip(self.rows, place.tolist(), strict=True):
            result.update(zip(axes, table[:, index].tolist(), strict=True))
        return result

    def rows_of_axis(self, axis: str) -> tuple[int, Indices]:
        """Return the number of the problem's axis that stands for the grid axis ``axis``.

        The second result is the index along ``axis`` for each row.
        """
        for number, (axes, table) in enumerate(self.rows):
            if axis in axes:
                return number, table[axes.index(axis)]
        raise KeyError(axis)

    def select_rows(self, number: int, selection: Indices) -> MergedProblem:
        """Return the problem restricted to some rows of its axis ``number``."""
        problem = self.problem
        name = problem.dims[number]
        if len(self.rows[number][0]) > 1:  # put similar rows into the same half
            arrays = [leaf.array for leaf in problem.used_leaves.values() if leaf.axes == (name,)]
            rows = np.stack(arrays)[:, selection].astype(np.float64)
            selection = selection[order_by_similarity(rows)]
        return self._take_rows(number, selection)

    def sort_rows(self, order: Sequence[str]) -> tuple[MergedProblem, list[Indices]]:
        """Return the problem with rows in grid order, and the new positions of each axis's rows."""
        result, moved = self, []
        for number, (axes, table) in enumerate(self.rows):
            chosen = np.lexsort([table[axes.index(a)] for a in reversed(order) if a in axes])
            moved.append(np.argsort(chosen))
            if np.any(np.diff(chosen) < 0):
                result = result._take_rows(number, chosen)
        return result, moved

    def _take_rows(self, number: int, selection: Indices) -> MergedProblem:
        problem = self.problem
        name = problem.dims[number]
        leaves = {key: leaf.take({name: selection}) for key, leaf in problem.used_leaves.items()}
        sizes = dict(zip(problem.dims, problem.sizes.tolist(), strict=True))
        rows = list(self.rows)
        rows[number] = rows[number][0], rows[number][1][:, selection]
        sizes[name] = selection.size
        part = BoxProblem(problem.root, leaves, sizes, problem.roots[1:])
        return MergedProblem(problem=part, rows=tuple(rows), fixed_indices=self.fixed_indices)


# --- Enclosures of formulas over whole tiles, and tiles where no point meets the conditions


#: Value of an output at points that break a rule, by the kind of the dtype.
_FILL_VALUES = {"f": math.nan, "i": -1, "b": False}


def tile_boxes(
    tiling: Tiling, row: Sequence[int], numbers: Indices
) -> tuple[Indices, Indices, Indices]:
    """Return first indices and last indices of tiles (a row per axis), and their point counts.

    ``row`` has the sizes of the axes that the nest flattens into its row. If a tile begins or ends
    in the middle of such an axis, its box has more points than the tile.
    """
    sizes = tiling.sizes
    low = np.zeros((len(sizes), numbers.size), dtype=np.int64)
    high = np.tile(np.array(sizes, dtype=np.int64)[:, None] - 1, numbers.size)
    if tiling.split >= 0:
        rest, cut = np.divmod(numbers, tiling.cuts)
        low[tiling.split] = cut * tiling.step
        high[tiling.split] = np.minimum(low[tiling.split] + tiling.step, sizes[tiling.split]) - 1
        for axis in range(tiling.split - 1, -1, -1):
            rest, low[axis] = np.divmod(rest, sizes[axis])
            high[axis] = low[axis]
    points = np.prod(high - low + 1, axis=0)
    if not row:
        return low[:-1], high[:-1], points
    first, last, same = low[-1], high[-1], np.ones(numbers.size, dtype=bool)
    parts: list[tuple[Indices, Indices]] = []
    for place in range(len(row)):
        step = math.prod(row[place + 1 :])
        begin, end = first // step % row[place], last // step % row[place]
        parts.append((np.where(same, begin, 0), np.where(same, end, row[place] - 1)))
        same &= begin == end
    lows, highs = (np.stack([part[k] for part in parts]) for k in (0, 1))
    return np.concatenate([low[:-1], lows]), np.concatenate([high[:-1], highs]), points


class Enclosures:
    """Enclosures of formulas over boxes that contain all indices of some of the last axes."""

    def __init__(
        self, roots: Sequence[Node], leaves: Leaves, dims: Sequence[str], whole: Sequence[int] = ()
    ) -> None:
        self.roots, self.ends = tuple(roots), np.array(whole, dtype=np.int64)[:, None] - 1
        self.fixed_intervals: dict[str, Any] = {}
        self.varying_leaves: dict[str, RangeExtremes] = {}
        for name in references(*roots):
            leaf = leaves[name]
            if leaf.axes:
                places = [dims.index(axis) for axis in leaf.axes]
                self.varying_leaves[name] = RangeExtremes(leaf, places)
            else:
                self.fixed_intervals[name] = interval_number(float(leaf.array))

    @classmethod
    def from_grid(
        cls,
        grid: Grid,
        key: Key,
        roots: Sequence[Node],
        dims: Sequence[str],
        whole: Sequence[int] = (),
    ) -> Enclosures | None:
        """Return the enclosures of formulas of a grid, or None if a primitive has no enclosure."""
        known = {*interval_algebra(), "constant", "reference"}
        if any(node.op not in known for node in walk(roots)):
            return None
        return cls(roots, grid.leaves[key], dims, whole)

    def enclose_boxes(self, low: Indices, high: Indices) -> list[Any]:
        """Return each formula's enclosure over each box (a column of ``low`` and ``high``)."""
        last = np.broadcast_to(self.ends, (len(self.ends), low.shape[1]))
        low, high = np.concatenate([low, 0 * last]), np.concatenate([high, last])
        with np.errstate(all="ignore"):
            here: dict[str, Interval] = {
                name: leaf(list(low), list(high)).enclosure
                for name, leaf in self.varying_leaves.items()
            }
            result = enclose(self.roots, {**self.fixed_intervals, **here})
        shape = low.shape[1:]
        return [type(each)(*(np.broadcast_to(part, shape) for part in each)) for each in result]


class InfeasibleTiles:
    """A test for tiles where no point meets the rules, so that no output need be evaluated.

    Constraints (``where``) are tested only if ``feasible`` is the sole output.
    """

    def __init__(self, grid: Grid, outputs: Sequence[str], dims: Sequence[str]) -> None:
        self.grid, self.dims, self.only_feasible = grid, tuple(dims), tuple(outputs) == (FEASIBLE,)
        self.plain = tuple(grid.non_switch_axes(dims))
        self._enclosures: dict[tuple[str, ...], Enclosures | None] = {}

    def _rule_enclosures(self, key: Key) -> Enclosures | None:
        if key not in self._enclosures:
            grid = self.grid
            rules = grid.rule_nodes(key, self.dims)
            rules = [grid.feasible_node(key)] if self.only_feasible else rules
            root = [constant(both(*rules))] if rules else []
            known = Enclosures.from_grid(grid, key, root, self.plain) if rules else None
            self._enclosures[key] = known
        return self._enclosures[key]

    def is_infeasible(self, key: Key, low: Indices, high: Indices) -> Mask:
        """Return the mask of boxes where no point meets the rules. Boxes have no switch axes."""
        rules = self._rule_enclosures(key)
        if rules is None:
            return np.zeros(low.shape[1], dtype=bool)
        return np.asarray(np.logical_not(rules.enclose_boxes(low, high)[0].possible))

    @staticmethod
    def fill_missing(array: NDArray[Any]) -> None:
        """Fill an array with the value of infeasible points: NaN, -1 or False by its dtype."""
        array.fill(_FILL_VALUES[array.dtype.kind])
