"""Bins of sorted items: where they may end, and the best such ends by dynamic programming."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from stochastic.checks import choice, whole
from stochastic.errors import LawError
from stochastic.labels import Parts, named
from stochastic.loss.longest import order_statistics
from stochastic.remedies.means import (
    REACH,
    STEP,
    finite,
    log_nodes,
    mean_loss,
    repeats,
    slowdown,
)
from stochastic.work.pmf import Pmf
from stochastic.work.stickiness import runs

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["sorted_in"]

_NOTHING = 1e-18  # a share of groups that is left out
#: Pairs of (place where a bin may begin, later value) that are looked at, by what is made small:
#: some seconds.
_MOST = {"slowdown": 2e8, "loss": 2e7}


def sorted_in(
    pmf: Pmf,
    bins: int,
    lanes: int,
    *,
    objective: str = "slowdown",
    worth: float = 0.01,
    places: int | None = None,
    alike: float = 0.0,
    tol: float = 1e-9,
) -> Parts:
    """What :func:`partition` tells, before it is labelled."""
    bins = whole("bins", bins, least=1, example=8)
    lanes = whole("lanes", lanes, least=1, example=32)
    choice("objective", objective, tuple(_MOST))
    if isinstance(worth, bool) or not isinstance(worth, (int, float)) or not 0 <= worth < math.inf:
        raise LawError(f"worth = {worth!r}: expected a share of 0 or more, as 0.01")
    rho = repeats(alike)
    if rho and objective == "loss":
        raise LawError("alike items: expected objective='slowdown', what a workload pays")
    work = finite(pmf, lanes, tol)
    values = np.flatnonzero(work.weights) + work.low
    weights = work.weights[values - work.low]
    ends = _ends_of(values, weights, places, objective)
    bins = min(bins, len(ends) - 1)
    cost, begin = _best_ends(
        values, weights, ends, lanes, min(bins + 1, len(ends) - 1), objective, rho
    )
    mean = order_statistics(work.low, work.weights, 1).mean

    @cache
    def told(first: int, last: int) -> tuple[float, ...]:
        low, high = int(values[first]), int(values[last - 1])
        part = work.weights[low - work.low : high - work.low + 1]
        weight = float(part.sum())
        part = part / weight
        found = order_statistics(low, part, lanes)
        if rho:
            own = slowdown(low, part, lanes, rho)
            return low, high, weight, weight * own * found.mean, own, math.nan
        own = found.mean_max / found.mean if high else 1.0
        return low, high, weight, weight * found.mean_max, own, mean_loss(low, part, lanes)

    rows = np.full((6, bins, bins), math.nan)
    for b in range(1, bins + 1):
        last = len(ends) - 1
        for place in range(b - 1, -1, -1):
            first = int(begin[last, place + 1])
            rows[:, b - 1, place] = told(int(ends[first]), int(ends[last]))
            last = first
    lower, upper, weight, longest, own, loss = rows
    total = np.nansum(longest, axis=1) / mean if mean else np.ones(1)
    each = np.nansum(weight * loss, axis=1) if not rho else np.full(bins, math.nan)
    gain = cost[-1, 1] / cost[-1, 1:] if mean else np.ones(1)
    going = np.flatnonzero(gain[1:] <= (1.0 + worth) * gain[:-1])
    variables = {
        "slowdown": named("bins", total, "slowdown of the whole workload after binning"),
        "loss": named("bins", each, "mean loss of a group after binning"),
        "gain": named("bins", gain[:bins], f"{objective} with one bin over that with several"),
        "lower": named(("bins", "bin"), lower, "smallest value of the bin"),
        "upper": named(("bins", "bin"), upper, "largest value of the bin"),
        "weight": named(("bins", "bin"), weight, "share of the items in the bin"),
        "bin_slowdown": named(("bins", "bin"), own, "slowdown of the groups of the bin"),
        "bin_loss": named(("bins", "bin"), loss, "mean loss of a group of the bin"),
        "enough": named((), int(going[0]) + 1 if len(going) else bins, "bins that are enough"),
    }
    coords = {
        "bins": named("bins", np.arange(1, bins + 1), "number of bins"),
        "bin": named("bin", np.arange(1, bins + 1), "which bin, ascending"),
    }
    attrs = {
        "work": repr(pmf),
        "lanes": lanes,
        "objective": objective,
        "worth": float(worth),
        "more_pay": int(not len(going) and bins + 1 < len(ends)),
        "missing": work.missing,
        "source": "Swatman et al., MASCOTS 2022, section III-B",
    }
    return variables, coords, attrs


def _ends_of(
    values: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    places: int | None,
    objective: str,
) -> npt.NDArray[np.int64]:
    """After how many values a bin may end, from 0 to all."""
    count = len(values)
    if places is None:
        ends = np.arange(count + 1)
    else:
        half = whole("places", places, least=2, example=1000) // 2
        steps = np.arange(1, half + 1) / (half + 1)
        shares = (np.cumsum(weights), np.cumsum(weights * values))
        near = [1 + np.searchsorted(share, steps * share[-1]) for share in shares]
        ends = np.unique(np.minimum(np.concatenate([[0, count], *near]), count))
    if len(ends) / 2 * count > _MOST[objective]:
        fit = int(2 * _MOST[objective] / count) - 2
        way = f"give places={min(fit, 1000)} to look at so many of them, or " if fit >= 2 else ""
        raise LawError(
            f"the {len(ends) - 1:,} places where a bin of {count:,} values may end are too many to "
            f"look at them all: {way}count the work in larger units"
        )
    return ends


def _best_ends(
    values: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    ends: npt.NDArray[np.int64],
    lanes: int,
    bins: int,
    objective: str,
    rho: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The least cost of the values up to each end in exactly b bins; where the last bin begins."""
    from stochastic.kernels.binning import best_for_loss, best_for_slowdown

    real = values.astype(np.float64)
    best = np.full((len(ends), bins + 1), np.inf)
    begin = np.zeros((len(ends), bins + 1), dtype=np.int64)
    best[0, 0] = 0.0
    if objective == "slowdown" or len(values) == 1:
        count = np.arange(1.0, lanes + 1.0) if rho else np.array([float(lanes)])
        shares = runs(lanes, rho) if rho else np.ones(1)
        held = shares > _NOTHING
        count, shares = count[held], shares[held]
        room = np.empty(len(count))
        best_for_slowdown(real, weights, count, shares, bins, ends, room, best, begin)
        return best, begin
    nodes = log_nodes(real[real > 0][0], real[-1], lanes)
    starts = real[ends[:-1]]
    with np.errstate(divide="ignore"):
        beyond = (REACH + np.log(real[-1] / starts)) / (lanes * starts)
    used = np.where(starts > 0, np.searchsorted(nodes, beyond) + 1, len(nodes))
    used = np.minimum(used, len(nodes))
    decay = np.exp(-real.reshape(-1, 1) * nodes)
    room = np.empty((5, len(nodes)))
    best_for_loss(real, weights, lanes, bins, ends, nodes, used, STEP, decay, room, best, begin)
    return best, begin
