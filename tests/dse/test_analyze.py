"""``dse analyze``: one answer per machine and variant, its interval, and what it asks."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import dse
from dse.advice.report import Move
from dse.analysis import Analysis
from dse.analysis.launch import block_shapes, source_launch
from dse.analysis.prediction import predict
from dse.catalog.entries import machine
from dse.uncertain import model_errors as errors
from symbolic.answer import value_text
from symbolic.quantities import TABLE
from tests.long import long

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "kernels"
DATA = ROOT.parent / "shared" / "data"
DEFAULT = "occupancy + latency_roofline + footprint"
FIELDS = {"time", "time_low", "time_high", "bottleneck", "limits", "moves", "assumed", "model"}
FIELDS |= {"block", "defines", "machine", "chance", "occupancy"}


def answers(run: Run, *words: str) -> list[dict[str, Any]]:
    """Return the records that the command prints."""
    result: list[dict[str, Any]] = json.loads(run("analyze", *words, "--json").stdout)
    return result


ROWS = """
// dse: --set columns=4096 --grid 8192
__global__ void scale(const float *in, float *out, int columns)
{
    __shared__ float total[32];
    size_t row = (size_t)blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += in[row + i];
    total[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32)
        for (int i = 0; i < 32; i++)
            sum += total[i] * i;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[row + i] = in[row + i] * sum;
}
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A kernel whose blocks read a row of 16 KiB twice; one warp of a block does more."""
    path = tmp_path / "rows.cu"
    path.write_text(ROWS)
    return path


def test_reads_that_no_cache_can_hold_go_to_dram(rows: Path) -> None:
    """32 blocks of 64 threads touch 32 times 32 KiB, and 2 of 1024 threads 64 KiB."""
    pytest.importorskip("nvidia")
    result = dse.analyze(rows, "h100_sxm", block=[(64,), (1024,)], moves=False)
    small, large = sorted(result.answers, key=lambda each: each.block)
    assert (small.block, large.block) == ((64,), (1024,))
    moved = [each.limits["dram"] * each.time for each in (small, large)]
    assert moved[0] == pytest.approx(1.5 * moved[1], rel=1e-6)  # two loads and a store of a row
    assert small.time > 1.2 * large.time


@pytest.mark.parametrize("machine", ["a100_40", "h100_sxm"])
def test_the_best_block_of_a_softmax_keeps_its_rows_in_a_cache(machine: str) -> None:
    """32 rows of 16 KiB on each multiprocessor do not fit its caches: 64 threads are not best."""
    pytest.importorskip("nvidia")
    blocks = [(64,), (256,), (512,)]
    launch: dict[str, Any] = {"set": {"columns": 4096}, "grid": (32768,), "block": blocks}
    best = dse.analyze(KERNELS / "softmax.cu", machine, moves=False, **launch).best
    assert best.block != (64,)


def test_moves_of_instruction_counts_end_at_ten_percent_fewer() -> None:
    advice = dse.advise(DEFAULT, machine="h100_pcie", workload=str(KERNELS / "options.toml"))
    counts = [m for m in advice.moves if m.quantity.endswith("_insts") and m.direction == "lower"]
    assert counts
    for move in counts:
        assert move.end >= 0.9 * move.value * (1 - 1e-12)


def test_intervals_do_not_jump_where_two_classes_are_nearly_tied() -> None:
    """A little more of the one share or the other gives another class, and almost one interval."""
    near, other, tie, far = (
        errors.learnt_interval(DEFAULT, "a100_40", {"issue": compute, "dram": dram}, 0.9)
        for compute, dram in ((0.85, 0.849), (0.849, 0.85), (0.85, 0.85), (0.9, 0.8))
    )
    assert near.high == pytest.approx(other.high, rel=0.02)
    dram = errors.learnt_interval(DEFAULT, "a100_40", {"dram": 0.9}, 0.9)
    compute = errors.learnt_interval(DEFAULT, "a100_40", {"issue": 0.9}, 0.9)
    assert far.high == compute.high != dram.high
    assert tie.high == pytest.approx((dram.high * compute.high) ** 0.5)
    assert tie.low == pytest.approx((dram.low * compute.low) ** 0.5)
    assert "limited by dram" in tie.of


def test_intervals_do_not_jump_where_the_power_limit_is_almost_reached() -> None:
    low, high = (
        errors.learnt_interval(DEFAULT, "l40s", {"dram": 0.96, "power": power}, 0.9).high
        for power in (0.9999, 1.0)
    )
    assert low == pytest.approx(high, rel=0.01)


def test_a_kernel_at_the_power_limit_is_limited_by_compute() -> None:
    """The instructions need the power, and a random study has the same class."""
    path, given = KERNELS / "options.toml", {"instruction_energy": "50 pJ"}
    best = dse.analyze(path, "l4", block=256, set=given, moves=False).best
    assert best.limits["power"] == 1 > best.limits["dram"] > 0.7
    assert best.interval is not None
    assert "limited by compute" in best.interval.of
    about: dict[str, Any] = {"model": DEFAULT, "machine": "l4", "workload": str(path)}
    about |= {"set": given, "random": {"model_error": True}, "outputs": ["quantile(time, 0.5)"]}
    median = float(dse.Study(**about).run()["quantile(time, 0.5)"])
    assert median == pytest.approx(best.time_expected, rel=1e-3)
    dram = errors.learnt_interval(DEFAULT, "l4", {"dram": 1.0}, 0.9).median
    assert median != pytest.approx(best.time * dram, rel=1e-3)


def test_a_table_of_machines_has_the_moves_that_gain_most() -> None:
    """A move of the programmer comes first if it gains 5 %."""
    about: dict[str, Any] = {"next_bound": None, "next_limiter": (), "helps": True, "unit": ""}
    about |= {"equation": "", "source": "", "end_limit": "", "value": 1.0, "until": 2.0, "end": 2.0}

    def move(lever: str, quantity: str, gain: float) -> Move:
        own = {"lever": lever, "quantity": quantity, "gain": gain, "end_gain": gain}
        return Move(direction="raise", **own, **about)

    best = dse.analyze(KERNELS / "triad.toml", "a100_80", block=256, moves=False).best
    bandwidth = move("designer", "mem_bandwidth", 2.05)
    machines = tuple(
        replace(best, machine=name, moves=(bandwidth, move("programmer", "ilp", gain)))
        for name, gain in {"small": 1.03, "large": 1.06}.items()
    )
    text = str(Analysis(subject="triad", answers=machines))
    lines = text.partition("best moves on each machine")[2].partition("\n\n")[0].splitlines()[1:]
    designer = "raise mem_bandwidth to 2: 2.05 times faster (designer)"
    programmer = "raise ilp to 2: 1.06 times faster (programmer)"
    wanted = [f"small {designer}", f"large {programmer}", f"large {designer}"]
    assert [" ".join(line.split()) for line in lines] == wanted


def test_moves_say_what_they_move_and_begin_with_those_of_the_programmer(run: Run) -> None:
    words = (str(KERNELS / "stencil.toml"), "--machine", "a100_80", "--block", "256")
    text = run("analyze", *words).stdout
    moves, meanings = text.partition("what would help")[2].split("these quantities are:")
    who = [line.split()[0] for line in moves.splitlines()[2:] if line]
    assert who == sorted(who, reverse=True)
    assert {*who} == {"programmer", "designer"}
    assert "mem_strength  loads in flight per warp" in meanings
    assert "wider loads (fewer requests), or several loads before the first store" in meanings
    for move in answers(run, *words)[0]["moves"]:
        assert move["meaning"] == TABLE[move["quantity"]].meaning
    several = run("analyze", *words[:2], "a100_80,l4", "--block", "256").stdout
    assert "with one --machine, or --json: variants, what would help" in several
    assert "compare machines by predicted: expected contains errors of different" in several
    advice = run("advise", DEFAULT, "--workload", words[0], "--machine", "a100_80").stdout
    assert "mem_strength  loads in flight per warp" in advice


def test_both_ends_of_a_move_have_one_unit() -> None:
    about: dict[str, Any] = {"next_bound": None, "next_limiter": (), "helps": True, "gain": 1.1}
    about |= {"lever": "programmer", "equation": "", "source": "", "end_gain": 1.1}
    about |= {"quantity": "block_bytes", "unit": "B", "direction": "lower", "end_limit": ""}
    move = Move(value=65536.0, until=32769.03, end=32769.03, **about)
    assert "from 64 KiB to 32 KiB" in str(move)
    best = dse.analyze(KERNELS / "triad.toml", "a100_80", block=256, moves=False).best
    text = str(Analysis(subject="triad", answers=(replace(best, moves=(move,)),)))
    assert "lower block_bytes from 64 KiB to 32 KiB" in text


# --- a shipped workload, without a compiler
def test_a_workload_is_answered_as_evaluate_answers_it(run: Run) -> None:
    (record,) = answers(
        run, str(KERNELS / "triad.toml"), "--machine", "h100_pcie", "--block", "256"
    )
    ds = dse.evaluate(DEFAULT, machine="h100_pcie", workload=str(KERNELS / "triad.toml"))
    assert record.keys() >= FIELDS
    assert record["time"] == float(ds.time)
    assert record["limits"]["dram"] == pytest.approx(float(ds.dram_time / ds.time))
    assert record["bottleneck"] == "dram" == next(iter(record["limits"]))
    assert record["model"] == DEFAULT
    assert all(0 <= share <= 1 for share in record["limits"].values())
    for move in record["moves"]:
        assert move["gain"] > 1
        assert move["direction"] in ("raise", "lower")
        assert move["who"] in ("programmer", "designer")


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("axpy", ["64", "128", "512"]),
        ("stencil2d", ["32,2", "32,4", "64,8"]),
        ("softmax", ["64", "128", "512"]),
    ],
)
def test_all_counted_blocks_of_a_workload_are_tried(
    run: Run, name: str, blocks: list[str], tmp_path: Path
) -> None:
    """The best block of ``analyze`` is that of a study over the counted blocks."""
    path = tmp_path / "k.toml"
    sizes = [math.prod(map(int, block.split(","))) for block in blocks]
    words = [word for block in blocks for word in ("--block", block)]
    run("kernel", str(KERNELS / f"{name}.cu"), *words, "--out", str(path))
    machines = ["h100_sxm", "a100_80"]
    axes = {"machine": machines, "threads_per_block": sizes}
    study = dse.Study(model=DEFAULT, workload=str(path), axes=axes, outputs=["time"])
    best = study.optimum(minimize="time", per="machine").threads_per_block
    analysis = dse.analyze(path, machines, moves=False)
    times = {(e.machine, e.block): e.time for e in analysis.answers}
    assert {block for _, (block,) in times} == {*sizes}
    for machine_name in machines:
        size = int(best.sel(machine=machine_name))
        assert times[machine_name, (size,)] == min(
            time for (each, _), time in times.items() if each == machine_name
        )
    assert best.values.tolist() != sizes[:1] * 2
    for words in (["--axis", "threads_per_block=64,512"], ["--block", "64", "--block", "512"]):
        some = answers(run, str(path), "--machine", "h100_sxm", *words)
        assert {each["block"][0]: each["time"] for each in some} == {
            size: times["h100_sxm", (size,)] for size in (64, 512)
        }


def test_the_best_block_is_searched_and_chances_add_up(run: Run) -> None:
    records = answers(run, str(KERNELS / "bodies.toml"), "--machine", "a100_80")
    times = [record["time"] for record in records]
    assert len(records) > 10
    assert times == sorted(times)
    assert sum(record["chance"] for record in records) == pytest.approx(1)
    assert records[0]["chance"] == max(record["chance"] for record in records)
    for record in records:
        ds = dse.evaluate(
            DEFAULT,
            machine="a100_80",
            workload=str(KERNELS / "bodies.toml"),
            threads_per_block=record["block"][0],
        )
        assert record["time"] == float(ds.time)


def test_something_is_on_the_screen_before_the_analysis_is_imported() -> None:
    """Imports of the analysis alone take longer than half a second on a busy machine."""
    code = "import sys, dse.cli.analyze; print({'dse.analysis', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    command = [sys.executable, "-m", "dse", "analyze", "no_such.toml", "--machine", "h100_pcie"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr.startswith("analyzing: 0 s so far\n")


def test_several_machines_are_compared_in_a_table_for_a_terminal(run: Run) -> None:
    names = "v100_sxm2,a100_80,h100_pcie,h100_sxm,l4,l40,rtx4090,a40,t4,mi210"
    text = run("analyze", str(KERNELS / "options.toml"), "--machine", names).stdout
    assert all(name in text for name in names.split(","))
    assert "machine expected 90 % from 90 % to predicted" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_a_gpu_without_caches_has_its_own_model_and_says_why(run: Run) -> None:
    (record,) = answers(run, "sepia", "--machine", "gtx280", "--block", "256")
    assert record["model"] == "occupancy + mwp_cwp"
    assert "no cache" in record["why_model"]
    assert record["time_low"] < record["time_high"]


def test_an_option_of_kernels_is_refused_for_a_workload(run: Run) -> None:
    words = ("analyze", str(KERNELS / "triad.toml"), "--machine", "h100_pcie", "--grid", "4")
    refused = run(*words, status=2).stderr
    assert "is a workload" in refused
    assert "--grid" in refused


def test_unknown_inputs_widen_the_interval() -> None:
    """An L4's latencies are assumed; given, they are known."""
    words: dict[str, Any] = {"machine": "l4", "block": 256}
    assumed = dse.analyze(KERNELS / "bodies.toml", **words).best
    assert any("± 30 %" in text for text in assumed.assumed)
    entry = machine("l4")
    known = {name: value.value for name, value in entry.values.items() if value.spread}
    given = dse.analyze(KERNELS / "bodies.toml", **words, set=known).best
    assert given.time == pytest.approx(assumed.time)
    assert assumed.time_high / assumed.time_low > given.time_high / given.time_low


