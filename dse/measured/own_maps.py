"""A map of columns as a person writes it: a file, or ``COLUMN=QUANTITY:UNIT``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dse.measured.maps import ColumnMap, read_map, shipped
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.quantities import TABLE

__all__ = ["own_map"]


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
