"""Tiles cover a grid: each point once, in order, no more at once than was asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweeps.grid.grid import Tiling


@pytest.mark.parametrize("target", [1, 2, 3, 7, 24, 1000])
@pytest.mark.parametrize("sizes", [(1,), (10,), (3, 1), (4, 5), (2, 3, 4), (5, 1, 3, 2), (7, 2, 9)])
def test_every_point_is_in_one_tile(sizes: tuple[int, ...], target: int) -> None:
    tiling = Tiling(sizes[:-1], sizes[-1], target)
    flat = np.arange(math.prod(sizes)).reshape(sizes)
    begun = 0
    for number in range(tiling.count):
        bounds, origin, size = tiling.bounds(number)
        box = tuple(slice(low, high) for low, high in bounds.reshape(-1, 2))
        assert origin == begun
        assert flat[box].ravel().tolist() == list(range(origin, origin + size))
        assert 0 < size <= target
        numbers, starts = tiling.locate(np.arange(origin, origin + size))
        assert set(numbers) == {number}
        assert set(starts) == {origin}
        begun += size
    assert begun == flat.size
