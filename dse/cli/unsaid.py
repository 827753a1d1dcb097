"""What a figure shows where nobody says: by the question that its study asks under [best]."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from dse.study.data import StudyData

    Source = StudyData | xr.Dataset

__all__ = ["ANY", "completed"]

#: Kinds that draw any study.
ANY = "lines, heatmap, bars, parallel, tornado or importance"
#: Kinds that rank by a goal; of two axes, of one, and that look at all or at one configuration.
_RANKED = ("parallel", "chances", "worth")
_MAPS = ("heatmap", "regimes", "categories")
_ALONE = ("bands", "lost", "power-shares", "levels", "fan", "sms")
#: Of random inputs, each with what draws a study without them.
_RANDOM = {"chances": "parallel", "worth": "tornado", "fan": "lines", "outcome": "bars"}
_WHOLE = (*_RANKED, "pareto", "tornado")


def completed(
    kind: str,
    given: Mapping[str, Any],
    source: Source,
    taken: Mapping[str, Any],
    own: Sequence[str],
) -> dict[str, Any]:
    """The options of a figure, with those that it needs and nobody gave.

    A quantity or a goal is that of the study's question, a quantity else the first output. Of more
    axes than the kind draws the rest stand where that question is answered, else in their middle.

    Parameters
    ----------
    kind : str
        One of the kinds of ``dse plot``.
    given : mapping
        The options that are given.
    source : Study or Dataset
        What is drawn.
    taken : mapping
        The options that the kind takes, and what stands for each that is not given.
    own : sequence of str
        The quantities that it draws of a model of its own.
    """
    from dse.study.data import StudyData

    is_study, found = isinstance(source, StudyData), dict(given)
    random = source.random if isinstance(source, StudyData) else {"draw", "run"} & {*source.dims}
    if kind in _RANDOM and not random:
        raise click.UsageError(
            f"{kind} draws what is random, and no input is: give some a law, as in [random] "
            f'mem_latency = "normal: 600 cycles, 10 %", or take {_RANDOM[kind]}'
        )
    best = (source.best if is_study else None) or {}
    goals, side = _goals(source, best), "minimize" if best.get("minimize") else "maximize"
    if not given.get("minimize") and not given.get("maximize"):
        if kind in _RANKED and goals:
            found[side] = goals[0]
        elif kind == "pareto" and len(goals) == 2:
            found[side] = goals
        elif kind == "pareto":
            told = f"the study asks for {goals[0]} alone" if goals else "the study asks for none"
            raise click.UsageError(
                f"pareto draws two goals, and {told}: give both, as in --minimize time,power; of "
                "one goal take parallel"
            )
        elif kind == "parallel":
            raise click.UsageError(
                "parallel ranks by a goal, and the study asks for none: give --minimize or "
                "--maximize; without a goal take lines or tornado"
            )
    if "quantity" in taken and "quantity" not in given:
        cases = _cases(source)
        if taken["quantity"] is None:
            outputs = _outputs(source)
            plain = [name for name in (*goals, *outputs) if name in outputs and name not in cases]
            found |= {"quantity": plain[0]} if plain else {}
        elif kind == "categories" and not _yields(source, own) and cases:
            found["quantity"] = cases[0]
    if own and "quantity" not in found and not _yields(source, own):
        raise click.UsageError(f"{kind} draws {own[0]}, which the study does not yield: take {ANY}")
    names = found.get("quantity") or (_cases(source)[:1] if kind == "regimes" else own)
    if kind not in _WHOLE and names:
        names = [names] if isinstance(names, str) else list(names)
        free = _free(source, names, given.get("at", {}))
        over = [found.get("over") or taken.get("over"), found.get("by")]
        kept = _shown(kind, free, over, len(names))
        if kept and "over" not in given and (kind == "fan" or (over[0] and over[0] not in free)):
            found["over"] = kept[0]
        rest = {name: values for name, values in free.items() if name not in kept}
        if rest:
            found["at"] = {
                **given.get("at", {}),
                **_answer(source, best, rest, names[0], given.get("at", {})),
            }
    return found


def _shown(
    kind: str, free: dict[str, NDArray[Any]], over: Sequence[str | None], several: int
) -> list[str]:
    """The axes that a kind shows, of those along which what it draws varies."""
    from dse.plots.sources import MOST

    labels = [name for name, values in free.items() if values.dtype.kind not in "iuf"]
    numbers = [name for name in reversed(free) if name not in labels]
    order = [*labels, *numbers] if kind in ("bars", "levels") else [*numbers, *labels[::-1]]
    kept: list[str] = []
    for name in dict.fromkeys([*(name for name in over if name in free), *order]):
        lines = math.prod(free[one].size for one in [*kept[1:], name])
        if kind in _MAPS:
            fits = len(kept) < 2
        elif kind in ("outcome", "importance"):
            fits = False
        elif kind in _ALONE:
            fits = not kept
        elif kind == "bars":
            fits = len(kept) < (2 if several == 1 else 1) and free[name].size <= MOST
        else:
            fits = not kept or lines <= (4 if kind == "mwp" else MOST)
        kept += [name] if fits else []
    return kept


def _goals(source: Source, best: Mapping[str, Any]) -> list[str]:
    """The goals of a study's question, a statistic by the name under which it is computed."""
    from dse.study.data import StudyData
    from sweeps.grid.goals import goals_in_order

    if not best or not isinstance(source, StudyData):
        return []
    quantities = source.grid().model.quantities
    found = []
    for goal in goals_in_order(best.get("minimize"), best.get("maximize")):
        node = goal.formula(quantities)
        found.append(str(node.args[0]) if node.op == "reference" else goal.text)
    return found


