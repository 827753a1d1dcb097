"""The certified optimum: equal to a scan of every point, and what it proves is true.

More random studies, and larger, by ``python -m tests.sweeps.certifying 500``; random models, all
questions that have proofs, and brute force by ``python -m tests.sweeps.attacking 20000 1``.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import sweeps.bounds.checks
import sweeps.bounds.merge_axes
import sweeps.bounds.search
import sweeps.sources.grid_proof
from sweeps.bounds.checks import first_configuration
from sweeps.bounds.merge_axes import merge_axes
from sweeps.bounds.problem import Boxes, BoxProblem, RangeExtremes
from sweeps.grid.goals import dims_of, objective_node, one_goal
from sweeps.grid.grid import Leaf
from sweeps.runtime.search_loop import SearchStats
from symbolic.errors import DseError, InfeasibleError
from symbolic.intervals import trend_algebra
from symbolic.ops import Node, floor, interpret_arrays, reference, where
from tests.benchmarks.test_certify import FLOW, FLOW_ENDS
from tests.long import long
from tests.sweeps.certifying import answer, compare, study


@pytest.mark.parametrize("seed", range(0, 48, 4))
def test_equal_to_a_scan(seed: int) -> None:
    """The same configuration, ties included, whatever is drawn, by one thread and by two."""
    feasible = [compare(k, most=300) for k in range(seed, seed + 4)]
    assert any(feasible)


# --- trends: what rises does not fall
@long
def test_trends_hold_between_points() -> None:
    """Along an axis that a box is said to rise on, no step falls; with all else held."""
    decided = 0
    for seed in range(60):
        try:
            made, question = study(seed)
        except DseError:
            continue
        goal = one_goal(question.get("minimize"), question.get("maximize"))
        grid = made._query_grid([goal.text], question.get("where", ()))
        key = next(iter(grid.graphs))
        dims = grid.sort_axes(dims_of(grid, [goal]) - set(grid.switch_axes))
        shape = dict(zip(dims, grid.shape(dims), strict=True))
        problem = BoxProblem(objective_node(grid, key, goal), grid.leaves[key], shape)
        rng = np.random.default_rng(seed)
        sizes = problem.sizes[:, None]
        ends = np.sort(rng.integers(0, sizes, (2, len(dims), 30)), axis=0)
        boxes = Boxes(ends[0], ends[1])
        with np.errstate(all="ignore"):
            least, up, down = problem.bound_boxes(boxes)
            for place in range(30):
                box = boxes.take([place])
                points = box.all_points()
                values = problem.values(points).reshape((box.hi - box.lo + 1)[:, 0])
                assert least[0, place] <= values.min()
                for axis in range(len(dims)):
                    steps = np.diff(values, axis=axis)
                    steps = steps[~np.isnan(steps)]  # between two infinities
                    bit = np.uint64(1) << np.uint64(axis)
                    for text, wrong in ((up, steps < 0), (down, steps > 0)):
                        if text[place] & bit:
                            assert not wrong.any(), (seed, question, dims[axis])
                            decided += steps.size > 0
    assert decided > 300


def test_axes_are_merged() -> None:
    """Registers and threads act through few numbers; each row stands for its first combination."""
    made = dse.Study(
        model="occupancy + mwp_cwp",
        machine="gtx280",
        workload="svm",
        axes={
            "registers_per_thread": range(4, 64),
            "threads_per_block": range(32, 513, 16),
            "mem_bandwidth": np.geomspace(1e9, 1e12, 10**6),
        },
    )
    grid = made.grid()
    root = objective_node(grid, (), one_goal("time", None))
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    space = merge_axes(root, grid.leaves[()], sizes, {})
    assert [len(axes) for axes, _ in space.rows] == [2, 1]
    assert space.problem.sizes[0] < 60 * 31 / 5
    rng = np.random.default_rng(0)
    places = np.stack([rng.integers(0, n, 200) for n in space.problem.sizes])
    with np.errstate(all="ignore"):
        values = space.problem.values(places)
        whole = BoxProblem(root, grid.leaves[()], sizes)
        at = [space.grid_place(place) for place in places.T]
        same = whole.values(np.array([[place[axis] for place in at] for axis in sizes]))
        assert values.tolist() == same.tolist()
        every = Boxes(np.array([[0], [0], [77]]), np.array([[59], [30], [77]])).all_points()
        row = np.arange(space.problem.sizes[0])
        assert (
            whole.values(every).min()
            == space.problem.values(np.stack([row, np.full_like(row, 77)])).min()
        )


def test_limits_of_conditions_tighten_objectives_and_change_no_value() -> None:
    """If q >= c must hold, max(q, c) is q, and the bound of a whole box is tighter."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sizes = {name: int(rng.integers(1, 7)) for name in "abc"}
        leaves = {
            name: Leaf(axes=(name,), array=rng.integers(0, 9, size).astype(np.float64))
            for name, size in sizes.items()
        }
        a, b, c = (reference(name) for name in "abc")
        product, limit = a * b + c, float(rng.integers(0, 80))
        value = product * 3 + b - product * product
        test = product >= limit if seed % 2 else product < limit
        root = where(test, value, math.inf)
        assert isinstance(root, Node)
        plain = BoxProblem(root, leaves, sizes)
        space = merge_axes(root, leaves, sizes, {})
        places = np.stack([np.ravel(each) for each in np.indices(tuple(sizes.values()))])
        assert space.problem.values(places).tolist() == plain.values(places).tolist()
        bounds = [each.bound_boxes(each.whole_box)[0].item() for each in (plain, space.problem)]
        assert bounds[0] <= bounds[1] <= plain.values(places).min()


