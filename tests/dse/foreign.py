"""Datasets and studies of somebody else: nothing but them is opened, and nothing is run.

    python -m tests.dse.foreign 1000 1

Draws so many with the seed 1, each with paths, links, devices, huge headers, JSON in attributes,
labels with HTML, formulas and escape sequences, and puts verbs to it. Wrong is: a file outside that
is opened, a program or a text of the sender that is run, a connection, an exception that is no
message, more than 2 s of a processor, a character that steers the terminal or a forged line in what
is printed, the contents of a file outside, a formula in a CSV file, markup in a page. It is told,
and ends the command with status 1. A third number is that of the processes at once.
"""

from __future__ import annotations

import csv
import gc
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import dse
from dse.cli import main as command
from symbolic.errors import DseError
from tests.dse import foreign_inputs as inputs

SECONDS, EACH, VERBS = 2.0, 50, 4
ROOT = Path(dse.__file__).parents[1]
#: What Python, its libraries and the system itself are read from.
SYSTEM = (
    *(ROOT, sys.prefix, sys.base_prefix, os.environ.get("DSE_CACHE", ROOT), "/proc", "/sys"),
    *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
    *("/usr/share", "/usr/lib", "/usr/local", "/lib", "/dev/null", "/dev/urandom"),
    *("/etc/mime.types", "/etc/apache2/mime.types", "/etc/httpd", "/etc/localtime"),
    *(Path.home() / ".cache", Path.home() / ".config", sys.pycache_prefix or sys.prefix),
)
#: Events by which something is run or sent.
DEEDS = (
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"),
    *("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto", "urllib.Request"),
    *("webbrowser.open", "os.remove", "os.rename", "os.rmdir", "os.symlink"),
)
#: Whose objects dask copies by pickling them.
PICKLED = ("dask", "xarray", "zarr", "numpy", "sweeps", "symbolic", "builtins", "functools")
PICKLED += ("cloudpickle", "dse", "stochastic", "pandas", "collections", "operator", "types")
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.symlink")
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Watch:
    """Record of what is opened, run or sent while it is active."""

    def __init__(self) -> None:
        self.on, self.allowed, self.seen = False, tuple[str, ...](), set[str]()
        sys.addaudithook(self.hear)

    def is_allowed(self, place: Any) -> bool:
        """True if a path lies where it may be opened."""
        real = os.path.realpath(os.fsdecode(place))
        return any(real == one or real.startswith(f"{one}/") for one in self.allowed)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Note an event that should not be."""
        if not self.on:
            return
        if event == "open":
            if isinstance(args[0], (str, bytes)) and not self.is_allowed(args[0]):
                self.note(f"opens {args[0]!r}")
        elif event in DEEDS:
            known = event in CHANGES and isinstance(args[0], (str, bytes))
            if not (known and self.is_allowed(args[0])):
                self.note(f"{event} {str(args)[:200]}")
        elif event == "pickle.find_class" and str(args[0]).split(".")[0] not in PICKLED:
            self.note(f"unpickles {args}")
        elif event == "exec":
            name = getattr(args[0], "co_filename", "")
            if os.path.isabs(name) and not name.startswith(self.allowed[2:]):
                self.note(f"runs {name}")
        elif event == "compile" and b"system(" in _bytes(args[0]):
            if os.fsdecode(args[1] or "").startswith(self.allowed[2:]):
                return  # a module of a library
            self.note("compiles a text of the sender")

    def note(self, what: str) -> None:
        """Keep what should not be."""
        self.seen.add(what)

    @contextmanager
    def watch(self, *folders: Path) -> Iterator[None]:
        """Watch; what lies in some folders may be opened."""
        real = [os.path.realpath(one) for one in (*folders, *SYSTEM)]
        self.allowed, self.seen, self.on = tuple(real), set(), True
        try:
            yield
        finally:
            self.on = False


def _bytes(source: Any) -> bytes:
    if isinstance(source, str):
        return source.encode("utf-8", "surrogatepass")
    return source if isinstance(source, bytes) else b""


#: One for the process, for no hook can be removed.
_WATCH: list[Watch] = []


def watch() -> Watch:
    """The watch of this process."""
    if not _WATCH:
        _WATCH.append(Watch())
    return _WATCH[0]


#: Verbs that can answer, by the beginning of the name of an input.
SUITED = {
    "study": "optimum pareto count histogram quantiles chances sensitivity information plan run",
    "data": "optimum count histogram quantiles sensitivity export explore plot",
    "run": "optimum pareto count histogram quantiles sensitivity export explore plot",
    "entry": "machines",
}
GOALS = {"study": "ms_throughput", "run": "ms_throughput cs_throughput", "data": "time"}


def asked_of(name: str, out: Path, rng: random.Random) -> list[list[str]]:
    """Return some commands: mostly such as can answer."""
    kind = re.match("[a-z]*", Path(name).name)[0]  # type: ignore[index]
    every = questions(name, out, rng, GOALS.get(kind, "time").split())
    suited = [words for words in every if words[0] in SUITED.get(kind, "").split()]
    if rng.random() < 0.3 or not suited:
        return rng.sample(every, VERBS)
    return [*rng.sample(suited, min(VERBS, len(suited))), *rng.sample(every, VERBS)][:VERBS]


def questions(name: str, out: Path, rng: random.Random, goals: list[str]) -> list[list[str]]:
    """Commands that ask a study or Dataset; they write into a folder."""
    goal = rng.choice(goals * 9 + ["time", "ms_throughput", "cs_throughput", "power", "occupancy"])
    number, axis = rng.randrange(10**9), "machine" if goals == ["time"] else "threads"
    return [
        ["optimum", name, "--minimize", goal, "--top", "3"],
        ["optimum", name, "--maximize", goal, "--per", axis],
        ["pareto", name, "--minimize", goal, "--maximize", "threads"],
        ["count", name, "--where", f"{goal} <= 1"],
        ["histogram", name, "--output", goal],
        ["quantiles", name, "--output", goal, "--q", "0.5"],
        ["explain", name, "threads=256", "mem_latency=300"],
        ["advise", name, "threads=256", "mem_latency=300"],
        ["chances", name, "--minimize", goal],
        ["borders", name, "--quantity", "bound"],
        ["sensitivity", name, "--output", goal],
        ["meets", name, "--where", f"{goal} <= 1"],
        ["information", name, "--minimize", goal],
        ["law", name, goal, "--at", "threads=256"],
        ["ranges", name, "--within", "threads=10%"],
        ["disagreement", name],
        ["plan", name],
        ["plan", name, "--no-code"],
        ["run", name],
        ["verify", name],
        ["verify", name, "--repair"],
        ["add", name, "threads_in_ms"],
        ["export", name, f"{out}/{number}.csv"],
        ["export", name, f"{out}/{number}.nc"],
        ["export", name, f"{out}/{number}.zarr"],
        ["export", name, f"{out}/{number}.parquet"],
        ["import", name, f"{out}/{number}.csv"],
        ["explore", name, "--out", f"{out}/{number}.html"],
        ["plot", "lines", name, "--quantity", goal, "--out", f"{out}/{number}.svg"],
        ["plot", "parallel", name, "--minimize", goal, "--out", f"{out}/{number}.svg"],
        ["machines", name],
        ["workloads", name],
        ["evaluate", "transit", "--machine", name, "threads=256"],
    ]


def in_python(name: str) -> list[Callable[[], Any]]:
    """Calls that take a Dataset or study, and how its answers show themselves."""

    def as_html(made: Any) -> str:
        return str(made._repr_html_()) if hasattr(made, "_repr_html_") else str(made)

    return [
        lambda: as_html(dse.table(dse.open(name))),
        lambda: dse.derive(dse.open(name), "threads_in_ms").load(),
        lambda: dse.open(name, add="threads_in_ms").load(),
        lambda: as_html(dse.explain(dse.open(name), threads=256)),
        lambda: as_html(dse.Study.from_toml(name)),
        lambda: as_html(dse.machine(name)),
        lambda: as_html(dse.optimum(name, minimize="time")),
    ]


_ALARMS = (signal.SIGALRM, signal.SIGPROF)


class Late(BaseException):
    """It takes too long."""


def _late(*_: object) -> None:
    raise Late


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Raise where something takes so many seconds of a processor, or waits ten times as long."""
    before = [signal.signal(number, _late) for number in _ALARMS]
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for number, handler in zip(_ALARMS, before, strict=True):
            signal.signal(number, handler)


