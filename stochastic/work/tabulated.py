"""A finite law of work, by its weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from stochastic.work.distribution import Distribution, Reals
from stochastic.work.ratios import SMALL, Ratios, exact_mean, kept_between

__all__ = ["Tabulated", "tabulated"]


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated(Distribution):
    """Weights of low, low + 1, ..., the first and the last above 0; build it by `tabulated`."""

    low: int
    weights: Reals
    ratios: Ratios | None
    made: str
    _chances: tuple[Reals, Reals] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> Any:  # arrays come out of a pickle writable
        return tabulated, (self.low, self.weights, self.ratios, self.made)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tabulated):
            return NotImplemented
        return self.low == other.low and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.low, len(self.weights), self.weights[:SMALL].tobytes()))

    @property
    def high(self) -> int:
        """Largest value."""
        return self.low + len(self.weights) - 1

    @property
    def text(self) -> str:
        """As it is constructed, or where it lies."""
        if self.made:
            return self.made
        return f"Pmf({self.low}..{self.high}, mean {self.mean():.6g})"

    def pmf(self, k: Reals) -> Reals:
        """P(W = k)."""
        return self.weights[(k - self.low).astype(np.int64)]

    def table(self, first: int, last: int) -> Reals:
        """P(W = k) for k = first..last."""
        return self.weights[first - self.low : last - self.low + 1]

    def chances(self) -> tuple[Reals, Reals]:
        """P(W <= k) and P(W > k) of all values."""
        if self._chances is None:
            above = np.zeros(len(self.weights))
            above[:-1] = np.cumsum(self.weights[:0:-1])[::-1]
            below = np.where(above > 0.5, np.cumsum(self.weights), 1 - above)
            below = np.maximum.accumulate(below)
            object.__setattr__(self, "_chances", (below, above))
        assert self._chances is not None
        return self._chances

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.chances()[1][np.asarray(k - self.low, dtype=np.int64)]

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return self.chances()[0][np.asarray(k - self.low, dtype=np.int64)]

    def mean(self) -> float:
        """E[W]."""
        if self.ratios is not None:
            return float(exact_mean(self.low, self.ratios))
        return self.low + float(np.dot(np.arange(len(self.weights)), self.weights))

    def var(self) -> float:
        """E[(W - E[W])²]."""
        if self.ratios is not None:
            mean = exact_mean(0, self.ratios)
            square = sum(i * i * ratio for i, ratio in enumerate(self.ratios))
            return float(Fraction(square, sum(self.ratios)) - mean * mean)
        apart = np.arange(len(self.weights)) - (self.mean() - self.low)
        return float(np.dot(apart * apart, self.weights))

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return self.low + np.searchsorted(self.chances()[0], rng.random(size), side="right")

    def numerators(self) -> Ratios | None:
        """Integers in the ratios of the weights, where these are rational."""
        return self.ratios


def tabulated(low: int, weights: Any, ratios: Ratios | None = None, made: str = "") -> Tabulated:
    """A law of weights that sum to one, or of integers in their ratios; zeros at the ends go."""
    if ratios is not None:
        common = math.gcd(*ratios)
        total = sum(ratios) // common
        ratios = tuple(ratio // common for ratio in ratios)
        weights = [ratio / total for ratio in ratios]
        ratios = ratios if len(ratios) <= SMALL else None
    table = np.array(weights, dtype=np.float64)
    if not (table[0] > 0 and table[-1] > 0):
        held = np.flatnonzero(table)
        first, last = int(held[0]), int(held[-1])
        low, table = low + first, table[first : last + 1].copy()
        ratios = None if ratios is None else kept_between(ratios, first, last)
    table.flags.writeable = False
    return Tabulated(low, table, ratios, made)
