"""Files: zarr, netCDF, CSV and Parquet, written under a name only when whole, and read back.

zarr and netCDF hold the Dataset as it is. CSV and Parquet hold one row a configuration; what a
table cannot say (axes, units, attributes) goes into a leading comment or the file's metadata.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.copies import write_zarr
from sweeps.dataset import assemble, open_netcdf, open_zarr
from sweeps.memory import check_memory
from sweeps.store.medium import is_url, medium_of
from sweeps.store.swap import begun
from sweeps.store.versions import Version, steady
from sweeps.whole import whole
from symbolic.errors import DamagedError, DseError, OtherProcessError, UnreachableError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["export", "open_dataset"]

_ROWS = 1 << 19
_MARK = "# simt-dse "
_KEY = b"simt_dse"
_TEXT = "text"
#: What a system says that fails, whatever it was asked to read.
_BROKEN = {errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT}
_BROKEN |= {errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.ETIMEDOUT}


def _write_netcdf(ds: xr.Dataset, path: Path) -> None:
    try:
        ds.to_netcdf(path, engine="netcdf4", format="NETCDF4")
    except RuntimeError as error:
        if not str(error).startswith("NetCDF:"):
            raise
        told = f"{error} ({shutil.disk_usage(path.parent).free:,} bytes are free there)"
        # HDF5 says no more, be the disk full or broken
        raise DseError(f"{path.name} cannot be written: {told}") from OSError(str(error))


def _order(ds: xr.Dataset) -> list[str]:
    """The dimensions in the order of the study's axes."""
    listed = [name for name in str(ds.attrs.get("axes", "")).split() if name in ds.sizes]
    return [*listed, *(str(dim) for dim in ds.sizes if dim not in listed)]


def _header(ds: xr.Dataset) -> str:
    """What a table cannot say: dimensions, kinds and attributes, as JSON."""
    dims = _order(ds)
    return json.dumps(
        {
            "sizes": {dim: ds.sizes[dim] for dim in dims},
            "coords": [str(name) for name in ds.coords],
            "variables": {
                str(name): {
                    "dims": [str(dim) for dim in variable.dims],
                    "dtype": _TEXT if variable.dtype.kind in "UOT" else variable.dtype.str,
                    "attrs": {k: _listed(v) for k, v in variable.attrs.items()},
                }
                for name, variable in ds.variables.items()
            },
            "attrs": {str(k): _listed(v) for k, v in ds.attrs.items()},
        }
    )


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    return value.item() if isinstance(value, np.generic) else value


def _unlisted(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"array", "dtype"}:
        return np.array(value["array"], dtype=value["dtype"])
    return value


def _frames(ds: xr.Dataset) -> Iterator[pd.DataFrame]:
    """The Dataset as rows, one a configuration, some at a time."""
    import pandas as pd

    dims = _order(ds)
    shape = [ds.sizes[dim] for dim in dims]
    names = [*(str(n) for n in ds.coords), *(str(n) for n in ds.data_vars)]
    dims_of = {name: [str(dim) for dim in ds[name].dims] for name in names}
    held = sum(ds[name].nbytes for name in names if not _in_memory(ds[name]))
    check_memory(held, "the variables", "export to .zarr or .nc, which takes them piece by piece")
    arrays = {name: np.asarray(ds[name].values) for name in names}
    total = math.prod(shape)
    for low in range(0, total, _ROWS):
        flat = np.arange(low, min(low + _ROWS, total))
        places = dict(zip(dims, np.unravel_index(flat, shape) if dims else (), strict=True))
        columns = {}
        for name, values in arrays.items():
            index = tuple(places[dim] for dim in dims_of[name])
            columns[name] = values[index] if index else np.full(flat.size, values[()])
        yield pd.DataFrame(columns)


def _in_memory(array: xr.DataArray) -> bool:
    return isinstance(array.variable._data, np.ndarray)


