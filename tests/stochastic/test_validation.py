"""The validation on GPUs: the kernel on numba-cuda's simulator and as PTX, and what is made of it.

The simulator is chosen before numba is first imported, so each use of it is a process of its own.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import os
import re
import runpy
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stochastic import Pmf, validation
from stochastic.checks import LawError
from stochastic.validation import drawn_loss, time_powers, timed_loss
from tests.long import long

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/validate_on_gpu.py"

needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)

groups_of_work = st.integers(1, 32).flatmap(
    lambda lanes: st.lists(
        st.lists(st.integers(0, 300), min_size=lanes, max_size=lanes), min_size=1, max_size=5
    )
)


#: The simulator looks whether its threads have ended without a pause, in which they stand still.
YIELDING = "import sys; sys.setswitchinterval(1e-4)\n"


def run(script: str, *arguments: str, simulator: bool = True) -> subprocess.CompletedProcess[str]:
    """A Python process, on the simulator or not."""
    script = YIELDING + script if simulator else script
    chosen = {"NUMBA_ENABLE_CUDASIM": "1" if simulator else "0", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **chosen},
    )


def run_script(script: str, **options: Any) -> Any:
    """Return the output of a script, parsed as JSON."""
    done = run(script, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- losses from iterations and clocks
@given(groups_of_work, st.integers(1, 10_000), st.integers(0, 2**40))
def test_an_ideal_clock_gives_the_loss_of_the_law(
    work: list[list[int]], step: int, start: int
) -> None:
    exponents = np.array(work)
    clocks = start + np.array(
        [
            np.zeros_like(exponents),
            exponents * step,
            np.broadcast_to(exponents.max(axis=1, keepdims=True) * step, exponents.shape),
        ]
    )
    assert timed_loss(clocks) == pytest.approx(drawn_loss(exponents), rel=1e-15)


@given(groups_of_work)
def test_loss_of_groups_drawn(work: list[list[int]]) -> None:
    lanes = len(work[0])
    expected = [lanes * max(group) / sum(group) if sum(group) else 1.0 for group in work]
    assert drawn_loss(np.array(work, dtype=np.int32)).tolist() == pytest.approx(expected, rel=1e-15)


def test_pictures_of_the_paper() -> None:
    assert drawn_loss(np.array([[4, 2, 7, 1, 6, 4, 3, 6]])).tolist() == [56 / 33]
    assert drawn_loss(np.array([[4, 3, 4, 5, 4, 5, 3, 4]])).tolist() == [40 / 32]


def test_lanes_that_leave_apart_wait_for_the_last() -> None:
    clocks = np.array([[[5, 7]], [[15, 47]], [[16, 48]]])
    assert timed_loss(clocks).tolist() == [((48 - 5) + (48 - 7)) / (10 + 40)]


def test_large_sums_keep_their_digits() -> None:
    exponents = np.full((1, 32), 2**31 - 2, dtype=np.int32)
    assert drawn_loss(exponents).tolist() == [1.0]


@pytest.mark.parametrize("clocks", [[[[5]], [[4]], [[6]]], [[[5]], [[7]], [[6]]]])
def test_a_clock_that_runs_backwards_is_refused(clocks: list[list[list[int]]]) -> None:
    with pytest.raises(LawError, match="ran backwards"):
        timed_loss(np.array(clocks))


def test_a_row_holds_the_errors_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = runpy.run_path(str(EXAMPLE))["compare"]
    output = np.array([3.976, 3.98]), np.array([3.91, 3.92]), np.array([3.9, 3.9])
    monkeypatch.setitem(compared.__globals__, "losses", lambda *_, **__: output)
    result = compared(Pmf.geometric(0.05), 32, groups=2, seed=1)
    assert result["modelled"] == pytest.approx(3.97877460065029965)
    assert (result["lanes"], result["groups"], result["seed"]) == (32, 2, 1)
    assert result["simulated"] == pytest.approx(3.978)
    assert result["standard_error"] == pytest.approx(0.002 / math.sqrt(2))
    assert result["synchronised_error"] == pytest.approx(1 - 3.915 / result["modelled"])
    assert result["unsynchronised_error"] == pytest.approx(1 - 3.9 / result["modelled"])
    assert result["simulated_error"] == pytest.approx(1 - 3.978 / result["modelled"])
    assert result["scheduling_difference"] == pytest.approx(1 - 3.9 / 3.915)
    assert json.loads(json.dumps(result)) == result


# --- what is given
@pytest.mark.parametrize(
    ("exponents", "options", "message"),
    [
        ([[1] * 33], {}, r"\(1, 33\).*1 to 32 lanes.*one warp"),
        ([1, 2], {}, r"\(2,\).*expected \(groups, lanes\)"),
        (np.zeros((0, 4), dtype=int), {}, r"\(0, 4\)"),
        (np.zeros((4, 0), dtype=int), {}, r"\(4, 0\)"),
        ([[0.5]], {}, "whole numbers"),
        ([[-1]], {}, "whole numbers from 0"),
        ([[2**31 - 1]], {}, "whole numbers from 0 to 2147483646"),
        ([[1, 2]], {"size": 0}, "size = 0: expected a whole number of 1 or more"),
        ([[1, 2]], {"threads": 1}, "threads = 1: expected a whole number of 2 or more"),
        ([[1, 2]], {"threads": 512}, "threads = 512.*256"),
    ],
)
def test_what_does_not_fit_is_named(exponents: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(LawError, match=message):
        next(time_powers(exponents, synchronised=True, **options))


def test_without_numba_cuda_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LawError, match=re.escape("pip install numba-cuda")):
        next(time_powers([[1, 2]], synchronised=True))


@needs_numba_cuda
def test_without_a_gpu_the_simulator_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from stochastic.kernels import gpu

    monkeypatch.setattr(gpu, "is_available", lambda: False)
    with pytest.raises(LawError, match=r"no NVIDIA GPU.*NUMBA_ENABLE_CUDASIM=1"):
        validation.describe()


def test_numba_is_loaded_when_a_kernel_is_asked_for() -> None:
    script = "import sys, json, stochastic.validation; print(json.dumps('numba' in sys.modules))"
    assert run_script(script) is False


# --- the kernel on the simulator
SIMULATED = """
import json
import threading

