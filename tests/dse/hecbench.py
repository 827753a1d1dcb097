"""HeCBench's kernels counted from the text that is given, beside a profile (RTX 3080).

The texts are of single kernels: without heads of templates, types and constants of their headers,
and with macros that may be another program's. ``hecbench.toml`` gives these by name, and the
arguments on which loops and guards rest, each with its place in the program that it is read off
(HeCBench as of gpuFLOPBench 4738733); none is fitted to what was measured.
"""

from __future__ import annotations

import argparse
import ast
import csv
import gzip
import hashlib
import json
import math
import multiprocessing
import re
import resource
import statistics
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dse.cuda.compile import remove_definitions
from dse.cuda.cubin import disassemble
from dse.cuda.instructions import GLOBAL, access_width
from dse.cuda.integer_expressions import Condition, atom_expr, atoms_of, is_known
from dse.cuda.kernel_file import _check_complete, branch_lines, load_code
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.loop_counts import KernelAnalysis
from dse.cuda.source import FRAME, blank_comments, signatures, split_declarations
from symbolic.errors import DseError

DATA = Path(__file__).parents[3] / "shared" / "data" / "profiles" / "hecbench_rtx3080"
TABLE = Path(__file__).with_name("hecbench.toml")
VECTORS = Path(__file__).with_name("hecbench_vectors.h")
CODE = Path(__file__).parents[2] / "dse" / "kernels"
SECONDS = 60  # of a processor, that a kernel may take
WHAT = ("flops", "double", "integer", "bytes")


def entry_of(case: str) -> str:
    """The kernel, with arguments of its template, as the profiler names it."""
    depth, begin = 0, 0
    for at, letter in enumerate(case):
        depth += (letter == "<") - (letter == ">")
        if letter == " " and not depth:
            begin = at + 1
        if letter == "(" and not depth:
            return case[begin:at].rpartition("::")[2] if "<" not in case else case[begin:at]
    return case


def in_short(error: object) -> str:
    """The first complaint of a compiler, or the first line of another error."""
    text = str(error)
    complaint = re.search(r"error: (.*)", text)
    if complaint:
        return f"compiler: {complaint[1]}"
    names = re.findall(r"^  (\w+): (mean|share|argument) ", text, re.M)
    if names:
        return "not given: " + ", ".join(name for name, _ in names[:6])
    return text.partition("\n")[0].rpartition("/")[2]


#: Operations of a thread's instruction, as the profiler's rates count them.
_FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2}
_DOUBLE = {"DADD": 1, "DMUL": 1, "DFMA": 2}


@cache
def texts() -> dict[str, list[str]]:
    """The texts of each program, one a kernel."""
    with gzip.open(DATA / "kernels.json.gz", "rt") as file:
        programs = json.load(file)
    return {name: [text for each in of.values() for text in each] for name, of in programs.items()}


