"""Finite laws: tables of weights, kept as ratios of integers where these are rational and small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.work.distribution import Distribution, Reals, spanned

#: Most products of a convolution: some half a minute.
_PRODUCTS = sizes.CONVOLVE_MOST
Ratios = tuple[int, ...]

#: Most values, and most bits in all, for which fractions are kept beside the doubles.
SMALL = sizes.RATIOS_SMALL
_BITS = sizes.RATIOS_BITS


def summed(first: Ratios, second: Ratios, copies: int = 1) -> Ratios | None:
    """Of the sum of an item of the first law and ``copies`` of the second, where that is small.

    >>> summed((1, 1), (1, 1), copies=2)
    (1, 3, 3, 1)
    """
    size = len(first) + copies * (len(second) - 1)
    width = sum(first).bit_length() + copies * sum(second).bit_length()
    width += -width % 8
    if size > SMALL or size * width > _BITS:
        return None
    product = _packed(first, width) * _packed(second, width) ** copies
    digits = product.to_bytes(size * width // 8, "little")
    step = width // 8
    return tuple(
        int.from_bytes(digits[i : i + step], "little") for i in range(0, len(digits), step)
    )


def _packed(ratios: Ratios, width: int) -> int:
    """The polynomial of these coefficients at 2**width."""
    step = width // 8
    return int.from_bytes(b"".join(ratio.to_bytes(step, "little") for ratio in ratios), "little")


def largest_of(ratios: Ratios, copies: int) -> Ratios | None:
    """Of the largest of independent copies, where that is small.

    >>> largest_of((1, 1), copies=3)
    (1, 7)
    """
    if len(ratios) * copies * sum(ratios).bit_length() > _BITS:
        return None
    powers = [below**copies for below in accumulate(ratios)]
    return tuple(after - before for before, after in zip([0, *powers], powers, strict=False))


def mixed(parts: Sequence[tuple[Fraction, int, Ratios]]) -> Ratios | None:
    """Of a mixture of (weight, lowest value, ratios), from the lowest value of all."""
    low = min(start for _, start, _ in parts)
    size = max(start + len(ratios) for _, start, ratios in parts) - low
    if size > SMALL:
        return None
    shares = [weight / sum(ratios) for weight, _, ratios in parts]
    common = math.lcm(*(share.denominator for share in shares))
    found = [0] * size
    for share, (_, start, ratios) in zip(shares, parts, strict=True):
        factor = int(share * common)
        for i, ratio in enumerate(ratios, start - low):
            found[i] += factor * ratio
    return tuple(found)


def exact_mean(low: int, ratios: Ratios) -> Fraction:
    """The mean of the values from ``low`` on.

    >>> exact_mean(3, (1, 1, 2))
    Fraction(17, 4)
    """
    return low + Fraction(sum(i * ratio for i, ratio in enumerate(ratios)), sum(ratios))


def kept_between(ratios: Ratios, first: int, last: int) -> Ratios | None:
    """The ratios of a range, unless a weight that no double holds is lost."""
    return None if any(ratios[:first]) or any(ratios[last + 1 :]) else ratios[first : last + 1]


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


def largest(weights: Reals, beyond: float, copies: int) -> Reals:
    """P(max of independent copies = k) from P(W = k) and P(W > last); F(k)**n - F(k-1)**n."""
    above = np.full(len(weights), beyond)
    above[:-1] += np.cumsum(weights[:0:-1])[::-1]
    below = np.cumsum(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
        share = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
        return np.asarray(np.exp(copies * log) * -np.expm1(copies * np.log1p(-share)))


def convolved(first: Reals, second: Reals, copies: int, what: str) -> Reals:
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
