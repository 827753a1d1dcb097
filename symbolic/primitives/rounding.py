"""Rounding in a direction, by the error that a float operation makes, which is itself a float.

Knuth's sum and Dekker's product give the error exactly (unless it leaves the range of floats, where
the result is moved by one float in any case); its sign says on which side of the rounded result the
true one lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_SPLIT = 2.0**27 + 1.0
#: Magnitudes within which the error of a product is itself a float.
_SMALL, _LARGE = 2.0**-900, 2.0**990

Binary = Callable[[Any, Any], Any]


def _moved(value: Any, error: Any, exact: Any, towards: float) -> Any:
    """The value, moved by one float where the true one may lie further on that side."""
    beyond = error * towards > 0
    return np.where(~exact & (beyond | np.isnan(error)), np.nextafter(value, towards), value)


def _sum(towards: float) -> Binary:
    def add(a: Any, b: Any) -> Any:
        value = a + b
        part = value - a
        error = (a - (value - part)) + (b - part)
        error = np.where(np.isfinite(error), error, math.nan)
        return _moved(value, error, np.isinf(a) | np.isinf(b), towards)

    return add


def _halves(a: Any) -> tuple[Any, Any]:
    large = _SPLIT * a
    high = large - (large - a)
    return high, a - high


def _product_error(a: Any, b: Any, value: Any) -> Any:
    """a b - value, exactly; NaN where that is no float."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = ((a_high * b_high - value) + a_high * b_low + a_low * b_high) + a_low * b_low
    size = np.abs(value)
    safe = (size > _SMALL) & (size < _LARGE) & (np.abs(a) < _LARGE) & (np.abs(b) < _LARGE)
    return np.where(safe, error, math.nan)


def _product(towards: float) -> Binary:
    def mul(a: Any, b: Any) -> Any:
        value = a * b
        exact = np.isinf(a) | np.isinf(b) | (a == 0) | (b == 0)
        return _moved(value, _product_error(a, b, value), exact, towards)

    return mul


def _quotient(towards: float) -> Binary:
    def div(a: Any, b: Any) -> Any:
        value = a / b
        back = value * b
        error = ((a - back) - _product_error(value, b, back)) * np.sign(b)
        exact = np.isinf(a) | np.isinf(b) | (a == 0) | (b == 0)
        return _moved(value, error, exact, towards)

    return div


def _root(towards: float) -> Callable[[Any], Any]:
    def sqrt(a: Any) -> Any:
        value = np.sqrt(a)
        back = value * value
        error = (a - back) - _product_error(value, value, back)
        return _moved(value, error, np.isinf(a) | (a == 0), towards)

    return sqrt


_DOWN, _UP = -math.inf, math.inf
#: Each operation rounded for a lower and for an upper end.
OUTWARD: dict[str, Callable[..., Any]] = {
    "add_low": _sum(_DOWN),
    "add_high": _sum(_UP),
    "mul_low": _product(_DOWN),
    "mul_high": _product(_UP),
    "div_low": _quotient(_DOWN),
    "div_high": _quotient(_UP),
    "sqrt_low": _root(_DOWN),
    "sqrt_high": _root(_UP),
}
