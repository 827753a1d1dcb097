"""Fractions, `==` with enumeration and with published values."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stochastic.checks import LawError
from tests.long import draws
from tests.oracles.imbalance_brute import brute_joint, brute_losses
from tests.oracles.imbalance_exact import ExactLaw


def uniform(low: int, high: int, lanes: int, zero_work: str = "one") -> ExactLaw:
    count = high - low + 1
    weights = (Fraction(1, count),) * count
    return ExactLaw(low=low, weights=weights, lanes=lanes, zero_work=zero_work)


@st.composite
def laws(draw: st.DrawFn) -> tuple[int, tuple[Fraction, ...], int]:
    ratios = st.fractions(0, 3, max_denominator=12)
    parts = draw(st.lists(ratios, min_size=1, max_size=7).filter(any))
    weights = tuple(part / sum(parts) for part in parts)
    return draw(st.integers(0, 3)), weights, draw(st.integers(1, 4))


#: A quarter of the groups has no work.
IDLE = (0, (Fraction(1, 2), Fraction(1, 6), Fraction(1, 3)), 2)


@settings(max_examples=draws(60), deadline=None)
@given(laws(), st.sampled_from(["one", "drop", "zero"]))
@example(IDLE, "one")
@example(IDLE, "drop")
@example(IDLE, "zero")
def test_all_answers_equal_enumeration(
    law: tuple[int, tuple[Fraction, ...], int], zero_work: str
) -> None:
    low, weights, lanes = law
    values = {low + i: w for i, w in enumerate(weights) if w}
    if zero_work == "drop" and set(values) == {0}:
        with pytest.raises(LawError, match="never any work"):
            ExactLaw(low=low, weights=weights, lanes=lanes, zero_work=zero_work)
        return
    exact = ExactLaw(low=low, weights=weights, lanes=lanes, zero_work=zero_work)
    assert exact.joint() == brute_joint(values, lanes)
    brute = brute_losses(values, lanes, zero_work)
    assert exact.pmf() == brute
    assert list(exact.pmf()) == sorted(brute)
    for k in range(4):
        assert exact.moment(k) == sum(x**k * p for x, p in brute.items())
    mean = sum(x * p for x, p in brute.items())
    assert exact.mean() == mean
    assert exact.var() == sum((x - mean) ** 2 * p for x, p in brute.items())
    before = Fraction(0)
    for (x, chance), below in zip(brute.items(), accumulate(brute.values()), strict=True):
        assert exact.cdf(x) == below == 1 - exact.sf(x)
        assert exact.cdf(x - Fraction(1, 10**9)) == before
        assert exact.quantile(below) == exact.quantile(before + chance / 2) == x
        before = below
    assert exact.quantile(Fraction(0)) == min(brute)


SHARED = [
    ((1, 6), 2, Fraction(64877, 49896)),
    ((1, 6), 3, Fraction(71309837, 49008960)),
    ((1, 6), 4, Fraction(1336879458293, 867385078560)),
    ((0, 1), 2, Fraction(5, 4)),
    ((0, 1), 3, Fraction(29, 16)),
    ((0, 1), 4, Fraction(103, 48)),
    ((0, 2), 2, Fraction(38, 27)),
]


@pytest.mark.parametrize(("support", "lanes", "mean"), SHARED)
def test_published_means(support: tuple[int, int], lanes: int, mean: Fraction) -> None:
    assert uniform(*support, lanes, "zero").mean() == mean


def test_other_published_values() -> None:
    assert uniform(1, 6, 2).moment(2) == Fraction(859617607, 493970400)
    die = uniform(1, 6, 32)
    assert len(die.pmf()) == 303
    output = [die.quantile(Fraction(q, 100)) for q in (1, 50, 90, 99)]
    assert output == [Fraction(96, 67), Fraction(12, 7), Fraction(48, 25), Fraction(32, 15)]
    assert float(die.cdf(Fraction(3, 2))) == pytest.approx(0.0546391059798324385, rel=1e-15)
    assert sum(die.pmf().values()) == sum(die.joint().values()) == 1


def test_weights_count_by_their_ratios() -> None:
    ones = ExactLaw(low=1, weights=(Fraction(1), Fraction(0), Fraction(3)), lanes=3)
    parts = ExactLaw(low=1, weights=(Fraction(1, 4), Fraction(0), Fraction(3, 4)), lanes=3)
    assert ones.pmf() == parts.pmf()
    assert ones.mean() == parts.mean()


def test_what_is_refused() -> None:
    with pytest.raises(LawError, match="lanes = 0"):
        uniform(1, 6, 0)
    with pytest.raises(LawError, match="one, drop, zero"):
        uniform(1, 6, 2, "two")
    with pytest.raises(LawError, match="fractions of 0 or more"):
        ExactLaw(low=0, weights=(Fraction(-1), Fraction(2)), lanes=2)
    with pytest.raises(LawError, match="probability from 0 to 1"):
        uniform(1, 6, 2).quantile(Fraction(3, 2))
