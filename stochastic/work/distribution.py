"""Define the interface of laws over 0, 1, 2, ..., and laws given by a table of weights."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import LawError

#: Approximate logarithm of the smallest probability that a double holds with full precision.
SMALLEST_LOG = -700.0

#: Text about the alternatives to a table, for error messages.
TABLE_HINT = (
    "for an infinite law give a larger eps or tol, bound it with truncate(high), count the work in "
    "larger units, or use what needs no table (its own mean, var, cdf, quantile, sample)"
)

#: Laws with up to this number of values are hashed by all of their weights.
HASHED_WEIGHTS = sizes.RATIOS_SMALL

_MAX_VALUE = 2**62  # Upper limit on a value that a search returns.
_NEGLIGIBLE_TAIL = 1e-24  # Tail left out of sums over an infinite law without a formula.


class Distribution(ABC):
    """A law of a non-negative integer; values are passed to its methods as arrays of floats."""

    __slots__ = ()

    if TYPE_CHECKING:  # subclasses define fields or properties

        @property
        def low(self) -> int:
            """Return the smallest value whose probability a double can represent."""

        @property
        def high(self) -> float:
            """Return the largest value, a whole number, or ``math.inf``."""

        @property
        def text(self) -> str:
            """Return the constructor call of the law."""

    @abstractmethod
    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k) for whole k from low to high."""

    @abstractmethod
    def sf(self, k: Any) -> Any:
        """Return P(W > k) for whole k with low <= k < high, with a small relative error."""

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k) for whole k with low <= k < high."""
        return 1.0 - self.sf(k)

    def table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last, within low..high."""
        return self.pmf(np.arange(first, last + 1, dtype=np.float64))

    def relative_table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last, up to a common factor."""
        return self.table(first, last)

    @property
    def has_infinite_mean(self) -> bool:
        """True if the mean is infinite."""
        return False

    def mean(self) -> float:
        """Return E[W]."""
        first, table = self._normalized_table()
        return first + float(np.dot(np.arange(len(table)), table))

    def var(self) -> float:
        """Return E[(W - E[W])²], which may be infinite."""
        first, table = self._normalized_table()
        apart = np.arange(len(table)) - (self.mean() - first)
        return float(np.dot(apart * apart, table))

    def _normalized_table(self) -> tuple[int, Floats]:
        last = self.tail_end(_NEGLIGIBLE_TAIL) if self.high == math.inf else int(self.high)
        check_span(self.low, last, self.text)
        table = self.relative_table(self.low, last)
        return self.low, table / table.sum()

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Return independent draws."""
        first, table = self._normalized_table()
        chances = np.cumsum(table)
        chances[-1] = 1.0
        return first + np.searchsorted(chances, rng.random(size), side="right")

    def tail_end(self, eps: float) -> int:
        """Return the smallest S with P(W > S) < eps."""
        result = first_true(lambda k: bool(self.sf(float(k)) < eps), self.low)
        if result is None:
            raise LawError(
                f"{self.text} has a tail of {eps:g} beyond {_MAX_VALUE:.0e}: give a larger eps, or "
                "bound it with truncate(high)"
            )
        return result


def first_true(holds: Callable[[int], bool], start: int) -> int | None:
    """Return the first integer >= ``start`` at which a monotone condition holds, or None."""
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
    """Raise LawError with ``hint`` if a table of first..last would be too large."""
    size = last - first + 1
    if size > sizes.LAW_LARGEST:
        raise LawError(
            f"{what} spans {size:.3g} values, {first} to {last}, and at most "
            f"{sizes.LAW_LARGEST:.0e} are tabulated: {hint}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated(Distribution):
    """A law given by weights of low, low + 1, ...; the first and the last weight are above 0."""

    low: int
    weights: Floats
    constructor_text: str
    _cdf_and_sf: tuple[Floats, Floats] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> Any:  # unpickled arrays would be writable
        return tabulate, (self.low, self.weights, self.constructor_text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tabulated):
            return NotImplemented
        return self.low == other.low and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.low, len(self.weights), self.weights[:HASHED_WEIGHTS].tobytes()))

    @property
    def high(self) -> int:
        """Return the largest value."""
        return self.low + len(self.weights) - 1

    @property
    def text(self) -> str:
        """Return the constructor call of the law, or the range of its values."""
        if self.constructor_text:
            return self.constructor_text
        return f"Pmf({self.low}..{self.high}, mean {self.mean():.6g})"

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k)."""
        return self.weights[(k - self.low).astype(np.int64)]

    def table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last."""
        return self.weights[first - self.low : last - self.low + 1]

    def cdf_and_sf(self) -> tuple[Floats, Floats]:
        """Return P(W <= k) and P(W > k) for all values k."""
        if self._cdf_and_sf is None:
            above = np.zeros(len(self.weights))
            above[:-1] = np.cumsum(self.weights[:0:-1])[::-1]
            below = np.where(above > 0.5, np.cumsum(self.weights), 1 - above)
            below = np.maximum.accumulate(below)
            object.__setattr__(self, "_cdf_and_sf", (below, above))
        assert self._cdf_and_sf is not None
        return self._cdf_and_sf

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        return self.cdf_and_sf()[1][np.asarray(k - self.low, dtype=np.int64)]

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k)."""
        return self.cdf_and_sf()[0][np.asarray(k - self.low, dtype=np.int64)]

    def _normalized_table(self) -> tuple[int, Floats]:
        return self.low, self.weights

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Return independent draws."""
        return self.low + np.searchsorted(self.cdf_and_sf()[0], rng.random(size), side="right")


def tabulate(low: int, weights: Any, constructor_text: str = "") -> Tabulated:
    """Return the law with weights of low, low + 1, ... that sum to 1; zeros at the ends are cut."""
    table = np.array(weights, dtype=np.float64)
    if not (table[0] > 0 and table[-1] > 0):
        positive = np.flatnonzero(table)
        first, last = int(positive[0]), int(positive[-1])
        low, table = low + first, table[first : last + 1].copy()
    table.flags.writeable = False
    return Tabulated(low, table, constructor_text)


def maximum_weights(weights: Floats, tail: float, copies: int) -> Floats:
    """Return P(max of ``copies`` items = k) from the weights P(W = k) and the tail P(W > last)."""
    above = np.full(len(weights), tail)
    above[:-1] += np.cumsum(weights[:0:-1])[::-1]
    below = np.cumsum(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(below))
        share = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
        return np.asarray(np.exp(copies * log) * -np.expm1(copies * np.log1p(-share)))


def convolve_copies(first: Floats, second: Floats, copies: int, what: str) -> Floats:
    """Return the weights of the sum of one item of the first law and ``copies`` of the second.

    Direct convolution keeps tails accurate, because all terms are positive; a transform would not.
    """
    size = len(first) + copies * (len(second) - 1)
    check_span(0, size - 1, what, "count its work in larger units, or draw from it with sample")
    if copies > 1 and len(second) > 1:
        products = (size / 2) ** 2
    else:
        products = float(len(first)) * len(second)
    if products > sizes.CONVOLVE_MOST:
        raise LawError(
            f"{what} takes some {products:.0e} products: count its work in larger units, or draw "
            "from it with sample"
        )
    result, power, left = first, second, copies
    while True:
        if left & 1:
            result = np.convolve(result, power)
        left >>= 1
        if not left:
            return result
        power = np.convolve(power, power)
