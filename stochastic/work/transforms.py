"""Derive laws from other laws: shifts, scalings, mixtures, truncations, sums and maxima.

A law that is derived from infinite laws is not tabulated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.checks import LawError
from stochastic.work.distribution import (
    Distribution,
    Tabulated,
    check_span,
    maximum_weights,
    tabulate,
)
from stochastic.work.families import FamilyLaw, add_laws


class _DerivedLaw(Distribution):
    __slots__ = ()

    if TYPE_CHECKING:  # subclasses define a field

        @property
        def base(self) -> Distribution:
            """Return the law from which this law is derived."""

    @property
    def high(self) -> float:
        return self.base.high

    @property
    def has_infinite_mean(self) -> bool:
        return self.base.has_infinite_mean


@dataclass(frozen=True, slots=True)
class Affine(_DerivedLaw):
    """The law of W·factor + offset with factor >= 1: shifted work in smaller units."""

    base: Distribution
    factor: int
    offset: int

    @property
    def low(self) -> int:
        """Return the smallest value."""
        return self.base.low * self.factor + self.offset

    @property
    def high(self) -> float:
        """Return the largest value."""
        return self.base.high * self.factor + self.offset

    @property
    def text(self) -> str:
        """Return the constructor call of the law."""
        scale = f".scale({self.factor})" if self.factor > 1 else ""
        return self.base.text + scale + (f".shift({self.offset})" if self.offset else "")

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k)."""
        k = k - self.offset
        if self.factor == 1:
            return self.base.pmf(k)
        result = np.zeros(k.shape)
        whole = k % self.factor == 0
        result[whole] = self.base.pmf(k[whole] // self.factor)
        return result

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        return self.base.sf((k - self.offset) // self.factor)

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k)."""
        return self.base.cdf((k - self.offset) // self.factor)

    def table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last."""
        first, last = first - self.offset, last - self.offset
        if self.factor == 1:
            return self.base.table(first, last)
        start, stop = -(-first // self.factor), last // self.factor
        result = np.zeros(last - first + 1)
        if start <= stop:
            result[start * self.factor - first :: self.factor] = self.base.table(start, stop)
        return result

    def relative_table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last, up to a common factor."""
        if self.factor > 1:
            return self.table(first, last)
        return self.base.relative_table(first - self.offset, last - self.offset)

    def mean(self) -> float:
        """Return E[W]."""
        return self.base.mean() * self.factor + self.offset

    def var(self) -> float:
        """Return E[(W - E[W])²]."""
        return self.base.var() * self.factor * self.factor

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Return independent draws."""
        return self.base.sample(rng, size) * self.factor + self.offset


def shift_law(law: Distribution, offset: int) -> Distribution:
    """Return the law of W + offset; shifts of a shifted law are combined."""
    if isinstance(law, Affine):
        inner, times, offset = law.base, law.factor, law.offset + offset
    else:
        inner, times = law, 1
    return Affine(inner, times, offset) if times > 1 or offset else inner


@dataclass(frozen=True, slots=True)
class LeftTruncated(_DerivedLaw):
    """The law of W given W >= low, for an infinite law."""

    base: Distribution
    low: int

    @property
    def text(self) -> str:
        """Return the constructor call of the law."""
        return f"{self.base.text}.between({self.low})"

    @property
    def _mass(self) -> float:
        return float(self.base.sf(self.low - 1.0))

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k)."""
        return self.base.pmf(k) / self._mass

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        return self.base.sf(k) / self._mass

    def relative_table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last, up to a common factor."""
        return self.base.relative_table(first, last)


@dataclass(frozen=True, slots=True)
class Maximum(_DerivedLaw):
    """The law of the maximum of independent copies of an infinite law."""

    base: Distribution
    copies: int

    @property
    def low(self) -> int:
        """Return the smallest value."""
        return self.base.low

    @property
    def text(self) -> str:
        """Return the constructor call of the law."""
        return f"{self.base.text}.max_of({self.copies})"

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k) = F(k)**n - F(k-1)**n, computed from the ratio of f(k) to F(k)."""
        with np.errstate(divide="ignore"):
            share = np.minimum(self.base.pmf(k) / self.base.cdf(k), 1.0)
            return np.asarray(self.cdf(k) * -np.expm1(self.copies * np.log1p(-share)))

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        return -np.expm1(self._log_cdf(k))

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k)."""
        return np.exp(self._log_cdf(k))

    def _log_cdf(self, k: Any) -> Any:
        above = self.base.sf(k)
        low = np.log(np.maximum(self.base.cdf(k), 1e-320))
        return self.copies * np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), low)

    def table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last."""
        weights, tail = self.base.table(self.low, last), float(self.base.sf(float(last)))
        return maximum_weights(weights, tail, self.copies)[first - self.low :]


@dataclass(frozen=True, slots=True)
class Mixture(Distribution):
    """The law of a value whose law is drawn from pairs (probability, law)."""

    parts: tuple[tuple[float, Distribution], ...]

    @property
    def low(self) -> int:
        """Return the smallest value."""
        return min(of.low for _, of in self.parts)

    @property
    def high(self) -> float:
        """Return the largest value."""
        return max(of.high for _, of in self.parts)

    @property
    def text(self) -> str:
        """Return the constructor call of the law."""
        inner = ", ".join(f"({weight!r}, {of.text})" for weight, of in self.parts)
        return f"Pmf.mixture([{inner}])"

    @property
    def has_infinite_mean(self) -> bool:
        """True if the mean is infinite."""
        return any(of.has_infinite_mean for _, of in self.parts)

    def pmf(self, k: Floats) -> Floats:
        """Return P(W = k)."""
        result = np.zeros(k.shape)
        for weight, of in self.parts:
            inside = (k >= of.low) & (k <= of.high)
            result[inside] += weight * of.pmf(k[inside])
        return result

    def _weighted_probability(self, k: Any, tail: bool) -> Any:
        k = np.asarray(k, dtype=np.float64)
        result = np.zeros(k.shape)
        for weight, of in self.parts:
            inside = (k >= of.low) & (k < of.high)
            result[(k < of.low) if tail else (k >= of.high)] += weight
            result[inside] += weight * (of.sf if tail else of.cdf)(k[inside])
        return result[()]

    def sf(self, k: Any) -> Any:
        """Return P(W > k)."""
        return self._weighted_probability(k, tail=True)

    def cdf(self, k: Any) -> Any:
        """Return P(W <= k)."""
        return self._weighted_probability(k, tail=False)

    def table(self, first: int, last: int) -> Floats:
        """Return P(W = k) for k = first..last."""
        result = np.zeros(last - first + 1)
        for weight, of in self.parts:
            start, stop = max(first, of.low), int(min(last, of.high))
            if start <= stop:
                result[start - first : stop - first + 1] += weight * of.table(start, stop)
        return result

    def mean(self) -> float:
        """Return E[W]."""
        return sum(weight * of.mean() for weight, of in self.parts)

    def var(self) -> float:
        """Return E[(W - E[W])²], the sum of the variances within and between the parts."""
        mean = self.mean()
        return sum(weight * (of.var() + (of.mean() - mean) ** 2) for weight, of in self.parts)

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Return independent draws."""
        bounds = np.cumsum([weight for weight, _ in self.parts])
        which = np.searchsorted(bounds[:-1], rng.random(size), side="right")
        result = np.empty(np.shape(which), dtype=np.int64)
        for i, (_, of) in enumerate(self.parts):
            result[which == i] = of.sample(rng, int(np.count_nonzero(which == i)))
        return result[()]


