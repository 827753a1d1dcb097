"""The command `dse sensitivity`: which axes and inputs an output depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.canvas import write_figure
from dse.cli.frame import command, read_source
from dse.cli.options import drawn, from_study_or_store, names, values, where
from dse.tables import table
from dse.wording import value_text
from symbolic.plain_text import one_line

if TYPE_CHECKING:
    import xarray as xr

#: Elasticities told of one output.
_TOLD = 20


@command(
    "dse sensitivity examples/energy-gtx280.toml --output energy,time",
    'dse sensitivity out.zarr --output time --where "power <= 150 W" --at workload=svm',
    "dse sensitivity study.toml --output time --plot tornado.png",
)
@from_study_or_store
@names("--output", help="Quantities or formulas. [all]")
@where("Constraint; may be repeated.")
@values("--at", metavar="AXIS=VALUE", help="Where elasticities are told.")
@drawn("--plot", help="A tornado figure.")
def sensitivity(source: str, output: list[str], plot: Path | None, **options: Any) -> Any:
    """How strongly an output depends on each axis and input.

    For each axis the share of the variance that it explains alone, and in all, with interactions,
    exact for the whole grid (the indices of Sobol); between which means it moves the output; and
    the elasticities at one configuration: by how many percent the output changes if an input does
    by one. Points that break a rule or constraint do not count.
    """
    import dse

    if plot is not None and len(output) != 1:
        raise click.UsageError("--plot draws one output: name it with --output")
    found = dse.sensitivity(read_source(source), output=output or None, **options, progress=True)
    data = _data(found)
    if plot is not None:
        from dse.plots.rankings import draw_tornado

        write_figure(draw_tornado(found, output[0]).figure, plot)
        data["figure"] = plot
    return data, lambda: _text(data)


def _data(found: xr.Dataset) -> dict[str, Any]:
    import json

    outputs = {}
    for text in found.output.values.tolist():
        one = found.sel(output=text)
        axes = {
            axis: {name: float(one[name].sel(axis=axis)) for name in _SHARES}
            for axis in found.axis.values.tolist()
        }
        slopes = {
            name: {key: float(one[key].sel(input=name)) for key in _SLOPES}
            | {"value": float(found.input_value.sel(input=name))}
            for name in found.input.values.tolist()
        }
        outputs[text] = {
            "unit": str(one.unit.values),
            **{name: one[name].values.item() for name in _EACH},
            "axes": axes,
            "inputs": slopes,
        }
    return {
        "treatment": found.attrs["treatment"],
        "configuration": json.loads(found.attrs["configuration"]),
        "units": {
            axis: str(found[axis].attrs.get("units", "")) for axis in found.axis.values.tolist()
        },
        "notes": json.loads(found.attrs.get("notes", "[]")),
        "outputs": outputs,
    }


_SHARES = ("first", "total", "low", "high")
_SLOPES = ("elasticity", "elasticity_down", "elasticity_up")
_EACH = ("mean", "std", "counted", "points", "value")


def _text(data: Mapping[str, Any]) -> str:
    lines: list[str] = []
    at = ", ".join(
        one_line(value)
        if isinstance(value, str)
        else f"{name} = {value_text(value, data['units'][name])}"
        for name, value in data["configuration"].items()
    )
    for text, one in data["outputs"].items():
        unit = one["unit"]
        mean, std = (value_text(one[name], unit) for name in ("mean", "std"))
        holes = one["points"] - one["counted"]
        out = f" of {one['points']:,}" if holes else ""
        lines.append(
            f"{text}: mean {mean}, standard deviation {std}; {one['counted']:,}{out} configurations"
        )
        axes = sorted(one["axes"].items(), key=lambda item: -_or_zero(item[1]["total"]))
        body = [
            [
                name,
                *(_percent(said[key]) for key in ("first", "total")),
                *(value_text(said[key], unit) for key in ("low", "high")),
            ]
            for name, said in axes
        ]
        lines += ["", table(["axis", "alone", "in all", "mean from", "to"], body), ""]
        lines += _slopes_text(text, one, at)
    lines += data["notes"]
    lines.append(data["treatment"])
    lines += [f"figure: {data['figure']}"] if "figure" in data else []
    return "\n".join(lines)


def _slopes_text(text: str, one: Mapping[str, Any], at: str) -> list[str]:
    told = {
        name: said
        for name, said in one["inputs"].items()
        if any(abs(_or_zero(said[key])) > 1e-4 for key in _SLOPES)
    }
    if math.isnan(one["value"]):
        return [f"no elasticities at {at}: {text} has no value there that counts", ""]
    here = value_text(one["value"], one["unit"])
    if not told:
        return [f"{text} = {here} at {at}: no input moves it", ""]
    rows = sorted(told.items(), key=lambda item: -max(abs(_or_zero(item[1][k])) for k in _SLOPES))
    body = [[name, *(_slope(said[key]) for key in _SLOPES)] for name, said in rows[:_TOLD]]
    lines = [f"{text} = {here} at {at}; elasticities:", ""]
    told_of = table(["input", "elasticity", "downwards", "upwards"], body, of=len(rows))
    return [*lines, told_of, ""]


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.1%}"


def _slope(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"
