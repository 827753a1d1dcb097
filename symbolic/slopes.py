"""How steep an equation is along an axis within a box: enclosures of its difference quotients.

The quotient (f(x) - f(y)) / (x - y) of any two places of a box that differ along one axis alone
lies between two numbers. They follow from the enclosures of every step, and from how the steps go
along the axis (:mod:`symbolic.monotone`): what never falls has no negative quotient, even where it
jumps. So a value is enclosed to second order: it lies off that at the middle by at most the
quotients times the distance. All is rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symbolic.node import Node
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.enclosures import Decision, Interval, Trend, partly_nan
from symbolic.primitives.slopes import Slope
from symbolic.primitives.words import any_of

__all__ = ["slopes"]


def _of(node: Node, known: Mapping[int, Trend], found: Mapping[int, Slope], bit: Any) -> Slope:
    rule = PRIMITIVES[node.op].slope
    args = [known[id(arg)] for arg in node.args]
    rates = [
        (arg.up & arg.down & bit) != 0 if isinstance(arg.range, Decision) else found.get(id(step))
        for step, arg in zip(node.args, args, strict=True)
    ]
    if rule is None:
        return None
    return rule(known[id(node)].range, *(arg.range for arg in args), *rates)  # type: ignore[no-any-return]


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
        args = [known[id(arg)].range for arg in node.args]
        lost = any_of(trend.range.undefined, partly_nan(PRIMITIVES[node.op], trend.range, args))
        found[id(node)] = Interval(np.where(lost, -math.inf, lo), np.where(lost, math.inf, hi))
    return found
