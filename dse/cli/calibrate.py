"""The command `dse calibrate`: estimate free quantities of a model from measured rows."""

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, print_table_assumptions
from dse.cli.fit import absolute_option, row_arguments, rows_option, save_option, write_fit
from dse.cli.options import nonempty_options, option, values_option
from symbolic.library import load_model


@command(
    "dse calibrate streaming runs.csv --free startup_time,bandwidth_share --leave-out gpu",
    "dse calibrate clock_scaling runs.csv --free stall_time,core_cycles "
    "--choose clock_overlap=none,full --save runs.fit.json",
    "dse calibrate gemm rows.csv --machine b200 --design 40",
)
@row_arguments("Quantities to find, with commas between")
@option("--to Q", "Measured output to fit to", default="time")
@option("--leave-out COLUMN", "Predict the rows of each label of this column from the other rows")
@option("--design N", "Propose N rows to measure next", type=click.IntRange(min=1))
@values_option("--choose Q=LABEL,...", "Labels of a switch to try; repeatable")
@rows_option
@absolute_option
@save_option
def calibrate(
    model: str, data: str, choose: dict[str, str], save: str | None, **options: Any
) -> Any:
    """Fit a model, and report the errors of its predictions.

    DATA has a row for each measurement, as for dse fit; other columns are ignored. The
    command fails if the rows do not determine a quantity; with --choose, it lists that alternative
    as not determined. gemm and its relatives need no --free: they fit what the rows determine.
    --design proposes rows to measure next: it chooses among the rows without a measured value, or,
    if there are none, from a grid of shapes.
    """
    if not (options["free"] or options["design"] or load_model(model).fitted):
        raise click.UsageError("name the quantities to find: --free bandwidth_share,startup_time")
    labels = {name: text.split(",") for name, text in choose.items()}
    print_table_assumptions(data)
    with input_errors():
        result = dse.calibrate(data, model=model, choose=labels, **nonempty_options(options))
    return write_fit(result, save)
