"""Test launches that ``dse analyze`` derives from bounds checks, and launches that it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dse
from dse import plots
from dse.advice.report import Move
from dse.analysis.report import Analysis, AnswerOfVariant
from dse.cli import main

Run = Callable[..., Result]
KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
ROWS = """
__global__ void row_sum(const float *__restrict__ data, float *__restrict__ out, int rows, int cols)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x & 31;
    if (row >= rows) return;
    float sum = 0;
    for (int c = lane; c < cols; c += 32)
        sum += data[(size_t)row * cols + c];
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (lane == 0) out[row] = sum;
}
"""
TILES = """
#define TILE_Y 8
__global__ void tiled(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE_Y][TILE_X];
    int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[min(y, height - 1) * width + min(x, width - 1)];
    __syncthreads();
    if (x < width && y < height)
        out[y * width + x] = tile[TILE_Y - 1 - threadIdx.y][TILE_X - 1 - threadIdx.x];
}
__global__ void halo(const float *in, float *out, int width, int height)
{
    extern __shared__ float line[];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float *l = line + threadIdx.y * (blockDim.x + 8);
    if (y < height)
        for (int i = threadIdx.x; i < blockDim.x + 8; i += blockDim.x) {
            int gx = (int)(blockIdx.x * blockDim.x) + i - 4;
            l[i] = gx >= 0 && gx < width ? in[(size_t)y * width + gx] : 0.f;
        }
    __syncthreads();
    if (x >= width || y >= height) return;
    out[(size_t)y * width + x] = l[threadIdx.x] + l[threadIdx.x + 8];
}
"""
OWN = """
__global__ void own(const float *in, float *out, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    float t = 0;
    for (int i = 0; i < n; ++i) t += s[i & 63];
    if (threadIdx.x == 0) out[blockIdx.x] = t;
}
__global__ void pieces(const float *in, float *out, int n)
{
    float t = 0;
    for (int i = 0; i < 4; ++i)
        if (blockIdx.x * 256 + i * 64 + threadIdx.x < n)
            t += in[blockIdx.x * 256 + i * 64 + threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = t;
}
"""
WARPS = """
__global__ void warps(const float *in, float *out, int batch, int rows)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (warp >= batch) return;
    for (int r = 0; r < rows; ++r) out[(warp * rows + r) * 32 + lane] = 2 * in[r * 32 + lane];
}
"""
FLAT = """
__global__ void flat(const float *a, float *b, int n)
{
    int x = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    if (x < n) b[x] = a[x];
}
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """Write the kernels of this module into files, and return their folder."""
    texts = {"rows": ROWS, "tiles": TILES, "own": OWN, "warps": WARPS, "flat": FLAT}
    for name, text in texts.items():
        (tmp_path / f"{name}.cu").write_text(text)
    return tmp_path


def error_of(run: Run, *words: object) -> str:
    """Return the error of ``dse analyze`` on an H100."""
    return " ".join(
        run("analyze", *map(str, words), "--machine", "h100_sxm", status=2).stderr.split()
    )


def records(run: Run, *words: object) -> list[dict[str, Any]]:
    """Return the answers of ``dse analyze`` on an H100."""
    command = ("analyze", *map(str, words), "--machine", "h100_sxm", "--json")
    result: list[dict[str, Any]] = json.loads(run(*command).stdout)
    return result


