"""Read measurements as Datasets in the form of a study's results, so that queries accept them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbolic.errors import DseError, check_name

if TYPE_CHECKING:
    import xarray as xr

_SHAPES = ("auto", "grid", "rows")


def open_measurements(
    path: Path,
    *,
    axes: str | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    shape: str = "auto",
    columns: str | Path | Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
    runs: bool = False,
) -> xr.Dataset:
    """Read a file of measurements and return it as a Dataset; see :func:`dse.open`."""
    from dse.importers.formats import read_measurements
    from dse.importers.mapping import find_map, load_user_map, map_columns, merge_maps
    from dse.importers.records import split_runs, stack_runs, to_dataset
    from sweeps.grid.goals import texts_of

    if shape not in _SHAPES:
        raise DseError(f"shape = {shape!r}: expected one of {', '.join(map(repr, _SHAPES))}")
    if units is not None and not isinstance(units, Mapping):
        raise DseError(f"units = {units!r}: expected a mapping from columns to units")
    if not path.is_file():
        raise DseError(f"{str(path)!r} is no file: expected measurements in JSON, CSV or Parquet")
    names = None if axes is None else texts_of(axes, "axes")
    records = read_measurements(path)
    shipped, user_map = find_map(records), load_user_map(columns)
    chosen = merge_maps(user_map, shipped)
    if chosen is not None or given:
        records = map_columns(records, chosen, given or {}, user_map)
    if names is not None:
        if records.axes:
            raise DseError(f"{str(path)!r} has its own axes: leave axes= out")
        axis_columns = dict.fromkeys(records.aliases.get(name, name) for name in names)
        for name in axis_columns:
            check_name(name, list(records.columns), f"axes names {name!r}, which is no column")
        records = replace(records, axes=tuple(axis_columns))
    if shape == "grid" and not records.axes:
        raise DseError("a grid needs its axes: name the columns that vary with axes=")
    if not runs:
        return to_dataset(records, units or {}, shape, path.name)
    records, run_columns = split_runs(records)
    run_units = {n: u for n, u in (units or {}).items() if n not in run_columns}
    run_units |= {each: u for n, u in (units or {}).items() for each in run_columns.get(n, ())}
    return stack_runs(to_dataset(records, run_units, shape, path.name), run_columns)
