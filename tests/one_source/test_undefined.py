"""Operands that are NaN at every point, or at some, decide nothing they should not."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from sweeps.bounds.compiled.enclosure import STRICT
from sweeps.bounds.compiled.tape import OPCODES
from symbolic.intervals import Decision, Interval, interval_algebra, interval_of
from symbolic.primitives import PRIMITIVES
from tests.long import draws
from tests.one_source import undefined

NAN, INF = math.nan, math.inf
#: What an operand may be over a box: nothing but NaN, partly NaN, at infinite ends, zeros.
OPERANDS = (
    (NAN,),
    (NAN, 2.0),
    (NAN, 0.0, 1.0),
    (NAN, -INF, INF),
    (NAN, -1.0),
    (0.0,),
    (-0.0,),
    (0.0, -0.0),
    (-0.0, 1.5),
    (INF,),
    (-INF,),
    (-INF, -3.0),
    (0.0, INF),
    (-INF, INF),
    (1.0,),
    (-2.5,),
    (-2.0,),
    (0.5, 3.0),
    (-1.0, 4.0),
    (1e300, -1e300),
    (5e-324,),
)
CONDITIONS = ((False,), (True,), (False, True))


def scalar(name: str, args: tuple[Any, ...]) -> Any:
    """The value of the scalar backend; NumPy's floats divide by zero as IEEE 754 says."""
    raw = name in ("add", "sub", "mul", "div", "divide", "less", "less_equal", "equal")
    with np.errstate(all="ignore"):
        return PRIMITIVES[name].scalar(*map(np.float64, args) if raw else args)


def operands(name: str) -> list[tuple[tuple[Any, ...], ...]]:
    """Every combination of operands of a primitive, each as the values that it takes."""
    arity = PRIMITIVES[name].arity
    kinds = [
        CONDITIONS
        if name in ("both", "either", "negate") or (name == "where" and k == 0)
        else OPERANDS
        for k in range(arity)
    ]
    return list(itertools.product(*kinds))


def enclosure(column: list[tuple[Any, ...]]) -> Interval | Decision:
    """The enclosures of one operand in all combinations."""
    if isinstance(column[0][0], bool):
        return Decision(np.array([any(c) for c in column]), np.array([all(c) for c in column]))
    values = np.array([[*c, *[c[-1]] * (3 - len(c))] for c in column])
    low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    ends = interval_of(low, high)
    return Interval(ends.lo, ends.hi, np.isnan(values).any(axis=1))


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_rule_holds_the_scalar_value_of_every_kind_of_operand(
    name: str, outward: bool
) -> None:
    combinations = operands(name)
    columns = [list(column) for column in zip(*combinations, strict=True)]
    with np.errstate(all="ignore"):
        result = interval_algebra(outward)[name](*map(enclosure, columns))
    condition = isinstance(result, Decision)
    ends = (result.certain, result.possible, False) if condition else tuple(result)
    near = 1e-15 if PRIMITIVES[name].calls_library else 0.0
    shape = (len(combinations),)
    ends = [np.broadcast_to(end, shape) for end in ends]
    for number, combination in enumerate(combinations):
        values = [scalar(name, point) for point in itertools.product(*combination)]
        array = np.array(values, dtype=bool if condition else float)
        bounds = [end[number] for end in ends]
        wrong = undefined.outside(*bounds, array, near)
        assert not wrong.any(), (name, combination, bounds, values)
        if not condition and PRIMITIVES[name].propagates_nan and (NAN,) in combination:
            assert bounds == [INF, -INF, True], (name, combination, bounds)
        if condition and (NAN,) in combination:
            assert bounds == [False, False, False], (name, combination, bounds)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_table_tells_which_primitives_are_strict(name: str) -> None:
    """A number that is not NaN where an argument is makes a primitive not strict."""
    row = PRIMITIVES[name]
    if row.is_condition:
        return
    strict = True
    for combination in itertools.product(*[(NAN, 0.0, 1.0, -2.0, INF)] * row.arity):
        if any(map(math.isnan, combination)):
            strict &= math.isnan(scalar(name, combination))
    assert row.propagates_nan == strict
    assert bool(int(STRICT) >> OPCODES[name] & 1) == strict


def test_an_operand_that_is_nan_throughout_leaves_the_other_one() -> None:
    nothing, some = interval_of(np.float64(NAN)), Interval(np.float64(2.0), np.float64(5.0))
    pick = interval_algebra(False)
    assert [float(end) for end in pick["minimum"](nothing, some)] == [2, 5, False]
    assert [float(end) for end in pick["maximum"](nothing, some)] == [2, 5, False]
    assert [float(end) for end in pick["minimum"](some, nothing)] == [INF, -INF, True]
    assert [float(end) for end in pick["pow"](nothing, interval_of(np.float64(0.0)))][:2] == [1, 1]
    zero = interval_of(np.float64(0.0))
    assert [float(end) for end in pick["divide"](nothing, zero, some)][:2] == [2, 5]
    assert [float(end) for end in pick["sqrt"](Interval(np.float64(-4.0), np.float64(-1.0)))] == [
        INF,
        -INF,
        True,
    ]


def test_random_formulas_over_tables_with_nan_are_enclosed_and_searched() -> None:
    first = 10_000
    for seed in range(first, first + draws(60)):
        one = undefined.draw(seed)
        undefined.check(one, seed, most=20)
        undefined.check_search(one, seed)


def test_an_enclosure_that_takes_nan_for_a_number_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sweeps.bounds.problem import RangeExtremes

    right = RangeExtremes.__call__

    def wrong(self: Any, lo: Any, hi: Any) -> Any:
        result = right(self, lo, hi)
        return result._replace(enclosure=result.enclosure._replace(may_be_nan=False))

    monkeypatch.setattr(RangeExtremes, "__call__", wrong)

    def attack() -> None:
        for seed in range(200):
            undefined.check(undefined.draw(seed), seed, most=10)

    with pytest.raises(AssertionError, match="NumPy"):
        attack()
