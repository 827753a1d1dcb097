"""The command `dse calibrate`: estimate free quantities of a model from measured rows."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, print_table_assumptions
from dse.cli.fit import absolute_option, row_arguments, rows_option, save_option, write_fit
from dse.cli.options import nonempty_options, option, values_option


@command(
    "dse calibrate streaming runs.csv --free startup_time,bandwidth_share --leave-out gpu",
    "dse calibrate clock_scaling runs.csv --free stall_time,core_cycles "
    "--choose clock_overlap=none,full --save runs.fit.json",
)
@row_arguments("Quantities to estimate, separated by commas")
@option("--to Q", "Measured output that the model is fitted to", default="time")
@option("--leave-out COLUMN", "Predict the rows of each label in this column by a fit to others")
@values_option("--choose Q=LABEL,...", "Try these labels of a switch; choose the best; repeatable")
@rows_option
@absolute_option
@save_option
def calibrate(
    model: str, data: str, choose: dict[str, str], save: str | None, **options: Any
) -> Any:
    """Estimate free quantities of a model from measurements, and report prediction errors.

    DATA has a row for each measurement, as for dse fit; columns that the model does not need are
    ignored. It is an error if the rows do not determine a quantity. With --choose, a label with
    this problem is listed, but not chosen.
    """
    if not options["free"]:
        raise click.UsageError("name the quantities to find: --free bandwidth_share,startup_time")
    labels = {name: text.split(",") for name, text in choose.items()}
    print_table_assumptions(data)
    with input_errors():
        result = dse.calibrate(data, model=model, choose=labels, **nonempty_options(options))
    return write_fit(result, save)
