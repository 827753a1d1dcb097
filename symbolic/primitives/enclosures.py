"""What is known of a number or condition over boxes, and how the rules carry it on.

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

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from symbolic.primitives.row import Primitive
from symbolic.primitives.words import EVERY, INF, any_of, choose, is_empty, perhaps


class Interval(NamedTuple):
    """The ends of what a number may be, and where it may be NaN (False: nowhere).

    The ends are (inf, -inf) where it is NaN throughout.
    """

    lo: Any
    hi: Any
    undefined: Any = False


class Decision(NamedTuple):
    """Where a condition may hold, and where it is certain to."""

    possible: Any
    certain: Any


class Trend(NamedTuple):
    """An enclosure of a number or condition (false before true), and how it goes along the axes."""

    range: Any
    up: Any
    down: Any


def _ends(range_: Any) -> tuple[Any, Any]:
    if isinstance(range_, Decision):
        return range_.certain, range_.possible
    return range_.lo, range_.hi


def enclosed(row: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive over enclosures, by its rule."""

    def apply(*args: Any) -> Any:
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg), False) if isinstance(arg, Decision) else arg
        low, high, undefined = rule(*parts)
        if row.condition or isinstance(args[-1], Decision):  # a choice between conditions is one
            return Decision(high, low)
        if row.strict and undefined is not False:
            empty: Any = False
            for arg in args:
                empty = any_of(empty, perhaps(is_empty(arg.undefined, arg.lo, arg.hi)))
            low, high = choose(empty, INF, low), choose(empty, -INF, high)
            undefined = any_of(undefined, empty)
        return Interval(low, high, undefined)

    return apply


def _partly_nan(row: Primitive, found: Any, args: Iterable[Any]) -> Any:
    """True where a value, or an argument that counts, may be NaN at some points but not at all."""
    unknown: Any = False
    for range_ in (found,) if row.chooses else (found, *args):
        if isinstance(range_, Interval) and range_.undefined is not False:
            unknown = any_of(unknown, range_.undefined & (range_.lo <= range_.hi))
    return unknown


def followed(row: Primitive, enclose: Callable[..., Any]) -> Callable[..., Trend]:
    """A primitive over trends: nothing varies where the enclosure is one value, or empty.

    Nothing is known where it, or an argument that counts, may be NaN at some points.
    """

    def apply(*args: Trend) -> Trend:
        found = enclose(*(arg.range for arg in args))
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg.range), arg.up, arg.down)
        up, down = row.trend(*parts)
        unknown = _partly_nan(row, found, [arg.range for arg in args])
        if unknown is not False:
            idle = EVERY
            for arg in args:
                idle = idle & arg.up & arg.down
            up, down = np.where(unknown, idle, up), np.where(unknown, idle, down)
        low, high = _ends(found)
        same = low == high
        if isinstance(found, Interval) and found.undefined is not False:
            same = np.where(found.undefined, low > high, same)
        up, down = np.where(same, EVERY, up), np.where(same, EVERY, down)
        return Trend(found, up, down)

    return apply
