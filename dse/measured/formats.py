"""Files of measurements: the one table of their formats, and how the format of a file is found."""

from __future__ import annotations

import gzip
import importlib
import json
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.delimited import bytes_of, input_errors, text_of
from dse.measured.records import Records
from stochastic.delimited import Cell, numbers_of
from symbolic.errors import DseError


class MeasuredFile:
    """A file of measurements, whose contents are read when they are first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name.lower()
        #: True if the file is a cache of a tuner that was interrupted, which has no end.
        self.unfinished = False

    @cached_property
    def start(self) -> bytes:
        """The first bytes, unpacked if the file is compressed."""
        return bytes_of(self.path)[:100]

    @cached_property
    def text(self) -> str:
        """The text; an error where the first bytes or the name tell a file of another tool."""
        heads = (told for head, told in _OTHERS.items() if self.start.lstrip().startswith(head))
        if what := _BY_NAME.get(self.path.suffix.lower()) or next(heads, None):
            raise DseError(f"{str(self.path)!r} is {what}")
        return text_of(self.path)

    @cached_property
    def tree(self) -> Any:
        """The document of a file of JSON; None where its name does not end in ``.json``."""
        if not self.name.endswith((".json", ".json.gz")):
            return None
        tree, self.unfinished = _tree(text_of(self.path), self.path)
        return tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A row of :data:`FORMATS`: ``title`` is what the files are called.

    ``read`` makes :class:`Records` of a :class:`MeasuredFile`, or None where the file is of another
    format; as ``module:function`` it is loaded when it is first used. By ``suffixes`` of its name a
    file is known to be one of measurements. ``key`` is the key of the top level of JSON by which
    the format is known; else ``matches`` tells it.
    """

    title: str
    read: str | Callable[[MeasuredFile], Records | None]
    suffixes: tuple[str, ...]
    key: str = ""
    matches: Callable[[MeasuredFile], bool] | None = None

    def is_format_of(self, file: MeasuredFile) -> bool:
        """True if a file is of this format, or may be."""
        if self.matches is not None:
            return self.matches(file)
        return isinstance(file.tree, dict) and self.key in file.tree

    def records(self, file: MeasuredFile) -> Records | None:
        """Return the records of a file; None where it turns out to be of another format."""
        read = self.read
        if isinstance(read, str):
            module, _, name = read.partition(":")
            read = getattr(importlib.import_module(module), name)
        if not self.key:
            return read(file)
        try:
            records = read(file)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise DseError(
                f"{str(file.path)!r} has {self.key!r}, but not as {self.title} files have it: "
                f"{error!r}"
            ) from error
        if records is not None and not records.axes:
            raise DseError(f"{str(file.path)!r} holds no configurations")
        return records


#: By what the files that this library writes are known.
_MARK, _KEY = "# simt-dse ", b"simt_dse"
_JSON = (".json", ".json.gz")
#: Endings that files have which this library writes itself, too.
_TABLES = (".csv", ".csv.gz", ".parquet")
_REPORTS = (".ncu-rep", ".ncu-repz")

#: The formats, in the order in which they are tried.
FORMATS: dict[str, Format] = {
    "ncu-report": Format(
        title="Nsight Compute report",
        read="dse.measured.profiles.report:from_report",
        suffixes=_REPORTS,
        matches=lambda file: file.name.endswith(_REPORTS) or file.start.startswith(b"NVR\0"),
    ),
    "t4": Format(title="T4", read="dse.measured.tuner:from_t4", suffixes=_JSON, key="results"),
    "kernel-tuner": Format(
        title="Kernel Tuner cache",
        read="dse.measured.tuner:from_cache",
        suffixes=_JSON,
        key="cache",
    ),
    "ktt": Format(title="KTT", read="dse.measured.tuner:from_ktt", suffixes=_JSON, key="Results"),
    "parquet": Format(
        title="Parquet table",
        read="dse.measured.tables:from_table",
        suffixes=(".parquet",),
        matches=lambda file: file.start.startswith(b"PAR1"),
    ),
    "caliper": Format(
        title="Caliper",
        read="dse.measured.profiles.caliper:from_caliper",
        suffixes=(".cali", ".cali.gz"),
        matches=lambda file: file.text.startswith("__rec="),
    ),
    "launches": Format(
        title="profiler CSV",
        read="dse.measured.profiles.launches:from_launches",
        suffixes=(".csv", ".csv.gz"),
        matches=lambda _: True,
    ),
    "table": Format(
        title="CSV or Parquet table",
        read="dse.measured.tables:from_table",
        suffixes=_TABLES,
        matches=lambda file: file.name.endswith(_TABLES),
    ),
}


def is_measured(path: Path) -> bool:
    """True if a file is a tuner's, a profiler's, or a table that this library did not write."""
    name = path.name.lower()
    if not any(name.endswith(one.suffixes) for one in FORMATS.values()):
        return False
    if not name.endswith(_TABLES):
        return True
    return path.is_file() and not _is_ours(path)


def _is_ours(path: Path) -> bool:
    """True if a CSV or Parquet file is one that this library wrote."""
    try:
        if not path.name.lower().endswith(".parquet"):
            opened: Any = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
                return bool(file.readline(len(_MARK)) == _MARK)
        from sweeps.files.tabular import parquet_library

        return _KEY in (parquet_library().read_schema(path).metadata or {})
    except (OSError, EOFError, ValueError, zlib.error):
        return False


def read_measured(path: Path) -> Records:
    """Return the records of a file of measurements; an error where its format is not known."""
    file = MeasuredFile(path)
    is_json = file.name.endswith(_JSON)
    for one in FORMATS.values():
        if is_json and not one.key:
            continue
        if one.is_format_of(file) and (records := one.records(file)) is not None:
            if not file.unfinished:
                return records
            note = (
                "the cache has no end, as of a tuner that was interrupted: what is whole was read"
            )
            return replace(records, notes=(*records.notes, note))
    where, tree = repr(str(path)), file.tree
    if not is_json:
        titles = ", ".join(dict.fromkeys(one.title for one in FORMATS.values()))
        raise DseError(
            f"{where} is no file of measurements that is known: expected one of {titles}"
        )
    if isinstance(tree, dict) and "traceEvents" in tree:
        raise DseError(
            f"{where} is a trace of events for a browser, which holds no counters: import the "
            "profiler's CSV or report"
        )
    held = f"; it holds {', '.join(list(tree)[:8])}" if isinstance(tree, dict) else ""
    known = [f"no {one.title} file (with {one.key!r})" for one in FORMATS.values() if one.key]
    raise DseError(f"{where} is {', '.join(known)}{held}")


# --- Contents of files

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


def _tree(text: str, path: Path) -> tuple[Any, bool]:
    """Return the document, and True if it is a cache that has no end."""
    # half of a character, which no file can hold, becomes the mark of one
    pairs = r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F]..|\\\\"
    if re.search(r"\\u[dD][89a-fA-F]", text):
        text = re.sub(pairs, lambda m: m[0] if m[1] or m[0] == "\\\\" else "\\ufffd", text)
    try:
        return json.loads(text), False
    except (ValueError, RecursionError) as error:
        said = error
    body = text.rstrip()
    for whole in (body, body[: body.rfind("\n")].rstrip()):  # the last line may be torn
        with suppress(ValueError, RecursionError):
            tree = json.loads(whole.rstrip(",") + "}}")
            if isinstance(tree, dict) and isinstance(tree.get("cache"), dict):
                return tree, True
    raise DseError(f"{str(path)!r} is no JSON: {said}") from said
