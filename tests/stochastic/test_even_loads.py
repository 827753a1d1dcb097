"""Loads that are spread as evenly as random shares allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stochastic import LawError, loads
from stochastic.skew.shares import spread_evenly


@pytest.mark.parametrize("items", [0, 1, 7, 1000, 2**31])
def test_even_spreads_round_the_shares_down_or_up(items: int) -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(50, 0.2), 2000)
    loads = spread_evenly(items, shares, rng)
    assert (loads.sum(axis=1) == items).all()
    assert (np.abs(loads - items * shares) < 1 + 1e-6).all()
    assert (loads >= 0).all()
    # the mean is exact: within 5 standard deviations of a rounding
    assert np.abs((loads - items * shares).mean(axis=0)).max() < 2.5 / np.sqrt(2000)


@pytest.mark.parametrize("seed", range(20))
def test_a_spread_is_the_floor_of_sums_of_shares(seed: int) -> None:
    """The twin counts the items whose points lie in each bin; points are 1 / items apart."""
    rng = np.random.default_rng(seed)
    items, shares = int(rng.integers(1, 40)), rng.dirichlet(np.full(7, 0.4), 1)
    first = np.random.default_rng(9).random()
    points = (np.arange(items) + 1 - first) / items
    ends = np.cumsum(shares[0])
    ends[-1] = 2
    expected = np.bincount(np.searchsorted(ends, points), minlength=7)
    result = spread_evenly(items, shares, np.random.default_rng(9))[0]
    assert result.tolist() == expected.tolist()


def test_even_spreads_vary_less_than_independent_items() -> None:
    given: dict[str, Any] = {"weights": "power: 1.2, 0.01, 2", "groups": 8, "tile": 4}
    even = loads(512, 256, spread="even", **given)
    assert even.method == "simulation"
    assert even.largest.is_estimate
    independent = loads(512, 256, **given)
    assert even.largest.mean() < independent.largest.mean()
    assert even.occupied.mean() > independent.occupied.mean()
    drawn = even.sample(2000, seed=3)
    assert (drawn.sum(axis=1) == 512).all()
    assert drawn.max(axis=1).mean() == pytest.approx(even.largest.mean(), rel=0.02)
    joint = even.joint("busiest", "tiles")
    assert float(joint.sum()) == pytest.approx(1)
    assert loads(0, 4, weights="dirichlet: 1", spread="even").occupied.mean() == 0


@pytest.mark.parametrize("concentration", ["0.0101", "0.0099", "1e-9"])
def test_a_small_concentration_leaves_one_bin_or_few(concentration: str) -> None:
    law = loads(40, 16, weights=f"dirichlet: {concentration}", spread="even")
    drawn = law.sample(4000)
    shares = drawn / 40
    # mean and second moment of a Dirichlet share
    a = float(concentration)
    assert shares.mean() == pytest.approx(1 / 16)
    second = (a + 1) / (16 * (16 * a + 1))
    assert (shares**2).mean() == pytest.approx(second, rel=0.02)
    assert np.abs(shares.mean(axis=0) - 1 / 16).max() < 5 * np.sqrt(second / 4000)


def test_a_spread_without_weights_is_refused() -> None:
    with pytest.raises(LawError, match="needs weights="):
        loads(6, 3, spread="even")
    with pytest.raises(LawError, match="spread = 'odd': expected one of independent, even"):
        loads(6, 3, spread="odd")
