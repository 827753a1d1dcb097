"""Rows of values in ascending order, and their quantiles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symbolic.confidence import ROUNDED

__all__ = ["Ordered"]

Floats = NDArray[np.float64]


class Ordered:
    """Rows in ascending order, to find their quantiles."""

    def __init__(self, values: Floats, weights: Floats | None) -> None:
        if weights is None:
            self.values, self.upto = np.sort(values, axis=1), None
        else:
            order = np.argsort(values, axis=1)
            self.values = np.take_along_axis(values, order, axis=1)
            self.upto = np.cumsum(weights[order], axis=1)
        self.undefined = np.isnan(self.values[:, -1])

    def at(self, level: Fraction | Floats) -> Floats:
        """Return the least value that is not exceeded with at least a chance, for each row."""
        count = self.values.shape[1]
        if self.upto is not None:
            least = np.broadcast_to(np.asarray(level, dtype=np.float64), len(self.values))
            rank = np.count_nonzero(self.upto < least[:, None] - ROUNDED, axis=1)
        elif isinstance(level, Fraction):
            rank = np.full(len(self.values), math.ceil(level * count) - 1)
        else:
            rank = np.ceil(level * count - count * ROUNDED).astype(np.int64) - 1
        rank = np.clip(rank, 0, count - 1)[:, None]
        found: Floats = np.take_along_axis(self.values, rank, axis=1)[:, 0]
        return np.where(self.undefined, np.nan, found)
