"""From columns of a file to quantities, by a map of formulas: TOML, or ``COLUMN=QUANTITY:UNIT``.

The maps of tools and of tables that are known by their columns lie in ``dse/data/profiles``. A
formula is ``column``, ``column * column``, ``32 * column + column``, ``... / column``, with the
unit of what comes of it in brackets, ``xtime [ns]``; of several the first whose columns are there
counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.measured.formulas import Formulas, columns_of
from dse.measured.maps import ColumnMap, shipped
from dse.measured.records import Records, identifier
from symbolic.errors import DseError, UnknownNameError, nearest

__all__ = ["mapped"]

#: Of these a request is coalesced: it loads what it needs, to half of what is printed last.
_WHOLE = 99.995


def mapped(
    records: Records,
    chosen: ColumnMap | None,
    given: Mapping[str, float | str],
    own: ColumnMap | None = None,
) -> Records:
    """Records with the quantities that their columns tell, before the columns themselves.

    Parameters
    ----------
    records : Records
        What a file holds.
    chosen : ColumnMap, optional
        What its columns mean.
    given : mapping
        Quantities and labels of all rows that the file does not tell.
    own : ColumnMap, optional
        The part of the map whose columns have to be there; what others lack is noted.
    """
    chosen = chosen or ColumnMap(title="")
    strict = {*own.labels, *own.quantities} if own is not None else set()
    rows = len(next(iter(records.columns.values()), ()))
    work = Formulas(records, rows)
    columns: dict[str, Sequence[Any]] = {}
    units: dict[str, str] = {}
    for name, value in given.items():
        if name in records.axes:
            raise DseError(f"{name} is given, and {name} is an axis of the file: leave it out")
        columns[name], work.sources[name] = [value] * rows, "given"
        if not isinstance(value, str):
            work.values[name] = np.full(rows, float(value))
    taken: set[str] = set()
    for name, choices in chosen.labels.items():
        aliased = (records.aliases.get(column, column) for column in choices)
        found = next((column for column in aliased if column in records.columns), None)
        if found is not None and name not in given:
            told = records.columns[found]
            columns[name] = ["" if value is None else str(value) for value in told]
            work.sources[name] = f"{chosen.title}: {found}"
            taken.add(found)
        elif name in strict and choices and name not in given:
            raise _unknown(choices[0], records)
    for name, formulas in chosen.helpers.items():
        work.solve(f"@{name}", formulas, chosen.title)
    left = [] if "machine" in columns or not chosen.title else ["machine"]
    for name, formulas in chosen.quantities.items():
        if name in given:
            continue
        unit = work.solve(name, formulas, chosen.title)
        if unit is None:
            if name in strict and formulas:
                raise _unknown(columns_of(formulas[0])[0], records)
            left.append(name)
            continue
        values = work.values[name]
        columns[name] = [None if v != v else v for v in values.tolist()]
        units[name] = unit
    notes = [*records.notes, *chosen.notes]
    assumptions = tuple(a for a in records.assumptions if a.partition(" ")[0] not in given)
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
    columns = {name: values for name, values in columns.items() if name not in records.axes}
    others = [n for n in records.columns if n not in columns and n not in taken]
    kept = _apart(others, columns) if records.kind in shipped() else {n: n for n in others}
    raw = {name: records.columns[column] for name, column in kept.items()}
    units = {**{n: records.units[c] for n, c in kept.items() if c in records.units}, **units}
    sources = {n: f"{chosen.title}: {c}" for n, c in kept.items()} if chosen.title else {}
    return replace(
        records,
        columns={**{n: raw.pop(n) for n in records.axes}, **columns, **raw},
        units=units,
        sources={**sources, **{n: work.sources[n] for n in columns}},
        notes=tuple(notes),
        assumptions=assumptions,
        labels=frozenset({*chosen.labels} & columns.keys()),
    )


def _apart(counters: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Names of counters that differ in formulas too: of two alike, the second is numbered."""
    seen = {identifier(name) for name in columns}
    found = {}
    for told in counters:
        name, count = told, 2
        while identifier(name) in seen:
            name, count = f"{told} {count}", count + 1
        seen.add(identifier(name))
        found[name] = told
    return found


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
