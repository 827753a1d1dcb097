"""Enclosures: between which two numbers an equation lies over a whole box of the design space.

The fifth world of the equations. An :class:`Interval` holds arrays of lower and upper ends, one
pair a box, so that thousands of boxes are enclosed at once; a comparison gives a
:class:`Decision`, which is certain, impossible or open in each box. ``undefined`` tells where the
result may be NaN, which lies between no two numbers.

Two roundings. *Outward*: the enclosure holds the value in real numbers, and every value that floats
compute; each end is the nearest float that does, so that what is exact stays exact. *To nearest*:
the enclosure holds what floats compute, with no ulp to spare, because rounding to nearest never
turns an order round; so a box in which nothing varies has one value, and it is the one that a scan
of its points would find. The library's functions (``exp``, ``log``, ``pow`` ...) promise no
order and are widened by a few ulp, but for the value at a point when rounding to nearest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from symbolic._rounding import NEAREST, OUTWARD, Rounding
from symbolic.ops import Node, array_power, interpret_all

__all__ = ["Decision", "Interval", "algebra", "enclose", "number"]

#: How far a library function may be off, and more than its two sides may differ.
ULPS = 4


class Interval(NamedTuple):
    """The ends of what a number may be, and where it may be NaN (False: nowhere)."""

    lo: Any
    hi: Any
    undefined: Any = False


class Decision(NamedTuple):
    """Where a condition may hold, and where it is certain to."""

    possible: Any
    certain: Any


def number(value: Any) -> Interval | Decision:
    """A literal as an enclosure."""
    if isinstance(value, (bool, np.bool_)):
        return Decision(bool(value), bool(value))
    ends = np.float64(value)
    return Interval(math.inf, -math.inf, True) if math.isnan(ends) else Interval(ends, ends)


def enclose(
    roots: Iterable[Node], boxes: Mapping[str, Interval], *, outward: bool = True
) -> list[Interval | Decision]:
    """The enclosures of traced equations over boxes, given as the ends of each quantity.

    >>> from symbolic.ops import minimum, reference
    >>> x, y = reference("x"), reference("y")
    >>> boxes = {"x": Interval(np.array([1.0]), np.array([2.0])), "y": Interval(-1.0, 4.0)}
    >>> (found, less) = enclose([minimum(x * y, 3), x < y], boxes)
    >>> found.lo.tolist(), found.hi.tolist(), found.undefined
    ([-2.0], [3.0], False)
    >>> less.possible.tolist(), less.certain.tolist()
    ([True], [False])
    """
    with np.errstate(all="ignore"):
        return interpret_all(roots, boxes, algebra(outward), number)


# --- where something may be undefined
def _or(*flags: Any) -> Any:
    found: Any = False
    for flag in flags:
        if flag is not False:
            found = flag if found is False else np.logical_or(found, flag)
    return found


def _if_any(flag: Any) -> Any:
    return flag if np.any(flag) else False


def _holds_zero(a: Interval) -> Any:
    return (a.lo <= 0) & (a.hi >= 0)


def _infinite(a: Interval) -> Any:
    return np.isinf(a.lo) | np.isinf(a.hi)


def _finite(*ends: Any) -> bool:
    return all(np.all(np.isfinite(end)) for end in ends)


def _known(value: Any) -> Any:
    """A corner that is no number, of zero times infinity and the like, as zero.

    Where one end makes a corner NaN, the values near it reach what the other corners reach.
    """
    return np.where(np.isnan(value), 0.0, value)


# --- arithmetic
def _add(a: Interval, b: Interval, to: Rounding) -> Interval:
    lo, hi = to.add_low(a.lo, b.lo), to.add_high(a.hi, b.hi)
    undefined = _or(a.undefined, b.undefined)
    if not _finite(lo, hi):
        opposed = ((a.hi == math.inf) & (b.lo == -math.inf)) | (
            (a.lo == -math.inf) & (b.hi == math.inf)
        )
        undefined = _or(undefined, _if_any(opposed))
        lo = np.where(np.isnan(lo), -math.inf, lo)
        hi = np.where(np.isnan(hi), math.inf, hi)
    return Interval(lo, hi, undefined)


def _sub(a: Interval, b: Interval, to: Rounding) -> Interval:
    return _add(a, Interval(-b.hi, -b.lo, b.undefined), to)


def _mul(a: Interval, b: Interval, to: Rounding) -> Interval:
    undefined = _or(a.undefined, b.undefined)
    if np.all(a.lo >= 0) and np.all(b.lo >= 0):
        lo, hi = to.mul_low(a.lo, b.lo), to.mul_high(a.hi, b.hi)
        if _finite(lo, hi):
            return Interval(lo, hi, undefined)
    pairs = [(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lows = [to.mul_low(x, y) for x, y in pairs]
    highs = lows if to is NEAREST else [to.mul_high(x, y) for x, y in pairs]
    if not _finite(*lows, *highs):
        lows, highs = [_known(low) for low in lows], [_known(high) for high in highs]
        clash = (_holds_zero(a) & _infinite(b)) | (_infinite(a) & _holds_zero(b))
        undefined = _or(undefined, _if_any(clash))
    return Interval(_least(lows), _most(highs), undefined)


def _least(values: list[Any]) -> Any:
    return np.minimum(np.minimum(values[0], values[1]), np.minimum(values[2], values[3]))


def _most(values: list[Any]) -> Any:
    return np.maximum(np.maximum(values[0], values[1]), np.maximum(values[2], values[3]))


def _quotient(a: Interval, b: Interval, to: Rounding) -> Interval:
    """a / b where b does not hold zero; anything where it does."""
    undefined = _or(a.undefined, b.undefined)
    if np.all(a.lo >= 0) and np.all(b.lo > 0):
        lo, hi = to.div_low(a.lo, b.hi), to.div_high(a.hi, b.lo)
        if _finite(lo, hi):
            return Interval(lo, hi, undefined)
    pairs = [(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lows = [to.div_low(x, y) for x, y in pairs]
    highs = lows if to is NEAREST else [to.div_high(x, y) for x, y in pairs]
    if not _finite(*lows, *highs):
        lows, highs = [_known(low) for low in lows], [_known(high) for high in highs]
        undefined = _or(undefined, _if_any(_infinite(a) & _infinite(b)))
    return Interval(_least(lows), _most(highs), undefined)


def _div(a: Interval, b: Interval, to: Rounding) -> Interval:
    found = _quotient(a, b, to)
    zero = _holds_zero(b)
    if not np.any(zero):
        return found
    lo, hi = np.where(zero, -math.inf, found.lo), np.where(zero, math.inf, found.hi)
    return Interval(lo, hi, _or(found.undefined, _if_any(zero & _holds_zero(a))))


def _divide(a: Interval, b: Interval, z: Interval, to: Rounding) -> Interval:
    """The hull of a / b where b is not zero, and of ``at_zero`` where b may be."""
    found = _quotient(a, b, to)
    zero = _holds_zero(b)
    if not np.any(zero):
        return found
    lo, hi = found.lo, found.hi
    rising, falling = zero & (b.lo >= 0), zero & (b.hi <= 0)  # b next to zero on one side only
    for side, x_lo, x_hi, far in ((rising, a.lo, a.hi, b.hi), (falling, -a.hi, -a.lo, -b.lo)):
        if np.any(side):
            low = np.where(x_lo >= 0, _known(to.div_low(x_lo, far)), -math.inf)
            high = np.where(x_hi <= 0, _known(to.div_high(x_hi, far)), math.inf)
            lo, hi = np.where(side, low, lo), np.where(side, high, hi)
    both = zero & (b.lo < 0) & (b.hi > 0)
    nothing = (a.lo == 0) & (a.hi == 0)
    lo = np.where(both, np.where(nothing, 0.0, -math.inf), lo)
    hi = np.where(both, np.where(nothing, 0.0, math.inf), hi)
    only = (b.lo == 0) & (b.hi == 0)
    lo = np.where(zero, np.where(only, z.lo, np.minimum(lo, z.lo)), lo)
    hi = np.where(zero, np.where(only, z.hi, np.maximum(hi, z.hi)), hi)
    undefined = _or(found.undefined, _if_any(np.logical_and(zero, z.undefined)))
    return Interval(lo, hi, undefined)


# --- decisions
def _sure(decided: Any, *args: Interval) -> Any:
    """A comparison is certain only where neither side may be NaN."""
    undefined = _or(*(arg.undefined for arg in args))
    return decided if undefined is False else decided & np.logical_not(undefined)


def _less(a: Interval, b: Interval) -> Decision:
    return Decision(a.lo < b.hi, _sure(a.hi < b.lo, a, b))


def _less_equal(a: Interval, b: Interval) -> Decision:
    return Decision(a.lo <= b.hi, _sure(a.hi <= b.lo, a, b))


def _equal(a: Interval, b: Interval) -> Decision:
    meet = (a.lo <= b.hi) & (b.lo <= a.hi)
    return Decision(meet, _sure((a.lo == b.hi) & (b.lo == a.hi), a, b))


def _both(a: Decision, b: Decision) -> Decision:
    return Decision(np.logical_and(a.possible, b.possible), np.logical_and(a.certain, b.certain))


def _either(a: Decision, b: Decision) -> Decision:
    return Decision(np.logical_or(a.possible, b.possible), np.logical_or(a.certain, b.certain))


def _negate(a: Decision) -> Decision:
    return Decision(np.logical_not(a.certain), np.logical_not(a.possible))


def _where(c: Decision, a: Any, b: Any) -> Any:
    if isinstance(a, Decision):
        return _either(_both(c, a), _both(_negate(c), b))
    lo = np.where(c.certain, a.lo, np.where(c.possible, np.minimum(a.lo, b.lo), b.lo))
    hi = np.where(c.certain, a.hi, np.where(c.possible, np.maximum(a.hi, b.hi), b.hi))
    if a.undefined is False and b.undefined is False:
        return Interval(lo, hi)
    first = np.logical_and(c.possible, a.undefined)
    second = np.logical_and(np.logical_not(c.certain), b.undefined)
    return Interval(lo, hi, _if_any(np.logical_or(first, second)))


def _minimum(a: Interval, b: Interval) -> Interval:
    hi = np.minimum(a.hi, b.hi)  # NaN for a gives b, NaN for b gives NaN
    hi = hi if a.undefined is False else np.where(a.undefined, b.hi, hi)
    return Interval(np.minimum(a.lo, b.lo), hi, b.undefined)


def _maximum(a: Interval, b: Interval) -> Interval:
    lo = np.maximum(a.lo, b.lo)
    lo = lo if a.undefined is False else np.where(a.undefined, b.lo, lo)
    return Interval(lo, np.maximum(a.hi, b.hi), b.undefined)


# --- functions of one number
def _floor(a: Interval) -> Interval:
    return Interval(np.floor(a.lo), np.floor(a.hi), a.undefined)


def _ceil(a: Interval) -> Interval:
    return Interval(np.ceil(a.lo), np.ceil(a.hi), a.undefined)


def _absolute(a: Interval) -> Interval:
    low, high = np.abs(a.lo), np.abs(a.hi)
    lo = np.where(_holds_zero(a), 0.0, np.minimum(low, high))
    return Interval(lo, np.maximum(low, high), a.undefined)


def _sqrt(a: Interval, to: Rounding) -> Interval:
    lo, hi = to.sqrt_low(np.maximum(a.lo, 0.0)), to.sqrt_high(np.maximum(a.hi, 0.0))
    return Interval(lo, hi, _or(a.undefined, _if_any(a.lo < 0)))


def _widened(low: Any, high: Any, point: Any, to: Rounding) -> tuple[Any, Any]:
    """A library function's values at the ends, some ulp further apart; infinite ones included."""
    lo, hi = low, high
    for _ in range(ULPS):
        lo, hi = np.nextafter(lo, -math.inf), np.nextafter(hi, math.inf)
    if to is NEAREST:
        lo, hi = np.where(point, low, lo), np.where(point, high, hi)
    return lo, hi


