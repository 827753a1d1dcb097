"""The workers of a cluster: how they scale, what kills cost, hosts that share nothing but S3.

    python -m pytest tests/benchmarks/test_cluster.py -m benchmark -s

``DSE_BENCHMARK_SECONDS`` is for how long workers are killed.
"""

import contextlib
import logging
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster, SchedulerPlugin

import sweeps.store.layout
from dse import Study
from tests.benchmarks.test_ratios import ROUNDS, show
from tests.dse.killing import files

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder():
    """In memory where there is such a place: the disk is measured by test_store."""
    shared = Path("/dev", "shm")
    made = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    yield made
    shutil.rmtree(made)


MANY = [
    "time",
    "power",
    "energy",
    "edp",
    "perf_per_watt",
    "mwp",
    "cwp",
    "total_cycles",
    "runtime_power",
    "exec_cycles",
]


def study(tiles, width=4000, outputs=("time", "power", "energy")):
    """A tile for each of so many clocks, each of 480 points times the width."""
    return Study(
        model="ipp",
        machine="gtx280",
        workload="svm",
        outputs=outputs,
        axes={
            "core_clock": np.linspace(1e9, 1.5e9, tiles),
            "mem_bandwidth": np.linspace(1e11, 2e11, width),
            "threads_per_block": range(32, 513, 32),
            "active_sms": range(1, 31),
        },
    )


@contextlib.contextmanager
def local(workers):
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )
    with cluster, Client(cluster, set_as_default=False) as client:
        yield cluster, client


# --- weak scaling

ALONE = """
import sys, time
from pathlib import Path
from sweeps.store.layout import Layout
from sweeps.store.medium import medium_of
from sweeps.store.tiles import source_of, store_tile
from tests.benchmarks.test_cluster import MANY, study
path, tiles = Path(sys.argv[1]), int(sys.argv[2])
layout = Layout(study(tiles, outputs=MANY).grid())
part = max(layout.parts, key=lambda part: part.points)
source = source_of(layout, part)
store_tile(source, part.tile(0), medium_of(path))
for line in sys.stdin:
    began = time.perf_counter()
    for number in range(tiles):
        store_tile(source, part.tile(number), medium_of(path))
    print(time.perf_counter() - began, flush=True)
"""


