"""The parts of a formula while it is read: exact literals and nodes, with what they measure."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from symbolic import ops
from symbolic.dimensions import Dimension
from symbolic.errors import DseError
from symbolic.labels import labelled, refuse
from symbolic.ops import Node
from symbolic.primitives import PRIMITIVES
from symbolic.statistic import sensed
from symbolic.term import Term
from symbolic.tokens import ExpressionUnitError, Source, shown, unit_of
from symbolic.units import dimension, misfit

__all__ = ["FUNCTIONS", "apply", "compare", "condition", "fold", "numeric"]

_MAX_BITS = 2000
_PLAIN, _TIME = Dimension(), dimension("s")
_BOUNDS = ("<", "<=", ">", ">=")


def numeric(source: Source, term: Term) -> Term:
    """The term, which must be a number."""
    refuse(source, term)
    if term.is_condition:
        source.fail(
            f"{shown(source.text[term.start : term.end])} is a condition where a number is "
            "expected: where(condition, a, b) makes numbers of it",
            term.start,
        )
    return term


def condition(source: Source, term: Term) -> Term:
    """The term, which must be a condition."""
    refuse(source, term)
    if not term.is_condition:
        source.fail(
            f"{shown(source.text[term.start : term.end])} is a number where a condition is "
            "expected: compare it, as in a <= b",
            term.start,
        )
    return term


def _same(source: Source, left: Term, right: Term) -> Dimension | None:
    """The common kind of two terms that are added, compared or chosen between."""
    if left.kind is not None and right.kind is not None and left.kind != right.kind:
        first, second = (source.text[term.start : term.end] for term in (left, right))
        if right.is_literal:
            message = misfit(shown(second), right.kind, left.kind, unit_of(second))
        elif left.is_literal:
            message = misfit(shown(first), left.kind, right.kind, unit_of(first))
        else:
            message = (
                f"{shown(first)} is {left.kind}, and {shown(second)} is {right.kind}: "
                "only like can be added, compared or chosen between"
            )
        literal = second if right.is_literal else first if left.is_literal else ""
        if literal and {left.kind, right.kind} == {_PLAIN, _TIME}:
            message += f"; cycles are compared with {shown(f'{literal} * core_clock')}"
        source.fail(message, right.start, ExpressionUnitError)
    return right.kind if left.kind is None else left.kind


def _product(left: Dimension | None, right: Dimension | None, sign: int) -> Dimension | None:
    """The kind of a product (sign 1) or quotient (-1).

    A bare number scales what it meets; a bare number times a count may be anything.
    """
    if left is None or right is None:
        known = (left or _PLAIN) * (right or _PLAIN) ** sign
        return None if known.is_plain else known
    return left * right**sign


def _plain(source: Source, term: Term, what: str) -> None:
    if term.kind is not None and not term.kind.is_plain:
        source.fail(
            f"{what} must be a plain number, and "
            f"{shown(source.text[term.start : term.end])} is {term.kind}: divide it by a unit",
            term.start,
            ExpressionUnitError,
        )


def _power_kind(source: Source, base: Term, exponent: Term) -> Dimension | None:
    _plain(source, exponent, "an exponent")
    if base.kind is None or base.kind.is_plain:
        return base.kind
    if isinstance(exponent.value, Node):
        source.fail(
            f"{shown(source.text[base.start : base.end])} is {base.kind}, whose exponent must be "
            "a literal number",
            exponent.start,
            ExpressionUnitError,
        )
    return base.kind**exponent.value


def fold(
    source: Source, function: Callable[..., Any], terms: tuple[Term, ...], position: int
) -> int | Fraction:
    """The exact value of a function of literals; refused where it is no finite number."""
    try:
        value = function(*(term.value for term in terms))
        rough = float(value)
    except ZeroDivisionError:
        source.fail("division by zero", position)
    except OverflowError:
        rough, value = math.inf, 0
    if not math.isfinite(rough):
        source.fail("the result is no finite number", position)
    if isinstance(value, int):
        return value
    if isinstance(value, float) or value.denominator.bit_length() > _MAX_BITS:
        return Fraction(rough)
    return Fraction(value)


def _power(base: Any, exponent: Any) -> Any:
    """``ops.power``, exact for literals."""
    if isinstance(exponent, Fraction):
        exponent = float(exponent)
        exponent = int(exponent) if exponent.is_integer() else exponent
    if isinstance(base, int) and not isinstance(exponent, Node) and exponent < 0:
        base = Fraction(base)
    return ops.power(base, exponent)


def _divide(a: Any, b: Any, at_zero: Any) -> Any:
    return ops.divide(Fraction(a) if isinstance(a, int) else a, b, at_zero=at_zero)


#: How formulas name the primitives: each by its first name, and what that takes.
_READ = {name: row.reads for row in PRIMITIVES.values() for name in row.reads.names}
#: Functions by name: fewest and most arguments.
FUNCTIONS: dict[str, tuple[int, float]] = {
    name: (reads.fewest, reads.most) for name, reads in _READ.items() if name.isidentifier()
}
_LOGICAL = frozenset({"both", "either", "negate"})
#: What is no function of `ops`, or is exact here.
_EXACT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: (Fraction(a) if isinstance(a, int) else a) / b,
    "power": _power,
    "divide": _divide,
    "negative": operator.neg,
}


def _kind(source: Source, name: str, terms: tuple[Term, ...]) -> Dimension | None:
    first, units = terms[0], _READ[name].units if name in _READ else "like"
    if units == "product":
        return _product(first.kind, terms[1].kind, 1)
    if units == "power":
        return _power_kind(source, first, terms[1])
    if units == "root":
        return None if first.kind is None else first.kind ** Fraction(1, 2)
    if units == "plain":
        _plain(source, first, f"the argument of {name}")
    if units == "quotient":
        kind = _product(first.kind, terms[1].kind, -1)
        first, terms = Term(first.value, kind, first.start, terms[1].end), terms[2:]
    kind = first.kind
    for term in terms:
        kind = _same(source, Term(first.value, kind, first.start, first.end), term)
    return kind


def compare(source: Source, operator: str, left: Term, right: Term) -> Term:
    """The condition of ``<``, ``<=``, ``>``, ``>=``, ``==`` or ``!=`` between two numbers.

    ``==`` and ``!=`` also stand between a label and a quantity that takes labels or a case.
    """
    if left.word is not None or right.word is not None:
        return Term(labelled(source, operator, left, right), _PLAIN, left.start, right.end)
    _same(source, numeric(source, left), numeric(source, right))
    a, b = left.node, right.node
    if operator in _BOUNDS:  # what is bounded above is worst where it is largest
        a, b = sensed(a, operator[0] == "<"), sensed(b, operator[0] == ">")
    table: dict[str, Callable[[], Node]] = {
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        ">": lambda: a > b,
        ">=": lambda: a >= b,
        "==": lambda: ops.equal(a, b),
        "!=": lambda: ops.negate(ops.equal(a, b)),
    }
    return Term(table[operator](), _PLAIN, left.start, right.end)


def apply(source: Source, name: str, terms: tuple[Term, ...], position: int, end: int) -> Term:
    """An operator or function of terms: folded where all are literal, else recorded.

    Parameters
    ----------
    name : str
        One of ``+ - * / negative`` or of the functions.
    position, end : int
        Where errors point, and where the term ends.
    """
    start = min(position, terms[0].start)
    if name in _LOGICAL:
        nodes = [condition(source, term).node for term in terms]
        return Term(getattr(ops, name)(*nodes), _PLAIN, start, end)
    if name == "equal":
        return compare(source, "==", *terms)
    if name == "where":
        test, *terms_ = terms
        condition(source, test)
        kind = _kind(source, name, tuple(numeric(source, term) for term in terms_))
        return Term(ops.where(*(term.node for term in terms)), kind, start, end)
    for term in terms:
        numeric(source, term)
    kind = _kind(source, name, terms)
    name = _READ[name].names[0] if name in _READ else name
    function = _EXACT.get(name) or getattr(ops, name)
    if name == "/" and not isinstance(terms[1].value, Node) and float(terms[1].value) == 0:
        source.fail("division by zero", terms[1].start)
    try:
        if all(term.is_literal for term in terms):
            return Term(fold(source, function, terms, position), kind, start, end)
        last = terms[-1].value
        if name == "power" and not isinstance(last, Node):
            return Term(_power(terms[0].node, last), kind, start, end)
        return Term(function(*(term.node for term in terms)), kind, start, end)
    except DseError:
        raise
    except ValueError as error:
        source.fail(str(error), terms[-1].start)
