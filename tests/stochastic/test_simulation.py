"""Monte Carlo: reproducible, unbiased, and its errors are as large as it says."""

import math
from fractions import Fraction

import numpy as np
import pytest

from stochastic import LawError, Pmf, imbalance, simulate
from stochastic.kernels.simulate import alias_table
from stochastic.trials.simulation import losses
from tests.oracles.imbalance_remedies import group_means

_MASK = 2**64 - 1


def splitmix(key, place):
    """Number ``place`` of the stream, in whole numbers."""
    z = (key + 0x9E3779B97F4A7C15 * (place + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def test_the_generator_is_splitmix():
    """Its first numbers from the state 1234567, as published with the algorithm."""
    assert splitmix(1234567, 0) == 6457827717110365317
    assert splitmix(1234567, 1) == 3203168211198807973


def by_hand(law, lanes, groups, seed):
    """The losses drawn, item by item."""
    bits = max(1, (len(law.weights) - 1).bit_length())
    table = [int(x) for x in alias_table(law.weights, bits)]
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    result = []
    for group in range(groups):
        items = []
        for lane in range(lanes):
            z = splitmix(key, group * lanes + lane)
            column, rest = z >> (64 - bits), (z << bits) & _MASK
            drawn = column if rest < table[2 * column] else table[2 * column + 1]
            items.append(law.low + drawn)
        result.append(lanes * max(items) / sum(items))
    return result


def test_losses_item_by_item():
    law = Pmf.uniform(1, 6)
    assert losses(law, 3, 50, seed=7).tolist() == by_hand(law, 3, 50, 7)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_alias_table_holds_the_law(size):
    rng = np.random.default_rng(size)
    weights = rng.random(size) ** 8
    weights /= weights.sum()
    bits = max(1, (size - 1).bit_length())
    table = alias_table(weights, bits)
    remaining = table[::2].astype(np.float64) / 2.0**64
    state = remaining.copy()
    np.add.at(state, table[1::2].astype(int), 1.0 - remaining)
    state /= 2**bits
    assert state[:size] == pytest.approx(weights, abs=1e-15)
    assert np.abs(state[size:]).sum() < 1e-15


def test_same_for_any_number_of_threads():
    first = simulate(Pmf.uniform(0, 9), 32, 1_500_000, seed=3, threads=1)
    for threads in (2, 3):
        other = simulate(Pmf.uniform(0, 9), 32, 1_500_000, seed=3, threads=threads)
        assert first.identical(other)
    assert float(first["loss"]) != float(simulate(Pmf.uniform(0, 9), 32, 1_500_000, seed=4)["loss"])


def test_tallies_agree_with_the_losses_themselves():
    law, lanes, groups = Pmf.uniform(0, 3), 4, 70_000
    every = losses(law, lanes, groups, seed=5)
    result = simulate(law, lanes, groups, seed=5, bins=20)
    assert float(result["loss"]) == pytest.approx(every.mean(), rel=1e-14)
    assert float(result["loss_std"]) == pytest.approx(every.std(ddof=1), rel=1e-12)
    assert float(result["loss_error"]) == pytest.approx(
        every.std(ddof=1) / math.sqrt(groups), rel=1e-12
    )
    spread = ((every - every.mean()) ** 2).std() / math.sqrt(groups) / (2 * every.std(ddof=1))
    assert float(result["loss_std_error"]) == pytest.approx(spread, rel=1e-10)
    ordered = np.sort(every)
    for q, value in zip(result["probability"].values, result["loss_quantile"].values, strict=True):
        assert value == ordered[math.ceil(q * groups) - 1]
    assert result["loss_smallest"] == ordered[0]
    assert result["loss_largest"] == ordered[-1]
    assert int(result["frequency"].sum()) == groups
    left, right = result["left"].values, result["right"].values
    assert np.all(left[1:] == right[:-1])
    counted, _ = np.histogram(every, np.append(left, right[-1]))
    assert counted.tolist() == result["frequency"].values.tolist()
    assert np.diff(left) == pytest.approx(np.full(19, (ordered[-1] - 1.0) / 20), rel=0.01)
    assert float((result["density"] * (right - left)).sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("zero_work", ["one", "zero", "drop"])
def test_group_without_work(zero_work):
    law, lanes, groups = Pmf.uniform(0, 1), 2, 100_000
    result = simulate(law, lanes, groups, zero_work=zero_work)
    value = {"one": Fraction(5, 4) + Fraction(1, 4), "zero": Fraction(5, 4), "drop": Fraction(5, 3)}
    wanted = float(value[zero_work])
    assert abs(float(result["loss"]) - wanted) < 5 * float(result["loss_error"])
    assert abs(float(result["slowdown"]) - 1.5) < 5 * float(result["slowdown_error"])
    every = losses(law, lanes, 1000, zero_work=zero_work)
    assert len(every) == 1000
    assert {"one": 1.0, "zero": 0.0, "drop": 1.0}[zero_work] == every.min()
    assert (result.attrs["counted"] < groups) == (zero_work == "drop")


def test_errors_are_as_large_as_told():
    """Over 200 seeds the estimates scatter by their standard errors and intervals cover."""
    law, lanes = Pmf.uniform(1, 6), 3
    loss, longest = group_means({k: Fraction(1, 6) for k in range(1, 7)}, lanes)
    true = {"loss": float(loss), "slowdown": float(longest / Fraction(7, 2))}
    scores = {name: [] for name in true}
    covered = 0
    exact = np.sort([lanes * max(a, b, c) / (a + b + c) for a, b, c in np.ndindex(6, 6, 6)
                     for a, b, c in [(a + 1, b + 1, c + 1)]])  # fmt: skip
    median = exact[107]
    for seed in range(200):
        result = simulate(law, lanes, 2000, seed=seed, quantiles=[0.5])
        for name, values in scores.items():
            values.append((float(result[name]) - true[name]) / float(result[f"{name}_error"]))
        covered += (
            result["loss_quantile_low"].item() <= median <= result["loss_quantile_high"].item()
        )
    for values in scores.values():
        assert abs(np.mean(values)) < 4 / math.sqrt(200)
        assert 0.8 < np.std(values) < 1.2
    assert covered >= 185


LAWS = {
    "geometric": Pmf.geometric(0.05),
    "uniform": Pmf.uniform(20, 40),
    "negative binomial": Pmf.negative_binomial(5, 0.3),
    "bernoulli": Pmf.bernoulli(0.25),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("lanes", [2, 32])
def test_agrees_with_the_law_of_the_loss(name, lanes):
    groups = 300_000
    result, law = simulate(LAWS[name], lanes, groups, seed=11), imbalance(LAWS[name], lanes)
    true = {"loss": law.mean(), "loss_std": law.std(), "slowdown": law.slowdown().value}
    for what, value in true.items():
        assert abs(float(result[what]) - value) < 4.5 * float(result[f"{what}_error"])
    wanted = law.slowdown().std(groups)
    assert float(result["slowdown_error"]) == pytest.approx(wanted, rel=0.02)


def test_spread_of_many_lanes_keeps_its_digits():
    result = simulate(Pmf.uniform(20, 40), 100_000, 200, bins=10)
    every = losses(Pmf.uniform(20, 40), 100_000, 200)
    assert every.std() < 1e-3
    assert float(result["loss_std"]) == pytest.approx(every.std(ddof=1), rel=1e-6)
    median = np.sort(every)[99]
    assert float(result["loss_quantile"].sel(probability=0.5)) == pytest.approx(median, abs=2e-7)


def test_infinite_law():
    result = simulate(Pmf.geometric(0.05), 32, 400_000, seed=1)
    assert result.attrs["missing"] < 1e-17
    assert abs(float(result["loss"]) - 3.97877460065029965) < 5 * float(result["loss_error"])
    assert abs(float(result["slowdown"]) - 3.981165) < 5 * float(result["slowdown_error"])


def test_one_lane_or_one_value_loses_nothing():
    for law, lanes in ((Pmf.uniform(1, 6), 1), (Pmf.uniform(4, 4), 8), (Pmf.uniform(0, 0), 8)):
        result = simulate(law, lanes, 1000)
        assert float(result["loss"]) == float(result["slowdown"]) == 1.0
        assert float(result["loss_error"]) == float(result["slowdown_error"]) == 0.0
        assert result["loss_quantile"].values.tolist() == [1.0] * 7


def test_one_group_has_no_error():
    result = simulate(Pmf.uniform(1, 6), 2, 1)
    assert math.isnan(result["loss_error"])
    assert math.isnan(result["slowdown_error"])
    assert float(result["loss_quantile_low"].sel(probability=0.5)) == 1.0
    assert float(result["loss_quantile_high"].sel(probability=0.5)) == 2.0


def test_everything_is_labelled():
    result = simulate(Pmf.uniform(1, 6), 2, 100)
    for name in result.variables:
        assert result[name].attrs["units"] == "1"
        assert result[name].attrs["long_name"]
    assert result.attrs["lanes"] == 2
    assert result.attrs["groups"] == 100
    assert result.attrs["seed"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lanes": 0}, "lanes = 0"),
        ({"lanes": 2.5}, "lanes = 2.5"),
        ({"groups": 0}, "groups = 0"),
        ({"groups": "many"}, "groups = 'many'"),
        ({"seed": -1}, "seed = -1"),
        ({"bins": 0}, "bins = 0"),
        ({"threads": 0}, "threads = 0"),
        ({"zero_work": "two"}, "zero_work = 'two': expected one of one, drop, zero"),
        ({"quantiles": [0.5, 1.5]}, "expected probabilities"),
        ({"quantiles": [math.nan]}, "expected probabilities"),
        ({"pmf": [0.5, 0.5]}, "is no law of work"),
        ({"pmf": Pmf.uniform(0, 0), "zero_work": "drop"}, "never has any work"),
    ],
)
def test_refusals(change, message):
    given = {"pmf": Pmf.uniform(1, 6), "lanes": 2, "groups": 10} | change
    with pytest.raises(LawError, match=message):
        simulate(**given)


def test_no_group_with_work_was_drawn():
    rare = Pmf.from_weights({0: 1 - 1e-12, 1: 1e-12})
    with pytest.raises(LawError, match="draw more groups"):
        simulate(rare, 2, 10, zero_work="drop")
