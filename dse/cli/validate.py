"""The command `dse validate`: test predictions against measured rows."""

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, print_table_assumptions
from dse.cli.fit import absolute_option, columns_option, row_arguments
from dse.cli.options import (
    names_option,
    nonempty_options,
    option,
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
@row_arguments("Quantities to fit to the rows that are not left out")
@option("--to Q", "Measured output to predict; default: the main output")
@names_option("--leave-out COLUMN,...", "Columns (or 'row') whose labels are left out in turn")
@option("--folds", "Largest number of groups of rows that are left out in turn", default=10)
@names_option("--per COLUMN,...", "Give errors separately for each label of these columns")
@names_option("--within COLUMN,...", "Choose one of the rows with equal values in these columns")
@names_option("--choose COLUMN,...", "Columns whose values identify a configuration")
@option(
    "--draws MANY,SIZE",
    "Number of random samples of each search space, and of configurations in a sample",
    callback=option_callback(_draws),
)
@option("--budget", "Number of configurations that the random baseline tries", default=1)
@option("--along COLUMN", "Column along which a baseline interpolates linearly")
@values_option("--baseline NAME=FORMULA", "Formula of a further baseline; repeatable", "baselines")
@values_option("--order NAME=FORMULA", "Formula to choose by its least value; repeatable", "orders")
@values_option("--own COLUMN=Q,...", "Fit these quantities separately for each label of a column")
@columns_option
@absolute_option
@option("--interval", "Coverage of the prediction intervals to test", default=0.9)
def validate(model: str, data: str, own: dict[str, str], **options: Any) -> Any:
    """Test predictions of a model, against measured rows and simple baselines.

    DATA is a file for dse fit or dse import. Each row is predicted from its columns; the quantities
    of --free are fitted to the rows that are not left out together with this row. The report also
    has predictions by baselines without a model, and says in which measures a baseline is better.
    No row is dropped.
    """
    options["own"] = {column: split_list([labels]) for column, labels in own.items()}
    print_table_assumptions(data)
    with input_errors():
        return dse.validate(model, data, **nonempty_options(options))
