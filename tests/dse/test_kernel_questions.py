"""Questions of the kernel counter: none that the launch decides, each named by its meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from symbolic.errors import DseError

GEMM = """
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[BM * BK], Bs[BK * BN];
    const KIND tid = threadIdx.x;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tr = tid / (BN / TN), tc = tid % (BN / TN);
    float acc[TM][TN] = {0};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (KIND i = tid; i < BM * BK; i += 256) As[i] = A[(row0 + i / BK) * K + k0 + i % BK];
        for (KIND i = tid; i < BK * BN; i += 256) Bs[i] = B[(k0 + i / BN) * N + col0 + i % BN];
        __syncthreads();
        for (int k = 0; k < BK; k++)
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    acc[i][j] += As[(tr * TM + i) * BK + k] * Bs[k * BN + tc * TN + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            C[(row0 + tr * TM + i) * N + col0 + tc * TN + j] = acc[i][j];
}
"""


@pytest.mark.parametrize("kind", ["int", "unsigned"])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("tile", [(64, 64, 16, 4, 4), (128, 64, 16, 8, 4), (32, 128, 32, 2, 8)])
def test_branches_that_the_block_decides_ask_nothing(
    kind: str, arch: str, tile: tuple[int, ...], tmp_path: Path
) -> None:
    """Every tile loads its bytes and computes all products: 2 M N K operations in total."""
    file = tmp_path / "product.cu"
    file.write_text(GEMM.replace("KIND", kind))
    names = ("BM", "BN", "BK", "TM", "TN")
    rows, columns, depth, *own = tile
    size, grid = 1024, (1024 // columns, 1024 // rows)
    counts = dse.kernel(
        file,
        arch=arch,
        define=dict(zip(names, tile, strict=True)),
        block=256,
        grid=grid,
        set={"M": size, "N": size, "K": size},
    )
    threads = 256 * grid[0] * grid[1]
    assert counts.numbers["flops"] * threads == pytest.approx(2 * size**3)
    loads = size / depth * (rows + columns) * depth / 256
    assert counts["coalesced_insts"] + counts["uncoalesced_insts"] == pytest.approx(
        loads + own[0] * own[1]
    )


ASKS = """
__global__ void walk(const int *next, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        int at = i;
        while (at >= 0) {
            sum += x[at];
            at = next[at];
        }
        if (next[i + k] > 3) {
            y[i + k] = sum;
            sum = x[i * k];
        }
    }
    y[i] = sum;
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_questions_have_their_own_line_a_meaning_and_an_example(arch: str, tmp_path: Path) -> None:
    file = tmp_path / "walk.cu"
    file.write_text(ASKS)
    with pytest.raises(DseError) as error:
        dse.kernel(file, arch=arch, grid=16, set={"n": 4})
    message = str(error.value)
    assert "trips_line_8" in message
    assert "mean trip count of the loop at line 8: while (at >= 0) {" in message
    assert "trips_line_8=16" in message


SKIP = """
__global__ void choose(const int *flag, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, bits = flag[i];
    if (__popc(bits) > 3) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += y[k] * y[k + 1];
        y[i] = sum;
    }
}
"""


def test_the_share_that_skips_is_what_it_says(tmp_path: Path) -> None:
    """The share 1 leaves out the loop, 0 counts all of it; chance is the older name."""
    file = tmp_path / "choose.cu"
    file.write_text(SKIP)
    with pytest.raises(DseError, match=r"skip_line_5: share of threads \(0 to 1\) that skip lines"):
        dse.kernel(file, set={"n": 64})
    flops = {
        share: dse.kernel(file, {name: share}, set={"n": 64}).numbers["flops"]
        for name, share in (("skip_line_5", 1.0), ("skip_line_5", 0.0), ("chance_line_5", 0.25))
    }
    assert flops == {1.0: 0, 0.0: 128, 0.25: 96}


def test_paths_for_special_values_are_assumptions_that_can_be_set(tmp_path: Path) -> None:
    """The source has no branch; that of sinf for large arguments is not taken unless it is set."""
    file = tmp_path / "wave.cu"
    file.write_text(
        "__global__ void wave(const float *x, float *y)\n{\n"
        "    y[threadIdx.x] = sinf(x[threadIdx.x]);\n}\n"
    )
    counts = dse.kernel(file)
    assert "slow_line_3=SHARE" in counts.assumed["comp_insts"]
    always = dse.kernel(file, {"slow_line_3": 1})
    assert always["comp_insts"] > counts["comp_insts"] + 50


WAIT = """
#include <cuda/barrier>
__global__ void stage(const float *a, float *b)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ float own[256];
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    cuda::memcpy_async(&own[threadIdx.x], a + threadIdx.x, sizeof(float), ready);
    ready.arrive_and_wait();
    b[threadIdx.x] = own[threadIdx.x ^ 1];
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_wait_for_other_threads_asks_nothing(arch: str, tmp_path: Path) -> None:
    file = tmp_path / "stage.cu"
    file.write_text(WAIT)
    counts = dse.kernel(file, arch=arch, block=256)
    assert "polls" in counts.assumed["comp_insts"]
    assert counts["async_copy_bytes"] == 128


COPY = """
__global__ void copy(const float *a, float *b, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) b[i] = a[i];
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_a_copy_has_no_floating_point(arch: str, tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(COPY)
    assert dse.kernel(file, arch=arch, block=256, set={"N": 10**6})["fp_insts"] == 0
