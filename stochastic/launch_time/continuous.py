"""Bound the law of a launch with continuous durations by two laws on a lattice."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.checks import LawError, check_integer, check_real
from stochastic.launch_time.launch import Launch, launch
from stochastic.launch_time.settings import longest_item_law
from stochastic.work.pmf import Pmf

_SIGMAS = 24.0  # Width of the range of the last start, in standard deviations.
_CUT_TAIL = 1e-15  # Tail probability at which a law is truncated.


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Two launches whose times enclose the time of a launch with continuous durations.

    Attributes:
        early, late: The launch with every duration rounded down, or up, to whole steps; times are
            in steps.
        step: Time of a step.
        missing: Bound on the probability that some block takes longer than the tabulated durations.
            The bounds of ``cdf``, ``chance`` and ``quantile`` include it; those of ``mean`` do not.
    """

    early: Launch
    late: Launch
    step: float
    missing: float

    def cdf(self, t: float) -> tuple[float, float]:
        """Return bounds on P(C <= t); t is rounded if it is almost a whole number of steps."""
        steps = t / self.step
        whole_steps = math.floor(steps + 1e-12 * abs(steps)) if abs(steps) < math.inf else steps
        low = self.late.cdf(whole_steps) - self.late.error - self.missing
        high = self.early.cdf(whole_steps) + self.early.error
        return max(float(low), 0.0), min(float(high), 1.0)

    def chance(self, deadline: float) -> tuple[float, float]:
        """Return bounds on the probability that all blocks have ended by the deadline."""
        return self.cdf(deadline)

    def mean(self) -> tuple[float, float]:
        """Return bounds on E[C]."""
        return self.step * float(self.early.mean()), self.step * float(self.late.mean())

    def quantile(self, q: float) -> tuple[float, float]:
        """Return bounds on the smallest t with P(C <= t) >= q.

        The upper bound is inf if 1 - q is smaller than the error of the probabilities.
        """
        low = self.early.quantile(max(q - self.early.error, 0.0))
        above = q + self.late.error + self.missing
        high = self.late.quantile(above) if above <= 1.0 else math.inf
        return self.step * low, self.step * high


def launch_between(
    work: Any,
    *,
    blocks: int,
    slots: int,
    step: float | None = None,
    lanes: int = 1,
    warps: int = 1,
    tol: float = 1e-13,
) -> Between:
    """Bound the law of a launch with continuous durations by two laws on a lattice.

    A launch never gets shorter when a block gets longer. So launches with durations rounded down
    and up to whole steps bound it. With half the step, the gap between the bounds is half as large,
    and the computation takes about four times as long.

    Parameters:
        work (frozen law of scipy.stats, or callable): The law of the duration of one item, which is
            not negative; or t -> P(duration <= t).
        step (float, optional): Step to which durations are rounded; by default a thousandth of the
            longest duration.
        blocks, slots, lanes, warps, tol: As in :func:`stochastic.launch`; ``tol`` is an upper limit
            on the probability that some duration is longer than the tabulated ones.

    Raises:
        LawError: A duration is negative, P(duration <= t) decreases somewhere, or the steps are too
            small for the computation; the message names a step that works.

    >>> law = launch_between(lambda t: min(t, 1.0), step=0.01, blocks=6, slots=2)
    >>> low, high = law.mean()
    >>> low < 6 / 4 + 1 / 6 < high < low + 0.05
    True
    """
    blocks = check_integer("blocks", blocks, least=1, example=4096)
    items = check_integer("lanes", lanes, least=1) * check_integer("warps", warps, least=1)
    above, below = _sf_and_cdf(work)
    allowed = tol / (2.0 * float(blocks) * items)
    if above(-1e-300) < 1.0 - 1e-15:
        raise LawError("work: expected durations of 0 or more")
    longest = _tail_time(above, allowed)
    given_step = longest / sizes.CONTINUOUS_STEPS if step is None else step
    step = check_real("step", given_step, lambda x: x > 0, "a length of time above 0, such as 0.01")
    count = math.ceil(longest / step)
    if count > sizes.CONTINUOUS_MOST:
        raise LawError(
            f"step = {step!r}: the longest block, {longest:.6g}, takes {count:,} steps; expected a "
            f"step of about {longest / sizes.CONTINUOUS_STEPS:.3g}"
        )
    places = np.arange(count + 1) * step
    left = np.array([above(float(t)) for t in places])
    begun = np.array([below(float(t)) for t in places])
    chances = np.where(left[1:] < 0.5, left[:-1] - left[1:], np.diff(begun))
    if chances.min() < -1e-12:
        at = places[int(np.argmin(chances))]
        raise LawError(f"work: P(duration <= t) falls after t = {at:.6g}; expected it to rise")
    chances = np.maximum(chances, 0.0)
    chances[0] += begun[0]
    missing = float(blocks) * items * max(float(left[-1]), 0.0)
    up = Pmf.from_weights(chances, low=1, normalise=True)
    shape: dict[str, Any] = {"blocks": blocks, "slots": slots, "lanes": lanes, "warps": warps}
    early, late = launch(up.shift(-1), **shape), launch(up, **shape)
    return Between(early=early, late=late, step=step, missing=missing)


