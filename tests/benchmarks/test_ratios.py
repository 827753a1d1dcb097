"""Ratios against peers and limits, each pair measured in one interleaved run.

    python -m pytest tests/benchmarks -m benchmark -s

Medians; the machine's own speed cancels. Nothing here asserts a time: the tables are printed, and
what is asserted is that every contender computes the same numbers.
"""

import gc
import itertools
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dse

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore:core_clock is swept"),
]

MODEL = str(Path(__file__).parent / "flow_energy.py")
ROUNDS = int(os.environ.get("DSE_BENCHMARK_ROUNDS", "5"))
OUTPUTS = ["ms_throughput", "cs_throughput", "time", "flow_power", "flow_energy"]
AXES = {
    "threads": np.linspace(64, 2048, 10),
    "mem_latency": np.linspace(200, 800, 10),
    "intensity": np.linspace(1, 100, 10),
    "ms_peak": np.linspace(0.1, 4, 10),
    "lanes_width": np.array([8.0, 16, 32, 64, 128]),
    "energy_per_request": np.linspace(1, 5, 5),
    "energy_per_operation": np.linspace(0.01, 0.04, 4),
    "base_power": np.linspace(10, 50, 5),
    "operations": np.array([1e9, 1e10]),
    "core_clock": np.linspace(5e8, 1.5e9, 10),
}


def interleave(contenders, rounds=ROUNDS):
    """Median seconds of each contender, run in turn; each first once, uncounted."""
    times = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            gc.collect()
            began = time.perf_counter()
            result = run()
            spent = time.perf_counter() - began
            del result
            if number:
                times[name].append(spent)
    return {name: statistics.median(spent) for name, spent in times.items()}


def show(title, lines):
    print(f"\n{title}")
    for line in lines:
        print("  " + line)


