"""Lanes that work together on one item."""

import math
from fractions import Fraction

import numpy as np
import pytest

from stochastic import LawError, Pmf, granularity, imbalance
from tests.oracles.imbalance_remedies import group_means

DIE = Pmf.uniform(1, 6)


def test_means_by_enumeration():
    weights = {k: Fraction(1, 6) for k in range(1, 7)}
    result = granularity(DIE, group=4)
    assert result["lanes"].values.tolist() == [1, 2, 4]
    assert result["lanes_per_item"].values.tolist() == [4, 2, 1]
    for n in (1, 2, 4):
        loss, longest = group_means(weights, n)
        assert float(result["loss"].sel(lanes=n)) == pytest.approx(float(loss), rel=1e-14)
        ratio = float(longest / Fraction(7, 2))
        assert float(result["slowdown"].sel(lanes=n)) == pytest.approx(ratio, rel=1e-14)


def test_same_means_as_the_law_of_the_loss():
    law = Pmf.geometric(0.05)
    result = granularity(law, group=32)
    for n in result["lanes"].values.tolist():
        assert float(result["loss"].sel(lanes=n)) == pytest.approx(
            imbalance(law, n).mean(), abs=2e-9
        )
        ratio = float(imbalance(law, n).slowdown())
        assert float(result["slowdown"].sel(lanes=n)) == pytest.approx(ratio, rel=1e-8)


def test_divisors_of_any_group():
    assert granularity(DIE, group=12)["lanes"].values.tolist() == [1, 2, 3, 4, 6, 12]
    assert granularity(DIE, group=7)["lanes_per_item"].values.tolist() == [7, 1]
    assert granularity(DIE, group=1)["cost"].values.tolist() == [1.0]


FACTORS = {1: 1.0, 2: 1.1, 4: 1.3, 8: 1.7}


@pytest.mark.parametrize(
    "overhead",
    [
        0.1,
        Fraction(1, 10),
        np.float64(0.1),
        lambda c: 1 + (c - 1) / 10,
        FACTORS,
        list(FACTORS.values()),
        np.array(list(FACTORS.values())),
    ],
)
def test_overhead_said_in_any_way(overhead):
    result = granularity(DIE, group=8, overhead=overhead)
    wanted = [FACTORS[c] for c in result["lanes_per_item"].values.tolist()]
    assert result["overhead"].values == pytest.approx(wanted)
    assert result["cost"].values == pytest.approx(result["loss"].values * wanted)
    place = int(np.argmin(result["cost"].values))
    assert int(result["best_lanes"]) == result["lanes"].values[place]
    assert float(result["best_cost"]) == result["cost"].values[place]


def test_least_cooperation_of_equal_costs():
    level = granularity(Pmf.uniform(5, 5), group=32)
    assert level["cost"].values.tolist() == [1.0] * 6
    assert int(level["best_lanes"]) == 32


def test_free_cooperation_takes_all_lanes():
    assert int(granularity(DIE)["best_lanes"]) == 1


def test_slowdown_as_objective():
    result = granularity(DIE, overhead=0.01, objective="slowdown")
    expected = result["slowdown"].values * result["overhead"].values
    assert result["cost"].values == pytest.approx(expected)
    assert result.attrs["objective"] == "slowdown"


def test_everything_is_labelled():
    result = granularity(DIE)
    for name in result.variables:
        assert result[name].attrs["units"] == "1"
        assert result[name].attrs["long_name"]
    assert result.attrs["work"] == repr(DIE)
    assert result.attrs["group"] == 32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": 0}, "group = 0"),
        ({"group": 2.5}, "group = 2.5"),
        ({"objective": "speed"}, "objective = 'speed'"),
        ({"overhead": {1: 1.0, 2: 1.5}}, r"no factor for \[4\] lanes"),
        ({"overhead": [1.0, 2.0]}, "2 factors; expected one for each of 1, 2, 4"),
        ({"overhead": "much"}, "overhead = 'much'"),
        ({"overhead": -0.5}, "finite factors above 0"),
        ({"overhead": math.nan}, "finite factors above 0"),
        ({"overhead": lambda c: "x"}, "expected a factor for each"),
        ({"tol": 0}, "tol = 0"),
        ({"pmf": "geometric"}, "is no law of work"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(LawError, match=message):
        granularity(**({"pmf": DIE, "group": 4} | change))
