"""The certified optimum of large design spaces, beside the time that a scan of them would take.

    python -m pytest -m benchmark -s tests/benchmarks/test_certify.py

Each space is asked for its optimum with a proof that nothing is better (gap 0), and for one that
is proven to within 5 %; the machine code is loaded beforehand. What a scan would take is the number
of points by the rate at which the fused nest scans a part of the same space.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dse
from sweeps.bounds.search import prepare_search

pytestmark = pytest.mark.benchmark
FLOW = str(Path(__file__).parent / "flow_energy.py")
FLOW_ENDS = {
    "threads": (64, 2048),
    "mem_latency": (200, 800),
    "intensity": (1, 100),
    "ms_peak": (0.1, 4),
    "lanes_width": (8, 128),
    "energy_per_request": (1, 5),
    "energy_per_operation": (0.01, 0.04),
    "base_power": (10, 50),
    "operations": (1e9, 1e10),
    "core_clock": (5e8, 1.5e9),
}


def linspace(low: float, high: float, count: int) -> dict[str, Any]:
    return {"linspace": [float(low), float(high), count]}


def flow(size: int) -> dict[str, Any]:
    axes = {name: linspace(*ends, size) for name, ends in FLOW_ENDS.items()}
    return {"model": FLOW, "axes": axes, "outputs": ["flow_energy"]}


LAUNCH: dict[str, Any] = {
    "model": "occupancy + ipp",
    "machine": "gtx280",
    "workload": "svm",
    "axes": {
        "threads_per_block": range(16, 513),
        "registers_per_thread": range(4, 64),
        "shared_mem_per_block": range(0, 16385, 256),
        "active_sms": range(1, 31),
        "core_clock": linspace(4e8, 1.6e9, 60),
        "mem_bandwidth": linspace(2e10, 2e11, 60),
        "comp_insts": range(50, 500, 9),
    },
    "outputs": ["time", "power", "energy"],
}
HARDWARE: dict[str, Any] = {
    **LAUNCH,
    "axes": {
        "threads_per_block": range(32, 513, 32),
        "active_sms": range(1, 31),
        "core_clock": linspace(4e8, 1.6e9, 121),
        "mem_bandwidth": linspace(2e10, 2e11, 181),
        "mem_latency_nominal": range(200, 700, 5),
        "departure_delay_coalesced": range(1, 40),
        "max_threads_per_sm": range(512, 2049, 64),
    },
}
THROUGHPUT: dict[str, Any] = {
    "model": "throughput",
    "machine": "gtx580",
    "workload": "madd",
    "axes": {
        "threads_per_block": range(32, 1025, 32),
        "active_blocks_per_sm": range(1, 9),
        "active_sms": range(1, 17),
        "core_clock": linspace(4e8, 1.6e9, 121),
        "mem_bandwidth": linspace(2e10, 2e11, 181),
        "ilp": linspace(1, 4, 61),
        "dependency_distance": range(1, 20),
        "l1_share": linspace(0, 0.5, 26),
    },
    "outputs": ["flops"],
}


class Case(NamedTuple):
    name: str
    study: dict[str, Any]
    question: dict[str, Any]
    #: Seconds with a gap of 0 and of 5 %.
    exact: float = 90.0
    near: float = 60.0


CASES = (
    Case("flow energy, 10 axes of 10", flow(10), {"minimize": "flow_energy"}, 0.05, 0.05),
    Case("flow energy, 10 axes of 100", flow(100), {"minimize": "flow_energy"}, 5.0, 5.0),
    Case("launch: energy", LAUNCH, {"minimize": "energy"}),
    Case("launch: energy in 3 s", LAUNCH, {"minimize": "energy", "where": "time <= 3 s"}),
    Case("launch: work by energy", LAUNCH, {"maximize": "perf_per_watt"}),
    Case(
        "launch: work by energy in 3 s",
        LAUNCH,
        {"maximize": "perf_per_watt", "where": "time <= 3 s"},
    ),
    Case("launch: time at 120 W", LAUNCH, {"minimize": "time", "where": "power <= 120 W"}),
    Case("hardware: energy", HARDWARE, {"minimize": "energy"}),
    Case("hardware: energy x time", HARDWARE, {"minimize": "energy * time"}),
    Case("hardware: time x SMs", HARDWARE, {"minimize": "time * active_sms"}),
    Case("hardware: time at 120 W", HARDWARE, {"minimize": "time", "where": "power <= 120 W"}),
    Case("throughput", THROUGHPUT, {"maximize": "flops"}),
    Case("throughput by clock", THROUGHPUT, {"maximize": "flops / core_clock"}),
    Case("throughput by SMs", THROUGHPUT, {"maximize": "flops / active_sms"}),
    Case(
        "throughput by clock, few warps",
        THROUGHPUT,
        {
            "maximize": "flops / core_clock",
            "where": ["threads_per_block * active_blocks_per_sm <= 512", "ilp >= 2"],
        },
    ),
)


def scan_rate(study: dict[str, Any], question: dict[str, Any]) -> float:
    """Points a second of the fused nest, on the part of a space with its axes thinned."""
    axes = {name: dse.Study(**study).grid().axes[name].values for name in study["axes"]}
    points = math.prod(len(values) for values in axes.values())
    step = max(1.0, (points / 3e7) ** (1 / len(axes)))
    thin = {
        name: values[
            np.unique(
                np.linspace(0, len(values) - 1, max(2, round(len(values) / step))).astype(int)
            )
        ]
        for name, values in axes.items()
    }
    made = dse.Study(**{**study, "axes": thin})
    seconds = []
    for _ in range(3):  # the first compiles
        began = time.perf_counter()
        made.optimum(**question, method="scan")
        seconds.append(time.perf_counter() - began)
    return made.grid().points / min(seconds[1:])


def run_timed(case: Case, gap: float, repeats: int) -> tuple[float, Any]:
    seconds, result = [], None
    for _ in range(repeats):
        made = dse.Study(**case.study)
        began = time.perf_counter()
        most = 2 * case.exact
        result = made.optimum(**case.question, method="certified", gap=gap, time_limit=most)
        seconds.append(time.perf_counter() - began)
    return sorted(seconds)[len(seconds) // 2], result


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_certified_optima(case: Case) -> None:
    prepare_search()
    repeats = 5 if case.exact < 1 else 1
    exact, best = run_timed(case, 0.0, repeats)
    near, close = run_timed(case, 0.05, repeats)
    points = dse.Study(**case.study).grid().points
    rate = scan_rate(case.study, case.question)
    print(
        f"\n{case.name}: {points:.2g} points; gap 0 in {exact:.3g} s ({best.attrs['boxes']:,} "
        f"boxes), 5 % in {near:.3g} s ({close.attrs['boxes']:,}); a scan at "
        f"{rate / 1e6:,.0f} M points/s would take {points / rate:,.0f} s"
    )
    assert best.attrs["gap"] == 0
    assert best.attrs["settled"] == 1
    assert close.attrs["gap"] <= 0.05
    assert exact <= case.exact
    assert near <= case.near


COARSE: dict[str, Any] = {
    **LAUNCH,
    "axes": {
        "threads_per_block": range(32, 513, 16),
        "registers_per_thread": range(4, 64, 4),
        "shared_mem_per_block": range(0, 16385, 1024),
        "active_sms": range(1, 31),
        "core_clock": linspace(4e8, 1.6e9, 40),
        "mem_bandwidth": linspace(2e10, 2e11, 20),
        "comp_insts": range(50, 500, 15),
    },
}


def test_a_cover_of_a_front_of_three_objectives() -> None:
    """The exact front has more points than a certified front may have."""
    axes = {
        "active_sms": range(1, 31),
        "core_clock": linspace(4e8, 1.6e9, 21_000),
        "threads_per_block": range(32, 513, 32),
        "mem_bandwidth": linspace(5e10, 2e11, 100),
    }
    made = dse.Study(model="ipp", machine="gtx280", workload="svm", axes=axes, outputs=["time"])
    began, cpu = time.perf_counter(), time.process_time()
    cover = made.pareto(minimize=["time", "power", "active_sms"], epsilon=0.01)
    seconds = time.perf_counter() - began
    print(
        f"\n{cover.sizes['point']:,} points of {made.grid().points:.2g} in {seconds:.3g} s, "
        f"{time.process_time() - cpu:.3g} s of the processor ({cover.attrs['method']})"
    )
    assert cover.attrs.get("complete", 1) == 1
    assert "points_left" not in cover.attrs
    assert seconds <= 60
    began = time.perf_counter()
    scan = made.pareto(minimize=["time", "power", "active_sms"], epsilon=0.01, method="scan")
    print(f"{scan.sizes['point']:,} points by a scan in {time.perf_counter() - began:.3g} s")


@pytest.mark.parametrize("goals", [["time", "energy"], ["time", "energy", "active_sms"]])
def test_certified_fronts(goals: list[str]) -> None:
    prepare_search()
    made = dse.Study(**COARSE)
    began = time.perf_counter()
    front = made.pareto(minimize=goals, method="certified", time_limit=120)
    print(
        f"\n{', '.join(goals)}: {front.sizes['point']} points of {made.grid().points:.2g} in "
        f"{time.perf_counter() - began:.3g} s ({front.attrs['boxes']:,} boxes)"
    )
    assert front.attrs["complete"] == front.attrs["settled"] == 1
