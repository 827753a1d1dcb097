"""The record of a primitive: one field for each backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class FormulaSyntax:
    """The names of a primitive in formulas, the number of its terms, and the rule for units.

    The rule ``units`` is ``"like"`` (all terms and the result have the same unit), ``"plain"`` (the
    argument is a plain number), ``"root"``, ``"product"``, ``"quotient"`` (a third term has the
    unit of the quotient) or ``"power"``. Conditions have no units.
    """

    names: tuple[str, ...]
    min_terms: int
    max_terms: float
    units: str = "like"

    @classmethod
    def fixed_count(cls, count: int, *names: str, units: str = "like") -> FormulaSyntax:
        """Return the syntax of a primitive that takes a fixed number of arguments."""
        return cls(names, count, count, units)

    @classmethod
    def any_number(cls, *names: str) -> FormulaSyntax:
        """Return the syntax of a primitive that takes one or more arguments."""
        return cls(names, 1, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """A primitive: one function or text for each backend.

    * ``arity``: the number of its arguments in a node.
    * ``scalar``, ``array``: functions of Python numbers (which may be fractions), and of NumPy
      arrays.
    * ``sympy``: a function of SymPy expressions; its first argument is the module ``sympy``, which
      is imported when it is first needed.
    * ``nest``, ``js``: the expression in a loop nest and in JavaScript, with ``{0}`` for the first
      operand (a name or a literal).
    * ``interval``: the rule of its enclosure, written in the operations of
      :mod:`symbolic.primitives.rule_operations`. It takes the lower end, upper end and
      ``may_be_nan`` of each argument, and returns these three for the result. The ends of a
      condition are "certain" and "possible".
    * ``trend``: the rule of its direction, in the same operations. It takes four values for each
      argument: the two ends, the axes along which the argument never falls, and the axes along
      which it never rises. It returns the same two sets of axes for the result.
    * ``calls_library``: True if it calls a library function, which handles one point at a time.
      Floats, arrays and loop nests give the same bits; JavaScript may differ by a few ulp.
    * ``is_condition``: True if its value is true or false.
    * ``is_choice``: True if an argument that is not chosen may be NaN without effect.
    * ``propagates_nan``: True if the result is NaN whenever an argument is NaN. Then the rule of
      its enclosure need not handle operands that are always NaN: see :mod:`symbolic.intervals`.
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
