"""Compute the law of (maximum, sum) of a group by transforms, or by convolutions for a few lanes.

See stochastic.loss.inversion for the mathematics. Sums are numbers of lattice steps from the
smallest sum. A complex number is stored as two rows, its real and its imaginary part. For a few
lanes, the laws of the sums of both halves of a group are convolved.
"""

from __future__ import annotations

import math

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.compile_cache import compiled

BLOCK = sizes.INVERT_BLOCK
_FEW = sizes.INVERT_FEW  # Terms added before one step of compensated summation.
#: One multiplication by root**_LEAP replaces this number of multiplications by the root of unity.
_LEAP = sizes.INVERT_LEAP
_FRESH = sizes.INVERT_FRESH
_CONVOLVE_BLOCK = sizes.CONVOLVE_BLOCK  # Terms added before one step of compensated summation.
_CONVOLVE_PART = sizes.CONVOLVE_PART  # Products added before one step of compensated summation.


@compiled(fastmath={"contract"}, _nrt=False)
def spectrum_coefficients(
    frequencies: Ints,
    period: int,
    columns: Floats,
    rows: Floats,
    column: Ints,
    row: Ints,
    weights: Floats,
    idle: int,
    lanes: int,
    drop: float,
    edges: Floats,
    turned: Floats,
    lacking: Floats,
    power: Floats,
    used: Ints,
    out: Floats,
) -> int:
    """Write the coefficients of P(max = value, sum >= s) at each frequency; return their number.

    Values are ``columns[column] + rows[row]``, relative to a centre. Coefficients are written for
    the last values, one for each column of ``power``. The first ``idle`` of these values have no
    work and get no coefficients. Frequencies at which no transform exceeds ``drop`` are left out;
    the other frequencies are listed in ``used``.
    """
    count, size_used, width = len(weights), lacking.shape[1], len(columns)
    near = far = 0  # values near..far - 1 are less than two columns from the centre
    for i in range(count):
        place = columns[column[i]] + rows[row[i]]
        near += place < -2 * len(rows)
        far += place <= 2 * len(rows)
    if len(rows) == 1:
        near = far
    size = 0
    for f in range(len(frequencies)):
        angle = 2.0 * math.pi * frequencies[f] / period
        for j in range(edges.shape[1]):  # exp(i·angle·place) - 1, with a small relative error
            half = 0.5 * angle * (columns[j] if j < width else rows[j - width])
            s, c = math.sin(half), math.cos(half)
            edges[0, j], edges[1, j] = -2.0 * s * s, 2.0 * s * c
        for i in range(count):
            j, r = column[i], width + row[i]
            if near <= i < far:  # near the centre, the sum of the two angles would cancel
                half = 0.5 * angle * (columns[j] + rows[r - width])
                s, c = math.sin(half), math.cos(half)
                turned[0, i], turned[1, i] = -2.0 * s * s, 2.0 * s * c
            else:
                a, b, c, d = edges[0, j], edges[1, j], edges[0, r], edges[1, r]
                turned[0, i] = a + c + (a * c - b * d)
                turned[1, i] = b + d + (a * d + b * c)
        whole_real = whole_imag = carry = 0.0
        for begin in range(0, count, _FEW):
            real = imag = 0.0
            for i in range(begin, min(begin + _FEW, count)):
                real += weights[i] * turned[0, i]
                imag += weights[i] * turned[1, i]
            whole_real += real
            imag -= carry  # compensated summation, because terms of both signs cancel
            total = whole_imag + imag
            carry = (total - whole_imag) - imag
            whole_imag = total
        # z = E[exp(i·angle·W); W <= value] - 1 for the last values, and the maximum of |1 + z|**2
        most = tail_real = tail_imag = 0.0
        stop, shift = size_used, count - size_used
        while stop > 0:
            begin = max(stop - BLOCK, 0)
            real = imag = 0.0
            for i in range(stop - 1, begin - 1, -1):
                from_one = whole_real - (tail_real + real)
                across = whole_imag - (tail_imag + imag)
                lacking[0, i] = power[0, i] = from_one
                lacking[1, i] = power[1, i] = across
                most = max(most, (1.0 + from_one) ** 2 + across * across)
                weight = weights[shift + i]
                real += weight * (1.0 + turned[0, shift + i])
                imag += weight * turned[1, shift + i]
            tail_real += real
            tail_imag += imag
            stop = begin
        if math.pow(math.sqrt(most), lanes) <= drop:
            continue
        bit = 1
        while 2 * bit <= lanes:
            bit *= 2
        bit //= 2
        while bit > 0:  # (1 + z)**lanes - 1 for each z, by doubling the exponent and adding one
            odd = 1.0 if lanes & bit else 0.0
            for i in range(size_used):
                x, y = power[0, i], power[1, i]
                a, b = odd * lacking[0, i], odd * lacking[1, i]
                x, y = 2.0 * x + (x * x - y * y), 2.0 * y + 2.0 * x * y
                power[0, i] = x + a + (x * a - y * b)
                power[1, i] = y + b + (x * b + y * a)
            bit //= 2
        # factor 1/(1 - exp(-i·angle)) of the sum from s to the end of the period, for this
        # frequency and its negative together
        scale = 1.0 / (period * math.sin(0.5 * angle))
        real, imag = scale * math.sin(0.5 * angle), -scale * math.cos(0.5 * angle)
        x, y = -1.0, 0.0
        for i in range(size_used):
            a, b = power[0, i] - x, power[1, i] - y
            if i >= idle:
                out[0, size, i - idle] = real * a - imag * b
                out[1, size, i - idle] = real * b + imag * a
            x, y = power[0, i], power[1, i]
        used[size] = frequencies[f]
        size += 1
    return size


