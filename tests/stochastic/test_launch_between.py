"""Launches of continuous durations, between two laws: closed forms, brackets, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import scipy.stats

from stochastic import LawError, Pmf, launch, launch_between
from tests.oracles.launch_fractions import in_fractions
from tests.oracles.launches import enumerate_launches


def even(t: float) -> float:
    return min(max(t, 0.0), 1.0)


def decaying(t: float) -> float:
    return -math.expm1(-max(t, 0.0))


@pytest.mark.parametrize("blocks", [2, 3, 10, 41])
def test_two_slots_of_even_durations(blocks: int) -> None:
    low, high = launch_between(even, step=0.01, blocks=blocks, slots=2).mean()
    assert low < blocks / 4 + 1 / 6 < high < low + 0.011 * (blocks / 2 + 2)


@pytest.mark.parametrize(("slots", "blocks"), [(8, 40), (3, 3), (1, 5)])
def test_exponential_durations(slots: int, blocks: int) -> None:
    mean = (blocks - slots) / slots + sum(1 / k for k in range(1, slots + 1))
    result = launch_between(scipy.stats.expon(), step=0.1, blocks=blocks, slots=slots)
    low, high = result.mean()
    assert low < mean < high
    below, above = result.quantile(0.5)
    assert result.cdf(below - 0.11)[0] < 0.5 < result.cdf(above + 0.11)[1]


@pytest.mark.parametrize(("step", "low", "high"), [(0.1, 0.575, 0.703), (0.05, 0.604, 0.669)])
def test_brackets_of_the_issue(step: float, low: float, high: float) -> None:
    result = launch_between(decaying, step=step, blocks=40, slots=8)
    assert result.cdf(7.0) == pytest.approx((low, high), abs=1e-3)
    assert result.chance(7.0) == result.cdf(7.0)
    assert (result.cdf(-1.0)[0], result.cdf(math.inf)[1]) == (0, 1)


def test_finer_steps_are_nearer() -> None:
    widths = []
    for step in (0.1, 0.05, 0.025):
        low, high = launch_between(even, step=step, blocks=6, slots=3, lanes=4).cdf(1.7)
        widths.append(high - low)
    assert widths[2] < widths[1] < widths[0]


def test_a_law_of_gaps_equals_enumeration_at_every_time() -> None:
    weights = [Fraction(1, 7), Fraction(0), Fraction(4, 7), Fraction(2, 7)]
    table = enumerate_launches([[Fraction(0), *weights]], [3], 6)
    law = launch(Pmf.from_weights(weights, low=1), slots=3, blocks=6)
    oracle = in_fractions([[Fraction(0), *weights]], [3], 6)
    for t in range(max(key[0] for key in table) + 1):
        chance = sum((p for key, p in table.items() if key[0] <= t), Fraction(0))
        assert oracle.cdf(t) == chance
        assert abs(Fraction(law.cdf(t)) - chance) <= law.error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"work": 3}, "work = 3"),
        ({"step": 0.0}, "step = 0.0"),
        ({"step": 1e-9}, "step = 1e-09"),
        ({"work": scipy.stats.norm()}, "0 or more"),
        ({"work": lambda t: 0.0}, "tail does not end"),
        ({"work": lambda t: 0.0 if t < 0 else max(1 - t, 0) if t < 1 else 1.0}, "falls after"),
    ],
)
def test_what_does_not_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LawError, match=message):
        launch_between(**{"work": even, "step": 0.01, "blocks": 4, "slots": 2, **given})


def test_a_law_too_large_names_what_works() -> None:
    result = launch_between(even, step=1e-5, blocks=100_000, slots=3)
    with pytest.raises(LawError, match="times as large"):
        result.cdf(17_000.0)
