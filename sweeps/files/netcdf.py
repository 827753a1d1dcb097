"""NetCDF files, written and read through h5netcdf.

The netCDF4 library is not used: it stores a fill value with every variable of text, and HDF5 (1.10
to 2.0 at least) may end the process when two files with such values are open and one is closed.
h5netcdf stores none, and reads the files of either.

HDF5 may also end the process where a write fails, as on a full disk. So it writes to a file whose
writes never fail (:class:`UnfailingFile`).
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeps.grid.dataset import open_netcdf
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

#: After a failure, what is written in pieces of at most so many bytes can be read again.
_SMALL = 1 << 20
_PAGE = 4096
_ELSEWHERE = (
    "lies in another file, and a Dataset opens no other file: copy the values into the file "
    "(h5repack, or xarray.open_dataset and to_netcdf)"
)


def write_netcdf(ds: xr.Dataset, path: Path) -> None:
    """Write a Dataset as a netCDF file.

    Raises
    ------
    OSError
        The disk is full, or the file may not be as large.
    DseError
        The file cannot be written for another reason.
    """
    with UnfailingFile(path) as file:
        _with_plain_text(ds).to_netcdf(file, engine="h5netcdf", format="NETCDF4")
        error = file.error
    if error is None:
        return
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
        raise error
    free = shutil.disk_usage(path.parent).free
    raise DseError(
        f"{path.name} cannot be written: {error.strerror} ({free:,} bytes are free there)"
    ) from error


def _with_plain_text(ds: xr.Dataset) -> xr.Dataset:
    """Return the Dataset with attributes of text as Python has it, not as NumPy."""
    ds = ds.copy()
    owners: list[Any] = [ds, *ds.variables.values()]
    for owner in owners:
        owner.attrs = {k: str(v) if isinstance(v, str) else v for k, v in owner.attrs.items()}
    return ds


def read_netcdf(path: Path) -> xr.Dataset:
    """Open a netCDF file lazily.

    Raises
    ------
    DseError
        Parts of it lie in other files, which are not opened.
    """
    _check_alone(path)
    return open_netcdf(path)


def _check_alone(path: Path) -> None:
    """Raise where a file leads to others: by links, as virtual data, or as external data."""
    import h5py

    def leads_out(name: str, item: Any) -> str | None:
        """Return the name of what lies in another file."""
        data = isinstance(item, h5py.Dataset) and (item.is_virtual or item.external)
        return name if data or isinstance(item, h5py.ExternalLink) else None

    with h5py.File(path, "r") as file:
        file.attrs.get("_nc3_strict")  # h5netcdf prints an exception where this fails
        name = file.visititems_links(leads_out) or file.visititems(leads_out)
    if name:
        raise DseError(f"{name!r} in {str(path)!r} {_ELSEWHERE}")


class UnfailingFile(io.RawIOBase):
    """A new file whose writes never fail.

    ``error`` is the first that the system reported, or None. What is written after it is kept in
    memory where it is small, as HDF5 reads its own tables again, and else is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.error: OSError | None = None
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self._at = self._end = 0
        self._pages: dict[int, bytearray] = {}

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place, which is returned."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        self._at = start + offset
        return self._at

    def write(self, data: Any) -> int:
        """Write at the place; return the number of bytes, all of them."""
        view = memoryview(data).cast("B")
        done = 0
        try:
            while done < len(view) and self.error is None:
                done += os.pwrite(self._descriptor, view[done:], self._at + done)
        except OSError as error:
            self.error = error
        if self.error is not None and len(view) <= _SMALL:
            self._keep(view)
        self._at += len(view)
        self._end = max(self._end, self._at) if view else self._end
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read at the place into a buffer; return the number of bytes."""
        size = max(0, min(len(buffer), self._end - self._at))
        buffer[:size] = self._read(self._at, size)
        self._at += size
        return size

    def truncate(self, size: int | None = None) -> int:
        """Give the file another size, which is returned."""
        self._end = self._at if size is None else size
        self._try(os.ftruncate, self._descriptor, self._end)
        return self._end

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._try(os.close, self._descriptor)
        super().close()

    def _try(self, call: Any, *args: Any) -> None:
        try:
            if self.error is None or call is os.close:
                call(*args)
        except OSError as error:
            self.error = self.error or error

    def _read(self, start: int, size: int) -> bytearray:
        """Return what was written at a place; zeros where nothing was."""
        found = bytearray(size)
        try:
            data = os.pread(self._descriptor, size, start)
            found[: len(data)] = data
        except OSError as error:
            self.error = self.error or error
        for number in range(start // _PAGE, (start + size - 1) // _PAGE + 1):
            if page := self._pages.get(number):
                first, last = max(start, number * _PAGE), min(start + size, (number + 1) * _PAGE)
                found[first - start : last - start] = page[first % _PAGE :][: last - first]
        return found

    def _keep(self, view: memoryview) -> None:
        """Keep in memory what was written at the place."""
        start = self._at - self._at % _PAGE
        size = -(-(self._at + len(view)) // _PAGE) * _PAGE - start
        found = self._read(start, size)
        found[self._at - start : self._at - start + len(view)] = view
        for offset in range(0, size, _PAGE):
            self._pages[(start + offset) // _PAGE] = found[offset : offset + _PAGE]
