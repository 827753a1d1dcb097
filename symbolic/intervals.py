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

The convention for NaN, which every rule follows, here and in the compiled search:

* The ends bound those values that are numbers; ``undefined`` is true where some value may be NaN.
* An operand that is NaN at every point is *empty*: its ends are (inf, -inf), and it is undefined.
  Nothing else has a lower end above its upper end.
* An empty operand makes a strict primitive empty. The rules of those that are not strict see it:
  of a minimum or maximum it leaves the second argument, or nothing where it is the second; of a
  choice the other arm; of a power one (NaN to 0 and 1 to NaN are 1); of a quotient with a value at
  zero that value.
* A comparison with an empty operand is impossible; one with an operand that may be NaN is never
  certain. So NaN decides nothing but that the comparison fails, as it does for floats.
* An empty value varies along no axis. Of one that may be NaN at some points nothing is known along
  the axes along which an operand varies.

The two zeros are one value to enclosures and directions: a step that is 0 and -0 "does not vary".
So the rules for what tells them apart, quotients and powers, claim no direction at a zero.
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
    rebind_rule,
)
from symbolic.primitives.rule_operations import outward_operations as outwards
from symbolic.primitives.spec import Primitive


class Interval(NamedTuple):
    """The ends of what a number may be, and where it may be NaN (False: nowhere).

    The ends are (inf, -inf) where it is NaN throughout.
    """

    lo: Any
    hi: Any
    may_be_nan: Any = False


class Decision(NamedTuple):
    """Where a condition may hold, and where it is certain to."""

    possible: Any
    certain: Any


class Trend(NamedTuple):
    """An enclosure of a number or condition (false before true), and how it goes along the axes."""

    enclosure: Any
    up: Any
    down: Any


def _ends(range_: Any) -> tuple[Any, Any]:
    if isinstance(range_, Decision):
        return range_.certain, range_.possible
    return range_.lo, range_.hi


