"""What is known of a number or condition over boxes, and how the rules carry it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from symbolic.primitives.row import Primitive
from symbolic.primitives.words import EVERY, any_of

__all__ = ["Decision", "Interval", "Trend", "enclosed", "followed"]


class Interval(NamedTuple):
    """The ends of what a number may be, and where it may be NaN (False: nowhere)."""

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
        return Interval(low, high, undefined)

    return apply


def followed(row: Primitive, enclose: Callable[..., Any]) -> Callable[..., Trend]:
    """A primitive over trends: nothing varies where the enclosure is one value.

    Nothing is known where it, or an argument that counts, may be NaN.
    """

    def apply(*args: Trend) -> Trend:
        found = enclose(*(arg.range for arg in args))
        parts: list[Any] = []
        for arg in args:
            parts += (*_ends(arg.range), arg.up, arg.down)
        up, down = row.trend(*parts)
        low, high = _ends(found)
        same = low == high
        up, down = np.where(same, EVERY, up), np.where(same, EVERY, down)
        unknown: Any = False
        for range_ in (found,) if row.chooses else (found, *(arg.range for arg in args)):
            if isinstance(range_, Interval):
                unknown = any_of(unknown, range_.undefined)
        if unknown is not False:
            idle = EVERY
            for arg in args:
                idle = idle & arg.up & arg.down
            up, down = np.where(unknown, idle, up), np.where(unknown, idle, down)
        return Trend(found, up, down)

    return apply
