"""All configurations near the best, and certified fronts: those of a scan of every point."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dse
import sweeps.bounds.merge_axes
import sweeps.bounds.search
import sweeps.certify.front
import sweeps.query.source
import sweeps.sources.grid_proof
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from tests.long import draws
from tests.sweeps.certifying import study
from tests.sweeps.test_time_limits import Clock

SETS = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def small(size: int = 40, **more: Any) -> dse.Study:
    axes = {"intensity": {"linspace": [1, 40, size]}, "threads": range(1, size + 1)}
    return dse.Study(model="transit", axes=axes, set=SETS, **more)


def draw_study(seed: int, most: int) -> tuple[dse.Study, dict[str, Any]]:
    """A random study, and one objective with constraints, if any."""
    try:
        made, question = study(seed, most)
    except DseError:  # such as more blocks than there are threads for
        assume(False)
        raise
    names = ("minimize", "maximize", "where")
    return made, {key: question[key] for key in names if key in question}


def answer_or_none(ask: Any, question: dict[str, Any], method: str) -> Any:
    """The answer without how it was found; None where no point is feasible."""
    try:
        return ask(**question, method=method).drop_attrs()
    except InfeasibleError:
        return None


def same(one: Any, other: Any) -> bool:
    return one is other if one is None or other is None else one.identical(other)


@settings(max_examples=draws(8), deadline=None)
@given(seed=st.integers(0, 10**6), within=st.sampled_from([0.0, 0.01, 0.3]))
def test_what_is_near_the_best_is_that_of_a_scan(seed: int, within: float) -> None:
    made, question = draw_study(seed, 1500)
    question["within"] = within
    scan, certified = (answer_or_none(made.optimum, question, how) for how in ("scan", "certified"))
    assert same(scan, certified), (made.text(), question)


def objectives(made: dse.Study, question: dict[str, Any], rng: random.Random, count: int) -> Any:
    """The question with so many objectives, some of them rounded, so that many points are equal."""
    model, goals = made.grid().model, {"minimize": [], "maximize": []}
    for sense in ("minimize", "maximize"):
        goals[sense] += [question[sense]] if sense in question else []
    outputs = [o for o in model.outputs if not model.quantities[o].is_label]
    while sum(map(len, goals.values())) < count:
        a, b = rng.choice(outputs), rng.choice(outputs)
        goals[rng.choice(list(goals))].append(rng.choice([a, a, f"floor(3 * {a} / {b})"]))
    names = {"where": question["where"]} if "where" in question else {}
    return names | {sense: texts for sense, texts in goals.items() if texts}


@settings(max_examples=draws(16), deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 4))
def test_a_certified_front_is_that_of_a_scan(seed: int, count: int) -> None:
    """Ties included, however the boxes are cut, by NumPy or by a nest."""
    made, question = draw_study(seed, 1000)
    rng = random.Random(seed)
    question = objectives(made, question, rng, count)
    scan = answer_or_none(made.pareto, question, "scan")
    with pytest.MonkeyPatch.context() as patch:
        beating = sweeps.certify.front
        patch.setattr(beating, "MAX_SCAN_POINTS", rng.choice([1, 4, 30]))
        patch.setattr(beating, "BATCH", rng.choice([1, 7, 1 << 8]))
        patch.setattr(beating, "JOINT_SCAN_POINTS", rng.choice([1, 40, 1 << 16]))
        patch.setattr(beating, "COMPILE_MIN_POINTS", rng.choice([100, 1 << 20, 1 << 20]))
        patch.setattr(beating, "_SAMPLED_STARTS", 2)
        patch.setattr(beating, "_ROUNDS", rng.choice([0, 1]))
        patch.setattr(sweeps.certify.front, "MAX_JOINT_TIE_BOXES", rng.choice([0, 50, 1 << 16]))
        patch.setattr(sweeps.bounds.merge_axes, "_MIN_POINTS", rng.choice([0, 1 << 28]))
        certified = answer_or_none(made.pareto, question, "certified")
    assert same(scan, certified), (made.text(), question)


def test_the_first_of_equal_points_of_a_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Axes along which all falls are taken at their end; before it points may be equal."""
    monkeypatch.setattr(sweeps.certify.front, "MAX_SCAN_POINTS", 16)
    monkeypatch.setattr(sweeps.bounds.merge_axes, "_MIN_POINTS", 0)
    axes = {
        "intensity": {"linspace": [1, 40, 9]},
        "ms_peak": {"linspace": [0.1, 4, 12]},
        "threads": range(32, 1025, 64),
        "lanes_width": [8, 16, 32, 64],
    }
    made = dse.Study(model="transit", axes=axes, set={"mem_latency": 600})
    goals = {
        "minimize": ["threads", "floor(lanes_width / 16)"],
        "maximize": ["ms_throughput", "floor(4 * cs_throughput)"],
    }
    scan, certified = (made.pareto(**goals, method=how) for how in ("scan", "certified"))
    assert scan.sizes["point"] > 20
    assert certified.attrs["settled"] == certified.attrs["complete"] == 1
    assert certified.drop_attrs().identical(scan.drop_attrs())
    assert not (scan.ms_peak == 4).all()  # more would be as good, and is not the first


