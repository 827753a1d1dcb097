"""The command `dse validate`: predictions against measured rows, beside trivial baselines."""

from __future__ import annotations

from typing import Any

import click

from dse.cli.ends import reading
from dse.cli.fits import absolute, columns, of_rows
from dse.cli.frame import assumed_of_rows, command
from dse.cli.options import given, listed, names, values


def _draws(_ctx: click.Context, _option: click.Parameter, text: str | None) -> Any:
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
@click.option("--draws", metavar="MANY,SIZE", callback=_draws, help="Random parts of each space.")
@click.option("--budget", default=1, show_default=True, help="Configurations tried at random.")
@click.option("--along", metavar="COLUMN", help="Interpolate linearly over it.")
@values("--baseline", "baselines", metavar="NAME=FORMULA", help="May be repeated.")
@values("--order", "orders", metavar="NAME=FORMULA", help="To choose by.")
@values("--own", metavar="COLUMN=Q,...", help="A value for each label.")
@columns("To read. [all inputs]")
@absolute
@click.option("--interval", default=0.9, show_default=True, help="Rows within their intervals.")
def validate(model: str, data: str, own: dict[str, str], **options: Any) -> Any:
    """Tell what a model's predictions of measured rows are worth.

    DATA is as of dse fit, or what dse import reads. Each row is predicted from its columns, what is
    --free fitted to the rows that are not left out with it; beside it stand predictions of who has
    no model, and what loses to them is said. No row is dropped.
    """
    from dse.validation import validate as validated

    options["own"] = {column: listed([labels]) for column, labels in own.items()}
    assumed_of_rows(data)
    with reading():
        found = validated(model, data, **given(options))
    return found.to_dict(), found
