"""The command `dse fit`: fit quantities of a model to measured rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, print_table_assumptions
from dse.cli.options import (
    OptionDecorator,
    entry_options,
    names_option,
    nonempty_options,
    option,
    option_callback,
    set_option,
    split_list,
    values_option,
    where_option,
)
from symbolic.answer import Answer


def row_arguments(free_help: str) -> OptionDecorator:
    """Return the decorator for MODEL, DATA, --free, --set, --machine and --workload."""

    def add(function: Any) -> Any:
        function = names_option("--free", free_help)(set_option(entry_options(function)))
        data = click.argument("data", type=click.Path(exists=True))
        return click.argument("model")(data(function))

    return add


def _headers(texts: Sequence[str]) -> list[str] | dict[str, str]:
    """Return the names in --columns, or a dict of headers by quantity if any name has a ``=``."""
    if not any("=" in text for text in texts):
        return list(texts)
    pairs = {name.strip(): header.strip() for name, _, header in (t.partition("=") for t in texts)}
    return {name: header or name for name, header in pairs.items()}


def residuals_option(kind: str, text: str) -> OptionDecorator:
    """Return the option --absolute or --relative, which chooses the kind of residuals."""
    return option(f"--{kind}", text, "residuals", flag_value=kind)


absolute_option = residuals_option(
    "absolute", "Minimize absolute residuals; default: residuals relative to the measured values"
)

_COLUMNS = "Quantities to read from DATA, with the column's header if it differs; default: all"
columns_option = names_option("--columns Q[=HEADER],...", _COLUMNS, parse=_headers)
rows_option = where_option('Condition that rows must meet, such as "time <= 10 ms"; repeatable')


def _parse_per(text: str | None) -> dict[str, list[str]] | None:
    if text is None:
        return None
    column, equals, names = text.partition("=")
    if not (column.strip() and equals and names.strip()):
        raise click.UsageError(f"--per {text!r}: expected COLUMN=QUANTITY,...")
    return {column.strip(): split_list([names])}


def write_fit(result: Any, fit_path: str | None, rows_path: str | None = None) -> Answer:
    """Write a fit and its rows to files if paths are given, and return the answer to print."""
    from sweeps.files.export import export

    data = result.to_dict()
    answer: Answer = result._answer()
    notes = [*answer.notes]
    if rows_path is not None:
        data["dataset"] = export(result.dataset, Path(rows_path))
        notes.append(f"dataset: {rows_path}")
    if fit_path is not None:
        with input_errors():
            data["saved"] = result.save(fit_path)
        notes.append(f'saved: {fit_path}, for fit = "{fit_path}" of a study')
    return replace(answer, notes=notes, data=data)


save_option = option(
    "--save NAME.fit.json",
    'File for the fit; a study uses it with fit = "NAME.fit.json"',
    type=click.Path(),
)


@command(
    "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
    "dse fit clock_scaling runs.csv --to time --free core_cycles,stall_time --relative",
    "dse fit clock_scaling runs.csv --to time --per kernel=core_cycles,stall_time "
    '--columns "core_clock=MHz [MHz],time=ms [ms]"',
)
@row_arguments("Quantities to fit, separated by commas")
@option(
    "--per COLUMN=Q,...",
    "Fit these quantities separately for each label of a column",
    callback=option_callback(_parse_per),
)
@names_option("--to", "Measured outputs to fit the model to; default: the model's main output")
@rows_option
@columns_option
@option("--weights COLUMN", "Column whose values weight the squared residuals of the rows")
@residuals_option("relative", "Minimize residuals relative to the measured values")
@values_option("--start Q=VALUE", "Further starting value of a free quantity; repeatable")
@option("--out OUT.nc", "File for the rows with their residuals", type=click.Path())
@save_option
def fit(model: str, data: str, out: str | None, save: str | None, **options: Any) -> Any:
    """Fit quantities to measured rows.

    DATA is a CSV file or a dataset (.nc, .zarr, .parquet). A column's header is the name of its
    quantity, with a unit if needed: "time [ms]". The model computes the columns of --to from the
    other columns, and is compared with the measured values.
    """
    print_table_assumptions(data)
    with input_errors():
        result = dse.fit(model, data, **nonempty_options(options))
    return write_fit(result, save, out)