def test_near_the_best_means_a_share_of_its_magnitude() -> None:
    made = small()
    values = made.run().cs_throughput.values
    for sense, formula, sign in (
        ("maximize", "cs_throughput", -1),
        ("minimize", "cs_throughput - 100", 1),
        ("maximize", "-cs_throughput", -1),
    ):
        goal = {"cs_throughput": values, "cs_throughput - 100": values - 100}
        signed = sign * goal.get(formula, -values)
        expected = np.sort(signed[signed <= signed.min() + 0.05 * abs(signed.min())])
        for method in ("scan", "certified"):
            result = made.optimum(**{sense: formula}, within=0.05, method=method)
            name = formula if formula == "cs_throughput" else "objective"
            assert (sign * result[name].values).tolist() == expected.tolist()
            assert result.attrs["configurations"] == expected.size == result.sizes["rank"]
            assert result["rank"].values.tolist() == list(range(1, expected.size + 1))
            assert (result.attrs["method"], result.attrs["within"]) == (method, 0.05)


def test_nothing_within_is_listed_as_ties_are() -> None:
    made = small(where="intensity <= 20")
    ties = made.optimum(maximize="min(cs_throughput, 0.3)", ties=True)
    for method in ("scan", "certified"):
        result = made.optimum(maximize="min(cs_throughput, 0.3)", within=0, method=method)
        assert result.threads.values.tolist() == ties.threads.values.tolist()
        assert result.intensity.values.tolist() == ties.intensity.values.tolist()


def test_axes_along_which_nothing_varies_are_listed() -> None:
    for method in ("scan", "certified"):
        result = small(8).optimum(maximize="threads", within=0.2, method=method)
        assert result.attrs["configurations"] == 2 * 8
        assert result.threads.values.tolist() == [8] * 8 + [7] * 8


def test_more_than_can_be_listed_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof counts all of them; a scan and a store stop, and say that there may be more."""
    made = small(200)
    made.run(store=tmp_path / "s.zarr")
    count = made.optimum(maximize="cs_throughput", within=0.3).attrs["configurations"]
    monkeypatch.setattr(sweeps.query.source, "MAX_LISTED", 10)
    with pytest.raises(DseError, match=f"^{count:,} configurations are .* but at most 10 can"):
        made.optimum(maximize="cs_throughput", within=0.3, method="certified")
    for source, how in ((made, {"method": "scan"}), (tmp_path / "s.zarr", {})):
        with pytest.raises(
            DseError, match=r"^at least .* configurations are .* at most 10 can be listed"
        ) as error:
            dse.optimum(source, maximize="cs_throughput", within=0.3, **how)
        assert 10 < int(str(error.value).split()[2].replace(",", "")) <= count
    monkeypatch.setattr(sweeps.sources.grid_proof, "_MAX_BOXES", 2)
    with pytest.raises(OutOfTimeError, match=r"at least .* not all could be listed with 2 boxes"):
        made.optimum(maximize="cs_throughput", within=0.3, method="certified")


@pytest.mark.shipped
def test_large_spaces_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.sources.grid_proof, "SCAN_FIRST_POINTS", 4)
    monkeypatch.setattr(sweeps.sources.grid_proof, "MAX_SCAN_POINTS", 10)
    made = small(8)
    assert made.optimum(minimize="threads", within=0.1).attrs["method"] == "certified"
    goals = {"minimize": "threads", "maximize": "cs_throughput"}
    assert made.pareto(**goals).attrs["method"] == "certified"
    three = made.pareto(**{**goals, "minimize": ["threads", "intensity"]})
    assert three.attrs["method"] == "certified"


@pytest.mark.shipped
@pytest.mark.parametrize("together", [0, sweeps.certify.front.JOINT_SCAN_POINTS])
def test_a_front_stopped_early_says_what_is_proven(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Points that are not proven may be beaten; those that are belong to the front."""
    beating = sweeps.certify.front
    monkeypatch.setattr(beating, "JOINT_SCAN_POINTS", together)
    for name, value in (
        ("MAX_SCAN_POINTS", 4),
        ("BATCH", 2),
        ("_SAMPLED_STARTS", 2),
        ("_ROUNDS", 0),
    ):
        monkeypatch.setattr(beating, name, value)
    made, goals = small(16), {"minimize": "floor(threads / 2)", "maximize": "cs_throughput"}
    whole = made.pareto(**goals, method="certified")
    assert whole.attrs["complete"] == whole.attrs["settled"] == 1
    assert "proven" not in whole
    heard: list[Any] = []
    small(16).pareto(**goals, method="certified", progress=heard.append)
    assert heard[-1].points == whole.sizes["point"]
    assert heard[-1].done == heard[-1].total > heard[0].done
    assert {(one.best, one.gap) for one in heard} == {(None, None)}
    points = {(float(a), float(b)) for a, b in objectives_of(whole)}
    events = []
    for limit in (1, 4, 10, 20, 30, 200):
        clock = Clock()
        monkeypatch.setattr("sweeps.runtime.search_loop.time", clock)
        some = small(16).pareto(**goals, time_limit=limit)
        assert clock.looks < limit + 40
        if some.attrs["complete"]:
            assert {tuple(map(float, point)) for point in objectives_of(some)} == points
            continue
        assert some.attrs["boxes_left"] > 0
        for point, proven in zip(objectives_of(some), some.proven.values, strict=True):
            assert tuple(map(float, point)) in points or not proven
        events.append(int(some.proven.sum()))
    assert len(set(events)) > 1
    nowhere = small(16, where=["cs_throughput > 0.5", "threads < 16"])
    clock = Clock()
    monkeypatch.setattr("sweeps.runtime.search_loop.time", clock)
    with pytest.raises(OutOfTimeError, match="no point of the front was found in time"):
        nowhere.pareto(**goals, time_limit=0)


