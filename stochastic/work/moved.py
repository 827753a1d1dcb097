"""A law moved or stretched, without a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.work.distribution import Derived, Distribution, Reals
from stochastic.work.ratios import SMALL, Ratios

__all__ = ["Scaled", "Shifted", "scaled", "shifted"]


@dataclass(frozen=True, slots=True)
class Shifted(Derived):
    """W + by."""

    of: Distribution
    by: int

    @property
    def low(self) -> int:
        """Smallest value."""
        return self.of.low + self.by

    @property
    def high(self) -> float:
        """Largest value."""
        return self.of.high + self.by

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.shift({self.by})"

    def pmf(self, k: Reals) -> Reals:
        """P(W = k)."""
        return self.of.pmf(k - self.by)

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.of.sf(k - self.by)

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return self.of.cdf(k - self.by)

    def table(self, first: int, last: int) -> Reals:
        """P(W = k) for k = first..last."""
        return self.of.table(first - self.by, last - self.by)

    def relative(self, first: int, last: int) -> Reals:
        """The table up to a common factor."""
        return self.of.relative(first - self.by, last - self.by)

    def mean(self) -> float:
        """E[W]."""
        return self.of.mean() + self.by

    def var(self) -> float:
        """E[(W - E[W])²]."""
        return self.of.var()

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return self.of.sample(rng, size) + self.by

    def numerators(self) -> Ratios | None:
        """Integers in the ratios of the probabilities."""
        return self.of.numerators()


@dataclass(frozen=True, slots=True)
class Scaled(Derived):
    """W·by, by >= 1: what one item of work counts in smaller units."""

    of: Distribution
    by: int

    @property
    def low(self) -> int:
        """Smallest value."""
        return self.of.low * self.by

    @property
    def high(self) -> float:
        """Largest value."""
        return self.of.high * self.by

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.scale({self.by})"

    def pmf(self, k: Reals) -> Reals:
        """P(W = k)."""
        found = np.zeros(k.shape)
        whole = k % self.by == 0
        found[whole] = self.of.pmf(k[whole] // self.by)
        return found

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.of.sf(k // self.by)

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return self.of.cdf(k // self.by)

    def table(self, first: int, last: int) -> Reals:
        """P(W = k) for k = first..last."""
        start, stop = -(-first // self.by), last // self.by
        found = np.zeros(last - first + 1)
        if start <= stop:
            found[start * self.by - first :: self.by] = self.of.table(start, stop)
        return found

    def mean(self) -> float:
        """E[W]."""
        return self.of.mean() * self.by

    def var(self) -> float:
        """E[(W - E[W])²]."""
        return self.of.var() * self.by * self.by

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return self.of.sample(rng, size) * self.by

    def numerators(self) -> Ratios | None:
        """Integers in the ratios of the probabilities."""
        ratios = self.of.numerators()
        if ratios is None or (len(ratios) - 1) * self.by >= SMALL:
            return None
        found = [0] * ((len(ratios) - 1) * self.by + 1)
        found[:: self.by] = ratios
        return tuple(found)


def shifted(of: Distribution, by: int) -> Distribution:
    """W + by, several shifts in one."""
    if isinstance(of, Shifted):
        by, of = by + of.by, of.of
    return Shifted(of, by) if by else of


def scaled(of: Distribution, by: int) -> Distribution:
    """W·by, several factors in one."""
    return Scaled(of.of, of.by * by) if isinstance(of, Scaled) else Scaled(of, by)
