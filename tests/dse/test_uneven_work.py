"""The shipped study of uneven work: the best block shrinks as the tail of the work grows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse import Study
from stochastic import Pmf
from stochastic.loss.moments import order_statistics
from tests.dse.conftest import Run

PATH = Path(__file__).parents[2] / "examples" / "uneven-work.toml"
EVEN, BOUNDED = "uniform:40,40", "uniform:20,60"


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.from_toml(PATH)


def best(study: Study) -> list[int]:
    result = study.optimum(minimize="time", per="distribution")
    blocks: list[int] = result.threads_per_block.values.tolist()
    return blocks


def test_every_law_has_the_same_mean(study: Study) -> None:
    means = [Pmf.parse(text).mean() for text in study.axes["distribution"]]
    assert means == pytest.approx([40] * len(means), rel=1e-14)
    spreads = [Pmf.parse(text).var() ** 0.5 / 40 for text in study.axes["distribution"]]
    recorded = [0, 0.30, 0.22, 0.27, 0.30, 0.35, 0.52, 1.01]
    assert spreads == pytest.approx(recorded, abs=0.0051)


def test_the_best_block_shrinks_as_the_tail_grows(study: Study) -> None:
    blocks = best(study)
    assert blocks == [128, 128, 64, 32, 32, 32, 32, 32]
    tailed = blocks[:1] + blocks[2:]
    assert tailed == sorted(tailed, reverse=True)


def test_a_bounded_law_as_wide_costs_next_to_nothing(study: Study) -> None:
    ds = study.run()
    even, bounded = (ds.time.sel(distribution=text) for text in (EVEN, BOUNDED))
    assert float(bounded.min()) < 1.01 * float(even.min())
    tailed = ds.time.sel(distribution="negative_binomial:16,2/7")
    assert float(tailed.sel(threads_per_block=128)) > 1.2 * float(
        bounded.sel(threads_per_block=128)
    )
    assert 1.1 < float(tailed.min()) / float(even.min()) < 1.25  # even a single warp waits


def test_with_warps_alone_it_stays(study: Study) -> None:
    given = {key: getattr(study, key) for key in ("model", "machine", "workload", "axes")}
    warps = Study(**given, set={**study.set, "lanes": 32}, outputs=study.outputs)
    assert set(best(warps)) == {128}
    assert bool(
        (warps.run().time <= study.run().time * (1 + 1e-12))
        .sel(threads_per_block=slice(32, None))
        .all()
    )


def test_the_loss_is_what_all_blocks_pay(study: Study) -> None:
    ds = study.run()
    for text in study.axes["distribution"]:
        work = Pmf.parse(text).cut(1e-15)
        for threads in (32, 256, 512):
            result = order_statistics(work.low, work.weights, threads)
            loss = float(ds.imbalance_loss.sel(distribution=text, threads_per_block=threads))
            assert loss == pytest.approx(result.mean_max / result.mean, rel=1e-9)


def test_the_commands_of_its_first_lines(run: Run) -> None:
    text = run("run", str(PATH)).output
    assert "best, minimize time for each distribution" in text
    assert "negative_binomial:10,1/5" in text
    output = run("plan", str(PATH)).output
    assert "distribution, threads_per_block" in output
    point = ("distribution=negative_binomial:10,1/5", "threads_per_block=64")
    explained = run("explain", str(PATH), *point).output
    assert re.search("distribution += negative_binomial:10,1/5", explained)
    assert "imbalance_loss" in explained
    shown = run("models", "imbalance").output
    assert "Swatman 2022, Eqs. 4-11" in shown
    assert "work_law = geometric" in shown
    assert r"\mathrm{E}[X_W(n)]" in run("models", "imbalance", "--latex").output
