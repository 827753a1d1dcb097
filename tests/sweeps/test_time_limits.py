"""A time limit is kept by every step of a proof: by merging and checks as by the search."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st
from hypothesis import study_options as drawn
from hypothesis.extra.numpy import arrays

import dse
import sweeps.bounds.merge_axes
import sweeps.bounds.search
from dse.cli import main
from sweeps.bounds.checks import check_grid
from sweeps.bounds.merge_axes import merge_axes
from sweeps.bounds.problem import order_by_similarity
from sweeps.certify.front import Archive
from sweeps.grid.goals import objective_node, one_goal
from sweeps.query.source import Query
from sweeps.runtime.interrupts import (
    _deadline,
    raise_if_interrupted,
    raise_if_out_of_time,
    time_limited,
)
from sweeps.runtime.resources import run_in_threads
from sweeps.runtime.search_loop import SearchStats
from sweeps.sources.grid_proof import find_optimum
from sweeps.sources.grid_scan import GridScan
from symbolic.errors import InfeasibleError, OutOfTimeError

LATE = SearchStats(deadline=-math.inf)


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

    @property
    def late(self) -> bool:
        return self.monotonic() > self.limit

    def monotonic(self) -> float:
        self.looks += 1
        return float(self.looks)


def test_merging_stops_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few axes were merged by then, the space holds the same values."""
    monkeypatch.setattr(sweeps.bounds.merge_axes, "_MIN_POINTS", 0)
    grid = launch().grid()
    goal = one_goal("energy", None)
    root, leaves = objective_node(grid, (), goal), grid.leaves[()]
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    points = []
    rng = np.random.default_rng(0)
    whole = merge_axes(root, leaves, sizes, {}, SearchStats(deadline=0.0)).problem
    assert whole.sizes.tolist() == list(sizes.values())
    for most in (8, 20, 30, 10**9):
        clock = Clock(most)
        space = merge_axes(root, leaves, sizes, {}, clock)  # type: ignore[arg-type]
        points.append(math.prod(space.problem.sizes.tolist()))
        places = np.stack([rng.integers(0, n, 50) for n in space.problem.sizes])
        at = [space.grid_place(place) for place in places.T]
        with np.errstate(all="ignore"):
            expected = whole.values(np.array([[place[axis] for place in at] for axis in sizes]))
            assert space.problem.values(places).tolist() == expected.tolist()
        assert clock.looks <= most + 5
    assert points == sorted(points, reverse=True)
    assert points[0] > points[-1]


def test_rows_are_ordered_as_far_as_there_is_time() -> None:
    rows = np.random.default_rng(0).normal(size=(2, 300))
    for most in (0, 10, 10**9):
        order = order_by_similarity(rows, Clock(most))  # type: ignore[arg-type]
        assert sorted(order.tolist()) == list(range(300))


def test_a_limit_ends_whatever_is_going_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at a few times at most once the time is up, whenever that is."""
    made = launch()
    goal = one_goal("energy", None)
    best = float(made.optimum(minimize="energy", method="certified").energy)
    proven = []
    for limit in (0, 20, 200):
        clock = Clock()
        monkeypatch.setattr("sweeps.runtime.search_loop.time", clock)
        ask = Query(goals=(goal,), time_limit=limit)
        result = find_optimum(GridScan(grid=dse.Study(**study_options(made)).grid()), ask)
        assert clock.looks < limit + 25
        assert result.attrs["bound"] <= best <= float(result.energy)
        proven.append(result.attrs["settled"])
    assert proven[0] == 0


def study_options(made: dse.Study) -> dict[str, Any]:
    names = ("model", "machine", "workload", "axes", "set", "where")
    return {key: getattr(made, key) for key in names}


def test_checks_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that do not end in time are left to the search, or reported."""
    nowhere = launch(where="time <= 1 ns")
    check_grid(nowhere.grid(), stats=LATE)  # it is not known that there is no feasible point
    with pytest.raises(InfeasibleError, match="is broken at every point"):
        check_grid(nowhere.grid())
    with pytest.raises(OutOfTimeError, match=r"no feasible point .* was found in 0 s"):
        dse.Study(**study_options(nowhere)).optimum(minimize="energy", time_limit=0)
    monkeypatch.setattr("sweeps.bounds.checks._FIRST_BLOCK_POINTS", 16)
    formula = {"mem_bandwidth": "0.1 B * core_clock * active_sms * threads_per_block"}
    made = launch(set=formula)
    with pytest.raises(OutOfTimeError, match="whether all formulas stay in their domains"):
        check_grid(made.grid(), stats=LATE)
    check_grid(made.grid())


