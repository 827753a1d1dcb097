"""Laws of loads equal enumeration, published values and simulation."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.stats

from stochastic import LawError, Loads, Pmf, loads
from tests.oracles import loads_fractions

NAMES = ("largest", "busiest", "occupied", "tiles", "busiest_tiles")

#: Means of each number, from the derivation of the laws (exact by enumeration).
MEANS = [
    (
        {"items": 6, "bins": 3, "groups": 3, "tile": 2},
        "262/81 262/81 665/243 911/243 469/243",
    ),
    (
        {"items": 8, "probabilities": [1 / 2, 1 / 4, 1 / 8, 1 / 8], "groups": 2, "tile": 3},
        "9071203/2097152 49675/8192 26917055/8388608 33699867/8388608 22669339/8388608",
    ),
    (
        {"items": 10, "probabilities": [Fraction(1, 5)] * 5, "groups": [2, 2, 1], "tile": 4},
        "1467026/390625 10187466/1953125 8717049/1953125 9037339/1953125 20396563/9765625",
    ),
]


@pytest.mark.parametrize(("given", "means"), MEANS)
def test_means_are_those_of_the_reference(given: dict[str, Any], means: str) -> None:
    law, shares = loads(**given), given.get("probabilities", [Fraction(1, 3)] * 3)
    groups = np.split(law.layout.order, law.layout.starts[1:])
    chances = loads_fractions.multinomial(given["items"], [Fraction(share) for share in shares])
    exact, _ = loads_fractions.laws(chances, groups, given["tile"])
    for name, mean in zip(NAMES, map(Fraction, means.split()), strict=True):
        assert sum(value * chance for value, chance in exact[name].items()) == mean
        assert getattr(law, name).mean() == pytest.approx(float(mean), rel=1e-14), name


def test_chances_are_those_of_the_reference() -> None:
    law = loads(6, 3).largest
    expected = [10 / 81, 140 / 243, 20 / 81, 4 / 81, 1 / 243]
    assert law.pmf([2, 3, 4, 5, 6]) == pytest.approx(expected, rel=1e-12)
    assert law.pmf().sel(largest=4).item() == pytest.approx(20 / 81, rel=1e-12)
    law = loads(8, probabilities=[1 / 2, 1 / 4, 1 / 8, 1 / 8]).largest
    assert law.pmf([2, 4]) == pytest.approx([315 / 32768, 3025155 / 8388608], rel=1e-12)


def test_large_laws_are_those_of_the_reference() -> None:
    busiest = loads(131_072, 256, groups=64).busiest
    assert busiest.mean() == pytest.approx(2154.8423659, abs=1e-6)
    assert busiest.quantile([0.5, 0.99]).tolist() == [2153, 2212]
    assert busiest.cdf([2160, 2200]) == pytest.approx([0.6542570422, 0.9752820388], abs=2e-10)
    law = loads(4096, 256, tile=16)
    assert law.largest.mean() == pytest.approx(28.4116912246, abs=2e-10)
    assert law.largest.quantile(0.99) == 34
    assert law.largest.cdf([30, 35]) == pytest.approx([0.8676612037, 0.9971439322], abs=1e-10)
    assert law.tiles.mean() == pytest.approx(367.1458605408, abs=1e-9)
    assert loads(400, 256).occupied.mean() == pytest.approx(202.5034205673, abs=1e-9)


# --- enumeration
def _compare(law: Loads, chances: dict[Any, Fraction], groups: Any, tile: int) -> None:
    """Check all probabilities of a law against those of all loads."""
    exact, pairs = loads_fractions.laws(chances, groups, tile)
    items = sum(next(iter(chances)))
    for name in NAMES:
        number, below = getattr(law, name), Fraction(0)
        for value in range(items + 2):
            below += exact[name][value]
            assert abs(Fraction(number.cdf(value)) - below) <= number.error, (name, value)
        assert number.error < 1e-9
        mean = sum(value * chance for value, chance in exact[name].items())
        assert number.mean() == pytest.approx(float(mean), abs=number.error * (items + 1))
    for first in ("largest", "busiest", "busiest_tiles"):
        for second in ("occupied", "tiles"):
            table = law.joint(first, second)
            for x, y in [(x, y) for x in table[first].values for y in table[second].values]:
                share = table.sel({first: x, second: y}).item()
                assert abs(share - pairs[first, second][x, y]) <= max(table.error, 1e-15)
            seen = sum(
                chance
                for (x, y), chance in pairs[first, second].items()
                if x in table[first] and y in table[second]
            )
            assert seen >= 1 - 1e-15


def _random_groups(rng: random.Random, bins: int) -> list[list[int]]:
    places = [rng.randrange(bins) for _ in range(bins)]
    parts = [[i for i in range(bins) if places[i] == j] for j in range(bins)]
    return [part for part in parts if part]


def _compare_small(seed: int) -> None:
    rng = random.Random(seed)
    bins, items, tile = rng.randint(1, 5), rng.randint(0, 8), rng.randint(1, 10)
    groups = _random_groups(rng, bins)
    weights = [rng.choice([0, 1, 1, 1, 2, 3, 10, 1000]) for _ in range(bins - 1)] + [1]
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    law = loads(items, probabilities=shares, groups=groups, tile=tile)
    _compare(law, loads_fractions.multinomial(items, shares), groups, tile)

    shape = rng.choice([0.1, 0.3, 1.0, 3.5, 100.0])
    law = loads(items, bins, weights=f"dirichlet: {shape}", groups=groups, tile=tile)
    _compare(law, loads_fractions.dirichlet(items, bins, Fraction(shape)), groups, tile)

    bins, items = rng.randint(1, 3), rng.randint(1, 5)
    groups = _random_groups(rng, bins)
    values = rng.choice([{1: 1, 2: 3}, {0: 1, 1: 1}, {1: 3, 1000: 1}, {0: 1, 3: 2, 7: 1}, {1: 4}])
    chances = {value: Fraction(share, 4) for value, share in values.items()}
    chances = {value: share / sum(chances.values()) for value, share in chances.items()}
    law = loads(items, bins, weights=Pmf.from_weights(chances), groups=groups, tile=tile)
    _compare(law, loads_fractions.with_weights(items, bins, chances), groups, tile)

    rows = [[rng.randint(0, 9) for _ in range(bins)] for _ in range(rng.randint(1, 4))]
    law, exact = loads(None, counts=rows, groups=groups, tile=tile), {}
    for row in map(tuple, rows):
        exact[row] = exact.get(row, Fraction(0)) + Fraction(1, len(rows))
    for name, expected in loads_fractions.laws(exact, groups, tile)[0].items():
        number = getattr(law, name)
        assert number.error == 0
        for value in range(9 * bins + 1):
            assert number.pmf(value) == pytest.approx(float(expected[value]), abs=1e-15)


@pytest.mark.parametrize("seed", range(8))
def test_small_laws_equal_enumeration(seed: int) -> None:
    _compare_small(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 400))
def test_more_small_laws_equal_enumeration(seed: int) -> None:
    _compare_small(seed)


def _compare_medium(seed: int) -> None:
    """Check probabilities of a law with dozens of items against coefficients in fractions."""
    rng = random.Random(seed)
    bins, items, tile = rng.randint(1, 7), rng.randint(1, 40), rng.randint(1, 12)
    groups = _random_groups(rng, bins)
    weights = [rng.choice([1, 1, 2, 3, 7, 50]) for _ in range(bins)]
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    law = loads(items, probabilities=shares, groups=groups, tile=tile)
    units = {"largest": [[i] for i in range(bins)]}
    for name, at in (("largest", 1), ("busiest", 1), ("busiest_tiles", tile)):
        number, most = getattr(law, name), rng.randint(0, items)
        most = int(number.quantile(0.5)) if rng.random() < 0.5 else most
        exact = loads_fractions.at_most(items, shares, units.get(name, groups), at, most)
        assert abs(Fraction(number.cdf(most)) - exact) <= number.error
    for name, at in (("occupied", items), ("tiles", tile)):
        number, exact = getattr(law, name), loads_fractions.totals(items, shares, at)
        below = Fraction(0)
        for value in range(max(exact) + 1):
            below += exact.get(value, 0)
            assert abs(Fraction(number.cdf(value)) - below) <= number.error


@pytest.mark.parametrize("seed", range(20))
def test_medium_laws_are_within_their_bounds(seed: int) -> None:
    _compare_medium(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 600))
def test_more_medium_laws_are_within_their_bounds(seed: int) -> None:
    _compare_medium(seed)


# --- simulation
def _compare_simulated(seed: int, bins: int, items: int) -> None:
    """Check that the laws are within the bands of a simulation."""
    rng = np.random.default_rng(seed)
    kind = seed % 4
    options: dict[str, Any] = {"groups": int(rng.integers(1, bins + 1)), "tile": 16}
    if kind == 0:
        law = loads(items, bins, **options)
    elif kind == 1:
        law = loads(items, probabilities=rng.dirichlet(np.full(bins, 0.5)), **options)
    else:
        weights = "dirichlet: 0.5" if kind == 2 else "power: 1.2, 0.1, 2"
        law = loads(items, bins, weights=weights, **options)
    estimate = law.simulate(10_000, seed=seed)
    for name in NAMES:
        number, drawn = getattr(law, name), getattr(estimate, name)
        values = np.arange(min(number.low, drawn.low), max(number.high, drawn.high) + 1)
        apart = np.abs(number.cdf(values) - drawn.cdf(values)).max()
        assert apart <= drawn.error + number.error, (name, apart)


@pytest.mark.parametrize("seed", range(4))
def test_laws_are_within_the_bands_of_a_simulation(seed: int) -> None:
    _compare_simulated(seed, 32, 128)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 150))
def test_large_laws_are_within_the_bands_of_a_simulation(seed: int) -> None:
    _compare_simulated(seed, 128, 16_384 if seed % 4 < 2 else 256)


def test_density_of_power_law_weights_is_integrated() -> None:
    """Two bins, two items: the integral of p**2 + (1 - p)**2 over both weights."""
    exponent, low, high = 1.2, 0.01, 2.0
    law = loads(2, 2, weights=f"power: {exponent}, {low}, {high}")
    u = (np.arange(2000) + 0.5) / 2000
    rise = 1 - exponent
    w = (low**rise + u * (high**rise - low**rise)) ** (1 / rise)
    p = w[:, None] / (w[:, None] + w)
    assert law.largest.cdf(1) == pytest.approx((2 * p * (1 - p)).mean(), abs=1e-6)


def test_joint_law_of_a_trace() -> None:
    table = loads(None, counts=[[1, 2, 3], [0, 6, 0]], tile=2).joint("largest", "tiles")
    assert table.sel(largest=3, tiles=4) == table.sel(largest=6, tiles=3) == 0.5
    assert table.sum() == 1
    with pytest.raises(LawError, match="larger units"):
        loads(None, counts=[[0, 1], [2**40, 2**40]]).joint("largest", "tiles")


def test_means_of_many_items_are_sums_of_binomial_means() -> None:
    """131,072 items: E Σ ⌈n / tile⌉ is the sum of Σ P(n > j·tile) over bins; P(n = 0) likewise."""
    items, tile = 131_072, 128
    shares = np.random.default_rng(3).dirichlet(np.full(256, 0.3))
    law = loads(items, probabilities=shares, tile=tile)
    laws = scipy.stats.binom(items, shares[:, None])
    tiles = laws.sf(np.arange(0, items, tile)).sum()
    for number, mean in ((law.tiles, tiles), (law.occupied, laws.sf(0).sum())):
        assert abs(number.mean() - mean) <= number.error * (number.high - number.low + 1)
    with_two = loads(items, probabilities=[0.3, 0.7])
    values = np.arange(91_000, 92_500)
    exact = scipy.stats.binom(items, 0.7)
    assert np.abs(with_two.largest.cdf(values) - exact.cdf(values)).max() <= with_two.largest.error


# --- limits
def test_extremes() -> None:
    law = loads(0, 4)
    assert [getattr(law, name).mean() for name in NAMES] == [0] * 5
    assert loads(0, 4, weights="dirichlet: 1").largest.mean() == 0
    law = loads(1000, 1, tile=7)
    assert [getattr(law, name).mean() for name in NAMES] == [1000, 1000, 1, 143, 143]
    law = loads(1000, probabilities=[0, 1, 0], groups=3, tile=5000)
    assert [getattr(law, name).mean() for name in NAMES] == [1000, 1000, 1, 1, 1]
    law = loads(12, probabilities=[1e-300, 0.5, 0.5, 5e-324])
    assert law.occupied.mean() == pytest.approx(2 - 2**-11, rel=1e-14)
    assert loads(1, 10**6).occupied.mean() == 1
    assert loads(10, 10**6).largest.cdf(1) == pytest.approx(
        math.prod(1 - i / 1e6 for i in range(10)), abs=1e-9
    )
    for tile in (1, 2, 3, 64):
        assert loads(64, 2, groups=1, tile=tile).busiest.mean() == 64
    assert loads(50, 8, tile=1).tiles.mean() == 50


def test_rare_bins_and_dominant_bins() -> None:
    """A binomial law: one bin has nearly all items."""
    law = loads(10_000, probabilities=[1 - 1e-6, 1e-6])
    exact = scipy.stats.binom(10_000, 1e-6)
    assert law.largest.cdf(9999) == pytest.approx(1 - exact.cdf(0), abs=law.largest.error)
    assert law.occupied.pmf(1) == pytest.approx(exact.pmf(0), abs=law.occupied.error)


def test_groups_may_be_a_number_sizes_or_lists() -> None:
    expected = loads(10, 5, groups=[[0, 1], [2, 3], [4]]).busiest.mean()
    assert loads(10, 5, groups=[2, 2, 1]).busiest.mean() == expected
    assert loads(10, 5, groups=3).busiest.mean() == expected
    assert loads(10, 5, groups=[[4], [3, 2], [1, 0]]).busiest.mean() == expected


def test_balanced_loads() -> None:
    law = loads(10, 4, counts="balanced", groups=2)
    assert (law.largest.mean(), law.busiest.mean(), law.largest.error) == (3, 5, 0)
    assert law.sample(1).tolist() == [[2, 3, 2, 3]]


def test_estimates_say_so() -> None:
    law = loads(100_000, 64, weights="lognormal: 1, 0.5")
    assert (law.method, law.largest.is_estimate) == ("simulation", True)
    assert 0.01 < law.largest.error < 0.02
    assert not loads(10, 4).largest.is_estimate
    for weights in (Pmf.geometric(1e-6), Pmf.from_scipy(scipy.stats.zipf(1.5)), "power: 3, 1, 9"):
        assert loads(5, 3, weights=weights).method == "simulation"


def test_weights_may_be_laws_of_scipy() -> None:
    discrete = loads(5, 3, weights=scipy.stats.randint(1, 3)).largest.mean()
    assert discrete == loads(5, 3, weights="uniform: 1, 2").largest.mean()
    assert loads(5, 3, weights=scipy.stats.expon()).largest.is_estimate
    assert loads(5, 3, weights="geometric: 1").largest.mean() == pytest.approx(
        loads(5, 3).largest.mean(), rel=1e-10
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"items": 2**53, "bins": 4}, "items"),
        ({"items": -1, "bins": 4}, "items"),
        ({"items": 1.5, "bins": 4}, "items"),
        ({"items": None, "bins": 4}, "items = None"),
        ({"items": 3}, "bins = None"),
        ({"items": 3, "bins": 0}, "bins = 0"),
        ({"items": 3, "bins": 2, "probabilities": [1]}, "one for each bin"),
        ({"items": 3, "probabilities": [0.5, 0.4]}, "divide them by their sum"),
        ({"items": 3, "probabilities": [1.5, -0.5]}, "-0.5"),
        ({"items": 3, "probabilities": []}, "0 probabilities"),
        ({"items": 3, "probabilities": "dirichlet: 1"}, "expected a list"),
        ({"items": 3, "bins": 2, "weights": "power: 1.2"}, "power:EXPONENT,LOW,HIGH"),
        ({"items": 3, "bins": 2, "weights": "power: 1.2, 2, 1"}, "above low"),
        ({"items": 3, "bins": 2, "weights": "dirichlet: 0"}, "concentration"),
        ({"items": 3, "bins": 2, "weights": "dirichlet: 1e300"}, "equal probabilities"),
        ({"items": 3, "bins": 2, "weights": "dirichlet: x"}, "no number"),
        ({"items": 3, "bins": 2, "weights": "zipf: 2"}, "names no family"),
        ({"items": 3, "bins": 2, "weights": 7}, "expected a law"),
        ({"items": 3, "bins": 2, "weights": Pmf.from_weights([1])}, "all 0"),
        ({"items": 3, "bins": 2, "weights": scipy.stats.norm()}, "negative"),
        ({"items": 3, "bins": 2, "groups": 3}, "groups = 3"),
        ({"items": 3, "bins": 4, "groups": [2, 1]}, "the sum 4"),
        ({"items": 3, "bins": 4, "groups": [[0, 1], [1, 2, 3]]}, "in one group"),
        ({"items": 3, "bins": 2, "groups": [[0, 1], []]}, "in one group"),
        ({"items": 3, "bins": 2, "groups": "two"}, "groups"),
        ({"items": 3, "bins": 2, "tile": 0}, "tile = 0"),
        ({"items": 7, "counts": [1, 2]}, "the sum 3 and items = 7"),
        ({"items": None, "counts": []}, "counts"),
        ({"items": None, "counts": [-1, 2]}, "-1"),
        ({"items": 3, "bins": 2, "counts": "even"}, "balanced"),
        ({"items": 3, "bins": 2, "counts": [1, 2], "weights": "dirichlet: 1"}, "one of them"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LawError, match=message):
        loads(**given)


def test_laws_that_take_too_long_are_refused() -> None:
    law = loads(2**40, probabilities=np.arange(1, 257) / sum(range(257)))
    with pytest.raises(LawError, match="fewer items"):
        _ = law.largest
    with pytest.raises(LawError, match="first"):
        law.joint("tiles", "tiles")
