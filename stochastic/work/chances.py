"""What a law of whole numbers tells: its support, its moments, its probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from stochastic.errors import LawError
from stochastic.work import algebra
from stochastic.work.distribution import Distribution, Reals, first_true
from stochastic.work.ratios import SMALL
from stochastic.work.tabulated import Tabulated

__all__ = ["Chances"]

_LONG = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Chances:
    """The law of a non-negative integer, as it is asked; see :class:`stochastic.work.pmf.Pmf`."""

    distribution: Distribution
    missing: float = 0.0
    _in_fractions: bool = False
    _table: Tabulated | None = field(default=None, init=False)

    # --- what it is
    @property
    def low(self) -> int:
        """Smallest value whose probability a double holds."""
        return self.distribution.low

    @property
    def high(self) -> float:
        """Largest value, a whole number, or ``math.inf``."""
        return self.distribution.high

    @property
    def is_finite(self) -> bool:
        """Whether the support ends."""
        return self.distribution.high < math.inf

    def support(self) -> tuple[int, float]:
        """Smallest and largest value."""
        return self.low, self.high

    @property
    def weights(self) -> Reals:
        """P(W = low), P(W = low + 1), ..., P(W = high) of a finite law, read-only."""
        return self._whole().weights

    @property
    def exact(self) -> tuple[Fraction, ...] | None:
        """The weights as fractions, where the law is rational and small, else None."""
        ratios = self.distribution.numerators()
        if ratios is None:
            return None
        total = sum(ratios)
        known = {ratio: Fraction(ratio, total) for ratio in set(ratios)}
        return tuple(known[ratio] for ratio in ratios)

    @property
    def given_exactly(self) -> bool:
        """Whether whoever gave the law gave Fractions, so may expect Fractions."""
        return self._in_fractions and self.distribution.numerators() is not None

    def _whole(self) -> Tabulated:
        """The table of a finite law, made once."""
        if isinstance(self.distribution, Tabulated):
            return self.distribution
        if not self.is_finite:
            raise LawError(f"{self!r} has no last value: cut(eps) gives it one, as cut(1e-9)")
        if self._table is None:
            object.__setattr__(self, "_table", algebra.tabulate(self.distribution))
        assert self._table is not None
        return self._table

    def __repr__(self) -> str:
        text = self.distribution.text
        return text if len(text) <= _LONG else f"Pmf({self.low}..{self.high})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chances):
            return NotImplemented
        if (self.support(), self.missing) != (other.support(), other.missing):
            return False
        if self.given_exactly != other.given_exactly:
            return False
        if self.distribution == other.distribution and not self.given_exactly:
            return True
        if not self.is_finite or self._whole() != other._whole():
            return False
        return not self.given_exactly or self.exact == other.exact

    def __hash__(self) -> int:
        if self.is_finite:
            small = self.high - self.low < SMALL
            return hash((self.support(), self.weights.tobytes() if small else b""))
        return hash(self.distribution)

    # --- what it tells
    def mean(self) -> float:
        """E[W]; a LawError where it is infinite."""
        self._refuse_endless()
        return self.distribution.mean()

    def var(self) -> float:
        """E[(W - E[W])²], ``math.inf`` where it diverges."""
        self._refuse_endless()
        return self.distribution.var()

    def std(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.var())

    def _refuse_endless(self) -> None:
        if self.distribution.endless:
            raise LawError(
                f"{self!r} has an infinite mean, which no cut comes near: bound it with "
                "truncate(high), or give the law on condition of a range with between(low, high)"
            )

    def pmf(self, k: Any) -> Any:
        """P(W = k) for a number or an array; 0 for whatever is no value."""
        asked = _numbers("k", k)
        held = (asked >= self.low) & (asked <= self.high) & (np.floor(asked) == asked)
        found = np.zeros(asked.shape)
        found[held] = self.distribution.pmf(asked[held])
        return _plain(found)

    def cdf(self, k: Any) -> Any:
        """P(W <= k) for a number or an array."""
        return self._chance(k, 0.0, self.distribution.cdf)

    def sf(self, k: Any) -> Any:
        """P(W > k) for a number or an array, accurate relative to itself."""
        return self._chance(k, 1.0, self.distribution.sf)

    def _chance(self, k: Any, before: float, inside: Callable[[Any], Any]) -> Any:
        asked = np.floor(_numbers("k", k))
        held = (asked >= self.low) & (asked < self.high)
        found = np.where(asked < self.low, before, 1.0 - before)
        found[held] = inside(asked[held])
        return _plain(found)

    def quantile(self, q: Any) -> Any:
        """The smallest k with P(W <= k) >= q, for a number or an array of probabilities."""
        asked = _numbers("q", q)
        most = asked.max(initial=0.0)
        if not (np.all(asked >= 0) and most <= 1):
            raise LawError(f"q = {q!r}: expected probabilities from 0 to 1")
        if most == 1 and not self.is_finite:
            raise LawError(f"q = 1: {self!r} has no largest value; expected a probability below 1")
        found = [self._quantile(one) for one in asked.ravel().tolist()]
        return _plain(np.array(found, dtype=np.int64).reshape(asked.shape))

    def _quantile(self, q: float) -> int:
        law = self.distribution
        if q == 1:
            return int(law.high)
        if isinstance(law, Tabulated):
            return law.low + int(np.searchsorted(law.chances()[0], q))
        found = first_true(lambda k: k >= law.high or bool(law.cdf(float(k)) >= q), law.low)
        if found is None:
            raise LawError(f"the quantile {q!r} of {self!r} is beyond 2**62: expected a lower one")
        return found

    def sample(self, size: Any = None, seed: Any = 0) -> Any:
        """Independent draws, one or an array of a shape; seed: a number or a numpy Generator."""
        return _plain(np.asarray(self.distribution.sample(np.random.default_rng(seed), size)))


def _numbers(name: str, values: Any) -> Reals:
    """An array of numbers, none of them NaN."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise LawError(f"{name} = {values!r}: expected a number or an array of them") from None
    if np.isnan(found).any():
        raise LawError(f"{name} = {values!r}: expected numbers, not NaN")
    return found


def _plain(found: Any) -> Any:
    """An array, or the number where it is one of no dimension."""
    return found.item() if found.ndim == 0 else found