# --- the grid from bounds checks
def test_a_block_takes_rows_by_a_quotient_of_its_size(run: Run, kernels: Path) -> None:
    """A bounds check on the quotient of a block size gives the grid for each block size."""
    words = (kernels / "rows.cu", "--set", "rows=65536,cols=64")
    for record in records(run, *words, "--block", "64", "--block", "256", "--block", "1024"):
        (block,) = record["block"]
        assert record["grid"] == [65536 * 32 // block]
        assert not any("covers" in text for text in record["assumed"])


def test_a_halo_with_its_own_check_leaves_the_grid_to_the_stores(run: Run, kernels: Path) -> None:
    words = [kernels / "tiles.cu", "--kernel", "halo", "--set", "width=1000,height=100"]
    words += ["--define", "TILE_X=32"]
    (record,) = records(run, *words, "--block", "32,8", "--dynamic-shared", "4*block_y*(block_x+8)")
    assert record["grid"] == [32, 13, 1]
    assert not any("dynamic shared" in text for text in record["assumed"])
    (record,) = records(run, *words, "--block", "32,8")
    assert any("dynamic shared" in text for text in record["assumed"])


def test_a_kernel_without_block_sizes_has_the_block_of_its_checks(run: Run, kernels: Path) -> None:
    """Blocks that start at multiples of TILE_X and 8 have 64 x 8 or 32 x 8 threads."""
    words = (kernels / "tiles.cu", "--kernel", "tiled", "--set", "width=1000,height=100")
    answered = records(run, *words, "--define", "TILE_X=32,64")
    assert {record["defines"]["TILE_X"]: record["block"] for record in answered} == {
        32: [32, 8, 1],
        64: [64, 8, 1],
    }
    assert {tuple(record["grid"]) for record in answered} == {(32, 13, 1), (16, 13, 1)}
    assert not any("dynamic shared" in text for record in answered for text in record["assumed"])


def test_a_flat_block_has_no_other_sizes_in_formulas(kernels: Path) -> None:
    """The workload of a flat block has only ``threads_per_block``."""
    file = kernels / "flat.toml"
    sizes: dict[str, Any] = {"block": 64, "dynamic_shared": "4*block_y*(block_x+8)"}
    counts = dse.kernel(kernels / "flat.cu", set={"n": 1000}, arch="sm_90", **sizes)
    file.write_text(counts.toml())
    assert counts["blocks"] == 16
    model = "occupancy + latency_roofline + footprint"
    ds = dse.evaluate(model, machine="h100_sxm", workload=str(file))
    assert ds.blocks == 16
    assert ds.shared_mem_per_block == 4 * (64 + 8)


def test_a_grid_that_is_too_small_is_noted(run: Run, kernels: Path) -> None:
    words = (kernels / "rows.cu", "--set", "rows=65536,cols=64", "--block", "256")
    (record,) = records(run, *words, "--grid", "ceil(rows/block_x)")
    note = "the grid covers only 256 of 8,192 blocks along x"
    assert f"blocks: {note} (bounds check: ceil(rows / floor(block_x / 32)))" in record["assumed"]
    (record,) = records(run, *words, "--grid", "ceil(rows/(block_x/32))")
    assert not any("covers" in text for text in record["assumed"])


# --- questions
def test_a_question_keeps_the_options_and_asks_for_no_grid_of_a_check(
    run: Run, kernels: Path
) -> None:
    text = error_of(run, kernels / "rows.cu", "--set", "rows=65536")
    assert "cols: argument of the kernel" in text
    assert "grid:" not in text
    assert "add it to the command, for example: --set cols=4096 or write" in text
    assert text.endswith("// dse: --set cols=4096")
    text = error_of(run, kernels / "tiles.cu", "--kernel", "tiled", "--define", "TILE_X=8,16")
    assert "for example: --set width=4096 --set height=4096 or" in text


def test_the_example_of_a_grid_comes_from_the_block_index(run: Run, kernels: Path) -> None:
    """If a store has no check, the example has the check of a load, or a placeholder."""
    text = error_of(run, kernels / "own.cu", "--kernel", "pieces", "--block", "64")
    assert '--grid "ceil(n / 256)"' in text
    text = error_of(run, kernels / "own.cu", "--kernel", "own", "--set", "n=64")
    assert "block: threads of a block" in text
    assert '--block THREADS_X,THREADS_Y --grid "BLOCKS_X"' in text
    words = ("--kernel", "own", "--set", "n=64", "--block", "64", "--grid", "1000")
    (record,) = records(run, kernels / "own.cu", *words)
    assert (record["block"], record["grid"]) == ([64], [1000])


# --- launches that are refused
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--set threads_per_block=64", "threads_per_block of warps.cu: use --block"),
        ("--axis block_x=64:128:32", "block_x of warps.cu: use --block"),
        ("--set grid_y=2", "use --block and --grid"),
        ("--block 1,2,3,4", "block = (1, 2, 3, 4): expected one to three whole numbers"),
        ("--grid 1,1,100000", "grid = 100000 along z: expected at most 65535"),
        ("--grid 1,100000", "grid = 100000 along y: expected at most 65535"),
        ("--block 1,1,128", "block = 128 along z: expected at most 64"),
        ("--grid 100000000000000", "grid = 100000000000000 along x: expected at most 2147483647"),
        ("--set core_clock=1.3", "core_clock = 1.3 is 1.3 Hz, where"),
        ("--set core_clock=1.3", "is '1.3 GHz' meant?"),
        ("--axis core_clock=1.3,1.5", "is '1.3 GHz' meant?"),
        ("--set head_dim=64", "head_dim is no input of warps.cu"),
        ("--define FOO", "--define 'FOO': expected MACRO=VALUE"),
    ],
)
def test_a_wrong_launch_is_refused(options: str, text: str, run: Run, kernels: Path) -> None:
    words = ("--set", "batch=1000,rows=4", *options.split())
    if "--block" not in words:
        words += ("--block", "256")
    assert text in error_of(run, kernels / "warps.cu", *words)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ("batch=0,rows=4", "batch must be at least 1"),
        ("batch=-5,rows=4", "batch must be at least 1"),
        ("batch=9,rows=-32", "no thread reads or writes global memory: rows = -32"),
        ("batch=1000,10000", "several values: --axis batch=V,V"),
    ],
)
def test_a_size_without_work_is_refused(values: str, text: str, run: Run, kernels: Path) -> None:
    assert text in error_of(run, kernels / "warps.cu", "--block", "256", "--set", values)