def test_an_answer_loads_nothing_once_the_time_is_up() -> None:
    program = (
        "import sys, numpy as np\n"
        "from sweeps.grid.dataset import answered, prepared\n"
        "prepared(); before = {*sys.modules}\n"
        "answered({'a': ('x', np.ones(2), {})}, {'x': ('x', np.arange(2), {})}, {})\n"
        "print(*{*sys.modules} - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "\n", done.stdout + done.stderr


def test_values_of_a_statistic_are_computed_within_the_limit() -> None:
    made = launch(1000)
    question = "mean(energy, core_clock)"
    assert made.grid([question]).points > 1 << 20
    with pytest.raises(OutOfTimeError, match="give more time"):
        made.optimum(minimize=question, method="certified", time_limit=0)
    with time_limited(0), pytest.raises(OutOfTimeError, match="give more time"):
        run_in_threads(lambda number: raise_if_interrupted(), 10)  # threads know the limit too


def test_cells_that_get_no_time_are_reported() -> None:
    with time_limited(0):
        raise_if_out_of_time(1, 5)  # a moment of grace
    with time_limited(5):
        _deadline.set(-math.inf)
        with pytest.raises(OutOfTimeError, match=r"after 2 of 5 cells of per"):
            raise_if_out_of_time(2, 5)


@drawn(
    values=arrays(
        np.float64,
        st.tuples(st.integers(1, 3), st.integers(1, 40)),
        elements=st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 2.0, 1e300, -1e300]),
    ),
    together=st.sampled_from([1, 2, 7, 1024]),
)
def test_a_front_in_chunks_is_that_of_all_pairs(values: Any, together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sweeps.nest.reduce._BATCH_POINTS", together)
        archive = Archive(len(values), 1)
        archive.add(values, np.arange(values.shape[1])[None])
    beaten = set()
    for a, b in itertools.permutations(range(values.shape[1]), 2):
        no_worse = bool(np.all(values[:, a] <= values[:, b]))
        if no_worse and (bool(np.any(values[:, a] < values[:, b])) or a < b):
            beaten.add(b)
    assert sorted(archive.places[0].tolist()) == sorted({*range(values.shape[1])} - beaten)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("optimum STUDY --method certified --minimize energy", 3),
        ("optimum STUDY --method certified --minimize energy --gap 1e9", 0),
        ("pareto STUDY --method certified --minimize energy,time", 3),
        ("meets STUDY --where energy<=0.2", 3),
        ("optimum STUDY --method certified --minimize energy --time-limit 60", 0),
    ],
)
def test_an_answer_without_proof_exits_with_3(command: str, status: int, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'model = "occupancy + ipp"\nmachine = "gtx280"\nworkload = "svm"\n'
        "[axes]\nthreads_per_block = { start = 32, stop = 512, step = 8 }\n"
        "active_sms = { start = 1, stop = 30 }\n"
        "registers_per_thread = { start = 8, stop = 40 }\n"
    )
    verb, *words = command.replace("STUDY", str(study)).split()
    result = CliRunner().invoke(main, [verb, "--time-limit", "0", *words])
    assert result.exit_code == status, result.output
