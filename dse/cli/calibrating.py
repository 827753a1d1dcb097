"""The command `dse calibrate`: a machine or a model from measured rows, groups left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from dse.cli.ends import reading
from dse.cli.frame import example, in_json, listed, pairs, put, where

__all__ = ["calibrate"]


@click.command(
    epilog=example(
        "dse calibrate streaming runs.csv --free startup_time,bandwidth_share --leave-out gpu",
        "dse calibrate clock_scaling runs.csv --free stall_time,core_cycles "
        "--choose clock_overlap=none,full --save runs.fit.json",
    )
)
@click.argument("model")
@click.argument("data", type=click.Path(exists=True))
@click.option("--free", multiple=True, metavar="Q,...", help="Quantities to be found.")
@click.option("--to", default="time", show_default=True, metavar="Q", help="Measured.")
@click.option("--leave-out", metavar="COLUMN", help="Each of its labels is predicted by others.")
@click.option("--choose", multiple=True, metavar="Q=LABEL,...", help="Alternatives to try.")
@click.option("--set", "given", multiple=True, metavar="Q=VALUE", help="A value; may be repeated.")
@click.option("--machine", metavar="NAME", help="Gives values that are not set.")
@click.option("--workload", metavar="NAME", help="Gives values that are not set.")
@where("Rows to fit; may be repeated.")
@click.option("--absolute", is_flag=True, help="Residuals, not shares of what was measured.")
@click.option("--save", metavar="NAME.fit.json", type=click.Path(), help="A file for studies.")
@in_json
def calibrate(
    model: str,
    data: str,
    free: Sequence[str],
    to: str,
    leave_out: str | None,
    choose: Sequence[str],
    given: Sequence[str],
    machine: str | None,
    workload: str | None,
    where: Sequence[str],
    absolute: bool,
    save: str | None,
    as_json: bool,
) -> None:
    """Find free quantities of a model from profiles and times, and how well they predict.

    DATA holds a row a measurement, as for dse fit; columns that the model does not take are not
    read. What the rows do not determine is an error, or, of an alternative, told beside the others.
    """
    from dse.calibration import calibrate as calibrated

    if not listed(free):
        raise click.UsageError("name what is to be found: --free bandwidth_share,startup_time")
    with reading():
        found = calibrated(
            data,
            model=model,
            free=listed(free),
            to=to,
            leave_out=leave_out,
            choose={name: labels.split(",") for name, labels in pairs(choose, "choose").items()},
            set=pairs(given, "set"),
            machine=machine,
            workload=workload,
            where=list(where),
            residuals="absolute" if absolute else "relative",
        )
        said: dict[str, Any] = found.to_dict()
        if save is not None:
            said["saved"] = found.save(save)
    tail = f'\nsaved: {save}, for fit = "{save}" of a study' if save is not None else ""
    put(as_json, said, lambda: f"{found}{tail}")
