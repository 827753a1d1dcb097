"""The families against mpmath, fractions and SciPy: every digit, also far out in the tails."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf
from stochastic.kernels.recurrence import walk
from stochastic.work.distribution import first_true
from stochastic.work.families import FAMILIES
from tests.long import draws

DIGITS = 50
Exact = Callable[[int], Any]


def geometric(p: float) -> Exact:
    return lambda k: mpmath.mpf(p) * (1 - mpmath.mpf(p)) ** (k - 1)


def poisson(rate: float) -> Exact:
    m = mpmath.mpf(rate)
    return lambda k: mpmath.exp(k * mpmath.log(m) - m - mpmath.loggamma(k + 1))


def binomial(n: int, p: float) -> Exact:
    q = mpmath.mpf(p)
    return lambda k: mpmath.binomial(n, k) * q**k * (1 - q) ** (n - k)


def negative_binomial(r: float, p: float) -> Exact:
    a, q = mpmath.mpf(r), mpmath.mpf(p)

    def pmf(k: int) -> Any:
        ways = mpmath.loggamma(a + k) - mpmath.loggamma(a) - mpmath.loggamma(k + 1)
        return mpmath.exp(ways + a * mpmath.log(q) + k * mpmath.log(1 - q))

    return pmf


LAWS = [
    (Pmf.geometric(0.05), geometric(0.05)),
    (Pmf.geometric(0.9), geometric(0.9)),
    (Pmf.geometric(3e-4), geometric(3e-4)),
    (Pmf.poisson(0.01), poisson(0.01)),
    (Pmf.poisson(30), poisson(30)),
    (Pmf.poisson(811.25), poisson(811.25)),
    (Pmf.poisson(2e5), poisson(2e5)),
    (Pmf.binomial(40, 0.5), binomial(40, 0.5)),
    (Pmf.binomial(1000, 0.01), binomial(1000, 0.01)),
    (Pmf.binomial(1000, 0.999), binomial(1000, 0.999)),
    (Pmf.binomial(100_000, 0.3), binomial(100_000, 0.3)),
    (Pmf.negative_binomial(5, 0.3), negative_binomial(5, 0.3)),
    (Pmf.negative_binomial(0.3, 0.01), negative_binomial(0.3, 0.01)),
    (Pmf.negative_binomial(2500.5, 0.7), negative_binomial(2500.5, 0.7)),
]
NAMED = pytest.mark.parametrize(("law", "exact"), LAWS, ids=lambda law: repr(law)[:40])


def worst(results: Any, exact: Exact, values: Any) -> float:
    """Largest relative error where the probability is above 1e-300."""
    with mpmath.workdps(DIGITS):
        errors = [
            abs(float(mpmath.mpf(float(got)) / want - 1))
            for got, k in zip(results, values, strict=True)
            if (want := exact(int(k))) > 1e-300
        ]
    assert errors
    return max(errors)


@NAMED
def test_weights_hold_every_digit_down_to_1e_minus_270(law: Pmf, exact: Exact) -> None:
    whole = law.cut(1e-270)
    assert whole.weights.sum() == pytest.approx(1, abs=1e-14)
    assert np.all(whole.weights >= 0)
    assert whole.weights[0] > 0
    assert whole.weights[-1] > 0
    at = np.unique(np.linspace(whole.low, whole.high, 150).astype(int))
    assert worst(whole.weights[at - whole.low], exact, at) < 1e-15


@NAMED
def test_pmf_of_single_values(law: Pmf, exact: Exact) -> None:
    last = law.cut(1e-100).high
    at = np.unique(np.linspace(law.low, last, 30).astype(int))
    assert worst(law.pmf(at), exact, at) < 3e-15
    assert worst([law.pmf(int(k)) for k in at[::7]], exact, at[::7]) < 3e-15


@NAMED
def test_tails_are_accurate_relative_to_themselves(law: Pmf, exact: Exact) -> None:
    far = law.cut(1e-200)
    at = np.unique([law.quantile(0.5), *(law.cut(eps).high for eps in (1e-3, 1e-12, 1e-60))])
    at = at[at < law.high]
    tails = np.cumsum(far.weights[::-1])[::-1]
    want = np.array([tails[k + 1 - far.low] for k in at if k < far.high])
    assert law.sf(at)[: len(want)] == pytest.approx(want, rel=2e-12)
    assert law.cdf(at) == pytest.approx(1 - law.sf(at), abs=1e-13)


@NAMED
def test_moments_are_those_of_the_whole_law(law: Pmf, exact: Exact) -> None:
    whole = law.cut(1e-40)
    assert law.mean() == pytest.approx(whole.mean(), rel=1e-13)
    assert law.var() == pytest.approx(whole.var(), rel=1e-12)
    assert law.std() == math.sqrt(law.var())


@pytest.mark.parametrize(
    ("law", "twin"),
    [
        (Pmf.geometric(0.2), scipy.stats.geom(0.2)),
        (Pmf.poisson(7.5), scipy.stats.poisson(7.5)),
        (Pmf.binomial(12, 0.3), scipy.stats.binom(12, 0.3)),
        (Pmf.negative_binomial(2.5, 0.4), scipy.stats.nbinom(2.5, 0.4)),
        (Pmf.uniform(3, 9), scipy.stats.randint(3, 10)),
        (Pmf.bernoulli(0.3), scipy.stats.bernoulli(0.3)),
    ],
    ids=lambda given: repr(given) if isinstance(given, Pmf) else "twin",
)
def test_families_are_those_of_scipy(law: Pmf, twin: Any) -> None:
    k = np.arange(-1, 15)
    assert law.pmf(k) == pytest.approx(twin.pmf(k), rel=1e-12, abs=1e-300)
    assert law.cdf(k) == pytest.approx(twin.cdf(k), rel=1e-12)
    assert law.sf(k) == pytest.approx(twin.sf(k), rel=1e-9, abs=1e-300)
    assert (law.mean(), law.var()) == pytest.approx((twin.mean(), twin.var()))
    q = np.array([0.01, 0.25, 0.5, 0.9, 0.999])
    assert law.quantile(q).tolist() == twin.ppf(q).tolist()
    assert Pmf.from_scipy(twin) == law


@settings(max_examples=draws(40), deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.1, 40), st.sampled_from([1e-3, 1e-6, 1e-15, 1e-30]))
def test_a_cut_is_the_smallest_with_the_tail_below_eps(p: float, x: float, eps: float) -> None:
    for law in (Pmf.geometric(p), Pmf.poisson(x), Pmf.negative_binomial(x, p)):
        cut = law.cut(eps)
        assert law.sf(cut.high) < eps
        assert cut.high == law.low or law.sf(cut.high - 1) >= eps
        assert cut.missing == law.sf(cut.high)
        remaining = 1 - cut.missing
        assert cut.weights * remaining == pytest.approx(law.pmf(np.arange(cut.low, cut.high + 1)))


def test_the_cut_of_the_paper() -> None:
    """Swatman 2022, section IV: eps = 1e-6 ends Geo(0.05) at 270."""
    cut = Pmf.geometric(0.05).cut(1e-6)
    assert (cut.low, cut.high, len(cut.weights)) == (1, 270, 270)
    assert cut.missing == pytest.approx(0.95**270, rel=1e-13)


def test_ties_of_a_cut() -> None:
    assert Pmf.geometric(0.5).cut(2.0**-20).high == 21


def test_ends_that_no_double_holds_are_left_out() -> None:
    for law in (Pmf.poisson(1e4), Pmf.negative_binomial(1e4, 0.5), Pmf.binomial(10**5, 0.5)):
        assert law.low > 0
        assert 0 < law.pmf(law.low) < 1e-300
        assert law.cut(1e-9).low == law.low
        assert law.cut(1e-9).weights.sum() == pytest.approx(1, abs=1e-14)
        assert law.cdf(law.low - 1) == 0
    high = Pmf.binomial(10**5, 0.5).high
    assert high < 10**5
    assert Pmf.binomial(10**5, 0.5).sf(high) == 0
    vast = Pmf.binomial(10**15, 0.5)
    away = math.sqrt(2 * 680 * vast.var())  # where exp(-x²/2σ²) is 1e-295
    assert vast.support() == pytest.approx((5e14 - away, 5e14 + away), abs=0.02 * away)


def test_far_apart_values_need_no_walk() -> None:
    law = Pmf.geometric(1e-9)
    at = [1, 2 * 10**9, 10**11]
    assert worst(law.pmf(at), geometric(1e-9), at) < 1e-13
    far = Pmf.poisson(1e9)
    assert far.pmf([0, 10**9]) == pytest.approx([0, 1 / math.sqrt(2e9 * math.pi)], rel=1e-9)
    assert far.quantile(0.5) == 10**9
    table = Pmf.negative_binomial(2, 1e-7).distribution.table(10**8, 10**8 + 2)
    assert table == pytest.approx(scipy.stats.nbinom(2, 1e-7).pmf(10**8 + np.arange(3)), rel=1e-6)


@settings(max_examples=draws(60), deadline=None)
@given(st.integers(0, 400), st.floats(0.05, 300))
@example(356, 274.7947999749904)  # a third from the mean, where x·log(x/m) - (x - m) cancels
def test_the_saddle_point_form(k: int, rate: float) -> None:
    at = np.array([float(k)])
    p = rate / (rate + 10)
    trials = k + int(rate)
    for result, exact in (
        (FAMILIES["poisson"].pmf(at, rate), poisson(rate)),
        (FAMILIES["negative_binomial"].pmf(at, rate, p), negative_binomial(rate, p)),
        (FAMILIES["binomial"].pmf(at, max(trials, 1), p), binomial(max(trials, 1), p)),
    ):
        with mpmath.workdps(DIGITS):
            want = exact(k)
            if want > 1e-290:
                slack = 2e-15 * (2 - float(mpmath.log(want)))
                assert abs(float(mpmath.mpf(float(result[0])) / want - 1)) < slack


def test_the_walk_is_exact_to_the_last_digit() -> None:
    terms = np.zeros(401)
    walk(0, 400, 200, 0.5, 0.0, 3.0, 1.0, terms)
    exact = Fraction(1)
    for k in range(200, 400):
        exact = exact * (3 + k) / (2 * (k + 1))
        assert terms[k + 1] == pytest.approx(float(exact), rel=3e-16)
    exact = Fraction(1)
    for k in range(199, -1, -1):
        exact = exact * 2 * (k + 1) / (3 + k)
        assert terms[k] == pytest.approx(float(exact), rel=3e-16)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "law",
    [
        Pmf.geometric(0.05),
        Pmf.poisson(30),
        Pmf.binomial(40, 0.5),
        Pmf.negative_binomial(5, 0.3),
        Pmf.uniform(20, 40),
        Pmf.bernoulli(0.3),
    ],
    ids=repr,
)
def test_samples_are_of_the_law(law: Pmf, seed: int) -> None:
    drawn = law.sample(40_000, seed)
    assert drawn.dtype == np.int64
    assert drawn.mean() == pytest.approx(law.mean(), abs=5 * law.std() / 200)
    at = law.quantile([0.1, 0.5, 0.9])
    assert [np.mean(drawn <= k) for k in at] == pytest.approx(law.cdf(at), abs=5 * 0.5 / 200)
    assert np.array_equal(drawn, law.sample(40_000, seed))
    assert drawn.min() >= law.low


def test_a_die() -> None:
    die = Pmf.uniform(1, 6)
    assert (die.mean(), die.var()) == (3.5, 35 / 12)
    assert (die.sf(5), die.cdf(5)) == (1 / 6, 5 / 6)


def test_constants() -> None:
    for law, value in (
        (Pmf.geometric(1), 1),
        (Pmf.poisson(0), 0),
        (Pmf.binomial(0, 0.3), 0),
        (Pmf.binomial(7, 1), 7),
        (Pmf.binomial(7, 0), 0),
        (Pmf.negative_binomial(2, 1), 0),
        (Pmf.bernoulli(0), 0),
        (Pmf.bernoulli(Fraction(1)), 1),
        (Pmf.uniform(5, 5), 5),
    ):
        assert law.support() == (value, value)
        assert law.weights.tolist() == [1.0]
        assert (law.mean(), law.var(), law.quantile(0.5)) == (value, 0, value)


def test_fractions_of_a_binomial() -> None:
    law = Pmf.binomial(3, Fraction(1, 3))
    assert law.weights.tolist() == pytest.approx([8 / 27, 12 / 27, 6 / 27, 1 / 27], rel=1e-15)
    with mpmath.workdps(DIGITS):
        third = binomial(5000, mpmath.mpf(1 / 3))
    whole = Pmf.binomial(5000, Fraction(1, 3))
    at = np.array([whole.low, whole.low + 1000, whole.low + 1500])
    assert worst(whole.pmf(at), third, at) < 3e-15


def test_first_true() -> None:
    assert [first_true(lambda k, n=n: k >= n, 3) for n in (0, 3, 4, 5, 1000)] == [3, 3, 4, 5, 1000]
    assert first_true(lambda k: False, 0) is None


BAD = [
    (lambda: Pmf.geometric(0), r"p = 0: expected a probability above 0 and up to 1"),
    (lambda: Pmf.geometric(1.5), r"p = 1\.5: expected"),
    (lambda: Pmf.geometric(math.nan), r"p = nan"),
    (lambda: Pmf.geometric("0.5"), r"p = '0\.5'"),
    (lambda: Pmf.poisson(-1), r"rate = -1: expected a finite number from 0"),
    (lambda: Pmf.poisson(math.inf), r"rate = inf"),
    (lambda: Pmf.poisson(math.nan), r"rate = nan"),
    (lambda: Pmf.binomial(2.5, 0.1), r"trials = 2\.5: expected a whole number"),
    (lambda: Pmf.binomial(-1, 0.1), r"trials = -1"),
    (lambda: Pmf.binomial(4, -0.1), r"p = -0\.1: expected a probability from 0 to 1"),
    (lambda: Pmf.negative_binomial(0, 0.1), r"r = 0: expected a finite number above 0"),
    (lambda: Pmf.negative_binomial(1, 0), r"p = 0"),
    (lambda: Pmf.uniform(3, 2), r"low = 3 is above high = 2"),
    (lambda: Pmf.uniform(-1, 2), r"low = -1"),
    (lambda: Pmf.uniform(1.5, 2), r"low = 1\.5"),
    (lambda: Pmf.bernoulli(2), r"p = 2"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_parameters_are_checked(build: Callable[[], Pmf], message: str) -> None:
    with pytest.raises(LawError, match=message):
        build()