def _sf_and_cdf(work: Any) -> tuple[Callable[[float], float], Callable[[float], float]]:
    if hasattr(work, "sf") and hasattr(work, "cdf"):
        return lambda t: float(work.sf(t)), lambda t: float(work.cdf(t))
    if callable(work):
        return lambda t: 1.0 - float(work(t)), lambda t: float(work(t))
    raise LawError(
        f"work = {work!r:.60}: expected a frozen law of scipy.stats, such as expon(), or a "
        "function t -> P(duration <= t)"
    )


def _tail_time(sf: Callable[[float], float], tail: float) -> float:
    """Return about the smallest time that is exceeded with a probability of at most ``tail``."""
    high = 1.0
    while sf(high) > tail:
        high *= 2.0
        if high > 1e30:
            raise LawError("work: its tail does not end within 1e30; expected a finite mean")
    low = 0.0
    while high - low > 1e-3 * high and high > 1e-30:
        middle = (low + high) / 2
        low, high = (middle, high) if sf(middle) > tail else (low, middle)
    return high


def coarse_unit(
    work: Pmf, *, blocks: int, slots: int, lanes: int = 1, warps: int = 1, correlation: float = 0.0
) -> int:
    """Return how many steps to join into one, so that the law of a launch is computed in seconds.

    The time grows with the square of the number of steps at which the last block may begin.
    """
    lanes = check_integer("lanes", lanes, least=1, example=32)
    warps = check_integer("warps", warps, least=1, example=8)
    blocks = check_integer("blocks", blocks, least=1, example=4096)
    slots = check_integer("slots", slots, least=1, example=864)
    block, _ = longest_item_law(work, lanes * warps, _CUT_TAIL / blocks, correlation)
    mean, var, served = block.mean(), block.var(), min(slots, blocks)
    if not mean > 0 or block.low == block.high:
        return 1
    spread = math.sqrt(served * (blocks / served * var / mean**2 + 0.1))
    width = _SIGMAS * spread * mean / served + int(block.high)
    values = block.low + np.flatnonzero(block.weights)
    return max(math.ceil(width / int(np.gcd.reduce(values)) / sizes.LAUNCH_STARTS), 1)


def round_durations(work: Pmf, unit: int) -> tuple[Pmf, Pmf]:
    """Return the laws of the durations in units of ``unit``, rounded down and rounded up."""
    law = work.cut(_CUT_TAIL)
    values = law.low + np.arange(len(law.weights))
    result = []
    for steps in (values // unit, -(-values // unit)):
        low = int(steps[0])
        weights = np.bincount(steps - low, law.weights)
        result.append(Pmf.from_weights(weights, low=low, normalise=True))
    return result[0], result[1]