@cache
def rows() -> dict[tuple[str, str], dict[str, str]]:
    """The first launch of each kernel that was measured and has a program, by their names."""
    result: dict[tuple[str, str], dict[str, str]] = {}
    with gzip.open(DATA / "profiling.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            if row["targetName"] in texts():
                result.setdefault((row["targetName"], row["Kernel Name"]), row)
    return result


@cache
def table() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the values given by name."""
    case = tomllib.loads(TABLE.read_text())["kernel"]
    return {(each["program"], each["kernel"]): each for each in case}


def measure(row: Mapping[str, str]) -> dict[str, float]:
    """Operations and bytes of a launch, from the rates of the profile."""
    time = float(row["xtime"]) * 1e-9
    rates = {"flops": "spPerf", "double": "dpPerf", "bytes": "traffic"}
    return {key: float(row[name]) * time for key, name in rates.items()} | {
        "integer": float(row["intops"])
    }


def count_entry(place: Path, key: tuple[str, str]) -> dict[str, float]:
    """Return the counts of a kernel, from its text and the values given by name."""
    row, case = rows()[key], table().get(key, {})
    name = entry_of(key[1])
    plain = name.partition("<")[0].rpartition("::")[2]
    own = [text for text in texts()[key[0]] if plain in signatures(text)]
    if not own:
        raise DseError("the text of this kernel is not given")
    template = signatures(own[0])[plain].template
    place.mkdir(exist_ok=True)
    path = place / f"{key[0]}.cu"
    path.write_text(_text(own[0], plain, case))
    (place / "given.h").write_text(_header(case))
    (place / VECTORS.name).write_text(VECTORS.read_text())
    entry, options = name if template else plain, ["--pre-include=given.h"]
    code = load_code(path, entry=entry, arch="sm_86", define={}, options=options)
    (body,) = disassemble([code.function])
    reading = KernelAnalysis(code.function, body, branch_lines(code, body), code.line_kinds)
    block, grid = (ast.literal_eval(row[f"{size} Size"]) for size in ("Block", "Grid"))
    threads = math.prod(block) * math.prod(grid)
    given = case.get("set", {})
    times = {reading.input_name(n): value for n, value in case.get("times", {}).items()}
    _check_complete(code, reading, given, times)
    offsets = code.offsets
    values = {offsets[name]: value for name, value in given.items() if name in offsets}
    launch = KernelLaunch(grid, block, values, times, reading.trip_counts)
    result = dict.fromkeys(WHAT, 0.0)
    for number, place_, one in reading.instructions():
        double, integer = _DOUBLE.get(one.name, 0), one.kind == "integer"
        single, asks = _FLOPS.get(one.name, 0), one.kind in GLOBAL
        if not (single or double or integer or asks):
            continue
        when = reading.values.solved_guard(number, place_) if one.guard else ("true",)
        often = reading.block_runs[number]
        # a guard that rests on data or on what is not given counts as if it held
        if _is_decided(when, values):
            often = often * atom_expr("if", when)
        many = launch.mean_per_thread(often) * threads
        result["flops"] += single * many
        result["double"] += double * many
        result["integer"] += integer * many
        if asks:
            result["bytes"] += many * access_width(one)
    return result


def _is_decided(when: Condition, arguments: Mapping[int, float]) -> bool:
    """True if a guard rests on nothing but places, passes and arguments that are given."""
    atoms = atoms_of(when)
    return (
        is_known(when)
        and not any(one.kind == "loaded" for one in atoms)
        and all(one.args[0] in arguments for one in atoms if one.kind == "argument")
    )


_CALLED = re.compile(r"(\w+)\s*(?:<[^<>;{}]*>\s*)?\(")


def _text(given: str, kernel: str, case: Mapping[str, Any]) -> str:
    """The text of a kernel without what is another program's.

    That are macros and functions of which the table says so, or which it gives itself, and
    functions that the kernel does not call. Functions get the heads of their templates.
    """
    without = {*case.get("drop", ()), *(name.partition("(")[0] for name in case.get("define", ()))}
    text = remove_definitions(given, dict.fromkeys(without))
    functions = {}
    parts = list(split_declarations(text))
    for at, part in enumerate(parts):
        head = blank_comments(part.partition("{")[0])
        named = None if FRAME.match(part) or "__device__" not in head else _CALLED.search(head)
        if named and named[1] != kernel:
            functions[at] = named[1]
    called, waiting = set[str](), [part for at, part in enumerate(parts) if at not in functions]
    while waiting:
        more = set(re.findall(r"\w+", waiting.pop())) - called
        called |= more
        waiting += [parts[at] for at, name in functions.items() if name in more]
    called -= without
    heads = case.get("heads", {})
    for at, name in functions.items():
        if name not in called:
            parts[at] = re.sub(r"[^\n]", "", parts[at])
        elif name in heads:
            plain = re.sub(rf"\b({name})\s*<[^<>;{{}}]*>(?=\s*\()", r"\1", parts[at], count=1)
            bare = plain.lstrip()
            parts[at] = f"{plain[: len(plain) - len(bare)]}{heads[name]} {bare}"
    return "".join(parts)


def _header(case: Mapping[str, Any]) -> str:
    """Return given names as a header: other headers, macros, declarations."""
    declare = case.get("declare", ())
    lines = [each for each in declare if each.startswith("#include")]
    lines += [f"#define {name} {value}" for name, value in case.get("define", {}).items()]
    return "\n".join([*lines, *(each for each in declare if each not in lines), ""])


def _answer(place: Path, key: tuple[str, str]) -> dict[str, Any]:
    try:
        return dict(count_entry(place, key))
    except DseError as error:
        return {"why": in_short(error)}
    except Exception as error:  # the table tells of it
        return {"why": f"FAULT {type(error).__name__}: {error}"}


def _answer_in_limit(place: Path, key: tuple[str, str], answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    answer.send(_answer(place, key))


def _answer_in_time(place: Path, key: tuple[str, str]) -> dict[str, Any]:
    """The answer of a kernel within its time of a processor."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer_in_limit, args=(place, key, theirs))
    process.start()
    theirs.close()
    try:
        result: dict[str, Any] = ours.recv()
    except EOFError:
        result = {"why": f"not within {SECONDS} s of a processor"}
    process.join()
    return result


@cache
def _code() -> bytes:
    files = sorted([*CODE.glob("*.py"), Path(__file__), VECTORS])
    return b"".join(each.read_bytes() for each in files)


def _mark(key: tuple[str, str]) -> str:
    """Return a hash of what an answer depends on: text, launch, values, and the counter."""
    case = [texts()[key[0]], rows()[key], table().get(key)]
    return hashlib.sha256(_code() + json.dumps(case, sort_keys=True).encode()).hexdigest()


_KINDS = (
    ("not given", "depends on data or on arguments that are not given"),
    ("compiler", "does not compile from its text and the given definitions"),
    ("the text of", "the data do not contain its text"),
)


def _kind(why: str) -> str:
    return next((kind for begin, kind in _KINDS if why.startswith(begin)), "other")


def _summary(every: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[str]:
    """Shares within 5, 20 and 100 % of each quantity, beside one factor for all kernels."""
    yield "| quantity, if the kernel has any | kernels | median ratio | within 5 % | 20 % | 100 % |"
    yield "|---|---|---|---|---|---|"
    for what in WHAT:
        pairs = [(each[what], measure(rows()[key])[what]) for key, each in every.items()]
        ratios = [count / truth for count, truth in pairs if truth]
        if not ratios:
            continue
        shares = (str(sum(abs(each - 1) <= off for each in ratios)) for off in (0.05, 0.2, 1))
        yield f"| {what} | {len(ratios)} | {statistics.median(ratios):.2f} | {' | '.join(shares)} |"
        truths = [truth for _, truth in pairs if truth]
        sizes = [_threads(key) for key in every if measure(rows()[key])[what]]
        factor = statistics.median(t / n for t, n in zip(truths, sizes, strict=True))
        plain = [factor * n / t for t, n in zip(truths, sizes, strict=True)]
        shares = (str(sum(abs(each - 1) <= off for each in plain)) for off in (0.05, 0.2, 1))
        label = f"baseline: {factor:.3g} per thread"
        yield f"| {label} | {len(plain)} | {statistics.median(plain):.2f} | {' | '.join(shares)} |"
        extra = sum(count >= 1 and not truth for count, truth in pairs)
        if extra:
            yield f"| {what}: counted, but none measured | {extra} | | | | |"


def _threads(key: tuple[str, str]) -> int:
    sizes = [ast.literal_eval(rows()[key][f"{size} Size"]) for size in ("Block", "Grid")]
    return int(math.prod(map(math.prod, sizes)))


def answers(file_: Path | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the counts of each kernel, or why it is not counted, from a file if possible."""
    known = json.loads(file_.read_text()) if file_ and file_.is_file() else {}
    marks = {key: _mark(key) for key in rows()}
    wanted = [key for key, mark in marks.items() if mark not in known]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        folders = [Path(place) / str(number) for number in range(len(wanted))]
        anew = pool.map(_answer_in_time, folders, wanted)
        known |= {marks[key]: each for key, each in zip(wanted, anew, strict=True)}
    result = {key: known[mark] for key, mark in marks.items()}
    if file_:
        file_.write_text(json.dumps({marks[key]: each for key, each in result.items()}))
    return result


def hecbench(answers: Mapping[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """Each kernel that was measured: failures first, each with its reason."""
    failed = {key: each["why"] for key, each in answers.items() if "why" in each}
    result = {key: each for key, each in answers.items() if "why" not in each}
    programs = len({program for program, _ in answers})
    yield f"The profile has {len(answers)} kernels of {programs} programs:\n"
    yield "| result | kernels |\n|---|---|"
    of = Counter(_kind(why) for why in failed.values())
    yield from (f"| {what} | {many} |" for what, many in of.most_common())
    yield f"| counted | {len(result)} |\n"
    yield from _summary(result)
    yield "\n## Not counted\n\n| program | kernel | reason |\n|---|---|---|"
    yield from (f"| {p} | {_cell(entry_of(n))} | {_cell(w)} |" for (p, n), w in failed.items())
    yield "\n## Counted\n\nEach cell: from source, measured (ratio).\n"
    yield "| program | kernel | given | flops | fp64 flops | integer operations | bytes |"
    yield "|---|---|---|---|---|---|---|"
    for (program, name), each in result.items():
        case = table().get((program, name), {})
        given = ", ".join(f"{one} = {value}" for one, value in case.get("set", {}).items())
        truth = measure(rows()[program, name])
        cells = " | ".join(_pair(each[what], truth[what]) for what in WHAT)
        yield f"| {program} | {_cell(entry_of(name))} | {_cell(given)} | {cells} |"
    yield ""


def _pair(count_entry: float, measure: float) -> str:
    if not measure:
        return "none, none" if count_entry < 1 else f"{count_entry:.4g}, none"
    return f"{count_entry:.4g}, {measure:.4g} ({count_entry / measure:.2f})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")[:160]


def main() -> None:
    """The page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a page that is written")
    parser.add_argument("--kept", type=Path, help="a file of answers, for the next time")
    given = parser.parse_args()
    text = "\n".join([HEAD, *hecbench(answers(given.kept))])
    print(text)
    if given.out:
        given.out.write_text(text)


HEAD = """# HeCBench kernels against a profile

**In a minute.** On this page, `dse kernel` counts kernels of HeCBench. Only the source text of the
kernels is available, without headers and launch code. Of 444 kernels, 193 are counted. Most
floating-point counts are within 5 % of the profile (flops 78 of 97, double precision 21 of 25).
Integer operations are within 20 % for 117 of 189 kernels. Requested bytes do not predict DRAM
traffic, because caches serve part of them.

Generated by `python -m tests.dse.hecbench --out docs/hecbench.md`. The GPU is an RTX 3080
(sm_86). `tests/dse/hecbench.toml` gives the missing macros, types, template parameters and
arguments by name, each with the place in the program where it was found. Nothing is fitted.

Reasons for differences:

* If a kernel was launched several times, only the first launch is compared.
* The counted bytes are the bytes that threads request. Caches may serve them, so they do not
  predict the measured DRAM traffic. A constant number of bytes per thread comes within a factor of
  two for more kernels.
* The kernels are compiled without the programs' compiler options (`-use_fast_math`).
* Integer operations are the instructions in a fixed list, including address arithmetic; the
  profiler uses another list.
* If the text of a kernel uses macros or functions of another program, they are left out; the table
  says so. Functions are completed with their template heads, and vectors with the operators of the
  CUDA samples (`tests/dse/hecbench_vectors.h`). Functions whose text is not available remain
  missing.
* If a branch or loop depends on data, its count is not guessed: the kernel is listed with the
  values that it needs. A single instruction with a data-dependent guard counts as executed
  (simpleSpmv: 6 times the flops).
"""

if __name__ == "__main__":
    main()
