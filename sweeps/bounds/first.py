"""The lowest point of a grid where a condition holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.earliest import first_place
from sweeps.grid.flat_index import unravel
from sweeps.grid.grid import Grid
from sweeps.grid.tiling import Tiling
from sweeps.runtime.loop import Tally
from symbolic.errors import OutOfTimeError
from symbolic.ops import Node, constant, interpret_arrays, references, where

__all__ = ["first"]

#: Points looked at together, and those looked at before all others: most grids hold a feasible one.
_BLOCK, _GLANCE = sizes.FIRST_BLOCK, sizes.FIRST_GLANCE
#: Beyond so many points they are not looked at one by one, but in boxes.
_MANY = sizes.FIRST_MANY


def first(
    grid: Grid, condition: Any, dims: Sequence[str], tally: Tally | None = None
) -> dict[str, int] | None:
    """The lowest point of the axes ``dims`` where a condition holds; None where nowhere.

    ``condition`` maps the labels of the switch axes to a node over the leaves.

    Raises
    ------
    OutOfTimeError
        The time of the tally was up before that was known.
    """
    best: tuple[int, ...] | None = None
    for at, key in grid.keys(dims):
        found = _first_in(grid, condition(key), key, grid.plain(dims), tally or Tally())
        if found is not None:
            point = {**at, **found}
            place = tuple(point[d] for d in dims)
            best = place if best is None else min(best, place)
    return None if best is None else dict(zip(dims, best, strict=True))


def _first_in(
    grid: Grid, node: Node, key: tuple[str, ...], dims: Sequence[str], tally: Tally
) -> dict[str, int] | None:
    own = grid.ordered(grid.node_dims(node, key) & set(dims))
    shape = grid.shape(own) or (1,)
    glance, all_of_it = (Tiling(shape[:-1], shape[-1], size) for size in (_GLANCE, _BLOCK))
    many = math.prod(shape) > _MANY
    for tiling, count in ((glance, 1), (all_of_it, 0 if many else all_of_it.count)):
        for number in range(count):
            bounds = tiling.bounds(number)[0].reshape(-1, 2)
            place = _first_within(grid, node, key, own, bounds)
            if place is not None:
                return {**dict.fromkeys(dims, 0), **dict(zip(own, place, strict=False))}
            if tally.late and number + 1 < tiling.count:
                raise _in_doubt()
    found = _first_of_many(grid, node, key, own, tally) if many else None
    return None if found is None else {**dict.fromkeys(dims, 0), **found}


def _in_doubt() -> OutOfTimeError:
    return OutOfTimeError(
        "whether all formulas stay in their domains was not known in time: give more time"
    )


def _first_of_many(
    grid: Grid, node: Node, key: tuple[str, ...], own: Sequence[str], tally: Tally
) -> dict[str, int] | None:
    """The lowest point where a condition holds, by bounds over boxes."""
    root = constant(where(node, 0.0, math.inf))
    sizes = {axis: grid.axes[axis].size for axis in own}
    with np.errstate(all="ignore"):
        place, proven = first_place(root, grid.leaves[key], sizes, None, 0.0, tally)
    if place is None and not proven:
        raise _in_doubt()
    return place


def _first_within(
    grid: Grid, node: Node, key: tuple[str, ...], own: Sequence[str], bounds: NDArray[np.int64]
) -> list[int] | None:
    """The lowest point inside a box where a condition holds."""
    values = {}
    box = {axis: slice(*ends) for axis, ends in zip(own, bounds.tolist(), strict=False)}
    for name in references(node):
        values[name] = np.atleast_1d(grid.leaves[key][name].cut(box).over(own))
    holds = interpret_arrays((node,), values)[0]
    sizes = tuple(bounds[:, 1] - bounds[:, 0])
    holds = np.broadcast_to(holds, sizes)
    if not holds.any():
        return None
    place = unravel(int(np.argmax(holds.reshape(-1))), sizes)
    return [int(low + step) for low, step in zip(bounds[:, 0], place, strict=True)]
