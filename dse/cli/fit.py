"""The commands on measured rows: ``dse fit``, ``dse calibrate`` and ``dse validate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import dse
from dse.cli.command import assumed_of_rows, command, reading
from dse.cli.options import Adds, entries, given, listed, names, reads, setting, values, where
from symbolic.answer import Answer


def of_rows(free: str) -> Adds:
    """The arguments MODEL and DATA; the options --free, --set, --machine and --workload."""

    def add(function: Any) -> Any:
        function = names("--free", help=free)(setting(entries(function)))
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


def residuals(kind: str, text: str) -> Adds:
    """The option of what a fit makes small: --absolute or --relative."""
    return click.option(f"--{kind}", "residuals", flag_value=kind, help=text)


_absolute = residuals("absolute", "Fit residuals, not shares of what was measured.")


def columns(text: str) -> Adds:
    """The option --columns."""
    return names("--columns", read=_headers, metavar="Q[=HEADER],...", help=text)


def _per(text: str | None) -> dict[str, list[str]] | None:
    if text is None:
        return None
    column, equals, told = text.partition("=")
    if not (column.strip() and equals and told.strip()):
        raise click.UsageError(f"--per {text!r}: expected COLUMN=QUANTITY,...")
    return {column.strip(): listed([told])}


def _kept(found: Any, save: str | None, out: str | None = None) -> Answer:
    """Return the answer of a fit; its rows and itself are written where that is asked for."""
    from sweeps.files.export import export

    data = found.to_dict()
    told: Answer = found._answer()
    notes = [*told.notes]
    if out is not None:
        data["dataset"] = export(found.dataset, Path(out))
        notes.append(f"dataset: {out}")
    if save is not None:
        with reading():
            data["saved"] = found.save(save)
        notes.append(f'saved: {save}, for fit = "{save}" of a study')
    return replace(told, notes=notes, data=data)


_saving = click.option(
    "--save", metavar="NAME.fit.json", type=click.Path(), help="A file for studies."
)


@command(
    "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
    "dse fit clock_scaling runs.csv --to time --free core_cycles,stall_time --relative",
    "dse fit clock_scaling runs.csv --to time --per kernel=core_cycles,stall_time "
    '--columns "core_clock=MHz [MHz],time=ms [ms]"',
)
@of_rows("Quantities to be fitted.")
@click.option("--per", metavar="COLUMN=Q,...", callback=reads(_per), help=_FURTHER)
@names("--to", help="Measured: by default the main output.")
@where("Rows to fit; may be repeated.")
@columns("To read. [all]")
@click.option("--weights", metavar="COLUMN", help="Weights of the squared residuals.")
@residuals("relative", "Residuals as shares of what was measured.")
@values("--start", metavar="Q=VALUE", help="Where the search begins too.")
@click.option("--out", metavar="OUT.nc", type=click.Path(), help="Write the rows as fitted here.")
@_saving
def fit(model: str, data: str, out: str | None, save: str | None, **options: Any) -> Any:
    """Fit quantities of a model to measured rows.

    DATA is a CSV file with a value a row in each column, headed by the name of its quantity with a
    unit if need be, "time [ms]"; or a dataset (.nc, .zarr, .parquet). The columns of --to are what
    the model should yield from the others.
    """
    assumed_of_rows(data)
    with reading():
        found = dse.fit(model, data, **given(options))
    return _kept(found, save, out)


@command(
    "dse calibrate streaming runs.csv --free startup_time,bandwidth_share --leave-out gpu",
    "dse calibrate clock_scaling runs.csv --free stall_time,core_cycles "
    "--choose clock_overlap=none,full --save runs.fit.json",
)
@of_rows("Quantities to be found.")
@click.option("--to", default="time", show_default=True, metavar="Q", help="Measured.")
@click.option("--leave-out", metavar="COLUMN", help="Each of its labels is predicted by others.")
@values("--choose", metavar="Q=LABEL,...", help="Alternatives to try.")
@where("Rows to fit; may be repeated.")
@_absolute
@_saving
def calibrate(
    model: str, data: str, choose: dict[str, str], save: str | None, **options: Any
) -> Any:
    """Find free quantities of a model from profiles and times, and how well they predict.

    DATA holds a row a measurement, as for dse fit; columns that the model does not take are not
    read. What the rows do not determine is an error, or, of an alternative, told beside the others.
    """
    if not options["free"]:
        raise click.UsageError("name what is to be found: --free bandwidth_share,startup_time")
    labels = {name: text.split(",") for name, text in choose.items()}
    assumed_of_rows(data)
    with reading():
        found = dse.calibrate(data, model=model, choose=labels, **given(options))
    return _kept(found, save)


# --- predictions against measured rows, with trivial baselines
def _draws(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    many, _, size = text.partition(",")
    try:
        return int(many), int(size)
    except ValueError:
        raise click.UsageError(f"--draws {text!r}: expected MANY,SIZE, as in 200,100") from None


@command(
    "dse validate clock_scaling runs.csv --to time --free core_cycles,stall_time "
    "--leave-out row --along core_clock",
    "dse validate energy_roofline rows.csv --to power --leave-out kernel "
    "--free constant_power,energy_per_byte,energy_per_flop",
    "dse validate mwp_cwp launches.csv --to time --machine gtx280 --leave-out kernel "
    "--within kernel,size --choose threads_per_block --per kernel",
)
@of_rows("Fitted to the rows not left out.")
@click.option("--to", metavar="Q", help="Measured: by default the main output.")
@names("--leave-out", metavar="COLUMN,...", help="What is left out; or row.")
@click.option("--folds", default=10, show_default=True, help="Most groups of what is left out.")
@names("--per", metavar="COLUMN,...", help="Errors of each of its labels.")
@names("--within", metavar="COLUMN,...", help="One space to choose in.")
@names("--choose", metavar="COLUMN,...", help="What makes a configuration.")
@click.option(
    "--draws", metavar="MANY,SIZE", callback=reads(_draws), help="Random parts of each space."
)
@click.option("--budget", default=1, show_default=True, help="Configurations tried at random.")
@click.option("--along", metavar="COLUMN", help="Interpolate linearly over it.")
@values("--baseline", "baselines", metavar="NAME=FORMULA", help="May be repeated.")
@values("--order", "orders", metavar="NAME=FORMULA", help="To choose by.")
@values("--own", metavar="COLUMN=Q,...", help="A value for each label.")
@columns("To read. [all inputs]")
@_absolute
@click.option("--interval", default=0.9, show_default=True, help="Rows within their intervals.")
def validate(model: str, data: str, own: dict[str, str], **options: Any) -> Any:
    """Tell what a model's predictions of measured rows are worth.

    DATA is as of dse fit, or what dse import reads. Each row is predicted from its columns, what is
    --free fitted to the rows that are not left out with it; beside it stand predictions of who has
    no model, and what loses to them is said. No row is dropped.
    """
    options["own"] = {column: listed([labels]) for column, labels in own.items()}
    assumed_of_rows(data)
    with reading():
        return dse.validate(model, data, **given(options))
