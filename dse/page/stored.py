"""All that the page of a Dataset is given: its values, as they are stored, along thinned axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.page.axes import even, halved, plain
from dse.page.told import common
from sweeps.grid.dataset import meanings_of
from sweeps.grid.grid import FEASIBLE
from symbolic.errors import DseError
from symbolic.json_text import read_json

if TYPE_CHECKING:
    import xarray as xr

#: Values of an axis that a page holds, and of all quantities together.
_LONGEST, _MOST = 1000, 60_000


def told_of_values(
    ds: xr.Dataset,
    title: str,
    note: str = "",
    part: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The data of a page, and the functions of JavaScript that it calls, by name.

    ``part`` cuts axes between the least and the most value; what is left is thinned evenly.

    Raises
    ------
    DseError
        No numbers, or axes of which nothing is left.
    """
    names = [str(name) for name, array in ds.data_vars.items() if array.dtype.kind in "biuf"]
    names = [name for name in names if name != FEASIBLE]
    if not names:
        raise DseError("the Dataset holds no numbers: there is nothing to explore")
    held = [*names, *([FEASIBLE] if FEASIBLE in ds else [])]
    cut = ds[held].isel({name: _within(ds, name, *ends) for name, ends in (part or {}).items()})
    if any(size == 0 for size in cut.sizes.values()):
        raise DseError(
            f"nothing is left of {', '.join(str(d) for d, n in cut.sizes.items() if not n)}"
        )
    counts = {str(dim): min(size, _LONGEST) for dim, size in cut.sizes.items()}
    halved(counts, [list(map(str, array.dims)) for array in cut.data_vars.values()], _MOST)
    kept = cut.isel({dim: even(cut.sizes[dim], count) for dim, count in counts.items()}).load()
    data = common(title, note) | {
        "model": str(ds.attrs.get("model", "")),
        "axes": [_axis(cut, kept, str(dim)) for dim in kept.sizes],
        "leaves": {name: _leaf(kept[name]) for name in held},
        "quantities": _quantities(ds, names),
        "definitions": _definitions(ds, names),
        "conditions": [{"text": _conditions(ds), "of": "model"}] if FEASIBLE in ds else [],
        "outputs": names,
        "program": {"inputs": held, "outputs": names, "choices": {}},
        "stored": {"axes": {str(d): n for d, n in ds.sizes.items()}, "served": part is not None},
    }
    copied = "".join(f"  y[{k}] = x[{k}];\n" for k in range(len(held)))
    return plain(data), {"compute": f"(x, c, y) => {{\n{copied}}}"}


def _within(ds: xr.Dataset, name: str, low: float, high: float) -> np.ndarray[Any, Any]:
    """The places of an axis whose values lie between two."""
    if name not in ds.dims or (name in ds.coords and ds[name].dtype.kind not in "iuf"):
        raise DseError(f"{name} is no axis of numbers: there are {', '.join(map(str, ds.dims))}")
    values = ds[name].values if name in ds.coords else np.arange(ds.sizes[name])
    return np.flatnonzero((values >= low) & (values <= high))


def _axis(cut: xr.Dataset, kept: xr.Dataset, dim: str) -> dict[str, Any]:
    """One axis as the page has it, with how many values the part has that is shown."""
    told: dict[str, Any] = {"name": dim, "kind": "zip", "columns": [], "size": cut.sizes[dim]}
    values = kept[dim].values if dim in kept.coords else np.arange(kept.sizes[dim])
    if values.dtype.kind in "iuf":
        return told | {"values": values.astype(float)}
    return told | {"labels": [str(value) for value in values.tolist()]}


def _leaf(array: xr.DataArray) -> dict[str, Any]:
    told = {"axes": list(map(str, array.dims)), "values": array.values.astype(float)}
    return {"variants": [told]}


def _quantities(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    """Unit, meaning and flags, as the Dataset tells them."""
    found = {}
    for name in [*names, *map(str, ds.sizes)]:
        attrs = ds[name].attrs if name in ds.variables else {}
        unit = str(attrs.get("units", ""))
        told: dict[str, Any] = {
            "unit": "" if unit == "1" else unit,
            "meaning": str(attrs.get("long_name", "")),
        }
        if name in names and (flags := meanings_of(attrs)):
            told["flags"] = {str(value): word for value, word in flags.items()}
        found[name] = told
    return found


def _definitions(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    """Where each value is from: the equation that a run tells, else the file."""
    sources: dict[str, str] = {}
    try:
        equations = read_json(ds.attrs.get("equations", "[]"))
    except ValueError:  # of somebody else, who means something else by it
        equations = []
    for row in equations if isinstance(equations, list) else ():  # those of one model
        if isinstance(row, dict) and {"name", "source"} <= row.keys():
            sources.setdefault(str(row["name"]), str(row["source"]))
    return {
        name: {
            "which": [0],
            "variants": [
                {"kind": "stored", "needs": [], "source": sources.get(name) or "as stored"}
            ],
        }
        for name in names
    }


def _conditions(ds: xr.Dataset) -> str:
    return str(ds[FEASIBLE].attrs.get("conditions", "")) or "feasible"
