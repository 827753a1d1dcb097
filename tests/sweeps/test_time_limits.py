"""A time limit is kept by every step of a proof: by merging and checks as by the search."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dse
import sweeps.bounds.merging
import sweeps.bounds.search
from sweeps.ask.ask import Ask
from sweeps.bounds.alike import alike
from sweeps.bounds.check import check
from sweeps.bounds.merging import reduced
from sweeps.grid.goals import objective_node, one_goal
from sweeps.runtime.loop import Tally
from sweeps.sources.best import grid_optimum
from symbolic.errors import InfeasibleError, OutOfTimeError

LATE = Tally(deadline=-math.inf)


def launch(count: int = 8, **more: Any) -> dse.Study:
    return dse.Study(
        model="occupancy + ipp",
        machine="gtx280",
        workload="svm",
        axes={
            "threads_per_block": range(32, 513, 32),
            "registers_per_thread": range(8, 40),
            "shared_mem_per_block": range(0, 16385, 1024),
            "active_sms": range(1, 31),
            "core_clock": {"linspace": [8e8, 1.6e9, count]},
        },
        **more,
    )


class Clock:
    """A clock that tells one second more each time it is looked at, and what is late by it."""

    def __init__(self, limit: float = math.inf) -> None:
        self.looks, self.limit = 0, limit

    def late(self) -> bool:
        return self.monotonic() > self.limit

    def monotonic(self) -> float:
        self.looks += 1
        return float(self.looks)


def test_merging_stops_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few axes were merged by then, the space holds the same values."""
    monkeypatch.setattr(sweeps.bounds.merging, "_WORTH", 0)
    grid = launch().grid()
    goal = one_goal("energy", None)
    root, leaves = objective_node(grid, (), goal), grid.leaves[()]
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    points = []
    rng = np.random.default_rng(0)
    whole = reduced(root, leaves, sizes, {}, late=lambda: True).problem
    assert whole.sizes.tolist() == list(sizes.values())
    for most in (8, 20, 30, 10**9):
        clock = Clock(most)
        space = reduced(root, leaves, sizes, {}, late=clock.late)
        points.append(math.prod(space.problem.sizes.tolist()))
        places = np.stack([rng.integers(0, n, 50) for n in space.problem.sizes])
        at = [space.original(place) for place in places.T]
        with np.errstate(all="ignore"):
            expected = whole.values(np.array([[place[axis] for place in at] for axis in sizes]))
            assert space.problem.values(places).tolist() == expected.tolist()
        assert clock.looks <= most + 5
    assert points == sorted(points, reverse=True)
    assert points[0] > points[-1]


def test_rows_are_ordered_as_far_as_there_is_time() -> None:
    rows = np.random.default_rng(0).normal(size=(2, 300))
    for most in (0, 10, 10**9):
        order = alike(rows, Clock(most).late)
        assert sorted(order.tolist()) == list(range(300))


def test_a_limit_ends_whatever_is_going_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at a few times at most once the time is up, whenever that is."""
    made = launch()
    goal = one_goal("energy", None)
    best = float(made.optimum(minimize="energy", method="certified").energy)
    proven = []
    for limit in (0, 20, 200):
        clock = Clock()
        monkeypatch.setattr("sweeps.runtime.loop.time", clock)
        ask = Ask(goals=(goal,), time_limit=limit)
        found = grid_optimum(dse.Study(**given(made)).grid(), ask)
        assert clock.looks < limit + 25
        assert found.attrs["bound"] <= best <= float(found.energy)
        proven.append(found.attrs["settled"])
    assert proven[0] == 0


def given(made: dse.Study) -> dict[str, Any]:
    kept = ("model", "machine", "workload", "axes", "set", "where")
    return {key: getattr(made, key) for key in kept}


def test_checks_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be checked in time is left to the search, or told."""
    nowhere = launch(where="time <= 1 ns")
    check(nowhere.grid(), tally=LATE)  # it is not known that there is no feasible point
    with pytest.raises(InfeasibleError, match="is broken at every point"):
        check(nowhere.grid())
    with pytest.raises(OutOfTimeError, match=r"no feasible point .* was found in 0 s"):
        dse.Study(**given(nowhere)).optimum(minimize="energy", time_limit=0)
    monkeypatch.setattr("sweeps.bounds.first._GLANCE", 16)
    formula = {"mem_bandwidth": "0.1 B * core_clock * active_sms * threads_per_block"}
    made = launch(set=formula)
    with pytest.raises(OutOfTimeError, match="whether all formulas stay in their domains"):
        check(made.grid(), tally=LATE)
    check(made.grid())


def test_an_answer_loads_nothing_once_the_time_is_up() -> None:
    program = (
        "import sys, numpy as np\n"
        "from sweeps.grid.plain import answered, prepared\n"
        "prepared(); before = {*sys.modules}\n"
        "answered({'a': ('x', np.ones(2), {})}, {'x': ('x', np.arange(2), {})}, {})\n"
        "print(*{*sys.modules} - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "\n", done.stdout + done.stderr
