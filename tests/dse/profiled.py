"""Counts from source beside those that profilers measured: ``python -m tests.dse.profiled``.

``[coulomb|convolution|vectoradd|streams] [N SEED] [--out PAGE]``: all without a name;
N and SEED are of the draw of convolution. Outside the suite, as compilers take their time.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dse
from symbolic.errors import DseError
from tests.dse.hecbench import in_short

DATA = Path(__file__).parents[3] / "shared" / "data" / "profiles"
SECONDS = 20  # that the kernels of a program may take, its compiler among them
OFF = 0.05
EXECUTED, LOADS = "smsp__inst_executed.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def _results(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file) as opened:
        return [each for each in json.load(opened)["Results"] if each.get("ComputationResults")]


def configurations(file: Path) -> list[dict[str, Any]]:
    """The configurations of KTT's that ran and were counted."""
    return [
        each
        for each in _results(file)
        if each["ComputationResults"][0].get("ProfilingData", {}).get("Counters")
    ]


def _compare(result: dict[str, Any], file: Path, **given: Any) -> dict[str, float]:
    """Return counted over measured values of one configuration of KTT."""
    run = result["ComputationResults"][0]
    counters = {each["Name"]: each["Value"] for each in run["ProfilingData"]["Counters"]}
    kernel = dse.kernel(
        file,
        arch="sm_75",
        define={each["Name"]: each["Value"] for each in result["Configuration"]},
        block=[run["LocalSize"][axis] for axis in "XYZ"],
        grid=[run["GlobalSize"][axis] for axis in "XYZ"],
        **given,
    )
    warps = kernel["blocks"] * -(-kernel["threads_per_block"] // 32)
    numbers = kernel.numbers
    expected, built = run["CompilationData"], kernel["registers_per_thread"]
    return {
        "registers": built / expected["RegistersCount"],
        "shared memory": float(kernel["shared_mem_per_block"] == expected["LocalMemorySize"]),
        "executed instructions": warps * numbers["all"] / counters[EXECUTED],
        "load requests": warps * numbers["global_load_requests"] / counters[LOADS],
    }


def _shares(title: str, ratios: list[dict[str, float]], failed: Counter[str]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| what | exact | within 3 % | within 5 % | of | furthest off |"
    yield "|---|---|---|---|---|---|"
    for name in ratios[0] if ratios else ():
        off = [abs(each[name] - 1) for each in ratios]
        counts = [sum(each <= most for each in off) for most in (1e-9, 0.03, 0.05)]
        yield f"| {name} | {' | '.join(map(str, counts))} | {len(off)} | {max(off):.1%} |"
    yield from (f"\n{many} refused: {why}" for why, many in failed.items())
    yield ""


def _space(title: str, results: list[dict[str, Any]], file: Path, **given: Any) -> Iterator[str]:
    ratios, failed = [], Counter[str]()
    for each in results:
        try:
            ratios.append(_compare(each, file, **given))
        except DseError as error:
            failed[in_short(error)] += 1
    yield from _shares(title, ratios, failed)


def coulomb(_: int, __: int) -> Iterator[str]:
    """KTT's direct Coulomb sum, all 210 configurations on RTX 2080 Ti."""
    results = _results(DATA / "coulomb" / "coulomb_2080_full_search_space.json.gz")
    given = {"options": ["-use_fast_math"], "set": {"numberOfAtoms": 64, "gridSize": 256}}
    title = f"Coulomb sum, RTX 2080 Ti, all {len(results)} configurations"
    yield from _space(title, results, DATA / "coulomb" / "CoulombSum3d.cu", **given)


def convolution(many: int, seed: int) -> Iterator[str]:
    """The convolution of the benchmark hub on RTX 2080 Ti, some configurations drawn."""
    folder = DATA / "convolution"
    results = configurations(folder / "KTConvolutionOutput_2080Ti.json.gz")
    drawn = random.Random(seed).sample(results, many)
    title = f"Convolution, RTX 2080 Ti, {many} of {len(results)} drawn by seed {seed}"
    yield from _space(title, drawn, folder / "KernelTunerConvolution.cu")


def vectoradd(_: int, __: int) -> Iterator[str]:
    """KTT's addition of vectors on RTX 2080 Ti, four sizes of block."""
    folder, ratios = DATA / "vectoradd", []
    with open(folder / "2080-vectorAdd_output.csv", newline="") as file:
        for row in csv.DictReader(file):
            threads, block = int(row["Global size"]), int(row["Local size"])
            result = dse.kernel(
                folder / "vectorAdd_CudaKernel.cu",
                arch="sm_75",
                block=[block],
                grid=[threads // block],
            )
            numbers, warps = result.numbers, threads / 32
            measured = {key: float(row[key]) for key in (EXECUTED, LOADS)}
            ratios.append(
                {
                    "registers": result["registers_per_thread"] / int(row["Registers count"]),
                    "executed instructions": warps * numbers["all"] / measured[EXECUTED],
                    "load requests": warps * numbers["global_load_requests"] / measured[LOADS],
                }
            )
    title = f"Addition of vectors, RTX 2080 Ti, {len(ratios)} sizes of block"
    yield from _shares(title, ratios, Counter())


STREAMS = {
    "init": "basic/INIT_VIEW1D",
    "copy": "stream/COPY",
    "triad": "stream/TRIAD",
    "daxpy": "basic/DAXPY",
    "muladdsub": "basic/MULADDSUB",
}


def streams_beside() -> dict[str, dict[str, tuple[float, float]]]:
    """Return counts of a warp of new kernels and of RAJAPerf's on V100, ours and measured.

    The disassembler knows nothing older than sm_75, for which ours are compiled.
    """
    with open(DATA / "rajaperf_v100" / "ncu_counters.csv", newline="") as file:
        expected = {row["kernel"].rpartition("/")[0]: row for row in csv.DictReader(file)}
    result, elements = {}, 8_388_608
    file = Path(__file__).parents[2] / "examples" / "streams.cu"
    for entry, name in STREAMS.items():
        given: dict[str, Any] = {"grid": [elements // 256], "set": {"n": elements}}
        ours = dse.kernel(file, entry=entry, arch="sm_75", **given).numbers
        counters = {key: float(value) for key, value in expected[name].items() if key != "kernel"}
        warps = elements / 32
        result[entry] = {
            what: (ours.get(kind, 0.0), counters[counter] / warps)
            for what, kind, counter in (
                ("instructions", "all", EXECUTED),
                ("loads", "global_load", "smsp__inst_executed_op_global_ld.sum"),
                ("stores", "global_store", "smsp__inst_executed_op_global_st.sum"),
            )
        }
    return result


def streams(_: int, __: int) -> Iterator[str]:
    """Streaming kernels of examples/streams.cu beside RAJAPerf's."""
    yield "## Streams, compared with RAJAPerf's counters on V100\n"
    yield "`examples/streams.cu` is new code, compiled for sm_75, because the disassembler does not"
    yield "support the V100's sm_70. Loads and stores are equal to RAJAPerf's. RAJAPerf executes"
    yield "more instructions, because source, compiler and instruction set differ.\n"
    yield "Each cell is per warp: from source, measured.\n"
    yield "| kernel | RAJAPerf | instructions | loads | stores |\n|---|---|---|---|---|"
    for entry, each in streams_beside().items():
        cells = " | ".join(f"{ours:g}, {truth:g}" for ours, truth in each.values())
        yield f"| {entry} | {STREAMS[entry]} | {cells} |"
    yield ""


def main() -> None:
    """The tables that are asked for."""
    every = {each.__name__: each for each in (coulomb, convolution, vectoradd, streams)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(every)}, then N SEED")
    parser.add_argument("--out", type=Path, help="a page that is written")
    given = parser.parse_args()
    numbers = [int(each) for each in given.names if each.isdigit()]
    wanted = [each for each in given.names if not each.isdigit()] or list(every)
    many, seed = (*numbers, *(150, 1)[len(numbers) :])[:2]
    text = [line for name in wanted for line in every[name](many, seed)]
    print("\n".join(text))
    if given.out:
        given.out.write_text("\n".join([HEAD, *text]))


HEAD = """# Instruction counts against profilers

**In a minute.** `dse kernel` counts instructions without a GPU. Here its counts are compared with
the counters of profilers on real GPUs; nothing is fitted.

* Coulomb sum and vector addition: all counts are equal.
* Convolution: loads and shared memory are equal; executed instructions are within 3 % for 96 % of
  the configurations, registers are equal for 93 %.

To compare your own kernel with your own profile, use `dse kernel FILE.cu --beside PROFILE`.
[HeCBench](hecbench.md) has more kernels, of many kinds.

Generated by `python -m tests.dse.profiled 150 7 --out docs/kernels.md` in a quarter of an hour,
most of which the compiler spends on the convolution.

Reasons for differences:

* The compiler unrolls the loops of the convolution completely. Registers, and the order and reuse
  of loads, therefore depend on its version. The profiles do not name theirs; the counts are of
  NVRTC 12.9. For 10 of 150 sets of macros, the number of registers differs; for six, executed
  instructions differ by 3 to 9 %. Loads are equal, because the source determines them.
* Integer instructions are not compared, because the profiler's counter classifies them
  differently.
"""

if __name__ == "__main__":
    main()
