"""The command `dse evaluate`: compute outputs of a model at given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import InputError, command, input_errors, warn_odd_numbers
from dse.cli.options import (
    StudyPath,
    complete_model,
    entry_options,
    names_option,
    override_inputs,
    parse_axis_text,
    point_argument,
)
from symbolic.answer import Answer, Table, fold_lines, shorten

if TYPE_CHECKING:
    from dse.inputs.assumed import AssumedInput
    from dse.study.study import StudyData

study_or_model_argument = click.argument("source", metavar="STUDY_OR_MODEL", type=StudyPath())
#: Number of rows of an answer that get intervals; in a longer answer, these are the first rows.
_MAX_INTERVALS = 256
#: Above this number of assumed inputs, only their names are printed.
_MAX_ASSUMED = 16
#: A jump is near a configuration if a quantity has to change by at most this share.
_NEAR = 0.1
EXAMPLE_POINT = "workload=svm machine=gtx280 core_clock=1.3GHz"


def parse_point(options: Mapping[str, Any]) -> dict[str, str]:
    """Return a mapping from names to values for one configuration, with machine and workload."""
    entries = [f"{n}={options[n]}" for n in ("machine", "workload") if options[n] is not None]
    at: dict[str, str] = {}
    for text in [*entries, *options["point"]]:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not (name and equals and value.strip()):
            raise click.UsageError(f"{text!r} is no NAME=VALUE, such as active_sms=20")
        if name in at:
            raise click.UsageError(f"{name} is given twice: {at[name]} and {value.strip()}")
        at[name] = value.strip()
    return at


def study_from_point(
    model: str, point: dict[str, str], outputs: Sequence[str] | None = None
) -> StudyData:
    """Return the study that evaluates a model at a point; a list or range becomes an axis."""
    from dse.study.study import StudyData

    read = {name: parse_axis_text(text) for name, text in point.items()}
    axes = {name: each for name, each in read.items() if isinstance(each, dict) or len(each) > 1}
    values = {name: text for name, text in point.items() if name not in axes}
    empty: dict[str, Any] = {"machine": None, "workload": None, "axes": {}, "set": {}}
    with input_errors():
        return StudyData(model=model, outputs=outputs, **override_inputs(empty, values, axes))


@command(
    "dse evaluate ipp --machine gtx280 --workload svm threads_per_block=256",
    "dse evaluate mwp_cwp --machine gtx280 --workload svm threads_per_block=64,128,256 "
    "--outputs time,case",
    "dse evaluate ipp workload=svm machine=gtx280,8800gt threads_per_block=64:512:64",
)
@click.argument("model", shell_complete=complete_model)
@point_argument
@entry_options
@names_option(
    "--outputs", "Quantities to compute, separated by commas; default: the model's outputs"
)
def evaluate(model: str, outputs: list[str], **options: Any) -> Any:
    """Evaluate a model at given values, without a study.

    If you give several values (64,128,256) or a range (START:STOP:STEP) of a quantity, it becomes
    an axis; so do several machines or workloads. dse explain shows every intermediate quantity.
    """
    from dse.advice.advise import moves_over_jumps
    from dse.display import column_order, dataset_answer
    from dse.inputs.validity import validity_warnings
    from dse.study.plan import idle_axes_notes

    at = parse_point(options)
    lacking: dict[str, list[str]] = {}
    if outputs:
        study = study_from_point(model, at, outputs)
    else:
        study, lacking = computable_study(model, at)
    answer = dataset_answer(dse.run(warn_odd_numbers(study), expand=True), column_order(study))
    validity = [*validity_warnings(study._parts), *idle_axes_notes(study.grid())]
    notes = [lacking_text(name, lines, at.get("machine")) for name, lines in lacking.items()]
    notes += [f"note: {text}" for text in [*_broken_rules(study, answer.data["rows"]), *validity]]
    texts = {name: "; ".join(lines) for name, lines in lacking.items()}
    data = {**answer.data, "lacking": texts, "notes": validity}
    answer = explain_rows(replace(answer, notes=notes, data=data), study)
    if len(answer.data["rows"]) != 1:
        return answer
    moves = moves_over_jumps(study, {})
    jumps = [str(m) for m in moves if abs(m.until - m.value) <= _NEAR * abs(m.value)]
    notes = [*answer.notes, *(f"near a jump: {text}" for text in jumps)]
    data = answer.data | {"jumps": jumps}
    return replace(answer, tables=[_single_point_table(answer)], notes=notes, data=data)


def _broken_rules(study: StudyData, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return, for each rule that rows without values break, a sentence with the first such row."""
    from dse.arguments import axis_indices
    from sweeps.bounds.checks import condition_at

    grid, texts = study.grid(), dict[str, str]()
    for row in [each for each in rows if not each.get("feasible", True)][:_MAX_INTERVALS]:
        point = axis_indices(grid, {name: row[name] for name in grid.axes})
        for condition in grid.graphs[grid.switch_labels(point)].conditions:
            name, values, holds = condition_at(grid, condition, point)
            if not holds:
                text = f"no values at {grid.describe(point)}: {name} is broken ({values})"
                texts.setdefault(name, text)
    return [*texts.values()]


