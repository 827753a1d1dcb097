"""The threads of a launch that are looked at: their places in block and grid, as arrays.

Arrays have five axes, of blocks along x, y and z, of warps in a block and of lanes in a warp.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes

__all__ = ["BLOCKS", "Places", "along", "places"]

#: Blocks that are looked at.
_PLACES = sizes.BLOCKS_LOOKED
#: The numbers of a block in its grid.
BLOCKS = ("ctaid.x", "ctaid.y", "ctaid.z")


@dataclass(frozen=True, slots=True)
class Places:
    """Special registers by their names, which lanes have a thread, and what warps stand for."""

    special: dict[str, Any]
    active: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]


def places(grid: Sequence[int], block: Sequence[int], warp: int = 32) -> Places:
    """The threads of a launch; of many blocks a few along each axis stand for the others."""
    threads = int(np.prod(block))
    warps = -(-threads // warp)
    lanes = np.arange(warps * warp)
    active = (lanes < threads).reshape(warps, warp)
    lanes = np.minimum(lanes, threads - 1)
    axes = sum(size > 1 for size in grid)
    most = int(_PLACES ** (1 / max(axes, 1)))
    looked, weights = zip(*(along(size, most) for size in grid), strict=True)
    weight = functools.reduce(np.multiply.outer, [*weights, np.ones(warps)])
    at: dict[str, Any] = {}
    for axis, name in enumerate("xyz"):
        at[f"ntid.{name}"], at[f"nctaid.{name}"] = block[axis], grid[axis]
        at[f"ctaid.{name}"] = np.expand_dims(
            looked[axis], [each for each in range(5) if each != axis]
        )
    at["tid.x"] = (lanes % block[0]).reshape(warps, warp)
    at["tid.y"] = (lanes // block[0] % block[1]).reshape(warps, warp)
    at["tid.z"] = (lanes // (block[0] * block[1])).reshape(warps, warp)
    at["lane"] = np.arange(warp)
    for axis, name in enumerate("xyz"):  # what is 0 everywhere is a number
        at |= {f"tid.{name}": 0} if block[axis] == 1 else {}
        at |= {f"ctaid.{name}": 0} if grid[axis] == 1 else {}
    return Places(at, active, weight / weight.sum())


def along(size: int, most: int) -> tuple[Any, Any]:
    """A few places along an axis, and how many each stands for."""
    if size <= most:
        return np.arange(size), np.ones(size)
    looked = np.unique(np.linspace(0, size - 1, most).round().astype(np.int64))
    middle = (looked[1:] + looked[:-1]) / 2
    edges = np.concatenate([[-0.5], middle, [size - 0.5]])
    weights = np.diff(edges)
    weights[0], weights[-1] = 1.0, 1.0
    weights[1] += edges[1] - edges[0] - 1
    weights[-2] += edges[-1] - edges[-2] - 1
    return looked, weights
