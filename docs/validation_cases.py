"""Cases of ``docs/validation.md``: measured rows, options of the validation, required scores.

A case is the keywords of :func:`dse.validate` beside a function that reads its rows. ``due`` holds
the largest value (of ``rank`` the smallest) that a measure may have; a test holds each to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fits
import launches
import numpy as np
import pandas as pd
import validation_rows as own_files

import dse
from tests.papers import calibrating

MODEL = "occupancy + latency_roofline"
PATH = "l1tex__t_sectors_pipe_lsu_mem"
SHARED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Case of the validation; ``due`` is for all rows, a label (``"label: measure"``) or each.

    ``called`` is what stands on the page in place of the name of the model.

    A ``long`` one is run by ``docs/validation.py`` alone, which fails where what is due is missed.
    """

    title: str
    rows: Callable[[Path], pd.DataFrame]
    model: str = MODEL
    to: str = "time"
    note: str = ""
    ask: Mapping[str, Any] = field(default_factory=dict)
    due: Mapping[str, float] = field(default_factory=dict)
    long: bool = False
    called: str = ""

    def __str__(self) -> str:
        return self.title

    def missed(self, found: Any) -> list[str]:
        """Return the required scores that are not met: ``rank`` at least, all others at most."""
        missed = []
        for what, limit in self.due.items():
            label, _, measure = what.rpartition(": ")
            scores = [*found.by.values()] if label == "each" else []
            scores = scores or [found.by[label] if label else found.score]
            values = [getattr(score, measure) for score in scores]
            value = min(values) if measure == "rank" else max(values)
            if not (value >= limit if measure == "rank" else value <= limit):
                missed.append(f"{what} is {value:.3f}, due {limit}")
        return missed


def opened(path: Path, **given: Any) -> pd.DataFrame:
    """Return the measured rows of a profile."""
    frame = dse.open(path, shape="rows", **given).to_dataframe().reset_index()
    return frame[frame.feasible.astype(bool)].reset_index(drop=True)


def tuned(path: Path, program: str) -> pd.DataFrame:
    """Derive counts from KTT's counters, which are shares of the peak of units.

    Its floating-point pipe also multiplies integers. The clock is the median of that of all rows,
    from cycles, which the rate of issue tells.
    """
    frame = opened(path)
    names = (
        "blocks threads_per_block registers_per_thread shared_mem_per_block total_insts int_insts"
    )
    rows = frame[["time", "dram_bytes", *names.split()]].astype(float)
    warps = rows.blocks * np.ceil(rows.threads_per_block / 32)
    issue = frame.smsp__issue_active_avg_pct_of_peak_sustained_active
    fma = frame.smsp__pipe_fma_cycles_active_avg_pct_of_peak_sustained_active
    special = frame.smsp__inst_executed_pipe_xu_avg_pct_of_peak_sustained_active
    rows["fp_insts"] = fma / issue * rows.total_insts * 64 / 128
    rows["sfu_insts"] = special / issue * rows.total_insts * 16 / 128
    sectors = frame.lts__t_sectors_op_read_sum + frame.lts__t_sectors_op_write_sum
    rows["l2_bytes"] = 32 * sectors
    local = [frame[f"{PATH}_local_op_{kind}_sum"] for kind in ("ld", "st")]
    requests = frame.l1tex__t_requests_pipe_lsu_mem_global_op_ld_sum
    rows["l1_bytes"] = 128 * requests + 32 * (local[0] + local[1])
    rows["load_requests"] = (requests + local[0] / 4) / warps
    rows["shared_wavefronts"] = (frame[f"{SHARED}_ld_sum"] + frame[f"{SHARED}_st_sum"]) / warps
    active = frame.smsp__cycles_active_avg_pct_of_peak_sustained_elapsed
    cycles = frame.smsp__inst_executed_sum / (68 * 4 * issue / 100) / (active / 100)
    return rows.assign(core_clock=float((cycles / rows.time).median()), program=program)


def both_tuned(folder: Path) -> pd.DataFrame:
    """Return two tuning spaces of one GPU, at two clocks."""
    profiles = folder / "profiles"
    names = {
        "coulomb": "coulomb/coulomb_2080_full_search_space.json.gz",
        "convolution": "convolution/KTConvolutionOutput_2080Ti.json.gz",
    }
    return pd.concat([tuned(profiles / at, name) for name, at in names.items()], ignore_index=True)


