"""Several objectives in order of priority: brute force, scans, proofs and Datasets agree."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dse
import sweeps.nest.tiles
import sweeps.sources.grid_proof
from sweeps.certify.optimum import Winner
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from tests.dse.conftest import Run, run  # noqa: F401
from tests.long import draws, long
from tests.sweeps.certifying import study

SETS = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
#: What a search gives that was stopped before it found anything.
UNPROVEN = Winner(place=None, value=math.inf, bound=-math.inf, is_settled=False)


def small(size: int = 40, **more: Any) -> dse.Study:
    axes = {"intensity": {"linspace": [1, 40, size]}, "threads": range(1, size + 1)}
    return dse.Study(model="transit", axes=axes, set=SETS, **more)


def places(answer: Any, made: dse.Study) -> list[dict[str, int]]:
    """The configurations of an answer, as an index along each axis."""
    axes = made.grid().axes
    rows = zip(*(np.atleast_1d(answer[name].values).tolist() for name in axes), strict=True)
    return [{n: axes[n].position(v, {}) for n, v in zip(axes, r, strict=True)} for r in rows]


def by_brute_force(made: dse.Study, goals: list[tuple[str, float]], where: Any) -> list[Any]:
    """Every configuration that is as good as the best, in axis order; those that count alone."""
    grid = made._query_grid([text for text, _ in goals], where)
    shape = tuple(axis.size for axis in grid.axes.values())
    index = np.stack(np.unravel_index(np.arange(grid.points), shape))
    at = dict(zip(grid.axes, index, strict=True))
    left = np.ones(grid.points, dtype=bool)
    if grid.conditions:
        left &= grid.outputs_at_points(at, ["feasible"])["feasible"].astype(bool)
    for text, sign in goals:
        value = sign * grid.outputs_at_points(at, [text])[text].astype(float)
        value = np.where(np.isfinite(value) & left, value, np.inf)
        left &= (value == value.min()) & (value < np.inf)
    return [dict(zip(grid.axes, column.tolist(), strict=True)) for column in index[:, left].T]


@settings(max_examples=draws(20), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_way_gives_the_best_of_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    try:
        made, drawn = study(seed, 1500)
    except DseError:
        assume(False)
    quantities = made.grid().model.quantities
    named = [n for n in made.grid().model.outputs if not quantities[n].is_label]
    named += [n for n in made.grid().axes if n in quantities and not quantities[n].is_label]
    texts = rng.sample(named, min(rng.choice([2, 2, 3]), len(named)))
    assume(len(texts) > 1)
    signs = [rng.choice([1.0, -1.0]) for _ in texts]
    where = drawn.get("where", ())
    listed = [text if sign > 0 else f"-{text}" for text, sign in zip(texts, signs, strict=True)]
    expected = by_brute_force(made, list(zip(texts, signs, strict=True)), where)
    if not expected:
        for method in ("scan", "certified"):
            with pytest.raises(InfeasibleError):
                made.optimum(minimize=listed, where=where, method=method)
        return
    scan = made.optimum(minimize=listed, where=where, method="scan")
    proven = made.optimum(minimize=listed, where=where, method="certified")
    assert places(scan, made) == expected[:1], (made.text(), listed)
    assert proven.drop_attrs().identical(scan.drop_attrs()), (made.text(), listed)
    assert (proven.attrs["gap"], proven.attrs["settled"]) == ([0.0] * len(texts), 1)
    values = [float(scan[text]) for text in texts]
    assert proven.attrs["bound"] == values
    ties = made.optimum(minimize=listed, where=where, ties=True)
    assert places(ties, made) == expected
    ds = made.run()
    assert places(dse.optimum(ds, minimize=listed, where=where), made) == expected[:1]
    assert places(dse.optimum(ds, minimize=listed, where=where, ties=True), made) == expected


@long
def test_a_value_is_as_good_to_the_bit_in_every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(60, where="intensity > threads / 9")
    goals = ["-floor(30 * log(cs_throughput)) / exp(threads / 1e3)", "log(threads) / intensity"]
    scan = made.optimum(minimize=goals, method="scan")
    proven = made.optimum(minimize=goals, method="certified")
    monkeypatch.setattr(
        sweeps.nest.tiles, "NUMPY_POINTS", 0
    )  # by compiled code, whose logarithms are others
    again = made.optimum(minimize=goals, method="scan")
    for other in (again, proven, dse.optimum(made.run(), minimize=goals)):
        assert places(other, made) == places(scan, made)


def test_a_store_answers_as_its_study_does(tmp_path: Path) -> None:
    made = small(30, outputs=["cs_throughput"])
    ds = made.run(store=tmp_path / "out.zarr")
    goals = ["-floor(20 * cs_throughput)", "intensity", "-ms_throughput"]  # the last is not stored
    expected = made.optimum(minimize=goals, method="scan")
    for source in (ds, tmp_path / "out.zarr", dse.open(tmp_path / "out.zarr")):
        assert places(dse.optimum(source, minimize=goals), made) == places(expected, made)
        result = dse.optimum(source, minimize=goals[:2])
        assert float(result.objective_1) == float(expected.objective_1)
        assert result.attrs["question"] == (
            "minimize -floor(20 * cs_throughput), then minimize intensity"
        )


def test_a_minus_turns_a_quantity_around() -> None:
    made = small()
    one = made.optimum(minimize=["-cs_throughput", "threads"])
    other = made.optimum(maximize=["cs_throughput", "-threads"])
    assert one.identical(other)
    assert one.attrs["question"] == "maximize cs_throughput, then minimize threads"
    assert "objective_1" not in one


def test_a_weighted_sum_is_a_formula() -> None:
    made = small()
    result = made.optimum(minimize="0.5 * threads - 0.5 * 1e3 * cs_throughput", method="certified")
    ds = made.run()
    value = (0.5 * ds.threads - 0.5 * 1e3 * ds.cs_throughput).min()
    assert float(result.objective) == float(value)


def test_formulas_stand_by_their_place() -> None:
    result = small().optimum(maximize=["floor(threads / 7)", "cs_throughput", "1 / (threads)"])
    assert (float(result.objective_1), float(result.objective_3)) == (5.0, 1 / 40)
    assert result.objective_1.attrs["long_name"] == "floor(threads / 7)"
    tied = dse.optimum(small().run(), maximize=["floor(threads / 7)", "1"], ties=True)
    assert tied.objective_1.values.tolist() == [5.0] * 6 * 40


def test_stopped_early_it_says_what_is_proven_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small()
    goals = ["-cs_throughput", "threads"]
    loose = made.optimum(minimize=goals, gap=0.5)
    best = made.optimum(minimize=goals)
    assert loose.attrs["method"] == "certified"
    assert all(gap <= 0.5 for gap in loose.attrs["gap"])
    assert float(best.cs_throughput) <= loose.attrs["bound"][0]
    assert float(loose.cs_throughput) >= 0.5 * float(best.cs_throughput)

    real = sweeps.sources.grid_proof.best_in_cell
    calls = []

    def unproven_after_first(*args: Any, **more: Any) -> Any:
        calls.append(1)
        result = real(*args, **more)
        return result if len(calls) == 1 else UNPROVEN

    monkeypatch.setattr(sweeps.sources.grid_proof, "best_in_cell", unproven_after_first)
    first = made.optimum(minimize=goals, time_limit=100)
    assert first.attrs["gap"] == [0.0, np.inf]
    assert first.attrs["bound"][1] == -np.inf
    assert first.attrs["settled"] == 0
    assert float(first.cs_throughput) == float(best.cs_throughput)
    monkeypatch.undo()
    monkeypatch.setattr(
        sweeps.sources.grid_proof,
        "best_in_cell",
        lambda *args, **more: UNPROVEN,
    )
    with pytest.raises(OutOfTimeError, match="no feasible point with a finite cs_throughput"):
        made.optimum(minimize=goals, time_limit=100)


def test_what_auto_does(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small()
    goals = ["-cs_throughput", "threads"]
    scan = made.optimum(minimize=goals)
    assert scan.attrs["method"] == "scan"
    monkeypatch.setattr(sweeps.sources.grid_proof, "SCAN_FIRST_POINTS", 10)
    assert made.optimum(minimize=goals).attrs["method"] == "certified"
    monkeypatch.setattr(sweeps.sources.grid_proof, "SCAN_POINTS_PER_SECOND", 1e12)
    again = made.optimum(minimize=goals)
    assert again.drop_attrs().identical(scan.drop_attrs())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"minimize": "threads", "maximize": "intensity"}, r"\['threads', '-intensity'\], or use"),
        ({"minimize": ["threads"], "maximize": "1 / (threads)"}, r"'-\(1 / \(threads\)\)'\]"),
        ({"minimize": ["threads", "-threads"]}, "threads is given twice among the objectives"),
        ({"minimize": ["threads", 3]}, "holds 3: expected text"),
        ({"minimize": ["threads", "intensity"], "top": 0}, "at least 1"),
        ({"minimize": ["threads", "intensity"], "per": "lanes"}, "per = 'lanes' is no axis"),
    ],
)
def test_what_is_unclear_is_refused(arguments: dict[str, Any], message: str) -> None:
    for ask in (small().optimum, lambda **given: dse.optimum(small().run(), **given)):
        with pytest.raises(DseError, match=message):
            ask(**arguments)


def test_limits_of_proofs_are_refused_where_there_are_none() -> None:
    goals = ["threads", "intensity"]
    with pytest.raises(
        DseError, match="does not settle which others are as good: leave within out"
    ):
        small().optimum(minimize=goals, within=0.1, gap=0.1)
    with pytest.raises(DseError, match="a scan looks at every point"):
        small().optimum(minimize=goals, method="scan", gap=0.1)
    with pytest.raises(DseError, match="leave top, ties out"):
        small().optimum(minimize=goals, gap=0.1, ties=True, top=2)
    with pytest.raises(DseError, match="gap = -1"):
        small().optimum(minimize=goals, gap=-1)
    for method in ("scan", "certified"):
        with pytest.raises(InfeasibleError, match=r"not finite at any .* that is best by min"):
            small().optimum(minimize=[*goals, "log(-threads)"], method=method)


def test_the_command(run: Run) -> None:  # noqa: F811
    arguments = ("optimum", "study.toml", "--minimize", "case,time")
    scan = json.loads(run(*arguments, "--json").stdout)
    assert scan["question"] == "minimize case, then minimize time"
    apart = run("optimum", "study.toml", "--minimize", "case", "--minimize", "time", "--json")
    assert json.loads(apart.stdout) == scan
    proven = json.loads(run(*arguments, "--method", "certified", "--json").stdout)
    assert proven["rows"] == scan["rows"]
    assert proven["certificate"]["gap"] == [0.0, 0.0]
    message = run(*arguments, "--method", "certified").stdout
    assert "certified: none is better in the order of the objectives" in message
    loose = run(*arguments, "--gap", "0.9").stdout
    assert "certified: " in loose
    run("run", "study.toml", "--store", "out.zarr", "--minimize", "case,time")
    stored = json.loads(run("optimum", "out.zarr", "--minimize", "case,time", "--json").stdout)
    assert stored["rows"] == scan["rows"]
    mixed = run("optimum", "study.toml", "--minimize", "time", "--maximize", "case", status=2)
    assert "has both minimize and maximize" in mixed.stderr
