"""The laws of one quantity: the families known by name, those of a few values, and their ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic.work.parse import Form
from symbolic.errors import DomainError, DseError
from symbolic.quantities import Quantity

Floats = NDArray[np.float64]

#: The largest part of a law that may be cut off where it leaves the domain of its quantity.
_CUT = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law of one quantity, in its stored unit.

    ``quantile`` is its inverse distribution function, for arrays between 0 and 1; ``cdf`` the
    chance to be at most a number. ``values`` and ``weights`` are those of a law of few values.
    ``said`` tells what was cut off.
    """

    quantile: Callable[[Floats], Floats]
    cdf: Callable[[float], float]
    values: tuple[float, ...] = ()
    weights: tuple[Fraction, ...] = ()
    said: str = ""


def within(law: Law, row: Quantity, text: str) -> Law:
    """A law that stays in the domain of its quantity, as it is or with a little cut off.

    Raises
    ------
    DomainError
        More than a thousandth of it lies outside, or its quantity takes whole numbers alone.
    """
    domain = row.domain
    if law.values:
        row.check(np.array(law.values), f"a value of {text}")
        return law
    if domain.whole:
        raise DomainError(
            f"{row.name} takes whole numbers, and {text!r} yields others: give a discrete law, "
            "such as 'discrete: 1: 0.5, 2: 0.5'"
        )
    below = law.cdf(domain.low) if math.isfinite(domain.low) else 0.0
    above = 1 - law.cdf(domain.high) if math.isfinite(domain.high) else 0.0
    outside = below + above
    if outside <= 0:
        return law
    if outside > _CUT:
        raise DomainError(
            f"{row.name}: {outside:.2%} of {text!r} lies outside its domain {domain}"
            f"{' ' + row.unit if row.unit else ''}: give a narrower law, or one that stays inside, "
            "such as lognormal"
        )
    inner = law.quantile
    share = 1 - outside
    return replace(
        law,
        quantile=lambda u: inner(below + share * u),
        cdf=lambda x: min(max((law.cdf(x) - below) / share, 0.0), 1.0),
        said=f"{outside:.2g} of it lay outside {domain} and is cut off",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How a law is written: its numbers in order, and what must hold of them.

    ``plain`` are those without a unit; ``shares`` those that may be a percentage of the first.
    """

    form: Form
    make: Callable[..., Law]
    holds: Callable[..., bool]
    must: str
    plain: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()


def _normal(mean: float, spread: float) -> Law:
    from scipy.special import ndtr, ndtri

    return Law(
        quantile=lambda u: mean + spread * ndtri(u),
        cdf=lambda x: float(ndtr((x - mean) / spread)),
    )


def _lognormal(mean: float, spread: float) -> Law:
    from scipy.special import ndtr, ndtri

    width = math.sqrt(math.log1p((spread / mean) ** 2))
    middle = math.log(mean) - width**2 / 2
    return Law(
        quantile=lambda u: np.exp(middle + width * ndtri(u)),
        cdf=lambda x: float(ndtr((math.log(x) - middle) / width)) if x > 0 else 0.0,
    )


def _uniform(low: float, high: float) -> Law:
    return Law(
        quantile=lambda u: low + (high - low) * u,
        cdf=lambda x: min(max((x - low) / (high - low), 0.0), 1.0),
    )


def _triangular(low: float, mode: float, high: float) -> Law:
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

    return Law(quantile=quantile, cdf=cdf)


def _beta(a: float, b: float, low: float = 0.0, high: float = 1.0) -> Law:
    from scipy.special import betainc, betaincinv

    return Law(
        quantile=lambda u: low + (high - low) * betaincinv(a, b, u),
        cdf=lambda x: float(betainc(a, b, min(max((x - low) / (high - low), 0.0), 1.0))),
    )


FAMILIES: dict[str, Family] = {
    "normal": Family(
        form=Form(("mean", "spread"), "normal: 450 cycles, 5 %"),
        make=_normal,
        holds=lambda mean, spread: spread > 0,
        must="the spread, a standard deviation, is above 0",
        shares=("spread",),
    ),
    "lognormal": Family(
        form=Form(("mean", "spread"), "lognormal: 450 cycles, 20 %"),
        make=_lognormal,
        holds=lambda mean, spread: mean > 0 and spread > 0,
        must="the mean and the spread, a standard deviation, are above 0",
        shares=("spread",),
    ),
    "uniform": Family(
        form=Form(("low", "high"), "uniform: 113 GB/s, 141.7 GB/s"),
        make=_uniform,
        holds=lambda low, high: low < high,
        must="the first is below the second",
    ),
    "triangular": Family(
        form=Form(("low", "mode", "high"), "triangular: 400, 450, 600"),
        make=_triangular,
        holds=lambda low, mode, high: low <= mode <= high and low < high,
        must="the mode lies between the ends, the lower of which comes first",
    ),
    "beta": Family(
        form=Form(("a", "b", "low", "high"), "beta: 2, 5, 100 GB/s, 150 GB/s", optional=2),
        make=_beta,
        holds=lambda a, b, low=0.0, high=1.0: a > 0 and b > 0 and low < high,
        must="a and b are above 0, and the lower end comes before the upper one",
        plain=("a", "b"),
    ),
}


# --- a few values with their chances
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
