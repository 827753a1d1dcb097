"""Ties: all configurations that are as good as the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import Chosen, Goal, answer
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MOST_TIES", "all_tied", "answer_ties", "check_ties"]

#: Most configurations that are listed as ties.
MOST_TIES = 1 << 20


def check_ties(top: int, per: Sequence[str]) -> None:
    """Refuse to list the ties of several winners."""
    if top > 1 or per:
        raise DseError("ties=True lists all that are as good as the one best: leave top, per out")


def all_tied(
    flat: NDArray[np.int64], rest: Sequence[str], sizes: Mapping[str, int]
) -> NDArray[np.int64]:
    """The ties among all axes, those included along which nothing varies, in axis order."""
    idle = [axis for axis in sizes if axis not in rest]
    copies = math.prod(sizes[axis] for axis in idle)
    if flat.size * copies > MOST_TIES:
        counted = f"{flat.size * copies:,}" if flat.size <= MOST_TIES else "more"
        without = f"; along {', '.join(idle)} nothing varies" if idle else ""
        raise DseError(
            f"{counted} configurations are equally good, of which {MOST_TIES:,} can be listed: fix "
            f"some axes by constraints{without}"
        )
    split = np.unravel_index(flat, [sizes[axis] for axis in rest]) if rest else ()
    index = dict(zip(rest, split, strict=True))
    index = {axis: np.repeat(i, copies) for axis, i in index.items()}
    shape = [sizes[axis] for axis in idle]
    split = np.unravel_index(np.arange(copies), shape) if idle else ()
    for axis, i in zip(idle, split, strict=True):
        index[axis] = np.tile(i, flat.size)
    if not sizes:
        return flat
    places = np.ravel_multi_index([index[axis] for axis in sizes], list(sizes.values()))
    return np.sort(places).astype(np.int64)


def answer_ties(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    found: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    chosen: Chosen,
    goal: Goal,
) -> xr.Dataset:
    """The Dataset of all configurations that are as good as the best, along ``tie``."""
    ds = answer(coordinates, found, chosen, 2, goal)  # as ranks, which all of them share
    return ds.drop_vars("rank").rename_dims(rank="tie")
