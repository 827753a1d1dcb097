"""What lies in a file: its bytes, its text, and what it is by its first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from dse.delimited import bytes_of, input_errors
from stochastic.delimited import Cell, numbers_of
from symbolic.errors import DseError

_SIZES = re.compile(r"\(\s*([0-9]+)\s*,\s*([0-9]+)\s*,\s*([0-9]+)\s*\)")
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


def printed_numbers(cells: Iterable[Cell], name: str) -> Callable[[Cell], int | float | None]:
    """Return the reader of the numbers of a profiler's file, and of sizes such as ``(4, 1, 1)``."""
    with input_errors():
        read = numbers_of(cells, name)

    def number(cell: Cell) -> int | float | None:
        sizes = _SIZES.fullmatch(cell.text.strip())
        return int(sizes[1]) * int(sizes[2]) * int(sizes[3]) if sizes else read(cell)

    return number


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
