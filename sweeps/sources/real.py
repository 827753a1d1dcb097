"""The best configuration of a space in which some axes are real, to a tolerance that is proven."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sweeps.ask.ask import check_method
from sweeps.bounds.check import check, enclosed
from sweeps.bounds.expanding import expanded
from sweeps.grid.goals import Goal, none_in_time
from sweeps.grid.grid import Grid
from sweeps.prove.parts import Part, parts_of
from sweeps.prove.reals.lowest import TINY, Lowest, lowest
from sweeps.prove.reals.mixed import Mixed
from sweeps.runtime.loop import Tally
from sweeps.runtime.progress import gap_of
from sweeps.scan.choosing import Chosen
from sweeps.sources.grids import GridScan
from symbolic.errors import DseError, InfeasibleError
from symbolic.ops import references

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["TOLERANCE", "check_asked", "real_optimum"]

#: By which share of its value an answer may miss the best, unless told.
TOLERANCE = 1e-6


def check_asked(real: str, **given: bool) -> None:
    """Refuse what is asked of points one by one."""
    if others := [name for name, asked in given.items() if asked]:
        raise DseError(
            f"{real} lies between two numbers, of which optimum proves the one best: leave "
            f"{', '.join(others)} out, or give {real} values"
        )


def real_optimum(
    grid: Grid,
    goal: Goal,
    at: Callable[[Mapping[str, float]], Grid],
    *,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
) -> xr.Dataset:
    """The best configuration, and below (above) which value none is, for every real on its axes.

    Parameters
    ----------
    grid : Grid
        Its real axes hold their two ends.
    goal : Goal
        What to make small or large.
    at : callable
        The grid with the real axes at one value each.
    time_limit : float, optional
        Seconds after which the best found is returned, with the bound proven so far.
    gap : float, optional
        By which share of its value the answer may miss the best; ``TOLERANCE`` unless told.

    Raises
    ------
    InfeasibleError
        No point satisfies the conditions.
    OutOfTimeError
        None was found, nor is it proven that there is none.
    """
    real = {name: axis for name, axis in grid.axes.items() if axis.real}
    if method == "scan":
        check_asked(next(iter(real)), **{"method='scan'": True})
    check_method(method, time_limit, gap)
    gap = TOLERANCE if gap is None else gap
    tally = Tally.of(time_limit)
    grid = expanded(grid, moved=True)
    parts = parts_of(grid, [goal], ())
    enclosed(grid, {part.key: part.root for part in parts})
    check(grid, counted=False, possible=False)
    ends = {name: (float(axis.values[0]), float(axis.values[1])) for name, axis in real.items()}
    best, bound, found = math.inf, math.inf, dict.fromkeys(grid.axes, 0.0)
    found |= {name: low for name, (low, _) in ends.items()}
    for part in parts:
        _check_leaves(part, real)
        problem = Mixed(part.root, part.leaves, part.sizes, ends)
        here = Lowest(gap, best)
        lowest(problem, here, tally)
        bound = min(bound, here.bound)
        if here.point is not None:
            best = here.value
            found |= dict(zip(problem.dims, here.point.tolist(), strict=False))
            found |= part.labels
    if best == math.inf and bound == math.inf:
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point, whatever the reals: relax the "
            "constraints, or change the axes"
        )
    if best == math.inf:
        raise none_in_time(goal)
    whole = at({name: found[name] for name in real})
    check(whole, counted=False, possible=False)
    places = {axis: np.array([0 if axis in real else int(found[axis])]) for axis in grid.axes}
    answer = GridScan(grid=whole).answer(Chosen(per=(), places=places), [goal], ranked=False)
    return answer.assign_attrs(
        method="certified",
        real_axes=" ".join(real),
        tolerance=gap,
        bound=goal.sign * bound,
        gap=0.0 if best - bound <= TINY else gap_of(best, bound),
        boxes=tally.boxes,
        points_visited=tally.visited,
    )


def _check_leaves(part: Part, real: Mapping[str, object]) -> None:
    """Refuse what is known at values of a real axis alone."""
    for name in references(part.root):
        for axis in part.leaves[name].axes:
            if axis in real and name != axis:
                raise DseError(
                    f"{name} is a table along {axis}, which lies between two numbers, and is known "
                    f"at no others: give {axis} values, or {name} a formula"
                )
