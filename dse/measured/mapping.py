"""From columns of a file to quantities, by a map of formulas: TOML, or ``COLUMN=QUANTITY:UNIT``.

The maps of tools and of tables that are known by their columns lie in ``dse/data/profiles``. A formula
is ``column``, ``column * column``, ``32 * column + column``, ``... / column``, with the unit of what
comes of it in brackets, ``xtime [ns]``; of several the first whose columns are there counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.measured.numerals import Cell, is_missing, numbers_of
from dse.measured.records import Records, header
from dse.toml_text import read_toml
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.quantities import TABLE

__all__ = ["ColumnMap", "mapped", "of_columns", "read_map", "shipped"]

_HERE = Path(__file__).parents[1] / "data" / "profiles"
#: Of these a request is coalesced: it loads what it needs, to half of what is printed last.
_WHOLE = 99.995
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
        if key not in _KEYS:
            raise DseError(
                f"{path}: {key!r} is no key of a map of columns: expected "
                f"{', '.join(_KEYS)}{nearest(key, _KEYS)}"
            )
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
            "time = \"Latency [ms]\", or a list of these"
        ) from error


def _texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise TypeError(f"{value!r} is neither a text nor a list of texts")
    return tuple(listed)


def of_columns(columns: Mapping[str, str]) -> ColumnMap:
    """The map of ``{"Latency": "time:ms"}``: a column, what it is, and in which unit."""
    labels, quantities = {}, {}
    for column, told in columns.items():
        name, _, unit = told.partition(":")
        row = TABLE.get(name)
        if not name.isidentifier():
            raise DseError(f"{column}={told}: expected COLUMN=QUANTITY or COLUMN=QUANTITY:UNIT")
        if name in ("kernel", "machine", "workload") or (row is not None and row.is_label):
            labels[name] = (column,)
        else:
            quantities[name] = (f"{column} [{unit}]" if unit else column,)
    return ColumnMap(title="column", labels=labels, quantities=quantities)


def mapped(
    records: Records, chosen: ColumnMap, given: Mapping[str, float | str], strict: bool = False
) -> Records:
    """Records with the quantities that their columns tell, before the columns themselves.

    Parameters
    ----------
    records : Records
        What a file holds.
    chosen : ColumnMap
        What its columns mean.
    given : mapping
        Quantities and labels of all rows that the file does not tell.
    strict : bool
        Whether a formula whose columns are not there is refused, rather than noted.
    """
    rows = len(next(iter(records.columns.values()), ()))
    work = _Work(records, rows)
    columns: dict[str, Sequence[Any]] = {}
    units: dict[str, str] = {}
    for name, value in given.items():
        columns[name], work.sources[name] = [value] * rows, "given"
        if not isinstance(value, str):
            work.values[name] = np.full(rows, float(value))
    taken: set[str] = set()
    for name, choices in chosen.labels.items():
        found = next((column for column in choices if column in records.columns), None)
        if found is not None and name not in given:
            told = records.columns[found]
            columns[name] = ["" if value is None else str(value) for value in told]
            work.sources[name] = f"{chosen.title}: {found}"
            taken.add(found)
        elif strict and name not in given:
            raise _unknown(choices[0], records)
    for name, formulas in chosen.helpers.items():
        work.solve(f"@{name}", formulas, chosen.title)
    left: list[str] = []
    for name, formulas in chosen.quantities.items():
        if name in given:
            continue
        unit = work.solve(name, formulas, chosen.title)
        if unit is None:
            if strict:
                raise _unknown(_columns_of(formulas[0])[0], records)
            left.append(name)
            continue
        values = work.values[name]
        columns[name] = [None if v != v else v for v in values.tolist()]
        units[name] = unit
    notes = [*records.notes, *chosen.notes]
    for name, values in _coalesced(work.values):
        columns[name] = [None if v != v else v for v in values.tolist()]
        work.sources[name] = f"{chosen.title}: mem_insts, where all bytes of each sector are used"
        left = [each for each in left if each != name]
    unsettled = "coalesced_insts" in columns and any(v is None for v in columns["coalesced_insts"])
    if unsettled:
        notes.append(
            "coalesced_insts is left out where sectors are used in part: a profile of a whole "
            "kernel does not tell which accesses are coalesced"
        )
    if left:
        notes.append(f"the file does not tell, so left out: {', '.join(left)}")
    for name in columns:
        if name in records.columns and name not in taken and name in records.axes:
            raise DseError(f"{name} is an axis of the file already: leave it out of the map")
    raw = {n: v for n, v in records.columns.items() if n not in columns and n not in taken}
    sources = {name: chosen.title for name in raw if name not in records.axes}
    return replace(
        records,
        columns={**{n: raw.pop(n) for n in records.axes}, **columns, **raw},
        units={**records.units, **units},
        sources={**sources, **{n: work.sources[n] for n in columns}},
        notes=tuple(notes),
    )


def _unknown(column: str, records: Records) -> UnknownNameError:
    known = list(records.columns)
    return UnknownNameError(
        f"the map names the column {column!r}, which is not in the file"
        f"{nearest(column, known)}; there are: {', '.join(known[:40])}"
    )


def _coalesced(values: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Requests all of which are coalesced, where every sector that moves is needed as a whole."""
    shares = [values.get(f"{kind}_efficiency") for kind in ("load", "store")]
    if "coalesced_insts" in values or "mem_insts" not in values or any(s is None for s in shares):
        return
    requests = values["mem_insts"]
    whole = np.full(len(requests), True)
    for share, some in zip(shares, ("global_loads", "global_stores"), strict=True):
        assert share is not None
        whole &= (share >= _WHOLE) | (values[some] == 0)
    yield "coalesced_insts", np.where(whole, requests, np.nan)
    yield "uncoalesced_insts", np.where(whole, 0.0, np.nan)


