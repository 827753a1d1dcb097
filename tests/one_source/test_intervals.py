"""Enclosures hold what they enclose: every equation of every shipped model, random boxes, points.

A million draws, a box and a point of it each, by

    DSE_DRAWS=1000000 python -m pytest tests/one_source/test_intervals.py
"""

from __future__ import annotations

import decimal
import math
import os
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from symbolic.intervals import Decision, Interval, algebra, enclose
from symbolic.library import iterate_models
from symbolic.ops import (
    NUMERIC,
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
    interpret_all,
    log,
    log10,
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
from symbolic.quantities import Quantity
from tests.one_source.test_worlds import IRRATIONAL, cases, exact_value

SUITE = 6000
DRAWS = int(os.environ.get("DSE_DRAWS", str(SUITE)))
GRAPHS = {model.name: model for model in iterate_models()}

Ends = tuple[NDArray[np.float64], NDArray[np.float64]]


# --- boxes and points of the domain of a quantity
def some(row: Quantity, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Values of a quantity: mostly typical ones, some at the ends of its domain or far out."""
    domain = row.domain
    low, high = row.typical or (max(domain.low, 0.0), min(domain.high, 100.0))
    share = rng.random(size)
    value = low * (high / low) ** share if low > 0 else low + (high - low) * share
    far = np.exp(rng.uniform(-300, 300, size)) * (1 if domain.low >= 0 else rng.choice((-1, 1)))
    value = np.where(rng.random(size) < 0.1, far, value)
    value = np.rint(value) if domain.whole else value
    low = np.nextafter(domain.low, math.inf) if domain.low_open else domain.low
    high = np.nextafter(domain.high, -math.inf) if domain.high_open else domain.high
    low, high = (np.ceil(low), np.floor(high)) if domain.whole else (low, high)
    value = np.where(rng.random(size) < 0.1, low if math.isfinite(domain.low) else value, value)
    value = np.where(rng.random(size) < 0.1, high if math.isfinite(domain.high) else value, value)
    if math.isinf(domain.high) and not domain.high_open:
        value = np.where(rng.random(size) < 0.05, math.inf, value)
    return np.asarray(np.clip(value, low, high))


def box(row: Quantity, rng: np.random.Generator, size: int) -> Ends:
    a, b = some(row, rng, size), some(row, rng, size)
    b = np.where(rng.random(size) < 0.25, a, b)
    return np.minimum(a, b), np.maximum(a, b)


def inside(row: Quantity, ends: Ends, rng: np.random.Generator) -> NDArray[np.float64]:
    """A value of each box: somewhere within, or at an end."""
    lo, hi = ends
    top = np.minimum(hi, np.finfo(float).max)
    value = lo + (top - lo) * rng.random(lo.shape) ** rng.choice((1.0, 20.0))
    value = np.rint(value) if row.domain.whole else value
    end = rng.random(lo.shape)
    value = np.where(end < 0.2, lo, np.where(end > 0.8, hi, value))
    return np.asarray(np.clip(np.where(np.isnan(value), lo, value), lo, hi))


def assert_holds(found: Interval | Decision, value: Any, told: Any) -> None:
    value = np.asarray(value)
    if isinstance(found, Decision):
        wrong = (value & ~np.asarray(found.possible)) | (~value & np.asarray(found.certain))
    else:
        unknown = np.isnan(value) & ~np.asarray(found.undefined)
        outside = ~np.isnan(value) & ~((found.lo <= value) & (value <= found.hi))
        wrong = unknown | outside
    wrong = np.broadcast_to(wrong, value.shape)
    if wrong.any():
        pytest.fail(f"{told(int(np.argmax(wrong)))}")


def check(root: Node, quantities: Any, seed: int, size: int) -> int:
    """Draw boxes and points; both enclosures hold what floats compute there."""
    rng = np.random.default_rng(seed)
    names = references(root)
    with np.errstate(all="ignore"):
        boxes = {name: box(quantities[name], rng, size) for name in names}
        points = {name: inside(quantities[name], boxes[name], rng) for name in names}
        (value,) = interpret_all((root,), points)
    value = np.broadcast_to(value, size if names else np.shape(value))
    for outward in (True, False):
        (found,) = enclose((root,), {n: Interval(*b) for n, b in boxes.items()}, outward=outward)

        def told(place: int, outward: bool = outward, found: Any = found) -> str:
            ends = {n: (float(a[place]), float(b[place])) for n, (a, b) in boxes.items()}
            at = {n: float(p[place]) for n, p in points.items()}
            got = [np.broadcast_to(part, size)[place] for part in found]
            return f"{root!r}\n{outward=} box {ends}\npoint {at}\nvalue {value[place]} in {got}"

        assert_holds(found, value, told)
    return size


@pytest.mark.parametrize("key", cases())
def test_no_point_of_a_box_falls_outside_the_enclosure(key: str) -> None:
    case = cases()[key]
    size = math.ceil(DRAWS / len(cases()))
    rounds = 1 if size <= 4000 else math.ceil(size / 4000)

    @settings(max_examples=rounds, deadline=None, database=None)
    @given(seed=st.integers(0, 2**32 - 1))
    def drawn(seed: int) -> None:
        assert check(case.node, case.quantities, seed, math.ceil(size / rounds))

    drawn()


@pytest.mark.parametrize("name", GRAPHS)
def test_nor_outside_that_of_a_whole_model(name: str) -> None:
    model = GRAPHS[name]
    graph = model.graph()
    roots = [graph.flat(output) for output in graph.outputs]
    known = [root for root in roots if not any(row.is_label for row in leaves(root, model))]
    assert known or any(eq.table for eq in model.equations)
    for root in known:
        assert check(root, model.quantities, 7, max(20, DRAWS // 4000))


def leaves(root: Node, model: Any) -> list[Quantity]:
    return [model.quantities[name] for name in references(root)]


def test_outward_holds_the_exact_value() -> None:
    """Fractions at rational points of boxes around them."""
    rng = random.Random(5)
    checked = 0
    for case in cases().values():
        if case.ops & IRRATIONAL or any(
            step.op == "constant" and inexact(step) for step in steps(case.node)
        ):
            continue
        for values in case.points[:4]:
            ends = {}
            for name, value in values.items():
                near = [float(value) * (1 + rng.choice((0, 0.1))), float(value)]
                lo, hi = min(near), max(near)
                lo = np.nextafter(lo, -math.inf) if Fraction(lo) > value else lo
                hi = np.nextafter(hi, math.inf) if Fraction(hi) < value else hi
                ends[name] = Interval(np.array([lo]), np.array([hi]))
            exact = exact_value(case.node, values)
            (found,) = enclose((case.node,), ends)
            if isinstance(found, Interval) and math.isfinite(exact):
                lo, hi = (float(np.ravel(end)[0]) for end in found[:2])
                assert lo == -math.inf or Fraction(lo) <= exact, (case.equation.describe(), values)
                assert hi == math.inf or Fraction(hi) >= exact, (case.equation.describe(), values)
                checked += 1
    assert checked > 300


def steps(root: Node) -> list[Node]:
    return walk((root,))


def inexact(step: Node) -> bool:
    value = step.args[0]
    return (
        isinstance(value, float)
        and math.isfinite(value)
        and Fraction(value) != Fraction(repr(value))
    )


def test_every_primitive_has_an_enclosure() -> None:
    assert set(algebra(outward=True)) == set(algebra(outward=False)) == set(NUMERIC)


# --- the primitives: numbers of every kind
NUMBERS = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, 5e-324, 1.7e308, -3.0, 1e-200]
    ),
    st.floats(-100, 100).map(lambda x: round(x, 2)),
    st.floats(allow_nan=False),
)
X, Y, Z = (reference(name) for name in "xyz")
FORMULAS = {
    "add": X + Y,
    "sub": X - Y,
    "mul": X * Y,
    "square": X * X,
    "div": X / Y,
    "divide": divide(X, Y, at_zero=Z),
    "reciprocal": divide(1, X, at_zero=math.nan),
    "where": where(X < Y, Z, divide(X, Y, at_zero=math.nan)),
    "where <=": where(X <= Y, X - Y, Z),
    "where ==": where(equal(X, Y), Z, X),
    "both": both(X < Y, Y < Z),
    "either": either(X < Y, negate(Y <= Z)),
    "chosen": where(X < Y, X < Z, Y <= Z),
    "minimum": minimum(X - Y, Z),
    "maximum": maximum(Z, X - Y),
    "of undefined": minimum(sqrt(X), Y) + maximum(log(X), Z),
    "undefined of": maximum(Y, log(X)),
    "floor": floor(X),
    "ceil": ceil(X * Y),
    "absolute": absolute(X),
    "exp": exp(X),
    "log": log(X),
    "sqrt": sqrt(X),
    "power": power(X, Y),
    "power of 0.5": power(X, 0.5),
    "cube": power(X, -3),
}


@settings(max_examples=60, deadline=None)
@given(
    ends=st.lists(st.tuples(*[NUMBERS] * 6, *[st.floats(0, 1)] * 3), min_size=25, max_size=25),
)
def test_primitives_hold_any_numbers(ends: list[tuple[float, ...]]) -> None:
    table = np.array(ends)
    boxes, points = {}, {}
    with np.errstate(all="ignore"):
        for k, name in enumerate("xyz"):
            lo, hi = np.sort(table[:, 2 * k : 2 * k + 2], axis=1).T
            inner = lo + (hi - lo) * table[:, 6 + k]
            inner = np.where(np.isfinite(inner), np.clip(inner, lo, hi), lo)
            boxes[name], points[name] = Interval(lo, hi), inner
        for formula, root in FORMULAS.items():
            values = interpret_all((root,), points)[0]
            for outward in (True, False):
                (found,) = enclose((root,), boxes, outward=outward)
                assert_holds(
                    found,
                    values,
                    lambda place, f=formula, o=outward, got=found: (
                        f"{f} {o=} {ends[place]} {[np.ravel(part) for part in got]}"
                    ),
                )


def test_outward_holds_the_exact_value_of_library_functions() -> None:
    """In decimals of forty digits, which Python's own library rounds rightly."""
    rng = random.Random(2)
    with decimal.localcontext(prec=40):
        for _ in range(2000):
            x, y = Decimal(math.exp(rng.uniform(-6, 6))), Decimal(rng.uniform(-5, 5))
            exact = {exp(X): x.exp(), log(X): x.ln(), log10(X): x.log10(), power(X, Y): x**y}
            for root, value in exact.items():
                lo, hi, _ = ends_of(root, x=(float(x),) * 2, y=(float(y),) * 2)
                assert Decimal(lo) <= value <= Decimal(hi), (root, x, y)


def test_ends_are_reached() -> None:
    """On whole numbers the enclosures of single steps are the extremes over all points."""
    rng = np.random.default_rng(3)
    grid = np.arange(-4.0, 5.0)
    for name in ("add", "sub", "mul", "divide", "minimum", "maximum", "absolute", "cube"):
        root = FORMULAS[name]
        for _ in range(40):
            boxes, axes = {}, []
            for letter in references(root):
                lo, hi = np.sort(rng.choice(grid, 2))
                lo, hi = (abs(lo), abs(lo) + 1) if name == "cube" else (lo, hi)
                boxes[letter] = Interval(lo, hi)
                axes.append(np.arange(lo, hi + 1))
            mesh = dict(zip(boxes, np.meshgrid(*axes, indexing="ij"), strict=True))
            with np.errstate(all="ignore"):
                values = np.asarray(interpret_all((root,), mesh)[0])
            (found,) = enclose((root,), boxes)
            unbounded = name == "divide" and (boxes["y"].lo <= 0 <= boxes["y"].hi)
            if name == "cube" and boxes["x"].lo == 0:
                continue
            if not unbounded:
                tight = math.isclose(found.lo, values.min()) and math.isclose(
                    found.hi, values.max()
                )
                assert tight, (name, boxes, found)


def ends_of(root: Node, **boxes: tuple[float, float]) -> tuple[float, float, bool]:
    named = {name: Interval(*map(np.float64, ends)) for name, ends in boxes.items()}
    (found,) = enclose((root,), named)
    return float(found.lo), float(found.hi), bool(np.any(found.undefined))


def test_what_is_exact_stays_exact() -> None:
    assert ends_of(floor(X / Y), x=(128, 160), y=(32, 32)) == (4, 5, False)
    assert ends_of(sqrt(X * X), x=(3, 7)) == (3, 7, False)
    lo, hi, _ = ends_of(X / Y, x=(1, 1), y=(3, 3))
    assert lo < Fraction(1, 3) < hi
    assert hi == np.nextafter(lo, 1)


def test_pieces_of_a_division() -> None:
    root = divide(X, Y, at_zero=Z)
    assert ends_of(root, x=(1, 2), y=(2, 4), z=(9, 9)) == (0.25, 1, False)
    assert ends_of(root, x=(1, 2), y=(0, 4), z=(0, 0)) == (0, math.inf, False)
    assert ends_of(root, x=(1, 2), y=(0, 4), z=(math.inf, math.inf)) == (0.25, math.inf, False)
    assert ends_of(root, x=(1, 2), y=(-4, 0), z=(-1, 1)) == (-math.inf, 1, False)
    assert ends_of(root, x=(0, 0), y=(-4, 4), z=(3, 3)) == (0, 3, False)
    assert ends_of(root, x=(1, 2), y=(0, 0), z=(5, 6)) == (5, 6, False)
    assert ends_of(divide(X, Y, at_zero=math.nan), x=(1, 1), y=(0, 1)) == (1, math.inf, True)


def test_decisions() -> None:
    def decided(root: Node, **boxes: tuple[float, float]) -> tuple[bool, bool]:
        named = {name: Interval(*map(np.float64, ends)) for name, ends in boxes.items()}
        (found,) = enclose((root,), named)
        return bool(found.possible), bool(found.certain)

    assert decided(X < Y, x=(0, 1), y=(2, 3)) == (True, True)
    assert decided(X < Y, x=(0, 2), y=(2, 3)) == (True, False)
    assert decided(X <= Y, x=(0, 2), y=(2, 3)) == (True, True)
    assert decided(X < Y, x=(3, 4), y=(2, 3)) == (False, False)
    assert decided(negate(X < Y), x=(3, 4), y=(2, 3)) == (True, True)
    assert decided(sqrt(X) < Y, x=(-1, 1), y=(2, 3)) == (True, False)  # of NaN nothing is certain
    assert decided(negate(sqrt(X) < Y), x=(-1, 1), y=(2, 3)) == (True, False)
    assert decided(constant(equal(X, 2)), x=(2, 2)) == (True, True)


def test_arms_that_cannot_be_taken_do_not_count() -> None:
    root = where(X < 0, math.nan, sqrt(X))
    assert ends_of(root, x=(4, 9)) == (2, 3, False)
    assert ends_of(root, x=(-1, 9)) == (0, 3, True)
