"""The law of a few lanes, by convolution of its halves while the largest value grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochastic import sizes
from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["between", "of_two"]

_BLOCK = sizes.CONVOLVE_BLOCK
_PART = sizes.CONVOLVE_PART


@compiled
def _grow(sums: npt.NDArray[np.float64], orders: int, place: int, weight: float, last: int) -> None:
    """One more value, of that weight, to sums of 1 ... ``orders`` items; ``last`` is its place.

    Of an order, j items have the new value and the others do not. Nothing is subtracted.
    """
    for order in range(orders, 0, -1):
        factor = 1.0
        for j in range(1, order + 1):
            factor *= weight * (order - j + 1) / j
            rest = order - j
            shift = j * place
            if rest == 0:
                sums[order, shift] += factor
                continue
            for s in range(rest * last + 1):
                sums[order, shift + s] += factor * sums[rest, s]


@compiled(fastmath={"contract", "reassoc"})
def _overlap(
    sums: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    begin: int,
    stop: int,
    first: int,
    last: int,
) -> float:
    """Sum over s of sums[s] · (below[last - s] - below[first - s])."""
    total = 0.0
    for s in range(begin, stop):
        total += sums[s] * (below[last - s] - below[first - s])
    return total


@compiled
def between(
    places: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    lanes: int,
    idle: int,
    least: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """P(sum >= the least sum of its largest value), of each row of ``least``.

    As P(max <= value, sum from its least sum up to that of the next value), summed over values;
    the first ``idle`` have no work and no column in ``least``.
    """
    half = lanes // 2
    rest = lanes - half
    span = places[-1]
    sums = np.zeros((rest + 1, rest * span + 1))
    below = np.zeros((lanes + rest) * span + 3)  # P(sum of half < s - offset), 0 before it
    offset = rest * span
    found, lost = np.zeros(len(least)), np.zeros(len(least))
    previous = 0
    for a in range(len(places)):
        place = places[a]
        _grow(sums, rest, place, weights[a], previous)
        previous = place
        if a < idle:
            continue
        total = carry = 0.0
        for begin in range(0, half * place + 1, _BLOCK):
            stop = min(begin + _BLOCK, half * place + 1)
            part = 0.0
            for s in range(begin, stop):
                part += sums[half, s]
                below[offset + s + 1] = total + part
            part -= carry  # the roundings of a long sum are carried along
            grown = total + part
            carry = (grown - total) - part
            total = grown
        below[offset + half * place + 1 : offset + lanes * place + 2] = total
        for t in range(len(least)):
            first = least[t, a - idle]
            last = lanes * span + 1 if a + 1 == len(places) else least[t, a + 1 - idle]
            last = min(last, lanes * place + 1)
            if last > first:
                begin = max(first - half * place, 0)
                stop = min(last, rest * place + 1)
                part = -lost[t]
                while begin < stop:
                    end = min(begin + _PART, stop)
                    part += _overlap(sums[rest], below, begin, end, first + offset, last + offset)
                    begin = end
                grown = found[t] + part
                lost[t] = (grown - found[t]) - part
                found[t] = grown
    return found


@compiled
def of_two(
    places: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    idle: int,
    least: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """The same of two items, one of which has the largest value, in one pass for each row."""
    before = np.zeros(len(weights) + 1)
    for a in range(len(weights)):
        before[a + 1] = before[a] + weights[a]
    found = np.zeros(len(least))
    for t in range(len(least)):
        other = 0  # the first value that is large enough for the other: it grows with the largest
        for a in range(idle, len(places)):
            needed = least[t, a - idle] - places[a]
            while other < a and places[other] < needed:
                other += 1
            chance = 2.0 * (before[a] - before[other])
            if needed <= places[a]:
                chance += weights[a]
            found[t] += weights[a] * chance
    return found