def from_source(_: Path) -> pd.DataFrame:
    """Return part of the same spaces with the counts of ``dse kernel`` (counted_profiles.py)."""
    rows = pd.read_csv(Path(__file__).parent / "counted-profiles.csv").drop(columns="number")
    strength = rows.mem_strength.clip(lower=1)  # 0 where nothing is loaded
    return rows.assign(mem_strength=strength, core_clock=rows.program.map(CLOCKS))


def twelve_kernels(_: Path) -> pd.DataFrame:
    """Return launches of an H100 with the counts of ``dse kernel`` (counted_kernels.py)."""
    rows = pd.read_csv(Path(__file__).parent / "counted-kernels.csv")
    strength = rows.mem_strength.clip(lower=1)  # 0 where nothing is loaded
    launch = rows.kernel + " " + rows.problem
    names = ["kernel", "defines", "problem", "block_x", "block_y"]
    return rows.drop(columns=names).assign(mem_strength=strength, launch=launch)


def rajaperf(folder: Path) -> pd.DataFrame:
    """Return counters of RAJAPerf; the grid has one thread per element, right for most kernels."""
    given = {"threads_per_block": 256, "blocks": 32768}
    frame = opened(folder / "profiles" / "rajaperf_v100" / "ncu_counters.csv", given=given)
    rows = frame[["time", "dram_bytes", "total_insts", "blocks", "threads_per_block"]].astype(float)
    warps = rows.blocks * 8
    ops = ("read", "write", "atom", "red")
    rows["l2_bytes"] = 32 * sum(frame[f"lts__t_sectors_op_{op}_sum"] for op in ops)
    paths = [f"{PATH}_{of}_sum" for of in ("global_op_ld", "global_op_st", "local_op_ld")]
    rows["l1_bytes"] = 32 * sum(frame[name] for name in paths)
    rows["load_requests"] = frame.global_loads.astype(float)
    wavefronts = frame[f"{SHARED}_ld_sum"] + frame[f"{SHARED}_st_sum"]
    rows["shared_wavefronts"] = wavefronts / warps
    return rows.assign(kernel=frame.kernel.str.split("/run").str[0])


def hecbench(folder: Path) -> pd.DataFrame:
    """Return operations and DRAM bytes of HeCBench's kernels, measured at base clock."""
    frame = opened(folder / "profiles" / "hecbench_rtx3080" / "profiling.csv.gz")
    names = ["time", "dram_bytes", "blocks", "threads_per_block", "int_insts"]
    rows = frame[names].astype(float)
    threads = rows.blocks * rows.threads_per_block
    rows["fp_insts"] = frame.work_flops.astype(float) / 2 / threads
    rows["fp64_insts"] = frame.dpPerf.astype(float) * rows.time / 2 / threads
    warps = rows.blocks * np.ceil(rows.threads_per_block / 32)
    rows["load_requests"] = rows.dram_bytes / 128 / warps
    operations = rows.fp_insts + rows.int_insts
    double = frame.dpPerf.astype(float) > 0
    few = np.where(rows.blocks < 68, "fewer blocks than multiprocessors", "others")
    kinds = np.where(double, "double precision", few)
    return rows.assign(total_insts=2 * operations + 20, program=frame.program, kind=kinds)


#: Of the requests of a thread of each PolyBench kernel, in its innermost loop: how many load
#: another line for each row of the block, or for each lane; store; store by rows. By the source.
REQUESTS = {
    "Convolution2D": (10, 9, 0, 1, 1),
    "mm": (3, 1, 0, 1, 1),
    "gemm": (3, 1, 0, 1, 1),
    "syrk": (3, 1, 1, 1, 1),
    "syr2k": (5, 2, 2, 1, 1),
    "atax_kernel1": (3, 0, 1, 1, 0),
    "bicg_kernel2": (3, 0, 1, 1, 0),
    "mvt_kernel1": (3, 0, 1, 1, 0),
    "gesummv": (8, 0, 2, 2, 0),
    "": (3, 0, 0, 1, 0),
}
KINDS = ("row_loads", "column_loads", "store_insts", "row_stores")


