"""Tiles of a grid: boxes that cover it, any of them by its number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Tiling:
    """Boxes that cover a nest's axes, each contiguous in memory; any box by its number."""

    def __init__(self, outer: Sequence[int], row: int, target: int) -> None:
        self.sizes = (*outer, row)
        inner, split = 1, len(self.sizes)
        while split and inner * self.sizes[split - 1] <= target:
            split -= 1
            inner *= self.sizes[split]
        self.split = split - 1  # the axis that is cut; below 0 where one box holds everything
        self.inner = inner
        self.step = max(1, target // inner) if split else 1
        self.cuts = -(-self.sizes[self.split] // self.step) if split else 1
        self.count = math.prod(self.sizes[: max(self.split, 0)]) * self.cuts

    def bounds(self, number: int) -> tuple[NDArray[np.int64], int, int]:
        """First and last+1 index of each axis, the flat index of the first point, the points."""
        bounds = np.empty(2 * len(self.sizes), dtype=np.int64)
        bounds[0::2], bounds[1::2] = 0, self.sizes
        if self.split < 0:
            return bounds, 0, self.inner
        rest, cut = divmod(number, self.cuts)
        low = cut * self.step
        high = min(low + self.step, self.sizes[self.split])
        bounds[2 * self.split], bounds[2 * self.split + 1] = low, high
        origin, stride = low * self.inner, self.inner * self.sizes[self.split]
        for axis in range(self.split - 1, -1, -1):
            rest, index = divmod(rest, self.sizes[axis])
            bounds[2 * axis], bounds[2 * axis + 1] = index, index + 1
            origin += index * stride
            stride *= self.sizes[axis]
        return bounds, origin, (high - low) * self.inner
