"""The second moment of the loss about a centre, by quadrature: see stochastic.loss.moments.

Nodes and the table of values are as in the kernel of the raw moments.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.kernels.jit import jitted

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["about"]

_REST = 1e-18  # what may be left out on either side, relative to the result
_FAR = 150.0  # -log of a probability beyond which it counts for nothing, whatever it multiplies
_TINY = 1e-280
_CHUNK = 256
_FUSED: dict[str, Any] = {"fastmath": {"contract"}}


@jitted(**_FUSED)
def _count_of_largest(
    p: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    lanes: int,
    counts: npt.NDArray[np.float64],
) -> None:
    """Of K ~ Binomial(lanes, p), q = 1 - p: P(K >= 1), P(K = 0), E[max(K - 1, 0)].

    And, last, P(K >= 1) of one item fewer. The items are doubled, and one is added where so: each
    figure is a sum of positive terms or far from cancelling, and keeps its relative accuracy.
    """
    some, none, more, fewer = counts
    some[:] = p
    none[:] = q
    more[:] = 0.0
    bit = 1
    while 2 * bit <= lanes - 1:
        bit *= 2
    while bit > 0:
        bit //= 2
        if bit > 0:
            for i in range(len(p)):
                more[i] = 2.0 * more[i] + some[i] * some[i]
                some[i] = 2.0 * some[i] - some[i] * some[i]
                none[i] = none[i] * none[i]
        else:
            fewer[:] = some
        if bit == 0 or (lanes - 1) & bit:
            for i in range(len(p)):
                more[i] = more[i] + p[i] * some[i]
                some[i] = some[i] + p[i] - p[i] * some[i]
                none[i] = none[i] * q[i]


@jitted(**_FUSED)
def _squared(
    t: float,
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    column: npt.NDArray[np.int64],
    row: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    low: float,
    high: float,
    lanes: int,
    centre: float,
    room: npt.NDArray[np.float64],
) -> Any:
    """E[((max - centre·sum/lanes)/high)**2 · exp(-t·sum)] and E[exp(-t·sum); sum > 0].

    Only values with weight are given; ``column`` and ``row`` say where each stands in the table.
    """
    count = len(weights)
    outer, inner = np.exp(-columns * t), np.exp(-rows * t)
    outer_loss, inner_loss = -np.expm1(-columns * t), -np.expm1(-rows * t)
    part, rest, means, scatter, masses, logs = room
    gone = mass = mean = square = 0.0
    for i in range(count):  # an item of the tilted law: this value, or below it with a mean ...
        j, r = column[i], row[i]
        x = columns[j] + rows[r]
        logs[i] = weights[i] * outer[j] * inner[r]
        gone += weights[i] * (outer_loss[j] + outer[j] * inner_loss[r])
        means[i] = mean
        scatter[i] = square / mass if i > 0 else 0.0  # ... and a variance
        masses[i] = mass + logs[i]
        part[i], rest[i] = logs[i] / masses[i], mass / masses[i]
        gap = x - mean
        square += logs[i] * rest[i] * gap * gap
        mean += gap * part[i]
        mass = masses[i]
    whole = mass if gone > 0.5 else 1.0 - gone
    above = 0.0
    start = count
    while start > 0 and lanes * above < _FAR * whole:  # log P(max <= value), where it matters
        start -= 1
        weight = logs[start]
        near = above < 0.5 * whole
        log = math.log1p(-above / whole) if near else math.log(masses[start] / whole)
        logs[start] = lanes * log
        above += weight
    found = 0.0
    counts = np.empty((4, _CHUNK))
    for begin in range(start, count, _CHUNK):
        end = min(begin + _CHUNK, count)
        _count_of_largest(part[begin:end], rest[begin:end], lanes, counts[:, : end - begin])
        for i in range(begin, end):
            some, none, more, fewer = counts[:, i - begin]
            if some < _TINY:
                continue
            p, q = part[i], rest[i]
            expected = lanes * p
            if expected < 1.0:  # spread is Var K / E[K] of a K that is at least 1
                spread = ((lanes - 1) * p * some - more) / some
            elif q < 0.5:
                spread = q - expected * none / some
            else:
                spread = q - (expected * (1.0 - some) / some if expected < 40.0 else 0.0)
            others = lanes * q * fewer / some
            x = columns[column[i]] + rows[row[i]]
            gap = x - means[i]
            if centre < 2.0:
                off = (low + x) * (1.0 - centre) + centre / lanes * others * gap
            else:
                total = expected / some * (low + x) + others * (low + means[i])
                off = (low + x) - centre / lanes * total
            noise = gap * gap * expected / some * spread + others * scatter[i]
            scale = centre / (lanes * high)
            found += math.exp(logs[i]) * some * ((off / high) ** 2 + scale * scale * noise)
    log = math.log(mass) if gone > 0.5 else math.log1p(-gone)
    size = math.exp(lanes * (log - low * t))
    work = -math.expm1(logs[0]) if low == 0.0 and start == 0 else 1.0
    return size * found, size * work


@jitted
def about(
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    column: npt.NDArray[np.int64],
    row: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    low: float,
    high: float,
    lanes: int,
    centre: float,
    first: float,
    h: float,
) -> Any:
    """E[(lanes·max/sum - centre)**2; sum > 0], and a bound on what the ends leave out."""
    room = np.empty((6, len(weights)))
    given = (columns, rows, column, row, weights, low, high, lanes, centre, room)
    origin, _ = _squared(0.0, *given)
    most = 4.0 * max(float(lanes), centre) ** 2
    flat, chord = math.exp(-2.0 * h), math.exp(-3.0 * h)
    half = math.ceil(math.log(2.0) / h)
    seen = np.ones(half)
    total = carry = rest = found = scale = 0.0
    for direction in (1, -1):
        m = min(direction, 0)
        going = True
        while going:
            t = first * math.exp(h * m)
            found, seen[m % half] = _squared(t, *given)
            scale = (lanes * high * t) ** 2 * h
            term = scale * found - carry
            new = total + term
            carry = (new - total) - term
            total = new
            if direction > 0:
                left = rest = most * seen[(m + 1) % half]
            else:
                left = scale * (origin - found) * flat / (1.0 - flat)
            going = left > _REST * total
            m += direction
    lost = origin - found
    total += scale * (origin * flat / (1.0 - flat) - lost * chord / (1.0 - chord))
    return total, rest + scale * abs(lost) * flat / (1.0 - flat)
