"""What a law of 0, 1, 2, ... must answer, and what follows from that; laws that are tables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.errors import LawError

#: Most values of a law that are tabulated: 400 MB.
MAX_TABLE_SIZE = sizes.LAW_LARGEST

#: Probabilities below exp(-700) = 1e-304 are left out: doubles end there.
SMALLEST_LOG = -700.0

#: What still works where a table does not.
TABLE_HINT = (
    "of an infinite law give a larger eps or tol, bound it with truncate(high), count the work in "
    "larger units, or ask for what needs no table (its own mean, var, cdf, quantile, sample)"
)

#: Most products of a convolution: some half a minute.
_PRODUCTS = sizes.CONVOLVE_MOST
#: Most values of a law that is hashed by all of its weights.
HASHED_WEIGHTS = sizes.RATIOS_SMALL

_MAX_VALUE = 2**62
_NEGLIGIBLE_TAIL = (
    1e-24  # the mass beyond which an infinite law without a closed mean is not summed
)


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

    def relative_table(self, first: int, last: int) -> Floats:
        """The table up to a common factor, where that is cheaper or more accurate."""
        return self.table(first, last)

    @property
    def has_infinite_mean(self) -> bool:
        """Whether the mean is infinite."""
        return False

    def mean(self) -> float:
        """E[W]."""
        first, table = self._normalized_table()
        return first + float(np.dot(np.arange(len(table)), table))

    def var(self) -> float:
        """E[(W - E[W])²], infinite where that diverges."""
        first, table = self._normalized_table()
        apart = np.arange(len(table)) - (self.mean() - first)
        return float(np.dot(apart * apart, table))

    def _normalized_table(self) -> tuple[int, Floats]:
        last = self.tail_end(_NEGLIGIBLE_TAIL) if self.high == math.inf else int(self.high)
        check_span(self.low, last, self.text)
        table = self.relative_table(self.low, last)
        return self.low, table / table.sum()

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        first, table = self._normalized_table()
        chances = np.cumsum(table)
        chances[-1] = 1.0
        return first + np.searchsorted(chances, rng.random(size), side="right")

    def tail_end(self, eps: float) -> int:
        """The smallest S with P(W > S) < eps."""
        result = first_true(lambda k: bool(self.sf(float(k)) < eps), self.low)
        if result is None:
            raise LawError(
                f"{self.text} has a tail of {eps:g} beyond {_MAX_VALUE:.0e}: give a larger eps, or "
                "bound it with truncate(high)"
            )
        return result


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
        if below + step > _MAX_VALUE:
            return None
    above = below + step
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def check_span(first: int, last: int | float, what: str, hint: str = TABLE_HINT) -> None:
    """An error where a table of the values first..last would be too large, with a way out."""
    size = last - first + 1
    if size > MAX_TABLE_SIZE:
        raise LawError(
            f"{what} spans {size:.3g} values, {first} to {last}, and at most {MAX_TABLE_SIZE:.0e} are "
            f"tabulated: {hint}"
        )


# --- finite laws: tables of weights
@dataclass(frozen=True, slots=True, eq=False)
class Tabulated(Distribution):
    """Weights of low, low + 1, ..., the first and the last above 0; build it by `tabulated`."""

    low: int
    weights: Floats
    constructor_text: str
    _cdf_and_sf: tuple[Floats, Floats] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> Any:  # arrays come out of a pickle writable
        return tabulate, (self.low, self.weights, self.constructor_text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tabulated):
            return NotImplemented
        return self.low == other.low and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.low, len(self.weights), self.weights[:HASHED_WEIGHTS].tobytes()))

    @property
    def high(self) -> int:
        """Largest value."""
        return self.low + len(self.weights) - 1

    @property
    def text(self) -> str:
        """As it is constructed, or where it lies."""
        if self.constructor_text:
            return self.constructor_text
        return f"Pmf({self.low}..{self.high}, mean {self.mean():.6g})"

    def pmf(self, k: Floats) -> Floats:
        """P(W = k)."""
        return self.weights[(k - self.low).astype(np.int64)]

    def table(self, first: int, last: int) -> Floats:
        """P(W = k) for k = first..last."""
        return self.weights[first - self.low : last - self.low + 1]

    def cdf_and_sf(self) -> tuple[Floats, Floats]:
        """P(W <= k) and P(W > k) of all values."""
        if self._cdf_and_sf is None:
            above = np.zeros(len(self.weights))
            above[:-1] = np.cumsum(self.weights[:0:-1])[::-1]
            below = np.where(above > 0.5, np.cumsum(self.weights), 1 - above)
            below = np.maximum.accumulate(below)
            object.__setattr__(self, "_cdf_and_sf", (below, above))
        assert self._cdf_and_sf is not None
        return self._cdf_and_sf

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.cdf_and_sf()[1][np.asarray(k - self.low, dtype=np.int64)]

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return self.cdf_and_sf()[0][np.asarray(k - self.low, dtype=np.int64)]

    def _normalized_table(self) -> tuple[int, Floats]:
        return self.low, self.weights

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return self.low + np.searchsorted(self.cdf_and_sf()[0], rng.random(size), side="right")


def tabulate(low: int, weights: Any, constructor_text: str = "") -> Tabulated:
    """Return the law of weights that sum to one; zeros at the ends go."""
    table = np.array(weights, dtype=np.float64)
    if not (table[0] > 0 and table[-1] > 0):
        held = np.flatnonzero(table)
        first, last = int(held[0]), int(held[-1])
        low, table = low + first, table[first : last + 1].copy()
    table.flags.writeable = False
    return Tabulated(low, table, constructor_text)


def maximum_weights(weights: Floats, tail: float, copies: int) -> Floats:
    """P(max of independent copies = k) from P(W = k) and P(W > last); F(k)**n - F(k-1)**n."""
    above = np.full(len(weights), tail)
    above[:-1] += np.cumsum(weights[:0:-1])[::-1]
    below = np.cumsum(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
        share = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
        return np.asarray(np.exp(copies * log) * -np.expm1(copies * np.log1p(-share)))


def convolve_copies(first: Floats, second: Floats, copies: int, what: str) -> Floats:
    """Weights of the sum of an item of the first law and copies of the second, all positive.

    By squaring; no transform, whose rounding would drown the tails.
    """
    size = len(first) + copies * (len(second) - 1)
    check_span(0, size - 1, what, "count its work in larger units, or draw it with sample")
    if copies > 1 and len(second) > 1:
        products = (size / 2) ** 2
    else:
        products = float(len(first)) * len(second)
    if products > _PRODUCTS:
        raise LawError(
            f"{what} takes some {products:.0e} products: count its work in larger units, or draw "
            "it with sample"
        )
    result, power, left = first, second, copies
    while True:
        if left & 1:
            result = np.convolve(result, power)
        left >>= 1
        if not left:
            return result
        power = np.convolve(power, power)
