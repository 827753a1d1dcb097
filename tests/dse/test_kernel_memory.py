"""Memory that a kernel is given: static and dynamic shared memory, and the sizes of arrays."""

from __future__ import annotations

from pathlib import Path

import pytest

import dse
from symbolic.errors import DseError

STATIC = """
__global__ void turn(float *a)
{
    __shared__ float own[BYTES / 4];
    own[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = own[threadIdx.x ^ 1];
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_100", "sm_120"])
def test_the_shared_memory_of_the_driver_is_counted_once(arch: str, tmp_path: Path) -> None:
    """Cubins of 9.0 and later include it in the size; the machine adds it in every case."""
    file = tmp_path / "turn.cu"
    file.write_text(STATIC)
    counts = dse.kernel(file, arch=arch, define={"BYTES": 37888}, block=256)
    assert counts["shared_mem_per_block"] == 37888
    ds = dse.evaluate(
        "occupancy",
        machine="h100_pcie",
        threads_per_block=256,
        registers_per_thread=32,
        shared_mem_per_block=counts["shared_mem_per_block"],
        outputs=["blocks_by_shared_mem"],
    )
    assert ds.blocks_by_shared_mem == 6  # of 228 KiB, 37 KiB and 1 KiB each


DYNAMIC = """
extern __shared__ float own[];
__global__ void turn(float *a)
{
    __shared__ float more[64];
    more[threadIdx.x % 64] = a[threadIdx.x];
    own[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = own[threadIdx.x ^ 1] + more[threadIdx.x / 4];
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_dynamic_shared_memory_is_added_or_stated_as_unknown(arch: str, tmp_path: Path) -> None:
    file = tmp_path / "turn.cu"
    file.write_text(DYNAMIC)
    unknown = dse.kernel(file, arch=arch)
    assert unknown["shared_mem_per_block"] == 256
    assert "--dynamic-shared BYTES" in unknown.assumed["shared_mem_per_block"]
    counts = dse.kernel(file, arch=arch, dynamic_shared=1000)
    assert counts["shared_mem_per_block"] == 1256
    assert "shared_mem_per_block" not in counts.assumed
    follows = dse.kernel(file, arch=arch, block=128, dynamic_shared="4 * block_x")
    assert follows["shared_mem_per_block"] == 256 + 512
    assert follows.formulas["shared_mem_per_block"] == "256 + 4 * threads_per_block"


GATHER = """
__global__ void gather(const int *at, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += x[at[i + k * n]];
    y[i] = sum;
}
"""


def test_data_dependent_addresses_are_bounded_by_the_size_of_their_array(tmp_path: Path) -> None:
    """The launch loads each word of a small table at most once from DRAM."""
    file = tmp_path / "gather.cu"
    file.write_text(GATHER)
    launch = {"block": 256, "grid": 1024, "set": {"n": 512}}
    unknown = dse.kernel(file, **launch)  # type: ignore[arg-type]
    assert "--bytes ARRAY=BYTES" in unknown.assumed["launch_bytes"]
    counts = dse.kernel(file, array_bytes={"x": "4 * n"}, **launch)  # type: ignore[arg-type]
    assert counts["launch_bytes"] == unknown["launch_bytes"] - 4 * 256 * 1024 * 512 + 4 * 512
    both = dse.kernel(file, array_bytes={"x": 2048, "at": 4096}, **launch)  # type: ignore[arg-type]
    assert both["launch_bytes"] == 2048 + 4096 + 4 * 256 * 1024
    with pytest.raises(DseError, match="the kernel has no array 'z'"):
        dse.kernel(file, array_bytes={"z": 1}, **launch)  # type: ignore[arg-type]


REPEATED = """
__global__ void repeat(const int *at, volatile float *y, int n)
{
    int place = at[threadIdx.x];
    for (int k = 0; k < n; k++) y[place] = k;
}
"""


def test_stores_to_one_place_in_each_pass_touch_it_once(tmp_path: Path) -> None:
    file = tmp_path / "repeat.cu"
    file.write_text(REPEATED)
    once, often = (dse.kernel(file, grid=8, set={"n": n})["block_bytes"] for n in (1, 1000))
    assert once == often
