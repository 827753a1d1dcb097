"""Exponentials, logarithms and powers that give the same bits for floats, arrays and loop nests.

NumPy's vectorized functions may differ by an ulp from the C library, which Python floats and loop
nests call. A point could then meet a condition in one backend and break it in another. The array
functions here give the values of the C library. The natural logarithm is a series, because the loop
nests vectorize it (:func:`sweeps.nest.intrinsics.log`); floats and arrays execute the same steps in
the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes

Floats = NDArray[np.float64]
Function = Callable[..., Any]

#: ln 2 as the sum of two parts; the product of the first part and an exponent is exact.
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
#: The bits of the double 1.0, those of sqrt(1/2), and the mask of a double's fraction bits.
ONE, ROOT, FRACTION = 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 0x000FFFFFFFFFFFFF
#: The smallest normal float, and a factor that turns every subnormal float into a normal float.
SMALLEST_NORMAL, SUBNORMAL_SCALE = 2.0**-1022, 2.0**54
_ROOT_OF_HALF = float(np.int64(ROOT).view(np.float64))

#: Number of values on which :func:`_call_reversed` is tested. This is enough, because NumPy's
#: vectorized functions differ from the C library for some 5 % of values.
_TRIAL_SIZE = 512


def _call_each(function: Function) -> Function:
    def array(*args: Floats) -> Floats:
        rows = zip(*(arg.tolist() for arg in args), strict=True)
        return np.fromiter((function(*row) for row in rows), np.float64, args[0].size)

    return array


def _call_reversed(function: Function) -> Function:
    """Return a NumPy function that reverses its arrays, so that NumPy calls the C library."""

    def array(*args: Floats) -> Floats:
        return np.asarray(function(*(arg[::-1] for arg in args))[::-1])

    return array


@cache
def _c_library_function(name: str) -> Function:
    """Return the function of flat arrays that gives the values of the C library.

    NumPy calls the C library for a reversed array, which is ten times as fast as one Python call
    for each value. NumPy does not document this behaviour, so it is tested first.
    """
    scalar, fast = _SCALAR[name], _call_reversed(getattr(np, name))
    slow = _call_each(scalar)
    x = np.linspace(0.1, 97.3, _TRIAL_SIZE)
    args = (x, np.linspace(-7.7, 8.9, _TRIAL_SIZE)) if name == "power" else (x,)
    with np.errstate(all="ignore"):
        return fast if np.array_equal(fast(*args), slow(*args)) else slow


def _elementwise(name: str) -> Function:
    def array(*args: Any) -> Any:
        whole = [np.asarray(arg, dtype=np.float64) for arg in args]
        whole = whole if len(whole) == 1 else list(np.broadcast_arrays(*whole))
        flat = [np.ascontiguousarray(arg).reshape(-1) for arg in whole]
        with np.errstate(all="ignore"):
            result = np.ascontiguousarray(_c_library_function(name)(*flat)).reshape(whole[0].shape)
        return result if result.ndim else result[()]

    array.__name__ = name
    return array


def scalar_exp(a: Any) -> float:
    """Return the exponential of a number; infinity if it is too large."""
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def _scalar_logarithm(function: Function) -> Function:
    def scalar(a: Any) -> float:
        if a > 0:
            return float(function(a))
        return -math.inf if a == 0 else math.nan

    return scalar


def scalar_power(a: Any, b: Any) -> float:
    """Return a power of numbers by the rules of IEEE 754, even where Python raises an error."""
    try:
        return math.pow(a, b)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.power(float(a), float(b)))  # zero, infinite or NaN


scalar_log2, scalar_log10 = _scalar_logarithm(math.log2), _scalar_logarithm(math.log10)

_SCALAR: dict[str, Function] = {
    "exp": scalar_exp,
    "log2": scalar_log2,
    "log10": scalar_log10,
    "power": scalar_power,
}
exp, log2, log10 = _elementwise("exp"), _elementwise("log2"), _elementwise("log10")
power = _elementwise("power")


def _series(f: Any, k: Any) -> Any:
    """Return ln(1 + f) + k ln 2; see :func:`sweeps.nest.intrinsics.log`."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    u = w * w
    low = (2 / 3 + z * (2 / 5)) + w * (2 / 7 + z * (2 / 9))
    high = (2 / 11 + z * (2 / 13)) + w * (2 / 15 + z * (2 / 17))
    r = z * (low + u * (high + u * (2 / 19 + z * (2 / 21))))
    return k * LN2_HIGH + (f - (s * (f - r) - k * LN2_LOW))


def scalar_log(a: Any) -> float:
    """Return the natural logarithm of a number: -inf at 0, NaN below."""
    if not a > 0:
        return -math.inf if a == 0 else math.nan
    try:
        m, k = math.frexp(a)
    except OverflowError:  # an integer larger than every float
        return math.log(a)
    if math.isinf(m):
        return m
    if m < _ROOT_OF_HALF:
        m, k = 2.0 * m, k - 1
    return float(_series(m - 1.0, float(k)))


def log(a: Any) -> Any:
    """Return the natural logarithm of an array: -inf at 0, NaN below."""
    whole = np.asarray(a, dtype=np.float64)
    flat = np.ascontiguousarray(whole).reshape(-1)
    result = np.empty_like(flat)
    with np.errstate(all="ignore"):
        for first in range(0, flat.size, sizes.ELEMENTARY_BLOCK):
            x = flat[first : first + sizes.ELEMENTARY_BLOCK]
            small = x < SMALLEST_NORMAL
            shifted = (x * np.where(small, SUBNORMAL_SCALE, 1.0)).view(np.int64) + (ONE - ROOT)
            k = ((shifted >> 52) - 1023).astype(np.float64) - np.where(small, 54.0, 0.0)
            f = ((shifted & FRACTION) + ROOT).view(np.float64) - 1.0
            value = np.where(x < np.inf, _series(f, k), x)
            special = np.where(x == 0.0, -np.inf, np.nan)
            result[first : first + sizes.ELEMENTARY_BLOCK] = np.where(x > 0.0, value, special)
    return result.reshape(whole.shape) if whole.ndim else result[0]
