"""Exact SymPy numbers for literals, and choices that stay as they are written."""

from __future__ import annotations

import math
from numbers import Rational as RationalNumber
from typing import Any

import numpy as np
import sympy
from sympy.functions.elementary.piecewise import ExprCondPair, Piecewise
from sympy.logic.boolalg import Boolean

#: Factors closer to 1 than this allow for rounding.
_ROUNDING = 1e-9


def to_exact(value: Any) -> Any:
    """Return a Python number as an exact SymPy number; an expression stays itself.

    A float becomes the rational of its shortest decimal, so that 0.1 means a tenth.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, RationalNumber):
        return sympy.Rational(int(value.numerator), int(value.denominator))
    if isinstance(value, float):
        return sympy.Rational(repr(value)) if math.isfinite(value) else sympy.sympify(value)
    return sympy.sympify(value)


def replace_rounding(expression: Any) -> Any:
    """Return an expression with 1 + epsilon for factors just above 1 that allow for rounding.

    >>> replace_rounding(to_exact(1 + 1e-12) * sympy.Symbol("r") + to_exact(1.5))
    r*(epsilon + 1) + 3/2
    """
    near = 1 + sympy.Symbol("epsilon", positive=True)
    if not hasattr(expression, "atoms"):  # a label
        return expression
    numbers = expression.atoms(sympy.Rational)
    return expression.xreplace({n: near for n in numbers if 0 < n - 1 < _ROUNDING})


def _is_condition(value: Any) -> bool:
    return isinstance(value, Boolean) and not isinstance(value, sympy.Expr)  # a Symbol is both


def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return a choice of two expressions or conditions; a choice in the second is continued."""
    if condition in (sympy.true, sympy.false):
        return if_true if condition else if_false
    if _is_condition(if_true) and _is_condition(if_false):
        return sympy.ITE(condition, if_true, if_false)
    rest = if_false.args if isinstance(if_false, Piecewise) else ((if_false, sympy.true),)
    return piecewise((if_true, condition), *rest)


class _Pair(ExprCondPair):  # type: ignore[misc]
    """A piece whose condition is left as it is."""

    def __new__(cls, expression: Any, condition: Any) -> Any:
        return sympy.Tuple.__new__(cls, sympy.sympify(expression), sympy.sympify(condition))


class _NestedPiecewise(Piecewise):  # type: ignore[misc]
    """A ``Piecewise`` with a ``Piecewise`` in a condition, which SymPy leaves in place.

    SymPy would fold it outwards, branch by branch. On the larger models that takes minutes or
    fails, because branches meet that exclude one another.
    """

    def __new__(cls, *pieces: Any, **_: Any) -> Any:
        return piecewise(*pieces)


_NestedPiecewise.__name__ = "Piecewise"  # printed so


def piecewise(*pieces: Any) -> Any:
    """Return ``sympy.Piecewise`` of values and conditions, which may contain choices."""
    pairs = [_Pair(*piece) for piece in pieces]
    if not any(pair.cond.has(Piecewise) for pair in pairs):
        return Piecewise(*((pair.expr, pair.cond) for pair in pairs))
    return sympy.Basic.__new__(
        _NestedPiecewise, *(pair for pair in pairs if pair.cond != sympy.false)
    )
