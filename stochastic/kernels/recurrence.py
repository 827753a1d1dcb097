"""Compute terms of a law from ratios of neighbouring terms, in double-double arithmetic."""

from __future__ import annotations

from stochastic.arrays import Floats
from stochastic.compile_cache import compiled

_SPLIT = 134217729.0  # 2**27 + 1 splits a double into halves of 26 bits, with exact products.
_TINY = 1e-307  # Smallest term, relative to the start; below it the low part would be denormal.


@compiled(_nrt=False)
def walk(
    first: int,
    last: int,
    start: int,
    ratio: float,
    ratio_low: float,
    shape: float,
    slope: float,
    terms: Floats,
) -> None:
    """Write terms first..last of f(k+1) = f(k)·ratio·(shape + slope·k)/(k+1), where f(start) = 1.

    The term at ``start`` must be the largest. All digits of a term but the last are correct; terms
    below 1e-307 are not written. ``ratio_low`` is the rounding error of ``ratio``; slope is -1, 0
    or 1. Each product is kept exactly, as the rounded product plus its error (Dekker 1971).
    """
    terms[start - first] = 1.0
    for step in (1, -1):
        k = start if step > 0 else start - 1
        high, low = 1.0, 0.0
        while first <= k < last and high >= _TINY:
            b = slope * k
            s = shape + b
            t = s - shape
            e = (shape - (s - t)) + (b - t)  # s + e = shape + slope·k
            # three products: c = ratio · s; term · c (upwards) or term · (k + 1) (downwards);
            # quotient · divisor, from which the remainder of the division follows
            x, xl, y, yl = ratio, ratio_low, s, e
            z = zl = 0.0
            for turn in range(3):
                p = x * y
                t = _SPLIT * x
                xh = t - (t - x)
                t = _SPLIT * y
                yh = t - (t - y)
                e = ((xh * yh - p) + xh * (y - yh) + (x - xh) * yh) + (x - xh) * (y - yh)
                if turn < 2:
                    e += x * yl + xl * y
                    s = p + e
                    e -= s - p
                    if turn == 0:
                        z, zl = (k + 1.0, 0.0) if step > 0 else (s, e)
                        if step > 0:
                            y, yl = s, e
                        else:
                            y, yl = k + 1.0, 0.0
                        x, xl = high, low
                    else:
                        high, low = s, e
                        x, y = high / z, z
                else:
                    rest = (((high - p) - e) + low - x * zl) / z
                    high = x + rest
                    low = rest - (high - x)
            if high >= _TINY:
                terms[(k + 1 if step > 0 else k) - first] = high
            k += step
