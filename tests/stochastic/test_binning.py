"""Optimal bins, against every way to cut a law into bins."""

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stochastic import LawError, Pmf, imbalance, partition
from tests.long import draws, long
from tests.oracles.imbalance_remedies import bin_items, runs


@st.composite
def laws(draw, most=7):
    """Fractions by value: values far apart or side by side, weights alike or not."""
    values = draw(st.lists(st.integers(0, 12), min_size=1, max_size=most, unique=True))
    counts = draw(st.lists(st.integers(1, 40), min_size=len(values), max_size=len(values)))
    return {v: Fraction(c, sum(counts)) for v, c in sorted(zip(values, counts, strict=True))}


@long
@settings(max_examples=draws(60), deadline=None)
@given(laws(), st.integers(1, 5), st.sampled_from(["slowdown", "loss"]))
def test_every_way_to_cut(weights, lanes, objective):
    result = partition(Pmf.from_weights(weights), 4, lanes, objective=objective)
    values = list(weights)
    assert result["bins"].values.tolist() == list(range(1, min(4, len(values)) + 1))
    for bins in result["bins"].values.tolist():
        output = {way: bin_items(weights, way, lanes) for way in runs(values, bins)}
        cost = {way: both[objective == "loss"] for way, both in output.items()}
        least = min(cost.values())
        edges = result.edges(bins)
        chosen = tuple(tuple(v for v in values if a <= v <= b) for a, b in edges)
        assert float(cost[chosen] - least) <= 1e-12 * float(least)
        near = [way for way, value in cost.items() if value - least <= least * Fraction(1, 10**9)]
        assert chosen in near
        if all(cost[way] != least for way in near if way != near[0]):
            assert chosen == near[0]
        row = result.table.sel(bins=bins)
        slow, loss = output[chosen]
        assert float(row["slowdown"]) == pytest.approx(float(slow), rel=1e-12)
        assert float(row["loss"]) == pytest.approx(float(loss), rel=1e-12)
        first = next(iter(runs(values, 1)))
        one = bin_items(weights, first, lanes)[objective == "loss"]
        assert float(row["gain"]) == pytest.approx(float(one / least), rel=1e-12)
        assert float(row["weight"].sum()) == pytest.approx(1.0)


def test_ties_go_to_the_lowest_edges():
    """Partitions {1}, {2, 3} and {1, 2}, {3} with one lane neither loses anything."""
    assert partition(Pmf.uniform(1, 3), 2, 1).edges(2) == ((1, 1), (2, 3))


@settings(max_examples=draws(25), deadline=None)
@given(st.integers(2, 200), st.integers(1, 64), st.integers(0, 2**32 - 1))
def test_more_bins_never_cost_more(size, lanes, seed):
    weights = np.random.default_rng(seed).random(size) ** 4
    result = partition(Pmf.from_weights(weights, normalise=True), 10, lanes)
    slow = result["slowdown"].values
    assert np.all(np.diff(slow) <= 1e-12)
    assert np.all(slow >= 1.0 - 1e-12)
    assert result["gain"].values == pytest.approx(slow[0] / slow, rel=1e-12)
    assert result["gain"].values[0] == 1.0


def test_one_bin_is_the_law_itself():
    law = Pmf.uniform(20, 40)
    for objective in ("slowdown", "loss"):
        one = partition(law, 3, 8, objective=objective).table.isel(bins=0)
        assert float(one["loss"]) == pytest.approx(imbalance(law, 8).mean(), rel=1e-13)
        ratio = float(imbalance(law, 8).slowdown())
        assert float(one["slowdown"]) == pytest.approx(ratio, rel=1e-13)
        assert (int(one["lower"][0]), int(one["upper"][0])) == (20, 40)


def test_bins_for_the_loss_and_for_the_slowdown_differ():
    """Each is the better by its own measure."""
    law = Pmf.geometric(0.05)
    slow, loss = (partition(law, 4, 32, objective=name) for name in ("slowdown", "loss"))
    assert slow.edges(4) != loss.edges(4)
    assert float(slow["slowdown"][-1]) < float(loss["slowdown"][-1])
    assert float(slow["loss"][-1]) > float(loss["loss"][-1])


def test_as_many_bins_as_values_lose_nothing():
    result = partition(Pmf.from_weights([0.2, 0, 0.5, 0, 0.3]), bins=9, lanes=32)
    assert result["bins"].values.tolist() == [1, 2, 3]
    assert result.edges(3) == ((0, 0), (2, 2), (4, 4))
    assert float(result["slowdown"][-1]) == pytest.approx(1.0, rel=1e-15)
    assert int(result["enough"]) == 3
    assert not result.table.attrs["more_pay"]