@compiled(fastmath={"contract"}, _nrt=False)
def spectrum_probabilities(
    sums: Ints,
    end: int,
    period: int,
    origin: int,
    fraction: float,
    frequencies: Ints,
    coefficients: Floats,
    at_end: Floats,
    chances: Floats,
    scratch: Floats,
    out: Floats,
) -> None:
    """Add to ``out``, for each row of ``sums``, the sum over values v of P(max = v, sum >= row[v]).

    Only sums from ``end - period`` to ``end`` are resolved; their centre is ``origin + fraction``.
    ``at_end`` has the sum of each value's terms at ``end``; ``chances`` has P(max = v).
    """
    values, count = sums.shape[1], len(frequencies)
    for begin in range(0, values, BLOCK):
        for t in range(len(sums)):
            first, last = begin, min(begin + BLOCK, values)
            while first < last and sums[t, first] <= end - period:
                out[t] += chances[first]
                first += 1
            while last > first and sums[t, last - 1] >= end:
                last -= 1
            size = last - first
            if size == 0:
                continue
            # rows of scratch: 0 place, 1 total, 2-3 power of the root, 4-5 the power at the last
            # leap, 6-7 the root, 8-9 root**_LEAP
            for i in range(size):
                scratch[0, i] = (sums[t, first + i] - origin) - fraction
                scratch[1, i] = 0.0
            before = run = 0
            for f in range(-2, count):
                now = frequencies[f] if f >= 0 else (1 if f == -2 else _LEAP)
                if f == -1 and count <= _LEAP:
                    continue
                if f < 0 or now != before + 1 or run % _FRESH == 0:
                    at = 6 if f == -2 else 8 if f == -1 else 2
                    for i in range(size):
                        if at == 2 and now == 1:
                            scratch[2, i], scratch[3, i] = scratch[6, i], scratch[7, i]
                        else:
                            turns = now * scratch[0, i] / period
                            angle = -2.0 * math.pi * (turns - math.floor(turns))
                            scratch[at, i], scratch[at + 1, i] = math.cos(angle), math.sin(angle)
                        scratch[4, i], scratch[5, i] = scratch[2, i], scratch[3, i]
                    run = 0
                elif run % _LEAP == 0:
                    for i in range(size):
                        x, y, a, b = scratch[4, i], scratch[5, i], scratch[8, i], scratch[9, i]
                        scratch[2, i] = scratch[4, i] = x * a - y * b
                        scratch[3, i] = scratch[5, i] = x * b + y * a
                else:
                    for i in range(size):
                        x, y, a, b = scratch[2, i], scratch[3, i], scratch[6, i], scratch[7, i]
                        scratch[2, i] = x * a - y * b
                        scratch[3, i] = x * b + y * a
                if f < 0:
                    continue
                before = now
                run += 1
                real, imag = coefficients[0, f, first:], coefficients[1, f, first:]
                for i in range(size):
                    scratch[1, i] += real[i] * scratch[2, i] - imag[i] * scratch[3, i]
            for i in range(size):
                k = first + i
                out[t] += scratch[1, i] - at_end[k] + chances[k] * (end - sums[t, k]) / period