#: Bytes of the triad beyond the 40 MiB of L2 of an A100, at its 2039 GB/s.
TRIAD_LEAST = (3 * 2**26 - 40 * 2**20) / 2039e9
#: Latency is the limit, and its errors are large.
SLOW: dict[str, Any] = {"mem_latency_nominal": 1350, "bandwidth_share": 1}


@pytest.mark.parametrize("core_clock", ["1.41 GHz", "1 GHz"])
def test_no_interval_is_below_the_bytes_at_the_printed_bandwidth(core_clock: str) -> None:
    given = {**SLOW, "core_clock": core_clock}
    best = dse.analyze(KERNELS / "triad.toml", "a100_80", block=256, set=given, moves=False).best
    assert best.interval is not None
    assert best.time * best.interval.low < TRIAD_LEAST  # the errors alone would allow less
    assert best.time_low == pytest.approx(TRIAD_LEAST, rel=1e-9)
    assert best.time_low < best.time < best.time_high


def test_no_interval_is_below_the_integers_at_the_printed_rate() -> None:
    """Other counts than those of machine code may hold instructions of the FP32 pipe."""
    given = {"int_insts": 5000, "comp_insts": 5000}
    low = {}
    for imad_insts in (0, 10):
        known: dict[str, Any] = {"set": {**given, "imad_insts": imad_insts}, "moves": False}
        best = dse.analyze(KERNELS / "triad.toml", "a100_80", block=256, **known).best
        low[imad_insts] = best.time_low / (best.limits["integer"] * best.time)
    assert low[10] == pytest.approx(1, rel=1e-9)
    assert low[0] < 0.8


