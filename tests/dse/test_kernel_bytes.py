"""Bytes that a kernel touches, against every address written out, and against a profiler."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse.cuda.instruction_counts import KernelCounts
from dse.cuda.memory_accesses import ByteSet, union_ranges
from tests.dse.test_kernel_source import compiling

PROFILES = Path(__file__).parents[3] / "shared" / "data" / "profiles"

MOVES = st.lists(st.tuples(st.integers(-300, 300), st.integers(1, 12)), max_size=3)
STARTS = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 16)), min_size=1, max_size=6)


@given(STARTS, MOVES)
def test_moved_sets_hold_the_bytes_of_every_address(
    starts: list[tuple[int, int]], moves: list[tuple[int, int]]
) -> None:
    touched = ByteSet(union_ranges(np.array([[first, first + size] for first, size in starts])))
    addresses = {byte for first, size in starts for byte in range(first, first + size)}
    for step, many in moves:
        touched = touched.repeat(step, many)
        addresses = {byte + step * at for byte in addresses for at in range(many)}
    members = {byte for low, high in touched.ranges.tolist() for byte in range(low, high)}
    assert members == addresses
    assert (touched.low, touched.high) == (min(addresses), max(addresses) + 1)
    assert touched.sector_bytes() == 32 * len({byte // 32 for byte in addresses})


@given(st.integers(1, 64), st.integers(1, 2000))
def test_many_moves_are_counted_from_a_few(width: int, step: int) -> None:
    """Write out only some of 1,000,003 moves."""
    many = 1_000_003
    touched = ByteSet(np.array([[0, width]])).repeat(step, many)
    size = float((touched.ranges[:, 1] - touched.ranges[:, 0]).sum()) * touched.scale
    expected = width * many if step >= width else (many - 1) * step + width
    assert size == pytest.approx(expected, rel=1e-12)
    assert touched.high == (many - 1) * step + width


SOURCES = {
    # each thread an element: every array once
    "__global__ void k(float *a, float *b, int n) {"
    " int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i]; }": (384 * 4, 384 * 4, 4 * 2),
    # a row of three neighbours: their union, not their sum
    "__global__ void k(float *a, float *b, int n) {"
    " int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i] + a[i + 1] + a[i + 2]; }": (
        (384 + 8) * 4,
        384 * 4,
        4 * 2,
    ),
    # a table that all blocks read: once
    "__global__ void k(float *a, float *b, int n) {"
    " float s = 0; for (int j = 0; j < n; ++j) s += a[j];"
    " b[blockIdx.x * blockDim.x + threadIdx.x] = s; }": (1024 * 4, 384 * 4, 4),
    # a stride of 64 bytes: a sector each
    "__global__ void k(float *a, float *b, int n) {"
    " int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[16 * i]; }": (384 * 32, 384 * 4, 36),
    # one thread of a block stores
    "__global__ void k(float *a, float *b, int n) {"
    " if (threadIdx.x == 0) b[blockIdx.x] = a[blockIdx.x]; }": (32, 32, 8 / 384),
}


@compiling
@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_bytes_of_a_block_and_of_a_launch_are_those_by_hand(tmp_path: Path, number: int) -> None:
    source, (loaded, stored, per_thread) = list(SOURCES.items())[number]
    file = tmp_path / "k.cu"
    file.write_text(source)
    result = dse.kernel(file, arch="sm_75", block=[384], grid=[1000], set={"n": 1024})
    assert result["block_bytes"] == pytest.approx(loaded + stored, abs=64)
    fixed = 4096 if "for" in source else 0
    assert result["launch_bytes"] == pytest.approx(per_thread * 384_000 + fixed, abs=96)


@compiling
def test_dram_moves_what_addition_of_vectors_touches() -> None:
    """Measured on RTX 2080 Ti: 8 bytes an element are read."""
    folder = PROFILES / "vectoradd"
    if not folder.is_dir():
        pytest.skip("../shared/data/profiles is not there")
    with open(folder / "2080-vectorAdd_output.csv", newline="") as opened:
        for row in csv.DictReader(opened):
            threads, block = int(row["Global size"]), int(row["Local size"])
            file = folder / "vectorAdd_CudaKernel.cu"
            result = dse.kernel(file, arch="sm_75", block=[block], grid=[threads // block])
            read = 32 * float(row["dram__sectors_read.sum"])
            # of the 4 bytes an element that are stored, some stay in the second cache
            assert result["launch_bytes"] - 4 * threads == pytest.approx(read, rel=0.002)
            assert result["block_bytes"] == 12 * block


IN_PLACE_THREADS, IN_PLACE_BLOCKS = 128, 5
#: Bodies of kernels with arrays x, y and table, and the elements that thread t of block b loads
#: and stores.
IN_PLACE: dict[str, tuple[str, Callable[[int, int], Any], Callable[[int, int], Any]]] = {
    "each element once": (
        "x[i] = x[i] + y[i];",
        lambda b, t: {"x": [128 * b + t], "y": [128 * b + t]},
        lambda b, t: {"x": [128 * b + t]},
    ),
    "out of place": (
        "x[i] = y[i];",
        lambda b, t: {"y": [128 * b + t]},
        lambda b, t: {"x": [128 * b + t]},
    ),
    "rows in two loops, weights of all blocks": (
        "float *r = x + blockIdx.x * n, *in = y + blockIdx.x * n, sum = 0;"
        " for (int j = threadIdx.x; j < n; j += 128) { r[j] += in[j]; sum += r[j]; }"
        " __syncthreads();"
        " for (int j = threadIdx.x; j < n; j += 128) in[j] = r[j] * sum * table[j];",
        lambda b, t: {
            **dict.fromkeys("xy", range(512 * b + t, 512 * b + 512, 128)),
            "table": range(t, 512, 128),
        },
        lambda b, t: dict.fromkeys("xy", range(512 * b + t, 512 * b + 512, 128)),
    ),
    "ranges that overlap by half": (
        "x[i] = x[i + 64];",
        lambda b, t: {"x": [128 * b + t + 64]},
        lambda b, t: {"x": [128 * b + t]},
    ),
    "ranges of different loops": (
        "float *r = x + 512 * blockIdx.x, sum = 0;"
        " for (int j = 0; j < 4; ++j) sum += r[4 * threadIdx.x + j];"
        " for (int j = 0; j < n / 256; ++j) r[256 * j + threadIdx.x] = sum;",
        lambda b, t: {"x": range(512 * b + 4 * t, 512 * b + 4 * t + 4)},
        lambda b, t: {"x": range(512 * b + t, 512 * b + 512, 256)},
    ),
    "a tile of rows, each loop with other strides": (
        "int column = threadIdx.x % 32, row = threadIdx.x / 32;"
        " float *tile = x + 32 * blockIdx.x; float sum = 0;"
        " for (int j = row; j < n / 32; j += 4) sum += tile[j * 4096 + column];"
        " for (int j = 0; j < n / 128; ++j) tile[(4 * row + j) * 4096 + column] = sum;",
        lambda b, t: {"x": range(32 * b + t // 32 * 4096 + t % 32, 16 * 4096, 4 * 4096)},
        lambda b, t: {"x": [32 * b + (4 * (t // 32) + j) * 4096 + t % 32 for j in range(4)]},
    ),
    "a table that all blocks update": (
        "table[threadIdx.x] += y[i];",
        lambda b, t: {"table": [t], "y": [128 * b + t]},
        lambda b, t: {"table": [t]},
    ),
}  # fmt: skip


def _sectors(elements: Callable[[int, int], Any], blocks: int) -> set[tuple[str, int]]:
    """Enumerate the sectors of the arrays that the threads of the first blocks access."""
    accesses = (elements(b, t) for b in range(blocks) for t in range(IN_PLACE_THREADS))
    return {(array, at // 8) for each in accesses for array, every in each.items() for at in every}


@compiling
@pytest.mark.parametrize("kind", IN_PLACE)
def test_bytes_loaded_and_stored_count_once_as_touched_and_once_as_updated(
    tmp_path: Path, kind: str
) -> None:
    body, loads, stores = IN_PLACE[kind]
    file = tmp_path / "k.cu"
    file.write_text(
        f"__global__ void k(float *x, float *y, float *table, int n) {{ {ROW} {body} }}"
    )
    launch = {"block": IN_PLACE_THREADS, "grid": IN_PLACE_BLOCKS, "set": {"n": 512}}
    counts = dse.kernel(file, arch="sm_80", **launch)
    for prefix, blocks in (("block", 1), ("launch", IN_PLACE_BLOCKS)):
        loaded, stored = _sectors(loads, blocks), _sectors(stores, blocks)
        assert counts[f"{prefix}_bytes"] == 32 * len(loaded | stored)
        updated = counts.get("updated_bytes" if blocks == 1 else "launch_updated_bytes", 0)
        assert updated == 32 * len(loaded & stored)


@compiling
@pytest.mark.parametrize(
    ("body", "touched", "bound"),
    [
        # a data-dependent address is assumed to touch other bytes, unless it is the same address
        ("int k = ((int *)y)[i]; x[k] = x[k] + 1;", 2 * 512, 2 * 512),
        ("int k = ((int *)y)[i]; x[i] = x[k] + 1;", 2 * 512, 3 * 512),
        # a guard limits the number of bytes, not which ones
        ("if (threadIdx.x < 8) x[i] = x[i] + 1;", 32, 2 * 8 * 32),
    ],
)
def test_bytes_at_unknown_addresses_stay_an_upper_bound(
    tmp_path: Path, body: str, touched: int, bound: int
) -> None:
    file = tmp_path / "k.cu"
    file.write_text(f"__global__ void k(float *x, float *y, int n) {{ {ROW} {body} }}")
    counts = dse.kernel(file, arch="sm_80", block=128, grid=1000)
    assert touched <= counts["block_bytes"] <= bound


ROW = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
PLANE = ROW + " int j = blockIdx.y * blockDim.y + threadIdx.y;"
#: Stencils whose edges read: the clamped cell, the same by a choice, the other end of the row.
EDGES = {
    "clamped": "b[i] = a[max(i - 1, 0)] + a[i] + a[min(i + 1, n - 1)];",
    "twice": "b[i] = a[min(max(i - 1, 0), n - 1)] + a[i] + a[max(min(i + 1, n - 1), 0)];",
    "chosen": "b[i] = a[i > 0 ? i - 1 : 0] + a[i] + a[i < n - 1 ? i + 1 : n - 1];",
    "wrapped": "b[i] = a[i > 0 ? i - 1 : n - 1] + a[i] + a[i < n - 1 ? i + 1 : 0];",
}


def _bytes_of(file: Path, body: str, *, block: list[int], grid: list[int], n: int) -> list[float]:
    """Return the bytes of a block and of a launch: both architectures must agree."""
    file.write_text(f"__global__ void k(const float *a, float *b, int n) {{ {body} }}")
    every = [dse.kernel(file, arch=arch, block=block, grid=grid, set={"n": n})
             for arch in ("sm_80", "sm_90")]  # fmt: skip
    assert [every[0][name] for name in BYTES] == [every[1][name] for name in BYTES]
    assert not any("unknown" in text for text in every[0].assumed.values())
    return [every[0][name] for name in BYTES]


BYTES = ("block_bytes", "launch_bytes")


@compiling
@pytest.mark.parametrize("edge", EDGES)
def test_a_clamped_stencil_has_the_bytes_of_its_neighbours(tmp_path: Path, edge: str) -> None:
    """Clamped addresses counted as bytes that nothing else touches: 302 MB of 134 MB."""
    body = f"{ROW} if (i < n) {{ {EDGES[edge]} }}"
    result = _bytes_of(tmp_path / "k.cu", body, block=[256], grid=[65536], n=1 << 24)
    assert result == pytest.approx([(256 + 16 + 256) * 4, 2 * (4 << 24)], rel=1e-6)


@compiling
def test_a_clamped_plane_has_the_bytes_of_its_tile_and_halo(tmp_path: Path) -> None:
    body = PLANE + (
        "if (i < n && j < n) b[j * n + i] = a[j * n + i] + a[j * n + max(i - 1, 0)]"
        " + a[j * n + min(i + 1, n - 1)] + a[max(j - 1, 0) * n + i] + a[min(j + 1, n - 1) * n + i];"
    )
    result = _bytes_of(tmp_path / "k.cu", body, block=[32, 8], grid=[128, 512], n=4096)
    # six sectors a row with its halo, four sectors in the rows above and below, and the stores
    assert result[0] == 8 * 6 * 32 + 2 * 4 * 32 + 8 * 32 * 4
    assert result[1] == pytest.approx(2 * 4 * 4096**2, rel=1e-3)


@compiling
def test_a_clamp_that_most_threads_need_is_no_edge(tmp_path: Path) -> None:
    """A table of 32 values, whose last one nearly all threads read, is not as large as the grid."""
    file = tmp_path / "k.cu"
    body = f"{ROW} b[i] = a[min(i, 31)];"
    file.write_text(f"__global__ void k(const float *a, float *b, int n) {{ {body} }}")
    result = dse.kernel(file, arch="sm_80", block=[256], grid=[65536], set={"n": 1 << 24})
    assert result["launch_bytes"] == pytest.approx(4 << 24, rel=1e-3)


ROWS = """
__global__ void rows(const float *in, float *out, int columns) {
    const float *row = in + (size_t)blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[(size_t)blockIdx.x * columns + i] = row[i] * sum;
}"""


def rows_counts(tmp_path: Path, text: str = ROWS) -> KernelCounts:
    path = tmp_path / "rows.cu"
    path.write_text(text)
    return dse.kernel(path, arch="sm_80", block=128, grid=1000, set={"columns": 4096})


@compiling
def test_bytes_of_a_later_loop_are_read_again(tmp_path: Path) -> None:
    """A row of 16 KiB in two loops; in one loop, two reads of it are none that come later."""
    counts = rows_counts(tmp_path)
    assert (counts["reread_bytes"], counts["block_bytes"]) == (4 * 4096, 2 * 4 * 4096)
    once = ROWS.replace("sum += row[i]", "sum += i").replace("row[i] * sum", "row[i] + row[i ^ 32]")
    assert "reread_bytes" not in rows_counts(tmp_path, once)


def miss_share(cache: float, resident: float) -> float:
    """Count how many of 100,000 reuse distances, 0.5 to 1.5 times the bytes, exceed the cache."""
    distances = resident * (0.5 + (np.arange(100_000) + 0.5) / 100_000)
    return float((distances > cache).mean())


@pytest.mark.parametrize("columns", [512, 1024, 1536, 2048, 4096, 16384])
@pytest.mark.parametrize("threads", [64, 128, 512])
def test_bytes_read_again_miss_caches_that_are_too_small(columns: int, threads: int) -> None:
    """A softmax by hand: three reads and a store of a row; a table of 4 KiB is read by all."""
    blocks, row, table, shared = 32768, 4.0 * columns, 4096.0, 256
    counted = {"blocks": blocks, "threads_per_block": threads, "shared_mem_per_block": shared}
    counted |= {"registers_per_thread": 16, "mem_strength": 1, "comp_insts": 100}
    counted |= {"coalesced_insts": 20, "uncoalesced_insts": 0, "fp_insts": 10}
    warps = threads / 32
    counted |= {"warp_bytes": (4 * row + table) / warps, "reread_bytes": 2 * row}
    counted |= {"block_bytes": 2 * row + table, "launch_bytes": 2 * row * blocks + table}
    names = ["l2_bytes", "dram_bytes"]
    ds = dse.evaluate(
        "occupancy + latency_roofline + footprint", machine="a100_40", outputs=names, **counted
    )
    resident = min(2048 // threads, 32)
    l1 = miss_share(192 * 1024 - resident * (shared + 1024), 2 * row * resident + table)
    l2 = miss_share(40960 * 1024, 2 * row * resident * 108 + table)
    l2_bytes = blocks * (2 * row + table + 2 * row * l1)
    dram_bytes = blocks * (2 * row + 2 * row * l1 * l2) + table
    assert float(ds.l2_bytes) == pytest.approx(l2_bytes, rel=1e-4)
    assert float(ds.dram_bytes) == pytest.approx(dram_bytes, rel=1e-4)


@pytest.mark.parametrize(("columns", "threads"), [(4096, 256), (8192, 256), (8192, 512)])
def test_rows_updated_in_place_need_their_place_in_a_cache_once(columns: int, threads: int) -> None:
    """Two arrays of bfloat16, updated in place, of which one is loaded again; weights of all."""
    blocks, row = 8192, 2.0 * columns
    counted = {"blocks": blocks, "threads_per_block": threads, "shared_mem_per_block": 128}
    counted |= {"registers_per_thread": 32, "mem_strength": 2, "comp_insts": 100}
    counted |= {"coalesced_insts": 20, "uncoalesced_insts": 0, "warp_bytes": 1e6}
    counted |= {"block_bytes": 3 * row, "updated_bytes": 2 * row, "reread_bytes": row}
    counted |= {"launch_bytes": row * (2 * blocks + 1), "launch_updated_bytes": 2 * row * blocks}
    names = ["l2_bytes", "dram_bytes", "l1_reread_miss_share", "l2_reread_miss_share"]
    ds = dse.evaluate(
        "occupancy + latency_roofline + footprint", machine="h100_sxm", outputs=names, **counted
    )
    resident = 2048 // threads
    l1 = miss_share(256 * 1024 - resident * (128 + 1024), row * (2 * resident + 1))
    assert float(ds.l1_reread_miss_share) == pytest.approx(l1, abs=1e-4)
    assert float(ds.l2_reread_miss_share) == 0  # at most 34.6 MB, of 50 MiB
    assert float(ds.l2_bytes) == pytest.approx(blocks * row * (5 + l1), rel=1e-4)
    assert float(ds.dram_bytes) == row * (4 * blocks + 1)


def test_bytes_read_again_bring_traffic_nearer_to_that_of_an_h100() -> None:
    """Sectors that the L2 cache moved, less those that DRAM filled, of softmax."""
    here = Path(__file__).parents[2] / "docs"
    with open(here / "gpu-validation" / "kernels-h100.csv", newline="") as file:
        measured = [row for row in csv.DictReader(file) if row["kernel"] != "empty"]
    with open(here / "counted-kernels.csv", newline="") as file:
        counted = list(csv.DictReader(file))
    errors = []
    for row, counts in zip(measured, counted, strict=True):
        if row["kernel"] != "softmax" or not row["l2_sectors"]:
            continue
        names = ("warp_bytes", "block_bytes", "launch_bytes", "reread_bytes", "blocks")
        names += ("threads_per_block", "shared_mem_per_block", "registers_per_thread")
        values = {name: float(counts[name]) for name in names}
        values |= {"mem_strength": 1, "comp_insts": 1, "coalesced_insts": 1, "uncoalesced_insts": 0}
        moved = 32 * float(row["l2_sectors"]) - float(row["dram_read [B]"])
        for known in (values, {**values, "reread_bytes": 0}):
            model = "occupancy + latency_roofline + footprint"
            ds = dse.evaluate(model, machine="h100_sxm", outputs=["l2_bytes"], **known)
            errors.append(abs(np.log(float(ds.l2_bytes) / moved)))
    assert len(errors) == 12
    assert sum(errors[::2]) < 0.7 * sum(errors[1::2])