@compiled
def _add_value(sums: Floats, orders: int, place: int, weight: float, last: int) -> None:
    """Update the laws of sums of 1 to ``orders`` items in place when items get one more value.

    ``place`` and ``last`` are the positions of the new and the previous value.
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
    sums: Floats, cumulative: Floats, begin: int, stop: int, first: int, last: int
) -> float:
    total = 0.0
    for s in range(begin, stop):
        total += sums[s] * (cumulative[last - s] - cumulative[first - s])
    return total


@compiled
def convolution_probabilities(
    places: Ints, weights: Floats, lanes: int, idle: int, least: Ints
) -> Floats:
    """Return, for each row of ``least``, the sum over values v of P(max = v, sum >= row[v]).

    The result is computed as the sum of P(max <= v, row[v] <= sum < row[next v]). The first
    ``idle`` values have no work and no column in ``least``.
    """
    half = lanes // 2
    rest = lanes - half
    span = places[-1]
    sums = np.zeros((rest + 1, rest * span + 1))
    below = np.zeros((lanes + rest) * span + 3)  # below[s] = P(sum of half the items < s - offset)
    offset = rest * span
    result, lost = np.zeros(len(least)), np.zeros(len(least))
    previous = 0
    for a in range(len(places)):
        place = places[a]
        _add_value(sums, rest, place, weights[a], previous)
        previous = place
        if a < idle:
            continue
        total = carry = 0.0
        for begin in range(0, half * place + 1, _CONVOLVE_BLOCK):
            stop = min(begin + _CONVOLVE_BLOCK, half * place + 1)
            part = 0.0
            for s in range(begin, stop):
                part += sums[half, s]
                below[offset + s + 1] = total + part
            part -= carry  # compensated summation
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
                    end = min(begin + _CONVOLVE_PART, stop)
                    part += _overlap(sums[rest], below, begin, end, first + offset, last + offset)
                    begin = end
                grown = result[t] + part
                lost[t] = (grown - result[t]) - part
                result[t] = grown
    return result


@compiled
def pair_probabilities(places: Ints, weights: Floats, idle: int, least: Ints) -> Floats:
    """Return the result of :func:`convolution_probabilities` for two lanes, in one pass per row."""
    before = np.zeros(len(weights) + 1)
    for a in range(len(weights)):
        before[a + 1] = before[a] + weights[a]
    result = np.zeros(len(least))
    for t in range(len(least)):
        other = 0  # smallest index of the other item's value for which the sum suffices
        for a in range(idle, len(places)):
            needed = least[t, a - idle] - places[a]
            while other < a and places[other] < needed:
                other += 1
            chance = 2.0 * (before[a] - before[other])
            if needed <= places[a]:
                chance += weights[a]
            result[t] += weights[a] * chance
    return result
