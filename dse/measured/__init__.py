"""Measured data as Datasets of the shape that a study's run has, so that questions serve both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.measured.records import Records

__all__ = ["is_measured", "open_measured"]

_SHAPES = ("auto", "grid", "rows")


def is_measured(path: Path) -> bool:
    """Whether a file is a tuner's, a profiler's, or a table that this library did not write."""
    from dse.measured.profiles import is_profile

    name = path.name.lower()
    if name.endswith((".json", ".json.gz")) or is_profile(path):
        return True
    if not path.is_file() or not name.endswith((".csv", ".csv.gz", ".parquet")):
        return False
    from dse.measured.tables import is_ours

    return not is_ours(path)


def open_measured(
    path: Path,
    *,
    axes: str | Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    shape: str = "auto",
    columns: str | Path | Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
    runs: bool = False,
) -> xr.Dataset:
    """A file of measurements as a Dataset; see :func:`dse.open`."""
    from dse.measured.records import read_rows
    from dse.measured.shape import shaped
    from dse.measured.tables import axes_of
    from sweeps.grid.goals import texts_of

    if shape not in _SHAPES:
        raise DseError(f"shape = {shape!r}: expected one of {', '.join(map(repr, _SHAPES))}")
    if units is not None and not isinstance(units, Mapping):
        raise DseError(f"units = {units!r}: expected a mapping from columns to units")
    if not path.is_file():
        raise DseError(f"{str(path)!r} is no file: expected measurements in JSON, CSV or Parquet")
    named = None if axes is None else texts_of(axes, "axes")
    records = _mapped(_records(path), columns, given)
    if named is not None:
        from dataclasses import replace

        if records.axes:
            raise DseError(f"axes is given, and {str(path)!r} tells its axes itself: leave it out")
        columns_named = [records.aliases.get(name, name) for name in named]
        records = replace(records, axes=axes_of(columns_named, list(records.columns)))
    if shape == "grid" and not records.axes:
        raise DseError("a grid needs its axes: say with axes= which columns vary")
    if not runs:
        return shaped(records, read_rows(records, units or {}), shape, path.name)
    from dse.measured.shape import apart, together

    records, names = apart(records)
    own = {n: u for n, u in (units or {}).items() if n not in names}
    own |= {one: u for n, u in (units or {}).items() for one in names.get(n, ())}
    return together(shaped(records, read_rows(records, own), shape, path.name), names)


def _records(path: Path) -> Records:
    if path.name.lower().endswith((".json", ".json.gz")):
        from dse.measured.tuner import read_tuner

        return read_tuner(path)
    from dse.measured.profiles import read_profile
    from dse.measured.tables import read_file

    return read_profile(path) or read_file(path)


def _mapped(
    records: Records,
    columns: str | Path | Mapping[str, str] | None,
    given: Mapping[str, Any] | None,
) -> Records:
    """Records with quantities, where a map of their columns is known or given."""
    from dse.measured.mapping import layered, map_of, mapped, own_map

    shipped, own = map_of(records), own_map(columns)
    chosen = layered(own, shipped)
    if chosen is None and not given:
        return records
    return mapped(records, chosen, dict(given or {}), own)
