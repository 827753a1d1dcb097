"""The command `dse law`: compute the probability distribution of an output."""

from pathlib import Path
from typing import Any

import click

import dse
from dse.cli.chances import half_width_text
from dse.cli.command import command, read_study
from dse.cli.options import at_option, figure_option, study_argument
from dse.cli.plot import write_figure
from symbolic.answer import Answer, Table

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


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
    unit, undefined = result.unit, result.undefined
    atoms = None
    if result.way == "enumerated":
        atoms = [result.values.tolist(), result.weights.tolist()]
    moments = {name: [getattr(result, name), result.error(name)] for name in ("mean", "std")}
    levels = [[q, result.quantile(q), result.error("quantile", q)] for q in _QUANTILES]
    data: dict[str, Any] = {"quantity": quantity, "unit": unit, "at": dict(result.at)}
    data |= {"way": result.way, "undefined": undefined, "atoms": atoms}
    data |= {**moments, "quantiles": levels}
    pairs = [*moments.items(), *((f"quantile {q:g}", each) for q, *each in levels)]
    rows = [[name, (value, unit), half_width_text(error, unit)] for name, (value, error) in pairs]
    place = ", ".join(f"{name} = {value}" for name, value in result.at.items())
    return Answer(
        kind="Law",
        title=f"{quantity}{f' at {place}' if place else ''} ({_WAYS[result.way]})",
        tables=[Table(columns=(quantity, "", ""), rows=rows)],
        notes=[f"chance of no value: {undefined:.3g}"] if undefined else [],
        data=data,
    )


_WAYS = {
    "enumerated": "exact: all values enumerated",
    "monotone": "exact: monotone in its one random input",
    "draws": "estimated from draws",
}
