"""Tensor instructions: operations by shape and type, counted apart from floating point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dse
from dse.cuda.instructions import Instruction
from dse.cuda.tensor_instructions import tensor_flops
from symbolic.quantities import TABLE

MMA = """
__global__ void product(const unsigned *a, const unsigned *b, float *c, int n)
{
    const int lane = threadIdx.x % 32;
    float C[4] = {0, 0, 0, 0};
    for (int k = 0; k < n; k++) {
        const unsigned *A = a + k * 128 + lane, *B = b + k * 64 + lane;
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\\n"
                     : "+f"(C[0]), "+f"(C[1]), "+f"(C[2]), "+f"(C[3])
                     : "r"(A[0]), "r"(A[32]), "r"(A[64]), "r"(A[96]), "r"(B[0]), "r"(B[32]));
    }
    for (int i = 0; i < 4; i++) c[blockIdx.x * 128 + i * 32 + lane] = C[i];
}
"""


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("HMMA.16816.F32", ("fp16", 2 * 16 * 8 * 16)),
        ("HMMA.16816.F16", ("fp16_fp16", 2 * 16 * 8 * 16)),
        ("HMMA.1688.F32.TF32", ("tf32", 2 * 16 * 8 * 8)),
        ("HMMA.SP.16832.F32", ("fp16", 2 * 16 * 8 * 16)),
        ("IMMA.16832.S8.S8", ("int8", 2 * 16 * 8 * 32)),
        ("IMMA.8816.U8.S8", ("int8", 2 * 8 * 8 * 16)),
        ("IMMA.16864.S4.S4", ("int4", 2 * 16 * 8 * 64)),
        ("BMMA.168256.AND.POPC", ("binary", 2 * 16 * 8 * 256)),
        ("DMMA.884", ("fp64", 2 * 8 * 8 * 4)),
        ("QMMA.16832.F32.E4M3.E5M2", ("fp8", 2 * 16 * 8 * 32)),
        ("QMMA.16832.F16.E4M3.E4M3", ("fp8_fp16", 2 * 16 * 8 * 32)),
        ("HGMMA.64x128x16.F32.BF16", ("bf16", 2 * 64 * 128 * 16 / 4)),
        ("HMMA.884.F32.F32.STEP1", ("fp16", 512)),
        ("UTCHMMA", None),
    ],
)
def test_shape_and_type_are_read_from_the_name(
    opcode: str, expected: tuple[str, float] | None
) -> None:
    assert tensor_flops(Instruction(0, opcode, "R4, R8, R12, R4")) == expected


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_mma_counts_on_no_other_pipe(kind: str, arch: str, tmp_path: Path) -> None:
    """Each pass has one m16n8k16 instruction of 4096 operations, and no floating point."""
    file = tmp_path / "mma.cu"
    file.write_text(MMA.replace("TYPE", kind))
    counts = dse.kernel(file, arch=arch, block=32, grid=64, set={"n": 24})
    assert counts["tensor_insts"] == 24
    assert counts["warp_tensor_flops"] == 24 * 4096
    assert counts["fp_insts"] == counts["fp_fused_insts"] == 0
    assert counts.labels["tensor_type"] == {"f16": "fp16"}.get(kind, kind)
    assert 'tensor_type = { value = "' in counts.toml()


ATOMIC = """
__global__ void count(const int *values, int *bins)
{
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[values[blockIdx.x * 256 + threadIdx.x]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    __threadfence();
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_atomics_are_a_class_of_their_own(arch: str, tmp_path: Path) -> None:
    """The cache control of a memory fence is no atomic instruction."""
    file = tmp_path / "bins.cu"
    file.write_text(ATOMIC)
    counts = dse.kernel(file, arch=arch, block=256, grid=64)
    assert (counts["atomic_insts"], counts["shared_atomic_insts"]) == (1, 1)
    assert (counts["atomic_words"], counts["atomic_bytes"]) == (32, 1024)


THREAD = "blockIdx.x * 256 + threadIdx.x"
#: Each atomic's address, the words that a warp changes, and the bytes that 64 blocks of 256 change.
PLACES = {
    "0": (1, 32),
    "threadIdx.x % 8": (8, 32),
    "blockIdx.x": (1, 4 * 64),
    f"16 * ({THREAD})": (32, 32 * 64 * 256),
    "values[threadIdx.x]": (32, 4096),  # of an array whose size is given
}


@pytest.mark.parametrize("place", PLACES)
def test_atomics_count_the_words_of_a_warp_and_the_bytes_of_a_launch(
    place: str, tmp_path: Path
) -> None:
    file = tmp_path / "add.cu"
    source = "__global__ void add(const int *values, int *bins) { atomicAdd(&bins[PLACE], 1); }"
    file.write_text(source.replace("PLACE", place))
    launch: dict[str, Any] = {"block": 256, "grid": 64, "array_bytes": {"bins": 4096}}
    if "values" not in place:
        launch["array_bytes"] = {}
    counts = dse.kernel(file, arch="sm_80", **launch)
    assert (counts["atomic_words"], counts["atomic_bytes"]) == PLACES[place]


def test_atomics_of_a_sector_take_turns(tmp_path: Path) -> None:
    """The time of atomics at one word grows with the launch, that of atomics apart does not."""
    file = tmp_path / "add.cu"
    for place, turns in (("0", lambda grid: 8 * grid), (f"16 * ({THREAD})", lambda grid: 1)):
        source = "__global__ void add(int *bins) { atomicAdd(&bins[PLACE], 1); }"
        file.write_text(source.replace("PLACE", place))
        for grid in (2**12, 2**15):
            counts = dse.kernel(file, arch="sm_90", block=256, grid=grid)
            values = {n: v for n, v in counts.items() if n in TABLE}
            model = "occupancy + latency_roofline + footprint"
            ds = dse.evaluate(model, machine="h100_sxm", core_clock="1 GHz", **values)
            assert float(ds.atomic_time) == pytest.approx(turns(grid) * 2.2e-9)


def test_blocks_of_a_histogram_take_turns_as_on_an_h100() -> None:
    """Rows of docs/gpu-validation with 4 million values: without atomics, all take 15 µs."""
    rows = pd.read_csv("docs/gpu-validation/kernels-h100.csv")
    rows = rows[(rows.kernel == "histogram") & (rows.problem == "n=4194304 data=uniform")]
    rows = rows[(rows.grid_x >= 4096) & (rows.block_x >= 256)]
    assert len(rows) == 3
    for row in rows.itertuples():
        launch: dict[str, Any] = {"block": row.block_x, "grid": row.grid_x, "moves": False}
        answer = dse.analyze(
            "examples/kernels/histogram.cu", "h100_sxm", set={"n": 2**22}, **launch
        )
        assert answer.best.bottleneck == "atomic"
        assert 0.75 < answer.best.time / row._8 < 1.05


COPY = """
__global__ void stage(const float4 *from, float4 *to, int last)
{
    __shared__ float4 own[128];
    unsigned at = __cvta_generic_to_shared(&own[threadIdx.x]);
    if (threadIdx.x <= last)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at),
                     "l"(from + blockIdx.x * 128 + threadIdx.x));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    to[blockIdx.x * 128 + threadIdx.x] = own[threadIdx.x ^ 1];
}
"""


@pytest.mark.parametrize(("last", "lanes"), [(127, 32), (79, 20)])
def test_asynchronous_copies_have_their_bytes(last: int, lanes: float, tmp_path: Path) -> None:
    """If 80 of 128 threads copy, two and a half of four warps copy 512 bytes each."""
    file = tmp_path / "stage.cu"
    file.write_text(COPY)
    counts = dse.kernel(file, block=128, grid=8, set={"last": last})
    assert counts["async_copy_bytes"] == pytest.approx(16 * lanes)


def test_tiles_of_halves_are_counted_as_an_h100_counts_them() -> None:
    """HMMA, global loads and wavefronts of docs/gpu-validation (NVIDIA H100, Nsight Compute)."""
    counts = dse.kernel(
        Path(__file__).parents[2] / "examples" / "kernels" / "gemm_mma.cu",
        arch="sm_90",
        block=256,
        grid=("N / TILE_N", "M / TILE_M"),
        set={"M": 4096, "N": 4096, "K": 4096},
    )
    warps = counts["blocks"] * 8
    assert counts["tensor_insts"] * warps == 33554432
    assert counts.numbers["global_load_requests"] * warps == 4194304
    assert counts.numbers["global_store_requests"] * warps == 262144
    assert counts["shared_wavefronts"] * warps == pytest.approx(50406676 + 25611489, rel=0.01)


BULK = """
#include <cuda/barrier>
__global__ void stage(const float *from, float *to)
{
    __shared__ alignas(128) float own[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(own, from + blockIdx.x * 1024,
                                      cuda::aligned_size_t<16>(4096), ready);
        token = cuda::device::barrier_arrive_tx(ready, 1, 4096);
    } else token = ready.arrive();
    ready.wait(std::move(token));
    to[blockIdx.x * 1024 + threadIdx.x] = own[threadIdx.x];
}
"""


def test_a_bulk_copy_of_one_thread_has_the_bytes_of_its_operand(tmp_path: Path) -> None:
    """One thread of a block of eight warps copies 4 KiB; each thread stores 4 bytes."""
    file = tmp_path / "stage.cu"
    file.write_text(BULK)
    counts = dse.kernel(file, arch="sm_90", block=256, grid=64)
    assert counts["async_copy_bytes"] * 8 == 4096
    assert counts["warp_bytes"] * 8 == 4096 + 1024
    assert counts["launch_bytes"] == 64 * (4096 + 1024)


def test_a_table_of_tiles_has_the_type_and_constant_operations(tmp_path: Path) -> None:
    ds = dse.kernel(
        Path(__file__).parents[2] / "examples" / "kernels" / "gemm_mma.cu",
        define={"TILE_M": [64, 128]},
        block="32 * (TILE_M / WARP_M) * (TILE_N / WARP_N)",
        grid=("N / TILE_N", "M / TILE_M"),
        set={"M": 512, "N": 512, "K": 128},
    )
    assert ds.tensor_type.values.tolist() == ["fp16", "fp16"]
    work = ds.warp_tensor_flops * ds.blocks * ds.threads_per_block / 32
    assert work.values.tolist() == [2 * 512 * 512 * 128] * 2
    dse.export(ds, tmp_path / "tiles.csv")
    assert "fp16" in (tmp_path / "tiles.csv").read_text()
