"""Time until each command shows something, and until it ends: cold, then warm.

    python -m tests.benchmarks.waiting [COMMAND ...]

Each runs on a terminal of its own, as its ``--help`` has it: first in a fresh folder of compiled
code (``DSE_CACHE``) in which nothing is kept, then once more. Told are the seconds until anything
is on the screen and until the end, and those of processors. A machine that does other things at
the same time tells more.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

#: A command by its name; later ones use what earlier ones leave.
COMMANDS = {
    "--help": "dse --help",
    "help": "dse optimum --help",
    "plan": "dse plan examples/merge-four-gpus.toml",
    "run": "dse run examples/merge-four-gpus.toml --store merge.zarr --fresh",
    "add": "dse add merge.zarr occupancy",
    "verify": "dse verify merge.zarr",
    "optimum": "dse optimum merge.zarr --minimize time --per workload",
    "certified": "dse optimum examples/energy-gtx280.toml --minimize edp --method certified",
    "pareto": "dse pareto merge.zarr --minimize time,active_sms --where 'occupancy >= 0.5'",
    "count": 'dse count examples/merge-four-gpus.toml --where "occupancy >= 0.5"',
    "histogram": "dse histogram examples/merge-four-gpus.toml --output time --bins 20",
    "quantiles": "dse quantiles merge.zarr --output time",
    "explain": "dse explain examples/merge-four-gpus.toml "
    "workload=svm machine=gtx280 core_clock=1.3GHz",
    "advise": "dse advise examples/merge-four-gpus.toml "
    "workload=svm machine=gtx280 core_clock=1.3GHz",
    "borders": "dse borders examples/transit-tour.toml --quantity bound",
    "ranges": "dse ranges examples/transit-tour.toml --within mem_latency=10%",
    "meets": "dse meets examples/energy-gtx280.toml "
    '--where "time <= 60 ms" --where "power <= 120 W"',
    "disagreement": "dse disagreement examples/two-models.toml",
    "sensitivity": "dse sensitivity examples/energy-gtx280.toml --output energy,time",
    "export": "dse export merge.zarr merge.nc",
    "import": "dse import runs.csv runs.zarr --axes threads_per_block",
    "fit": "dse fit clock_scaling runs.csv --to time --free core_cycles,stall_time --relative",
    "models": "dse models mwp_cwp",
    "machines": "dse machines gtx280",
    "workloads": "dse workloads svm",
    "imbalance": "dse imbalance geometric:0.05 --lanes 32",
    "law": "dse run examples/uneven-work.toml",
    "plot": "dse plot sms --machine gtx280 --workload svm "
    "--set threads_per_block=256 --axis active_sms=1:30 --out sms.png",
    "plot law": "dse imbalance uniform:20,40 --lanes 8 --plot law.png",
}


class Wait(NamedTuple):
    """Times of a command; ``first`` is when anything was on the screen. [s]"""

    first: float
    end: float
    processors: float
    status: int
    output: str


def on_a_terminal(command: str, folder: Path, cache: Path) -> Wait:
    """Run a command on a terminal of its own."""
    import pty

    began = time.monotonic()
    child, screen = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["DSE_CACHE"] = str(cache)
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        os.execvp("sh", ["sh", "-c", f"exec {command}"])
    first, output = 0.0, b""
    while True:
        try:
            part = os.read(screen, 1 << 16)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        first = first or time.monotonic() - began
        output += part
    _, status, used = os.wait4(child, 0)
    os.close(screen)
    return Wait(
        first=first,
        end=time.monotonic() - began,
        processors=used.ru_utime + used.ru_stime,
        status=os.waitstatus_to_exitcode(status),
        output=output.decode(errors="replace"),
    )


def prepare(folder: Path) -> Path:
    """The folder with what the commands read."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    rows = ["threads_per_block,core_clock,time"]
    rows += [f"{n},{1e9 * k},{1e-3 * n / k + 1e-3}" for n, k in ((64, 1), (128, 1.5), (256, 2))]
    (folder / "runs.csv").write_text("\n".join(rows) + "\n")
    return folder


def main(names: list[str]) -> int:
    """Print the table; 1 where a command failed."""
    failed = 0
    print(f"{'':14}{'cold':>22}{'warm':>22}")
    print(f"{'command':14}" + 2 * f"{'first':>7}{'end':>7}{'cpu':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = prepare(Path(scratch))
        for number, name in enumerate(COMMANDS):
            if names and name not in (*names, "run"):
                continue
            cache, line = folder / f"cache-{number}", f"{name:14}"
            for _ in range(2):
                shutil.rmtree(folder / "runs.zarr", ignore_errors=True)
                wait = on_a_terminal(COMMANDS[name], folder, cache)
                line += f"{wait.first:7.2f}{wait.end:7.2f}{wait.processors:8.2f}"
            print(line, flush=True)
            if wait.status:
                failed = 1
                print(f"  {COMMANDS[name]}: exit {wait.status}: {json.dumps(wait.output[-300:])}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
