"""The law of a launch by who deals out its work: the hardware, a loop in each block, a queue."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from stochastic.checks import check_choice
from stochastic.errors import LawError
from stochastic.launch_time.launch import launch
from stochastic.launch_time.law import TimeBreakdown, TimeLaw
from stochastic.launch_time.settings import longest_item_law
from stochastic.launch_time.shared_rate import SharedLaunch, Sharing
from stochastic.work.pmf import Pmf

DISPATCH = ("hardware", "loop", "queue")
_TAIL = 1e-14  # probabilities that are left out at either end


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
    """The law of the time of a launch, and where the time goes.

    Parameters
    ----------
    work : Pmf
        The law of the work of an item.
    blocks, slots, lanes, warps : int
        Work for so many blocks, of which so many run at once; items of a warp, warps of a block.
    dispatch : {"hardware", "loop", "queue"}
        ``hardware``: each block goes to the first free slot (:func:`stochastic.launch`). ``loop``:
        as many blocks as slots persist, each with its own share of the work, of which its warps do
        one piece after the other without waiting for each other. ``queue``: they persist, and
        each warp takes the next piece of work, that of one warp, when it is free.
    alike : float
        Probability that a lane repeats its neighbour's work, as for :func:`stochastic.launch`; the
        warps of a loop are independent all the same.
    sharing : Sharing, optional
        How warps share a rate. Where they slow each other down the launch is simulated, in steps of
        a full multiprocessor.

    Raises
    ------
    LawError
        A loop of warps that slow each other down.

    >>> [round(dispatch_law(Pmf.geometric(0.05), 1000, 160, 32, 4, one)[0].mean(), 1)
    ...  for one in DISPATCH]
    [781.4, 768.1, 631.9]
    """
    check_choice("dispatch", dispatch, DISPATCH)
    if sharing is not None and sharing.full >= sharing.resident * warps:
        sharing = None
    if dispatch == "loop":
        if sharing is not None:
            raise LawError(
                "dispatch='loop' of warps that share a rate is not simulated: take 'hardware' or "
                "'queue', or slots that do not slow each other down"
            )
        return _loop_law(work, blocks, slots, lanes, warps, correlation)
    share = min(sharing.full / (sharing.resident * warps), 1.0) if sharing else 1.0
    if dispatch == "queue":
        if sharing is not None:
            sharing = replace(sharing, resident=sharing.resident * warps)
        blocks, slots, warps = blocks * warps, slots * warps, 1
    shape: dict[str, Any] = {"blocks": blocks, "slots": slots, "lanes": lanes, "warps": warps}
    if sharing is None:
        result = launch(work, **shape, alike=correlation)
        return result.times(), result.idle()
    simulated = launch(work, **shape, alike=correlation, sharing=sharing)
    bound = simulated.work_bound * share
    steps = replace(simulated, times=simulated.times * share, work_bound=bound)
    return steps, steps.idle()


def _loop_law(
    work: Pmf, blocks: int, slots: int, lanes: int, warps: int, correlation: float
) -> tuple[TimeLaw, TimeBreakdown]:
    """Each slot has its share: the longest of sums of equally many warps, give or take one."""
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
    kept = np.maximum.accumulate(below[first : last + 1])
    kept[-1] = 1.0
    most = int(many.high) if work.is_finite else math.inf
    times = TimeLaw(first=int(values[first]), cdf_values=kept, minimum=many.low, maximum=most)
    idle = TimeBreakdown.from_means(
        slots=slots * warps,
        time=float(times.mean()),
        total=blocks * warps * float(warp.mean()),
        parts=[(blocks * warps, float(work.mean()), float(warp.mean()))],
    )
    return times, idle


def _cdf_at(law: Pmf, values: np.ndarray) -> np.ndarray:
    """P(W <= k) of each value."""
    result = np.zeros(len(values))
    start = law.low - int(values[0])
    table = np.minimum(np.cumsum(law.weights), 1.0)
    result[start : start + len(table)] = table
    result[start + len(table) :] = 1.0
    return result
