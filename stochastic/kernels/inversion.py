"""Characteristic functions of sums in which no item is above a value, and what they add up to.

See stochastic.loss.inversion for the mathematics. Sums are counted on their lattice, from the
smallest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.kernels.jit import jitted

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["probabilities", "transforms"]

_BLOCK = 64
_FEW = 16
_LEAP = 16  # steps in frequency after which a power of a root of unity takes one long step
_FRESH = 1024  # ... and after which it is computed anew


@jitted
def _turned(angle: float, places: npt.NDArray[np.float64]) -> Any:
    """exp(i·angle·place) - 1, relative to how far it turns."""
    real, imag = np.empty(len(places)), np.empty(len(places))
    for j in range(len(places)):
        s, c = math.sin(0.5 * angle * places[j]), math.cos(0.5 * angle * places[j])
        real[j], imag[j] = -2.0 * s * s, 2.0 * s * c
    return real, imag


@jitted(fastmath={"contract"})
def _lacking(
    angle: float,
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    column: npt.NDArray[np.int64],
    row: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    near: int,
    far: int,
    turned: npt.NDArray[np.float64],
    lacking: npt.NDArray[np.float64],
) -> float:
    """E[exp(i·angle·W); W <= value] - 1 of the last values; the largest modulus of it + 1."""
    outer_real, outer_imag = _turned(angle, columns)
    inner_real, inner_imag = _turned(angle, rows)
    count = len(weights)
    for i in range(count):
        a, b = outer_real[column[i]], outer_imag[column[i]]
        c, d = inner_real[row[i]], inner_imag[row[i]]
        turned[0, i] = a + c + (a * c - b * d)
        turned[1, i] = b + d + (a * d + b * c)
    for i in range(near, far):  # close to the centre the two turns would cancel
        half = 0.5 * angle * (columns[column[i]] + rows[row[i]])
        s, c = math.sin(half), math.cos(half)
        turned[0, i], turned[1, i] = -2.0 * s * s, 2.0 * s * c
    whole_real = whole_imag = carry = 0.0
    for begin in range(0, count, _FEW):
        real = imag = 0.0
        for i in range(begin, min(begin + _FEW, count)):
            real += weights[i] * turned[0, i]
            imag += weights[i] * turned[1, i]
        whole_real += real
        imag -= carry  # about the mean these cancel, so that their roundings would remain
        total = whole_imag + imag
        carry = (total - whole_imag) - imag
        whole_imag = total
    kept = lacking.shape[1]
    most = tail_real = tail_imag = 0.0
    stop = kept
    while stop > 0:
        begin = max(stop - _BLOCK, 0)
        real = imag = 0.0
        for i in range(stop - 1, begin - 1, -1):
            from_one = whole_real - (tail_real + real)
            across = whole_imag - (tail_imag + imag)
            lacking[0, i], lacking[1, i] = from_one, across
            most = max(most, (1.0 + from_one) ** 2 + across * across)
            weight = weights[count - kept + i]
            real += weight * (1.0 + turned[0, count - kept + i])
            imag += weight * turned[1, count - kept + i]
        tail_real += real
        tail_imag += imag
        stop = begin
    return math.sqrt(most)


@jitted(fastmath={"contract"})
def _raised(lacking: npt.NDArray[np.float64], lanes: int, power: npt.NDArray[np.float64]) -> None:
    """(1 + z)**lanes - 1 for each z = ``lacking``, by doubling and adding one, into ``power``."""
    real, imag = power
    own_real, own_imag = lacking
    real[:] = own_real
    imag[:] = own_imag
    bit = 1
    while 2 * bit <= lanes:
        bit *= 2
    bit //= 2
    while bit > 0:
        for i in range(len(real)):
            x, y = real[i], imag[i]
            real[i] = 2.0 * x + (x * x - y * y)
            imag[i] = 2.0 * y + 2.0 * x * y
        if lanes & bit:
            for i in range(len(real)):
                x, y, a, b = real[i], imag[i], own_real[i], own_imag[i]
                real[i] = x + a + (x * a - y * b)
                imag[i] = y + b + (x * b + y * a)
        bit //= 2


@jitted
def transforms(
    frequencies: npt.NDArray[np.int64],
    period: int,
    columns: npt.NDArray[np.float64],
    rows: npt.NDArray[np.float64],
    column: npt.NDArray[np.int64],
    row: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    kept: int,
    idle: int,
    lanes: int,
    drop: float,
) -> Any:
    """What each frequency tells of P(max = value, sum >= s), of the last ``kept`` values.

    Values are ``columns[column] + rows[row]``, from a centre; of those kept the first ``idle`` have
    no work and get no coefficients. Frequencies at which no transform is above ``drop`` are left
    out. Returns those that are not, and coefficients, real and imaginary: 2, frequencies, values.
    """
    count = len(frequencies)
    found = np.empty((2, count, kept - idle))
    used = np.empty(count, dtype=np.int64)
    near = far = 0  # values less than two columns from the centre, if there are rows
    for i in range(len(weights)):
        place = columns[column[i]] + rows[row[i]]
        near += place < -2 * len(rows)
        far += place <= 2 * len(rows)
    if len(rows) == 1:
        near = far
    turned = np.empty((2, len(weights)))
    lacking = np.empty((2, kept))
    power = np.empty((2, kept))
    size = 0
    for f in range(count):
        angle = 2.0 * math.pi * frequencies[f] / period
        modulus = _lacking(angle, columns, rows, column, row, weights, near, far, turned, lacking)
        if modulus**lanes <= drop:
            continue
        _raised(lacking, lanes, power)
        # of the sum over s from here to the end of the period, 1/(1 - exp(-i·angle)), and of both
        # this frequency and its negative
        scale = 1.0 / (period * math.sin(0.5 * angle))
        real, imag = scale * math.sin(0.5 * angle), -scale * math.cos(0.5 * angle)
        x, y = -1.0, 0.0
        for i in range(kept):
            a, b = power[0, i] - x, power[1, i] - y
            if i >= idle:
                found[0, size, i - idle] = real * a - imag * b
                found[1, size, i - idle] = real * b + imag * a
            x, y = power[0, i], power[1, i]
        used[size] = frequencies[f]
        size += 1
    return used[:size], found[:, :size]


@jitted
def _turn(frequency: int, place: float, period: int) -> Any:
    turns = frequency * place / period
    angle = -2.0 * math.pi * (turns - math.floor(turns))
    return math.cos(angle), math.sin(angle)


@jitted(fastmath={"contract"})
def _added(
    frequencies: npt.NDArray[np.int64],
    period: int,
    coefficients: npt.NDArray[np.float64],
    first: int,
    places: npt.NDArray[np.float64],
    count: int,
    total: npt.NDArray[np.float64],
) -> None:
    """Re(sum over frequencies of coefficient · exp(-2πi·frequency·place/period)) of each value."""
    now_real, now_imag, step_real, step_imag = np.empty((4, _BLOCK))
    from_real, from_imag, leap_real, leap_imag = np.empty((4, _BLOCK))
    for i in range(count):
        step_real[i], step_imag[i] = _turn(1, places[i], period)
        if len(frequencies) > _LEAP:
            leap_real[i], leap_imag[i] = _turn(_LEAP, places[i], period)
    total[:count] = 0.0
    last = run = 0
    for f in range(len(frequencies)):
        if frequencies[f] != last + 1 or run % _FRESH == 0:
            for i in range(count):
                if frequencies[f] == 1:
                    now_real[i], now_imag[i] = step_real[i], step_imag[i]
                else:
                    now_real[i], now_imag[i] = _turn(frequencies[f], places[i], period)
                from_real[i], from_imag[i] = now_real[i], now_imag[i]
            run = 0
        elif run % _LEAP == 0:
            for i in range(count):
                x, y = from_real[i], from_imag[i]
                now_real[i] = from_real[i] = x * leap_real[i] - y * leap_imag[i]
                now_imag[i] = from_imag[i] = x * leap_imag[i] + y * leap_real[i]
        else:
            for i in range(count):
                x, y = now_real[i], now_imag[i]
                now_real[i] = x * step_real[i] - y * step_imag[i]
                now_imag[i] = x * step_imag[i] + y * step_real[i]
        last = frequencies[f]
        run += 1
        real, imag = coefficients[0, f, first:], coefficients[1, f, first:]
        for i in range(count):
            total[i] += real[i] * now_real[i] - imag[i] * now_imag[i]


@jitted
def probabilities(
    sums: npt.NDArray[np.int64],
    end: int,
    period: int,
    origin: int,
    fraction: float,
    frequencies: npt.NDArray[np.int64],
    coefficients: npt.NDArray[np.float64],
    at_end: npt.NDArray[np.float64],
    chances: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """P(sum >= the least sum of its largest value), summed over values, of each row of ``sums``.

    Sums from ``end - period`` to ``end`` are told apart; ``origin + fraction`` is their centre.
    ``at_end`` is what the coefficients of each value add up to at ``end``.
    """
    asked, kept = sums.shape
    found = np.zeros(asked)
    total = np.empty(_BLOCK)
    places = np.empty(_BLOCK)
    for begin in range(0, kept, _BLOCK):
        stop = min(begin + _BLOCK, kept)
        for t in range(asked):
            first = begin
            while first < stop and sums[t, first] <= end - period:
                found[t] += chances[first]
                first += 1
            last = stop
            while last > first and sums[t, last - 1] >= end:
                last -= 1
            size = last - first
            if size == 0:
                continue
            for i in range(size):
                places[i] = (sums[t, first + i] - origin) - fraction
            _added(frequencies, period, coefficients, first, places, size, total)
            for i in range(size):
                a = first + i
                found[t] += total[i] - at_end[a] + chances[a] * (end - sums[t, a]) / period
    return found
