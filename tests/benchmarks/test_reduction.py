"""Questions of grids that are not stored: rates, memory, plans of a great many points.

    python -m pytest tests/benchmarks/test_reduction.py -m benchmark -s

Points a second are also told for each second of a processor, which a busy machine does not change.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dse
from tests.benchmarks.test_ratios import AXES, MODEL, ROUNDS, show

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore:core_clock is swept"),
]

ROOT = Path(__file__).parents[2]
MEMORY = 512


def run_timed(run, rounds=ROUNDS):
    """Median seconds, and median seconds of processors; the first once, uncounted."""
    run()
    walls, works = [], []
    for _ in range(rounds):
        wall, work = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        works.append(time.process_time() - work)
    return statistics.median(walls), statistics.median(works)


def long_axes(threads):
    """The study of the ratios with more values along its first axis."""
    return {**AXES, "threads": np.linspace(64, 2048, threads)}


def test_rates():
    """1e9 points of ten axes: each question, and the optimum by one processor."""
    study = dse.Study(model=MODEL, axes=long_axes(100), outputs=["flow_energy", "time"])
    points = study.plan().points
    limit = "flow_energy <= 1000"
    questions = {
        "optimum": lambda: study.optimum(minimize="flow_energy", method="scan"),
        "the best ten": lambda: study.optimum(minimize="flow_energy", top=10),
        "count": lambda: study.count(where=limit),
        "histogram of 20 bins": lambda: study.histogram("flow_energy", bins=20, where=limit),
        "five quantiles": lambda: study.quantiles("time", [0, 0.1, 0.5, 0.9, 1], where=limit),
        "front of two": lambda: study.pareto(minimize=["flow_energy", "time"]),
    }
    lines = []
    for name, ask in questions.items():
        wall, work = run_timed(ask, rounds=3)
        skipped = ask().attrs["points_skipped"]
        lines.append(
            f"{name:22} {wall:7.2f} s  {points / wall / 1e9:6.2f} G points/s, "
            f"{(points - skipped) / work / 1e9:6.2f} G looked at for a second of a processor"
            f", {skipped / points:.0%} skipped"
        )
    show(f"{points:.0e} points, nothing stored", lines)


def test_counting_factored():
    """Constraints over different axes of 1e8 points, against counting every point."""
    study = dse.Study(model=MODEL, axes=AXES, outputs=["time"])
    where = ["threads <= 1000", "ms_peak * lanes_width >= 10", "core_clock > 0.7 GHz"]
    result = int(study.count(where=where)["feasible_points"])
    names = ("threads", "ms_peak", "lanes_width", "core_clock")
    threads, peak, lanes, clock = np.meshgrid(*(AXES[name] for name in names), indexing="ij")
    holds = (threads <= 1000) & (peak * lanes >= 10) & (clock > 0.7e9)
    assert result == holds.sum() * 10**8 // holds.size
    fresh = [dse.Study(model=MODEL, axes=AXES, outputs=["time"]) for _ in range(2 * ROUNDS)]
    for each in fresh:
        each.grid((), tuple(where))  # what is measured is the counting, each time anew
    times = []
    for each in fresh:
        began = time.perf_counter()
        assert int(each.count(where=where)["feasible_points"]) == result
        times.append(time.perf_counter() - began)
    show("counting 1e8 points", [f"three constraints: {1e3 * statistics.median(times):.2f} ms"])


def test_pruning():
    """A constraint that leaves a corner of 1e9 points: the tiles looked at, and the time saved."""
    study = dse.Study(model=MODEL, axes=long_axes(100), outputs=["time"])
    where = ["cs_throughput >= 64", "time * base_power <= 1"]
    lines = []
    for name, ask in {
        "count": lambda: study.count(where=where),
        "histogram": lambda: study.histogram("time", bins=[0, 0.1, 1, 10], where=where),
        "optimum": lambda: study.optimum(minimize="time", where=where, method="scan"),
    }.items():
        wall, _ = run_timed(ask, rounds=3)
        skipped = ask().attrs["points_skipped"]
        lines.append(f"{name:10} {wall:6.2f} s, {skipped / 1e9:.1%} of the points skipped")
    share = int(study.count(where=where)["feasible_points"]) / 1e9
    show(f"1e9 points, of which {share:.2%} are feasible", lines)


LIMITED = """
import json, resource, sys, time, numpy as np, dse
from tests.benchmarks.test_ratios import MODEL
from tests.benchmarks.test_reduction import long_axes
def ask(study):
    limit = "flow_energy <= 1000"
    for name, run in {
        "optimum": lambda: study.optimum(minimize="flow_energy", method="scan", top=10),
        "count": lambda: study.count(where=limit),
        "histogram": lambda: study.histogram("flow_energy", bins=20, where=limit),
        "quantiles": lambda: study.quantiles("time", [0, 0.1, 0.5, 0.9, 1], where=limit),
        "pareto": lambda: study.pareto(minimize=["flow_energy", "time"]),
    }.items():
        began = time.perf_counter()
        run()
        yield name, time.perf_counter() - began
