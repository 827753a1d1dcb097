"""Correlated lanes: enumeration, the values of the issue, traces that are generated."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stochastic import (
    LawError,
    Pmf,
    granularity,
    imbalance,
    launch,
    measured,
    partition,
    split,
    stickiness,
)
from tests.oracles.law_fractions import fractions_of

WORK = Pmf.from_weights([Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)])
RHO = Fraction(2, 5)
MATRIX = [[Fraction(1, 2), 0, Fraction(1, 2)], [0, Fraction(1, 2), Fraction(1, 2)]]
MATRIX.append([Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)])  # keeps the law WORK
SHOCK = [(Fraction(1, 4), Pmf.from_weights([Fraction(1, 3), Fraction(2, 3)]))]
SHOCK.append((Fraction(3, 4), Pmf.from_weights([Fraction(0), Fraction(1, 2), Fraction(1, 2)])))


def enumerate_lanes(first: Any, follows: Any, lanes: int) -> dict[tuple[int, ...], Fraction]:
    """P(the lanes hold these values), of a law and P(next | this)."""
    result = {}
    for values in itertools.product(range(3), repeat=lanes):
        p = Fraction(first[values[0]])
        for this, after in itertools.pairwise(values):
            p *= follows(this, after)
        result[values] = p
    return result


def sticky(this: int, after: int) -> Fraction:
    return RHO * (this == after) + (1 - RHO) * fractions_of(WORK)[after]


def enumerate_shocks(lanes: int) -> dict[tuple[int, ...], Fraction]:
    result: dict[tuple[int, ...], Fraction] = {}
    for p, law in SHOCK:
        weights = [*fractions_of(law), Fraction(0), Fraction(0)]
        for values, q in enumerate_lanes(weights, lambda _, k, w=weights: w[k], lanes).items():
            result[values] = result.get(values, Fraction(0)) + p * q
    return result


TRACE = [2, 2, 1, 0, 0, 0, 2]


@pytest.mark.parametrize(
    ("how", "lanes"),
    [*itertools.product(["sticky", "matrix", "shock", "windows"], [1, 2, 4]), ("windows", 9)],
)
def test_every_way_lanes_can_be(how: str, lanes: int) -> None:
    if how == "sticky":
        table, correlation, work = enumerate_lanes(fractions_of(WORK), sticky, lanes), RHO, WORK
    elif how == "matrix":
        table = enumerate_lanes(fractions_of(WORK), lambda i, j: MATRIX[i][j], lanes)
        correlation, work = MATRIX, WORK
    elif how == "windows":
        table, correlation, work = {}, TRACE, Pmf.from_samples(TRACE)
        for k in range(len(TRACE)):
            seen = tuple((TRACE * 3)[k : k + lanes])
            table[seen] = table.get(seen, Fraction(0)) + Fraction(1, len(TRACE))
    else:
        table, correlation, work = enumerate_shocks(lanes), SHOCK, Pmf.mixture(SHOCK)
    law = imbalance(work, lanes, correlation=correlation)
    for a in range(3):
        below = sum(p for v, p in table.items() if max(v) <= a)
        assert law.longest.cdf(a) == pytest.approx(float(below), abs=1e-15)
    losses = {
        v: Fraction(lanes * max(v), sum(v)) if sum(v) else Fraction(1)
        for v, p in table.items()
        if p
    }
    assert sum(law.table.values()) == pytest.approx(1, abs=1e-15)
    for t in set(losses.values()):
        truth = sum(p for v, p in table.items() if p and losses[v] <= t)
        assert law.cdf(t) == pytest.approx(float(truth), abs=1e-15)
        assert law.quantile(truth) == float(t)
    mean = sum(p * losses[v] for v, p in table.items() if p)
    assert law.mean() == pytest.approx(float(mean), rel=1e-11)
    block = launch(work, lanes=lanes, blocks=1, slots=1, correlation=correlation)
    assert block.cdf(1) == pytest.approx(law.longest.cdf(1), abs=1e-14)


def test_a_shock_of_infinite_laws_has_a_table() -> None:
    """Half of the groups draw from a geometric law, the others have one iteration in each lane."""
    laws = [(0.5, Pmf.geometric(0.9)), (0.5, Pmf.uniform(1, 1))]
    law = imbalance(Pmf.mixture(laws), 2, correlation=laws)
    assert sum(law.table.values()) == pytest.approx(1, abs=1e-14)
    mean = sum(p * float(x) for x, p in law.table.items())
    assert law.mean() == pytest.approx(mean, rel=1e-11)
    assert mean == pytest.approx((1 + imbalance(Pmf.geometric(0.9), 2).mean()) / 2, abs=1e-9)


@pytest.mark.parametrize(("rho", "paid"), [(0, 3.981), (0.3, 3.647), (0.7, 2.879), (0.9, 2.009)])
def test_what_alike_lanes_pay(rho: float, paid: float) -> None:
    law = imbalance(Pmf.geometric(0.05), 32, correlation=rho)
    assert law.slowdown() == pytest.approx(paid, abs=5e-4)


def generate_trace(rng: np.random.Generator, rho: float, size: int) -> Any:
    fresh = rng.geometric(0.2, size)
    begins = np.where(rng.random(size) < rho, 0, np.arange(size))
    return fresh[np.maximum.accumulate(begins)]


def check_coverage(seed: int, cases: int) -> float:
    """Return how often the interval of 95 % holds the truth, over many rho."""
    rng, state = np.random.default_rng(seed), 0
    for _ in range(cases):
        rho = rng.uniform(0.02, 0.95)
        result = stickiness(generate_trace(rng, rho, 2000))
        state += result.low <= rho <= result.high
    return state / cases


def test_the_interval_holds_the_truth() -> None:
    assert 0.9 <= check_coverage(seed=4, cases=200) <= 0.99


def test_remedies_know_of_neighbours() -> None:
    trace = generate_trace(np.random.default_rng(3), 0.7, 40_000)
    result = measured(trace, 32)
    assert abs(float(result["alike"]) - 0.7) < 4 * float(result["alike_error"])
    assert float(result["alike_slowdown"]) == pytest.approx(float(result["slowdown"]), rel=0.03)
    law = Pmf.geometric(0.2)
    one = granularity(law, 8, 0.1, correlation=0.7, objective="slowdown")
    exact = imbalance(law, 8, correlation=0.7)
    assert float(one["slowdown"][-1]) == pytest.approx(exact.slowdown())
    cut = split(law, overhead=1, lanes=8, correlation=0.7)
    assert float(cut["whole_slowdown"]) == pytest.approx(float(one["slowdown"][-1]))
    bins = partition(law, 3, 8, correlation=0.7)
    assert float(bins["slowdown"][0]) == pytest.approx(float(one["slowdown"][-1]))
    plain = partition(law, 3, 8)
    assert float(bins["gain"][2]) < float(plain["gain"][2])
    nearly = partition(law, 3, 8, correlation=1e-14)
    assert nearly["gain"].values == pytest.approx(plain["gain"].values, rel=1e-12)


def test_sorting_gains_what_it_is_told_to_gain() -> None:
    rng = np.random.default_rng(8)
    trace = generate_trace(rng, 0.6, 200_000)
    law, lanes = Pmf.from_samples(trace), 16
    result = partition(law, 2, lanes, correlation=0.6)
    paid = 0
    for low, high in result.edges(2):
        items = trace[(trace >= low) & (trace <= high)]
        groups = items[: len(items) // lanes * lanes].reshape(-1, lanes)
        paid += lanes * groups.max(axis=1).sum()
    assert float(result["slowdown"][1]) == pytest.approx(paid / trace.sum(), rel=0.01)


@pytest.mark.parametrize(
    "correlation", [-0.1, 1.5, True, "0.3", [[1, 0], [0, 1]], [(1, WORK.shift(1))], [1, 2, 2]]
)
def test_what_does_not_fit(correlation: Any) -> None:
    with pytest.raises(LawError, match="correlation"):
        imbalance(WORK, 4, correlation=correlation)


def test_the_former_keyword_is_accepted() -> None:
    options: dict[str, Any] = {"alike": 0.5}
    assert imbalance(WORK, 4, **options).mean() == imbalance(WORK, 4, correlation=0.5).mean()
    with pytest.raises(TypeError, match="alike and correlation: give one"):
        imbalance(WORK, 4, correlation=0.5, **options)


def test_lanes_that_all_repeat_wait_for_none() -> None:
    law = imbalance(WORK, 4, correlation=1)
    assert (law.slowdown(), law.quantile(1)) == (1, 1)
    assert math.isclose(law.mean(), 1.0)


if __name__ == "__main__":
    print("intervals that hold the truth", check_coverage(seed=1, cases=2000))
