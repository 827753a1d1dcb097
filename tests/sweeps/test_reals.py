"""Axes that are real intervals: no value between their ends is better than what is proven."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dse
import sweeps.prove.reals.lowest
from sweeps.grid.goals import texts_of
from symbolic.errors import DomainError, DseError, InfeasibleError, OutOfTimeError, UnitError
from tests.dse.conftest import Run, run  # noqa: F401
from tests.long import draws, long
from tests.sweeps.certifying import study

SETS = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def small(low: Any = 1, high: Any = 40, **more: Any) -> dse.Study:
    axes = {"intensity": {"between": [low, high]}, "threads": range(1, 41)}
    return dse.Study(model="transit", axes=axes, set=SETS, **more)


def real_axes(made: dse.Study, rng: random.Random) -> dict[str, tuple[float, float]]:
    """One or two axes of a study that can be intervals, and their ends."""
    able = [
        name
        for name, axis in made.grid().axes.items()
        if axis.kind == "number"
        and not made.grid().model.quantities[name].domain.whole
        and axis.values.min() < axis.values.max()
    ]
    chosen = rng.sample(able, min(len(able), rng.choice([1, 1, 2])))
    axes = made.grid().axes
    return {n: (float(axes[n].values.min()), float(axes[n].values.max())) for n in chosen}


@settings(max_examples=draws(24), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_point_between_is_better_than_what_is_proven(seed: int) -> None:
    rng = random.Random(seed)
    try:
        made, question = study(seed, 60)
    except DseError:
        assume(False)
    question = {k: v for k, v in question.items() if k in ("minimize", "maximize", "where")}
    real = real_axes(made, rng)
    assume(real)
    sign = 1.0 if "minimize" in question else -1.0
    between = {name: {"between": list(ends)} for name, ends in real.items()}
    count = 400 if len(real) == 1 else 25
    dense = {
        name: sorted({low, high, *(rng.uniform(low, high) for _ in range(count))})
        for name, (low, high) in real.items()
    }
    scanned: Any
    try:
        scanned = replace(made, axes={**made.axes, **dense}).optimum(**question, method="scan")
    except InfeasibleError:
        scanned = None
    try:
        found = replace(made, axes={**made.axes, **between}).optimum(**question, time_limit=0.3)
    except OutOfTimeError:
        return
    except InfeasibleError:
        assert scanned is None, (made.text(), real, question)
        return
    (text,) = {question.get("minimize"), question.get("maximize")} - {None}
    name = text if text in found.variables else "objective"
    value, bound = sign * float(found[name]), sign * found.attrs["bound"]
    told = (made.text(), real, question, found.attrs)
    assert bound <= value, told
    here = replace(made, axes={**made.axes, **{n: [float(found[n])] for n in real}})
    point = {axis: found[axis].values.item() for axis in made.axes if axis in found.coords}
    at = here.grid(made._needed([text]), texts_of(question.get("where"), "where"))
    places = {
        a: np.array([x.position(point[a], {}) if a in point else 0]) for a, x in at.axes.items()
    }
    if "feasible" in found:
        assert at.at_points(places, ["feasible"])["feasible"][0], told
    if scanned is not None:
        best = sign * float(scanned[name])
        assert bound <= best, told
        assert value <= best + (found.attrs["gap"] + 1e-12) * abs(value), told


def test_what_rises_is_least_at_its_end() -> None:
    found = small().optimum(minimize="cs_throughput")
    assert (float(found.intensity), int(found.threads)) == (1.0, 1)
    assert found.attrs["method"] == "certified"
    assert found.attrs["real_axes"] == "intensity"
    assert found.attrs["gap"] <= 1e-12
    assert json.loads(found.attrs["study"])["axes"]["intensity"] == {"between": [1.0, 40.0]}
    same = small(1, 2).optimum(minimize="cs_throughput", gap=0.0)
    assert float(same.cs_throughput) == float(found.cs_throughput)


@pytest.mark.parametrize(
    ("formula", "where", "place", "value"),
    [
        ("(intensity - 7.3) * (intensity - 7.3) + 1", (), 7.3, 1.0),
        ("intensity + 100 / intensity", (), 10.0, 20.0),
        ("intensity", "intensity * intensity >= 50", math.sqrt(50), math.sqrt(50)),
        ("-intensity", "exp(intensity / 10) <= threads", 10 * math.log(40), -10 * math.log(40)),
        ("max(intensity, 90 / intensity)", (), math.sqrt(90), math.sqrt(90)),
        ("floor(intensity) - intensity / 2", (), 2.0, 0.0),
        ("where(intensity < 20, 30 - intensity, intensity - 15)", (), 20.0, 5.0),
    ],
)
def test_optima_between(formula: str, where: Any, place: float, value: float) -> None:
    found = small().optimum(minimize=formula, where=where)
    assert found.attrs["bound"] <= value
    name = "intensity" if formula == "intensity" else "objective"
    assert float(found[name]) == pytest.approx(value, rel=1e-5, abs=1e-5)
    if not formula.startswith("floor"):  # which has many
        assert found.attrs["gap"] <= 1e-6
        assert float(found.intensity) == pytest.approx(place, rel=2e-3)
    turned = small().optimum(maximize=f"-({formula})", where=where)
    assert float(turned.intensity) == float(found.intensity)
    assert turned.attrs["bound"] == -found.attrs["bound"]


def test_nothing_need_vary() -> None:
    found = small().optimum(minimize="ms_peak + lanes_width")
    assert (float(found.objective), found.attrs["bound"], float(found.intensity)) == (33, 33, 1)
    with pytest.raises(InfeasibleError):
        small().optimum(minimize="log(-lanes_width)")


def test_one_real_among_all_is_found() -> None:
    found = small().optimum(minimize="threads", where=["intensity >= 7.3", "intensity <= 7.3"])
    assert float(found.intensity) == 7.3


def test_the_gap_is_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    formula = "intensity + 100 / intensity"
    loose, close = (small().optimum(minimize=formula, gap=gap) for gap in (0.1, 1e-12))
    assert loose.attrs["gap"] <= 0.1
    assert close.attrs["gap"] <= 1e-12
    assert close.attrs["tolerance"] == 1e-12
    assert close.attrs["bound"] <= 20.0 <= float(close.objective)
    late = small().optimum(minimize=formula, time_limit=0)
    assert late.attrs["bound"] <= 20.0 <= float(late.objective)
    assert late.attrs["gap"] == (float(late.objective) - late.attrs["bound"]) / float(
        late.objective
    )
    monkeypatch.setattr(sweeps.prove.reals.lowest, "_MOST", 1)
    full = small().optimum(minimize=formula, gap=1e-12)
    assert full.attrs["gap"] > 1e-12
    assert full.attrs["bound"] <= 20.0


@long
def test_switches_and_labels_are_mixed_with_reals() -> None:
    axes = {
        "machine": ["gtx280", "8800gtx"],
        "threads_per_block": [64, 144, 256],
        "core_clock": {"between": ["0.5 GHz", "1.5 GHz"]},
        "rounding": ["continuous", "whole"],
    }
    made = dse.Study(
        model="occupancy + mwp_cwp", workload="mat_tiled", axes=axes, set={"active_sms": 10}
    )
    cost = "time * (1 + core_clock / (1 GHz) * core_clock / (1 GHz))"
    question: dict[str, Any] = {"minimize": cost, "where": "time <= 1 s"}
    found = made.optimum(**question)
    clocks = {"linspace": [0.5e9, 1.5e9, 500]}
    dense = replace(made, axes={**axes, "core_clock": clocks})
    best = dense.optimum(**question)
    assert found.attrs["bound"] <= float(best.objective)
    assert float(found.objective) <= float(best.objective) * (1 + 1e-6)
    for name in ("machine", "rounding", "threads_per_block"):
        assert found[name].item() == best[name].item()
    assert found.core_clock.attrs["units"] == "Hz"
    clock = float(found.core_clock)
    again = replace(made, axes={**axes, "core_clock": [clock]})
    same = again.optimum(**question)
    assert float(same.objective) == float(found.objective)


def test_nothing_feasible_is_proven() -> None:
    with pytest.raises(InfeasibleError, match="whatever the reals"):
        small().optimum(minimize="threads", where="intensity * intensity < -1")
    with pytest.raises(OutOfTimeError, match="nor is it proven that there is none"):
        small(0.1, 40).optimum(minimize="threads", where="absolute(intensity * intensity - 2) <= 0")


@pytest.mark.parametrize(
    ("name", "spec", "error", "told"),
    [
        ("intensity", [40, 1], DseError, r"\[40, 1\], expected \[low, high\]: the lower end"),
        ("intensity", [4, 4], DseError, "a single value belongs in set"),
        ("intensity", [1, math.inf], DseError, "expected finite numbers"),
        ("intensity", [math.nan, 1], DseError, "expected finite numbers"),
        ("intensity", [1, 2, 3], DseError, r"expected \[low, high\]"),
        ("intensity", "1 to 3", DseError, r"expected \{ between"),
        ("intensity", ["a", "b"], DseError, "expected a number, with or without a unit"),
        ("intensity", [-1, 3], DomainError, "outside its domain"),
        ("mem_latency", ["1 GHz", "2 GHz"], UnitError, "the axis mem_latency"),
        ("active_sms", [16, 32], DseError, "takes whole numbers"),
        ("supply", ["sharp", "smooth"], DseError, "takes labels"),
    ],
)
def test_bad_ends(name: str, spec: Any, error: type[Exception], told: str) -> None:
    sets = {"intensity": 10, **SETS, "threads": 64}
    sets.pop(name, None)
    model = "transit" if name != "active_sms" else "mwp_cwp"
    with pytest.raises(error, match=told):
        dse.Study(model=model, axes={name: {"between": spec}}, set=sets)
    with pytest.raises(DseError, match=r"expected \{ between"):
        dse.Study(
            model="transit",
            axes={"intensity": {"between": [1, 2], "step": 1}},
            set={**SETS, "threads": 64},
        )


def test_whatever_needs_points_says_the_way_out(tmp_path: Path) -> None:
    made = small()
    refused = [
        made.run,
        made.plan,
        made.count,
        made.explain,
        lambda: made.run(store=tmp_path / "out.zarr"),
        lambda: made.pareto(minimize=["threads", "intensity"]),
        lambda: made.histogram("intensity"),
        lambda: made.quantiles("intensity", 0.5),
        lambda: dse.borders(made, "bound"),
        lambda: dse.meets(made, "cs_throughput >= 0.1"),
        lambda: dse.ranges(made, {"ms_peak": "5 %"}),
    ]
    for ask in refused:
        with pytest.raises(DseError, match=r"intensity lies between .* linspace = \[1, 40, 101\]"):
            ask()
    for more, told in (
        ({"top": 3}, "leave top out"),
        ({"per": "threads"}, "leave per out"),
        ({"ties": True}, "leave ties out"),
        ({"within": 0.1}, "leave within out"),
        ({"method": "scan"}, "leave method='scan' out"),
    ):
        with pytest.raises(DseError, match=told):
            made.optimum(minimize="threads", **more)
    with pytest.raises(DseError, match="leave several objectives out"):
        made.optimum(minimize=["threads", "intensity"])


def test_a_table_along_a_real_axis_is_refused() -> None:
    import xarray as xr

    table = xr.DataArray([600.0, 700.0], dims="intensity")
    made = dse.Study(
        model="transit",
        axes={"intensity": {"between": [1, 2]}, "threads": [32, 64]},
        set={**SETS, "mem_latency": table},
    )
    with pytest.raises(DseError, match="mem_latency is a table along intensity"):
        made.optimum(maximize="cs_throughput")


def test_the_command(run: Run) -> None:  # noqa: F811
    Path("real.toml").write_text(
        'model = "transit"\n[axes]\nintensity = { between = [1, 40] }\nthreads = [8, 16]\n'
        '[set]\nlanes_width = 32\nms_peak = 1\nmem_latency = "600 cycles"\n'
        '[best]\nmaximize = "cs_throughput"\n'
    )
    told = run("optimum", "real.toml").stdout
    assert "certified: for no real intensity is it better than 1, " in told
    data = json.loads(run("optimum", "real.toml", "--gap", "0.01", "--json").stdout)
    assert data["certificate"]["tolerance"] == 0.01
    assert data["certificate"]["real_axes"] == "intensity"
    assert "linspace = [1, 40, 101]" in run("plan", "real.toml", status=2).stderr
