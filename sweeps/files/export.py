"""Files: zarr, netCDF, CSV and Parquet, written under a name only when whole, and read back.

zarr and netCDF hold the Dataset as it is. CSV and Parquet hold one row a configuration; what a
table cannot say (axes, units, attributes) goes into a leading comment or the file's metadata.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sweeps.files.copies import write_zarr
from sweeps.files.names import FOLDERS, check_names, with_own_names, without_slashes
from sweeps.files.netcdf import read_netcdf, write_netcdf
from sweeps.files.tabular import read_csv, read_parquet, write_csv, write_parquet
from sweeps.files.whole import whole
from sweeps.grid.dataset import open_zarr
from sweeps.store.bare import check_bare
from sweeps.store.medium import is_url, medium_of
from sweeps.store.swap import begun
from sweeps.store.versions import Version, steady
from symbolic.errors import DamagedError, DseError, OtherProcessError, UnreachableError
from symbolic.json_text import read_json
from symbolic.reach import check_file

if TYPE_CHECKING:
    import xarray as xr

#: What a system says that fails, whatever it was asked to read.
_BROKEN = {errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT}
_BROKEN |= {errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.ETIMEDOUT}


def export(ds: xr.Dataset, path: str | Path) -> Path:
    """Write a Dataset in one of :data:`FORMATS`, by the ending of the name.

    The file appears under its name only when it is whole. :func:`open_dataset` gives back the same
    values, units, flags and attributes.

    Raises
    ------
    DseError
        An ending that is not known, a name that exists, a folder that cannot be written.
    """
    path = Path(path)
    format_ = FORMATS.get(path.suffix)
    if format_ is None:
        raise DseError(
            f"{str(path)!r} ends in {path.suffix!r}: expected one of {', '.join(FORMATS)}"
        )
    check_names(ds, path)
    with whole(path) as beside:
        format_.write(without_slashes(ds) if path.suffix in FOLDERS else ds, beside)
    return path


def _ordered(ds: xr.Dataset) -> xr.Dataset:
    """The outputs in the order of the study; a store lists them as its folders lie."""
    try:
        listed = read_json(ds.attrs["study"])["outputs"]
    except (KeyError, TypeError, ValueError):
        return ds
    listed = listed if isinstance(listed, list) else []
    first = [name for name in listed if isinstance(name, str) and name in ds.data_vars]
    ordered = ds[[*first, *(name for name in ds.data_vars if name not in first)]]
    # those of axes along which nothing varies too
    return ordered.assign_coords({n: c for n, c in ds.coords.items() if n not in ordered.coords})


def _opened_zarr(path: str | Path, version: Version | None = None) -> xr.Dataset:
    """A zarr store; that of a run stays the one it was, or refuses to be read."""

    def read() -> xr.Dataset:
        which = version or Version(str(path))
        if not which.known:
            check_bare(medium_of(path))
            return open_zarr(path)
        from sweeps.store.pinned import pinned

        return open_zarr(pinned(which), which)

    return _ordered(steady(medium_of(path), read))


class Format(NamedTuple):
    """What a file is called, and how a Dataset is written to a path and read from there.

    ``read`` gives what was written: values, dimensions, units, flags and attributes.
    """

    kind: str
    write: Callable[[xr.Dataset, Path], object]
    read: Callable[..., xr.Dataset]


#: File formats by the ending of a name.
FORMATS: dict[str, Format] = {
    ".zarr": Format("zarr store", write_zarr, _opened_zarr),
    ".nc": Format("netCDF file", write_netcdf, read_netcdf),
    ".csv": Format("CSV file", write_csv, read_csv),
    ".parquet": Format("Parquet file", write_parquet, read_parquet),
}


def open_dataset(path: str | Path, version: Version | None = None) -> xr.Dataset:
    """Open a file or store that this library wrote; zarr (a URL too) and netCDF lazily.

    Raises
    ------
    DseError
        Nothing is there, or not of a kind this library writes, or not the store of a ``version``.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise DseError(f"{path!r} is no path: expected that of a store or file of a run")
    url = is_url(path)
    if not url and not Path(path).exists():
        _in_exchange(path)
        raise DseError(f"{str(path)!r} does not exist: expected a store or file of a run")
    if not url:
        check_file(Path(path), "file", None)
    suffix = Path(path).suffix
    if suffix not in ((".zarr",) if url else FORMATS):
        known = ".zarr" if url else f"one of {', '.join(FORMATS)}"
        raise DseError(f"{str(path)!r} ends in {suffix!r}: expected {known}")
    kind, _, reader = FORMATS[suffix]
    if url and not medium_of(str(path)).exists():  # or what is missing to reach it is told
        _in_exchange(path)
        raise DseError(f"{str(path)!r} does not exist: expected a store of a run")
    path = path if url else Path(path)
    try:
        return with_own_names(reader(path) if version is None else reader(path, version))
    except DseError as error:
        if isinstance(error, DamagedError):
            _in_exchange(path)
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _BROKEN:
            raise UnreachableError(f"{path} cannot be read: {error.strerror}") from error
        _in_exchange(path)
        raise DseError(f"{str(path)!r} is no {kind} that can be read: {error}") from error


def _in_exchange(place: str | Path) -> None:
    """Raise where another store is being put into a place, and neither stands there whole."""
    if Path(place).suffix == ".zarr" and begun(medium_of(place)):
        raise OtherProcessError(
            f"another store is being put into the place of {place}, by a process that is at it or "
            f"was stopped: wait for it, or let dse verify {place} bring it to its end"
        )
