"""CSV and Parquet files with one row per configuration; see :mod:`sweeps.files.export`.

A case or bound is written as its label, and a value without a label as its number.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from stochastic import sizes
from sweeps.grid.dataset import assemble, read_flag_meanings
from sweeps.grid.grid import unravel
from sweeps.runtime.resources import check_memory
from sweeps.scan.values import axis_sizes
from symbolic.errors import DseError
from symbolic.json_text import MAX_LENGTH, check_json_length, read_json

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_ROWS = sizes.EXPORT_ROWS
_MARK = "# simt-dse "
_KEY = b"simt_dse"
_TEXT = "text"
#: Maximum size of the leading comment, and of a value that is not text. [B]
_MAX_HEADER_BYTES, _MAX_VALUE_BYTES = MAX_LENGTH + 1, 16
#: Start of a cell that a spreadsheet takes for a formula, possibly after apostrophes. When such a
#: cell is written, an apostrophe is added; when it is read, one is removed.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_WHOLE = re.compile(r"-?\d+")
#: Start of a formula in the comment, which a spreadsheet splits into cells at , ; | tab and ".
_IN_COMMENT = re.compile(r'(?<=[,;|\t"])(\s*)([=+\-@])')
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def _cell(text: str) -> str:
    """Convert a text to a cell that no spreadsheet takes for a formula."""
    is_formula = _FORMULA.match(text) and not _WHOLE.fullmatch(text)
    return f"'{text}" if is_formula else text


def _text_of(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell


def _read_cell(flags: Mapping[str, int], quoted: bool, cell: Any) -> Any:
    text = _text_of(str(cell)) if quoted else str(cell)
    return flags.get(text, text)


def _escape_header(header: str) -> str:
    def escape(text: re.Match[str]) -> str:
        return _IN_COMMENT.sub(lambda sign: f"{sign[1]}\\u{ord(sign[2]):04x}", text[0])

    return _JSON_TEXT.sub(escape, header)


def _header(ds: xr.Dataset) -> str:
    text = json.dumps(
        {
            "cells": "formulas have an apostrophe",
            "sizes": axis_sizes(ds),
            "coords": [str(name) for name in ds.coords],
            "variables": {
                str(name): {
                    "dims": [str(dim) for dim in variable.dims],
                    "dtype": _TEXT if variable.dtype.kind in "UOT" else variable.dtype.str,
                    "labels": bool(_labels_of(variable.dtype, variable.attrs)),
                    "attrs": {k: _to_json(v) for k, v in variable.attrs.items()},
                }
                for name, variable in ds.variables.items()
            },
            "attrs": {str(k): _to_json(v) for k, v in ds.attrs.items()},
        }
    )
    check_json_length(_MARK + _escape_header(text), "the table")
    return text


def _labels_of(dtype: np.dtype[Any], attributes: Mapping[str, Any]) -> dict[int, str]:
    """Return the label of each flag value; empty if labels are equal, or look like numbers."""
    labels = read_flag_meanings(attributes) if dtype.kind in "iu" else {}
    is_clear = len({*labels.values()}) == len(labels)
    return labels if is_clear and not any(_WHOLE.fullmatch(t) for t in labels.values()) else {}


def _convert(values: Any, convert: Callable[[Any], Any]) -> Any:
    """Return an array of converted values; each distinct value is converted once."""
    import pandas as pd

    codes, distinct = pd.factorize(np.asarray(values), use_na_sentinel=False)
    return np.array([convert(value) for value in distinct.tolist()], dtype=object)[codes]


def _to_json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    return value.item() if isinstance(value, np.generic) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"array", "dtype"}:
        kind = np.dtype(value["dtype"])
        return np.array(value["array"], dtype=str if kind.kind == "U" else _kind(kind))
    return value


def _frames(ds: xr.Dataset) -> Iterator[pd.DataFrame]:
    import pandas as pd

    sizes = axis_sizes(ds)
    dims, shape = list(sizes), list(sizes.values())
    names = [*(str(n) for n in ds.coords), *(str(n) for n in ds.data_vars)]
    dims_of = {name: [str(dim) for dim in ds[name].dims] for name in names}
    lazy = [name for name in names if not isinstance(ds[name].variable._data, np.ndarray)]
    size = sum(ds[name].nbytes for name in lazy)
    check_memory(size, "the variables", "export to .zarr or .nc, which are written in pieces")
    arrays = {name: np.asarray(ds[name].values) for name in names}
    labels = {name: _labels_of(ds[name].dtype, ds[name].attrs) for name in names}
    total = math.prod(shape)
    for low in range(0, total, _ROWS):
        flat = np.arange(low, min(low + _ROWS, total))
        places = dict(zip(dims, unravel(flat, shape), strict=True))
        columns = {}
        for name, values in arrays.items():
            index = tuple(places[dim] for dim in dims_of[name])
            columns[name] = values[index] if index else np.full(flat.size, values[()])
            if known := labels[name]:
                columns[name] = _convert(columns[name], lambda flag: known.get(flag, str(flag)))
        yield pd.DataFrame(columns)


def write_csv(ds: xr.Dataset, path: Path) -> None:
    """Write a Dataset as CSV; with pyarrow, a million rows take about half a second."""
    with path.open("wb") as file:
        file.write(f"{_MARK}{_escape_header(_header(ds))}\n".encode())
        for number, frame in enumerate(_frames(ds)):
            for name in [n for n in frame if frame[n].dtype.kind not in "biufcMm"]:
                frame[name] = _convert(frame[name], lambda value: _cell(str(value)))
            frame.columns = [_cell(str(name)) for name in frame.columns]
            _write_rows(frame, file, has_names=number == 0)


def _write_rows(frame: pd.DataFrame, file: BinaryIO, *, has_names: bool) -> None:
    is_odd = any(kind.kind == "f" and kind.itemsize not in (4, 8) for kind in frame.dtypes)
    if is_odd or frame.columns.empty or find_spec("pyarrow") is None:
        about: dict[str, Any] = {"index": False, "header": has_names, "na_rep": "nan"}
        quoting: Any = csv.QUOTE_NONNUMERIC  # without quotes, "\r" in a label would end its row
        frame.to_csv(file, quoting=quoting, lineterminator="\n", mode="wb", **about)
        return
    import pyarrow as pa
    from pyarrow import csv as arrow

    table = pa.table({name: pa.array(frame[name].to_numpy()) for name in frame})
    arrow.write_csv(table, file, arrow.WriteOptions(include_header=has_names))


def parquet_library() -> Any:
    """Return the module pyarrow.parquet; raise DseError if it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise DseError(
            "Parquet files need pyarrow, which is not installed: pip install 'simt-dse[parquet]', "
            "or take .zarr or .csv"
        ) from error
    return pyarrow.parquet


