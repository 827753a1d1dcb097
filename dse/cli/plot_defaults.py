"""Default options of a plot, taken from the ``[best]`` section of its study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dse.plots.sources import MOST, allowed, dataset
from dse.study.data import StudyData
from dse.verbs.optimum import optimum
from sweeps.grid.goals import goals_in_order

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from dse.plots.kinds import Kind

    Source = StudyData | xr.Dataset

#: Kinds that draw any study.
ANY = "lines, heatmap, bars, parallel, tornado or importance"


def complete(kind: Kind, given: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """Return the options of a plot, with those that it needs and that were not given.

    A quantity or a goal is that of the study's question, else a quantity is the first output. Axes
    that the kind does not show stand where that question is answered, else in their middle.
    """
    is_study, options = isinstance(source, StudyData), dict(given)
    random = source.random if isinstance(source, StudyData) else {"draw", "run"} & {*source.dims}
    if kind.source == "random" and not random:
        raise click.UsageError(
            f"{kind.name} draws what is random, and no input is: give some a law, as in [random] "
            f'mem_latency = "normal: 600 cycles, 10 %", or take {kind.instead}'
        )
    best = (source.best if is_study else None) or {}
    goals = _goals(source, best)
    if kind.goals and not given.get("minimize") and not given.get("maximize"):
        options |= _goal_options(kind, goals, best)
    own, cases = kind.outputs, _cases(source)
    if "quantity" in kind.needed and "quantity" not in given:
        outputs = _outputs(source)
        plain = [name for name in (*goals, *outputs) if name in outputs and name not in cases]
        options |= {"quantity": plain[0]} if plain else {}
    if "quantity" in kind.names and kind.options.get("quantity") in own and cases:
        options |= {} if "quantity" in given or _yields(source, own) else {"quantity": cases[0]}
    if own and "quantity" not in options and not _yields(source, own):
        raise click.UsageError(
            f"{kind.name} draws {own[0]}, which the study does not yield: take {ANY}"
        )
    names = options.get("quantity") or own or (cases[:1] if "by" in kind.names else [])
    names = [names] if isinstance(names, str) else list(names)
    if names:
        at = given.get("at", {})
        free = _free(source, names, at)
        over = options.get("over") or kind.options.get("over")
        shown = _shown(kind, free, [over, options.get("by")], len(names))
        if (
            shown
            and not given.get("over")
            and ("over" in kind.needed or (over and over not in free))
        ):
            options["over"] = shown[0]
        rest = {name: values for name, values in free.items() if name not in shown}
        if rest:
            options["at"] = {**at, **_answer(source, best, rest, names[0], at)}
    return options


def _goal_options(kind: Kind, goals: list[str], best: Mapping[str, Any]) -> dict[str, Any]:
    """Return the goals that a kind ranks by, or raise an error that says what to give."""
    side = "minimize" if best.get("minimize") else "maximize"
    if kind.goals == 1 and goals:
        return {side: goals[0]}
    if kind.goals == len(goals):
        return {side: goals}
    asked = f"the study asks for {goals[0]} alone" if goals else "the study asks for none"
    if kind.goals == 2:
        raise click.UsageError(
            f"{kind.name} draws two goals, and {asked}: give both, as in --minimize time,power; of "
            "one goal take parallel"
        )
    raise click.UsageError(
        f"{kind.name} ranks by a goal, and {asked}: give --minimize or --maximize; without a goal "
        "take lines or tornado"
    )


def _shown(
    kind: Kind, free: dict[str, NDArray[Any]], first: Sequence[str | None], several: int
) -> list[str]:
    """Return the axes that a kind shows, of those along which what it draws varies."""
    labels = [name for name, values in free.items() if values.dtype.kind not in "iuf"]
    numbers = [name for name in reversed(free) if name not in labels]
    order = [*labels, *numbers] if kind.prefers == "labels" else [*numbers, *labels[::-1]]
    shown: list[str] = []
    for name in dict.fromkeys([*(name for name in first if name in free), *order]):
        if kind.axes is None:
            fits = not shown or math.prod(free[n].size for n in [*shown[1:], name]) <= kind.lines
        elif kind.axes == 2 and kind.prefers:
            fits = len(shown) < (2 if several == 1 else 1) and free[name].size <= MOST
        else:
            fits = len(shown) < kind.axes
        shown += [name] if fits else []
    return shown


def _goals(source: Source, best: Mapping[str, Any]) -> list[str]:
    """Return the goals of a study's question, a statistic by its name."""
    if not best or not isinstance(source, StudyData):
        return []
    quantities = source.grid().model.quantities
    goals = goals_in_order(best.get("minimize"), best.get("maximize"))
    nodes = [(goal, goal.formula(quantities)) for goal in goals]
    return [str(node.args[0]) if node.op == "reference" else goal.text for goal, node in nodes]


def _outputs(source: Source) -> list[str]:
    if isinstance(source, StudyData):
        return list(source.grid().outputs)
    return [str(name) for name, array in source.data_vars.items() if array.dtype.kind in "iuf"]


def _cases(source: Source) -> list[str]:
    """Return the bounds or cases: outputs, then what a study computes besides."""
    if isinstance(source, StudyData):
        grid = source.grid()
        known = (*grid.outputs, *next(iter(grid.graphs.values())).definitions)
        return [name for name in dict.fromkeys(known) if grid.flags(name)]
    marks = {"flag_values", "flag_values_by_model"}
    return [name for name in _outputs(source) if marks & source[name].attrs.keys()]


def _yields(source: Source, names: Sequence[str]) -> bool:
    known = source.grid().model.yields if isinstance(source, StudyData) else source.variables
    return all(name in known for name in names)


def _free(source: Source, names: Sequence[str], at: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the axes along which quantities vary, each with its values."""
    if isinstance(source, StudyData):
        grid = source.grid([name for name in names if name not in source.axes])
        dims = {dim for name in grid.outputs for dim in grid.dims(name)} - {"draw"}
        axes = {dim: grid.axes[dim].coordinate for dim in grid.axes if dim in dims}
    else:
        dims = {str(dim) for name in names if name in source for dim in source[name].dims}
        axes = {str(d): source[d].values for d in source.sizes if d in dims and d in source.coords}
    return {name: values for name, values in axes.items() if name not in at}


def _answer(
    source: Source,
    best: Mapping[str, Any],
    rest: Mapping[str, NDArray[Any]],
    name: str,
    at: Mapping[str, Any],
) -> dict[str, Any]:
    """Return where axes stand at the answer of the study's question, else at a middle point."""
    goal = {key: best[key] for key in ("minimize", "maximize", "where") if best.get(key)}
    place = dict(optimum(source, **goal).coords) if goal else {}
    if any(axis not in place for axis in rest):
        ds = dataset(source, [name], at)
        array = allowed(ds, ds[name])
        defined = np.argwhere(np.isfinite(np.asarray(array.values, dtype=float)))
        if defined.size:
            index = dict(zip(array.dims, defined[len(defined) // 2].tolist(), strict=True))
            place = {**array.isel(index).coords, **place}
    return {axis: place[axis].values.item() for axis in rest if axis in place}
