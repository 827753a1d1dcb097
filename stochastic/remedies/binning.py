"""Sort items into bins of similar work, so that groups are formed within a bin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from stochastic.aliases import old_names
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_choice, check_integer, check_real
from stochastic.labels import TableResult, variable
from stochastic.loss.moments import finite_law, mean_loss, order_statistics, slowdown
from stochastic.work.correlated_lanes import (
    QUADRATURE_REACH,
    QUADRATURE_STEP,
    check_repeat_probability,
    distinct_draw_weights,
    log_nodes,
)
from stochastic.work.pmf import Pmf

_LEFT_OUT = 1e-18  # Numbers of distinct draws with a lower probability than this are left out.
#: Upper limit on the pairs (start of a bin, later value) to try; this many take seconds.
_MOST = {"slowdown": 2e8, "loss": 2e7}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Partition(TableResult):
    """The partitions of a law of work, ``source``, into 1, 2, ... bins; see :func:`partition`.

    ``table`` is a Dataset. Along ``bins`` it has ``slowdown``, ``loss`` and ``gain``. Along
    ``bins`` and ``bin`` it has ``lower`` and ``upper`` (smallest and largest value in the bin),
    ``weight`` (share of the items), ``bin_slowdown`` and ``bin_loss``; they are NaN beyond the last
    bin. The scalar ``enough`` is the smallest number of bins at which one more bin is not worth
    while. If every bin was worth while, ``enough`` is the number of bins tried, and
    ``attrs["more_pay"]`` is 1. ``partition(...)["gain"]`` returns a variable of the table.
    """

    source: Pmf

    def edges(self, bins: int | None = None) -> tuple[tuple[int, int], ...]:
        """Return the smallest and largest value of each bin; the default is ``enough`` bins."""
        most = self.table.sizes["bins"]
        bins = int(self.table["enough"]) if bins is None else check_integer("bins", bins, least=1)
        if bins > most:
            raise LawError(f"bins = {bins}: the partition has 1 to {most}")
        row = self.table.sel(bins=bins).isel(bin=slice(bins))
        lower, upper = (row[name].values.astype(int).tolist() for name in ("lower", "upper"))
        return tuple(zip(lower, upper, strict=True))

    def laws(self, bins: int | None = None) -> tuple[Pmf, ...]:
        """Return the law of work within each bin.

        After binning, the law of the loss is the mixture of the bins' laws of the loss, with the
        weights ``weight``.
        """
        edges = self.edges(bins)
        inner = tuple(self.source.between(low, high) for low, high in edges[:-1])
        return (*inner, self.source.between(edges[-1][0]))


@old_names(alike="correlation")
def partition(
    pmf: Pmf,
    bins: int = 8,
    lanes: int = 32,
    *,
    objective: str = "slowdown",
    worth: float = 0.01,
    places: int | None = None,
    correlation: float = 0.0,
    tol: float = 1e-9,
) -> Partition:
    """Find the best edges of 1, 2, ..., ``bins`` bins of consecutive values.

    Groups are formed within a bin. The workload is assumed so large that incomplete groups do not
    count. All items with the same value are in the same bin. Dynamic programming over all edges is
    exact: no partition is better.

    Parameters:
        pmf, lanes, tol: As in :func:`stochastic.imbalance`.
        bins (int): Maximum number of bins; a law cannot have more bins than values.
        objective ({"slowdown", "loss"}): The quantity to minimise: the slowdown of the workload, Σ
            P(bin)·E[max | bin] / E[W], or the mean loss over groups, Σ P(bin)·E[X | bin].
        worth (float): A further bin is worth while if it divides the objective by more than 1 +
            worth.
        places (int, optional): Number of values at which a bin may end, for a law with many values:
            half of them at equal steps of items, half at equal steps of work. The means stay exact.
        correlation (float): Probability that an item repeats its neighbour's work. Items keep their
            order within a bin, so this also holds within bins. It needs the objective "slowdown";
            mean losses are then NaN.

    Returns:
        Partition: ``slowdown``, ``loss`` and ``gain`` (the objective with one bin divided by that
        with several bins) along ``bins``, the edges of the bins, and ``enough``. Of equally good
        partitions, the one with the lowest edges is taken.

    Raises:
        LawError: Bins or lanes are not whole numbers >= 1, or the law has too many values to try
            all edges.

    Notes:
        Swatman 2022, §III-B balances a load by dividing it into loads that have narrower laws.

    >>> from stochastic import Pmf
    >>> result = partition(Pmf.uniform(1, 4), bins=2, lanes=32)
    >>> result.edges(2), round(float(result["gain"][1]), 3)
    (((1, 2), (3, 4)), 1.333)
    """
    bins = check_integer("bins", bins, least=1, example=8)
    lanes = check_integer("lanes", lanes, least=1, example=32)
    check_choice("objective", objective, tuple(_MOST))
    worth = check_real("worth", worth, lambda x: x >= 0, "a share of 0 or more, as 0.01")
    rho = check_repeat_probability(correlation)
    if rho and objective == "loss":
        raise LawError("correlated items: expected objective='slowdown', the cost of a workload")
    work = finite_law(pmf, lanes, tol)
    values = np.flatnonzero(work.weights) + work.low
    weights = work.weights[values - work.low]
    ends = _candidate_ends(values, weights, places, objective)
    bins = min(bins, len(ends) - 1)
    most = min(bins + 1, len(ends) - 1)
    cost, begin = _best_partition(values, weights, ends, lanes, most, objective, rho)
    mean = order_statistics(work.low, work.weights, 1).mean

    @cache
    def bin_statistics(first: int, last: int) -> tuple[float, ...]:
        low, high = int(values[first]), int(values[last - 1])
        part = work.weights[low - work.low : high - work.low + 1]
        weight = float(part.sum())
        part = part / weight
        result = order_statistics(low, part, lanes)
        if rho:
            ratio = slowdown(low, part, lanes, rho)
            return low, high, weight, weight * ratio * result.mean, ratio, math.nan
        ratio = result.mean_max / result.mean if high else 1.0
        return low, high, weight, weight * result.mean_max, ratio, mean_loss(low, part, lanes)

    rows = np.full((6, bins, bins), math.nan)
    for b in range(1, bins + 1):
        last = len(ends) - 1
        for place in range(b - 1, -1, -1):
            first = int(begin[last, place + 1])
            rows[:, b - 1, place] = bin_statistics(int(ends[first]), int(ends[last]))
            last = first
    lower, upper, weight, longest, ratios, loss = rows
    total = np.nansum(longest, axis=1) / mean if mean else np.ones(1)
    each = np.nansum(weight * loss, axis=1) if not rho else np.full(bins, math.nan)
    gain = cost[-1, 1] / cost[-1, 1:] if mean else np.ones(1)
    going = np.flatnonzero(gain[1:] <= (1.0 + worth) * gain[:-1])
    variables = {
        "slowdown": variable("bins", total, "slowdown of the whole workload after binning"),
        "loss": variable("bins", each, "mean loss of a group after binning"),
        "gain": variable("bins", gain[:bins], f"{objective} with one bin over that with several"),
        "lower": variable(("bins", "bin"), lower, "smallest value of the bin"),
        "upper": variable(("bins", "bin"), upper, "largest value of the bin"),
        "weight": variable(("bins", "bin"), weight, "share of the items in the bin"),
        "bin_slowdown": variable(("bins", "bin"), ratios, "slowdown of the groups of the bin"),
        "bin_loss": variable(("bins", "bin"), loss, "mean loss of a group of the bin"),
        "enough": variable((), int(going[0]) + 1 if len(going) else bins, "sufficient bins"),
    }
    coords = {
        "bins": variable("bins", np.arange(1, bins + 1), "number of bins"),
        "bin": variable("bin", np.arange(1, bins + 1), "number of the bin, ascending by value"),
    }
    attrs = {
        "work": repr(pmf),
        "lanes": lanes,
        "objective": objective,
        "worth": worth,
        "more_pay": int(not len(going) and bins + 1 < len(ends)),
        "missing": work.missing,
        "source": "Swatman et al., MASCOTS 2022, section III-B",
    }
    return Partition(parts=(variables, coords, attrs), source=pmf)


def _candidate_ends(values: Ints, weights: Floats, places: int | None, objective: str) -> Ints:
    """Return the ascending positions, from 0 to the number of values, at which a bin may end."""
    count = len(values)
    if places is None:
        ends = np.arange(count + 1)
    else:
        half = check_integer("places", places, least=2, example=1000) // 2
        steps = np.arange(1, half + 1) / (half + 1)
        shares = (np.cumsum(weights), np.cumsum(weights * values))
        near = [1 + np.searchsorted(share, steps * share[-1]) for share in shares]
        ends = np.unique(np.minimum(np.concatenate([[0, count], *near]), count))
    if len(ends) / 2 * count > _MOST[objective]:
        fit = int(2 * _MOST[objective] / count) - 2
        way = f"give places={min(fit, 1000)} to try so many of them, or " if fit >= 2 else ""
        raise LawError(
            f"the {len(ends) - 1:,} places where a bin of {count:,} values may end are too many to "
            f"try all of them: {way}count the work in larger units"
        )
    return ends


def _best_partition(
    values: Ints, weights: Floats, ends: Ints, lanes: int, bins: int, objective: str, rho: float
) -> tuple[Floats, Ints]:
    """Return the lowest cost, and the start of the last bin, for each end and number of bins.

    The cost is for all values up to the end; starts are indices into ``ends``. Both arrays have the
    shape (ends, bins + 1).
    """
    from stochastic.kernels.binning import best_for_loss, best_for_slowdown

    real = values.astype(np.float64)
    best = np.full((len(ends), bins + 1), np.inf)
    begin = np.zeros((len(ends), bins + 1), dtype=np.int64)
    best[0, 0] = 0.0
    if objective == "slowdown" or len(values) == 1:
        count = np.arange(1.0, lanes + 1.0) if rho else np.array([float(lanes)])
        shares = distinct_draw_weights(lanes, rho) if rho else np.ones(1)
        is_needed = shares > _LEFT_OUT
        count, shares = count[is_needed], shares[is_needed]
        room = np.empty(len(count))
        best_for_slowdown(real, weights, count, shares, bins, ends, room, best, begin)
        return best, begin
    nodes = log_nodes(real[real > 0][0], real[-1], lanes)
    starts = real[ends[:-1]]
    with np.errstate(divide="ignore"):
        beyond = (QUADRATURE_REACH + np.log(real[-1] / starts)) / (lanes * starts)
    used = np.where(starts > 0, np.searchsorted(nodes, beyond) + 1, len(nodes))
    used = np.minimum(used, len(nodes))
    decay = np.exp(-real.reshape(-1, 1) * nodes)
    room = np.empty((5, len(nodes)))
    best_for_loss(
        real, weights, lanes, bins, ends, nodes, used, QUADRATURE_STEP, decay, room, best, begin
    )
    return best, begin
