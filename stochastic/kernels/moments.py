"""Quadrature over the nodes t = first·exp(h·m): see stochastic.loss.moments for the mathematics.

A law stands in a table: the value in row r and column j is ``low + columns[j] + rows[r]``, so that
exp(-t·value) is a product of two of few exponentials. Cells without a value have no weight.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.kernels.jit import jitted

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["raw"]

_REST = 1e-18  # what may be left out on either side, relative to the result
_FUSED: dict[str, Any] = {"fastmath": {"contract"}}


@jitted
def _from_above(terms: npt.NDArray[np.float64]) -> float:
    """The sum, with the roundings carried along; each term becomes the sum of those after it."""
    total = carry = 0.0
    for j in range(len(terms) - 1, -1, -1):
        term = terms[j] - carry
        terms[j] = total
        new = total + term
        carry = (new - total) - term
        total = new
    return total


@jitted(**_FUSED)
def _tails(
    t: float,
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    tails: npt.NDArray[np.float64],
) -> float:
    """log E[exp(-t·(W - low))]; P(W > value) of the law tilted by exp(-t·W) goes into ``tails``.

    ``below`` holds the probability of each column. A transform near 1 is found from what it lacks
    to 1, so that a high power of it keeps its digits.
    """
    count = len(columns)
    outer = np.exp(-columns * t)
    after, lost = np.zeros(count), np.zeros(count)
    for r in range(len(rows) - 1, -1, -1):
        inner, less = math.exp(-rows[r] * t), -math.expm1(-rows[r] * t)
        for j in range(count):
            tails[r, j] = after[j]
            after[j] += weights[r, j] * inner * outer[j]
            lost[j] += weights[r, j] * less
    for j in range(count):
        lost[j] = outer[j] * lost[j] - below[j] * math.expm1(-columns[j] * t)
    gone = _from_above(lost)
    mass = _from_above(after)
    scale = 1.0 / (mass if gone > 0.5 else 1.0 - gone)
    for r in range(len(rows)):
        for j in range(count):
            tails[r, j] = (tails[r, j] + after[j]) * scale
    return math.log(mass) if gone > 0.5 else math.log1p(-gone)


@jitted(**_FUSED)
def _expectations(
    t: float,
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
    start: npt.NDArray[np.float64],
    low: float,
    lanes: int,
    tails: npt.NDArray[np.float64],
    found: npt.NDArray[np.float64],
) -> float:
    """E[max**k · exp(-t·sum)] of each order goes into ``found``; E[exp(-t·sum); sum > 0]."""
    log = _tails(t, columns, rows, weights, below, tails)
    first = 1
    while 2 * first <= lanes:
        first *= 2
    parts = np.zeros((len(found), len(columns)))
    above = np.empty(len(columns))
    work = 1.0
    for r in range(len(rows)):
        tail = tails[r]
        above[:] = tail
        bit = first // 2
        while bit > 0:  # 1 - (1 - tail)**m for m = 1 ... lanes: double, and add one where so
            if lanes & bit:
                for j in range(len(above)):
                    twice = 2.0 * above[j] - above[j] * above[j]
                    above[j] = twice + tail[j] - tail[j] * twice
            else:
                for j in range(len(above)):
                    above[j] = 2.0 * above[j] - above[j] * above[j]
            bit //= 2
        if r == 0 and low == 0.0:
            work = above[0]
        for k in range(len(found)):
            for j in range(len(above)):
                parts[k, j] += gains[k, r, j] * above[j]
    scale = math.exp(lanes * (log - low * t))
    for k in range(len(found)):
        found[k] = scale * (start[k] + _from_above(parts[k]))
    return scale * work


@jitted(**_FUSED)
def raw(
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
    start: npt.NDArray[np.float64],
    orders: npt.NDArray[np.int64],
    low: float,
    high: float,
    lanes: int,
    first: float,
    h: float,
) -> Any:
    """E[(lanes·max/sum)**k; sum > 0] of each order, and bounds on what the ends leave out.

    ``gains`` holds what (value/high)**k gains from a value to the next, ``start`` that of ``low``.
    """
    count = len(orders)
    tails = np.empty(weights.shape)
    given = (columns, rows, weights, below, gains, start, low, lanes, tails)
    found, origin, scale = np.empty(count), np.empty(count), np.empty(count)
    _expectations(0.0, *given, origin)
    sums, carry, rest = np.zeros(count), np.zeros(count), np.zeros(count)
    fade = np.exp(-h * orders)
    half = math.ceil(math.log(2.0) / h)
    seen = np.ones(half)  # E[exp(-t·sum); sum > 0] at the latest nodes
    for direction in (1, -1):
        m = min(direction, 0)
        going = True
        while going:
            t = first * math.exp(h * m)
            seen[m % half] = _expectations(t, *given, found)
            going = False
            for k in range(count):
                scale[k] = (lanes * high * t) ** orders[k] * h / math.gamma(float(orders[k]))
                term = scale[k] * found[k] - carry[k]
                total = sums[k] + term
                carry[k] = (total - sums[k]) - term
                sums[k] = total
                if direction > 0:  # X <= lanes; half of the next t is beyond the oldest node seen
                    left = rest[k] = (2.0 * lanes) ** orders[k] * seen[(m + 1) % half]
                else:
                    left = scale[k] * (origin[k] - found[k]) * fade[k] / (1.0 - fade[k])
                going = going or left > _REST * sums[k]
            m += direction
    for k in range(count):  # the nodes below the last, on the chord from it to the origin
        flat, chord = fade[k], fade[k] * math.exp(-h)
        lost = origin[k] - found[k]
        sums[k] += scale[k] * (origin[k] * flat / (1.0 - flat) - lost * chord / (1.0 - chord))
        rest[k] += scale[k] * abs(lost) * flat / (1.0 - flat)
    return sums, rest
