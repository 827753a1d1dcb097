"""What a primitive is: one row, a cell for each world."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class FormulaSyntax:
    """How formulas name a primitive, how many terms it takes there, and what these measure.

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
        """With so many terms."""
        return cls(names, count, count, units)

    @classmethod
    def any_number(cls, *names: str) -> FormulaSyntax:
        """With one or more."""
        return cls(names, 1, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """A primitive in every world.

    Parameters
    ----------
    arity : int
        How many arguments a step has.
    scalar, array : callable
        On Python's numbers, which may be fractions, and on NumPy arrays.
    sympy : callable
        On SymPy expressions, after the module itself, which is loaded when first needed.
    nest : str
        In a loop nest, with ``{0}`` for the first operand.
    js : str
        In JavaScript, an expression in the same way; each operand is a name or a literal.
    call : bool
        Whether that calls a library, which works on one point at a time. Floats, arrays and loop
        nests give the same bits, JavaScript a few ulp more or less.
    interval : callable
        The rule for its enclosure: of each argument the lower and upper end and whether it may be
        NaN, to these of the result. Of a condition the ends are whether it is certain and whether
        it is possible. Written in :mod:`symbolic.primitives.rule_operations`, for arrays and machine code.
    trend : callable
        The rule for its direction, in the same words: of each argument the ends, and the axes along
        which it never falls and never rises; to these axes of the result.
    reads : Reading
        How formulas name it.
    condition : bool
        Whether it is true or false.
    chooses : bool
        Whether an argument that it leaves out may be NaN and do no harm.
    strict : bool
        Whether a number is NaN wherever an argument is. The rule for the enclosure of a strict
        primitive need not know of operands that are NaN throughout: see
        :mod:`symbolic.intervals`. Conditions are never NaN, so that it says nothing
        of them.
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
