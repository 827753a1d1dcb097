"""Nearly certain laws and groups that hardly ever have work; more by tests.stochastic.extremes."""

from __future__ import annotations

import warnings

import pytest

from stochastic import Pmf, imbalance
from tests.stochastic import extremes


def test_a_group_that_hardly_ever_has_work() -> None:
    law = imbalance(Pmf.from_weights([1.0, 0.0, 1e-16]), lanes=4, zero_work="drop")
    assert law.mean() == pytest.approx(4)
    assert law.quantile([1e-16, 0.1, 0.9]).tolist() == [2.0, 4.0, 4.0]
    assert law.cdf(3.9) == pytest.approx(1.5e-16, rel=1e-9)
    assert law.error.cdf == 0


def test_a_law_that_is_nearly_certain() -> None:
    law = imbalance(Pmf.from_weights([1e-17, 1.0], low=1), lanes=5)
    assert law.cdf(1.2) == pytest.approx(1)
    assert law.quantile(0.5) == 1
    assert 0 <= law.var() < 1e-16


@pytest.mark.parametrize(("pmf", "lanes"), [(Pmf.poisson(1e-9), 3), (Pmf.binomial(40, 1e-12), 4)])
def test_no_warning_leaks(pmf: Pmf, lanes: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for zero_work in ("one", "drop", "zero"):
            law = imbalance(pmf, lanes, zero_work=zero_work)
            assert 0 <= law.cdf(1.5) <= 1
            law.pmf()


def test_random_laws_near_their_extremes(capsys: pytest.CaptureFixture[str]) -> None:
    assert extremes.main(60, 5) == 0, capsys.readouterr().out
    assert " 0 wrong" in capsys.readouterr().out
