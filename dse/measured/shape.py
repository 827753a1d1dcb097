"""From rows to a Dataset: a grid where most of it was measured, else one dimension of rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.measured.records import Column, Records, Rows, identifier, read_rows
from dse.provenance import version
from stochastic import sizes
from sweeps.grid.dataset import flagged
from sweeps.grid.flat_index import ravel
from sweeps.grid.grid import FEASIBLE
from symbolic.errors import DseError
from symbolic.statistic import RUN

if TYPE_CHECKING:
    import xarray as xr


# --- Raw runs of measured configurations, kept along the dimension ``run``


def apart(records: Records) -> tuple[Records, dict[str, list[str]]]:
    """Records with a column for each run, and the columns of each quantity that was repeated.

    A tuner's file lists the runs of a configuration; of a table, rows of the same configuration
    are its runs, in their order.

    Raises
    ------
    DseError
        Nothing is repeated.
    """
    if records.repeats:
        lists: Mapping[str, Sequence[Sequence[Any]]] = records.repeats
    else:
        records, lists = _grouped(records)
    columns, units, names = dict(records.columns), dict(records.units), {}
    for name, rows in lists.items():
        longest = max(map(len, rows), default=0)
        names[name] = [f"{name} {RUN} {number}" for number in range(longest)]
        for number, told in enumerate(names[name]):
            columns[told] = [row[number] if number < len(row) else None for row in rows]
            units[told] = records.units.get(name, "")
        columns.pop(name, None)
    return replace(records, columns=columns, units=units), names


def _grouped(records: Records) -> tuple[Records, Mapping[str, Sequence[Sequence[Any]]]]:
    """Rows of the same configuration as its runs; what failed in all is told of the first."""
    if not records.axes:
        raise DseError("runs are rows of the same configuration: say with axes= which columns vary")
    keys = list(zip(*(records.columns[axis] for axis in records.axes), strict=True))
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    if len(groups) == len(keys):
        raise DseError(
            "no configuration was measured twice, so that there are no runs: leave runs out, or "
            f"name fewer axes than {', '.join(records.axes)}"
        )
    first = [rows[0] for rows in groups.values()]
    measured = {
        name: [[column[row] for row in rows] for rows in groups.values()]
        for name, column in records.columns.items()
        if name not in records.axes and name not in records.labels
    }
    columns = {name: [column[row] for row in first] for name, column in records.columns.items()}
    status: list[str] = []
    for rows in groups.values() if records.status else ():
        said = [records.status[row] for row in rows]
        status.append("" if not all(said) else said[0])
    return replace(records, columns=columns, status=status), measured


def together(ds: xr.Dataset, names: Mapping[str, Sequence[str]]) -> xr.Dataset:
    """A Dataset in which each quantity that was repeated lies along ``run``."""
    import xarray as xr

    for name, told in names.items():
        parts = [ds[identifier(one)] for one in told]
        if not parts or any(part.dtype.kind != "f" for part in parts):
            ds = ds.drop_vars([part.name for part in parts])
            continue
        about = {**parts[0].attrs, "long_name": name}
        array = np.stack([part.values for part in parts], axis=-1)
        whole = xr.Variable((*parts[0].dims, RUN), array, about)
        ds = ds.drop_vars([part.name for part in parts]).assign({identifier(name): whole})
    if RUN in ds.dims:
        told_run = {"long_name": "number of the run, in the order of the measurement"}
        ds = ds.assign_coords({RUN: (RUN, np.arange(ds.sizes[RUN]), told_run)})
        ds = ds.assign_attrs(axes=f"{ds.attrs['axes']} {RUN}")
    return ds


#: The dimension of rows.
CONFIGURATION = "configuration"
STATUS = "status"
#: Cells of a grid, measured or not, that are taken to be meant.
_MOST = sizes.MEASURED_CELLS
_UNMEASURED = "not measured"


def shaped(records: Records, units: Mapping[str, str], shape: str, name: str) -> xr.Dataset:
    """Return the Dataset of what a file holds; ``units`` of columns count before its own.

    ``shape`` is ``"grid"``, ``"rows"``, or ``"auto"``: a grid where no configuration occurs twice
    and at least half of all combinations of the values do.
    """
    import xarray as xr

    rows = read_rows(records, units)
    count = len(rows.status)
    axes = {axis: _axis_values(column, rows.order.get(axis)) for axis, column in rows.axes.items()}
    sizes = {axis: len(values) for axis, values in axes.items()}
    cells = math.prod(sizes.values()) if axes else 0
    flat = None
    if axes and (shape == "grid" or (shape == "auto" and cells <= 2 * count)):
        if cells > _MOST:
            raise DseError(
                f"a grid of {cells:,} combinations, of which {count:,} were measured, is too large "
                "to be kept: leave shape='rows'"
            )
        flat = _places(rows, axes)
        twice = _repeated(flat)
        if twice is not None and shape == "grid":
            at = ", ".join(
                f"{axis} = {values[twice[0]]}" for axis, (values, _) in rows.axes.items()
            )
            raise DseError(
                f"rows {twice[0]} and {twice[1]} both measure {at}: a grid holds one of each; "
                "leave shape='rows', or name further axes"
            )
        flat = None if twice is not None else flat
    dims: tuple[str, ...] = (CONFIGURATION,) if flat is None else tuple(axes)
    variables = dict(_variables(rows, dims, flat, tuple(sizes.values())))
    if flat is None:
        coords: dict[str, Any] = {
            CONFIGURATION: (dims, np.arange(count), {"long_name": "row of the measurements"})
        }
        coords |= {axis: (dims, *column) for axis, column in rows.axes.items()}
    else:
        coords = {axis: (axis, axes[axis], attrs) for axis, (_, attrs) in rows.axes.items()}
    attributes = _attributes(records, rows, dims, name, list(variables))
    return xr.Dataset(variables, coords=coords, attrs=attributes)


def _axis_values(column: Column, order: NDArray[Any] | None) -> NDArray[Any]:
    """The distinct values: numbers ascending, labels as listed, then as they occur."""
    seen = column[0] if order is None else np.concatenate([order, column[0]])
    if seen.dtype.kind in "if":
        return np.unique(seen)
    _, first = np.unique(seen, return_index=True)
    return seen[np.sort(first)]


def _places(rows: Rows, axes: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return the cell of each row, as an index into the flat grid."""
    index = []
    for axis, values in axes.items():
        order = np.argsort(values)
        index.append(order[np.searchsorted(values[order], rows.axes[axis][0])])
    return ravel(index, [len(values) for values in axes.values()])


