"""An objective over boxes of a grid: ranges of indices along each axis, thousands at once.

Over a box each leaf lies between the extremes of its values in the range; the enclosures of
:mod:`symbolic.monotone` carry that to the objective, with the axes along which it rises or falls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.boxes import Boxes, Indices
from sweeps.grid.leaf import Leaf
from symbolic.intervals import Interval
from symbolic.monotone import EVERY, Trend, trend_number, trends
from symbolic.ops import Node, interpret_arrays, references, walk

__all__ = ["Bounds", "Extremes", "Problem"]

#: Halves of boxes bounded at once; of more, only what depends on the axis is computed anew.
_TOGETHER = 1 << 11
#: Most numbers in the table of extremes of one leaf; beyond it only single values are told apart.
_TABLE = 1 << 24


class Bounds(NamedTuple):
    """The least that an objective can be in each box, and the axes along which it goes one way."""

    least: Any
    up: Any
    down: Any


class Extremes:
    """The extremes of a leaf over ranges of indices."""

    def __init__(self, leaf: Leaf, places: Sequence[int]) -> None:
        array = np.asarray(leaf.array, dtype=np.float64)
        self.places, self.array, self.dims = tuple(places), array, array.ndim
        self.missing = bool(np.isnan(array).any())
        bits = [np.uint64(1) << np.uint64(place) for place in places]
        self.bits = bits
        self.other = EVERY
        self.up = self.down = EVERY
        for k, bit in enumerate(bits):
            step = np.diff(array, axis=k)
            self.other &= ~bit
            if not np.all(step >= 0):
                self.up &= ~bit
            if not np.all(step <= 0):
                self.down &= ~bit
        self.sorted = self.dims == 1 and bool((self.up | self.down) & bits[0])
        self.rising = self.dims == 1 and bool(self.up & bits[0])
        self.levels = [int(n).bit_length() for n in array.shape]
        self.coarse = math.prod(n * m for n, m in zip(array.shape, self.levels, strict=True))
        self.tables: tuple[Any, Any, Any] | None = None
        if not self.sorted and self.coarse <= _TABLE:
            known = np.where(np.isnan(array), math.inf, array)
            least = _table(known, np.minimum)
            known = np.where(np.isnan(array), -math.inf, array)
            holes = _table(np.isnan(array), np.logical_or) if self.missing else None
            self.tables = least, _table(known, np.maximum), holes

    def __call__(self, lo: Sequence[Indices], hi: Sequence[Indices]) -> Trend:
        """Over the ranges from ``lo`` to ``hi``, one of each for every axis of the problem."""
        lows, highs = [lo[p] for p in self.places], [hi[p] for p in self.places]
        if self.sorted:
            first, last = self.array[lows[0]], self.array[highs[0]]
            known = Interval(first, last) if self.rising else Interval(last, first)
            return self._trend(known, lows, highs)
        if self.tables is None:
            return self._trend(self._loose(lows, highs), lows, highs)
        level = [_log2(h - low + 1) for low, h in zip(lows, highs, strict=True)]
        ends = [(low, h - (1 << m) + 1) for low, h, m in zip(lows, highs, level, strict=True)]
        found: list[Any] = [None, None, None]
        joins = (np.minimum, np.maximum, np.logical_or)
        for corner in range(1 << self.dims):
            place: list[Any] = []
            for k in range(self.dims):
                place += [level[k], ends[k][corner >> k & 1]]
            for t, (table, join) in enumerate(zip(self.tables, joins, strict=True)):
                if table is not None:
                    part = table[tuple(place)]
                    found[t] = part if found[t] is None else join(found[t], part)
        least, most, holes = found
        undefined = holes if holes is not None and np.any(holes) else False
        return self._trend(Interval(least, most, undefined), lows, highs)

    def _loose(self, lows: Sequence[Indices], highs: Sequence[Indices]) -> Interval:
        single: Any = True
        for low, high in zip(lows, highs, strict=True):
            single = single & (low == high)
        value = self.array[tuple(lows)]
        least = np.where(single, value, np.nanmin(self.array))
        most = np.where(single, value, np.nanmax(self.array))
        undefined = np.where(single, np.isnan(value), self.missing)
        return Interval(least, most, undefined if np.any(undefined) else False)

    def _trend(self, found: Interval, lows: Sequence[Indices], highs: Sequence[Indices]) -> Trend:
        up: Any = self.up
        down: Any = self.down
        for bit, low, high in zip(self.bits, lows, highs, strict=True):
            if self.dims > 1:
                single = np.where(low == high, bit, np.uint64(0))
                up, down = up | single, down | single
        same = found.lo == found.hi
        up, down = np.where(same, EVERY, up), np.where(same, EVERY, down)
        if found.undefined is not False:
            up = np.where(found.undefined, self.other, up)
            down = np.where(found.undefined, self.other, down)
        return Trend(found, up, down)


def _log2(count: Any) -> Any:
    """The exponent of the largest power of two that is not above a count."""
    return np.frexp(count.astype(np.float64))[1] - 1


def _table(array: NDArray[Any], join: Any) -> NDArray[Any]:
    """Extremes over ranges of 1, 2, 4 ... values along each axis: (level, first, ...) by axis."""
    for k in range(array.ndim):
        axis = 2 * k
        layers = [array]
        size = array.shape[axis]
        while (reach := 1 << (len(layers) - 1)) * 2 <= size:
            last = layers[-1]
            near = np.take(last, range(size - reach), axis=axis)
            far = np.take(last, range(reach, size), axis=axis)
            rest = np.take(last, range(size - reach, size), axis=axis)
            layers.append(np.concatenate([join(near, far), rest], axis=axis))
        array = np.stack(layers, axis=axis)
    return array


class Problem:
    """A signed objective (smaller is better), or several, over axes of so many values each."""

    def __init__(
        self,
        root: Node,
        leaves: Mapping[str, Leaf],
        sizes: Mapping[str, int],
        more: Sequence[Node] = (),
    ) -> None:
        self.root, self.roots, self.dims = root, (root, *more), tuple(sizes)
        self.sizes = np.array(list(sizes.values()), dtype=np.int64)
        self.used = {name: leaves[name] for name in references(*self.roots)}
        self.algebra = trends()
        self.bits: dict[int, int] = {}
        self.fixed: dict[int, Trend] = {}
        self.extremes: dict[str, Extremes] = {}
        self.steps: list[Node] = []
        place = {axis: k for k, axis in enumerate(self.dims)}
        with np.errstate(all="ignore"):
            for node in walk(self.roots):
                if node.op == "constant":
                    bits = 0
                elif node.op == "reference":
                    leaf = self.used[node.args[0]]
                    bits = sum(1 << place[axis] for axis in leaf.axes)
                    if bits:
                        places = [place[axis] for axis in leaf.axes]
                        self.extremes[node.args[0]] = Extremes(leaf, places)
                else:
                    bits = 0
                    for arg in node.args:
                        bits |= self.bits[id(arg)]
                self.bits[id(node)] = bits
                if bits:
                    self.steps.append(node)
                else:
                    self.fixed[id(node)] = self._fixed(node)

    def asked(self, root: Node) -> Problem:
        """Another objective of the same leaves, over the same axes."""
        return Problem(root, self.used, dict(zip(self.dims, self.sizes.tolist(), strict=True)))

    def _fixed(self, node: Node) -> Trend:
        if node.op == "constant":
            return trend_number(node.args[0])
        if node.op == "reference":
            return trend_number(float(self.used[node.args[0]].array))
        found: Trend = self.algebra[node.op](*(self.fixed[id(arg)] for arg in node.args))
        return found

    def _run(
        self, steps: Sequence[Node], done: dict[int, Trend], lo: Any, hi: Any
    ) -> dict[int, Trend]:
        algebra = self.algebra
        for node in steps:
            if node.op == "reference":
                done[id(node)] = self.extremes[node.args[0]](lo, hi)
            else:
                done[id(node)] = algebra[node.op](*[done[id(arg)] for arg in node.args])
        return done

    @property
    def points(self) -> float:
        """How many points there are."""
        return float(np.prod(self.sizes.astype(np.float64)))

    @property
    def whole(self) -> Boxes:
        """The box of all points."""
        return Boxes(np.zeros((len(self.sizes), 1), dtype=np.int64), self.sizes[:, None] - 1)

    def trends(self, boxes: Boxes) -> dict[int, Trend]:
        """Every step of the objective over the boxes."""
        return self._run(self.steps, dict(self.fixed), list(boxes.lo), list(boxes.hi))

    def bounded(self, boxes: Boxes) -> Bounds:
        """The bounds of some boxes."""
        return self.spread(self.trends(boxes)[id(self.root)], (boxes.lo.shape[1],))

    def spread(self, trend: Trend, shape: tuple[int, ...]) -> Bounds:
        """What is known of the objective, for each box."""
        parts = (trend.range.lo, trend.up, trend.down)
        return Bounds(*(np.broadcast_to(part, shape) for part in parts))

    def halved(self, boxes: Boxes, axes: Sequence[int]) -> list[Bounds]:
        """For each of some axes the bounds of both halves of each box, of shape (2, boxes)."""
        count, mid = boxes.lo.shape[1], (boxes.lo + boxes.hi) // 2
        after = np.minimum(mid + 1, boxes.hi)
        found = []
        if 2 * count * len(axes) <= _TOGETHER:
            lo, hi = (np.tile(ends, 2 * len(axes)) for ends in boxes)
            for number, axis in enumerate(axes):
                first = 2 * number * count
                hi[axis, first : first + count] = mid[axis]
                lo[axis, first + count : first + 2 * count] = after[axis]
            bounds = self.bounded(Boxes(lo, hi))
            whole = [part.reshape(len(axes), 2, count) for part in bounds]
            return [Bounds(*(part[number] for part in whole)) for number in range(len(axes))]
        known = self.trends(boxes)
        for axis in axes:
            ends = list(boxes.lo), list(boxes.hi)
            ends[0][axis] = np.stack([boxes.lo[axis], after[axis]])
            ends[1][axis] = np.stack([mid[axis], boxes.hi[axis]])
            steps = [node for node in self.steps if self.bits[id(node)] >> axis & 1]
            trend = self._run(steps, dict(known), *ends)[id(self.root)]
            found.append(self.spread(trend, (2, count)))
        return found

    def values(self, places: Indices) -> NDArray[np.float64]:
        """The (first) objective at points, given as indices along each axis (rows)."""
        return self._at(self.roots[:1], places)[0]

    def every(self, places: Indices) -> NDArray[np.float64]:
        """All objectives (rows) at points."""
        return np.stack(self._at(self.roots, places))

    def _at(self, roots: Sequence[Node], places: Indices) -> list[NDArray[np.float64]]:
        along = dict(zip(self.dims, places, strict=True))
        values = {
            name: np.atleast_1d(leaf.array[tuple(along[axis] for axis in leaf.axes)])
            for name, leaf in self.used.items()
        }
        shape = places.shape[1:]
        found = interpret_arrays(roots, values)
        return [np.broadcast_to(np.asarray(each, dtype=np.float64), shape) for each in found]
