"""The face of the law: what its answers agree with, what it says of itself, what it refuses."""

import math
import pickle
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf, ToleranceWarning, imbalance
from tests.long import draws
from tests.oracles.imbalance_brute import brute_joint
from tests.oracles.imbalance_exact import ExactLaw


@st.composite
def laws(draw, most=5):
    """A small law with fractions as weights, and lanes."""
    counts = draw(st.lists(st.integers(0, 6), min_size=1, max_size=most + 1).filter(any))
    low = draw(st.integers(0, 3))
    total = sum(counts)
    weights = {low + i: Fraction(c, total) for i, c in enumerate(counts) if c}
    return weights, draw(st.integers(1, 4))


def losses_of(weights, lanes, zero_work):
    """The law of the loss by enumeration: fraction to probability."""
    result: dict[Fraction, Fraction] = {}
    for (most, total), chance in brute_joint(weights, lanes).items():
        if total == 0 and zero_work == "drop":
            continue
        idle = {"one": Fraction(1), "zero": Fraction(0), "drop": None}[zero_work]
        loss = Fraction(lanes * most, total) if total else idle
        result[loss] = result.get(loss, Fraction(0)) + chance
    whole = sum(result.values())
    return {loss: result[loss] / whole for loss in sorted(result)}


@settings(max_examples=draws(60), deadline=None)
@given(laws(most=9), st.integers(1, 24), st.sampled_from(["one", "drop", "zero"]), st.booleans())
def test_every_answer_is_within_its_error_of_fractions(law_and_few, lanes, zero_work, as_floats):
    weights, few = law_and_few
    lanes = min(lanes, few) if len(weights) > 6 else lanes
    if zero_work == "drop" and set(weights) == {0}:
        return
    low, high = min(weights), max(weights)
    exact = ExactLaw(
        low=low,
        weights=tuple(weights.get(a, Fraction(0)) for a in range(low, high + 1)),
        lanes=lanes,
        zero_work=zero_work,
    )
    given_ = {k: float(w) for k, w in weights.items()} if as_floats else weights
    law = imbalance(Pmf.from_weights(given_), lanes, zero_work=zero_work)
    rounding = 1e-15 * lanes  # of the weights that are given as floats
    assert abs(law.mean() - exact.mean()) <= law.error.mean + rounding
    assert law.moment(3) == pytest.approx(float(exact.moment(3)), rel=1e-13)
    assert law.var() == pytest.approx(float(exact.var()), rel=1e-11, abs=1e-28)
    chances = exact.pmf()
    points, below = list(chances), list(accumulate(chances.values()))
    truth = [float(p) for p in below]
    np.testing.assert_allclose(law.cdf(points), truth, rtol=0, atol=1e-14)
    np.testing.assert_allclose(law.cdf([float(x) for x in points]), truth, rtol=0, atol=1e-14)
    np.testing.assert_allclose(law.sf(points), [float(1 - p) for p in below], rtol=0, atol=1e-14)
    assert law.cdf(points[-1]) == pytest.approx(1.0, abs=1e-15)
    for x, p, upto in zip(points, chances.values(), below, strict=True):
        if p > Fraction(1, 10**12):
            assert law.quantile(upto - p / 2) == float(x)
            assert law.quantile(upto) == float(x)  # met exactly


@settings(max_examples=draws(60), deadline=None)
@given(laws(), st.sampled_from(["one", "drop", "zero"]), st.sampled_from(["auto", "sweep", "fft"]))
def test_floats_agree_with_enumeration(law_and_lanes, zero_work, method):
    weights, lanes = law_and_lanes
    if zero_work == "drop" and set(weights) == {0}:
        return
    floats = Pmf.from_weights({k: float(w) for k, w in weights.items()})
    law = imbalance(floats, lanes, zero_work=zero_work, method=method)
    brute = losses_of(weights, lanes, zero_work)
    mean = sum(x * p for x, p in brute.items())
    assert law.mean() == pytest.approx(float(mean), rel=1e-13)
    var = float(sum((x - mean) ** 2 * p for x, p in brute.items()))
    assert law.var() == pytest.approx(var, rel=1e-10, abs=1e-28)
    output = law.pmf()
    above, below = output["numerator"].values, output["denominator"].values
    pairs = zip(above, below, output.values, strict=True)
    result = {Fraction(int(a), int(b)): p for a, b, p in pairs}
    exact = {x: float(p) for x, p in brute.items()}
    if method != "fft":
        assert result == pytest.approx(exact, rel=1e-13)
    else:
        for x in {*result, *exact}:
            assert result.get(x, 0.0) == pytest.approx(exact.get(x, 0.0), abs=1e-14)
    below = np.cumsum(list(exact.values()))
    points = list(brute)
    np.testing.assert_allclose(law.cdf(points), below, rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.sf(points), 1 - below, rtol=0, atol=1e-13)
    middle = below - np.array(list(exact.values())) / 2
    np.testing.assert_array_equal(law.quantile(middle), [float(x) for x in points])


