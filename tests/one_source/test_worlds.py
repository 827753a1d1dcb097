"""One text, many worlds: every equation of every shipped model says the same in each.

At few points here; ``python -m tests.one_source.worlds 3000`` draws more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from symbolic.ops import NUMERIC, SYMPY, Node
from tests.one_source.worlds import WORLDS, Case, cases, exact_steps, near_border

DRAWS = 60
CASES = cases(DRAWS)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
@pytest.mark.parametrize("model", sorted({case.model for case in CASES}))
def test_an_equation_says_the_same_in_every_world(
    model: str, world: Callable[[Case], None]
) -> None:
    for case in CASES:
        if case.model == model:
            world(case)


@pytest.fixture(scope="module")
def steps() -> dict[str, list[dict[Node, Any]]]:
    """The exact value of each step of each equation, at every point."""
    return {case.key: [exact_steps(case.node, p) for p in case.points] for case in CASES}


def test_few_draws_lie_near_the_border_of_a_decision(
    steps: dict[str, list[dict[Node, Any]]],
) -> None:
    shares = {key: sum(map(near_border, draws)) / DRAWS for key, draws in steps.items()}
    assert len(shares) > 50
    assert sum(shares.values()) < 0.05 * len(shares), shares
    assert max(shares.values()) < 0.9, max(shares, key=lambda key: shares[key])


def test_draws_reach_both_outcomes_of_nearly_every_decision(
    steps: dict[str, list[dict[Node, Any]]],
) -> None:
    one_sided = 0
    decisions = 0
    for draws in steps.values():
        for step in draws[0]:
            if step.is_boolean:
                decisions += 1
                one_sided += len({bool(values[step]) for values in draws}) < 2
    assert decisions > 10
    assert one_sided <= 0.25 * decisions


def test_draws_lie_in_the_domain_of_their_quantity() -> None:
    for case in CASES:
        for values in case.points:
            for name, value in values.items():
                assert case.quantities[name].domain.contains(float(value)), (name, value)


def test_every_primitive_exists_in_every_algebra() -> None:
    assert set(SYMPY) == set(NUMERIC)
    assert all(case.ops <= {*NUMERIC, "constant", "reference"} for case in CASES)
