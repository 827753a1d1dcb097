"""examples/slurm.py as it stands, on a stand-in for SLURM: one node, where jobs wait in a queue.

    python -m pytest tests/benchmarks/test_slurm.py -m benchmark -s

The stand-in runs each job script on this machine, after the one before has ended, and kills a job
with all its processes when it is cancelled. What it does not show: that SLURM grants what the
header asks for (its text is compared), several nodes, a network, a shared file system.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dse
from tests.benchmarks.test_ratios import show
from tests.dse.killing import files

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).parents[2]
SBATCH = """#!/bin/sh
cd "$STAND_IN" || exit 1
number=$(flock count sh -c 'echo . >>jobs; wc -l <jobs')
cp "$1" "script.$number"
STEP="test -e cancelled.$number || exec bash script.$number"
setsid flock node sh -c "$STEP" >"out.$number" 2>&1 </dev/null &
echo $! >"process.$number"
echo "Submitted batch job $number"
"""
SCANCEL = """#!/bin/sh
cd "$STAND_IN" || exit 1
for number in "$@"; do
    touch "cancelled.$number"
    kill -TERM -- "-$(cat "process.$number")" 2>/dev/null
done
exit 0
"""
STUDY = """
model = "ipp"
machine = "gtx280"
workload = "svm"
outputs = ["time", "power", "energy"]
[axes]
core_clock = { linspace = [1e9, 1.5e9, 200] }
mem_bandwidth = { linspace = [1e11, 2e11, 1000] }
threads_per_block = { start = 32, stop = 512, step = 32 }
active_sms = { start = 1, stop = 30, step = 1 }
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Commands on the path; the home folder in which the example finds its environment."""
    folder, home, state = (tmp_path / name for name in ("bin", "home", "state"))
    for made in (folder, state, home / "venv" / "bin"):
        made.mkdir(parents=True)
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    activate = f'export PATH="{Path(sys.executable).parent}:$PATH" PYTHONPATH="{ROOT}"\n'
    (home / "venv" / "bin" / "activate").write_text(activate)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("STAND_IN", str(state))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield state
    for process in state.glob("process.*"):
        with_its_own = int(process.read_text())
        try:
            os.killpg(with_its_own, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_the_example_on_a_stand_in(slurm, tmp_path):
    """The first job is killed at work, as at its time limit; the next goes on."""
    (tmp_path / "study.toml").write_text(STUDY)
    study = dse.Study.from_toml(tmp_path / "study.toml")
    best = dse.optimum(study.run(store=tmp_path / "calm.zarr"), minimize="time")
    command = [sys.executable, ROOT / "examples" / "slurm.py", "study.toml", "out.zarr"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    began, killed = time.monotonic(), 0.0
    records = tmp_path / "out.zarr" / ".simt-dse" / "tiles"
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as run:
        while run.poll() is None:
            if not killed and records.is_dir() and len(list(records.iterdir())) > 8:
                os.killpg(int((slurm / "process.1").read_text()), signal.SIGKILL)
                killed = time.monotonic() - began
            time.sleep(0.02)
        output, errors = run.communicate()
    took = time.monotonic() - began
    assert run.returncode == 0, errors
    begun = [out for out in slurm.glob("out.*") if out.stat().st_size]
    jobs = len(list(slurm.glob("script.*")))
    show(
        "examples/slurm.py on a stand-in for SLURM",
        [
            f"{jobs} jobs submitted, {len(begun)} begun, 4 processes of 8 threads each; the first "
            f"killed after {killed:.0f} s, all done after {took:.0f} s",
            output.strip(),
        ],
    )
    script = (slurm / "script.1").read_text()
    for line in ("-p standard", "-A my-project", "-n 1", "--cpus-per-task=32", "-t 02:00:00"):
        assert f"#SBATCH {line}\n" in script
    assert re.search(r"^#SBATCH --mem=6[0-9]G$", script, re.MULTILINE)
    assert killed
    assert len(begun) > 1
    assert output.strip() == str(best).strip()
    assert files(tmp_path / "out.zarr") == files(tmp_path / "calm.zarr")
