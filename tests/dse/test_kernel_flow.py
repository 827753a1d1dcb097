"""Flow of machine code: exits of loops, jumps by tables, guards that move with a pass."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import dse
from symbolic.errors import DseError
from tests.dse.guarding import ARCHS, attack
from tests.dse.suite import SUITE, count_case, differences
from tests.dse.test_kernel_source import compiling
from tests.long import long, mostly_long

FIVE = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@compiling
@pytest.mark.parametrize("name", mostly_long(SUITE, lambda _, name: name in ("scan", "switching")))
def test_five_architectures_ask_memory_for_the_same(tmp_path: Path, name: str) -> None:
    assert not list(differences(name, tmp_path, FIVE))


@compiling
@pytest.mark.parametrize("arch", mostly_long(ARCHS, lambda _, arch: arch in ("sm_80", "sm_89")))
def test_a_loop_that_is_left_by_a_call_is_counted_with_what_is_behind_it(
    tmp_path: Path, arch: str
) -> None:
    path = tmp_path / "tile.cu"
    path.write_text(SUITE["register_tile"].text)
    result = dse.kernel(path, block=256, grid=(32, 32), arch=arch, set={"n": 4096, "depth": 4096})
    assert result.numbers["global_load_requests"] == 8 * 4096 / 8 + 64
    assert result.numbers["global_store_requests"] == 64
    if int(arch.removeprefix("sm_")) <= 90:  # addresses of 64 bits are not followed on later ones
        assert result["launch_bytes"] == 3 * 4096**2 * 4
        assert result["launch_updated_bytes"] == 4096**2 * 4  # c is loaded and stored
    assert "comp_insts" not in result.assumed


@compiling
@pytest.mark.parametrize("arch", mostly_long(ARCHS, lambda _, arch: arch in ("sm_80", "sm_120")))
def test_a_switch_is_counted_by_the_case_that_it_takes(tmp_path: Path, arch: str) -> None:
    path = tmp_path / "switching.cu"
    path.write_text(SUITE["switching"].text)
    expected = {0: (2, 1), 1: (3, 1), 2: (1, 3), 3: (4, 1), 4: (11, 1), 5: (1, 2), 6: (2, 1),
                7: (1, 1), 9: (1, 4), 100: (1, 1), -1: (1, 1)}  # fmt: skip
    for mode, (loads, stores) in expected.items():
        result = dse.kernel(path, block=64, grid=4, arch=arch, set={"mode": mode, "n": 10})
        numbers = result.numbers
        requests = numbers["global_load_requests"], numbers["global_store_requests"]
        assert requests == (loads, stores), mode


def _ghost_requests(sweeps: int, blocks: int, width: int) -> float:
    """Load requests of a warp of the kernel of ghost zones, by definition."""
    requests = warps = 0
    for block in range(blocks):
        left = (256 - 2 * sweeps) * block - sweeps
        right = left + 255
        low, high = max(-left, 0), 255 - max(right - width + 1, 0)
        for warp in range(8):
            lanes = range(32 * warp, 32 * warp + 32)
            warps += 1
            requests += any(0 <= left + me < width for me in lanes)
            for sweep in range(sweeps):
                requests += any(
                    sweep < me <= 254 - sweep and low <= me <= high for me in lanes
                )  # fmt: skip
    return requests / warps


@compiling
@pytest.mark.parametrize("sweeps", mostly_long([1, 2, 5, 20], lambda k, _: k in (0, 3)))
def test_a_guard_that_moves_with_the_pass_is_counted_pass_by_pass(
    tmp_path: Path, sweeps: int
) -> None:
    path = tmp_path / "ghost.cu"
    path.write_text(SUITE["pathfinder"].text)
    blocks = math.ceil(20000 / (256 - 2 * sweeps))
    given: dict[str, Any] = {"sweeps": sweeps, "width": 20000, "zone": sweeps, "first": 0}
    result = dse.kernel(path, block=256, grid=blocks, set=given)
    expected = _ghost_requests(sweeps, blocks, 20000)
    assert result.numbers["global_load_requests"] == pytest.approx(expected)
    assert result["load_requests"] == pytest.approx(expected)
    assert "sweeps" in result.holds_for["load_requests"]


@compiling
def test_drawn_kernels_ask_as_often_as_their_warps_do() -> None:
    assert not [(seed, what) for seed, _, what in attack(6, 330) if what]


@long
@compiling
@pytest.mark.parametrize("first", range(400, 460, 10))
def test_many_drawn_kernels_ask_as_often_as_their_warps_do(first: int) -> None:
    result = [(seed, what) for seed, _, what in attack(10, first) if what]
    assert not [each for each in result if not each[1].startswith(("refused", "marked"))]
    assert len(result) <= 1


@compiling
def test_bytes_that_are_stored_again_in_each_pass_are_touched_once(tmp_path: Path) -> None:
    path = tmp_path / "again.cu"
    path.write_text(
        "__global__ void again(const float *x, volatile float *y, int N) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    for (int k = 0; k < N; k++) y[i] = x[k * 1024 + i];\n}\n"
    )
    result = dse.kernel(path, block=256, grid=4, set={"N": 100})
    assert result["block_bytes"] == 256 * 4 * 100 + 256 * 4
    assert result["launch_bytes"] == 1024 * 4 * 101
    assert result.numbers["global_store_requests"] == 100


@compiling
def test_loops_with_several_exits_count_what_each_pass_does(tmp_path: Path) -> None:
    result = count_case("search", "sm_80", tmp_path)
    passes = [min(100, (120 + t) // 3 + 1) for t in range(64)]
    warps = [max(passes[:32]), max(passes[32:])]
    assert result.numbers["global_load_requests"] == sum(warps) / 2


@compiling
def test_a_kernel_in_an_included_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "part.cu").write_text(
        "__global__ void part(fp *a, int N) { a[threadIdx.x] += N; }\n"
    )
    main = tmp_path / "main.cu"
    main.write_text('typedef float fp;\n#include "part.cu"\nint main() { return 0; }\n')
    result = dse.kernel(main, block=64)
    assert result["global_insts"] == 2
    main.write_text(main.read_text() + "__global__ void own(fp *a) { a[threadIdx.x] = 1; }\n")
    assert dse.kernel(main)["global_insts"] == 1
    assert dse.kernel(main, entry="part")["global_insts"] == 2
    main.write_text('#include "absent.cu"\n')
    with pytest.raises(DseError, match="nor the headers found for it have a kernel"):
        dse.kernel(main)


@compiling
def test_what_a_source_lacks_is_named_first_and_the_tools_own_warnings_are_not_shown(
    tmp_path: Path,
) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(fp *a) { a[threadIdx.x] += 1; }\n")
    with pytest.raises(DseError) as caught:
        dse.kernel(path)
    lines = str(caught.value).splitlines()
    assert "fp is not defined (k.cu, line 1)" in lines[1]
    assert "--define fp=" in lines[1]
    assert "warning" not in str(caught.value)
    assert "names-of-hosts" not in str(caught.value)
    assert dse.kernel(path, define={"fp": "float"})["global_insts"] == 2
    path.write_text(
        "#include <lib/states.h>\n__global__ void k(State *a) { a[threadIdx.x].x += 1; }\n"
    )
    with pytest.raises(DseError, match=r"State is not defined .* lib/states\.h was not found"):
        dse.kernel(path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "states.h").write_text("struct State { int x, y; };\n")
    assert dse.kernel(path, options=[f"-I{tmp_path}"])["global_insts"] == 2


@compiling
def test_a_number_is_a_block_of_one_dimension(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(float *a) { a[threadIdx.x] += 1; }\n")
    result = dse.kernel(path, block=96, grid=3)
    assert (result["threads_per_block"], result["blocks"]) == (96, 3)
    wrong: list[Any] = [
        None,
        2.5,
        [1.5],
        0,
        -1,
        "x",
        [None],
        {},
        float("nan"),
        (1, 2, 3, 4),
    ]
    for block in wrong:
        with pytest.raises(DseError, match=r"block = .*expected one to three whole numbers"):
            dse.kernel(path, block=block)
    with pytest.raises(DseError, match="block = 2147483648 along x: expected at most 1024"):
        dse.kernel(path, block=[2**31])


CHUNKS = """__global__ void chunks(const float *x, float *y, unsigned size) {
    unsigned tid = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned i = tid * size; i < (tid + 1) * size; i++) sum += x[i];
    y[tid] = sum;
}
"""


@compiling
@pytest.mark.parametrize("arch", mostly_long(ARCHS, lambda _, arch: arch in ("sm_80", "sm_90")))
@pytest.mark.parametrize("size", [0, 1, 3, 16, 37, 200])
def test_an_unsigned_counter_of_an_unrolled_loop_is_followed(
    tmp_path: Path, arch: str, size: int
) -> None:
    path = tmp_path / "chunks.cu"
    path.write_text(CHUNKS)
    result = dse.kernel(path, block=64, grid=300, arch=arch, set={"size": size})
    assert result.numbers.get("global_load_requests", 0.0) == size
    assert "comp_insts" not in result.assumed


STENCIL = """
__global__ void stencil(const float *in, float *out, int nx, int ny, int nz, float a, float b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz) return;
    size_t i = ((size_t)z * ny + y) * nx + x, plane = (size_t)nx * ny;
    float sum = 0;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1)
        sum = in[i-1] + in[i+1] + in[i-nx] + in[i+nx] + in[i-plane] + in[i+plane];
    out[i] = a * in[i] + b * sum;
}"""


@compiling
@pytest.mark.parametrize(("arch", "least", "most"), [("sm_80", 3, 4), ("sm_90", 7, 7)])
def test_loads_are_in_flight_across_a_branch_that_does_not_use_them(
    tmp_path: Path, arch: str, least: float, most: float
) -> None:
    """The load before the branch of the edge is waited for with the six loads behind it.

    The code for 8.0 multiplies the loaded value before the branch, and so waits for it alone.
    """
    path = tmp_path / "stencil.cu"
    path.write_text(STENCIL)
    launch: dict[str, Any] = {"block": [32, 4, 2], "grid": [8, 64, 64]}
    counts = dse.kernel(path, arch=arch, set={"nx": 256, "ny": 256, "nz": 128}, **launch)
    assert least <= counts["mem_strength"] <= most
    assert 0 < counts["imad_insts"] < counts["int_insts"]
