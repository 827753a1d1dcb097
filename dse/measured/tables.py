"""CSV and Parquet files that anybody wrote: columns with names, a row a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.delimited import column_header, input_errors, known_unit, table_of
from dse.measured.formats import MeasuredFile
from dse.measured.records import CORRECT, FAILED, Records
from stochastic.delimited import numbers
from sweeps.files.tabular import parquet_library
from symbolic.errors import DseError

#: Columns of a table; one of more takes seconds to read.
_COLUMNS = 4096
#: What a column ``status`` says of a configuration that is as it should be.
_FINE = {"", CORRECT, "ok", "valid", "success", "pass", "passed", "done", "nan"}
_TRUTHS = {"true": True, "1": True, "1.0": True, "yes": True}
_TRUTHS |= {"false": False, "0": False, "0.0": False, "no": False}


def from_table(file: MeasuredFile) -> Records:
    """Return the columns of a file of delimited text or Parquet.

    Raises
    ------
    DseError
        A file that cannot be read or may be read in two ways, or a column named twice.
    """
    path = file.path
    if not path.name.lower().endswith(".parquet"):
        table = table_of(path)
        with input_errors():
            read = table.numbers()
        told, values = list(table.names), read.columns
        assumed = table.assumptions(read)
    else:
        told, values = _parquet(path)
        assumed = []
    if len(told) > _COLUMNS:
        raise DseError(
            f"{str(path)!r} has {len(told):,} columns, more than {_COLUMNS:,}: expected a table "
            "with a row for each configuration"
        )
    split = [column_header(text) for text in told]
    places: dict[str, int] = {}
    for place, (name, _) in enumerate(split):
        if not name:
            raise DseError(f"{str(path)!r} has a column without a name (column {place + 1})")
        if name in places:
            raise DseError(
                f"{str(path)!r} has two columns {name!r}: {told[places[name]]!r} (column "
                f"{places[name] + 1}) and {told[place]!r} (column {place + 1}): give each a name "
                "of its own"
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
    status = _status(columns, rows)
    return Records(
        kind="table",
        axes=(),
        columns=columns,
        units=units,
        status=status,
        assumptions=tuple(assumed),
        aliases={text: name for text, (name, _) in zip(told, split, strict=True) if text != name},
    )


def _parquet(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Return the names and the columns of a Parquet file; whole numbers stay exact."""
    import pandas as pd

    parquet_library()
    try:
        frame = pd.read_parquet(path, dtype_backend="numpy_nullable")
    except (OSError, EOFError, ValueError) as error:  # pandas' and pyarrow's among them
        why = getattr(error, "strerror", None) or error
        raise DseError(f"{str(path)!r} is no table that can be read: {why}") from error
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
            with input_errors():
                read = numbers([texts], range(1, len(texts) + 1), str(path))
            listed = list(read.columns[0])
        values.append(listed)
    return [str(name) for name in frame.columns], values


def _units_below(columns: dict[str, list[Any]]) -> dict[str, str]:
    """Return the units in the first row, if it holds units and the rows below it numbers."""
    found: dict[str, str] = {}
    for name, column in columns.items():
        first = column[0] if column else None
        if first is None or (isinstance(first, str) and first.strip("[]() ") == ""):
            continue
        unit = known_unit(first.strip("[]()")) if isinstance(first, str) else None
        if unit is None or any(isinstance(value, str) for value in column[1:]):
            return {}
        found[name] = unit
    return found if len(next(iter(columns.values()), ())) > 1 else {}


def _status(columns: dict[str, list[Any]], rows: int) -> list[str]:
    """Why rows failed, of the columns ``status`` and ``feasible``, which are taken out."""
    why = [""] * rows
    if "status" in columns:
        told = ["" if value is None else str(value).strip() for value in columns.pop("status")]
        why = ["" if text.lower() in _FINE else text for text in told]
    if "feasible" in columns:
        for row, value in enumerate(columns.pop("feasible")):
            fine = _TRUTHS.get(str(value).strip().lower())
            if fine is None:
                raise DseError(
                    f"the column feasible holds {value!r} at row {row}: expected true or false"
                )
            why[row] = "" if fine else why[row] or FAILED
    return why
