"""The exact front of two objectives by certified optima, from one end of it to the other.

The least of the first objective; the least of the second among the configurations as low as that;
then the same where the second is lower still, until no configuration is left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sweeps.answers import Goal
from sweeps.certify.optimum import METHODS, SCANNABLE, check_limits
from sweeps.certify.parts import Part, best_within, parts_of
from sweeps.certify.search import Tally, ready
from sweeps.check import check, enclosed
from sweeps.grid import Grid
from sweeps.pareto import answer_front, grid_pareto
from sweeps.scan import dims_of, objective_node
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from symbolic.ops import Node, both, constant, where

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["MOST_POINTS", "certified_front", "front_of_grid"]

#: Most points of a front that are proven one by one.
MOST_POINTS = 1 << 14


def front_of_grid(
    grid: Grid, goals: Sequence[Goal], *, method: str = "auto", time_limit: float | None = None
) -> xr.Dataset:
    """The front, by a scan or certified; ``"auto"`` scans what a scan can pass over."""
    if method not in METHODS:
        raise DseError(f"method = {method!r}: expected one of {', '.join(METHODS)}")
    if method == "scan" and time_limit is not None:
        raise DseError("a scan looks at every point: time_limit needs method='certified'")
    if method == "auto" and time_limit is None:
        points = math.prod(grid.shape(dims_of(grid, goals)))
        method = "certified" if points > SCANNABLE and len(goals) == 2 else "scan"
    if method == "scan":
        return grid_pareto(grid, goals).assign_attrs(method="scan")
    return certified_front(grid, goals, time_limit=time_limit)


def certified_front(
    grid: Grid, goals: Sequence[Goal], *, time_limit: float | None = None
) -> xr.Dataset:
    """The configurations that no other beats in two objectives, each proven, in axis order.

    They are those of :func:`sweeps.pareto.grid_pareto`. When the time is up, those proven so far
    are given: they lie at the end of the front where the first objective is best, and the attribute
    ``complete`` is 0.
    """
    if len(goals) != 2:
        raise DseError(f"a front is certified of two objectives, was given {len(goals)}: scan it")
    check_limits(time_limit)
    ready()
    tally = Tally()
    if time_limit is not None:
        tally.deadline = time.monotonic() + time_limit
    for goal in goals:
        enclosed(grid, {key: objective_node(grid, key, goal) for key in grid.graphs})
    check(grid, counted=False, tally=tally)
    parts = parts_of(grid, goals, ())
    others = [objective_node(grid, part.key, goals[1]) for part in parts]
    found: list[Mapping[str, int]] = []
    complete, below = False, math.inf
    while True:
        if len(found) == MOST_POINTS:
            raise DseError(
                f"the front has more than {MOST_POINTS:,} points, which is the most that are "
                "certified: give time_limit, coarser axes, or objectives rounded by floor"
            )
        first = [
            _under(part, part.root, other, below) for part, other in zip(parts, others, strict=True)
        ]
        low = best_within(grid, first, {}, 0.0, tally, settle=False)
        if low.bound < low.value:
            break
        if low.place is None:
            complete = True
            break
        second = [
            _among(part, other, low.value, below) for part, other in zip(parts, others, strict=True)
        ]
        best = best_within(grid, second, {}, 0.0, tally)
        if best.place is None or not best.settled:
            break
        found.append(best.place)
        below = best.value
    if not found and not complete:
        raise OutOfTimeError(
            f"no point of the front was proven in {time_limit:g} s: give more time"
        )
    if not found:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    ordered = sorted(tuple(place[axis] for axis in grid.axes) for place in found)
    places = {
        axis: np.array([place[k] for place in ordered], dtype=np.int64)
        for k, axis in enumerate(grid.axes)
    }
    told = {
        "method": "certified",
        "complete": int(complete),
        "boxes": tally.boxes,
        "points_visited": tally.visited,
    }
    return answer_front(grid, places, goals).assign_attrs(told)


def _under(part: Part, root: Node, other: Node, below: float) -> Part:
    """One objective where the other is below a value."""
    return replace(part, root=constant(where(other < below, root, math.inf)))


def _among(part: Part, other: Node, value: float, below: float) -> Part:
    """The other objective among what is as low as a value in the first."""
    holds = both(part.root <= value, other < below)
    return replace(part, root=constant(where(holds, other, math.inf)))
