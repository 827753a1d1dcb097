"""Compute rigorous bounds on the mean loss of a group in lockstep.

Given that the longest of ``n`` items takes ``a``, some items take ``a``, and the others are
independent and shorter. The mean, variance and range of the sum then bound E[1 / sum].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stochastic.arrays import Floats
from stochastic.checks import check_fraction, check_integer
from stochastic.loss.moments import OrderStatistics, order_statistics, sum_given_maximum
from stochastic.work.pmf import Pmf, check_law

#: Upper limit on the number of roundings in a bound; each probability in a sum adds one.
_ROUNDINGS = 64.0
#: Exponents of the tail P(sum < x) <= exp(-c) for the Bernstein bounds on short sums.
_TAIL_EXPONENTS = np.array([1.0, 2.0, 4.0, 6.0, 9.0, 13.0, 20.0, 32.0, 48.0])[:, np.newaxis]
_LOWER = ("conditional_jensen", "second_moment_lower")
_UPPER = ("second_moment_upper", "tail_upper", "ben_tal_hochman")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds on the mean loss E[X] of a group, X = lanes · max / sum, and estimates of it.

    A group without any work has X = 1. Bounds hold for the law before truncation; they are rounded
    outwards.

    Attributes:
        lower, upper: The best of the lower bounds and of the upper bounds below.
        conditional_jensen: Lower bound: Σ P(max = a) · n·a / E[sum | max = a].
        second_moment_lower, second_moment_upper: Sharp bounds given the mean, variance and range of
            the sum for each maximum.
        tail_upper: Second-moment upper bound for sums above some point, plus a bound for the
            improbable smaller sums (Bernstein). This bound tends to the mean loss for many lanes.
        ben_tal_hochman: Upper bound from the mean, the range and the standard deviation of the sum.
        largest: Upper bound: the largest possible loss, n·S / (S + (n - 1)·min W), S the largest W.
        delta: Approximation of second order in the fluctuation of the sum; not a bound.
        slowdown: E[max] / E[W], which the mean loss approaches for many lanes; not a bound.
        limit: Limit of mean loss and slowdown for infinitely many lanes: S / E[W]; infinite if W is
            not bounded.
    """

    lower: float
    upper: float
    conditional_jensen: float
    second_moment_lower: float
    second_moment_upper: float
    tail_upper: float
    ben_tal_hochman: float
    largest: float
    delta: float
    slowdown: float
    limit: float


def bounds(pmf: Pmf, lanes: int, tol: float = 1e-9) -> Bounds:
    """Return rigorous bounds on the mean loss of a group, in time O(S) for the largest work S.

    Parameters:
        pmf, lanes: As in :func:`stochastic.imbalance`.
        tol (float): Upper limit on the widening of the bounds by the truncation of an infinite law.

    Raises:
        LawError: Lanes are not a whole number of 1 or more, or the mean is infinite.

    Notes:
        A parabola that touches 1/x at one point and intersects it at another lies below 1/x to the
        left of the intersection and above it to the right. We take the intersection at an end of
        the range of the sum, and touch at the other atom of the extremal law with this mean and
        variance: this bound is sharp (Chebyshev system 1, x, x², 1/x). If truncation leaves out
        ``missing``, the mean loss is between E' - d·(E' - 1) and E' + d·(n - E'), where E' is the
        mean loss of the truncated law and d = 1 - (1 - missing)**n.

    >>> from stochastic.work.pmf import Pmf
    >>> result = bounds(Pmf.uniform(1, 6), 2)
    >>> bool(1.2948 < result.lower <= 64877 / 49896 <= result.upper < 1.3067)
    True
    """
    pmf = check_law(pmf)
    lanes = check_integer("lanes", lanes, least=1, example=32)
    tol = check_fraction("tol", tol, "1e-9")
    work = pmf.cut(max(tol / lanes / max(lanes - 1.0, 1.0), 1e-280))
    low, high, weights = work.low, int(work.high), work.weights
    slack = float(np.finfo(float).eps) * _ROUNDINGS
    slack += float(np.finfo(np.longdouble).eps) * len(weights)
    high_is_known = pmf.is_finite and not work.missing
    moved, largest = 0.0, 1.0
    if work.missing:
        covered = max(1.0 - work.missing, 0.0)
        moved, largest = 1.0 - covered**lanes, float(lanes)
    elif high > low and lanes > 1:
        largest = math.nextafter(lanes * high / (high + (lanes - 1) * low), lanes)

    def lower(value: float) -> float:
        value *= 1.0 - slack
        return max(value - moved * (value - 1.0) * (1.0 + slack), 1.0)

    def upper(value: float) -> float:
        value *= 1.0 + slack
        return min(value + moved * (lanes - value) * (1.0 + slack), largest)

    parts = _finite_bounds(low, weights, lanes)
    result = order_statistics(low, weights, lanes)
    ratio = result.mean_max / result.mean if result.mean else 1.0
    uppers = {name: upper(parts[name]) for name in _UPPER}
    lowers = {name: lower(parts[name]) for name in _LOWER}
    return Bounds(
        lower=max(lowers.values()),
        upper=min(uppers.values()),
        **lowers,
        **uppers,
        largest=largest,
        delta=ratio * _second_order(result, lanes),
        slowdown=ratio,
        limit=(high / result.mean if result.mean else 1.0) if high_is_known else math.inf,
    )


def _second_order(moments: OrderStatistics, lanes: int) -> float:
    if moments.mean == 0.0:
        return 1.0
    total = lanes * moments.mean
    return 1.0 + lanes * moments.var / total**2 - moments.cov_max_sum / (moments.mean_max * total)


def _finite_bounds(low: int, weights: Floats, lanes: int) -> dict[str, float]:
    given = sum_given_maximum(low, weights, lanes)
    busy = given.maximum > 0
    idle = float(given.probability[~busy].sum())
    a, chance, mean, var, below, above, rest, spread = (part[busy] for part in given)
    least, most = mean - below, mean + above

    def total(inverse: Floats) -> float:
        return idle + float((chance * a * lanes * inverse).sum())

    def parabola(shift: Floats, end: Floats) -> Floats:
        """Return the mean of a parabola that touches 1/x at mean + shift and meets it at end."""
        x = mean + shift
        return 1.0 / x + ((var + shift**2) / end + shift) / x**2

    with np.errstate(divide="ignore", invalid="ignore"):
        from_most = np.where(above > 0, -var / above, 0.0)
        from_least = np.where(below > 0, var / below, 0.0)
        chords = 1.0 / (mean * least) - 1.0 / (mean * most)
        chords = np.where((below > 0) & (above > 0), chords, 0.0)
    sharp = parabola(from_least, least)
    # Bernstein: P(sum < base - t) <= exp(-exponent), for each of _TAIL_EXPONENTS
    step = _TAIL_EXPONENTS * rest / 3.0
    t = step + np.sqrt(step**2 + 2.0 * _TAIL_EXPONENTS * (lanes - 1) * spread)
    start = least + (lanes - 1) * rest - t
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = parabola(var / (mean - start), start) + np.exp(-_TAIL_EXPONENTS) / least
    inside = (start > least) & (start < mean)
    tail = np.minimum(sharp, np.where(inside, beyond, np.inf).min(axis=0))
    return {
        "conditional_jensen": total(1.0 / mean),
        "second_moment_lower": total(parabola(from_most, most)),
        "second_moment_upper": total(sharp),
        "tail_upper": total(tail),
        "ben_tal_hochman": total(1.0 / mean + np.sqrt(var) / 2.0 * chords),
    }
