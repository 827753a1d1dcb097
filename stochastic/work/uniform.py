"""The uniform law of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.work.distribution import Distribution, Reals
from stochastic.work.ratios import SMALL, Ratios

__all__ = ["Uniform"]


@dataclass(frozen=True, slots=True)
class Uniform(Distribution):
    """Each of low..high alike."""

    low: int
    high: int

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"Pmf.uniform({self.low}, {self.high})"

    @property
    def _size(self) -> int:
        return self.high - self.low + 1

    def pmf(self, k: Reals) -> Reals:
        """One over how many there are."""
        return np.full(k.shape, 1 / self._size)

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return (self.high - k) / self._size

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return (k - self.low + 1) / self._size

    def mean(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2

    def var(self) -> float:
        """(size² - 1)/12."""
        return (self._size**2 - 1) / 12

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return rng.integers(self.low, self.high, size, endpoint=True)

    def numerators(self) -> Ratios | None:
        """All alike."""
        return (1,) * self._size if self._size <= SMALL else None
