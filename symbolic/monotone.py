"""Along which axes an equation rises or falls within a box: enclosures that know the direction.

A :class:`Trend` joins an enclosure with two sets of axes, as bits: along which the value never
falls (``up``) and never rises (``down``), whatever stands on the other axes. An axis in both does
not change the value. Floors, ceilings and cases are followed as well as smooth terms, and, rounding
to nearest turning no order round, what is said holds of floats to the last bit. (The library's
``exp``, ``log`` and ``pow`` are taken to be as monotone as the functions they compute, which they
are up to their last bits.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from symbolic.intervals import algebra, number
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.enclosures import Trend, followed
from symbolic.primitives.words import EVERY

__all__ = ["EVERY", "Trend", "trend_number", "trends"]


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
