"""The law of the work of one item: a probability mass function over 0, 1, 2, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Pmf"]


class Pmf:
    """PROVISIONAL: the promised attributes, until the real class lands."""

    def __init__(self, low: int, weights: Any, missing: float = 0.0) -> None:
        self.low = int(low)
        w = np.array(weights, dtype=np.float64)
        self.weights = w / w.sum()
        self.missing = missing

    @property
    def high(self) -> int:
        """Largest value."""
        return self.low + len(self.weights) - 1

    @property
    def is_finite(self) -> bool:
        """Whether the support is finite."""
        return True

    def cut(self, eps: float) -> Pmf:
        """The law cut where its tail is below eps, renormalised."""
        return self

    @classmethod
    def uniform(cls, low: int, high: int) -> Pmf:
        """Inclusive."""
        return cls(low, np.ones(high - low + 1))

    @classmethod
    def from_weights(cls, weights: Sequence[float]) -> Pmf:
        """Weights of 0, 1, 2, ..."""
        return cls(0, weights)
