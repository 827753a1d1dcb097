"""Random models and studies, of which every proof must be what brute force finds.

    python -m tests.sweeps.attacking 20000 1

asks 20,000 studies, the seeds from 1 on, of proofs: optima, with gaps, ranks, ties, limits of time
and for each value of an axis; several objectives, all that is near the best, fronts, what meets
targets, and ranges; borders between the values of axes. Models are made of random
formulas; a study has few enough points for each to be looked at, and the search is cut so small
that it splits boxes all the same. A third number is that of the processes. What differs is printed
with its seed, made smaller, as what reproduces it; the status is 1 then.
"""

from __future__ import annotations

import collections
import itertools
import math
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import sweeps.bounds.checks
import sweeps.bounds.merge_axes
import sweeps.bounds.problem
import sweeps.bounds.search
import sweeps.certify.front
import sweeps.certify.targets
import sweeps.nest.run
import sweeps.runtime.resources
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from tests.sweeps.attack_borders import check_borders
from tests.sweeps.attack_checks import CHECKS, Truth, Wrong
from tests.sweeps.attack_models import Drawn, draw_study, make_study

#: Studies of a process before another takes its place.
_TASKS = 500


@contextmanager
def small_steps(rng: random.Random) -> Iterator[None]:
    """Small rounds, boxes and batches, so that little is looked at point by point."""
    settings = {
        (sweeps.bounds.search, "ROUND"): rng.choice([1, 3, 32]),
        (sweeps.bounds.search, "BUDGET"): rng.choice([5, 40, 512]),
        (sweeps.bounds.search, "POOL"): rng.choice([2, 1 << 17]),
        (sweeps.bounds.search, "_BOXES_BEFORE_DESCENT"): rng.choice([0, 8, 10**9]),
        (sweeps.bounds.search, "_MAX_NEAR_POINTS"): rng.choice([1, 3, 256]),
        (sweeps.bounds.merge_axes, "_MIN_POINTS"): rng.choice([0, 1 << 28]),
        (sweeps.bounds.merge_axes, "_MAX_SHARE"): rng.choice([0.75, 1.0]),
        (sweeps.certify.front, "MAX_SCAN_POINTS"): rng.choice([1, 4, 32]),
        (sweeps.certify.front, "BATCH"): rng.choice([2, 16, 256]),
        (sweeps.certify.front, "MAX_JOINT_TIE_BOXES"): rng.choice([0, 1 << 15]),
        (sweeps.bounds.problem, "_MAX_SPARSE_TABLE"): rng.choice([0, 1 << 24]),
        (sweeps.bounds.checks, "_MAX_SCAN_POINTS"): rng.choice([0, 1 << 26]),
        (sweeps.bounds.checks, "_FIRST_BLOCK_POINTS"): rng.choice([1, 1 << 12]),
        (sweeps.certify.targets, "MAX_SCAN_POINTS"): rng.choice([1, 8, 1 << 8]),
        (sweeps.certify.targets, "BATCH"): rng.choice([1, 1 << 10]),
        (sweeps.runtime.resources, "cpu_count"): lambda: 1,
    }
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in settings.items():
            patch.setattr(module, name, value)
        yield


def attack(one: Drawn, seed: int, folder: Path) -> tuple[str, str]:
    """Return how a study was answered, and what is wrong with the answer (empty: nothing)."""
    try:
        study = make_study(one, folder / f"model_{seed}_{next(_NUMBERS)}.py")
    except (DseError, ValueError) as error:
        return f"refused: {str(error)[:60]}", ""
    truth = Truth(one)
    query = truth.question()
    try:
        with small_steps(random.Random(seed)):
            (CHECKS | {"borders": check_borders})[one.ask](study, query, truth)
    except Wrong as error:
        return "wrong", str(error)
    except OutOfTimeError as error:
        return ("out of time", "") if one.ask == "late" else ("wrong", f"out of time: {error}")
    except InfeasibleError as error:
        if truth.feasible(query):
            return "wrong", f"feasible, yet: {error}"
        return "nothing feasible", ""
    except DseError as error:
        return f"refused: {str(error)[:60]}", ""
    except Exception:
        return "wrong", traceback.format_exc()
    return one.ask, ""


_NUMBERS = itertools.count()


def _smaller(one: Drawn) -> Iterator[Drawn]:
    """The same study with a half of an axis, fewer conditions, or one formula less."""
    for name, values in one.axes.items():
        if (
            isinstance(values, list)
            and len(values) > 1
            and not any(name in dims for dims, _ in one.tables.values())
        ):
            half = (len(values) + 1) // 2
            for part in (values[:half], values[half:], values[::2]):
                yield one.without(axes={**one.axes, name: part})
    limits = one.question.get("where", [])
    for number in range(len(limits)):
        rest = [limit for k, limit in enumerate(limits) if k != number]
        yield one.without(question={**one.question, "where": rest})


def shrunk(one: Drawn, seed: int, folder: Path, turns: int = 60) -> Drawn:
    """A smaller study that is answered wrongly, too."""
    going = True
    while going and turns > 0:
        going = False
        for part in _smaller(one):
            turns -= 1
            if attack(part, seed, folder)[0] == "wrong":
                one, going = part, True
                break
            if turns <= 0:
                break
    return one


def _report(seed: int) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = draw_study(seed)
        how, wrong = attack(one, seed, folder)
        if how != "wrong":
            return how, ""
        small = shrunk(one, seed, folder)
        wrong = attack(small, seed, folder)[1] or wrong
        return how, (
            f"--- seed {seed}: {small.ask}\n{small.text()}\naxes = {small.axes}\n"
            f"set = {small.set}\ntables = {small.tables}\n"
            f"question = {Truth(small).question()}\n{wrong}"
        )


def main(count: int, first: int = 0, jobs: int = 1) -> int:
    """Ask so many studies; the exit status."""
    began, counts = time.perf_counter(), collections.Counter[str]()
    context = multiprocessing.get_context("spawn")
    print(f"seeds {first} to {first + count - 1}", flush=True)
    for begin in range(first, first + count, _TASKS * jobs):
        seeds = range(begin, min(begin + _TASKS * jobs, first + count))
        with ProcessPoolExecutor(jobs, context) as pool:
            for how, wrong in pool.map(_report, seeds, chunksize=10):
                counts[how] += 1
                if wrong:
                    print(wrong, flush=True)
        spent = time.perf_counter() - began
        done = seeds.stop - first
        print(
            f"{done} studies, {spent:.0f} s, {counts['wrong']} wrong", file=sys.stderr, flush=True
        )
    refused = sum(number for how, number in counts.items() if how.startswith("refused"))
    for how, number in counts.most_common():
        print(f"{number:7,}  {how}")
    print(
        f"{count:,} studies, {refused:,} of them refused: {counts['wrong']} differ from brute "
        f"force; {time.perf_counter() - began:.0f} s"
    )
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    query = [int(given) for given in sys.argv[1:]]
    count, first, jobs = (*query, *(500, 0, 1)[len(query) :])
    assert math.isfinite(count)
    sys.exit(main(count, first, jobs))
