"""Performance, power and energy together: how fast a large union is swept and compiled.

    python -m pytest tests/benchmarks/test_ipp.py -m benchmark -s

Four outputs over four axes, on one core. The nest alone fills memory that is there already; a run
takes fresh memory, whose first touch is the limit. Seconds of the processor, and the best of many
rounds, because what else the machine does only adds. Nothing here asserts a time.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from sweeps.nest.emit import compile_nest
from sweeps.nest.run import output_groups, prepare

pytestmark = pytest.mark.benchmark

ROUNDS = int(os.environ.get("DSE_BENCHMARK_ROUNDS", "5"))
ROOT = Path(__file__).parents[2]
#: Where machine code is compiled anew.
NOTHING_KEPT = {**os.environ, "DSE_CACHE": ""}
OUTPUTS = ["time", "power", "energy", "perf_per_watt"]
AXES: dict[str, Any] = {
    "comp_insts": np.linspace(10, 400, 40),
    "mem_bandwidth": np.linspace(50e9, 200e9, 25),
    "active_sms": range(1, 31),
    "core_clock": np.linspace(0.8e9, 1.6e9, 200),
}
ORDERS = (
    ("comp_insts", "mem_bandwidth", "active_sms", "core_clock"),
    ("comp_insts", "core_clock", "active_sms", "mem_bandwidth"),
    ("core_clock", "mem_bandwidth", "active_sms", "comp_insts"),
)


def ipp(order: tuple[str, ...] = ORDERS[0]) -> dse.Study:
    return dse.Study(
        model="ipp",
        machine="gtx280",
        workload="sepia",
        axes={name: AXES[name] for name in order},
        set={"threads_per_block": 128},
        outputs=OUTPUTS,
    )


def nest(study: dse.Study) -> Any:
    """The nest that fills the four outputs."""
    grid = study.grid()
    part = max(output_groups(grid), key=lambda group: len(group.dims))
    nodes = [(grid.output_node(name, (), part.dims), grid.kind(name)) for name in part.outputs]
    return prepare(grid, (), part.dims, nodes)


@contextmanager
def one_core() -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def best(run: Callable[[], object], rounds: int) -> float:
    """Fewest seconds of a run; the first is not counted."""
    seconds = []
    for _ in range(rounds + 1):
        gc.collect()
        began = time.process_time()
        run()
        seconds.append(time.process_time() - began)
    return min(seconds[1:])


def test_ipp_over_four_axes() -> None:
    print("\nipp, four outputs over four axes, one core")
    with one_core():
        for order in ORDERS:
            study = ipp(order)
            ready = nest(study)
            compile_nest(ready.nest)
            points = study.plan().points
            filled = [np.ones(points) for _ in OUTPUTS]
            bounds = ready.tiling(points).bounds(0)[0]
            spent = best(lambda: ready.run(bounds, 0, *filled), 4 * ROUNDS)  # noqa: B023
            whole = best(study.run, ROUNDS)
            fused = best(lambda: study.optimum(maximize="perf_per_watt"), ROUNDS)  # noqa: B023
            ds = study.run()
            for name, values in zip(OUTPUTS, filled, strict=True):
                np.testing.assert_array_equal(ds[name].values.reshape(-1), values)
            rates = [f"{points / seconds / 1e6:4.0f}" for seconds in (spent, whole, fused)]
            print(
                f"  {points:.0e} points, {order[-1]:13} innermost: nest {rates[0]}, "
                f"stored run {rates[1]}, optimum {rates[2]} M points/s"
            )


def test_ipp_compiled_in_a_fresh_interpreter() -> None:
    code = (
        "import sys, time, numba; sys.path.insert(0, '.'); "
        "from tests.benchmarks.test_ipp import compiled, ipp, nest; ready = nest(ipp()); "
        "began = time.process_time(); compiled(ready.nest); print(time.process_time() - began)"
    )
    command = [sys.executable, "-c", code]
    lines = [
        float(subprocess.check_output(command, cwd=ROOT, text=True, env=NOTHING_KEPT))
        for _ in range(ROUNDS)
    ]
    print(f"\nipp, the nest of four outputs compiled: {min(lines):.2f} s")
    assert min(lines) > 0
