"""The command `dse law`: compute the probability distribution of an output."""

from pathlib import Path
from typing import Any

import click

import dse
from dse.cli.command import command, read_study
from dse.cli.options import at_option, figure_option, study_argument
from dse.cli.plot import write_figure


@command(
    "dse law uncertain.toml time --at threads_per_block=256,active_sms=30",
    "dse law uncertain.toml power --plot power.png",
)
@study_argument
@click.argument("quantity")
@at_option
@figure_option("--plot", "File for a figure of the distribution")
def law(study: str, quantity: str, at: dict[str, str], plot: Path | None) -> Any:
    """Compute an output's distribution, at one configuration, under uncertain inputs.

    The answer has the mean, the standard deviation and quantiles, with half-widths of 95 %
    confidence intervals. All are exact if all distributions are enumerated. Quantiles are also
    exact if the output depends on a single random input and is proven monotone in it.
    """
    result = dse.law(read_study(study), quantity, at)
    if plot is not None:
        from dse.plots.laws import draw_output_law

        write_figure(draw_output_law(result).figure, plot)
    return result
