"""The command `dse advise`: bottleneck of one configuration, and what would help."""

from __future__ import annotations

from typing import Any

import click

import dse
from dse.cli.command import command, input_errors, read_study
from dse.cli.evaluate import EXAMPLE_POINT, parse_point, study_or_model_argument
from dse.cli.options import choice_option, entry_options, point_argument


@command(
    f"dse advise examples/merge-four-gpus.toml {EXAMPLE_POINT}",
    "dse advise ipp --machine gtx280 --workload svm threads_per_block=256 --goal energy",
)
@study_or_model_argument
@point_argument
@entry_options
@click.option("--goal", metavar="Q", help="What should improve, such as energy.")
@choice_option("--levers", "all", "programmer", "designer", text="Whose moves are told. [all]")
def advise(source: str, goal: str | None, levers: str, **options: Any) -> Any:
    """What limits one configuration, and what would help.

    The bound, case or category; each input that helps, until something else limits and by what
    factor; and what the model suggests in closed form. The programmer's moves are told apart from
    those of who designs the machine, and none leaves what it allows. Axes not given stand at their
    first value.
    """
    at = parse_point(options)
    of = read_study(source) if source.endswith(".toml") else source
    with input_errors():
        return dse.advise(of, goal=goal, levers=levers, **at)
