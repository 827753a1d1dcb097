"""The program itself, in processes of its own: the main job, signals, pipes, start-up."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dse
from tests.long import long

MERGE = Path(__file__).parents[2] / "examples" / "merge-four-gpus.toml"


def program(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dse", *arguments], cwd=folder, capture_output=True, text=True
    )


@long
def test_the_main_job(tmp_path: Path) -> None:
    done = program("run", str(MERGE), "--store", "merge.zarr", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["points"] >= 1_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["merge.zarr"]
    rows = {(row["workload"], row["machine"]): row for row in said["best"]["rows"]}
    assert len(rows) == 24
    study = dse.Study.from_toml(MERGE)
    asked = study.optimum(minimize="time", per=["workload", "machine"])
    axes = ["threads_per_block", "active_sms", "core_clock"]
    with dse.open(tmp_path / "merge.zarr") as ds:
        time = ds.time.where(ds.feasible).transpose("workload", "machine", *axes).load()
        for (workload, machine), row in rows.items():
            here = {"workload": workload, "machine": machine}
            values = time.sel(here).values
            place = np.unravel_index(np.nanargmin(values), values.shape)
            assert row["time"] == values[place]
            for axis, index in zip(axes, place, strict=True):
                assert row[axis] == ds[axis].values[index]
            one = asked.sel(here)
            assert {axis: row[axis] for axis in axes} == {a: one[a].item() for a in axes}
            assert math.isclose(row["time"], one.time.item(), rel_tol=1e-14)


#: Slows the tiles of a run down, so that a signal meets them.
SLOWED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import sweeps.nest.run, sweeps.store.fill, sweeps.store.layout
sweeps.nest.run.SINGLE_TILE_POINTS = sweeps.store.layout.TILE = 1 << 12
pause, inner = float(sys.argv[1]), sweeps.nest.run.NestProgram.run
def run(*arguments): time.sleep(pause); return inner(*arguments)
sweeps.nest.run.NestProgram.run = run
from dse.cli import main
main(sys.argv[2:], prog_name="dse")
"""


STUDY = """
model = "transit"
[axes]
threads = {{ start = 1, stop = {threads} }}
intensity = {{ start = 1, stop = 100 }}
[set]
lanes_width = 32
ms_peak = 1
mem_latency = 600
"""


def wait_for_tiles(folder: Path, count: int) -> None:
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        if len(list(folder.glob("*.zarr/.simt-dse/tiles/*"))) >= count:
            return
        time.sleep(0.005)
    raise AssertionError("no tile was stored")


@long
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_ends_the_tiles_in_flight(
    tmp_path: Path, number: signal.Signals, status: int, said: str
) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(threads=1000))
    command = [sys.executable, "-c", SLOWED, "0.1", "run", "study.toml", "--store", "out.zarr"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_tiles(tmp_path, 1)
        process.send_signal(number)
        told, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    stored = len(list(tmp_path.glob("out.zarr/.simt-dse/tiles/*")))
    assert f"{said}: {stored} of 25 tiles are stored in out.zarr; the same command" in errors
    assert 1 <= stored < 25
    assert "Traceback" not in errors
    assert told == ""
    assert not list(tmp_path.rglob("*.part"))
    command[3] = "0"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{stored} tiles were stored before, {25 - stored} were computed" in done.stdout


def test_an_interrupt_of_a_run_in_memory(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY.format(threads=5000))
    code = SLOWED.replace("sweeps.store.layout.TILE", "sweeps.nest.run.TILE")
    command = [sys.executable, "-c", code, "0.05", "run", "study.toml"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "%" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        told, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted: no unfinished result was written" in errors
    assert "Traceback" not in errors
    assert told == ""


def test_broken_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dse", "machines", "gtx280", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


def test_startup_loads_no_heavy_library(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from dse.cli import main\n"
        "for arguments in (['--help'], ['--version'], ['machines'], ['workloads']):\n"
        "    main(arguments, standalone_mode=False)\n"
        "heavy = {'xarray', 'numba', 'sympy', 'dask', 'pandas', 'zarr', 'pint'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@long
def test_signals_at_random_moments() -> None:
    """More by ``python -m tests.dse.interrupting 200 1``."""
    command = [sys.executable, "-m", "tests.dse.interrupting", "3", "2"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["signals"] == 3
