"""Cases along a quantity: in parts, and without what is decided, they are what the tree is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symbolic.crossings import CaseLines
from symbolic.intervals import Interval, PartialEvaluation, enclose
from symbolic.node import walk
from symbolic.ops import (
    Node,
    both,
    constant,
    divide,
    either,
    equal,
    floor,
    interpret_arrays,
    maximum,
    minimum,
    negate,
    reference,
    where,
)

OTHERS = {"y": np.array([0.5, 3.0, np.nan]), "z": np.array([2.0])}


def number(pick: random.Random, depth: int) -> Any:
    if depth == 0:
        return pick.choice([*map(reference, "xxyz"), 0, 1, 2.5, -1])
    a, b = number(pick, depth - 1), number(pick, depth - 1)
    made: list[Callable[[], Any]] = [
        lambda: a + b,
        lambda: a - b,
        lambda: a * b,
        lambda: minimum(a, b),
    ]
    made += [lambda: maximum(a, b), lambda: floor(constant(a)), lambda: divide(a, b, at_zero=0)]
    made += [lambda: where(condition(pick, depth - 1), constant(a), constant(b))] * 2
    return constant(pick.choice(made)())


def condition(pick: random.Random, depth: int) -> Node:
    if depth == 0:
        return constant(pick.choice([constant(True), reference("x") < pick.choice([1, 4, 99])]))
    a, b = condition(pick, depth - 1), condition(pick, depth - 1)
    p, q = constant(number(pick, depth - 1)), constant(number(pick, depth - 1))
    made: list[Callable[[], Any]] = [
        lambda: both(a, b),
        lambda: either(a, b),
        lambda: negate(a),
        lambda: p < q,
    ]
    made += [lambda: p <= q, lambda: equal(p, q)]
    return constant(pick.choice(made)())


@pytest.mark.parametrize("seed", range(4))
def test_what_is_decided_leaves_the_tree_and_nothing_changes(seed: int) -> None:
    pick = random.Random(seed)
    left = 0
    for _ in range(40):
        test = condition(pick, 3)
        root = pick.choice([where(test, 1.0, 0.0), constant(number(pick, 4))])
        ends = np.array([[0.25, 6.0], [1.0, 3.0], [2.0, 2.0]])
        lines = CaseLines(root, "x", OTHERS)
        within = lines.restrict(ends[:, 0], ends[:, 1])
        left += len(lines.steps) - len(within.steps)
        line = np.repeat(np.arange(3), 9)
        x = np.linspace(ends[:, 0], ends[:, 1], 9).T.reshape(-1)
        values = {"x": x, "y": OTHERS["y"][line], "z": OTHERS["z"]}
        plain = np.array(np.broadcast_to(interpret_arrays([root], values)[0], x.shape), dtype=float)
        parted = np.broadcast_to(
            PartialEvaluation([root], ["x"], values).evaluate({"x": x})[0], x.shape
        )
        assert np.array_equal(parted.astype(float), plain, equal_nan=True)
        plain[np.isnan(plain)] = -1
        assert (
            lines.evaluate(line, x).tolist() == within.evaluate(line, x).tolist() == plain.tolist()
        )
        low, high = x[:-1], np.maximum(x[:-1], x[1:])
        line, high = line[:-1], np.where(line[1:] == line[:-1], high, low)
        missing = np.isnan(OTHERS["y"][line])
        y = OTHERS["y"][line]
        box: Any = Interval(np.where(missing, np.inf, y), np.where(missing, -np.inf, y), missing)
        boxes = {"x": Interval(low, high), "y": box, "z": Interval(2.0, 2.0)}
        box_value: Any = enclose([root], boxes, outward=False)[0]
        plain_open = np.broadcast_to(
            (box_value.lo != box_value.hi) | box_value.may_be_nan, low.shape
        )
        open_ = lines.is_undecided(line, low, high)
        assert not (open_ & ~plain_open).any()  # what is fixed is a value, not an enclosure
        assert within.is_undecided(line, low, high).tolist() == open_.tolist()
    assert left > 0


def test_of_a_condition_that_is_decided_nothing_is_left() -> None:
    x = reference("x")
    within = CaseLines(both(x > 1, x * x < 100), "x", {}).restrict(np.array([2.0]), np.array([9.0]))
    assert (within.steps, len(walk((within.root,)))) == ([], 1)
    assert within.evaluate(np.zeros(2, dtype=np.int64), np.array([2.0, 9.0])).tolist() == [1, 1]
