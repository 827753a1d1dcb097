"""The commands about one configuration: `dse evaluate`, `dse explain` and `dse advise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import Misused, command, read_study, reading, warned
from dse.cli.options import (
    StudyFile,
    at_point,
    axis_of,
    changed,
    choice,
    complete_model,
    entries,
    names,
)
from symbolic.answer import Answer, Table

if TYPE_CHECKING:
    from dse.study.data import StudyData

_of = click.argument("source", metavar="STUDY_OR_MODEL", type=StudyFile())
_POINT = "workload=svm machine=gtx280 core_clock=1.3GHz"


def given_point(options: Mapping[str, Any]) -> dict[str, str]:
    """The values and entries of one configuration."""
    named = [f"{n}={options[n]}" for n in ("machine", "workload") if options[n] is not None]
    at: dict[str, str] = {}
    for text in [*named, *options["point"]]:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not (name and equals and value.strip()):
            raise click.UsageError(f"{text!r} is no NAME=VALUE: expected such as active_sms=20")
        if name in at:
            raise click.UsageError(f"{name} is given twice: {at[name]} and {value.strip()}")
        at[name] = value.strip()
    return at


def described_study(
    model: str, at: dict[str, str], outputs: Sequence[str] | None = None
) -> StudyData:
    """The study of a model at values, of which several are an axis."""
    from dse.study.data import StudyData

    read = {name: axis_of(text) for name, text in at.items()}
    axes = {name: each for name, each in read.items() if isinstance(each, dict) or len(each) > 1}
    values = {name: text for name, text in at.items() if name not in axes}
    nothing: dict[str, Any] = {"machine": None, "workload": None, "axes": {}, "set": {}}
    with reading():
        return StudyData(model=model, outputs=outputs, **changed(nothing, values, axes))


@command(
    "dse evaluate ipp --machine gtx280 --workload svm threads_per_block=256",
    "dse evaluate mwp_cwp --machine gtx280 --workload svm threads_per_block=64,128,256 "
    "--outputs time,case",
    "dse evaluate ipp workload=svm machine=gtx280,8800gt threads_per_block=64:512:64",
)
@click.argument("model", shell_complete=complete_model)
@at_point
@entries
@names("--outputs", help="The quantities wanted. [the model's outputs]")
def evaluate(model: str, outputs: list[str], **options: Any) -> Any:
    """A model's outputs at given values, without a study.

    Several values (64,128,256), or a range (START:STOP:STEP), are an axis, of machines and
    workloads too. dse explain tells every quantity on the way.
    """
    from dse.answers import answer, order_of
    from dse.validity import beyond_validity
    from dse.verbs.study import run

    at = given_point(options)
    lacking: dict[str, str] = {}
    if outputs:
        study = described_study(model, at, outputs)
    else:
        study, lacking = _what_can_be(model, at)
    found = answer(run(warned(study), expand=True), order_of(study))
    validity = beyond_validity(study._parts)
    notes = [f"{name}: not told: {text}" for name, text in lacking.items()]
    notes += [f"note: {text}" for text in validity]
    data = {**found.data, "lacking": lacking, "notes": validity}
    (table,) = found.tables
    tables = [table] if len(table.rows) > 1 else [_upright(found)]
    return replace(found, tables=tables, notes=notes, data=data)


def _what_can_be(model: str, at: dict[str, str]) -> tuple[StudyData, dict[str, str]]:
    """The study of the model's outputs that lack no value, and what the others lack."""
    from symbolic.errors import GraphError
    from symbolic.library import load_model

    try:
        return described_study(model, at), {}
    except Misused as error:
        if not isinstance(error.__cause__, GraphError):
            raise
        whole = error
    lacking = {}
    for name in load_model(model).outputs:
        try:
            described_study(model, at, [name])
        except Misused as error:
            said = str(error).splitlines()
            lacking[name] = "; ".join(line.strip() for line in said[1:-1] or said)
    told = [name for name in load_model(model).outputs if name not in lacking]
    if not told:
        raise whole
    return described_study(model, at, told), lacking


def _upright(found: Answer) -> Table:
    """Return the table of one configuration: a row for each quantity, with what it is."""
    (table,) = found.tables
    assert isinstance(table.columns, Mapping)
    meanings = {name: v.get("long_name", "") for name, v in found.data["variables"].items()}
    rows = [
        [name, (value, unit), meanings[name]]
        for (name, unit), value in zip(table.columns.items(), table.rows[0], strict=True)
    ]
    return Table(columns=("quantity", "value", "meaning"), rows=rows)


@command(
    f"dse advise examples/merge-four-gpus.toml {_POINT}",
    "dse advise ipp --machine gtx280 --workload svm threads_per_block=256 --goal energy",
)
@_of
@at_point
@entries
@click.option("--goal", metavar="Q", help="What should improve, such as energy.")
@choice("--levers", "all", "programmer", "designer", help="Whose moves are told. [all]")
def advise(source: str, goal: str | None, levers: str, **options: Any) -> Any:
    """What limits one configuration, and what would help.

    The bound, case or category; each input that helps, until something else limits and by what
    factor; and what the model suggests in closed form. The programmer's moves are told apart from
    those of who designs the machine, and none leaves what it allows. Axes not given stand at their
    first value.
    """
    at = given_point(options)
    of = read_study(source) if source.endswith(".toml") else source
    with reading():
        return dse.advise(of, goal=goal, levers=levers, **at)


@command(
    f"dse explain examples/merge-four-gpus.toml {_POINT}",
    "dse explain ipp --machine gtx280 --workload svm threads_per_block=256",
)
@_of
@at_point
@entries
def explain(source: str, **options: Any) -> Any:
    """Every intermediate quantity at one configuration.

    Each with its value, unit, equation and source. Of a study, axes not given stand at their first
    value.
    """
    at = given_point(options)
    if source.endswith(".toml"):
        return dse.explain(read_study(source), **at)
    return dse.explain(warned(described_study(source, at)))
