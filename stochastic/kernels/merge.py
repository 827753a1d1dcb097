"""Equal fractions of sum and maximum, merged without sorting and without a gcd per outcome.

In lowest terms sum / max is m + r/p, with m in 1 .. lanes and r/p a Farey fraction of the order of
the largest value. These are the same between any two whole numbers, so that a table of the place of
each r/a serves all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["farey", "gather", "losses", "places"]


@compiled
def farey(order: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Numerators and denominators of the Farey fractions from 0 up to below 1, ascending."""
    totient = np.arange(order + 1)
    for p in range(2, order + 1):
        if totient[p] == p:
            for i in range(p, order + 1, p):
                totient[i] -= totient[i] // p
    size = np.sum(totient[1:])
    above, below = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    a, b, c, d = 0, 1, 1, order
    for i in range(size):
        above[i], below[i] = a, b
        k = (order + b) // d
        a, b, c, d = c, d, k * c - a, k * d - b
    return above, below


@compiled
def places(
    above: npt.NDArray[np.int32], below: npt.NDArray[np.int32], order: int, least: int
) -> npt.NDArray[np.int32]:
    """At a·(a - 1)/2 + r the place of r/a among the Farey fractions, for a from ``least`` on."""
    found = np.empty(order * (order + 1) // 2, dtype=np.int32)
    for i in range(len(above)):
        r, p = int(above[i]), int(below[i])
        for k in range(max((least + p - 1) // p, 1), order // p + 1):
            a = k * p
            found[a * (a - 1) // 2 + k * r] = i
    return found


@compiled
def gather(
    values: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    step: int,
    start: npt.NDArray[np.int64],
    atoms: npt.NDArray[np.float64],
    place: npt.NDArray[np.int32],
    size: int,
    lanes: int,
) -> npt.NDArray[np.float64]:
    """The probability of each m + r/p at (m - 1)·size + place, and of ``lanes`` at the end.

    Row p holds P(max = values[p], sum = first[p] + i·step) at ``start[p] + i``, up to
    ``start[p + 1]``.
    """
    found = np.zeros((lanes - 1) * size + 1)
    for m in range(1, lanes):
        into = found[(m - 1) * size : m * size]
        for p in range(len(values)):
            a = values[p]
            count = start[p + 1] - start[p]
            # ceilings of (m·a - first) / step and of one m later
            low = max(-((first[p] - m * a) // step), 0)
            high = min(-((first[p] - (m + 1) * a) // step), count)
            if low >= high:
                continue
            of = atoms[start[p] + low : start[p] + high]
            at = a * (a - 1) // 2 + first[p] + low * step - m * a
            for i in range(high - low):
                into[place[at + i * step]] += of[i]
    for p in range(len(values)):
        i = start[p] + (lanes * values[p] - first[p]) // step
        if start[p] <= i < start[p + 1]:
            found[-1] += atoms[i]
    return found


@compiled
def losses(
    ratios: npt.NDArray[np.float64],
    above: npt.NDArray[np.int32],
    below: npt.NDArray[np.int32],
    lanes: int,
    numerator: npt.NDArray[np.int32],
    denominator: npt.NDArray[np.int32],
    probability: npt.NDArray[np.float64],
) -> None:
    """Of what :func:`gather` found, losses = lanes · max / sum in lowest terms, ascending.

    Those of probability zero are left out; ``lanes`` times the order is below 2**31.
    """
    every = np.uint32(lanes)
    divisor = np.ones(lanes, dtype=np.uint32)  # gcd(lanes, i)
    for k in range(2, lanes + 1):
        if lanes % k == 0:
            for i in range(0, lanes, k):
                divisor[i] = k
    size, at = len(above), 0
    if ratios[-1] > 0:
        numerator[0] = denominator[0] = 1
        probability[0] = ratios[-1]
        at = 1
    for m in range(lanes - 1, 0, -1):
        part = ratios[(m - 1) * size : m * size]
        for i in range(size - 1, -1, -1):
            if part[i] > 0:
                q = np.uint32(m * below[i] + above[i])
                common = divisor[q % every]
                numerator[at] = every // common * below[i]
                denominator[at] = q // common
                probability[at] = part[i]
                at += 1
