"""Kernels that measure a GPU: on numba-cuda's simulator, and as PTX, which takes no GPU.

The simulator is chosen before numba is first imported, so it runs in a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse import gpu
from dse.gpu import device, measurements
from stochastic import Pmf, fit_timing, imbalance
from stochastic.checks import LawError
from tests.long import long

ROOT = Path(__file__).parents[2]

needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)

#: The simulator looks whether its threads have ended without a pause, in which they stand still.
YIELDING = "import sys; sys.setswitchinterval(1e-4)\n"

FAKE = '''
from types import SimpleNamespace

class NVMLError(Exception):
    pass

def fake_nvml(allowed, power=True):
    """NVML of a board whose clocks may be chosen in one way, or in none."""
    now, calls = {"core": 1200, "memory": 5000}, []
    def asked(way, **clocks):
        calls.append((way, *clocks.values()))
        if way != allowed:
            raise NVMLError(f"{way}: Insufficient Permissions")
        now.update(clocks)
    def watts(handle):
        if not power:
            raise NVMLError("Not Supported")
        return 100 * now["core"]
    return SimpleNamespace(
        NVMLError=NVMLError, NVML_CLOCK_GRAPHICS=0, NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0, calls=calls,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetPowerUsage=watts,
        nvmlDeviceGetClockInfo=lambda handle, kind: now["memory" if kind == 2 else "core"],
        nvmlDeviceGetTemperature=lambda handle, kind: 50,
        nvmlDeviceGetSupportedMemoryClocks=lambda handle: [810, 5001],
        nvmlDeviceGetSupportedGraphicsClocks=lambda handle, memory: [600, 1500, 900],
        nvmlDeviceGetApplicationsClock=lambda handle, kind: 5001 if kind == 2 else 1350,
        nvmlDeviceSetApplicationsClocks=lambda handle, memory, core: asked(
            "application", memory=memory, core=core),
        nvmlDeviceSetGpuLockedClocks=lambda handle, least, most: asked("locked", core=most),
        nvmlDeviceSetMemoryLockedClocks=lambda handle, least, most: asked("locked", memory=most),
        nvmlDeviceResetGpuLockedClocks=lambda handle: calls.append(("unlocked", "core")),
        nvmlDeviceResetMemoryLockedClocks=lambda handle: calls.append(("unlocked", "memory")),
    )
'''

SIMULATED = """
import json, runpy, sys, warnings
import numpy as np
from dse import gpu
from symbolic.errors import DseError

graph = np.random.default_rng(1).random((5, 5))
graph[graph > 0.6] = np.inf
lengths, seconds = gpu.shortest_paths(graph, tile_dim=2, threads=3)
whole, _ = gpu.shortest_paths(graph, tile_dim=8, threads=4, padding=16)
found = {
    "graph": graph.tolist(), "lengths": lengths.tolist(), "whole": whole.tolist(),
    "seconds": seconds,
    "double": {name: x.tolist() for name, x in gpu.demand([2], rounds=1, double=True).items()},
    "paths": {name: x.tolist() for name, x in gpu.paths(3, [1, 2], [2], padding=8).items()},
}
for what in ("supply", "demand"):
    few = ["--threads", "2", "6", "--steps", "3", "--size", "16"]
    sys.argv = ["", what, f"example-{what}.csv", *few]
    runpy.run_path(EXAMPLE, run_name="__main__")
    found[what] = open(f"example-{what}.csv").read().splitlines()

