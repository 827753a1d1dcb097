"""Boxes that meet targets against the full grid; the smallest machine; limits and misuse."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from symbolic.errors import DseError
from tests.dse.studies import draw_study

TRANSIT: dict[str, Any] = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def transit(**more: Any) -> Any:
    axes = {"threads": range(1, 201), "intensity": range(1, 65)}
    return dse.Study(model="transit", axes=axes, set=TRANSIT, outputs=["cs_throughput"], **more)


def count_boxes(study: Any, answer: xr.Dataset) -> np.ndarray[Any, Any]:
    """Count the boxes of each configuration: certain ones as 1, open ones as 1000."""
    grid = study.grid()
    counts = np.zeros(grid.shape(grid.axes), dtype=int)
    for box in range(answer.sizes["box"]):
        one = answer.isel(box=box)
        cut = []
        for name, axis in grid.axes.items():
            values = axis.coordinate.tolist()
            first, last = (values.index(one[f"{name}_{end}"].item()) for end in ("first", "last"))
            cut.append(slice(first, last + 1))
        counts[tuple(cut)] += 1 if one.certain else 1000
        assert int(one.points) == np.prod([s.stop - s.start for s in cut])
    return counts


def met_by(study: Any, target: str, name: str, limit: float) -> np.ndarray[Any, Any]:
    """The same by looking at each configuration."""
    ds = study.run(expand=True)
    values = ds[name].values
    met = values <= limit if "<=" in target else values >= limit
    return met & (ds.feasible.values if "feasible" in ds else True)


@pytest.mark.parametrize("limit", [0.5, 5, 31])
def test_boxes_of_transit_are_the_configurations_that_meet_the_target(limit: float) -> None:
    study = transit()
    result = dse.meets(study, f"cs_throughput >= {limit}")
    met = met_by(study, ">=", "cs_throughput", limit)
    np.testing.assert_array_equal(count_boxes(study, result), met)
    assert (int(result.inner), int(result.outer), int(result.total)) == (
        met.sum(),
        met.sum(),
        12800,
    )
    assert result.attrs["complete"]
    assert result.sizes["box"] < 400
    assert (np.diff(result.points.values) <= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_against_the_full_grid(seed: int) -> None:
    """Random studies of models with rules, floors and cases, run to the end and stopped early."""
    rng = random.Random(seed)
    model = ("mwp_cwp", "ipp", "tmm")[seed % 3]
    name = {"mwp_cwp": "time", "ipp": "energy", "tmm": "time_steps"}[model]
    study = None
    while study is None:
        study = draw_study(model, rng, sizes=(12, 9, 7), outputs=[name])
    values = study.run()[name].values
    limit = float(np.nanmedian(values))
    target = f"{name} <= {limit!r}"
    met = met_by(study, "<=", name, limit)
    np.testing.assert_array_equal(count_boxes(study, dse.meets(study, target)), met)
    early = count_boxes(study, dse.meets(study, target, boxes=3))
    assert set(np.unique(early)) <= {0, 1, 1000}
    assert met[early == 1].all()
    assert not met[early == 0].any()


def test_switches_and_machines_are_ranged_over() -> None:
    study = dse.Study(
        model="mwp_cwp",
        workload="svm",
        axes={
            "machine": ["8800gtx", "gtx280"],
            "printed": [False, True],
            "active_sms": range(1, 31),
        },
        set={"threads_per_block": 256, "active_blocks_per_sm": 2},
        outputs=["time"],
    )
    limit = float(np.nanmedian(study.run().time))
    result = dse.meets(study, f"time <= {limit!r}")
    np.testing.assert_array_equal(count_boxes(study, result), met_by(study, "<=", "time", limit))
    assert set(result.machine_first.values.tolist()) <= {"8800gtx", "gtx280"}


def test_nothing_and_everything() -> None:
    study = transit()
    none = dse.meets(study, "cs_throughput >= 1e9")
    assert (none.sizes["box"], int(none.inner), int(none.outer)) == (0, 0, 0)
    every = dse.meets(study, ["cs_throughput >= 0", "threads >= 1"])
    assert every.sizes["box"] == 1
    assert int(every.inner) == 12800


def test_spaces_that_nobody_scans() -> None:
    """Search 1e15 configurations: the inner and outer sets, stopped after some boxes."""
    steps = {"linspace": [1, 1000, 100_000]}
    study = dse.Study(
        model="transit",
        axes={"threads": steps, "intensity": steps, "mem_latency": steps},
        set={"lanes_width": 32, "ms_peak": 1},
    )
    result = dse.meets(study, "cs_throughput >= 5", boxes=500, time_limit=20)
    assert 0.2 < result.inner / result.outer < 1
    assert result.attrs["complete"] == 0
    assert float(result.points.sum()) == pytest.approx(float(result.outer))
    rng = random.Random(1)
    for _ in range(40):  # points drawn from boxes
        one = result.isel(box=rng.randrange(result.sizes["box"]))
        at = {n: rng.uniform(one[f"{n}_first"], one[f"{n}_last"]) for n in study.axes}
        value = float(dse.evaluate("transit", **at, **study.set).cs_throughput)
        assert value >= 5 or not one.certain


def test_the_smallest_machine_that_meets_a_target() -> None:
    """A cost over quantities of the machine, certified; equal to a scan."""
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        workload="svm",
        axes={
            "n_sms": range(4, 61, 2),
            "core_clock": {"start": "0.6 GHz", "stop": "1.8 GHz", "step": "0.1 GHz"},
            "mem_bandwidth": {"start": "40 GB/s", "stop": "300 GB/s", "step": "20 GB/s"},
        },
        set={"threads_per_block": 256},
        outputs=["time", "power"],
    )
    query: dict[str, Any] = {
        "minimize": "n_sms * core_clock / (1 GHz) + mem_bandwidth / (1 GB/s)",
        "where": ["time <= 30 ms", "power <= 150 W"],
    }
    best = study.optimum(**query, method="certified")
    assert best.attrs["gap"] == 0
    xr.testing.assert_allclose(best, study.optimum(**query, method="scan"))
    assert float(best.time) <= 0.03


@pytest.mark.parametrize(
    ("targets", "more", "message"),
    [
        ([], {}, "no target"),
        ("cs_throughput", {}, "condition"),
        ("cs_thruput >= 1", {}, "did you mean"),
        ("cs_throughput >= 1", {"boxes": 0}, "at least 1"),
        ("cs_throughput >= 1", {"time_limit": "soon"}, "expected seconds"),
    ],
)
def test_misuse(targets: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(DseError, match=message):
        dse.meets(transit(), targets, **more)
