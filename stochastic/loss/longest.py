"""Moments of the longest of several items, and of the sum of all given the longest, in O(S).

Everything is a sum of positive terms, good for a million lanes and more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from stochastic.work.pmf import Pmf

    Floats = npt.NDArray[np.float64]

__all__ = ["WIDE", "GivenMaximum", "OrderStatistics", "given_maximum", "order_statistics", "uncut"]

#: Probabilities are added up in it: 64 bits of mantissa where the machine has them.
WIDE = np.longdouble


class OrderStatistics(NamedTuple):
    """Moments of the largest of some independent items, and of one item.

    ``cov_max_sum`` is the covariance of the largest with the sum of all.
    """

    mean_max: float
    var_max: float
    cov_max_sum: float
    mean: float
    var: float


class GivenMaximum(NamedTuple):
    """The sum of all items given that the largest is ``a``, for each ``a`` that occurs.

    ``below`` and ``above`` are how far its mean lies from its least and its largest value. Of the
    items shorter than ``a``: ``rest_mean`` and ``rest_variance`` of one, counted from the least.
    """

    a: Floats
    probability: Floats
    mean: Floats
    variance: Floats
    below: Floats
    above: Floats
    rest_mean: Floats
    rest_variance: Floats


def _logs(weights: Floats) -> tuple[Floats, Floats]:
    """log F and the tails 1 - F at each value, both to full relative accuracy."""
    below = np.cumsum(weights, dtype=WIDE)
    above = np.zeros_like(below)
    above[:-1] = np.cumsum(weights[:0:-1], dtype=WIDE)[::-1]
    total = below + above
    with np.errstate(divide="ignore"):
        logs = np.where(above < below, np.log1p(-above / total), np.log(below / total))
    return logs.astype(np.float64), (above / total).astype(np.float64)


def _before(values: Floats) -> Floats:
    """Sums of all values before each place."""
    found = np.zeros(len(values), dtype=WIDE)
    np.cumsum(values[:-1], dtype=WIDE, out=found[1:])
    return found.astype(np.float64)


def _from(values: Floats) -> Floats:
    """Sums of the values from each place on."""
    return np.cumsum(values[::-1], dtype=WIDE)[::-1].astype(np.float64)


def order_statistics(low: int, weights: Floats, lanes: int) -> OrderStatistics:
    """Moments of the largest of ``lanes`` independent items, and of one item.

    Covariances are sums of P(A <= a, B <= b) - P(A <= a)·P(B <= b) over all a and b (Hoeffding),
    here of positive terms.

    Parameters
    ----------
    low : int
        The shortest item.
    weights : array
        Probabilities of ``low``, ``low + 1``, ...
    lanes : int
        Items in lockstep.

    >>> round(order_statistics(1, np.ones(6) / 6, 2).mean_max * 36, 12)  # two dice
    161.0
    """
    logs, tails = (part[:-1] for part in _logs(weights))  # at the longest item both are 0
    upto = np.exp(logs)
    highest, beyond = np.exp(lanes * logs), -np.expm1(lanes * logs)
    others = np.exp((lanes - 1) * logs)
    covariance = others * (upto * _from(tails) + tails * _before(upto))
    return OrderStatistics(
        mean_max=low + float(beyond.sum()),
        var_max=float((beyond * (2.0 * _before(highest) + highest)).sum()),
        cov_max_sum=lanes * float(covariance.sum()),
        mean=low + float(tails.sum()),
        var=float((tails * (2.0 * _before(upto) + upto)).sum()),
    )


def given_maximum(low: int, weights: Floats, lanes: int) -> GivenMaximum:
    """Mean, variance and range of the sum of ``lanes`` items for each value of the largest.

    K of the items take ``a``: binomial with q = P(W = a | W <= a), given that K >= 1. The others
    are independent and shorter. Parameters as in :func:`order_statistics`.
    """
    place = np.flatnonzero(weights).astype(np.float64)
    share = weights[weights > 0]
    logs, _ = _logs(share)
    before = _before(share)
    first = before == 0  # nothing is shorter than the least
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(first, place, _before(share * place) / before)
        spread = np.where(first, 0.0, _before(share * place * place) / before - mean * mean)
        q = share / (before + share)
        some = -np.expm1(lanes * np.log1p(-q))  # P(K >= 1)
    spread = np.maximum(spread, 0.0)
    count = np.clip(lanes * q / some, 1.0, lanes)  # E[K | K >= 1]
    scatter = count * np.maximum((1.0 - q) - lanes * q * (1.0 - some) / some, 0.0)
    gap, rest = place - mean, lanes - count
    below, above = (lanes - 1) * mean + (count - 1.0) * gap, rest * gap
    return GivenMaximum(
        a=low + place,
        probability=np.exp(lanes * logs) * some,
        mean=lanes * float(low) + place + below,
        variance=np.minimum(rest * spread + scatter * gap**2, below * above),
        below=below,
        above=above,
        rest_mean=mean,
        rest_variance=spread,
    )


def uncut(source: Pmf, eps: float, lanes: int) -> tuple[OrderStatistics, float]:
    """The moments for an infinite law, and by how much the mean of an item was short.

    Items beyond the cut at ``eps`` are taken to end there. That takes at most ``lanes`` times as
    much from the mean of the longest as from the mean of one, for a maximum is at most a sum.
    """
    work = source.cut(eps)
    weights = work.weights * (1.0 - work.missing)
    weights[-1] += work.missing
    found = order_statistics(work.low, weights, lanes)
    mean, spread = source.mean(), source.var()
    if math.isinf(spread):
        found = found._replace(var_max=math.inf, cov_max_sum=0.0)
    return found._replace(mean=mean, var=spread), max(mean - found.mean, 0.0)
