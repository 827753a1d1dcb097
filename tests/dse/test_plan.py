"""A plan says beforehand what the run then does."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dse
import sweeps.nest.run
from dse import Study
from dse.study.plan import bytes_text
from sweeps.nest.emit import compile_nest
from tests.long import mostly_long

SPEC: dict[str, Any] = {
    "model": "occupancy + mwp_cwp",
    "workload": "svm",
    "axes": {
        "machine": ["gtx280", "8800gt"],
        "waves": ["whole", "fractional"],
        "supply": ["sharp", "smooth"],
        "threads_per_block": [64, 128, 768],
    },
    "where": "time <= 1 s",
    "outputs": ["time", "case", "occupancy", "mem_insts"],
}


@pytest.mark.parametrize("expand", [False, True])
def test_it_says_what_the_run_stores(expand: bool) -> None:
    study = Study(**SPEC)
    plan, ds = study.plan(expand=expand), study.run(expand=expand)
    assert plan.model == SPEC["model"]
    assert dict(plan.axes) == dict(Study(**SPEC).run(expand=True).sizes)
    assert plan.points == 24
    assert [output.name for output in plan.outputs] == list(ds.data_vars)
    for output in plan.outputs:
        array = ds[output.name]
        assert output.axes == array.dims
        assert (output.points, output.bytes) == (array.size, array.nbytes)
    assert plan.bytes == sum(array.nbytes for array in ds.data_vars.values())
    assert plan.conditions == tuple(ds.feasible.attrs["conditions"].split("; "))
    assert plan.idle_axes == (() if expand else ("supply",))


def test_it_tells_defaults_and_assumptions() -> None:
    plan = Study(**SPEC).plan()
    attributes = Study(**SPEC).attributes()
    assert plan.defaults == json.loads(attributes["defaults"])
    assert list(plan.assumptions) == json.loads(attributes["assumptions"])


def test_it_can_be_json() -> None:
    data = json.loads(json.dumps(Study(**SPEC).plan().to_dict()))
    assert data["points"] == 24
    assert data["outputs"][0]["name"] == "time"


def test_its_text() -> None:
    text = str(Study(**SPEC).plan())
    assert "24 points (machine 2 x waves 2 x supply 2 x threads_per_block 3)" in text
    assert "machine, waves, threads_per_block" in text
    assert "mem_insts" in text
    assert "no axis" in text
    assert "feasible where" in text
    assert "time <= 1 s" in text
    assert "no output depends on: supply" in text
    assert "assumed: transactions_per_uncoalesced of gtx280" in text
    single = Study(
        model="transit",
        set={"threads": 1, "intensity": 3, "ms_peak": 1, "lanes_width": 8, "mem_latency": 7},
    )
    assert "1 point (one point)" in str(single.plan())


def test_no_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(sweeps.nest.run, "_fill", never)
    monkeypatch.setattr(sweeps.nest.run, "compile_nest", never)
    huge = Study(
        model="transit",
        axes={
            name: {"linspace": [1, 900, 3000]} for name in ("threads", "intensity", "mem_latency")
        },
        set={"ms_peak": 1, "lanes_width": 8},
        outputs=["ms_throughput"],
    )
    plan = huge.plan()
    assert plan.points == 27_000_000_000
    assert plan.bytes == 8 * plan.points


AXES = [
    {"threads": 40, "mem_latency": 50},
    {"threads": 7, "mem_latency": 1100},
    {"threads": 300, "mem_latency": 11},
    {"threads": 5000},
    {"intensity": 3, "threads": 17, "mem_latency": 29},
]


@pytest.mark.parametrize("sizes", mostly_long(AXES, lambda k, _: k % 2 == 0), ids=str)
def test_tiles_and_nests_are_those_of_the_run(
    sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 100)
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 500)
    monkeypatch.setattr(sweeps.nest.run, "TILE", 700)
    rest = {"intensity": 3, "ms_peak": 1, "lanes_width": 8}
    study = Study(
        model="transit",
        axes={"supply": ["sharp", "smooth"], **{n: range(1, k + 1) for n, k in sizes.items()}},
        set={"mem_latency": 7, **rest}
        if "mem_latency" not in sizes
        else rest
        if "intensity" not in sizes
        else {"ms_peak": 1, "lanes_width": 8},
        outputs=["ms_throughput"],
    )
    nests: list[str] = []
    tiles: list[int] = []
    monkeypatch.setattr(
        sweeps.nest.run,
        "compile_nest",
        lambda nest: nests.append(nest.source) or compile_nest(nest),
    )
    real = sweeps.nest.run.run_in_threads
    monkeypatch.setattr(
        sweeps.nest.run,
        "run_in_threads",
        lambda work, count: tiles.append(count) or real(work, count),
    )
    plan = study.plan()
    study.run()
    assert plan.nests == len(set(nests))
    assert plan.tiles == sum(tiles)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536 * 1024, "1.5 MiB"),
        (2**50, "1.0 PiB"),
        (2**70, "1,024.0 EiB"),
    ],
)
def test_bytes(size: int, text: str) -> None:
    assert bytes_text(size) == text


#: Memory in cycles of the core, whatever its clock.
FIXED = {
    "mem_latency_dram": 450,
    "departure_delay_coalesced": 4,
    "departure_delay_uncoalesced": 40,
}
SCALED = "300 + 0.1 us * core_clock"
CLOCKED: dict[str, Any] = {
    "machine": "gtx280",
    "workload": "svm",
    "axes": {"core_clock": ["1.0 GHz", "1.3 GHz"]},
}


@pytest.mark.parametrize(
    ("model", "given", "outputs", "free"),
    [
        ("occupancy + mwp_cwp", {}, ["time"], False),  # latency in time
        ("occupancy + mwp_cwp", FIXED, ["time"], True),
        ("occupancy + mwp_cwp", FIXED, ["cwp"], False),  # no clock in it
        (
            "occupancy + mwp_cwp",
            FIXED | {"mem_latency_dram": "300 + 0.1 us * core_clock"},
            ["time"],
            False,
        ),
        ("ipp", FIXED, ["energy"], False),  # cubic dynamic power
        ("ipp", FIXED, ["time"], True),
        ("ipp", {**FIXED, "clock_power_exponent": 0}, ["energy"], True),
        ("ipp", {"clock_power_exponent": 0}, ["energy"], False),
    ],
)
def test_a_swept_clock_that_costs_nothing_is_warned_of(
    model: str, given: dict[str, Any], outputs: list[str], free: bool
) -> None:
    study = Study(model=model, set={"threads_per_block": 128, **given}, outputs=outputs, **CLOCKED)
    if not free:
        assert study.plan().warnings == ()
        return
    with pytest.warns(
        UserWarning, match="core_clock is swept, but neither memory latency nor"
    ) as caught:
        plan = study.plan()
    assert caught[0].filename == __file__
    assert f"warning: {plan.warnings[0]}" in str(plan)
    assert plan.to_dict()["warnings"] == plan.warnings


def test_a_clock_that_stands_still_is_no_matter() -> None:
    given = {"threads_per_block": 128, **FIXED, "core_clock": "1 GHz"}
    study = Study(model="occupancy + mwp_cwp", machine="gtx280", workload="svm", set=given)
    assert study.plan().warnings == ()


@pytest.mark.parametrize(
    ("axes", "given"),
    [
        ({"nominal_clock": ["1 GHz", "1.3 GHz"]}, {}),  # by default core_clock is that
        ({"nominal_clock": ["1 GHz", "1.3 GHz"]}, {"core_clock": "nominal_clock"}),
        ({"active_sms": [1, 2]}, {"core_clock": "active_sms * 0.5 GHz"}),
    ],
)
def test_a_clock_swept_by_another_name(axes: dict[str, Any], given: dict[str, Any]) -> None:
    given = {"threads_per_block": 128, **FIXED, **given}
    of_one = {"machine": "gtx280", "workload": "svm", "outputs": ["time"], "set": given}
    with pytest.warns(UserWarning, match="core_clock is swept"):
        dse.Study(model="occupancy + mwp_cwp", axes=axes, **of_one).plan()


def test_machines_that_differ_in_their_clock_sweep_none() -> None:
    given = {"threads_per_block": 128, **FIXED}
    axes = {"machine": ["gtx280", "8800gt"]}
    of_one = {"workload": "svm", "outputs": ["time"], "set": given}
    assert dse.Study(model="occupancy + mwp_cwp", axes=axes, **of_one).plan().warnings == ()


def test_a_clock_within_a_zip_is_swept() -> None:
    axes = {"both": {"zip": {"core_clock": [1e9, 2e9], "mem_bandwidth": [1e11, 2e11]}}}
    given = {"threads_per_block": 128, **FIXED}
    model = "occupancy + mwp_cwp"
    study = Study(model=model, machine="gtx280", workload="svm", axes=axes, set=given)
    with pytest.warns(UserWarning, match="swept"):
        study.plan()


def calls_of(work: Callable[[], Any]) -> int:
    """Count the calls of functions, including those in C."""
    count = 0

    def heard(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(heard)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def transit_over(size: int) -> dict[str, Any]:
    axes = {
        "threads": {"start": 1, "stop": size},
        "intensity": {"linspace": [1, 100, size]},
        "mem_latency": range(1, size + 1),
    }
    return {"model": "transit", "axes": axes, "set": {"ms_peak": 1, "lanes_width": 32}}


def occupancy_over(size: int) -> dict[str, Any]:
    axes = {
        "core_clock": {"linspace": [1e9, 2e9, size]},
        "mem_bandwidth": {"linspace": [1e10, 2e11, size]},
        "mem_latency_nominal": {"linspace": [100, 800, size]},
    }
    given = {"threads_per_block": 256, "nominal_clock": 1e9}
    result: dict[str, Any] = {
        "model": "occupancy + mwp_cwp",
        "machine": "gtx280",
        "workload": "svm",
    }
    return result | {"axes": axes, "set": given, "where": "time <= 10 ms"}


@pytest.mark.parametrize("over", [transit_over, occupancy_over])
def test_it_takes_as_many_steps_whatever_the_number_of_points(over: Any) -> None:
    steps = {}
    for size in (10, 1001, 100_000):
        Study(**over(size)).plan()
        made = calls_of(lambda size=size: Study(**over(size)))  # type: ignore[misc]
        steps[size] = made, calls_of(Study(**over(size)).plan)
    tracemalloc.start()
    plan = Study(**over(100_000)).plan()
    values = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert plan.points == 10**15
    assert values < 40e6  # the axes themselves are 2.4 MB; a thousandth of the grid would be 8 TB
    for k in range(2):
        assert max(steps[size][k] for size in steps) < 1.2 * steps[10][k] + 50


TEN = (
    *("threads", "mem_latency", "intensity", "ms_peak", "lanes_width", "core_clock"),
    *("energy_per_request", "energy_per_operation", "base_power", "operations"),
)


@pytest.mark.filterwarnings("ignore:core_clock")
@pytest.mark.parametrize("size", [32, 1000])
def test_ten_axes(size: int) -> None:
    """The second has more points than 64-bit indices hold: it can be planned, and not run."""
    axes = {name: {"start": 1, "stop": size} for name in TEN}
    model = str(Path(__file__).parents[1] / "benchmarks" / "flow_energy.py")
    study = Study(model=model, axes=axes, outputs=["flow_energy"])
    plan = study.plan()
    assert (plan.points, plan.bytes) == (size**10, 8 * size**10)
    assert f"{size**10:,} points" in str(plan)
    assert f"loop nests, {8 * 32**10 / 2**50:,.1f} PiB" in str(plan) or (
        size == 1000 and "EiB" in str(plan)
    )
    if size == 1000:
        with pytest.raises(dse.DseError, match=r"1e\+30 points, more than 64-bit indices hold"):
            study.run()
