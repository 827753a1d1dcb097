"""Measured data as Datasets of the shape that a study's run has, so that questions serve both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["is_measured", "open_measured"]

_SHAPES = ("auto", "grid", "rows")


def is_measured(path: Path) -> bool:
    """Whether a file is a tuner's, or a table that this library did not write."""
    name = path.name.lower()
    if name.endswith((".json", ".json.gz")):
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
) -> xr.Dataset:
    """A file of measurements as a Dataset; see :func:`dse.open`."""
    from dse.measured.records import read_rows
    from dse.measured.shape import shaped
    from sweeps.grid.goals import texts_of

    if shape not in _SHAPES:
        raise DseError(f"shape = {shape!r}: expected one of {', '.join(map(repr, _SHAPES))}")
    if units is not None and not isinstance(units, Mapping):
        raise DseError(f"units = {units!r}: expected a mapping from columns to units")
    if not path.is_file():
        raise DseError(f"{str(path)!r} is no file: expected measurements in JSON, CSV or Parquet")
    named = None if axes is None else texts_of(axes, "axes")
    if path.name.lower().endswith((".json", ".json.gz")):
        from dse.measured.tuner import read_tuner

        if named is not None:
            raise DseError(f"axes is given, and {str(path)!r} tells its axes itself: leave it out")
        records = read_tuner(path)
    else:
        from dse.measured.tables import read_file

        records = read_file(path, named)
    if shape == "grid" and not records.axes:
        raise DseError("a grid needs its axes: say with axes= which columns vary")
    return shaped(records, read_rows(records, units or {}), shape, path.name)
