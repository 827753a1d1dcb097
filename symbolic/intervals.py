"""Compute interval enclosures of equations over boxes of the design space.

An :class:`Interval` contains arrays of lower and upper ends, one pair for each box, so that
thousands of boxes are enclosed together. A comparison gives a :class:`Decision`, which is certain,
impossible or undecided in each box. ``may_be_nan`` is true where the result may be NaN, because no
interval contains NaN.

There are two ways of rounding. An enclosure rounded *outward* contains the real value and every
value that floats compute. Its ends are the nearest such floats, so exact operations stay exact. An
enclosure rounded *to nearest* contains only the values that floats compute. That suffices, because
rounding to nearest is monotone; for a single point it is the value that a scan computes. Library
functions (``exp``, ``log``, ``pow`` ...) are not guaranteed to be monotone, so their results are
widened by a few ulp. The value at a single point, rounded to nearest, is not widened.

Every rule, here and in the compiled search, treats NaN as follows:

* The ends bound the values that are numbers; ``may_be_nan`` is true where some value may be NaN.
* An operand that is NaN at every point is *empty*: its ends are (inf, -inf) and it may be NaN.
  No other operand has a lower end above its upper end.
* If an operand is empty, a primitive that propagates NaN is empty too. The rules of the other
  primitives handle empty operands themselves: a minimum or maximum is its second argument (empty if
  that argument is empty); a choice with an empty arm is the other arm; a power is 1 or empty
  (NaN to 0 and 1 to NaN are 1); a ``divide`` is the value for the divisor 0 or empty.
* A comparison with an empty operand is impossible; with an operand that may be NaN it is never
  certain. So NaN makes a comparison fail, as for floats.
* An empty value varies along no axis. If a value may be NaN at some points, its direction is
  unknown along every axis along which an operand varies.

Enclosures and directions do not distinguish 0 and -0: a value that changes between them "does not
vary". So the rules of operations that distinguish them (quotients and powers) claim no direction at
0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from symbolic.ops import Node, interpret_all, interpret_arrays, reference, walk
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.rule_operations import (
    ALL_AXES,
    INF,
    choose,
    either_flag,
    flag_or_false,
    is_empty,
    outward_operations,
    rebind_rule,
)
from symbolic.primitives.spec import Primitive


class Interval(NamedTuple):
    """Lower and upper bounds of a number per box, and a mask of the boxes where it may be NaN.

    The bounds are (inf, -inf) in each box in which the number is always NaN.
    """

    lo: Any
    hi: Any
    may_be_nan: Any = False


class Decision(NamedTuple):
    """Two masks of boxes: where a condition may hold (possible), or always holds (certain)."""

    possible: Any
    certain: Any


class Trend(NamedTuple):
    """An enclosure of a value, and the axes (as bits) along which it never falls or never rises.

    The value does not fall along the axes ``up``, and does not rise along the axes ``down``. A
    condition rises from false to true.
    """

    enclosure: Any
    up: Any
    down: Any


def _ends(range_: Any) -> tuple[Any, Any]:
    if isinstance(range_, Decision):
        return range_.certain, range_.possible
    return range_.lo, range_.hi


def enclosure_function(row: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that applies a primitive to enclosures, by the given rule."""

    def apply(*args: Any) -> Any:
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg), False) if isinstance(arg, Decision) else arg
        low, high, undefined = rule(*parts)
        if row.is_condition or isinstance(args[-1], Decision):
            return Decision(high, low)
        if row.propagates_nan and undefined is not False:
            empty: Any = False
            for arg in args:
                empty = either_flag(empty, flag_or_false(is_empty(arg.may_be_nan, arg.lo, arg.hi)))
            low, high = choose(empty, INF, low), choose(empty, -INF, high)
            undefined = either_flag(undefined, empty)
        return Interval(low, high, undefined)

    return apply


def trend_function(row: Primitive, enclose: Callable[..., Any]) -> Callable[..., Trend]:
    """Return the function that applies a primitive to trends.

    ``enclose`` applies the primitive to enclosures. A result that has one value, or is empty, does
    not vary. In boxes where :func:`_partly_nan` is True, the result has a direction only along axes
    along which no argument varies.
    """

    def apply(*args: Trend) -> Trend:
        result = enclose(*(arg.enclosure for arg in args))
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg.enclosure), arg.up, arg.down)
        up, down = row.trend(*parts)
        unknown: Any = False  # NaN at some but not all points; unused arguments have no effect
        for range_ in (result, *(arg.enclosure for arg in args if not row.is_choice)):
            if isinstance(range_, Interval) and range_.may_be_nan is not False:
                unknown = either_flag(unknown, range_.may_be_nan & (range_.lo <= range_.hi))
        if unknown is not False:
            idle = ALL_AXES
            for arg in args:
                idle = idle & arg.up & arg.down
            up, down = np.where(unknown, idle, up), np.where(unknown, idle, down)
        low, high = _ends(result)
        same = low == high
        if isinstance(result, Interval) and result.may_be_nan is not False:
            same = np.where(result.may_be_nan, low > high, same)
        up, down = np.where(same, ALL_AXES, up), np.where(same, ALL_AXES, down)
        return Trend(result, up, down)

    return apply


