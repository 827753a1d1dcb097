"""The law of a launch in whole numbers of 2**-BITS: slow, and to some fifty digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

BITS = 200
_ONE = 1 << BITS


def _circle(period: int) -> tuple[list[int], list[int]]:
    """Cosine and sine of πk/period, k = 0..2·period - 1."""
    from mpmath import mp

    with mp.workprec(BITS + 20):
        angles = [mp.pi * k / period for k in range(2 * period)]
        return [int(mp.cos(a) * _ONE) for a in angles], [int(mp.sin(a) * _ONE) for a in angles]


def _times(a: Any, b: Any) -> Any:
    (p, q), (x, y) = a, b
    return (p * x - q * y) >> BITS, (p * y + q * x) >> BITS


def scaled_probability(
    weights: list[int], slots: int, blocks: int, t: int, reach: tuple[int, int]
) -> int:
    """P(all blocks end by t), the last of which begins within ``reach``, in 2**-BITS.

    Durations 0, 1, ... have whole weights, that of 0 is 0. Counts differ from ``blocks`` by less
    than thirty standard deviations, and by less than they can.
    """
    total, longest, (first, last) = sum(weights), len(weights) - 1, reach
    law = np.array([(w << BITS) // total for w in weights], dtype=object)
    upto = np.cumsum(law)
    mean = sum(k * w for k, w in enumerate(weights)) / total
    var = sum((k - mean) ** 2 * w for k, w in enumerate(weights)) / total
    spread = math.sqrt(slots * (last * var / mean**3 + 1.0))
    period = min(math.ceil(60 * spread) + 60, 2 * slots * (last + 2))
    rows = [np.array([_ONE] + [0] * last, dtype=object)]
    while len(rows) <= last and max(rows[-1]) > 0:  # of ever more blocks
        row = np.array([0] * (last + 1), dtype=object)
        for k in range(1, min(longest, last) + 1):
            row[k:] += law[k] * rows[-1][: last + 1 - k]
        rows.append(row >> BITS)
    ends = [int(upto[min(k, longest)]) if k >= 0 else 0 for k in range(t + 1)] + [0]
    cosine, sine = _circle(period)
    result = 0
    counts = np.arange(1, len(rows) + 1)

    def begun_counts(s: int) -> Any:
        """P(n begun by s, all that run end by t), n = 1, 2, ...; None before all."""
        gained = np.array([ends[t - u] - ends[s - u] for u in range(s + 1)], dtype=object)
        return np.array([(row[: s + 1] @ gained) >> BITS for row in rows], dtype=object)

    shares = [begun_counts(s) for s in range(max(first, 1) - 1, min(last, t - 1) + 1)]
    if not shares:
        return 0
    begin = max(first, 1) - 1
    for j in range((period + 1) // 2):
        around = (2 * j + 1) * counts % (2 * period)
        z = (
            np.array([cosine[k] for k in around], dtype=object),
            np.array([sine[k] for k in around], dtype=object),
        )
        angles = np.pi / period * (2 * j + 1) * counts
        size = max(abs(np.exp(1j * angles) @ (one / _ONE).astype(float)) for one in shares)
        if slots * math.log((1 + min(size, 1.0)) / 2) < -70:
            continue
        bases = [((z[0] @ one) >> BITS, (z[1] @ one) >> BITS) for one in shares]
        if first == 0:
            powers = [(_ONE, 0)]
            places = range(min(last, t - 1) + 1)
        else:
            powers, places = [_power(bases[0], slots)], range(first, min(last, t - 1) + 1)
        real = imag = 0
        for s in places:
            powers.append(_power(bases[s - begin], slots))
            p, q = (int(z[0][0]) * ends[t - s]) >> BITS, (int(z[1][0]) * ends[t - s]) >> BITS
            square = ((p - _ONE) ** 2 + q * q) >> BITS
            ratio = _times((p, q), (p - _ONE, -q))
            ratio = ((ratio[0] << BITS) // square, (ratio[1] << BITS) // square)
            gone = (powers[-1][0] - powers[-2][0], powers[-1][1] - powers[-2][1])
            x, y = _times(ratio, gone)
            real, imag = real + x, imag + y
        at = (2 * j + 1) * blocks % (2 * period)
        term = (real * cosine[at] + imag * sine[at]) >> BITS
        result += term if 2 * j + 1 == period else 2 * term
    return result // period


def _power(base: tuple[int, int], exponent: int) -> tuple[int, int]:
    result = (_ONE, 0)
    while exponent:
        if exponent & 1:
            result = _times(result, base)
        exponent >>= 1
        base = _times(base, base)
    return result