def test_one_lane_loses_nothing():
    law = imbalance(Pmf.poisson(3), 1)
    assert (law.mean(), law.var(), law.quantile(0.9)) == (1.0, 0.0, 1.0)
    assert law.cdf([0.5, 1.0]).tolist() == [0.0, 1.0]
    assert float(law.slowdown()) == pytest.approx(1.0)


def test_a_constant_loses_nothing_and_no_work_follows_the_convention():
    assert imbalance(Pmf.uniform(7, 7), 64).mean() == 1.0
    idle = Pmf.from_weights([1.0])
    assert imbalance(idle, 4).mean() == 1.0
    assert imbalance(idle, 4, zero_work="zero").mean() == 0.0
    with pytest.raises(LawError, match="never has any work"):
        imbalance(idle, 4, zero_work="drop")


def test_answers_agree_with_each_other():
    law = imbalance(Pmf.negative_binomial(5, 0.3), 8)
    atoms = law.pmf()
    assert float(atoms.sum()) == pytest.approx(1.0, abs=1e-14)
    mean = float((atoms * atoms["loss"]).sum())
    assert law.mean() == pytest.approx(mean, rel=1e-12)
    spread = float((atoms * (atoms["loss"] - mean) ** 2).sum())
    assert law.std() == pytest.approx(math.sqrt(spread), rel=1e-8)  # cut farther out
    total = np.cumsum(atoms.values)
    at = np.searchsorted(total, 0.75)
    assert law.quantile(0.75) == atoms["loss"].values[at]
    assert law.cdf(atoms["loss"].values[at]) == pytest.approx(total[at], abs=1e-12)
    joint = law.joint()
    assert float(joint.sum()) == pytest.approx(1.0, abs=1e-14)
    assert joint.dims == ("max", "sum")


def test_variance_at_a_million_lanes():
    """For a bounded law X -> S·n / sum, so that n·Var -> (S / mean)**2 · var / mean**2."""
    pmf, lanes = Pmf.uniform(20, 40), 10**6
    law = imbalance(pmf, lanes)
    limit = (40 / 30) ** 2 * pmf.var() / 30**2 / lanes
    assert law.var() == pytest.approx(limit, rel=1e-5)


