"""Compute half widths of 95 % confidence intervals of means and probabilities."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Probability that the true value lies beyond one end of an interval. Student's interval uses a
#: smaller probability: it misses the mean of skewed or discrete values in 1 or 2 % more cases.
TAIL_PROBABILITY, _STUDENT_TAIL = 0.025, 0.015
#: One-sided upper limit on the expected number of occurrences of an event that never occurred.
ZERO_COUNT_BOUND = -math.log(TAIL_PROBABILITY)
#: Minimum number of occurrences for a normal approximation of their number.
MIN_NORMAL_DRAWS = 32.0
#: Relative differences below this tolerance count as rounding errors.
ROUNDING = 1e-12


@lru_cache(maxsize=64)
def student_factor(count: int) -> float:
    """Return the factor from a standard deviation to the half width of the mean's interval."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 1 - _STUDENT_TAIL)) / math.sqrt(count)


def half_width(values: Floats) -> Floats:
    """Return the half width of Student's interval of the mean along the last axis.

    It is NaN if a value is infinite.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(student_factor(values.shape[-1]) * values.std(axis=-1, ddof=1))


def poisson_upper_width(count: Floats) -> Floats:
    """Return the upper limit on an expected count minus the observed count (Garwood 1936)."""
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(count + 1, 1 - TAIL_PROBABILITY) - count)


def binomial_half_width(share: Any, draws: Any) -> Floats:
    """Return the half width of the interval of a probability (Clopper and Pearson 1934).

    The event occurred in the fraction ``share`` of ``draws`` independent draws.
    """
    from scipy.special import betaincinv

    few = np.minimum(share, 1 - np.asarray(share)) * draws
    few = np.where(few < ROUNDING * draws, 0.0, few)
    most = betaincinv(few + 1, np.maximum(draws - few, ROUNDING), 1 - TAIL_PROBABILITY)
    return np.asarray(np.minimum(most - few / draws, 1.0))


def chance_half_width_of_rows(rows: Floats, replicates: int) -> Floats:
    """Return the half width of the interval of a probability at each point, from its draws.

    A value in ``rows`` (shape: points, draws) is the probability of the event in one draw, such as
    0 or 1.
    """
    points, draws = rows.shape
    each = rows.reshape(points, replicates, -1).mean(axis=-1)
    return chance_half_width(each, each.mean(axis=-1), draws)


def chance_half_width(replicate_shares: Floats, share: Any, draws: int) -> Floats:
    """Return the half width of the interval of a probability, from one estimate per replicate.

    ``replicate_shares`` has the estimates along its last axis; ``share`` is their mean. If the
    event or its complement occurred in fewer than 32 draws, the interval is at least as wide as for
    independent draws.
    """
    wide = half_width(replicate_shares)
    few = np.minimum(share, 1 - np.asarray(share)) * draws < MIN_NORMAL_DRAWS
    result = np.hypot(wide, ZERO_COUNT_BOUND / draws)
    result = np.where(few, np.maximum(wide, binomial_half_width(share, draws)), result)
    return np.asarray(np.minimum(result, 1.0))


@lru_cache(maxsize=256)
def quantile_ranks(draws: int, level: float, tail_probability: float) -> tuple[int, int]:
    """Return the ranks (from 1) of the two draws between which the quantile of a level lies.

    The quantile lies below the first draw with a probability of at most ``tail_probability``, and
    above the second draw with at most the same probability. If no draw is low enough, the first
    rank is 0. If no draw is high enough, the second rank is ``draws + 1``.
    """
    from scipy.special import bdtr, bdtrik

    low = max(int(np.nan_to_num(bdtrik(tail_probability, draws, level))) - 1, 0)
    while low < draws and bdtr(low, draws, level) <= tail_probability:
        low += 1
    high = min(int(np.nan_to_num(bdtrik(1 - tail_probability, draws, level), nan=draws)), draws)
    while high > 0 and 1 - bdtr(high - 1, draws, level) <= tail_probability:
        high -= 1
    while high <= draws and (high == 0 or 1 - bdtr(high - 1, draws, level) > tail_probability):
        high += 1
    return low, high
