"""The commands on measured rows: ``dse fit``, ``dse calibrate`` and ``dse validate``."""

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
    option_callback,
    set_option,
    split_list,
    values_option,
    where_option,
)
from symbolic.answer import Answer


def row_arguments(free_help: str) -> OptionDecorator:
    """The arguments MODEL and DATA; the options --free, --set, --machine and --workload."""

    def add(function: Any) -> Any:
        function = names_option("--free", help=free_help)(set_option(entry_options(function)))
        data = click.argument("data", type=click.Path(exists=True))
        return click.argument("model")(data(function))

    return add


def _headers(texts: Sequence[str]) -> list[str] | dict[str, str]:
    """Names alone, or quantities with their headers; a name alone is its own header."""
    if not any("=" in text for text in texts):
        return list(texts)
    told = {name.strip(): header.strip() for name, _, header in (t.partition("=") for t in texts)}
    return {name: header or name for name, header in told.items()}


_FURTHER = "Further ones, for each label of a column."


def residuals_option(kind: str, text: str) -> OptionDecorator:
    """The option of what a fit makes small: --absolute or --relative."""
    return click.option(f"--{kind}", "residuals", flag_value=kind, help=text)


absolute_option = residuals_option("absolute", "Fit residuals, not shares of what was measured.")


def columns_option(text: str) -> OptionDecorator:
    """The option --columns."""
    return names_option("--columns", parse=_headers, metavar="Q[=HEADER],...", help=text)


def _parse_per(text: str | None) -> dict[str, list[str]] | None:
    if text is None:
        return None
    column, equals, told = text.partition("=")
    if not (column.strip() and equals and told.strip()):
        raise click.UsageError(f"--per {text!r}: expected COLUMN=QUANTITY,...")
    return {column.strip(): split_list([told])}


def write_fit(result: Any, fit_path: str | None, rows_path: str | None = None) -> Answer:
    """Return the answer of a fit; its rows and itself are written where that is asked for."""
    from sweeps.files.export import export

    data = result.to_dict()
    told: Answer = result._answer()
    notes = [*told.notes]
    if rows_path is not None:
        data["dataset"] = export(result.dataset, Path(rows_path))
        notes.append(f"dataset: {rows_path}")
    if fit_path is not None:
        with input_errors():
            data["saved"] = result.save(fit_path)
        notes.append(f'saved: {fit_path}, for fit = "{fit_path}" of a study')
    return replace(told, notes=notes, data=data)


save_option = click.option(
    "--save", metavar="NAME.fit.json", type=click.Path(), help="A file for studies."
)


@command(
    "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
    "dse fit clock_scaling runs.csv --to time --free core_cycles,stall_time --relative",
    "dse fit clock_scaling runs.csv --to time --per kernel=core_cycles,stall_time "
    '--columns "core_clock=MHz [MHz],time=ms [ms]"',
)
@row_arguments("Quantities to be fitted.")
@click.option("--per", metavar="COLUMN=Q,...", callback=option_callback(_parse_per), help=_FURTHER)
@names_option("--to", help="Measured: by default the main output.")
@where_option("Rows to fit; may be repeated.")
@columns_option("To read. [all]")
@click.option("--weights", metavar="COLUMN", help="Weights of the squared residuals.")
@residuals_option("relative", "Residuals as shares of what was measured.")
@values_option("--start", metavar="Q=VALUE", help="Where the search begins too.")
@click.option("--out", metavar="OUT.nc", type=click.Path(), help="Write the rows as fitted here.")
@save_option
def fit(model: str, data: str, out: str | None, save: str | None, **options: Any) -> Any:
    """Fit quantities of a model to measured rows.

    DATA is a CSV file with a value a row in each column, headed by the name of its quantity with a
    unit if need be, "time [ms]"; or a dataset (.nc, .zarr, .parquet). The columns of --to are what
    the model should yield from the others.
    """
    print_table_assumptions(data)
    with input_errors():
        result = dse.fit(model, data, **nonempty_options(options))
    return write_fit(result, save, out)
