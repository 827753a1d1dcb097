"""The table of primitives: every cell is there, and takes what its world gives it."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from symbolic import ops
from symbolic.primitives import PRIMITIVES
from symbolic.primitives.spec import FormulaSyntax, Primitive
from symbolic.terms import FUNCTIONS

CELLS = [field.name for field in dataclasses.fields(Primitive)]
#: How many things each rule takes for each argument, and beside them.
TAKES = {"scalar": (1, 0), "array": (1, 0), "sympy": (1, 1), "interval": (3, 0)}
TAKES |= {"trend": (4, 0)}


def misses(name: str, row: Primitive, cell: str) -> str:
    """Return what is wrong with a cell, or nothing."""
    value = getattr(row, cell)
    if cell in TAKES:
        if value is None:
            return f"{name} has no {cell}"
        each, more = TAKES[cell]
        count = each * row.arity + more
        try:
            if not isinstance(value, np.ufunc):
                inspect.signature(value).bind(*range(count))
            elif value.nin != count:
                raise TypeError
        except TypeError:
            return f"{cell} of {name} does not take {count} arguments"
        return ""
    if cell in ("nest", "js"):
        used = [k for k in range(5) if f"{{{k}}}" in (value or "")]
        where = "a nest" if cell == "nest" else "JavaScript"
        return "" if used == [*range(row.arity)] else f"{name} has no text in {where}"
    if cell == "syntax":
        ok = isinstance(value, FormulaSyntax) and value.names and value.min_terms <= value.max_terms
        return "" if ok else f"formulas cannot name {name}"
    return "" if isinstance(value, int) else f"{name} has no {cell}"


def test_every_cell_is_there() -> None:
    assert PRIMITIVES
    for name, row in PRIMITIVES.items():
        assert [why for cell in CELLS if (why := misses(name, row, cell))] == []


@pytest.mark.parametrize("cell", CELLS)
def test_a_missing_cell_is_noticed(cell: str) -> None:
    assert misses("floor", dataclasses.replace(PRIMITIVES["floor"], **{cell: None}), cell)


def test_a_cell_that_takes_something_else_is_noticed() -> None:
    wrong = dataclasses.replace(PRIMITIVES["floor"], trend=PRIMITIVES["add"].trend)
    assert misses("floor", wrong, "trend") == "trend of floor does not take 4 arguments"
    wrong = dataclasses.replace(PRIMITIVES["floor"], array=np.add)
    assert misses("floor", wrong, "array") == "array of floor does not take 1 arguments"


def test_every_primitive_that_formulas_call_is_a_function_of_equations() -> None:
    for name, (fewest, _) in FUNCTIONS.items():
        if name not in ("min", "max"):  # short for those that are
            assert name in ops.__all__
            assert len(inspect.signature(getattr(ops, name)).parameters) >= min(fewest, 2)
    with pytest.raises(AttributeError, match="cuberoot"):
        ops.__getattr__("cuberoot")