def _where(error: BaseException) -> str:
    steps = traceback.extract_tb(error.__traceback__)
    ours = [s for s in steps if str(ROOT) in s.filename and "/tests/" not in s.filename]
    at = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else "?"
    return f"{type(error).__name__}: {str(error)[:200]!r} ({at})"


def _output_faults(text: str, html: bool = False) -> Iterator[str]:
    """Yield the faults in displayed text."""
    if result := STEERING.search(text):
        yield f"shows {result[0]!r} in {text[max(result.start() - 40, 0) : result.end() + 40]!r}"
    if re.search(f"^{inputs.FORGED}", text, re.MULTILINE):
        yield f"shows a forged line: {text[:200]!r}"
    if inputs.SECRET in text:
        yield f"echoes a file outside: {text[:200]!r}"
    if html and re.search(r"<script>alert|<img src=x|<b onclick", text):
        yield "shows markup of the sender"


def _file_faults(out: Path) -> Iterator[str]:
    """Yield the faults in written files."""
    csv.field_size_limit(1 << 30)
    for page in out.glob("*.html"):
        text = page.read_text("utf-8")
        yield from (message for message in _output_faults(text, html=True) if "markup" in message)
    for table in out.glob("*.csv"):
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    if re.match(r"\s*[=@]|[+\-][^\d.in]", cell):
                        yield f"writes the formula {cell[:60]!r}"