dict(ask(dse.Study(model=MODEL, axes={n: v[:2] for n, v in long_axes(2).items()})))  # libraries
import numba, dask.threaded
now = int(open("/proc/self/statm").read().split()[0]) * 4096
allowed = int(sys.argv[2]) << 20
resource.setrlimit(resource.RLIMIT_AS, (now + allowed, now + allowed))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seconds = dict(ask(dse.Study(model=MODEL, axes=long_axes(int(sys.argv[1])), outputs=["time"])))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"memory": (after - before) / 1024, "seconds": seconds}))
"""


def test_memory():
    """1e9 and 1e10 points within 512 MiB of address space above the libraries."""
    lines = []
    for threads in (100, 1000):
        command = [sys.executable, "-W", "ignore", "-c", LIMITED, str(threads), str(MEMORY)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        points = 10**7 * threads
        rates = [f"{name} {points / s / 1e9:.2f} G/s" for name, s in answer["seconds"].items()]
        lines.append(
            f"{points:.0e} points within {MEMORY} MiB of address space: {answer['memory']:.0f} MiB "
            f"more resident; {', '.join(rates)}"
        )
    show("memory above the interpreter with its libraries", lines)


def test_plans():
    """Plans of 1e15 points and more: three axes of 1e5, ten of 32, ten of 1000."""
    long = {"linspace": [1, 100, 100_000]}
    transit = {"threads": {"start": 1, "stop": 100_000}, "mem_latency": long, "intensity": long}
    chip = {
        "core_clock": {"linspace": [1e9, 2e9, 100_000]},
        "mem_bandwidth": {"linspace": [1e10, 2e11, 100_000]},
        "mem_latency_nominal": {"linspace": [100, 800, 100_000]},
    }
    given = {"threads_per_block": 256, "nominal_clock": 1e9}
    studies = {
        "transit, three of 1e5": {
            "model": "transit",
            "axes": transit,
            "set": {"lanes_width": 32, "ms_peak": 1},
        },
        "occupancy + mwp_cwp, three of 1e5": {
            "model": "occupancy + mwp_cwp",
            "machine": "gtx280",
            "workload": "svm",
            "axes": chip,
            "set": given,
            "where": "time <= 10 ms",
        },
        "ten of 32": {"model": MODEL, "axes": dict.fromkeys(AXES, range(1, 33))},
        "ten of 1000": {"model": MODEL, "axes": dict.fromkeys(AXES, range(1, 1001))},
    }
    lines = []
    for name, spec in studies.items():
        dse.Study(**spec).plan()
        times = {"study": [], "plan": []}
        for _ in range(ROUNDS):
            began = time.perf_counter()
            study = dse.Study(**spec)
            times["study"].append(time.perf_counter() - began)
            began = time.perf_counter()
            points = study.plan().points
            times["plan"].append(time.perf_counter() - began)
        made, planned = (1e3 * statistics.median(each) for each in times.values())
        lines.append(
            f"{name:34} {points:7.1e} points: planned in {planned:5.1f} ms, "
            f"the study made in {made:5.1f} ms"
        )
    show("plans", lines)
