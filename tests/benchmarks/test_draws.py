"""A million configurations by 1,024 draws: statistics of a formula, no value of which is kept."""

import time

import numpy as np
import pytest

import dse

LAWS = {"mem_bandwidth": "uniform: 113 GB/s, 141.7 GB/s"}
LAWS |= {"mem_latency_dram": "normal: 450 cycles, 5 %", "draws": 1024}
AXES = {
    "threads_per_block": range(32, 513, 32),
    "active_sms": range(1, 31),
    "core_clock": {"linspace": [1.0e9, 1.3e9, 16]},
    "mem_insts": {"linspace": [1, 20, 64]},
    "comp_insts": {"linspace": [50, 500, 2]},
}


def study(**more):
    given = {"model": "ipp", "machine": "gtx280", "workload": "svm", "outputs": ["time"]}
    return dse.Study(**{**given, "axes": AXES, "random": LAWS, **more})


@pytest.mark.benchmark
@pytest.mark.parametrize("goal", ["mean(time)", "quantile(time, 0.95)", "cvar(time, 0.95)"])
def test_a_million_configurations_times_1024_draws(goal):
    began = time.perf_counter()
    best = study().optimum(minimize=goal)
    ours = time.perf_counter() - began
    part = study(axes={**AXES, "core_clock": [1.0e9], "mem_insts": [1.0], "comp_insts": [50.0]})
    grid = part.grid(["time"], draws=True)
    began = time.perf_counter()
    values = grid.evaluate([grid.graph.flat("time")], (), tuple(grid.axes))[0]
    if goal.startswith("mean"):
        values.mean(axis=-1)
    else:
        np.partition(values, 972, axis=-1)
    numpy = (time.perf_counter() - began) * study().grid().points / part.grid().points
    print(f"{goal}: {ours:.1f} s, NumPy {numpy:.1f} s, ratio {numpy / ours:.1f}")
    assert best.sizes == {}
    assert numpy / ours > 1


@pytest.mark.benchmark
def test_who_can_be_best_of_a_million_configurations_in_1024_draws():
    began, used = time.perf_counter(), time.process_time()
    result = study().chances(minimize="time")
    ours, cpu = time.perf_counter() - began, time.process_time() - used
    print(f"chances: {ours:.1f} s, {cpu:.1f} s of processors")
    assert float(result.chance.sum() + result.left) == pytest.approx(1)