def one(seed: int, scratch: Path, seconds: float = SECONDS) -> tuple[list[str], Counter[str]]:
    """Return the faults of the verbs on one input, and how they ended."""
    rng = random.Random(seed)
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    folder, out = scratch / f"received{seed}", scratch / f"out{seed}"
    inputs.make_received(folder, scratch / "outside", rng)
    out.mkdir()
    ways = (inputs.study_file, inputs.study_file, inputs.entry_file)
    way = rng.choice([*ways, *[None] * 4])
    if way is None:
        name = str(inputs.dataset_file(folder, rng, scratch / "run.zarr"))
    else:
        name = str(way(folder, rng))
    query = asked_of(name, out, rng)
    calls = rng.sample(in_python(name), 1)
    cwd = Path.cwd()
    os.chdir(folder)
    try:
        for words in query:
            message, end = _ask(words, folder, out, seconds)
            wrong += [f"seed {seed}, dse {' '.join(words)[:150]}: {one}" for one in message]
            ends[f"{words[0]}: {end}"] += 1
        for number, call in enumerate(calls):
            message = _call(call, folder, out, seconds)
            wrong += [f"seed {seed}, call {number} of {name}: {one}" for one in message]
        wrong += [f"seed {seed}: {message}" for message in _file_faults(out)]
    finally:
        os.chdir(cwd)
        gc.collect()
        for place in (folder, out):
            shutil.rmtree(place, ignore_errors=True)
    return wrong, ends


def _ask(words: list[str], folder: Path, out: Path, seconds: float) -> tuple[list[str], Any]:
    """Return the faults of a command."""
    heard, wrong = watch(), list[str]()
    before = time.process_time()
    try:
        with processor_limit(seconds), heard.watch(folder, out):
            result = CliRunner().invoke(command, words, prog_name="dse")
    except Late:
        return [f"takes more than {seconds} s"], "late"
    if isinstance(result.exception, Late) or time.process_time() - before > seconds:
        wrong.append(f"takes more than {seconds} s")
    elif result.exception is not None and not isinstance(result.exception, SystemExit):
        wrong.append(_where(result.exception))
    wrong += heard.seen
    wrong += _output_faults(result.output)
    return wrong, result.exit_code


def _call(call: Callable[[], Any], folder: Path, out: Path, seconds: float) -> list[str]:
    """Return the faults of a call."""
    heard, wrong, text = watch(), list[str](), ""
    try:
        with processor_limit(seconds), heard.watch(folder, out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = call()
            text = made if isinstance(made, str) else ""
    except DseError as error:
        text = str(error)
        wrong += [message for message in _output_faults(text) if "forged" not in message]
        text = ""
    except Late:
        wrong.append(f"takes more than {seconds} s")
    except Exception as error:
        wrong.append(_where(error))
    return [*wrong, *heard.seen, *(s for s in _output_faults(text, html=True) if "shows m" in s)]


def make_outside_files(scratch: Path) -> None:
    """Write the files that inputs refer to: files outside, and the store of a run."""
    os.environ["MPLBACKEND"] = "agg"
    os.environ.pop("DSE_PATH", None)
    inputs.make_outside(scratch / "outside")
    dse.Study(**inputs.STUDY).run(store=str(scratch / "run.zarr"))


def _some(seeds: range) -> tuple[list[str], Counter[str], float, range]:
    """Some inputs, in a process of their own; and those that are left, for another process.

    What is stopped in the middle of its work leaves threads behind, which nobody should share.
    """
    wrong: list[str] = []
    ends: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        make_outside_files(scratch)
        for seed in range(-12, 0):  # what is compiled or loaded once
            with suppress(Exception):
                one(seed, scratch, 60.0)
        left = seeds
        for place, seed in enumerate(seeds):
            began = time.process_time()
            message, ended = one(seed, scratch)
            slowest = max(slowest, time.process_time() - began)
            wrong += message
            ends += ended
            left = seeds[place + 1 :]
            if any("takes more" in line for line in message):
                break
    return wrong, ends, slowest, left


def main(count: int, seed: int, jobs: int = 1) -> int:
    """Ask of so many inputs; the exit status."""
    began, first, wrong, slowest = time.perf_counter(), seed * 10**6, 0, 0.0
    ends: Counter[str] = Counter()
    parts = [range(a, min(a + EACH, first + count)) for a in range(first, first + count, EACH)]
    context = multiprocessing.get_context("spawn")
    while parts:
        with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool:
            tasks = {pool.submit(_some, part): part for part in parts}
            parts = []
            for task in as_completed(tasks):
                try:
                    message, ended, longest, left = task.result()
                except BrokenProcessPool:  # of those beside it, too
                    message, ended, longest = [f"{tasks[task]}: the process ended"], Counter(), 0.0
                    left = range(0)
                wrong, ends, slowest = wrong + len(message), ends + ended, max(slowest, longest)
                parts += [left] if left else []
                for line in message:
                    print(line.encode("ascii", "backslashreplace").decode(), flush=True)
    answered = sum(number for end, number in ends.items() if end.endswith(": 0"))
    print(
        f"{count:,} foreign inputs, seed {seed}: {ends.total():,} commands, {answered:,} answered, "
        f"{wrong} wrong; the slowest input took {slowest:.1f} s of a processor for {VERBS + 1} "
        f"questions; {time.perf_counter() - began:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    sys.exit(main(*(numbers + [1000, 1, 1][len(numbers) :])))
