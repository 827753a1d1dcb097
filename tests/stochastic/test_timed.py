"""Noise of clocks in a loss: groups that are generated, and groups that were measured."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stochastic import LawError, Pmf, fit_timing, imbalance
from stochastic.loss.timing_model import TimedLoss

DATA = Path(__file__).parents[3] / "shared/data/imbalance"
FILES = {"uniform_20_40_8": Pmf.uniform(20, 40), "geo_005_8": Pmf.geometric(0.05)}
SHARES = (0.05, 0.5, 0.95)


def test_what_was_put_in_is_found() -> None:
    rng = np.random.default_rng(4)
    work = rng.integers(20, 41, (40_000, 8))
    loss = 8 * work.max(axis=1) / work.sum(axis=1)
    noise = rng.normal(0.01, 0.005, len(loss))
    struck = rng.random(len(loss)) < 0.02
    measured = loss * np.exp(np.where(struck, rng.uniform(0.3, 2.0, len(loss)), noise))
    result = fit_timing(imbalance(Pmf.uniform(20, 40), 8), loss[::2], measured[::2])
    assert result.interrupted_share == pytest.approx(0.02, abs=0.004)
    assert (result.offset, result.scale) == pytest.approx((0.01, 0.005), abs=6e-4)
    seen = np.quantile(measured[1::2], SHARES)
    assert [result.quantile(q) for q in SHARES] == pytest.approx(seen, rel=0.01)
    assert result.cdf(result.quantile(0.3)) == pytest.approx(0.3, abs=1e-4)


def test_no_share_is_above_one() -> None:
    law = imbalance(Pmf.uniform(1, 2), 2)
    for struck in range(1, 40):
        seen = np.full(struck, 0.5)
        result = TimedLoss(
            law=law, offset=0.0, scale=0.01, interrupted_share=struck / 64, interrupted_noise=seen
        )
        assert 1 - 1e-12 < result.cdf(1e9) <= 1


def measured_groups(name: str) -> Any:
    with gzip.open(DATA / f"data_{name}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/imbalance beside the project")
@pytest.mark.parametrize("name", FILES)
def test_half_the_groups_tell_the_rest(name: str) -> None:
    rows = measured_groups(name)
    law = imbalance(FILES[name], 8)
    fitted, rest = rows[::2], rows[1::2]
    result = fit_timing(law, fitted[:, 1] / fitted[:, 2], fitted[:, 3] / fitted[:, 4])
    seen = rest[:, 3] / rest[:, 4]
    low, middle, high = (result.quantile(q) for q in SHARES)
    true = np.quantile(seen, SHARES)
    assert [low, middle, high] == pytest.approx(true, rel=0.03)
    assert 0.85 <= np.mean((seen >= low) & (seen <= high)) <= 0.95
    alone = [float(law.quantile(q)) for q in SHARES]
    assert np.abs([low, middle, high] / true - 1).max() < np.abs(alone / true - 1).max()


@pytest.mark.parametrize("measured", [[1.0] * 5, [0.0] * 30, [float("nan")] * 30])
def test_what_does_not_fit(measured: list[float]) -> None:
    with pytest.raises(LawError, match="expected"):
        fit_timing(imbalance(Pmf.uniform(1, 3), 4), [1.5] * len(measured), measured)
