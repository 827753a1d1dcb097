"""The primitives in SymPy: what each is on expressions. Literals are exact rationals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Rational as RationalNumber
from typing import Any

import numpy as np
import sympy
from sympy.functions.elementary.piecewise import ExprCondPair, Piecewise
from sympy.logic.boolalg import Boolean

__all__ = ["SYMPY", "exact", "piecewise"]


def exact(value: Any) -> Any:
    """A Python number as an exact SymPy number; an expression stays itself.

    A float becomes the rational of its shortest decimal: the text of an equation says 0.1, and
    means a tenth.

    >>> exact(0.1), exact(3), exact(float("inf"))
    (1/10, 3, oo)
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


def _is_condition(value: Any) -> bool:
    return isinstance(value, Boolean) and not isinstance(value, sympy.Expr)  # a Symbol is both


def _where(condition: Any, if_true: Any, if_false: Any) -> Any:
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


class _Unfolded(Piecewise):  # type: ignore[misc]
    """A ``Piecewise`` with a ``Piecewise`` in a condition, left there whatever is done to it.

    SymPy folds those outwards, branch by branch; on the larger models that takes minutes or fails,
    as branches meet that exclude one another.
    """

    def __new__(cls, *pieces: Any, **_: Any) -> Any:
        return piecewise(*pieces)


_Unfolded.__name__ = "Piecewise"  # printed so


def piecewise(*pieces: Any) -> Any:
    """``sympy.Piecewise`` of pairs of value and condition, which may hold decisions themselves."""
    pairs = [_Pair(*piece) for piece in pieces]
    if not any(pair.cond.has(Piecewise) for pair in pairs):
        return Piecewise(*((pair.expr, pair.cond) for pair in pairs))
    return sympy.Basic.__new__(_Unfolded, *(pair for pair in pairs if pair.cond != sympy.false))


def _extremum(kind: Any, drop: Any) -> Callable[..., Any]:
    """Min or Max without SymPy's search for comparable arguments, which is slow on long ones."""

    def extremum(a: Any, b: Any) -> Any:
        parts = [p for arg in (a, b) for p in (arg.args if isinstance(arg, kind) else (arg,))]
        numbers = [part for part in parts if part.is_number]
        rest = list(dict.fromkeys(part for part in parts if not part.is_number))
        if numbers:
            best = kind(*numbers)
            if not rest or best == -drop:
                return best
            if best != drop:
                rest.append(best)
        return rest[0] if len(rest) == 1 else kind(*rest, evaluate=False)

    return extremum


def _divide(a: Any, b: Any, at_zero: Any) -> Any:
    if b.is_zero is None:
        return _where(sympy.Eq(b, 0), at_zero, a / b)
    return at_zero if b.is_zero else a / b


def _logarithm(base: int | None) -> Callable[[Any], Any]:
    def logarithm(a: Any) -> Any:
        if a.is_zero:
            return -sympy.oo
        if a.is_negative:
            return sympy.nan
        return sympy.log(a) if base is None else sympy.log(a, base)

    return logarithm


def _power(base: Any, exponent: Any) -> Any:
    if base.is_zero and exponent.is_negative:
        return sympy.oo
    value = base**exponent
    return sympy.nan if value.is_number and value.is_extended_real is False else value


#: The symbolic algebra: every primitive of :data:`symbolic.ops.NUMERIC` on SymPy expressions.
_RAW: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "less": sympy.Lt,
    "less_equal": sympy.Le,
    "equal": sympy.Eq,
    "both": sympy.And,
    "either": sympy.Or,
    "negate": sympy.Not,
    "where": _where,
    "minimum": _extremum(sympy.Min, sympy.oo),
    "maximum": _extremum(sympy.Max, -sympy.oo),
    "divide": _divide,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "absolute": sympy.Abs,
    "exp": sympy.exp,
    "log": _logarithm(None),
    "log2": _logarithm(2),
    "log10": _logarithm(10),
    "sqrt": lambda a: sympy.nan if a.is_negative else sympy.sqrt(a),
    "pow": _power,
}


def _lift(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*map(exact, args))


#: The symbolic algebra: each primitive of the equations on SymPy expressions and Python numbers.
SYMPY: Mapping[str, Callable[..., Any]] = {op: _lift(f) for op, f in _RAW.items()}
