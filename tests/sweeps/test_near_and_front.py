"""All configurations near the best, and certified fronts: those of a scan of every point."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dse
import sweeps.certify.front
import sweeps.inverse.near
from symbolic.errors import DseError, InfeasibleError, OutOfTimeError
from tests.sweeps.certifying import study

SETS = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def small(size: int = 40, **more: Any) -> dse.Study:
    axes = {"intensity": {"linspace": [1, 40, size]}, "threads": range(1, size + 1)}
    return dse.Study(model="transit", axes=axes, set=SETS, **more)


def drawn(seed: int, most: int) -> tuple[dse.Study, dict[str, Any]]:
    """A random study, and one objective with constraints, if any."""
    try:
        made, question = study(seed, most)
    except DseError:  # such as more blocks than there are threads for
        assume(False)
        raise
    kept = ("minimize", "maximize", "where")
    return made, {key: question[key] for key in kept if key in question}


def asked(ask: Any, question: dict[str, Any], method: str) -> Any:
    """The answer without how it was found; None where no point is feasible."""
    try:
        return ask(**question, method=method).drop_attrs()
    except InfeasibleError:
        return None


def same(one: Any, other: Any) -> bool:
    return one is other if one is None or other is None else one.identical(other)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), within=st.sampled_from([0.0, 0.01, 0.3]))
def test_what_is_near_the_best_is_that_of_a_scan(seed: int, within: float) -> None:
    made, question = drawn(seed, 1500)
    question["within"] = within
    scan, certified = (asked(made.optimum, question, how) for how in ("scan", "certified"))
    assert same(scan, certified), (made.text(), question)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_certified_front_is_that_of_a_scan(seed: int) -> None:
    made, question = drawn(seed, 60)
    rng, model = random.Random(seed), made.grid().model
    second = rng.choice([o for o in model.outputs if not model.quantities[o].is_label])
    sense = "minimize" if "minimize" in question else "maximize"
    if rng.random() < 0.5:
        question[sense] = [question[sense], second]
    else:
        question["maximize" if sense == "minimize" else "minimize"] = second
    scan, certified = (asked(made.pareto, question, how) for how in ("scan", "certified"))
    assert same(scan, certified), (made.text(), question)


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
            found = made.optimum(**{sense: formula}, within=0.05, method=method)
            name = formula if formula == "cs_throughput" else "objective"
            assert (sign * found[name].values).tolist() == expected.tolist()
            assert found.attrs["configurations"] == expected.size == found.sizes["rank"]
            assert found["rank"].values.tolist() == list(range(1, expected.size + 1))
            assert (found.attrs["method"], found.attrs["within"]) == (method, 0.05)


def test_nothing_within_is_listed_as_ties_are() -> None:
    made = small(where="intensity <= 20")
    ties = made.optimum(maximize="min(cs_throughput, 0.3)", ties=True)
    for method in ("scan", "certified"):
        found = made.optimum(maximize="min(cs_throughput, 0.3)", within=0, method=method)
        assert found.threads.values.tolist() == ties.threads.values.tolist()
        assert found.intensity.values.tolist() == ties.intensity.values.tolist()


def test_axes_along_which_nothing_varies_are_listed() -> None:
    for method in ("scan", "certified"):
        found = small(8).optimum(maximize="threads", within=0.2, method=method)
        assert found.attrs["configurations"] == 2 * 8
        assert found.threads.values.tolist() == [8] * 8 + [7] * 8


def test_more_than_can_be_listed_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(200)
    count = made.optimum(maximize="cs_throughput", within=0.3).attrs["configurations"]
    monkeypatch.setattr(sweeps.inverse.near, "MOST_LISTED", 10)
    for method in ("scan", "certified"):
        with pytest.raises(DseError, match=f"{count:,} configurations are .* of which 10 can"):
            made.optimum(maximize="cs_throughput", within=0.3, method=method)
    monkeypatch.setattr(sweeps.inverse.near, "_BOXES", 2)
    with pytest.raises(OutOfTimeError, match=r"at least .* not all could be told with 2 boxes"):
        made.optimum(maximize="cs_throughput", within=0.3, method="certified")


def test_large_spaces_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.inverse.near, "SCANNED", 4)
    monkeypatch.setattr(sweeps.certify.front, "SCANNABLE", 10)
    made = small(8)
    assert made.optimum(minimize="threads", within=0.1).attrs["method"] == "certified"
    goals = {"minimize": "threads", "maximize": "cs_throughput"}
    assert made.pareto(**goals).attrs["method"] == "certified"
    three = made.pareto(**{**goals, "minimize": ["threads", "intensity"]})
    assert three.attrs["method"] == "scan"


def test_a_front_stopped_early_is_the_first_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    goals = {"minimize": "threads", "maximize": "cs_throughput"}
    whole = small(8).pareto(**goals, method="certified")
    assert whole.attrs["complete"] == 1
    limited, asked_so_often = sweeps.certify.front.best_within, []

    def late(*args: Any, **how: Any) -> Any:
        asked_so_often.append(1)
        best = limited(*args, **how)
        return best if len(asked_so_often) < 6 else replace(best, bound=-np.inf, settled=False)

    monkeypatch.setattr(sweeps.certify.front, "best_within", late)
    some = small(8).pareto(**goals, time_limit=1000)
    assert some.attrs["complete"] == 0
    assert some.threads.values.tolist() == sorted(whole.threads.values)[:2]
    with pytest.raises(OutOfTimeError, match="no point of the front was proven in 1000 s"):
        small(8).pareto(**goals, time_limit=1000)


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    made = small(8)
    with pytest.raises(DseError, match="leave top, per out"):
        made.optimum(minimize="threads", within=0.1, top=2, per="threads")
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
    with pytest.raises(DseError, match="two objectives, was given 3"):
        made.pareto(minimize=["threads", "intensity", "cs_throughput"], method="certified")
    with pytest.raises(DseError, match="method = 'guess'"):
        made.pareto(minimize=["threads", "intensity"], method="guess")
    monkeypatch.setattr(sweeps.certify.front, "MOST_POINTS", 3)
    with pytest.raises(DseError, match="more than 3 points"):
        made.pareto(minimize="threads", maximize="cs_throughput", method="certified")


@pytest.mark.parametrize("method", ["scan", "certified"])
def test_where_a_quantity_is_undefined_along_an_axis(method: str) -> None:
    """What is no number at some values of an axis is chosen among the others, if there are any."""
    made = dse.Study(model="transit", axes={"intensity": [1, 2, 4], "threads": [1, 2]}, set=SETS)
    for formula in ("1 / (intensity - 1)", "log(intensity - 1)", "sqrt(intensity - 1.5)"):
        assert made.optimum(maximize=formula, method=method).intensity > 1
        near = made.optimum(minimize=formula, within=100, method=method)
        assert 1 not in near.intensity
        assert np.all(np.isfinite(near.objective))
        assert 1 not in made.pareto(minimize=[formula, "intensity"], method=method).intensity
    with pytest.raises(InfeasibleError, match="finite at no feasible point"):
        made.optimum(maximize="log(intensity - 4)", method=method)
    with pytest.raises(DseError, match=r"the axis intensity\) is outside its domain"):
        dse.Study(model="transit", axes={"intensity": [0, 1], "threads": [1]}, set=SETS)
