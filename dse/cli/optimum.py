"""The commands for the best configurations: ``dse optimum`` and ``dse pareto``."""

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
    best_on_interrupt,
    command,
    compile_in_background,
    query_from_options,
    query_options,
    read_source,
    set_exit_status,
)
from dse.cli.options import (
    OptionDecorator,
    goal_options,
    nonempty_options,
    per_and_top_options,
    source_argument,
    time_limit_option,
    values_option,
)
from dse.signals import time_left
from stochastic import sizes
from symbolic.answer import Answer

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import BestQuery, StudyData
    from sweeps.store.fill import WatchedOutput

#: Below this many points no loop nest is compiled for the question.
_LOOKUP_POINTS = sizes.LOOKED_UP


def study_query(study: StudyData, query: Mapping[str, Any]) -> BestQuery | None:
    """The question of the options, or of the study file, if the study can answer it."""
    best = query_from_options(query, study.best)
    if best is not None:
        study.check_best(best)
    return best


def watched_objective(best: BestQuery | None, study: StudyData) -> tuple[WatchedOutput, str] | None:
    """What a run watches, and its unit, if the objective is an output that nothing constrains."""
    if best is None:
        return None
    (goal, *later), grid = best.goals, study.grid()
    output = next((name for name in grid.outputs if name == goal.text), None)
    if output is None or later or best.where or grid.kind(output) != "float":
        return None
    return (output, goal.sign), grid.model.quantity(output).unit


def find_winners(best: BestQuery, study: StudyData, values: xr.Dataset | None) -> xr.Dataset:
    """Return the winners: of few values that a run has in memory, else of the study."""
    if values is not None and study.grid().points <= _LOOKUP_POINTS:
        from symbolic.expression import parse, parse_condition
        from symbolic.ops import references
        from symbolic.quantities import indexed_quantity

        quantities = study.grid().model.quantities
        nodes = [parse(goal.text, quantities) for goal in best.goals]
        nodes += [parse_condition(text, quantities) for text in best.where]
        if all(indexed_quantity(name) in values.variables for name in references(*nodes)):
            return dse.optimum(values, **best.as_keywords())
    return dse.optimum(study, **best.as_keywords())


# --- how an optimum is found, and what is proven of it
#: What is told of an answer, of one where it is not 0, and of what is certified.
_ATTRIBUTES = ("within", "configurations", "complete", "points_proven", "boxes_left")
_NONZERO_ATTRIBUTES = ("points_skipped", "points_left")
_CERTIFICATE_KEYS = (
    *("bound", "gap", "settled", "boxes"),
    *("points_visited", "points_excluded"),
)


def compile_search_in_background() -> AbstractContextManager[object]:
    """While something may be proven: two processes compile the search, where it must be."""
    program = "from sweeps.bounds.search import parts; parts()"
    return compile_in_background(
        program, waited_functions=("enclose", "relax"), first_function="dig"
    )


def set_unproven_status(attributes: Mapping[str, Any], gap: float | None = None) -> None:
    """Let the command exit with 3 if its answer is not proven to the gap that was asked."""
    import numpy as np

    proven = np.all(np.atleast_1d(attributes.get("gap", 0.0)) <= (gap or 0.0))
    if not attributes.get("interrupted") and not (proven and attributes.get("complete", 1)):
        set_exit_status(UNPROVEN)


