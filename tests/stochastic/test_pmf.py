"""The class Pmf: constructors, answers, algebra; brute force with fractions beside it."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf
from tests.long import draws
from tests.oracles.law_fractions import fractions_of


@st.composite
def exact_laws(draw: st.DrawFn, values: int = 6) -> Pmf:
    counts = draw(st.lists(st.integers(0, 9), min_size=1, max_size=values).filter(any))
    low = draw(st.integers(0, 4))
    total = sum(counts)
    return Pmf.from_weights([Fraction(c, total) for c in counts], low=low)


def table(law: Pmf) -> dict[int, Fraction]:
    return {k: w for k, w in enumerate(fractions_of(law)) if w}


def agree(law: Pmf, want: dict[int, Fraction]) -> None:
    """Assert that a law is the one in fractions."""
    assert law.support() == (min(k for k in want if want[k]), max(k for k in want if want[k]))
    chances = [float(want.get(k, 0)) for k in range(law.low, int(law.high) + 1)]
    assert law.weights.tolist() == pytest.approx(chances, rel=1e-14, abs=0)
    assert law.weights[0] > 0
    assert law.weights[-1] > 0


# --- constructors
def test_from_weights() -> None:
    law = Pmf.from_weights([0.2, 0.3, 0.5], low=3)
    assert (law.low, law.high, law.support(), law.is_finite) == (3, 5, (3, 5), True)
    assert law.weights.tolist() == [0.2, 0.3, 0.5]
    assert law.missing == 0
    assert Pmf.from_weights({3: 0.2, 4: 0.3, 5: 0.5}) == law
    assert Pmf.from_weights(np.array([0.2, 0.3, 0.5]), 3) == law
    assert Pmf.from_weights([0, 0.2, 0.3, 0.5, 0.0], 2) == law
    assert Pmf.from_weights([2.0, 3.0, 5.0], 3, normalise=True) == law
    with pytest.raises(ValueError, match="read-only"):
        law.weights[0] = 1
    with pytest.raises(AttributeError):
        law.missing = 1.0  # type: ignore[misc]


def test_floats_need_sum_to_one_within_1e_9_only() -> None:
    law = Pmf.from_weights([0.5, 0.5 + 9e-10])
    assert law.weights.sum() == pytest.approx(1, abs=2e-16)
    assert Pmf.from_weights([0.1] * 10).weights.tolist() == [0.1] * 10
    with pytest.raises(LawError, match=r"sum to 1\.00000000\d*, not to 1: give normalise=True"):
        Pmf.from_weights([0.5, 0.5 + 2e-9])


def test_huge_and_tiny_weights() -> None:
    law = Pmf.from_weights([1e308, 1e308, 1e-308], normalise=True)
    assert law.weights[:2].tolist() == [0.5, 0.5]
    assert law.high == 1  # 1e-616 is none


def test_fractions_become_the_nearest_doubles() -> None:
    law = Pmf.from_weights([Fraction(1, 3), Fraction(2, 3)], low=2)
    assert law.weights.tolist() == [1 / 3, 2 / 3]
    assert Pmf.from_weights([1, 2, 1], normalise=True).weights.tolist() == [0.25, 0.5, 0.25]
    assert Pmf.from_weights([Fraction(1, 2), 0.5]).weights.tolist() == [0.5, 0.5]
    assert Pmf.from_weights({7: 1}).weights.tolist() == [1.0]
    assert Pmf.bernoulli(Fraction(1, 3)) == Pmf.bernoulli(1 / 3)
    assert Pmf.from_weights([1, 3**50], normalise=True).weights[0] == 1 / (1 + 3**50)
    assert Pmf.uniform(1, 49).scale(1).between(1, 49).weights.tolist() == [1 / 49] * 49


def test_from_counts_and_samples() -> None:
    law = Pmf.from_counts({3: 1, 5: 3})
    assert law.weights.tolist() == [0.25, 0, 0.75]
    assert Pmf.from_counts([1, 0, 3], low=3) == law
    assert Pmf.from_samples([5, 3, 5, 5]) == law
    assert Pmf.from_samples(np.array([[5.0, 3.0], [5.0, 5.0]])) == law
    assert Pmf.from_samples(np.array([5, 3, 5, 5], dtype=np.uint8)) == law
    assert Pmf.from_samples([7]).weights.tolist() == [1]
    far = Pmf.from_samples(np.array([10**12, 10**12 + 1]))
    assert far.support() == (10**12, 10**12 + 1)
    wide = Pmf.from_samples(np.arange(10_000))
    assert wide.weights == pytest.approx(np.full(10_000, 1e-4), rel=1e-15)


BAD = [
    (lambda: Pmf.from_weights([0.5, 0.6]), r"sum to 1\.1, not to 1: give normalise=True"),
    (lambda: Pmf.from_weights([1, 2]), "sum to 3, not to 1: give normalise=True"),
    (lambda: Pmf.from_weights([Fraction(1, 3)] * 2), "sum to 2/3, not to 1"),
    (lambda: Pmf.from_weights([0.5, -0.1, 0.6]), r"hold -0\.1: expected finite numbers from 0"),
    (lambda: Pmf.from_weights([Fraction(-1, 3), 1]), "hold -1/3: expected numbers from 0"),
    (lambda: Pmf.from_weights([0.5, math.nan]), "hold nan"),
    (lambda: Pmf.from_weights([math.inf], normalise=True), "hold inf"),
    (lambda: Pmf.from_weights([]), "no weights: expected at least one value"),
    (lambda: Pmf.from_weights({}), "no weights"),
    (lambda: Pmf.from_weights([0.0, 0.0], normalise=True), "all 0"),
    (lambda: Pmf.from_weights([0, 0], normalise=True), "all 0"),
    (lambda: Pmf.from_weights({1.5: 1.0}), r"a value = 1\.5: expected a whole number"),
    (lambda: Pmf.from_weights({-1: 1.0}), "a value = -1"),
    (lambda: Pmf.from_weights({1: 1.0}, low=2), "a mapping names its values itself"),
    (lambda: Pmf.from_weights([1.0], low=-1), "low = -1"),
    (lambda: Pmf.from_weights("1"), "expected a list of numbers"),
    (lambda: Pmf.from_weights(0.5), "expected a list of numbers"),
    (lambda: Pmf.from_weights(["a"]), "expected numbers"),
    (lambda: Pmf.from_weights([[0.5, 0.5]]), "expected numbers"),
    (lambda: Pmf.from_weights(np.eye(2)), "expected a list of numbers"),
    (lambda: Pmf.from_weights({0: 0.5, 10**9: 0.5}), r"1e\+09 values.*count the work in larger"),
    (lambda: Pmf.from_counts([1, 2.5]), r"a count = 2\.5"),
    (lambda: Pmf.from_counts([1, -1]), "a count = -1"),
    (lambda: Pmf.from_counts([0, 0]), "counts are all 0"),
    (lambda: Pmf.from_counts([]), "no counts"),
    (lambda: Pmf.from_samples([]), "no samples: expected at least one"),
    (lambda: Pmf.from_samples([1, 1.5]), r"sample 1 is 1\.5: expected whole numbers"),
    (lambda: Pmf.from_samples([3, -1]), "sample 1 is -1"),
    (lambda: Pmf.from_samples([math.nan]), "sample 0 is nan"),
    (lambda: Pmf.from_samples([math.inf]), "sample 0 is inf"),
    (lambda: Pmf.from_samples(["a"]), "samples of type"),
    (lambda: Pmf.from_samples([[1], [1, 2]]), "samples of type"),
    (lambda: Pmf.from_samples([Fraction(1, 2)]), "a sample = "),
    (lambda: Pmf.from_samples([0, 10**9]), r"1e\+09 values"),
    (lambda: Pmf.mixture([]), "expected a list of pairs"),
    (lambda: Pmf.mixture([(1.0, "x")]), "expected a list of pairs"),  # type: ignore[list-item]
    (lambda: Pmf.mixture([(0.5, Pmf.uniform(0, 1))]), "probabilities sum to 0.5, not to 1"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_what_is_given_is_checked(build: Any, message: str) -> None:
    with pytest.raises(LawError, match=message):
        build()


# --- answers
@settings(max_examples=draws(100), deadline=None)
@given(exact_laws())
def test_moments_and_chances(law: Pmf) -> None:
    chances = table(law)
    mean = sum(k * w for k, w in chances.items())
    assert law.mean() == pytest.approx(float(mean), rel=1e-14)
    var = sum((k - mean) ** 2 * w for k, w in chances.items())
    assert law.var() == pytest.approx(float(var), rel=1e-13, abs=1e-300)
    for k in range(law.low - 1, int(law.high) + 2):
        below = sum(w for v, w in chances.items() if v <= k)
        assert law.pmf(k) == pytest.approx(float(chances.get(k, 0)), rel=1e-15)
        assert law.cdf(k) == law.cdf(k + 0.5) == pytest.approx(float(below), abs=1e-15)
        assert law.sf(k) == pytest.approx(float(1 - below), rel=1e-14, abs=1e-300)
        assert law.pmf(k + 0.5) == 0


@settings(max_examples=draws(60), deadline=None)
@given(
    st.one_of(
        exact_laws(),
        st.sampled_from(
            [
                Pmf.geometric(0.1),
                Pmf.poisson(20),
                Pmf.binomial(30, 0.4),
                Pmf.negative_binomial(2, 0.2),
                Pmf.uniform(3, 300),
                Pmf.mixture([(0.3, Pmf.poisson(3)), (0.7, Pmf.uniform(10, 20))]),
                Pmf.poisson(9).max_of(4),
                Pmf.geometric(0.3).scale(3),
            ]
        ),
    ),
    st.floats(0, 0.999999),
)
def test_a_quantile_is_the_inverse_of_the_cdf(law: Pmf, q: float) -> None:
    k = law.quantile(q)
    assert isinstance(k, int)
    assert law.cdf(k) >= q
    assert k == law.low or law.cdf(k - 1) < q
    again = law.quantile(law.cdf(k))
    assert law.cdf(again) == law.cdf(k)
    assert law.quantile(0) == law.low
    if law.is_finite:
        assert law.quantile(1) == law.high


def test_shapes_of_answers() -> None:
    law = Pmf.uniform(1, 6)
    assert isinstance(law.cdf(3), float)
    assert law.cdf([[1, 2], [3, 4]]).shape == (2, 2)
    assert law.quantile([[0.1], [0.9]]).tolist() == [[1], [6]]
    assert law.pmf(np.array([])).shape == (0,)
    assert law.cdf([-math.inf, math.inf]).tolist() == [0, 1]
    assert law.sample(seed=3) in range(1, 7)
    assert law.sample((2, 3), np.random.default_rng(1)).shape == (2, 3)
    assert Pmf.from_weights([0.5, 0.5]).sample(5, 1).dtype == np.int64


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Pmf.geometric(0.2).quantile(1), "q = 1: .* no largest value"),
        (lambda: Pmf.geometric(0.2).quantile(-0.1), "expected probabilities from 0 to 1"),
        (lambda: Pmf.geometric(0.2).quantile([0.5, 1.1]), "expected probabilities"),
        (lambda: Pmf.geometric(1e-300).quantile(0.5), "beyond 2"),
        (lambda: Pmf.geometric(0.2).cdf("a"), "k = 'a': expected a number"),
        (lambda: Pmf.geometric(0.2).cdf(math.nan), "not NaN"),
        (lambda: Pmf.geometric(0.2).weights, r"no last value: cut\(eps\)"),
        (lambda: Pmf.geometric(0.2).cut(0), "eps = 0"),
        (lambda: Pmf.geometric(0.2).cut(1), "eps = 1"),
        (lambda: Pmf.geometric(1e-7).cut(1e-9), r"2\.07e\+08 values.*larger eps.*truncate.*sample"),
        (lambda: Pmf.geometric(1e-300).cut(1e-9), "larger eps"),
        (lambda: Pmf.uniform(0, 10**9).weights, r"1e\+09 values"),
        (lambda: Pmf.uniform(0, 10**4).scale(10**5).weights, r"1e\+09 values"),
        (lambda: Pmf.uniform(0, 10**7).sum_of(100), r"1e\+09 values"),
        (lambda: Pmf.uniform(0, 1000).sum_of(1000), "takes some"),
        (lambda: Pmf.uniform(0, 3).between(4, 5), "no probability .* from 4 to 5"),
        (lambda: Pmf.uniform(0, 3).between(2, 1), "no probability .* from 2 to 1"),
        (lambda: Pmf.uniform(2, 3).truncate(1), "no probability"),
        (lambda: Pmf.poisson(3).between(500), "no probability .* from 500"),
        (lambda: Pmf.from_counts({0: 1, 4: 1}).between(1, 3), "no probability"),
        (lambda: Pmf.from_weights({0: 0.5, 4: 0.5}).between(1, 3), "no probability"),
        (lambda: Pmf.poisson(3).shift(-1), "k = -1"),
        (lambda: Pmf.poisson(3).shift(0.5), "k = 0.5"),
        (lambda: Pmf.poisson(3).scale(0), "k = 0"),
        (lambda: Pmf.poisson(3).sum_of(0), "copies = 0"),
        (lambda: Pmf.poisson(3).max_of(1.5), "copies = 1.5"),
    ],
)
def test_questions_are_checked(ask: Any, message: str) -> None:
    with pytest.raises(LawError, match=message):
        ask()


def test_what_needs_no_table_is_told_of_a_huge_law() -> None:
    law = Pmf.uniform(0, 10**9)
    assert law.mean() == 5e8
    assert law.quantile(0.25) == 250_000_000
    assert law.sample(3, 1).max() > 10**6
    assert hash(law) == hash(Pmf.uniform(0, 10**9))
    assert law == Pmf.uniform(0, 10**9)
    assert law.cdf(10**8) == pytest.approx(0.1)


# --- algebra, in fractions and in floats
@settings(max_examples=draws(60), deadline=None)
@given(exact_laws(4), st.integers(1, 5))
def test_sums_of_copies(law: Pmf, copies: int) -> None:
    want: Counter[int] = Counter()
    for draw in itertools.product(table(law).items(), repeat=copies):
        want[sum(k for k, _ in draw)] += math.prod(w for _, w in draw)  # type: ignore[assignment]
    agree(law.sum_of(copies), want)  # type: ignore[arg-type]


@settings(max_examples=draws(60), deadline=None)
@given(exact_laws(), exact_laws())
def test_sums_of_two_laws(first: Pmf, second: Pmf) -> None:
    want: Counter[int] = Counter()
    for (a, v), (b, w) in itertools.product(table(first).items(), table(second).items()):
        want[a + b] += v * w  # type: ignore[assignment]
    agree(first + second, want)  # type: ignore[arg-type]
    got = first + second
    assert got.mean() == pytest.approx(first.mean() + second.mean())
    assert got.var() == pytest.approx(first.var() + second.var())


@settings(max_examples=draws(60), deadline=None)
@given(exact_laws(4), st.integers(1, 5))
def test_maxima_of_copies(law: Pmf, copies: int) -> None:
    want: Counter[int] = Counter()
    for draw in itertools.product(table(law).items(), repeat=copies):
        want[max(k for k, _ in draw)] += math.prod(w for _, w in draw)  # type: ignore[assignment]
    agree(law.max_of(copies), want)  # type: ignore[arg-type]


@settings(max_examples=draws(60), deadline=None)
@given(exact_laws(), exact_laws(), exact_laws(), st.integers(1, 8), st.integers(0, 8))
def test_mixtures(a: Pmf, b: Pmf, c: Pmf, x: int, y: int) -> None:
    shares = [Fraction(x, x + y + 1), Fraction(y, x + y + 1), Fraction(1, x + y + 1)]
    law = Pmf.mixture(list(zip(shares, (a, b, c), strict=True)))
    want = {
        k: sum(
            (s * table(p).get(k, Fraction(0)) for s, p in zip(shares, (a, b, c), strict=True)),
            Fraction(0),
        )
        for k in range(int(max(p.high for p in (a, b, c))) + 1)
    }
    agree(law, want)


@settings(max_examples=draws(100), deadline=None)
@given(exact_laws(), st.integers(0, 9), st.integers(0, 9), st.integers(1, 4), st.integers(0, 5))
def test_ranges_shifts_and_scales(law: Pmf, low: int, high: int, by: int, k: int) -> None:
    chances = table(law)
    agree(law.shift(k), {v + k: w for v, w in chances.items()})
    agree(law.shift(k).shift(-k), chances)
    agree(law.scale(by), {v * by: w for v, w in chances.items()})
    agree(law.scale(by).scale(2), {v * by * 2: w for v, w in chances.items()})
    assert law.shift(k).mean() == pytest.approx(law.mean() + k)
    assert law.scale(by).var() == pytest.approx(law.var() * by * by)
    inside = {v: w for v, w in chances.items() if low <= v <= high}
    assume(inside)
    mass = sum(inside.values())
    agree(law.between(low, high), {v: w / mass for v, w in inside.items()})
    assert law.between(low, high).missing == 0
    upto = {v: w for v, w in chances.items() if v <= high}
    below = sum(upto.values())
    agree(law.truncate(high), {v: w / below for v, w in upto.items()})
    assert law.truncate(high).missing == pytest.approx(float(1 - below), abs=1e-15)


def test_closed_sums() -> None:
    assert Pmf.poisson(3).sum_of(4) == Pmf.poisson(12)
    assert Pmf.poisson(3) + Pmf.poisson(4.5) == Pmf.poisson(7.5)
    assert Pmf.binomial(5, 0.3).sum_of(3) == Pmf.binomial(15, 0.3)
    assert Pmf.binomial(5, 0.3) + Pmf.binomial(2, 0.3) == Pmf.binomial(7, 0.3)
    assert Pmf.negative_binomial(2.5, 0.3).sum_of(2) == Pmf.negative_binomial(5, 0.3)
    assert Pmf.geometric(0.3).sum_of(4) == Pmf.negative_binomial(4, 0.3).shift(4)
    both = Pmf.geometric(0.3).shift(1) + Pmf.negative_binomial(2, 0.3)
    assert both == Pmf.negative_binomial(3, 0.3).shift(2)
    third = Pmf.binomial(2, Fraction(1, 3)).sum_of(2)
    whole = Pmf.from_weights([Fraction(2, 3), Fraction(1, 3)]).sum_of(4)
    assert third.weights == pytest.approx(whole.weights, rel=1e-14)


@pytest.mark.parametrize(
    ("closed", "one", "copies"),
    [
        (Pmf.poisson(12), Pmf.poisson(3), 4),
        (Pmf.negative_binomial(4, 0.3).shift(4), Pmf.geometric(0.3), 4),
        (Pmf.binomial(15, 0.3), Pmf.binomial(5, 0.3), 3),
    ],
    ids=repr,
)
def test_closed_sums_are_the_convolutions(closed: Pmf, one: Pmf, copies: int) -> None:
    brute = one.cut(1e-40).sum_of(copies)
    at = np.arange(brute.low, min(brute.high, closed.cut(1e-12).high) + 1)
    assert closed.pmf(at) == pytest.approx(brute.pmf(at), rel=1e-13)


def test_a_sum_without_closed_form_tells_what_is_missing() -> None:
    for law in (Pmf.poisson(3) + Pmf.geometric(0.5), Pmf.binomial(3, 0.5) + Pmf.binomial(3, 0.25)):
        assert law.is_finite
        assert 0 <= law.missing < 3e-20
    law = Pmf.poisson(3) + Pmf.geometric(0.5)
    assert law.mean() == pytest.approx(5, rel=1e-14)
    assert law.var() == pytest.approx(5, rel=1e-13)
    three = Pmf.mixture([(0.5, Pmf.poisson(3)), (0.5, Pmf.geometric(0.5))]).sum_of(3)
    assert three.mean() == pytest.approx(7.5, rel=1e-14)


def test_a_long_sum_keeps_its_tails() -> None:
    law = Pmf.uniform(0, 10).sum_of(200)
    assert law.weights[0] == pytest.approx(11.0**-200, rel=1e-12)
    assert law.weights[-1] == pytest.approx(11.0**-200, rel=1e-12)
    assert law.weights == pytest.approx(law.weights[::-1], rel=1e-12)
    many = Pmf.uniform(0, 3).sum_of(700)
    assert many.low > 0  # 4**-700 is none
    assert many.weights.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("copies", [2, 32, 1000])
@pytest.mark.parametrize("of", [Pmf.geometric(0.05), Pmf.poisson(30)], ids=repr)
def test_the_largest_of_copies_of_an_infinite_law(of: Pmf, copies: int) -> None:
    law = of.max_of(copies)
    assert not law.is_finite
    k = np.arange(1, 400)
    assert law.cdf(k) == pytest.approx(of.cdf(k) ** copies, rel=1e-12)
    assert law.sf(k) == pytest.approx(-np.expm1(copies * np.log1p(-of.sf(k))), rel=1e-12)
    differences = np.diff(of.cdf(np.arange(400)) ** copies)
    assert law.pmf(k) == pytest.approx(differences, abs=1e-14 + 1e-15 * copies)
    cut = law.cut(1e-12)
    assert law.sf(cut.high) < 1e-12 <= law.sf(cut.high - 1)
    assert cut.pmf(k) == pytest.approx(law.pmf(k), abs=1e-11, rel=1e-9)
    steps = np.arange(0, 5000)
    assert law.mean() == pytest.approx(law.sf(steps).sum(), rel=1e-12)
    assert law.max_of(3) == of.max_of(3 * copies)


def test_the_mean_of_the_largest_geometric() -> None:
    """E[max] = sum of C(n, k)·(-1)**(k+1)/(1 - q**k); shared notes on the theory."""
    q = Fraction(19, 20)
    for n in (2, 8, 32):
        exact = sum(math.comb(n, k) * (-1) ** (k + 1) / (1 - q**k) for k in range(1, n + 1))
        assert Pmf.geometric(0.05).max_of(n).mean() == pytest.approx(float(exact), rel=1e-14)


@settings(max_examples=draws(30), deadline=None)
@given(st.floats(0.01, 0.99), st.integers(0, 30), st.integers(0, 40))
def test_parts_of_infinite_laws(p: float, low: int, more: int) -> None:
    for law in (Pmf.geometric(p), Pmf.poisson(20 * p), Pmf.negative_binomial(3, p)):
        mass = law.sf(low - 1)
        assume(mass > 1e-250)
        k = np.arange(max(low, law.low), low + 60)
        above = law.between(low)
        assert above.pmf(k) == pytest.approx(law.pmf(k) / mass, rel=1e-12, abs=1e-300)
        assert above.sf(k) == pytest.approx(law.sf(k) / mass, rel=1e-11, abs=1e-300)
        assert above.cut(1e-9).mean() == pytest.approx(above.mean(), rel=1e-6)
        high = low + more + 1
        part = law.between(low, high)
        inside = law.pmf(np.arange(part.low, part.high + 1))
        assert part.weights == pytest.approx(inside / inside.sum(), rel=1e-13)
        assert part.missing == 0
        cut = law.truncate(high)
        assert cut.missing == pytest.approx(law.sf(high))
        assert cut.weights == pytest.approx(
            law.pmf(np.arange(cut.low, high + 1)) / law.cdf(high), rel=1e-11
        )


def test_a_geometric_forgets() -> None:
    assert Pmf.geometric(0.05).between(21) == Pmf.geometric(0.05).shift(20)


def test_infinite_mixtures() -> None:
    a, b = Pmf.poisson(30), Pmf.geometric(0.1).shift(5)
    law = Pmf.mixture([(0.25, a), (0.5, b), (0.25, Pmf.uniform(2, 7))])
    c = Pmf.uniform(2, 7)
    k = np.arange(-2, 200)
    assert law.low == 0
    assert law.pmf(k) == pytest.approx(0.25 * a.pmf(k) + 0.5 * b.pmf(k) + 0.25 * c.pmf(k))
    assert law.cdf(k) == pytest.approx(0.25 * a.cdf(k) + 0.5 * b.cdf(k) + 0.25 * c.cdf(k))
    assert law.sf(k) == pytest.approx(0.25 * a.sf(k) + 0.5 * b.sf(k) + 0.25 * c.sf(k), rel=1e-14)
    cut = law.cut(1e-30)
    assert law.sf(cut.high) < 1e-30 <= law.sf(cut.high - 1)
    assert cut.weights == pytest.approx(law.pmf(np.arange(cut.high + 1)), rel=1e-14)
    assert law.mean() == pytest.approx(cut.mean(), rel=1e-14)
    assert law.var() == pytest.approx(cut.var(), rel=1e-14)
    assert law.sample(20_000, 1).mean() == pytest.approx(law.mean(), abs=5 * law.std() / 141)
    assert isinstance(law.sample(seed=1), int)
    assert Pmf.mixture([(1, a), (0, b)]) == a
    assert Pmf.mixture([(1, a), (3, b)], normalise=True).mean() == pytest.approx(18.75)


def test_scaled_infinite_laws() -> None:
    law = Pmf.geometric(0.2).scale(3).shift(1)
    one = Pmf.geometric(0.2)
    assert law.low == 4
    k = np.arange(0, 60)
    assert law.pmf(3 * k + 1) == pytest.approx(one.pmf(k))
    assert law.pmf(3 * k + 2) == pytest.approx(0 * k)
    for j in range(3):
        assert law.cdf(3 * k + 1 + j) == pytest.approx(one.cdf(k))
        assert law.sf(3 * k + 1 + j) == pytest.approx(one.sf(k))
    cut = law.cut(1e-6)
    assert cut.high == 3 * one.cut(1e-6).high + 1
    assert cut.weights[::3] == pytest.approx(one.cut(1e-6).weights)
    assert (law.mean(), law.var()) == pytest.approx((16, 9 * 20))
    assert set(law.sample(100, 1) % 3) == {1}


def test_what_is_missing_is_handed_on() -> None:
    law = Pmf.geometric(0.05).cut(1e-3)
    d = law.missing
    assert 0 < d < 1e-3
    assert law.cut(1e-9) is law
    assert law.shift(2).missing == law.scale(2).missing == d
    assert law.sum_of(3).missing == pytest.approx(1 - (1 - d) ** 3)
    assert law.max_of(3).missing == pytest.approx(1 - (1 - d) ** 3)
    assert (law + Pmf.uniform(0, 1)).missing == pytest.approx(d)
    assert Pmf.mixture([(0.5, law), (0.5, Pmf.uniform(0, 1))]).missing == pytest.approx(d / 2)
    again = law.truncate(60)
    assert again.missing == pytest.approx(d + law.sf(60))
    assert law.between(21).missing == pytest.approx(d / law.sf(20))
    lost = Pmf.geometric(0.05).truncate(3).between(3, 3)
    assert lost.missing == lost.sum_of(2).missing == lost.max_of(2).missing == 1


@settings(max_examples=draws(40), deadline=None)
@given(st.floats(0.02, 0.9), st.sampled_from([0.2, 1e-2, 1e-4]), st.integers(1, 3))
def test_missing_bounds_the_distance(p: float, eps: float, copies: int) -> None:
    for whole in (Pmf.geometric(p), Pmf.poisson(10 * p)):
        cut = whole.cut(eps)
        k = np.arange(0, 600)
        for made in (
            lambda law: law,
            lambda law: law.sum_of(copies),
            lambda law: law.max_of(copies),
            lambda law: law.between(2),
        ):
            try:
                short = made(cut)
            except LawError:
                continue
            apart = np.abs(short.pmf(k) - made(whole).pmf(k)).sum() / 2
            assert apart <= short.missing * (1 + 1e-9) + 1e-13


# --- identity
SOME = [
    Pmf.geometric(0.05),
    Pmf.poisson(30).shift(2),
    Pmf.binomial(40, 0.5),
    Pmf.binomial(4, Fraction(1, 3)),
    Pmf.negative_binomial(5, 0.3).scale(2),
    Pmf.uniform(20, 40),
    Pmf.bernoulli(Fraction(1, 4)),
    Pmf.from_weights([0.2, 0.3, 0.5]),
    Pmf.from_samples([3, 5, 5]),
    Pmf.geometric(0.05).cut(1e-6),
    Pmf.poisson(3).max_of(4),
    Pmf.poisson(3).between(2),
    Pmf.mixture([(0.5, Pmf.poisson(3)), (0.5, Pmf.from_weights([0.5, 0.5]))]),
]


@pytest.mark.parametrize("law", SOME, ids=repr)
def test_laws_travel(law: Pmf) -> None:
    for other in (pickle.loads(pickle.dumps(law)), copy.copy(law), copy.deepcopy(law)):
        assert other == law
        assert hash(other) == hash(law)
        assert repr(other) == repr(law)
        if other.is_finite:
            assert not other.weights.flags.writeable
            assert np.array_equal(other.weights, law.weights)


def test_laws_differ() -> None:
    assert len(set(SOME)) == len(SOME)
    assert Pmf.uniform(0, 1) == Pmf.from_weights([0.5, 0.5])
    assert hash(Pmf.uniform(0, 1)) == hash(Pmf.from_weights([0.5, 0.5]))
    assert Pmf.uniform(0, 1) == Pmf.from_weights([Fraction(1, 2)] * 2)
    assert Pmf.geometric(0.05).cut(1e-6) != Pmf.from_weights(
        Pmf.geometric(0.05).cut(1e-6).weights, low=1
    )
    assert Pmf.geometric(0.05) != "geometric:0.05"


def test_repr_is_short_and_mostly_a_constructor() -> None:
    for law in SOME:
        text = repr(law)
        assert len(text) <= 100
        if "mean" not in text:
            assert eval(text, {"Pmf": Pmf}) == law, text
    assert repr(Pmf.from_samples(range(30))) == "Pmf(0..29, mean 14.5)"
    assert repr(Pmf.poisson(3)) == "Pmf.poisson(3)"
    long = Pmf.mixture([(0.125, Pmf.poisson(k)) for k in range(1, 9)])
    assert repr(long) == "Pmf(0..inf)"


def test_import_loads_neither_scipy_nor_numba() -> None:
    code = "import sys; from stochastic import Pmf; Pmf.geometric(0.05).mean(); print(*sys.modules)"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=True)
    assert {"scipy", "numba"}.isdisjoint(done.stdout.decode().split())


def test_a_series_is_read_by_its_labels():
    import pandas as pd

    assert Pmf.from_weights(pd.Series([0.5, 0.5], index=[3, 4])).mean() == 3.5
    assert Pmf.from_counts(pd.Series([1, 3], index=[0, 2])).mean() == 1.5
