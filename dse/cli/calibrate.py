"""The command `dse calibrate`: find free quantities of a model from measured rows."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, print_table_assumptions
from dse.cli.fit import absolute_option, row_arguments, save_option, write_fit
from dse.cli.options import nonempty_options, values_option, where_option


@command(
    "dse calibrate streaming runs.csv --free startup_time,bandwidth_share --leave-out gpu",
    "dse calibrate clock_scaling runs.csv --free stall_time,core_cycles "
    "--choose clock_overlap=none,full --save runs.fit.json",
)
@row_arguments("Quantities to be found.")
@click.option("--to", default="time", show_default=True, metavar="Q", help="Measured.")
@click.option("--leave-out", metavar="COLUMN", help="Each of its labels is predicted by others.")
@values_option("--choose", metavar="Q=LABEL,...", help="Alternatives to try.")
@where_option("Rows to fit; may be repeated.")
@absolute_option
@save_option
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
    print_table_assumptions(data)
    with input_errors():
        result = dse.calibrate(data, model=model, choose=labels, **nonempty_options(options))
    return write_fit(result, save)
