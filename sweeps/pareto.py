"""The Pareto front of a grid that is not stored, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import Goal, answer_points, spread
from sweeps.check import check
from sweeps.compile import compiled
from sweeps.dataset import coordinates_by_axis, describe
from sweeps.grid import FEASIBLE, Grid
from sweeps.reduce import front
from sweeps.run import TILE, in_threads, prepare
from sweeps.scan import SMALL, dims_of, objective_node, to_rest
from symbolic.errors import InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["grid_pareto"]


def _fronts(
    grid: Grid, goals: Sequence[Goal], key: tuple[str, ...], dims: Sequence[str]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Objectives and flat indices of each tile's own front over the switch-free axes."""
    nodes = [objective_node(grid, key, goal) for goal in goals]
    points = math.prod(grid.shape(dims))
    if points <= SMALL:
        values = np.stack([a.reshape(-1) for a in grid.evaluate(nodes, key, dims)])
        places = front(values)
        yield values[:, places], places
        return
    ready = prepare(grid, key, dims, [(node, "float") for node in nodes])
    compiled(ready.nest)
    tiling = ready.tiling(TILE)

    def work(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        bounds, origin, size = tiling.bounds(number)
        values = np.empty((len(goals), size))
        ready.run(bounds, origin, *values)
        places = front(values)
        return values[:, places], places + origin

    yield from in_threads(work, tiling.count)


def grid_pareto(grid: Grid, goals: Sequence[Goal]) -> xr.Dataset:
    """The configurations that no other beats in every objective, tile by tile.

    The result has the dimension ``point``, in axis order. Of configurations equal in every
    objective the first in axis order stands for all.
    """
    check(grid)
    dims = grid.ordered(dims_of(grid, goals))
    plain = [d for d in dims if d not in grid.switch_axes]
    switched = [d for d in dims if d in grid.switch_axes]
    values, places = [np.empty((len(goals), 0))], [np.empty(0, dtype=np.int64)]
    for index, key in grid.keys(dims):
        at = dict(zip(switched, index, strict=True))
        for part, flat in _fronts(grid, goals, key, plain):
            values.append(part)
            places.append(to_rest(flat, plain, at, dims, grid))
    joined, flat = np.concatenate(values, axis=1), np.concatenate(places)
    order = np.argsort(flat, kind="stable")
    best = flat[order][front(np.ascontiguousarray(joined[:, order]))]
    if not best.size:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    places_of = spread(best, dims, (), sizes)
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    found = {n: (a, describe(grid, n)) for n, a in grid.at_points(places_of, names).items()}
    return answer_points(coordinates_by_axis(grid), found, places_of, goals)
