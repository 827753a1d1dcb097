"""Quadrature over the nodes t = first·exp(h·m): see stochastic.loss.moments for the mathematics.

A law stands in a table: the value in row r and column j is ``low + columns[j] + rows[r]``, so that
exp(-t·value) is a product of two of few exponentials. Cells without a value have no weight.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stochastic.kept import compiled

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["raw"]

_REST = 1e-18  # what may be left out on either side, relative to the result


@compiled(fastmath={"contract"}, _nrt=False)
def raw(
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    below: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
    start: npt.NDArray[np.float64],
    orders: npt.NDArray[np.float64],
    factors: npt.NDArray[np.float64],
    low: float,
    high: float,
    lanes: int,
    first: float,
    h: float,
    tails: npt.NDArray[np.float64],
    room: npt.NDArray[np.float64],
    seen: npt.NDArray[np.float64],
    told: npt.NDArray[np.float64],
) -> None:
    """E[(lanes·max/sum)**k; sum > 0] of each order k, and bounds on what the ends leave out.

    ``below`` holds the probability of each column, ``gains`` what (value/high)**k gains from a
    value to the next, ``start`` that of ``low``, ``factors`` (k - 1)!. ``tails`` is room of the
    shape of ``weights``, ``room`` of a row for each order and four, ``seen`` of the nodes by which
    log t grows by log 2. Rows of ``told``, a column for each order: the results, their bounds, and
    room for five more.
    """
    count, nodes, stage = len(columns), len(seen), 0  # at the origin; upwards; downwards
    chord = math.exp(-h)
    m = 0
    top = 1
    while 2 * top <= lanes:
        top *= 2
    while stage < 3:
        t = first * math.exp(h * m) if stage > 0 else 0.0
        # P(W > value) of the law tilted by exp(-t·W) goes into the tails. A transform near 1 is
        # found from what it lacks to 1, so that a high power of it keeps its digits.
        for j in range(count):
            room[0, j] = math.exp(-columns[j] * t)
            room[1, j] = room[2, j] = 0.0
        for r in range(len(rows) - 1, -1, -1):
            inner, less = math.exp(-rows[r] * t), -math.expm1(-rows[r] * t)
            for j in range(count):
                tails[r, j] = room[1, j]
                room[1, j] += weights[r, j] * inner * room[0, j]
                room[2, j] += weights[r, j] * less
        gone = lost = mass = fell = 0.0  # sums, with the roundings carried along
        for j in range(count - 1, -1, -1):
            term = (room[0, j] * room[2, j] - below[j] * math.expm1(-columns[j] * t)) - lost
            new = gone + term
            lost = (new - gone) - term
            gone = new
            term = room[1, j] - fell
            room[1, j] = mass
            new = mass + term
            fell = (new - mass) - term
            mass = new
        scale = 1.0 / (mass if gone > 0.5 else 1.0 - gone)
        log = math.log(mass) if gone > 0.5 else math.log1p(-gone)
        for k in range(len(orders)):
            for j in range(count):
                room[4 + k, j] = 0.0
        work = 1.0
        for r in range(len(rows)):
            for j in range(count):
                tails[r, j] = (tails[r, j] + room[1, j]) * scale
                room[3, j] = tails[r, j]
            bit = top // 2
            while bit > 0:  # 1 - (1 - tail)**m for m = 1 ... lanes: double, and add one where so
                odd = 1.0 if lanes & bit else 0.0
                for j in range(count):
                    twice = 2.0 * room[3, j] - room[3, j] * room[3, j]
                    room[3, j] = twice + odd * (tails[r, j] - tails[r, j] * twice)
                bit //= 2
            if r == 0 and low == 0.0:
                work = room[3, 0]
            for k in range(len(orders)):
                for j in range(count):
                    room[4 + k, j] += gains[k, r, j] * room[3, j]
        size = math.exp(lanes * (log - low * t))
        seen[m % nodes] = size * work  # E[exp(-t·sum); sum > 0]
        half = seen[(m + 1) % nodes]  # at half of the next t going up, or beyond it
        going = False
        for k in range(len(orders)):
            order, found, carry = orders[k], 0.0, 0.0
            for j in range(count - 1, -1, -1):
                term = room[4 + k, j] - carry
                new = found + term
                carry = (new - found) - term
                found = new
            found = size * (start[k] + found)  # E[max**k · exp(-t·sum)]
            if stage == 0:
                told[2, k] = found
                continue
            share = math.pow(lanes * high * t, order) * h / factors[k]
            term = share * found - told[3, k]
            new = told[0, k] + term
            told[3, k] = (new - told[0, k]) - term
            told[0, k] = new
            fade = math.exp(-h * order)
            flat = fade / (1.0 - fade)
            if stage == 1:  # X <= lanes
                left = told[1, k] = math.pow(2.0 * lanes, order) * half
            else:
                gap = told[2, k] - found
                left = share * gap * flat
                told[4, k] = left
                # the nodes below the last, on the chord from it to the origin
                told[5, k] = told[2, k] * flat - gap * fade * chord / (1.0 - fade * chord)
                told[6, k] = share
            going = going or left > _REST * new
        if stage == 0 or not going:
            stage += 1
            m = 0 if stage == 1 else -1
            if stage == 1:
                for i in range(nodes):
                    seen[i] = 1.0
        else:
            m += 1 if stage == 1 else -1
    for k in range(len(orders)):
        told[0, k] += told[6, k] * told[5, k]
        told[1, k] += abs(told[4, k])
