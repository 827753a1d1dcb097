"""Advice on each Merge benchmark and each GPU, followed one step, improves the predicted time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import dse
from tests.long import mostly_long

STUDY = Path(__file__).parents[2] / "examples" / "merge-four-gpus.toml"
MERGE = ["sepia", "linear", "svm", "mat_naive", "mat_tiled", "blackscholes"]
GPUS = ["8800gtx", "fx5600", "8800gt", "gtx280"]


def predict(point: dict[str, Any], **moved: float) -> float:
    ds = dse.evaluate("occupancy + mwp_cwp", **{**point, **moved}, outputs=["time"])
    return float(ds.time)


@pytest.fixture(scope="module")
def study() -> dse.Study:
    return dse.Study.from_toml(STUDY)


PAIRS = [(w, m) for k, w in enumerate(MERGE) for m in GPUS[k % 2 :: 2]]


@pytest.mark.parametrize(("workload", "machine"), mostly_long(PAIRS, lambda k, _: k % 8 == 0))
def test_helpful_moves_shorten_the_run(study: dse.Study, workload: str, machine: str) -> None:
    """And by as much as it says, up to the border that it names."""
    point: dict[str, Any] = {"workload": workload, "machine": machine, "threads_per_block": 128}
    point |= {"active_sms": 8, "core_clock": "1.0 GHz"}
    advice = dse.advise(study, **point)
    here = predict(point)
    assert advice.values["time"] == here
    helpful = [move for move in advice.moves if move.helps]
    assert {"active_sms", "core_clock"} <= {move.quantity for move in helpful}
    assert helpful[0].end_gain == max(move.end_gain for move in helpful)
    for move in helpful:
        if math.isnan(move.until):  # it helps where no border or end is: no place is named
            continue
        endless = math.isinf(move.until)  # then any step will do
        there = predict(point, **{move.quantity: 2 * move.value if endless else move.until})
        assert there < here, str(move)
        if not endless:
            assert here / there == pytest.approx(move.gain, rel=1e-9), str(move)
