"""Published and exact values of the imbalance law (Swatman 2022, and rationals worked by hand)."""

from fractions import Fraction

import pytest

from stochastic import Pmf, imbalance
from tests.long import long
from tests.oracles.imbalance_exact import ExactLaw

LANES = (2, 4, 8, 16, 32)

#: Table I, the modelled means as printed.
TABLE_1 = {
    "binomial": (Pmf.binomial(40, 0.5), (1.090, 1.163, 1.225, 1.278, 1.325)),
    "geometric": (Pmf.geometric(0.05), (1.476, 2.047, 2.668, 3.317, 3.979)),
    "poisson": (Pmf.poisson(30), (1.104, 1.191, 1.268, 1.335, 1.397)),
    "uniform": (Pmf.uniform(20, 40), (1.118, 1.213, 1.275, 1.309, 1.326)),
    "negative_binomial": (Pmf.negative_binomial(5, 0.3), (1.301, 1.587, 1.860, 2.123, 2.375)),
}

#: Means of laws cut at 1e-6 and renormalised, computed in rationals, to 19 digits.
MEANS = {
    "uniform": (
        1.117866557790987642,
        1.213340240631156359,
        1.274909867603601650,
        1.309295032026780864,
        1.326209860806190838,
    ),
    "binomial": (
        1.090068375437380193,
        1.163264487092135112,
        1.224792915250965874,
        1.277903628701112666,
        1.324724726430705853,
    ),
    "geometric": (
        1.476220527604008280,
        2.047213815749303253,
        2.668391875247072926,
        3.316574731640696317,
        3.978577995588717127,
    ),
}

#: E[max] / E[W] at the fewest and the most lanes, cut at 1e-6, to six decimals.
SLOWDOWNS = {
    "geometric": (1.487174, 3.980892),
    "binomial": (1.088928, 1.324447),
    "uniform": (1.116402, 1.324698),
    "poisson": (1.102791, 1.396314),
    "negative_binomial": (1.293609, 2.373240),
}

DIE = (1, (Fraction(1, 6),) * 6)
RATIONAL = [
    (DIE, 2, Fraction(64877, 49896)),
    (DIE, 3, Fraction(71309837, 49008960)),
    (DIE, 4, Fraction(1336879458293, 867385078560)),
    ((0, (Fraction(1, 2),) * 2), 2, Fraction(5, 4)),
    ((0, (Fraction(1, 2),) * 2), 3, Fraction(29, 16)),
    ((0, (Fraction(1, 2),) * 2), 4, Fraction(103, 48)),
    ((0, (Fraction(1, 3),) * 3), 2, Fraction(38, 27)),
    ((0, (Fraction(3, 4), Fraction(1, 4))), 2, Fraction(13, 16)),
    ((0, (Fraction(3, 4), Fraction(1, 4))), 3, Fraction(191, 128)),
    ((0, (Fraction(3, 4), Fraction(1, 4))), 4, Fraction(557, 256)),
]


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_to_the_printed_digit(name):
    pmf, printed = TABLE_1[name]
    ours = [round(imbalance(pmf, lanes, eps=1e-6).mean(), 3) for lanes in LANES]
    assert ours == list(printed)


@pytest.mark.parametrize("name", MEANS)
def test_means_cut_as_the_paper_cuts_them(name):
    pmf, _ = TABLE_1[name]
    ours = [imbalance(pmf, lanes, eps=1e-6).mean() for lanes in LANES]
    assert ours == pytest.approx(_with_idle_groups(pmf, MEANS[name]), rel=1e-13)


def _with_idle_groups(pmf, means):
    """The values count X = 0 where no item has work; ours count X = 1 there."""
    idle = float(pmf.weights[0]) if pmf.is_finite and pmf.low == 0 else 0.0
    return [mean + idle**lanes for mean, lanes in zip(means, LANES, strict=True)]


@pytest.mark.parametrize(("pmf", "lanes", "mean"), RATIONAL)
def test_rational_means(pmf, lanes, mean):
    """A group without work is at X = 0, as in the tables; and at X = 1."""
    low, weights = pmf
    exact = ExactLaw(low=low, weights=weights, lanes=lanes, zero_work="zero")
    assert exact.mean() == mean
    idle = weights[0] ** lanes if low == 0 else 0
    for given in (weights, [float(w) for w in weights]):
        law = imbalance(Pmf.from_weights(given, low=low), lanes, zero_work="zero")
        assert abs(Fraction(law.mean()) - mean) <= law.error.mean < 1e-14
        law = imbalance(Pmf.from_weights(given, low=low), lanes)
        assert abs(Fraction(law.mean()) - mean - idle) <= law.error.mean < 1e-14


def test_rational_second_moments():
    die = imbalance(Pmf.uniform(1, 6), 2)
    assert die.moment(2) == pytest.approx(859617607 / 493970400, rel=2e-15)
    coin = Pmf.from_weights([Fraction(1, 2)] * 2)
    assert imbalance(coin, 2, zero_work="zero").moment(2) == pytest.approx(9 / 4, rel=2e-15)


@pytest.mark.parametrize(
    ("pmf", "lanes", "second"),
    [
        (Pmf.uniform(20, 40), 32, 1.760962911663738804),
        (Pmf.binomial(40, 0.5), 32, 1.760156063445203194),
        (Pmf.geometric(0.05), 32, 16.83956437849521624),
        (Pmf.uniform(0, 1000), 2, 1.386907296921192231),
    ],
)
def test_second_moments(pmf, lanes, second):
    """The last is a mean, of U{0..1000} in two lanes."""
    law = imbalance(pmf, lanes, eps=1e-6, zero_work="zero")
    ours = law.mean() if lanes == 2 else law.moment(2)
    assert ours == pytest.approx(second, rel=1e-13)


def test_without_the_cut():
    law = imbalance(Pmf.geometric(0.05), 32)
    assert law.mean() == pytest.approx(3.97877460065029965, abs=1e-9)
    finer = imbalance(Pmf.geometric(0.05), 32, tol=1e-14 * 4)
    assert finer.method["moments"] == "quadrature"


@pytest.mark.parametrize("name", SLOWDOWNS)
def test_slowdown_is_no_bound_in_either_direction(name):
    pmf, _ = TABLE_1[name]
    for lanes, printed in zip((2, 32), SLOWDOWNS[name], strict=True):
        law = imbalance(pmf, lanes, eps=1e-6)
        slowdown = law.slowdown()
        assert round(slowdown.value, 6) == printed
        assert (slowdown.difference > 0) == (name == "geometric")


@long
def test_thirty_two_dice():
    law = imbalance(Pmf.uniform(1, 6), 32)
    atoms = law.pmf()
    assert atoms.size == 303
    quantiles = [96 / 67, 12 / 7, 48 / 25, 32 / 15]
    assert law.quantile([0.01, 0.5, 0.9, 0.99]).tolist() == quantiles
    assert law.cdf(1.5) == pytest.approx(0.0546391059798324385, rel=1e-13)


def test_uniform_in_eight_lanes():
    law = imbalance(Pmf.uniform(20, 40), 8)
    atoms = law.pmf()
    assert atoms.size == 1259
    assert law.quantile(0.5) == 80 / 63


def test_pictures_of_section_3():
    """Figure 1: the two groups of eight, as degenerate laws of their multisets."""
    for group, loss in (
        ([4, 2, 7, 1, 6, 4, 3, 6], Fraction(56, 33)),
        ([4, 3, 4, 5, 4, 5, 3, 4], Fraction(40, 32)),
    ):
        from stochastic import measured

        output = measured(group, 8, order="given")
        assert float(output["loss"]) == float(loss)