def objectives_of(front: Any) -> Any:
    return zip(np.floor(front.threads.values / 2), front.cs_throughput.values, strict=True)


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(8)
    for wrong in (-0.1, float("nan"), "1%", True):
        with pytest.raises(DseError, match="expected a share"):
            made.optimum(minimize="threads", within=wrong)  # type: ignore[arg-type]
    with pytest.raises(DseError, match="method = 'guess'"):
        made.optimum(minimize="threads", within=0.1, method="guess")
    for question in (
        {"within": 0.1, "minimize": "threads"},
        {"minimize": ["threads", "intensity"]},
    ):
        ask = made.optimum if "within" in question else made.pareto
        with pytest.raises(DseError, match="a scan looks at every point"):
            ask(**question, method="scan", time_limit=1)
        for method in ("scan", "certified"):
            with pytest.raises(InfeasibleError):
                ask(**question, method=method, where="intensity > 1000")
    with pytest.raises(DseError, match="method = 'guess'"):
        made.pareto(minimize=["threads", "intensity"], method="guess")
    monkeypatch.setattr(sweeps.certify.front, "MAX_FRONT_POINTS", 3)
    with pytest.raises(DseError, match="more than 3 points"):
        made.pareto(minimize="threads", maximize="cs_throughput", method="certified")


@pytest.mark.parametrize("method", ["scan", "certified"])
def test_where_a_quantity_is_undefined_along_an_axis(method: str) -> None:
    """An objective that is NaN at some values of an axis is chosen among the others, if any."""
    made = dse.Study(model="transit", axes={"intensity": [1, 2, 4], "threads": [1, 2]}, set=SETS)
    for formula in ("1 / (intensity - 1)", "log(intensity - 1)", "sqrt(intensity - 1.5)"):
        assert made.optimum(maximize=formula, method=method).intensity > 1
        near = made.optimum(minimize=formula, within=100, method=method)
        assert 1 not in near.intensity
        assert np.all(np.isfinite(near.objective))
        assert 1 not in made.pareto(minimize=[formula, "intensity"], method=method).intensity
    with pytest.raises(InfeasibleError, match="not finite at any feasible point"):
        made.optimum(maximize="log(intensity - 4)", method=method)
    with pytest.raises(DseError, match=r"the axis intensity\) is outside its domain"):
        dse.Study(model="transit", axes={"intensity": [0, 1], "threads": [1]}, set=SETS)


def test_answers_say_of_which_study_they_are() -> None:
    made = small(6)
    ds = made.run()
    goals = {"minimize": "threads", "maximize": "cs_throughput"}
    result = [
        made.optimum(minimize="threads"),
        made.optimum(minimize="threads", within=0.5),
        made.optimum(minimize="threads", method="certified"),
        made.pareto(**goals),
        made.pareto(**goals, method="certified"),
        dse.optimum(ds, minimize="threads"),
        dse.pareto(ds, **goals),
    ]
    for answer in result:
        for key in ("model", "study", "simt_dse_version"):
            assert answer.attrs[key] == ds.attrs[key]
