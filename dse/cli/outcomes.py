"""The command `dse law`: the law of an output at one configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dse.cli.canvas import write_figure
from dse.cli.frame import command, read_study
from dse.cli.options import drawn, from_study, values
from dse.tables import table
from dse.wording import value_text

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@command(
    "dse law uncertain.toml time --at threads_per_block=256,active_sms=30",
    "dse law uncertain.toml power --plot power.png",
)
@from_study
@click.argument("quantity")
@values("--at", commas=True, metavar="AXIS=VALUE,...", help="One value of an axis.")
@drawn("--plot", help="Draw the law here.")
def law(study: str, quantity: str, at: dict[str, str], plot: Path | None) -> Any:
    """The law of an output at one configuration, where inputs are random.

    Mean, standard deviation and quantiles, with the half widths of 95 % intervals where they are
    not exact. It is exact where all laws are enumerated, and where one input alone is random in the
    output, along which it is proven to go one way.
    """
    from dse.verbs import laws

    found = laws.law(read_study(study), quantity, at)
    data: dict[str, Any] = {"quantity": quantity, "unit": found.unit, "at": dict(found.at)}
    data |= {"way": found.way, "undefined": found.undefined, "atoms": None}
    if found.way == "enumerated":
        data["atoms"] = [found.values.tolist(), found.weights.tolist()]
    data |= {name: [getattr(found, name), found.error(name)] for name in ("mean", "std")}
    data["quantiles"] = [[q, found.quantile(q), found.error("quantile", q)] for q in _QUANTILES]
    if plot is not None:
        from dse.plots.laws import output_law

        write_figure(output_law(found).figure, plot)
    return data, lambda: _law_text(data)


def _law_text(data: Mapping[str, Any]) -> str:
    unit = data["unit"]
    told = {name: data[name] for name in ("mean", "std")}
    told |= {f"quantile {q:g}": [value, error] for q, value, error in data["quantiles"]}
    rows = [
        [name, value_text(value, unit), "exact" if not error else f"± {value_text(error, unit)}"]
        for name, (value, error) in told.items()
    ]
    at = ", ".join(f"{name} = {value}" for name, value in data["at"].items())
    lines = [f"{data['quantity']}{f' at {at}' if at else ''} ({_WAYS[data['way']]})", ""]
    lines += [table([data["quantity"], "", ""], rows)]
    if data["undefined"]:
        lines += ["", f"nothing is feasible: {data['undefined']:.3g}"]
    return "\n".join(lines)


_WAYS = {
    "enumerated": "every value with its chance",
    "monotone": "one input is random in it, along which it goes one way",
    "draws": "of draws",
}
