"""The geometric law of work, in the form whose digits hold far out in the tails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stochastic.work.distribution import Distribution, Reals
from stochastic.work.negative_binomial import NegativeBinomial
from stochastic.work.stepwise import Stepwise, complement

__all__ = ["Geometric"]


@dataclass(frozen=True, slots=True)
class Geometric(Stepwise):
    """Trials up to the first success: P(W = k) = p·(1-p)**(k-1), k >= 1."""

    p: float
    low: int = field(default=1, init=False, repr=False)
    high: float = field(default=math.inf, init=False, repr=False)
    mode: int = field(default=1, init=False, repr=False)

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"Pmf.geometric({self.p!r})"

    def _steps(self) -> tuple[float, float, float, float]:
        return *complement(self.p), 1.0, 1.0

    def _direct(self, k: Reals) -> Reals:
        return np.asarray(self.p * np.exp((k - 1) * math.log1p(-self.p)))

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return np.exp(k * math.log1p(-self.p))

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return -np.expm1(k * math.log1p(-self.p))

    def mean(self) -> float:
        """1/p."""
        return 1 / self.p

    def var(self) -> float:
        """(1-p)/p²."""
        return (1 - self.p) * self.mean() ** 2

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return rng.geometric(self.p, size)

    def closed_sum(self, copies: int) -> tuple[int, Distribution] | None:
        """Trials up to the last of several successes: failures and that many more."""
        return copies, NegativeBinomial(float(copies), self.p)
