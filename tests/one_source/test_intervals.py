"""Enclosures hold what they enclose: a share of what :mod:`tests.one_source.enclosing` draws."""

from __future__ import annotations

import decimal
import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.intervals import Decision, Interval, enclose, interval_algebra, trend_algebra
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
    interpret_arrays,
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
from tests.long import draws
from tests.one_source import enclosing
from tests.one_source.worlds import IRRATIONAL, cases, exact_value

#: Draws of the suite, each time.
EQUATIONS, GRAPHS = 10_000, 1000


def assert_holds(enclosure: Interval | Decision, value: Any, describe: Any) -> None:
    wrong = np.broadcast_to(enclosing.outside(enclosure, value), np.shape(value))
    if wrong.any():
        pytest.fail(f"{describe(int(np.argmax(wrong)))}")


@settings(max_examples=draws(4), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_point_of_a_box_falls_outside_the_enclosure_of_any_equation(seed: int) -> None:
    assert sum(enclosing.sweep(enclosing.equations(), EQUATIONS, seed)) >= EQUATIONS


@settings(max_examples=draws(4), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_nor_outside_that_of_a_whole_model_under_any_switch(seed: int) -> None:
    assert sum(enclosing.sweep(enclosing.graphs()[seed % 16 :: 16], GRAPHS, seed)) >= GRAPHS


def test_every_equation_is_enclosed() -> None:
    assert {subject.name for subject in enclosing.equations()} == {case.key for case in cases(4)}
    assert {subject.name.split()[0] for subject in enclosing.graphs()} == {
        model.name for model in iterate_models()
    }


@pytest.mark.parametrize("broken", ["add", "mul", "divide", "minimum", "where", "floor", "less"])
def test_a_wrong_enclosure_is_noticed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each primitive in turn forgets where its last argument ends."""
    right = dict(interval_algebra())

    def wrong(*args: Any) -> Any:
        result = right[broken](*args)
        if isinstance(result, Decision):
            return Decision(result.certain, result.certain)
        return Interval(result.lo, result.lo, result.may_be_nan)

    monkeypatch.setattr(
        "symbolic.intervals.interval_algebra", lambda outward: {**right, broken: wrong}
    )
    using = [one for one in enclosing.equations() if broken in steps_of(one)][:5]
    with pytest.raises(AssertionError, match="outward=True"):
        list(enclosing.sweep(using, 500, 1))


def steps_of(subject: enclosing.Subject) -> set[str]:
    return {step.op for step in walk(subject.roots.values())}


@pytest.mark.parametrize("broken", ["sub", "mul", "divide", "where", "ceil"])
def test_a_wrong_trend_is_noticed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = dict(trend_algebra())

    def wrong(*args: Any) -> Any:
        result = right[broken](*args)
        return result._replace(up=result.down, down=result.up)

    monkeypatch.setattr(enclosing, "trend_algebra", lambda: {**right, broken: wrong})
    using = [one for one in enclosing.equations() if broken in steps_of(one)][:5]
    with pytest.raises(AssertionError, match="against its trend"):
        list(enclosing.sweep(using, 500, 1))


def test_outward_holds_the_exact_value() -> None:
    """Fractions at rational points of boxes around them."""
    rng = random.Random(5)
    checked = 0
    for case in cases(4):
        if case.ops & IRRATIONAL or any(
            step.op == "constant" and inexact(step) for step in steps(case.node)
        ):
            continue
        for values in case.points:
            ends = {}
            for name, value in values.items():
                near = [float(value) * (1 + rng.choice((0, 0.1))), float(value)]
                lo, hi = min(near), max(near)
                lo = np.nextafter(lo, -math.inf) if Fraction(lo) > value else lo
                hi = np.nextafter(hi, math.inf) if Fraction(hi) < value else hi
                ends[name] = Interval(np.array([lo]), np.array([hi]))
            exact = exact_value(case.node, values)
            (result,) = enclose((case.node,), ends)
            if isinstance(result, Interval) and math.isfinite(exact):
                lo, hi = (float(np.ravel(end)[0]) for end in result[:2])
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
    assert (
        set(interval_algebra(outward=True)) == set(interval_algebra(outward=False)) == set(NUMERIC)
    )


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


@settings(max_examples=draws(60), deadline=None)
@given(ends=st.lists(st.tuples(*[NUMBERS] * 6, *[st.floats(0, 1)] * 3), min_size=25, max_size=25))
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
            values = interpret_arrays((root,), points)[0]
            for outward in (True, False):
                (result,) = enclose((root,), boxes, outward=outward)
                assert_holds(
                    result,
                    values,
                    lambda place, f=formula, o=outward, got=result: (
                        f"{f} {o=} {ends[place]} {[np.ravel(part) for part in got]}"
                    ),
                )


def test_outward_holds_the_exact_value_of_library_functions() -> None:
    """In decimals of forty digits, which Python's own library rounds rightly."""
    rng = random.Random(2)
    with decimal.localcontext(prec=40):
        for _ in range(1000):
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
                values = np.asarray(interpret_arrays((root,), mesh)[0])
            (result,) = enclose((root,), boxes)
            unbounded = name == "divide" and (boxes["y"].lo <= 0 <= boxes["y"].hi)
            if name == "cube" and boxes["x"].lo == 0:
                continue
            if not unbounded:
                tight = math.isclose(result.lo, values.min()) and math.isclose(
                    result.hi, values.max()
                )
                assert tight, (name, boxes, result)


def ends_of(root: Node, **boxes: tuple[float, float]) -> tuple[float, float, bool]:
    named = {name: Interval(*map(np.float64, ends)) for name, ends in boxes.items()}
    (result,) = enclose((root,), named)
    return float(result.lo), float(result.hi), bool(np.any(result.may_be_nan))


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
    def decide(root: Node, **boxes: tuple[float, float]) -> tuple[bool, bool]:
        named = {name: Interval(*map(np.float64, ends)) for name, ends in boxes.items()}
        (result,) = enclose((root,), named)
        return bool(result.possible), bool(result.certain)

    assert decide(X < Y, x=(0, 1), y=(2, 3)) == (True, True)
    assert decide(X < Y, x=(0, 2), y=(2, 3)) == (True, False)
    assert decide(X <= Y, x=(0, 2), y=(2, 3)) == (True, True)
    assert decide(X < Y, x=(3, 4), y=(2, 3)) == (False, False)
    assert decide(negate(X < Y), x=(3, 4), y=(2, 3)) == (True, True)
    assert decide(sqrt(X) < Y, x=(-1, 1), y=(2, 3)) == (True, False)  # of NaN nothing is certain
    assert decide(negate(sqrt(X) < Y), x=(-1, 1), y=(2, 3)) == (True, False)
    assert decide(constant(equal(X, 2)), x=(2, 2)) == (True, True)


def test_arms_that_cannot_be_taken_do_not_count() -> None:
    root = where(X < 0, math.nan, sqrt(X))
    assert ends_of(root, x=(4, 9)) == (2, 3, False)
    assert ends_of(root, x=(-1, 9)) == (0, 3, True)
