"""Blocks of a launch: a study of them keeps the work, counts each, or is refused with a reason."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import dse
from dse.cli import main
from dse.cuda.instruction_counts import join_blocks
from symbolic.errors import DseError

KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
MODEL = "occupancy + latency_roofline + footprint"
TWICE = """
__global__ void twice(float *a, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    a[y * n + x] *= 2;
}
"""


UNEVEN = """
__global__ void uneven(float *a)
{
    float value = 0;
    if (threadIdx.x < 32)
        for (int i = 0; i < 64; i++)
            value = value * value + i * a[blockIdx.x * 4096 + i];
    for (int k = threadIdx.x; k < 4096; k += blockDim.x)
        a[blockIdx.x * 4096 + k] += value;
}
"""


def test_quantities_that_only_some_blocks_have_take_their_default(tmp_path: Path) -> None:
    """The only warp of a block of 32 threads is no longer than the mean of its warps."""
    path, out = tmp_path / "uneven.cu", tmp_path / "uneven.toml"
    path.write_text(UNEVEN)
    sizes = [32, 64, 256]
    for order in (sizes, sizes[::-1]):
        out.unlink(missing_ok=True)
        words = [word for size in order for word in ("--block", str(size))]
        arguments = ["kernel", str(path), "--grid", "1024", *words, "--out", str(out)]
        assert CliRunner().invoke(main, arguments).exit_code == 0
        names = ["longest_warp_insts", "time"]
        axes = {"threads_per_block": sizes}
        about: dict[str, Any] = {"machine": "h100_sxm", "workload": str(out), "outputs": names}
        ds = dse.Study(model=MODEL, axes=axes, **about).run()
        for place, size in enumerate(sizes):
            counts = dse.kernel(path, block=size, grid=1024)
            known = counts.get("longest_warp_insts", 1)
            assert ds.longest_warp_insts.values[place] == pytest.approx(known)
        assert ds.longest_warp_insts.values[0] == 1 < ds.longest_warp_insts.values[2]


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """A kernel with a grid of two dimensions and no bounds check."""
    file = tmp_path / "twice.cu"
    file.write_text(TWICE)
    return file


def test_a_study_of_blocks_keeps_the_threads_of_a_grid_of_two_dimensions(
    twice: Path, tmp_path: Path
) -> None:
    counts = dse.kernel(twice, block=256, grid=(16, 4096), set={"n": 4096})
    (tmp_path / "twice.toml").write_text(counts.toml())
    sizes = [32, 64, 128, 256, 512, 1024]
    ds = dse.evaluate(
        MODEL,
        machine="a100_80",
        workload=str(tmp_path / "twice.toml"),
        threads_per_block=sizes,
        dispatch_cycles=0,  # small blocks take as long as their start
        outputs=["blocks", "launch_bytes", "time"],
    )
    assert (ds.blocks.values * sizes).tolist() == [4096 * 4096] * len(sizes)
    assert ds.launch_bytes.values.tolist() == [4 * 4096 * 4096] * len(sizes)
    assert ds.time.max() < 1.5 * ds.time.min()


def test_what_follows_from_another_size_is_refused_with_the_formula(
    twice: Path, tmp_path: Path
) -> None:
    path = tmp_path / "twice.toml"
    path.write_text(dse.kernel(twice, block=256, grid=(16, 4096), set={"n": 4096}).toml())
    with pytest.raises(DseError, match="follows from block_x = threads_per_block"):
        dse.evaluate(MODEL, machine="a100_80", workload=str(path), block_x=[32, 64])
    path.write_text(dse.kernel(twice, block=(16, 16), grid=(16, 64), set={"n": 256}).toml())
    with pytest.raises(DseError, match=r"threads_per_block = block_x \* block_y \* block_z"):
        dse.evaluate(MODEL, machine="a100_80", workload=str(path), threads_per_block=[32, 64])


def test_counts_that_do_not_hold_are_named_for_all_workloads_at_once(
    twice: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "one.toml", tmp_path / "two.toml"]
    for file in files:
        file.write_text(dse.kernel(twice, block=256, grid=(16, 4096), set={"n": 4096}).toml())
    names = [*map(str, files), str(KERNELS / "triad.toml")]
    with pytest.raises(DseError) as error:
        dse.evaluate(MODEL, machine="a100_80", workload=names, block_x=[32, 64])
    assert str(error.value).startswith("blocks of the workload one follows from")
    assert str(error.value).endswith("yourself; likewise for two")
    with pytest.raises(DseError) as error:
        dse.evaluate(MODEL, machine="a100_80", workload=names[1:], block_x=[32, 64])
    assert "likewise" not in str(error.value)


def test_several_blocks_need_a_grid_that_follows(twice: Path) -> None:
    with pytest.raises(DseError, match=r"is for one block, and threads take elements along x"):
        dse.kernel(twice, block=[[256], [128]], grid=(16, 4096), set={"n": 4096})
    ds = dse.kernel(twice, block=[[256], [96]], grid=("ceil(n/block_x)", 4096), set={"n": 4096})
    assert ds.block.values.tolist() == ["256x1x1", "96x1x1"]
    assert ds.blocks.values.tolist() == [16 * 4096, 43 * 4096]


def test_a_grid_that_is_not_whole_is_refused_with_a_way_out(twice: Path) -> None:
    with pytest.raises(DseError, match=r"n / 96 is 42.6667: .* write ceil\(n / 96\)"):
        dse.kernel(twice, grid="n / 96", set={"n": 4096})
    with pytest.raises(DseError, match="expected one to three whole numbers, or formulas"):
        dse.kernel(twice, grid="m / 96", set={"n": 4096})


def warps_by_definition(shape: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    """Return the warps of the stencil with a cell, and those with an inner one."""
    grid = -(-width // shape[0]), -(-height // shape[1])
    some = inner_ones = 0
    for block_y, block_x in itertools.product(range(grid[1]), range(grid[0])):
        thread = np.arange(shape[0] * shape[1]).reshape(-1, 32)
        x = block_x * shape[0] + thread % shape[0]
        y = block_y * shape[1] + thread // shape[0]
        inside = (x < width) & (y < height)
        inner = inside & (x > 0) & (x < width - 1) & (y > 0) & (y < height - 1)
        some += int(inside.any(axis=1).sum())
        inner_ones += int(inner.any(axis=1).sum())
    return some, inner_ones


SHAPES = [(32, 8), (16, 16), (64, 4), (128, 1), (8, 32), (256, 1)]


def test_the_grid_of_a_stencil_follows_its_bounds_checks_at_every_block() -> None:
    """Without a grid; counts agree with those of each launch alone and with all warps by hand."""
    width, height = 500, 300
    about: dict[str, Any] = {"set": {"width": width, "height": height}}
    ds = dse.kernel(KERNELS / "stencil2d.cu", block=SHAPES, **about)
    for number, shape in enumerate(SHAPES):
        row = ds.isel(block=number)
        grid = (-(-width // shape[0]), -(-height // shape[1]))
        alone = dse.kernel(KERNELS / "stencil2d.cu", block=shape, grid=grid, **about)
        for name in ("blocks", "load_requests", "comp_insts", "warp_bytes", "launch_bytes"):
            assert float(row[name]) == pytest.approx(alone[name]), (shape, name)
        warps = float(row.blocks) * shape[0] * shape[1] / 32
        some, inner = warps_by_definition(shape, width, height)
        assert float(row.load_requests) * warps == pytest.approx(some + 4 * inner, rel=1e-3)
        assert float(row.flops) * warps == pytest.approx(7 * inner, rel=1e-3)


def test_the_work_of_a_product_is_constant_over_tiles_and_blocks() -> None:
    ds = dse.kernel(
        KERNELS / "gemm.cu",
        define={"TILE_M": [32, 64], "TILE_N": [64, 128]},
        block=("TILE_N / THREAD_N", "TILE_M / THREAD_M"),
        grid=("N / TILE_N", "M / TILE_M"),
        set={"M": 512, "N": 1024, "K": 256},
    )
    work = ds.flops * ds.threads_per_block * ds.blocks
    assert work.values.ravel().tolist() == pytest.approx([2 * 512 * 1024 * 256] * 4)


def test_a_block_that_the_source_fixes_cannot_vary() -> None:
    with pytest.raises(DseError, match=r"gemm has a block of its own: it reads threadIdx.x"):
        dse.kernel(
            KERNELS / "gemm.cu",
            block=[[16, 16], [8, 8]],
            grid=("N / TILE_N", "M / TILE_M"),
            set={"M": 512, "N": 512, "K": 256},
        )


@pytest.mark.parametrize("columns", [4096, 1000])
def test_blocks_that_take_a_row_each_keep_the_number_of_blocks(columns: int) -> None:
    """All elements are read three times at every block, and the file pins the block."""
    ds = dse.kernel(
        KERNELS / "softmax.cu", block=[[64], [128], [512]], grid=1024, set={"columns": columns}
    )
    assert ds.blocks.values.tolist() == [1024] * 3
    counts = dse.kernel(KERNELS / "softmax.cu", block=128, grid=1024, set={"columns": columns})
    assert counts.holds_for["blocks"] == ["threads_per_block"]
    assert counts.formulas["elements"] == "blocks * threads_per_block"


def test_the_grid_is_a_formula_of_the_problem_in_the_file(tmp_path: Path) -> None:
    """A study may vary the problem where counts are formulas: threads follow the bounds check."""
    counts = dse.kernel(KERNELS / "axpy.cu", set={"n": 2**20})
    assert counts["blocks"] == 4096
    assert counts.formulas["elements"] == "n"
    counts = dse.kernel(
        KERNELS / "gemm.cu",
        block=(16, 16),
        grid=("ceil(N / TILE_N)", "ceil(M / TILE_M)"),
        set={"M": 512, "N": 1000, "K": 256},
    )
    assert counts.formulas["grid_x"] == "ceil(n / 64)"
    assert counts.quantities["grid_x"] == 16
    assert counts.holds_for["grid_x"] == ["block_x"]


TILES = """
__global__ void tiles(const float *a, float *b, int n)
{
    __shared__ float own[2048];
    const unsigned first = blockIdx.x * 2048;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        for (unsigned i = threadIdx.x; i < 2048; i += 256) own[i] = a[first + i + k * 7];
        __syncthreads();
        for (unsigned i = threadIdx.x; i < 1024; i += 256) sum += own[2 * i];
        __syncthreads();
    }
    b[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""


@pytest.mark.parametrize("grid", [64, (8, 8)])
@pytest.mark.parametrize("block", [256, (16, 16)])
def test_counts_of_one_launch_are_written_and_read_back(
    grid: Any, block: Any, tmp_path: Path
) -> None:
    """Whatever decided a count is in the file with a number; a change of it is refused."""
    file = tmp_path / "tiles.cu"
    file.write_text(TILES)
    counts = dse.kernel(file, block=block, grid=grid, set={"n": 16})
    path = tmp_path / "tiles.toml"
    path.write_text(counts.toml())
    given: dict[str, Any] = {"machine": "a100_80", "workload": str(path)}
    ds = dse.evaluate(MODEL, outputs=["time", "blocks"], **given)
    assert ds.blocks == 64
    assert ds.time > 0
    size = "block_x" if block == (16, 16) else "threads_per_block"
    given[size] = 32
    with pytest.raises(DseError, match=f"{size} = "):
        dse.evaluate(MODEL, outputs=["time"], **given)


INDEX = "blockIdx.x * blockDim.x + threadIdx.x"
#: Bodies of kernels, and the threads that their bounds checks need for n = 1000.
BOUNDS = {
    "one": ("int i = INDEX; if (i < n) b[i] = a[i];", "n", 1000),
    "unsigned": ("unsigned i = INDEX; if (i < (unsigned)n) b[i] = a[i];", "n", 1000),
    "long": ("size_t i = (size_t)INDEX; if (i < size) b[i] = a[i];", "size", 1000),
    "return": ("int i = INDEX; if (i >= n) return; b[i] = a[i];", "n", 1000),
    "four": (
        "int i = 4 * (INDEX); if (i + 3 < n) for (int k = 0; k < 4; k++) b[i + k] = a[i + k];",
        "floor((n) / (4))",
        250,
    ),
    "shared": ("int i = INDEX; if (i / 8 < n) b[i] = a[i / 8];", "8 * n", 8000),
    "any": ("for (int i = INDEX; i < n; i += blockDim.x * gridDim.x) b[i] = a[i];", "n", 1000),
    "none": ("int i = INDEX; b[i] = a[i];", None, None),
    "pieces": (
        "int i = blockIdx.x * 64 + threadIdx.x; if (i < n) b[i] = a[i];",
        "blocks * threads_per_block",
        1024,
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_the_grid_is_derived_from_bounds_checks_alone(name: str, tmp_path: Path) -> None:
    body, formula, threads = BOUNDS[name]
    file = tmp_path / "body.cu"
    file.write_text(
        "__global__ void body(const float *a, float *b, int n, size_t size) { "
        f"{body.replace('INDEX', INDEX)} }}"
    )
    counts = dse.kernel(file, block=64, set={"n": 1000, "size": 1000})
    assert counts.formulas.get("elements") == formula
    assert counts.quantities.get("elements") == threads
    assert ("blocks" in counts.assumed) == (name == "any")
    if threads is not None:
        assert counts["blocks"] == -(-threads // 64)


# --- several blocks in one file, for suites of kernels

COUNTED: dict[str, dict[str, Any]] = {
    "softmax": {"set": ["columns=4096"], "grid": "8192", "blocks": ["64", "256", "512"]},
    "stencil2d": {
        "set": ["width=4096", "height=4096"],
        "grid": "ceil(width / block_x), ceil(height / block_y)",
        "blocks": ["32,2", "32,8", "64,8"],
    },
}


def count(name: str, blocks: list[str], out: Path) -> Result:
    shape = COUNTED[name]
    arguments = [part for each in shape["set"] for part in ("--set", each)]
    arguments += [part for each in blocks for part in ("--block", each)]
    command = ["kernel", str(KERNELS / f"{name}.cu"), "--grid", shape["grid"], *arguments]
    return CliRunner().invoke(main, [*command, "--out", str(out)])


def test_one_file_of_several_blocks_gives_the_times_of_a_file_for_each(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.toml" for name in COUNTED}
    for name, path in files.items():
        assert count(name, COUNTED[name]["blocks"], path).exit_code == 0
    sizes = [64, 256, 512]
    axes: dict[str, Any] = {
        "machine": ["a100_80", "l40s"],
        "workload": [str(path) for path in files.values()],
        "threads_per_block": sizes,
    }
    suite = dse.Study(model=MODEL, axes=axes, outputs=["time", "blocks", "launch_bytes"])
    ds = suite.run()
    for name, machine in itertools.product(COUNTED, axes["machine"]):
        for size, block in zip(sizes, COUNTED[name]["blocks"], strict=True):
            one = tmp_path / f"{name}-{size}.toml"
            count(name, [block], one)
            given: dict[str, Any] = {
                "machine": machine,
                "outputs": ["time", "blocks", "launch_bytes"],
            }
            alone = dse.evaluate(MODEL, workload=str(one), **given)
            here = ds.sel(machine=machine, workload=str(files[name]), threads_per_block=size)
            assert all(float(here[n]) == float(alone[n]) for n in alone.data_vars)
    goal = "geomean(time / best(time, threads_per_block), workload)"
    best = suite.optimum(minimize=goal, per="machine", method="certified")
    least = ds.time / ds.time.min("threads_per_block")
    expected = np.exp(np.log(least).mean("workload")).argmin("threads_per_block").values
    assert best.threads_per_block.values.tolist() == [sizes[at] for at in expected]
    with pytest.raises(DseError, match="counted for threads_per_block = 64 or 256 or 512 alone"):
        dse.Study(model=MODEL, axes={**axes, "threads_per_block": [64, 128]}, outputs=["time"])
    alone = dse.evaluate(MODEL, workload=str(files["softmax"]), machine="l40s", outputs=["time"])
    assert float(alone.time) == float(ds.time.isel(workload=0, threads_per_block=0, machine=1))


def test_a_file_of_several_blocks_takes_no_several_macros() -> None:
    """This was a traceback."""
    command = ["kernel", str(KERNELS / "axpy.cu"), "--define", "N=1,2", "--out", "a.toml"]
    result = CliRunner().invoke(main, [*command, "--block", "64", "--block", "128"])
    assert result.exit_code > 0
    assert "expected one of .zarr, .nc, .csv, .parquet" in result.output


def test_a_file_of_several_blocks_needs_different_numbers_of_threads(tmp_path: Path) -> None:
    result = count("stencil2d", ["32,2", "16,4"], tmp_path / "s.toml")
    assert result.exit_code > 0
    assert "different numbers of threads" in result.output
    assert "repeat --block" in count("softmax", ["64,128,256"], tmp_path / "s.toml").output


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("transpose", ["32,2", "32,4", "32,8", "32,16", "32,32"]),
        ("nbody", ["64", "256", "1024"]),
        ("gemm", ["16,16", "16,8"]),
    ],
)
def test_blocks_with_other_work_are_in_no_file(
    name: str, blocks: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "t.toml"
    given = [part for each in blocks for part in ("--block", each)]
    result = CliRunner().invoke(
        main, ["kernel", str(KERNELS / f"{name}.cu"), *given, "--out", str(out)]
    )
    assert result.exit_code > 0
    assert f"{name} has a block of its own: it reads threadIdx." in result.output
    assert not out.exists()


OWN_TILE = """
__global__ void own_tile(const float *v, float *sums)
{
    __shared__ float tile[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = v[blockIdx.x * 1024 + i];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < 1024; j++) sum += tile[j] * tile[(j + threadIdx.x) & 1023];
    if (sum == 7) sums[blockIdx.x] = sum;
}
"""


@pytest.mark.parametrize("block", [64, 256])
def test_the_work_of_blocks_in_a_file_is_compared(block: int, twice: Path, tmp_path: Path) -> None:
    """Bytes of a constant grid; FLOP of a kernel whose threads do not share a tile's work."""
    one, two = (dse.kernel(twice, block=n, grid=(16, 4096), set={"n": 4096}) for n in (128, block))
    wrong = f"a block of {block} threads does other work: {two['launch_bytes']:,.0f} B"
    with pytest.raises(DseError, match=wrong):
        join_blocks([one, two])
    file = tmp_path / "own.cu"
    file.write_text(OWN_TILE)
    one, two = (
        dse.kernel(file, block=n, grid=64, times={"chance_line_9": 0}) for n in (128, block)
    )
    assert one["launch_bytes"] == two["launch_bytes"]
    flops = 64 * block * 1024 * 2
    with pytest.raises(DseError, match=f"does other work: {flops:,} FLOP, and a block of 128"):
        join_blocks([one, two])
    one, two = (
        dse.kernel(KERNELS / "softmax.cu", block=n, grid=64, set={"columns": 1024})
        for n in (128, block)
    )
    assert join_blocks([one, two])["blocks"] == 64  # more threads add more often, in equal work


def test_blocks_with_a_grid_as_stride_keep_the_work(tmp_path: Path) -> None:
    shape: dict[str, Any] = {"set": {"n": 2**24}, "grid": 1024}
    ds = dse.kernel(KERNELS / "reduction.cu", block=[[64], [128], [512]], **shape)
    assert ds.status.values.tolist() == [""] * 3
    assert ds.launch_bytes.values.tolist() == pytest.approx([4 * 2**24] * 3, rel=1e-3)
    out = str(tmp_path / "r.toml")
    command = ["kernel", str(KERNELS / "reduction.cu"), "--set", "n=16777216", "--grid", "1024"]
    blocks = ["--block", "64", "--block", "256"]
    result = CliRunner().invoke(main, [*command, *blocks, "--out", out])
    assert result.exit_code == 0, result.output
    assert dse.workload(out).values["threads_per_block"].value == 64


def test_blocks_of_a_macro_in_the_source_are_in_one_file(tmp_path: Path) -> None:
    """The launch of ``spmv_csr.cu`` has macros, which are no axes of the file."""
    blocks, out = ["64", "1024"], tmp_path / "x.toml"
    command = ["kernel", str(KERNELS / "spmv_csr.cu"), "--define", "LANES=32", "--out", str(out)]
    result = CliRunner().invoke(main, command + [x for b in blocks for x in ("--block", b)])
    assert result.exit_code == 0, result.output
    assert dse.workload(str(out)).values["threads_per_block"].value == 64


def test_counted_blocks_of_a_file_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        'title = "own"\n[values]\nthreads_per_block = { value = 64, source = "mine", '
        'counted = "64" }\ncomp_insts = { value = 3, source = "mine", '
        'holds_for = ["threads_per_block"] }\n'
    )
    with pytest.raises(DseError, match="counted = '64', expected a list of numbers"):
        dse.workload(str(path))


def test_the_shipped_suite_is_what_the_sources_give() -> None:
    """The files hold the counts of the example kernels, for each block that a study may choose."""
    suite = runpy.run_path("docs/suite_workloads.py")
    study = dse.Study.from_toml("examples/suite-ten.toml")
    assert {*suite["SUITE"]} == {*study.axes["workload"]}
    for name in suite["SUITE"]:
        (pair,) = {
            tuple(numbers)
            for value in dse.workload(name).values.values()
            for other, numbers in value.holds_for
            if other == "threads_per_block"
        }
        assert [*pair] == study.axes["threads_per_block"] == [*suite["SIZES"]]
    for name in ("histogram", "transpose"):
        assert suite["text_of"](name) == dse.workload(name).path.read_text(encoding="utf-8")
    for per in study.optimum(minimize="time", per=["workload", "machine"]).feasible.values.flat:
        assert per


def test_the_launch_of_a_comment_is_taken_for_options_that_are_left_out(tmp_path: Path) -> None:
    source, out = str(KERNELS / "softmax.cu"), tmp_path / "softmax.toml"
    given = {"--set": "columns=4096", "--grid": "8192", "--block": "256"}
    for left_out in ({}, {"--set": "columns=2048"}, {"--block": "128"}):
        options = [part for pair in (given | left_out).items() for part in pair]
        assert (
            CliRunner().invoke(main, ["kernel", source, *options, "--out", str(out)]).exit_code == 0
        )
        expected = out.read_text()
        own = [part for pair in left_out.items() for part in pair]
        assert CliRunner().invoke(main, ["kernel", source, *own, "--out", str(out)]).exit_code == 0
        assert out.read_text() == expected
