"""The longest warp of a block: the work of one warp of a large block, and the block's time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dse
from dse.cuda.instruction_counts import KernelCounts
from tests.dse.test_kernel_source import compiling

GPU = "occupancy + latency_roofline + footprint"
NAMES = ("longest_warp_insts", "longest_warp_loads")
PLACE = "int i = blockIdx.x * 32 + threadIdx.x;"
COMPUTES = f"{PLACE} float s = a[i]; for (int k = 0; k < n; ++k) s = s * 1.01f + 0.5f; b[i] = s;"
LOADS = f"{PLACE} float s = 0; for (int k = 0; k < n; ++k) s += a[(i + k) * 32]; b[i] = s;"


def counts(tmp_path: Path, body: str, block: int, n: int = 4096) -> KernelCounts:
    file = tmp_path / "k.cu"
    file.write_text(f"__global__ void k(const float *a, float *b, int n) {{ {body} }}")
    result = dse.kernel(file, arch="sm_90", block=block, grid=132, set={"n": n})
    assert isinstance(result, KernelCounts)
    return result


@compiling
@pytest.mark.parametrize("work", [COMPUTES, LOADS])
def test_one_working_warp_of_a_block_takes_as_long_as_a_block_of_one_warp(
    tmp_path: Path, work: str
) -> None:
    """It was averaged with idle warps: 4.2 us for 32 warps of which one works, instead of 15.8."""
    small = counts(tmp_path, work, 32)
    assert not {*NAMES} & {*small}
    times = [_time(small)]
    for block in (64, 256, 1024):
        large = counts(tmp_path, f"if (threadIdx.x < 32) {{ {work} }}", block)
        # the slow twin: a block of one warp, and one instruction of the guard
        assert large.numbers["all"] * large["longest_warp_insts"] == pytest.approx(
            small.numbers["all"], rel=1e-3
        )
        assert large["longest_warp_loads"] == pytest.approx(block / 32)
        times.append(_time(large))
    assert times == pytest.approx(times[:1] * 4, rel=0.02)


def _time(result: KernelCounts) -> float:
    return float(dse.evaluate(GPU, machine="h100_sxm", **dict[str, Any](result)).time)


@compiling
def test_even_work_has_no_longest_warp(tmp_path: Path) -> None:
    """Neither a check of bounds in the last block nor lanes that differ within warps count."""
    place = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    for body in (
        f"{place} if (i < n) b[i] = a[i];",
        f"{place} for (int k = 0; k < threadIdx.x % 32; ++k) b[i] += a[i + k];",
    ):
        assert not {*NAMES} & {*counts(tmp_path, body, 256, n=132 * 256 - 37)}, body


@compiling
def test_the_longest_warp_is_that_of_each_block(tmp_path: Path) -> None:
    """Blocks of even warps that differ from each other are uneven work of another kind."""
    place = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    even = f"{place} for (int k = 0; k < blockIdx.x; ++k) b[i] += a[i * n + k];"
    assert not {*NAMES} & {*counts(tmp_path, even, 256)}
    loop = "#pragma unroll 1\n for (int k = 0; k < threadIdx.x / 32; ++k)"
    uneven = f"{place} float s = 0;\n{loop} s += a[i * n + k]; b[i] = s;"
    result = counts(tmp_path, uneven, 256)
    assert result["longest_warp_loads"] == 2  # warps 0 to 7 load so often: 7 of a mean of 3.5
    assert "threads_per_block" in result.holds_for["longest_warp_loads"]
