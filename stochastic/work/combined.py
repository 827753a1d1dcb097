"""A tail of a law and a sum of laws, without a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stochastic.work.binomial import Binomial
from stochastic.work.distribution import Distribution, Reals
from stochastic.work.moved import Shifted, shifted
from stochastic.work.negative_binomial import NegativeBinomial
from stochastic.work.poisson import Poisson

__all__ = ["Above", "closed_sum"]


@dataclass(frozen=True, slots=True)
class Above(Distribution):
    """An infinite law on condition that W >= low."""

    of: Distribution
    low: int

    @property
    def high(self) -> float:
        """Infinite."""
        return self.of.high

    @property
    def text(self) -> str:
        """As it is constructed."""
        return f"{self.of.text}.between({self.low})"

    @property
    def endless(self) -> bool:
        """Whether the mean is infinite."""
        return self.of.endless

    @property
    def _mass(self) -> float:
        return float(self.of.sf(self.low - 1.0))

    def pmf(self, k: Reals) -> Reals:
        """P(W = k)."""
        return self.of.pmf(k) / self._mass

    def sf(self, k: Any) -> Any:
        """P(W > k)."""
        return self.of.sf(k) / self._mass

    def relative(self, first: int, last: int) -> Reals:
        """The table up to a common factor."""
        return self.of.relative(first, last)


def closed_sum(parts: Sequence[tuple[int, Distribution]]) -> Distribution | None:
    """The sum of several copies of each of some laws, where all are of one family that adds up."""
    shift, families = 0, []
    for copies, of in parts:
        if isinstance(of, Shifted):
            shift, of = shift + copies * of.by, of.of
        closed = of.closed_sum(copies)
        if closed is None:
            return None
        shift += closed[0]
        families.append(closed[1])
    first = families[0]
    found: Distribution | None = None
    if all(isinstance(of, Poisson) for of in families):
        found = Poisson(math.fsum(of.rate for of in families if isinstance(of, Poisson)))
    elif isinstance(first, Binomial):
        same = [of for of in families if isinstance(of, Binomial) and of.p == first.p]
        if len(same) == len(families):
            found = Binomial(sum(of.trials for of in same), first.p)
    elif isinstance(first, NegativeBinomial):
        like = [of for of in families if isinstance(of, NegativeBinomial) and of.p == first.p]
        if len(like) == len(families):
            found = NegativeBinomial(math.fsum(of.r for of in like), first.p)
    return None if found is None else shifted(found, shift)
