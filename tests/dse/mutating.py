"""Inputs that somebody spoilt: answered or refused in words, soon and in little memory.

    python -m tests.dse.mutating 100000 1

Draws so many inputs with the seed 1: study files, formulas, T4 and cache files of tuners, CSV
tables, machine and workload files, each a sound one with pieces removed, doubled, exchanged or
replaced by what is hostile. A ``DseError`` or an answer is right; another exception, more than 2 s
for one or more than 512 MB beyond what the libraries take is told, and ends it with status 1.
Inputs are read in processes with limits of their own, some hundreds in each; a third number is that
of the processes at once.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dse
from symbolic.errors import DseError

DATA = Path(__file__).parents[1] / "data"
SECONDS, MEGABYTES, EACH = 2.0, 512, 500
STUDY = """model = "transit"
outputs = ["ms_throughput", "bound"]
where = ["ms_throughput <= 0.5", "threads >= 2"]
[axes]
threads = { start = 1, stop = 64, step = 3 }
mem_latency = [100, "300", 600.5]
supply = ["sharp", "smooth"]
[set]
intensity = "10 * threads / (threads + 1)"
lanes_width = 32
ms_peak = "0.7"
[best]
minimize = "ms_throughput"
top = 3
"""
ENTRY = """title = "A machine"
compute_capability = "8.0"
base = "gtx280"
[values]
n_sms = { value = 108, source = "a page" }
nominal_clock = { value = "1.41 GHz", source = "a page" }
mem_bandwidth = { value = "1555 GB/s", assumed = "why" }
mem_latency_nominal = { value = "400 + n_sms / 2", source = "a page" }
"""
FORMULA = "where(threads > 10, minimum(threads / 3, 1 GHz / 2 Hz) ** 2, -log(mem_latency + 1e3))"
TABLE = "threads [1],time [ms],status\n32,1.5,correct\n64,2.5,\n128,nan,failed: memory\n"
_LAUNCH = '"0","7","saxpy(int)","(128, 1, 1)","(20, 1, 1)"'
_NCU = f"""==PROF== Connected
"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"
{_LAUNCH},"gpu__time_duration.sum","usecond","1,250.50"
{_LAUNCH},"smsp__inst_executed.sum","inst","16,000"
{_LAUNCH},"sm__throughput.avg.pct_of_peak_sustained_elapsed","%","n/a"
"""
_KTT = """{"Metadata": {"TimeUnit": "Microseconds", "GlobalSizeType": "CUDA"}, "Results": [{
"Configuration": [{"Name": "n", "Value": 1}], "Status": "Ok", "ComputationResults": [{
"Duration": 1.5, "GlobalSize": {"X": 2, "Y": 1, "Z": 1}, "LocalSize": {"X": 64, "Y": 1, "Z": 1},
"CompilationData": {"RegistersCount": 8}, "ProfilingData": {"Counters": [
{"Name": "smsp__inst_executed.sum", "Value": 400}]}}]}]}"""
_CALIPER = """__rec=node,id=64,attr=8,data=annotation
__rec=node,id=90,attr=8,data=any#any#max#Reps
__rec=node,id=91,attr=8,data=avg#inclusive#sum#time.duration
__rec=node,id=65,attr=64,data=DAXPY
__rec=ctx,ref=65,attr=90=91,data=50.000000=0.008648
"""
PROFILES = (("a.csv", _NCU), ("a.json", _KTT), ("a.cali", _CALIPER))
HOSTILE = (
    *(
        "",
        "\0",
        "\ud800",
        "\\ud800",
        "\u202e",
        "'",
        '"',
        "[",
        "]" * 40,
        "[" * 400,
        "{",
        "}",
        "(" * 300,
    ),
    *(")", ",", ";", "\t", "\n", "=", "==", "!=", "**", "/ 0", "0 / 0", "* 1e308", "1e999", "-1"),
    *("9" * 5000, "9" * 20, "5e-324", "1e308", "nan", "inf", "-inf", "true", "null", "0x10"),
    *("threads", "threads + " * 1200, "GHz", "1 GB/s", "where(", "floor(1/0)", "0.1", "[1, 2]"),
    *("{}", "[]", '{"a": 1}', "1_000", "1979-05-27", "machine", "powers_of_two", "linspace"),
)


def spoilt(text: str, rng: random.Random) -> str:
    """The text with some pieces of it spoilt."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        start = rng.randrange(len(text) + 1)
        stop = min(start + rng.choice([0, 0, 1, 2, 5, 12, 40]), len(text))
        piece = rng.choice(HOSTILE)
        if rng.random() < 0.3:
            other = rng.randrange(len(text) + 1)
            piece = text[other : other + rng.choice([1, 3, 8, 30])]
        text = text[:start] + piece + text[stop:]
    return text