@pytest.fixture
def assumed_triad(tmp_path: Path) -> Path:
    """A triad whose bytes are assumed."""
    text = (KERNELS / "triad.toml").read_text()
    lines = [
        line[: line.index("source")] + 'assumed = "unknown addresses" }'
        if line.startswith("launch_bytes")
        else line
        for line in text.splitlines()
    ]
    path = tmp_path / "triad.toml"
    path.write_text("\n".join(lines))
    return path


def test_assumed_bytes_are_no_bound(assumed_triad: Path) -> None:
    best = dse.analyze(assumed_triad, "a100_80", block=256, set=SLOW, moves=False).best
    assert best.time_low < 0.9 * TRIAD_LEAST


def test_no_drawn_time_is_below_the_bytes_at_the_printed_bandwidth(assumed_triad: Path) -> None:
    name = "quantile(time, 0.01)"
    about: dict[str, Any] = {"model": DEFAULT, "workload": str(KERNELS / "triad.toml")}
    about |= {"set": SLOW, "random": {"assumed": True, "draws": 256}, "outputs": [name]}
    alone = dse.Study(**about, machine="a100_80").run()[name]
    assert float(alone) == pytest.approx(TRIAD_LEAST, rel=1e-9)
    several = dse.Study(**about, axes={"machine": ["h100_sxm", "a100_80"]}).run()[name]
    assert float(several.sel(machine="a100_80")) == pytest.approx(TRIAD_LEAST, rel=1e-9)
    about["workload"] = str(assumed_triad)
    assert float(dse.Study(**about, machine="a100_80").run()[name]) < 0.9 * TRIAD_LEAST


