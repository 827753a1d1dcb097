"""Laws made of laws, without a table: a tail, a mixture, the largest of several, a sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.work.distribution import Distribution, Reals
from stochastic.work.families import Binomial, NegativeBinomial, Poisson
from stochastic.work.finite import largest
from stochastic.work.moved import Shifted, shifted

__all__ = ["Above", "Maximum", "Mixture", "closed_sum"]


@dataclass(frozen=True, slots=True)
class Above(Distribution):
    """An infinite law on condition that W >= low."""

    of: Distribution
    low: int

    @property
    def high(self) -> float:
        """Infinite."""
        return self.of.high

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.between({self.low})"

    @property
    def endless(self) -> bool:
        """Whether the mean is infinite."""
        return self.of.endless

    @property
    def _mass(self) -> float:
        return float(self.of.sf(self.low - 1.0))

    def pmf(self, k: Reals) -> Reals:
        """P(W = k)."""
        return self.of.pmf(k) / self._mass

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.of.sf(k) / self._mass

    def relative(self, first: int, last: int) -> Reals:
        """The table up to a common factor."""
        return self.of.relative(first, last)


@dataclass(frozen=True, slots=True)
class Mixture(Distribution):
    """One of several laws, drawn with given probabilities."""

    parts: tuple[tuple[float, Distribution], ...]

    @property
    def low(self) -> int:
        """Smallest value."""
        return min(of.low for _, of in self.parts)

    @property
    def high(self) -> float:
        """Largest value."""
        return max(of.high for _, of in self.parts)

    @property
    def text(self) -> str:
        """As it is constructed."""
        inner = ", ".join(f"({weight!r}, {of.text})" for weight, of in self.parts)
        return f"Pmf.mixture([{inner}])"

    @property
    def endless(self) -> bool:
        """Whether the mean is infinite."""
        return any(of.endless for _, of in self.parts)

    def pmf(self, k: Reals) -> Reals:
        """P(W = k)."""
        found = np.zeros(k.shape)
        for weight, of in self.parts:
            inside = (k >= of.low) & (k <= of.high)
            found[inside] += weight * of.pmf(k[inside])
        return found

    def _weighed(self, k: Any, tail: bool) -> Any:
        k = np.asarray(k, dtype=np.float64)
        found = np.zeros(k.shape)
        for weight, of in self.parts:
            inside = (k >= of.low) & (k < of.high)
            found[(k < of.low) if tail else (k >= of.high)] += weight
            found[inside] += weight * (of.sf if tail else of.cdf)(k[inside])
        return found[()]

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self._weighed(k, tail=True)

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return self._weighed(k, tail=False)

    def table(self, first: int, last: int) -> Reals:
        """P(W = k) for k = first..last."""
        found = np.zeros(last - first + 1)
        for weight, of in self.parts:
            start, stop = max(first, of.low), int(min(last, of.high))
            if start <= stop:
                found[start - first : stop - first + 1] += weight * of.table(start, stop)
        return found

    def mean(self) -> float:
        """E[W]."""
        return sum(weight * of.mean() for weight, of in self.parts)

    def var(self) -> float:
        """E[(W - E[W])²], within the parts and between them."""
        mean = self.mean()
        return sum(weight * (of.var() + (of.mean() - mean) ** 2) for weight, of in self.parts)

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        bounds = np.cumsum([weight for weight, _ in self.parts])
        which = np.searchsorted(bounds[:-1], rng.random(size), side="right")
        found = np.empty(np.shape(which), dtype=np.int64)
        for i, (_, of) in enumerate(self.parts):
            found[which == i] = of.sample(rng, int(np.count_nonzero(which == i)))
        return found[()]


@dataclass(frozen=True, slots=True)
class Maximum(Distribution):
    """The largest of independent copies of an infinite law."""

    of: Distribution
    copies: int

    @property
    def low(self) -> int:
        """Smallest value."""
        return self.of.low

    @property
    def high(self) -> float:
        """Infinite."""
        return self.of.high

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.max_of({self.copies})"

    @property
    def endless(self) -> bool:
        """Whether the mean is infinite."""
        return self.of.endless

    def pmf(self, k: Reals) -> Reals:
        """P(W = k) = F(k)**n - F(k-1)**n, from the share of f(k) in F(k)."""
        with np.errstate(divide="ignore"):
            share = np.minimum(self.of.pmf(k) / self.of.cdf(k), 1.0)
            return np.asarray(self.cdf(k) * -np.expm1(self.copies * np.log1p(-share)))

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return -np.expm1(self._log_cdf(k))

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return np.exp(self._log_cdf(k))

    def _log_cdf(self, k: Any) -> Any:
        above = self.of.sf(k)
        low = np.log(np.maximum(self.of.cdf(k), 1e-320))
        return self.copies * np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), low)

    def table(self, first: int, last: int) -> Reals:
        """P(W = k) for k = first..last."""
        weights = self.of.table(self.low, last)
        return largest(weights, float(self.of.sf(float(last))), self.copies)[first - self.low :]


def closed_sum(parts: Sequence[tuple[int, Distribution]]) -> Distribution | None:
    """The sum of several copies of each of some laws, where all are of one family that adds up."""
    shift, families = 0, []
    for copies, of in parts:
        if isinstance(of, Shifted):
            shift, of = shift + copies * of.by, of.of
        closed = of.closed_sum(copies)
        if closed is None:
            return None
        shift += closed[0]
        families.append(closed[1])
    first = families[0]
    found: Distribution | None = None
    if all(isinstance(of, Poisson) for of in families):
        found = Poisson(math.fsum(of.rate for of in families if isinstance(of, Poisson)))
    elif isinstance(first, Binomial):
        same = [of for of in families if isinstance(of, Binomial) and of.p == first.p]
        if len(same) == len(families):
            found = Binomial(sum(of.trials for of in same), first.p)
    elif isinstance(first, NegativeBinomial):
        like = [of for of in families if isinstance(of, NegativeBinomial) and of.p == first.p]
        if len(like) == len(families):
            found = NegativeBinomial(math.fsum(of.r for of in like), first.p)
    return None if found is None else shifted(found, shift)
