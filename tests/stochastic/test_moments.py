"""Moments by quadrature, against integers, certified integrals and published values."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stochastic.checks import LawError
from stochastic.loss.moments import _quadrature_error, _quadrature_step, raw_moment, variance
from tests.long import draws
from tests.oracles import imbalance_flint as oracle


def weights_of(counts):
    total = sum(counts)
    return np.array([count / total for count in counts])


def raw_moments(low, weights, lanes, orders=(1, 2)):
    """The raw moments of several orders, and their errors."""
    return np.array([raw_moment(low, weights, lanes, order) for order in orders]).T


def relative_error(value, exact):
    """Relative error against a ball of many digits."""
    remaining, flint.ctx.prec = flint.ctx.prec, 320
    try:
        return abs(float((flint.arb(float(value)) - exact) / exact))
    finally:
        flint.ctx.prec = remaining


@st.composite
def laws(draw):
    """Smallest value, integer weights of very different sizes, lanes."""
    size = st.one_of(st.integers(0, 9), st.integers(0, 44).map(lambda e: 2**e))
    counts = draw(st.lists(size, min_size=2, max_size=24))
    used = [i for i, count in enumerate(counts) if count]
    if len(used) < 2:
        counts, used = [3, 0, 1], [0, 2]
    low = draw(st.sampled_from([0, 0, 1, 7, 1000])) + used[0]
    return low, counts[used[0] : used[-1] + 1], draw(st.sampled_from([2, 3, 4, 5, 8, 16, 32]))


@settings(max_examples=draws(100), deadline=None)
@given(laws())
@example((0, [1, 1], 2))
@example((1, [2**44, 1], 32))
@example((0, [2**44, 1], 32))
@example((1000, [1, 2**44], 3))
def test_moments_equal_those_in_integers(law):
    low, counts, lanes = law
    weights = weights_of(counts)
    values, errors = raw_moments(low, weights, lanes, (1, 2, 3, 7))
    for value, error, order in zip(values, errors, (1, 2, 3, 7), strict=True):
        result = relative_error(value, oracle.raw(low, counts, lanes, order))
        assert result < 1e-14
        assert result * value <= error
    value, error = variance(low, weights, lanes, float(values[0]))
    result = relative_error(value, oracle.central(low, counts, lanes, float(values[0])))
    assert result < 1e-13
    assert result * value <= error


MANY = [
    (1, [1] * 6, 10**6),
    (20, [1] * 21, 10**6),
    (0, [3, 1], 10**5),
    (0, [999_999, 1], 10**6),
    (0, [10**9 - 1, 0, 0, 0, 0, 0, 1], 10**6),
    (1000, [999_999, 1], 10**6),
    (5, [2**i for i in range(20, 0, -1)], 10**6),
    (1, [1] * 6, 10**9),
    (3, [1, 0, 5, 2] + [0] * 60 + [1], 4096),
]


@pytest.mark.parametrize(("low", "counts", "lanes"), MANY)
def test_many_lanes_equal_certified_integrals(low, counts, lanes):
    weights = weights_of(counts)
    values, errors = raw_moments(low, weights, lanes)
    for value, error, order in zip(values, errors, (1, 2), strict=True):
        result = relative_error(value, oracle.quadrature(low, counts, lanes, order))
        assert result < 2e-15
        assert result * value <= error
    centre = float(values[0])
    value, error = variance(low, weights, lanes, centre)
    result = relative_error(value, oracle.quadrature(low, counts, lanes, 2, centre))
    assert result < 1e-13
    assert result * value <= error < 1e-10 * value


RATIONAL = [
    (1, 6, 2, 1, Fraction(64877, 49896)),
    (1, 6, 3, 1, Fraction(71309837, 49008960)),
    (1, 6, 4, 1, Fraction(1336879458293, 867385078560)),
    (0, 1, 2, 1, Fraction(5, 4)),
    (0, 1, 3, 1, Fraction(29, 16)),
    (0, 1, 4, 1, Fraction(103, 48)),
    (0, 2, 2, 1, Fraction(38, 27)),
    (1, 6, 2, 2, Fraction(859617607, 493970400)),
    (0, 1, 2, 2, Fraction(9, 4)),
    (20, 40, 32, 1, 1.326209860806190838),
    (20, 40, 32, 2, 1.760962911663738804),
    (0, 1000, 2, 1, 1.386907296921192231),
]


@pytest.mark.parametrize(("low", "high", "lanes", "order", "exact"), RATIONAL)
def test_uniform_laws(low, high, lanes, order, exact):
    """Exact rationals, and values to 19 digits; groups without work count nothing here."""
    values, _ = raw_moments(low, np.full(high - low + 1, 1 / (high - low + 1)), lanes, (order,))
    assert values[0] == pytest.approx(float(exact), rel=2e-15)


def test_one_lane_and_one_value_lose_nothing():
    values, errors = raw_moments(0, np.array([0.25, 0.75]), 1, (1, 2, 5))
    assert values.tolist() == [0.75] * 3
    assert errors.tolist() == [0.0] * 3
    assert raw_moments(7, np.ones(1), 10**6)[0].tolist() == [1.0, 1.0]
    assert raw_moments(0, np.ones(1), 4)[0].tolist() == [0.0, 0.0]
    assert variance(0, np.array([0.25, 0.75]), 1, 1.0) == (0.0, 0.0)
    assert variance(7, np.ones(1), 10**6, 1.5) == (0.25, 0.0)


@pytest.mark.parametrize("lanes", [2, 7, 1000])
def test_scale_and_layout_do_not_matter(lanes):
    """On a grid of step 1, of step 10, and as a list of few values far apart."""
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.ones(40))
    wide = np.zeros(391)
    wide[::10] = weights
    far = np.zeros(39 * 10**4 + 2)
    far[: 39 * 10**4 + 1 : 10**4] = weights * (1 - 1e-13)
    far[-1] = 1e-13
    plain, _ = raw_moments(3, weights, lanes, (1, 2, 4))
    again, _ = raw_moments(30, wide, lanes, (1, 2, 4))
    listed, _ = raw_moments(30_000, far, lanes, (1, 2, 4))
    np.testing.assert_allclose(again, plain, rtol=2e-15)
    np.testing.assert_allclose(listed, plain, rtol=1e-8)
    centre = float(plain[0])
    value, _ = variance(3, weights, lanes, centre)
    assert variance(30, wide, lanes, centre)[0] == pytest.approx(value, rel=1e-13)
    assert variance(30_000, far, lanes, centre)[0] == pytest.approx(value, rel=1e-8)


def test_two_values_at_large_support():
    """X = n·b/(a(n-K) + bK) for K items of b among n, summed over K."""
    low, high, lanes = 3, 10**5, 64
    weights = np.zeros(high - low + 1)
    weights[[0, -1]] = 0.75, 0.25
    mean = square = Fraction(0)
    for k in range(lanes + 1):
        chance = Fraction(math.comb(lanes, k) * 3 ** (lanes - k), 4**lanes)
        x = Fraction(lanes * high, low * (lanes - k) + high * k) if k else Fraction(1)
        mean, square = mean + chance * x, square + chance * x * x
    values, _ = raw_moments(low, weights, lanes)
    np.testing.assert_allclose(values, [float(mean), float(square)], rtol=1e-15)
    value, _ = variance(low, weights, lanes, float(mean))
    assert value == pytest.approx(float(square - mean**2), rel=1e-14)


def test_the_rule_errs_by_the_same_whatever_the_scale():
    """The trapezoidal sum of a gamma integral, at every place of the nodes, against its bound."""
    for k, h in [(1, 1.2), (1, 0.8), (2, 0.8), (5, 0.7)]:
        worst = 0.0
        for shift in np.linspace(0, h, 64):
            t = np.exp(np.arange(-60 / h, 8 / h) * h + shift)
            worst = max(worst, abs(h * np.sum(t**k * np.exp(-t)) / math.gamma(k) - 1))
        assert worst == pytest.approx(_quadrature_error(k, h), rel=2e-2)
    for k in (1, 2, 10, 60):
        assert 0.05 < _quadrature_step(k)[0] < 0.25
        assert _quadrature_step(k)[1] < 1e-17


def test_high_orders():
    """X**40 of a die in four lanes, and of a law for which it is above all numbers."""
    values, errors = raw_moments(1, np.full(6, 1 / 6), 4, (40,))
    result = relative_error(values[0], oracle.raw(1, [1] * 6, 4, 40))
    assert result < 1e-13
    assert result * values[0] <= errors[0]
    with pytest.raises(LawError, match="lower order"):
        raw_moments(0, np.array([1 - 1e-9, 1e-9]), 10**9, (60,))


def test_tiny_weights():
    """Down to the smallest normal numbers nothing overflows or turns into NaN."""
    weights = np.array([1.0, 0.0, 1e-300, 1e-307])
    values, _ = raw_moments(5, weights, 32)
    assert values.tolist() == pytest.approx([1.0, 1.0], rel=1e-15)
    value, error = variance(5, weights, 32, 1.0)
    loss = 32 * 7 / (31 * 5 + 7) - 1
    assert value == pytest.approx(32e-300 * loss**2, rel=1e-6)
    assert error >= 0


def test_threads_agree():
    weights = np.random.default_rng(5).dirichlet(np.ones(300))
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda n: raw_moments(0, weights, n)[0].tolist(), [8, 9] * 8))
    assert result[::2] == [result[0]] * 8
    assert result[1::2] == [result[1]] * 8
