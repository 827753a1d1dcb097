"""CDF and quantiles by inversion, against enumeration in integers and sums of many digits."""

import bisect
import dataclasses
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stochastic.checks import LawError
from stochastic.kernels.inversion import convolution_probabilities
from stochastic.loss import inversion
from stochastic.loss.inversion import (
    ConvolutionMethod,
    ItemLattice,
    LossInversion,
    SpectralMethod,
    _least_sums,
)
from tests.long import draws, mostly_long
from tests.oracles import imbalance_flint as oracle


def weights_of(counts):
    total = sum(counts)
    return np.array([count / total for count in counts])


@st.composite
def laws(draw):
    """Smallest value, integer weights, lanes."""
    size = st.one_of(st.integers(0, 9), st.integers(0, 40).map(lambda e: 2**e))
    counts = draw(st.lists(size, min_size=2, max_size=20))
    used = [i for i, count in enumerate(counts) if count]
    if len(used) < 2:
        counts, used = [3, 0, 1], [0, 2]
    low = draw(st.sampled_from([0, 0, 1, 7, 100])) + used[0]
    return low, counts[used[0] : used[-1] + 1], draw(st.sampled_from([2, 3, 4, 5, 8, 16, 32]))


@settings(max_examples=draws(40), deadline=None)
@given(laws(), st.integers(0, 2**32))
@example((0, [1, 1], 2), 0)
@example((0, [1, 0, 1], 5), 1)
@example((7, [1, 2**40], 32), 1)
@example((0, [2**40, 1], 32), 2)
def test_probabilities_and_quantiles_equal_those_in_integers(law, seed):
    low, counts, lanes = law
    exact = oracle.distribution(low, counts, lanes)
    losses, upto = list(exact), list(itertools.accumulate(exact.values()))
    result = LossInversion(low, weights_of(counts), lanes)
    assert result.mass == pytest.approx(float(upto[-1]), rel=1e-14)

    rng = np.random.default_rng(seed)
    some = rng.choice(len(losses), min(len(losses), 40), replace=False)
    requested = [losses[i] for i in some]  # as fractions: equality counts
    truth = np.array([float(upto[i]) for i in some])
    np.testing.assert_allclose(result.cdf(np.array(requested, object)), truth, 0, result.error)
    # as floats: next to a loss, on the side of it where the float is
    floats = np.array([float(x) for x in requested])
    floats = np.concatenate([floats, np.nextafter(floats, 0), np.nextafter(floats, lanes)])
    rounded = [float(x) for x in losses]  # a float stands for what rounds to it
    below = [bisect.bisect_right(rounded, t) for t in floats.tolist()]
    truth = np.array([float(upto[i - 1]) if i else 0.0 for i in below])
    np.testing.assert_allclose(result.cdf(floats), truth, 0, result.error)
    np.testing.assert_allclose(result.sf(floats), float(upto[-1]) - truth, 0, 2 * result.error)

    for i in some[:12].tolist():
        chance = float(exact[losses[i]])
        if chance > 4 * result.error:
            place = float(losses[i])
            before = float(upto[i]) - chance
            assert result.quantile(before + chance / 2) == place
            if float(upto[i]) < 1:
                assert result.quantile(float(upto[i])) == place
            assert result.quantile(before + 2 * result.error) == place


MANY = [
    (0, [1] * 251, 10**6, [1.9999, 2.0, 2.00005, 2.0003], 60),
    (0, [1] * 251, 1024, [1.9, 1.98, 2.0, 2.05], 60),
    (0, [3, 1], 10**5, [3.98, 4.0, 4.01], 60),
    (0, [999_999, 1], 10**6, [250_000.0, 500_000.0, 999_999.0], 60),
    (100, [2**i for i in range(60, 0, -1)], 10**6, [1.2, 1.21, 1.22, 1.25], 60),
    (0, [1] * 4001, 1024, [1.95, 2.0], 66),
    (0, [1] * 801, 32, [1.5, 1.9, 2.3], 70),
    (0, [10**6] + [0] * 30 + [1, 1], 10**6, [2e5, 16_000_000 / 47, 1e6], 10**6),
    (90, [1] * 10 + [10**7] + [1] * 10, 10**6, [1.01, 1.05, 1.09], 10**6),
    (3, [5, 1, 4, 0, 2, 9, 0, 0, 1] * 4, 4096, [1.9, 1.95, 2.0, 2.05], 60),
]