def polybench(folder: Path, sizes: Collection[int]) -> pd.DataFrame:
    """Return times of each block shape, the counts of MWP-CWP, and its predictions."""
    table = launches.read(folder)
    each, theirs = (
        launches.predict(table, each=own, **switches)
        for own, switches in ((True, {}), (False, launches.WHOLE))
    )
    table = table.assign(mwp_cwp=each, mwp_cwp_published=theirs, time=table.ms / 1e3)
    known = table.n.isin(sizes) & np.isfinite(each) & (table.kernel != "convolution3D_kernel")
    rows = table[known].reset_index(drop=True)
    rows["threads_per_block"] = rows.block_x * rows.block_y
    rows["mem_insts"], rows["total_insts"] = (
        rows.uncoalesced_insts,
        rows.uncoalesced_insts + rows.comp_insts,
    )
    asked = [next(v for k, v in REQUESTS.items() if name.startswith(k)) for name in rows.kernel]
    for place, kind in enumerate(KINDS, 1):
        rows[kind] = rows.mem_insts * [one[place] / one[0] for one in asked]
    return rows.drop(columns=["mem_latency_dram", "departure_delay_uncoalesced", "transactions"])


#: Median clocks at which both spaces ran, as :func:`tuned` reads them.
CLOCKS = {"coulomb": 1.3445e9, "convolution": 1.7934e9}
BYTES = {"DRAM bytes / printed bandwidth": "dram_bytes / mem_bandwidth"}
MOVED = "launch_bytes / mem_bandwidth"  # docs/counted-profiles.csv: updated bytes twice
READ = "(launch_bytes + launch_updated_bytes) / read_bandwidth"
THREADS = "blocks * threads_per_block"
ROOFLINE = (
    "maximum(2 us, maximum(dram_bytes / (0.85 * mem_bandwidth), "
    f"{THREADS} * (2 * fp_insts / (0.6 * fp32_flops) + 2 * int_insts / (0.6 * fp32_flops))))"
)

SHAPES = {
    "machine": "gtx1080ti",
    "set": {"core_clock": "nominal_clock"},
    "free": [
        *("start_up_time", "request_wait"),
        *("load_line_cycles", "request_cycles", "store_line_cycles"),
    ],
    "leave_out": "bench",
    "folds": 4,
    "within": ["bench", "kernel", "n"],
    "choose": ["block_x", "block_y"],
    "baselines": {
        "MWP-CWP by default": "mwp_cwp",
        "MWP-CWP as published with the counts": "mwp_cwp_published",
    },
}

SHAPES_NOTE = (
    "The rows are PolyBench kernels with sizes from 64 to 2048. Counts beyond 512 are "
    "extrapolated ([launch configurations](launches.md)), and launches with unknown counts "
    "are left out. The access pattern of each request was read from the source. If several "
    "shapes are equally good, the first by `block_x`, `block_y` is chosen; for MWP-CWP, many "
    "shapes are equally good. These variants of the model were tried and are not better on "
    "left-out rows: sectors of 32 and 64 bytes, at least two lines per request, waits that "
    "grow with lines or instructions, slower data beyond the L2 cache, sums or maxima in "
    "place of the root of squares, and reuse within a block. With at least two lines per "
    "request, 16 and 32 lanes in a row are equally good. The order of ties then makes the "
    "choice better up to size 512 (p90 slowdown 1.125) and worse overall (1.187)."
)

