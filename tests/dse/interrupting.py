"""Interrupts and terminates commands at random moments, and looks at how they end.

    python -m tests.dse.interrupting 200 1

sends 200 signals, with moments drawn from the seed 1, to runs, exports, questions, searches and
checks; sometimes a second one soon after the first. A command must end with 130 or 143, or, where
it was done before, as it does when nobody disturbs it, and with what it tells then; before it
listens, and when all is done, a signal may end it as any process. Never does it show a traceback,
nor leave a file that is not whole. Every fifth is a process of its own, from its first moment; the
others are forked, with the libraries loaded.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dask.array  # noqa: F401  what each process would load again
import h5netcdf  # noqa: F401
import zarr  # noqa: F401

import dse.__main__
import dse.cli
import dse.runs.store
import sweeps.bounds.search
import sweeps.files.export  # noqa: F401

STUDY = """
model = "transit"
outputs = ["ms_throughput", "cs_throughput", "bound"]
[axes]
threads = { start = 1, stop = 400 }
intensity = { start = 1, stop = 100 }
mem_latency = { start = 400, stop = 430 }
[set]
lanes_width = 32
ms_peak = 1
"""
LARGE = """
model = "occupancy + ipp"
machine = "gtx280"
workload = "svm"
axes.threads_per_block = { start = 32, stop = 512, step = 32 }
axes.registers_per_thread = { start = 8, stop = 39 }
axes.active_sms = { start = 1, stop = 30 }
axes.core_clock = { linspace = [8e8, 1.6e9, 101] }
axes.mem_bandwidth = { linspace = [8e10, 1.6e11, 101] }
"""
#: What is asked of the studies and of the store of the first.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("run", "study.toml", "--store", "new.zarr", "--progress", "none"),
    ("run", "study.toml", "--minimize", "ms_throughput", "--progress", "none"),
    ("export", "done.zarr", "new.nc"),
    ("export", "done.zarr", "copy.zarr"),
    ("export", "done.zarr", "new.parquet"),
    ("verify", "done.zarr"),
    ("optimum", "done.zarr", "--maximize", "cs_throughput", "--where", "threads < 300"),
    ("optimum", "large.toml", "--minimize", "energy * (2 + occupancy)", "--method", "certified"),
    ("pareto", "study.toml", "--minimize", "intensity", "--maximize", "ms_throughput"),
    ("meets", "large.toml", "--where", "energy <= 10 mJ"),
    ("count", "study.toml", "--where", "ms_throughput > 0.5"),
)
dict(dse.cli.main.commands)  # loads their files before the forks
NUMBERS = (signal.SIGINT, signal.SIGTERM)
#: What differs from one run of a command to the next.
_TIMES = re.compile(
    r"[\d.,e+]+ (?:s|ms|µs|(?:million )?configurations/s)|(?:nothing to )?compil\w+.*"
)


def fork_command(command: Sequence[str]) -> int:
    """A process that runs a command as ``dse`` does; what it tells is in the files out and err."""
    child = os.fork()
    if child:
        return child
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv, status = ["dse", *command], 70
    try:
        dse.__main__.main()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def fresh(command: Sequence[str]) -> subprocess.Popen[bytes]:
    with open("out", "wb") as out, open("err", "wb") as err:
        return subprocess.Popen([sys.executable, "-m", "dse", *command], stdout=out, stderr=err)


def wait_for(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def clear_folder() -> None:
    """Away with what the last command has made."""
    for path in Path().iterdir():
        if path.name.startswith(("new.", "copy.", ".")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def steady_output() -> str:
    return _TIMES.sub("", Path("out").read_text())


def main(count: int, seed: int) -> dict[str, Any]:
    draw, began = random.Random(seed), Path.cwd()
    folder = Path(tempfile.mkdtemp())
    os.environ["PYTHONPATH"] = os.pathsep.join([str(began), os.environ.get("PYTHONPATH", "")])
    os.chdir(folder)
    for name, text in (("study", STUDY), ("large", LARGE)):
        Path(f"{name}.toml").write_text(text)
    try:
        return _send_signals(draw, count)
    finally:
        os.chdir(began)
        shutil.rmtree(folder)


def _send_signals(draw: random.Random, count: int) -> dict[str, Any]:
    assert wait_for(fork_command(["run", "study.toml", "--store", "done.zarr"])) == 0, Path(
        "err"
    ).read_text()
    calm: dict[tuple[tuple[str, ...], bool], tuple[float, str]] = {}
    endings: Counter[str] = Counter()
    for trial in range(count):
        command, own = draw.choice(COMMANDS), trial % 5 == 4
        if (command, own) not in calm:
            for _ in range(2):  # the first may compile
                clear_folder()
                at = time.monotonic()
                status = fresh(command).wait() if own else wait_for(fork_command(command))
                assert status == 0, (command, Path("err").read_text())
            calm[command, own] = time.monotonic() - at, steady_output()
        duration, expected = calm[command, own]
        clear_folder()
        number, moment = draw.choice(NUMBERS), draw.random() * duration * 1.05
        process = fresh(command) if own else None
        child = process.pid if process is not None else fork_command(command)
        time.sleep(moment)
        os.kill(child, number)  # it is not waited for yet, so that its number is its own
        if draw.random() < 0.3:
            time.sleep(draw.random() * 0.3)
            os.kill(child, number)
        status = process.wait() if process is not None else wait_for(child)
        errors = Path("err").read_text()
        state = (" ".join(command), trial, number.name, moment, status, errors)
        assert status in (0, 128 + number, -number), state
        for word in ("Traceback", "Exception ignored", "Aborted", "Error"):
            assert word not in errors, state
        if status == 0:
            assert steady_output() == expected, (state, steady_output(), expected)
        if status == -number:
            is_reported = "interrupted" in errors or "terminated" in errors
            assert not errors.strip() or own or is_reported, state
        assert not [path for path in Path().iterdir() if ".part" in path.name], state
        endings[{0: "done before", -number: "as any process"}.get(status, "as told")] += 1
    return {"signals": count, **endings}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