def test_all_unknown_machines_are_named_at_once(run: Run) -> None:
    names = "machine=A100 80GB,h100_sxm,L40SS"
    analysis = ("analyze", str(KERNELS / "triad.toml"), f"--{names}")
    for words in (analysis, ("evaluate", "gemm", names, "m=1", "n=1", "k=1")):
        error = run(*words, status=2).stderr
        assert (
            "'A100 80GB' is no machine; did you mean 'a100_80'? (dse machines lists all)" in error
        )
        assert "'L40SS' is no machine; did you mean 'l40s'? (dse machines lists all)" in error
        assert "h100_sxm" not in error


def test_one_machine_without_an_answer_does_not_stop_the_others(run: Run) -> None:
    words = ("analyze", str(KERNELS / "triad.toml"), "--machine", "h100_pcie,gtx480")
    text = run(*words, "--block", "256").stdout
    assert "not answered" in text
    assert "gtx480" in text
    assert "no model gives a time on gtx480" in text
    alone = run(*words[:3], "gtx480", status=2).stderr
    assert "no model gives a time" in alone


def test_a_prediction_outside_its_interval_says_on_which_side(run: Run) -> None:
    words = ("analyze", str(KERNELS / "triad.toml"), "--block", "256", "--machine")
    record = answers(run, *words[1:], "h100_sxm")[0]
    assert record["time"] < record["time_low"] < record["time_expected"] < record["time_high"]
    text = run(*words, "h100_sxm").stdout
    assert "which mostly take longer than predicted" in text
    title = text.splitlines()[0]
    assert f": expect about {value_text(record['time_expected'], 's')} (90 % between " in title
    assert title.endswith(f"; the model alone predicts {value_text(record['time'], 's')}")
    assert "than predicted" not in run(*words, "a100_80").stdout


