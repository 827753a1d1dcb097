"""Half widths of 95 % confidence intervals, of means of replicates and of few draws."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The chance that an interval misses on one side. Student's is wider, because means of skewed or
#: discrete values are missed more often than normal variables, by 1 or 2 of 100.
TAIL_PROBABILITY, _STUDENT_TAIL = 0.025, 0.015
#: Largest expected count of an event that no draw shows (the rule of three, one-sided).
ZERO_COUNT_BOUND = -math.log(TAIL_PROBABILITY)
#: Fewest draws whose sum counts as normal.
MIN_NORMAL_DRAWS = 32.0
#: Relative differences below this are rounding.
ROUNDING = 1e-12


@lru_cache(maxsize=64)
def student_factor(count: int) -> float:
    """Return the factor from a standard deviation to the half width of the mean's interval."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 1 - _STUDENT_TAIL)) / math.sqrt(count)


def half_width(values: Floats) -> Floats:
    """Return half the width of Student's interval of a mean, from values along the last axis."""
    return np.asarray(student_factor(values.shape[-1]) * values.std(axis=-1, ddof=1))


def poisson_upper_width(count: Floats) -> Floats:
    """Return how far an expected count may lie above a count (Garwood 1936)."""
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(count + 1, 1 - TAIL_PROBABILITY) - count)


def binomial_half_width(share: Any, draws: Any) -> Floats:
    """Return half the intervals of chances from independent draws (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    few = np.minimum(share, 1 - np.asarray(share)) * draws
    few = np.where(few < ROUNDING * draws, 0.0, few)
    most = betaincinv(few + 1, np.maximum(draws - few, ROUNDING), 1 - TAIL_PROBABILITY)
    return np.asarray(np.minimum(most - few / draws, 1.0))


def chance_half_width_of_rows(rows: Floats, replicates: int) -> Floats:
    """Return half the intervals of chances, from the share of each draw for which it holds."""
    points, draws = rows.shape
    each = rows.reshape(points, replicates, -1).mean(axis=-1)
    return chance_half_width(each, each.mean(axis=-1), draws)


def chance_half_width(replicate_shares: Floats, share: Any, draws: int) -> Floats:
    """Return half the intervals of chances, from those of each replicate (last axis).

    If a chance or its complement occurred in few draws, the interval is that of independent draws.
    """
    wide = half_width(replicate_shares)
    few = np.minimum(share, 1 - np.asarray(share)) * draws < MIN_NORMAL_DRAWS
    result = np.hypot(wide, ZERO_COUNT_BOUND / draws)
    result = np.where(few, np.maximum(wide, binomial_half_width(share, draws)), result)
    return np.asarray(np.minimum(result, 1.0))


@lru_cache(maxsize=256)
def quantile_ranks(draws: int, level: float, tail_probability: float) -> tuple[int, int]:
    """Return the ranks of the two draws between which the quantile of a level lies.

    Each is missed with at most ``tail_probability``. They are 0 and ``draws + 1`` if no draw is low
    or high enough.
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
