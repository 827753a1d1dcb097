"""What lies in a file: its bytes, its text, and what it is by its first bytes."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from symbolic.errors import DseError

__all__ = ["bytes_of", "refuse_others", "text_of"]

#: First bytes of files that are no measurements here, what they are, and what to do instead.
_OTHERS = {
    b"SQLite format 3": "a SQLite database, as nvprof -o, Nsight Systems and rocpd write: print it "
    "as CSV (nvprof -i FILE --csv --print-gpu-trace)",
    b"\x7fELF": "a compiled program or cubin, no profile",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save it as CSV",
    b"<": "HTML or XML: export CSV",
    b"\x89HDF": "an HDF5 or netCDF file that this library did not write",
}
_BY_NAME = {
    ".nsys-rep": "a report of Nsight Systems, which holds no counters: profile with ncu",
    ".qdrep": "a report of Nsight Systems, which holds no counters: profile with ncu",
    ".nvvp": "a database of nvprof: print it as CSV (nvprof -i FILE --csv --print-gpu-trace)",
}


def bytes_of(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is compressed.

    Raises
    ------
    DseError
        It cannot be read, or is cut off.
    """
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise DseError(f"{str(path)!r} cannot be read: {why}") from error


def text_of(path: Path) -> str:
    """The text of a file, in UTF-8, or in UTF-16 where its first bytes say so."""
    raw = bytes_of(path)
    try:
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DseError(f"{str(path)!r} cannot be read: {error}") from error


def refuse_others(path: Path) -> None:
    """Say what a file is that is no file of measurements.

    Raises
    ------
    DseError
        It is known by its first bytes or its name.
    """
    raw = bytes_of(path)[:100].lstrip()
    what = _BY_NAME.get(path.suffix.lower())
    what = what or next((told for head, told in _OTHERS.items() if raw.startswith(head)), None)
    if what:
        raise DseError(f"{str(path)!r} is {what}")
