"""Read files of measurements; the table FORMATS lists all formats."""

from __future__ import annotations

import gzip
import json
import pkgutil
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.delimited import (
    normalize_unit,
    read_bytes,
    read_delimited,
    read_text,
    split_column_header,
    table_errors,
)
from dse.importers.records import CORRECT, FAILED, Records
from stochastic.delimited import Cell, number_reader, parse_columns
from sweeps.files.tabular import parquet_library
from symbolic.errors import DseError


class MeasuredFile:
    """A file of measurements; its contents are read when they are first needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name.lower()
        #: True if the file is the incomplete cache of a tuner that was interrupted.
        self.unfinished = False

    @cached_property
    def start(self) -> bytes:
        """The first 100 bytes, after decompression."""
        return read_bytes(self.path)[:100]

    @cached_property
    def text(self) -> str:
        """The text of the file; a file that is known not to hold measurements raises DseError."""
        start = self.start.lstrip()
        kinds = (kind for head, kind in _FOREIGN_STARTS.items() if start.startswith(head))
        if kind := _FOREIGN_SUFFIXES.get(self.path.suffix.lower()) or next(kinds, None):
            raise DseError(f"{str(self.path)!r} is {kind}")
        return read_text(self.path)

    @cached_property
    def tree(self) -> Any:
        """The parsed document of a JSON file; None for other files."""
        if not self.name.endswith((".json", ".json.gz")):
            return None
        tree, self.unfinished = _parse_json(read_text(self.path), self.path)
        return tree


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementFormat:
    """A format of files of measurements: a row of :data:`FORMATS`.

    ``reader`` is a function that returns :class:`Records`, or None if the file has another format.
    ``reader`` may be a text ``module:function``, imported at first use. A JSON format is
    recognised by the top-level ``key``, another format by the function ``matches``. ``suffixes``
    are the suffixes of files that may have the format.
    """

    title: str
    reader: str | Callable[[MeasuredFile], Records | None]
    suffixes: tuple[str, ...]
    key: str = ""
    matches: Callable[[MeasuredFile], bool] | None = None

    def records(self, file: MeasuredFile) -> Records | None:
        """Read the records of a file in this format; return None if it has another format."""
        if self.matches is not None and not self.matches(file):
            return None
        if self.matches is None and not (isinstance(file.tree, dict) and self.key in file.tree):
            return None
        read = self.reader
        if isinstance(read, str):
            read = pkgutil.resolve_name(read)
        if not self.key:
            return read(file)
        try:
            records = read(file)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise DseError(
                f"{str(file.path)!r} has {self.key!r}, but not the structure of a {self.title} "
                f"file: {error!r}"
            ) from error
        if records is not None and not records.axes:
            raise DseError(f"{str(file.path)!r} holds no configurations")
        return records


#: First characters of CSV files, and metadata key of Parquet files, that this library writes.
_MARK, _KEY = "# simt-dse ", b"simt_dse"
_JSON = (".json", ".json.gz")
#: Suffixes of tables, which may be measurements or files that this library exported.
_TABLES = (".csv", ".csv.gz", ".parquet")
_REPORTS = (".ncu-rep", ".ncu-repz")

FORMATS: dict[str, MeasurementFormat] = {
    "ncu-report": MeasurementFormat(
        title="Nsight Compute report", reader="dse.importers.profilers.nsight_report:from_report",
        suffixes=_REPORTS,
        matches=lambda file: file.name.endswith(_REPORTS) or file.start.startswith(b"NVR\0"),
    ),
    "t4": MeasurementFormat(
        title="T4", reader="dse.importers.tuners:from_t4", suffixes=_JSON, key="results",
    ),
    "kernel-tuner": MeasurementFormat(
        title="Kernel Tuner cache", reader="dse.importers.tuners:from_cache", suffixes=_JSON,
        key="cache",
    ),
    "ktt": MeasurementFormat(
        title="KTT", reader="dse.importers.tuners:from_ktt", suffixes=_JSON, key="Results",
    ),
    "parquet": MeasurementFormat(
        title="Parquet table", reader="dse.importers.formats:from_table", suffixes=(".parquet",),
        matches=lambda file: file.start.startswith(b"PAR1"),
    ),
    "caliper": MeasurementFormat(
        title="Caliper", reader="dse.importers.profilers.caliper:from_caliper",
        suffixes=(".cali", ".cali.gz"), matches=lambda file: file.text.startswith("__rec="),
    ),
    "launches": MeasurementFormat(
        title="profiler CSV", reader="dse.importers.profilers.profiler_csv:from_profiler_csv",
        suffixes=(".csv", ".csv.gz"), matches=lambda _: True,
    ),
    "table": MeasurementFormat(
        title="CSV or Parquet table", reader="dse.importers.formats:from_table", suffixes=_TABLES,
        matches=lambda file: file.name.endswith(_TABLES),
    ),
}  # fmt: skip


def is_measurement_file(path: Path) -> bool:
    """True if a file is from a tuner or profiler, or a table that this library did not write."""
    name = path.name.lower()
    if not any(name.endswith(one.suffixes) for one in FORMATS.values()):
        return False
    if not name.endswith(_TABLES):
        return True
    return path.is_file() and not _is_exported_file(path)


def _is_exported_file(path: Path) -> bool:
    try:
        if not path.name.lower().endswith(".parquet"):
            opened: Any = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
                return bool(file.readline(len(_MARK)) == _MARK)
        return _KEY in (parquet_library().read_schema(path).metadata or {})
    except (OSError, EOFError, ValueError, zlib.error):
        return False


def read_measurements(path: Path) -> Records:
    """Read a file of measurements in any known format; raise DseError for other files."""
    file = MeasuredFile(path)
    is_json = file.name.endswith(_JSON)
    for one in FORMATS.values():
        if is_json and not one.key:
            continue
        if (records := one.records(file)) is not None:
            if not file.unfinished:
                return records
            note = "the cache is incomplete (tuner interrupted): all complete entries were read"
            return replace(records, notes=(*records.notes, note))
    where, tree = repr(str(path)), file.tree
    if not is_json:
        titles = ", ".join(dict.fromkeys(one.title for one in FORMATS.values()))
        raise DseError(f"{where} has no known format of measurements: expected one of {titles}")
    if isinstance(tree, dict) and "traceEvents" in tree:
        raise DseError(
            f"{where} is a trace of events for a browser, which has no counters: import the "
            "profiler's CSV or report"
        )
    keys = f"; it has {', '.join(list(tree)[:8])}" if isinstance(tree, dict) else ""
    known = [f"no {one.title} file (with {one.key!r})" for one in FORMATS.values() if one.key]
    raise DseError(f"{where} is {', '.join(known)}{keys}")


_SIZES = re.compile(r"\(\s*([0-9]+)\s*,\s*([0-9]+)\s*,\s*([0-9]+)\s*\)")
#: First bytes of files that hold no measurements, and what the error message says about them.
_FOREIGN_STARTS = {
    b"SQLite format 3": "a SQLite database, as nvprof -o, Nsight Systems and rocpd write: print it "
    "as CSV (nvprof -i FILE --csv --print-gpu-trace)",
    b"\x7fELF": "a compiled program or cubin, no profile",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive or a spreadsheet: unpack it, or save it as CSV",
    b"<": "HTML or XML: export CSV",
    b"\x89HDF": "an HDF5 or netCDF file that this library did not write",
}
_FOREIGN_SUFFIXES = {
    ".nsys-rep": "a report of Nsight Systems, which holds no counters: profile with ncu",
    ".qdrep": "a report of Nsight Systems, which holds no counters: profile with ncu",
    ".nvvp": "a database of nvprof: print it as CSV (nvprof -i FILE --csv --print-gpu-trace)",
}


def column_number_reader(cells: Iterable[Cell], name: str) -> Callable[[Cell], int | float | None]:
    """Return a function that reads numbers of a profiler's file; ``(4, 2, 1)`` is read as 8."""
    with table_errors():
        read = number_reader(cells, name)

    def number(cell: Cell) -> int | float | None:
        sizes = _SIZES.fullmatch(cell.text.strip())
        return int(sizes[1]) * int(sizes[2]) * int(sizes[3]) if sizes else read(cell)

    return number


