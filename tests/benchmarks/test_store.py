"""The store against its peers, each pair measured in one interleaved run.

    python -m pytest tests/benchmarks/test_store.py -m benchmark -s

Medians; the disk's own speed cancels. ``DSE_BENCHMARK_FOLDER`` is where it is measured,
``DSE_BENCHMARK_POINTS`` how many points are written (1e8), ``DSE_BENCHMARK_KILLS`` how often a run
is killed.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

import dse
from tests.benchmarks.test_ratios import AXES, MODEL, OUTPUTS, ROUNDS, show

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore:core_clock is swept"),
]

ROOT = Path(__file__).parents[2]
#: Two outputs over all axes.
TWO = ("ms_throughput", "cs_throughput")
POINTS = int(float(os.environ.get("DSE_BENCHMARK_POINTS", "1e8")))


@pytest.fixture
def folder():
    made = Path(tempfile.mkdtemp(dir=os.environ.get("DSE_BENCHMARK_FOLDER")))
    yield made
    shutil.rmtree(made)


def fresh(path):
    """Nothing is there, and nothing waits to be written."""
    if path.exists():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    os.sync()
    return path


def wait_for_disk(path):
    """Wait until every file is on the disk."""
    for file in path.rglob("*"):
        if file.is_file():
            handle = os.open(file, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)


def by_numpy(arrays, path):
    """np.save and fsync of each column."""
    path.mkdir()
    for name, array in arrays.items():
        with (path / f"{name}.npy").open("wb") as file:
            np.save(file, array)
            file.flush()
            os.fsync(file.fileno())


def by_dask(ds, path, encoding):
    """xarray and dask, the same chunks in the same shards."""
    ds.to_zarr(path, encoding=encoding, zarr_format=3)
    wait_for_disk(path)


def encoding_of(path):
    """Return how the arrays of a store are cut and compressed, for ``to_zarr``."""
    group = zarr.open_group(path, mode="r")
    return {
        name: {key: getattr(group[name], key) for key in ("shards", "chunks", "compressors")}
        for name in TWO
    }


def measure(contenders, path):
    """Median seconds of each, and those of a processor, run in turn into an empty place.

    Each runs once before, uncounted.
    """
    times = {name: [] for name in contenders}
    for number in range(ROUNDS + 1):
        for name, run in contenders.items():
            fresh(path)
            began = np.array([time.perf_counter(), time.process_time()])
            run()
            if number:
                times[name].append([time.perf_counter(), time.process_time()] - began)
    fresh(path)
    return {name: np.median(each, axis=0).tolist() for name, each in times.items()}


@pytest.mark.filterwarnings("ignore")
def test_durable_rate(folder):
    """Computing and writing two columns, beside to_zarr of the same chunks from memory."""
    study = dse.Study(
        model="transit",
        outputs=list(TWO),
        axes={
            "threads": list(range(1, 101)),
            "mem_latency": list(range(100, 1100)),
            "intensity": list(range(1, POINTS // 10**5 + 1)),
        },
        set={"lanes_width": 32, "ms_peak": 0.7},
    )
    path, lazy = folder / "a.zarr", study.lazy().drop_attrs()
    memory = lazy.compute()
    arrays = {name: memory[name].values for name in TWO}
    size = sum(array.nbytes for array in arrays.values())
    sizes = dict(zip(lazy[TWO[0]].dims, lazy[TWO[0]].data.chunksize, strict=True))
    chunked, encodings = memory.chunk(sizes), {}
    for kind in ("lz4", "none"):
        stored = study.run(store=fresh(path), compression=kind)
        for name in TWO:
            np.testing.assert_array_equal(stored[name].values, arrays[name])
        encodings[kind] = encoding_of(path)
    contenders = {"np.save + fsync": lambda: by_numpy(arrays, path)}
    for kind in ("lz4", "none"):
        contenders |= {
            f"ours, {kind}": lambda kind=kind: study.run(store=path, compression=kind),
            f"to_zarr of arrays in memory, {kind}": lambda kind=kind: by_dask(
                chunked, path, encodings[kind]
            ),
            f"to_zarr of study.lazy(), {kind}": lambda kind=kind: by_dask(
                lazy, path, encodings[kind]
            ),
        }
    median = measure(contenders, path)
    lines = [
        f"{name:36} {s:7.3f} s  {size / s / 1e9:5.2f} GB/s  {own:7.3f} s of a processor"
        for name, (s, own) in median.items()
    ]
    for kind in ("lz4", "none"):
        ours = np.array(median[f"ours, {kind}"])
        for peer in ("arrays in memory", "study.lazy()"):
            wall, busy = np.array(median[f"to_zarr of {peer}, {kind}"]) / ours
            lines.append(f"rate, times that of to_zarr of {peer}, {kind}: {wall:.2f} ({busy:.2f})")
    show(f"{POINTS:.0e} points, {size / 1e9:.2f} GB, until it is on the disk", lines)


LIMITED = """
import resource, sys, dse
study = dse.Study(model="transit", outputs=["ms_throughput", "cs_throughput"], axes={
    "threads": list(range(1, 101)), "mem_latency": list(range(100, 1100)),
    "intensity": list(range(1, int(sys.argv[2]) + 1))},
    set={"lanes_width": 32, "ms_peak": 0.7})