# --- larger spaces, against a scan or by hand


def flow(size: int) -> dse.Study:
    """Ten axes of so many values."""
    axes = {name: {"linspace": [*map(float, pair), size]} for name, pair in FLOW_ENDS.items()}
    return dse.Study(model=FLOW, axes=axes, outputs=["flow_energy"])


def test_ties_among_axes_merged_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of merged axes stand in an order of likeness; the first of equal ones is kept still."""
    monkeypatch.setattr(sweeps.bounds.merge_axes, "_MIN_POINTS", 0)
    monkeypatch.setattr(sweeps.bounds.merge_axes, "_MAX_SHARE", 0.9)
    merged = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = {name: int(rng.integers(2, 6)) for name in "abcd"}
        leaves = {
            name: Leaf(axes=(name,), array=rng.integers(0, 5, size).astype(np.float64))
            for name, size in sizes.items()
        }
        a, b, c, d = (reference(name) for name in rng.permutation(list("abcd")).tolist())
        root = floor((floor((a + 2 * b) * 0.5) + c) * 0.7) + floor(d * 0.6)
        mesh = np.meshgrid(*(leaf.array for leaf in leaves.values()), indexing="ij")
        values = interpret_arrays((root,), dict(zip(leaves, mesh, strict=True)))[0]
        first = np.unravel_index(int(np.argmin(values)), values.shape)
        merged += any(len(axes) > 2 for axes, _ in merge_axes(root, leaves, sizes, {}).rows)
        least = float(values.min())
        result, proven = first_configuration(
            merge_axes(root, leaves, sizes, {}), tuple(sizes), None, least, SearchStats()
        )
        assert proven
        assert result == dict(zip(sizes, map(int, first), strict=True))
    assert merged > 10


def test_large_spaces_are_certified() -> None:
    """The energy per operation falls to that of an operation and a hundredth of a request's."""
    best = flow(100).optimum(minimize="flow_energy")
    assert best.attrs["method"] == "certified"
    assert best.attrs["gap"] == 0
    assert best.attrs["bound"] == float(best.flow_energy)
    assert best.attrs["settled"] == 1
    assert best.attrs["points_excluded"] == pytest.approx(1e20)
    rate = 1.28  # lanes_width / intensity = 128 / 100 requests a cycle binds
    power = 10 + 1 * rate + 0.01 * 100 * rate
    assert float(best.flow_energy) == pytest.approx(power * 1e9 / (100 * rate * 1.5e9))
    assert float(best.base_power) == 10


@pytest.mark.parametrize(
    ("formula", "where", "place"),
    [
        ("(intensity - 7.3) * (intensity - 7.3) + 1", (), 7.3),
        ("intensity + 100 / intensity", (), 10),
        ("intensity", "intensity * intensity >= 50", 50**0.5),
        ("-intensity", "exp(intensity / 10) <= threads", 10 * np.log(40)),
        ("maximum(intensity, 90 / intensity)", (), 90**0.5),
        ("floor(intensity) - intensity / 2", (), 2),
        ("where(intensity < 20, 30 - intensity, intensity - 15)", (), 20),
    ],
)
def test_dense_grids_are_certified(formula: str, where: Any, place: float) -> None:
    """The best lies inside, at a jump or where a constraint ends, and a scan agrees."""
    axes = {"threads": range(1, 41), "intensity": {"linspace": [1, 40, 100_001]}}
    given = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
    made = dse.Study(model="transit", axes=axes, set=given)
    for question in ({"minimize": formula}, {"maximize": f"-({formula})"}):
        proof, scan = (
            made.optimum(**question, where=where, method=m) for m in ("certified", "scan")
        )
        assert proof.drop_attrs().identical(scan.drop_attrs())
        assert proof.attrs["gap"] == 0
        assert proof.intensity.item() == pytest.approx(place, abs=4e-4)


@long
def test_small_ones_are_scanned() -> None:
    assert flow(2).optimum(minimize="flow_energy").attrs["method"] == "scan"
    four = flow(4).optimum(minimize="flow_energy", method="certified")
    scanned = flow(4).optimum(minimize="flow_energy", method="scan")
    assert "bound" not in scanned.attrs
    assert four.drop_attrs().identical(scanned.drop_attrs())


