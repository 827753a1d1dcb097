"""Bins of sorted items: where they end, and the best such ends."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from stochastic.checks import choice, whole
from stochastic.errors import LawError
from stochastic.labels import Parts, named
from stochastic.loss.longest import order_statistics
from stochastic.remedies.ends import MOST, best_ends, ends_of
from stochastic.remedies.means import finite, mean_loss, repeats, slowdown
from stochastic.work.pmf import Pmf

__all__ = ["sorted_in"]


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
    choice("objective", objective, tuple(MOST))
    if isinstance(worth, bool) or not isinstance(worth, (int, float)) or not 0 <= worth < math.inf:
        raise LawError(f"worth = {worth!r}: expected a share of 0 or more, as 0.01")
    rho = repeats(alike)
    if rho and objective == "loss":
        raise LawError("alike items: expected objective='slowdown', what a workload pays")
    work = finite(pmf, lanes, tol)
    values = np.flatnonzero(work.weights) + work.low
    weights = work.weights[values - work.low]
    ends = ends_of(values, weights, places, objective)
    bins = min(bins, len(ends) - 1)
    cost, begin = best_ends(
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
    mean = order_statistics(work.low, work.weights, 1).mean
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
