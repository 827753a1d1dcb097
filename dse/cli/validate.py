"""The command `dse validate`: test predictions against measured rows."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, print_table_assumptions
from dse.cli.fit import absolute_option, columns_option, row_arguments
from dse.cli.options import (
    names_option,
    nonempty_options,
    option_callback,
    split_list,
    values_option,
)


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
@row_arguments("Fitted to the rows not left out.")
@click.option("--to", metavar="Q", help="Measured: by default the main output.")
@names_option("--leave-out", metavar="COLUMN,...", help="What is left out; or row.")
@click.option("--folds", default=10, show_default=True, help="Most groups of what is left out.")
@names_option("--per", metavar="COLUMN,...", help="Errors of each of its labels.")
@names_option("--within", metavar="COLUMN,...", help="One space to choose in.")
@names_option("--choose", metavar="COLUMN,...", help="What makes a configuration.")
@click.option(
    "--draws",
    metavar="MANY,SIZE",
    callback=option_callback(_draws),
    help="Random parts of each space.",
)
@click.option("--budget", default=1, show_default=True, help="Configurations tried at random.")
@click.option("--along", metavar="COLUMN", help="Interpolate linearly over it.")
@values_option("--baseline", "baselines", metavar="NAME=FORMULA", help="May be repeated.")
@values_option("--order", "orders", metavar="NAME=FORMULA", help="To choose by.")
@values_option("--own", metavar="COLUMN=Q,...", help="A value for each label.")
@columns_option("To read. [all inputs]")
@absolute_option
@click.option("--interval", default=0.9, show_default=True, help="Rows within their intervals.")
def validate(model: str, data: str, own: dict[str, str], **options: Any) -> Any:
    """Tell what a model's predictions of measured rows are worth.

    DATA is as of dse fit, or what dse import reads. Each row is predicted from its columns, what is
    --free fitted to the rows that are not left out with it; beside it stand predictions of who has
    no model, and what loses to them is said. No row is dropped.
    """
    options["own"] = {column: split_list([labels]) for column, labels in own.items()}
    print_table_assumptions(data)
    with input_errors():
        return dse.validate(model, data, **nonempty_options(options))
