"""Laws as people give them: texts with units, calls such as ``dse.uniform``, laws of others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.uncertain.csv_columns import columns_of, weights_of
from dse.uncertain.families import FAMILIES, Family, Law, of_values, within
from dse.uncertain.in_units import in_unit
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.quantities import Quantity

__all__ = [
    "Spoken",
    "beta",
    "discrete",
    "lognormal",
    "normal",
    "read",
    "triangular",
    "uniform",
]

_SHARE = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*%\s*")
_FORM = (
    "expected text such as 'normal: 450 cycles, 5 %' (or lognormal, uniform, triangular, beta, "
    "discrete), { file = 'runs.csv', column = 'name' }, a Pmf, or a frozen law of scipy.stats"
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A law by its name and numbers, before it is known which quantity has it."""

    name: str
    numbers: tuple[Any, ...]
    weights: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        if self.weights is None:
            return f"{self.name}: {', '.join(map(str, self.numbers))}"
        pairs = zip(self.numbers, self.weights, strict=True)
        return f"{self.name}: " + ", ".join(f"{value}: {weight}" for value, weight in pairs)


def normal(mean: Any, spread: Any) -> Spoken:
    """A normal law: its mean, and its standard deviation, which may be a share such as ``"5 %"``.

    Numbers are in the unit in which the quantity is stored, or texts with a unit.

    >>> print(normal("450 cycles", "5 %"))
    normal: 450 cycles, 5 %
    """
    return Spoken("normal", (mean, spread))


def lognormal(mean: Any, spread: Any) -> Spoken:
    """A law whose logarithm is normal: its mean and standard deviation, or the latter as a share.

    >>> print(lognormal("450 cycles", "20 %"))
    lognormal: 450 cycles, 20 %
    """
    return Spoken("lognormal", (mean, spread))


def uniform(low: Any, high: Any) -> Spoken:
    """Every number between two alike.

    >>> print(uniform("113 GB/s", "141.7 GB/s"))
    uniform: 113 GB/s, 141.7 GB/s
    """
    return Spoken("uniform", (low, high))


def triangular(low: Any, mode: Any, high: Any) -> Spoken:
    """A law that rises from an end to its mode and falls to the other end, both in straight lines.

    >>> print(triangular(400, 450, 600))
    triangular: 400, 450, 600
    """
    return Spoken("triangular", (low, mode, high))


def beta(a: float, b: float, low: Any = 0, high: Any = 1) -> Spoken:
    """The beta law with the exponents a - 1 and b - 1, between two ends.

    >>> print(beta(2, 5, "100 GB/s", "150 GB/s"))
    beta: 2, 5, 100 GB/s, 150 GB/s
    """
    return Spoken("beta", (a, b, low, high))


def discrete(values: Sequence[Any], weights: Sequence[Any] | None = None) -> Spoken:
    """Some values, with weights of which the ratios count; all alike where none are given.

    >>> print(discrete(["400 cycles", "450 cycles"], [0.3, 0.7]))
    discrete: 400 cycles: 0.3, 450 cycles: 0.7
    """
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise DseError(f"values = {values!r}: expected a list")
    return Spoken("discrete", tuple(values), None if weights is None else tuple(weights))


def _parsed(text: str, where: str) -> Spoken:
    name, colon, rest = text.partition(":")
    name = name.strip()
    known = [*FAMILIES, "discrete"]
    if name not in known or not colon:
        raise UnknownNameError(f"{where} = {text!r} is no law{nearest(name, known)}; {_FORM}")
    parts = [part.strip() for part in rest.split(",")]
    if name == "discrete":
        pairs = [part.rpartition(":") for part in parts]
        given = [bool(colon) for _, colon, _ in pairs]
        if any(given) and not all(given):
            raise DseError(f"{where} = {text!r}: give every value a weight, or none")
        if all(given):
            return Spoken(name, tuple(p[0].strip() for p in pairs), tuple(p[2] for p in pairs))
    return Spoken(name, tuple(parts))


def _numbers(spoken: Spoken, family: Family, row: Quantity, where: str, text: bool) -> list[float]:
    fewest = len(family.numbers) - family.optional
    if len(spoken.numbers) not in (fewest, len(family.numbers)):
        raise DseError(
            f"{where}: {spoken.name} takes {', '.join(family.numbers)}, and "
            f"{len(spoken.numbers)} numbers are given"
        )
    found: list[float] = []
    for name, value in zip(family.numbers, spoken.numbers, strict=False):
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


def read(value: Any, row: Quantity, where: str, folder: Path | None = None) -> Law:
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
    folder : Path, optional
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
        value = _parsed(value, where)
    if isinstance(value, Mapping):
        value, text = _mapped(value, row, where, folder), False
    if isinstance(value, Law):
        return within(value, row, where)
    if isinstance(value, Spoken):
        if value.name == "discrete":
            numbers = [in_unit(v, row, where, text=text) for v in value.numbers]
            return within(of_values(numbers, value.weights, where), row, str(value))
        family = FAMILIES[value.name]
        law = family.make(*_numbers(value, family, row, where, text))
        return within(law, row, str(value))
    found = _foreign(value, where)
    if found is None:
        raise DseError(f"{where} = {value!r} is no law; {_FORM}")
    return within(found, row, where)


def _mapped(value: Mapping[str, Any], row: Quantity, where: str, folder: Path | None) -> Law:
    keys = set(value)
    if {"values"} <= keys <= {"values", "weights"}:
        spoken = discrete(value["values"], value.get("weights"))
        numbers = [in_unit(v, row, where, text=False) for v in spoken.numbers]
        return of_values(numbers, spoken.weights, where)
    if {"file", "column"} <= keys <= {"file", "column", "unit", "weights"}:
        units = {value["column"]: str(value.get("unit", ""))}
        wanted = {row.name: value["column"]}
        found = columns_of(value["file"], wanted, {row.name: row}, units, where, folder)
        weights = weights_of(value["file"], value.get("weights"), where, folder)
        return of_values(found[row.name], weights, where)
    raise DseError(f"{where} = {dict(value)!r} is no law; {_FORM}")


def _foreign(value: Any, where: str) -> Law | None:
    """The law of a Pmf, or of a frozen law of scipy.stats."""
    from stochastic import Pmf

    if hasattr(value, "dist") and hasattr(value.dist, "pmf"):
        value = Pmf.from_scipy(value)
    if isinstance(value, Pmf):
        law = value if value.is_finite else value.cut(1e-9)
        weights = law.exact or law.weights.tolist()
        return of_values([law.low + k for k in range(len(weights))], weights, where)
    if hasattr(value, "ppf") and hasattr(value, "cdf") and hasattr(value, "dist"):
        return Law(
            quantile=lambda u: np.asarray(value.ppf(u), dtype=np.float64),
            cdf=lambda x: float(value.cdf(x)),
        )
    return None
