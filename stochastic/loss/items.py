"""Items of a group on a lattice of whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["LEFT_OUT", "Items", "any_of"]

LEFT_OUT = 1e-18  # probability in a group of values that are left out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """The law of an item on its lattice: values ``first + step·places``, those that matter.

    ``above`` is P(W > value); ``idle`` counts values without work, 0 or 1.
    """

    first: int
    step: int
    places: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    above: npt.NDArray[np.float64]

    @classmethod
    def of(cls, low: int, weights: npt.NDArray[np.float64], lanes: int) -> Items:
        """Of probabilities of low, low + 1, ..., less both ends where no group of lanes is."""
        used = np.flatnonzero(weights)
        some = weights[used]
        above = np.append(np.cumsum(some[:0:-1])[::-1], 0.0)
        least = LEFT_OUT / lanes
        kept = (np.append(1.0, above[:-1]) > least) & (np.cumsum(some) > least)
        used = used[kept]
        step = max(int(np.gcd.reduce(used - used[0])), 1)
        return cls(
            first=low + int(used[0]),
            step=step,
            places=(used - used[0]) // step,
            weights=some[kept],
            above=above[kept],
        )

    @property
    def idle(self) -> int:
        """How many values have no work: 0 or 1."""
        return int(self.first == 0)


def any_of(chance: float, lanes: int) -> float:
    """Probability that any of so many items is what one is with that chance, to all its digits."""
    return -math.expm1(lanes * math.log1p(-chance)) if chance < 1 else 1.0
