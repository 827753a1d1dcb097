"""Statistics over axes with a proof: as a scan has them, and refused where nothing is proven."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dse
import sweeps.bounds.statistics_as_formulas
import sweeps.grid.lazy_statistics
from dse import Study
from symbolic.errors import DseError
from tests.long import long, mostly_long
from tests.sweeps import proving_statistics

WORKLOADS = {"values": ["sepia", "svm", "blackscholes"], "weights": [2, 1, 1]}
MEAN = "mean(time, workload)"
GIVEN = {"intensity": 10, "lanes_width": 32, "ms_peak": 1}


def suite(**axes: Any) -> Study:
    """Three workloads beside some axes."""
    axes = {"threads_per_block": [64, 128, 256], "active_sms": [10, 20, 30], **axes}
    return Study(model="ipp", machine="gtx280", axes={**axes, "workload": WORKLOADS})


@pytest.mark.parametrize("seed", mostly_long([9, 12, 14, 17, 24, 26], lambda k, _: k in (0, 2)))
def test_random_studies_are_as_a_scan_has_them(seed: int) -> None:
    assert proving_statistics.compare(seed, most=500) is not None


@long
def test_many_configurations_are_proven() -> None:
    wide = suite(mem_bandwidth={"linspace": ["50 GB/s", "300 GB/s", 400_000]})
    best = wide.optimum(minimize=MEAN, method="certified")
    assert (best.attrs["gap"], best.attrs["settled"]) == (0, 1)
    place = {name: best[name].item() for name in ("threads_per_block", "active_sms")}
    near = suite(mem_bandwidth=[best.mem_bandwidth.item()])
    assert near.optimum(minimize=MEAN)[MEAN] == best[MEAN]
    assert place == {"threads_per_block": 128, "active_sms": 30}
    stored = wide.optimum(
        minimize="worst(time, workload)",
        where="chance(time <= 40 ms, workload) >= 0.75",
        method="certified",
    )
    assert stored.attrs["gap"] == 0


@long
def test_ranges_and_borders_follow_through_statistics() -> None:
    result = suite().ranges({"mem_bandwidth": "60 %"}, outputs=["time", MEAN])
    each = result.time.transpose("end", "threads_per_block", "active_sms", "workload").values
    np.testing.assert_allclose(result[MEAN].values, each @ [0.5, 0.25, 0.25], rtol=1e-4)
    border = suite().borders(f"{MEAN} <= 40 ms", along="active_sms").border
    assert np.isfinite(border).any()


def test_what_cannot_be_proven_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    random = {"mem_latency": "normal: 600 cycles, 20 %", "draws": 128}
    study = dse.Study(model="transit", axes={"threads": range(1, 99)}, set=GIVEN, random=random)
    text = "mean(cs_throughput)"
    with pytest.raises(DseError, match="more than 64 points"):
        study.ranges({"ms_peak": "10 %"}, outputs=[text])
    known = study.optimum(maximize=text, method="certified")
    assert known.drop_attrs().identical(study.optimum(maximize=text).drop_attrs())
    monkeypatch.setattr(sweeps.bounds.statistics_as_formulas, "CHEAP_VALUES", 0)
    monkeypatch.setattr(sweeps.bounds.statistics_as_formulas, "MAX_RESULTS", 10)
    other = dse.Study(model="transit", axes={"threads": range(1, 98)}, set=GIVEN, random=random)
    with pytest.raises(DseError, match=r"more than 64 points.*method='scan'"):
        other.optimum(maximize=text, method="certified")


def test_a_dataset_answers_statistics_by_its_study() -> None:
    ds = suite().run()
    assert dse.optimum(ds, minimize=MEAN)[MEAN] == suite().optimum(minimize=MEAN)[MEAN]


def test_statistics_are_held_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    random = {"mem_latency": "normal: 600 cycles, 20 %", "draws": 64}

    def study() -> Study:
        axes = {"threads": range(1, 21), "intensity": [5, 10, 20]}
        given = {"lanes_width": 32, "ms_peak": 1}
        return Study(model="transit", axes=axes, set=given, random=random)

    goal, where = "floor(mean(cs_throughput)) - 0 * threads", "chance(cs_throughput >= 0.2) >= 0.5"
    queries: list[dict[str, Any]] = [{}, {"ties": True}, {"top": 7}, {"per": "intensity"}]
    queries += [{"within": 0.5}, {"per": "threads", "ties": True}, {"minimize": ["threads", goal]}]
    whole = [study().optimum(**{"minimize": goal, "where": where, **one}) for one in queries]
    count = study().count(where=where).feasible_points
    bins = study().histogram("mean(cs_throughput)", bins=[0.0, 0.2, 1.0])
    monkeypatch.setattr(sweeps.grid.lazy_statistics, "MAX_PORTION_VALUES", 7)
    for one, known in zip(queries, whole, strict=True):
        result = study().optimum(**{"minimize": goal, "where": where, **one})
        assert result.drop_attrs().identical(known.drop_attrs()), one
    assert study().count(where=where).feasible_points == count
    assert study().histogram("mean(cs_throughput)", bins=[0.0, 0.2, 1.0]).equals(bins)


def test_a_statistic_is_of_all_values_whatever_the_part() -> None:
    each = suite().optimum(minimize=MEAN, per="workload", ties=True, method="certified")
    assert np.all(each[MEAN] == suite().optimum(minimize=MEAN)[MEAN])


def test_what_was_cut_off_of_a_law_is_told() -> None:
    random = {"mem_latency": "normal: 600 cycles, 32 %", "draws": 64}
    study = Study(model="transit", axes={"threads": [256, 512]}, set=GIVEN, random=random)
    assert "cut off" in str(study.plan())
    assert "cut off" in study.run().attrs["notes"]
    assert "cut off" in study.optimum(maximize="mean(cs_throughput)").attrs["notes"]
