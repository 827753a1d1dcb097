"""Random searches under a time limit, each of which must end soon after it.

    python -m tests.dse.ending 200 1

draws questions of every verb that takes ``time_limit`` (optimum, pareto, meets) on large studies of
shipped models: statistics over axes and draws, several objectives, ranks, cells, tolerances, ties.
Each must end by its limit plus 2 seconds or 10 %, whichever is more, with an answer that says what
is proven, or with an error that says that the time was up.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

import dse
from symbolic.errors import DseError, OutOfTimeError

Search = tuple[str, dict[str, Any], dict[str, Any]]

_OBJECTIVES = {
    "occupancy + ipp": ("time", "energy", "power", "perf_per_watt"),
    "occupancy + mwp_cwp": ("time", "total_cycles", "cwp", "mwp"),
    "occupancy + latency_roofline + footprint": ("time", "occupancy", "dram_time"),
}


def _axes(rng: random.Random) -> dict[str, Any]:
    """Draw between 1e4 and 1e10 configurations."""
    axes: dict[str, Any] = {
        "threads_per_block": range(32, 513, rng.choice([32, 16, 8])),
        "registers_per_thread": range(8, rng.choice([24, 64])),
        "shared_mem_per_block": range(0, 16385, rng.choice([64, 512, 4096])),
        "active_sms": range(1, 31),
        "core_clock": {"linspace": [8e8, 1.6e9, rng.choice([4, 60, 5000, 1_000_000])]},
    }
    drawn = {"threads_per_block", *rng.sample(sorted(axes), rng.randint(2, 4))}
    return {name: axes[name] for name in rng.sample(sorted(drawn), len(drawn))}


def draw_search(rng: random.Random, limit: float) -> Search:
    """Draw a verb, the arguments of a study, and the question."""
    model = rng.choice(sorted(_OBJECTIVES))
    axes = _axes(rng)
    study: dict[str, Any] = {"model": model, "machine": "gtx280", "workload": "svm", "axes": axes}
    if "roofline" in model:
        study |= {"machine": "a100_80", "workload": "examples/kernels/triad.toml"}
    formulas = list(_OBJECTIVES[model])
    short = [name for name in axes if name != "threads_per_block"]
    statistic = rng.choice(["mean", "worst_high", "std", "quantile"])
    level = ", 0.9" if statistic == "quantile" else ""
    if rng.random() < 0.3:
        formulas = [f"{statistic}({name}{level}, {rng.choice(short)})" for name in formulas]
    elif rng.random() < 0.3:
        draws = rng.choice([16, 256, 4096])
        study["random"] = {"mem_latency_nominal": "normal: 450 cycles, 5 %", "draws": draws}
        if "roofline" in model:
            study["random"] = {"issue_wait": "uniform: 1, 2", "draws": draws}
        statistic = statistic.replace("worst_high", "mean")
        formulas = [f"{statistic}({name}{level})" for name in formulas]
    if "random" not in study and rng.random() < 0.5:
        conditions = [
            "time <= 60 ms",
            "occupancy >= 0.5",
            "warps_per_sm >= 13",
            "time <= 1 ns",
        ]
        study["where"] = rng.sample(conditions, rng.randint(1, 2))
    verb = rng.choice(["optimum", "optimum", "optimum", "pareto", "pareto", "meets"])
    question: dict[str, Any] = {"time_limit": limit}
    if verb == "meets":
        question["where"] = [f"{formulas[0]} <= {rng.choice([0.01, 0.1, 1, 10])}"]
        question["boxes"] = rng.choice([100, 10_000, 1_000_000])
        return verb, study, question
    count = rng.randint(2, 3) if verb == "pareto" else rng.choice([1, 1, 1, 2])
    wanted = rng.sample(formulas, min(count, len(formulas)))
    question[rng.choice(["minimize", "maximize"])] = wanted if len(wanted) > 1 else wanted[0]
    if rng.random() < 0.3:
        question["per"] = rng.choice(short)
    if verb == "optimum":
        question["method"] = rng.choice(["certified", "auto"])
        extra = rng.choice(["top", "within", "ties", "gap", "", "", ""])
        if extra:
            values = {"top": rng.choice([2, 100]), "within": 0.01, "ties": True, "gap": 0.05}
            question[extra] = values[extra]
    return verb, study, question


def run_search(search: Search) -> tuple[float, str]:
    """Run a search; return its seconds beyond the limit, and what came of it."""
    verb, arguments, question = search
    try:
        study = dse.Study(**arguments)
    except DseError as error:
        return -1.0, f"refused: {error}"
    ask: Callable[..., Any] = getattr(dse, verb)
    targets = question.pop("where", None)
    began = time.monotonic()
    try:
        answer = ask(study, targets, **question) if targets else ask(study, **question)
        proven = [
            answer.attrs[key] for key in ("gap", "complete", "settled") if key in answer.attrs
        ]
        outcome = f"answered, {proven}"
    except OutOfTimeError as error:
        outcome = f"out of time: {error}"
    except DseError as error:
        outcome = f"refused: {error}"
    return time.monotonic() - began - question["time_limit"], outcome


def main(count: int, seed: int, longest: float = 20.0, shortest: float = 0.5) -> int:
    """Run searches and print those that ended late; return how many did."""
    late = 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        limit = shortest * (longest / shortest) ** rng.random()
        search = draw_search(rng, limit)
        over, outcome = run_search(search)
        is_late = over > max(2.0, limit / 10)
        late += is_late
        if is_late:
            print(f"{number}: limit {limit:.2f} s, over by {over:.2f} s")
            print(f"    {search}\n    {outcome[:200]}", flush=True)
    print(f"{count} searches, {late} ended late")
    return late


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