def _write_csv(ds: xr.Dataset, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(_MARK + _header(ds) + "\n")
        for number, frame in enumerate(_frames(ds)):
            frame.to_csv(file, index=False, header=number == 0, na_rep="nan", lineterminator="\n")


def _write_parquet(ds: xr.Dataset, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for frame in _frames(ds):
            table = pa.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                schema = table.schema.with_metadata({_KEY: _header(ds).encode()})
                writer = pq.ParquetWriter(path, schema)
            writer.write_table(table.cast(schema))
    finally:
        if writer is not None:
            writer.close()


_WRITERS: dict[str, Callable[..., None]] = {
    ".zarr": write_zarr,
    ".nc": _write_netcdf,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}


def export(ds: xr.Dataset, path: str | Path) -> Path:
    """Write a Dataset as ``.zarr``, ``.nc``, ``.csv`` or ``.parquet``, by the ending of the name.

    The file appears under its name only when it is whole. :func:`open_dataset` gives back the same
    values, units, flags and attributes.

    Raises
    ------
    DseError
        An ending that is not known, a name that exists, a folder that cannot be written.
    """
    path = Path(path)
    writer = _WRITERS.get(path.suffix)
    if writer is None:
        raise DseError(
            f"{str(path)!r} ends in {path.suffix!r}: expected one of {', '.join(_WRITERS)}"
        )
    with whole(path) as beside:
        writer(ds, beside)
    return path


def _from_frame(frame: pd.DataFrame, header: str) -> xr.Dataset:
    """Rows and header back to a Dataset, each variable over its own dimensions."""
    said = json.loads(header)
    dims, shape = list(said["sizes"]), list(said["sizes"].values())
    found: dict[str, Any] = {}
    for name, row in said["variables"].items():
        if name not in frame:
            continue
        values = np.asarray(frame[name]).reshape(shape)
        index = tuple(slice(None) if dim in row["dims"] else 0 for dim in dims)
        present = [dim for dim in dims if dim in row["dims"]]
        values = np.asarray(values[index])
        if row["dtype"] == _TEXT:
            values = np.array([str(v) for v in values.reshape(-1)]).reshape(values.shape)
        elif row["dtype"] == "|b1" and values.dtype.kind != "b":
            values = values == "True"
        else:
            values = values.astype(row["dtype"])
        values = values.transpose([present.index(dim) for dim in row["dims"]])
        attrs = {k: _unlisted(v) for k, v in row["attrs"].items()}
        found[name] = (row["dims"], values, attrs)
    return assemble(
        {name: value for name, value in found.items() if name not in said["coords"]},
        {name: value for name, value in found.items() if name in said["coords"]},
        {k: _unlisted(v) for k, v in said["attrs"].items()},
    )


def _read_csv(path: Path) -> xr.Dataset:
    import pandas as pd

    with path.open(encoding="utf-8") as file:
        first = file.readline()
        if not first.startswith(_MARK):
            raise DseError(f"{path} was not written by this library: its first line says nothing")
        # as text: the numbers are read exactly below, each as its own type
        frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    return _from_frame(frame, first.removeprefix(_MARK))


def _read_parquet(path: Path) -> xr.Dataset:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    header = (table.schema.metadata or {}).get(_KEY)
    if header is None:
        raise DseError(f"{path} was not written by this library: its metadata says nothing")
    return _from_frame(table.to_pandas(), header.decode())


def _ordered(ds: xr.Dataset) -> xr.Dataset:
    """The outputs in the order of the study; a store lists them as its folders lie."""
    try:
        listed = json.loads(ds.attrs["study"])["outputs"]
    except (KeyError, TypeError, ValueError):
        return ds
    first = [name for name in listed if name in ds.data_vars]
    ordered = ds[[*first, *(name for name in ds.data_vars if name not in first)]]
    # those of axes along which nothing varies too
    return ordered.assign_coords({n: c for n, c in ds.coords.items() if n not in ordered.coords})


def _opened_zarr(path: str | Path, version: Version | None = None) -> xr.Dataset:
    """A zarr store; that of a run stays the one it was, or refuses to be read."""

    def read() -> xr.Dataset:
        which = version or Version(str(path))
        if not which.known:
            return open_zarr(path)
        from sweeps.store.pinned import pinned

        return open_zarr(pinned(which), which)

    return _ordered(steady(medium_of(path), read))


_READERS: dict[str, tuple[str, Callable[..., xr.Dataset]]] = {
    ".zarr": ("zarr store", _opened_zarr),
    ".nc": ("netCDF file", open_netcdf),
    ".csv": ("CSV file", _read_csv),
    ".parquet": ("Parquet file", _read_parquet),
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
    suffix = Path(path).suffix
    if suffix not in ((".zarr",) if url else _WRITERS):
        known = ".zarr" if url else f"one of {', '.join(_WRITERS)}"
        raise DseError(f"{str(path)!r} ends in {suffix!r}: expected {known}")
    kind, reader = _READERS[suffix]
    if url and not medium_of(str(path)).exists():  # or what is missing to reach it is told
        _in_exchange(path)
        raise DseError(f"{str(path)!r} does not exist: expected a store of a run")
    path = path if url else Path(path)
    try:
        return reader(path) if version is None else reader(path, version)
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
