"""Between which numbers formulas lie over whole tiles, and where conditions are possible.

An enclosure holds over every point of a tile and whatever rounding a number goes through, so that a
tile in which a condition is *impossible* has no point that meets it: it need not be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Indices
from sweeps.grid.grid import FEASIBLE, Grid, Leaf, Tiling
from sweeps.runtime.stopping import halt
from symbolic.intervals import Interval, Trend, algebra, enclose, number
from symbolic.ops import Node, both, constant, references, walk
from symbolic.primitives.words import EVERY

Numbers = NDArray[np.int64]

#: What stands where a rule is broken, by the kind of the type.
_BLANK = {"f": math.nan, "i": -1, "b": False}


def boxes(tiling: Tiling, row: Sequence[int], numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """First and last index along each axis (rows) of some tiles (columns), and their points.

    ``row`` are the sizes of the axes that form the row of the nest; of a tile that cuts it in the
    middle of an axis the box holds a little more than the tile.
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
    parts: list[tuple[Numbers, Numbers]] = []
    for place in range(len(row)):
        step = math.prod(row[place + 1 :])
        begin, end = first // step % row[place], last // step % row[place]
        parts.append((np.where(same, begin, 0), np.where(same, end, row[place] - 1)))
        same &= begin == end
    lows, highs = (np.stack([part[k] for part in parts]) for k in (0, 1))
    return np.concatenate([low[:-1], lows]), np.concatenate([high[:-1], highs]), points


class Enclosures:
    """Between which numbers some formulas lie, and where conditions are possible, over boxes."""

    def __init__(
        self, roots: Sequence[Node], leaves: Mapping[str, Leaf], dims: Sequence[str]
    ) -> None:
        self.roots = tuple(roots)
        self.fixed: dict[str, Any] = {}
        self.varied: dict[str, Extremes] = {}
        for name in references(*roots):
            leaf = leaves[name]
            if leaf.axes:
                self.varied[name] = Extremes(leaf, [dims.index(axis) for axis in leaf.axes])
            else:
                self.fixed[name] = number(float(leaf.array))

    @classmethod
    def of(
        cls, grid: Grid, key: tuple[str, ...], roots: Sequence[Node], dims: Sequence[str]
    ) -> Enclosures | None:
        """Those of formulas over a grid; None where a primitive has no enclosure."""
        known = {*algebra(), "constant", "reference"}
        if any(node.op not in known for node in walk(roots)):
            return None
        return cls(roots, grid.leaves[key], dims)

    def over(self, low: Numbers, high: Numbers) -> list[Any]:
        """The enclosure of each formula, for each box (columns)."""
        with np.errstate(all="ignore"):
            here: dict[str, Interval] = {
                name: leaf(list(low), list(high)).range for name, leaf in self.varied.items()
            }
            found = enclose(self.roots, {**self.fixed, **here})
        shape = low.shape[1:]
        return [type(each)(*(np.broadcast_to(part, shape) for part in each)) for each in found]


class Barred:
    """Where no point keeps the rules: what some outputs hold there is known without a look.

    A constraint of ``where`` only marks points, whose values stay: it bars nothing but ``feasible``
    where that stands alone.
    """

    def __init__(self, grid: Grid, outputs: Sequence[str], dims: Sequence[str]) -> None:
        self.grid, self.dims, self.alone = grid, tuple(dims), tuple(outputs) == (FEASIBLE,)
        self.plain = tuple(grid.plain(dims))
        self._known: dict[tuple[str, ...], Enclosures | None] = {}

    def _rules(self, key: tuple[str, ...]) -> Enclosures | None:
        if key not in self._known:
            grid = self.grid
            rules = [grid.feasible_node(key)] if self.alone else grid.rules(key, self.dims)
            root = [constant(both(*rules))] if rules else []
            self._known[key] = Enclosures.of(grid, key, root, self.plain) if rules else None
        return self._known[key]

    def over(self, key: tuple[str, ...], low: Numbers, high: Numbers) -> NDArray[np.bool_]:
        """Whether no point of some boxes of the switch-free axes keeps the rules."""
        rules = self._rules(key)
        if rules is None:
            return np.zeros(low.shape[1], dtype=bool)
        return np.asarray(np.logical_not(rules.over(low, high)[0].possible))

    @staticmethod
    def blank(array: NDArray[Any]) -> None:
        """What stands there: NaN, -1 or False."""
        array.fill(_BLANK[array.dtype.kind])


# --- The least and the largest of a table over ranges of indices, looked up


#: Most numbers in the table of extremes of one leaf; beyond it only single values are told apart.
_TABLE = sizes.EXTREMES_TABLE


class Extremes:
    """The extremes of a leaf over ranges of indices."""

    def __init__(self, leaf: Leaf, places: Sequence[int]) -> None:
        array = np.asarray(leaf.array, dtype=np.float64)
        self.places, self.array, self.dims = tuple(places), array, array.ndim
        self.missing = bool(np.isnan(array).any())
        numbers = array[~np.isnan(array)]
        self.least = float(numbers.min(initial=math.inf))
        self.most = float(numbers.max(initial=-math.inf))
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
        #: Whether the ends of a range are its extremes: of one value, too, but not of NaN.
        rises_or_falls = self.dims == 1 and bool((self.up | self.down) & bits[0])
        self.sorted = rises_or_falls and not self.missing
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
        nan = np.isnan(value)
        least = np.where(single, np.where(nan, math.inf, value), self.least)
        most = np.where(single, np.where(nan, -math.inf, value), self.most)
        undefined = np.where(single, nan, self.missing)
        return Interval(least, most, undefined if np.any(undefined) else False)

    def _trend(self, found: Interval, lows: Sequence[Indices], highs: Sequence[Indices]) -> Trend:
        up: Any = self.up
        down: Any = self.down
        for bit, low, high in zip(self.bits, lows, highs, strict=True):
            if self.dims > 1:
                single = np.where(low == high, bit, np.uint64(0))
                up, down = up | single, down | single
        same = found.lo == found.hi
        if found.undefined is not False:
            up = np.where(found.undefined, self.other, up)
            down = np.where(found.undefined, self.other, down)
            same = np.where(found.undefined, found.lo > found.hi, same)
        up, down = np.where(same, EVERY, up), np.where(same, EVERY, down)
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
            halt()
            last = layers[-1]
            near = np.take(last, range(size - reach), axis=axis)
            far = np.take(last, range(reach, size), axis=axis)
            rest = np.take(last, range(size - reach, size), axis=axis)
            layers.append(np.concatenate([join(near, far), rest], axis=axis))
        array = np.stack(layers, axis=axis)
    return array
