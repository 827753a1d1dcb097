"""The command `dse validate`: predictions against measured rows, beside trivial baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from dse.cli.ends import reading
from dse.cli.fits import columns_of
from dse.cli.frame import example, in_json, listed, pairs, put

__all__ = ["validate"]


@click.command(
    epilog=example(
        "dse validate clock_scaling runs.csv --to time --free core_cycles,stall_time "
        "--leave-out row --along core_clock",
        "dse validate energy_roofline rows.csv --to power --leave-out kernel "
        "--free constant_power,energy_per_byte,energy_per_flop",
        "dse validate mwp_cwp launches.csv --to time --machine gtx280 --leave-out kernel "
        "--within kernel,size --choose threads_per_block --per kernel",
    )
)
@click.argument("model")
@click.argument("data", type=click.Path(exists=True))
@click.option("--to", metavar="Q", help="Measured: by default the main output.")
@click.option("--free", multiple=True, metavar="Q,...", help="Fitted to the rows not left out.")
@click.option("--leave-out", multiple=True, metavar="COLUMN,...", help="What is left out; or row.")
@click.option("--folds", default=10, show_default=True, help="Most groups of what is left out.")
@click.option("--per", multiple=True, metavar="COLUMN,...", help="Errors of each of its labels.")
@click.option("--within", multiple=True, metavar="COLUMN,...", help="One space to choose in.")
@click.option("--choose", multiple=True, metavar="COLUMN,...", help="What makes a configuration.")
@click.option("--draws", metavar="MANY,SIZE", help="Random parts of each space.")
@click.option("--budget", default=1, show_default=True, help="Configurations tried at random.")
@click.option("--along", metavar="COLUMN", help="Interpolate linearly over it.")
@click.option(
    "--baseline", "formulas", multiple=True, metavar="NAME=FORMULA", help="May be repeated."
)
@click.option("--order", "orders", multiple=True, metavar="NAME=FORMULA", help="To choose by.")
@click.option("--own", multiple=True, metavar="COLUMN=Q,...", help="A value for each label.")
@click.option("--set", "given", multiple=True, metavar="Q=VALUE", help="A value; may be repeated.")
@click.option("--machine", metavar="NAME", help="Gives values that are not set.")
@click.option("--workload", metavar="NAME", help="Gives values that are not set.")
@click.option("--columns", multiple=True, metavar="Q[=HEADER],...", help="To read. [all inputs]")
@click.option("--absolute", is_flag=True, help="Fit residuals, not shares of what was measured.")
@click.option("--interval", default=0.9, show_default=True, help="Rows within their intervals.")
@in_json
def validate(
    model: str,
    data: str,
    to: str | None,
    free: Sequence[str],
    leave_out: Sequence[str],
    folds: int,
    per: Sequence[str],
    within: Sequence[str],
    choose: Sequence[str],
    draws: str | None,
    budget: int,
    along: str | None,
    formulas: Sequence[str],
    orders: Sequence[str],
    own: Sequence[str],
    given: Sequence[str],
    machine: str | None,
    workload: str | None,
    columns: Sequence[str],
    absolute: bool,
    interval: float,
    as_json: bool,
) -> None:
    """Tell what a model's predictions of measured rows are worth.

    DATA is as of dse fit, or what dse import reads. Each row is predicted from its columns, what is
    --free fitted to the rows that are not left out with it; beside it stand predictions of who has
    no model, and what loses to them is said. No row is dropped.
    """
    from dse.validation import validate as validated

    with reading():
        found = validated(
            model,
            data,
            to=to,
            free=listed(free),
            leave_out=listed(leave_out),
            folds=folds,
            per=listed(per),
            within=listed(within),
            choose=listed(choose),
            draws=_draws(draws),
            budget=budget,
            along=along,
            baselines=pairs(formulas, "baseline"),
            orders=pairs(orders, "order"),
            own={column: listed([names]) for column, names in pairs(own, "own").items()},
            set=pairs(given, "set"),
            machine=machine,
            workload=workload,
            columns=columns_of(listed(columns)),
            residuals="absolute" if absolute else "relative",
            interval=interval,
        )
    said: dict[str, Any] = found.to_dict()
    put(as_json, said, lambda: str(found))


def _draws(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    many, _, size = text.partition(",")
    try:
        return int(many), int(size)
    except ValueError:
        raise click.UsageError(f"--draws {text!r}: expected MANY,SIZE, as in 200,100") from None