def test_moves_fit_a_terminal(run: Run) -> None:
    text = run("analyze", str(KERNELS / "triad.toml"), "--machine", "h100_sxm").stdout
    table = text.partition("what would help\n")[2].partition("\n\n")[0].splitlines()
    assert table[0].split() == ["who", "faster", "move"]  # the column that wraps is the last
    assert max(line.index(" times ") for line in table[1:]) < 20


# --- kernels from source
def test_a_kernel_is_answered_with_the_launch_of_its_source(run: Run) -> None:
    records = answers(run, str(KERNELS / "gemm.cu"), "--machine", "h100_sxm")
    (record,) = records
    assert record["block"] == [16, 16]
    assert record["grid"][:2] == [64, 64]
    assert 0.5e-3 < record["time"] < 50e-3
    assert record["limits"]["floating_point"] < 1


def test_the_command_line_replaces_the_launch_of_the_source(run: Run) -> None:
    words = ("--machine", "a100_80", "--block", "128", "--set", "n=1048576")
    (small,) = answers(run, str(KERNELS / "axpy.cu"), *words)
    (large,) = answers(run, str(KERNELS / "axpy.cu"), *words[:4])
    assert small["grid"] == [8192]
    assert large["grid"] == [131072]
    assert small["time"] < large["time"] / 10


@long
@pytest.mark.parametrize("name", sorted(path.stem for path in KERNELS.glob("*.cu")))
def test_each_example_kernel_is_answered_on_ten_machines(name: str) -> None:
    machines = ["v100_sxm2", "a100_80", "h100_pcie", "h100_sxm", "l4", "l40", "rtx4090", "a40"]
    result = dse.analyze(KERNELS / f"{name}.cu", [*machines, "t4", "mi210"])
    best = {answer.machine: answer for answer in result.answers if answer.rank == 1}
    assert len(best) == 10
    for answer in best.values():
        assert not answer.status
        assert 0 < answer.time_low < answer.time_high
        assert all(0 <= share <= 1 + 1e-9 for share in answer.limits.values())


