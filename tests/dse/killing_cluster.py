"""Kills workers, clients and schedulers of a run on a cluster, and compares what is left at last.

    python -m tests.dse.killing_cluster 20 1

kills 20 times (SIGKILL), with moments drawn from the seed 1. Three processes in turn: a worker, of
which the run takes no notice; the client, after which the same command continues; the scheduler,
of which the client must tell in a word and end with 1. Each finished store must hold the same files
with the same bytes as one that threads have filled undisturbed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.dse.killing import files

ROOT = Path(__file__).parents[2]
POINTS = 1 << 18
STUDY = """
model = "transit"
outputs = ["ms_throughput", "bound", "cs_transition"]
where = "ms_throughput <= 0.5"
[axes]
threads = { start = 1, stop = 200, step = 1 }
supply = ["smooth", "sharp"]
mem_latency = { linspace = [100, 600, 100000] }
[set]
intensity = 10
lanes_width = 32
ms_peak = 0.7
"""
CLIENT = f"""
import sweeps.nest.run, sweeps.store.layout
sweeps.nest.run.NUMPY_POINTS = 0
sweeps.nest.run.SINGLE_TILE_POINTS = sweeps.store.layout.TILE = {POINTS}
from dse.cli import main
main()
"""


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address, self.folder = f"tcp://127.0.0.1:{self.port}", folder
        self.begun: dict[str, subprocess.Popen[bytes]] = {}
        self.fill()

    def fill(self) -> None:
        """Begin what is not there, or no more."""
        for name in ("scheduler", "worker-0", "worker-1"):
            if name not in self.begun or self.begun[name].poll() is not None:
                self.begun[name] = self._begin(name)

    def kill(self, name: str) -> None:
        """End a process at once."""
        self.begun[name].kill()
        self.begun[name].wait()

    def _begin(self, name: str) -> subprocess.Popen[bytes]:
        if name == "scheduler":
            more = ["scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-show"]
        else:
            more = ["worker", self.address, "--nthreads", "1", "--no-nanny"]
        command = [sys.executable, "-m", "dask", *more, "--no-dashboard"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{name}.log").open("a") as log:
            return subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log)

    def end(self) -> None:
        for process in self.begun.values():
            process.kill()
            process.wait()


def command(folder: Path, store: str, *more: str) -> subprocess.Popen[str]:
    given = [sys.executable, "-c", CLIENT, "run", "study.toml", "--store", store, *more]
    env, pipe = {**os.environ, "PYTHONPATH": str(ROOT)}, subprocess.PIPE
    return subprocess.Popen(given, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True)


def count_records(path: Path) -> int:
    """Count the tiles with a record."""
    with contextlib.suppress(FileNotFoundError):
        return len(os.listdir(path / ".simt-dse" / "tiles"))
    return 0


def main(kills: int, seed: int) -> dict[str, Any]:
    shared, draw = Path("/dev", "shm"), random.Random(seed)
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    (folder / "study.toml").write_text(STUDY)
    cluster = Cluster(folder)
    try:
        calm = command(folder, "calm.zarr")
        assert calm.wait() == 0, calm.communicate()
        expected = files(folder / "calm.zarr")
        tiles = count_records(folder / "calm.zarr")
        done = {"worker": 0, "client": 0, "scheduler": 0}
        recorded, stores = [0.0], 0
        while sum(done.values()) < kills or stores == 0:
            path = folder / "a.zarr"
            status = -1
            while status != 0:
                cluster.fill()
                run = command(folder, path.name, "--scheduler", cluster.address)
                before = count_records(path)
                while run.poll() is None and sum(done.values()) < kills:
                    there = count_records(path)
                    if there == before:
                        time.sleep(0.01)
                        continue
                    time.sleep(0.5 * draw.random())
                    what = min(done, key=lambda name: (done[name], name))
                    if run.poll() is not None:
                        break
                    done[what] += 1
                    began = time.monotonic()
                    if what == "client":
                        run.send_signal(signal.SIGKILL)
                        run.wait()
                    elif what == "worker":
                        cluster.kill(f"worker-{draw.randrange(2)}")
                        cluster.fill()
                        before = count_records(path)
                    else:
                        cluster.kill("scheduler")
                        output = run.communicate(timeout=300)[1]
                        recorded.append(time.monotonic() - began)
                        assert run.returncode in (0, 1), output
                        assert "Traceback" not in output, output
                        ways = ("same command continues", "no scheduler answers")
                        assert run.returncode == 0 or any(way in output for way in ways), output
                output = run.communicate()[1] if run.stderr and not run.stderr.closed else ""
                status = run.returncode
                assert status in (0, 1, -signal.SIGKILL), output
            assert files(path) == expected
            shutil.rmtree(path)
            stores += 1
        return {"kills": done, "stores": stores, "tiles": tiles, "told": max(recorded)}
    finally:
        cluster.end()
        shutil.rmtree(folder)


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
