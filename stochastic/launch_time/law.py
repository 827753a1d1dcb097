"""Define the results of a launch: the law of its time, shares of slot time, and the energy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stochastic.arrays import Ints
from stochastic.checks import LawError, check_probability
from stochastic.labels import law_array

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeLaw:
    """The law of a time in whole steps: P(time <= (first + i)·span) is ``cdf_values[i]``.

    ``first`` is the first step whose probability is not negligible, and ``span`` is the time of a
    step. The last of ``cdf_values`` is 1. ``minimum`` and ``maximum``, if known, are the smallest
    and the largest possible number of steps, however improbable.
    """

    first: int
    cdf_values: npt.NDArray[Any]
    span: Any = 1
    minimum: int | None = None
    maximum: float | None = None

    def __repr__(self) -> str:
        last = self.first + len(self.cdf_values) - 1
        return f"TimeLaw({self.first * self.span}..{last * self.span}, mean {self.mean():.6g})"

    @property
    def probabilities(self) -> npt.NDArray[Any]:
        """Return P(time = (first + i)·span)."""
        return np.diff(self.cdf_values, prepend=0.0)

    @property
    def values(self) -> npt.NDArray[Any]:
        """Return the times."""
        return np.asarray((self.first + np.arange(len(self.cdf_values))) * self.span)

    def mean(self) -> float:
        """Return E[time]."""
        return float(self.span * (self.first + sum((1.0 - self.cdf_values).tolist())))

    def var(self) -> float:
        """Return the variance."""
        apart = self.first + np.arange(len(self.cdf_values)) - self.mean() / self.span
        return float(self.span**2 * float(self.probabilities @ (apart * apart)))

    def std(self) -> float:
        """Return the standard deviation."""
        return math.sqrt(max(self.var(), 0.0))

    def cdf(self, t: Any) -> Any:
        """Return P(time <= t), for a number or an array."""
        steps, shape = whole_steps(t, self.span)
        at = np.clip(steps - self.first, -1, len(self.cdf_values) - 1)
        result = np.where(at < 0, 0.0, self.cdf_values[at])
        return result.reshape(shape) if shape else result.item()

    def pmf(self) -> xr.DataArray:
        """Return P(time = t) along ``time``."""
        return law_array(self.probabilities, {}, time=self.values)

    def quantile(self, q: Any) -> Any:
        """Return the smallest t with P(time <= t) >= q, for a number or an array."""
        levels = np.asarray(q, dtype=object)
        result = np.array([self._quantile(one) for one in levels.reshape(-1).tolist()])
        return result.reshape(levels.shape) if levels.shape else result.item()

    def _quantile(self, q: Any) -> Any:
        check_probability("q", q)
        if q == 0:
            first = self.first + int(np.argmax(self.cdf_values > 0))
            return (first if self.minimum is None else self.minimum) * self.span
        if q == 1 and self.maximum is not None:
            return self.maximum * self.span
        is_reached = self.cdf_values >= q
        at = int(np.argmax(is_reached)) if is_reached[-1] else len(is_reached) - 1
        return (self.first + at) * self.span

    def cvar(self, q: Any) -> Any:
        """Return the mean of the longest times (share 1 - q): ∫ quantile(p) dp/(1 - q), p = q..1.

        >>> fair = np.arange(1, 7) / 6
        >>> round(TimeLaw(first=1, cdf_values=fair).cvar(0.5), 12)
        5.0
        """
        check_probability("q", q)
        if q == 1:
            return self._quantile(1)
        share = np.minimum(
            1 - self.cdf_values, 1 - q
        )  # P(time > t) for each step t, but at most 1 - q
        return self.span * (self.first + float(share.sum()) / (1 - q))


def whole_steps(t: Any, span: Any) -> tuple[Ints, tuple[int, ...]]:
    """Return ``t`` in whole steps, rounded down, as a flat array; and the shape of ``t``."""
    times = np.asarray(t, dtype=object)
    flat = times.reshape(-1).tolist()
    try:
        if any(isinstance(one, str | bytes) or one != one for one in flat):
            raise TypeError
        steps = [math.floor(min(max(one / span, -1), 2**62)) for one in flat]
    except TypeError:
        raise LawError(f"t = {t!r}: expected times to compare with, such as 1000") from None
    return np.array(steps, dtype=np.int64), times.shape


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBreakdown:
    """Mean shares of M·E[C], the total time of all M slots; they sum to 1.

    ``slot_time`` is the total time for which slots without a block wait for the end of the launch,
    M·E[C] - E[T]; ``slot_share`` is the share of this time (the tail). ``lane_share`` is the share
    in which lanes wait for the longest lane of their warp; ``warp_share`` is the share in which
    warps wait for the longest warp of their block; ``working_share`` is the share of useful work.
    """

    slot_time: float
    slot_share: float
    lane_share: float
    warp_share: float
    working_share: float

    @classmethod
    def from_means(
        cls, *, slots: int, time: float, total: float, parts: Sequence[tuple[float, float, float]]
    ) -> TimeBreakdown:
        """Return the shares; ``parts`` are (blocks, mean work of an item, mean work of a warp)."""
        whole = slots * time
        if whole == 0:
            return cls(
                slot_time=0.0, slot_share=0.0, lane_share=0.0, warp_share=0.0, working_share=1.0
            )
        used = min(total / whole, 1.0)  # only rounding makes a share exceed 1 or fall below 0
        working = min(sum(count * item for count, item, _ in parts) / whole, used)
        lanes = min(max(sum(c * (warp - item) for c, item, warp in parts) / whole, 0.0), 1.0)
        return cls(
            slot_time=max(whole - total, 0.0),
            slot_share=1.0 - used,
            lane_share=lanes,
            warp_share=max(used - working - lanes, 0.0),
            working_share=working,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of a launch: the means of its three parts, and the standard deviation of their sum.

    The relative error of the standard deviation is about 1e-6.
    """

    working: float
    on: float
    idling: float
    std: float

    @property
    def mean(self) -> float:
        """Return the mean of the total energy."""
        return self.working + self.on + self.idling
