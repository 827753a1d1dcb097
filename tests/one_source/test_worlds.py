"""One text, many worlds: every equation of every shipped model says the same in each.

Each world is a function of a :class:`Case`; a further world is one more function in ``WORLDS``.
"""

from __future__ import annotations

import math
import random
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from symbolic.closed_form import symbol, to_sympy
from symbolic.equation import Equation
from symbolic.exact import exact
from symbolic.library import iterate_models
from symbolic.ops import NUMERIC, Node, interpret, interpret_all, walk
from symbolic.quantities import Quantity
from symbolic.sympy_primitives import SYMPY
from tests.one_source.points import point

DRAWS = 300
EXACT_DRAWS = 10
NEAR = 1e-9
LIBRARY = {"exp", "log", "log2", "log10", "pow"}  # the C library's: 2 ulp
IRRATIONAL = LIBRARY | {"sqrt"}
COMPARED = {"less", "less_equal", "equal", "minimum", "maximum"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An equation, and rational points at which to evaluate it."""

    equation: Equation
    quantities: Mapping[str, Quantity]
    points: tuple[dict[str, Fraction], ...]

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
def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for model in iterate_models():
        for eq in model.equations:
            key = f"{model.name}-{eq.name}" + (f"[{eq.switches}]" if eq.when else "")
            if eq.table or any(case.equation is eq for case in found.values()):
                continue
            rng = random.Random(zlib.crc32(key.encode()))
            points = tuple(point(model.quantities, eq.inputs, rng) for _ in range(DRAWS))
            found[key] = Case(equation=eq, quantities=model.quantities, points=points)
    return found


def bits(value: Any) -> bytes:
    number = float(value)
    return b"nan" if math.isnan(number) else struct.pack("<d", number)


def assert_same(case: Case, got: Any, expected: Any, values: Mapping[str, Any]) -> None:
    """Equality bit for bit, or within 2 ulp of the largest step where the C library is asked."""
    if bits(got) == bits(expected):
        return
    message = f"{case.equation.describe()} at {values}: {got!r} against {expected!r}"
    assert case.ops & LIBRARY, message
    steps = [abs(float(interpret(step, values))) for step in walk((case.node,))]
    largest = max(step for step in steps if math.isfinite(step))
    assert abs(got - expected) <= 2 * math.ulp(largest), message


# --- the worlds


def arrays(case: Case) -> None:
    """NumPy arrays against Python floats."""
    rows = case.floats
    columns = {name: np.array([row[name] for row in rows]) for name in case.equation.inputs}
    with np.errstate(all="ignore"):
        got = np.broadcast_to(case.says(columns), len(rows))
    for row, value in zip(rows, got, strict=True):
        assert_same(case, value, case.says(row), row)


def recorded(case: Case) -> None:
    """The recorded tree against the function."""
    for row in case.floats:
        assert_same(case, interpret(case.node, row), case.says(row), row)


def sympy_rationals(case: Case) -> None:
    """SymPy in exact rationals against fractions."""
    if case.ops & IRRATIONAL:
        return
    for values in case.points[:EXACT_DRAWS]:
        expected = exact_value(case.node, values)
        leaves = {name: exact(value) for name, value in values.items()}
        assert interpret(case.node, leaves, SYMPY, exact) == exact(expected), values


def sympy_closed_form(case: Case) -> None:
    """The closed form with rationals put in, against fractions."""
    if case.ops & IRRATIONAL:
        return
    expression = to_sympy(case.node, case.quantities)
    symbols = {name: symbol(case.quantities[name]) for name in case.equation.inputs}
    for values in case.points[:EXACT_DRAWS]:
        expected = exact_value(case.node, values)
        leaves = {symbols[name]: exact(value) for name, value in values.items()}
        assert expression.xreplace(leaves) == exact(expected), values


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
            assert got == expected or abs(got - expected) <= NEAR * scale, values


WORLDS: list[Callable[[Case], None]] = [
    arrays,
    recorded,
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
    """Whether a decision on a computed value hangs on less than 1e-9 of it.

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


# --- the tests


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
@pytest.mark.parametrize("key", cases())
def test_an_equation_says_the_same_in_every_world(key: str, world: Callable[[Case], None]) -> None:
    world(cases()[key])


def test_few_draws_lie_near_the_border_of_a_decision() -> None:
    shares = {
        key: sum(near_border(exact_steps(case.node, values)) for values in case.points) / DRAWS
        for key, case in cases().items()
    }
    assert len(shares) > 50
    assert sum(shares.values()) < 0.05 * len(shares), shares
    assert max(shares.values()) < 0.9, max(shares, key=lambda key: shares[key])


def test_draws_lie_in_the_domain_of_their_quantity() -> None:
    for case in cases().values():
        for values in case.points:
            for name, value in values.items():
                assert case.quantities[name].domain.contains(float(value)), (name, value)


def test_draws_reach_both_outcomes_of_nearly_every_decision() -> None:
    one_sided = 0
    decisions = 0
    for case in cases().values():
        told = [exact_steps(case.node, values) for values in case.points]
        for step in told[0]:
            if step.is_boolean:
                decisions += 1
                one_sided += len({bool(steps[step]) for steps in told}) < 2
    assert decisions > 10
    assert one_sided <= 0.25 * decisions


def test_every_primitive_exists_in_every_algebra() -> None:
    assert set(SYMPY) == set(NUMERIC)
    assert all(case.ops <= {*NUMERIC, "constant", "reference"} for case in cases().values())