@pytest.mark.parametrize(
    ("low", "counts", "lanes", "losses", "most"), mostly_long(MANY, lambda k, _: k % 3 == 0)
)
def test_many_lanes_equal_sums_of_many_digits(low, counts, lanes, losses, most):
    result = LossInversion(low, weights_of(counts), lanes)
    assert result.method == "characteristic function"
    requested = [Fraction(x).limit_denominator(10**6) for x in losses]  # what the doubles stand for
    truth = oracle.invert(low, counts, lanes, requested, most)
    assert max(truth) > 0.05
    assert result.error < 1e-13
    np.testing.assert_allclose(result.cdf(requested), truth, rtol=0, atol=result.error)


def test_a_die():
    result = LossInversion(1, np.full(6, 1 / 6), 32)
    output = [result.quantile(q) for q in (0.01, 0.5, 0.9, 0.99)]
    assert output == [96 / 67, 12 / 7, 48 / 25, 32 / 15]
    assert result.cdf(1.5) == pytest.approx(0.0546391059798324385, abs=1e-15)
    assert result.cdf(Fraction(12, 7)) >= 0.5 > result.cdf(Fraction(12, 7) - Fraction(1, 10**9))
    assert LossInversion(20, np.full(21, 1 / 21), 8).quantile(0.5) == 80 / 63


def test_what_may_be_asked():
    result = LossInversion(1, np.full(6, 1 / 6), 4)
    assert isinstance(result.cdf(1.5), float)
    assert result.cdf([[0.0, -1.0, 0.99], [4.0, 9.0, math.inf]]).tolist() == [[0] * 3, [1] * 3]
    assert result.cdf(np.array([1, 2, 4])).tolist() == result.cdf([1.0, 2.0, 4.0]).tolist()
    assert result.sf(1) == 1 - result.cdf(1.0)
    assert result.cdf(1) == pytest.approx(6**-3, abs=1e-15)
    mixed = np.array([Fraction(3, 2), 2, 1.5, math.inf, Fraction(1, 3)], dtype=object)
    assert result.cdf(mixed).tolist() == result.cdf([1.5, 2.0, 1.5, 9.0, 0.3]).tolist()
    huge = Fraction(3 * 10**40 + 1, 2 * 10**40)
    assert result.cdf(huge) == result.cdf(3 - huge) == result.cdf(1.5)
    assert result.quantile(0.0) == 1.0
    assert result.quantile(1.0) == 8 / 3
    many = result.cdf(np.linspace(1, 4, 1001))
    assert np.all(np.diff(many) >= -1e-15)


def test_wrong_questions():
    result = LossInversion(1, np.full(6, 1 / 6), 4)
    with pytest.raises(LawError, match="not a number"):
        result.cdf([1.0, math.nan])
    for q in (-0.1, 1.5, math.nan):
        with pytest.raises(LawError, match="from 0 to 1"):
            result.quantile(q)


def test_laws_that_lose_nothing():
    for low, weights, lanes, mass in [
        (3, [0.5, 0.5], 1, 1.0),
        (0, [0.5, 0.5], 1, 0.5),
        (9, [1.0], 10**6, 1.0),
        (0, [1.0], 8, 0.0),
        (5, [1.0, 1e-30], 8, 1.0),
    ]:
        result = LossInversion(low, np.array(weights), lanes)
        assert result.mass == mass
        assert result.cdf([0.999, 1.0, 1.5]).tolist() == pytest.approx([0.0, mass, mass], abs=1e-15)
        assert result.quantile(0.3) == 1.0


