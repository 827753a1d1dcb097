"""A tail of a law, the largest of several items and a sum of laws, without a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.work.binomial import Binomial
from stochastic.work.distribution import Derived, Distribution, Reals
from stochastic.work.finite import largest
from stochastic.work.moved import Shifted, shifted
from stochastic.work.negative_binomial import NegativeBinomial
from stochastic.work.poisson import Poisson

__all__ = ["Above", "Maximum", "closed_sum"]


@dataclass(frozen=True, slots=True)
class Above(Derived):
    """An infinite law on condition that W >= low."""

    of: Distribution
    low: int

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.between({self.low})"

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
class Maximum(Derived):
    """The largest of independent copies of an infinite law."""

    of: Distribution
    copies: int

    @property
    def low(self) -> int:
        """Smallest value."""
        return self.of.low

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.max_of({self.copies})"

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