found["blocks"] = {k: v.tolist() for k, v in gpu.blocks([3, 1, 2], threads=2).items()}
found["loads"] = {k: v.tolist() for k, v in gpu.blocks([3, 1], threads=2, loads=True).items()}
found["latency"] = {k: v.tolist() for k, v in gpu.latency([256, 1024], requests=5).items()}
from dse.cli import main
few = ["--threads", "2", "--steps", "2"]
OWN = {
    "supply.csv": [*few, "--threads", "4", "--size", "64"],
    "demand.parquet": [*few, "--threads", "4"],
    "latency.zarr": ["--ring", "512", "--steps", "3"],
    "blocks.csv": [*few, "--blocks", "2"],
    "launches.csv": [*few, "--blocks", "3", "--blocks", "4", "--times", "2"],
    "imbalance.csv": ["--law", "uniform:1,3", "--law", "bernoulli:0.5", "--lanes", "2", "--groups",
                      "2", "--rows", "2"],
    "power.nc": [*few, "--size", "64", "--seconds", "0", "--settle", "0"],
}
for name, options in OWN.items():
    main(["measure", name.partition(".")[0], name, *options], standalone_mode=False)
main(["measure", "power", "power-as-it-was.csv", *OWN["power.nc"], "--keep-clocks"],
     standalone_mode=False)
main(["measure", "launches", "loads.csv", *OWN["launches.csv"], "--loads"], standalone_mode=False)
each = gpu.lockstep(["geometric:0.3"], [3], groups=20, each=True, size=2, threads=3)
found["each"] = {k: v.tolist() for k, v in each.items()}

from dse.gpu import device, kernels
found["power"] = {}
for allowed in ("application", "locked", "nothing"):
    nv = fake_nvml(allowed)
    rows = gpu.power(seconds=0, settle=0, threads=2, steps=1, size=64,
                     board=device.NvmlBoard(nv, kernels.uuid()))
    found["power"][allowed] = {k: v.tolist() for k, v in rows.items()} | {"calls": nv.calls}
nv = fake_nvml("application")
rows = gpu.power(seconds=0, settle=0, threads=2, steps=1, size=64, keep_clocks=True,
                 board=device.NvmlBoard(nv, kernels.uuid()))
found["power"]["unchanged"] = {k: v.tolist() for k, v in rows.items()} | {"calls": nv.calls}
launched = []
taken, looks = kernels.run_sustained(lambda: launched.append(0), lambda: len(launched), settle=0,
                                 seconds=0)
found["sustained"] = looks, len(launched), taken
class Idle:
    def __getitem__(self, shape):
        # as numba-cuda warns of the grids that some measurements need
        return lambda *given: warnings.warn("\x1b[1mGrid size 1 will likely result in GPU")
kernels.chase_pointers = kernels.multiply_add = Idle()
kernels.stamp_blocks = kernels.stamp_loading_blocks = kernels.time_pointer_chase = Idle()
said = []
for measure, options in ((gpu.supply, {"size": 16}), (gpu.demand, {}), (gpu.blocks, {}),
                         (gpu.blocks, {"loads": True}), (gpu.latency, {})):
    try:
        measure([256 if measure is gpu.latency else 2], **options)
    except DseError as error:
        said.append(str(error))
found["idle"] = said
print(json.dumps(found))
"""

COMPILED = """
import json
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
from dse.gpu import kernels

whole, real = types.Array(types.int32, 1, "C"), types.Array(types.float32, 1, "C")
places = types.Array(types.uint32, 1, "C")
matrix = types.Array(types.float32, 2, "C")
long, stamps = types.Array(types.int64, 1, "C"), types.Array(types.int64, 2, "C")
found = {}
try:
    for name, kernel, given in (
        ("waiting", kernels.chase_pointers, (places, places, types.int64)),
        ("thinking", kernels.multiply_add, (real, real, types.int64)),
        ("squaring", kernels.min_plus_square(32), (matrix, matrix)),
        ("standing", kernels.stamp_blocks, (real, real, whole, stamps)),
        ("loading", kernels.stamp_loading_blocks, (places, places, whole, stamps)),
        ("chasing", kernels.time_pointer_chase, (places, types.int64, long)),
    ):
        found[name] = cuda.compile_ptx(kernel.py_func, given, cc=(8, 0))[0]
except Exception as error:
    if "NVVM" not in str(error) and "DynamicLibNotFound" not in type(error).__name__:
        raise
    found = str(error)
