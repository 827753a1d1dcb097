"""Difference quotients lie in their enclosures, jumps included, by 60 digits."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.intervals import Interval
from symbolic.monotone import EVERY, Trend, trend_number, trends
from symbolic.ops import (
    Node,
    absolute,
    ceil,
    divide,
    equal,
    exp,
    floor,
    interpret_all,
    log,
    log2,
    log10,
    maximum,
    minimum,
    power,
    reference,
    sqrt,
    walk,
    where,
)
from symbolic.slopes import slopes
from tests.long import draws, mostly_long

X, Y = reference("x"), reference("y")
EQUATIONS: list[Node] = [
    X * X - 3 * X * Y + Y / (X + 5),
    minimum(X, Y) * maximum(X * Y, 2) - absolute(X - Y),
    where(X < Y, X, 3 * Y - X) + exp(-X * X) * Y,
    floor(X) * Y - ceil(Y * X) + X,
    divide(Y, X, at_zero=0.0) * X + sqrt(absolute(X) + 1),
    log(X * X + 1) - log2(absolute(Y) + 2) * log10(X * X + Y * Y + 1),
    power(X * X + 0.5, Y / 3) + power(absolute(Y) + 0.1, X),
    where(equal(floor(X), 1), X * X, X) - where(Y < 1, X, 2 * X),
]


def _exactly() -> dict[str, Any]:
    """The primitives in so many digits that rounding tells nothing."""
    two = mpmath.mpf(2)
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "divide": lambda a, b, z: a / b if b else z,
        "less": lambda a, b: a < b,
        "less_equal": lambda a, b: a <= b,
        "equal": lambda a, b: a == b,
        "where": lambda c, a, b: a if c else b,
        "minimum": min,
        "maximum": max,
        "floor": mpmath.floor,
        "ceil": mpmath.ceil,
        "absolute": abs,
        "exp": mpmath.exp,
        "log": mpmath.log,
        "log2": lambda a: mpmath.log(a) / mpmath.log(two),
        "log10": mpmath.log10,
        "sqrt": mpmath.sqrt,
        "pow": lambda a, b: a**b,
    }


def _value(root: Node, x: Any, y: Any) -> Any:
    values = {"x": mpmath.mpf(x), "y": mpmath.mpf(y)}
    return interpret_all((root,), values, _exactly(), mpmath.mpf)[0]


def _enclosed(root: Node, ends: tuple[float, float], y: tuple[float, float]) -> Interval:
    values = {}
    for place, (name, (low, high)) in enumerate((("x", ends), ("y", y))):
        bit = np.uint64(1 << place)
        down = EVERY if low == high else EVERY & ~bit
        values[name] = Trend(Interval(np.array([low]), np.array([high])), EVERY, down)
    steps = walk((root,))
    with np.errstate(all="ignore"):
        known = interpret_all(steps, values, trends(outward=True), trend_number)
        found = slopes(steps, dict(zip(map(id, steps), known, strict=True)), "x", np.uint64(1)).get(
            id(root)
        )
    return Interval(0.0, 0.0) if found is None else found


#: Not so near to each other that 60 digits do not tell them apart.
numbers = st.integers(-(2**18), 2**18).map(lambda n: n / 2**16) | st.integers(-4, 4).map(float)


@pytest.mark.parametrize("root", mostly_long(EQUATIONS, lambda k, _: k % 2 == 0), ids=str)
@settings(max_examples=draws(25), deadline=None)
@given(data=st.data())
def test_no_quotient_lies_outside(root: Node, data: st.DataObject) -> None:
    low, high = sorted(data.draw(st.tuples(numbers, numbers)))
    y = sorted(data.draw(st.tuples(numbers, numbers)))
    found = _enclosed(root, (low, high), (y[0], y[1]))
    inside = st.integers(0, 2**10).map(lambda n: n / 2**10)
    one, other, third = (data.draw(inside) for _ in range(3))
    a, b = (min(low + share * (high - low), high) for share in (one, other))
    c = min(y[0] + third * (y[1] - y[0]), y[1])
    if a == b:
        return
    with mpmath.workdps(60):
        slope = (_value(root, a, c) - _value(root, b, c)) / (mpmath.mpf(a) - mpmath.mpf(b))
        assert mpmath.mpf(float(np.ravel(found.lo)[0])) <= slope
        assert slope <= mpmath.mpf(float(np.ravel(found.hi)[0]))


def test_they_are_tight_where_nothing_is_open() -> None:
    found = _enclosed(X * X, (1.0, 2.0), (0.0, 0.0))
    assert (found.lo.item(), found.hi.item()) == (2.0, 4.0)
    found = _enclosed(minimum(X, 5) + Y, (1.0, 2.0), (0.0, 9.0))
    assert (found.lo.item(), found.hi.item()) == (1.0, 1.0)
    found = _enclosed(floor(X), (1.0, 2.5), (0.0, 0.0))  # it jumps, but never falls
    assert (found.lo.item(), found.hi.item()) == (0.0, np.inf)