CASES = (
    Case(
        title="Coulomb sum and convolution, RTX 2080 Ti, each calibrated on the other",
        rows=both_tuned,
        note="Two values are fitted. The slowdown of the chosen configuration is measured in 200 "
        "random subsets of 100 configurations each. The L2 bandwidth (1500 GB/s) and the DRAM "
        "latency (536 cycles) are assumed.",
        ask={
            "machine": "rtx2080ti",
            "set": {"l2_bandwidth": "1500 GB/s", "mem_latency_nominal": 536},
            "free": ["issue_interval", "memory_parallelism"],
            "leave_out": "program",
            "within": "program",
            "draws": (200, 100),
            "baselines": BYTES,
        },
        due={
            "coulomb: median": 0.15,
            "coulomb: slowdown_p90": 1.2,
            "convolution: median": 0.15,
            "convolution: slowdown_p90": 1.2,
        },
    ),
    Case(
        title="Coulomb sum and convolution, RTX 2080 Ti, from source alone",
        rows=from_source,
        model="occupancy + latency_roofline + footprint",
        note="`dse kernel` counted all 210 configurations of Coulomb and 60 random ones of "
        "convolution (`docs/counted_profiles.py`). Only the clock comes from the profiles. "
        "One value is fitted. The number of requests in flight comes from the source; if it "
        "is assumed (3) or fitted, the errors of both programs are larger.",
        ask={
            "machine": "rtx2080ti",
            "set": {"l2_bandwidth": "1500 GB/s", "mem_latency_nominal": 536},
            "free": ["issue_interval"],
            "leave_out": "program",
            "within": "program",
            "draws": (200, 30),
            "baselines": {"bytes that all blocks load and store over printed bandwidth": MOVED},
        },
        due={
            "coulomb: median": 0.15,
            "coulomb: slowdown_p90": 1.2,
            "convolution: median": 0.15,
            "convolution: slowdown_p90": 1.2,
        },
    ),
    Case(
        title="RAJAPerf, V100",
        rows=rajaperf,
        note="Nothing is fitted. If a kernel was launched several times, its row contains the "
        "sum over the launches. The grid of some kernels (ADI, MVT) is unknown and much smaller "
        "than assumed. Atomics are not modelled.",
        ask={
            "machine": "v100_sxm2",
            "set": {
                "registers_per_thread": 32,
                "shared_mem_per_block": 0,
                "fp_insts": 0,
                "bandwidth_share": "triad_bandwidth / mem_bandwidth",
                "issue_interval": "inst_latency",
                "start_up_time": "2 us",
            },
            "leave_out": "kernel",
            "baselines": {"DRAM bytes / 870 GB/s": "dram_bytes / 870e9"},
        },
        due={"median": 0.11},
    ),
    Case(
        title="HeCBench, RTX 3080, programs left out",
        rows=hecbench,
        note="The rows contain only the numbers of operations; the model assumes two "
        "instructions for each operation and 20 more per thread. Latencies are those measured on "
        "an A40. Kernels of the kind *other* with large errors take milliseconds and attain less "
        "than a third of the bandwidth; the rows do not show what these kernels wait for.",
        ask={
            "machine": "rtx3080",
            "set": {
                "registers_per_thread": 32,
                "shared_mem_per_block": 0,
                "l2_bandwidth": "20 * 68 * 1.44e9 B/s",
                "l1_latency": 33,
                "l2_latency": 250,
                "mem_latency_nominal": 556,
                "core_clock": "base_clock",
                "int_units_per_sm": 64,
                "start_up_time": "2 us",
            },
            "free": ["issue_interval", "memory_parallelism"],
            "leave_out": "program",
            "per": "kind",
            "baselines": {**BYTES, "a roofline with guessed shares": ROOFLINE},
        },
        due={"median": 0.35},
    ),
    Case(
        title="Block shapes, GTX 1080 Ti, programs left out",
        rows=lambda folder: polybench(folder, (*launches.PUBLISHED, *launches.LARGE)),
        model="block_shape",
        ask=SHAPES,
        note=SHAPES_NOTE,
        due={"rank": 0.78, "slowdown_p90": 1.2},
        long=True,
    ),
    Case(
        title="Block shapes, GTX 1080 Ti, sizes with published counts",
        rows=lambda folder: polybench(folder, launches.PUBLISHED),
        model="block_shape",
        ask=SHAPES,
        note="The sizes with extrapolated counts are left out. For MWP-CWP, many shapes are "
        "equally good, and the first of them happens to be among the best ([launch "
        "configurations](launches.md)). `block_shape` is worse for matrix products of size 128 "
        "and 256: there, 16 lanes in a row are up to a fifth faster than 32 lanes. From size 512 "
        "on, they are slower.",
        due={"rank": 0.75},
        long=True,
    ),
    Case(
        title="Elementwise operators of PyTorch, each of five GPUs left out",
        rows=lambda folder: pd.DataFrame(calibrating.elementwise(folder)),
        model="streaming",
        note="Only the machine file of the left-out GPU is known.",
        ask={
            "free": ["startup_time", "bandwidth_share", "measured_share"],
            "leave_out": "gpu",
            "baselines": BYTES,
        },
        due={"mean": 0.05, "p90": 0.1},
        long=True,
    ),
    Case(
        title="Power of 25 kernels, V100",
        rows=lambda folder: pd.DataFrame(calibrating.power(folder)),
        model="activity_power",
        to="power",
        note="The energies of all units are fitted; no unit was selected by its error. Variants "
        "of the model have these errors on left-out kernels: separate DRAM reads and writes 10.8 "
        "%, separate L2 hits and misses 10.8 %, one unit omitted 10.4 to 14.2 %, saturating "
        "pipelines 10.3 %. With 25 kernels, no variant is clearly better, and none reaches 8 %.",
        ask={
            **{name: calibrating.POWER[name] for name in ("free", "set")},
            "leave_out": "kernel",
            "folds": 25,
        },
        due={"mean": 0.12},
        long=True,
    ),
    Case(
        title="Memory supply curves, every other point left out",
        rows=own_files.supply,
        model="supply_curve",
        to="attained_bandwidth",
        note="The rows give the bandwidth against the number of resident threads, for 18 "
        "streaming kernels on V100, A100 and MI210. The points are so close that linear "
        "interpolation, with bandwidth 0 at 0 threads, is more accurate than a curve with four "
        "parameters. But it gives neither the peak bandwidth nor the number of threads that "
        "reaches it.",
        ask={
            "own": {"curve": own_files.SUPPLY},
            "leave_out": "half",
            "along": "threads_in_ms",
            "baselines": {"linear interpolation from 0": "from_zero"},
            "per": "curve",
        },
        due={"mean": 0.016, "each: mean": 0.03},
        long=True,
    ),
    Case(
        title="Times at other clocks, P100",
        rows=own_files.clocks,
        model="clock_scaling",
        note="There are 30 kernels. For half of them, the model is fitted to 607, 1202 and 1328 "
        "MHz and predicts 810 and 1012 MHz; for the other half, it is fitted to 810 and 1012 MHz "
        "and predicts the other clocks. [Fits](fits.md) has other designs.",
        ask={
            "own": {"kernel": own_files.TIME},
            "set": {"clock_overlap": "none"},
            "leave_out": "half",
            "along": "core_clock",
            "per": "MHz",
        },
        due={"mean": 0.0195},
        long=True,
    ),
    Case(
        title="Power at other clocks, P100",
        rows=own_files.clocks,
        model="clock_scaling",
        to="power",
        note="The rows are the same. The voltage is constant up to a knee and rises linearly "
        "from there; all kernels share the knee and the slope.",
        ask={
            "free": fits.KNEE,
            "own": {"kernel": own_files.POWER},
            "set": fits.CURVES["knee"][1],
            "leave_out": "half",
            "along": "core_clock",
            "per": "MHz",
        },
        due={"mean": 0.0425},
        long=True,
    ),
    Case(
        title="Clock with the least energy, P100",
        rows=own_files.energies,
        model="clock_scaling",
        to="energy",
        note="The rows are the same; each is predicted with the fit to the other half. The "
        "slowdown is the energy at the chosen clock divided by the energy at the best of the "
        "five clocks.",
        ask={
            "set": fits.CURVES["knee"][1],
            "leave_out": "kernel",
            "within": "kernel",
            "choose": "core_clock",
            "orders": {
                "the median clock": "absolute(core_clock - 1012000000)",
                "the default clock": "absolute(core_clock - 1328000000)",
            },
        },
        due={"slowdown_p90": 1.02},
        long=True,
    ),
    Case(
        title="Power against intensity, each of eight A100 left out",
        rows=own_files.roofline,
        model="energy_roofline",
        to="power",
        ask={
            "columns": ["attained_bandwidth", "attained_flops", "power"],
            "free": ["constant_power", "energy_per_byte", "energy_per_flop"],
            "leave_out": "gpu",
        },
        due={"mean": 0.03},
        long=True,
    ),
    Case(
        title="Loss of groups of 8 lanes in lockstep, A100",
        rows=own_files.losses,
        model=str(Path(__file__).with_name("predicted.py")),
        to="outcome",
        called="the law of imbalance",
        note="There are two laws of work with 131,072 groups each; nothing is fitted. The "
        "measured standard deviation is up to three times that of the law, because one group in "
        "a hundred was interrupted. The number of active lanes does not change the cost of an "
        "iteration: its median is 3,801 cycles with 1.5 to 2 active lanes, and 3,794 with 5 to 6.",
        ask={"per": "statistic", "baselines": {"nothing is lost": "1 + 0 * given_prediction"}},
        due={"mean: mean": 0.022, "slowdown: mean": 0.022, "50 %: mean": 0.01},
    ),
    Case(
        title="RAJAPerf by Caliper, V100, with the bytes reported by the suite",
        rows=own_files.caliper,
        model="streaming",
        note="The times are host times over all repetitions, with four block sizes and two "
        "problem sizes. Some kernels do not stream: matrix products, atomics and reductions.",
        ask={
            "machine": "v100_sxm2",
            "set": {"bandwidth_share": "triad_bandwidth / mem_bandwidth"},
            "free": ["startup_time"],
            "leave_out": "kernel",
            "baselines": {"bytes / 870 GB/s": "dram_bytes / 870e9"},
        },
        due={"median": 0.22},
    ),
    Case(
        title="Vector addition with four block sizes, RTX 2080 Ti",
        rows=own_files.vector_add,
        note="Nothing is fitted; the clock is the nominal clock. The times are host times of the "
        "tuner: the same bytes take 77 us with blocks of 32 threads and 37 us with blocks of 256.",
        ask={
            "machine": "rtx2080ti",
            "set": {
                "l2_bandwidth": "1500 GB/s",
                "mem_latency_nominal": 536,
                "core_clock": "nominal_clock",
                "start_up_time": "2 us",
                "issue_interval": "inst_latency",
            },
            "baselines": BYTES,
        },
        long=True,
    ),
    Case(
        title="Copy of 8 MiB, MI100 and MI200, each left out",
        rows=own_files.vector_copies,
        model="streaming",
        note="There are three launches on each GPU; the first is the slowest. Half of the copied "
        "data fits into the L2 cache of 8 MiB.",
        ask={"free": ["startup_time"], "leave_out": "gpu", "baselines": BYTES},
        due={"median": 0.3},
    ),
    Case(
        title="One launch from Nsight Compute's details page, T4",
        rows=own_files.copy_blocked,
        note="The DRAM latency (536 cycles at 1545 MHz) and the L2 bandwidth (1000 GB/s) are "
        "assumed.",
        ask={
            "machine": "t4",
            "set": {
                "l2_bandwidth": "1000 GB/s",
                "mem_latency_nominal": 536,
                "mem_insts": 512,
                "issue_interval": "inst_latency",
                "fp_insts": 0,
                "int_insts": 0,
            },
            "baselines": BYTES,
        },
        long=True,
    ),
    Case(
        title="Twelve kernels, H100, from source alone",
        rows=twelve_kernels,
        model="occupancy + latency_roofline + footprint",
        note="`examples/kernels_on_gpu.py` measured 119 variants of the kernels of "
        "`examples/kernels` on three or four problems each ([validation on a "
        "GPU](gpu-validation.md)), and `dse kernel` counted them (`docs/counted_kernels.py`). "
        "Nothing is fitted. A variant is chosen for each problem.",
        ask={
            "machine": "h100_sxm",
            "within": "launch",
            "baselines": {"bytes that all blocks load and store over read bandwidth": READ},
        },
        due={"median": 0.25, "slowdown_median": 1.15, "slowdown_p90": 1.4},
    ),
    Case(
        title="Sparse products, V100, matrices left out",
        rows=own_files.sparse,
        model=str(Path(__file__).with_name("predicted.py")),
        to="outcome",
        called="`spmv`",
        note="Thread- over merge-mapped time, for matrices with more than 200,000 nonzeros. Each "
        "fifth of the matrices is predicted by a fit to the others (`tests/papers/spmv_fits.py`).",
        ask={
            "baselines": {
                "as fast": "1 + 0 * given_prediction",
                "longest row over mean": "row_max / row_mean",
            }
        },
        due={"median": 0.18, "rank": 0.95},
    ),
)


def validated(case: Case, folder: Path) -> Any:
    """Run a case."""
    return dse.validate(case.model, case.rows(folder), to=case.to, **case.ask)