print(json.dumps(found))
"""


def run_script(script: str, folder: Path, *, simulator: bool) -> Any:
    """Return what a script prints last, as JSON."""
    chosen = {"NUMBA_ENABLE_CUDASIM": "1" if simulator else "0", "PYTHONPATH": str(ROOT)}
    example = f"EXAMPLE = {str(ROOT / 'examples' / 'measure_on_gpu.py')!r}\n"
    if simulator:
        example += YIELDING
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example + FAKE + script],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, **chosen},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def simulation(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("gpu")
    result: dict[str, Any] = run_script(SIMULATED, folder, simulator=True)
    return result | {"folder": folder}


@long
@needs_numba_cuda
def test_squared_distances_are_the_shortest_paths(simulation: dict[str, Any]) -> None:
    """Floyd and Warshall, for sub-blocks that do not divide the matrix and one that exceeds it."""
    exact = np.array(simulation["graph"])
    np.fill_diagonal(exact, 0)
    for k in range(len(exact)):
        exact = np.minimum(exact, exact[:, [k]] + exact[[k], :])
    assert np.isinf(np.array(simulation["graph"])).any()
    for lengths in (simulation["lengths"], simulation["whole"]):
        np.testing.assert_allclose(lengths, exact, rtol=1e-6)
    assert simulation["seconds"] > 0


@long
@needs_numba_cuda
def test_rows_of_run_times_name_what_the_model_takes(simulation: dict[str, Any]) -> None:
    rows = simulation["paths"]
    assert {name: rows[name] for name in rows if name != "time"} == {
        "tile_dim": [1, 2],
        "threads_per_block": [2, 2],
        "shared_mem_padding": [8, 8],
    }
    assert min(rows["time"]) > 0
    assert set(rows) <= set(dse.quantities())


@needs_numba_cuda
@pytest.mark.parametrize(
    ("what", "header"),
    [
        ("supply", "threads_in_ms,attained_bandwidth [B/s]"),
        ("demand", "threads_in_cs,attained_flops [1/s]"),
    ],
)
def test_the_example_writes_rows_that_are_fitted(
    simulation: dict[str, Any], what: str, header: str, tmp_path: Path
) -> None:
    lines = simulation[what]
    assert (lines[0], len(lines)) == (header, 3)
    table = tmp_path / "rows.csv"
    table.write_text("\n".join(lines))
    peak, corner = {
        "supply": ("ms_peak_bandwidth", "ms_transition"),
        "demand": ("cs_peak_flops", "cs_transition"),
    }[what]
    result = dse.fit(f"transit_{what}", table, free=[peak], set={corner: 4})
    assert result[peak] > 0
    assert simulation["double"]["attained_flops"][0] > 0


@needs_numba_cuda
def test_each_block_tells_where_and_when_it_ran(simulation: dict[str, Any]) -> None:
    rows = simulation["blocks"]
    assert (rows["block"], rows["block_rounds"], rows["sm"]) == ([0, 1, 2], [3, 1, 2], [0, 0, 0])
    assert min(rows["block_start"]) == 0
    for start, end in zip(rows["block_start"], rows["block_end"], strict=True):
        assert end > start
    # the simulator has one multiprocessor, which runs them one after the other
    assert rows["block_start"][1:] >= rows["block_end"][:-1]
    loading = simulation["loads"]
    assert (loading["block_rounds"], loading["sm"]) == ([3, 1], [0, 0])
    assert np.all(np.array(loading["block_end"]) > loading["block_start"])


@needs_numba_cuda
@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("supply.csv", 2, "threads_in_ms attained_bandwidth"),
        ("demand.parquet", 2, "threads_in_cs attained_flops"),
        ("latency.zarr", 1, "ring_bytes load_cycles"),
        ("blocks.csv", 2, "block block_rounds sm block_start block_end"),
        ("launches.csv", 2, "distribution blocks slots step_time launch_time_mean"),
        ("loads.csv", 2, "distribution blocks slots step_time launch_time_mean"),
        ("imbalance.csv", 2, "distribution lanes imbalance_loss drawn_loss modelled_loss"),
        ("power.nc", 4, "kernel core_clock memory_clock time power idle_power chosen_by"),
    ],
)
def test_the_command_keeps_rows_and_what_they_were_measured_on(
    simulation: dict[str, Any], name: str, rows: int, columns: str
) -> None:
    ds = dse.open(simulation["folder"] / name)
    assert ds.sizes == {"configuration": rows}
    assert {*columns.split(), "gpu"} <= set(ds.data_vars)
    told_of = json.loads(ds.attrs["provenance"])
    what = "launches" if name == "loads.csv" else name.partition(".")[0]
    assert told_of["command"].startswith(f"dse measure {what} {name} --")
    assert {"device", "date", "numba_cuda", "numba"} <= set(told_of)
    assert set(ds.gpu.values) == {told_of["device"]}


LAUNCH = ["distribution", "blocks", "lanes", "warps_per_block", "slots", "step_time"]


@needs_numba_cuda
def test_rows_are_fitted_and_validated_as_they_stand(simulation: dict[str, Any]) -> None:
    folder = simulation["folder"]
    for what, peak, corner in (
        ("supply.csv", "ms_peak_bandwidth", "ms_transition"),
        ("demand.parquet", "cs_peak_flops", "cs_transition"),
    ):
        model = f"transit_{what.partition('.')[0]}"
        assert dse.fit(model, folder / what, free=[peak], set={corner: 4})[peak] > 0
    loss = dse.validate("imbalance", folder / "imbalance.csv")
    ds = dse.open(folder / "imbalance.csv")
    assert loss.predicted == pytest.approx(ds.modelled_loss.values, rel=1e-8)
    assert ds.imbalance_loss.values == pytest.approx(loss.measured)
    launch = dse.validate("launch", folder / "launches.csv", columns=[*LAUNCH, "launch_time_mean"])
    ds = dse.open(folder / "launches.csv")  # one slot: all blocks, one after the other
    assert launch.predicted == pytest.approx((ds.blocks * ds.step_time * 2).values)
    assert ds.slots.values.tolist() == [1, 1]
    power = dse.calibrate(
        folder / "power.nc",
        model="clock_scaling",
        to="power",
        free=["constant_power", "dynamic_power"],
        set={"nominal_clock": "1 GHz"},
        leave_out="kernel",
    )  # as pretended: 50 W + 100 W f^3
    assert power.set == pytest.approx({"constant_power": 50, "dynamic_power": 100})
    own = dse.fit(
        "clock_scaling",
        folder / "power.nc",
        to="power",
        free=["constant_power"],
        per={"kernel": ["dynamic_power"]},
        set={"nominal_clock": "1 GHz"},
    )
    assert own.set_of("memory")["dynamic_power"] == pytest.approx(100)


@needs_numba_cuda
def test_groups_are_told_one_by_one(simulation: dict[str, Any]) -> None:
    rows = simulation["each"]
    assert (set(rows["lanes"]), set(rows["distribution"])) == ({3}, {"geometric:0.3"})
    work = Pmf.geometric(0.3).sample((20, 3), 1)
    assert rows["drawn_loss"] == pytest.approx(3 * work.max(axis=1) / work.sum(axis=1))
    fitted = fit_timing(
        imbalance(Pmf.geometric(0.3), 3), rows["drawn_loss"], rows["imbalance_loss"]
    )
    assert 0 < fitted.cdf(3 * fitted.quantile(0.5)) <= 1


@needs_numba_cuda
def test_power_is_told_at_each_clock_that_may_be_had(simulation: dict[str, Any]) -> None:
    for way in ("application", "locked"):
        rows = simulation["power"][way]
        assert rows["asked_clock"] == [1.5e9, 1.5e9, 9e8, 9e8, 6e8, 6e8]
        assert rows["core_clock"] == rows["asked_clock"]
        assert rows["power"] == rows["idle_power"] == [150, 150, 90, 90, 60, 60]
        assert set(rows["chosen_by"]) == {f"{way} clocks"}
        assert rows["kernel"] == ["compute", "memory"] * 3
        assert [flops > 0 for flops in rows["attained_flops"]] == [True, False] * 3
        assert [rate > 0 for rate in rows["attained_bandwidth"]] == [False, True] * 3
    # clocks are left as they were found
    assert simulation["power"]["application"]["calls"][-1] == ["application", 5001, 1350]
    unlocked = [call for call in simulation["power"]["locked"]["calls"] if call[0] == "unlocked"]
    assert unlocked == [["unlocked", "core"], ["unlocked", "memory"]]
    rows = simulation["power"]["nothing"]
    assert (rows["core_clock"], rows["memory_clock"]) == ([1.2e9] * 2, [5e9] * 2)
    assert np.isnan(rows["asked_clock"]).all()
    assert "Insufficient Permissions" in rows["chosen_by"][0]


@needs_numba_cuda
def test_keep_clocks_changes_no_setting(simulation: dict[str, Any]) -> None:
    rows = simulation["power"]["unchanged"]
    assert rows["calls"] == []
    assert (rows["core_clock"], rows["memory_clock"]) == ([1.2e9] * 2, [5e9] * 2)
    assert rows["chosen_by"] == ["as it was: not changed"] * 2
    assert np.isnan(rows["asked_clock"]).all()
    with dse.open(simulation["folder"] / "power-as-it-was.csv") as table:
        assert set(table.chosen_by.values) == {"as it was: not changed"}
        assert "--keep-clocks" in table.attrs["provenance"]


@needs_numba_cuda
def test_a_launch_waits_behind_another_while_power_is_looked_at(simulation: dict[str, Any]) -> None:
    looks, launched, taken = simulation["sustained"]
    assert (looks, launched) == ([2, 3], 3)
    assert taken > 0


def test_what_nvml_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {}
    exec(FAKE, known)
    silent = device.NvmlBoard(known["fake_nvml"]("locked", power=False), "GPU-0")
    with pytest.raises(dse.DseError, match="does not report power and clocks: Not Supported"):
        silent.read_state()
    offered = silent.supported_clocks()
    assert offered == {5001: [1500, 900, 600], 810: [1500, 900, 600]}
    assert measurements._clock_pairs(offered, [], []) == [(5001, 1500), (5001, 900), (5001, 600)]
    with pytest.raises(dse.DseError, match=r"1400 MHz is not offered .* near it are 1500, 900"):
        measurements._clock_pairs(offered, [1400], [])
    with pytest.raises(dse.DseError, match="memory clock 7 MHz is not offered"):
        measurements._clock_pairs(offered, [], [7])
    with pytest.raises(dse.DseError, match="offers no clocks to choose from"):
        measurements._clock_pairs({}, [1500], [])
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(dse.DseError, match="pip install nvidia-ml-py"):
        device.open_board("GPU-0", simulated=False)


@needs_numba_cuda
def test_work_that_was_not_done_is_found(simulation: dict[str, Any]) -> None:
    assert [text[:33] for text in simulation["idle"]] == ["the threads did not do their work"] * 5


def test_pi_is_fitted_to_measured_rates() -> None:
    """G(x) of C2075 as the paper prints its corner, with a little noise."""
    x = np.arange(32.0, 1537, 32)
    noise = 1 + 0.01 * np.random.default_rng(2).standard_normal(len(x))
    rows = {"threads_in_cs": x, "attained_flops": 24.8e9 * np.minimum(1, x / 576) * noise}
    result = dse.fit("transit_demand", rows, free=["cs_peak_flops", "cs_transition"])
    assert result["cs_peak_flops"] == pytest.approx(24.8e9, rel=0.005)
    assert result["cs_transition"] == pytest.approx(576, rel=0.02)


@pytest.mark.parametrize(
    ("threads", "shape"), [(32, (14, 32)), (1536, (28, 768)), (2049, (42, 683))]
)
def test_threads_stand_on_every_multiprocessor(threads: int, shape: tuple[int, int]) -> None:
    assert measurements._launch_shape(threads, 14) == shape


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measurements._launch_shape(0, 1), "threads = 0: expected a number from 1 on"),
        (lambda: measurements._launch_shape(1031, 1), "threads = 1031: .* at most 1024"),
        (lambda: measurements.blocks([]), "rounds: expected a number of 1 or more for each block"),
        (lambda: measurements.blocks([1, 0]), "rounds: expected a number of 1 or more"),
        (lambda: measurements.blocks([1], threads=1025), "threads = 1025: expected 1 to 1024"),
        (lambda: gpu.launches([]), "expected 2 launches or more"),
        (lambda: gpu.launches([2], law="bernoulli:0.5"), "rounds: expected a number of 1"),
        (lambda: measurements.power(seconds=-1), "seconds = -1: expected 0 or more"),
        (lambda: measurements.power(threads=2000), "threads = 2000: expected 1 to 1024"),
        (
            lambda: measurements.power(clocks=[900], keep_clocks=True),
            "clocks are given together with keep_clocks",
        ),
        (lambda: measurements.lockstep([]), "laws and lanes: expected at least one of each"),
        (lambda: measurements.lockstep(lanes=[2, 40]), "lanes = 40: expected 1 to 32"),
        (lambda: gpu.latency([4096, 128]), "sizes: 128: expected 256 bytes or more"),
        (lambda: gpu.shortest_paths([[0, 1]]), r"shape \(1, 2\): expected \(vertices"),
        (lambda: gpu.shortest_paths([[0, -1], [1, 0]]), "numbers of 0 or more"),
        (lambda: gpu.shortest_paths([[0]], tile_dim=65), "tile_dim = 65: expected 1 to 64"),
        (lambda: gpu.shortest_paths([[0]], threads=0), "threads = 0: expected 1 to 1024"),
    ],
)
def test_what_does_not_fit_is_named(call: Any, message: str) -> None:
    with pytest.raises(dse.DseError, match=message):
        call()


def test_without_numba_cuda_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LawError, match=re.escape("pip install numba-cuda")):
        measurements.supply([32])


@long
@needs_numba_cuda
def test_compiled_each_operation_waits_for_the_one_before(tmp_path: Path) -> None:
    output = run_script(COMPILED, tmp_path, simulator=False)
    if isinstance(output, str):
        pytest.skip(f"no CUDA compiler (pip install 'numba-cuda[cu13]'): {output[:60]}")
    # a chain of 64 operations, each on the result of the one before
    chain = re.findall(r"fma\.rn\.f32\s+(%f\d+), (.*);", output["thinking"])
    assert len(chain) == 64
    for (result, _), (_, operands) in pairwise(chain):
        assert result in operands.split(", ")
    for name in ("waiting", "chasing", "loading"):
        # the address is the place times four, added to the array, without a test of its sign
        loads = re.findall(
            r"mul\.wide\.u32[^;]*;\s*add\.s64[^;]*;(?:[^;]*;){0,3}\s*ld\.global", output[name]
        )
        assert len(loads) >= 4, name
    standing = output["standing"]
    assert standing.count("%smid") == 1
    assert standing.count("%globaltimer") == 2
    assert standing.count("bar.sync") == 2
    first, last = standing.index("%globaltimer"), standing.rindex("%globaltimer")
    work = [place.start() for place in re.finditer(r"fma\.rn\.f32", standing)]
    assert len(work) == 64
    assert first < work[0] < work[-1] < last
    loading = output["loading"]
    assert (loading.count("%smid"), loading.count("%globaltimer")) == (1, 2)
    chasing = output["chasing"]
    assert chasing.count("%clock64") == 2
    # three sub-blocks in shared memory, and a barrier before and after they are used
    assert output["squaring"].count("bar.sync") == 2
    assert len(re.findall(r"\.shared \.align \d+ \.b8 \S+\[4096\]", output["squaring"])) == 3
