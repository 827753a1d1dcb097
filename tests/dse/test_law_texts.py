"""Both kinds of laws as text have one grammar: what is accepted, and how the rest is refused."""

from __future__ import annotations

import pytest

from dse.uncertain.laws import read_input_law
from stochastic import LawError, Pmf
from symbolic.errors import DseError
from symbolic.quantities import TABLE
from tests.dse.law_texts import attack


def test_drawn_texts_are_read_as_they_are_meant_or_refused_in_one_clear_error() -> None:
    outcomes = attack(1000, 1)
    assert outcomes["read and refused"] > 150
    assert outcomes["refused and read"] > 80
    assert outcomes["refused and refused"] > 300


@pytest.mark.parametrize(
    ("text", "median"),
    [
        ("normal: 450 cycles, 5 %", 450),
        ("normal:450,5%", 450),
        (" normal : 450 , 20 cycles ", 450),
        ("NORMAL: 450 cycles, 22.5", 450),
        ("norm: 450, 5 %", 450),
        ("triangular: 400, 450, 500", 450),
        ("uniform: 400 cycles, 500 cycles", 450),
        ("beta: 2, 2, 400 cycles, 500 cycles", 450),
        ("beta: 1, 1", 0.5),
        ("discrete: 400: 1, 450 cycles: 3", 450),
        ("discrete: 400: 1/3, 450: 2/3", 450),
        ("discrete: 450", 450),
        ("normal: 9*50, 5 %", 450),
    ],
)
def test_laws_of_inputs_as_text(text: str, median: float) -> None:
    law = read_input_law(text, TABLE["mem_latency"], "random mem_latency")
    assert law.cdf(median) >= 0.5 - 1e-12
    assert law.cdf(median * (1 - 1e-9)) <= 0.5 + 1e-6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gauss: 1, 2", "'gauss: 1, 2' is no law: 'gauss' names no family"),
        ("unifrom: 1, 2", "did you mean 'uniform'"),
        ("uniform: 1", "gives uniform 1 of its 2 numbers: expected uniform:LOW,HIGH"),
        ("uniform", "gives uniform 0 of its 2 numbers"),
        ("", "'' is no law: expected one such as"),
        ("uniform: 1, " + "3" * 600, "it is too long"),
    ],
)
def test_both_kinds_refuse_a_text_in_the_same_words(text: str, message: str) -> None:
    with pytest.raises(LawError) as work:
        Pmf.parse(text)
    with pytest.raises(DseError) as of_input:
        read_input_law(text, TABLE["mem_latency"], "random mem_latency")
    assert message in str(work.value)
    assert str(of_input.value).startswith("random mem_latency = ")
    assert message in str(of_input.value)


def test_percents_and_units_are_of_inputs_alone() -> None:
    for text in ("geometric: 5 %", "poisson: 30 cycles"):
        with pytest.raises(LawError, match="is no number"):
            Pmf.parse(text)
