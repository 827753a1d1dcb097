"""Statistics of rows of values, in machine code: each row gives one number."""

from __future__ import annotations

import math

import numpy as np

from stochastic import sizes
from stochastic.kept import compiled

#: What :func:`moments` gives: the mean, the standard deviation.
MEAN, STD = 0, 1
#: Rows of at most so many values may be proven of, term by term (``sweeps.bounds.expanding``).
SHORT = sizes.SUM_SHORT


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


@compiled
def _select(work, rank):
    """Bring the value of a rank to its place, what is less before it, what is more behind."""
    low, high = 0, work.size - 1
    while low < high:
        middle = (low + high) // 2
        a, b, c = work[low], work[middle], work[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while work[i] < pivot:
                i += 1
            while work[j] > pivot:
                j -= 1
            if i <= j:
                work[i], work[j] = work[j], work[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            return
    return


@compiled
def _sort(work):
    """Sort a short row in place; ``work.sort()`` cannot be kept between processes."""
    for j in range(1, work.size):
        value, place = work[j], j
        while place > 0 and work[place - 1] > value:
            work[place] = work[place - 1]
            place -= 1
        work[place] = value


@compiled
def _signed(row, sign, work):
    """The values of a row times ``sign``, into ``work``; how many of them are NaN."""
    holes = 0
    for j in range(row.size):
        work[j] = row[j] * sign
        holes += 1 if row[j] != row[j] else 0
    return holes


@compiled
def _excess(work, found):
    """By how much each value exceeds another."""
    for j in range(work.size):
        work[j] = max(work[j] - found, 0.0)
    return work


@compiled
def tails(values, sign, rank, share, rest, out) -> None:
    """Of each row, times ``sign``, the value of a rank; or the mean from there on.

    With ``rest`` above 0 it is the mean of so many values, of which that of the rank counts as
    ``share`` of one; of short rows they are added in order.
    """
    work = np.empty(values.shape[1])
    for i in range(values.shape[0]):
        if _signed(values[i], sign, work):
            out[i] = np.nan
            continue
        _select(work, rank)
        found = work[rank]
        if rest > 0:
            if work.size <= SHORT:
                _sort(work)
            found = (found * share + _total(work[rank + 1 :])) / rest
        out[i] = found * sign


@compiled
def weighted_tails(values, order, weights, sign, level, tail, out) -> None:
    """As :func:`tails`, of weighted rows: the first value up to which the weights reach a level.

    ``order`` sorts the values of each row times ``sign``.

    The mean beyond it is that value and the mean excess over it (Rockafellar and Uryasev 2000,
    Optimization of conditional value-at-risk, Journal of Risk 2, equation 4).
    """
    work = np.empty(values.shape[1])
    for i in range(values.shape[0]):
        if _signed(values[i], sign, work):
            out[i] = np.nan
            continue
        below, place = weights[order[i, 0]], 0
        while below < level - 1e-12 and place < work.size - 1:
            place += 1
            below += weights[order[i, place]]
        found = work[order[i, place]]
        if tail and abs(found) < np.inf:
            found += _mean(_excess(work, found), weights) / (1 - level)
        out[i] = found * sign
