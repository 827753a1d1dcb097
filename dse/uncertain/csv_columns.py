"""Values of quantities in the columns of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.uncertain.in_units import in_unit
from symbolic.errors import DseError, UnitError, check_known
from symbolic.quantities import Quantity
from symbolic.units import dimension

__all__ = ["columns_of", "weights_of"]


def _rows(path: Any, where: str, folder: Path | None) -> list[dict[str, str]]:
    if not isinstance(path, (str, Path)):
        raise DseError(f"{where}: file = {path!r}, expected the path of a CSV file")
    place = (folder / path) if folder is not None else Path(path)
    try:
        with place.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DseError(f"{where}: the file {str(path)!r} cannot be read: {error}") from error
    if not rows:
        raise DseError(f"{where}: the file {str(path)!r} has no rows below its names of columns")
    return rows


def _column(rows: list[dict[str, str]], name: Any, path: Any, where: str) -> list[str]:
    check_known(name, rows[0], f"{where}: {str(path)!r} has no column {name!r}", "it has")
    return [row[name] or "" for row in rows]


def columns_of(
    path: Any,
    columns: Mapping[str, str],
    quantities: Mapping[str, Quantity],
    units: Mapping[str, str],
    where: str,
    folder: Path | None,
) -> dict[str, list[float]]:
    """The values of quantities in columns of a CSV file; ``units`` are those of the columns."""
    rows = _rows(path, where, folder)
    found = {}
    for name, column in columns.items():
        row, unit = quantities[name], units.get(column, "")
        if not unit and not dimension(row.unit).is_plain:
            raise UnitError(
                f"{where}: the column {column!r} bears no unit, and {name} is in {row.unit}: give "
                f"one, as in unit = {row.unit!r}"
            )
        texts = _column(rows, column, path, where)
        found[name] = [in_unit(f"{t} {unit}".strip(), row, where, text=False) for t in texts]
    return found


def weights_of(path: Any, column: Any, where: str, folder: Path | None) -> list[str] | None:
    """The weights of the rows of a CSV file, where a column has them."""
    if column is None:
        return None
    return [text.strip() for text in _column(_rows(path, where, folder), column, path, where)]
