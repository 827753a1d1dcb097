"""A plane along each axis: its least over a range of values, and which of them it rules out."""

from __future__ import annotations

import math

from stochastic import sizes
from sweeps.bounds.machine.jit import jitted

__all__ = ["FEW", "along", "cut", "least"]

INF = math.inf
#: Values of an axis that are looked at one by one.
FEW = sizes.ALONG_FEW


@jitted
def along(table, axis, index, weights, row):
    """What the weights of the leaves of one axis make at one of its values."""
    axis_leaves, leaves, numbers, logs = table
    found = 0.0
    for j in range(axis_leaves.shape[1]):
        k = axis_leaves[axis, j]
        if k < 0:
            break
        w, d = weights[row, 0, k], weights[row, 1, k]
        if w == 0 and d == 0:
            continue
        place = leaves[k, 2] + index
        if w != 0:
            found += w * numbers[place]
        if d != 0:
            found += d * logs[place]
    return found


@jitted
def _mixed(w, d, low, high):
    """The least of w x + d ln |x| between two values of one sign (any, where d is 0)."""
    if d == 0:
        return w * (low if w > 0 else high)
    one = w * low + d * math.log(abs(low))
    two = w * high + d * math.log(abs(high))
    found = min(one, two)
    if w != 0:
        x = -d / w
        if low < x < high:
            found = min(found, w * x + d * math.log(abs(x)))
    return found


@jitted
def least(table, axis, first, last, weights, row, ends):
    """The least along an axis, where about it is, and how large its parts are.

    ``ends`` holds the extremes of each leaf over the range.
    """
    axis_leaves = table[0]
    if last - first < FEW:
        found, place = INF, first
        for index in range(first, last + 1):
            value = along(table, axis, index, weights, row)
            if value < found:
                found, place = value, index
        return found, place
    found, number = 0.0, 0
    for j in range(axis_leaves.shape[1]):
        k = axis_leaves[axis, j]
        if k < 0:
            break
        w, d = weights[row, 0, k], weights[row, 1, k]
        if w != 0 or d != 0:
            number += 1
            found += _mixed(w, d, ends[k, 0], ends[k, 1])
    if number == 0:
        return 0.0, first
    place, value = first, along(table, axis, first, weights, row)
    for step in range(1, 9):
        index = first + (last - first) * step // 8
        other = along(table, axis, index, weights, row)
        if other < value:
            place, value = index, other
    return found, place


@jitted
def _end(table, axis, above, below, weights, row, most):
    """The last index that does not lie above ``most``, between one that does and one that not."""
    while abs(above - below) > 1:
        middle = (above + below) // 2
        if along(table, axis, middle, weights, row) > most:
            above = middle
        else:
            below = middle
    return below


@jitted
def cut(table, axis, first, last, weights, row, most):
    """The range without the values at its ends that lie above ``most``."""
    axis_leaves, leaves = table[0], table[1]
    if last - first < FEW:
        while first <= last and along(table, axis, first, weights, row) > most:
            first += 1
        while last > first and along(table, axis, last, weights, row) > most:
            last -= 1
        return first, last
    single, sure = -1, True
    for j in range(axis_leaves.shape[1]):
        k = axis_leaves[axis, j]
        if k < 0:
            break
        w, d = weights[row, 0, k], weights[row, 1, k]
        if w != 0 or d != 0:
            sure = sure and single < 0 and (w == 0 or d == 0) and leaves[k, 0] <= 2
            single = k
    if single < 0 or not sure:
        return first, last
    # one leaf that rises or falls: the weight does so, too
    if along(table, axis, first, weights, row) > most:
        first = _end(table, axis, first, last + 1, weights, row, most)
    elif along(table, axis, last, weights, row) > most:
        last = _end(table, axis, last, first, weights, row, most)
    return first, last
