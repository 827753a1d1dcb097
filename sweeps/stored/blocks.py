"""Blocks: boxes of the axes of a question, each bounded by the zones of the arrays it asks of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.flat_index import unravel
from sweeps.store.cuts import MOST, ZONE, Cut, pieces

__all__ = ["Blocks", "points_cut"]


def points_cut(shape: Sequence[int]) -> Cut:
    """An array of which every value is a zone of its own."""
    ones = tuple(1 for _ in shape)
    return Cut(tuple(shape), ones, ones)


class Blocks:
    """The axes of a question cut into boxes: one index each of the leading axes, a share of one,
    the trailing axes whole; so each is one piece of the array over all of them.
    """

    def __init__(self, axes: Mapping[str, int]) -> None:
        self.axes = dict(axes)
        self.shape = tuple(axes.values())
        shape = self.shape or (1,)
        piece = pieces(shape, max(ZONE, math.prod(shape) // MOST))
        #: The axis that is cut; the first, where one block holds everything.
        self.split = next((k for k, n in enumerate(piece) if n > 1), len(shape) - 1)
        self.step = piece[self.split]
        self.cuts = -(-shape[self.split] // self.step)
        #: How many blocks lie along each axis up to the one that is cut.
        self.grid = (*self.shape[: self.split], self.cuts)
        self.count = math.prod(self.grid)
        #: The axes from the one that is cut on, and how many points these give.
        self.trailing = tuple(axes)[self.split :]

    def length(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many indices of the axis that is cut each block has."""
        cut = numbers % self.cuts
        size = self.shape[self.split] if self.shape else 1
        found: NDArray[np.int64] = np.minimum(self.step, size - cut * self.step)
        return found

    def starts(self, numbers: NDArray[np.int64], dims: Sequence[str]) -> NDArray[np.int64]:
        """The first flat index of each block in an array over some of the axes, in order."""
        found = np.zeros(numbers.size, dtype=np.int64)
        index = unravel(numbers, self.grid)
        for place, (axis, size) in enumerate(self.axes.items()):
            if axis in dims:
                at = index[place] if place < self.split else 0
                at = index[place] * self.step if place == self.split else at
                found = found * size + at
        return found

    def reduced(
        self, values: NDArray[Any], dims: Sequence[str], cut: Cut, by: np.ufunc, empty: Any
    ) -> NDArray[Any]:
        """Of each block the reduction of the zones that it touches, over the grid of blocks.

        ``values`` lie over the zones of an array over ``dims``, some of these axes, in order.
        """
        names = list(self.axes)
        for place in reversed(range(len(dims))):
            at = names.index(dims[place])
            if at > self.split:
                values = by.reduce(values, axis=place, initial=empty)
            elif at < self.split:
                values = values.take(cut.along(place), axis=place)
            else:
                zone, starts = cut.along(place), np.arange(self.cuts) * self.step
                ends = np.minimum(starts + self.step, cut.shape[place])
                pairs = np.stack([zone[starts], zone[ends - 1] + 1], axis=1).reshape(-1)
                pad = [(0, int(k == place)) for k in range(values.ndim)]
                values = np.pad(values, pad, constant_values=empty)
                values = by.reduceat(values, pairs, axis=place)
                values = values.take(np.arange(0, pairs.size, 2), axis=place)
        shape = [n if name in dims else 1 for name, n in zip(names, self.grid, strict=False)]
        return values.reshape(shape or [1])
