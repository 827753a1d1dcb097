"""A law of times on a lattice, all of it: what follows from its distribution function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.checks import probability
from stochastic.errors import LawError
from stochastic.labels import times_array

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr

__all__ = ["Times", "asked_times"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Times:
    """Times first·span, (first + 1)·span, ... and the probability that none is later.

    Attributes
    ----------
    first : int
        The first step with any probability.
    below : array
        P(time <= (first + i)·span): doubles or fractions; the last is 1.
    span : int or float
        How much time a step is.
    least, most : int or float, optional
        The least and the most steps that have any chance, however small, where they are known.
    """

    first: int
    below: npt.NDArray[Any]
    span: Any = 1
    least: int | None = None
    most: float | None = None

    def __repr__(self) -> str:
        last = self.first + len(self.below) - 1
        return f"Times({self.first * self.span}..{last * self.span}, mean {float(self.mean()):.6g})"

    @property
    def chances(self) -> npt.NDArray[Any]:
        """P(time = (first + i)·span)."""
        return np.diff(self.below, prepend=self.below[0] * 0)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The times themselves."""
        return np.asarray((self.first + np.arange(len(self.below))) * self.span)

    def mean(self) -> Any:
        """E[time]."""
        return self.span * (self.first + sum((1 - self.below).tolist()))

    def var(self) -> Any:
        """Variance."""
        if self.below.dtype == object:
            apart = [self.first + i - self.mean() / self.span for i in range(len(self.below))]
            return self.span**2 * sum(p * x * x for p, x in zip(self.chances, apart, strict=True))
        apart = self.first + np.arange(len(self.below)) - self.mean() / self.span
        return self.span**2 * float(self.chances @ (apart * apart))

    def std(self) -> float:
        """Standard deviation."""
        return math.sqrt(max(float(self.var()), 0.0))

    def cdf(self, t: Any) -> Any:
        """P(time <= t), for a number or an array of them."""
        steps, shape = asked_times(t, self.span)
        at = np.clip(steps - self.first, -1, len(self.below) - 1)
        found = np.where(at < 0, self.below[0] * 0, self.below[at])
        return found.reshape(shape) if shape else found.item()

    def pmf(self) -> xr.DataArray:
        """P(time = t) along ``time``."""
        return times_array(self.values, self.chances)

    def quantile(self, q: Any) -> Any:
        """The smallest t with P(time <= t) >= q, for a number or an array of probabilities."""
        asked = np.asarray(q, dtype=object)
        found = np.array([self._quantile(one) for one in asked.reshape(-1).tolist()])
        return found.reshape(asked.shape) if asked.shape else found.item()

    def _quantile(self, q: Any) -> Any:
        probability("q", q)
        if q == 0:
            first = self.first + int(np.argmax(self.below > 0))
            return (first if self.least is None else self.least) * self.span
        if q == 1 and self.most is not None:
            return self.most * self.span
        at = int(np.argmax(self.below >= q)) if self.below[-1] >= q else len(self.below) - 1
        return (self.first + at) * self.span

    def cvar(self, q: Any) -> Any:
        """Mean of the latest share 1 - q of times: (1/(1 - q)) ∫ quantile(p) dp from q to 1.

        >>> fair = np.arange(1, 7) / 6
        >>> round(Times(first=1, below=fair).cvar(0.5), 12)
        5.0
        """
        probability("q", q)
        if q == 1:
            return self._quantile(1)
        share = np.minimum(1 - self.below, 1 - q)  # P(later than this) of the share
        if self.below.dtype == object and isinstance(q, int | Fraction):
            return self.span * (self.first + sum(share) / (1 - q))
        return self.span * (self.first + float(share.sum()) / (1 - q))


def asked_times(t: Any, span: Any) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
    """Whole steps up to each of the times, and the shape in which they were asked."""
    asked = np.asarray(t, dtype=object)
    flat = asked.reshape(-1).tolist()
    try:
        if any(isinstance(one, str | bytes) or one != one for one in flat):
            raise TypeError
        steps = [
            max(min(math.floor(one / span), 2**62), -1)
            if abs(one) < math.inf
            else (2**62 if one > 0 else -1)
            for one in flat
        ]
    except TypeError:
        raise LawError(f"t = {t!r}: expected times to compare with, such as 1000") from None
    return np.array(steps, dtype=np.int64), asked.shape
