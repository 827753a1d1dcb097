"""Along which axes an equation rises or falls within a box: enclosures that know the direction.

A :class:`Trend` joins an enclosure with two sets of axes, as bits: along which the value never
falls (``up``) and never rises (``down``), whatever stands on the other axes. An axis in both does
not change the value. Steps are followed as slopes are: floors, ceilings and cases as well as smooth
terms, and, rounding to nearest turning no order round, what is said holds of floats to the last
bit. (The library's ``exp``, ``log`` and ``pow`` are taken to be as monotone as the functions they
compute, which they are up to their last bits.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from symbolic.intervals import Decision, Interval, algebra, number

__all__ = ["EVERY", "Trend", "trend_number", "trends"]

#: Every axis, and none.
EVERY, NONE = np.uint64(2**64 - 1), np.uint64(0)


class Trend(NamedTuple):
    """An enclosure of a number or condition (false before true), and how it goes along the axes."""

    range: Any
    up: Any
    down: Any


def trend_number(value: Any) -> Trend:
    """A literal, the same along every axis."""
    return Trend(number(value), EVERY, EVERY)


def _idle(*args: Trend) -> Any:
    found = EVERY
    for arg in args:
        found = found & arg.up & arg.down
    return found


def _finish(found: Any, up: Any, down: Any, args: tuple[Trend, ...]) -> Trend:
    """Nothing varies where the enclosure is one value; nothing is known where it may be NaN."""
    if isinstance(found, Decision):
        same = np.logical_or(found.certain, np.logical_not(found.possible))
    else:
        same = found.lo == found.hi
    flags = [found, *(arg.range for arg in args)]
    unknown: Any = False
    for flag in flags:
        if isinstance(flag, Interval) and flag.undefined is not False:
            unknown = np.logical_or(unknown, flag.undefined)
    up, down = np.where(same, EVERY, up), np.where(same, EVERY, down)
    if unknown is not False:
        idle = _idle(*args)
        up, down = np.where(unknown, idle, up), np.where(unknown, idle, down)
    return Trend(found, up, down)


def _signed(a: Trend, factor: Interval) -> tuple[Any, Any]:
    """How a goes once multiplied by what has the sign of a factor."""
    low, high = factor.lo >= 0, factor.hi <= 0
    if np.all(low):
        return a.up, a.down
    idle = a.up & a.down
    up = np.where(low, a.up, np.where(high, a.down, idle))
    return up, np.where(low, a.down, np.where(high, a.up, idle))


def _mul(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    (a_up, a_down), (b_up, b_down) = _signed(a, b.range), _signed(b, a.range)
    return a_up & b_up, a_down & b_down


def _quotient(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    (a_up, a_down), (b_up, b_down) = _signed(a, b.range), _signed(b, a.range)
    return a_up & b_down, a_down & b_up


def _div(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    up, down = _quotient(found, a, b)
    apart = (b.range.lo > 0) | (b.range.hi < 0)
    if np.all(apart):
        return up, down
    idle = _idle(a, b)
    return np.where(apart, up, idle), np.where(apart, down, idle)


def _divide(found: Any, a: Trend, b: Trend, z: Trend) -> tuple[Any, Any]:
    up, down = _quotient(found, a, b)
    apart = (b.range.lo > 0) | (b.range.hi < 0)
    if np.all(apart):
        return up, down
    # the quotient grows as the divisor falls to zero, where it is infinite
    falls_from = (b.range.lo >= 0) & (a.range.lo >= 0) & (z.range.lo == math.inf)
    idle = _idle(a, b, z)
    up = np.where(apart, up, np.where(falls_from, up & z.up, idle))
    return up, np.where(apart, down, np.where(falls_from, down & z.down, idle))


def _with(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    return a.up & b.up, a.down & b.down


def _against(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    return a.up & b.down, a.down & b.up


def _less(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    return a.down & b.up, a.up & b.down


def _equal(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    idle = _idle(a, b)
    return idle, idle


def _chosen(first: Any, second: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    """As a where the first holds, as b where the second does, as both where neither."""
    up = np.where(first, a.up, np.where(second, b.up, a.up & b.up))
    return up, np.where(first, a.down, np.where(second, b.down, a.down & b.down))


def _minimum(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    return _chosen(a.range.hi <= b.range.lo, b.range.hi <= a.range.lo, a, b)


def _maximum(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    return _chosen(b.range.hi <= a.range.lo, a.range.hi <= b.range.lo, a, b)


def _same(found: Any, a: Trend) -> tuple[Any, Any]:
    return a.up, a.down


def _negate(found: Any, a: Trend) -> tuple[Any, Any]:
    return a.down, a.up


def _absolute(found: Any, a: Trend) -> tuple[Any, Any]:
    return _signed(a, a.range)


def _pow(found: Any, a: Trend, b: Trend) -> tuple[Any, Any]:
    above_one = Interval(a.range.lo - 1, a.range.hi - 1)
    (a_up, a_down), (b_up, b_down) = _signed(a, b.range), _signed(b, above_one)
    idle, known = _idle(a, b), a.range.lo >= 0
    return np.where(known, a_up & b_up, idle), np.where(known, a_down & b_down, idle)


def _where(c: Trend, a: Trend, b: Trend) -> Trend:
    found = algebra(outward=False)["where"](c.range, a.range, b.range)
    if isinstance(found, Decision):
        idle = _idle(c, a, b)
        return _finish(found, idle, idle, ())
    still = c.up & c.down
    rises = np.where(b.range.hi <= a.range.lo, EVERY, NONE)  # when the condition comes to hold
    falls = np.where(a.range.hi <= b.range.lo, EVERY, NONE)
    up = a.up & b.up & (still | (rises & c.up) | (falls & c.down))
    down = a.down & b.down & (still | (rises & c.down) | (falls & c.up))
    yes, no = c.range.certain, np.logical_not(c.range.possible)
    up = np.where(yes, a.up, np.where(no, b.up, up))
    down = np.where(yes, a.down, np.where(no, b.down, down))
    same = found.lo == found.hi
    up, down = np.where(same, EVERY, up), np.where(same, EVERY, down)
    if found.undefined is not False:
        idle = _idle(c, a, b)
        up = np.where(found.undefined, idle, up)
        down = np.where(found.undefined, idle, down)
    return Trend(found, up, down)


_RULES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "add": _with,
    "sub": _against,
    "mul": _mul,
    "div": _div,
    "divide": _divide,
    "less": _less,
    "less_equal": _less,
    "equal": _equal,
    "both": _with,
    "either": _with,
    "negate": _negate,
    "minimum": _minimum,
    "maximum": _maximum,
    "floor": _same,
    "ceil": _same,
    "absolute": _absolute,
    "exp": _same,
    "log": _same,
    "log2": _same,
    "log10": _same,
    "sqrt": _same,
    "pow": _pow,
}


def _traced(
    enclose: Callable[..., Any], rule: Callable[..., tuple[Any, Any]]
) -> Callable[..., Trend]:
    def traced(*args: Trend) -> Trend:
        found = enclose(*(arg.range for arg in args))
        return _finish(found, *rule(found, *args), args)

    return traced


@lru_cache(maxsize=2)
def trends(outward: bool = False) -> Mapping[str, Callable[..., Trend]]:
    """The primitives over trends, for :func:`symbolic.ops.interpret_all`; as floats compute.

    ``outward``: the enclosures hold the values in real numbers, too.
    """
    enclosed = algebra(outward)
    table = {name: _traced(enclosed[name], rule) for name, rule in _RULES.items()}
    return MappingProxyType({**table, "where": _where})