import numpy as np

from stochastic import Pmf, validation
from stochastic.kernels import gpu

exponents = np.random.default_rng(1).integers(0, 6, (5, 4)).astype(np.int32)
exponents[3] = 0
validation._MEMORY = 2 * 8 * 9 * 4  # two groups a launch: the last is smaller
runs = {}
for synchronised in (True, False):
    runs[synchronised] = [
        [run.first, run.clocks.tolist(), run.powers(2).tolist()]
        for run in validation.time_powers(
            exponents, synchronised=synchronised, size=3, threads=6, seed=7
        )
    ]

# a machine in true lockstep, whose clock tells the barriers that a lane has passed
passed = threading.local()
barrier = gpu.sync_lanes
def wait(mask):
    assert mask == 0b1111
    barrier(mask)
    passed.count = getattr(passed, "count", 0) + 1
gpu.sync_lanes, gpu.clock = wait, lambda: passed.count
ideal = [
    validation.timed_loss(run.clocks).tolist()
    for run in validation.time_powers(exponents, synchronised=True, size=3, threads=4)
]
print(json.dumps({
    "exponents": exponents.tolist(), "synchronised": runs[True], "free": runs[False],
    "ideal": sum(ideal, []), "facts": validation.describe(),
}))
"""


@pytest.fixture(scope="module")
def simulated_gpu() -> dict[str, Any]:
    result: dict[str, Any] = run_script(SIMULATED)
    return result


@needs_numba_cuda
@pytest.mark.parametrize("variant", ["synchronised", "free"])
def test_lanes_compute_powers_of_their_matrices(
    simulated_gpu: dict[str, Any], variant: str
) -> None:
    exponents = np.array(simulated_gpu["exponents"])
    matrices = np.random.default_rng(7).random((2, 4, 3, 3), dtype=np.float32)
    matrices = (matrices - np.float32(0.5)) * np.float32(np.sqrt(8 / 3))
    assert [first for first, _, _ in simulated_gpu[variant]] == [0, 2, 4]
    for first, _, powers in simulated_gpu[variant]:
        for group, row in enumerate(exponents[first : first + 2]):
            for lane, exponent in enumerate(row):
                matrix = matrices[group, lane].astype(float)
                expected = np.linalg.matrix_power(matrix, exponent + 1)
                np.testing.assert_allclose(powers[group][lane], expected, rtol=1e-4, atol=1e-6)


@needs_numba_cuda
@pytest.mark.parametrize("variant", ["synchronised", "free"])
def test_clocks_follow_the_lanes(simulated_gpu: dict[str, Any], variant: str) -> None:
    clocks = np.concatenate([np.array(part) for _, part, _ in simulated_gpu[variant]], axis=1)
    exponents = np.array(simulated_gpu["exponents"])
    start, done, left = clocks
    assert clocks.shape == (3, 5, 4)
    assert np.all((start <= done) & (done <= left))
    assert np.array_equal(done > start, exponents > 0)
    result = timed_loss(clocks)
    assert np.all(result >= 1.0)
    assert result[3] == 1.0  # no work


@needs_numba_cuda
def test_in_true_lockstep_the_clocks_give_the_loss_of_the_law(
    simulated_gpu: dict[str, Any],
) -> None:
    assert simulated_gpu["ideal"] == drawn_loss(np.array(simulated_gpu["exponents"])).tolist()


@needs_numba_cuda
def test_the_record_names_what_ran(simulated_gpu: dict[str, Any]) -> None:
    facts = simulated_gpu["facts"]
    assert facts["device"] == "simulator of numba-cuda: no measurement"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", facts["date"])
    assert facts["numba_cuda"] == version("numba-cuda")


@needs_numba_cuda
def test_work_that_was_not_done_is_found() -> None:
    script = """
