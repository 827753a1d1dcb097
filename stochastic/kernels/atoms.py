"""Compute the joint law of maximum and sum by a sweep or transforms, and merge equal losses.

The sweep computes P(max = a, sum = b) for growing values a, with positive terms only. Let H(i) be
the law of the sum of ``i`` items that are at most a, scaled by 2**(q·i) / i!, as a polynomial in z.
Any number k of these items may equal a, so the step from one value to the next is the convolution

    H_a(i) = sum_k t(k) · z**(k·a) · H_before(i - k),        t(k) = (2**q · P(a))**k / k!

We index H(i) by the deficit u = i·a - sum. Then all terms of a step have the same u: the step is a
triangular Toeplitz matrix times a wide matrix, in tiles of u that stay in the first-level cache.
From one value to the next, row i moves up by i times the gap between the values. Tiles are moved in
place, in descending order. For all n items, the terms with k >= 1 are those with the maximum a.

The transform computes, for each largest value, the spectrum of the law of the sum.

Losses are merged without sorting and without a gcd for each outcome. In lowest terms, sum / max is
m + r/p, where m is 1 .. lanes and r/p is a Farey fraction whose order is the largest value. The
fractions r/p are the same for every m, so one table of the index of r/a is enough.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.compile_cache import compiled

#: Number of deficits computed in one tile; rows are computed four at a time.
TILE = sizes.SWEEP_TILE
_SPECTRA_TILE = sizes.SPECTRA_TILE
_FMA_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}}


def row_starts(lanes: int, top: int) -> Ints:
    """Return the offset of each row of the sweep's state, then its size, for values <= ``top``."""
    lengths = (np.arange(lanes, dtype=np.int64) * top // TILE + 2) * TILE
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


@compiled
def _clear(target: Floats) -> None:
    for u in range(len(target)):
        target[u] = 0.0


@compiled
def _copy(source: Floats, target: Floats) -> None:
    for u in range(len(target)):
        target[u] = source[u]


@compiled(**_FMA_OPTIONS)
def _update_within_rows(tile: Floats, t: Floats, i: int) -> None:
    """Add to each of the rows i .. i + 3 the terms from the earlier ones of these four rows."""
    y = tile[i * TILE : (i + 4) * TILE]
    t1, t2, t3 = t[4], t[5], t[6]
    for u in range(TILE):
        x0, x1, x2 = y[u], y[TILE + u], y[2 * TILE + u]
        y[TILE + u] += t1 * x0
        y[2 * TILE + u] += t2 * x0 + t1 * x1
        y[3 * TILE + u] += t3 * x0 + t2 * x1 + t1 * x2


@compiled(**_FMA_OPTIONS)
def _update_from_rows(tile: Floats, t: Floats, i: int, j: int) -> None:
    """Add to rows i .. i + 3 the terms from the earlier rows j .. j + 3."""
    y, x = tile[i * TILE : (i + 4) * TILE], tile[j * TILE : (j + 4) * TILE]
    k = i - j
    t0, t1, t2, t3, t4, t5, t6 = t[k], t[k + 1], t[k + 2], t[k + 3], t[k + 4], t[k + 5], t[k + 6]
    for u in range(TILE):
        x0, x1, x2, x3 = x[u], x[TILE + u], x[2 * TILE + u], x[3 * TILE + u]
        y[u] += t3 * x0 + t2 * x1 + t1 * x2 + t0 * x3
        y[TILE + u] += t4 * x0 + t3 * x1 + t2 * x2 + t1 * x3
        y[2 * TILE + u] += t5 * x0 + t4 * x1 + t3 * x2 + t2 * x3
        y[3 * TILE + u] += t6 * x0 + t5 * x1 + t4 * x2 + t3 * x3


@compiled(**_FMA_OPTIONS)
def _last_row(tile: Floats, t: Floats, first: int, rows: int, atoms: Floats) -> None:
    """Write to ``atoms`` the terms of the last row in which k >= 1 items have the current value."""
    atoms[:] = 0.0
    for j in range(first, rows, 4):
        x, k = tile[j * TILE : (j + 4) * TILE], rows - j + 3
        t0, t1, t2, t3 = t[k], t[k - 1], t[k - 2], t[k - 3]
        for u in range(TILE):
            atoms[u] += t0 * x[u] + t1 * x[TILE + u] + t2 * x[2 * TILE + u] + t3 * x[3 * TILE + u]


@compiled(**_FMA_OPTIONS)
def sweep(
    values: Ints,
    weights: Floats,
    shift: int,
    mantissas: Floats,
    exponents: Ints,
    scale: float,
    start: Ints,
    state: Floats,
    base: Ints,
    out: Floats,
    masses: Floats,
) -> None:
    """Write P(max = values[p], sum = b) to ``out[base[p] + b]``; its sum over b to ``masses[p]``.

    ``values`` ascend from 0. ``shift`` is a q with which no row underflows or overflows. 1 / k! is
    mantissas[k] · 2**exponents[k]; ``scale`` is lanes! / 2**(q·lanes). ``start`` is the result of
    :func:`row_starts`; its last item is the size of ``state``, which must be zero at first.
    """
    lanes = len(mantissas) - 1
    rows = (lanes + 3) // 4 * 4
    pad = rows - lanes  # number of first rows that stay zero
    tile = np.zeros(rows * TILE)
    atoms, mass = np.empty(TILE), np.empty(TILE)
    t = np.zeros(lanes + 8)  # t(k) has the index k + 3; other items are zero
    state[0] = 1.0
    before = 0
    for p in range(len(values)):
        a, gap = values[p], values[p] - before
        before = a
        part, power = math.frexp(weights[p])
        for k in range(lanes + 1):
            t[k + 3] = math.ldexp(
                part ** float(k) * mantissas[k], (power + shift) * k + exponents[k]
            )
        mass[:] = 0.0
        for n in range((lanes - 1) * a // TILE, -1, -1):
            u = n * TILE
            # rows before ``least`` end below the deficit u: row i ends at i·a
            least = pad + ((u + a - 1) // a if u > 0 else 0)
            first = least // 4 * 4
            _clear(tile[first * TILE : least * TILE])
            for j in range(least, rows):
                i = j - pad
                moved = min(max(i * gap - u, 0), TILE)
                at = start[i] + u - i * gap
                _clear(tile[j * TILE : j * TILE + moved])
                _copy(state[at + moved : at + TILE], tile[j * TILE + moved : (j + 1) * TILE])
            _last_row(tile, t, first, rows, atoms)
            for k in range(TILE):
                mass[k] += atoms[k]
            count = min(TILE, (lanes - 1) * a - u + 1)
            end = base[p] + lanes * a - u + 1
            into = out[end - count : end]
            for k in range(count):
                into[count - 1 - k] = atoms[k] * scale
            if p + 1 == len(values):
                continue
            for i in range(rows - 4, first - 1, -4):
                _update_within_rows(tile, t, i)
                for j in range(first, i, 4):
                    _update_from_rows(tile, t, i, j)
            for j in range(least, rows):
                at = start[j - pad] + u
                _copy(tile[j * TILE : (j + 1) * TILE], state[at : at + TILE])
        masses[p] = np.sum(mass) * scale


@compiled(**_FMA_OPTIONS)
def _square(a: Floats, b: Floats) -> None:
    for k in range(_SPECTRA_TILE):
        a[k], b[k] = (a[k] - b[k]) * (a[k] + b[k]), 2.0 * a[k] * b[k]


@compiled(**_FMA_OPTIONS)
def _multiply(a: Floats, b: Floats, c: Floats, d: Floats) -> None:
    for k in range(_SPECTRA_TILE):
        a[k], b[k] = a[k] * c[k] - b[k] * d[k], a[k] * d[k] + b[k] * c[k]


@compiled
def _power(
    real: Floats, imaginary: Floats, exponent: int, a: Floats, b: Floats, c: Floats, d: Floats
) -> None:
    """Raise a tile of complex numbers to a power in ``a`` + i·``b``; ``c``, ``d`` are scratch."""
    for k in range(_SPECTRA_TILE):
        a[k], b[k], c[k], d[k] = 1.0, 0.0, real[k], imaginary[k]
    while exponent:
        if exponent & 1:
            _multiply(a, b, c, d)
        exponent >>= 1
        if exponent:
            _square(c, d)


@compiled(**_FMA_OPTIONS)
def spectra(
    values: Ints,
    weights: Floats,
    lanes: int,
    roots: npt.NDArray[np.complex128],
    before: npt.NDArray[np.complex128],
    out: npt.NDArray[np.complex128],
) -> None:
    """Write G_a**lanes - G_before**lanes at half the roots of unity, with a row for each value a.

    G_a is the transform of the values up to a, and G_before that of the values below a. The array
    ``before`` is G_before of the first value. ``roots`` are exp(-2πi·k/len(roots)).
    """
    size, half = len(roots), len(before)
    real, imaginary = np.zeros(_SPECTRA_TILE), np.zeros(_SPECTRA_TILE)
    scratch = np.empty((4, _SPECTRA_TILE))
    a, b, c, d = scratch[0], scratch[1], scratch[2], scratch[3]
    past, past_i = np.empty(_SPECTRA_TILE), np.empty(_SPECTRA_TILE)
    for k in range(0, half, _SPECTRA_TILE):
        count = min(_SPECTRA_TILE, half - k)
        for i in range(count):
            real[i], imaginary[i] = before[k + i].real, before[k + i].imag
        _power(real, imaginary, lanes, past, past_i, c, d)
        for p in range(len(values)):
            step = values[p] % size
            at = k * step % size
            for i in range(count):
                real[i] += weights[p] * roots[at].real
                imaginary[i] += weights[p] * roots[at].imag
                at += step
                if at >= size:
                    at -= size
            _power(real, imaginary, lanes, a, b, c, d)
            for i in range(count):
                out[p, k + i] = complex(a[i] - past[i], b[i] - past_i[i])
                past[i], past_i[i] = a[i], b[i]


@compiled
def farey_fractions(order: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the numerators and denominators of the Farey fractions in [0, 1), ascending."""
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
def farey_places(
    numerators: npt.NDArray[np.int32], denominators: npt.NDArray[np.int32], order: int, least: int
) -> npt.NDArray[np.int32]:
    """Return an array whose item a·(a - 1)/2 + r is the Farey index of r/a, if a >= ``least``."""
    result = np.empty(order * (order + 1) // 2, dtype=np.int32)
    for i in range(len(numerators)):
        r, p = int(numerators[i]), int(denominators[i])
        for k in range(max((least + p - 1) // p, 1), order // p + 1):
            a = k * p
            result[a * (a - 1) // 2 + k * r] = i
    return result


@compiled
def gather_ratios(
    values: Ints,
    first: Ints,
    step: int,
    start: Ints,
    atoms: Floats,
    place: npt.NDArray[np.int32],
    size: int,
    lanes: int,
) -> Floats:
    """Return the law of sum / max; P(m + r/p) is at the index (m - 1)·size + index of r/p.

    P(sum / max = lanes) is at the end. ``atoms`` holds P(max = values[p], sum = first[p] +
    i·step) at the index ``start[p] + i``, below ``start[p + 1]``.
    """
    result = np.zeros((lanes - 1) * size + 1)
    for m in range(1, lanes):
        into = result[(m - 1) * size : m * size]
        for p in range(len(values)):
            a = values[p]
            count = start[p + 1] - start[p]
            # ceil((m·a - first) / step), and the same for m + 1
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
            result[-1] += atoms[i]
    return result


@compiled
def reduced_losses(
    ratios: Floats,
    farey_numerators: npt.NDArray[np.int32],
    farey_denominators: npt.NDArray[np.int32],
    lanes: int,
    numerator: npt.NDArray[np.int32],
    denominator: npt.NDArray[np.int32],
    probability: Floats,
) -> None:
    """Write the losses of :func:`gather_ratios` in lowest terms, ascending.

    Losses of probability 0 are left out. ``lanes`` times the Farey order must be below 2**31.
    """
    every = np.uint32(lanes)
    divisor = np.ones(lanes, dtype=np.uint32)  # gcd(lanes, i)
    for k in range(2, lanes + 1):
        if lanes % k == 0:
            for i in range(0, lanes, k):
                divisor[i] = k
    size, at = len(farey_numerators), 0
    if ratios[-1] > 0:
        numerator[0] = denominator[0] = 1
        probability[0] = ratios[-1]
        at = 1
    for m in range(lanes - 1, 0, -1):
        part = ratios[(m - 1) * size : m * size]
        for i in range(size - 1, -1, -1):
            if part[i] > 0:
                q = np.uint32(m * farey_denominators[i] + farey_numerators[i])
                common = divisor[q % every]
                numerator[at] = every // common * farey_denominators[i]
                denominator[at] = q // common
                probability[at] = part[i]
                at += 1