def _columns_of(formula: str) -> list[str]:
    text, _ = header(formula)
    above, _, below = text.partition(" / ")
    parts = [part for term in above.split(" + ") for part in term.split(" * ")]
    return [part for part in (*parts, below) if part and not re.fullmatch(r"-?[\d.]+(e-?\d+)?", part)]


class _Work:
    """Columns as numbers, and what formulas made of them."""

    def __init__(self, records: Records, rows: int) -> None:
        self.records, self.rows = records, rows
        self.values: dict[str, NDArray[Any]] = {}
        self.sources: dict[str, str] = {}

    def solve(self, name: str, formulas: Sequence[str], title: str) -> str | None:
        """The unit of the first formula that can be computed; None if none can."""
        for formula in formulas:
            text, unit = header(formula)
            needed = _columns_of(formula)
            parts = {part: self._number(part) for part in needed}
            if any(values is None for values in parts.values()):
                continue
            self.values[name] = self._value(text, parts)
            self.sources[name] = f"{title}: {formula.replace('@', '')}"
            first = self.records.units.get(needed[0], "") if len(needed) == 1 else ""
            return first if unit is None else unit
        return None

    def _value(self, text: str, parts: Mapping[str, Any]) -> NDArray[Any]:
        above, _, below = text.partition(" / ")
        total = np.zeros(self.rows)
        for term in above.split(" + "):
            product = np.ones(self.rows)
            for part in term.split(" * "):
                product = product * (parts[part] if part in parts else float(part))
            total = total + product
        if not below:
            return total
        with np.errstate(divide="ignore", invalid="ignore"):
            share = total / (parts[below] if below in parts else float(below))
        return np.where(np.isfinite(share), share, np.nan)

    def _number(self, name: str) -> NDArray[Any] | None:
        """A column as numbers, or what was made before; NaN where there is none."""
        if name in self.values:
            return self.values[name]
        if name in ("@warps", "@threads"):
            return self._launched(name)
        if name not in self.records.columns:
            return None
        listed = self.records.columns[name]
        cells = [Cell(k + 2, v) for k, v in enumerate(listed) if isinstance(v, str)]
        read = numbers_of(cells, f"the column {name!r}")
        numbers = np.full(self.rows, np.nan)
        for row, value in enumerate(listed):
            if isinstance(value, str):
                found = read(Cell(row + 2, value))
                if found is None and not is_missing(value):
                    raise DseError(
                        f"the column {name!r} holds {value!r} at row {row + 1}, expected a number"
                    )
                value = found
            numbers[row] = np.nan if value is None else value
        return numbers

    def _launched(self, name: str) -> NDArray[Any] | None:
        blocks, threads = (self.values.get(n) for n in ("blocks", "threads_per_block"))
        if blocks is None or threads is None:
            return None
        size = self.values.get("warp_size", np.full(self.rows, 32.0))
        return blocks * (np.ceil(threads / size) if name == "@warps" else threads)


