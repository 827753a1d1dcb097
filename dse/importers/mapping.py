"""Compute quantities from the columns of a file, by formulas of a map of columns.

A map is a TOML file, or comes from texts ``COLUMN=QUANTITY:UNIT``. The maps of tools, and of tables
that are recognised by their columns, are in ``dse/data/profiles``. A formula is ``column``,
``column * column``, ``32 * column + column`` or ``... / column``; the unit of the result follows in
brackets, ``xtime [ns]``. If a quantity has several formulas, the first whose columns exist is used.
"""

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.delimited import split_header
from dse.importers.formats import column_number_reader
from dse.importers.records import Records, identifier
from dse.toml_text import read_toml
from stochastic.delimited import Cell, is_missing
from symbolic.errors import DseError, UnknownNameError, check_name, nearest_hint
from symbolic.quantities import TABLE

_HERE = Path(__file__).parents[1] / "data" / "profiles"
_SECTIONS = ("labels", "helpers", "quantities")
_KEYS = ("title", "known_by", *_SECTIONS, "notes")
_COALESCED_PERCENT = 99.995  # from this efficiency on, profilers print 100 %


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """Map of columns for a kind of file: for each quantity, formulas in order of preference."""

    title: str
    known_by: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    helpers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    quantities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@cache
def shipped_maps() -> Mapping[str, ColumnMap]:
    """Return a mapping from names to the shipped maps of columns."""
    return {path.stem: read_map(path) for path in sorted(_HERE.glob("*.toml"))}


