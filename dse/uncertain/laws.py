"""Laws as people give them, read: numbers with their units, files, laws of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.uncertain.csv_columns import columns_of, weights_of
from dse.uncertain.discrete import of_values
from dse.uncertain.families import FAMILIES
from dse.uncertain.in_units import in_unit, numbers_of
from dse.uncertain.law import Law, within
from dse.uncertain.spoken import FORM, Spoken, discrete, parsed
from symbolic.errors import DseError
from symbolic.quantities import Quantity
from symbolic.reach import Base

__all__ = ["read"]


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
        value = parsed(value, where)
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
        raise DseError(f"{where} = {value!r} is no law; {FORM}")
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
        found = columns_of(value["file"], wanted, {row.name: row}, units, where, folder)
        weights = weights_of(value["file"], value.get("weights"), where, folder)
        return of_values(found[row.name], weights, where)
    raise DseError(f"{where} = {dict(value)!r} is no law; {FORM}")


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
