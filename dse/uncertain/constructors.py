"""Functions that construct the laws of inputs, such as ``dse.normal``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symbolic.errors import DseError


@dataclass(frozen=True, slots=True)
class LawSpec:
    """The family name and the numbers of a law, before it is assigned to a quantity."""

    name: str
    numbers: tuple[Any, ...]
    weights: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        if self.weights is None:
            return f"{self.name}: {', '.join(map(str, self.numbers))}"
        pairs = zip(self.numbers, self.weights, strict=True)
        return f"{self.name}: " + ", ".join(f"{value}: {weight}" for value, weight in pairs)


def normal(mean: Any, spread: Any) -> LawSpec:
    """Return a normal law; ``spread`` is the standard deviation, which may be relative (``"5 %"``).

    Numbers are in the stored unit of the quantity, or texts with a unit.

    >>> print(normal("450 cycles", "5 %"))
    normal: 450 cycles, 5 %
    """
    return LawSpec("normal", (mean, spread))


def lognormal(mean: Any, spread: Any) -> LawSpec:
    """Return a lognormal law with this mean; ``spread`` is as for :func:`normal`.

    >>> print(lognormal("450 cycles", "20 %"))
    lognormal: 450 cycles, 20 %
    """
    return LawSpec("lognormal", (mean, spread))


def uniform(low: Any, high: Any) -> LawSpec:
    """Return a uniform law between two ends.

    >>> print(uniform("113 GB/s", "141.7 GB/s"))
    uniform: 113 GB/s, 141.7 GB/s
    """
    return LawSpec("uniform", (low, high))


def triangular(low: Any, mode: Any, high: Any) -> LawSpec:
    """Return a triangular law between two ends, with the given mode.

    >>> print(triangular(400, 450, 600))
    triangular: 400, 450, 600
    """
    return LawSpec("triangular", (low, mode, high))


def beta(a: float, b: float, low: Any = 0, high: Any = 1) -> LawSpec:
    """Return a beta law with exponents a - 1 and b - 1 between two ends.

    >>> print(beta(2, 5, "100 GB/s", "150 GB/s"))
    beta: 2, 5, 100 GB/s, 150 GB/s
    """
    return LawSpec("beta", (a, b, low, high))


def discrete(values: Sequence[Any], weights: Sequence[Any] | None = None) -> LawSpec:
    """Return a discrete law of some values, with relative weights; default: equal weights.

    >>> print(discrete(["400 cycles", "450 cycles"], [0.3, 0.7]))
    discrete: 400 cycles: 0.3, 450 cycles: 0.7
    """
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise DseError(f"values = {values!r}: expected a list")
    return LawSpec("discrete", tuple(values), None if weights is None else tuple(weights))
