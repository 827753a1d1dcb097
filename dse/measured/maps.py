"""What the columns of a kind of file mean: maps that come along, or as people write them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from dse.measured.records import Records
from dse.toml_text import read_toml
from symbolic.errors import DseError, UnknownNameError, check_known, nearest
from symbolic.quantities import TABLE

__all__ = ["ColumnMap", "layered", "map_of", "own_map", "read_map", "shipped"]

_HERE = Path(__file__).parents[1] / "data" / "profiles"
_KEYS = ("title", "known_by", "labels", "helpers", "quantities", "notes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """What the columns of a kind of file mean; formulas in the order in which they are tried."""

    title: str
    known_by: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    helpers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quantities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@cache
def shipped() -> Mapping[str, ColumnMap]:
    """The maps that come along, by their names."""
    return {path.stem: read_map(path) for path in sorted(_HERE.glob("*.toml"))}


def read_map(path: Path) -> ColumnMap:
    """A map of columns.

    Raises
    ------
    DseError
        No TOML, an unknown key, a formula that is no text.
    """
    try:
        tree = read_toml(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DseError(f"{str(path)!r} is no map of columns: {error}") from error
    for key in tree:
        check_known(key, _KEYS, f"{path}: {key!r} is no key of a map of columns")
    try:
        tables = {
            key: {str(n): _texts(f) for n, f in dict(tree.get(key, {})).items()}
            for key in ("labels", "helpers", "quantities")
        }
        return ColumnMap(
            title=str(tree.get("title", path.stem)),
            known_by=_texts(tree.get("known_by", [])),
            notes=_texts(tree.get("notes", [])),
            **tables,
        )
    except (TypeError, ValueError) as error:
        raise DseError(
            f"{path}: {error}; a map has tables such as [quantities] with lines such as "
            'time = "Latency [ms]", or a list of these'
        ) from error


def _texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise TypeError(f"{value!r} is neither a text nor a list of texts")
    return tuple(listed)


def map_of(records: Records) -> ColumnMap | None:
    """The map that comes along for a kind of file, or for a table with such columns."""
    maps = shipped()
    if records.kind == "ktt":
        return layered(maps["ktt"], _counters(records))
    if records.kind in maps:
        return maps[records.kind]
    names = {*records.columns, *records.aliases}
    known = (m for m in maps.values() if m.known_by and names.issuperset(m.known_by))
    return next(known, None)


def _counters(records: Records) -> ColumnMap | None:
    """The map of the profiler behind KTT, by the names of the counters."""
    if any(name.endswith(".sum") for name in records.columns):
        return shipped()["ncu"]
    return shipped()["nvprof"] if "inst_executed" in records.columns else None


def layered(above: ColumnMap | None, below: ColumnMap | None) -> ColumnMap | None:
    """One map on another, whose formulas count where the first has none."""
    if above is None or below is None:
        return above or below

    def both(kind: str) -> Mapping[str, tuple[str, ...]]:
        first: Mapping[str, tuple[str, ...]] = getattr(above, kind)
        return {**first, **{n: f for n, f in getattr(below, kind).items() if n not in first}}

    return replace(
        above, labels=both("labels"), helpers=both("helpers"), quantities=both("quantities")
    )


def own_map(columns: str | Path | Mapping[str, str] | None) -> ColumnMap | None:
    """The map of who asks: a file, a name of one that comes along, ``{"Latency": "time:ms"}``."""
    if columns is None or isinstance(columns, Mapping):
        return _of_columns(columns) if columns else None
    known = shipped()
    if str(columns) in known:
        return known[str(columns)]
    if not Path(columns).is_file():
        raise UnknownNameError(
            f"{str(columns)!r} is no map of columns{nearest(str(columns), known)}: expected a TOML "
            f"file, COLUMN=QUANTITY, or one of {', '.join(known)}"
        )
    return read_map(Path(columns))


def _of_columns(columns: Mapping[str, str]) -> ColumnMap:
    labels, quantities = {}, {}
    for column, told in columns.items():
        name, _, unit = str(told).partition(":")
        row = TABLE.get(name)
        if not name.isidentifier():
            raise DseError(f"{column}={told}: expected COLUMN=QUANTITY or COLUMN=QUANTITY:UNIT")
        if name in ("kernel", "machine", "workload") or (row is not None and row.is_label):
            labels[name] = (column,)
        else:
            quantities[name] = (f"{column} [{unit}]" if unit else column,)
    return ColumnMap(title="column", labels=labels, quantities=quantities)
