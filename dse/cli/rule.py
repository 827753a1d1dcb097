"""The command `dse rule`: find or certify a short decision rule for an axis."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import UNPROVEN, command, input_errors, new_file, read_study, set_exit_status
from dse.cli.optimum import parse_share
from dse.cli.options import file_option, names_option, option, study_argument, time_limit_option
from dse.signals import time_left


@command(
    "dse rule splits.toml --of splits --minimize tile_time --within 10% --out rule.c",
    "dse rule splits.toml --check rule.py --minimize tile_time",
)
@study_argument
@option("--of AXIS", "Numeric axis whose value the rule chooses")
@option("--minimize Q", "Objective; default: that of the study's [best], or time")
@option("--within X%", "Allowed worst regret, minus 1", default="5%", callback=parse_share)
@option("--leaves N", "Largest number of formulas", type=click.IntRange(min=1), default=8)
@names_option("--formulas", "More formulas that the rule may use, separated by commas")
@file_option("--out FILE", "File for the rule: .py, .c or .csv")
@file_option("--check FILE", "Python file with a rule to certify", exists=True)
@time_limit_option("Seconds after which the proof stops, with a wider bound")
def rule(study: str, out: str | None, time_limit: float | None, **options: Any) -> Any:
    """Find a rule for an axis, with a proof of its worst regret.

    The regret is the objective at the rule's choice, divided by the least objective of all choices.
    The worst regret may exceed 1 by --within. If this is not proven, the exit status is 3. The
    proof is about the model, not about a GPU.
    """
    if out is not None:
        new_file(out, ".py", ".c", ".csv")
    limit = time_left(time_limit)
    with input_errors():
        result = dse.rule(read_study(study), out=out, time_limit=limit, progress=True, **options)
    if not result.is_within:
        set_exit_status(UNPROVEN)
    return result