def test_a_float_stands_for_what_rounds_to_it():
    for law in (
        imbalance(Pmf.uniform(1, 6), 2),
        imbalance(Pmf.uniform(1, 6), 2, method="sweep"),
        imbalance(Pmf.geometric(0.05), 8),
    ):
        atoms = law.pmf()
        x = atoms["loss"].values[:: max(1, atoms.size // 50)]
        up_to = np.cumsum(atoms.values)[:: max(1, atoms.size // 50)]
        mass = atoms.values[:: max(1, atoms.size // 50)]
        np.testing.assert_allclose(law.cdf(x), up_to, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(law.cdf(x.tolist()), law.cdf(x))
        mixed = [Fraction(law.lanes), *x.tolist()]
        np.testing.assert_allclose(law.cdf(mixed)[1:], law.cdf(x), rtol=0, atol=1e-15)
        np.testing.assert_allclose(law.cdf(np.nextafter(x, 0)), up_to - mass, rtol=0, atol=1e-12)
        assert law.cdf(law.quantile(0.3)) >= 0.3
    assert imbalance(Pmf.uniform(1, 6), 2).cdf([0, 2, math.inf, -math.inf]).tolist() == [0, 1, 1, 0]


def test_quantiles_at_the_ends():
    law = imbalance(Pmf.uniform(0, 3), 4)
    assert law.quantile(0.0) == law.quantile(1e-9) == 1.0
    assert law.quantile(1.0) == 4.0
    assert imbalance(Pmf.geometric(0.5), 4).quantile(1.0) == 4.0
    assert imbalance(Pmf.uniform(2, 4), 3).quantile(1.0) == 12 / 8


def test_the_bound_of_the_cut_holds_at_several_eps():
    exact = imbalance(Pmf.geometric(0.05), 32, tol=1e-12)
    for eps in (1e-2, 1e-3, 1e-4, 1e-6, 1e-9):
        cut = imbalance(Pmf.geometric(0.05), 32, eps=eps)
        assert 0 < cut.error.missing < eps
        assert abs(cut.mean() - exact.mean()) <= cut.error.mean
        points = np.linspace(1.5, 8, 50)
        assert np.max(np.abs(cut.cdf(points) - exact.cdf(points))) <= cut.error.cdf
    assert imbalance(Pmf.geometric(0.05), 32, eps=1e-6).error.cut == 270


@pytest.mark.parametrize("chance", [1e-3, 1e-12])
def test_rare_work_keeps_its_digits(chance):
    """Nearly all groups with work have one item: X = n, else 2 items: X = n / 2."""
    law = imbalance(Pmf.bernoulli(chance), 32, zero_work="drop")
    some = -math.expm1(32 * math.log1p(-chance))
    exact = sum(
        math.comb(32, k) * chance**k * (1 - chance) ** (32 - k) * 32 / k for k in range(1, 33)
    )
    assert law.mean() == pytest.approx(exact / some, rel=1e-13)
    square = sum(
        math.comb(32, k) * chance**k * (1 - chance) ** (32 - k) * (32 / k - law.mean()) ** 2
        for k in range(1, 33)
    )
    assert law.var() == pytest.approx(square / some, rel=1e-9)
    assert float(law.pmf().sum()) == pytest.approx(1.0, abs=1e-14)
    level = imbalance(Pmf.bernoulli(chance), 1, zero_work="zero")
    assert level.mean() == pytest.approx(chance, rel=1e-15)


def test_the_slowdown_is_that_of_the_law_as_given():
    """Geo(p): E[max] = Σ_k C(n, k) (-1)**(k+1) / (1 - q**k), times p."""
    for p, lanes in ((0.05, 2), (0.05, 8), (0.5, 4)):
        exact = p * sum(
            math.comb(lanes, k) * (-1) ** (k + 1) / (1 - (1 - p) ** k) for k in range(1, lanes + 1)
        )
        slowdown = imbalance(Pmf.geometric(p), lanes).slowdown()
        assert abs(slowdown.value - exact) <= slowdown.error + 1e-12
        assert slowdown.error < 1e-8
    from scipy import stats

    heavy = Pmf.from_scipy(stats.zipf(2.2))
    law = imbalance(heavy, 4, tol=1e-3)
    with pytest.warns(ToleranceWarning, match="slowdown"):
        slowdown = law.slowdown()
    assert abs(slowdown.value - 2.943) <= slowdown.error
    assert math.isinf(slowdown.var(100))


def test_a_tolerance_that_is_not_met_is_told():
    law = imbalance(Pmf.geometric(0.05), 32, tol=1e-16)
    with pytest.warns(ToleranceWarning, match="error of up to .* give a larger tol"):
        law.mean()
    assert not law.error.met


def test_methods_are_told():
    output = imbalance(Pmf.geometric(0.05), 32).method
    assert output["moments"] == "quadrature"
    assert output["cdf"] == "inversion"
    assert imbalance(Pmf.uniform(7, 7), 2).method["moments"] == "closed form"
    assert imbalance(Pmf.geometric(0.05), 32, method="fft").method["atoms"] == "fft"


def test_sample_follows_the_law():
    law = imbalance(Pmf.poisson(4), 8)
    drawn = law.sample(200_000, seed=3)
    assert drawn.shape == (200_000,)
    assert drawn.mean() == pytest.approx(law.mean(), abs=5 * law.std() / math.sqrt(200_000))
    np.testing.assert_array_equal(drawn[:10], law.sample(200_000, seed=3)[:10])


def test_slowdown_and_its_spread_over_a_workload():
    law = imbalance(Pmf.geometric(0.2), 8)
    slowdown = law.slowdown()
    rng = np.random.default_rng(5)
    work = rng.geometric(0.2, (4000, 250, 8))
    ratios = 8 * work.max(2).sum(1) / work.sum((1, 2))
    assert ratios.mean() == pytest.approx(slowdown.value, rel=3e-3)
    assert ratios.std() == pytest.approx(slowdown.std(250), rel=0.06)
    assert slowdown.difference == pytest.approx(slowdown.value - law.mean())
    with pytest.raises(LawError, match="groups = 0"):
        slowdown.var(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: imbalance(Pmf.poisson(3), 0), "lanes = 0"),
        (lambda: imbalance(Pmf.poisson(3), 2.5), "lanes = 2.5"),
        (lambda: imbalance(Pmf.poisson(3), True), "lanes = True"),
        (lambda: imbalance("poisson", 2), "no law of work"),
        (lambda: imbalance(Pmf.poisson(3), 4, tol=0), "tol = 0"),
        (lambda: imbalance(Pmf.poisson(3), 4, eps=2), "eps = 2"),
        (lambda: imbalance(Pmf.poisson(3), 4, zero_work="two"), "one, drop, zero"),
        (lambda: imbalance(Pmf.poisson(3), 4, method="guess"), "auto, sweep, fft"),
        (lambda: imbalance(Pmf.poisson(3), 4).quantile(1.5), "q = 1.5"),
        (lambda: imbalance(Pmf.poisson(3), 4).quantile("half"), "q = 'half'"),
        (lambda: imbalance(Pmf.poisson(3), 4).cdf(math.nan), "no number"),
        (lambda: imbalance(Pmf.poisson(3), 4).cdf("1.5"), "losses to compare"),
        (lambda: imbalance(Pmf.poisson(3), 4).cdf([1.5, None]), "losses to compare"),
        (lambda: imbalance(Pmf.poisson(3), 4).cdf([[1.5], [1.5, 2]]), "losses to compare"),
        (lambda: imbalance(Pmf.poisson(3), 4).sf(1.5j), "losses to compare"),
        (lambda: imbalance(Pmf.poisson(3), 4).moment(-1), "k = -1"),
        (lambda: imbalance(Pmf.poisson(3), 32).moment(500), "k = 500.*at most"),
        (lambda: imbalance(Pmf.poisson(3), 2**63), "at most"),
        (lambda: imbalance(Pmf.uniform(0, 20_000), 1024).pmf(), "moments"),
        (
            lambda: imbalance(Pmf.uniform(0, 5000), 64, method="exact"),
            "expected one of auto, sweep, fft",
        ),
    ],
)
def test_bad_input_is_told(wrong, message):
    with pytest.raises(LawError, match=message):
        wrong()


def test_it_survives_pickling():
    law = imbalance(Pmf.poisson(3), 4)
    again = pickle.loads(pickle.dumps(law))
    assert again.mean() == law.mean()
    assert "lanes=4" in repr(again)


def test_its_machine_code_is_called_without_numba_and_so_kept():
    """Code that only Numba can call, such as an array put into a slice, is never cached."""
    from stochastic.kernels.atoms import spectra, sweep
    from stochastic.kernels.simulate import alias_table, subset_transform

    law = imbalance(Pmf.geometric(0.5), lanes=4)
    assert law.pmf().sum() == pytest.approx(1)
    assert law.sample(3).shape == (3,)
    roots = np.exp(-2j * np.pi * np.arange(8) / 8)
    spectra(np.arange(1, 3), np.full(2, 0.5), 4, roots, roots[:5] * 0, np.empty((2, 5), complex))
    subset_transform(np.arange(1, 3), np.ones(2, np.int64), 2, np.ones(1))
    for body in (alias_table, spectra, sweep, subset_transform):
        assert {ready.__module__ for ready in body._functions.values()} == {
            "stochastic.compile_cache.native"
        }
