"""Probabilities of a group by convolving its items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stochastic.loss.items import LEFT_OUT, Items

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Convolution"]

_EPS = 2.0**-53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convolution:
    """A few lanes: halves of the group convolved, while the largest value grows."""

    items: Items
    lanes: int

    method = "convolution"

    @property
    def kept(self) -> int:
        """Values that the largest item can have."""
        return len(self.items.places) - self.items.idle

    @property
    def error(self) -> float:
        """Of a probability, estimated: sums of positive terms."""
        return _EPS * (16.0 + 2.0 * math.sqrt(len(self.items.places))) + 2.0 * LEFT_OUT

    @property
    def products(self) -> float:
        """Products for each answer."""
        if self.lanes <= 2:
            return float(len(self.items.places))
        return 0.25 * self.lanes * len(self.items.places) * float(self.items.places[-1])

    @property
    def growth(self) -> float:
        """Products for the sums of halves, whatever is asked."""
        half = self.lanes - self.lanes // 2
        return half**3 / 12 * len(self.items.places) * float(self.items.places[-1])

    def __call__(self, least: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Probabilities, one for each row of least sums."""
        from stochastic.kernels.convolution import between, of_two

        items = self.items
        if self.lanes == 2:
            found = of_two(items.places, items.weights, items.idle, least)
        else:
            # of equal weights, sums of 1 are exact where those of a fraction drift
            most = float(items.weights.max())
            weights = items.weights / most
            found = between(items.places, weights, self.lanes, items.idle, least)
            found *= most**self.lanes
        return np.asarray(found)
