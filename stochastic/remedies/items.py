"""The work of the items of a trace, from a file or an array."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import delimited
from stochastic.delimited.numerals import numbers
from stochastic.errors import LawError

if TYPE_CHECKING:
    import numpy.typing as npt

    Items = npt.NDArray[np.int64]

__all__ = ["items_of"]


# --- what is given
def items_of(trace: Any, row_pointers: bool = False, column: int | str | None = None) -> Items:
    """The items of a trace, checked."""
    given = _read(Path(trace), column) if isinstance(trace, (str, Path)) else np.asarray(trace)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise LawError(
            f"a trace of {given.ndim} dimensions and type {given.dtype}: expected the iterations "
            "of each item, whole numbers in one dimension"
        )
    if not len(given):
        raise LawError("the trace is empty: expected the iterations of one item or more")
    wrong = np.flatnonzero(~((given >= 0) & (given < 2.0**53) & (given == np.floor(given))))
    if len(wrong):
        raise LawError(
            f"item {wrong[0]} of the trace is {given[wrong[0]]}: expected a whole number, 0 or more"
        )
    items = given.astype(np.int64)
    if row_pointers:
        items = np.diff(items)
        if not len(items):
            raise LawError("one row pointer bounds no row: expected those of one row or more")
        if items.min() < 0:
            row = int(np.argmax(items < 0))
            raise LawError(
                f"row pointers descend from {given[row]} to {given[row + 1]} at row {row}; give "
                "row_pointers=False where the trace holds lengths"
            )
    if items.max() * float(len(items)) > 2.0**62:
        raise LawError("the items of the trace sum to more than 2**62: count them in larger units")
    return items


def _read(path: Path, column: int | str | None) -> npt.NDArray[Any]:
    """Return a column of a file of delimited text, with or without a header."""
    said = f"{path} cannot be read as a file of items"
    try:
        table = delimited.read(path, header=False)
        place = _place(path, column, list(table.names), len(table.columns))
        values = numbers([table.columns[place]], table.lines, table.name).columns[0]
    except delimited.TableError as error:
        raise LawError(f"{said}: {error}") from error.__cause__
    for line, value in zip(table.lines, values, strict=True):
        if value is None or isinstance(value, str):
            text = value or "an empty cell"
            raise LawError(f"{said}: line {line}: {text!r} is no number of iterations")
    return np.array(values, dtype=np.float64)


def _place(path: Path, column: int | str | None, names: list[str], count: int) -> int:
    told = ", ".join(names) if names else f"0 to {count - 1}"
    if column is None:
        if count > 1:
            raise LawError(f"{path} has the columns {told}: say which one with column=")
        return 0
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int) and not isinstance(column, bool) and 0 <= column < count:
        return column
    raise LawError(f"{path} has no column {column!r}: expected one of {told}")