def closed_form_sum(parts: Sequence[tuple[int, Distribution]]) -> Distribution | None:
    """Return the law of a sum of items, ``copies`` of each law; None without a closed form.

    The sum has a closed form if all laws belong to the same additive family.
    """
    shift, laws = 0, []
    for copies, of in parts:
        inner = of
        if isinstance(of, Affine) and of.factor == 1:
            shift, inner = shift + copies * of.offset, of.base
        summand = inner.to_summand(copies) if isinstance(inner, FamilyLaw) else None
        if summand is None:
            return None
        shift += summand[0]
        laws.append(summand[1])
    law = add_laws(laws)
    return None if law is None else shift_law(law, shift)


def tabulate_range(law: Distribution, low: int, high: int, constructor_text: str) -> Tabulated:
    """Return the table of a law given low <= W <= high; LawError if it is too large or empty."""
    check_span(low, high, constructor_text)
    table = law.relative_table(low, high)
    total = table.sum()
    if not total > 0:
        raise no_probability_error(law, low, high)
    return tabulate(low, table / total, constructor_text=constructor_text)


def no_probability_error(law: Distribution, low: int, high: float) -> LawError:
    """Return the error for a range in which a law has no probability."""
    return LawError(
        f"{law.text} has no probability that a double holds from {low} to {high}: expected a "
        f"range that overlaps {law.low} to {law.high}"
    )
