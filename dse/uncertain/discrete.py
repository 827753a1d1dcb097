"""The law of a few values with their chances."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.uncertain.law import Law
from symbolic.errors import DseError

__all__ = ["chances", "of_values"]

Floats = NDArray[np.float64]


def of_values(values: Sequence[float], weights: Sequence[Any] | None, where: str) -> Law:
    """The law of some values with their weights, of which only the ratios count."""
    shares = chances(weights, len(values), where)
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
    kept = {value: share for value, share in together.items() if share}
    return Law(quantile=quantile, cdf=cdf, values=tuple(kept), weights=tuple(kept.values()))


def chances(weights: Sequence[Any] | None, count: int, where: str) -> tuple[Fraction, ...]:
    """Weights as chances, which sum to one; all alike where none are given.

    Raises
    ------
    DseError
        Not one for each value, or one that is no number of at least 0, or all are 0.
    """
    if not count:
        raise DseError(f"{where} has no values: give it at least one")
    if weights is None:
        return (Fraction(1, count),) * count
    if isinstance(weights, str) or not hasattr(weights, "__len__"):
        raise DseError(f"{where}: weights = {weights!r}, expected a list of numbers")
    if len(weights) != count:
        raise DseError(
            f"{where} has {count} values and {len(weights)} weights: give one for each value"
        )
    found = [_weight(weight, where) for weight in weights]
    total = sum(found)
    if not total:
        raise DseError(f"{where}: all weights are 0: give one value a weight above 0")
    return tuple(weight / total for weight in found)


def _weight(weight: Any, where: str) -> Fraction:
    try:
        if isinstance(weight, (bool, np.bool_)):
            raise ValueError
        # as it was written: 0.1 is a tenth
        found = weight if isinstance(weight, Fraction) else Fraction(str(weight))
        if found < 0:
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise DseError(f"{where}: the weight {weight!r} is no number of at least 0") from None
    return found