def test_weak_scaling(folder):
    """Twice the tiles by two workers; and by two processes that nobody directs, the limit."""
    each = 12
    times, directing = {1: [], 2: [], "alone": [], "both": []}, {1: [], 2: []}
    with local(1) as (_, one), local(2) as (_, two), contextlib.ExitStack() as stack:
        clients = {1: one, 2: two}
        for client in clients.values():  # compiles
            study(8, outputs=MANY).run(store=folder / f"warm-{id(client)}.zarr", client=client)
        bare = []
        for number in range(2):
            path = folder / f"bare-{number}.zarr"
            command = [sys.executable, "-c", ALONE, path, str(each)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            bare.append(stack.enter_context(subprocess.Popen(command, cwd=ROOT, **pipes)))
        for turn in range(ROUNDS + 1):
            spent = {}
            for count, client in clients.items():
                swept = study(each * count, outputs=MANY)
                swept.grid()
                path = folder / f"{count}.zarr"
                began, busy = time.perf_counter(), time.process_time()
                swept.run(store=path, client=client)
                spent[count] = time.perf_counter() - began
                directing[count].append(time.process_time() - busy)
                shutil.rmtree(path)
            for name, group in (("alone", bare[:1]), ("both", bare)):
                for process in group:
                    process.stdin.write("go\n")
                    process.stdin.flush()
                spent[name] = max(float(process.stdout.readline()) for process in group)
            if turn:
                for name, seconds in spent.items():
                    times[name].append(seconds)
        for process in bare:
            process.stdin.close()
    share = statistics.median(a / b for a, b in zip(times[1], times[2], strict=True))
    limit = statistics.median(a / b for a, b in zip(times["alone"], times["both"], strict=True))
    task = statistics.median(times["alone"]) / each
    spent = {count: statistics.median(seconds[1:]) for count, seconds in directing.items()}
    more = (spent[2] - spent[1]) / each
    cost = statistics.median(times[1]) / statistics.median(times["alone"])
    show(
        "weak scaling, one worker to two",
        [
            f"tasks of {1e3 * task:.0f} ms, {each} a worker",
            f"efficiency {share:.1%}; of processes that nobody directs {limit:.1%}",
            f"the client and the scheduler take {1e3 * more:.1f} ms of a processor for each "
            "task more",
            f"a worker takes {cost:.3f} times as long as such a process, study and store included",
        ],
    )
    assert task >= 0.1


# --- kills


class Ended(SchedulerPlugin):
    """How many tasks have ended well, from the first kill on."""

    name = "ended"

    def __init__(self):
        self.count = 0

    def transition(self, key, start, finish, *args, **kwargs):
        self.count += finish == "memory"


def test_a_worker_killed_every_few_seconds(folder):
    """The store holds the same files with the same bytes."""
    seconds, draw = float(os.environ.get("DSE_BENCHMARK_SECONDS", "60")), random.Random(1)
    began = time.perf_counter()
    study(12).run(store=folder / "one.zarr")
    tiles = max(24, round(12 * seconds / (time.perf_counter() - began)))
    swept, kills, over = study(tiles), [], threading.Event()
    swept.run(store=folder / "calm.zarr")
    ended = Ended()

    def kill():
        while not over.wait(5 + 4 * draw.random()):
            for cluster in list(LocalCluster._instances):
                if ended.name not in cluster.scheduler.plugins:
                    cluster.scheduler.add_plugin(ended)
                nannies = [n for n in cluster.workers.values() if n.process is not None]
                alive = [n.process.process.pid for n in nannies if n.process.process is not None]
                with contextlib.suppress(ProcessLookupError, IndexError):
                    os.kill(draw.choice(alive), signal.SIGKILL)
                    kills.append(time.perf_counter())

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.perf_counter()
    try:
        swept.run(store=folder / "a.zarr", workers=2)
    finally:
        over.set()
        killer.join()
    took = time.perf_counter() - began
    show(
        "a worker of two killed every 5 to 9 seconds",
        [
            f"{tiles} tiles in {took:.0f} s, {len(kills)} kills",
            f"{ended.count} tiles ended after the first kill",
        ],
    )
    assert kills
    assert files(folder / "a.zarr") == files(folder / "calm.zarr")


# --- hosts


def ip(*command, check=True):
    return subprocess.run(["ip", *command], check=check, capture_output=True, text=True)


@pytest.fixture
def hosts():
    """Network namespaces a, b and c at 10.77.0.2 to .4, on a bridge with this one at .1."""
    names = [f"dse-{letter}" for letter in "abc"]

    def end():
        for name in names:
            ip("netns", "del", name, check=False)
        ip("link", "del", "dse-bridge", check=False)

    end()
    try:
        ip("link", "add", "dse-bridge", "type", "bridge")
        ip("addr", "add", "10.77.0.1/24", "dev", "dse-bridge")
        ip("link", "set", "dse-bridge", "up")
        for number, name in enumerate(names, start=2):
            ip("netns", "add", name)
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", name, "master", "dse-bridge", "up")
            for more in (["link", "set", "lo", "up"], ["link", "set", "eth0", "up"]):
                ip("-n", name, *more)
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
    except (OSError, subprocess.CalledProcessError) as error:
        end()
        pytest.skip(f"network namespaces cannot be made: {getattr(error, 'stderr', error)}")
    yield names
    end()


def test_hosts_that_share_a_store_on_s3(hosts, folder, monkeypatch):
    """A scheduler on one host, workers on two more; here the client and an S3 server."""
    import s3fs
    from moto.server import ThreadedMotoServer

    monkeypatch.setattr(sweeps.store.layout, "TILE", 1 << 18)
    server = ThreadedMotoServer(ip_address="10.77.0.1", port=0, verbose=False)
    server.start()
    told = {
        "AWS_ENDPOINT_URL": "http://{}:{}".format(*server.get_host_and_port()),
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    fs = s3fs.S3FileSystem()
    fs.mkdir("sweeps")
    swept = study(12, width=500)
    swept.run(store=folder / "calm.zarr")
    scheduler, dask = "tcp://10.77.0.2:8786", [sys.executable, "-m", "dask"]
    begun = []
    try:
        for name, number, what in (
            (hosts[0], 2, ["scheduler", "--port", "8786", "--no-dashboard"]),
            (hosts[1], 3, ["worker", scheduler, "--nthreads", "1", "--no-dashboard"]),
            (hosts[2], 4, ["worker", scheduler, "--nthreads", "1", "--no-dashboard"]),
        ):
            place = folder / name
            place.mkdir()
            command = ["ip", "netns", "exec", name, *dask, *what, "--host", f"10.77.0.{number}"]
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            with (place / "log").open("w") as log:
                process = subprocess.Popen(command, cwd=place, env=env, stdout=log, stderr=log)
            begun.append(process)
        with Client(scheduler, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            began = time.perf_counter()
            swept.run(store="s3://sweeps/a.zarr", client=client)
            took = time.perf_counter() - began
            workers = sorted(client.nthreads())
    finally:
        for process in begun:
            process.terminate()
        for process in begun:
            process.wait()
    stored = {p.removeprefix("sweeps/a.zarr/"): d for p, d in fs.cat(fs.find("sweeps")).items()}
    server.stop()
    calm = files(folder / "calm.zarr")
    calm.pop(".simt-dse/lock")
    show(
        "a scheduler and two workers on hosts of their own, one store on S3",
        [f"{len(calm)} objects in {took:.1f} s; workers {', '.join(workers)}"],
    )
    assert {address.rsplit(":", 1)[0] for address in workers} == {
        "tcp://10.77.0.3",
        "tcp://10.77.0.4",
    }
    assert stored == calm
