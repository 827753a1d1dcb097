"""Divergent branches (Hong 2012, §2.6.5), against every outcome of every lane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolic.errors import DseError
from symbolic.models import divergence
from tests.long import draws
from tests.papers._solve import run_doctests, solve

Paths = Sequence[tuple[Fraction, int]]


def text(paths: Paths) -> str:
    return ", ".join(f"{chance}: {cycles}" for chance, cycles in paths)


def enumerate_outcomes(paths: Paths, lanes: int) -> tuple[Fraction, Fraction]:
    """Mean and variance over every way in which the lanes can choose their paths."""
    mean = square = Fraction(0)
    for choice in product(range(len(paths)), repeat=lanes):
        weight = math.prod((paths[i][0] for i in choice), start=Fraction(1))
        cost = sum(paths[i][1] for i in set(choice))
        mean += weight * cost
        square += weight * cost * cost
    return mean, square - mean * mean


@st.composite
def branches(draw: st.DrawFn) -> Paths:
    weights = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any))
    cycles = draw(st.lists(st.integers(0, 500), min_size=len(weights), max_size=len(weights)))
    total = sum(weights)
    return [(Fraction(w, total), c) for w, c in zip(weights, cycles, strict=True)]


@settings(max_examples=draws(60), deadline=None)
@given(branches(), st.integers(1, 5))
def test_every_outcome(paths: Paths, lanes: int) -> None:
    mean, variance = enumerate_outcomes(paths, lanes)
    got = solve("divergence", paths=text(paths), lanes=float(lanes))
    assert got["divergent_cycles"] == float(mean)
    assert got["divergent_cycles_std"] == pytest.approx(math.sqrt(variance), rel=1e-13)


@settings(max_examples=draws(80), deadline=None)
@given(branches(), st.integers(1, 64))
def test_invariants(paths: Paths, lanes: int) -> None:
    got = solve("divergence", paths=text(paths), lanes=lanes)
    slack = 1 + 1e-12
    assert got["convergent_cycles"] <= got["divergent_cycles"] * slack
    assert got["divergent_cycles"] <= got["divergent_cycles_bound"] * slack
    assert got["divergence_loss"] >= 1 / slack
    assert 0 <= got["divergent_cycles_std"] <= got["divergent_cycles_bound"]
    more = solve("divergence", paths=text(paths), lanes=lanes + 1)
    assert more["divergent_cycles"] * slack >= got["divergent_cycles"]


def test_one_lane_pays_for_one_path() -> None:
    got = solve("divergence", paths="0.5: 100, 0.3: 20, 0.2: 7", lanes=1)
    assert got["divergent_cycles"] == got["convergent_cycles"] == pytest.approx(57.4)
    variance = 0.5 * 100**2 + 0.3 * 20**2 + 0.2 * 7**2 - 57.4**2
    assert got["divergent_cycles_std"] == pytest.approx(math.sqrt(variance))
    assert got["divergence_loss"] == pytest.approx(1)


def test_many_lanes_pay_for_all_paths() -> None:
    """Fig. 30: the sum of all paths is within 6 % of the measurement."""
    got = solve("divergence", paths="0.5: 100, 0.3: 20, 0.2: 7")
    assert got["lanes"] == 32
    assert got["divergent_cycles_bound"] == 127
    assert got["divergent_cycles"] == pytest.approx(127, rel=1e-4)
    assert got["divergence_loss"] == pytest.approx(127 / 57.4, rel=1e-4)
    assert got["divergent_cycles_std"] < 0.5


def test_a_rare_path_is_far_from_the_bound() -> None:
    """1 % of the lanes take a path of 1000 cycles: a warp of 32 pays for it 27.5 % of the time."""
    got = solve("divergence", paths="0.99: 10, 0.01: 1000", lanes=32, path_probability=0.01)
    taken = 1 - 0.99**32
    assert got["path_taken"] == pytest.approx(taken, rel=1e-14)
    assert got["divergent_cycles"] == pytest.approx(10 + 1000 * taken, rel=1e-12)
    assert got["divergent_cycles_std"] == pytest.approx(
        1000 * math.sqrt(taken * (1 - taken)), rel=1e-9
    )
    assert got["divergent_cycles_bound"] == 1010


def test_path_taken_at_its_ends_and_in_fractions() -> None:
    for lanes in (1, 32):
        assert divergence.path_taken(0.0, lanes) == 0
        assert divergence.path_taken(1.0, lanes) == 1
        assert divergence.path_taken(Fraction(1, 3), lanes) == 1 - Fraction(2, 3) ** lanes
    chance = np.linspace(0, 1, 11)
    assert np.all(np.diff(divergence.path_taken(chance, np.full(11, 4.0))) > 0)


def test_more_lanes_than_are_raised_exactly() -> None:
    for lanes in (divergence.EXACT_LANES, divergence.EXACT_LANES + 1):
        got = solve("divergence", paths="0.999: 10, 0.001: 1000", lanes=float(lanes))
        taken = 1 - 0.999**lanes
        assert got["divergent_cycles"] == pytest.approx(10 + 1000 * taken, rel=1e-12)
        assert got["divergent_cycles_std"] == pytest.approx(
            1000 * math.sqrt(taken * (1 - taken)), rel=1e-12
        )


def test_one_path_is_no_divergence() -> None:
    got = solve("divergence", paths="1: 50")
    assert got["divergent_cycles"] == got["divergent_cycles_bound"] == 50
    assert (got["divergent_cycles_std"], got["divergence_loss"]) == (0, 1)
    nothing = solve("divergence", paths="1: 0")
    assert (nothing["divergent_cycles"], nothing["divergence_loss"]) == (0, 1)


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ("", "no path; expected 'probability: cycles"),
        ("0.5 100, 0.5: 20", "'0.5 100' is no path"),
        ("0.5: 100: 3, 0.5: 20", "no path"),
        ("half: 100, 0.5: 20", "no path"),
        ("1/0: 100", "no path"),
        ("nan: 100", "no path"),
        ("0.5: 100, 0.4: 20", "sum to 0.9, expected 1"),
        ("0.6: 100, 0.6: 20", "sum to 1.2, expected 1"),
        ("1.5: 100, -0.5: 20", "outside its domain"),
        ("0.5: -100, 0.5: 20", "outside its domain"),
    ],
)
def test_malformed_paths_are_refused_by_every_equation(paths: str, message: str) -> None:
    for equation in (divergence.divergent_cycles, divergence.divergent_cycles_std):
        with pytest.raises(DseError, match=message):
            equation(paths, 32)
    for equation in (divergence.divergent_cycles_bound, divergence.convergent_cycles):
        with pytest.raises(DseError, match=message):
            equation(paths)


def test_docstrings() -> None:
    failed, attempted = run_doctests(divergence)
    assert failed == 0
    assert attempted > 0