def _spoilt_tree(tree: Any, rng: random.Random) -> Any:
    """JSON of which some values are of another kind."""
    if rng.random() < 0.02:
        hostile = (None, True, [], {}, "", "\ud800", "\0", -1, 1e308, [[[]]], {"a": []}, "text")
        return rng.choice([*hostile, 10**400, 0.5, "1e999", [None], {"": None}])
    if isinstance(tree, dict):
        return {key: _spoilt_tree(value, rng) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_spoilt_tree(value, rng) for value in tree]
    return tree


def _write(text: str, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def read_study(rng: random.Random, folder: Path) -> None:
    """A study file: read, planned, and answered where it is small."""
    study = dse.Study.from_toml(_write(spoilt(STUDY, rng), folder, "study.toml"))
    if isinstance(study, dse.Study) and study.plan().points < 5000:
        study.run()


def read_formula(rng: random.Random, folder: Path) -> None:
    """A formula, set and as a condition."""
    spec: dict[str, Any] = {"model": "transit", "axes": {"threads": [1, 20], "mem_latency": [9]}}
    given = {"lanes_width": 32, "ms_peak": 1, "intensity": 2}
    text = spoilt(FORMULA, rng)
    if rng.random() < 0.5:
        dse.Study(**spec, set={**given, "intensity": text}).run()
    else:
        dse.Study(**spec, set=given, where=f"{text} > 1").run()


def read_tuner(rng: random.Random, folder: Path) -> None:
    """A T4 or cache file."""
    text = (DATA / rng.choice(["t4.json", "cache.json"])).read_text()
    if rng.random() < 0.7:
        text = json.dumps(_spoilt_tree(json.loads(text), rng))
    else:
        text = spoilt(text, rng)
    ds = dse.open(_write(text, folder, "tuner.json"), shape=rng.choice(["auto", "rows", "grid"]))
    dse.export(ds, folder / f"tuned{rng.random()}.csv")


def read_profile(rng: random.Random, folder: Path) -> None:
    """A profile: CSV of Nsight Compute, JSON of KTT, or Caliper's text."""
    name, text = rng.choice(PROFILES)
    dse.open(_write(spoilt(text, rng), folder, name))


def read_table(rng: random.Random, folder: Path) -> None:
    """A CSV table."""
    axes = rng.choice(["threads", None, ["threads", "time"]])
    dse.open(_write(spoilt(TABLE, rng), folder, "table.csv"), axes=axes)


def read_entry(rng: random.Random, folder: Path) -> None:
    """A machine or workload file."""
    path = _write(spoilt(ENTRY, rng), folder, f"own{rng.randrange(10**9)}.toml")
    (dse.machine if rng.random() < 0.8 else dse.workload)(str(path))


KINDS: tuple[Callable[[random.Random, Path], None], ...] = (
    *(read_study, read_formula, read_tuner, read_table, read_entry, read_profile),
)


_ALARMS = (signal.SIGALRM, signal.SIGPROF)


def _late(*_: object) -> None:
    raise TimeoutError(f"not done within {SECONDS} s")


def fault(seed: int, folder: Path, seconds: float = SECONDS) -> str:
    """Return the fault in the answer to one input; empty if there is none."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    before = [signal.signal(number, _late) for number in _ALARMS]
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of a processor, however busy it is
        signal.setitimer(signal.ITIMER_REAL, 30 * seconds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind(rng, folder)
    except DseError:
        return ""
    except BaseException as error:
        at = traceback.extract_tb(error.__traceback__)
        ours = [step for step in at if "/site-packages/" not in step.filename][-1]
        where = f"{Path(ours.filename).name}, line {ours.lineno}"
        return f"seed {seed}, {kind.__name__}: {type(error).__name__}: {str(error)[:150]} ({where})"
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for number, handler in zip(_ALARMS, before, strict=True):
            signal.signal(number, handler)
    return ""


def _some(seeds: range) -> list[str]:
    """The faults of some inputs, in a process whose memory is limited."""
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(-40, 0):  # what each library takes, and what is compiled or loaded once
            fault(seed, Path(scratch), 60.0)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEGABYTES * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        return [message for seed in seeds if (message := fault(seed, Path(scratch)))]


def main(count: int, seed: int, jobs: int = 1) -> int:
    """Read so many spoilt inputs; the exit status."""
    began, wrong, first = time.perf_counter(), 0, seed * 10**9
    parts = [range(a, min(a + EACH, first + count)) for a in range(first, first + count, EACH)]
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=4) as pool:
        for message in pool.imap_unordered(_some, parts):
            wrong += len(message)
            for line in message:
                print(line.encode("ascii", "backslashreplace").decode(), flush=True)
    spent = time.perf_counter() - began
    print(f"{count:,} spoilt inputs, seed {seed}: {wrong} answered wrongly; {spent:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    sys.exit(main(*(numbers + [10_000, 1, 1][len(numbers) :])))
