"""What tells the error of means of rows of draws, in machine code."""

from __future__ import annotations

import math

import numpy as np

from stochastic.kept import compiled

#: How much heavier a tail may be than its replicates show, and how heavy at most: the index of a
#: Pareto tail, that of the mean excess.
_HEAVIER, _HEAVIEST = 1.25, 0.9


@compiled(_nrt=False)
def spreads(rows, replicates, work, ends, out) -> None:
    """Store for each row what tells the error of its mean.

    These are the standard deviation of the means of its replicates; the widest gap between two of
    its values; the sum and the sum of squares of how far values are from the median, in units of
    the range; the least and the largest value; and how far the tail goes on beyond these.
    """
    draws = rows.shape[1]
    size = draws // replicates
    for i in range(rows.shape[0]):
        row = rows[i]
        low, high = np.inf, -np.inf
        middle, squares, bad = 0.0, 0.0, False
        for k in range(replicates):
            total, least, most = 0.0, np.inf, -np.inf
            for j in range(k * size, (k + 1) * size):
                value = row[j]
                bad = bad or not np.isfinite(value)
                least, most = min(least, value), max(most, value)
                total += value
            ends[0, k], ends[1, k] = least, most
            low, high = min(low, least), max(high, most)
            off = total / size - middle
            middle += off / (k + 1)
            squares += off * (total / size - middle)
        width = high - low
        for j in range(7):
            out[i, j] = np.nan if bad or not np.isfinite(width) else 0.0
        if bad or not np.isfinite(width):
            continue
        out[i, 4], out[i, 5] = low, high
        if width == 0:
            continue
        for j in range(draws):
            work[0, j], work[1, j], work[2, j] = 0.0, np.inf, -np.inf
        for j in range(draws):  # of as many buckets as values one is empty, or all gaps are alike
            place = min(int((row[j] - low) / width * draws), draws - 1)
            work[0, place] += 1.0
            work[1, place] = min(work[1, place], row[j])
            work[2, place] = max(work[2, place], row[j])
        gap, last, upto, centre = 0.0, low, 0.0, low
        for place in range(draws):
            if work[0, place] > 0:
                gap = max(gap, work[1, place] - last)
                last = work[2, place]
                if upto < draws / 2:
                    centre = work[1, place]
                upto += work[0, place]
        far, square = 0.0, 0.0
        for j in range(draws):
            d = abs(row[j] - centre) / width
            far += d
            square += d * d
        for side in range(2):
            mean, spread = 0.0, 0.0
            reach = abs((low if side == 0 else high) - centre)
            for k in range(replicates):
                d = math.log(max(abs(ends[side, k] - centre) / width, 1 / draws))
                off = d - mean
                mean += off / (k + 1)
                spread += off * (d - mean)
            index = min(_HEAVIER * math.sqrt(spread / (replicates - 1)), _HEAVIEST)
            out[i, 6] = max(out[i, 6], reach * index / (1 - index))
        out[i, 0] = math.sqrt(squares / (replicates - 1))
        out[i, 1], out[i, 2], out[i, 3] = gap, far, square