def test_an_argument_of_a_counted_workload_is_refused_by_both_names(
    run: Run, kernels: Path
) -> None:
    file = kernels / "warps.toml"
    words = ("--arch", "sm_90", "--set", "batch=100000,rows=4", "--out", str(file))
    run("kernel", str(kernels / "warps.cu"), *words)
    assert records(run, file)[0]["time"] > 0
    assert "did you mean kernel_batch?" in error_of(run, file, "--set", "batch=1000")
    assert "kernel_batch = 100000 alone" in error_of(run, file, "--set", "kernel_batch=1000")
    assert "rows is no input" in error_of(run, file, "--set", "rows=64")


# --- tables and text
def test_a_block_is_listed_once(run: Run, kernels: Path) -> None:
    words = (kernels / "tiles.cu", "--kernel", "halo", "--set", "width=1024,height=64")
    blocks = [record["block"] for record in records(run, *words, "--define", "TILE_X=8")]
    assert len(blocks) > 10
    shapes = [tuple((*block, 1, 1)[:3]) for block in blocks]
    assert len({*shapes}) == len(shapes)


def variant(machine: str, **known: Any) -> AnswerOfVariant:
    """Return an answer for tests of the text."""
    limits = {"dram": 0.9, "issue": 0.4}
    times: Mapping[str, Any] = {"time": 1e-3, "time_low": 9e-4, "time_high": 2e-3, "chance": 0.5}
    return AnswerOfVariant(machine=machine, limits=limits, bottleneck="dram", **times, **known)


def test_the_table_of_machines_shows_macros_and_assumptions() -> None:
    shared = ["blocks: the grid covers only 1 of 2 blocks along x"]
    own = ["core_clock of one = 1 GHz", "l2_bytes: the L1 cache has too little"]
    about: dict[str, Any] = dict.fromkeys(("value", "until", "gain", "end"), 2.0)
    about |= {"unit": "", "next_bound": None, "next_limiter": (), "helps": True, "equation": ""}
    about |= {"direction": "raise", "source": "", "end_limit": ""}
    moves = tuple(
        Move(quantity=name, lever=lever, end_gain=gain, **about)
        for name, lever, gain in (("n_sms", "designer", 3.0), ("mem_strength", "programmer", 1.5))
    )
    known: dict[str, Any] = {"assumed": [*shared, *own], "moves": moves}
    first = variant("one", defines={"TILE": 8}, block=(64,), **known)
    other = variant("two", defines={"TILE": 16}, block=(32,), assumed=shared)
    text = str(Analysis(subject="a.cu", answers=(first, other)))
    header = next(line for line in text.splitlines() if line.startswith("machine"))
    assert header.split()[:5] == ["machine", "expected", "from", "to", "predicted"]
    assert header.split()[5:] == ["block", "blocks", "within", "1", "%", "TILE"]
    assert re.search(r"^one .*\b64 +0 +8$", text, re.M)
    assert re.search(r"^two .*\b32 +0 +16$", text, re.M)
    best = r"^  one  raise mem_strength to 2: 1.5 times faster \(programmer\)$"
    assert re.search(best, text, re.M)
    assert f"assumed on each machine:\n  {shared[0]}" in text
    assert f"assumed on one machine:\n  one  {own[1]}" in text
    assert "clock of one" not in text
    assert "with one --machine, or --json: variants, what would help, and all assumptions" in text


