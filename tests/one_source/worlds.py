"""One text, many worlds: what every equation of every shipped model says in each.

Each world is a function of a :class:`Case`; a further world is one more function in ``WORLDS``. At
more points than the tests draw, a count for each equation:

    python -m tests.one_source.worlds 3000
"""

from __future__ import annotations

import math
import random
import struct
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np

from symbolic.closed_form import symbol, to_sympy
from symbolic.equation import Equation
from symbolic.exact import to_exact
from symbolic.library import iterate_models
from symbolic.ops import SYMPY, Node, interpret, interpret_all, walk
from symbolic.quantities import Quantity
from tests.one_source.points import point

EXACT_DRAWS = 10
NEAR = 1e-9
LIBRARY = {"exp", "log", "log2", "log10", "pow"}  # the C library's: 2 ulp
IRRATIONAL = LIBRARY | {"sqrt"}
COMPARED = {"less", "less_equal", "equal", "minimum", "maximum"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An equation of a model, and rational points at which to evaluate it, the same each time."""

    equation: Equation
    quantities: Mapping[str, Quantity]
    model: str
    key: str
    draws: int

    @cached_property
    def points(self) -> tuple[dict[str, Fraction], ...]:
        rng = random.Random(zlib.crc32(self.key.encode()))
        return tuple(point(self.quantities, self.equation.inputs, rng) for _ in range(self.draws))

    @property
    def node(self) -> Node:
        return self.equation.node

    @property
    def ops(self) -> set[str]:
        return {step.op for step in walk((self.node,))}

    def says(self, row: Mapping[str, Any]) -> Any:
        """The function itself, whatever it calls its arguments."""
        return self.equation(*(row[name] for name in self.equation.inputs))

    @property
    def floats(self) -> list[dict[str, float]]:
        """The points as floats, the last of them at infinity where the domain holds it."""
        rows = [{name: float(value) for name, value in p.items()} for p in self.points]
        for name in self.equation.inputs:
            domain = self.quantities[name].domain
            if math.isinf(domain.high) and not domain.high_open:
                rows.append({**rows[0], name: math.inf})
        return rows


@cache
def cases(draws: int) -> tuple[Case, ...]:
    """Every equation of every shipped model once, but for those that are tables."""
    result: list[Case] = []
    for model in iterate_models():
        for eq in model.equations:
            key = f"{model.name}-{eq.name}" + (f"[{eq.switch_text}]" if eq.when else "")
            if not eq.table and all(case.equation is not eq for case in result):
                result.append(
                    Case(
                        equation=eq,
                        quantities=model.quantities,
                        model=model.name,
                        key=key,
                        draws=draws,
                    )
                )
    return tuple(result)


def bits(value: Any) -> bytes:
    number = float(value)
    return b"nan" if math.isnan(number) else struct.pack("<d", number)


def assert_same(case: Case, got: Any, expected: Any, values: Mapping[str, Any]) -> None:
    """Fail unless two values are equal bit for bit."""
    message = f"{case.equation.describe()} at {values}: {got!r} against {expected!r}"
    assert bits(got) == bits(expected), message


# --- the worlds


def arrays(case: Case) -> None:
    """NumPy arrays against Python floats."""
    rows = case.floats
    columns = {name: np.array([row[name] for row in rows]) for name in case.equation.inputs}
    with np.errstate(all="ignore"):
        got = np.broadcast_to(case.says(columns), len(rows))
    for row, value in zip(rows, got, strict=True):
        assert_same(case, value, case.says(row), row)


def recorded_tree(case: Case) -> None:
    """The recorded tree against the function."""
    for row in case.floats:
        assert_same(case, interpret(case.node, row), case.says(row), row)


def sympy_rationals(case: Case) -> None:
    """SymPy in exact rationals against fractions."""
    if case.ops & IRRATIONAL:
        return
    for values in case.points[:EXACT_DRAWS]:
        expected = exact_value(case.node, values)
        leaves = {name: to_exact(value) for name, value in values.items()}
        got = interpret(case.node, leaves, SYMPY, to_exact)
        assert got == to_exact(expected), (case.equation.describe(), values)


def sympy_closed_form(case: Case) -> None:
    """The closed form with rationals put in, against fractions."""
    if case.ops & IRRATIONAL:
        return
    expression = to_sympy(case.node, case.quantities)
    symbols = {name: symbol(case.quantities[name]) for name in case.equation.inputs}
    for values in case.points[:EXACT_DRAWS]:
        expected = exact_value(case.node, values)
        leaves = {symbols[name]: to_exact(value) for name, value in values.items()}
        got = expression.xreplace(leaves)
        assert got == to_exact(expected), (case.equation.describe(), values)


def fractions(case: Case) -> None:
    """Floats against fractions, but for draws near the border of a decision."""
    if case.ops & IRRATIONAL:
        return
    for values in case.points:
        steps = exact_steps(case.node, values)
        if not near_border(steps):
            row = {name: float(value) for name, value in values.items()}
            expected = float(steps[case.node])
            scale = max((abs(float(x)) for x in steps.values() if math.isfinite(x)), default=0)
            got = float(case.says(row))
            near = got == expected or abs(got - expected) <= NEAR * scale
            assert near, (case.equation.describe(), values)


WORLDS: list[Callable[[Case], None]] = [
    arrays,
    recorded_tree,
    sympy_rationals,
    sympy_closed_form,
    fractions,
]


def as_fraction(value: Any) -> Any:
    """A literal as its shortest decimal says, which is what SymPy is given."""
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    return value


def exact_value(node: Node, values: Mapping[str, Fraction]) -> Any:
    return interpret(node, values, number=as_fraction)


def exact_steps(root: Node, values: Mapping[str, Fraction]) -> dict[Node, Any]:
    """The exact value of each step of a tree."""
    steps = walk((root,))
    return dict(zip(steps, interpret_all(steps, values, number=as_fraction), strict=True))


def near_border(steps: Mapping[Node, Any]) -> bool:
    """True if a decision on a computed value depends on less than 1e-9 of it.

    Inputs and literals are exact: a decision between them has no rounding to tip it.
    """
    for step in steps:
        if is_leaf(step) or all(map(is_leaf, step.args)):
            continue
        if step.op in COMPARED:
            a, b = (steps[arg] for arg in step.args)
            if a == b or (math.isfinite(a) and math.isfinite(b) and close(a, b)):
                return True
        elif step.op in ("floor", "ceil"):
            a = steps[step.args[0]]
            if math.isfinite(a) and close(a, round(a)):
                return True
        elif step.op == "divide" and not is_leaf(step.args[1]) and steps[step.args[1]] == 0:
            return True
    return False


def is_leaf(node: Node) -> bool:
    return node.op in ("constant", "reference")


def close(a: Any, b: Any) -> bool:
    return bool(abs(a - b) <= NEAR * max(abs(a), abs(b)))


def main(draws: int) -> None:
    """Every world at as many points of every equation."""
    began = time.monotonic()
    for case in cases(draws):
        for world in WORLDS:
            world(case)
        vars(case).pop("points", None)
    print(
        f"{len(cases(draws))} equations, {draws:,} points each ({time.monotonic() - began:.0f} s)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
