"""The Dataset of a sensitivity analysis, which says what its numbers mean."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.effects.sources import Source
from dse.provenance import version
from stochastic import sizes
from sweeps.scan.decompose import Decomposition, decompose
from symbolic.errors import DseError, InfeasibleError

if TYPE_CHECKING:
    import xarray as xr

#: Points about the middle among which one that counts is sought.
_SEARCHED = sizes.SEARCHED_AROUND
_MEANINGS = {
    "first": "share of the variance that the axis explains alone (first-order index of Sobol)",
    "total": "share of the variance left where all other axes are known (total index of Sobol)",
    "low": "least mean of the output at one value of the axis",
    "high": "largest mean of the output at one value of the axis",
    "mean": "mean of the output over all points that count",
    "std": "standard deviation of the output over all points that count",
    "value": "the output at the configuration of the elasticities",
    "counted": "points that count: feasible, with a finite number",
    "points": "points of the axes on which the output depends",
    "elasticity": "d log(output) / d log(input) at the configuration; none at a border or jump",
    "elasticity_down": "the elasticity towards smaller values of the input",
    "elasticity_up": "the elasticity towards larger values of the input",
    "input_value": "the input at the configuration of the elasticities",
}


def analysed(source: Source) -> xr.Dataset:
    """Share out the variance of every output and find its slopes."""
    import xarray as xr

    axes = list(source.coords)
    found: dict[str, Decomposition] = {}
    for text in source.texts:
        dims = source.dims(text)

        def block(place: tuple[slice, ...], text: str = text, dims: tuple[str, ...] = dims) -> Any:
            return source.block(text, dict(zip(dims, place, strict=True)))

        sizes = [len(source.coords[dim][1]) for dim in dims]
        found[text] = decompose(sizes, block, limit=source.limit)
        _check(source, text, found[text])
    kept = [t for t in source.texts if not found[t].constant]
    if not kept:
        _constant(source, found)
    shape = (len(source.texts), len(axes))
    columns = {name: np.zeros(shape) for name in ("first", "total", "low", "high")}
    curves = {a: np.zeros((shape[0], len(source.coords[a][1]))) for a in axes}
    for row, text in enumerate(source.texts):
        one, dims = found[text], source.dims(text)
        for k, axis in enumerate(axes):
            depends = axis in dims
            at = dims.index(axis) if depends else 0
            curve = one.means[at] if depends else np.full(len(source.coords[axis][1]), one.mean)
            curves[axis][row] = curve
            columns["low"][row, k], columns["high"][row, k] = np.nanmin(curve), np.nanmax(curve)
            for name in ("first", "total"):
                share = getattr(one, name)[at] / one.variance if depends and one.variance else 0.0
                columns[name][row, k] = math.nan if one.constant else share
    source = _settled(source, kept[0])
    slopes = source.slopes()
    over, by = ("output", "axis"), ("output", "input")
    variables: dict[str, Any] = {name: (over, array) for name, array in columns.items()}
    each = list(found.values())
    variables |= {
        "mean": ("output", [one.mean for one in each]),
        "std": ("output", [math.sqrt(one.variance) for one in each]),
        "counted": ("output", [one.count for one in each]),
        "points": ("output", [_points(source, text) for text in source.texts]),
        "value": ("output", slopes.here),
        "elasticity": (by, slopes.both),
        "elasticity_down": (by, slopes.down),
        "elasticity_up": (by, slopes.up),
        "input_value": ("input", slopes.values),
    }
    variables = {
        name: (dims, array, {"long_name": _MEANINGS[name]} | _unit(name))
        for name, (dims, array) in variables.items()
    }
    for axis, curve in curves.items():
        said = f"mean of the output at each value of {axis}; in the unit of the output"
        variables[f"over_{axis}"] = (("output", axis), curve, {"long_name": said})
    coords: dict[str, Any] = {axis: source.coords[axis] for axis in axes}
    coords |= {
        "output": ("output", list(source.texts)),
        "unit": ("output", [source.units.get(text, "") for text in source.texts]),
        "axis": ("axis", axes),
        "input": ("input", list(slopes.inputs)),
    }
    return xr.Dataset(variables, coords=coords, attrs=_attributes(source, found))


def _settled(source: Source, text: str) -> Source:
    """With its configuration moved, along axes that are free, to the nearest point that counts."""
    dims = source.dims(text)
    sizes = {dim: len(source.coords[dim][1]) for dim in dims}
    reach = 0
    while True:
        box = {
            dim: slice(source.point[dim], source.point[dim] + 1)
            if dim in source.fixed
            else slice(max(0, source.point[dim] - reach), min(size, source.point[dim] + reach + 1))
            for dim, size in sizes.items()
        }
        if math.prod(s.stop - s.start for s in box.values()) > _SEARCHED and reach:
            return source
        places = np.argwhere(~np.isnan(source.block(text, box)))
        if len(places):
            places += np.array([s.start for s in box.values()], dtype=np.int64)
            away = (places - [source.point[dim] for dim in dims]) / [*sizes.values()]
            best = places[np.argmin((away**2).sum(axis=1))]
            point = {**source.point, **dict(zip(dims, best.tolist(), strict=True))}
            return replace(source, point=point)
        if all(s.stop - s.start == sizes[dim] or dim in source.fixed for dim, s in box.items()):
            return source
        reach = 2 * reach + 1


def _unit(name: str) -> dict[str, str]:
    plain = name.startswith(("first", "total", "counted", "points", "elasticity"))
    return {"units": "1"} if plain else {}


def _points(source: Source, text: str) -> int:
    return math.prod(len(source.coords[dim][1]) for dim in source.dims(text))


def _check(source: Source, text: str, one: Decomposition) -> None:
    if not one.count:
        raise InfeasibleError(
            f"no point with a finite {text} satisfies the rules and constraints: relax them, or "
            "sweep other values"
        )
    if one.constant and source.asked and len(source.texts) == 1:
        _constant(source, {text: one})


def _constant(source: Source, found: dict[str, Decomposition]) -> None:
    from symbolic.answer import value_text

    told = ", ".join(
        f"{text} is {value_text(one.mean, source.units.get(text, ''))}"
        for text, one in found.items()
    )
    raise DseError(
        f"{told} at every point that counts, so that there is no variance to share out: sweep "
        "other axes or values, relax the constraints, or choose another output"
    )


def _attributes(source: Source, found: dict[str, Decomposition]) -> dict[str, Any]:
    point = {
        name: np.asarray(values)[[source.point[name]]].tolist()[0]
        for name, (_, values, _) in source.coords.items()
    }
    holes = any(one.count < _points(source, text) for text, one in found.items())
    treatment = "every point of the grid weighs the same"
    if holes:
        treatment = (
            "every point that counts weighs the same; points that break a rule or constraint or "
            "have no number are left out, which makes the axes depend on each other: an axis may "
            "then explain more alone than in all"
        )
    constant = [text for text, one in found.items() if one.constant]
    notes = [f"{text} is the same at every point: it has no indices" for text in constant]
    return {
        "title": f"sensitivity of {', '.join(source.texts)}",
        "method": "exact decomposition of the variance over the full grid, uniform weights",
        "treatment": treatment,
        "configuration": json.dumps(point),
        **({"notes": json.dumps(notes)} if notes else {}),
        **source.attributes,
        "simt_dse_version": version(),
    }
