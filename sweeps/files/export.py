"""Export Datasets to zarr, netCDF, CSV and Parquet, and read them back.

zarr and netCDF files contain a Dataset as it is. CSV and Parquet files contain a row for each
configuration; axes, units and attributes are in a leading comment or in the file's metadata.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sweeps.files.atomic_write import atomic_path
from sweeps.files.tabular import read_csv, read_parquet, write_csv, write_parquet
from sweeps.grid.dataset import open_netcdf, open_zarr
from sweeps.store.backend import backend_of, is_url
from sweeps.store.create import ignore_format_warnings
from sweeps.store.records import check_not_replaced, read_info
from sweeps.store.untrusted import check_unrecorded
from symbolic.errors import DseError, UnreachableError
from symbolic.file_access import check_file
from symbolic.json_text import check_json_length, read_json

if TYPE_CHECKING:
    import xarray as xr

# We do not use the netCDF4 library, because it stores a fill value with every text variable. If two
# such files are open and one is closed, HDF5 (1.10 to 2.0 at least) may kill the process. HDF5 may
# also kill the process if a write fails on a full disk. So we give it an :class:`UnfailingFile`.
#: After a failure, writes of up to this size are cached so that they can be read again. [B]
_MAX_CACHED_WRITE = 1 << 20
_EXTERNAL_HINT = (
    "is stored in another file, which is not opened: copy the values into this file (h5repack, or "
    "xarray.open_dataset and to_netcdf)"
)
# If an interrupt ends the main thread, zarr's threads continue. They would write while the partial
# store is being removed, and leave pieces of it behind.
_WRITE_TIMEOUT = 10.0


def _check_netcdf_libraries() -> None:
    try:
        import h5netcdf  # noqa: F401
        import h5py  # noqa: F401
    except ImportError as error:
        raise DseError(
            "NetCDF files need h5netcdf and h5py, which are not installed: "
            "pip install 'simt-dse[netcdf]', or take .zarr or .csv"
        ) from error


def write_netcdf(ds: xr.Dataset, path: Path) -> None:
    """Write a Dataset as a netCDF file; raise OSError if the disk is full."""
    _check_netcdf_libraries()
    ds = ds.copy()
    owners: list[Any] = [ds, *ds.variables.values()]
    for owner in owners:  # h5netcdf expects str instead of its subclass numpy.str_
        owner.attrs = {k: str(v) if isinstance(v, str) else v for k, v in owner.attrs.items()}
    with UnfailingFile(path) as file:
        ds.to_netcdf(file, engine="h5netcdf", format="NETCDF4")
        error = file.error
    if error is None:
        return
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
        raise error
    free = f"{shutil.disk_usage(path.parent).free:,} bytes are free there"
    raise DseError(f"{path.name} cannot be written: {error.strerror} ({free})") from error


def read_netcdf(path: Path) -> xr.Dataset:
    """Open a netCDF file lazily; raise DseError if its data are in other files."""
    _check_netcdf_libraries()
    import h5py

    def leads_out(name: str, item: Any) -> str | None:
        """Return the name of an item if its data are in another file, otherwise None."""
        data = isinstance(item, h5py.Dataset) and (item.is_virtual or item.external)
        return name if data or isinstance(item, h5py.ExternalLink) else None

    with h5py.File(path, "r") as file:
        file.attrs.get("_nc3_strict")  # raise errors here, as h5netcdf would only print them
        name = file.visititems_links(leads_out) or file.visititems(leads_out)
    if name:
        raise DseError(f"{name!r} in {str(path)!r} {_EXTERNAL_HINT}")
    return open_netcdf(path)


class UnfailingFile(io.FileIO):
    """A new file whose writes never fail.

    ``error`` is the first error of the system, or None. After an error, small writes are cached,
    because HDF5 reads its tables again. Large writes are then dropped.
    """

    read: Any = io.RawIOBase.read  # calls :meth:`readinto`
    readall: Any = io.RawIOBase.readall

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+b")
        self.error: OSError | None = None
        self._end = 0
        self._unwritten: list[tuple[int, bytes]] = []

    def _try(self, call: Callable[..., Any], *args: Any) -> Any:
        try:
            return call(*args)
        except OSError as error:
            self.error = self.error or error
            return None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to an offset and return it."""
        if whence == os.SEEK_END:
            offset, whence = self._end + offset, os.SEEK_SET
        return super().seek(offset, whence)

    def write(self, data: Any) -> int:
        """Write at the current offset; all bytes are reported as written."""
        view, start, done = memoryview(data).cast("B"), self.tell(), 0
        while done < len(view) and self.error is None:
            done += self._try(os.pwrite, self.fileno(), view[done:], start + done) or 0
        if self.error is not None and len(view) <= _MAX_CACHED_WRITE:
            self._unwritten.append((start, bytes(view)))
        if view:
            self._end = max(self._end, self.seek(start + len(view)))
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read at the current offset into a buffer; return the number of bytes."""
        start = self.tell()
        size = max(0, min(len(buffer), self._end - start))
        buffer[:size] = (self._try(os.pread, self.fileno(), size, start) or b"").ljust(size, b"\0")
        for place, data in self._unwritten:
            low, high = max(start, place), min(start + size, place + len(data))
            if low < high:
                buffer[low - start : high - start] = data[low - place : high - place]
        return self.seek(start + size) - start

    def truncate(self, size: int | None = None) -> int:
        """Resize the file and return its size."""
        self._end = self.tell() if size is None else size
        if self.error is None:
            self._try(super().truncate, self._end)
        return self._end

    def close(self) -> None:
        """Close the file."""
        self._try(super().close)


# A slash separates folders in names in zarr and netCDF, and names of formulas contain slashes. So
# slashes are replaced, and the original name is stored as an attribute.

#: Formats that use names as paths.
_PATH_FORMATS = (".zarr", ".nc")
_NAME = "simt_dse_name"
_SLASHES = str.maketrans({"/": "\N{DIVISION SLASH}", "\\": "\N{SET MINUS}"})
#: Maximum length of a name that can be a folder in zarr. [B]
_MAX_NAME_BYTES = 200
#: Attributes that xarray interprets when it opens a file, so that it does not return them
#: unchanged.
_RESERVED = {"_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "dtype"}
_RESERVED |= {"coordinates", "calendar", _NAME}


def _problems(ds: xr.Dataset, suffix: str) -> Iterator[tuple[str, str]]:
    as_folders = suffix in _PATH_FORMATS
    for name in dict.fromkeys([*ds.variables, *ds.dims]):
        problem = _name_problem(name)
        if as_folders and not problem:
            problem = _folder_problem(str(name) if name in ds.dims else _stored_name(name))
        if problem:
            yield f"the name {_quote(name)}", problem
    owners = [("the Dataset", ds.attrs), *((_quote(n), v.attrs) for n, v in ds.variables.items())]
    for owner, attributes in owners:
        for key, value in attributes.items():
            what = f"the attribute {_quote(key)} of {owner}"
            problem = _name_problem(key) or _attribute_problem(value, suffix)
            if suffix == ".nc" and not problem:
                problem = _folder_problem(key, attribute=True)
            if problem:
                yield what, problem
            elif as_folders and (key in _RESERVED or (key == "units" and " since " in str(value))):
                yield what, "would change how values are read"
    for name, variable in ds.variables.items():
        if variable.dtype.kind in "OUT":
            for label in variable.values.reshape(-1).tolist():
                if problem := _text_problem(str(label)):
                    yield f"the label {_quote(label)} of {_quote(name)}", problem
        elif variable.dtype.kind not in "iufb":
            yield f"the variable {_quote(name)}", f"is of the type {variable.dtype}"


def _text_problem(text: str) -> str:
    if "\0" in text:
        return "holds the character NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half of a character (a lone surrogate)"
    return ""


def _name_problem(name: Any) -> str:
    if not isinstance(name, str):
        return "is not text"
    if not name.strip():
        return "is empty"
    if any(sign < " " or sign == "\x7f" for sign in name):
        return "holds control characters"
    return _text_problem(name)


def _folder_problem(name: str, *, attribute: bool = False) -> str:
    first, problem = name[0], ""
    if name.translate(_SLASHES) != name:
        problem = "holds a slash"
    elif not (first.isalnum() or first == "_" or first > "\x7f") or name.endswith(" "):
        problem = "begins with a sign or ends in a space"
    elif not attribute and (name.startswith("__") or name == "zarr.json"):
        problem = "is reserved"
    elif len(name.encode()) > _MAX_NAME_BYTES:
        problem = f"is longer than {_MAX_NAME_BYTES} bytes"
    return problem and f"{problem}, which only .csv and .parquet can hold"


def _attribute_problem(value: Any, suffix: str) -> str:
    if isinstance(value, str):
        return _text_problem(value)
    if isinstance(value, (list, tuple)):
        kinds = {type(item) for item in value}
        if suffix == ".nc" and len(kinds) != 1:
            return "is a list that is empty or of several types, which netCDF cannot hold"
        return next(filter(None, (_attribute_problem(item, suffix) for item in value)), "")
    if isinstance(value, np.ndarray):
        numbers = value.dtype.kind in "iuf" and value.ndim == 1 and value.size
        return "" if numbers else "is not a 1-d array of numbers: expected one, or a list of texts"
    is_bool = isinstance(value, (bool, np.bool_))
    if is_bool and suffix != ".nc":
        return ""
    if is_bool or not isinstance(value, (int, float, np.number)):
        return f"is a {type(value).__name__}: expected text, a number or a list of such"
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return "is a whole number of more than 64 bits"
    return ""


def _quote(name: Any) -> str:
    text = ascii(name)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _stored_name(name: Any, *, coordinate: bool = False) -> str:
    text = str(name).translate(_SLASHES)
    return "_".join(text.split()) if coordinate else text


def _encode_names(ds: xr.Dataset) -> xr.Dataset:
    """Replace slashes in names, and also spaces in names of coordinates (xarray splits there)."""
    new = {
        name: stored
        for name in ds.variables
        if name not in ds.dims
        and (stored := _stored_name(name, coordinate=name in ds.coords)) != str(name)
    }
    if not new:
        return ds
    if len({*new.values()} | ({*ds.variables} - new.keys())) < len(ds.variables):
        raise DseError(f"names differ only by slashes and spaces: {', '.join(map(str, new))}")
    marked = ds.copy()
    for name in new:
        marked[name].attrs[_NAME] = name
    return marked.rename_vars(new)


def _decode_names(ds: xr.Dataset) -> xr.Dataset:
    names = {name: v.attrs[_NAME] for name, v in ds.variables.items() if _NAME in v.attrs}
    names = {
        name: text
        for name, text in names.items()
        if isinstance(text, str)
        and name in (_stored_name(text), _stored_name(text, coordinate=True))
        and text not in ds.variables
    }
    if not names:
        return ds
    for name in names:
        del ds[name].attrs[_NAME]
    return ds.rename_vars(names)


@contextmanager
def _stoppable_store(path: Path) -> Iterator[Any]:
    """Yield a zarr store in a folder. After an error in the block nothing more is written."""
    from zarr.storage import LocalStore

    # an Event cannot be pickled, so Dask cannot write through a copy of the store that never stops
    stopped, under_way = threading.Event(), 0

    class Stoppable(LocalStore):
        async def set(self, key: str, value: Any, write: Any = LocalStore.set) -> None:
            # this runs on zarr's single event loop. A write is counted before it reads `stopped`.
            # So once the loop below has seen a count of 0, no further write can begin
            nonlocal under_way
            under_way += 1
            try:
                if stopped.is_set():
                    raise RuntimeError("writing was stopped")
                await write(self, key, value)
            finally:
                under_way -= 1

        async def set_if_not_exists(self, key: str, value: Any) -> None:
            await self.set(key, value, LocalStore.set_if_not_exists)

    try:
        yield Stoppable(path)
    except BaseException:
        stopped.set()
        limit = time.monotonic() + _WRITE_TIMEOUT
        while under_way and time.monotonic() < limit:
            time.sleep(0.005)
        raise


def write_zarr(ds: xr.Dataset, path: Path) -> None:
    """Write a Dataset as a zarr (v3) store with exactly this name."""
    # store labels as variable-length text, a standard type of zarr
    texts = {n: ds[n].astype(object) for n, v in ds.variables.items() if v.dtype.kind == "U"}
    ignore_format_warnings()
    with _stoppable_store(path) as store:
        ds.assign(texts).to_zarr(store, mode="w-", zarr_format=3, consolidated=True)
        check_json_length((path / "zarr.json").read_bytes(), "the store")


#: Errors of the system; other errors are due to the content of a file.
_SYSTEM_ERRORS = {errno.EIO, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.EDQUOT}
_SYSTEM_ERRORS |= {errno.EMFILE, errno.ENFILE, errno.ESTALE, errno.ETIMEDOUT}


def _unknown_format(path: str | Path, known: Iterable[str]) -> DseError:
    ending = f"{str(path)!r} ends in {Path(path).suffix!r}"
    return DseError(f"{ending}: expected one of {', '.join(known)}")


def export(ds: xr.Dataset, path: str | Path) -> Path:
    """Write a Dataset to a file; the suffix of its name chooses one of :data:`FORMATS`.

    :func:`open_dataset` returns the same values, units, flags and attributes.
    """
    path = Path(path)
    format_ = FORMATS.get(path.suffix)
    if format_ is None:
        raise _unknown_format(path, FORMATS)
    for what, problem in _problems(ds, path.suffix):
        raise DseError(
            f"{path} cannot be written: {what} {problem}; rename it (ds.rename, assign_attrs), or "
            "drop it"
        )
    with atomic_path(path) as temporary:
        format_.write(_encode_names(ds) if path.suffix in _PATH_FORMATS else ds, temporary)
    return path


def _order_outputs(ds: xr.Dataset) -> xr.Dataset:
    """Sort the outputs in the order of the study, because a store does not keep this order."""
    try:
        listed = read_json(ds.attrs["study"])["outputs"]
    except (KeyError, TypeError, ValueError):
        return ds
    listed = listed if isinstance(listed, list) else []
    first = [name for name in listed if isinstance(name, str) and name in ds.data_vars]
    ordered = ds[[*first, *(name for name in ds.data_vars if name not in first)]]
    # the selection drops the coordinates of axes that no output has, so add them again
    return ordered.assign_coords({n: c for n, c in ds.coords.items() if n not in ordered.coords})


def _read_zarr(path: str | Path) -> xr.Dataset:
    info = read_info(path)
    if info is None:
        check_unrecorded(backend_of(path))
        return _order_outputs(open_zarr(path))
    from sweeps.store.checked_store import CheckedStore

    return _order_outputs(open_zarr(CheckedStore(info), info))


class FileFormat(NamedTuple):
    """The name of a file format, its writer and its reader."""

    kind: str
    write: Callable[[xr.Dataset, Path], object]
    read: Callable[..., xr.Dataset]


#: File formats by the suffix of a file name.
FORMATS: dict[str, FileFormat] = {
    ".zarr": FileFormat("zarr store", write_zarr, _read_zarr),
    ".nc": FileFormat("netCDF file", write_netcdf, read_netcdf),
    ".csv": FileFormat("CSV file", write_csv, read_csv),
    ".parquet": FileFormat("Parquet file", write_parquet, read_parquet),
}


def open_dataset(path: str | Path) -> xr.Dataset:
    """Open a file or store that :func:`export` or a run wrote; zarr and netCDF are read lazily."""
    if not isinstance(path, (str, os.PathLike)):
        raise DseError(f"{path!r} is not a path: expected the path of a store or file of a run")
    url, suffix = is_url(path), Path(path).suffix
    known = [".zarr"] if url else list(FORMATS)
    if (suffix in known or not url) and not (backend_of(path) if url else Path(path)).exists():
        if suffix == ".zarr":
            check_not_replaced(backend_of(path))
        raise DseError(f"{str(path)!r} does not exist: expected a store or file of a run")
    if not url:
        check_file(Path(path), "file", None)
    if suffix not in known:
        raise _unknown_format(path, known)
    kind, _, reader = FORMATS[suffix]
    path = path if url else Path(path)
    try:
        return _decode_names(reader(path))
    except DseError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _SYSTEM_ERRORS:
            raise UnreachableError(f"{path} cannot be read: {error.strerror}") from error
        raise DseError(f"{str(path)!r} is no {kind} that can be read: {error}") from error