def _exp(a: Interval, to: Rounding) -> Interval:
    lo, hi = _widened(np.exp(a.lo), np.exp(a.hi), a.lo == a.hi, to)
    return Interval(np.maximum(lo, 0.0), hi, a.undefined)


def _logarithm(function: Callable[[Any], Any]) -> Callable[[Interval, Rounding], Interval]:
    def log(a: Interval, to: Rounding) -> Interval:
        low, high = np.maximum(a.lo, 0.0), np.maximum(a.hi, 0.0)
        lo, hi = _widened(function(low), function(high), a.lo == a.hi, to)
        return Interval(lo, hi, _or(a.undefined, _if_any(a.lo < 0)))

    return log


def _pow(a: Interval, b: Interval, to: Rounding) -> Interval:
    """The corners, for bases above zero; for others anything."""
    corners = [
        array_power(x, y)
        for x in (np.maximum(a.lo, 0.0), np.maximum(a.hi, 0.0))
        for y in (b.lo, b.hi)
    ]
    point = (a.lo == a.hi) & (b.lo == b.hi)
    lo, hi = _widened(_least(corners), _most(corners), point, to)
    lo = np.maximum(lo, 0.0)
    undefined = _or(a.undefined, b.undefined)
    open_ended = (a.lo < 0) | ((a.lo == 0) & (b.lo < 0))  # minus zero gives minus infinity
    if np.any(open_ended):
        lo, hi = np.where(open_ended, -math.inf, lo), np.where(open_ended, math.inf, hi)
        whole = (b.lo == b.hi) & (np.floor(b.lo) == b.lo)
        undefined = _or(undefined, _if_any((a.lo < 0) & ~whole))
    return Interval(lo, hi, undefined)


def _rounded(function: Callable[..., Any], to: Rounding) -> Callable[..., Any]:
    def rounded(*args: Any) -> Any:
        return function(*args, to)

    return rounded


@lru_cache(maxsize=2)
def algebra(outward: bool = True) -> Mapping[str, Callable[..., Any]]:
    """The primitives over enclosures, for :func:`symbolic.ops.interpret_all`."""
    to = OUTWARD if outward else NEAREST
    rounding: dict[str, Callable[..., Any]] = {
        "add": _add,
        "sub": _sub,
        "mul": _mul,
        "div": _div,
        "divide": _divide,
        "exp": _exp,
        "log": _logarithm(np.log),
        "log2": _logarithm(np.log2),
        "log10": _logarithm(np.log10),
        "sqrt": _sqrt,
        "pow": _pow,
    }
    return MappingProxyType(
        {
            **{name: _rounded(function, to) for name, function in rounding.items()},
            "less": _less,
            "less_equal": _less_equal,
            "equal": _equal,
            "both": _both,
            "either": _either,
            "negate": _negate,
            "where": _where,
            "minimum": _minimum,
            "maximum": _maximum,
            "floor": _floor,
            "ceil": _ceil,
            "absolute": _absolute,
        }
    )
