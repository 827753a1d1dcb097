"""CSV and Parquet files that anybody wrote: columns with names, a row a configuration."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.measured.records import CORRECT, FAILED, Records, header
from symbolic.errors import DseError, check_known

__all__ = ["axes_of", "is_ours", "read_file"]

_MARK = "# simt-dse "
_KEY = b"simt_dse"
#: What a column ``status`` says of a configuration that is as it should be.
_FINE = {"", CORRECT, "ok", "valid", "success", "pass", "passed", "done", "nan"}
_TRUTHS = {"true": True, "1": True, "1.0": True, "yes": True}
_TRUTHS |= {"false": False, "0": False, "0.0": False, "no": False}


def _open_text(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def is_ours(path: Path) -> bool:
    """Whether a CSV or Parquet file tells of itself what this library writes."""
    try:
        if ".csv" in path.suffixes:
            with _open_text(path) as file:
                return bool(file.readline(len(_MARK)) == _MARK)
        import pyarrow.parquet as pq

        return _KEY in (pq.read_schema(path).metadata or {})
    except (OSError, EOFError, ValueError, zlib.error):
        return False


def read_file(path: Path) -> Records:
    """The columns of a file.

    Raises
    ------
    DseError
        A file that cannot be read, a column without a name or named twice.
    """
    import pandas as pd

    try:
        if ".csv" in path.suffixes:
            with _open_text(path) as file:
                first = file.readline()
                file.seek(0)
                separator = max(",;\t", key=first.count)
                frame = pd.read_csv(file, sep=separator, low_memory=False, header=None, dtype=str)
            frame = _headed(frame, path)
        else:
            frame = pd.read_parquet(path)
            if any(name is not None for name in frame.index.names):
                frame = frame.reset_index()
    except DseError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:  # pandas' and pyarrow's among them
        why = getattr(error, "strerror", None) or error
        raise DseError(f"{str(path)!r} is no table that can be read: {why}") from error
    told = [str(name) for name in frame.columns]
    split = {text: header(text) for text in told}
    names = [name for name, _ in split.values()]
    for name in names:
        if not name or names.count(name) > 1 or told.count(name) > 1:
            what = f"two columns {name!r}" if name else "a column without a name"
            raise DseError(f"{str(path)!r} has {what}: give each one name")
    if not len(frame):
        raise DseError(f"{str(path)!r} holds no rows")
    columns = {split[text][0]: _values(frame.iloc[:, k]) for k, text in enumerate(told)}
    status = _status(columns, len(frame))
    return Records(
        kind="table",
        axes=(),
        columns=columns,
        units={name: unit or "" for name, unit in split.values()},
        status=status,
    )


def _headed(frame: Any, path: Path) -> Any:
    """The rows below the first, which names the columns; pandas would rename a second of a name."""
    if frame.shape[0] < 1:
        raise DseError(f"{str(path)!r} is empty: expected a header and rows")
    names = ["" if name != name else str(name) for name in frame.iloc[0]]
    if len(names) > 1 and not names[0] and all(names[1:]):
        names[0] = "index"  # as pandas writes its own
    body = frame.iloc[1:]
    body.columns = names
    return body


def _values(column: Any) -> list[Any]:
    """Numbers as numbers, whole ones as such; texts, and None for what is missing."""
    import pandas as pd

    if column.dtype.kind in "iufb":
        return list(column.tolist())
    listed = [None if value is None or value != value else value for value in column.tolist()]
    if all(value is None or isinstance(value, str) for value in listed):
        numbers = pd.to_numeric(pd.Series(listed, dtype=object), errors="coerce")
        missing = numbers.isna().to_numpy()
        whole = all(
            value is None or not set(value.lower()) & set(".ein")
            for value, gone in zip(listed, missing, strict=True)
            if not gone
        )
        return [
            value if gone or value is None else (int(value) if whole else float(number))
            for value, number, gone in zip(listed, numbers.tolist(), missing, strict=True)
        ]
    return listed


def axes_of(axes: Sequence[str], names: list[str]) -> tuple[str, ...]:
    """The columns that make a configuration, each of which is there."""
    for name in axes:
        check_known(name, names, f"axes names {name!r}, which is no column")
    return tuple(dict.fromkeys(axes))


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
