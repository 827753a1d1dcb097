"""The command `dse sensitivity`: rank axes and inputs by their effect on an output."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import Source, command, source_argument
from dse.cli.options import figure_option, names_option, values_option, where_option
from dse.cli.plot import write_figure
from symbolic.answer import Answer, Table, value_text
from symbolic.safe_text import one_line

if TYPE_CHECKING:
    import xarray as xr

_AT = "Value of an axis at which elasticities are given; separate several by commas, or repeat"
#: Maximum number of elasticities in the text of one output.
_ROWS_SHOWN = 20
_SHARES = ("first", "total", "low", "high")
_AT = "Value of an axis at which elasticities are given; separate several by commas, or repeat"
_SLOPES = ("elasticity", "elasticity_down", "elasticity_up")
_EACH = ("mean", "std", "counted", "points", "value")


@command(
    "dse sensitivity examples/energy-gtx280.toml --output energy,time",
    'dse sensitivity out.zarr --output time --where "power <= 150 W" --at workload=svm',
    "dse sensitivity study.toml --output time --plot tornado.png",
)
@source_argument
@names_option("--output", "Quantities or formulas, separated by commas; default: all outputs")
@where_option()
@values_option("--at AXIS=VALUE,...", _AT, commas=True)
@figure_option("--plot", "File for a tornado figure of one output")
def sensitivity(source: Source, output: list[str], plot: Path | None, **options: Any) -> Any:
    """Rank axes and inputs by effect, on one output.

    For each axis, the answer gives its share of the variance, alone and with interactions (Sobol
    indices, exact over the whole grid), and the range of the output's means over the axis. For each
    input, it gives the elasticity at one configuration: the change of the output in percent if the
    input changes by one percent. Infeasible configurations do not count.
    """
    if plot is not None and len(output) != 1:
        raise click.UsageError("--plot draws one output: name it with --output")
    result = dse.sensitivity(source, output=output or None, **options, progress=True)
    if plot is not None:
        from dse.plots.bar_charts import draw_tornado

        write_figure(draw_tornado(result, output[0]).figure, plot)
    return _answer(result, plot)


def _answer(ds: xr.Dataset, plot: Path | None) -> Answer:
    axes, inputs = ds.axis.values.tolist(), ds.input.values.tolist()
    units = {axis: str(ds[axis].attrs.get("units", "")) for axis in axes}
    place = json.loads(ds.attrs["configuration"])
    at = ", ".join(
        one_line(value) if isinstance(value, str) else f"{n} = {value_text(value, units[n])}"
        for n, value in place.items()
    )
    notes: list[str] = []
    tables: list[Table] = []
    outputs = {}
    for text in ds.output.values.tolist():
        row = ds.sel(output=text)
        shares = {a: {n: float(row[n].sel(axis=a)) for n in _SHARES} for a in axes}
        slopes = {name: {n: float(row[n].sel(input=name)) for n in _SLOPES} for name in inputs}
        for name, each in slopes.items():
            each["value"] = float(ds.input_value.sel(input=name))
        about = {"unit": str(row.unit.values), **{n: row[n].values.item() for n in _EACH}}
        outputs[text] = {**about, "axes": shares, "inputs": slopes}
        tables += _tables(text, outputs[text], at, notes)
    data = {"treatment": ds.attrs["treatment"], "configuration": place, "units": units}
    data |= {"notes": json.loads(ds.attrs.get("notes", "[]")), "outputs": outputs}
    notes += [*data["notes"], data["treatment"]]
    if plot is not None:
        data["figure"] = plot
        notes.append(f"figure: {plot}")
    return Answer(kind="Sensitivity", title="", tables=tables, notes=notes, data=data)


def _tables(text: str, result: Mapping[str, Any], place: str, notes: list[str]) -> Iterator[Table]:
    """Yield the tables of one output's axes and elasticities; note why elasticities are missing."""
    unit = result["unit"]
    mean, std, here = (value_text(result[name], unit) for name in ("mean", "std", "value"))
    counted, points = result["counted"], result["points"]
    many = f"{counted:,} of {points:,}" if counted != points else f"{counted:,}"
    axes = sorted(result["axes"].items(), key=lambda item: -_or_zero(item[1]["total"]))
    yield Table(
        title=f"{text}: mean {mean}, standard deviation {std}; {many} configurations",
        columns={"axis": "", "alone": "", "total": "", "mean from": unit, "to": unit},
        rows=[
            [name, *(_format(a[n], ".1%") for n in ("first", "total")), a["low"], a["high"]]
            for name, a in axes
        ],
    )
    moving = {n: max(abs(_or_zero(s[k])) for k in _SLOPES) for n, s in result["inputs"].items()}
    names = sorted((name for name in moving if moving[name] > 1e-4), key=lambda n: -moving[n])
    if math.isnan(result["value"]):
        notes.append(f"no elasticities at {place}: {text} has no feasible value there")
    elif all(math.isnan(s[k]) for s in result["inputs"].values() for k in _SLOPES):
        notes.append(
            f"{text} has no elasticities at {place} (statistics and laws have none): name a "
            "quantity without them in --output, or another configuration with --at"
        )
    elif not names:
        notes.append(f"{text} = {here} at {place}: no input changes it")
    else:
        yield Table(
            title=f"{text} = {here} at {place}; elasticities:",
            columns=("input", "elasticity", "downwards", "upwards"),
            rows=[
                [n, *(_format(result["inputs"][n][key], ".4f") for key in _SLOPES)] for n in names
            ],
            max_rows=_ROWS_SHOWN,
        )


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _format(value: float, form: str) -> str:
    return "-" if math.isnan(value) else f"{value:{form}}"
