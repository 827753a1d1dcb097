"""Laws of scipy.stats as laws of work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from stochastic import LawError, Pmf
from tests.long import long, mostly_long


def test_families_of_scipy_become_ours() -> None:
    pairs = {
        "Pmf.geometric(0.05).shift(2)": scipy.stats.geom(0.05, loc=2),
        "Pmf.poisson(30)": scipy.stats.poisson(mu=30),
        "Pmf.uniform(20, 40)": scipy.stats.randint(20, 41),
        "Pmf.uniform(0, 3)": scipy.stats.randint(-2, 2, loc=2),
        "Pmf.binomial(10, 0.3)": scipy.stats.Binomial(n=10, p=0.3),
    }
    assert {repr(Pmf.from_scipy(frozen)) for frozen in pairs.values()} == set(pairs)


def test_finite_laws_of_scipy_become_tables() -> None:
    twin = scipy.stats.hypergeom(20, 7, 12)
    law = Pmf.from_scipy(twin)
    assert law.weights == pytest.approx(twin.pmf(np.arange(8)), rel=1e-14)
    assert repr(law) == "Pmf.from_scipy(hypergeom(M=20, n=7, N=12))"
    values = scipy.stats.rv_discrete(values=([1, 5], [0.25, 0.75]))
    assert Pmf.from_scipy(values) == Pmf.from_weights({1: 0.25, 5: 0.75})


@pytest.mark.parametrize(
    "twin",
    mostly_long(
        [
            scipy.stats.zipf(3.5),
            scipy.stats.zipf(3.2, loc=2),
            scipy.stats.logser(0.6),
            scipy.stats.planck(0.2),
            scipy.stats.yulesimon(3.5),
            scipy.stats.betanbinom(5, 6.5, 2),
        ],
        lambda k, _: k in (1, 5),
    ),
    ids=lambda twin: twin.dist.name,
)
def test_infinite_laws_of_scipy(twin: Any) -> None:
    law = Pmf.from_scipy(twin)
    assert law == Pmf.from_scipy(twin)
    assert hash(law) == hash(Pmf.from_scipy(twin))
    assert law.mean() == pytest.approx(twin.mean())
    assert law.var() == pytest.approx(twin.var())
    k = np.arange(-1, 30)
    assert law.cdf(k) == pytest.approx(twin.cdf(k), abs=1e-12)
    cut = law.cut(1e-7)
    far = twin.pmf(np.arange(cut.high + 1, cut.high + 2_000_000.0)).sum()
    assert cut.missing == pytest.approx(far, rel=1e-2)  # what lies farther out
    assert law.sf(cut.high) < 1e-7 <= law.sf(cut.high - 1)
    assert np.mean(law.sample(20_000, 1) <= law.quantile(0.5)) == pytest.approx(
        law.cdf(law.quantile(0.5)), abs=0.02
    )


def test_zipf_has_a_closed_tail() -> None:
    law = Pmf.from_scipy(scipy.stats.zipf(3))
    direct = math.fsum(j**-3.0 for j in range(101, 10**6)) + 0.5e-12
    assert law.sf(100) == pytest.approx(direct / 1.2020569031595942, rel=1e-9)


@pytest.mark.parametrize(
    "twin",
    [scipy.stats.zipf(2.0), scipy.stats.zipf(1.5), scipy.stats.yulesimon(1.0)],
    ids=["zipf 2", "zipf 1.5", "yulesimon 1"],
)
def test_an_infinite_mean_is_an_error_when_it_is_asked_for(twin: Any) -> None:
    law = Pmf.from_scipy(twin)
    assert law.cdf(10) == pytest.approx(twin.cdf(10))
    for ask in (law.mean, law.var, lambda: law.cut(1e-3), law.max_of(3).mean, law.shift(1).mean):
        with pytest.raises(LawError, match=r"infinite mean.*truncate\(high\).*between\(low, high"):
            ask()
    with pytest.raises(LawError, match="infinite mean"):
        Pmf.mixture([(0.5, law), (0.5, Pmf.poisson(2))]).mean()
    bounded = law.truncate(1000)
    assert bounded.missing == pytest.approx(twin.sf(1000), rel=1e-9)
    assert bounded.mean() == pytest.approx(twin.expect(ub=1000) / twin.cdf(1000), rel=1e-9)
    assert law.between(0, 1000).missing == 0


def test_a_law_that_says_nothing_of_its_mean_is_tried() -> None:
    class Slow(scipy.stats.rv_discrete):
        def _pmf(self, k: Any) -> Any:
            return 1 / (k * (k + 1.0))

        def _sf(self, k: Any) -> Any:
            return 1 / (k + 1.0)

        def _stats(self) -> Any:
            return 3.0, 1.0, 0.0, 0.0

    with pytest.raises(LawError, match="infinite mean"):
        Pmf.from_scipy(Slow(a=1, name="slow")()).mean()


@long
def test_a_tail_that_falls_too_slowly_to_be_added_up() -> None:
    law = Pmf.from_scipy(scipy.stats.betanbinom(5, 1.5, 2))
    with pytest.raises(LawError, match=r"falls too slowly.*truncate\(high\)"):
        law.cut(1e-12)


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (scipy.stats.norm(), "no discrete law"),
        (scipy.stats.Normal(), "no discrete law"),
        (scipy.stats.poisson, "no discrete law with its parameters"),
        (7, "no discrete law"),
        (scipy.stats.skellam(3, 4), "reaches down to -inf"),
        (scipy.stats.hypergeom(20, 7, 12, loc=-3), "reaches down to -3"),
        (scipy.stats.poisson(3, loc=0.5), r"loc = 0\.5"),
        (scipy.stats.poisson(-3), "rate = -3"),
        (scipy.stats.zipf(0.5), "parameters that SciPy refuses"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_laws_of_scipy_are_checked(frozen: Any, message: str) -> None:
    with pytest.raises(LawError, match=message):
        Pmf.from_scipy(frozen)
