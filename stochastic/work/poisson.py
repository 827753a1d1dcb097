"""The Poisson law of work, in the form whose digits hold far out in the tails."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stochastic.work import saddle_point
from stochastic.work.distribution import SMALLEST_LOG, Distribution, Reals
from stochastic.work.stepwise import Stepwise, apart, first_held, shortly

__all__ = ["Poisson"]


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
