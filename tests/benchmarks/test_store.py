"""The store against the disk and its peers, each pair measured in one interleaved run.

    python -m pytest tests/benchmarks/test_store.py -m benchmark -s

Medians; the disk's own speed cancels. ``DSE_BENCHMARK_FOLDER`` is where it is measured,
``DSE_BENCHMARK_KILLS`` how often a run is killed.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dse
from sweeps.store.crew import threads
from sweeps.store.direct import room
from sweeps.store.folder import HIDDEN, Folder
from sweeps.store.layout import Layout
from tests.benchmarks.test_ratios import AXES, MODEL, OUTPUTS, ROUNDS, show

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore:core_clock is swept"),
]

ROOT = Path(__file__).parents[2]


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


def settled(path):
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


def by_dask(ds, path, *, packed):
    """xarray and dask, chunks of the size of ours; packed as zarr does where nothing is said."""
    encoding = {} if packed else {name: {"compressors": None} for name in OUTPUTS}
    ds.to_zarr(path, consolidated=False, encoding=encoding)
    settled(path)


def paged(data):
    """Bytes in memory that can go past the cache of the system."""
    memory = room(len(data), np.dtype(np.uint8))[: len(data)]
    memory[:] = np.frombuffer(data, np.uint8)
    return memory


def alone(chunks, path):
    """The chunks of our store, ready in memory, written as it writes them; or through the cache."""
    (path / HIDDEN).mkdir(parents=True)
    folder = Folder(path)

    def write(tile):
        for key, data in tile:
            with folder.writing(key) as put:
                put(data)

    with ThreadPoolExecutor(threads()) as pool:
        list(pool.map(write, chunks))


def measured(contenders, path):
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


def chunks_of(study, path, *, expand):
    """The chunks of each tile of a store, in memory from which they can go past the cache."""
    layout = Layout(study.grid(), expand=expand)
    names = [[layout.key(n, t) for n in layout.parts[t.part].outputs] for t in layout.tiles()]
    return [[(key, paged((path / key).read_bytes())) for key in tile] for tile in names]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expand", [False, True])
def test_durable_rate(folder, expand):
    """1e8 points of five outputs over their own axes; 5e7 of them over all axes."""
    axes = AXES if not expand else {**AXES, "intensity": AXES["intensity"][:5]}
    study = dse.Study(model=MODEL, axes=axes, outputs=OUTPUTS)
    ds, path = study.run(expand=expand), folder / "a.zarr"
    arrays = {name: ds[name].values for name in OUTPUTS}
    size = sum(array.nbytes for array in arrays.values())
    chunks = {}
    for kind in ("lz4", "none"):
        stored = study.run(store=fresh(path), expand=expand, compression=kind)
        for name in OUTPUTS:
            np.testing.assert_array_equal(stored[name].values, arrays[name])
        chunks[kind] = chunks_of(study, path, expand=expand)
    lazy = ds[OUTPUTS].drop_attrs()
    for name in OUTPUTS:
        lazy[name] = lazy[name].chunk(
            dict(zip(stored[name].dims, stored[name].chunks, strict=True))
        )
    cached = [[(key, memory[1:]) for key, memory in tile] for tile in chunks["none"]]
    median = measured(
        {
            "np.save + fsync": lambda: by_numpy(arrays, path),
            "our chunks alone, as they are": lambda: alone(chunks["none"], path),
            "the same through the cache": lambda: alone(cached, path),
            "our chunks alone, compressed": lambda: alone(chunks["lz4"], path),
            "ours": lambda: study.run(store=path, expand=expand),
            "ours, not compressed": lambda: study.run(
                store=path, expand=expand, compression="none"
            ),
            "xarray + dask to_zarr": lambda: by_dask(lazy, path, packed=True),
            "to_zarr, not compressed": lambda: by_dask(lazy, path, packed=False),
        },
        path,
    )
    wall = [seconds for seconds, _ in median.values()]
    numpy, plain_alone, cached_alone, packed_alone, ours, plain, dask, dask_plain = wall
    *_, busy, busy_plain, busy_dask, busy_dask_plain = (each for _, each in median.values())
    by_dask(lazy, path, packed=True)
    theirs = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    packed = sum(memory.size for tile in chunks["lz4"] for _, memory in tile)
    show(
        f"{study.plan().points:.0e} points, {size / 1e9:.2f} GB"
        f"{', outputs expanded' if expand else ''}, until it is on the disk",
        [
            f"{name:30} {s:7.3f} s  {size / s / 1e9:5.2f} GB/s  {own:7.3f} s of a processor"
            for name, (s, own) in median.items()
        ]
        + [
            f"{'':44} as it is run   not compressed",
            f"{'rate, of that of np.save + fsync':44} {numpy / ours:12.0%} {numpy / plain:16.0%}",
            f"{'rate, times that of xarray + dask to_zarr':44} {dask / ours:12.1f} "
            f"{dask_plain / plain:16.1f}",
            f"{'the same, of to_zarr as it is run':44} {dask / ours:12.1f} {dask / plain:16.1f}",
            f"{'processor time of to_zarr, over ours':44} {busy_dask / busy:12.1f} "
            f"{busy_dask_plain / busy_plain:16.1f}",
            f"{'end to end, over writing all values alone':44} {ours / plain_alone:12.2f} "
            f"{plain / plain_alone:16.2f}",
            f"{'the same, through the cache':44} {ours / cached_alone:12.2f} "
            f"{plain / cached_alone:16.2f}",
            f"{'end to end, over writing its chunks alone':44} {ours / packed_alone:12.2f} "
            f"{plain / plain_alone:16.2f}",
            f"ours compresses to {packed / size:.1%} of the bytes, to_zarr to {theirs / size:.1%}",
        ],
    )


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
    said = json.loads(done.stdout)
    show(
        "SIGKILL at random moments",
        [
            f"{said['kills']} kills of {said['stores']} runs, each ended with the bytes of one "
            "that nobody disturbed",
            f"{said['repeated']} tiles computed twice, of {said['tiles'] * said['stores']:,}",
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
        with pytest.raises(dse.DseError, match="No space left") as said:
            study.run(store=disk / "a.zarr")
        assert said.value.__cause__.errno == errno.ENOSPC
        assert not dse.verify(disk / "a.zarr").damages
        more = ["mount", "-o", "remount,size=4g", str(disk)]
        subprocess.run(more, check=True)
        found, expected = study.run(store=disk / "a.zarr"), study.run()
        for name in OUTPUTS:
            np.testing.assert_array_equal(found[name].values, expected[name].values)
        show("a full disk", [str(said.value).split("; ", 1)[1]])
    finally:
        subprocess.run(["umount", str(disk)], check=True)
