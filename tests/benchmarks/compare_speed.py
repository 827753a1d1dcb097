"""Speed of this tree compared with another, in turn on the same machine.

    git worktree add --detach ../other 2fca731
    python -m tests.benchmarks.compare_speed ../other                       # queries and commands
    python -m tests.benchmarks.compare_speed ../other test_ratios test_ipp  # what these print

Both trees are asked the same by the same Python, each with machine code of its own: questions of
new studies in two processes that stay, and commands in fresh ones, each tree first in every other
turn. What is compared are seconds of processors, so that other work disturbs little; of benchmarks,
which are those of each tree, the numbers in lines that both print. A line tells the medians, the
median of the ratios of all turns, and between what the middle half of these lies. The status is 1
where something takes more than 5 % longer by three quarters of its turns.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "examples" / "merge-four-gpus.toml"
VERBS: dict[str, Callable[[Any], Any]] = {
    "optimum": lambda s: s.optimum(minimize="time"),
    "optimum, certified": lambda s: s.optimum(minimize="time", method="certified"),
    "optimum per label": lambda s: s.optimum(minimize="time", per="workload"),
    "optimum, top 5": lambda s: s.optimum(minimize="time", top=5),
    "optimum where": lambda s: s.optimum(minimize="time", where="occupancy >= 0.5"),
    "optimum, two in order": lambda s: s.optimum(minimize=["time", "active_sms"]),
    "pareto": lambda s: s.pareto(minimize=["time", "active_sms"]),
    "pareto, certified": lambda s: s.pareto(minimize=["time", "active_sms"], method="certified"),
    "count": lambda s: s.count(where="time <= 1 s"),
    "histogram": lambda s: s.histogram("time", bins=20),
    "quantiles": lambda s: s.quantiles("time", q=[0.1, 0.5, 0.9]),
    "sensitivity": lambda s: __import__("dse").sensitivity(s, output="time"),
    "run": lambda s: s.run(),
}
#: What the axes of the study hold instead, and how often each is asked.
FEWER: dict[str, Any] = {"threads_per_block": range(16, 513, 48), "active_sms": range(1, 31, 6)}
FEWER["core_clock"] = [5e8, 7e8, 9e8, 1.1e9, 1.3e9, 1.5e9]
SIZES: dict[str, tuple[dict[str, Any], int]] = {"8e3": (FEWER, 30), "2e6": ({}, 8)}
#: Arguments of Python in a fresh process, how many turns, and whether with an empty cache.
BEST = ["-m", "dse", "optimum", str(STUDY), "--method"]
FRESH: dict[str, tuple[list[str], int, bool]] = {
    "import dse": (["-c", "import dse"], 20, False),
    "import dse; dse.Study": (["-c", "import dse; dse.Study"], 20, False),
    "dse --help": (["-m", "dse", "--help"], 10, False),
    "dse optimum --method certified": ([*BEST, "certified"], 5, False),
    "dse optimum --method certified, compiled": ([*BEST, "certified"], 3, True),
    "dse optimum --method scan, compiled": ([*BEST, "scan"], 3, True),
}
NUMBER = re.compile(r"((?<![\w.])\d[\d,]*\.?\d*(?:e[+-]?\d+)?)")

Rows = Iterator[tuple[str, list[list[float]]]]
Trees = list[dict[str, str]]


def in_turns(turns: int, first: int, ask: Callable[[int], float]) -> list[list[float]]:
    """Answers of both trees, turn by turn, without the first turns, which compile."""
    rows: list[list[float]] = [[], []]
    for turn in range(first + turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            value = ask(which)
            rows[which] += [value] * (turn >= first)
    return rows


def worker() -> None:
    """Answer the questions on lines, each by the seconds it took with its study."""
    import dse

    whole = dse.Study.from_toml(STUDY)
    for line in sys.stdin:
        size, verb = line.rstrip("\n").split(" ", 1)
        began = time.process_time()
        axes = {**whole.axes, **SIZES[size][0]}
        VERBS[verb](dse.Study(model=whole.model, axes=axes, outputs=whole.outputs))
        print(time.process_time() - began, flush=True)


def questions(trees: Trees) -> Rows:
    """Seconds of each question."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, __file__, "--worker"]
    both = [subprocess.Popen(command, env=env, **pipes) for env in trees]
    for size, (_, turns) in SIZES.items():
        for verb in VERBS:

            def ask(which: int, kinds: str = f"{size} {verb}") -> float:
                print(kinds, file=both[which].stdin, flush=True)
                return float(both[which].stdout.readline())

            yield f"{verb}, {size} points", in_turns(turns, 2, ask)
    for process in both:
        process.communicate()


