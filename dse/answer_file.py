"""Write the answer of a command to a file: as JSON, as a table, or as a study file."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.display import column_heads
from dse.toml_text import toml_key, toml_value
from symbolic.answer import to_json
from symbolic.errors import DseError
from symbolic.file_access import base_folder
from symbolic.json_text import read_json

#: Suffixes: JSON, a study file, and four formats of tables.
SUFFIXES = (".json", ".toml", ".csv", ".parquet", ".nc", ".zarr")
_SCALARS = (str, bool, int, float)


def write_answer(data: Any, path: Path, source: Any, certificate: str = "") -> None:
    """Write the data of an answer; the suffix of the path chooses the format.

    A table has a row for each record of the answer, or one row with its numbers. A TOML file is a
    study of the single configuration in the answer; ``source`` is the queried study or Dataset.
    """
    from sweeps.files.atomic_write import write_atomic

    if path.suffix == ".json":
        write_atomic(path, f"{to_json(data)}\n".encode())
    elif path.suffix == ".toml":
        write_atomic(path, _study_text(data, source, path.parent).encode())
    else:
        import xarray as xr

        from sweeps.files.export import export

        data = data if isinstance(data, Mapping) else {"rows": data}
        about = {"question": data.get("question"), "certificate": certificate}
        export(xr.Dataset(_columns(data), attrs={k: v for k, v in about.items() if v}), path)


def _rows(data: Any) -> Sequence[Mapping[str, Any]]:
    """Return the records of an answer: its only list of records, or one record of its numbers."""
    lists = [v for v in data.values() if isinstance(v, (list, tuple)) and v]
    tables = [data["rows"]] if "rows" in data else [v for v in lists if isinstance(v[0], Mapping)]
    if len(tables) == 1 and "parts" not in data:
        return tables[0]
    if tables or any(isinstance(value, Mapping) for value in data.values()):
        raise DseError("the answer is no single table: choose a name that ends in .json")
    return [{name: value for name, value in data.items() if isinstance(value, _SCALARS)}]


def _columns(data: Any) -> dict[str, Any]:
    rows, variables, units = _rows(data), data.get("variables", {}), data.get("units", {})
    result, heads = {}, column_heads(variables, rows)
    for name in dict.fromkeys(n for row in rows for n in row if n in heads or n not in variables):
        values, about = [row.get(name) for row in rows], variables.get(name, {})
        if words := about.get("flags"):
            values = [words.get(str(value)) for value in values]
        unit = units.get(name) if isinstance(units, Mapping) else None
        known = {"units": unit, **about}
        attributes = {key: known[key] for key in ("units", "long_name") if known.get(key)}
        result[heads.get(name, str(name))] = ("configuration", _array(values), attributes)
    return result


def _array(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return numbers, with NaN for None, or texts, with "" for None."""
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool} and None not in values:
        return np.array(values)
    if kinds <= {int, float}:
        return np.array([math.nan if value is None else value for value in values])
    texts = ["" if v is None else v if isinstance(v, str) else to_json(v) for v in values]
    return np.array(texts)


def _study_text(data: Any, source: Any, folder: Path) -> str:
    """Return the source's study at the configuration of the answer, as the text of a file."""
    rows = data.get("rows", []) if isinstance(data, Mapping) else data
    if len(rows) != 1:
        raise DseError(f"a .toml file holds one configuration, and the answer has {len(rows):,}")
    is_study = hasattr(source, "text")
    text = source.text() if is_study else getattr(source, "attrs", {}).get("study")
    if text is None:
        raise DseError("the source has no study: choose a name that ends in .csv or .json")
    tree = read_json(text) | ({"model": source.model} if is_study else {})
    tree.pop("draws", None)
    axes, values, random = (tree.pop(key, {}) for key in ("axes", "set", "random"))
    for name, axis in axes.items():
        for column in axis["zip"] if isinstance(axis, Mapping) and "zip" in axis else [name]:
            (tree if column in ("machine", "workload") else values)[column] = rows[0][column]
    base = base_folder(getattr(source, "folder", None)) or Path()
    return study_text({"": tree, "set": values, "random": random}, folder, base)


def study_text(tables: Mapping[str, Any], folder: Path, base: Path = Path()) -> str:
    """Return the text of a study in ``folder``; paths are relative to ``base`` before."""
    lines: list[str] = []
    for table, entries in tables.items():
        lines += ["", f"[{table}]"] if table and entries else []
        lines += [f"{toml_key(k)} = {_file_value(v, base, folder)}" for k, v in entries.items()]
    return "\n".join([*lines, ""])


def _file_value(value: Any, base: Path, folder: Path) -> str:
    """Return a value as TOML; paths relative to ``base`` become relative to ``folder``."""

    def relative(name: Any) -> Any:
        is_file = isinstance(name, str) and (base / name).is_file()
        return os.path.relpath(base / name, folder) if is_file else name

    if isinstance(value, str):
        value = " + ".join(map(relative, value.split(" + ")))
    text = toml_value([*map(relative, value)] if isinstance(value, list) else value)
    if "sha256" in text:
        raise DseError("the study gives a table of many values: store the table in a file instead")
    return text
