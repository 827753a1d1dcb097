"""Simulate the time of a launch whose warps share the rate of their multiprocessor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats
from stochastic.checks import LawError, check_integer, check_probability, check_real
from stochastic.launch_time.law import TimeBreakdown
from stochastic.launch_time.settings import longest_item_law
from stochastic.work.pmf import Pmf

_LEVEL = 0.99  # Confidence of the band around the simulated CDF.


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Parameters of warps that share a multiprocessor: n warps run at the rate min(1, full/n) each.

    Attributes:
        full: Number of warps that can run at the full rate together, from MWP and CWP.
        resident: Number of resident blocks of a multiprocessor.
        launches: Number of launches to simulate.
        seed: Seed of the draws.
    """

    full: float
    resident: int
    launches: int = 2000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedLaunch:
    """Simulated times of a launch, with confidence intervals (Massart 1990, DKW inequality).

    ``times`` are the times of the simulated launches, ascending. ``work_bound`` is the mean work of
    all warps divided by the rate of all multiprocessors, a lower bound on the mean time.
    ``lane_share`` is the mean share of a warp's time in which lanes wait for the longest lane.
    ``certain`` is true if all warps take the same time; then all launches take the same time.
    """

    times: Floats
    work_bound: float
    lane_share: float
    certain: bool = False
    method = "simulated, shared rate"

    @property
    def error(self) -> float:
        """Return the half-width of a band that contains the whole CDF with probability 99 %."""
        if self.certain:
            return 0.0
        return math.sqrt(math.log(2.0 / (1.0 - _LEVEL)) / (2.0 * len(self.times)))

    @property
    def values(self) -> Floats:
        """Return the times, under the name that TimeLaw uses."""
        return self.times

    @property
    def cdf_values(self) -> Floats:
        """Return P(C <= t) for each t of ``values``, within ``error``."""
        return np.arange(1, len(self.times) + 1) / len(self.times)

    def cdf(self, t: Any) -> Any:
        """Return P(C <= t), within ``error``, for a number or an array."""
        result = np.searchsorted(self.times, t, side="right") / len(self.times)
        return result if np.ndim(t) else float(result)

    def chance(self, deadline: Any) -> Any:
        """Return the probability that all blocks have ended by the deadline, within ``error``."""
        return self.cdf(deadline)

    def interval(self, t: float) -> tuple[float, float]:
        """Return an interval that contains P(C <= t) with a probability of 99 %."""
        chance = float(self.cdf(t))
        return max(chance - self.error, 0.0), min(chance + self.error, 1.0)

    def quantile(self, q: float) -> float:
        """Return the smallest simulated time t with P(C <= t) >= q."""
        check_probability("q", q)
        return float(self.times[max(math.ceil(q * len(self.times)) - 1, 0)])

    def cvar(self, q: float) -> float:
        """Return the mean time of the slowest simulated launches, whose share is 1 - q."""
        check_probability("q", q)
        return float(self.times[min(math.ceil(q * len(self.times)), len(self.times) - 1) :].mean())

    def idle(self) -> TimeBreakdown:
        """Return the shares of the rate of all multiprocessors that are used, wasted and unused.

        ``slot_share`` is the unused rate: slots are empty, or have too few running warps. A warp
        that waits for the other warps of its block uses no rate, so ``warp_share`` is 0.
        """
        used = min(self.work_bound / self.mean(), 1.0)  # only random errors make it exceed 1
        return TimeBreakdown(
            slot_time=math.nan,
            slot_share=1.0 - used,
            lane_share=used * self.lane_share,
            warp_share=0.0,
            working_share=used * (1.0 - self.lane_share),
        )

    def mean(self) -> float:
        """Return E[C]; its standard error is ``std() / sqrt(len(times))``."""
        return float(self.times.mean())

    def std(self) -> float:
        """Return the standard deviation of C."""
        return float(self.times.std(ddof=1))


def simulate_shared_launch(
    work: Pmf, sharing: Any, blocks: int, slots: int, lanes: int, warps: int, correlation: Any
) -> SharedLaunch:
    """Simulate launches; first blocks go to each SM in turn, later ones to the first free slot."""
    from stochastic.kernels.schedule import simulate_shared_rate

    if not isinstance(sharing, Sharing):
        raise LawError(
            f"sharing = {sharing!r:.60}: expected Sharing(full=8, resident=4), the warps that run "
            "at full rate on a multiprocessor and its resident blocks"
        )
    resident = check_integer("resident", sharing.resident, least=1, example=4)
    size = check_integer("launches", sharing.launches, least=20, example=2000)
    full = check_real("full", sharing.full, lambda x: x > 0, "a number of warps above 0")
    if slots % resident:
        raise LawError(
            f"slots = {slots} are no multiple of resident = {resident}: expected multiprocessors "
            "times resident blocks"
        )
    if blocks * warps > sizes.WARPS_MOST:
        raise LawError(
            f"{blocks:,} blocks of {warps:,} warps that share a rate are too many to be simulated: "
            f"expected up to {sizes.WARPS_MOST:,} warps a launch; without sharing, blocks may be "
            "more"
        )
    warp, _ = longest_item_law(work, lanes, 1e-15, correlation)
    if float(warp.cdf(0)) > 0:
        raise LawError(
            "sharing: expected warps that all have work, P(0) = 0; without sharing, blocks may "
            "have none"
        )
    below = np.cumsum(warp.weights)
    places = slots // resident
    rng = np.random.default_rng(check_integer("seed", sharing.seed, least=0))
    times = np.empty(size)
    step = max(1, sizes.WARPS_AT_ONCE // (blocks * warps))
    shape = (2, places, resident)
    room = np.empty(shape, dtype=np.int64), np.empty(shape), np.empty((4, places))
    for first in range(0, size, step):
        count = min(step, size - first)
        drawn = rng.random((count, blocks, warps)) * below[-1]
        lengths = (warp.low + np.searchsorted(below, drawn, side="right")).astype(np.float64)
        lengths.sort(axis=-1)
        simulate_shared_rate(lengths, full, *room, times[first : first + count])
    rate = places * min(full, float(resident * warps))
    bound = blocks * warps * warp.mean() / rate
    return SharedLaunch(
        times=np.sort(times),
        certain=warp.low == warp.high,
        work_bound=bound,
        lane_share=max(1.0 - work.mean() / warp.mean(), 0.0),
    )
