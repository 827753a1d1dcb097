"""The record of a primitive: one field for each backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class FormulaSyntax:
    """The names of a primitive in formulas, its number of terms, and their units.

    ``units``: ``"like"`` (all the same, as is the result), ``"plain"`` (numbers without a unit),
    ``"root"``, ``"product"``, ``"quotient"`` (and then like the third), ``"power"``; conditions
    have none.
    """

    names: tuple[str, ...]
    min_terms: int
    max_terms: float
    units: str = "like"

    @classmethod
    def fixed_count(cls, count: int, *names: str, units: str = "like") -> FormulaSyntax:
        """Return the syntax with a fixed number of terms."""
        return cls(names, count, count, units)

    @classmethod
    def any_number(cls, *names: str) -> FormulaSyntax:
        """Return the syntax with one or more terms."""
        return cls(names, 1, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """A primitive in every backend.

    * ``arity``: the number of arguments of a step.
    * ``scalar``, ``array``: on Python's numbers, which may be fractions, and on NumPy arrays.
    * ``sympy``: on SymPy expressions, after the module itself, which is loaded when first needed.
    * ``nest``, ``js``: the expression in a loop nest and in JavaScript, with ``{0}`` for the first
      operand (a name or a literal).
    * ``interval``: the rule of its enclosure, from the lower end, upper end and ``may_be_nan`` of
      each argument to those of the result. The ends of a condition are "certain" and "possible".
      Written in :mod:`symbolic.primitives.rule_operations`, for arrays and machine code.
    * ``trend``: the rule of its direction, in the same operations: from the ends of each argument,
      and the axes along which it never falls and never rises, to these axes of the result.
    * ``calls_library``: whether it calls a library, which works on one point at a time. Floats,
      arrays and loop nests give the same bits, JavaScript a few ulp more or less.
    * ``is_condition``: whether its value is true or false.
    * ``is_choice``: whether an argument that is not chosen may be NaN without effect.
    * ``propagates_nan``: whether a number is NaN wherever an argument is. Then the rule of its
      enclosure need not handle operands that are always NaN: see :mod:`symbolic.intervals`.
      Conditions are never NaN, so that it is irrelevant for them.
    """

    arity: int
    scalar: Function
    array: Function
    sympy: Function
    nest: str
    js: str
    interval: Function
    trend: Function
    syntax: FormulaSyntax
    calls_library: bool = False
    is_condition: bool = False
    is_choice: bool = False
    propagates_nan: bool = True
