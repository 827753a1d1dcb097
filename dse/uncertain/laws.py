"""Laws as people give them, read: text, numbers with their units, files, laws of others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dse.delimited import column_header, input_errors, known_unit, table_of
from dse.uncertain.families import FAMILIES, Family, Law, of_values, within
from dse.uncertain.spoken import Spoken, discrete
from stochastic.errors import LawError
from stochastic.work.parse import Form, family_and_words
from symbolic.errors import DseError, UnitError, check_known
from symbolic.quantities import Quantity
from symbolic.reach import TABLE_LIMIT, Base, located
from symbolic.units import dimension

_FORMS = {name: family.form for name, family in FAMILIES.items()}
_FORMS["discrete"] = Form(
    (), "discrete: 400 cycles: 0.3, 450 cycles: 0.7", several="VALUE: WEIGHT, ..."
)
_OTHERS = "{ file = 'runs.csv', column = 'name' }, a Pmf, or a frozen law of scipy.stats"
_LAW = f"text such as 'normal: 450 cycles, 5 %', {_OTHERS}"
_SHARE = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*%\s*")


def read(value: Any, row: Quantity, where: str, folder: Base = None) -> Law:
    """The law of a quantity.

    Parameters
    ----------
    value : str, Spoken, mapping, Pmf or frozen law
        ``"normal: 450 cycles, 5 %"``; what :func:`normal` and its like make;
        ``{"file": path, "column": name, "unit": ..., "weights": name}``, rows of measurements, each
        as likely as the others or by its weight; ``{"values": [...], "weights": [...]}``; a
        :class:`stochastic.Pmf`; a law of ``scipy.stats`` with its parameters.
    row : Quantity
        The quantity.
    where : str
        What stands before it in messages.
    folder : Path or Reach, optional
        The folder against which the path of a file is read.

    Raises
    ------
    DseError
        No law, a number without its unit, or a law that leaves the domain of the quantity.
    """
    if row.is_label:
        raise DseError(f"{where}: {row.name} takes labels, not numbers, and cannot have a law")
    text = isinstance(value, str)
    if isinstance(value, str):
        value = _spoken(value, where)
    if isinstance(value, Mapping):
        value, text = _mapped(value, row, where, folder), False
    if isinstance(value, Law):
        return within(value, row, where)
    if isinstance(value, Spoken):
        if value.name == "discrete":
            numbers = [in_unit(v, row, where, text=text) for v in value.numbers]
            return within(of_values(numbers, value.weights, where), row, str(value))
        family = FAMILIES[value.name]
        law = family.make(*numbers_of(value, family, row, where, text))
        return within(law, row, str(value))
    found = _foreign(value, where)
    if found is None:
        raise DseError(f"{where} = {value!r} is no law: expected {_LAW}")
    return within(found, row, where)


def _mapped(value: Mapping[str, Any], row: Quantity, where: str, folder: Base) -> Law:
    keys = set(value)
    if {"values"} <= keys <= {"values", "weights"}:
        spoken = discrete(value["values"], value.get("weights"))
        numbers = [in_unit(v, row, where, text=False) for v in spoken.numbers]
        return of_values(numbers, spoken.weights, where)
    if {"file", "column"} <= keys <= {"file", "column", "unit", "weights"}:
        units = {value["column"]: str(value.get("unit", ""))}
        wanted = {row.name: value["column"]}
        found, weights = columns_of(value, wanted, {row.name: row}, units, where, folder)
        return of_values(found[row.name], weights, where)
    raise DseError(f"{where} = {dict(value)!r} is no law: expected {_LAW}")


def _foreign(value: Any, where: str) -> Law | None:
    """The law of a Pmf, or of a frozen law of scipy.stats."""
    from stochastic import Pmf

    if hasattr(value, "dist") and hasattr(value.dist, "pmf"):
        value = Pmf.from_scipy(value)
    if isinstance(value, Pmf):
        law = value if value.is_finite else value.cut(1e-9)
        weights = law.weights.tolist()
        return of_values([law.low + k for k in range(len(weights))], weights, where)
    if hasattr(value, "ppf") and hasattr(value, "cdf") and hasattr(value, "dist"):
        return Law(
            quantile=lambda u: np.asarray(value.ppf(u), dtype=np.float64),
            cdf=lambda x: float(value.cdf(x)),
        )
    return None


def _spoken(text: str, where: str) -> Spoken:
    """Return a law as text by its family and its numbers, still words."""
    try:
        name, words = family_and_words(text, _FORMS, _OTHERS)
    except LawError as error:
        raise DseError(f"{where} = {error}") from None
    if name == "discrete":
        pairs = [word.rpartition(":") for word in words]
        weighed = [bool(colon) for _, colon, _ in pairs]
        if any(weighed) and not all(weighed):
            raise DseError(f"{where} = {text!r}: give every value a weight, or none")
        if all(weighed):
            return Spoken(name, tuple(p[0].strip() for p in pairs), tuple(p[2] for p in pairs))
    return Spoken(name, tuple(words))


def in_unit(value: Any, row: Quantity, where: str, *, text: bool) -> float:
    """A number in the stored unit of a quantity; in a text it bears a unit, if there is one."""
    from symbolic.expression import parse_value

    if isinstance(value, str):
        try:
            found = parse_value(value, row, {})
        except UnitError as error:
            raise UnitError(f"{where}: {error}") from None
        except DseError:
            raise DseError(f"{where} holds {value!r}: expected a number with its unit") from None
        bare = re.fullmatch(r"[-+\d.eE_\s]+", value) is not None
        if bare and text and not dimension(row.unit).is_plain:
            raise UnitError(
                f"{where} holds {value!r} without a unit, and {row.name} is in {row.unit}: write "
                f"the unit, as in {value.strip()} {row.unit}"
            )
        return float(found)  # without a name it is no formula
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise DseError(f"{where} holds {value!r}: expected a number, with or without a unit")
    if not np.isfinite(value):
        raise DseError(f"{where} holds {value!r}: expected a finite number")
    return float(value)


def numbers_of(
    spoken: Spoken, family: Family, row: Quantity, where: str, text: bool
) -> list[float]:
    """Return the numbers that a family takes; a share is one of the first."""
    found: list[float] = []
    for name, value in zip(family.form.numbers, spoken.numbers, strict=False):
        share = _SHARE.fullmatch(value) if isinstance(value, str) else None
        if share and name in family.shares:
            found.append(abs(found[0]) * float(share[1]) / 100)
        elif name in family.plain:
            found.append(in_unit(value, Quantity(name=name), where, text=False))
        else:
            found.append(in_unit(value, row, where, text=text))
    if not family.holds(*found):
        shown = ", ".join(map(str, spoken.numbers))
        raise DseError(f"{where}: {spoken.name} of {shown}: expected that {family.must}")
    return found


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
    value: Mapping[str, Any],
    columns: Mapping[str, str],
    quantities: Mapping[str, Quantity],
    units: Mapping[str, str],
    where: str,
    folder: Base,
) -> tuple[dict[str, list[float]], list[str] | None]:
    """Return the values of quantities in columns of a CSV file, and the weights of its rows.

    ``units`` are those of the columns.
    """
    path = value["file"]
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
    if value.get("weights") is None:
        return found, None
    return found, [text.strip() for text in rows[_column(rows, value["weights"], path, where)]]
