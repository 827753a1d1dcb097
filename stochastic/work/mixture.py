"""A mixture of laws, without a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic.work.distribution import Distribution, Reals

__all__ = ["Mixture"]


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
