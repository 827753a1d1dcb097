"""The command `dse sensitivity`: which axes and inputs an output depends on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dse
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
    if plot is not None and len(output) != 1:
        raise click.UsageError("--plot draws one output: name it with --output")
    found = dse.sensitivity(read_source(source), output=output or None, **options, progress=True)
    if plot is not None:
        from dse.plots.bar_charts import draw_tornado

        write_figure(draw_tornado(found, output[0]).figure, plot)
    return _answer(found, plot)


_SHARES = ("first", "total", "low", "high")
_SLOPES = ("elasticity", "elasticity_down", "elasticity_up")
_EACH = ("mean", "std", "counted", "points", "value")


def _answer(found: xr.Dataset, plot: Path | None) -> Answer:
    axes, inputs = found.axis.values.tolist(), found.input.values.tolist()
    units = {axis: str(found[axis].attrs.get("units", "")) for axis in axes}
    place = json.loads(found.attrs["configuration"])
    at = ", ".join(
        one_line(value) if isinstance(value, str) else f"{n} = {value_text(value, units[n])}"
        for n, value in place.items()
    )
    notes: list[str] = []
    tables: list[Table] = []
    outputs = {}
    for text in found.output.values.tolist():
        one = found.sel(output=text)
        shares = {a: {n: float(one[n].sel(axis=a)) for n in _SHARES} for a in axes}
        slopes = {name: {n: float(one[n].sel(input=name)) for n in _SLOPES} for name in inputs}
        for name, each in slopes.items():
            each["value"] = float(found.input_value.sel(input=name))
        about = {"unit": str(one.unit.values), **{n: one[n].values.item() for n in _EACH}}
        outputs[text] = {**about, "axes": shares, "inputs": slopes}
        tables += _tables(text, outputs[text], at, notes)
    data = {"treatment": found.attrs["treatment"], "configuration": place, "units": units}
    data |= {"notes": json.loads(found.attrs.get("notes", "[]")), "outputs": outputs}
    notes += [*data["notes"], data["treatment"]]
    if plot is not None:
        data["figure"] = plot
        notes.append(f"figure: {plot}")
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
            [name, *(_shown(a[n], ".1%") for n in ("first", "total")), a["low"], a["high"]]
            for name, a in axes
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
