"""The families of laws, in the forms whose digits hold far out in the tails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from stochastic.work import saddle_point
from stochastic.work.distribution import SMALLEST_LOG, Distribution, Reals
from stochastic.work.ratios import SMALL
from stochastic.work.stepwise import Stepwise, apart, complement, first_held, shortly, two_doubles

__all__ = ["Binomial", "Geometric", "NegativeBinomial", "Poisson"]


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


@dataclass(frozen=True, slots=True)
class Poisson(Stepwise):
    """Events of a given rate > 0."""

    rate: float
    low: int = field(init=False, repr=False)
    high: float = field(default=math.inf, init=False, repr=False)

    def __post_init__(self) -> None:
        low = 0
        if -self.rate < SMALLEST_LOG:
            low = first_held(
                lambda k: -apart(k, self.rate) - math.log(math.tau * k) / 2, 0, self.mode
            )
        object.__setattr__(self, "low", low)

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"Pmf.poisson({shortly(self.rate)})"

    @property
    def mode(self) -> int:
        """A most probable value."""
        return int(self.rate)

    def _steps(self) -> tuple[float, float, float, float]:
        return self.rate, 0.0, 1.0, 0.0

    def _direct(self, k: Reals) -> Reals:
        return saddle_point.poisson(k, self.rate)

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        from scipy.special import gammainc

        return gammainc(k + 1.0, self.rate)

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        from scipy.special import gammaincc

        return gammaincc(k + 1.0, self.rate)

    def mean(self) -> float:
        """The rate."""
        return self.rate

    def var(self) -> float:
        """The rate."""
        return self.rate

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return rng.poisson(self.rate, size)

    def closed_sum(self, copies: int) -> tuple[int, Distribution] | None:
        """Rates add up."""
        return 0, Poisson(copies * self.rate)


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
