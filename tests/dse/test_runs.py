"""Raw runs: kept on import, and what they tell of who is best on average."""

import json

import numpy as np
import pytest
import xarray as xr

import dse
from dse.importers.runs import RESAMPLES, RepeatedRuns, block_length, chances_of_runs
from symbolic.errors import DseError


def along_run(values):
    """Times of some blocks."""
    blocks = [32 << k for k in range(len(values))]
    return xr.Dataset({"time": (("block", "run"), values, {"units": "s"})}, {"block": blocks})


def test_runs_of_a_tuner_and_of_a_table_are_kept(tmp_path):
    times = {16: [2.0, 3.0, 4.0], 32: [1.0, 2.0], 64: []}
    results = [
        {
            "configuration": {"block": block},
            "times": {"runtimes": runs},
            "invalidity": "correct" if runs else "compile",
            "measurements": [{"name": "time", "value": np.mean(runs), "unit": "ms"}]
            if runs
            else [],
        }
        for block, runs in times.items()
    ]
    path = tmp_path / "t4.json"
    path.write_text(json.dumps({"results": results, "metadata": {"timeunit": "ms"}}))
    ds = dse.open(path, runs=True)
    assert ds.time.dims == ("block", "run")
    whole = np.array([[2, 3, 4], [1, 2, np.nan], [np.nan] * 3]) / 1000
    np.testing.assert_allclose(ds.time, whole, rtol=1e-15)
    assert ds.feasible.values.tolist() == [True, True, False]
    cache = {"tune_params_keys": ["block"], "tune_params": {"block": [16, 32]}, "cache": {}}
    cache["cache"] = {str(b): {"block": b, "time": 9, "times": times[b]} for b in (16, 32)}
    (tmp_path / "cache.json").write_text(json.dumps(cache))
    np.testing.assert_array_equal(dse.open(tmp_path / "cache.json", runs=True).time, whole[:2])
    rows = "block,time\n16,0.002\n32,0.001\n16,0.003\n16,0.004\n32,0.002\n"
    (tmp_path / "rows.csv").write_text(rows)
    table = dse.open(tmp_path / "rows.csv", axes="block", units={"time": "s"}, runs=True)
    np.testing.assert_array_equal(table.time, whole[:2])
    (tmp_path / "rows.csv").write_text("block,time\n16,0.002\n32,0.001\n")
    with pytest.raises(DseError, match="measured twice"):
        dse.open(tmp_path / "rows.csv", axes="block", runs=True)


def test_chances_are_those_of_a_bootstrap_by_hand():
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 0.1, (3, 40))
    for k in range(1, 40):
        noise[:, k] += 0.6 * noise[:, k - 1]
    values = np.array([[1.0], [1.02], [1.1]]) + noise
    result = dse.chances(along_run(values), minimize="time")
    drawn, own = np.empty((RESAMPLES, 3)), np.random.default_rng(1)
    for column, row in enumerate(values):
        off = row - row.mean()
        lag = (off[1:] * off[:-1]).sum() / (off**2).sum()
        length = block_length(40, lag)
        starts = own.integers(0, 40, (RESAMPLES, -(-40 // length)))
        for sample in range(RESAMPLES):
            picked = [row[(s + k) % 40] for s in starts[sample] for k in range(length)][:40]
            drawn[sample, column] = np.mean(picked)
    wins = np.bincount(drawn.argmin(axis=1), minlength=3) / RESAMPLES
    order = [int(np.log2(b)) - 5 for b in result.block.values]
    np.testing.assert_allclose(result.chance, wins[order], rtol=1e-12)
    regret = (drawn - drawn.min(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(result.regret, regret[order], rtol=1e-9)
    assert result.chance.sum().item() == pytest.approx(1)


def test_runs_tell_drift_correlation_and_who_is_told_apart():
    steps = np.linspace(1.0, 1.2, 30)
    rising = RepeatedRuns.from_values(steps + np.random.default_rng(0).normal(0, 0.005, 30))
    assert rising.drift == pytest.approx(0.2 / 1.1, rel=0.1)
    assert not rising.is_steady
    assert rising.lag > 0.7
    assert RepeatedRuns.from_values(np.random.default_rng(1).normal(1, 0.1, 200)).is_steady
    flat = np.random.default_rng(2).normal(0, 0.01, (2, 30))
    same = chances_of_runs(along_run(1 + flat), minimize="time")
    assert not same.attrs["told_apart"]
    assert "cannot be distinguished" in same.attrs["verdict"]
    clear = chances_of_runs(along_run(np.array([[1], [2]]) + flat), minimize="time")
    assert clear.attrs["told_apart"] == 1
    assert clear.block.values.tolist() == [32]
    most = chances_of_runs(along_run(np.array([[1], [2]]) + flat), maximize="time", top=1)
    assert (most.block.item(), most["mean"].item() > 1.9) == (64, True)
    uneven = np.concatenate([flat, np.full((2, 30), np.nan)], axis=1) + 1
    uneven[1, 1:] = np.nan  # one run alone has the spread of the others
    assert chances_of_runs(along_run(uneven), minimize="time").runs.values.tolist() in (
        [30, 1],
        [1, 30],
    )
    with pytest.raises(DseError, match="two runs"):
        chances_of_runs(along_run(np.ones((2, 1))), minimize="time")
