"""A law of one quantity, or a family of them, as data; and a law cut to a domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symbolic.errors import DomainError
from symbolic.quantities import Quantity

__all__ = ["Family", "Law", "within"]

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

    numbers: tuple[str, ...]
    make: Callable[..., Law]
    holds: Callable[..., bool]
    must: str
    plain: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    optional: int = 0