@pytest.mark.parametrize("worth", [0.0, 0.01, 0.05, 0.3])
def test_enough_is_where_a_further_bin_gains_little(worth):
    law = Pmf.uniform(1, 64)
    result = partition(law, 8, 32, worth=worth)
    slow = partition(law, 9, 32)["slowdown"].values
    gains = slow[:-1] / slow[1:] - 1
    little = [b for b, gain in enumerate(gains, start=1) if gain <= worth]
    assert int(result["enough"]) == (little[0] if little else 8)
    assert result.table.attrs["more_pay"] == (not little)


def test_laws_after_binning_make_up_the_law():
    law = Pmf.geometric(0.05)
    result = partition(law, 5, 8)
    parts = result.laws(4)
    weights = result.table.sel(bins=4)["weight"].values[:4]
    assert [part.low for part in parts] == [low for low, _ in result.edges(4)]
    assert [part.high for part in parts[:3]] == [high for _, high in result.edges(4)[:3]]
    assert parts[3].high == math.inf  # nothing of the law is left out
    mixed = Pmf.mixture(zip(weights, parts, strict=True), normalise=True)
    for k in (1, 7, 20, 100):
        assert mixed.cdf(k) == pytest.approx(law.cdf(k), abs=1e-11)
    losses = [imbalance(part, 8).mean() for part in parts]
    assert float(result["loss"].sel(bins=4)) == pytest.approx(float(weights @ losses), rel=1e-9)
    assert len(result.laws()) == int(result["enough"])
    with pytest.raises(LawError, match="the partition has 1 to 5"):
        result.laws(6)


def test_places_are_fewer_edges_with_exact_means():
    law = Pmf.uniform(1, 300)
    full, some = partition(law, 4, 32), partition(law, 4, 32, places=20)
    assert np.all(some["slowdown"].values >= full["slowdown"].values * (1 - 1e-14))
    assert some["slowdown"].values == pytest.approx(full["slowdown"].values, rel=0.05)
    assert partition(law, 4, 32, places=1000).table.identical(full.table)
    loss = partition(law, 4, 32, places=20, objective="loss")
    assert float(loss["loss"][0]) == float(full["loss"][0])


def test_a_thousand_values_take_less_than_a_second():
    law = Pmf.uniform(1, 1000)
    for objective in ("slowdown", "loss"):
        partition(law, 2, 32, objective=objective)
        start = time.thread_time()
        partition(law, 8, 32, objective=objective)
        assert time.thread_time() - start < 1.0


def test_heavy_tail_keeps_its_digits():
    """A value 10**5 times the others, once in 10**12: the terms span 17 decades."""
    weights = {0: Fraction(1, 2), 1: Fraction(1, 2) - Fraction(1, 10**12)}
    weights[10**5] = Fraction(1, 10**12)
    for objective in ("slowdown", "loss"):
        floats = Pmf.from_weights({value: float(weight) for value, weight in weights.items()})
        result = partition(floats, 2, 4, objective=objective)
        for bins, way in ((1, [(0, 1, 10**5)]), (2, [(0,), (1, 10**5)]), (2, [(0, 1), (10**5,)])):
            output = bin_items(weights, way, 4)
            edges = tuple((values[0], values[-1]) for values in way)
            if result.edges(bins) == edges:
                row = result.table.sel(bins=bins)
                assert float(row["slowdown"]) == pytest.approx(float(output[0]), rel=1e-13)
                assert float(row["loss"]) == pytest.approx(float(output[1]), rel=1e-13)
        cost = {
            tuple((v[0], v[-1]) for v in way): bin_items(weights, way, 4)[objective == "loss"]
            for way in runs(list(weights), 2)
        }
        assert result.edges(2) == min(cost, key=cost.get)


def test_it_reads_like_a_table():
    result = partition(Pmf.uniform(1, 6), 3)
    assert repr(result) == repr(result.table)
    assert "slowdown" in result._repr_html_()
    for name in result.table.variables:
        assert result[name].attrs["units"] == "1"
        assert result[name].attrs["long_name"]
    for (_, high), (low, _) in itertools.pairwise(result.edges(3)):
        assert high < low


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bins": 0}, "bins = 0"),
        ({"bins": 1.5}, "bins = 1.5"),
        ({"lanes": 0}, "lanes = 0"),
        ({"objective": "gain"}, "objective = 'gain'"),
        ({"worth": -1}, "worth = -1"),
        ({"worth": "little"}, "worth = 'little'"),
        ({"places": 1}, "places = 1"),
        ({"pmf": [1.0]}, "is no law of work"),
        ({"pmf": Pmf.uniform(0, 100_000)}, "give places=1000"),
        ({"pmf": Pmf.uniform(0, 8000), "objective": "loss"}, "give places=1000"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(LawError, match=message):
        partition(**({"pmf": Pmf.uniform(1, 6)} | change))