@settings(max_examples=draws(100), deadline=None)
@given(
    st.integers(1, 10**6),
    st.integers(0, 10**5),
    st.integers(0, 50),
    st.one_of(
        st.floats(1, 1e6),
        st.fractions(1, 40, max_denominator=60).map(float),
        st.fractions(1, 40, max_denominator=60).map(lambda x: math.nextafter(float(x), 0.0)),
    ),
    st.integers(1, 9),
)
def test_least_sums_are_those_whose_loss_rounds_to_t_or_less(lanes, value, low, t, step):
    values = low + step * np.array([0, value // step])
    least = lanes * low
    got = _least_sums(np.array([t]), values, lanes, least, step)[0]
    for a, place in zip(values.tolist(), got.tolist(), strict=True):
        sums = [least + step * place, least + step * (place - 1)]
        losses = [Fraction(lanes * a, max(total, 1)) if a else Fraction(0) for total in sums]
        assert float(losses[0]) <= t
        assert place == 0 or sums[1] == 0 or float(losses[1]) > t


@pytest.mark.parametrize(("span", "lanes"), [(300, 3), (800, 3), (300, 4), (60, 5), (60, 8)])
def test_convolution_equals_counting(span, lanes):
    """Return how many groups of a uniform law there are, a whole number below 2**53."""
    items = ItemLattice.from_weights(0, np.full(span + 1, 1 / (span + 1)), lanes)
    losses = np.linspace(1, lanes, 33)[:-1]
    least = _least_sums(losses, items.places[1:], lanes, 0, 1)
    ways = convolution_probabilities(items.places, np.ones(span + 1), lanes, 1, least)
    assert 1e6 < ways.max() < 2**53
    assert np.array_equal(ways, np.rint(ways))
    truth = ways / float(span + 1) ** lanes
    result = ConvolutionMethod(items=items, lanes=lanes)
    np.testing.assert_allclose(result(least), truth, rtol=1e-14, atol=0)
    spectrum = SpectralMethod.from_items(items, lanes)
    least = least[:, least.shape[1] - spectrum.max_count :]
    np.testing.assert_allclose(spectrum(least), truth, rtol=0, atol=spectrum.error)


@pytest.mark.parametrize("lanes", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("low", [0, 4])
def test_ways_agree(lanes, low):
    weights = np.random.default_rng(lanes).dirichlet(np.ones(120))
    weights[5:40] = 0.0
    items = ItemLattice.from_weights(low, weights / weights.sum(), lanes)
    values = (items.first + items.step * items.places)[items.idle :]
    losses = np.linspace(1, lanes, 50)[:-1]
    least = _least_sums(losses, values, lanes, lanes * items.first, items.step)
    few = ConvolutionMethod(items=items, lanes=lanes)
    spectrum = SpectralMethod.from_items(items, lanes)
    some = spectrum(least[:, len(values) - spectrum.max_count :])
    assert some == pytest.approx(few(least), rel=0, abs=spectrum.error + few.error)


def test_the_cheaper_way_is_taken():
    flat = np.full(301, 1 / 301)
    assert LossInversion(0, flat, 2).method == "convolution"
    assert LossInversion(0, flat, 4).method == "convolution"
    assert LossInversion(0, flat, 32).method == "characteristic function"
    wide = np.full(5001, 1 / 5001)
    assert LossInversion(0, wide, 4).method == "convolution"


def rough_laws():
    rng = np.random.default_rng(3)
    yield rng.dirichlet(np.ones(401))
    for every, rest in ((2, 1e-5), (7, 1e-3)):
        weights = np.full(401, rest)
        weights[::every] = 1.0
        yield weights
    weights = np.zeros(401)
    weights[[0, 3, 200, 400]] = 5.0, 1e-6, 3.0, 1.0
    yield weights
    yield rng.multinomial(3000, rng.dirichlet(np.full(401, 0.2))) + 1e-9


@pytest.mark.parametrize("lanes", [9, 32, 200, 2000])
def test_no_frequency_is_missed(lanes, monkeypatch):
    """Frequencies of rough and nearly periodic laws that matter are among the searched runs."""
    monkeypatch.setattr(inversion, "_SEARCH_THRESHOLD", 1.0)
    fewer = 0
    for weights in rough_laws():
        some = SpectralMethod.from_items(
            ItemLattice.from_weights(1, weights / weights.sum(), lanes), lanes
        )
        half = (some.period - 1) // 2
        every = dataclasses.replace(some, runs=[(1, half + 1)])
        for one, other in zip(some.coefficients, every.coefficients, strict=True):
            assert np.array_equal(one, other)
        starts = [a for a, _ in some.runs]
        assert all(b <= a for (_, b), a in zip(some.runs, starts[1:], strict=False))
        fewer += some.frequency_count < half
    assert fewer >= (0 if lanes < 32 else 3)


@settings(max_examples=draws(40), deadline=None)
@given(laws())
def test_the_window_holds_all_but_1e_18(law):
    low, counts, lanes = law
    items = ItemLattice.from_weights(low, weights_of(counts), lanes)
    first, last = inversion.sum_window(items, lanes)
    start = lanes * (items.first - low)
    within = range(start + items.step * first, start + items.step * last + 1)
    outside = 0
    for _, total, ways in oracle.joint(low, counts, lanes):
        if total - lanes * low not in within:
            outside += int(ways)
    assert Fraction(outside, sum(counts) ** lanes) < 4e-18


def test_a_law_on_a_coarser_lattice():
    weights = np.random.default_rng(1).dirichlet(np.ones(30))
    wide = np.zeros(30 * 1000 - 999)
    wide[::1000] = weights
    plain, scaled = LossInversion(2, weights, 24), LossInversion(2000, wide, 24)
    t = np.linspace(1, 5, 100)
    np.testing.assert_allclose(scaled.cdf(t), plain.cdf(t), rtol=0, atol=plain.error)
    assert scaled.quantile(0.37) == plain.quantile(0.37)


def test_two_values_far_apart():
    """X = n·b/(a(n-K) + bK) for K items of b among n: a staircase of n + 1 steps."""
    low, high, lanes = 1, 10**5, 50
    weights = np.zeros(high)
    weights[[0, -1]] = 0.9, 0.1
    result = LossInversion(low, weights, lanes)
    upto = Fraction(0)
    chances = [math.comb(lanes, k) * 9 ** (lanes - k) for k in range(lanes + 1)]
    for k in range(lanes, 0, -1):
        upto += Fraction(chances[k], 10**lanes)
        x = Fraction(lanes * high, low * (lanes - k) + high * k)
        whole = upto + Fraction(chances[0], 10**lanes)  # all short: X = 1
        assert result.cdf(x) == pytest.approx(float(whole), abs=result.error)
        if chances[k] > 10**lanes * 1e-13:
            assert result.quantile(float(whole)) == float(x)


def test_laws_that_are_too_large():
    rng = np.random.default_rng(0)
    with pytest.raises(LawError, match="simulate it"):
        LossInversion(0, rng.dirichlet(np.ones(60_001)), 6)
    with pytest.raises(LawError, match=r"2\*\*53"):
        LossInversion(10**12, np.full(6, 1 / 6), 10**6)


def test_threads_agree():
    result = LossInversion(0, np.full(101, 1 / 101), 32)
    t = np.linspace(1, 4, 301)
    truth = result.cdf(t)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(p, truth) for p in pool.map(lambda _: result.cdf(t), range(16)))
        output = set(pool.map(lambda _: result.quantile(0.3), range(8)))
    assert output == {result.quantile(0.3)}