small = dse.Study(model="transit", axes={"threads": range(1, 2000), "mem_latency": range(1, 30)},
    set={"lanes_width": 32, "ms_peak": 0.7, "intensity": 1})
small.run(store=sys.argv[1] + "/small.zarr").close()   # all libraries are loaded
import numba, dask, zarr
now = int(open("/proc/self/statm").read().split()[0]) * 4096
allowed = int(sys.argv[3]) << 20
resource.setrlimit(resource.RLIMIT_AS, (now + allowed, now + allowed))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
study.run(store=sys.argv[1] + "/large.zarr")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) / 1024)
"""


def test_memory(folder):
    """A stored sweep of four times the memory it may have, and of ten times fewer points."""
    lines = []
    for count, limit in ((134, 512), (1342, 512)):
        fresh(folder / "large.zarr")
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, str(folder), str(count), str(limit)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        size = 16 * 10**5 * count
        lines.append(
            f"{size / 2**20:7.0f} MiB stored within {limit} MiB of address space: "
            f"{float(done.stdout):.0f} MiB more resident than with a small study"
        )
        fresh(folder / "small.zarr")
    show("memory above the interpreter with its libraries", lines)


def test_kills():
    count = os.environ.get("DSE_BENCHMARK_KILLS", "200")
    done = subprocess.run(
        [sys.executable, "-m", "tests.dse.killing", count, "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    show(
        "SIGKILL at random moments",
        [
            f"{answer['kills']} kills of {answer['stores']} runs, each ended with the bytes of one "
            "that nobody disturbed",
            f"{answer['repeated']} tiles computed twice, of {answer['tiles'] * answer['stores']:,}",
        ],
    )


def test_full_disk(tmp_path):
    """A small file system in memory; skipped where it cannot be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        study = dse.Study(model=MODEL, axes={**AXES, "intensity": [1.0]}, outputs=OUTPUTS)
        with pytest.raises(dse.DseError, match="No space left") as answer:
            study.run(store=disk / "a.zarr")
        assert answer.value.__cause__.errno == errno.ENOSPC
        assert not dse.verify(disk / "a.zarr").damages
        more = ["mount", "-o", "remount,size=4g", str(disk)]
        subprocess.run(more, check=True)
        result, expected = study.run(store=disk / "a.zarr"), study.run()
        for name in OUTPUTS:
            np.testing.assert_array_equal(result[name].values, expected[name].values)
        show("a full disk", [str(answer.value).split("; ", 1)[1]])
    finally:
        subprocess.run(["umount", str(disk)], check=True)
