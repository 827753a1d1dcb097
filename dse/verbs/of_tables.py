"""Questions of a Dataset: in memory, in a store, or of quantities that are not stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.verbs.of_studies import best_of_study, front_of_study
from dse.verbs.reading import Table
from sweeps.answers import OBJECTIVE, Goal
from sweeps.goals import check_single, in_words
from symbolic.errors import DseError, UnknownNameError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

__all__ = ["best_of_table", "front_of_table"]

_ROWS = ("configuration",)


def best_of_table(
    table: Table,
    goals: Sequence[Goal],
    *,
    where: tuple[str, ...],
    per: tuple[str, ...],
    top: int,
    ties: bool,
) -> xr.Dataset:
    """See :func:`dse.optimum`."""
    from sweeps.questions import dataset_optimum
    from sweeps.stored.asked import stored_optimum

    if len(goals) > 1:
        check_single(top=top != 1, per=bool(per))
    ds, store = table.ds, table.store

    def ask(where: Sequence[str], goal: Goal, ties: bool) -> xr.Dataset:
        asked: dict[str, Any] = {"where": where, "per": per, "top": top, "ties": ties}
        if store is not None:
            return stored_optimum(store, goal, **asked, outputs=_outputs(ds))
        return dataset_optimum(ds, goal, **asked)

    try:
        if store is None:
            for name in per:
                if name in ds.coords and name not in ds.dims and ds[name].dims == _ROWS:
                    raise DseError(
                        f"per = {name!r} lies along configuration and is no axis: make a grid of "
                        "the measurements (dse.open(..., shape='grid'), dse import --shape grid)"
                    )
        return _in_order(ask, goals, where, ties)
    except UnknownNameError as error:
        more, study = _missing(ds, goals, where, error)
    if store is not None:
        return best_of_study(study, goals, where=where, per=per, top=top, ties=ties)
    ds = _with(ds, more)
    return _in_order(ask, goals, where, ties)


def _in_order(
    ask: Callable[[Sequence[str], Goal, bool], xr.Dataset],
    goals: Sequence[Goal],
    where: Sequence[str],
    ties: bool,
) -> xr.Dataset:
    """The best by several objectives: each is asked where those before are as good as was found."""
    *before, last = goals
    formulas: dict[str, Any] = {}
    read = 0
    for number, goal in enumerate(before):
        found = ask(where, goal, False)
        read += found.attrs.get("blocks_read", 0)
        name = goal.text if goal.text in found.variables else OBJECTIVE
        if name == OBJECTIVE:
            formulas[f"{OBJECTIVE}_{number + 1}"] = found[name].variable
        value = float(found[name])
        where = (*where, f"({goal.text}) {'<=' if goal.sign > 0 else '>='} {value!r}")
    found = ask(where, last, ties)
    if not before:
        return found
    if last.text not in found.variables:
        found = found.rename({OBJECTIVE: f"{OBJECTIVE}_{len(goals)}"})
    shape = tuple(found.sizes.values())
    found = found.assign(
        {n: (found.dims, np.full(shape, float(v)), v.attrs) for n, v in formulas.items()}
    )
    if "blocks_read" in found.attrs:
        found.attrs["blocks_read"] += read
    return found.assign_attrs(question=in_words(goals))


def front_of_table(table: Table, goals: Sequence[Goal], *, where: tuple[str, ...]) -> xr.Dataset:
    """See :func:`dse.pareto`."""
    from sweeps.questions import dataset_pareto
    from sweeps.stored.asked import stored_pareto

    ds, store = table.ds, table.store
    try:
        if store is not None:
            return stored_pareto(store, goals, where=where, outputs=_outputs(ds))
        return dataset_pareto(ds, goals, where=where)
    except UnknownNameError as error:
        more, study = _missing(ds, goals, where, error)
    if store is not None:
        return front_of_study(study, goals, where=where)
    return dataset_pareto(_with(ds, more), goals, where=where)


def _missing(
    ds: xr.Dataset, goals: Sequence[Goal], where: Sequence[str], error: UnknownNameError
) -> tuple[list[str], StudyData]:
    """The quantities of a question that a Dataset does not hold and its study has, and the study.

    Raises the error that is given where there are none, or no study.
    """
    from dse.derived import study_of
    from symbolic.expression import parse, parse_condition
    from symbolic.ops import references

    if "study" not in ds.attrs:
        raise error
    try:
        study = study_of(ds)
    except DseError as changed:
        raise DseError(f"{error}; nor can it be computed: {changed}") from None
    quantities = study.space().model.quantities
    try:
        nodes = [parse(goal.text, quantities) for goal in goals]
        nodes += [parse_condition(text, quantities) for text in where]
        names = [name for name in references(*nodes) if name not in ds.variables]
        study.grid(names)
    except DseError:
        raise error from None
    if not names:
        raise error
    return names, study


def _with(ds: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    from dse.derived import derive

    return derive(ds, names)


def _outputs(ds: xr.Dataset) -> list[str]:
    return [str(name) for name in ds.data_vars]
