"""Bounds on the mean loss: against every outcome in fractions, published and exact values."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf, bounds, imbalance
from stochastic.loss.moments import order_statistics, sum_given_maximum
from tests.long import draws

LOWER = ("conditional_jensen", "second_moment_lower")
UPPER = ("second_moment_upper", "tail_upper", "ben_tal_hochman", "largest")
LANES = (2, 4, 8, 16, 32)

#: E[X] of the law cut at a tail of 1e-6 and renormalised; X = 1 where there is no work.
EXACT = {
    "uniform:20,40": (
        1.117866557790987642,
        1.213340240631156359,
        1.274909867603601650,
        1.309295032026780864,
        1.326209860806190838,
    ),
    "binomial:40,0.5": (
        1.090068375437380193,
        1.163264487092135112,
        1.224792915250965874,
        1.277903628701112666,
        1.324724726430705853,
    ),
    "geometric:0.05": (
        1.476220527604008280,
        2.047213815749303253,
        2.668391875247072926,
        3.316574731640696317,
        3.978577995588717127,
    ),
}
#: Table I of the paper, μ_A, to the printed digit.
TABLE_1 = {
    "binomial:40,0.5": (1.090, 1.163, 1.225, 1.278, 1.325),
    "geometric:0.05": (1.476, 2.047, 2.668, 3.317, 3.979),
    "poisson:30": (1.104, 1.191, 1.268, 1.335, 1.397),
    "uniform:20,40": (1.118, 1.213, 1.275, 1.309, 1.326),
    "negative_binomial:5,0.3": (1.301, 1.587, 1.860, 2.123, 2.375),
}
#: How far the bounds lie apart at 32 lanes, in parts of the loss: no worse than this.
GAPS = {
    "binomial:40,0.5": 6e-4,
    "geometric:0.05": 5e-2,
    "poisson:30": 8e-4,
    "uniform:20,40": 7e-4,
    "negative_binomial:5,0.3": 1.2e-2,
}


def groups(low: int, weights: Sequence[Fraction], lanes: int) -> dict[tuple[int, int], Fraction]:
    """Probability of each largest item and sum, one item after the other."""
    result = {(0, 0): Fraction(1)}
    for _ in range(lanes):
        longer: dict[tuple[int, int], Fraction] = {}
        for (most, total), chance in result.items():
            for work, share in enumerate(weights, start=low):
                if share:
                    key = max(most, work), total + work
                    longer[key] = longer.get(key, Fraction(0)) + chance * share
        result = longer
    return result


def mean_loss(low: int, weights: Sequence[Fraction], lanes: int) -> Fraction:
    return sum(
        (
            chance * (Fraction(lanes * most, total) if total else 1)
            for (most, total), chance in groups(low, weights, lanes).items()
        ),
        Fraction(0),
    )


def law(low: int, parts: Sequence[int]) -> tuple[Pmf, list[Fraction]]:
    weights = [Fraction(part, sum(parts)) for part in parts]
    return Pmf.from_weights(weights, low=low), weights


PARTS = st.lists(st.sampled_from([0, 1, 2, 7, 1000, 10**9]), min_size=1, max_size=5)
small_laws = st.tuples(st.sampled_from([0, 1, 3, 50]), PARTS.filter(lambda p: p[0] and p[-1]))


@settings(max_examples=draws(200), deadline=None)
@given(small_laws, st.integers(1, 6))
@example((0, [1, 1]), 2)
@example((7, [5, 0, 1]), 2)
@example((0, [10**9, 1, 0, 1]), 6)
def test_every_bound_brackets_the_exact_mean(small: tuple[int, list[int]], lanes: int) -> None:
    pmf, weights = law(*small)
    exact = mean_loss(small[0], weights, lanes)
    result = bounds(pmf, lanes)
    for name in LOWER:
        assert Fraction(getattr(result, name)) <= exact, name
    for name in UPPER:
        assert Fraction(getattr(result, name)) >= exact, name
    assert result.lower == max(getattr(result, name) for name in LOWER)
    assert result.upper == min(getattr(result, name) for name in UPPER)
    assert 1.0 <= result.conditional_jensen <= result.second_moment_lower * (1 + 1e-13)
    assert result.tail_upper <= result.second_moment_upper <= result.ben_tal_hochman * (1 + 1e-13)


@settings(max_examples=draws(200), deadline=None)
@given(small_laws, st.integers(1, 6))
def test_order_statistics_against_every_group(small: tuple[int, list[int]], lanes: int) -> None:
    pmf, weights = law(*small)
    table = groups(small[0], weights, lanes)

    def mean(power: int, of_sum: int) -> Fraction:
        return sum((p * a**power * s**of_sum for (a, s), p in table.items()), Fraction(0))

    one = [Fraction(w) for w in range(small[0], small[0] + len(weights))]
    first = sum((p * w for p, w in zip(weights, one, strict=True)), Fraction(0))
    second = sum((p * w * w for p, w in zip(weights, one, strict=True)), Fraction(0))
    expected = (
        mean(1, 0),
        mean(2, 0) - mean(1, 0) ** 2,
        mean(1, 1) - mean(1, 0) * mean(0, 1),
        first,
        second - first * first,
    )
    result = order_statistics(small[0], pmf.weights, lanes)
    for name, value, exact in zip(result._fields, result, expected, strict=True):
        assert value == pytest.approx(float(exact), rel=1e-12), name


@settings(max_examples=draws(100), deadline=None)
@given(small_laws, st.integers(1, 5))
def test_the_sum_given_the_maximum(small: tuple[int, list[int]], lanes: int) -> None:
    pmf, weights = law(*small)
    table = groups(small[0], weights, lanes)
    result = sum_given_maximum(small[0], pmf.weights, lanes)
    assert result.maximum.tolist() == sorted({a for a, _ in table})
    for row in zip(*result, strict=True):
        a, chance, mean, variance, below, above, *_ = row
        sums = {s: p for (most, s), p in table.items() if most == a}
        total = sum(sums.values(), Fraction(0))
        first = sum((p * s for s, p in sums.items()), Fraction(0)) / total
        second = sum((p * s * s for s, p in sums.items()), Fraction(0)) / total
        assert chance == pytest.approx(float(total), rel=1e-13)
        assert mean == pytest.approx(float(first), rel=1e-14)
        assert variance == pytest.approx(float(second - first**2), rel=1e-9, abs=1e-13 * mean**2)
        assert mean - below == pytest.approx(a + (lanes - 1) * small[0], rel=1e-14)
        assert mean + above == pytest.approx(lanes * a, rel=1e-14)


@pytest.mark.parametrize("text", EXACT)
def test_exact_values_of_cut_laws(text: str) -> None:
    cut = Pmf.parse(text).cut(1e-6)
    alone = Pmf.from_weights(cut.weights, low=cut.low)  # nothing is missing from this one
    for lanes, exact in zip(LANES, EXACT[text], strict=True):
        idle = float(alone.weights[0]) ** lanes if alone.low == 0 else 0.0
        result = bounds(alone, lanes)
        assert result.lower <= exact + idle <= result.upper


@pytest.mark.parametrize("text", TABLE_1)
def test_table_1_lies_within(text: str) -> None:
    pmf = Pmf.parse(text)
    for lanes, printed in zip(LANES, TABLE_1[text], strict=True):
        result = bounds(pmf, lanes)
        assert (
            result.lower - 7e-4 <= printed <= result.upper + 7e-4
        )  # printed for a law cut at 1e-6
        mean = float(imbalance(pmf, lanes).mean())
        assert result.lower <= mean <= result.upper
    assert result.upper - result.lower <= GAPS[text] * mean
    assert abs(result.delta / mean - 1) < 3e-5
    assert abs(result.slowdown / mean - 1) < 1.2e-3


def test_untruncated_value_and_the_bound_of_the_cut() -> None:
    """E[X] of Geo(0.05) in 32 lanes, which no cut law has; and bounds of laws cut ever earlier."""
    exact, geometric = 3.97877460065029965, Pmf.geometric(0.05)
    widths = []
    for tol in (1e-12, 1e-9, 1e-3, 0.1, 0.5):
        result = bounds(geometric, 32, tol=tol)
        assert result.lower <= exact <= result.upper
        widths.append(result.upper - result.lower)
    assert widths == sorted(widths)
    for eps in (1e-9, 1e-6, 1e-4, 1e-3, 1e-2):
        cut = geometric.cut(eps)
        result = bounds(cut, 32)
        assert result.lower <= exact <= result.upper
        alone = bounds(Pmf.from_weights(cut.weights, low=cut.low), 32)
        assert result.lower <= alone.lower <= alone.upper <= result.upper
        assert result.largest == 32


@pytest.mark.parametrize("text", TABLE_1)
def test_they_close_for_many_lanes(text: str) -> None:
    pmf = Pmf.parse(text)
    gaps = []
    for lanes in (10**2, 10**4, 10**6):
        result = bounds(pmf, lanes)
        assert result.lower <= float(imbalance(pmf, lanes).mean()) <= result.upper
        assert result.lower <= result.delta <= result.upper
        gaps.append(result.upper / result.lower - 1)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 2e-6


def test_slowdowns_that_are_published() -> None:
    for text, two, many in (
        ("geometric:0.05", 1.487174, 3.980892),
        ("binomial:40,0.5", 1.088928, 1.324447),
        ("uniform:20,40", 1.116402, 1.324698),
        ("poisson:30", 1.102791, 1.396314),
        ("negative_binomial:5,0.3", 1.293609, 2.373240),
    ):
        cut = Pmf.parse(text).cut(1e-6)
        alone = Pmf.from_weights(cut.weights, low=cut.low)
        assert bounds(alone, 2).slowdown == pytest.approx(two, abs=5.01e-7)
        assert bounds(alone, 32).slowdown == pytest.approx(many, abs=5.01e-7)


def test_laws_without_imbalance() -> None:
    for pmf in (Pmf.uniform(3, 3), Pmf.uniform(0, 0), Pmf.from_weights([0.0, 0.0, 1.0])):
        for lanes in (1, 2, 32, 10**6):
            result = bounds(pmf, lanes)
            assert (result.lower, result.upper, result.largest) == (1.0, 1.0, 1.0)
            assert (result.delta, result.slowdown, result.limit) == (1.0, 1.0, 1.0)
    one = bounds(Pmf.geometric(0.3), 1)
    assert (one.lower, one.upper) == (1.0, 1.0)
    assert one.slowdown == pytest.approx(1.0, rel=1e-15)
    assert one.limit == math.inf
    assert bounds(Pmf.uniform(20, 40), 4).limit == pytest.approx(4 / 3, rel=1e-15)
    assert bounds(Pmf.uniform(20, 40), 4).largest == pytest.approx(1.6, rel=1e-15)


def test_many_lanes_keep_their_digits() -> None:
    """Uniform on 1..S: E[max] = S - Σ (j/S)**n, here in fractions."""
    size = 50
    weights = np.full(size, 1 / size)
    for lanes in (1000, 10**6):
        exact = size - sum(Fraction(j, size) ** 1000 for j in range(1, size))
        if lanes == 1000:
            result = order_statistics(1, weights, lanes).mean_max
            assert result == pytest.approx(float(exact), rel=1e-15)
    tail = order_statistics(1, weights, 10**6)
    beyond = -math.expm1(10**6 * math.log1p(-1 / size))
    assert tail.mean_max == pytest.approx(size - (1 - beyond), rel=1e-15)
    # the spread of the largest of exponential-like items tends to π/√6 standard deviations
    pmf = Pmf.geometric(0.001).cut(1e-18)
    wide = order_statistics(pmf.low, pmf.weights, 10**5)
    assert wide.var_max == pytest.approx(wide.var * math.pi**2 / 6, rel=1e-3)
    harmonic = math.fsum(1 / k for k in range(1, 10**5 + 1))
    assert wide.cov_max_sum == pytest.approx(wide.var * harmonic, rel=1e-3)


@pytest.mark.parametrize("lanes", [0, -1, 2.5, "32", True, math.nan])
def test_lanes_are_whole(lanes: object) -> None:
    with pytest.raises(LawError, match=r"lanes = .* expected a whole number of 1 or more"):
        bounds(Pmf.uniform(1, 6), lanes)  # type: ignore[arg-type]


def test_what_else_is_refused() -> None:
    with pytest.raises(LawError, match="tol = 0"):
        bounds(Pmf.uniform(1, 6), 2, tol=0)
    scipy_stats = pytest.importorskip("scipy.stats")
    with pytest.raises(LawError, match=r"infinite mean.*truncate\(high\)"):
        bounds(Pmf.from_scipy(scipy_stats.zipf(1.8)), 32)


def test_bounds_are_frozen_and_floats() -> None:
    result = bounds(Pmf.poisson(3), 8)
    assert all(isinstance(value, float) for value in dataclasses.asdict(result).values())
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.lower = 0.0  # type: ignore[misc]
