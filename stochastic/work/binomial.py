"""The binomial law of work, in the form whose digits hold far out in the tails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from stochastic.work import saddle_point
from stochastic.work.distribution import SMALLEST_LOG, Distribution, Reals
from stochastic.work.ratios import SMALL
from stochastic.work.stepwise import Stepwise, apart, first_held, two_doubles

__all__ = ["Binomial"]


@dataclass(frozen=True, slots=True)
class Binomial(Stepwise):
    """Successes among ``trials`` >= 1, each with 0 < p < 1, a float or a Fraction."""

    trials: int
    p: float | Fraction
    low: int = field(init=False, repr=False)
    high: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n, p = self.trials, float(self.p)
        yes, no = math.log(p), math.log1p(-p)

        def log_pmf(k: int) -> float:
            away = apart(k, n * p) + apart(n - k, n * (1 - p))
            return -away - math.log(math.tau * k * (n - k) / n) / 2

        low = 0 if n * no >= SMALLEST_LOG else first_held(log_pmf, 0, self.mode)
        high = n if n * yes >= SMALLEST_LOG else first_held(log_pmf, n, self.mode)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"Pmf.binomial({self.trials}, {self.p!r})"

    @property
    def mode(self) -> int:
        """A most probable value."""
        return min(int((self.trials + 1) * float(self.p)), self.trials)

    def _steps(self) -> tuple[float, float, float, float]:
        odds = Fraction(self.p) / (1 - Fraction(self.p))
        return *two_doubles(odds), float(self.trials), -1.0

    def _direct(self, k: Reals) -> Reals:
        return saddle_point.binomial(k, self.trials, float(self.p))

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        from scipy.special import betainc

        return betainc(k + 1.0, self.trials - k, float(self.p))

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        from scipy.special import betaincc

        return betaincc(k + 1.0, self.trials - k, float(self.p))

    def mean(self) -> float:
        """trials·p."""
        return float(self.trials * self.p)

    def var(self) -> float:
        """trials·p·(1-p)."""
        return float(self.trials * self.p * (1 - self.p))

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return rng.binomial(self.trials, float(self.p), size)

    def numerators(self) -> tuple[int, ...] | None:
        """C(n, k)·a**k·(b-a)**(n-k) for p = a/b."""
        n = self.trials
        if not isinstance(self.p, Fraction) or n >= SMALL or (self.low, self.high) != (0, n):
            return None
        a, rest = self.p.numerator, self.p.denominator - self.p.numerator
        return tuple(math.comb(n, k) * a**k * rest ** (n - k) for k in range(n + 1))

    def closed_sum(self, copies: int) -> tuple[int, Distribution] | None:
        """Trials add up."""
        return 0, Binomial(copies * self.trials, self.p)
