"""The machine code of the search encloses every step as arrays of boxes do: one rule, two worlds.

Only the library's functions are widened otherwise there; what is computed from them lies further
apart. So may an equality that is written as an order.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sweeps.bounds.compiled.depth_first import make_buffers
from sweeps.bounds.compiled.enclosure import enclose
from sweeps.bounds.compiled.tape import OPCODES, encode_tape
from sweeps.bounds.problem import Boxes, BoxProblem
from sweeps.grid.grid import Leaf
from symbolic.intervals import Decision
from symbolic.ops import Node, reference, references, walk
from symbolic.primitives import PRIMITIVES
from tests.long import long, mostly_long
from tests.one_source import enclosing

#: How far the two may be apart of a library's function, as a share; beyond all numbers, the last.
NEAR, LARGEST = 4e-15, np.finfo(float).max
#: Values of each quantity, of which boxes are ranges; boxes of each equation.
VALUES, BOXES = 12, 40


def problem(root: Node, drawn: Callable[[str], NDArray[Any]], rng: Any) -> BoxProblem:
    """A formula over axes of values, sorted, turned round or as they are; holes in some."""
    leaves = {}
    for name in references(root):
        values, kind = drawn(name), rng.integers(0, 4)
        values = values if kind == 0 else np.sort(values)[:: -1 if kind == 1 else 1]
        if kind == 0 and rng.random() < 0.5:
            values = np.where(rng.random(VALUES) < 0.2, np.nan, values)
        leaves[name] = Leaf(axes=(name,), array=values)
    return BoxProblem(root, leaves, dict.fromkeys(leaves, VALUES))


def machine(query: BoxProblem, boxes: Boxes) -> Any:
    """Return the tape, and the results of the machine for each step (rows) over each box."""
    tape = encode_tape(query)
    room = make_buffers(tape, len(query.dims))
    state, forced = room[0], room[3]
    result = []
    for k in range(boxes.lo.shape[1]):
        first, last = (np.ascontiguousarray(end[:, k]) for end in (boxes.lo, boxes.hi))
        assert enclose(tape, first, last, forced, *state)
        result.append([np.array(part, dtype=part.dtype) for part in state[:5]])
    return tape, [np.stack(part, axis=1) for part in zip(*result, strict=True)]


def arrays(trend: Any) -> list[Any]:
    result, size = trend.enclosure, (BOXES,)
    if isinstance(result, Decision):
        low, high, hole = np.float64(result.certain), np.float64(result.possible), False
    else:
        low, high, hole = result
    parts = (low, high, hole, trend.up, trend.down)
    return [np.broadcast_to(part, size) for part in parts]


def compare(query: BoxProblem, rng: Any) -> set[str]:
    """Hold every step against the other world; the primitives that were."""
    ends = rng.integers(0, VALUES, (2, len(query.dims), BOXES))
    boxes = Boxes(ends.min(axis=0), ends.max(axis=0))
    with np.errstate(all="ignore"):
        expected = query.step_trends(boxes)
    tape, result = machine(query, boxes)
    number = {id(node): k for k, node in enumerate(walk((query.root,)))}
    compared, loose = set(), set()
    for node in query.steps:
        k = number[id(node)]
        expected_parts, own = arrays(expected[id(node)]), [part[k] for part in result]
        library = node.op in PRIMITIVES and PRIMITIVES[node.op].calls_library
        if library or tape.ops[k] != OPCODES[node.op] or any(id(arg) in loose for arg in node.args):
            loose.add(id(node))
        if id(node) not in loose:
            for part, mine in zip(expected_parts, own, strict=True):
                assert np.array_equal(part, mine), node
            compared.add(node.op)
        elif library and not any(id(arg) in loose for arg in node.args):
            for part, mine in zip(expected_parts[:2], own[:2], strict=True):
                assert np.allclose(*np.clip((mine, part), -LARGEST, LARGEST), NEAR, 1e-320), node
            assert np.array_equal(own[2], expected_parts[2]), node
            compared.add(node.op)
    return compared


@long
def test_every_equation_is_enclosed_alike() -> None:
    compared: set[str] = set()
    for subject in enclosing.equations():
        rng = np.random.default_rng(zlib.crc32(subject.name.encode()))
        (root,) = subject.roots.values()
        if references(root):
            compared |= compare(problem(root, partial(_typical, subject, rng), rng), rng)
    assert len(compared) > 15


def _typical(subject: enclosing.Subject, rng: Any, name: str) -> NDArray[Any]:
    return enclosing.some(subject.quantities[name], rng, VALUES)


SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e300, -1e300, 1e-300, math.inf, -math.inf)


@pytest.mark.parametrize("name", mostly_long(PRIMITIVES, lambda k, _: k % 2 == 0))
def test_every_primitive_is_enclosed_alike(name: str) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    names = iter("abcdefg")

    def some(condition: bool) -> Node:
        one = reference(next(names))
        return one < reference(next(names)) if condition else one

    row = PRIMITIVES[name]
    joins = name in ("both", "either", "negate")
    root = Node(name, tuple(some(joins or (name == "where" and k == 0)) for k in range(row.arity)))
    for _ in range(60):
        query = problem(root, lambda _: rng.choice(SPECIAL, VALUES), rng)
        assert name in compare(query, rng)