def test_an_analysis_of_a_kernel_is_written_as_a_study(run: Run, tmp_path: Path) -> None:
    """The study counts the kernel for the fastest machine, whose times it repeats."""
    out = tmp_path / "blocks.toml"
    words = (str(KERNELS / "stencil2d.cu"), "--machine", "a100_80,h100_sxm,gtx280")
    sizes = [word for block in ("32,4", "64,4", "32,8") for word in ("--block", block)]
    values = ("--set", "width=4096,height=4096,core_clock=1.3GHz")
    text = run("analyze", *words, *sizes, *values, "--out", str(out), "--json").stdout
    records = {(each["machine"], *each["block"]): each for each in json.loads(text)}
    assert records["gtx280", 32, 4]["model"] != records["a100_80", 32, 4]["model"]
    assert records["h100_sxm", 32, 4]["architecture"] == "sm_90"
    study = dse.Study.from_toml(out)
    assert study.axes["machine"] == ["a100_80", "h100_sxm"]
    best = json.loads(run("optimum", str(out), "--json").stdout)["rows"]
    assert [each["machine"] for each in best] == ["a100_80", "h100_sxm"]
    times = [each["time"] for name, each in records.items() if name[0] == "h100_sxm"]
    assert best[1]["time"] == pytest.approx(min(times), rel=1e-9)
    out.unlink()
    again = ["analyze", *words, *sizes, *values, "--out", str(out)]
    refused = CliRunner().invoke(main, again)
    assert refused.exit_code == 2
    assert "blocks.workload.toml exists already" in refused.stderr


def test_a_kernel_with_a_block_of_its_own_is_written_as_a_study(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "gemm.toml"
    words = (str(KERNELS / "gemm.cu"), "--machine", "a100_80", "--define", "TILE_K=8,16")
    printed = run("analyze", *words, "--out", str(out), "--json")
    text = printed.stdout
    assert f"wrote {out} and {out.with_suffix('.workload.toml')}" in printed.stderr
    (best,) = json.loads(run("optimum", str(out), "--json").stdout)["rows"]
    assert best["time"] == pytest.approx(json.loads(text)[0]["time"], rel=1e-9)


def test_an_analysis_of_a_workload_is_written_as_a_study(run: Run, tmp_path: Path) -> None:
    Path("own.toml").write_text((KERNELS / "options.toml").read_text())
    words = ("own.toml", "--machine", "a100_80,h100_sxm")
    out = tmp_path / "options-study.toml"
    first = json.loads(run("analyze", *words, "--out", str(out), "--json").stdout)[0]
    best = json.loads(run("optimum", str(out), "--json").stdout)["rows"]
    assert best[0]["time"] == pytest.approx(first["time"], rel=1e-9)


def test_an_answer_with_one_block_says_why_there_is_no_other(run: Run) -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = 2 * x[i];"
    Path("fixed.cu").write_text(f"__global__ void twice(float* x) {{ {body} }}\n")
    words = ("analyze", "fixed.cu", "--machine", "a100_80", "--grid", "4096")
    text = " ".join(run(*words).stdout.split())
    assert "one variant: no other block is answered, such as 32: does other work: 524,288 B" in text
    assert "one variant" not in run(*words, "--block", "256").stdout
    gemm = " ".join(run("analyze", str(KERNELS / "gemm.cu"), "--machine", "a100_80").stdout.split())
    assert "one variant: the block is fixed by the code; macros (--define) may vary it" in gemm
    triad = ("analyze", str(KERNELS / "triad.toml"), "--machine", "a100_80")
    assert "one variant" not in run(*triad).stdout
    out = run(*triad, "--set", "threads_per_block=256", "--out", "triad-study.toml").stdout
    assert out.endswith("wrote triad-study.toml\n")


def test_moves_name_their_variant() -> None:
    result = dse.analyze("examples/kernels/triad.toml", "h100_pcie", axes={"core_clock": ["1 GHz"]})
    assert "what would help at core_clock = 1 GHz\n" in str(result)
    single = dse.analyze("examples/kernels/triad.toml", "h100_pcie", block=256)
    assert "what would help\n" in str(single)


def test_a_roofline_of_another_machine_is_refused(kernels: Path) -> None:
    file = kernels / "triad.json"
    result = dse.analyze("examples/kernels/triad.toml", "h100_pcie", block=256)
    file.write_text(json.dumps(result.to_dict(), default=str))
    with pytest.raises(dse.DseError, match="no source has an answer for a100_80, only for h100"):
        plots.roofline(file, machines="a100_80")