import numpy as np
from stochastic import Pmf, validation
from stochastic.kernels import gpu

launches = gpu.run_launches
def idle(matrices, exponents, **options):
    for first, clocks, powers in launches(matrices, 0 * exponents, **options):
        yield first, clocks, powers
gpu.run_launches = idle
next(validation.time_powers(np.array([[2, 2]]), synchronised=True, size=2, threads=2))
"""
    done = run(script)
    assert done.returncode == 1
    assert "LawError: a lane did not compute its matrix to the power of 3" in done.stderr


@needs_numba_cuda
def test_the_example_writes_its_summary(tmp_path: Path) -> None:
    options = ["--groups", "2", "--lanes", "2", "--size", "2", "--threads", "2", "--seed", "3"]
    script = f"import runpy; runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')"
    done = run(script, str(tmp_path / "trial"), *options)
    assert done.returncode == 0, done.stderr
    assert "largest error of the model" in done.stdout
    summary = json.loads((tmp_path / "trial.json").read_text())
    assert summary["device"] == "simulator of numba-cuda: no measurement"
    with (tmp_path / "trial.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["law"] for row in rows] == [case["law"] for case in summary["cases"]]
    assert len(rows) == 5
    assert [float(row["modelled"]) for row in rows] == [
        pytest.approx(mean, abs=5e-4) for mean in (1.090, 1.476, 1.104, 1.118, 1.301)
    ]
    for case in summary["cases"]:
        assert case["groups"] == 2
        assert case["seed"] == 3
        assert 1 <= case["simulated"] <= 2


# --- the kernel as PTX, which takes no GPU
COMPILED = """
import json
from types import SimpleNamespace

from cuda.pathfinder import DynamicLibNotFoundError
from numba import cuda, types
from numba.cuda import dispatcher

from stochastic.kernels import gpu

whole, real = types.Array(types.int32, 2, "C"), types.Array(types.float32, 4, "C")
signature = real, whole, real, types.Array(types.int64, 3, "C")
found = {}
for capability, synchronised in (((8, 0), True), ((9, 0), False)):
    # a device function asks the GPU at hand for what it compiles
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    body = gpu.power_kernel(16, synchronised).py_func
    try:
        ptx, _ = cuda.compile_ptx(body, signature, cc=capability)
    except DynamicLibNotFoundError as error:
        found = str(error)
        break
    found[f"sm_{capability[0]}{capability[1]} {synchronised}"] = ptx
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def ptx() -> dict[str, str]:
    result = run_script(COMPILED, simulator=False)
    if isinstance(result, str):
        pytest.skip(f"no CUDA compiler (pip install 'numba-cuda[cu13]'): {result[:60]}")
    return {key: str(text) for key, text in result.items()}


@long
@needs_numba_cuda
@pytest.mark.parametrize(("target", "synchronised"), [("sm_80", True), ("sm_90", False)])
def test_compiled_the_clocks_stand_where_they_are_read(
    ptx: dict[str, str], target: str, synchronised: bool
) -> None:
    text = ptx[f"{target} {synchronised}"]
    assert f".target {target}" in text
    lines = text.splitlines()
    clocks = [number for number, line in enumerate(lines) if "%clock64" in line]
    products = [number for number, line in enumerate(lines) if "fma.rn.f32" in line]
    barriers = [number for number, line in enumerate(lines) if "bar.warp.sync" in line]
    stores = [number for number, line in enumerate(lines) if re.search(r"st\.global.*%f", line)]
    labels = {line.rstrip(":"): number for number, line in enumerate(lines) if line.endswith(":")}
    jumps = [
        (number, labels[line.split()[-1].rstrip(";")])
        for number, line in enumerate(lines)
        if re.search(r"\bbra\b", line)
    ]
    loop = [(low, high) for high, low in jumps if low < products[0] and high > clocks[0]]
    # one product of 16 x 16 in the loop, then a clock; after the loop another; then the results
    assert len(products) % 256 == 0
    assert len(clocks) == 2
    assert products[-1] < clocks[0]
    assert any(low < clocks[0] < high < clocks[1] for low, high in loop)
    assert len(stores) == 256
    assert clocks[1] < stores[0]
    # the barrier stands between them
    assert len(barriers) == synchronised
    assert all(products[-1] < place < clocks[0] for place in barriers)