def _parse_json(text: str, path: Path) -> tuple[Any, bool]:
    """Parse JSON; return the document, and True if it is an incomplete cache of a tuner."""
    # replace unpaired surrogates, which UTF-8 cannot encode, by the replacement character
    pairs = r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F]..|\\\\"
    if re.search(r"\\u[dD][89a-fA-F]", text):
        text = re.sub(pairs, lambda m: m[0] if m[1] or m[0] == "\\\\" else "\\ufffd", text)
    try:
        return json.loads(text), False
    except (ValueError, RecursionError) as error:
        cause = error
    body = text.rstrip()
    for whole in (body, body[: body.rfind("\n")].rstrip()):  # the last line may be cut off
        with suppress(ValueError, RecursionError):
            tree = json.loads(whole.rstrip(",") + "}}")
            if isinstance(tree, dict) and isinstance(tree.get("cache"), dict):
                return tree, True
    raise DseError(f"{str(path)!r} is no JSON: {cause}") from cause


_COLUMNS = 4096  # maximum number of columns of a table; more columns take seconds to read
#: Values of a column ``status``, in lower case, that mean a successful measurement.
_SUCCESS = {"", CORRECT, "ok", "valid", "success", "pass", "passed", "done", "nan"}
_TRUTHS = {"true": True, "1": True, "1.0": True, "yes": True}
_TRUTHS |= {"false": False, "0": False, "0.0": False, "no": False}