def first_touch(arrays, length):
    """Seconds' worth of writing fresh memory with two threads: the limit of any stored sweep."""
    import numba

    fill = numba.njit("void(float64[::1], int64, int64)", nogil=True)(_fill)

    def run():
        fresh = [np.empty(length) for _ in range(arrays)]

        def write(low, high):
            for array in fresh:
                fill(array, low, high)

        half = length // 2
        threads = [
            threading.Thread(target=write, args=bounds) for bounds in ((0, half), (half, length))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return fresh

    return run


def _fill(array, low, high):
    part = array[low:high]  # without a slice each index would be checked for a wrap-around
    for place in range(part.size):
        part[place] = 1.5


def formulas(n, latency, z, peak, lanes, per_request, per_operation, base, work, clock, least):
    r = least(least(n / (latency + z), peak), lanes / z)
    cs = z * r
    seconds = work / (cs * clock)
    power = base + per_request * r + per_operation * cs
    return r, cs, seconds, power, power * seconds


def by_xarray(*, first):
    """Compute by labelled arrays: the inputs broadcast first, or the outputs last."""
    import xarray as xr

    inputs = [xr.DataArray(values, {name: values}, name) for name, values in AXES.items()]
    results = formulas(*(xr.broadcast(*inputs) if first else inputs), np.minimum)
    arrays = [array.transpose(*AXES) for array in xr.broadcast(*results)]
    return xr.Dataset(
        {
            name: (tuple(AXES), np.ascontiguousarray(array.values))
            for name, array in zip(OUTPUTS, arrays, strict=True)
        },
        coords=AXES,
    )


def by_dask():
    import dask
    import dask.array as da

    shape = tuple(len(values) for values in AXES.values())
    chunks = tuple(size if place else 1 for place, size in enumerate(shape))
    inner = [
        values.reshape([-1 if k == place else 1 for k in range(len(shape))])
        for place, values in enumerate(AXES.values())
    ]

    def block(first):
        parts = formulas(first, *inner[1:], np.minimum)
        return np.stack([np.broadcast_to(part, (1, *shape[1:])) for part in parts])

    threads = da.from_array(inner[0], chunks=1)
    results = da.map_blocks(
        block,
        threads,
        chunks=((5,), *((c,) * (s // c) for c, s in zip(chunks, shape, strict=True))),
        new_axis=0,
        dtype=float,
    )
    with dask.config.set(scheduler="threads", num_workers=2):
        return results.compute()


def test_five_outputs():
    study = dse.Study(model=MODEL, axes=AXES, outputs=OUTPUTS)
    points = study.plan().points
    ours, theirs = study.run(expand=True), by_xarray(first=True)
    for name in OUTPUTS:
        np.testing.assert_array_equal(ours[name].values, theirs[name].values)
    del ours, theirs
    median = interleave(
        {
            "limit": first_touch(5, points),
            "expanded": lambda: study.run(expand=True),
            "natural": study.run,
            "xarray": lambda: by_xarray(first=True),
            "xarray, outputs expanded": lambda: by_xarray(first=False),
            "dask": by_dask,
        }
    )
    show(
        f"{points:.0e} points, five outputs, from the public call to a labelled Dataset",
        [
            f"{name:24} {seconds:7.3f} s  {points / seconds / 1e6:8.0f} M points/s"
            for name, seconds in median.items()
        ]
        + [
            f"share of the two-thread first-touch rate: {median['limit'] / median['expanded']:.0%}",
            f"times xarray broadcasting: {median['xarray'] / median['expanded']:.1f}, and "
            f"{median['xarray, outputs expanded'] / median['expanded']:.1f} where only its outputs "
            "are expanded",
            f"times dask map_blocks of NumPy: {median['dask'] / median['expanded']:.1f}",
        ],
    )


def test_fused_optimum():
    study = dse.Study(model=MODEL, axes=AXES, outputs=OUTPUTS)
    points = study.plan().points
    stored = dse.optimum(study.run(), minimize="flow_energy")
    assert stored.identical(study.optimum(minimize="flow_energy"))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        median = interleave({"optimum": lambda: study.optimum(minimize="flow_energy")}, 9)
    finally:
        os.sched_setaffinity(0, allowed)
    rate = points / median["optimum"]
    show("fused optimum of the same work, one core", [f"{rate / 1e9:.2f} G points/s"])


WORKED = {
    "n_sms": 64,
    "core_clock": 1e9,
    "mem_latency_dram": 420,
    "departure_delay_uncoalesced": 10,
    "departure_delay_coalesced": 4,
    "issue_cycles": 4,
    "transactions_per_uncoalesced": 32,
    "threads_per_block": 128,
    "active_blocks_per_sm": 5,
    "coalesced_insts": 0,
    "sync_insts": 6,
    "blocks": 8000,
}
FOUR = {
    "comp_insts": np.linspace(1, 400, 80),
    "uncoalesced_insts": np.linspace(1, 40, 40),
    "active_sms": np.arange(1.0, 61.0),
    "mem_bandwidth": np.linspace(2e10, 2e11, 100),
}


def by_hand():
    import numba

    nest = numba.njit(nogil=True, error_model="numpy")(_mwp_cwp)

    def run():
        shape = tuple(len(values) for values in FOUR.values())
        out = np.empty(shape)
        half = shape[0] // 2
        threads = [
            threading.Thread(target=nest, args=(*FOUR.values(), out, *bounds))
            for bounds in ((0, half), (half, shape[0]))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out

    return run


def _mwp_cwp(comp_insts, uncoalesced, active_sms, bandwidth, out, low, high):
    n, per_block, blocks, resident = 20.0, 4.0, 8000.0, 5.0
    latency = 420.0 + 31.0 * 10.0
    departure = 10.0 * 32.0
    without = min(latency / departure, n)
    per_warp = 1e9 * 128.0 / latency
    for a in range(low, high):
        for b in range(uncoalesced.size):
            mem = uncoalesced[b]
            comp = 4.0 * 1.0 * (comp_insts[a] + mem) * 1.0
            period = comp / mem
            mem_cycles = latency * mem
            full = (mem_cycles + comp) / comp
            cwp = min(full, n)
            for c in range(active_sms.size):
                repetitions = blocks / (resident * active_sms[c])
                taken = per_warp * active_sms[c]
                for d in range(bandwidth.size):
                    mwp = min(without, bandwidth[d] / taken, n)
                    if mwp >= n and cwp == n:
                        hidden = mem_cycles + comp + period * (mwp - 1.0)
                    elif cwp >= mwp and comp <= mem_cycles:
                        hidden = mem_cycles * n / mwp + period * max(mwp - 1.0, 0.0)
                    else:
                        hidden = latency + comp * n
                    out[a, b, c, d] = hidden * repetitions
    return per_block


def test_mwp_cwp_against_a_hand_written_nest():
    study = dse.Study(model="mwp_cwp", axes=FOUR, set=WORKED, outputs=["exec_cycles"])
    hand = by_hand()
    np.testing.assert_allclose(study.run().exec_cycles.values, hand(), rtol=1e-12)
    median = interleave({"generated": study.run, "by hand": hand}, 4 * ROUNDS + 1)
    points = study.plan().points
    show(
        f"MWP-CWP over four axes, {points:.1e} points, two threads each",
        [f"{name:9} {points / s / 1e9:.2f} G points/s" for name, s in median.items()]
        + [f"generated over by hand, in time: {median['generated'] / median['by hand']:.2f}"],
    )


def test_fixed_costs():
    small = {name: values[:1] for name, values in AXES.items()}
    small.update({name: AXES[name] for name in itertools.islice(AXES, 4)})
    study = dse.Study(model=MODEL, axes=small, outputs=OUTPUTS)
    assert study.plan().points == 10_000
    median = interleave(
        {
            "run again": study.run,
            "new study and run": lambda: dse.Study(model=MODEL, axes=small, outputs=OUTPUTS).run(),
        },
        51,
    )
    show(
        "a labelled sweep of 1e4 points, compiled before",
        [f"{name:18} {seconds * 1e3:.2f} ms" for name, seconds in median.items()],
    )


def test_import_and_compile():
    empty = "import time; began = time.perf_counter(); "
    code = {
        "import dse": empty + "import dse",
        "import dse, then all of a study": empty + "import dse; dse.Study",
        "compile the five-output nest": (
            "import sys, time, numba, dse; sys.path.insert(0, 'tests/benchmarks'); "
            "from test_ratios import *; from sweeps.nest.run import groups, prepare; "
            "from sweeps.nest.emit import compiled; "
            "study = dse.Study(model=MODEL, axes=AXES, outputs=OUTPUTS); grid = study.grid(); "
            "part, = groups(grid, expand=True); "
            "nodes = [(grid.output_node(n, (), part.dims), 'float') for n in part.outputs]; "
            "began = time.perf_counter(); "
            "compiled(prepare(grid, (), part.dims, nodes).nest)"
        ),
    }
    root = Path(__file__).parents[2]
    lines = []
    for name, text in code.items():
        text += "; print(time.perf_counter() - began)"
        runs = [
            float(
                subprocess.run(
                    [sys.executable, "-c", text],
                    cwd=root,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for _ in range(ROUNDS)
        ]
        lines.append(f"{name:32} {statistics.median(runs):.3f} s")
        assert min(runs) > 0
    show("in a fresh interpreter", lines)
