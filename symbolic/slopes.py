"""How steep an equation is along an axis within a box: enclosures of its difference quotients.

The quotient (f(x) - f(y)) / (x - y) of any two places of a box that differ along one axis alone
lies between two numbers. They follow from the enclosures of every step, and from how the steps go
along the axis (:mod:`symbolic.monotone`): what never falls has no negative quotient, even where it
jumps. So a value is enclosed to second order: it lies off that at the middle by at most the
quotients times the distance. All is rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symbolic.intervals import Decision, Interval, algebra
from symbolic.monotone import Trend
from symbolic.ops import Node

__all__ = ["slopes"]

_TO = algebra(outward=True)
_ANY = Interval(-math.inf, math.inf)
_NONE = Interval(0.0, 0.0)
_LOG = {"log": 1.0, "log2": math.log(2), "log10": math.log(10)}

Slope = Interval | None


def _sure(found: Interval) -> Interval:
    """Anything, where it is not known."""
    lost = np.isnan(found.lo) | np.isnan(found.hi) | found.undefined
    return Interval(np.where(lost, -math.inf, found.lo), np.where(lost, math.inf, found.hi))


def _some(slope: Slope) -> Interval:
    return _NONE if slope is None else slope


def _hull(a: Slope, b: Slope) -> Interval:
    one, other = _some(a), _some(b)
    return Interval(np.minimum(one.lo, other.lo), np.maximum(one.hi, other.hi))


def _pick(first: Any, second: Any, a: Slope, b: Slope) -> Interval:
    """As a where the first holds, as b where the second does, as either where neither."""
    one, other, both = _some(a), _some(b), _hull(a, b)
    lo = np.where(first, one.lo, np.where(second, other.lo, both.lo))
    return Interval(lo, np.where(first, one.hi, np.where(second, other.hi, both.hi)))


def _times(value: Interval, slope: Slope) -> Slope:
    return None if slope is None else _sure(_TO["mul"](value, slope))


def _plus(a: Slope, b: Slope) -> Slope:
    if a is None or b is None:
        return b if a is None else a
    return _sure(_TO["add"](a, b))


def _over(slope: Slope, value: Interval) -> Slope:
    """A slope by a value, where that is not zero."""
    if slope is None:
        return None
    apart = (value.lo > 0) | (value.hi < 0)
    found = _sure(_TO["div"](slope, value))
    return Interval(np.where(apart, found.lo, -math.inf), np.where(apart, found.hi, math.inf))


def _minus(slope: Slope) -> Slope:
    return None if slope is None else Interval(-slope.hi, -slope.lo)


def _quotient(own: Interval, a: Interval, b: Interval, da: Slope, db: Slope) -> Slope:
    return _over(_plus(da, _minus(_times(own, db))), b)


def _power(own: Interval, a: Interval, b: Interval, da: Slope, db: Slope) -> Slope:
    rate = _plus(_times(_TO["log"](a), db), _times(b, _over(da, a)))
    if rate is None:
        return None
    found = _some(_times(own, rate))
    return Interval(np.where(a.lo > 0, found.lo, -math.inf), np.where(a.lo > 0, found.hi, math.inf))


def _absolute(a: Interval, da: Slope) -> Slope:
    return None if da is None else _pick(a.lo >= 0, a.hi <= 0, da, _minus(da))


_UNARY: dict[str, Callable[[Interval, Interval, Slope], Slope]] = {
    "floor": lambda own, a, da: None if da is None else _ANY,
    "ceil": lambda own, a, da: None if da is None else _ANY,
    "absolute": lambda own, a, da: _absolute(a, da),
    "exp": lambda own, a, da: _times(own, da),
    "sqrt": lambda own, a, da: _over(da, _TO["mul"](Interval(2.0, 2.0), own)),
}
_BINARY: dict[str, Callable[..., Slope]] = {
    "add": lambda own, a, b, da, db: _plus(da, db),
    "sub": lambda own, a, b, da, db: _plus(da, _minus(db)),
    "mul": lambda own, a, b, da, db: _plus(_times(a, db), _times(b, da)),
    "div": _quotient,
    "pow": _power,
    "minimum": lambda own, a, b, da, db: _pick(a.hi <= b.lo, b.hi <= a.lo, da, db),
    "maximum": lambda own, a, b, da, db: _pick(b.hi <= a.lo, a.hi <= b.lo, da, db),
}


def _logarithm(base: float, a: Interval, da: Slope) -> Slope:
    """The natural logarithm's, by that of the base, which is known to half an ulp."""
    rate = _over(da, a)
    if rate is None or base == 1.0:
        return rate
    return _over(rate, Interval(np.nextafter(base, 0.0), np.nextafter(base, math.inf)))


def _chosen(c: Trend, still: Any, da: Slope, db: Slope) -> Interval:
    """Of a choice: where it is open and may change along the axis, it may jump."""
    yes, no = c.range.certain, np.logical_not(c.range.possible)
    found = _pick(yes, no, da, db)
    sure = np.logical_or(np.logical_or(yes, no), still)
    return Interval(np.where(sure, found.lo, -math.inf), np.where(sure, found.hi, math.inf))


def _of(node: Node, known: Mapping[int, Trend], found: Mapping[int, Slope], bit: Any) -> Slope:
    args = [known[id(arg)] for arg in node.args]
    rates = [found.get(id(arg)) for arg in node.args]
    own = known[id(node)].range
    ranges = [arg.range for arg in args]
    if node.op == "where":
        return _chosen(args[0], (args[0].up & args[0].down & bit) != 0, rates[1], rates[2])
    if node.op in _LOG:
        return _logarithm(_LOG[node.op], ranges[0], rates[0])
    if node.op in _UNARY:
        return _UNARY[node.op](own, ranges[0], rates[0])
    if node.op == "divide":  # where the divisor may be zero, anything
        return _quotient(own, ranges[0], ranges[1], rates[0], rates[1])
    return _BINARY[node.op](own, *ranges, *rates)


def slopes(
    steps: Sequence[Node], known: Mapping[int, Trend], name: str, bit: Any
) -> dict[int, Slope]:
    """The difference quotients along one axis of every step that depends on it.

    Parameters
    ----------
    steps : sequence of Node
        In an order in which each follows what it reads.
    known : mapping of int to Trend
        Every step over the boxes, by ``id``, rounded outward.
    name : str
        The quantity that varies along the axis.
    bit : int
        The axis in the trends.
    """
    found: dict[int, Slope] = {}
    varied: set[int] = set()
    for node in steps:
        if node.op == "reference":
            if node.args[0] == name:
                found[id(node)] = Interval(1.0, 1.0)
                varied.add(id(node))
            continue
        if not any(id(arg) in varied for arg in node.args):
            continue
        varied.add(id(node))
        trend = known[id(node)]
        slope = None if isinstance(trend.range, Decision) else _of(node, known, found, bit)
        if slope is None:
            continue
        up, down = (trend.up & bit) != 0, (trend.down & bit) != 0
        lo = np.where(up, np.maximum(slope.lo, 0.0), slope.lo)
        hi = np.where(down, np.minimum(slope.hi, 0.0), slope.hi)
        lo, hi = np.where(down & up, 0.0, lo), np.where(down & up, 0.0, hi)
        lost = trend.range.undefined
        found[id(node)] = Interval(np.where(lost, -math.inf, lo), np.where(lost, math.inf, hi))
    return found
