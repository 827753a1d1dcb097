"""Compare covers of fronts within a tolerance, and hypervolumes, with brute force."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dse
import sweeps.certify.front
import sweeps.sources.grid_proof
from sweeps.grid.goals import read_goals
from sweeps.nest.reduce import (
    covering_indices,
    hypervolume,
    lower_by_share,
    pareto_indices,
    round_to_cells,
    rounding_share,
)
from sweeps.query.optimum import pareto
from sweeps.query.source import build_query
from sweeps.sources.grid_proof import prepare_proof
from sweeps.sources.grid_scan import GridScan
from symbolic.errors import DseError, InfeasibleError
from tests.long import draws
from tests.oracles.brute import dominates
from tests.sweeps.test_near_and_front import draw_study, objectives, small

SIGNED = [-1e300, -2.0, -1.001, -1.0, -1e-300, -0.0, 0.0, 1e-300, 0.999, 1.0, 1.01, 3.5, 1e300]


def is_within(one: Any, other: Any, epsilon: float) -> bool:
    """True if no value of ``one`` is higher than that of ``other`` by more than a share."""
    return all(a <= b + epsilon * abs(b) for a, b in zip(one, other, strict=True))


def brute_values(grid: Any, goals: Any) -> np.ndarray[Any, Any]:
    """Return a row of signed objectives for every feasible point with finite objectives."""
    places = {
        axis: index.reshape(-1)
        for axis, index in zip(grid.axes, np.indices(grid.shape(grid.axes)), strict=True)
    }
    values, feasible = GridScan(grid=grid).evaluate(places, goals)
    rows = np.stack(values, axis=1)
    return rows[feasible & np.isfinite(rows).all(axis=1)]


@settings(max_examples=draws(24), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 3),
    epsilon=st.sampled_from([1e-12, 1e-3, 0.01, 0.2, 3.0]),
)
def test_every_point_is_within_the_tolerance_of_a_listed_one(
    seed: int, count: int, epsilon: float
) -> None:
    """Objectives are rounded, shifted below zero and maximized, so that many are equal or zero."""
    made, question = draw_study(seed, 1000)
    rng = random.Random(seed)
    question = objectives(made, question, rng, count)
    for sense in ("minimize", "maximize"):
        texts = [question[sense]] if isinstance(question.get(sense), str) else question.get(sense)
        if texts:
            question[sense] = [f"({t}) - ({t}) * {rng.choice([0, 0, 1, 2])}" for t in texts]
    goals = read_goals(question.get("minimize"), question.get("maximize"))
    grid = made._query_grid(goals, question.get("where", ()), ())
    every = brute_values(grid, goals)
    with pytest.MonkeyPatch.context() as patch:
        front = sweeps.certify.front
        patch.setattr(front, "_COVER_SCAN_POINTS", rng.choice([1, 4, 30]))
        patch.setattr(front, "_COVER_BATCH", rng.choice([1, 7, 1 << 8]))
        patch.setattr(front, "JOINT_SCAN_POINTS", rng.choice([1, 40, 1 << 16]))
        patch.setattr(front, "COMPILE_MIN_POINTS", rng.choice([100, 1 << 20, 1 << 20]))
        patch.setattr(front, "_SAMPLED_STARTS", 2)
        patch.setattr(front, "_ROUNDS", rng.choice([0, 1]))
        for method in ("scan", "certified"):
            query = build_query(goals, tuple(grid.axes), epsilon=epsilon, method=method)
            source: Any = GridScan(grid=grid)
            if method == "certified":
                source = prepare_proof(grid, query, front=True)
            try:
                answer = pareto(source, goals, epsilon=epsilon)
            except InfeasibleError:
                assert not every.size
                continue
            at = {name: answer[name].values for name in grid.axes}
            places = {
                name: np.array([int(np.flatnonzero(axis.coordinate == v)[0]) for v in at[name]])
                for name, axis in grid.axes.items()
            }
            values, feasible = source.evaluate(places, goals)
            listed = np.stack(values, axis=1)
            assert feasible.all()
            for a, b in itertools.permutations(listed.tolist(), 2):
                assert not dominates(a, b)
            for row in np.unique(every, axis=0).tolist():
                assert any(is_within(point, row, epsilon) for point in listed.tolist())
            assert answer.attrs["epsilon"] == epsilon
            assert answer.attrs.get("complete", 1) == 1


ODD = [*SIGNED, -math.inf, math.inf, math.nan, 5e-324, -5e-324, 1e-310, 2.2e-308, 1.797e308]


@settings(max_examples=draws(200), deadline=None)
@given(
    rows=st.integers(1, 3).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.one_of(st.sampled_from([*ODD, -1.797e308]), st.floats(0.9, 1.1))] * n),
            min_size=1,
            max_size=40,
        )
    ),
    epsilon=st.sampled_from([0.0, 1e-14, 1e-8, 0.01, 0.5, 7.0]),
)
@example(rows=[(5e-324,), (0.0,)], epsilon=0.01)
@example(rows=[(1.0, -math.inf), (1.0, 5.0)], epsilon=0.01)
@example(rows=[(0.0, 2.0), (-0.0, 1.0), (-1e-310, 3.0)], epsilon=7.0)
def test_the_front_of_rounded_points_covers_all_points(
    rows: list[tuple[float, ...]], epsilon: float
) -> None:
    """Each finite point is within the share of a chosen one, which is the first of its cell."""
    share, exact = rounding_share(epsilon), np.array(rows).T.copy()
    values = exact.copy()
    best = round_to_cells(values, share)
    chosen = best[pareto_indices(values[:, best])].tolist()
    finite = [row for row in rows if all(map(math.isfinite, row))]
    assert 4 * share <= epsilon
    for row in finite:
        assert any(is_within(rows[c], row, share) for c in chosen)
    for a, b in itertools.permutations([rows[c] for c in chosen], 2):
        assert not dominates(a, b)
    ends = np.isfinite(exact).all(axis=0)
    assert (values[:, ends] <= exact[:, ends]).all()
    cells = {tuple(values[:, k].tolist()): k for k in reversed(np.flatnonzero(ends).tolist())}
    assert all(cells[tuple(values[:, c].tolist())] == c for c in chosen)


@settings(max_examples=draws(12), deadline=None)
@given(seed=st.integers(0, 10**6), tile=st.sampled_from([64, 1000]))
def test_a_scanned_cover_does_not_depend_on_tiles(seed: int, tile: int) -> None:
    rng = np.random.default_rng(seed)
    axes = {"intensity": {"linspace": [1, 40, 30]}, "threads": range(1, 41), "ms_peak": [0.5, 1, 2]}
    made = dse.Study(model="transit", axes=axes, set={"lanes_width": 32, "mem_latency": 600})
    shift = rng.choice([0.0, 1.0, 20.0])
    query: dict[str, Any] = {"minimize": ["threads", f"ms_peak - {shift}"], "epsilon": 0.05}
    query |= {"maximize": f"cs_throughput - {shift}", "where": f"threads >= {rng.integers(1, 20)}"}
    whole = made.pareto(**query, method="scan")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sweeps.nest.tiles.NUMPY_POINTS", 0)
        patch.setattr("sweeps.nest.tiles.TILE_POINTS", tile)
        parts = made.pareto(**query, method="scan")
    assert parts.drop_attrs().identical(whole.drop_attrs())


@settings(max_examples=draws(100), deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.sampled_from(SIGNED)] * 3), min_size=1, max_size=30),
    epsilon=st.sampled_from([0.0, 1e-14, 1e-9, 0.01, 0.5, 7.0]),
)
def test_covering_points_of_any_sign(rows: list[tuple[float, ...]], epsilon: float) -> None:
    values = np.array(rows).T
    chosen = covering_indices(values, epsilon)
    assert chosen[0] == 0
    for k, row in enumerate(rows):
        assert any(is_within(rows[c], row, epsilon) for c in chosen if c <= k)
    for first, second in itertools.combinations(chosen.tolist(), 2):
        assert not np.all(lower_by_share(values[:, first], epsilon) <= values[:, second])
    sure = np.abs(values) >= 1e-300
    assert (lower_by_share(values, epsilon)[sure] <= values[sure]).all()


def brute_volume(points: Any, reference: Any) -> float:
    """Return the volume that points dominate, as a sum over cells between all coordinates."""
    ends = [sorted({*row, end}) for row, end in zip(points.T, reference, strict=True)]
    sides = [
        [(a, b) for a, b in itertools.pairwise(axis) if b <= end]
        for axis, end in zip(ends, reference, strict=True)
    ]
    return sum(
        math.prod(b - a for a, b in cell)
        for cell in itertools.product(*sides)
        if any(all(p <= a for p, (a, _) in zip(point, cell, strict=True)) for point in points)
    )


@settings(max_examples=draws(100), deadline=None)
@given(
    points=st.integers(2, 3).flatmap(
        lambda n: st.lists(st.tuples(*[st.integers(-3, 5)] * n), min_size=1, max_size=12)
    ),
    end=st.integers(-3, 6),
)
def test_hypervolume_is_that_of_cells(points: list[tuple[int, ...]], end: int) -> None:
    values, reference = np.array(points, dtype=float), np.full(len(points[0]), float(end))
    assert hypervolume(values.T, reference) == brute_volume(values, reference)


def test_a_front_names_its_hypervolume_and_reference() -> None:
    made, goals = small(16), {"minimize": "threads", "maximize": "cs_throughput"}
    front = made.pareto(**goals)
    threads, rate = front.threads.values, front.cs_throughput.values
    assert front.attrs["reference"] == [threads.max(), rate.min()]
    points = np.stack([threads, -rate], axis=1)
    expected = brute_volume(points, [threads.max(), -rate.min()])
    assert front.attrs["hypervolume"] == pytest.approx(expected, rel=1e-12)
    further = made.pareto(**goals, reference=[threads.max() + 1, 0.0])
    assert further.attrs["hypervolume"] > front.attrs["hypervolume"]
    assert further.attrs["reference"] == [threads.max() + 1, 0.0]
    assert "hypervolume" not in made.pareto(**goals, per="intensity").attrs
    assert "hypervolume" not in made.pareto(minimize="threads").attrs
    for wrong in ([1.0], "1,2", [1.0, "x"], [1.0, 2.0, 3.0]):
        with pytest.raises(DseError, match="expected 2 numbers"):
            made.pareto(**goals, reference=wrong)
    with pytest.raises(DseError, match="without per"):
        made.pareto(**goals, reference=[1.0, 2.0], per="intensity")


def test_a_cover_of_a_large_grid_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.sources.grid_proof, "SCAN_FIRST_POINTS", 100)
    monkeypatch.setattr(sweeps.sources.grid_proof, "MAX_SCAN_POINTS", 10**6)
    made, goals = small(16), {"minimize": "threads", "maximize": "cs_throughput"}
    monkeypatch.setattr(sweeps.sources.grid_proof, "COVER_POINTS_PER_SECOND", 1e12)
    scan = made.pareto(**goals, epsilon=0.3)  # the search did not end in time
    assert scan.attrs["method"] == "scan"
    assert scan.drop_attrs().identical(
        made.pareto(**goals, epsilon=0.3, method="scan").drop_attrs()
    )
    monkeypatch.setattr(sweeps.sources.grid_proof, "COVER_POINTS_PER_SECOND", 1e-3)
    cover = made.pareto(**goals, epsilon=0.3)
    assert (cover.attrs["method"], cover.attrs["complete"]) == ("certified", 1)
    assert "proven" not in cover
    assert made.pareto(**goals).attrs["method"] == "scan"
    assert 1 <= cover.sizes["point"] < made.pareto(**goals).sizes["point"]
    assert made.pareto(**goals, epsilon=0).identical(made.pareto(**goals))
    each = made.pareto(**goals, epsilon=0.05, per="intensity", method="certified")
    assert each.attrs["epsilon"] == 0.05
    for wrong in (-0.1, math.nan, math.inf, "1%", True):
        with pytest.raises(DseError, match=r"epsilon = .*: expected a share"):
            made.pareto(**goals, epsilon=wrong)
    with pytest.raises(DseError, match="only a Pareto front can be covered"):
        made.optimum(minimize="threads", epsilon=0.01)


def test_a_cover_ended_early_is_not_proven() -> None:
    made = dse.Study(
        model="transit",
        set={"lanes_width": 32, "mem_latency": 600},
        axes={
            "intensity": {"linspace": [1, 40, 4000]},
            "threads": range(1, 2001),
            "ms_peak": {"linspace": [0.5, 2, 40]},
        },
    )
    goals = {"minimize": ["threads", "ms_peak"], "maximize": "cs_throughput"}
    cover = made.pareto(**goals, epsilon=1e-9, time_limit=1)
    if not cover.attrs["complete"]:  # a fast machine may finish
        assert cover.attrs["boxes_left"] > 0
        assert "proven" not in cover