def test_stopped_early_the_bound_holds() -> None:
    made = flow(40)
    result = made.optimum(minimize="flow_energy", time_limit=0)
    proven = made.optimum(minimize="flow_energy", method="certified")
    assert result.attrs["method"] == "certified"
    assert result.attrs["gap"] > 0
    assert result.attrs["bound"] <= float(proven.flow_energy) <= float(result.flow_energy)
    near = made.optimum(minimize="flow_energy", gap=0.2)
    assert 0 <= near.attrs["gap"] <= 0.2
    assert near.attrs["boxes"] <= proven.attrs["boxes"]
    assert near.attrs["bound"] <= float(proven.flow_energy) <= float(near.flow_energy)
    most = made.optimum(maximize="1 / flow_energy", method="certified")
    assert most.attrs["bound"] == float(most.objective) > 0


def test_the_best_of_many_in_order() -> None:
    """The first best of 1e20 points, ties in axis order, as in a scan of few."""
    few, many = flow(3), flow(100)
    question = {"minimize": "flow_energy", "top": 4}
    result = few.optimum(**question, method="certified")
    assert result.drop_attrs().identical(few.optimum(**question, method="scan").drop_attrs())
    best = many.optimum(minimize="flow_energy", top=3)
    assert best.attrs["method"] == "certified"
    assert best.sizes["rank"] == 3
    assert np.all(np.diff(best.flow_energy.values) >= 0)
    assert float(best.flow_energy[0]) == float(many.optimum(minimize="flow_energy").flow_energy)


def test_tables_and_categories() -> None:
    """A table over two axes, with a hole in it that is no number, and machines."""
    table = np.random.default_rng(4).uniform(0.2, 3, (9, 11))
    made = dse.Study(
        model="occupancy + mwp_cwp",
        workload="svm",
        axes={
            "active_sms": range(1, 10),
            "machine": ["8800gtx", "gtx280", "8800gt"],
            "threads_per_block": range(32, 65, 3),
        },
        set={"mem_bandwidth": xr.DataArray(table * 1e11, dims=("active_sms", "threads_per_block"))},
    )
    for question in ({"minimize": "time"}, {"maximize": "mwp * active_sms", "where": "cwp < 12"}):
        expected = answer(made, question, "scan")
        assert answer(made, question, "certified").identical(expected)


def test_extremes_of_parts_of_a_table() -> None:
    array = np.random.default_rng(1).normal(size=(13, 6, 9))
    array[3, 2, 4] = np.nan
    for loose in (False, True):
        extremes = RangeExtremes(Leaf(axes=("a", "b", "c"), array=array), (0, 1, 2))
        if loose:
            extremes.tables = None
        rng = np.random.default_rng(2)
        ends = np.sort(rng.integers(0, np.array(array.shape)[:, None], (2, 3, 200)), axis=0)
        result = extremes(list(ends[0]), list(ends[1])).enclosure
        for k in range(200):
            part = array[tuple(slice(a, b + 1) for a, b in zip(*ends[:, :, k], strict=True))]
            assert result.lo[k] <= np.nanmin(part) if loose else result.lo[k] == np.nanmin(part)
            assert result.hi[k] >= np.nanmax(part) if loose else result.hi[k] == np.nanmax(part)
            assert result.may_be_nan[k] >= np.isnan(part).any()


# --- what cannot be answered
def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    made = flow(40)
    for given, text in (
        (
            {"minimize": "flow_energy", "top": 2, "gap": 0.1},
            "gap = 0.1 does not settle which others are as good: leave top out",
        ),
        ({"minimize": "flow_energy", "gap": -1}, "gap = -1: expected a number that is not below 0"),
        ({"minimize": "flow_energy", "time_limit": "soon"}, "time_limit = 'soon': expected"),
        ({"minimize": "threads < 4"}, "threads < 4"),
        ({"minimize": "flow_energy", "where": "flow_power < 0"}, "broken at every point"),
        ({"minimize": "log(-1 * threads)"}, "is not finite at any feasible point"),
    ):
        with pytest.raises(DseError, match=re.escape(text)):
            made.optimum(**given, method="certified")
    with pytest.raises(DseError, match="method='certified'"):
        made.optimum(minimize="flow_energy", method="scan", gap=0.1)
    where = ["flow_power > 40", "flow_energy < 0.1"]
    with pytest.raises(
        InfeasibleError, match=r"together; 'flow_energy < 0.1 \* 1 J' excludes most"
    ):
        made.optimum(minimize="flow_energy", where=[f"{where[0]} * 1 W", f"{where[1]} * 1 J"])
    rest = {name: function for name, function in trend_algebra().items() if name != "minimum"}
    monkeypatch.setattr(sweeps.bounds.checks, "trend_algebra", lambda: rest)
    with pytest.raises(DseError, match="ms_throughput has no enclosure because it uses minimum: "):
        flow(40).optimum(minimize="flow_energy")
