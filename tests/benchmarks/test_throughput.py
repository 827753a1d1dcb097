"""The throughput model: how fast it is swept and compiled.

    python -m pytest tests/benchmarks/test_throughput.py -m benchmark -s

Four outputs over four axes, on one core: performance, category and both suggestions, and the time,
power and energy of its union with power. As in :mod:`tests.benchmarks.test_ipp`, the nest alone
fills memory that is there already, and a run takes fresh memory.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dse
from sweeps.nest.emit import compile_nest
from tests.benchmarks.test_ipp import NOTHING_KEPT, ROOT, ROUNDS, best, nest, one_core

pytestmark = pytest.mark.benchmark

OUTPUTS = {
    "throughput": ["flops", "category", "suggested_sms", "suggested_warps"],
    "throughput + power": ["flops", "time", "power", "energy"],
}
AXES: dict[str, Any] = {
    "int_insts": np.linspace(0, 40, 40),
    "active_sms": range(1, 17),
    "warps_per_sm": range(1, 49),
    "core_clock": np.linspace(0.8e9, 1.6e9, 200),
}
ORDERS = (
    ("int_insts", "active_sms", "warps_per_sm", "core_clock"),
    ("core_clock", "active_sms", "int_insts", "warps_per_sm"),
    ("warps_per_sm", "core_clock", "active_sms", "int_insts"),
)


def study(model: str = "throughput", order: tuple[str, ...] = ORDERS[0]) -> dse.Study:
    return dse.Study(
        model=model,
        machine="gtx580",
        workload="dmadd",
        axes={name: AXES[name] for name in order},
        set={"threads_per_block": 256},
        outputs=OUTPUTS[model],
    )


def rate(sweep: dse.Study) -> tuple[float, float, float]:
    """Points a second: of the nest, of a stored run, of an optimum."""
    ready = nest(sweep)
    compile_nest(ready.nest)
    points = sweep.plan().points
    kinds = {"float": np.float64, "flag": np.int8, "bool": np.bool_}
    filled = [np.ones(points, kinds[kind]) for kind in ready.nest.kinds]
    bounds = ready.tiling(points).bounds(0)[0]
    spent = best(lambda: ready.run(bounds, 0, *filled), 2 * ROUNDS)
    whole = best(sweep.run, ROUNDS)
    fused = best(lambda: sweep.optimum(maximize="flops"), ROUNDS)
    return points / spent, points / whole, points / fused


@pytest.mark.parametrize("model", OUTPUTS)
def test_throughput_over_four_axes(model: str) -> None:
    print(f"\n{model}, {', '.join(OUTPUTS[model])} over four axes, one core")
    with one_core():
        for order in ORDERS:
            rates = rate(study(model, order))
            print(
                f"  {order[-1]:13} innermost: nest {rates[0] / 1e6:4.0f}, stored run "
                f"{rates[1] / 1e6:4.0f}, optimum {rates[2] / 1e6:4.0f} M points/s"
            )


@pytest.mark.parametrize("model", OUTPUTS)
def test_throughput_compiled_in_a_fresh_interpreter(model: str) -> None:
    code = (
        "import sys, time, numba; sys.path.insert(0, '.'); "
        "from tests.benchmarks.test_throughput import compiled, nest, study; "
        f"ready = nest(study({model!r})); began = time.process_time(); compiled(ready.nest); "
        "print(time.process_time() - began)"
    )
    command = [sys.executable, "-c", code]
    lines = [
        float(subprocess.check_output(command, cwd=ROOT, text=True, env=NOTHING_KEPT))
        for _ in range(min(ROUNDS, 3))
    ]
    print(f"\n{model}, the nest of four outputs compiled: {min(lines):.2f} s")
    assert min(lines) > 0
