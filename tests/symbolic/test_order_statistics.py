"""The theory of imbalance, derived: closed forms against sums, bounds against every outcome."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Rational

from stochastic.loss.bounds import bounds
from stochastic.loss.moments import order_statistics
from stochastic.work.pmf import Pmf
from symbolic.closed_form import symbol
from symbolic.errors import DseError, UnknownNameError
from symbolic.library import load_model
from symbolic.quantities import TABLE
from tests.long import draws
from tests.oracles import order_statistics as theory


def symbol_of(name: str) -> Any:
    return symbol(TABLE[name])


N, P = symbol_of("lanes"), symbol_of("success_probability")


def largest(below: Sequence[Fraction], lanes: int) -> Fraction:
    """E[max] from the distribution function at 0, 1, ..."""
    return sum((1 - chance**lanes for chance in below), Fraction(0))


def as_fraction(value: Any) -> Fraction:
    assert value.is_Rational, value
    return Fraction(int(value.p), int(value.q))


# --- the largest of several items


@pytest.mark.parametrize("lanes", [1, 2, 5, 32])
def test_bernoulli_and_uniform_are_their_sums(lanes: int) -> None:
    result = theory.expected_max("bernoulli").subs({N: lanes, P: Rational(2, 7)})
    assert as_fraction(result) == largest([Fraction(5, 7)], lanes)
    for low, high in ((0, 1), (1, 6), (20, 40), (3, 3)):
        below = [Fraction(max(a - low + 1, 0), high - low + 1) for a in range(high)]
        values = {N: lanes, symbol_of("lowest_work"): low, symbol_of("highest_work"): high}
        assert as_fraction(theory.expected_max("uniform").subs(values).doit()) == largest(
            below, lanes
        )


def test_faulhaber_for_any_ends() -> None:
    """For a given number of lanes the closed form is the sum of powers, whatever the ends."""
    low, high = symbol_of("lowest_work"), symbol_of("highest_work")
    step = sympy.Symbol("j", integer=True, positive=True)
    for lanes in (1, 2, 3, 6):
        closed = theory.expected_max("uniform").subs(N, lanes).doit()
        count = high - low + 1
        powers = sympy.summation(step**lanes, (step, 1, high - low)) / count**lanes
        assert sympy.simplify(closed - (high - powers)) == 0


@pytest.mark.parametrize("lanes", [1, 2, 3, 8])
def test_geometric_for_any_probability(lanes: int) -> None:
    """The alternating sum is the series Σ (1 - (1 - q**a)**n), summed term by term."""
    q = sympy.Symbol("q", positive=True)
    closed = theory.expected_max("geometric").subs(N, lanes).doit().subs(P, 1 - q)
    series = sum(
        -comb(lanes, k) * (-1) ** k * sympy.Integer(1) / (1 - q**k) for k in range(1, lanes + 1)
    )
    assert sympy.simplify(closed - series) == 0
    exact = closed.subs(q, Rational(1, 3))
    start = largest([1 - Fraction(1, 3) ** a for a in range(80)], lanes)
    assert 0 <= as_fraction(exact) - start < Fraction(1, 10**30)


def test_binomial_by_the_regularised_beta() -> None:
    for trials, lanes in ((1, 3), (4, 2), (6, 32)):
        p = Fraction(2, 5)
        weights = [comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
        below = [sum(weights[: k + 1], Fraction(0)) for k in range(trials)]
        values = {symbol_of("trial_count"): trials, P: Rational(2, 5)}
        closed = theory.expected_max("binomial").subs(values).doit()
        exact = closed.rewrite(sympy.Integral).doit().subs(N, lanes)
        assert as_fraction(exact) == largest(below, lanes)


@pytest.mark.parametrize(
    ("family", "values", "law"),
    [
        ("poisson", {"event_rate": Rational(5, 2)}, Pmf.poisson(2.5)),
        (
            "negative_binomial",
            {"success_count": 5, "success_probability": Rational(3, 10)},
            Pmf.negative_binomial(5, 0.3),
        ),
        ("geometric", {"success_probability": Rational(1, 20)}, Pmf.geometric(0.05)),
        (
            "binomial",
            {"trial_count": 40, "success_probability": Rational(1, 2)},
            Pmf.binomial(40, 0.5),
        ),
    ],
)
def test_families_against_their_weights(family: str, values: dict[str, Any], law: Pmf) -> None:
    lanes, work = 32, law.cut(1e-20)
    closed = theory.expected_max(family).subs({symbol_of(name): v for name, v in values.items()})
    if closed.limits[0][2] == sympy.oo:
        index, first, _ = closed.limits[0]
        closed = sympy.Sum(closed.function, (index, first, int(work.high)))
    result = float(closed.subs(N, lanes).doit().evalf(30))
    expected = order_statistics(work.low, work.weights, lanes).mean_max
    assert result == pytest.approx(expected, rel=1e-14)


def test_any_law_is_the_sum_of_its_tail() -> None:
    expression = theory.expected_max()
    (index,) = expression.bound_symbols
    assert expression.function == 1 - sympy.Function("F")(index) ** N
    assert expression.limits == ((index, 0, sympy.oo),)


# --- exact losses


def test_exponential_from_its_spacings() -> None:
    """The distances between ordered items are independent, the k-th of mean 1/k from the top."""
    for lanes in (1, 2, 7):
        spacings = sum(Rational(1, k) for k in range(1, lanes + 1))
        assert theory.mean_loss("exponential").subs(N, lanes) == spacings
        closed = theory.expected_max("exponential").subs(N, lanes)
        assert closed == spacings * symbol_of("work_mean")


@pytest.mark.parametrize(("shape", "lanes", "expected"), [(1, 3, "11/6"), (2, 2, "11/8")])
def test_gamma_family(shape: int, lanes: int, expected: str) -> None:
    result = theory.mean_loss("gamma").subs({theory.SHAPE: shape, N: lanes}).doit()
    assert result == Rational(expected)
    # the direct way for two lanes: max / sum = max(B, 1 - B) with B ~ Beta(shape, shape)
    if lanes == 2:
        u = sympy.Symbol("u", positive=True)
        area = sympy.gamma(shape) ** 2 / sympy.gamma(2 * shape)
        density = (u * (1 - u)) ** (shape - 1) / area
        half = sympy.integrate(2 * u * density, (u, Rational(1, 2), 1))
        assert sympy.simplify(2 * half - result) == 0


def test_interval_from_its_integral() -> None:
    """Given the longest item the others are uniform below it: E[n / (1 + the sum of n - 1)]."""
    u, v = sympy.symbols("u v", positive=True)
    result = [theory.mean_loss("interval").subs(N, n).doit() for n in (2, 3)]
    two = sympy.integrate(2 / (1 + u), (u, 0, 1))
    assert result[0] == two == 2 * sympy.log(2)
    inner = sympy.integrate(3 / (1 + u + v), (v, 0, 1))
    assert sympy.simplify(result[1] - sympy.integrate(inner, (u, 0, 1))) == 0
    exact = 1.386907296921192231  # E[X] for U(0,1000), n = 2, less what is lost without any work
    assert abs(float(result[0]) - exact) < 1e-3


def test_limits() -> None:
    low, high = symbol_of("lowest_work"), symbol_of("highest_work")
    assert theory.limit_loss() == symbol_of("work_max") / symbol_of("work_mean")
    for family, values, mean in (
        ("bernoulli", {P: Rational(1, 3)}, Rational(1, 3)),
        ("uniform", {low: 1, high: 4}, Rational(5, 2)),
        ("binomial", {symbol_of("trial_count"): 3, P: Rational(1, 4)}, Rational(3, 4)),
    ):
        longest = theory.expected_max(family).subs(values).doit()
        if family == "uniform":  # the sum of powers (j/count)**n, each of which vanishes
            left = [4 - longest.subs(N, n).doit() for n in (10, 40, 160)]
            assert left == sorted(left, reverse=True)
            assert 0 < left[-1] < Rational(3, 4) ** 159
            assert theory.limit_loss(family).subs(values) == 4 / mean
            continue
        exact = longest.rewrite(sympy.Integral).doit()
        assert sympy.limit(exact, N, sympy.oo) / mean == theory.limit_loss(family).subs(values)
    for family in ("exponential", "geometric", "poisson", "negative_binomial"):
        assert theory.limit_loss(family) == sympy.oo


# --- bounds of a finite law


def enumerate_groups(weights: Sequence[Fraction], lanes: int) -> dict[int, dict[int, Fraction]]:
    """Probability of each sum, for each largest item, over every outcome of every lane."""
    result: dict[int, dict[int, Fraction]] = {}
    for group in product(range(len(weights)), repeat=lanes):
        chance = prod((weights[w] for w in group), start=Fraction(1))
        if chance:
            sums = result.setdefault(max(group), {})
            sums[sum(group)] = sums.get(sum(group), Fraction(0)) + chance
    return result


@st.composite
def laws(draw: st.DrawFn) -> list[Fraction]:
    parts = draw(st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(any))
    return [Fraction(part, sum(parts)) for part in parts]


@settings(max_examples=draws(60), deadline=None)
@given(laws(), st.integers(1, 4))
def test_moments_given_the_maximum_and_bounds(weights: list[Fraction], lanes: int) -> None:
    groups = enumerate_groups(weights, lanes)
    given_largest = theory.sum_given_maximum(weights, lanes)
    assert [int(a) for a, *_ in given_largest] == sorted(groups)
    for a, chance, mean, variance in given_largest:
        sums = groups[int(a)]
        total = sum(sums.values())
        first = sum(s * p for s, p in sums.items()) / total
        second = sum(s * s * p for s, p in sums.items()) / total
        assert [as_fraction(x) for x in (chance, mean, variance)] == [
            total,
            first,
            second - first * first,
        ]
    loss = sum(
        (
            p * (Fraction(lanes * a, s) if s else 1)
            for a, sums in groups.items()
            for s, p in sums.items()
        ),
        Fraction(0),
    )
    jensen = as_fraction(theory.conditional_jensen(weights, lanes))
    lower = as_fraction(theory.second_moment_lower(weights, lanes))
    upper = as_fraction(theory.second_moment_upper(weights, lanes))
    assert 1 <= jensen <= lower <= loss <= upper <= lanes
    law = Pmf.from_weights(weights)
    numeric = bounds(law, lanes)
    assert numeric.conditional_jensen == pytest.approx(float(jensen), rel=1e-13)
    assert numeric.second_moment_lower == pytest.approx(float(lower), rel=1e-13)
    assert numeric.second_moment_upper == pytest.approx(float(upper), rel=1e-13)


def test_bounds_are_expressions_of_the_weights() -> None:
    none, one = sympy.symbols("f_0 f_1", positive=True)
    lower = theory.second_moment_lower([none, 1 - none], 2)
    upper = theory.second_moment_upper([none, 1 - none], 2)
    loss = none**2 + 4 * none * (1 - none) + (1 - none) ** 2  # 1 without work, 2 with one of two
    assert sympy.simplify(lower - loss) == sympy.simplify(upper - loss) == 0
    with pytest.raises(DseError, match="the weights sum to f_0 \\+ f_1"):
        theory.conditional_jensen([none, one], 2)


def test_the_parabolas_lie_below_and_above() -> None:
    """For 1/x, a parabola touching at t and meeting at e: 1/x - q = (x-t)²(e-x) / (x t² e)."""
    x, t, e = sympy.symbols("x t e", positive=True)
    parabola = 1 / t - (x - t) / t**2 + (x - t) ** 2 / (e * t**2)
    assert sympy.simplify(1 / x - parabola - (x - t) ** 2 * (e - x) / (x * t**2 * e)) == 0


def test_delta_is_the_expansion_to_second_order() -> None:
    """Σ over the second derivatives of n·m/s at the means, with variances and covariance."""
    m, s = sympy.symbols("m s", positive=True)
    var_max = sympy.Symbol("v", positive=True)
    mean_max, cov = symbol_of("expected_max"), symbol_of("max_sum_covariance")
    mean, std = symbol_of("work_mean"), symbol_of("work_std")
    value = N * m / s
    matrix = sympy.hessian(value, (m, s)).subs({m: mean_max, s: N * mean})
    scatter = sympy.Matrix([[var_max, cov], [cov, N * std**2]])
    expected = value.subs({m: mean_max, s: N * mean}) + (matrix * scatter).trace() / 2
    model = load_model("imbalance")
    closed = model.closed_form("imbalance_delta", expand="imbalance_slowdown")
    positive = {name: sympy.Symbol(name.name, positive=True) for name in closed.free_symbols}
    same = {name: sympy.Symbol(name.name, positive=True) for name in expected.free_symbols}
    assert sympy.simplify(closed.subs(positive) - expected.subs(same)) == 0


@pytest.mark.parametrize("ask", [theory.expected_max, theory.mean_loss, theory.limit_loss])
def test_unknown_families(ask: Any) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'exponential'"):
        ask("exponentiel")


def test_numbers_of_a_die() -> None:
    weights = [0] + [Rational(1, 6)] * 6
    assert theory.second_moment_lower(weights, 2) <= Rational(64877, 49896)
    assert float(theory.second_moment_upper(weights, 2)) == pytest.approx(
        bounds(Pmf.from_weights(np.array([0.0] + [1 / 6] * 6)), 2).second_moment_upper
    )
