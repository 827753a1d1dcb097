"""Half the widths of 95 % intervals: of means of replicates, and of what few draws tell."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The chance that an interval misses on one side; and that of Student's, which is wider, for sums
#: of skewed or discrete values miss more often than normal variables, by 1 or 2 of 100.
SIDE, _STUDENT = 0.025, 0.015
#: The expected count of what may occur in none of the draws: the rule of three, on one side.
UNSEEN = -math.log(SIDE)
#: A sum of fewer draws than these is not taken for a normal variable.
FEW = 32.0
#: A share of what is compared that is mere rounding.
ROUNDED = 1e-12


@lru_cache(maxsize=64)
def student(count: int) -> float:
    """Return the factor from the standard deviation of some values to the half width of their
    mean's interval."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 1 - _STUDENT)) / math.sqrt(count)


def half_width(each: Floats) -> Floats:
    """Return half the width of Student's interval of a mean, from independent values.

    They lie along the last axis.
    """
    return np.asarray(student(each.shape[-1]) * each.std(axis=-1, ddof=1))


def count_width(count: Floats) -> Floats:
    """Return how far an expected count may lie above a count (Garwood 1936)."""
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(count + 1, 1 - SIDE) - count)


def binomial_width(share: Any, draws: Any) -> Floats:
    """Return half the intervals of chances from independent draws (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    few = np.minimum(share, 1 - np.asarray(share)) * draws
    few = np.where(few < ROUNDED * draws, 0.0, few)
    most = betaincinv(few + 1, np.maximum(draws - few, ROUNDED), 1 - SIDE)
    return np.asarray(np.minimum(most - few / draws, 1.0))


def share_error(rows: Floats, replicates: int) -> Floats:
    """Return half the intervals of chances, from the share of each draw in which it holds."""
    points, draws = rows.shape
    each = rows.reshape(points, replicates, -1).mean(axis=-1)
    return share_width(each, each.mean(axis=-1), draws)


def share_width(each: Floats, share: Any, draws: int) -> Floats:
    """Return half the intervals of chances, from those of each replicate (last axis).

    Where a chance or its complement occurred in few draws, it is that of independent draws.
    """
    wide = half_width(each)
    few = np.minimum(share, 1 - np.asarray(share)) * draws < FEW
    found = np.hypot(wide, UNSEEN / draws)
    found = np.where(few, np.maximum(wide, binomial_width(share, draws)), found)
    return np.asarray(np.minimum(found, 1.0))


@lru_cache(maxsize=256)
def ranks(draws: int, level: float, side: float) -> tuple[int, int]:
    """Return the ranks of the draws between which the quantile of a level lies.

    Each is missed with at most the chance ``side``. They are 0, and one more than there are draws,
    where no draw is low, or high, enough.
    """
    from scipy.special import bdtr, bdtrik

    low = max(int(np.nan_to_num(bdtrik(side, draws, level))) - 1, 0)
    while low < draws and bdtr(low, draws, level) <= side:
        low += 1
    high = min(int(np.nan_to_num(bdtrik(1 - side, draws, level), nan=draws)), draws)
    while high > 0 and 1 - bdtr(high - 1, draws, level) <= side:
        high -= 1
    while high <= draws and (high == 0 or 1 - bdtr(high - 1, draws, level) > side):
        high += 1
    return low, high
