"""Compute the law of a launch whose work is assigned by the hardware, by a loop, or by a queue."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stochastic.checks import LawError, check_choice
from stochastic.launch_time.launch import launch
from stochastic.launch_time.law import TimeBreakdown, TimeLaw
from stochastic.launch_time.settings import longest_item_law
from stochastic.launch_time.shared_rate import SharedLaunch, Sharing
from stochastic.work.pmf import Pmf

DISPATCH = ("hardware", "loop", "queue")
_TAIL = 1e-14  # probability that is left out at either end of a law


def dispatch_law(
    work: Pmf,
    blocks: int,
    slots: int,
    lanes: int,
    warps: int,
    dispatch: str = "hardware",
    correlation: float = 0.0,
    sharing: Sharing | None = None,
) -> tuple[TimeLaw | SharedLaunch, TimeBreakdown]:
    """Return the law of the time of a launch, and the shares of the time of its slots.

    ``hardware``: each block goes to the first free slot (:func:`stochastic.launch`). ``loop``:
    there is one persistent block per slot, which loops over its share of the work; its warps do not
    wait for each other, and are independent at any ``correlation``. ``queue``: blocks are also
    persistent, and each free warp takes the work of one warp from a queue. If ``sharing`` slows
    warps down, the launch is simulated; the unit of time is then the step of a warp while all slots
    are occupied.
    """
    check_choice("dispatch", dispatch, DISPATCH)
    if sharing is not None and sharing.full >= sharing.resident * warps:
        sharing = None
    if dispatch == "loop":
        if sharing is not None:
            raise LawError(
                "dispatch='loop' of warps that share a rate cannot be simulated: expected "
                "'hardware' or 'queue', or slots that do not slow each other down"
            )
        return _loop_law(work, blocks, slots, lanes, warps, correlation)
    share = min(sharing.full / (sharing.resident * warps), 1.0) if sharing else 1.0
    if dispatch == "queue":
        if sharing is not None:
            sharing = replace(sharing, resident=sharing.resident * warps)
        blocks, slots, warps = blocks * warps, slots * warps, 1
    shape: dict[str, Any] = {"blocks": blocks, "slots": slots, "lanes": lanes, "warps": warps}
    if sharing is None:
        result = launch(work, **shape, correlation=correlation)
        return result.times(), result.idle()
    simulated = launch(work, **shape, correlation=correlation, sharing=sharing)
    bound = simulated.work_bound * share
    steps = replace(simulated, times=simulated.times * share, work_bound=bound)
    return steps, steps.idle()


def _loop_law(
    work: Pmf, blocks: int, slots: int, lanes: int, warps: int, correlation: float
) -> tuple[TimeLaw, TimeBreakdown]:
    """Return the law of the time of persistent blocks, and the shares of the time of slots.

    The time is the maximum, over warps, of a sum of durations; two sums differ by at most one term.
    """
    runs = min(blocks, slots)
    rounds, more = divmod(blocks, runs)
    warp, _ = longest_item_law(work, lanes, _TAIL / (blocks * warps), correlation)
    few = warp.sum_of(rounds)
    many = few + warp if more else few
    values = np.arange(few.low, int(many.high) + 1)
    below = _cdf_at(few, values) ** (warps * (runs - more))
    if more:
        below = below * _cdf_at(many, values) ** (warps * more)
    first, last = np.searchsorted(below, [_TAIL, 1.0 - _TAIL])
    cdf_values = np.maximum.accumulate(below[first : last + 1])
    cdf_values[-1] = 1.0
    most = int(many.high) if work.is_finite else math.inf
    times = TimeLaw(first=int(values[first]), cdf_values=cdf_values, minimum=many.low, maximum=most)
    idle = TimeBreakdown.from_means(
        slots=slots * warps,
        time=float(times.mean()),
        total=blocks * warps * float(warp.mean()),
        parts=[(blocks * warps, float(work.mean()), float(warp.mean()))],
    )
    return times, idle


def _cdf_at(law: Pmf, values: np.ndarray) -> np.ndarray:
    result = np.zeros(len(values))
    start = law.low - int(values[0])
    table = np.minimum(np.cumsum(law.weights), 1.0)
    result[start : start + len(table)] = table
    result[start + len(table) :] = 1.0
    return result