def literal_enclosure(value: Any) -> Interval | Decision:
    """Return the enclosure of a literal."""
    if isinstance(value, (bool, np.bool_)):
        return Decision(bool(value), bool(value))
    ends = np.float64(value)
    return Interval(math.inf, -math.inf, True) if math.isnan(ends) else Interval(ends, ends)


def interval_of(low: Any, high: Any | None = None) -> Interval:
    """Return intervals from ``low`` to ``high`` (default: ``low``); empty where an end is NaN."""
    high = low if high is None else high
    missing = np.isnan(low) | np.isnan(high)
    if not np.any(missing):
        return Interval(low, high)
    return Interval(np.where(missing, math.inf, low), np.where(missing, -math.inf, high), missing)


def enclose(
    roots: Iterable[Node], boxes: Mapping[str, Interval], *, outward: bool = True
) -> list[Interval | Decision]:
    """Return the enclosures of traced equations; ``boxes`` has intervals of the quantities."""
    with np.errstate(all="ignore"):
        return interpret_all(roots, boxes, interval_algebra(outward), literal_enclosure)


@lru_cache(maxsize=2)
def interval_algebra(outward: bool = True) -> Mapping[str, Callable[..., Any]]:
    """Return the functions that apply each primitive to enclosures."""
    operations = outward_operations() if outward else {}
    algebra = {}
    for name, row in PRIMITIVES.items():
        rule = rebind_rule(row.interval, operations) if outward else row.interval
        algebra[name] = enclosure_function(row, rule)
    return MappingProxyType(algebra)


# --- Directions of equations within a box. The directions of a :class:`Trend` hold for any values
# on the other axes. If an axis is in both ``up`` and ``down``, the value does not vary along it. A
# direction may have steps, as of floors and cases. Rounding to nearest is monotone, so the
# directions also hold for computed floats, except that ``exp``, ``log`` and ``pow`` of the library
# are monotone only up to their last bits.


def literal_trend(value: Any) -> Trend:
    """Return the trend of a literal: it is constant along every axis."""
    return Trend(literal_enclosure(value), ALL_AXES, ALL_AXES)


@cache
def trend_algebra() -> Mapping[str, Callable[..., Trend]]:
    """Return the functions that apply each primitive to trends, rounded to nearest."""
    enclose = interval_algebra(outward=False)
    return MappingProxyType({n: trend_function(row, enclose[n]) for n, row in PRIMITIVES.items()})


# --- Trees in which only some quantities vary: the other nodes are computed once

#: A node, the name of its primitive, and the nodes of its arguments.
EvaluationStep = tuple[Node, str, tuple[Node, ...]]
#: For each primitive's name, the function that applies the primitive to arrays.
ARRAY_ALGEBRA: dict[str, Callable[..., Any]] = {op: row.array for op, row in PRIMITIVES.items()}


def run_steps(
    steps: Iterable[EvaluationStep],
    values: dict[Node, Any],
    algebra: Mapping[str, Callable[..., Any]],
) -> None:
    """Evaluate the nodes of ``steps`` in order, and add their values to ``values``."""
    with np.errstate(all="ignore"):
        for node, op, args in steps:
            values[node] = algebra[op](*[values[arg] for arg in args])


class PartialEvaluation:
    """Trees that are evaluated repeatedly, while only the quantities ``names`` change.

    ``values`` are arrays of the other quantities. Nodes that depend on no quantity in ``names`` are
    evaluated once: these are the ``fixed_values``. The other nodes are the ``steps``.
    """

    def __init__(self, roots: Iterable[Node], names: Collection[str], values: Mapping[str, Any]):
        self.roots = tuple(roots)
        self.steps: list[EvaluationStep] = []
        varies: set[Node] = set()
        used = dict.fromkeys(self.roots)
        for node in walk(self.roots):
            if node.op == "reference":
                varies.update([node] if node.args[0] in names else [])
            elif node.op != "constant" and not varies.isdisjoint(node.args):
                varies.add(node)
                used |= dict.fromkeys(node.args)
                self.steps.append((node, node.op, node.args))
        fixed = [node for node in used if node not in varies]
        self.fixed_values = dict(zip(fixed, interpret_arrays(fixed, values), strict=True))

    def evaluate(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the values of the trees, given arrays of the quantities ``names``."""
        done = self.fixed_values | {reference(name): array for name, array in values.items()}
        run_steps(self.steps, done, ARRAY_ALGEBRA)
        return [done[root] for root in self.roots]