def _repeated(flat: NDArray[np.int64]) -> tuple[int, int] | None:
    """Two rows of the same cell."""
    order = np.argsort(flat, kind="stable")
    same = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    return (int(order[same[0]]), int(order[same[0] + 1])) if same.size else None


def _variables(
    rows: Rows, dims: tuple[str, ...], flat: NDArray[np.int64] | None, shape: tuple[int, ...]
) -> Any:
    def spread(values: NDArray[Any], empty: Any) -> NDArray[Any]:
        if flat is None:
            return values
        if values.dtype == np.int64 and flat.size < math.prod(shape):
            values = values.astype(np.float64)  # integers have no NaN
        full = np.empty(math.prod(shape), dtype=values.dtype)
        if flat.size < full.size:
            full[:] = empty
        full[flat] = values
        return full.reshape(shape)

    for name, (values, attrs) in rows.measured.items():
        empty = "" if values.dtype.kind == "U" else np.nan
        yield name, (dims, spread(values, empty), attrs)
    reasons = list(rows.reasons)
    whole = flat is None or flat.size == math.prod(shape)
    reasons += [] if whole else [_UNMEASURED]
    said = {"long_name": "how the measurement of a configuration went"}
    said |= flagged(dict(enumerate(reasons)))
    yield STATUS, (dims, spread(rows.status, len(rows.reasons)), said)
    told = {"long_name": "whether a configuration was measured", "conditions": "status is correct"}
    yield FEASIBLE, (dims, spread(rows.feasible, False), told)


def _attributes(
    records: Records, rows: Rows, dims: tuple[str, ...], name: str, outputs: list[str]
) -> dict[str, Any]:
    apart = [] if dims == tuple(rows.axes) else list(rows.axes)
    counts = np.bincount(rows.status, minlength=len(rows.reasons)).tolist()
    told = dict(zip(rows.reasons, counts, strict=True))
    assumptions = [*records.assumptions, *rows.assumed]
    return {
        "Conventions": "CF-1.11",
        "title": f"measurements of {name}",
        "axes": " ".join([*dims, *apart]),
        "study": json.dumps({"measured": name, "kind": records.kind, "outputs": outputs}),
        "configurations": len(rows.status),
        "statuses": json.dumps(told),
        **records.attributes,
        **({"notes": json.dumps(records.notes)} if records.notes else {}),
        **({"assumptions": json.dumps(assumptions)} if assumptions else {}),
        "simt_dse_version": version(),
    }