def write_parquet(ds: xr.Dataset, path: Path) -> None:
    """Write a Dataset as Parquet."""
    pq = parquet_library()
    import pyarrow as pa

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


def _kind(text: Any) -> np.dtype[Any]:
    """Return the dtype named in a header; raise ValueError if no file of this program has it."""
    result: np.dtype[Any] = np.dtype(text)
    if result.kind not in "biufcMm" or result.itemsize > _MAX_VALUE_BYTES:
        raise ValueError(f"the type {str(text)[:40]!r} cannot be in a table")
    return result


def _from_frame(frame: pd.DataFrame, header: str, cells: bool = False) -> xr.Dataset:
    """Convert rows to a Dataset; with ``cells``, undo :func:`_cell` if the header asks for this."""
    about = read_json(header)
    quoted = cells and "cells" in about
    if quoted:
        frame.columns = [_text_of(str(name)) for name in frame.columns]
    dims, shape = list(about["sizes"]), list(about["sizes"].values())
    result: dict[str, Any] = {}
    for name, row in about["variables"].items():
        if name not in frame:
            continue
        values = np.asarray(frame[name]).reshape(shape)
        index = tuple(slice(None) if dim in row["dims"] else 0 for dim in dims)
        present = [dim for dim in dims if dim in row["dims"]]
        values = np.asarray(values[index])
        attrs = {k: _from_json(v) for k, v in row["attrs"].items()}
        if row["dtype"] == _TEXT or row.get("labels"):
            known = read_flag_meanings(attrs) if row.get("labels") else {}
            flags = {label: flag for flag, label in known.items()}
            texts = _convert(values.reshape(-1), partial(_read_cell, flags, quoted))
            values = texts.reshape(values.shape)
        if row["dtype"] == _TEXT:
            values = values.astype(np.str_)
        elif row["dtype"] == "|b1" and values.dtype.kind != "b":
            values = np.isin(values.astype(str), ("True", "true"))
        else:
            values = values.astype(_kind(row["dtype"]))
        values = values.transpose([present.index(dim) for dim in row["dims"]])
        result[name] = (row["dims"], values, attrs)
    return assemble(
        {name: value for name, value in result.items() if name not in about["coords"]},
        {name: value for name, value in result.items() if name in about["coords"]},
        {k: _from_json(v) for k, v in about["attrs"].items()},
    )


def read_csv(path: Path) -> xr.Dataset:
    """Read a file that :func:`write_csv` wrote."""
    import pandas as pd

    with path.open(encoding="utf-8", newline="") as file:  # keep "\r" in labels
        first = file.readline(_MAX_HEADER_BYTES)
        if not first.startswith(_MARK):
            raise DseError(f"{path} was not written by this library: it lacks our first line")
        # read all cells as text: `_from_frame` converts each column to its type
        how: dict[str, Any] = {"dtype": str, "keep_default_na": False, "skip_blank_lines": False}
        header = first.removeprefix(_MARK)
        frame = pd.read_csv(file, **how) if json.loads(header)["variables"] else pd.DataFrame()
    return _from_frame(frame, header, cells=True)


def read_parquet(path: Path) -> xr.Dataset:
    """Read a file that :func:`write_parquet` wrote."""
    table = parquet_library().read_table(path)
    header = (table.schema.metadata or {}).get(_KEY)
    if header is None:
        raise DseError(f"{path} was not written by this library: it lacks our metadata")
    return _from_frame(table.to_pandas(), header.decode())
