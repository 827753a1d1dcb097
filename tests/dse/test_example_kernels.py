"""Counts of the example kernels, by hand and as the counters of an H100 have them."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from math import ceil, prod
from pathlib import Path
from typing import Any

import pytest

import dse
from tests.dse.conftest import Run
from tests.dse.test_kernel_source import compiling

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "kernels"
DATA = ROOT / "docs" / "gpu-validation"
#: Launches that were profiled (docs/gpu-validation/ncu-h100.csv), except those of gemm_mma, whose
#: code came from another compiler, and spmv_csr, whose loops depend on the data.
LAUNCHES: dict[str, dict[str, Any]] = {
    "axpy": {"block": 256, "grid": 131072, "set": {"n": 2**25}},
    "stencil2d": {"block": (8, 8), "grid": (1024, 1024), "set": {"width": 8192, "height": 8192}},
    "gemm": {"block": (16, 16), "grid": (32, 32), "set": {"M": 2048, "N": 2048, "K": 2048}},
    "reduction": {"block": 256, "grid": 1056, "set": {"n": 2**26}},
    "softmax": {"block": 256, "grid": 65536, "set": {"columns": 1024}},
    "layer_norm": {"block": 256, "grid": 65536, "set": {"columns": 1024}},
    "transpose": {"block": (32, 8), "grid": (256, 256), "set": {"width": 8192, "height": 8192}},
    "histogram": {"block": 256, "grid": 1056, "set": {"n": 2**26}},
    "scan": {"block": 256, "grid": 262144, "set": {"n": 2**26}},
    "nbody": {"block": 256, "grid": 256, "set": {"n": 2**16}},
}


def count(kernel: str, **options: Any) -> Any:
    return dse.kernel(KERNELS / f"{kernel}.cu", arch="sm_90", **options)


def size(shape: int | tuple[int, ...]) -> int:
    return shape if isinstance(shape, int) else prod(shape)


def expect(counted: Any, **wanted: float) -> None:
    assert {name: counted[name] for name in wanted} == pytest.approx(wanted)


@compiling
@pytest.mark.parametrize("block", [64, 256, 1024])
def test_axpy(block: int) -> None:
    """x and y are loaded, y is stored, and one operation is fused."""
    n = 2**20
    counted = count("axpy", block=block, grid=n // block, set={"n": n})
    expect(counted, fp_insts=1, fp_fused_insts=1, coalesced_insts=3, uncoalesced_insts=0)
    expect(counted, shared_insts=0, sync_insts=0, launch_bytes=8 * n, warp_bytes=3 * 128)
    expect(counted, launch_updated_bytes=4 * n)


@compiling
@pytest.mark.parametrize(("tile", "rows"), [(32, 8), (32, 4), (64, 16)])
def test_transpose(tile: int, rows: int) -> None:
    """A thread moves tile / rows numbers: global to shared, a barrier, shared to global."""
    width, height = 2048, 1024
    grid = width // tile, height // tile
    how: dict[str, Any] = {"define": {"TILE": tile, "ROWS": rows}, "block": (tile, rows)}
    counted = count("transpose", grid=grid, set={"width": width, "height": height}, **how)
    moves = tile // rows
    expect(counted, coalesced_insts=2 * moves, uncoalesced_insts=0, shared_insts=2 * moves)
    expect(counted, sync_insts=1, fp_insts=0, launch_bytes=8 * width * height)


@compiling
@pytest.mark.parametrize(("columns", "block"), [(1024, 256), (512, 128), (4096, 1024)])
def test_softmax(columns: int, block: int) -> None:
    """Three loads and one store of each number, and two reductions of a block.

    Special functions: two exponentials of each number, one reciprocal. Floating point: of each
    number one maximum, two differences, one sum, one product with the reciprocal, and for each of
    the two exponentials a product with log2(e), a comparison and two products for small arguments;
    five steps of each of four reductions of a warp; three of the reciprocal, as compiled.
    """
    rows, each = 100, columns // block
    counted = count("softmax", block=block, grid=rows, set={"columns": columns})
    expect(counted, coalesced_insts=4 * each, uncoalesced_insts=0, sfu_insts=2 * each + 1)
    expect(counted, fp_insts=each * (1 + 2 + 1 + 1 + 2 * 4) + 4 * 5 + 3)
    expect(counted, shared_insts=4, sync_insts=2, launch_bytes=8 * rows * columns)


@compiling
@pytest.mark.parametrize(
    ("tile_m", "tile_n", "tile_k", "thread_m", "thread_n"),
    [(64, 64, 16, 4, 4), (128, 128, 8, 8, 8), (32, 64, 16, 4, 4)],
)
def test_gemm(tile_m: int, tile_n: int, tile_k: int, thread_m: int, thread_n: int) -> None:
    """A thread has a tile of C, and its share of the tiles of A and B along K."""
    m, n, k = 512, 256, 1024
    block, grid = (tile_n // thread_n, tile_m // thread_m), (n // tile_n, m // tile_m)
    define = {"TILE_M": tile_m, "TILE_N": tile_n, "TILE_K": tile_k}
    define |= {"THREAD_M": thread_m, "THREAD_N": thread_n}
    sizes = {"M": m, "N": n, "K": k}
    counted = count("gemm", define=define, block=block, grid=grid, set=sizes)
    tiles, threads = k // tile_k, prod(block)
    loads = tiles * (tile_m + tile_n) * tile_k // threads
    expect(counted, fp_fused_insts=thread_m * thread_n * k, fp_insts=thread_m * thread_n * k)
    assert 2 * counted["fp_fused_insts"] * threads * prod(grid) == 2 * m * n * k
    expect(counted, global_insts=loads + thread_m * thread_n, sync_insts=2 * tiles)
    expect(counted, launch_bytes=4 * (m * k + k * n + m * n))
    # each number that is loaded is stored in shared memory, and read from there by whole vectors
    reads = counted["shared_insts"] - loads
    assert k * (thread_m + thread_n) / 4 <= reads <= k * (thread_m + thread_n)


@compiling
@pytest.mark.parametrize("kernel", LAUNCHES)
def test_counts_equal_the_counters_of_an_h100(kernel: str) -> None:
    """All executed instructions of a warp; the profiled code came from the same compiler."""
    executed: dict[str, dict[str, float]] = defaultdict(dict)
    with (DATA / "opcodes-h100.csv").open() as file:
        for row in csv.DictReader(file):
            executed[row["kernel"]][row["opcode"]] = float(row["warp_insts"])
    launch = LAUNCHES[kernel]
    counted = count(kernel, **launch)
    warps = size(launch["grid"]) * ceil(size(launch["block"]) / 32)
    each = {opcode: number / warps for opcode, number in executed[kernel].items()}
    all_insts = counted["comp_insts"] + counted["global_insts"] + counted["sync_insts"]
    assert all_insts == pytest.approx(sum(each.values()), rel=0.002)
    expect(counted, sync_insts=each.get("BAR", 0), fp_fused_insts=each.get("FFMA", 0))
    accesses = each.get("LDG", 0) + each.get("STG", 0) + each.get("REDG", 0)
    assert counted["global_insts"] == pytest.approx(accesses, rel=0.002)


@compiling
def test_the_command_reads_the_launch_in_the_source(run: Run) -> None:
    kernel = str(KERNELS / "stencil2d.cu")
    given = ("--set", "width=8192,height=8192", "--block", "32,8", "--grid",
             "ceil(width / block_x),ceil(height / block_y)")  # fmt: skip
    assert run("kernel", kernel).stdout == run("kernel", kernel, *given).stdout
    other = json.loads(run("kernel", kernel, "--block", "64,4", "--json").stdout)
    assert other["values"]["threads_per_block"] == 256
    assert (
        json.loads(run("kernel", kernel, "--set", "width=64", "--json").stdout)["values"]
        != (other["values"])
    )