def _outputs(source: Source) -> list[str]:
    from dse.study.data import StudyData

    if isinstance(source, StudyData):
        return list(source.grid().outputs)
    return [str(name) for name, array in source.data_vars.items() if array.dtype.kind in "iuf"]


def _cases(source: Source) -> list[str]:
    """What tells bounds or cases: outputs, then what a study computes behind them."""
    from dse.study.data import StudyData

    if isinstance(source, StudyData):
        grid = source.grid()
        known = (*grid.outputs, *next(iter(grid.graphs.values())).definitions)
        return [name for name in dict.fromkeys(known) if grid.flags(name)]
    marks = ("flag_values", "flag_values_by_model")
    return [name for name in _outputs(source) if any(m in source[name].attrs for m in marks)]


def _yields(source: Source, names: Sequence[str]) -> bool:
    from dse.study.data import StudyData

    held = source.grid().model.yields if isinstance(source, StudyData) else source.variables
    return all(name in held for name in names)


def _free(source: Source, names: Sequence[str], at: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The axes along which quantities vary, each with its values."""
    from dse.study.data import StudyData

    if isinstance(source, StudyData):
        grid = source.grid([name for name in names if name not in source.axes])
        dims = [dim for name in grid.outputs for dim in grid.dims(name)]
        told = {d: grid.axes[d].coordinate for d in grid.axes if d in dims and d != "draw"}
    else:
        dims = [str(dim) for name in names if name in source for dim in source[name].dims]
        told = {str(d): source[d].values for d in source.sizes if d in dims and d in source.coords}
    return {name: values for name, values in told.items() if name not in at}


def _answer(
    source: Source,
    best: Mapping[str, Any],
    rest: Mapping[str, NDArray[Any]],
    name: str,
    at: Mapping[str, Any],
) -> dict[str, Any]:
    """Where axes stand at the answer of the study's question; else amid the points with a value."""
    import numpy as np

    from dse.plots.sources import allowed, dataset
    from dse.verbs.chosen import optimum

    goal = {key: best[key] for key in ("minimize", "maximize", "where") if best.get(key)}
    found = dict(optimum(source, **goal).coords) if goal else {}
    if any(axis not in found for axis in rest):
        ds = dataset(source, [name], at)
        array = allowed(ds, ds[name])
        held = np.argwhere(np.isfinite(np.asarray(array.values, dtype=float)))
        if held.size:
            middle = array.isel(dict(zip(array.dims, held[len(held) // 2].tolist(), strict=True)))
            found = {**middle.coords, **found}
    return {axis: found[axis].values.item() for axis in rest if axis in found}
