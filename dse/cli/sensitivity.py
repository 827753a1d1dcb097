"""The command `dse sensitivity`: which axes and inputs an output depends on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, read_source
from dse.cli.options import drawn, from_study_or_store, names, values, where
from dse.cli.plot import write_figure
from symbolic.answer import Answer, Table, value_text
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
        from dse.plots.bar_charts import draw_tornado

        write_figure(draw_tornado(found, output[0]).figure, plot)
        data["figure"] = plot
    return _answer(data)


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


def _answer(data: Mapping[str, Any]) -> Answer:
    at = ", ".join(
        one_line(value)
        if isinstance(value, str)
        else f"{name} = {value_text(value, data['units'][name])}"
        for name, value in data["configuration"].items()
    )
    tables: list[Table] = []
    notes: list[str] = []
    for text, one in data["outputs"].items():
        tables += _tables(text, one, at, notes)
    figure = [f"figure: {data['figure']}"] if "figure" in data else []
    notes += [*data["notes"], data["treatment"], *figure]
    return Answer(kind="Sensitivity", title="", tables=tables, notes=notes, data=data)


def _tables(text: str, one: Mapping[str, Any], at: str, notes: list[str]) -> Iterator[Table]:
    """Yield the table of the axes of an output, and that of its elasticities or a note."""
    unit = one["unit"]
    mean, std, here = (value_text(one[name], unit) for name in ("mean", "std", "value"))
    counted, points = one["counted"], one["points"]
    many = f"{counted:,} of {points:,}" if counted != points else f"{counted:,}"
    axes = sorted(one["axes"].items(), key=lambda item: -_or_zero(item[1]["total"]))
    yield Table(
        title=f"{text}: mean {mean}, standard deviation {std}; {many} configurations",
        columns={"axis": "", "alone": "", "in all": "", "mean from": unit, "to": unit},
        rows=[
            [
                *(name, _shown(axis["first"], ".1%"), _shown(axis["total"], ".1%")),
                *(axis["low"], axis["high"]),
            ]
            for name, axis in axes
        ],
    )
    moving = {
        name: max(abs(_or_zero(slopes[key])) for key in _SLOPES)
        for name, slopes in one["inputs"].items()
    }
    names = sorted((name for name in moving if moving[name] > 1e-4), key=lambda n: -moving[n])
    if math.isnan(one["value"]):
        notes.append(f"no elasticities at {at}: {text} has no value there that counts")
    elif not names:
        notes.append(f"{text} = {here} at {at}: no input moves it")
    else:
        yield Table(
            title=f"{text} = {here} at {at}; elasticities:",
            columns=("input", "elasticity", "downwards", "upwards"),
            rows=[[n, *(_shown(one["inputs"][n][key], ".4f") for key in _SLOPES)] for n in names],
            most=_TOLD,
        )


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _shown(value: float, form: str) -> str:
    return "-" if math.isnan(value) else f"{value:{form}}"