def from_table(file: MeasuredFile) -> Records:
    """Read a table with named columns from delimited text or Parquet."""
    path = file.path
    if not path.name.lower().endswith(".parquet"):
        table = read_delimited(path)
        with table_errors():
            read = table.parse_numbers()
        headers, values = list(table.names), read.columns
        assumed = table.assumptions(read)
    else:
        headers, values = _read_parquet(path)
        assumed = []
    if len(headers) > _COLUMNS:
        raise DseError(
            f"{str(path)!r} has {len(headers):,} columns, more than {_COLUMNS:,}: expected a table "
            "with a row for each configuration"
        )
    split = [split_column_header(text) for text in headers]
    places: dict[str, int] = {}
    for place, (name, _) in enumerate(split):
        if not name:
            raise DseError(f"{str(path)!r} has a column without a name (column {place + 1})")
        if name in places:
            raise DseError(
                f"{str(path)!r} has two columns {name!r}: {headers[places[name]]!r} (column "
                f"{places[name] + 1}) and {headers[place]!r} (column {place + 1}): rename one"
            )
        places[name] = place
    columns = dict(zip(places, values, strict=True))
    units = {name: unit or "" for name, unit in split}
    if below := _units_below(columns):
        columns = {name: column[1:] for name, column in columns.items()}
        units |= {name: unit for name, unit in below.items() if not units[name]}
        assumed = [*assumed, "the line below the header is read as units"]
    rows = len(next(iter(columns.values()), ()))
    if not rows:
        raise DseError(f"{str(path)!r} holds no rows")
    status = _failure_reasons(columns, rows)
    names = zip(headers, (name for name, _ in split), strict=True)
    return Records(
        kind="table",
        axes=(),
        columns=columns,
        units=units,
        status=status,
        assumptions=tuple(assumed),
        aliases={text: name for text, name in names if text != name},
    )


def _read_parquet(path: Path) -> tuple[list[str], list[list[Any]]]:
    import pandas as pd

    parquet_library()
    try:
        frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
    except (OSError, EOFError, ValueError) as error:  # errors of pandas and pyarrow are subclasses
        why = getattr(error, "strerror", None) or error
        raise DseError(f"{str(path)!r} cannot be read as a table: {why}") from error
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    values = []
    for place in range(frame.shape[1]):
        listed = [
            None if value is pd.NA or value is None or value != value else value
            for value in frame.iloc[:, place].tolist()
        ]
        if listed and all(value is None or isinstance(value, str) for value in listed):
            texts = [value or "" for value in listed]
            with table_errors():
                read = parse_columns([texts], range(1, len(texts) + 1), str(path))
            listed = list(read.columns[0])
        values.append(listed)
    return [str(name) for name in frame.columns], values


def _units_below(columns: dict[str, list[Any]]) -> dict[str, str]:
    """Return the units in the first row of a table; empty if this row does not hold units."""
    result: dict[str, str] = {}
    for name, column in columns.items():
        first = column[0] if column else None
        if first is None or (isinstance(first, str) and first.strip("[]() ") == ""):
            continue
        unit = normalize_unit(first.strip("[]()")) if isinstance(first, str) else None
        if unit is None or any(isinstance(value, str) for value in column[1:]):
            return {}
        result[name] = unit
    return result if len(next(iter(columns.values()), ())) > 1 else {}


def _failure_reasons(columns: dict[str, list[Any]], rows: int) -> list[str]:
    """Remove the columns ``status`` and ``feasible``; return why each row failed, or ``""``."""
    why = [""] * rows
    if "status" in columns:
        texts = ["" if value is None else str(value).strip() for value in columns.pop("status")]
        why = ["" if text.lower() in _SUCCESS else text for text in texts]
    if "feasible" in columns:
        for row, value in enumerate(columns.pop("feasible")):
            is_feasible = _TRUTHS.get(str(value).strip().lower())
            if is_feasible is None:
                raise DseError(f"feasible has {value!r} at row {row}: expected true or false")
            why[row] = "" if is_feasible else why[row] or FAILED
    return why
