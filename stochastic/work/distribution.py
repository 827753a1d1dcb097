"""What a law of 0, 1, 2, ... must answer, and what follows from that."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.errors import LawError

#: Most values of a law that are tabulated: 400 MB.
LARGEST = sizes.LAW_LARGEST

#: Probabilities below exp(-700) = 1e-304 are left out: doubles end there.
SMALLEST_LOG = -700.0

#: What still works where a table does not.
WAY = (
    "of an infinite law give a larger eps or tol, bound it with truncate(high), count the work in "
    "larger units, or ask for what needs no table (its own mean, var, cdf, quantile, sample)"
)

_FARTHEST = 2**62
_NOTHING = 1e-24  # the mass beyond which an infinite law without a closed mean is not summed


class Distribution(ABC):
    """A law of a non-negative integer, finite or not; values are passed as arrays of floats."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields or properties

        @property
        def low(self) -> int:
            """Smallest value, as far as a double holds its probability."""

        @property
        def high(self) -> float:
            """Largest value, a whole number, or ``math.inf``."""

        @property
        def text(self) -> str:
            """How it is constructed."""

    @abstractmethod
    def pmf(self, k: Floats) -> Floats:
        """P(W = k) for whole k from low to high."""

    @abstractmethod
    def sf(self, k: Any) -> Any:
        """P(W > k) for whole k with low <= k < high, accurate relative to itself."""

    def cdf(self, k: Any) -> Any:
        """P(W <= k) for whole k with low <= k < high."""
        return 1.0 - self.sf(k)

    def table(self, first: int, last: int) -> Floats:
        """P(W = k) for k = first..last, within low..high."""
        return self.pmf(np.arange(first, last + 1, dtype=np.float64))

    def relative(self, first: int, last: int) -> Floats:
        """The table up to a common factor, where that is cheaper or more accurate."""
        return self.table(first, last)

    @property
    def endless(self) -> bool:
        """Whether the mean is infinite."""
        return False

    def mean(self) -> float:
        """E[W]."""
        first, table = self._summed()
        return first + float(np.dot(np.arange(len(table)), table))

    def var(self) -> float:
        """E[(W - E[W])²], infinite where that diverges."""
        first, table = self._summed()
        apart = np.arange(len(table)) - (self.mean() - first)
        return float(np.dot(apart * apart, table))

    def _summed(self) -> tuple[int, Floats]:
        last = self.beyond(_NOTHING) if self.high == math.inf else int(self.high)
        spanned(self.low, last, self.text)
        table = self.relative(self.low, last)
        return self.low, table / table.sum()

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        first, table = self._summed()
        chances = np.cumsum(table)
        chances[-1] = 1.0
        return first + np.searchsorted(chances, rng.random(size), side="right")

    def beyond(self, eps: float) -> int:
        """The smallest S with P(W > S) < eps."""
        found = first_true(lambda k: bool(self.sf(float(k)) < eps), self.low)
        if found is None:
            raise LawError(
                f"{self.text} has a tail of {eps:g} beyond {_FARTHEST:.0e}: give a larger eps, or "
                "bound it with truncate(high)"
            )
        return found


def first_true(holds: Callable[[int], bool], start: int) -> int | None:
    """The smallest whole number from ``start`` on from where a condition holds, or None.

    >>> first_true(lambda k: k * k > 50, 0)
    8
    """
    if holds(start):
        return start
    below, step = start, 1
    while not holds(below + step):
        below += step
        step *= 2
        if below + step > _FARTHEST:
            return None
    above = below + step
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def spanned(first: int, last: int | float, what: str, way: str = WAY) -> None:
    """An error where a table of the values first..last would be too large, with a way out."""
    size = last - first + 1
    if size > LARGEST:
        raise LawError(
            f"{what} spans {size:.3g} values, {first} to {last}, and at most {LARGEST:.0e} are "
            f"tabulated: {way}"
        )
