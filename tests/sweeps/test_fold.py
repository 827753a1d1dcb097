"""Constant folding gives the same bits in fewer steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sweeps.grid.build import fold_constants
from sweeps.nest.emit import compile_nest, emit
from symbolic.ops import (
    Node,
    absolute,
    both,
    ceil,
    constant,
    divide,
    either,
    equal,
    exp,
    floor,
    interpret,
    log,
    maximum,
    minimum,
    negate,
    power,
    reference,
    references,
    sqrt,
    walk,
    where,
)
from tests.long import draws
from tests.oracles.compare import same_bits

a, b = reference("a"), reference("b")

EDGES = [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan, 5e-324, 1e308]
values = st.sampled_from(EDGES) | st.floats(-100, 100)
literals = st.sampled_from([0, 1, -1, 2, 0.0, -0.0, 1.0, 0.5, math.inf, math.nan])
leaves = st.sampled_from([a, b]) | literals.map(constant)


def _numbers(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    pairs = st.tuples(inner, inner)
    binary = [
        lambda x: x[0] + x[1],
        lambda x: x[0] - x[1],
        lambda x: x[0] * x[1],
        lambda x: x[0] / x[1],
        lambda x: minimum(*x),
        lambda x: maximum(*x),
    ]
    unary = [absolute, ceil, floor, sqrt, lambda x: power(x, 2)]
    compared = st.one_of(
        pairs.map(lambda x: x[0] < x[1]),
        pairs.map(lambda x: x[0] <= x[1]),
        pairs.map(lambda x: equal(*x)),
    )
    conditions = st.one_of(
        compared,
        compared.map(negate),
        st.tuples(compared, compared).map(lambda x: both(*x)),
        st.tuples(compared, compared).map(lambda x: either(*x)),
    )
    return st.one_of(
        *(pairs.map(function) for function in binary),
        *(inner.map(function) for function in unary),
        st.tuples(inner, inner, inner).map(lambda x: divide(x[0], x[1], at_zero=x[2])),
        st.tuples(conditions, inner, inner).map(lambda x: where(*x)),
    )


@settings(max_examples=draws(100), deadline=None)
@given(st.recursive(leaves, _numbers, max_leaves=12), values, values)
def test_the_same_bits_in_no_more_steps(node: Node, x: float, y: float) -> None:
    at = {"a": np.array([x]), "b": np.array([y])}
    (fewer,), _ = fold_constants([node], {"b": y}, {})
    assert "b" not in references(fewer)
    with np.errstate(all="ignore"):
        whole, result = (
            interpret(each, at, number=lambda value: np.array([float(value)]))
            for each in (node, fewer)
        )
    assert same_bits(result, whole)
    assert len(walk([fewer])) <= len(walk([node]))


@settings(max_examples=draws(4), deadline=None, phases=[Phase.generate])
@given(st.lists(st.recursive(leaves, _numbers, max_leaves=8), min_size=40, max_size=40), values)
def test_nests_compute_what_numpy_does(nodes: list[Node], y: float) -> None:
    """Forty formulas in one nest: to the bit, at every edge."""
    x = np.array(EDGES)
    outputs = [(node, "float") for node in [*nodes, a]]
    leaves_ = {"a": ("x",), "b": ()}
    nest = emit(outer=(), row=("x",), leaves=leaves_, outputs=outputs, names={}, constants={"b": y})
    result = [np.empty(len(x)) for _ in outputs]
    sizes = np.array([len(x)])
    compile_nest(nest)(np.array([0, len(x)]), sizes, 0, np.empty(0), x, *result)
    at = {"a": x, "b": np.full(len(x), y)}
    for node, values_ in zip(nodes, result, strict=False):
        with np.errstate(all="ignore"):
            whole = interpret(node, at, number=lambda value: np.full(len(x), float(value)))
        assert same_bits(values_, whole), node


def test_negative_infinity_and_zero_as_a_base() -> None:
    """In Python -x ** y is -(x ** y)."""
    bases = [log(constant(0.0)), constant(-0.0), constant(-2.0)]
    outputs = [(power(base, a), "float") for base in bases]
    nest = emit(outer=(), row=("x",), leaves={"a": ("x",)}, outputs=outputs, names={})
    result = [np.empty(2) for _ in outputs]
    compile_nest(nest)(
        np.array([0, 2]), np.array([2]), 0, np.empty(0), np.array([2.0, 3.0]), *result
    )
    assert [values_.tolist() for values_ in result] == [[math.inf, -math.inf], [0, 0], [4, -8]]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (a * 1, a),
        (1 * a, a),
        (a / 1, a),
        (where(constant(0) < 1, a, b), a),
        (where(a < 1, b, b), b),
        (both(a < b, constant(0) < 1), a < b),
        (both(a < b, constant(1) < 0), constant(False)),
        (either(a < b, constant(1) < 0), a < b),
        (either(a < b, constant(0) < 1), constant(True)),
        (divide(a, constant(2), at_zero=b), a / 2),
        (divide(a, constant(0), at_zero=b), b),
        (log(constant(0.0)) * a, constant(-math.inf) * a),
        (exp(constant(1)) * a, constant(math.e) * a),
        (a * 0, a * 0),  # NaN times 0 is NaN
        (a + 0, a + 0),  # -0.0 + 0 is 0.0
    ],
)
def test_what_is_left_out(node: Node, expected: Node) -> None:
    ((result,), _) = fold_constants([node], {}, {})
    assert result is expected


def test_names_stay_with_what_bears_them() -> None:
    inner = a * b
    named = {id(inner): "q_inner", id(a): "q_a", id(b): "q_b"}
    (rest,), names = fold_constants([inner + 1], {"b": 2.0}, named)
    assert rest is a * 2.0 + 1
    assert names == {id(a): "q_a", id(a * 2.0): "q_inner"}


def test_a_node_keeps_its_first_name() -> None:
    inner = a * b
    _, names = fold_constants([inner + a], {"b": 1.0}, {id(a): "q_a", id(inner): "q_inner"})
    assert names == {id(a): "q_a"}
