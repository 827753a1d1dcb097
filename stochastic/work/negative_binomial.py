"""The negative binomial law of work, in the form whose digits hold far out in the tails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stochastic.work import saddle_point
from stochastic.work.distribution import SMALLEST_LOG, Distribution, Reals
from stochastic.work.stepwise import Stepwise, apart, complement, first_held, shortly

__all__ = ["NegativeBinomial"]


@dataclass(frozen=True, slots=True)
class NegativeBinomial(Stepwise):
    """Failures before the r-th success, r > 0 real, 0 < p < 1."""

    r: float
    p: float
    low: int = field(init=False, repr=False)
    high: float = field(default=math.inf, init=False, repr=False)

    def __post_init__(self) -> None:
        r, low = self.r, 0
        if r * math.log(self.p) < SMALLEST_LOG:

            def log_pmf(k: int) -> float:
                n = r + k
                away = apart(r, n * self.p) + apart(k, n * (1 - self.p))
                return -away - math.log(math.tau * k * n / r) / 2

            low = first_held(log_pmf, 0, self.mode)
        object.__setattr__(self, "low", low)

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"Pmf.negative_binomial({shortly(self.r)}, {self.p!r})"

    @property
    def mode(self) -> int:
        """A most probable value."""
        return max(int((self.r - 1) * (1 - self.p) / self.p), 0)

    def _steps(self) -> tuple[float, float, float, float]:
        return *complement(self.p), self.r, 1.0

    def _direct(self, k: Reals) -> Reals:
        return saddle_point.negative_binomial(k, self.r, self.p)

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        from scipy.special import betaincc

        return betaincc(self.r, k + 1.0, self.p)

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        from scipy.special import betainc

        return betainc(self.r, k + 1.0, self.p)

    def mean(self) -> float:
        """r·(1-p)/p."""
        return self.r * (1 - self.p) / self.p

    def var(self) -> float:
        """r·(1-p)/p²."""
        return self.mean() / self.p

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return rng.negative_binomial(self.r, self.p, size)

    def closed_sum(self, copies: int) -> tuple[int, Distribution] | None:
        """Successes add up."""
        return 0, NegativeBinomial(copies * self.r, self.p)
