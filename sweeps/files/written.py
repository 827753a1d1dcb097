"""The store of a run that is given, by its path or as a Dataset that was opened from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sweeps.grid.dataset import opened_from
from sweeps.store.medium import medium_of
from sweeps.store.reader import is_finished
from sweeps.store.versions import version_of

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.store.versions import Version


def origin(source: xr.Dataset | str | Path) -> str | None:
    """Return the place of the store of a run; None of any other file, and of a changed Dataset.

    Raises
    ------
    OtherProcessError
        Another store came to be there since the Dataset was opened.
    """
    if isinstance(source, (str, Path)):
        named = str(source).rstrip("/").endswith(".zarr")
        return str(source) if named and version_of(medium_of(source)) is not None else None
    version: Version | None = opened_from(source)
    if version is None:
        return None
    version.still()
    return version.place


def check_finished(source: xr.Dataset | str | Path) -> None:
    """Refuse the store of a run that was stopped: values are missing in it.

    Raises
    ------
    UnfinishedError
        With the way to finish it, and to use what is there all the same.
    """
    place = origin(source)
    if place is not None:
        is_finished(place)