def enclosure_function(row: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive over enclosures, by its rule."""

    def apply(*args: Any) -> Any:
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg), False) if isinstance(arg, Decision) else arg
        low, high, undefined = rule(*parts)
        if row.is_condition or isinstance(args[-1], Decision):  # a choice between conditions is one
            return Decision(high, low)
        if row.propagates_nan and undefined is not False:
            empty: Any = False
            for arg in args:
                empty = either_flag(empty, flag_or_false(is_empty(arg.may_be_nan, arg.lo, arg.hi)))
            low, high = choose(empty, INF, low), choose(empty, -INF, high)
            undefined = either_flag(undefined, empty)
        return Interval(low, high, undefined)

    return apply


def _partly_nan(row: Primitive, result: Any, args: Iterable[Any]) -> Any:
    """True where a value, or an argument that counts, may be NaN at some points but not at all."""
    unknown: Any = False
    for range_ in (result,) if row.is_choice else (result, *args):
        if isinstance(range_, Interval) and range_.may_be_nan is not False:
            unknown = either_flag(unknown, range_.may_be_nan & (range_.lo <= range_.hi))
    return unknown


def trend_function(row: Primitive, enclose: Callable[..., Any]) -> Callable[..., Trend]:
    """A primitive over trends: nothing varies where the enclosure is one value, or empty.

    Nothing is known where it, or an argument that counts, may be NaN at some points.
    """

    def apply(*args: Trend) -> Trend:
        result = enclose(*(arg.enclosure for arg in args))
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg.enclosure), arg.up, arg.down)
        up, down = row.trend(*parts)
        unknown = _partly_nan(row, result, [arg.enclosure for arg in args])
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
    """A literal as an enclosure."""
    if isinstance(value, (bool, np.bool_)):
        return Decision(bool(value), bool(value))
    ends = np.float64(value)
    return Interval(math.inf, -math.inf, True) if math.isnan(ends) else Interval(ends, ends)


def interval_of(low: Any, high: Any | None = None) -> Interval:
    """Return the enclosures of known values, or of what lies between known ends.

    They are empty where an end is NaN.
    """
    high = low if high is None else high
    missing = np.isnan(low) | np.isnan(high)
    if not np.any(missing):
        return Interval(low, high)
    return Interval(np.where(missing, math.inf, low), np.where(missing, -math.inf, high), missing)


def enclose(
    roots: Iterable[Node], boxes: Mapping[str, Interval], *, outward: bool = True
) -> list[Interval | Decision]:
    """The enclosures of traced equations over boxes, given as the ends of each quantity.

    >>> from symbolic.ops import minimum, reference
    >>> x, y = reference("x"), reference("y")
    >>> boxes = {"x": Interval(np.array([1.0]), np.array([2.0])), "y": Interval(-1.0, 4.0)}
    >>> (found, less) = enclose([minimum(x * y, 3), x < y], boxes)
    >>> found.lo.tolist(), found.hi.tolist(), found.may_be_nan
    ([-2.0], [3.0], False)
    >>> less.possible.tolist(), less.certain.tolist()
    ([True], [False])
    """
    with np.errstate(all="ignore"):
        return interpret_all(roots, boxes, interval_algebra(outward), literal_enclosure)


@lru_cache(maxsize=2)
def interval_algebra(outward: bool = True) -> Mapping[str, Callable[..., Any]]:
    """The primitives over enclosures, for :func:`symbolic.ops.interpret_all`."""
    words = outwards() if outward else {}
    return MappingProxyType(
        {
            name: enclosure_function(
                row, rebind_rule(row.interval, words) if outward else row.interval
            )
            for name, row in PRIMITIVES.items()
        }
    )


# --- Along which axes an equation rises or falls within a box: enclosures that know the direction
# A :class:`Trend` joins an enclosure with two sets of axes, as bits: along which the value never
# falls (``up``) and never rises (``down``), whatever stands on the other axes. An axis in both does
# not change the value. Floors, ceilings and cases are followed as well as smooth terms, and,
# rounding to nearest turning no order round, what is said holds of floats to the last bit. (The
# library's ``exp``, ``log`` and ``pow`` are taken to be as monotone as the functions they compute,
# which they are up to their last bits.)


def literal_trend(value: Any) -> Trend:
    """A literal, the same along every axis."""
    return Trend(literal_enclosure(value), ALL_AXES, ALL_AXES)


@cache
def trend_algebra() -> Mapping[str, Callable[..., Trend]]:
    """The primitives over trends, for :func:`symbolic.ops.interpret_all`; as floats compute."""
    enclose = interval_algebra(outward=False)
    return MappingProxyType(
        {name: trend_function(row, enclose[name]) for name, row in PRIMITIVES.items()}
    )


# --- Trees of which some quantities vary: what does not depend on them is computed once


#: What is computed (a node of the tree), the primitive, and of what.
EvaluationStep = tuple[Node, str, tuple[Node, ...]]
#: The primitives over arrays.
ARRAY_ALGEBRA: dict[str, Callable[..., Any]] = {op: row.array for op, row in PRIMITIVES.items()}


def run_steps(
    steps: Iterable[EvaluationStep],
    values: dict[Node, Any],
    algebra: Mapping[str, Callable[..., Any]],
) -> None:
    """Add to what is done what some steps make of it, without a warning."""
    with np.errstate(all="ignore"):
        for node, op, args in steps:
            values[node] = algebra[op](*[values[arg] for arg in args])


class PartialEvaluation:
    """Trees over arrays in two parts: ``fixed`` are values, ``steps`` wait for those that vary.

    >>> x, y = reference("x"), reference("y")
    >>> parted = PartialEvaluation([x * (y + 1)], ["x"], {"y": np.array([2.0])})
    >>> [op for _, op, _ in parted.steps], parted.at({"x": np.array([1.0, 2.0])})
    (['mul'], [array([3., 6.])])
    """

    def __init__(
        self, roots: Iterable[Node], names: Collection[str], values: Mapping[str, Any]
    ) -> None:
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
        held = [node for node in used if node not in varies]
        self.fixed_values = dict(zip(held, interpret_arrays(held, values), strict=True))

    def evaluate(self, values: Mapping[str, Any]) -> list[Any]:
        """The values of the trees at arrays of those quantities."""
        done = {**self.fixed_values, **{reference(name): array for name, array in values.items()}}
        run_steps(self.steps, done, ARRAY_ALGEBRA)
        return [done[root] for root in self.roots]
