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
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from symbolic.ops import Node, interpret_all, interpret_arrays, reference, walk
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.enclosures import Decision, Interval, Trend, enclosed, followed
from symbolic.primitives.words import EVERY, retold
from symbolic.primitives.words import outward as outwards

__all__ = [
    "ARRAYS",
    "EVERY",
    "Decision",
    "Interval",
    "Parted",
    "Step",
    "Trend",
    "algebra",
    "enclose",
    "interval_of",
    "number",
    "run",
    "trend_number",
    "trends",
]


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


# --- Along which axes an equation rises or falls within a box: enclosures that know the direction
# A :class:`Trend` joins an enclosure with two sets of axes, as bits: along which the value never
# falls (``up``) and never rises (``down``), whatever stands on the other axes. An axis in both does
# not change the value. Floors, ceilings and cases are followed as well as smooth terms, and,
# rounding to nearest turning no order round, what is said holds of floats to the last bit. (The
# library's ``exp``, ``log`` and ``pow`` are taken to be as monotone as the functions they compute,
# which they are up to their last bits.)


def trend_number(value: Any) -> Trend:
    """A literal, the same along every axis."""
    return Trend(number(value), EVERY, EVERY)


@cache
def trends() -> Mapping[str, Callable[..., Trend]]:
    """The primitives over trends, for :func:`symbolic.ops.interpret_all`; as floats compute."""
    enclose = algebra(outward=False)
    return MappingProxyType(
        {name: followed(row, enclose[name]) for name, row in PRIMITIVES.items()}
    )


# --- Trees of which some quantities vary: what does not depend on them is computed once


#: What is computed (a node of the tree), the primitive, and of what.
Step = tuple[Node, str, tuple[Node, ...]]
#: The primitives over arrays.
ARRAYS: dict[str, Callable[..., Any]] = {op: row.array for op, row in PRIMITIVES.items()}


def run(
    steps: Iterable[Step], done: dict[Node, Any], algebra: Mapping[str, Callable[..., Any]]
) -> None:
    """Add to what is done what some steps make of it, without a warning."""
    with np.errstate(all="ignore"):
        for node, op, args in steps:
            done[node] = algebra[op](*[done[arg] for arg in args])


class Parted:
    """Trees over arrays in two parts: ``fixed`` are values, ``steps`` wait for those that vary.

    >>> x, y = reference("x"), reference("y")
    >>> parted = Parted([x * (y + 1)], ["x"], {"y": np.array([2.0])})
    >>> [op for _, op, _ in parted.steps], parted.at({"x": np.array([1.0, 2.0])})
    (['mul'], [array([3., 6.])])
    """

    def __init__(
        self, roots: Iterable[Node], names: Collection[str], values: Mapping[str, Any]
    ) -> None:
        self.roots = tuple(roots)
        self.steps: list[Step] = []
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
        self.fixed = dict(zip(held, interpret_arrays(held, values), strict=True))

    def at(self, moved: Mapping[str, Any]) -> list[Any]:
        """The values of the trees at arrays of those quantities."""
        done = {**self.fixed, **{reference(name): array for name, array in moved.items()}}
        run(self.steps, done, ARRAYS)
        return [done[root] for root in self.roots]