def parse_share(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A share of a value, as a number: 0.01, or 1%."""
    if value is None:
        return None
    try:
        result = float(value.strip().removesuffix("%")) / (100 if value.strip()[-1:] == "%" else 1)
    except ValueError:
        result = -1.0
    if not 0 <= result < float("inf"):
        raise click.BadParameter(f"{value!r} is no share such as 1% or 0.01", param=param)
    return result


def method_option(text: str) -> OptionDecorator:
    """The option --method."""
    kinds = click.Choice(["auto", "scan", "certified"])
    return click.option("--method", type=kinds, help=f"Look at every point, or {text}. [auto]")


def search_limit_option(text: str) -> OptionDecorator:
    """The option --time-limit."""
    told = f"Seconds after which {text}; counted from the start of the command."
    return time_limit_option(told)


gap_option = click.option(
    "--gap",
    type=click.FloatRange(min=0),
    metavar="X",
    help="End when none can be better by more than this share, such as 0.05.",
)


def with_certificate(answer: Answer, attributes: Mapping[str, Any]) -> Answer:
    """Return an answer with what is proven of it."""
    data = answer.data | certificate_data(attributes)
    return replace(answer, data=data, certificate=certificate_text(attributes))


def certificate_data(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """For JSON: the method, what a scan left out, and the certificate of a certified answer."""
    result: dict[str, Any] = {"method": attributes.get("method", "scan")}
    result |= {name: attributes[name] for name in _ATTRIBUTES if name in attributes}
    result |= {name: attributes[name] for name in _NONZERO_ATTRIBUTES if attributes.get(name)}
    if attributes.get("interrupted"):
        result["interrupted"] = True
    if "bound" in attributes:
        result["certificate"] = {
            key: attributes[key] for key in _CERTIFICATE_KEYS if key in attributes
        }
        if "settled" in attributes:
            result["certificate"]["settled"] = bool(attributes["settled"])
    return result


def _objectives_text(gaps: Any, bounds: Any, settled: bool) -> str:
    """What is proven of objectives in order of priority."""
    if not gaps.any():
        told = "none is better in the order of the objectives"
        return told if settled else f"{told}, though an earlier one may be as good"
    parts = []
    for number, (gap, bound) in enumerate(zip(gaps.tolist(), bounds.tolist(), strict=True)):
        among = " among those as good before" if number else ""
        if gap == 0:
            parts.append(f"({number + 1}) none is better{among}")
        elif math.isfinite(bound):
            off = f"{bound:.6g}, {gap:.2%} from the best found"
            parts.append(f"({number + 1}) none{among} is better than {off}")
        else:
            parts.append(f"({number + 1}) nothing is proven: the time was up")
    return "; ".join(parts)


def certificate_text(attributes: Mapping[str, Any]) -> str:
    """What is proven, or what a scan could leave out, in a line of its own; else nothing.

    >>> certificate_text({"points_skipped": 4096})
    'scanned, but for 4,096 configurations: bounds over whole tiles told enough of them'

    >>> certificate_text({"gap": 0.0, "bound": 2.5, "settled": 1, "boxes": 1200, "points_visited": 5,
    ...             "points_excluded": 1e20})
    'certified: none is better (1,200 boxes bounded, 5 points looked at, 1e+20 excluded)'
    """
    if attributes.get("points_left"):
        many = f"{attributes['points_left']:,}"
        return f"scanned, but for {many} configurations, of which one may be better"
    if "configurations" in attributes:
        many, how = attributes["configurations"], attributes["method"]
        return f"{how}: {many:,} within {attributes['within']:.4g} of the best, and no others"
    if attributes.get("points_skipped"):
        many = f"{attributes['points_skipped']:,}"
        return (
            f"scanned, but for {many} configurations: bounds over whole tiles told enough of them"
        )
    if "complete" in attributes:
        told = "each is proven to be on the front, and no others"
        if not attributes["complete"]:
            told = f"{attributes['points_proven']:,} are proven to be on the front; others may be, "
            told += f"in {attributes['boxes_left']:,} boxes: the time was up"
        return f"certified: {told} ({attributes['boxes']:,} boxes bounded)"
    if "bound" not in attributes:
        return ""
    import numpy as np

    excluded = attributes["points_excluded"]
    gaps = np.atleast_1d(attributes["gap"])
    if gaps.size > 1:
        told = _objectives_text(
            gaps, np.atleast_1d(attributes["bound"]), bool(attributes["settled"])
        )
    elif (gap := float(gaps[0])) == 0:
        told = "none is better"
        told += "" if attributes["settled"] else ", though an earlier one may be as good"
    else:
        told = f"none is better than {attributes['bound']:.6g}, {gap:.2%} from the best found"
    many = f"{excluded:,}" if isinstance(excluded, int) else f"{excluded:.3g}"
    return (
        f"certified: {told} ({attributes['boxes']:,} boxes bounded, "
        f"{attributes['points_visited']:,} points looked at, {many} excluded)"
    )


# --- the commands
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?( *[A-Za-z%µμ][A-Za-z%µμ/ ]*)?")


def _axis_conditions(axis_values: Mapping[str, str]) -> list[str]:
    """As conditions what --at says; what is no number, with or without a unit, is a label."""
    return [
        f"{axis} == {value}" if _NUMBER.fullmatch(value) else f"{axis} == {value!r}"
        for axis, value in axis_values.items()
    ]


_AT = "One value of an axis; others are chosen."
at_option = values_option(
    "--at", commas=True, parse=_axis_conditions, metavar="AXIS=VALUE,...", help=_AT
)


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
@click.option("--ties", is_flag=True, help="All that are as good as the best.")
@click.option(
    "--within",
    callback=parse_share,
    metavar="X%",
    help="All that are worse than the best by at most this.",
)
@method_option("prove that none is better; auto scans small spaces")
@search_limit_option("the best found is told, and how good it is proven to be")
@gap_option
def optimum(source: str, ties: bool, where: list[str], at: list[str], **options: Any) -> Any:
    """The best configurations of a study, a stored dataset, or measurements.

    Of a study nothing is stored, and where no objective is given its [best] is asked. Of equally
    good configurations the one with the lowest index wins, in the order of the axes. Spaces too
    large to scan are searched by bounds over boxes, which prove that none is better. Of several
    objectives each decides among what is best by those before it; a minus turns one around.
    Measurements are files of tuners (T4, Kernel Tuner's cache), CSV or Parquet; see dse import.
    """
    from dse.display import column_order, dataset_answer
    from dse.study.study import StudyData

    read = read_source(source)
    wanted = query_options({**options, "where": [*where, *at]})
    best = (
        study_query(read, wanted)
        if isinstance(read, StudyData)
        else query_from_options(wanted, None)
    )
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    limits = search_limits(options) | {"ties": ties, "progress": True}
    with compile_search_in_background():
        result = best_on_interrupt(lambda: dse.optimum(read, **best.as_keywords(), **limits))
    set_unproven_status(result.attrs, options["gap"])
    told = with_certificate(dataset_answer(result, column_order(read)), result.attrs)
    of_models = not isinstance(read, StudyData) and "model" in read.sizes
    notes = [_MODELS_NOTE] if of_models and "model" not in options["per"] else []
    return replace(told, notes=notes)


def search_limits(options: dict[str, Any]) -> dict[str, Any]:
    """How to search, and for how long: what was said of it."""
    named = ("method", "time_limit", "gap", "within")
    said = nonempty_options({name: options.get(name) for name in named})
    return said | ({"time_limit": time_left(said["time_limit"])} if "time_limit" in said else {})


#: What is told where one of several models was chosen.
_MODELS_NOTE = (
    "of several models the one that promises most is told: --per model gives the best of each, "
    "dse disagreement what it costs to follow the wrong one"
)
