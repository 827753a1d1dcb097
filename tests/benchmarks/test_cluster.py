"""The workers of a cluster: how they scale, what kills cost, hosts that share nothing but S3.

    python -m pytest tests/benchmarks/test_cluster.py -m benchmark -s

``DSE_BENCHMARK_SECONDS`` is for how long workers are killed.
"""

import contextlib
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
from sweeps.cluster.scheduler import open_workers
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


def leakage(tiles):
    """A tile for each of so many swings: two exponentials for each value, and no more to write."""
    return Study(
        model="leakage",
        outputs=["static_power"],
        axes={
            "subthreshold_swing": np.linspace(1.2, 1.8, tiles),
            "threshold_voltage": np.linspace(0.25, 0.4, 64),
            "supply_voltage": np.linspace(0.8, 1.2, 64),
            "temperature": np.linspace(30, 110, 2048),
        },
        set={
            "leakage_scale": 1e-4,
            "voltage_leakage_slope": 2.0,
            "nominal_supply_voltage": 1.0,
            "offset_voltage": 0.0,
            "transistors": 1e9,
            "design_factor": 0.1,
        },
    )


# --- weak scaling


def much_written(tiles):
    return study(tiles, outputs=MANY)


#: What limits them: nine outputs of few operations each, or one of many.
STUDIES = {"memory": much_written, "computing": leakage}

ALONE = """
import sys, time
from pathlib import Path
import sweeps.store.layout
from sweeps.store.backend import backend_of
from sweeps.store.create import StorePlan
from sweeps.store.fill import TileWriter
from sweeps.store.layout import COMPRESSIONS, Layout
from tests.benchmarks.test_cluster import STUDIES
path, tiles, points = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[4])
sweeps.store.layout.TILE = points
layout = Layout(STUDIES[sys.argv[3]](tiles).grid(), compression=COMPRESSIONS[0])
part = max(layout.parts, key=lambda part: part.points)
plan = StorePlan(layout=layout, manifest={"identity": "x"}, attributes={"identity": "x"})
backend_of(path).create(plan.files)
writer = TileWriter(plan, part, str(path))
writer.store(part.tile(0), False)
print(part.points // part.tile(0).points, flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    for number in range(part.points // part.tile(0).points):
        writer.store(part.tile(number), False)
    print(time.perf_counter() - began, flush=True)
"""


def busy(number):
    """Seconds that the threads of a process have had a processor, by thread."""
    result = {}
    for thread in Path("/proc", str(number), "task").iterdir():
        with contextlib.suppress(OSError):
            result[thread.name] = int((thread / "schedstat").read_text().split()[0]) / 1e9
    return result


def directing(before, after):
    """Return the seconds of all threads of workers but the computing one, and its own."""
    other = computing = 0.0
    for number, threads in after.items():
        spent = sorted(s - before[number].get(name, 0.0) for name, s in threads.items())
        computing += spent[-1]
        other += sum(spent[:-1])
    return other, computing


@pytest.mark.parametrize("limit", STUDIES)
def test_weak_scaling(folder, limit, monkeypatch):
    """Twice the tiles by two workers; and by two processes that nobody directs, the limit."""
    points = sweeps.store.layout.TILE * (1 if limit == "memory" else 8)
    monkeypatch.setattr(sweeps.store.layout, "TILE", points)
    each, made = 24, STUDIES[limit]
    times, shares, costs = {1: [], 2: [], "alone": [], "both": []}, [], []
    with contextlib.ExitStack() as stack:
        clients = {n: stack.enter_context(open_workers(workers=n)).client for n in (1, 2)}
        for client in clients.values():  # compiles
            path = folder / "warm.zarr"
            made(8).run(store=path, client=client)
            shutil.rmtree(path)
        bare = []
        for number in range(2):
            path = folder / f"bare-{number}.zarr"
            command = [sys.executable, "-c", ALONE, path, str(each), limit, str(points)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            # dask has workers return freed memory at once by this, and leaves it set
            env = {k: v for k, v in os.environ.items() if k != "MALLOC_TRIM_THRESHOLD_"}
            bare.append(stack.enter_context(subprocess.Popen(command, cwd=ROOT, env=env, **pipes)))
        tiles, _ = (int(process.stdout.readline()) for process in bare)
        for turn in range(ROUNDS + 1):
            spent = {}
            for count, client in clients.items():
                swept = made(each * count)
                swept.grid()
                path, workers = folder / f"{count}.zarr", client.run(os.getpid).values()
                threads = {number: busy(number) for number in workers}
                began, here = time.perf_counter(), time.process_time()
                swept.run(store=path, client=client)
                spent[count] = time.perf_counter() - began
                here = time.process_time() - here
                there, computing = directing(threads, {number: busy(number) for number in workers})
                shutil.rmtree(path)
            shares.append((here + there) / computing)
            costs.append((here / tiles / 2, there / tiles / 2))
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
    free = statistics.median(a / b for a, b in zip(times["alone"], times["both"], strict=True))
    task = statistics.median(times["alone"]) / tiles
    here, there = (1e3 * statistics.median(cost) for cost in zip(*costs[1:], strict=True))
    cost = statistics.median(times[1]) / statistics.median(times["alone"])
    show(
        f"weak scaling, one worker to two, limited by {limit}",
        [
            f"tiles of {1e3 * task:.0f} ms, {tiles} a worker",
            f"efficiency {share:.1%}; of processes that nobody directs {free:.1%}; "
            f"one over the other {share / free:.1%}",
            f"of a processor, a tile: the client and the scheduler take {here:.1f} ms, the loop of "
            f"its worker {there:.1f} ms, together {statistics.median(shares[1:]):.1%} of computing",
            f"a worker takes {cost:.3f} times as long as such a process, study and store included",
        ],
    )
    assert task >= 0.1


# --- kills


class Ended(SchedulerPlugin):
    """Counter of the tasks that ended well since the first kill."""

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
        while not over.wait(2 + 3 * draw.random()):
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
        "a worker of two killed every 2 to 5 seconds",
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
    rows = {
        "AWS_ENDPOINT_URL": "http://{}:{}".format(*server.get_host_and_port()),
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in rows.items():
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
    show(
        "a scheduler and two workers on hosts of their own, one store on S3",
        [f"{len(calm)} objects in {took:.1f} s; workers {', '.join(workers)}"],
    )
    assert {address.rsplit(":", 1)[0] for address in workers} == {
        "tcp://10.77.0.3",
        "tcp://10.77.0.4",
    }
    assert stored == calm
