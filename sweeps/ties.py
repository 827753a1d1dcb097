"""Ties: all configurations that are as good as the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import Chosen, Goal, answer, no_choice, spread
from sweeps.check import check
from sweeps.compile import compiled
from sweeps.grid import Grid
from sweeps.run import prepare
from sweeps.scan import SMALL, answer_grid, dims_of, objective_node, to_rest
from symbolic.errors import DseError
from symbolic.ops import Node

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "MOST_TIES",
    "all_tied",
    "answer_ties",
    "as_ties",
    "check_ties",
    "grid_ties",
    "tied_places",
    "values_of",
]

#: Most configurations that are listed as ties.
MOST_TIES = 1 << 20
#: Points looked at together.
_PIECE = 1 << 20


def check_ties(top: int, per: str | Sequence[str] | None, method: str = "auto") -> None:
    """Refuse to list the ties of several winners, or those of boxes that are not scanned."""
    if top != 1 or per:
        raise DseError("ties=True lists all that are as good as the one best: leave top, per out")
    if method == "certified":
        raise DseError("ties=True takes a scan: leave method out")


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
    return as_ties(answer(coordinates, found, chosen, 2, goal))


def as_ties(ds: xr.Dataset) -> xr.Dataset:
    """An answer whose ranks are all the first."""
    return ds.drop_vars("rank").rename_dims(rank="tie")


def grid_ties(grid: Grid, goal: Goal) -> xr.Dataset:
    """All configurations of a grid that are as good as the best, by a scan that stores nothing."""
    check(grid)
    objectives = {key: objective_node(grid, key, goal) for key in grid.graphs}
    places = tied_places(grid, objectives, grid.ordered(dims_of(grid, [goal])))
    if places is None:
        raise no_choice(goal)
    return as_ties(answer_grid(grid, goal, Chosen(per=(), places=places), 2))


def tied_places(
    grid: Grid, objectives: Mapping[tuple[str, ...], Node], dims: Sequence[str]
) -> dict[str, NDArray[np.int64]] | None:
    """The places that are as good as the best, of a node of each graph over some axes."""
    plain = [d for d in dims if d not in grid.switch_axes]
    switched = [d for d in dims if d in grid.switch_axes]
    best, held = math.inf, [np.empty(0, dtype=np.int64)]
    for index, key in grid.keys(dims):
        at = dict(zip(switched, index, strict=True))
        for values, origin in node_values(grid, key, objectives[key], plain):
            least = float(values.min())
            if least < best:
                best, held = least, []
            if least == best < math.inf and sum(places.size for places in held) <= MOST_TIES:
                flat = np.flatnonzero(values == best) + origin
                held.append(to_rest(flat, plain, at, dims, grid))
    if not math.isfinite(best):
        return None
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    places = all_tied(np.sort(np.concatenate(held)), dims, sizes)
    return spread(places, tuple(sizes), (), sizes)


def values_of(
    grid: Grid, key: tuple[str, ...], goal: Goal, dims: Sequence[str]
) -> Iterator[tuple[NDArray[np.float64], int]]:
    """The signed goal over the switch-free axes, some values at a time, with the first place."""
    return node_values(grid, key, objective_node(grid, key, goal), dims)


def node_values(
    grid: Grid, key: tuple[str, ...], node: Node, dims: Sequence[str]
) -> Iterator[tuple[NDArray[np.float64], int]]:
    """As :func:`values_of`, of a node over the leaves."""
    if math.prod(grid.shape(dims)) <= SMALL:
        yield np.asarray(grid.evaluate([node], key, dims)[0], dtype=np.float64).reshape(-1), 0
        return
    ready = prepare(grid, key, dims, [(node, "float")])
    compiled(ready.nest)
    tiling = ready.tiling(_PIECE)
    for number in range(tiling.count):
        bounds, origin, size = tiling.bounds(number)
        values = np.empty(size)
        ready.run(bounds, origin, values)
        yield values, origin
