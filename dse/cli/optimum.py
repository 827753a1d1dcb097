"""The command `dse optimum`: find the best configurations, and print the certificate."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import (
    UNPROVEN,
    Source,
    best_on_interrupt,
    change_study,
    command,
    compile_in_background,
    read_query,
    set_exit_status,
    source_argument,
)
from dse.cli.options import (
    OptionDecorator,
    at_option,
    axis_and_set_options,
    goal_options,
    nonempty_options,
    option,
    per_and_top_options,
    time_limit_option,
)
from dse.signals import time_left
from stochastic import sizes
from symbolic.answer import Answer

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import BestQuery, StudyData
    from sweeps.store.fill import WatchedOutput


def watched_objective(best: BestQuery | None, study: StudyData) -> tuple[WatchedOutput, str] | None:
    """Return the objective and its unit if a run can report its best value so far; otherwise None.

    The objective must be a single stored output of numbers, without constraints.
    """
    if best is None:
        return None
    (goal, *later), grid = best.goals, study.grid()
    output = next((name for name in grid.outputs if name == goal.text), None)
    if output is None or later or best.where or grid.kind(output) != "float":
        return None
    return (output, goal.sign), grid.model.quantity(output).unit


def find_winners(best: BestQuery, study: StudyData, values: xr.Dataset | None) -> xr.Dataset:
    """Return the best configurations; look them up in ``values`` if there are few points."""
    if values is not None and study.grid().points <= sizes.LOOKED_UP:
        from symbolic.expression import parse, parse_condition
        from symbolic.ops import references
        from symbolic.quantities import indexed_quantity

        quantities = study.grid().model.quantities
        nodes = [parse(goal.text, quantities) for goal in best.goals]
        nodes += [parse_condition(text, quantities) for text in best.where]
        if all(indexed_quantity(name) in values.variables for name in references(*nodes)):
            return dse.optimum(values, **best.as_keywords())
    return dse.optimum(study, **best.as_keywords())


#: Attributes that the JSON of an answer contains whenever the answer has them.
_ATTRIBUTES = (
    *("within", "configurations", "epsilon", "complete", "points_proven", "boxes_left"),
    *("hypervolume", "reference"),
)
_NONZERO_ATTRIBUTES = ("points_skipped", "points_left")
_CERTIFICATE_KEYS = (*("bound", "gap", "settled", "boxes"), *("points_visited", "points_excluded"))


def compile_search_in_background() -> AbstractContextManager[object]:
    """Let a second process compile a part of the search, if the search is not in the cache."""
    program = "from sweeps.bounds.search import parts; parts()"
    return compile_in_background(
        program, waited_functions=("enclose", "relax"), first_function="search_depth_first"
    )


def is_proven(attributes: Mapping[str, Any], gap: float | None = None) -> bool:
    """True if an answer is complete, and its gap is proven to be at most ``gap``."""
    import numpy as np

    is_close = np.all(np.atleast_1d(attributes.get("gap", 0.0)) <= (gap or 0.0))
    return bool(is_close and attributes.get("complete", 1) and not attributes.get("points_left"))


def set_unproven_status(attributes: Mapping[str, Any], gap: float | None = None) -> None:
    """Set the exit status 3 if a limit ended the search before the answer was proven."""
    if not attributes.get("interrupted") and not is_proven(attributes, gap):
        set_exit_status(UNPROVEN)


def parse_share(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Convert a fraction such as 0.01 or 1% to a number."""
    if value is None:
        return None
    try:
        share = float(value.strip().removesuffix("%")) / (100 if value.strip()[-1:] == "%" else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < float("inf"):
        raise click.BadParameter(f"{value!r} is no share such as 1% or 0.01", param=param)
    return share


def method_option(text: str) -> OptionDecorator:
    """Return the option --method."""
    kinds = click.Choice(["auto", "scan", "certified"])
    text = f"Evaluate every point (scan), or {text}; default: choose by the size (auto)"
    return option("--method", text, type=kinds)


search_limit_option = time_limit_option(
    "Seconds from the start of the command; the search then stops and reports the best so far"
)
gap_option = option(
    "--gap X",
    "Stop once no configuration can be better by more than this fraction, such as 0.05",
    type=click.FloatRange(min=0),
)


def certified_answer(ds: xr.Dataset, source: Source, gap: float | None = None) -> Answer:
    """Return the result of a search with its certificate; the exit status is 3 if unproven."""
    from dse.display import column_order, dataset_answer

    set_unproven_status(ds.attrs, gap)
    answer = dataset_answer(ds, column_order(source))
    data: dict[str, Any] = {"method": ds.attrs.get("method", "scan")}
    data |= {name: ds.attrs[name] for name in _ATTRIBUTES if name in ds.attrs}
    data |= {name: ds.attrs[name] for name in _NONZERO_ATTRIBUTES if ds.attrs.get(name)}
    if ds.attrs.get("interrupted"):
        data["interrupted"] = True
    if "bound" in ds.attrs:
        data["certificate"] = {key: ds.attrs[key] for key in _CERTIFICATE_KEYS if key in ds.attrs}
        if "settled" in ds.attrs:
            data["certificate"]["settled"] = bool(ds.attrs["settled"])
    data |= {"no_value": notes} if (notes := ds.attrs.get("no_value", "").splitlines()) else {}
    certificate = certificate_text(ds.attrs, gap)
    return replace(answer, notes=notes, data=answer.data | data, certificate=certificate)


def certificate_text(attributes: Mapping[str, Any], gap: float | None = None) -> str:
    """Return a sentence on what is proven or skipped; it is empty for a scan of all points.

    >>> certificate_text({"points_skipped": 4096})
    'scan: bounds over tiles ruled out 4,096 configurations'
    >>> proof = {"settled": 1, "boxes": 1200, "points_visited": 5, "points_excluded": 1e20}
    >>> certificate_text({"gap": 0.0, "bound": 2.5, **proof})
    'certified: none is better (gap 0 %, 1,200 boxes bounded, 5 points evaluated, 1e+20 excluded)'
    >>> certificate_text({"gap": 0.2, "bound": 2.5, **proof}).partition(" (")[0]
    'not proven: lower bound 2.5, gap 20.00%'
    """
    if left := attributes.get("points_left"):
        return f"not proven: {left:,} configurations were not scanned; one may be better"
    if "configurations" in attributes:
        many, share = attributes["configurations"], 100 * attributes["within"]
        text = f"{many:,} configurations lie within {share:.4g} % of the best, and no others"
        return f"{attributes['method']}: {text}"
    if epsilon := attributes.get("epsilon"):
        near = f"of the Pareto front is within {100 * epsilon:.4g} % of a listed one"
        if left := attributes.get("boxes_left"):
            return f"not proven: each configuration {near}; {left:,} open boxes may hold others"
        return f"{attributes['method']}: each configuration {near}"
    if skipped := attributes.get("points_skipped"):
        return f"scan: bounds over tiles ruled out {skipped:,} configurations"
    boxes = f"{attributes.get('boxes', 0):,} boxes bounded"
    if "complete" in attributes:
        if attributes["complete"]:
            return f"certified: each is on the Pareto front, and no others ({boxes})"
        proven, left = attributes["points_proven"], attributes["boxes_left"]
        text = f"{proven:,} are proven to be on the Pareto front; {left:,} open boxes may hold more"
        return f"not proven: {text} ({boxes})"
    if "bound" not in attributes:
        return ""
    excluded = attributes["points_excluded"]
    many = f"{excluded:,}" if isinstance(excluded, int) else f"{excluded:.3g}"
    verdict = "certified" if is_proven(attributes, gap) else "not proven"
    gap_text = "gap 0 %, " if is_proven(attributes) else ""
    return (
        f"{verdict}: {_bounds_text(attributes)} ({gap_text}{boxes}, "
        f"{attributes['points_visited']:,} points evaluated, {many} excluded)"
    )


def _bounds_text(attributes: Mapping[str, Any]) -> str:
    import numpy as np

    gaps, bounds = (np.atleast_1d(attributes[name]).tolist() for name in ("gap", "bound"))
    if not any(gaps):
        text = "none is better" + " in the order of the objectives" * (len(gaps) > 1)
        return text if attributes["settled"] else f"{text}, but an earlier one may be as good"
    goals = str(attributes.get("question", "")).split(", then ")
    parts = []
    for number, (gap, bound) in enumerate(zip(gaps, bounds, strict=True)):
        side = "upper" if goals[min(number, len(goals) - 1)].startswith("maximize") else "lower"
        text = f"{side} bound {bound:.6g}, gap {gap:.2%}" if math.isfinite(bound) else "no bound"
        text = text if gap else "none is better"
        among = " among those as good before" if number else ""
        parts.append(f"({number + 1}) {text}{among}" if len(gaps) > 1 else text)
    return "; ".join(parts)


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?( *[A-Za-z%µμ][A-Za-z%µμ/ ]*)?")


def axis_conditions_of(source: Source, at: Mapping[str, str]) -> list[str]:
    """Convert --at to conditions; a value is a label unless it is a number or has a unit."""
    from dse.arguments import axis_conditions
    from dse.study.study import StudyData

    grid = source.grid() if isinstance(source, StudyData) else None
    on_axes = {name: at[name] for name in at if grid is not None and name in grid.axes}
    texts = [] if grid is None else axis_conditions(grid, on_axes)
    others = [(name, value) for name, value in at.items() if name not in on_axes]
    return texts + [f"{n} == {v if _NUMBER.fullmatch(v) else repr(v)}" for n, v in others]


def _add_notes(answer: Answer, study: StudyData, query: Mapping[str, Any]) -> Answer:
    """Add notes on idle axes, impossible values and assumed inputs to an answer."""
    from dse.cli.evaluate import explain_rows
    from dse.inputs.assumed import interval_text
    from dse.study.plan import idle_axes_notes
    from dse.study.study import BestQuery

    needed = study._needed_quantities(BestQuery(**query).goals)
    idle = idle_axes_notes(study.grid(needed, query["where"]), needed)
    answer = explain_rows(replace(answer, notes=[*answer.notes, *idle]), study, query["where"])
    variables, intervals = answer.data["variables"], answer.data.get("intervals", ())
    notes = [
        f"best {name}: {interval_text(ends, variables[name]['units'])} as assumed inputs vary"
        for name, ends in (intervals[0].items() if len(intervals) == 1 else ())
        if name in variables
    ]
    return replace(answer, notes=[*answer.notes, *notes])


@command(
    'dse optimum merge.zarr --minimize time --where "active_sms <= 8" --per workload',
    "dse optimum examples/merge-four-gpus.toml --minimize time --top 5",
    "dse optimum merge.zarr --minimize time --at workload=svm,active_sms=30",
    "dse optimum examples/energy-gtx280.toml --minimize edp --method certified",
    "dse optimum examples/energy-gtx280.toml --minimize edp --within 1%",
    "dse optimum examples/energy-gtx280.toml --minimize time,energy",
    'dse optimum tuner.json --minimize time --top 10 --where "block_size_x <= 64"',
)
@source_argument
@goal_options(several=False)
@per_and_top_options
@at_option
@axis_and_set_options
@option("--ties", "Report all configurations that are as good as the best", is_flag=True)
@option(
    "--within X%",
    "Report all configurations that are worse than the best by at most this fraction",
    callback=parse_share,
)
@method_option("prove that none is better (certified)")
@search_limit_option
@gap_option
@option("--certificate FILE", "Write a proof that examples/check_certificate.py can check")
def optimum(source: Source, ties: bool, where: list[str], at: Any, **options: Any) -> Answer:
    """Find the best configurations, of a study, store or file of measurements.

    The default objective is that of the study's [best]. Nothing is stored. If configurations are
    equally good, the first in the order of the axes is reported. If the space is too large to scan,
    branch and bound searches it and proves that no configuration is better. If you give several
    objectives, later objectives break ties; a minus sign before an objective reverses it. Files of
    measurements are those of tuners (T4, Kernel Tuner's cache), CSV or Parquet; see dse import.

    If a limit ends the search, the command reports a bound and a gap, and exits with status 3.
    """
    from dse.display import select_rows
    from dse.study.study import StudyData

    source = change_study(source, options["axes"], options["set_values"])
    where = [*where, *axis_conditions_of(source, at)]
    query = read_query(source, {**options, "where": where})
    limits = search_limits(options) | {"ties": ties, "progress": True}
    with compile_search_in_background():
        result = best_on_interrupt(lambda: dse.optimum(source, **query, **limits))
    answer = certified_answer(result, source, options["gap"])
    rows = answer.data["rows"]
    rows[:] = [r for r in rows if r.get("feasible", True) or not (at or r.get("rank", 1) > 1)]
    answer = select_rows(answer, rows)
    if isinstance(source, StudyData):
        return _add_notes(answer, source, query)
    is_mixed = "model" in source.sizes and "model" not in options["per"]
    return replace(answer, notes=[*answer.notes, _MODELS_NOTE]) if is_mixed else answer


def search_limits(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the search; convert the time limit to the time that is left."""
    named = ("method", "time_limit", "gap", "within", "epsilon", "certificate")
    limits = nonempty_options({name: options.get(name) for name in named})
    if "time_limit" in limits:
        limits["time_limit"] = time_left(limits["time_limit"])
    return limits


_MODELS_NOTE = (
    "this is the most optimistic of several models: --per model gives the best by each, "
    "dse disagreement the cost of following the wrong one"
)
