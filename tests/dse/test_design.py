"""Proposals of the next measurements: the criterion by hand, few rows, and measured products."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.fitting.calibrate import DISCREPANCY, NOISE, PRIOR, propose, similarity
from symbolic.errors import DseError
from tests.dse.conftest import Run

DATA = Path(__file__).parents[3] / "shared/data/llm_kernels"
SHAPES = {"m": [1, 64, 4096, 8192], "n": [512, 4096, 4096, 16384], "k": [512, 4096, 4096, 8192]}


def mean_variance(slopes: Any, similar: Any, rows: list[int]) -> float:
    """Return the mean variance of all predictions after some rows, by one matrix inversion."""
    covariance = PRIOR**2 * slopes @ slopes.T + DISCREPANCY**2 * similar
    known = covariance[:, rows]
    inner = covariance[np.ix_(rows, rows)] + NOISE**2 * np.eye(len(rows))
    return float(np.trace(covariance - known @ np.linalg.solve(inner, known.T)))


@pytest.mark.parametrize("seed", range(5))
def test_each_row_reduces_the_mean_variance_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes, shapes = rng.normal(size=(12, 3)), {"n": np.exp(rng.normal(size=12))}
    similar, measured = similarity(shapes), [3, 7]
    rows = propose(slopes, similar, measured, [i for i in range(12) if i not in measured], 3)
    for place, row in enumerate(rows):
        before = [*measured, *rows[:place]]
        rest = [i for i in range(12) if i not in before]
        best = min(rest, key=lambda i: mean_variance(slopes, similar, [*before, i]))
        assert row == best


def test_rows_are_proposed_before_anything_is_measured() -> None:
    result = dse.calibrate(SHAPES, model="gemm", machine="h200", set={"dtype": "bf16"}, design=2)
    assert len(result.design) == 2
    assert set(result.design[0]) == {"m", "n", "k"}
    assert result.fits == {}
    with pytest.raises(DseError, match="no row is measured yet"):
        _ = result.saved_fit


def test_what_rows_do_not_determine_is_named_and_not_fitted() -> None:
    """Small products determine the start-up time alone."""
    shapes = {"m": [1.0, 2.0, 4.0, 8.0], "n": [64.0] * 4, "k": [64.0] * 4}
    result = dse.calibrate(
        {**shapes, "time": [5e-6] * 4}, model="gemm", machine="h200", set={"dtype": "bf16"}
    )
    assert list(result.set) == ["gemm_start_time"]
    assert result.set["gemm_start_time"] == pytest.approx(5e-6, rel=0.1)
    assert result.undetermined == ("gemm_operand_bytes_per_cycle", "gemm_result_ratio")


def test_numbers_that_follow_from_a_machine_are_first_guesses() -> None:
    """Nobody fitted an A40: its numbers are computed, and rows replace them."""
    rng = np.random.default_rng(3)
    ends = ((1, 20000), (64, 20000), (64, 20000))
    m, n, k = (np.exp(rng.uniform(*np.log(each), 150)).round() for each in ends)
    true = {"gemm_start_time": 4e-6, "gemm_operand_bytes_per_cycle": 30.0}
    true["gemm_operation_energy"] = 3e-12
    known: dict[str, Any] = {"model": "gemm", "machine": "a40"}
    time = dse.evaluate(**known, m=m, n=n, k=k, dtype="bf16", outputs=["time"], **true).time.values
    result = dse.calibrate({"m": m, "n": n, "k": k, "time": time}, set={"dtype": "bf16"}, **known)
    assert result.set["gemm_dram_share"] == pytest.approx(0.803)
    for name, value in true.items():
        assert result.set[name] == pytest.approx(value, rel=1e-6)


def test_the_numbers_of_a_made_up_gpu_come_back_and_types_one_after_the_other() -> None:
    rng = np.random.default_rng(1)
    m, n, k = np.exp(rng.uniform(np.log(64), np.log(8192), (3, 60))).round()
    true = {"gemm_start_time": 4e-6, "gemm_operation_energy": 9e-13, "gemm_fp8_share": 0.5}
    true["gemm_fp8_cast_time"] = 2e-5
    rows: dict[str, Any] = {"m": np.tile(m, 2), "n": np.tile(n, 2), "k": np.tile(k, 2)}
    rows["dtype"] = ["bf16"] * 60 + ["fp8"] * 60
    rows["time"] = np.concatenate(
        [
            dse.evaluate("gemm", machine="h100_sxm", m=m, n=n, k=k, dtype=t, **true).time.values
            for t in ("bf16", "fp8")
        ]
    )
    result = dse.calibrate(rows, model="gemm", machine="h100_sxm")
    for name, value in true.items():
        assert result.set[name] == pytest.approx(value, rel=0.02)


def test_the_command_proposes_rows(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    lines = [",".join(map(str, row)) for row in zip(*SHAPES.values(), strict=True)]
    file.write_text("m,n,k\n" + "\n".join(lines) + "\n")
    result = run("calibrate", "gemm", str(file), "--machine", "b200", "--design", "2")
    assert result.exit_code == 0, result.output
    assert "measure next, best first" in result.output


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data/llm_kernels")
def test_forty_proposed_rows_predict_about_as_well_as_all() -> None:
    """All rows err by 7.0 % in the median on a B200; the mean of 20 random choices is 7.4 %."""
    import pandas as pd

    rows = pd.read_parquet(DATA / "gemm_b200_sxm.parquet")
    rows = rows[rows.gemm_dtype == "bfloat16"]
    train = ((rows.n + rows.k) // 64 % 2 == 0).to_numpy()
    shape = {name: rows[name].to_numpy() for name in "mnk"}
    options: dict[str, Any] = {"model": "gemm", "machine": "b200", "set": {"dtype": "bf16"}}
    proposed = dse.calibrate({n: x[train] for n, x in shape.items()}, **options, design=40).design
    chosen = pd.DataFrame(list(proposed)).merge(rows, on=["m", "n", "k"])
    measured = {name: chosen[name].to_numpy() for name in "mnk"}
    fit = dse.calibrate({**measured, "time": chosen.latency.to_numpy() * 1e-3}, **options)
    rest = {name: array[~train] for name, array in shape.items()}
    predicted = dse.evaluate(
        "gemm", machine="b200", dtype="bf16", outputs=["time"], fit=fit.saved_fit, **rest
    ).time.values
    off = np.abs(predicted / (rows.latency.to_numpy()[~train] * 1e-3) - 1)
    assert np.median(off) <= 1.25 * 0.066
