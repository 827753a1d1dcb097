"""Sums, products and quotients."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from symbolic.primitives import products, trends
from symbolic.primitives.row import Primitive, Reading


def _array_divide(a: Any, b: Any, at_zero: Any) -> Any:
    with np.errstate(all="ignore"):
        zero = np.equal(b, 0)
        return np.where(zero, at_zero, np.divide(a, np.where(zero, 1.0, b)))


def _sympy_divide(s: Any, a: Any, b: Any, at_zero: Any) -> Any:
    from symbolic.exact import where

    if b.is_zero is None:
        return where(s.Eq(b, 0), at_zero, a / b)
    return at_zero if b.is_zero else a / b


ROWS = {
    "add": Primitive(
        arity=2,
        scalar=operator.add,
        array=operator.add,
        sympy=lambda s, a, b: a + b,
        nest="{0} + {1}",
        js="{0} + {1}",
        interval=products.add,
        trend=trends.together,
        reads=Reading.exactly(2, "+"),
    ),
    "sub": Primitive(
        arity=2,
        scalar=operator.sub,
        array=operator.sub,
        sympy=lambda s, a, b: a - b,
        nest="{0} - {1}",
        js="{0} - {1}",
        interval=products.sub,
        trend=trends.against,
        reads=Reading.exactly(2, "-"),
    ),
    "mul": Primitive(
        arity=2,
        scalar=operator.mul,
        array=operator.mul,
        sympy=lambda s, a, b: a * b,
        nest="{0} * {1}",
        js="{0} * {1}",
        interval=products.mul,
        trend=trends.mul_trend,
        reads=Reading.exactly(2, "*", units="product"),
    ),
    "div": Primitive(
        arity=2,
        scalar=operator.truediv,
        array=operator.truediv,
        sympy=lambda s, a, b: a / b,
        nest="{0} / {1}",
        js="{0} / {1}",
        interval=products.div,
        trend=trends.div_trend,
        reads=Reading.exactly(2, "/", units="quotient"),
    ),
    "divide": Primitive(
        arity=3,
        scalar=lambda a, b, at_zero: a / b if b != 0 else at_zero,
        array=_array_divide,
        sympy=_sympy_divide,
        nest="where({1} == 0.0, {2}, {0} / {1})",
        js="{1} === 0 ? {2} : {0} / {1}",
        interval=products.divide,
        trend=trends.divide_trend,
        reads=Reading.exactly(3, "divide", units="quotient"),
        strict=False,
    ),
}
