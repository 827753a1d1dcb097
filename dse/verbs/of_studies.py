"""Searches of the grid of a study, which is not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.verbs.reading import identified
from dse.verbs.refusals import check_optimum
from sweeps.stopping import handing_back

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData
    from sweeps.answers import Goal

__all__ = ["best_of_study", "front_of_study"]


@handing_back
def best_of_study(
    study: StudyData,
    goals: Sequence[Goal],
    *,
    where: tuple[str, ...] = (),
    per: tuple[str, ...] = (),
    top: int = 1,
    ties: bool = False,
    within: float | None = None,
    method: str = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
) -> xr.Dataset:
    """See :func:`dse.optimum`."""
    from sweeps.certify.optimum import best_of

    goal, *later = goals
    real = next((axis.name for axis in study._parts.axes if axis.real), None)
    check_optimum(
        real,
        several=bool(later),
        top=top,
        per=per,
        ties=ties,
        within=within,
        method=method,
        gap=gap,
    )
    if real is not None:
        from sweeps.certify.reals.optimum import real_optimum

        needed = study._needed([goal.text])
        found = real_optimum(
            study.space(needed, where),
            goal,
            lambda at: study.space(needed, where, at),
            method=method,
            time_limit=time_limit,
            gap=gap,
        )
        return identified(found, study)
    grid = study._question([goal.text for goal in goals], where)
    if later:
        from sweeps.certify.priority import best_in_order

        found = best_in_order(grid, goals, ties=ties, method=method, time_limit=time_limit, gap=gap)
    elif within is not None:
        from sweeps.inverse.near import near_best

        found = near_best(grid, goal, within, method=method, time_limit=time_limit)
    elif ties:
        from sweeps.ties import grid_ties

        found = grid_ties(grid, goal)
    else:
        found = best_of(grid, goal, per=per, top=top, method=method, time_limit=time_limit, gap=gap)
    return identified(found, study)


@handing_back
def front_of_study(
    study: StudyData,
    goals: Sequence[Goal],
    *,
    where: tuple[str, ...] = (),
    method: str = "auto",
    time_limit: float | None = None,
) -> xr.Dataset:
    """See :func:`dse.pareto`."""
    from sweeps.certify.front import front_of_grid

    grid = study._question([goal.text for goal in goals], where)
    return identified(front_of_grid(grid, goals, method=method, time_limit=time_limit), study)
