"""Finite laws: tables of weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.errors import LawError
from stochastic.work.distribution import Distribution, spanned

#: Most products of a convolution: some half a minute.
_PRODUCTS = sizes.CONVOLVE_MOST
#: Most values of a law that is hashed by all of its weights.
SMALL = sizes.RATIOS_SMALL


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated(Distribution):
    """Weights of low, low + 1, ..., the first and the last above 0; build it by `tabulated`."""

    low: int
    weights: Floats
    made: str
    _chances: tuple[Floats, Floats] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> Any:  # arrays come out of a pickle writable
        return tabulated, (self.low, self.weights, self.made)

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

    def pmf(self, k: Floats) -> Floats:
        """P(W = k)."""
        return self.weights[(k - self.low).astype(np.int64)]

    def table(self, first: int, last: int) -> Floats:
        """P(W = k) for k = first..last."""
        return self.weights[first - self.low : last - self.low + 1]

    def chances(self) -> tuple[Floats, Floats]:
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
        return self.low + float(np.dot(np.arange(len(self.weights)), self.weights))

    def var(self) -> float:
        """E[(W - E[W])²]."""
        apart = np.arange(len(self.weights)) - (self.mean() - self.low)
        return float(np.dot(apart * apart, self.weights))

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return self.low + np.searchsorted(self.chances()[0], rng.random(size), side="right")


def tabulated(low: int, weights: Any, made: str = "") -> Tabulated:
    """Return the law of weights that sum to one; zeros at the ends go."""
    table = np.array(weights, dtype=np.float64)
    if not (table[0] > 0 and table[-1] > 0):
        held = np.flatnonzero(table)
        first, last = int(held[0]), int(held[-1])
        low, table = low + first, table[first : last + 1].copy()
    table.flags.writeable = False
    return Tabulated(low, table, made)


def largest(weights: Floats, beyond: float, copies: int) -> Floats:
    """P(max of independent copies = k) from P(W = k) and P(W > last); F(k)**n - F(k-1)**n."""
    above = np.full(len(weights), beyond)
    above[:-1] += np.cumsum(weights[:0:-1])[::-1]
    below = np.cumsum(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
        share = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
        return np.asarray(np.exp(copies * log) * -np.expm1(copies * np.log1p(-share)))


def convolved(first: Floats, second: Floats, copies: int, what: str) -> Floats:
    """Weights of the sum of an item of the first law and copies of the second, all positive.

    By squaring; no transform, whose rounding would drown the tails.
    """
    size = len(first) + copies * (len(second) - 1)
    spanned(0, size - 1, what, "count its work in larger units, or draw it with sample")
    if copies > 1 and len(second) > 1:
        products = (size / 2) ** 2
    else:
        products = float(len(first)) * len(second)
    if products > _PRODUCTS:
        raise LawError(
            f"{what} takes some {products:.0e} products: count its work in larger units, or draw "
            "it with sample"
        )
    found, power, left = first, second, copies
    while True:
        if left & 1:
            found = np.convolve(found, power)
        left >>= 1
        if not left:
            return found
        power = np.convolve(power, power)