def test_blocks_of_a_grid_keep_the_work(run: Run) -> None:
    records = answers(run, str(KERNELS / "stencil2d.cu"), "--machine", "a100_80")
    assert len(records) > 10
    counted = dse.analyze(KERNELS / "stencil2d.cu", "a100_80")
    threads = [np.prod(a.block) * np.prod(a.grid) for a in counted.answers]
    assert max(threads) <= 1.01 * min(threads)
    again = dse.kernel(
        KERNELS / "stencil2d.cu",
        arch="sm_80",
        block=records[0]["block"],
        grid=records[0]["grid"],
        set={"width": 8192, "height": 8192},
    )
    values = {n: v for n, v in again.items() if n in dse.quantities()}
    time = float(dse.evaluate(DEFAULT, machine="a100_80", **values).time)
    assert records[0]["time"] == pytest.approx(time)


def test_a_block_that_does_other_work_is_refused(run: Run) -> None:
    words = ("--machine", "a100_80", "--block", "256", "--block", "32", "--grid", "65536")
    first, other = answers(run, str(KERNELS / "axpy.cu"), *words)
    assert first["block"] == [256]
    assert other["time"] is None
    assert "does other work" in other["status"]


def test_macros_are_variants_with_numbers(run: Run) -> None:
    words = ("--machine", "a100_80", "--define", "TILE_K=8,16")
    records = answers(run, str(KERNELS / "gemm.cu"), *words)
    assert {record["defines"]["TILE_K"] for record in records} == {8, 16}
    assert [record["rank"] for record in records] == [1, 2]


def test_variants_that_differ_only_in_the_clock_share_the_error(run: Run) -> None:
    """The slower clock of the same block cannot win; the faster one competes with other blocks."""
    words = (str(KERNELS / "options.toml"), "--machine", "h100_sxm", "--block", "128")
    axis = ("--block", "256", "--axis", "core_clock=1.35GHz,1.98GHz")
    chances = {
        (*each["block"], each["inputs"]["core_clock"]): each["chance"]
        for each in answers(run, *words, *axis)
    }
    assert chances[128, 1.35e9] == chances[256, 1.35e9] == 0
    assert 0 < chances[128, 1.98e9] < 1
    assert chances[128, 1.98e9] + chances[256, 1.98e9] == pytest.approx(1)
    text = run("analyze", *words, *axis).stdout
    assert "1.98 GHz" in text
    assert "e+09" not in text


def test_a_slower_clock_has_a_longer_expected_time() -> None:
    """At 0.9 GHz the start of blocks is the limit, at 1.98 GHz DRAM; the error is that of DRAM."""
    known: dict[str, Any] = {"block": 256, "moves": False, "axes": {"core_clock": [0.9e9, 1.98e9]}}
    known["set"] = {"mem_latency_nominal": 1000, "bandwidth_share": 1}
    fast, slow = dse.analyze(KERNELS / "triad.toml", "h100_sxm", **known).answers
    assert (fast.bottleneck, slow.bottleneck) == ("dram", "dispatch")
    assert fast.interval == slow.interval
    assert slow.time_expected / fast.time_expected == pytest.approx(slow.time / fast.time)


def test_problem_sizes_are_ranked_each_by_itself(run: Run) -> None:
    words = ("--machine", "a100_80", "--block", "128", "--block", "256")
    records = answers(run, str(KERNELS / "axpy.cu"), *words, "--axis", "n=1000000,2000000")
    assert [record["rank"] for record in records] == [1, 2, 1, 2]
    assert [record["inputs"]["n"] for record in records] == [1e6, 1e6, 2e6, 2e6]


