"""Fits against brute force: likeliest, curved as told, as far from the samples as told."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf, fit
from stochastic.work.families import FAMILIES, Histogram
from stochastic.work.fitting import LawFit
from tests.long import draws, long

LAWS = {
    "bernoulli": Pmf.bernoulli(0.3),
    "binomial": Pmf.binomial(40, 0.5),
    "geometric": Pmf.geometric(0.05),
    "negative_binomial": Pmf.negative_binomial(5, 0.3),
    "poisson": Pmf.poisson(30),
    "uniform": Pmf.uniform(20, 40),
}
NAMES = pytest.mark.parametrize("name", LAWS)


def one(samples: Any, name: str, **options: Any) -> LawFit:
    (result,) = fit(samples, name, **{"replicates": 0, **options})
    return result


def log_likelihood(samples: Any, law: Pmf) -> float:
    return float(np.sum(np.log(law.pmf(samples))))


@NAMES
def test_the_family_drawn_from_comes_first(name: str) -> None:
    law = LAWS[name]
    result = fit(law.sample(5000, 2), replicates=99)
    assert result[0].family == name
    assert result[0].p_value > 0.01
    assert [one.aic for one in result] == sorted(one.aic for one in result)
    for one in result:
        assert one.pmf == getattr(Pmf, one.family)(*one.parameters.values())
        assert one.aic == 2 * len(one.parameters) - 2 * one.log_likelihood
    others = [one for one in result if name not in {one.family, "bernoulli"}]
    clear = [one for one in others if one.aic > result[0].aic + 100]
    assert all(one.p_value == 0.01 for one in clear)


@NAMES
@pytest.mark.parametrize("seed", range(4))
def test_estimates_are_within_their_errors(name: str, seed: int) -> None:
    law = LAWS[name]
    result = one(law.sample(3000, seed), name)
    truth = {
        "bernoulli": {"p": 0.3},
        "binomial": {"trials": 40, "p": 0.5},
        "geometric": {"p": 0.05},
        "negative_binomial": {"r": 5, "p": 0.3},
        "poisson": {"rate": 30},
        "uniform": {"low": 20, "high": 40},
    }[name]
    assert list(result.parameters) == list(truth)
    for key, value in truth.items():
        assert abs(result.parameters[key] - value) <= 4 * result.standard_errors[key]


@NAMES
def test_the_likelihood_is_that_of_the_law(name: str) -> None:
    samples = LAWS[name].sample(300, 5)
    for result in fit(samples, replicates=0):
        assert result.log_likelihood == pytest.approx(
            log_likelihood(samples, result.pmf), rel=1e-12
        )


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=40).filter(lambda x: len(set(x)) > 1))
def test_no_law_of_the_family_is_likelier(samples: list[int]) -> None:
    for result in fit(samples, replicates=0):
        best, at = result.log_likelihood, result.parameters
        assert best == pytest.approx(log_likelihood(samples, result.pmf), rel=1e-9, abs=1e-9)
        if result.family == "uniform":
            near = [(at["low"], at["high"] + 1), (max(at["low"] - 1, 0), at["high"] + 1)]
        elif result.family == "binomial":
            m = float(np.mean(samples))
            tried = {*range(max(samples), 400), max(int(at["trials"]) - 1, max(samples))}
            near = [(n, m / n) for n in tried]
        else:
            near = [
                tuple(v * (1 + d) if k == key else v for k, v in at.items())
                for key in at
                for d in (-1e-3, 1e-3, 0.1)
            ]
            near = [point for point in near if point[-1] <= 1 or result.family == "poisson"]
        for point in near:
            other = getattr(Pmf, result.family)(*point)
            with np.errstate(divide="ignore"):
                assert log_likelihood(samples, other) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("seed", range(3))
def test_the_negative_binomial_against_a_general_optimiser(seed: int) -> None:
    samples = Pmf.negative_binomial(2.5, 0.1).sample(400, seed)

    def negative(x: Any) -> float:
        r, p = np.exp(x[0]), 1 / (1 + np.exp(-x[1]))
        return -float(scipy.stats.nbinom(r, p).logpmf(samples).sum())

    options = {"xatol": 1e-10, "fatol": 1e-10, "maxiter": 4000}
    result = scipy.optimize.minimize(negative, [0.0, 0.0], method="Nelder-Mead", options=options)
    ours = one(samples, "negative_binomial")
    assert ours.parameters["r"] == pytest.approx(np.exp(result.x[0]), rel=1e-6)
    assert ours.parameters["p"] == pytest.approx(1 / (1 + np.exp(-result.x[1])), rel=1e-6)
    assert ours.log_likelihood == pytest.approx(-result.fun, rel=1e-12)


def curvature(f: Callable[..., float], at: list[float], steps: list[float]) -> Any:
    """Minus the matrix of second derivatives, by central differences."""
    size = len(at)
    result = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            total = 0.0
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                point = list(at)
                point[i] += a * steps[i]
                point[j] += b * steps[j]
                total += a * b * f(*point)
            result[i, j] = -total / (4 * steps[i] * steps[j])
    return result


@pytest.mark.parametrize(
    ("name", "logpmf"),
    [
        ("poisson", lambda x, rate: scipy.stats.poisson(rate).logpmf(x)),
        ("geometric", lambda x, p: scipy.stats.geom(p).logpmf(x)),
        ("bernoulli", lambda x, p: scipy.stats.bernoulli(p).logpmf(x)),
        ("negative_binomial", lambda x, r, p: scipy.stats.nbinom(r, p).logpmf(x)),
        (
            "binomial",
            lambda x, n, p: (
                -np.log(n + 1)
                - scipy.special.betaln(n - x + 1, x + 1)
                + x * np.log(p)
                + (n - x) * np.log1p(-p)
            ),
        ),
    ],
)
def test_standard_errors_are_of_the_observed_information(name: str, logpmf: Any) -> None:
    samples = LAWS[name].sample(500, 3)
    result = one(samples, name)
    at = list(result.parameters.values())
    information = curvature(
        lambda *point: float(np.sum(logpmf(samples, *point))), at, [abs(v) * 1e-3 for v in at]
    )
    want = np.sqrt(np.diag(np.linalg.inv(information)))
    assert list(result.standard_errors.values()) == pytest.approx(want, rel=2e-3)


@settings(max_examples=draws(30), deadline=None)
@given(st.integers(0, 5), st.integers(1, 9), st.integers(2, 30))
def test_errors_of_a_uniform_law_are_those_of_the_extremes(low: int, more: int, n: int) -> None:
    histogram = Histogram(np.bincount([low, low + more] + [low] * (n - 2)))
    width = more + 1
    below = [Fraction(k, width) ** n for k in range(width + 1)]
    chances = [below[k + 1] - below[k] for k in range(width)]
    mean = sum(k * w for k, w in enumerate(chances))
    spread = math.sqrt(sum((k - mean) ** 2 * w for k, w in enumerate(chances)))
    result = FAMILIES["uniform"].errors(histogram, low, low + more)
    assert result == pytest.approx((spread, spread), rel=1e-9, abs=1e-12)


def test_errors_of_a_wide_uniform_law() -> None:
    wide = Histogram(np.bincount([0, 999_999, 5]))
    exact = FAMILIES["uniform"].errors(wide, 0, 999_999)
    assert exact == pytest.approx(FAMILIES["uniform"].errors(wide, 0, 1_000_000), rel=1e-5)


@settings(max_examples=draws(30), deadline=None)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=30).filter(lambda x: len(set(x)) > 1))
def test_the_distance_is_the_sum_it_says(samples: list[int]) -> None:
    for result in fit(samples, replicates=0):
        k = np.arange(400)
        seen = np.array([sum(x <= one for x in samples) / len(samples) for one in k])
        want = np.sum((seen - result.pmf.cdf(k)) ** 2 * result.pmf.pmf(k))
        assert result.distance == pytest.approx(len(samples) * want, rel=1e-8, abs=1e-11)
        assert math.isnan(result.p_value)


@long
@pytest.mark.parametrize("name", ["negative_binomial", "poisson", "uniform", "geometric"])
def test_p_values_spread_evenly_where_the_family_is_right(name: str) -> None:
    values = [
        one(LAWS[name].sample(60, seed), name, replicates=39, seed=seed).p_value
        for seed in range(60)
        if name != "uniform" or len(set(LAWS[name].sample(60, seed))) > 1
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=0.13)
    assert np.mean(np.array(values) <= 0.1) < 0.25
    assert max(values) > 0.8


def test_p_values_of_the_limit_between_binomial_and_negative_binomial() -> None:
    samples = [0] * 18 + [1] * 22 + [2] * 11 + [3] * 3 + [4]
    for result in fit(samples, replicates=60):
        assert 0 < result.p_value <= 1
    assert {"poisson", "binomial"} <= {result.family for result in fit(samples, replicates=0)}


def test_a_law_that_takes_any_samples_fits_them_all() -> None:
    result = one([0, 1, 1, 0, 1], "bernoulli", replicates=50)
    assert result.distance < 1e-20
    assert result.p_value == 1


def test_trials_at_the_largest_sample() -> None:
    result = one([0, 1, 1, 0, 1], "binomial")
    assert result.parameters == {"trials": 1, "p": 0.6}
    assert math.isnan(result.standard_errors["trials"])
    assert result.standard_errors["p"] == pytest.approx(math.sqrt(0.24 / 5))


def test_a_fit_is_the_same_each_time_and_travels() -> None:
    samples = Pmf.poisson(3).sample(50, 1)
    first = fit(samples, replicates=30, seed=7)
    assert first == fit(samples.reshape(5, 10), replicates=30, seed=7)
    assert pickle.loads(pickle.dumps(first)) == first
    assert fit(samples, replicates=30, seed=8)[0].log_likelihood == first[0].log_likelihood
    with pytest.raises(AttributeError):
        first[0].aic = 0.0  # type: ignore[misc]


def test_samples_as_floats_and_far_outliers() -> None:
    assert one([1.0, 2.0, 2.0], "poisson").parameters == {"rate": 5 / 3}
    result = {f.family: f for f in fit([1, 2, 3, 2, 900], replicates=0)}
    assert math.isfinite(result["poisson"].log_likelihood)
    assert result["poisson"].aic > result["negative_binomial"].aic
    big = Histogram(np.bincount([0, 3_000_000, 2_999_999] + [1] * 10**6))
    values = [0, 3_000_000, 2_999_999] + [1] * 10**6
    exact = Fraction(sum(v * v for v in values)) - Fraction(sum(values) ** 2, len(values))
    assert big.excess == (exact - sum(values)) * len(values)


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        ([], {}, "no samples: expected at least one"),
        ([3, 3, 3], {}, r"all 3 samples are 3, which determines no family.*Pmf\.from_samples"),
        ([5], {}, "all 1 samples are 5"),
        ([3, -1], {}, "sample 1 is -1"),
        ([3, 1.5], {}, r"sample 1 is 1\.5"),
        ([3, math.nan], {}, "sample 1 is nan"),
        (["a"], {}, "samples of type"),
        ([3, 10**7], {}, "largest sample is 10000000.*count the work in larger units"),
        ([3, 4], {"families": "gauss"}, "'gauss' is no family: expected some of bernoulli"),
        ([3, 4], {"families": []}, "no families"),
        ([0, 4], {"families": "geometric"}, "geometric does not fit.*start at 1.*leave it out"),
        ([0, 4], {"families": ["poisson", "bernoulli"]}, "bernoulli does not fit"),
        ([0, 90], {"families": ["binomial"]}, "variance of a binomial law is below.*leave it out"),
        ([3, 4], {"families": "negative_binomial"}, "variance is above its mean"),
        ([0, 2], {"families": "binomial"}, "binomial does not fit"),
        ([3, 4], {"replicates": -1}, "replicates = -1"),
    ],
)
def test_what_is_given_is_checked(samples: Any, options: Any, message: str) -> None:
    with pytest.raises(LawError, match=message):
        fit(samples, **options)
