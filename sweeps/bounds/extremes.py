"""The least and the largest of a table over ranges of indices, looked up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Indices
from sweeps.grid.leaf import Leaf
from sweeps.runtime.stopping import halt
from symbolic.intervals import EVERY, Interval, Trend

__all__ = ["Extremes"]

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
