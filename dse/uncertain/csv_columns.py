"""Values of quantities in the columns of a CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.delimited import column_header, input_errors, known_unit, table_of
from dse.uncertain.in_units import in_unit
from symbolic.errors import DseError, UnitError, check_known
from symbolic.quantities import Quantity
from symbolic.reach import TABLE_LIMIT, Base, located
from symbolic.units import dimension

__all__ = ["columns_of", "weights_of"]


def _rows(path: Any, where: str, folder: Base) -> dict[str, list[str]]:
    if not isinstance(path, (str, Path)):
        raise DseError(f"{where}: file = {path!r}, expected the path of a CSV file")
    place = located(path, folder, "table of draws", TABLE_LIMIT)
    try:
        table = table_of(place)
        with input_errors():
            columns = table.numbers().columns
    except DseError as error:
        raise DseError(f"{where}: the file {str(path)!r} cannot be read: {error}") from error
    if not table.lines:
        raise DseError(f"{where}: the file {str(path)!r} has no rows below its names of columns")
    texts = [["" if v is None else str(v) for v in column] for column in columns]
    return dict(zip(table.names, texts, strict=True))


def _column(columns: Mapping[str, list[str]], name: Any, path: Any, where: str) -> str:
    """Return the header of a column, which is given whole or without its unit."""
    short = {column_header(text)[0]: text for text in columns}
    check_known(
        name, {**columns, **short}, f"{where}: {str(path)!r} has no column {name!r}", "it has"
    )
    return name if name in columns else short[name]


def columns_of(
    path: Any,
    columns: Mapping[str, str],
    quantities: Mapping[str, Quantity],
    units: Mapping[str, str],
    where: str,
    folder: Base,
) -> dict[str, list[float]]:
    """The values of quantities in columns of a CSV file; ``units`` are those of the columns."""
    rows = _rows(path, where, folder)
    found = {}
    for name, column in columns.items():
        header = _column(rows, column, path, where)
        row, unit, own = quantities[name], units.get(column, ""), column_header(header)[1] or ""
        if own and unit and known_unit(own) != known_unit(unit):
            raise UnitError(
                f"{where}: the column {header!r} bears the unit {own}, and unit = {unit!r} is "
                "given: leave one out"
            )
        unit = unit or own
        if not unit and not dimension(row.unit).is_plain:
            raise UnitError(
                f"{where}: the column {column!r} bears no unit, and {name} is in {row.unit}: give "
                f"one, as in unit = {row.unit!r}"
            )
        texts = rows[header]
        found[name] = [in_unit(f"{t} {unit}".strip(), row, where, text=False) for t in texts]
    return found


def weights_of(path: Any, column: Any, where: str, folder: Base) -> list[str] | None:
    """The weights of the rows of a CSV file, where a column has them."""
    if column is None:
        return None
    rows = _rows(path, where, folder)
    return [text.strip() for text in rows[_column(rows, column, path, where)]]
