"""The Pareto front of a grid that is not stored, tile by tile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.check import check
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid
from sweeps.nest.passes import Skipped, over_points
from sweeps.nest.reduce import beaten_by, front
from sweeps.runtime.progress import points_so_far
from sweeps.scan.fused import spread, to_rest
from symbolic.errors import InfeasibleError

#: Most points of a front that tell whether a tile is worth looking at.
_JUDGES = sizes.FRONT_JUDGES


class _Front:
    """The best so far: objectives (rows) of some points, and their flat indices, ascending."""

    def __init__(self, objectives: int) -> None:
        self.values = np.empty((objectives, 0))
        self.places = np.empty(0, dtype=np.int64)

    def add(self, values: NDArray[np.float64], places: NDArray[np.int64]) -> None:
        """Some more points, which may be better, or worse, than those held."""
        places = np.concatenate([self.places, places])
        order = np.argsort(places, kind="stable")
        joined = np.ascontiguousarray(np.concatenate([self.values, values], axis=1)[:, order])
        best = front(joined)
        self.values, self.places = joined[:, best], places[order][best]

    def worth(self, known: Sequence[Any], _: Any) -> NDArray[np.bool_]:
        """Which tiles may hold a point that is none of those held and not beaten by one."""
        least = np.stack([interval.lo for interval in known])
        worth: NDArray[np.bool_] = np.all(least < math.inf, axis=0)
        for point in self.values.T[:: -(-self.values.shape[1] // _JUDGES) or 1]:
            beaten = np.all(point[:, None] <= least, axis=0)
            worth &= ~(beaten & np.any(point[:, None] < least, axis=0))
        return worth


def _front_of(
    grid: Grid, goals: Sequence[Goal], key: tuple[str, ...], dims: Sequence[str], skipped: Skipped
) -> _Front:
    """The front over the switch-free axes under some labels of the others."""
    nodes, found = [objective_node(grid, key, goal) for goal in goals], _Front(len(goals))

    def feed(own: _Front, values: NDArray[np.float64], _: Any, origin: int) -> None:
        held = own.values[:, :: -(-own.places.size // _JUDGES) or 1]
        left = beaten_by(values, held, np.full(held.shape[1], -1))
        left = left[front(values[:, left])]
        own.add(values[:, left], left + origin)

    for part in over_points(
        grid,
        key,
        dims,
        nodes,
        None,
        lambda: _Front(len(goals)),
        feed,
        found.worth,
        skipped,
        partial=True,
    ):
        found.add(part.values, part.places)
        points_so_far(found.places.size)
    return found


def scanned_front(grid: Grid, goals: Sequence[Goal], skipped: Skipped) -> dict[str, Any]:
    """The points that no other beats in every objective, tile by tile: an index along every axis.

    They are in axis order. Of points equal in every objective the first stands for all.
    """
    check(grid)
    dims = grid.ordered(dims_of(grid, goals))
    plain, whole = grid.plain(dims), _Front(len(goals))
    for at, key in grid.keys(dims):
        part = _front_of(grid, goals, key, plain, skipped)
        whole.add(part.values, to_rest(part.places, plain, at, dims, grid))
    best = whole.places
    if not best.size:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    return spread(best, dims, (), {axis: grid.axes[axis].size for axis in grid.axes})
