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
from typing import Any

import numpy as np

from symbolic.ops import Node, interpret_all
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.enclosures import Decision, Interval, enclosed
from symbolic.primitives.words import outward as outwards
from symbolic.primitives.words import retold

__all__ = ["Decision", "Interval", "algebra", "enclose", "interval_of", "number"]


def number(value: Any) -> Interval | Decision:
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
    >>> found.lo.tolist(), found.hi.tolist(), found.undefined
    ([-2.0], [3.0], False)
    >>> less.possible.tolist(), less.certain.tolist()
    ([True], [False])
    """
    with np.errstate(all="ignore"):
        return interpret_all(roots, boxes, algebra(outward), number)


@lru_cache(maxsize=2)
def algebra(outward: bool = True) -> Mapping[str, Callable[..., Any]]:
    """The primitives over enclosures, for :func:`symbolic.ops.interpret_all`."""
    words = outwards() if outward else {}
    return MappingProxyType(
        {
            name: enclosed(row, retold(row.interval, words) if outward else row.interval)
            for name, row in PRIMITIVES.items()
        }
    )