def read_map(path: Path) -> ColumnMap:
    """Read a map of columns from a TOML file."""
    try:
        tree = read_toml(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DseError(f"{str(path)!r} is no map of columns: {error}") from error
    for key in tree:
        check_name(key, _KEYS, f"{path}: {key!r} is no key of a map of columns")
    try:
        parts: dict[str, Any] = {
            key: {str(n): _text_tuple(f) for n, f in dict(tree.get(key, {})).items()}
            for key in _SECTIONS
        }
        parts |= {key: _text_tuple(tree.get(key, [])) for key in ("known_by", "notes")}
        return ColumnMap(title=str(tree.get("title", path.stem)), **parts)
    except (TypeError, ValueError) as error:
        raise DseError(
            f"{path}: {error}; a map has tables such as [quantities] with lines such as "
            'time = "Latency [ms]", or a list of these'
        ) from error


def _text_tuple(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise TypeError(f"{value!r} is neither a text nor a list of texts")
    return tuple(listed)


def find_map(records: Records) -> ColumnMap | None:
    """Return the shipped map for the format of a file, or for a table with known columns."""
    maps = shipped_maps()
    if records.kind == "ktt":  # the names of the counters show which profiler KTT used
        nvprof = "nvprof" if "inst_executed" in records.columns else ""
        profiler = "ncu" if any(name.endswith(".sum") for name in records.columns) else nvprof
        return merge_maps(maps["ktt"], maps.get(profiler))
    if records.kind in maps:
        return maps[records.kind]
    names = {*records.columns, *records.aliases}
    return next((m for m in maps.values() if m.known_by and names.issuperset(m.known_by)), None)


def merge_maps(column_map: ColumnMap | None, fallback: ColumnMap | None) -> ColumnMap | None:
    """Return ``column_map`` plus the formulas of ``fallback`` for quantities that it lacks."""
    if column_map is None or fallback is None:
        return column_map or fallback
    kinds = {kind: (getattr(column_map, kind), getattr(fallback, kind)) for kind in _SECTIONS}
    both: Any = {kind: {**first, **other, **first} for kind, (first, other) in kinds.items()}
    return replace(column_map, **both)


def load_user_map(columns: str | Path | Mapping[str, str] | None) -> ColumnMap | None:
    """Return the map for a path, a name of a shipped map, or a dict ``{"Latency": "time:ms"}``."""
    if columns is None or isinstance(columns, Mapping):
        return _parse_columns(columns) if columns else None
    known = shipped_maps()
    if str(columns) in known:
        return known[str(columns)]
    if not Path(columns).is_file():
        raise UnknownNameError(
            f"{str(columns)!r} is no map of columns{nearest_hint(str(columns), known)}: expected a "
            f"TOML file, COLUMN=QUANTITY, or one of {', '.join(known)}"
        )
    return read_map(Path(columns))


def _parse_columns(columns: Mapping[str, str]) -> ColumnMap:
    labels, quantities = {}, {}
    for column, text in columns.items():
        name, _, unit = str(text).partition(":")
        row = TABLE.get(name)
        if not name.isidentifier():
            raise DseError(f"{column}={text}: expected COLUMN=QUANTITY or COLUMN=QUANTITY:UNIT")
        if name in ("kernel", "machine", "workload") or (row is not None and row.is_label):
            labels[name] = (column,)
        else:
            quantities[name] = (f"{column} [{unit}]" if unit else column,)
    return ColumnMap(title="column", labels=labels, quantities=quantities)


# --- formulas over the columns of a file: a sum of products, which may be divided by one column


_MAX_NUMBER = 1e300  # a larger number in a file means a missing value
#: Floats represent every integer up to this one exactly; larger integers stay Python integers.
_EXACT = 2**53
#: Upper limit on Python integers; numbers above this limit are floats.
_LARGEST = 2**100


def formula_columns(formula: str) -> list[str]:
    """Return the names of the columns in a formula.

    >>> formula_columns("32 * read + 32 * written / @warps [B]")
    ['read', 'written', '@warps']
    """
    text, _ = split_header(formula)
    above, _, below = text.partition(" / ")
    parts = [part for term in above.split(" + ") for part in term.split(" * ")]
    number = re.compile(r"-?[\d.]+(e-?\d+)?")
    return [part for part in (*parts, below) if part and not number.fullmatch(part)]


class ColumnFormulas:
    """Computation of formulas over columns; keeps the results and their sources by name."""

    def __init__(self, records: Records, rows: int) -> None:
        self.records, self.rows = records, rows
        self.values: dict[str, NDArray[Any]] = {}
        self.sources: dict[str, str] = {}

    def compute_first(self, name: str, formulas: Sequence[str], title: str) -> str | None:
        """Compute the first formula whose columns all exist; return its unit, or None."""
        for formula in formulas:
            text, unit = split_header(formula)
            needed = formula_columns(formula)
            parts = {part: self._column_numbers(part) for part in needed}
            if any(values is None for values in parts.values()):
                continue
            self.values[name] = self._value(text, parts)
            self.sources[name] = f"{title}: {formula.replace('@', '')}"
            if unit is not None:
                return unit
            is_single = len(needed) == 1
            return self.records.units.get(self._column_name(needed[0]), "") if is_single else ""
        return None

    def _value(self, text: str, parts: Mapping[str, Any]) -> NDArray[Any]:
        """Return the values of a formula as floats; as exact integers if some exceed 2**53."""
        above, _, below = text.partition(" / ")
        summed: Any = 0
        for term in above.split(" + "):
            factors = [
                parts[p] if p in parts else int(p) if re.fullmatch(r"-?\d+", p) else float(p)
                for p in term.split(" * ")
            ]
            summed = summed + math.prod(factors)
        total: NDArray[Any] = np.array(np.broadcast_to(np.asarray(summed), (self.rows,)))
        if not below and any(abs(one) > _EXACT for one in total[total == total]):
            return total
        total = total.astype(np.float64)
        if not below:
            return total
        with np.errstate(divide="ignore", invalid="ignore"):
            divisor = np.asarray(parts[below] if below in parts else float(below))
            share = total / divisor.astype(np.float64)
        return np.where(np.isfinite(share), share, np.nan)

    def _column_name(self, name: str) -> str:
        return self.records.aliases.get(name, name)

    def _column_numbers(self, name: str) -> NDArray[Any] | None:
        """Return a column or an earlier result as numbers, with NaN for missing values."""
        if name in self.values:
            return self.values[name]
        if name in ("@warps", "@threads"):
            return self._launch_size(name)
        name = self._column_name(name)
        if name not in self.records.columns:
            return None
        listed = self.records.columns[name]
        cells = [Cell(k + 2, v) for k, v in enumerate(listed) if isinstance(v, str)]
        read = column_number_reader(cells, f"the column {name!r}")
        numbers: list[float] = []
        for row, value in enumerate(listed):
            number: float | None = None
            if isinstance(value, str):
                number = read(Cell(row + 2, value))
            elif isinstance(value, (int, float)):
                number = value if abs(value) < _MAX_NUMBER else None
            if number is None and not is_missing(str(value)):
                raise DseError(f"{name!r} has {value!r} at row {row + 1}: expected a number")
            numbers.append(np.nan if number is None or not math.isfinite(number) else number)
        whole = [abs(one) for one in numbers if isinstance(one, int)]
        large = _EXACT < max(whole, default=0) < _LARGEST
        return np.array(numbers, dtype=object if large else np.float64)

    def _launch_size(self, name: str) -> NDArray[Any] | None:
        blocks, threads = (self.values.get(n) for n in ("blocks", "threads_per_block"))
        if blocks is None or threads is None:
            return None
        size = self.values.get("warp_size", np.full(self.rows, 32.0))
        return blocks * (np.ceil(threads / size) if name == "@warps" else threads)


def map_columns(
    records: Records,
    column_map: ColumnMap | None,
    constants: Mapping[str, float | str],
    user_map: ColumnMap | None = None,
) -> Records:
    """Return records with the quantities that a map computes, followed by the file's columns.

    ``constants`` are quantities and labels that the file lacks; they apply to all rows. If columns
    of ``user_map`` are missing, an error is raised; for other maps, a note names what is omitted.
    """
    column_map = column_map or ColumnMap(title="")
    strict = {*user_map.labels, *user_map.quantities} if user_map is not None else set()
    rows = len(next(iter(records.columns.values()), ()))
    work = ColumnFormulas(records, rows)
    columns: dict[str, Sequence[Any]] = {}
    units: dict[str, str] = {}
    for name, value in constants.items():
        if name in records.axes:
            raise DseError(f"{name} is an axis of the file: leave it out")
        columns[name], work.sources[name] = [value] * rows, "given"
        if not isinstance(value, str):
            work.values[name] = np.full(rows, float(value))
    taken: set[str] = set()
    for name, choices in column_map.labels.items():
        aliased = (records.aliases.get(column, column) for column in choices)
        column = next((each for each in aliased if each in records.columns), None)
        if column is not None and name not in constants:
            values = records.columns[column]
            columns[name] = ["" if value is None else str(value) for value in values]
            work.sources[name] = f"{column_map.title}: {column}"
            taken.add(column)
        elif name in strict and choices and name not in constants:
            raise _unknown_column(choices[0], records)
    for name, formulas in column_map.helpers.items():
        work.compute_first(f"@{name}", formulas, column_map.title)
    left = [] if "machine" in columns or not column_map.title else ["machine"]
    for name, formulas in column_map.quantities.items():
        if name in constants:
            continue
        unit = work.compute_first(name, formulas, column_map.title)
        if unit is None:
            if name in strict and formulas:
                raise _unknown_column(formula_columns(formulas[0])[0], records)
            left.append(name)
            continue
        columns[name] = [None if v != v else v for v in work.values[name].tolist()]
        units[name] = unit
    notes = [*records.notes, *column_map.notes]
    assumptions = tuple(a for a in records.assumptions if a.partition(" ")[0] not in constants)
    for name, requests in _coalesced_requests(work.values):
        columns[name] = [None if v != v else v for v in requests.tolist()]
        work.sources[name] = f"{column_map.title}: mem_insts, if all bytes of sectors are used"
        left = [each for each in left if each != name]
    if None in columns.get("coalesced_insts", ()):
        notes.append(
            "coalesced_insts is left out where sectors are used in part: a profile of a whole "
            "kernel does not say which accesses are coalesced"
        )
    if left:
        notes.append(f"not in the file, so left out: {', '.join(left)}")
    axes = {name: name for name in records.axes}
    columns = {name: values for name, values in columns.items() if name not in axes}
    others = [n for n in records.columns if n not in columns and n not in {*taken, *axes}]
    known = records.kind in shipped_maps()
    rest = axes | (_unique_names(others, [*axes, *columns]) if known else {n: n for n in others})
    raw = {name: records.columns[column] for name, column in rest.items()}
    units = {**{n: records.units[c] for n, c in rest.items() if c in records.units}, **units}
    sources = {n: f"{column_map.title}: {c}" for n, c in rest.items()} if column_map.title else {}
    return replace(
        records,
        columns={**{n: raw.pop(n) for n in axes}, **columns, **raw},
        units=units,
        sources={**sources, **{n: work.sources[n] for n in columns}},
        notes=tuple(notes),
        assumptions=assumptions,
        labels=frozenset({*column_map.labels} & columns.keys()),
    )


def _unique_names(counters: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return names of counters, numbered where two would become the same identifier."""
    seen = {identifier(name) for name in columns}
    result = {}
    for counter in counters:
        name, count = counter, 2
        while identifier(name) in seen:
            name, count = f"{counter} {count}", count + 1
        seen.add(identifier(name))
        result[name] = counter
    return result


def _unknown_column(column: str, records: Records) -> UnknownNameError:
    known = list(records.columns)
    return UnknownNameError(
        f"the map names the column {column!r}, which is not in the file"
        f"{nearest_hint(column, known)}; there are: {', '.join(known[:40])}"
    )


def _coalesced_requests(values: Mapping[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield coalesced and uncoalesced requests; NaN if requests use only parts of sectors."""
    shares = [values.get(f"{kind}_efficiency") for kind in ("load", "store")]
    if "coalesced_insts" in values or "mem_insts" not in values or any(s is None for s in shares):
        return
    requests = values["mem_insts"]
    whole = np.full(len(requests), True)
    for share, some in zip(shares, ("global_loads", "global_stores"), strict=True):
        assert share is not None
        whole &= (share >= _COALESCED_PERCENT) | (values[some] == 0)
    yield "coalesced_insts", np.where(whole, requests, np.nan)
    yield "uncoalesced_insts", np.where(whole, 0.0, np.nan)
