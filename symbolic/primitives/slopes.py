"""What slopes are made of; each is an enclosure, or None where nothing varies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symbolic.primitives import products
from symbolic.primitives.enclosures import Decision, Interval
from symbolic.primitives.words import any_of, outward, retold

__all__ = [
    "Slope",
    "above_zero",
    "chosen",
    "jumps",
    "minus",
    "over",
    "pick",
    "plus",
    "quotient",
    "times",
]

Slope = Interval | None

_NONE = Interval(0.0, 0.0)
_OUTWARD = outward()
_ADD, _MUL, _DIV = (retold(rule, _OUTWARD) for rule in (products.add, products.mul, products.div))


def _sure(rule: Callable[..., Any], a: Interval, b: Interval) -> Interval:
    """By a rule for enclosures; anything, where it is not known."""
    lo, hi, undefined = rule(*a, *b)
    lost = np.isnan(lo) | np.isnan(hi) | undefined
    return Interval(np.where(lost, -math.inf, lo), np.where(lost, math.inf, hi))


def _unless(sure: Any, found: Interval) -> Interval:
    """Anything, where that is not sure."""
    return Interval(np.where(sure, found.lo, -math.inf), np.where(sure, found.hi, math.inf))


def pick(first: Any, second: Any, a: Slope, b: Slope) -> Interval:
    """As a where the first holds, as b where the second does, as either where neither."""
    one, other = a or _NONE, b or _NONE
    low, high = np.minimum(one.lo, other.lo), np.maximum(one.hi, other.hi)
    lo = np.where(first, one.lo, np.where(second, other.lo, low))
    return Interval(lo, np.where(first, one.hi, np.where(second, other.hi, high)))


def times(value: Interval, slope: Slope) -> Slope:
    """A slope times a value."""
    return None if slope is None else _sure(_MUL, value, slope)


def plus(a: Slope, b: Slope) -> Slope:
    """The sum of two."""
    if a is None or b is None:
        return b if a is None else a
    return _sure(_ADD, a, b)


def minus(slope: Slope) -> Slope:
    """What falls where that rises."""
    return None if slope is None else Interval(-slope.hi, -slope.lo)


def over(slope: Slope, value: Interval) -> Slope:
    """A slope by a value, where that is not zero."""
    if slope is None:
        return None
    return _unless((value.lo > 0) | (value.hi < 0), _sure(_DIV, slope, value))


def above_zero(slope: Slope, value: Interval) -> Slope:
    """A slope, where a value is above zero."""
    return None if slope is None else _unless(value.lo > 0, slope)


def quotient(own: Interval, a: Interval, b: Interval, da: Slope, db: Slope) -> Slope:
    """Of a / b, where b is not zero."""
    return over(plus(da, minus(times(own, db))), b)


def jumps(own: Interval, a: Interval, da: Slope) -> Slope:
    """Anything, where a varies."""
    return None if da is None else Interval(-math.inf, math.inf)


def chosen(
    own: Interval, c: Decision, a: Interval, b: Interval, still: Any, da: Slope, db: Slope
) -> Slope:
    """Of a choice: where it is open and may change along the axis, it may jump."""
    yes, no = c.certain, np.logical_not(c.possible)
    return _unless(any_of(any_of(yes, no), still), pick(yes, no, da, db))
