"""Raw runs of measured configurations, kept along the dimension ``run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.measured.records import Records, identifier
from symbolic.errors import DseError
from symbolic.statistic import RUN

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["apart", "together"]


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
