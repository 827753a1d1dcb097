"""Counts from source beside those that profilers measured: ``python -m tests.dse.profiled``.

``[coulomb|convolution|vectoradd|hecbench] [N SEED] [--out PAGE]``: all four without a name;
N and SEED are of the draw of convolution. Outside the suite, as compilers take their time.
"""

from __future__ import annotations

import argparse
import ast
import csv
import gzip
import json
import multiprocessing
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dse
from dse.kernels.accesses import Accesses
from dse.kernels.compiling import compiled
from dse.kernels.disassembly import disassembled, source_lines
from dse.kernels.evaluate import Launch
from dse.kernels.launches import _complete, code_of
from dse.kernels.linear import atom
from dse.kernels.source import device_part
from dse.kernels.tally import GLOBAL, read
from symbolic.errors import DseError

DATA = Path(__file__).parents[3] / "shared" / "data" / "profiles"
SECONDS = 20  # that the kernels of a program may take, its compiler among them
OFF = 0.05
EXECUTED, LOADS = "smsp__inst_executed.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"


def _tuned(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file) as opened:
        return [each for each in json.load(opened)["Results"] if each.get("ComputationResults")]


def _compared(result: dict[str, Any], file: Path, **given: Any) -> dict[str, float]:
    """Of one configuration of KTT, what was counted over what was measured."""
    run = result["ComputationResults"][0]
    counters = {each["Name"]: each["Value"] for each in run["ProfilingData"]["Counters"]}
    found = dse.kernel(
        file,
        arch="sm_75",
        define={each["Name"]: each["Value"] for each in result["Configuration"]},
        block=[run["LocalSize"][axis] for axis in "XYZ"],
        grid=[run["GlobalSize"][axis] for axis in "XYZ"],
        **given,
    )
    warps = found["blocks"] * -(-found["threads_per_block"] // 32)
    numbers = found.numbers
    told, built = run["CompilationData"], found["registers_per_thread"]
    return {
        "registers": built / told["RegistersCount"],
        "shared memory": float(found["shared_mem_per_block"] == told["LocalMemorySize"]),
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
            ratios.append(_compared(each, file, **given))
        except DseError as error:
            failed[in_short(error)] += 1
    yield from _shares(title, ratios, failed)


def coulomb(_: int, __: int) -> Iterator[str]:
    """KTT's direct Coulomb sum, all 210 configurations on RTX 2080 Ti."""
    results = _tuned(DATA / "coulomb" / "coulomb_2080_full_search_space.json.gz")
    given = {"options": ["-use_fast_math"], "set": {"numberOfAtoms": 64, "gridSize": 256}}
    title = f"Coulomb sum, RTX 2080 Ti, all {len(results)} configurations"
    yield from _space(title, results, DATA / "coulomb" / "CoulombSum3d.cu", **given)


def convolution(many: int, seed: int) -> Iterator[str]:
    """The convolution of the benchmark hub on RTX 2080 Ti, some configurations drawn."""
    folder = DATA / "convolution"
    results = [
        each
        for each in _tuned(folder / "KTConvolutionOutput_2080Ti.json.gz")
        if each["ComputationResults"][0].get("ProfilingData", {}).get("Counters")
    ]
    drawn = random.Random(seed).sample(results, many)
    title = f"Convolution, RTX 2080 Ti, {many} of {len(results)} drawn by seed {seed}"
    yield from _space(title, drawn, folder / "KernelTunerConvolution.cu")


def vectoradd(_: int, __: int) -> Iterator[str]:
    """KTT's addition of vectors on RTX 2080 Ti, four sizes of block."""
    folder, ratios = DATA / "vectoradd", []
    with open(folder / "2080-vectorAdd_output.csv", newline="") as file:
        for row in csv.DictReader(file):
            threads, block = int(row["Global size"]), int(row["Local size"])
            found = dse.kernel(
                folder / "vectorAdd_CudaKernel.cu",
                arch="sm_75",
                block=[block],
                grid=[threads // block],
            )
            numbers, warps = found.numbers, threads / 32
            measured = {key: float(row[key]) for key in (EXECUTED, LOADS)}
            ratios.append(
                {
                    "registers": found["registers_per_thread"] / int(row["Registers count"]),
                    "executed instructions": warps * numbers["all"] / measured[EXECUTED],
                    "load requests": warps * numbers["global_load_requests"] / measured[LOADS],
                }
            )
    title = f"Addition of vectors, RTX 2080 Ti, {len(ratios)} sizes of block"
    yield from _shares(title, ratios, Counter())


def entry_of(told: str) -> str:
    """The kernel, with arguments of its template, as the profiler names it."""
    depth, begin = 0, 0
    for at, letter in enumerate(told):
        depth += (letter == "<") - (letter == ">")
        if letter == " " and not depth:
            begin = at + 1
        if letter == "(" and not depth:
            return told[begin:at].rpartition("::")[2] if "<" not in told else told[begin:at]
    return told


def in_short(error: object) -> str:
    """The first complaint of a compiler, or the first line of another error."""
    text = str(error)
    complaint = re.search(r"error: (.*)", text)
    if complaint:
        return f"compiler: {complaint[1]}"
    names = re.findall(r"^  (\S+): (the|an) ", text, re.M)
    if names:
        return "not given: " + ", ".join(name for name, _ in names[:6])
    return text.partition("\n")[0].rpartition("/")[2]


def _given(lacking: list[str], row: dict[str, str], threads: int, per_block: int) -> dict[str, int]:
    """A single size that the launch rests on: of the program's arguments that which needs just
    these blocks; else as many as there are threads."""
    told = [int(each) for each in row["exeArgs"].split() if each.isdigit()]
    fit = [each for each in told if threads - per_block < each <= threads]
    return {lacking[0]: fit[0] if fit else threads}


#: Operations of a thread's instruction, as the profiler's rates count them.
_FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2}
_DOUBLE = {"DADD": 1, "DMUL": 1, "DFMA": 2}


def _one(file: Path, row: dict[str, str]) -> dict[str, Any]:
    """What one kernel of HeCBench asks for, from its source."""
    block, grid = (ast.literal_eval(row[f"{size} Size"]) for size in ("Block", "Grid"))
    entry = entry_of(row["Kernel Name"])
    code = code_of(file, entry=entry, arch="sm_86", define={}, options=())
    (body,) = disassembled([code.function])
    reading = read(code.function, body, source_lines(code.cubin, code.function.name))
    per_block = block[0] * block[1] * block[2]
    threads = per_block * grid[0] * grid[1] * grid[2]
    needed = [code.arguments.get(each, f"bytes {each}") for each in reading.needed()]
    given: dict[str, int] = {}
    walks = {
        one.of[0]
        for of in reading.often.passes.values()
        for one in of.atoms()
        if one.kind == "argument"
    }
    if len(needed) == 1 and not reading.often.asked and not walks:  # one size, of a guard alone
        given = _given(needed, row, threads, per_block)
    _complete(code, reading, given, {})
    offsets = {name: at for at, name in code.arguments.items()}
    values = {offsets[name]: value for name, value in given.items()}
    launch = Launch(grid, block, values, {}, reading.often.passes)
    found: dict[str, float] = dict.fromkeys(("flops", "double", "integer", "bytes"), 0.0)
    pointers = {offset for offset, size in code.function.arguments if size >= 8}
    accesses = Accesses(reading.values, launch, pointers)
    for number, place, one in reading.instructions():
        double, integer = _DOUBLE.get(one.name, 0), one.kind == "integer"
        single, asks = _FLOPS.get(one.name, 0), one.kind in GLOBAL
        if not (single or double or integer or asks):
            continue
        when = reading.values.holds(number, place) if one.guard else ("true",)
        often = reading.often.blocks[number]
        try:
            many = launch.per_thread(often * atom("if", when) if one.guard else often) * threads
        except (KeyError, TypeError):  # of a guard that rests on data: as if it held
            many = launch.per_thread(often) * threads
        if many != many:
            many = launch.per_thread(often) * threads
        found["flops"] += single * many
        found["double"] += double * many
        found["integer"] += integer * many
        if asks:
            found["bytes"] += many * accesses.of(one, number, place).bytes
    return {**found, "given": given}


def _program(file: Path, rows: list[dict[str, str]], answer: Any) -> None:
    """Every measured kernel of a program; what is raised is an answer too."""
    text = file.read_text()
    try:
        try:
            compiled(text, 86)
        except DseError:
            compiled(device_part(text), 86)
    except DseError as error:
        answer.put(("", {"why": in_short(error)}))
        return
    for row in rows:
        try:
            answer.put((row["Kernel Name"], _one(file, row)))
        except DseError as error:
            answer.put((row["Kernel Name"], {"why": in_short(error)}))
        except Exception as error:  # the table tells of it
            answer.put((row["Kernel Name"], {"why": f"FAULT {type(error).__name__}: {error}"}))


def _within(file: Path, rows: list[dict[str, str]]) -> dict[str, dict[str, Any]]:
    """The answers of a program within its time."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    answer = type("", (), {"put": staticmethod(theirs.send)})
    process = context.Process(target=_program, args=(file, rows, answer))
    process.start()
    theirs.close()
    found: dict[str, dict[str, Any]] = {"": {}}
    try:
        while ours.poll(SECONDS):
            name, told = ours.recv()
            found.setdefault(name, {}).update(told)
    except EOFError:
        pass
    else:
        for row in rows:
            found.setdefault(row["Kernel Name"], {"why": f"not within {SECONDS} s"})
    process.kill()
    process.join()
    return found


def _beside(counted: float, measured: float) -> str:
    if not measured:
        return "none, none" if counted < 1 else f"{counted:.4g}, none"
    return f"{counted:.4g}, {measured:.4g} ({counted / measured:.2f})"


def hecbench(_: int, __: int) -> Iterator[str]:
    """HeCBench on RTX 3080: each kernel that was measured, from its source."""
    folder = DATA / "hecbench_rtx3080"
    with gzip.open(folder / "kernels.json.gz", "rt") as file:
        programs = json.load(file)
    rows: dict[str, dict[str, dict[str, str]]] = {}
    with gzip.open(folder / "profiling.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):  # the first launch of each
            rows.setdefault(row["targetName"], {}).setdefault(row["Kernel Name"], row)
    met, lines, whys, of = Counter[str](), [], [], Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        for program, files in programs.items():
            path = Path(place) / f"{program}.cu"
            path.write_text("\n".join(part for parts in files.values() for part in parts))
            wanted = list(rows.get(program, {}).values())
            found = _within(path, wanted)
            whole = found.pop("")
            met["programs"] += 1
            met["compiled"] += "why" not in whole
            met["kernels"] += len(wanted)
            if "why" in whole:
                whys.append(f"| {program} | all {len(wanted)} | {_cell(whole['why'])} |")
                of["does not compile"] += len(wanted)
                continue
            for row in wanted:
                name, told = entry_of(row["Kernel Name"]), found.get(row["Kernel Name"], {})
                if "why" in told or not told:
                    why = told.get("why", "the process ended")
                    of[why.partition(":")[0]] += 1
                    whys.append(f"| {program} | {name} | {_cell(why)} |")
                    continue
                of["counted"] += 1
                time = float(row["xtime"]) * 1e-9
                measured = {
                    "flops": float(row["spPerf"]) * time,
                    "double": float(row["dpPerf"]) * time,
                    "integer": float(row["intops"]),
                    "bytes": float(row["traffic"]) * time,
                }
                for key, value in measured.items():
                    counted = told.get(key, 0.0)
                    close = abs(counted - value) <= OFF * value
                    met[f"{key} of"] += bool(value or counted)
                    met[f"{key} within"] += close and bool(value or counted)
                size = ", ".join(f"{one} = {many}" for one, many in told["given"].items())
                cells = " | ".join(_beside(told.get(key, 0.0), measured[key]) for key in measured)
                lines.append(f"| {program} | {name} | {size} | {cells} |")
    yield "## HeCBench, RTX 3080 (sm_86)\n"
    yield f"Of {met['programs']} programs {met['compiled']} compile from the text that"
    yield f"is given. Of the {met['kernels']} kernels that were measured:\n"
    yield "| of | kernels |\n|---|---|"
    yield from (f"| {what} | {many} |" for what, many in of.most_common())
    yield "\n| counted, where there are any | within 5 % | of |\n|---|---|---|"
    for key in ("flops", "double", "integer", "bytes"):
        yield f"| {key} | {met[key + ' within']} | {met[key + ' of']} |"
    yield "\nEach: from source, measured (their ratio).\n"
    yield "| program | kernel | given | flops | fp64 flops | integer operations | bytes |"
    yield "|---|---|---|---|---|---|---|"
    yield from lines
    yield "\n| program | kernel | why not |\n|---|---|---|"
    yield from whys
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")[:160]


def main() -> None:
    """The tables that are asked for."""
    every = {each.__name__: each for each in (coulomb, convolution, vectoradd, hecbench)}
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


HEAD = """# Counts from source beside measured ones

Written by `python -m tests.dse.profiled 5 1 --out docs/kernels.md` (`150 1`: a draw of 150 of the
convolution's configurations, which takes the compiler minutes): kernels compiled without a GPU and
counted by `dse.kernel`, beside what profilers counted on real ones. Nothing is fitted.

What is off, and why:

* Convolution: its loops are unrolled wholly, so that registers change with the compiler's version.
* HeCBench's texts lack what their headers say: most programs do not compile for want of a type, a
  macro or the head of a template. None was added by hand.
* DRAM moves what caches let through: the bytes that threads ask for (left) exceed what it moved
  where data is used again, and fall short where a sector is used in part. They are no prediction.
* The profiler's integer operations are those of its own list of instructions, ours those of a class
  of names, address arithmetic among them.
* A single size that guards each thread was taken from the program's arguments where one fits the
  launch, else as the number of threads, which the last block may exceed. Where a loop, several
  arguments or data decide, nothing was guessed: the kernel is listed with what it asks for.
* Of a kernel that was launched several times the first launch was taken.
"""

if __name__ == "__main__":
    main()