def lacking_text(output: str, lines: Sequence[str], machine: str | None) -> str:
    """Return what an output lacks, and how to give it."""
    names = [line.partition(",")[0] for line in lines]
    known = {name: {*names} & {*entry.values} for name, entry in dse.machines().items()}
    text = f"{output} needs {shorten(names)}"
    if machine in known and {*names} <= set().union(*known.values()):
        text += f", unknown for {machine}"
    text += f": set {'it' if len(names) == 1 else 'them'}"
    able = [name for name in known if known[name] == {*names} and name[:4] == str(machine)[:4]]
    return f"{text}, or take {able[0]}" if able else text


def computable_study(model: str, point: dict[str, str]) -> tuple[StudyData, dict[str, list[str]]]:
    """Return the study of all outputs that can be computed, and what each other output lacks."""
    from symbolic.errors import GraphError
    from symbolic.library import load_model

    try:
        return study_from_point(model, point), {}
    except InputError as error:
        if not isinstance(error.__cause__, GraphError):
            raise
        first_error = error
    lacking = {}
    for name in load_model(model).outputs:
        try:
            study_from_point(model, point, [name])
        except InputError as error:
            lines = str(error).splitlines()
            lacking[name] = [line.strip() for line in lines[1:-1] or lines]
    outputs = [name for name in load_model(model).outputs if name not in lacking]
    if not outputs:
        raise first_error
    return study_from_point(model, point, outputs), lacking


def explain_rows(answer: Answer, study: StudyData, where: Sequence[str] = ()) -> Answer:
    """Return an answer without impossible values; note them and the assumed inputs of the study."""
    from dse.study.possible import impossible_winners, without_impossible

    passed = impossible_winners(study, answer.data["rows"])
    answer = without_impossible(answer, passed)
    intervals, assumed = assumed_intervals(study, answer.data["rows"], where)
    entries = dict.fromkeys(each.entry for each in assumed)
    notes = [*answer.notes, *(each.text for each in passed)]
    texts = [f"assumed: {each.text}" for each in assumed]
    if len(texts) > _MAX_ASSUMED:
        own = {of: [each.name for each in assumed if each.entry == of] for of in entries}
        texts = [fold_lines(f"assumed of {n}: {', '.join(each)}", 120) for n, each in own.items()]
        texts.append("assumed: --json lists the values, their ranges and why")
    notes += texts
    more: dict[str, Any] = {"impossible": [each.to_dict() for each in passed]} if passed else {}
    if assumed:
        more |= {"assumed": [each.to_dict() for each in assumed], "intervals": intervals}
    return replace(answer, notes=notes, data=answer.data | more)


def assumed_intervals(
    study: StudyData, rows: Sequence[Mapping[str, Any]], where: Sequence[str] = ()
) -> tuple[list[dict[str, tuple[float, float]]], tuple[AssumedInput, ...]]:
    """Return intervals of the outputs in each row of an answer, and the inputs that cause them.

    To compute an interval, the inputs that nobody published are made random; the ends of the
    interval are then the 5 and the 95 % quantile of the output.
    """
    from dse.arguments import axis_indices
    from dse.inputs.assumed import used_inputs
    from dse.uncertain.assumed_draws import output_intervals

    grid, assumed = study.grid(draws=True), study._parts.assumed
    used = used_inputs(grid, assumed, where)
    if not used or study.random_inputs is not None:
        return [{} for _ in rows], used
    intervals: list[dict[str, tuple[float, float]]] = []
    for row in rows[:_MAX_INTERVALS]:
        # the row has no configuration, or its objective is a statistic over an axis
        if any(name not in row or row[name] != row[name] for name in grid.axes):
            intervals.append({})
            continue
        indices = axis_indices(grid, {name: row[name] for name in grid.axes})
        intervals.append(output_intervals(grid, assumed, indices, grid.outputs))
    return intervals, used


def _single_point_table(answer: Answer) -> Table:
    (table,), (intervals,) = answer.tables, answer.data.get("intervals", [{}])
    assert isinstance(table.columns, Mapping)
    meanings = {name: v.get("long_name", "") for name, v in answer.data["variables"].items()}
    rows = [
        [name, (value, unit), meanings[name] + _range_text(intervals.get(name), unit)]
        for (name, unit), value in zip(table.columns.items(), table.rows[0], strict=True)
    ]
    return Table(columns=("quantity", "value", "meaning"), rows=rows)


def _range_text(interval: tuple[float, float] | None, unit: str) -> str:
    from dse.inputs.assumed import interval_text

    return f"; {interval_text(interval, unit)} as assumed inputs vary" if interval else ""
