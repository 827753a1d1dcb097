"""Laws made of other laws: moved, mixed, bounded, added up, the largest of several.

They have no table where the others have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.errors import LawError
from stochastic.work.distribution import (
    Distribution,
    Tabulated,
    largest,
    spanned,
    tabulated,
)
from stochastic.work.families import Named, joined


class Derived(Distribution):
    """What is made ``of`` another law; its mean is infinite where that of the other is."""

    __slots__ = ()

    if TYPE_CHECKING:  # a field

        @property
        def of(self) -> Distribution:
            """The other law."""

    @property
    def high(self) -> float:
        """Largest value: that of the other law, unless told otherwise."""
        return self.of.high

    @property
    def endless(self) -> bool:
        """Whether the mean is infinite."""
        return self.of.endless


@dataclass(frozen=True, slots=True)
class Affine(Derived):
    """W·times + by, times >= 1: a law moved, or counted in smaller units."""

    of: Distribution
    times: int
    by: int

    @property
    def low(self) -> int:
        """Smallest value."""
        return self.of.low * self.times + self.by

    @property
    def high(self) -> float:
        """Largest value."""
        return self.of.high * self.times + self.by

    @property
    def text(self) -> str:
        """As it is constructed."""
        scale = f".scale({self.times})" if self.times > 1 else ""
        return self.of.text + scale + (f".shift({self.by})" if self.by else "")

    def pmf(self, k: Floats) -> Floats:
        """P(W = k)."""
        k = k - self.by
        if self.times == 1:
            return self.of.pmf(k)
        found = np.zeros(k.shape)
        whole = k % self.times == 0
        found[whole] = self.of.pmf(k[whole] // self.times)
        return found

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.of.sf((k - self.by) // self.times)

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return self.of.cdf((k - self.by) // self.times)

    def table(self, first: int, last: int) -> Floats:
        """P(W = k) for k = first..last."""
        first, last = first - self.by, last - self.by
        if self.times == 1:
            return self.of.table(first, last)
        start, stop = -(-first // self.times), last // self.times
        found = np.zeros(last - first + 1)
        if start <= stop:
            found[start * self.times - first :: self.times] = self.of.table(start, stop)
        return found

    def relative(self, first: int, last: int) -> Floats:
        """The table up to a common factor."""
        if self.times > 1:
            return self.table(first, last)
        return self.of.relative(first - self.by, last - self.by)

    def mean(self) -> float:
        """E[W]."""
        return self.of.mean() * self.times + self.by

    def var(self) -> float:
        """E[(W - E[W])²]."""
        return self.of.var() * self.times * self.times

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        """Independent draws."""
        return self.of.sample(rng, size) * self.times + self.by


def shifted(of: Distribution, by: int) -> Distribution:
    """Return the law of W + by, several shifts in one."""
    if isinstance(of, Affine):
        inner, times, by = of.of, of.times, of.by + by
    else:
        inner, times = of, 1
    return Affine(inner, times, by) if times > 1 or by else inner


@dataclass(frozen=True, slots=True)
class Above(Derived):
    """An infinite law on condition that W >= low."""

    of: Distribution
    low: int

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.between({self.low})"

    @property
    def _mass(self) -> float:
        return float(self.of.sf(self.low - 1.0))

    def pmf(self, k: Floats) -> Floats:
        """P(W = k)."""
        return self.of.pmf(k) / self._mass

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.of.sf(k) / self._mass

    def relative(self, first: int, last: int) -> Floats:
        """The table up to a common factor."""
        return self.of.relative(first, last)


@dataclass(frozen=True, slots=True)
class Maximum(Derived):
    """The largest of independent copies of an infinite law."""

    of: Distribution
    copies: int

    @property
    def low(self) -> int:
        """Smallest value."""
        return self.of.low

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.max_of({self.copies})"

    def pmf(self, k: Floats) -> Floats:
        """P(W = k) = F(k)**n - F(k-1)**n, from the share of f(k) in F(k)."""
        with np.errstate(divide="ignore"):
            share = np.minimum(self.of.pmf(k) / self.of.cdf(k), 1.0)
            return np.asarray(self.cdf(k) * -np.expm1(self.copies * np.log1p(-share)))

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return -np.expm1(self._log_cdf(k))

    def cdf(self, k: Any) -> Any:
        """P(W <= k)."""
        return np.exp(self._log_cdf(k))

    def _log_cdf(self, k: Any) -> Any:
        above = self.of.sf(k)
        low = np.log(np.maximum(self.of.cdf(k), 1e-320))
        return self.copies * np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), low)

    def table(self, first: int, last: int) -> Floats:
        """P(W = k) for k = first..last."""
        weights = self.of.table(self.low, last)
        return largest(weights, float(self.of.sf(float(last))), self.copies)[first - self.low :]


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

    def pmf(self, k: Floats) -> Floats:
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

    def table(self, first: int, last: int) -> Floats:
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


def closed_sum(parts: Sequence[tuple[int, Distribution]]) -> Distribution | None:
    """Return the sum of copies of each of some laws, if all are of one family that adds up."""
    shift, laws = 0, []
    for copies, of in parts:
        inner = of
        if isinstance(of, Affine) and of.times == 1:
            shift, inner = shift + copies * of.by, of.of
        summand = inner.to_summand(copies) if isinstance(inner, Named) else None
        if summand is None:
            return None
        shift += summand[0]
        laws.append(summand[1])
    law = joined(laws)
    return None if law is None else shifted(law, shift)


def part_of(law: Distribution, low: int, high: int, made: str) -> Tabulated:
    """Return the table of a law on condition of a range.

    Raises
    ------
    LawError
        The range is too large, or a double holds none of its probabilities.
    """
    spanned(low, high, made)
    table = law.relative(low, high)
    total = table.sum()
    if not total > 0:
        raise no_probability(law, low, high)
    return tabulated(low, table / total, made=made)


def no_probability(law: Distribution, low: int, high: float) -> LawError:
    """Return the error of a range that has no probability."""
    return LawError(
        f"{law.text} has no probability that a double holds from {low} to {high}: expected a "
        f"range that overlaps {law.low} to {law.high}"
    )
