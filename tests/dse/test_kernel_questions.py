"""Questions of the kernel counter: none that the launch decides, each named by its meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from dse.cuda.tuning_space import count_variants
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


DIVIDE = """
__global__ void divide(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; k++)
        c[i + k * n] = a[i + k * n] / b[i];
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_slow_path_of_a_division_is_one_assumption_that_can_be_set(
    arch: str, tmp_path: Path
) -> None:
    """A share of 1, as for 0 / 0, counts the instructions of the called function eight times."""
    file = tmp_path / "divide.cu"
    file.write_text(DIVIDE)
    name = "slow_line_6"
    counts = dse.kernel(file, arch=arch, set={"n": 4096})
    assert counts.assumed["comp_insts"].count("slow path") == 1
    assert name in counts.assumed["comp_insts"]
    always = dse.kernel(file, {name: 1}, arch=arch, set={"n": 4096})
    half = dse.kernel(file, {name: 0.5}, arch=arch, set={"n": 4096})
    assert "not counted" not in always.assumed.get("comp_insts", "")
    settings: dict[str, Any] = {"arch": arch, "entry": "", "options": (), "set": {"n": 4096}}
    settings |= {"times": {}, "block": (256,), "grid": (), "moving": ""}
    (variant,) = count_variants(file, [{}], settings, use_cache=False)
    assert variant["assumed"]["comp_insts"] == counts.assumed["comp_insts"]
    assert always["comp_insts"] > counts["comp_insts"] + 8 * 20
    assert half["comp_insts"] == pytest.approx((always["comp_insts"] + counts["comp_insts"]) / 2)


RECIPROCAL = """
__device__ float inverse(float x) { return 1.f / x; }
__global__ void scale(const float *in, float *out)
{
    __shared__ float sum[256];
    sum[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    float factor = CALL;
    out[blockIdx.x * 256 + threadIdx.x] = sum[threadIdx.x] * factor;
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("call", ["1.f / sum[0]", "inverse(sum[0])", "rsqrtf(sqrtf(sum[0]))"])
def test_a_division_by_a_loaded_value_takes_no_slow_path(
    arch: str, call: str, tmp_path: Path
) -> None:
    """All threads load the same divisor, so its bits would decide whether the warp branches."""
    file = tmp_path / "scale.cu"
    file.write_text(RECIPROCAL.replace("CALL", call))
    counts = dse.kernel(file, arch=arch, block=256, grid=64)
    assert "no thread takes the slow path" in counts.assumed["comp_insts"]
    assert counts["comp_insts"] < 40


KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
#: Launches of the example kernels; the loops of spmv_csr depend on the data.
LAUNCHES: dict[str, dict[str, Any]] = {
    "axpy": {"set": {"n": 2**20}},
    "stencil2d": {"block": (32, 8), "set": {"width": 4096, "height": 4096}},
    "gemm": {
        "block": ("TILE_N / THREAD_N", "TILE_M / THREAD_M"),
        "grid": ("N / TILE_N", "M / TILE_M"),
        "set": {"M": 1024, "N": 512, "K": 256},
        "flops": "2 * M * N * K",
    },
    "gemm_mma": {
        "block": "32 * (TILE_M / WARP_M) * (TILE_N / WARP_N)",
        "grid": ("N / TILE_N", "M / TILE_M"),
        "set": {"M": 1024, "N": 512, "K": 256},
    },
    "reduction": {"grid": 1024, "set": {"n": 2**20}},
    "softmax": {"grid": 4096, "set": {"columns": 4096}},
    "layer_norm": {"grid": 4096, "set": {"columns": 4096}},
    "transpose": {
        "block": ("TILE", "ROWS"),
        "grid": ("width / TILE", "height / TILE"),
        "set": {"width": 4096, "height": 2048},
    },
    "histogram": {"grid": 1024, "set": {"n": 2**20}},
    "scan": {"grid": 4096, "set": {"n": 2**20}},
    "spmv_csr": {"set": {"rows": 2**17}, "times": {"loaded_line_20": 0, "loaded_line_19": 64}},
    "nbody": {"grid": 64, "set": {"n": 16384}},
}


@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_the_example_kernels_ask_nothing_that_source_and_launch_decide(
    name: str, arch: str
) -> None:
    counts = dse.kernel(KERNELS / f"{name}.cu", arch=arch, **LAUNCHES[name])
    assert counts["blocks"] > 1
    if name == "gemm_mma":
        launched = counts["blocks"] * counts["threads_per_block"] / 32
        assert counts["warp_tensor_flops"] * launched == 2 * 1024 * 512 * 256
