"""Laws made of other laws: moved, mixed, bounded, added up, the largest of several.

They have no table where the others have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.errors import LawError
from stochastic.work.distribution import Distribution, spanned
from stochastic.work.families import Named, joined
from stochastic.work.finite import (
    Tabulated,
    convolved,
    largest,
    tabulated,
)


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


def scaled(of: Distribution, times: int) -> Distribution:
    """Return the law of W·times, several factors in one."""
    if isinstance(of, Affine) and not of.by:
        return Affine(of.of, of.times * times, 0)
    return Affine(of, times, 0)


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


def tabulate(law: Distribution) -> Tabulated:
    """A finite law as a table."""
    return _part(law, law.low, int(law.high), law.text)


def mixture(parts: Sequence[tuple[float, Distribution]]) -> Distribution:
    """One of several laws, drawn with given probabilities; a table where all are finite."""
    law = Mixture(tuple(parts))
    return law if law.high == math.inf else tabulate(law)


def truncated(law: Distribution, high: int, made: str) -> tuple[Tabulated, float]:
    """The law up to ``high`` < law.high, renormalised, and the mass beyond."""
    if high < law.low:
        raise _nothing(law, 0, high)
    table = _part(law, law.low, high, made)
    return table, float(law.sf(float(high)))


def between(law: Distribution, low: int, high: float) -> tuple[Distribution, float]:
    """The law on condition of a range, and the probability of that."""
    if high < max(low, law.low) or low > law.high:
        raise _nothing(law, low, high)
    low = max(low, law.low)
    if high >= law.high == math.inf:
        mass = float(law.sf(low - 1.0)) if low > law.low else 1.0
        if mass == 0:
            raise _nothing(law, low, high)
        if isinstance(law, Named) and law.family.memoryless:
            return shifted(law, low - law.low), mass
        of = law.of if isinstance(law, Above) else law
        return Above(of, low), mass
    top = int(min(high, law.high))
    table = _part(law, low, top, f"{law.text}.between({low}, {top})")
    before = float(law.sf(low - 1.0)) if low > law.low else 1.0
    return table, before - (float(law.sf(float(top))) if top < law.high else 0.0)


def _part(law: Distribution, low: int, high: int, made: str) -> Tabulated:
    spanned(low, high, made)
    table = law.relative(low, high)
    total = table.sum()
    if not total > 0:
        raise _nothing(law, low, high)
    return tabulated(low, table / total, made=made)


def _nothing(law: Distribution, low: int, high: float) -> LawError:
    return LawError(
        f"{law.text} has no probability that a double holds from {low} to {high}: expected a "
        f"range that overlaps {law.low} to {law.high}"
    )


def added(parts: Sequence[tuple[int, Tabulated]], made: str) -> Tabulated:
    """Return the sum of copies of finite laws."""
    low = sum(copies * law.low for copies, law in parts)
    table = np.ones(1)
    for copies, law in parts:
        table = convolved(table, law.weights, copies, made)
    return tabulated(low, table / table.sum(), made=made)


def maximum(law: Distribution, copies: int) -> Distribution:
    """The largest of copies; a table where the law is one."""
    if not isinstance(law, Tabulated):
        if isinstance(law, Maximum):
            copies, law = copies * law.copies, law.of
        return Maximum(law, copies)
    table = largest(law.weights, 0.0, copies)
    return tabulated(law.low, table / table.sum(), made=f"{law.text}.max_of({copies})")
