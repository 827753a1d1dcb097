"""Read the laws of single quantities from text, tables, files and distribution objects."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.delimited import normalize_unit, read_delimited, split_column_header, table_errors
from dse.uncertain.constructors import LawSpec, discrete
from stochastic.checks import LawError
from stochastic.work.parse import LawSyntax, split_law
from symbolic.errors import DomainError, DseError, UnitError, check_name
from symbolic.file_access import TABLE_LIMIT, PathBase, allowed_path
from symbolic.quantities import Quantity
from symbolic.units import dimension

Floats = NDArray[np.float64]
Table: TypeAlias = Mapping[str, Any]

#: A law is refused if more than this probability lies outside the domain of its quantity.
_MAX_CUT_SHARE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLaw:
    """The law of one quantity in its stored unit, as quantile function and CDF.

    Discrete laws also have ``values`` and ``weights``. ``note`` says which part was cut off.
    """

    quantile: Callable[[Floats], Floats]
    cdf: Callable[[float], float]
    values: tuple[float, ...] = ()
    weights: tuple[Fraction, ...] = ()
    note: str = ""


def truncate_to_domain(law: InputLaw, row: Quantity, text: str) -> InputLaw:
    """Truncate a law to the domain of its quantity; raise an error if over 0.1 % lies outside."""
    domain = row.domain
    if law.values:
        row.check(np.array(law.values), f"a value of {text}")
        return law
    if domain.whole:
        raise DomainError(
            f"{row.name} takes whole numbers, but {text!r} is continuous: give a discrete law, "
            "such as 'discrete: 1: 0.5, 2: 0.5'"
        )
    below = law.cdf(domain.low) if math.isfinite(domain.low) else 0.0
    above = 1 - law.cdf(domain.high) if math.isfinite(domain.high) else 0.0
    outside = below + above
    if outside <= 0:
        return law
    if outside > _MAX_CUT_SHARE:
        raise DomainError(
            f"{row.name}: {outside:.2%} of {text!r} is outside its domain {domain}"
            f"{' ' + row.unit if row.unit else ''}: give a narrower law, or one that stays inside, "
            "such as lognormal"
        )
    inner = law.quantile
    share = 1 - outside
    return replace(
        law,
        quantile=lambda u: inner(below + share * u),
        cdf=lambda x: min(max((law.cdf(x) - below) / share, 0.0), 1.0),
        note=f"truncated to {domain} ({outside:.2g} of it cut off)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLawFamily:
    """Syntax, constructor and validity rule of a family of laws.

    The numbers in ``unitless`` have no unit. The numbers in ``relative`` may be percentages of the
    first number.
    """

    form: LawSyntax
    make: Callable[..., InputLaw]
    is_valid: Callable[..., bool]
    requirement: str
    unitless: tuple[str, ...] = ()
    relative: tuple[str, ...] = ()


def _normal(mean: float, spread: float) -> InputLaw:
    from scipy.special import ndtr, ndtri

    return InputLaw(
        quantile=lambda u: mean + spread * ndtri(u),
        cdf=lambda x: float(ndtr((x - mean) / spread)),
    )


def _lognormal(mean: float, spread: float) -> InputLaw:
    from scipy.special import ndtr, ndtri

    width = math.sqrt(math.log1p((spread / mean) ** 2))
    middle = math.log(mean) - width**2 / 2
    return InputLaw(
        quantile=lambda u: np.exp(middle + width * ndtri(u)),
        cdf=lambda x: float(ndtr((math.log(x) - middle) / width)) if x > 0 else 0.0,
    )


def _uniform(low: float, high: float) -> InputLaw:
    return InputLaw(
        quantile=lambda u: low + (high - low) * u,
        cdf=lambda x: min(max((x - low) / (high - low), 0.0), 1.0),
    )


def _triangular(low: float, mode: float, high: float) -> InputLaw:
    width, left = high - low, mode - low
    turn = left / width

    def quantile(u: Floats) -> Floats:
        rising = low + np.sqrt(u * width * left)
        falling = high - np.sqrt((1 - u) * width * (high - mode))
        return np.where(u < turn, rising, falling)

    def cdf(x: float) -> float:
        if x <= low or x >= high:
            return float(x >= high)
        if x < mode:
            return (x - low) ** 2 / (width * left)
        return 1 - (high - x) ** 2 / (width * (high - mode)) if mode < high else 1.0

    return InputLaw(quantile=quantile, cdf=cdf)


def _beta(a: float, b: float, low: float = 0.0, high: float = 1.0) -> InputLaw:
    from scipy.special import betainc, betaincinv

    return InputLaw(
        quantile=lambda u: low + (high - low) * betaincinv(a, b, u),
        cdf=lambda x: float(betainc(a, b, min(max((x - low) / (high - low), 0.0), 1.0))),
    )


FAMILIES: dict[str, InputLawFamily] = {
    "normal": InputLawFamily(
        form=LawSyntax(("mean", "spread"), "normal: 450 cycles, 5 %"),
        make=_normal,
        is_valid=lambda mean, spread: spread > 0,
        requirement="the spread, a standard deviation, is above 0",
        relative=("spread",),
    ),
    "lognormal": InputLawFamily(
        form=LawSyntax(("mean", "spread"), "lognormal: 450 cycles, 20 %"),
        make=_lognormal,
        is_valid=lambda mean, spread: mean > 0 and spread > 0,
        requirement="the mean and the spread, a standard deviation, are above 0",
        relative=("spread",),
    ),
    "uniform": InputLawFamily(
        form=LawSyntax(("low", "high"), "uniform: 113 GB/s, 141.7 GB/s"),
        make=_uniform,
        is_valid=lambda low, high: low < high,
        requirement="the first is below the second",
    ),
    "triangular": InputLawFamily(
        form=LawSyntax(("low", "mode", "high"), "triangular: 400, 450, 600"),
        make=_triangular,
        is_valid=lambda low, mode, high: low <= mode <= high and low < high,
        requirement="the mode is between the ends, the lower end first",
    ),
    "beta": InputLawFamily(
        form=LawSyntax(("a", "b", "low", "high"), "beta: 2, 5, 100 GB/s, 150 GB/s", optional=2),
        make=_beta,
        is_valid=lambda a, b, low=0.0, high=1.0: a > 0 and b > 0 and low < high,
        requirement="a and b are above 0, and the lower end is below the upper end",
        unitless=("a", "b"),
    ),
}


def discrete_law(values: Sequence[float], weights: Sequence[Any] | None, where: str) -> InputLaw:
    """Return the law of some values with relative weights."""
    shares = normalize_weights(weights, len(values), where)
    order = np.argsort(np.array(values, dtype=float), kind="stable")
    ordered = np.array(values, dtype=np.float64)[order]
    ends = np.cumsum([float(shares[place]) for place in order])

    def quantile(u: Floats) -> Floats:
        return np.asarray(ordered[np.minimum(np.searchsorted(ends, u), ordered.size - 1)])

    def cdf(x: float) -> float:
        return float(ends[np.searchsorted(ordered, x, side="right") - 1]) if x >= ordered[0] else 0

    together: dict[float, Fraction] = {}
    for place in order.tolist():
        value = float(values[place])
        together[value] = together.get(value, Fraction(0)) + shares[place]
    atoms = {value: share for value, share in together.items() if share}
    return InputLaw(quantile=quantile, cdf=cdf, values=tuple(atoms), weights=tuple(atoms.values()))


def normalize_weights(weights: Any, count: int, where: str) -> tuple[Fraction, ...]:
    """Return weights as exact probabilities; if ``weights`` is None, all are equal."""
    if not count:
        raise DseError(f"{where} has no values: give it at least one")
    if weights is None:
        return (Fraction(1, count),) * count
    if isinstance(weights, str) or not hasattr(weights, "__len__"):
        raise DseError(f"{where}: weights = {weights!r}, expected a list of numbers")
    if len(weights) != count:
        raise DseError(f"{where} has {count} values but {len(weights)} weights")
    result = [_read_weight(weight, where) for weight in weights]
    total = sum(result)
    if not total:
        raise DseError(f"{where}: all weights are 0: give one value a weight above 0")
    return tuple(weight / total for weight in result)


def _read_weight(weight: Any, where: str) -> Fraction:
    try:
        if isinstance(weight, (bool, np.bool_)):
            raise ValueError
        # as written: 0.1 is 1/10
        result = weight if isinstance(weight, Fraction) else Fraction(str(weight))
        if result < 0:
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise DseError(f"{where}: the weight {weight!r} is no number of at least 0") from None
    return result


_FORMS = {name: family.form for name, family in FAMILIES.items()}
_FORMS["discrete"] = LawSyntax(
    (), "discrete: 400 cycles: 0.3, 450 cycles: 0.7", placeholder="VALUE: WEIGHT, ..."
)
_OTHER_FORMS = "{ file = 'runs.csv', column = 'name' }, a Pmf, or a frozen law of scipy.stats"
_LAW = f"text such as 'normal: 450 cycles, 5 %', {_OTHER_FORMS}"
_PERCENT_PATTERN = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*%\s*")


def read_input_law(value: Any, row: Quantity, where: str, folder: PathBase = None) -> InputLaw:
    """Read the law of one quantity; error messages begin with ``where``.

    ``value`` is text (``"normal: 450 cycles, 5 %"``), a :class:`LawSpec`, a column of a file
    (``{"file": path, "column": name, "unit": ..., "weights": name}``), a table
    ``{"values": [...], "weights": [...]}``, a :class:`stochastic.Pmf`, or a frozen law of SciPy.
    """
    if row.is_label:
        raise DseError(f"{where}: {row.name} takes labels, not numbers, and cannot have a law")
    text = isinstance(value, str)
    if text:
        value = _parse_law_text(value, where)
    if isinstance(value, Mapping):
        value, text = _law_of_table(value, row, where, folder), False
    if isinstance(value, InputLaw):
        return truncate_to_domain(value, row, where)
    if isinstance(value, LawSpec):
        if value.name == "discrete":
            numbers = [read_number(v, row, where, text=text) for v in value.numbers]
            return truncate_to_domain(discrete_law(numbers, value.weights, where), row, str(value))
        family = FAMILIES[value.name]
        law = family.make(*read_parameters(value, family, row, where, text))
        return truncate_to_domain(law, row, str(value))
    result = _law_of_object(value, where)
    if result is None:
        raise DseError(f"{where} = {value!r} is no law: expected {_LAW}")
    return truncate_to_domain(result, row, where)


def _law_of_table(value: Table, row: Quantity, where: str, folder: PathBase) -> InputLaw:
    keys = set(value)
    if {"values"} <= keys <= {"values", "weights"}:
        spec = discrete(value["values"], value.get("weights"))
        numbers = [read_number(v, row, where, text=False) for v in spec.numbers]
        return discrete_law(numbers, spec.weights, where)
    if {"file", "column"} <= keys <= {"file", "column", "unit", "weights"}:
        units = {value["column"]: str(value.get("unit", ""))}
        columns = {row.name: value["column"]}
        result, weights = read_csv_columns(value, columns, {row.name: row}, units, where, folder)
        return discrete_law(result[row.name], weights, where)
    raise DseError(f"{where} = {dict(value)!r} is no law: expected {_LAW}")


def _law_of_object(value: Any, where: str) -> InputLaw | None:
    from stochastic import Pmf

    if hasattr(value, "dist") and hasattr(value.dist, "pmf"):
        value = Pmf.from_scipy(value)
    if isinstance(value, Pmf):
        law = value if value.is_finite else value.cut(1e-9)
        weights = law.weights.tolist()
        return discrete_law([law.low + k for k in range(len(weights))], weights, where)
    if hasattr(value, "ppf") and hasattr(value, "cdf") and hasattr(value, "dist"):
        return InputLaw(
            quantile=lambda u: np.asarray(value.ppf(u), dtype=np.float64),
            cdf=lambda x: float(value.cdf(x)),
        )
    return None


def _parse_law_text(text: str, where: str) -> LawSpec:
    """Split the text of a law into its family and its numbers, which stay text."""
    try:
        name, words = split_law(text, _FORMS, _OTHER_FORMS)
    except LawError as error:
        raise DseError(f"{where} = {error}") from None
    if name == "discrete":
        pairs = [word.rpartition(":") for word in words]
        weighed = [bool(colon) for _, colon, _ in pairs]
        if any(weighed) and not all(weighed):
            raise DseError(f"{where} = {text!r}: give all values weights, or none")
        if all(weighed):
            return LawSpec(name, tuple(p[0].strip() for p in pairs), tuple(p[2] for p in pairs))
    return LawSpec(name, tuple(words))


def read_number(value: Any, row: Quantity, where: str, *, text: bool) -> float:
    """Return a number in the stored unit of a quantity.

    If ``text`` is True, a number needs a unit, unless the quantity has no unit.
    """
    from symbolic.expression import parse_value

    if isinstance(value, str):
        try:
            result = parse_value(value, row, {})
        except UnitError as error:
            raise UnitError(f"{where}: {error}") from None
        except DseError:
            raise DseError(f"{where} has {value!r}: expected a number with its unit") from None
        is_bare = re.fullmatch(r"[-+\d.eE_\s]+", value) is not None
        if is_bare and text and not dimension(row.unit).is_plain:
            raise UnitError(
                f"{where} has {value!r} without a unit, and {row.name} is in {row.unit}: write "
                f"the unit, as in {value.strip()} {row.unit}"
            )
        return float(result)
    numeric = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, (bool, np.bool_)) or not numeric:
        raise DseError(f"{where} has {value!r}: expected a number, with or without a unit")
    if not np.isfinite(value):
        raise DseError(f"{where} has {value!r}: expected a finite number")
    return float(value)


def read_parameters(
    spec: LawSpec, family: InputLawFamily, row: Quantity, where: str, text: bool
) -> list[float]:
    """Return the numbers of a law in the stored unit of its quantity."""
    result: list[float] = []
    for name, value in zip(family.form.numbers, spec.numbers, strict=False):
        share = _PERCENT_PATTERN.fullmatch(value) if isinstance(value, str) else None
        if share and name in family.relative:
            result.append(abs(result[0]) * float(share[1]) / 100)
        elif name in family.unitless:
            result.append(read_number(value, Quantity(name=name), where, text=False))
        else:
            result.append(read_number(value, row, where, text=text))
    if not family.is_valid(*result):
        shown = ", ".join(map(str, spec.numbers))
        raise DseError(f"{where}: {spec.name} of {shown}: expected that {family.requirement}")
    return result


def _read_csv(path: Any, where: str, folder: PathBase) -> dict[str, list[str]]:
    if not isinstance(path, (str, Path)):
        raise DseError(f"{where}: file = {path!r}, expected the path of a CSV file")
    place = allowed_path(path, folder, "table of draws", TABLE_LIMIT)
    try:
        table = read_delimited(place)
        with table_errors():
            columns = table.parse_numbers().columns
    except DseError as error:
        raise DseError(f"{where}: the file {str(path)!r} cannot be read: {error}") from error
    if not table.lines:
        raise DseError(f"{where}: the file {str(path)!r} has no rows below its names of columns")
    texts = [["" if v is None else str(v) for v in column] for column in columns]
    return dict(zip(table.names, texts, strict=True))


def _find_header(columns: Mapping[str, list[str]], name: Any, path: Any, where: str) -> str:
    short = {split_column_header(text)[0]: text for text in columns}
    problem = f"{where}: {str(path)!r} has no column {name!r}"
    check_name(name, {**columns, **short}, problem, "it has")
    return name if name in columns else short[name]


def read_csv_columns(
    value: Table,
    columns: Mapping[str, str],
    quantities: Mapping[str, Quantity],
    units: Mapping[str, str],
    where: str,
    folder: PathBase,
) -> tuple[dict[str, list[float]], list[str] | None]:
    """Return the values of quantities from columns of a CSV file, and the weights of its rows.

    ``units`` are the units of columns whose headers have none.
    """
    path = value["file"]
    rows = _read_csv(path, where, folder)
    result = {}
    for name, column in columns.items():
        header = _find_header(rows, column, path, where)
        row, unit = quantities[name], units.get(column, "")
        header_unit = split_column_header(header)[1] or ""
        if header_unit and unit and normalize_unit(header_unit) != normalize_unit(unit):
            raise UnitError(
                f"{where}: the column {header!r} has the unit {header_unit}, but unit = {unit!r} "
                "is given: leave one out"
            )
        unit = unit or header_unit
        if not unit and not dimension(row.unit).is_plain:
            raise UnitError(
                f"{where}: the column {column!r} has no unit, and {name} is in {row.unit}: give "
                f"one, as in unit = {row.unit!r}"
            )
        texts = rows[header]
        result[name] = [read_number(f"{t} {unit}".strip(), row, where, text=False) for t in texts]
    if value.get("weights") is None:
        return result, None
    header = _find_header(rows, value["weights"], path, where)
    return result, [text.strip() for text in rows[header]]
