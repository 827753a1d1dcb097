"""The commands for the best configurations: ``dse optimum`` and ``dse pareto``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click

from dse.cli.ends import handed_back
from dse.cli.filed import checked
from dse.cli.frame import (
    asked,
    example,
    from_study_or_store,
    goals,
    in_json,
    kinds,
    listed,
    pairs,
    put,
    question,
    read_source,
)
from dse.cli.proof import limited, proof_data, proof_text, proving, share
from dse.signals import left

__all__ = ["optimum", "pareto"]

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?( *[A-Za-z%µ][A-Za-z%µ/ ]*)?")


def _at_values(function: Any) -> Any:
    """The option --at, which holds axes at one value each."""
    text = "One value of an axis; others are chosen."
    return click.option("--at", multiple=True, metavar="AXIS=VALUE,...", help=text)(function)


def _pinned(at: Sequence[str]) -> list[str]:
    """As conditions what --at says; what is no number, with or without a unit, is a label."""
    return [
        f"{axis} == {value}" if _NUMBER.fullmatch(value) else f"{axis} == {value!r}"
        for axis, value in pairs(listed(at), "at").items()
    ]


@click.command(
    epilog=example(
        'dse optimum merge.zarr --minimize time --where "active_sms <= 8" --per workload',
        "dse optimum examples/merge-four-gpus.toml --minimize time --top 5",
        "dse optimum merge.zarr --minimize time --at workload=svm,active_sms=30",
        "dse optimum examples/energy-gtx280.toml --minimize edp --method certified",
        "dse optimum examples/energy-gtx280.toml --minimize edp --within 1%",
        "dse optimum examples/energy-gtx280.toml --minimize time,energy",
        'dse optimum tuner.json --minimize time --top 10 --where "block_size_x <= 64"',
    )
)
@from_study_or_store
@goals(several=False)
@kinds
@_at_values
@click.option("--ties", is_flag=True, help="All that are as good as the best.")
@click.option(
    "--within",
    callback=share,
    metavar="X%",
    help="All that are worse than the best by at most this.",
)
@limited
@in_json
def optimum(
    source: str,
    as_json: bool,
    ties: bool,
    within: float | None,
    method: str | None,
    time_limit: float | None,
    gap: float | None,
    at: Sequence[str],
    where: Sequence[str],
    **options: Any,
) -> None:
    """The best configurations of a study, a stored dataset, or measurements.

    Of a study nothing is stored, and where no objective is given its [best] is asked. Of equally
    good configurations the one with the lowest index wins, in the order of the axes. Spaces too
    large to scan are searched by bounds over boxes, which prove that none is better. Of several
    objectives each decides among what is best by those before it; a minus turns one around.
    Measurements are files of tuners (T4, Kernel Tuner's cache), CSV or Parquet; see dse import.
    """
    from dse.cli.text import answer, order_of
    from dse.study.data import StudyData
    from dse.verbs import chosen

    read = read_source(source)
    given, given_per = asked(**options, where=[*where, *_pinned(at)]), options["per"]
    best = checked(read, given) if isinstance(read, StudyData) else question(given, None)
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    limits: dict[str, Any] = {"method": method, "time_limit": left(time_limit), "gap": gap}
    limits["within"] = within
    limits = {name: value for name, value in limits.items() if value is not None}
    limits |= {"ties": ties, "progress": True}
    with proving():
        found = handed_back(lambda: chosen.optimum(read, **best.as_asked(), **limits))
    told = answer(found, order_of(read))
    data = told.data() | proof_data(found.attrs)
    of_models = not isinstance(read, StudyData) and "model" in read.sizes
    note = _OF_MODELS if of_models and "model" not in listed(given_per) else ""
    put(as_json, data, lambda: f"{told.question}\n\n{told}{proof_text(found.attrs)}{note}")


#: What is told where one of several models was chosen.
_OF_MODELS = (
    "\n\nof several models the one that promises most is told: --per model gives the best of each, "
    "dse disagreement what it costs to follow the wrong one"
)


@click.command(
    epilog=example("dse pareto merge.zarr --minimize time,active_sms --where 'occupancy >= 0.5'")
)
@from_study_or_store
@goals(several=True)
@click.option("--per", metavar="AXIS,...", help="A front for each value of some axes.")
@_at_values
@click.option(
    "--method",
    type=click.Choice(["auto", "scan", "certified"]),
    help="Look at every point, or prove each of the front; auto scans what it can. [auto]",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds after which the best points found are told, and which of them are proven; "
    "counted from the start of the command.",
)
@in_json
def pareto(
    source: str,
    minimize: Sequence[str],
    maximize: Sequence[str],
    where: Sequence[str],
    per: str | None,
    at: Sequence[str],
    method: str | None,
    time_limit: float | None,
    as_json: bool,
) -> None:
    """The configurations no other beats in every objective.

    Of configurations equal in every objective the first in the order of the axes stands for all.
    """
    from dse.cli.text import answer, order_of
    from dse.verbs import chosen

    given: dict[str, Any] = {"minimize": listed(minimize), "maximize": listed(maximize)}
    if not any(given.values()):
        raise click.UsageError("give --minimize or --maximize quantities, with commas between")
    read = read_source(source)
    given |= {"where": [*where, *_pinned(at)], "per": listed([per] if per else [])}
    limits = {"method": method, "time_limit": left(time_limit)}
    given |= {name: value for name, value in limits.items() if value is not None}
    with proving():
        found = handed_back(lambda: chosen.pareto(read, **given, progress=True))
    told = answer(found, order_of(read))
    counted = f"{len(told.rows):,} configurations"
    data = told.data() | proof_data(found.attrs)
    put(as_json, data, lambda: f"{told.question}: {counted}\n\n{told}{proof_text(found.attrs)}")
