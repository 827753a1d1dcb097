"""The store of a run that is given, by its path or as a Dataset that was opened from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sweeps.grid.dataset import opened_from
from sweeps.store.open import StoreInfo, check_complete, read_info

if TYPE_CHECKING:
    import xarray as xr


def origin(source: xr.Dataset | str | Path) -> str | None:
    """Return the place of the store of a run; None of any other file, and of a changed Dataset.

    Raises
    ------
    OtherProcessError
        Another store came to be there since the Dataset was opened.
    """
    if isinstance(source, (str, Path)):
        named = str(source).rstrip("/").endswith(".zarr")
        return str(source) if named and read_info(source) is not None else None
    info: StoreInfo | None = opened_from(source)
    if info is None:
        return None
    info.check_same()
    return info.place


def check_finished(source: xr.Dataset | str | Path) -> None:
    """Refuse the store of a run that was stopped: values are missing in it.

    Raises
    ------
    UnfinishedError
        With the way to finish it, and to use what is there all the same.
    """
    place = origin(source)
    if place is not None:
        check_complete(place)
