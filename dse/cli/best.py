"""The commands for the best configurations: ``dse optimum`` and ``dse pareto``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click

from dse.cli.ends import handed_back
from dse.cli.filed import checked
from dse.cli.frame import asked, command, question, read_source
from dse.cli.options import from_study_or_store, given, goals, kinds, listed, names, pairs, values
from dse.cli.proof import end_unproven, how, proof_data, proof_text, proving, seconds, share, slack
from dse.signals import left

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?( *[A-Za-z%µμ][A-Za-z%µμ/ ]*)?")


def _pinned(_ctx: click.Context, _option: click.Parameter, at: Sequence[str]) -> list[str]:
    """As conditions what --at says; what is no number, with or without a unit, is a label."""
    return [
        f"{axis} == {value}" if _NUMBER.fullmatch(value) else f"{axis} == {value!r}"
        for axis, value in pairs(listed(at), "--at").items()
    ]


_held = values(
    "--at",
    callback=_pinned,
    metavar="AXIS=VALUE,...",
    help="One value of an axis; others are chosen.",
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
@from_study_or_store
@goals(several=False)
@kinds
@_held
@click.option("--ties", is_flag=True, help="All that are as good as the best.")
@click.option(
    "--within",
    callback=share,
    metavar="X%",
    help="All that are worse than the best by at most this.",
)
@how("prove that none is better; auto scans small spaces")
@seconds("the best found is told, and how good it is proven to be")
@slack
def optimum(source: str, ties: bool, where: list[str], at: list[str], **options: Any) -> Any:
    """The best configurations of a study, a stored dataset, or measurements.

    Of a study nothing is stored, and where no objective is given its [best] is asked. Of equally
    good configurations the one with the lowest index wins, in the order of the axes. Spaces too
    large to scan are searched by bounds over boxes, which prove that none is better. Of several
    objectives each decides among what is best by those before it; a minus turns one around.
    Measurements are files of tuners (T4, Kernel Tuner's cache), CSV or Parquet; see dse import.
    """
    from dse.answers import answer, order_of
    from dse.study.data import StudyData
    from dse.verbs import chosen

    read = read_source(source)
    wanted = asked({**options, "where": [*where, *at]})
    best = checked(read, wanted) if isinstance(read, StudyData) else question(wanted, None)
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    limits = _limits(options) | {"ties": ties, "progress": True}
    with proving():
        found = handed_back(lambda: chosen.optimum(read, **best.as_asked(), **limits))
    end_unproven(found.attrs, options["gap"])
    told = answer(found, order_of(read))
    data = told.data() | proof_data(found.attrs)
    of_models = not isinstance(read, StudyData) and "model" in read.sizes
    note = _OF_MODELS if of_models and "model" not in options["per"] else ""
    return data, lambda: f"{told.question}\n\n{told}{proof_text(found.attrs)}{note}"


def _limits(options: dict[str, Any]) -> dict[str, Any]:
    """How to search, and for how long: what was said of it."""
    named = ("method", "time_limit", "gap", "within")
    said = given({name: options.get(name) for name in named})
    return said | ({"time_limit": left(said["time_limit"])} if "time_limit" in said else {})


#: What is told where one of several models was chosen.
_OF_MODELS = (
    "\n\nof several models the one that promises most is told: --per model gives the best of each, "
    "dse disagreement what it costs to follow the wrong one"
)


@command("dse pareto merge.zarr --minimize time,active_sms --where 'occupancy >= 0.5'")
@from_study_or_store
@goals(several=True)
@names("--per", metavar="AXIS,...", help="A front for each value of some axes.")
@_held
@how("prove each of the front; auto scans what it can")
@seconds("the best points found are told, and which of them are proven")
def pareto(source: str, where: list[str], at: list[str], **options: Any) -> Any:
    """The configurations no other beats in every objective.

    Of configurations equal in every objective the first in the order of the axes stands for all.
    """
    from dse.answers import answer, order_of
    from dse.verbs import fronts

    if not options["minimize"] and not options["maximize"]:
        raise click.UsageError("give --minimize or --maximize quantities, with commas between")
    read = read_source(source)
    limits = _limits(options) | {"progress": True}
    wanted = {name: options[name] for name in ("minimize", "maximize", "per")}
    wanted["where"] = [*where, *at]
    with proving():
        found = handed_back(lambda: fronts.pareto(read, **wanted, **limits))
    end_unproven(found.attrs)
    told = answer(found, order_of(read))
    counted = f"{len(told.rows):,} configurations"
    data = told.data() | proof_data(found.attrs)
    return data, lambda: f"{told.question}: {counted}\n\n{told}{proof_text(found.attrs)}"