def test_one_question_names_all_that_is_missing(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "sum.cu"
    source.write_text(
        "__global__ void sum(const float *x, float *y, int n, int m) {\n"
        "  float s = 0;\n"
        "  for (int i = 0; i < n * m; ++i) s += x[i];\n"
        "  y[threadIdx.x] = s;\n"
        "}\n"
    )
    refused = run("analyze", str(source), "--machine", "a100_80", status=2).stderr
    for text in ("n: argument", "m: argument", "for example: --set", "--set n=", "// dse:"):
        assert text in refused
    answered = answers(
        run,
        str(source),
        "--machine",
        "a100_80",
        "--set",
        "n=64,m=4",
        "--grid",
        "1",
        "--block",
        "32",
    )
    assert answered[0]["time"] > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [("1.5", "the argument N = 1.5: expected a whole number"), ("0", "N must be at least 1")],
)
def test_a_size_that_no_launch_has_is_refused(
    value: str, text: str, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "scale.cu"
    file.write_text(
        "__global__ void scale(float *a, float by, int N) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < N) a[i] *= by;\n"
        "}\n"
    )
    words = ("analyze", str(file), "--machine", "a100_80", "--block", "256")
    assert text in run(*words, "--set", f"N={value}", status=2).stderr
    answer = run(*words, "--set", "N=1000,by=2.5").stdout
    assert "start_up_time of a100_80 = 3.5 µs, as h100_sxm, ± 50 %" in answer


def test_the_example_of_a_question_is_a_launch_with_work(run: Run, tmp_path: Path) -> None:
    """A share of 1 that skip a loop, or a range from 8 to 8, would delete the loads in it."""
    file = tmp_path / "ranges.cu"
    file.write_text(
        "__global__ void ranges(const int *p, float *b, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i >= n) return;\n"
        "  float s = 0;\n"
        "  for (int j = p[i]; j < p[i + 1]; j++)\n"
        "    for (float t = b[j]; t > 1.f; t *= .5f)\n"
        "      s += t;\n"
        "  b[i] = s;\n"
        "}\n"
    )
    words = ("analyze", str(file), "--machine", "a100_80", "--set", "n=1000000")
    text = run(*words, status=2).stderr
    example = text.partition("// dse: ")[2].splitlines()[0]
    assert "--times skip_line_6=0.25 --times trips_line_6=16" in example
    assert "--times loaded_line_5=8 --times loaded_line_5_2=16" in example
    answer = answers(run, *words[1:], *shlex.split(example))[0]
    assert answer["limits"]["dram"] > 0.1


def test_a_wrong_option_in_the_comment_is_named() -> None:
    with pytest.raises(dse.DseError, match=r"a\.cu: .*'--blok'.*did you mean 'block'"):
        source_launch("// dse: --blok 256", "a.cu")
    with pytest.raises(dse.DseError, match="expected NAME=VALUE"):
        source_launch("// dse: --set n", "a.cu")


def test_shapes_are_whole_warps() -> None:
    for varied in ("x", "xy", "xyz"):
        shapes = list(block_shapes(varied, (16, 16, 4)))
        assert len({*shapes}) == len(shapes)
        assert all(math.prod(shape) % 32 == 0 for shape in shapes)
        assert all(math.prod(shape) <= 1024 for shape in shapes)
    assert (16, 4, 4) in set(block_shapes("xyz", (256,)))  # also where the usual block is flat
    assert {len(shape) for shape in block_shapes("xy", (16, 16))} == {2}


@pytest.mark.parametrize(
    ("loop", "sizes"),
    [
        ("for (int s = blockDim.x / 2; s > 0; s >>= 1)", 6),
        ("for (int s = blockDim.x >> 1; s; s /= 2)", 6),
        ("for (int s = 1; s < blockDim.x; s *= 2)", 6),
        ("for (int i = threadIdx.x; i < n; i += blockDim.x)", 16),
        ("for (int i = threadIdx.x; i < blockDim.x / 32; i++)", 16),
    ],
)
def test_a_block_that_is_halved_has_powers_of_two(loop: str, sizes: int) -> None:
    assert len(list(block_shapes("x", (256,), loop))) == sizes


# --- intervals
def test_a_further_machine_has_a_wider_interval_than_a_measured_one() -> None:
    limits = {"issue": 0.9, "latency": 0.3}
    known = errors.learnt_interval(DEFAULT, "h100_sxm", limits, 0.9)
    other = errors.learnt_interval(DEFAULT, "h100_pcie", limits, 0.9)
    assert known.is_known
    assert not other.is_known
    assert other.high / other.low > known.high / known.low
    assert "measured on h100_sxm" in known.of
    assert "widened for a new one" in other.of
    wide = errors.learnt_interval(DEFAULT, "h100_pcie", limits, 0.95)
    assert wide.low < other.low
    assert wide.high > other.high


def test_a_model_without_rows_has_the_widest_interval() -> None:
    unknown = errors.learnt_interval("transit", "h100_pcie", {}, 0.9)
    every = [errors.learnt_interval(m, "none", {}, 0.9) for m in (DEFAULT, "occupancy + mwp_cwp")]
    assert unknown.low <= min(each.low for each in every)
    assert unknown.high >= max(each.high for each in every)
    assert "no measured rows" in unknown.of


def test_quantiles_for_a_further_machine_cover_machines_that_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Errors with a shift of each machine: intervals of the others hold them."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import error_classes

    rng = np.random.default_rng(3)
    inside = []
    for _ in range(60):
        shifts = rng.normal(0, 0.3, 7)
        groups = [
            (f"m{k}", f"kernel {k}", shift + rng.normal(0, 0.1, 40))
            for k, shift in enumerate(shifts)
        ]
        quantiles = error_classes.machine_quantiles(groups[1:])
        low, high = np.interp([0.05, 0.95], error_classes.PROBABILITIES, quantiles)
        inside.append(((groups[0][2] >= low) & (groups[0][2] <= high)).mean())
    assert 0.85 <= np.mean(inside) <= 0.97


def test_row_quantiles_hold_the_share_of_further_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import error_classes

    rng = np.random.default_rng(5)
    shares = []
    for _ in range(300):
        known, new = rng.standard_t(3, 40), rng.standard_t(3, 40)
        low, high = np.interp(
            [0.05, 0.95], error_classes.PROBABILITIES, error_classes.row_quantiles(known)
        )
        shares.append(((new >= low) & (new <= high)).mean())
    assert 0.87 <= np.mean(shares) <= 0.93


def test_chances_follow_from_the_distance_in_errors() -> None:
    spread = errors.own_spread()
    times = np.exp(np.array([0.0, spread, 6 * spread]))
    chances = errors.best_chances(times)
    draws = np.log(times)[:, None] + spread * np.random.default_rng(1).normal(size=(3, 200_000))
    expected = np.bincount(draws.argmin(axis=0), minlength=3) / 200_000
    assert chances == pytest.approx(expected, abs=0.005)


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")
def test_the_first_choice_in_tuning_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slowdown of the choice of analyze over the best measured; today 1.022 and 1.111."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import model_errors

    (rows,) = model_errors.tuned_source(DATA)
    times = np.asarray(rows.times)
    predicted = predict(machine("rtx2080ti"), rows.inputs).times
    for kernel, most in (("coulomb", 1.025), ("convolution", 1.112)):
        own = np.array([name == kernel for name in rows.kernels])
        choice = np.flatnonzero(own)[np.argmin(predicted[own])]
        assert times[choice] <= most * times[own].min(), kernel


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")
def test_intervals_hold_left_out_rows_and_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cases that need no compiler; ``docs/model_errors.py`` prints all of them."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import model_errors

    quick = (model_errors.tuned_source, model_errors.rajaperf, model_errors.hecbench)
    table = model_errors.all_errors(DATA, quick)
    coverage = model_errors.row_coverage(table)
    big = coverage[coverage["rows"] >= 100]
    assert len(big) >= 4
    assert (abs(big["inside"] - 0.9) <= 0.03).all(), big


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")
def test_the_shipped_quantiles_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One class is learnt again; ``python docs/model_errors.py`` writes all."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import error_classes
    import model_errors

    table = model_errors.all_errors(DATA, [model_errors.hecbench])
    classes = {(c.model, c.limit, c.machine): c for c in error_classes.learn_classes(table)}
    shipped = {(c.model, c.limit, c.machine): c for c in errors.read_classes()}
    several = {key for key in classes if key[2] == "rtx3080"}
    assert several
    for key in several:
        assert classes[key].rows == shipped[key].rows
        assert shipped[key].quantiles == pytest.approx(classes[key].quantiles, abs=0.02)


# --- the same on a clean prompt
@pytest.mark.parametrize("name", ["axpy.cu"])
def test_a_script_without_main_guard_may_call_analyze(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import dse\nprint(dse.analyze({str(KERNELS / name)!r}, 'a100_80', block=256).best.rank)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "1", done.stderr
