"""Moments and extremes of rows of values, in machine code: each row gives one number."""

from __future__ import annotations

import math

import numpy as np

from stochastic.kept import compiled

#: What :func:`moments` gives: the mean, the standard deviation.
MEAN, STD = 0, 1


@compiled
def _total(row):
    """The sum, several terms at a time; of few terms in order."""
    count = row.size
    whole = count - count % 8 if count >= 32 else 0
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(0, whole, 8):
        a += row[j]
        b += row[j + 1]
        c += row[j + 2]
        d += row[j + 3]
        e += row[j + 4]
        f += row[j + 5]
        g += row[j + 6]
        h += row[j + 7]
    found = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for j in range(whole, count):
        found += row[j]
    return found


@compiled
def _mean(row, weights):
    if weights.size == 0:
        return _total(row) / row.size
    found = 0.0
    for j in range(row.size):
        if weights[j] > 0:  # what never is may be infinite
            found += weights[j] * row[j]
    return found


@compiled
def totals(values, out) -> None:
    """Fill ``out`` with the sum of each row."""
    for i in range(values.shape[0]):
        out[i] = _total(values[i])


@compiled
def moments(values, weights, kind, out) -> None:
    """The mean of each row (rows of equal weight where none are given), or what follows of it.

    A standard deviation is that of the law which the row is.
    """
    work = np.empty(values.shape[1])
    for i in range(values.shape[0]):
        row = values[i]
        mean = _mean(row, weights)
        if kind == 1:
            for j in range(row.size):
                work[j] = (row[j] - mean) * (row[j] - mean)
            mean = math.sqrt(_mean(work, weights))
        out[i] = mean


@compiled(_nrt=False)
def extreme(values, sign, skip, out) -> None:
    """The largest of each row (``sign`` 1) or the least (-1); NaN left out, or passed on."""
    for i in range(values.shape[0]):
        row = values[i]
        found, holes = -np.inf, 0
        for j in range(row.size):
            value = row[j] * sign
            holes += 1 if value != value else 0
            found = value if value > found else found
        if holes == row.size or (holes and not skip):
            found = np.nan
        out[i] = found * sign
