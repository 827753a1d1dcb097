"""Functions that kernels call, and loops that rest on the counters of others, against Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import dse
from dse.cuda.compile import compile_source
from tests.dse.test_kernel_source import by_place, compiling

SOURCE = """
__device__ __noinline__ float near(float x, int n) {
    float s = x;
    #pragma unroll 1
    for (int i = 0; i < n; i++) s = s * x + 1;
    return s;
}
__device__ __noinline__ float two(float x, int n) { return near(x, n) + near(x + 1, 2 * n); }
__global__ void in_loop(float *x, int n, int m) {
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < m; i++) s += near(x[i], n);
    x[threadIdx.x] = s;
}
__global__ void nested(float *x, int n) { x[threadIdx.x] = two(x[0], n); }
__global__ void either(float *x, int n, int m) {
    x[threadIdx.x] = n > m ? near(x[0], n) : near(x[1], m) + 3;
}
__global__ void below(const float *x, float *y, int n) {
    float s = 0;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j += 3) s += x[i * n + j];
    y[threadIdx.x] = s;
}
__global__ void down(const float *x, float *y, int n) {
    float s = 0;
    for (int i = n - 1; i >= 0; i -= 3)
        #pragma unroll 1
        for (unsigned j = 0; j < i / 2; j++) s += x[i * n + j];
    y[threadIdx.x] = s;
}
__global__ void thrice(const float *x, float *y, int n) {
    float s = 0;
    #pragma unroll 1
    for (int i = 0; i < n; i++)
        #pragma unroll 1
        for (int j = 0; j < i; j++)
            #pragma unroll 1
            for (int k = j; k < i; k++) s += x[i * n + j + k];
    y[threadIdx.x] = s;
}
"""
#: Of each kernel the operations on numbers at ``n`` and ``m``: what its loops come to.
FLOPS: dict[str, Callable[[int, int], int]] = {
    "in_loop": lambda n, m: sum(1 + 2 * n for _ in range(m)),
    "nested": lambda n, m: 2 + sum(2 for _ in range(n)) + sum(2 for _ in range(2 * n)),
    "either": lambda n, m: 2 * n if n > m else 2 * m + 1,
    "below": lambda n, m: sum(1 for i in range(n) for _ in range(i, n, 3)),
    "down": lambda n, m: sum(1 for i in range(n - 1, -1, -3) for _ in range(i // 2)),
    "thrice": lambda n, m: sum(1 for i in range(n) for j in range(i) for _ in range(j, i)),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calls") / "calls.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def cubins() -> dict[int, bytes]:
    return {arch: compile_source(SOURCE, arch)[0] for arch in (75, 100)}


@compiling
@pytest.mark.parametrize("arch", [75, 100])
@pytest.mark.parametrize("entry", FLOPS)
def test_calls_and_loops_of_loops_come_to_what_python_does(
    cubins: dict[int, bytes], entry: str, arch: int
) -> None:
    for n, m in ((31, 7), (20, 25)) if entry == "thrice" else ((100, 7), (37, 50)):
        given = {"n": n, "m": m} if f"{entry}(float *x, int n, int m)" in SOURCE else {"n": n}
        values = by_place(SOURCE, entry, given)
        result = dse.kernel(cubins[arch], entry=entry, block=[32], set=values)
        assert result.numbers["flops"] == FLOPS[entry](n, m)
        assert "comp_insts" not in result.assumed


@compiling
def test_a_called_function_is_counted_by_formulas_in_the_arguments(source: Path) -> None:
    result = dse.kernel(source, entry="in_loop", block=[32], set={"n": 5, "m": 7})
    assert any("m * n" in str(value) for _, value in result.declared.values())
    assert result.numbers["flops"] == 7 * (1 + 2 * 5)
