"""Terms of a law from the ratio of neighbours, in numbers of twice the digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.kernels.jit import jitted

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["walk"]

_SPLIT = 134217729.0  # 2**27 + 1: halves of 26 digits, whose products are exact
_TINY = 1e-307  # relative to the start; below it the second half would be denormal


@jitted(inline="always")
def _product(a: float, b: float) -> Any:
    """a·b exactly, as the rounded product and its error (Dekker 1971)."""
    p = a * b
    t = _SPLIT * a
    ah = t - (t - a)
    al = a - ah
    t = _SPLIT * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@jitted(inline="always")
def _times(ah: float, al: float, bh: float, bl: float) -> Any:
    p, e = _product(ah, bh)
    e += ah * bl + al * bh
    s = p + e
    return s, e - (s - p)


@jitted(inline="always")
def _over(ah: float, al: float, bh: float, bl: float) -> Any:
    q = ah / bh
    p, e = _product(q, bh)
    rest = (((ah - p) - e) + al - q * bl) / bh
    s = q + rest
    return s, rest - (s - q)


@jitted(inline="always")
def _factor(ratio: float, ratio_low: float, shape: float, slope: float, k: float) -> Any:
    """ratio · (shape + slope·k)."""
    b = slope * k
    s = shape + b
    t = s - shape
    e = (shape - (s - t)) + (b - t)
    return _times(ratio, ratio_low, s, e)


@jitted
def walk(
    first: int, last: int, start: int, ratio: float, ratio_low: float, shape: float, slope: float
) -> npt.NDArray[np.float64]:
    """Terms first..last of f(k+1) = f(k)·ratio·(shape + slope·k)/(k+1), where f(start) = 1.

    The start is to be the largest; every term is correct to the last digit but one, and those
    below 1e-307 are 0. ``ratio_low`` is what ``ratio`` lacks to the true one; slope is -1, 0 or 1.
    """
    terms = np.zeros(last - first + 1)
    terms[start - first] = 1.0
    high, low = 1.0, 0.0
    for k in range(start, last):
        up, rest = _factor(ratio, ratio_low, shape, slope, float(k))
        high, low = _times(high, low, up, rest)
        high, low = _over(high, low, k + 1.0, 0.0)
        if high < _TINY:
            break
        terms[k + 1 - first] = high
    high, low = 1.0, 0.0
    for k in range(start - 1, first - 1, -1):
        down, rest = _factor(ratio, ratio_low, shape, slope, float(k))
        high, low = _times(high, low, k + 1.0, 0.0)
        high, low = _over(high, low, down, rest)
        if high < _TINY:
            break
        terms[k - first] = high
    return terms
