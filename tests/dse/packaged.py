"""A wheel in an empty environment, away from the repository: it holds all that its commands need.

``python -m tests.dse.packaged [PYTHON]`` builds the wheel (the extra ``dev``), makes an environment
of that interpreter, installs the wheel with what it requires, and runs commands in an empty folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Commands, and a word that each prints.
COMMANDS = {
    "dse doctor": "simt-dse",
    "dse run transit-tour": "best, maximize cs_throughput",
    "dse optimum energy-gtx280 --minimize energy": "1.01 GHz",
    "dse new study mine.toml --from zigzag": "mine.toml",
    "dse plan mine.toml": "points",
    "dse machines gtx280": "Hong 2012",
    "dse evaluate occupancy --machine cc8.0 threads_per_block=256 registers_per_thread=40 "
    "shared_mem_per_block=8192": "0.75",
    "python -c 'import dse; print(dse.model(\"transit\").summary)'": "Transit",
}


def main(interpreter: str) -> int:
    """Build, install, run; the number of commands that did not print their word."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        wheels, room, empty = (Path(folder, name) for name in ("wheels", "room", "empty"))
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(ROOT)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([interpreter, "-m", "venv", str(room)], check=True)
        tools = room / ("Scripts" if os.name == "nt" else "bin")
        wheel = str(next(wheels.glob("*.whl")))
        subprocess.run([tools / "python", "-m", "pip", "install", "-q", wheel], check=True)
        empty.mkdir()
        stored = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        env = stored | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        for command, word in COMMANDS.items():
            done = subprocess.run(
                command, shell=True, cwd=empty, env=env, capture_output=True, text=True, check=False
            )
            good = done.returncode == 0 and word in done.stdout
            failed += not good
            print("ok  " if good else "BAD ", command)
            if not good:
                print(done.stdout[-1000:], done.stderr[-1000:])
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else sys.executable))
