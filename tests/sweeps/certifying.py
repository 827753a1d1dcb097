"""Random studies whose certified optimum must be the one that a scan of every point finds.

    python -m tests.sweeps.certifying 500

Models, axes, constraints and objectives are drawn at random, with up to a million points each, ties
included; the certified answer is asked of one thread and of two. A second number is that of the
processes that share the studies. It prints what it compared, and ends with status 1 where anything
differs.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

import dse
import sweeps.bounds.merge_axes
import sweeps.bounds.search
import sweeps.nest.run
import sweeps.runtime.resources
from symbolic.errors import DseError, InfeasibleError
from tests.one_source.points import point

MODELS = {
    "transit": {"supply": ["sharp", "smooth"]},
    "transit_time + transit": {},
    "mwp_cwp": {"waves": ["fractional", "whole"], "rounding": ["continuous", "whole"]},
    "occupancy + mwp_cwp": {"granularity": ["none", "cuda"]},
    "ipp": {},
    "occupancy + ipp": {},
    "throughput": {},
    "apsp": {"latency_hiding": ["modelled", "assumed"]},
    "clock_scaling": {},
    "energy_roofline": {},
    "heterogeneous": {},
    "temperature": {},
}

#: Studies that a process compares before another takes its place.
_TASKS = 25


def study(seed: int, most: int = 20_000) -> tuple[dse.Study, dict[str, Any]]:
    """A model, some axes, the rest set, of up to so many points; an objective and constraints."""
    rng = random.Random(seed)
    name = rng.choice(list(MODELS))
    model = dse.model(name)
    needs = [n for n in model.inputs if not model.quantity(n).is_label]
    fixed = {n: float(v) for n, v in point(model.quantities, needs, rng, edges=0.1).items()}
    axes: dict[str, Any] = {}
    chosen = rng.sample(needs, min(len(needs), rng.randint(1, 5)))
    longest = max(2, int(rng.uniform(2, most ** (1 / len(chosen)))))
    for need in chosen:
        drawn = {
            float(point(model.quantities, [need], rng)[need])
            for _ in range(rng.randint(1, longest))
        }
        values = list(drawn)
        rng.shuffle(values) if rng.random() < 0.3 else values.sort()
        axes[need] = values
        del fixed[need]
    if len(axes) > 1 and rng.random() < 0.2:
        a, b = list(axes)[:2]
        size = min(len(axes[a]), len(axes[b]))
        axes["pair"] = {"zip": {a: axes.pop(a)[:size], b: axes.pop(b)[:size]}}
    axes |= {switch: labels for switch, labels in MODELS[name].items() if rng.random() < 0.3}
    order = list(axes)
    rng.shuffle(order)
    outputs = [o for o in model.outputs if not model.quantity(o).is_label]
    a, b = rng.choice(outputs), rng.choice(outputs)
    formulas = [a, a, a, f"{a} * {b}", f"{a} / {b}", f"floor(8 * {a} / {b})"]
    if model.quantity(a).unit == model.quantity(b).unit:
        formulas.append(f"{a} - 2 * {b}")
    objective = rng.choice(formulas)
    made = dse.Study(model=name, axes={n: axes[n] for n in order}, set=fixed)
    question: dict[str, Any] = {rng.choice(["minimize", "maximize"]): objective}
    if rng.random() < 0.5:
        c = rng.choice(outputs)
        grid = made.grid()
        at = {axis: rng.randrange(grid.axes[axis].size) for axis in grid.axes}
        limit = float(grid.evaluate_point(at, [c])[c])
        if np.isfinite(limit):
            question["where"] = f"{c} {rng.choice(['<=', '>=', '<'])} {limit!r} * 1"
    if len(axes) > 1 and rng.random() < 0.15:
        question["per"] = rng.choice(order)
    if rng.random() < 0.2:
        question["top"] = rng.randint(2, 5)
    return made, question


def answer(made: dse.Study, question: dict[str, Any], method: str) -> Any:
    """The winners, without what says how they were found; None where no point is feasible."""
    try:
        return made.optimum(**question, method=method).drop_attrs()
    except InfeasibleError:
        return None


@contextmanager
def small_steps(rng: random.Random, threads: int) -> Iterator[None]:
    """The search cut in small rounds, axes merged or not, by so many threads."""
    settings = {
        (sweeps.bounds.search, "ROUND"): rng.choice([2, 5, 32]),
        (sweeps.bounds.search, "BUDGET"): rng.choice([20, 100, 512]),
        (sweeps.bounds.search, "POOL"): rng.choice([2, 1 << 17]),
        (sweeps.bounds.search, "_BOXES_BEFORE_DESCENT"): rng.choice([4, 200, 10**9]),
        (sweeps.bounds.merge_axes, "_MIN_POINTS"): rng.choice([0, 1 << 28]),
        (sweeps.runtime.resources, "cpu_count"): lambda: threads,
    }
    before = {(module, name): getattr(module, name) for module, name in settings}
    for (module, name), value in settings.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def compare(seed: int, most: int = 20_000) -> tuple[int, bool] | None:
    """Return how many points were compared, and if one was feasible; None if no study is drawn."""
    try:
        made, question = study(seed, most)
    except DseError:  # such as more blocks than there are threads for
        return None
    expected = answer(made, question, "scan")
    result = []
    for threads in (1, 2):
        with small_steps(random.Random(seed), threads):
            result.append(answer(made, question, "certified"))
    for one in result:
        same = one is None if expected is None else one is not None and one.identical(expected)
        assert same, f"seed {seed}, {made.text()}, {question}: {one} is not {expected}"
    return made.grid().points, expected is not None


def _report(seed: int, most: int) -> tuple[tuple[int, bool] | None, str, float]:
    """Return what was compared, where it differs, and the peak memory of the process [MB]."""
    wrong, one = "", None
    try:
        one = compare(seed, most)
    except AssertionError as error:
        wrong, one = str(error), (0, True)
    return one, wrong, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(count: int, most: int = 10**6, jobs: int = 1) -> int:
    """Compare so many studies in so many processes; the exit status.

    Processes are renewed after some studies: Numba does not give back the code it has compiled,
    here a nest for each scan to compare with.
    """
    began, points, feasible, wrong, done, memory = time.perf_counter(), 0, 0, 0, 0, 0.0
    context, seeds = multiprocessing.get_context("spawn"), itertools.count()
    while done < count:
        some = list(itertools.islice(seeds, min(_TASKS * jobs, count - done)))
        with ProcessPoolExecutor(jobs, context) as pool:
            for one, error, taken in pool.map(_report, some, itertools.repeat(most)):
                memory = max(memory, taken)
                if error:
                    wrong += 1
                    print(error, file=sys.stderr)
                if one is not None:
                    done, points, feasible = done + 1, points + one[0], feasible + one[1]
        spent = time.perf_counter() - began
        print(f"{done} studies, {spent:.0f} s, {memory:.0f} MB", file=sys.stderr, flush=True)
    print(
        f"{done} studies, {feasible} of them feasible, {points:,} points: {wrong} differ from a "
        f"scan of every point; {time.perf_counter() - began:.0f} s, at most {memory:.0f} MB a "
        "process"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    numbers = [int(given) for given in sys.argv[1:]]
    sys.exit(main(numbers[0] if numbers else 500, jobs=numbers[1] if len(numbers) > 1 else 1))