def commands(trees: Trees) -> Rows:
    """Seconds of each command in a fresh process."""
    for name, (arguments, turns, empty) in FRESH.items():

        def measure(which: int, arguments: list[str] = arguments, empty: bool = empty) -> float:
            with tempfile.TemporaryDirectory() as scratch:
                env = trees[which] | ({"DSE_CACHE": scratch} if empty else {})
                before = getrusage(RUSAGE_CHILDREN)
                command = [sys.executable, *arguments]
                subprocess.run(command, env=env, cwd=scratch, check=True, capture_output=True)
                after = getrusage(RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        yield name, in_turns(turns, 1, measure)


def printed_rows(trees: Trees, file: str) -> Rows:
    """Numbers in the lines of a benchmark: each by its line, with # in its place."""
    numbers: list[dict[str, list[float]]] = [defaultdict(list), defaultdict(list)]

    def run(which: int) -> float:
        command = [*["-m", "pytest", "-m", "benchmark", "-sq"], f"tests/benchmarks/{file}.py"]
        env = trees[which]
        done = subprocess.run(
            [sys.executable, *command], env=env, cwd=env["PYTHONPATH"], stdout=-1, text=True
        )
        for line in done.stdout.splitlines():
            parts = NUMBER.split(line.strip(". "))
            for place in range(1, len(parts), 2):
                rest = [("#" if n == place else "_") if n % 2 else p for n, p in enumerate(parts)]
                numbers[which]["".join(rest)].append(float(parts[place].replace(",", "")))
        return 0.0

    in_turns(3, 0, run)
    for about in [name for name in numbers[0] if name in numbers[1] and " passed in " not in name]:
        least = min(len(numbers[0][about]), len(numbers[1][about]))
        yield f"{file}: {about}", [numbers[which][about][:least] for which in (0, 1)]


def line(name: str, old: list[float], new: list[float]) -> bool:
    """Print a row of the table; whether the new takes longer."""
    ratios = [after / before if before else 1.0 for before, after in zip(old, new, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    medians = f"{statistics.median(old):.4g} | {statistics.median(new):.4g}"
    print(f"| {name} | {medians} | {middle:.2f} | {low:.2f} to {high:.2f} |", flush=True)
    return middle > 1.05 and low > 1.05


def main(other: str, *files: str) -> int:
    """Print the table; the exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        own = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        own["PYTHONPYCACHEPREFIX"] = f"{scratch}/bytecode"
        trees = [
            own | {"PYTHONPATH": str(tree), "DSE_CACHE": f"{scratch}/{number}"}
            for number, tree in enumerate((Path(other).resolve(), ROOT))
        ]
        print("| | old | new | new by old | middle half |\n|---|---|---|---|---|")
        for file in files:
            for name, rows in printed_rows(trees, file):
                line(name, *rows)
        kinds = () if files else (questions, commands)
        slower = [line(name, *rows) for of in kinds for name, rows in of(trees)]
    return int(any(slower))


if __name__ == "__main__":
    sys.exit(worker() if sys.argv[1] == "--worker" else main(*sys.argv[1:]))
