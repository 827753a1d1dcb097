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
@row_arguments("Quantities to fit to the rows that are not left out.")
@click.option("--to", metavar="Q", help="Measured output to predict; default: the main output.")
@names_option(
    "--leave-out", metavar="COLUMN,...", help="Columns whose labels are left out in turn, or row."
)
@click.option("--folds", default=10, show_default=True, help="Most groups to leave out.")
@names_option("--per", metavar="COLUMN,...", help="Columns: give errors for each of their labels.")
@names_option(
    "--within", metavar="COLUMN,...", help="Columns that define a search space; choose within each."
)
@names_option("--choose", metavar="COLUMN,...", help="Columns that define a configuration.")
@click.option(
    "--draws",
    metavar="MANY,SIZE",
    callback=option_callback(_draws),
    help="Number and size of random samples of each search space.",
)
@click.option(
    "--budget", default=1, show_default=True, help="Configurations that the random baseline tries."
)
@click.option("--along", metavar="COLUMN", help="Column for a baseline of linear interpolation.")
@values_option(
    "--baseline", "baselines", metavar="NAME=FORMULA", help="Further baseline; repeatable."
)
@values_option(
    "--order",
    "orders",
    metavar="NAME=FORMULA",
    help="Formula to rank configurations; repeatable.",
)
@values_option(
    "--own", metavar="COLUMN=Q,...", help="Quantities with a value of their own for each label."
)
@columns_option
@absolute_option
@click.option(
    "--interval", default=0.9, show_default=True, help="Level of the prediction intervals to test."
)
def validate(model: str, data: str, own: dict[str, str], **options: Any) -> Any:
    """Test a model's predictions against measured rows and simple baselines.

    DATA is a file for dse fit or dse import. Each row is predicted from its columns, after --free
    quantities are fitted to the rows that are not left out with it. Baselines without a model are
    predicted likewise, and the report says where the model loses to them. No row is dropped.
    """
    options["own"] = {column: split_list([labels]) for column, labels in own.items()}
    print_table_assumptions(data)
    with input_errors():
        return dse.validate(model, data, **nonempty_options(options))
