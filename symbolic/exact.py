"""Convert literals to exact SymPy numbers, and choices to ``Piecewise`` without simplification."""

import math
from numbers import Rational as RationalNumber
from typing import Any

import numpy as np
import sympy
from sympy.functions.elementary.piecewise import ExprCondPair, Piecewise
from sympy.logic.boolalg import Boolean

#: A factor that exceeds 1 by less than this number is an allowance for rounding.
_ROUNDING = 1e-9


def to_exact(value: Any) -> Any:
    """Return a Python number as an exact SymPy number; a SymPy expression is returned unchanged.

    A float becomes the rational of its shortest decimal, so that 0.1 becomes 1/10.
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
    """Replace numbers just above 1, which are allowances for rounding, by 1 plus epsilon.

    >>> replace_rounding(to_exact(1 + 1e-12) * sympy.Symbol("r") + to_exact(1.5))
    r*(epsilon + 1) + 3/2
    """
    near = 1 + sympy.Symbol("epsilon", positive=True)
    if not hasattr(expression, "atoms"):  # the label of a case
        return expression
    numbers = expression.atoms(sympy.Rational)
    return expression.xreplace({n: near for n in numbers if 0 < n - 1 < _ROUNDING})


def _is_condition(value: Any) -> bool:
    return isinstance(value, Boolean) and not isinstance(
        value, sympy.Expr
    )  # a Symbol is of both classes


def where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return the choice between two expressions or conditions, in the form that SymPy prefers.

    If ``if_false`` is a ``Piecewise``, the result is one ``Piecewise`` with its pieces at the end.
    """
    if condition in (sympy.true, sympy.false):
        return if_true if condition else if_false
    if _is_condition(if_true) and _is_condition(if_false):
        return sympy.ITE(condition, if_true, if_false)
    rest = if_false.args if isinstance(if_false, Piecewise) else ((if_false, sympy.true),)
    return piecewise((if_true, condition), *rest)


class _Pair(ExprCondPair):  # type: ignore[misc]
    """A (value, condition) pair of a ``Piecewise``, whose condition SymPy does not rewrite."""

    def __new__(cls, expression: Any, condition: Any) -> Any:
        return sympy.Tuple.__new__(cls, sympy.sympify(expression), sympy.sympify(condition))


class _NestedPiecewise(Piecewise):  # type: ignore[misc]
    """A ``Piecewise`` whose conditions may contain another ``Piecewise``.

    SymPy's class would expand the inner ``Piecewise`` into the outer one, branch by branch. For
    larger models that takes minutes, or fails because of branches that exclude one another.
    """

    def __new__(cls, *pieces: Any, **_: Any) -> Any:
        return piecewise(*pieces)


_NestedPiecewise.__name__ = "Piecewise"


def piecewise(*pieces: Any) -> Any:
    """Return a ``Piecewise`` of (value, condition) pairs; a condition may contain another."""
    pairs = [_Pair(*piece) for piece in pieces]
    if not any(pair.cond.has(Piecewise) for pair in pairs):
        return Piecewise(*((pair.expr, pair.cond) for pair in pairs))
    return sympy.Basic.__new__(_NestedPiecewise, *(p for p in pairs if p.cond != sympy.false))
