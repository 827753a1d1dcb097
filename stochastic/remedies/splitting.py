"""Split long items into pieces: lanes wait less, but each cut adds overhead."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.aliases import old_names
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_integer
from stochastic.labels import TableResult, variable
from stochastic.loss.moments import finite_law, mean_loss, order_statistics, slowdown
from stochastic.work.correlated_lanes import check_repeat_probability
from stochastic.work.pmf import Pmf

_MOST = sizes.SPLIT_MOST  # Upper limit on pairs (threshold, value), which take seconds.
_LONGEST = sizes.SPLIT_LONGEST  # Upper limit on the iterations of a piece.


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Split(TableResult):
    """A law of work and the effect of cutting its long items into pieces; see :func:`split`.

    ``table`` is a Dataset. Along ``threshold`` it has ``pieces`` (mean number per item),
    ``slowdown`` (of a workload of pieces) and ``total`` (lane-iterations per iteration of uncut
    work). Its scalars are ``best_threshold``, which has the lowest total, ``best_total``, and the
    mean loss ``best_loss`` of a group of pieces; and ``whole_slowdown`` and ``whole_loss`` of the
    uncut items. ``split(...)["total"]`` returns a variable of the table. ``work`` is the law of the
    items, truncated if its support is infinite. ``overhead`` is the number of iterations that each
    piece of an item, except the first, adds.
    """

    work: Pmf
    overhead: int

    def law(self, threshold: int | None = None) -> Pmf:
        """Return the law of the length of a piece; the default threshold is the best one."""
        if threshold is None:
            threshold = int(self.table["best_threshold"])
        threshold = check_integer("threshold", threshold, least=1)
        weights = _piece_weights(self.work, threshold, self.overhead)
        return Pmf.from_weights(weights / weights.sum())


@old_names(alike="correlation")
def split(
    pmf: Pmf,
    threshold: int | Sequence[int] | None = None,
    overhead: int = 0,
    lanes: int = 32,
    *,
    correlation: float = 0.0,
    tol: float = 1e-9,
) -> Split:
    """Cut items longer than a threshold into pieces, and return the slowdown for each threshold.

    An item of w iterations becomes ceil(w / threshold) pieces. All pieces but the last are as long
    as the threshold; an item without work stays one piece. The pieces of an item go to different
    groups, so we assume that the pieces in a group are independent.

    Parameters:
        pmf, lanes, tol: As in :func:`stochastic.imbalance`.
        threshold (int, sequence of int, optional): Longest pieces to try, in iterations without
            overhead. The default is every length from 1 to the longest item.
        overhead (int): Iterations that each piece of an item, except the first, adds; 0 or more.
        correlation (float): Probability that a lane repeats its neighbour's work. It applies only
            to the uncut items, with which splitting is compared.

    Returns:
        Split: ``pieces``, ``slowdown`` and ``total`` = E[pieces]·E[max of ``lanes`` pieces] / E[W]
        along ``threshold``, all exact; the best threshold (the largest of equal ones); and
        ``law()``, the law of a piece.

    Raises:
        LawError: A threshold or lanes are not whole numbers of 1 or more, the overhead is not a
            whole number of 0 or more, or the scan would take too long.

    >>> from stochastic import Pmf
    >>> result = split(Pmf.geometric(0.05), overhead=2)
    >>> int(result["best_threshold"]), round(float(result["best_total"]), 3)
    (8, 1.486)
    """
    from stochastic.kernels.binning import piece_statistics

    lanes = check_integer("lanes", lanes, least=1, example=32)
    overhead, rho = _check_overhead(overhead), check_repeat_probability(correlation)
    work = finite_law(pmf, lanes, tol)
    high = int(work.high)
    thresholds = _check_thresholds(threshold, high)
    if high + overhead > _LONGEST or float(len(thresholds)) * (high + overhead) > _MOST:
        raise LawError(
            f"{len(thresholds):,} thresholds of a law up to {high:,} with an overhead of "
            f"{overhead:,} are too many to try: give those of interest, such as threshold=[100, "
            "1000, 10000], or count the work in larger units"
        )
    weights = np.concatenate([np.zeros(work.low), work.weights])
    result = np.zeros((len(thresholds), 3))
    piece_statistics(weights, thresholds, overhead, lanes, np.empty(high + overhead + 1), result)
    count, longest, mean = result.T
    each = order_statistics(work.low, work.weights, lanes).mean
    total = count * longest / each if each else np.ones(len(thresholds))
    ratios = np.divide(longest, mean, out=np.ones(len(thresholds)), where=mean > 0)
    best = len(total) - 1 - int(np.argmin(total[::-1]))
    cut = _piece_weights(work, int(thresholds[best]), overhead)
    inside = np.flatnonzero(cut)
    shares = cut[inside[0] : inside[-1] + 1] / cut.sum()
    loss = mean_loss(int(inside[0]), shares, lanes)
    ratio = slowdown(work.low, work.weights, lanes, rho)
    variables = {
        "pieces": variable("threshold", count, "pieces of an item, on average"),
        "slowdown": variable("threshold", ratios, "slowdown of a workload of the pieces"),
        "total": variable("threshold", total, "lane-iterations per iteration of uncut work"),
        "best_threshold": variable((), thresholds[best], "threshold of the lowest total"),
        "best_total": variable((), total[best], "lowest total"),
        "best_loss": variable((), loss, "mean loss of a group of its pieces"),
        "whole_slowdown": variable((), ratio, "slowdown of the uncut items"),
        "whole_loss": variable(
            (), mean_loss(work.low, work.weights, lanes, rho), "mean loss of a group of uncut items"
        ),
    }
    coords = {"threshold": variable("threshold", thresholds, "longest piece, in iterations")}
    attrs = {"work": repr(pmf), "lanes": lanes, "overhead": overhead, "missing": work.missing}
    return Split(parts=(variables, coords, attrs), work=work, overhead=overhead)


def _check_overhead(value: Any) -> int:
    try:
        return check_integer("overhead", value, least=0, example=2)
    except LawError as error:
        raise LawError(
            f"{error}; iterations are counted in whole numbers; for fractions, count the work in "
            "smaller units with scale"
        ) from None


def _check_thresholds(threshold: Any, high: int) -> Ints:
    if threshold is None:
        return np.arange(1, max(high, 1) + 1)
    is_one = isinstance(threshold, str) or np.ndim(threshold) == 0
    several = [threshold] if is_one else list(threshold)
    if not several:
        raise LawError("threshold is empty: expected whole numbers of 1 or more, or none at all")
    return np.array(sorted({check_integer("threshold", x, least=1, example=64) for x in several}))


def _piece_weights(work: Pmf, threshold: int, overhead: int) -> Floats:
    """Return the mean number of pieces per item that have 0, 1, 2, ... iterations."""
    values = np.arange(work.low, int(work.high) + 1)
    long = values > threshold
    result = np.zeros(min(threshold, int(work.high)) + overhead + 1)
    result[values[~long]] += work.weights[~long]
    values, weights = values[long], work.weights[long]
    full = (values - 1) // threshold
    if len(values):
        result[threshold] += weights.sum()
        result[threshold + overhead] += weights @ (full - 1)
        np.add.at(result, values - full * threshold + overhead, weights)
    return result
