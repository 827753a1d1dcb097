"""The law of the largest of several items, without a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.work.distribution import Distribution, Reals
from stochastic.work.finite import largest

__all__ = ["Maximum"]


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
