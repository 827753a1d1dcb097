"""Conditions on labels: every question answers as of the study with only what they leave."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from dse.runs.identity import study_of
from symbolic.errors import DseError, InfeasibleError, UnknownNameError
from tests.long import mostly_long

AXES: dict[str, Any] = {
    "machine": ["gtx280", "fx5600", "8800gtx"],
    "workload": ["svm", "sepia"],
    "rounding": ["whole", "continuous"],
    "active_sms": [2, 4, 7, 8, 11, 14],
}
SET = {"active_blocks_per_sm": 4, "threads_per_block": 128}
#: Conditions, and the axes of which they leave less.
LEFT: list[tuple[str, dict[str, list[str]]]] = [
    ('workload == "svm"', {"workload": ["svm"]}),
    ("machine != 'fx5600'", {"machine": ["gtx280", "8800gtx"]}),
    ('rounding == "continuous"', {"rounding": ["continuous"]}),
    (
        "not (machine == 'gtx280' or 'whole' == rounding) and workload != 'svm'",
        {"machine": ["fx5600", "8800gtx"], "rounding": ["continuous"], "workload": ["sepia"]},
    ),
    ("printed == 'false'", {}),
]
MEASURED = [
    (kernel, threads, base * 128 / threads + threads / 512)
    for kernel, base in [("naive", 9.0), ("tiled", 4.0), ("it's", 6.0)]
    for threads in (32, 64, 128, 256)
]


def study(left: dict[str, list[str]] | None = None, **more: Any) -> dse.Study:
    given = {"model": "mwp_cwp", "axes": {**AXES, **(left or {})}, "set": SET, "outputs": ["time"]}
    return dse.Study(**(given | more))


ASKED = {
    "count": lambda s, w: s.count(where=w).feasible_points.item(),
    "least": lambda s, w: s.optimum(minimize="time", where=w),
    "most": lambda s, w: s.optimum(maximize="time * active_sms", where=w, top=3),
    "proven": lambda s, w: s.optimum(minimize="time", where=w, method="certified"),
    "each": lambda s, w: s.optimum(minimize="time", where=w, per="active_sms"),
    "front": lambda s, w: s.pareto(minimize=["time", "active_sms"], where=w),
    "quantiles": lambda s, w: s.quantiles("time", [0.1, 0.5, 1], where=w),
    "histogram": lambda s, w: s.histogram("time", bins=[0, 0.01, 0.1, 1], where=w),
}


def same(answer: Any, expected: Any) -> None:
    """Alike but for what differs of necessity: labels left out, the text of the conditions."""
    if not hasattr(answer, "data_vars"):
        assert answer == expected
        return
    assert set(answer.variables) == set(expected.variables)
    for name, variable in expected.variables.items():
        np.testing.assert_array_equal(answer[name].values, variable.values, err_msg=str(name))


def agree(answer: xr.Dataset, expected: xr.Dataset, left: dict[str, list[str]]) -> None:
    """Alike at the labels that are left; what depends on a label lies along its axis or not."""
    for name, variable in expected.data_vars.items():
        part = answer[name].sel({axis: v for axis, v in left.items() if axis in answer[name].dims})
        one, other = xr.broadcast(part, variable)
        np.testing.assert_array_equal(one.transpose(*other.dims), other, err_msg=str(name))


@pytest.mark.parametrize(
    ("query", "text", "left"),
    mostly_long(
        [(query, *each) for query in ASKED for each in LEFT],
        lambda k, _: (k // len(LEFT) + k) % 2 == 0,
    ),
)
def test_a_study_answers_as_the_one_with_those_labels(query: str, text: str, left: Any) -> None:
    expected = ASKED[query](study(left), ())
    same(ASKED[query](study(), text), expected)
    same(ASKED[query](study(where=text), ()), expected)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A Dataset in memory, one opened from a file in chunks, and a finished store."""
    folder = tmp_path_factory.mktemp("runs")
    ds = study(outputs=["time"]).run(expand=True)
    study(outputs=["time"]).run(store=folder / "run.zarr", expand=True)
    dse.export(ds, folder / "run.nc")
    return {
        "memory": ds,
        "chunks": ds.chunk({"machine": 1, "rounding": 1}),
        "file": folder / "run.nc",
        "store": folder / "run.zarr",
        "opened": dse.open(folder / "run.zarr"),
    }


OF_TABLES: dict[str, Any] = {
    "count": lambda s, w: dse.count(s, where=w).feasible_points.item(),
    "least": lambda s, w: dse.optimum(s, minimize="time", where=w),
    "most": lambda s, w: dse.optimum(s, maximize="time * active_sms", where=w, top=3),
    "each": lambda s, w: dse.optimum(s, minimize="time", where=w, per="active_sms"),
    "front": lambda s, w: dse.pareto(s, minimize=["time", "active_sms"], where=w),
    "quantiles": lambda s, w: dse.quantiles(s, "time", [0.1, 0.5, 1], where=w),
    "histogram": lambda s, w: dse.histogram(s, "time", bins=[0, 0.01, 0.1, 1], where=w),
    "labels": lambda s, w: dse.optimum(s, minimize="time", where=w, per="machine"),
}


@cache
def of_the_study(query: str, text: str) -> Any:
    return OF_TABLES[query](study(), text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        *((source, text) for source in ("memory", "store") for text, _ in LEFT),
        *((source, LEFT[3][0]) for source in ("chunks", "file", "opened")),
    ],
)
@pytest.mark.parametrize("query", mostly_long(OF_TABLES, lambda k, _: k % 2 == 0))
def test_a_run_answers_as_its_study(
    sources: dict[str, Any], source: str, query: str, text: str
) -> None:
    same(OF_TABLES[query](sources[source], text), of_the_study(query, text))


@pytest.mark.parametrize(("text", "left"), LEFT[:4])
def test_what_varies_in_a_run_is_told_of_the_labels_left(
    sources: dict[str, Any], text: str, left: Any
) -> None:
    expected = dse.sensitivity(sources["memory"].sel(left), output="time")
    for source in ("memory", "store"):
        result = dse.sensitivity(sources[source], output="time", where=text)
        assert result.counted == expected.counted > 0
        for name in ("total", "low", "high", "mean", "std"):
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("source", ["memory", "file", "store"])
def test_what_a_run_does_not_hold_its_study_tells(tmp_path: Path, source: str) -> None:
    given: dict[str, Any] = {"model": "mwp_cwp", "machine": "gtx280", "workload": "svm"}
    fixed = dse.Study(
        **given,
        axes={"rounding": ["whole"], "active_sms": [2, 4, 7]},
        set=SET | {"waves": "whole"},
        outputs=["time"],
    )
    ds: Any = fixed.run(store=tmp_path / "run.zarr" if source == "store" else None)
    if source == "file":
        dse.export(ds, tmp_path / "run.nc")
        ds = tmp_path / "run.nc"
    for text in (
        "machine == 'gtx280' and active_sms > 3",
        "waves != 'whole' or active_sms < 3",
        "rounding != 'continuous' and printed == 'false' and total_cycles > 0",
    ):
        expected = fixed.optimum(minimize="time", where=text)
        assert dse.optimum(ds, minimize="time", where=text).time == expected.time
        counted = dse.count(ds, where=text).feasible_points
        assert counted == fixed.count(where=text).feasible_points > 0
    with pytest.raises(UnknownNameError, match="machine"):
        dse.optimum(ds, minimize="time", where="machine == 'gtx20'")


@pytest.mark.parametrize("query", mostly_long(OF_TABLES, lambda k, _: k % 2 == 0))
def test_a_case_is_its_number(sources: dict[str, Any], query: str) -> None:
    ask = OF_TABLES[query]
    for text, number in [
        ('case == "memory bound"', "case == 2"),
        ("'computation_bound' != case and active_sms > 2", "case != 3 and active_sms > 2"),
    ]:
        for source in (study() if "memory" in text else sources["memory"], sources["store"]):
            same(ask(source, text), ask(source, number))
    with pytest.raises(UnknownNameError, match="it takes not enough warps, memory bound, comp"):
        ask(study(), "case == 'thread'")


def test_a_part_of_a_run(sources: dict[str, Any]) -> None:
    one = sources["memory"].sel(machine="gtx280")
    expected = dse.optimum(one, minimize="time").time
    assert dse.optimum(one, minimize="time", where="machine == 'gtx280'").time == expected
    turned = sources["memory"].isel(machine=[2, 0])
    result = dse.optimum(turned, minimize="time", where="machine != 'gtx280'")
    assert result.machine == "8800gtx"


@pytest.mark.parametrize("shape", ["rows", "grid"])
def test_measured_rows_have_labels(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "measured.csv"
    rows = ["kernel,threads,time", *(f"{k},{n},{t}" for k, n, t in MEASURED)]
    path.write_text("\n".join(rows))
    ds = dse.open(path, axes=["kernel", "threads"], units={"time": "ms"}, shape=shape)
    for text, stored in [
        ("kernel == 'naive'", {"naive"}),
        ("kernel != 'naive'", {"tiled", "it's"}),
        ("kernel == \"it's\" or kernel == 'tiled' and threads > 64", {"it's", "tiled"}),
    ]:
        times = [
            t for k, n, t in MEASURED if k in stored and (k != "tiled" or "!=" in text or n > 64)
        ]
        assert dse.count(ds, where=text).feasible_points == len(times)
        best = dse.optimum(ds, minimize="time", where=text)
        assert best.time == pytest.approx(min(times) / 1000)
        assert str(best.kernel.values) in stored
        median = dse.quantiles(ds, "time", [1], where=text).time
        assert median == pytest.approx(max(times) / 1000)
    with pytest.raises(UnknownNameError, match="kernel has no label 'tild'; did you mean 'tiled'"):
        dse.count(ds, where="kernel == 'tild'")


@pytest.mark.parametrize(("text", "left"), LEFT)
def test_a_run_marks_what_is_left(text: str, left: Any) -> None:
    ds = study(where=text).run()
    assert text in ds.feasible.attrs["conditions"]
    whole = ds.feasible.broadcast_like(ds.time)
    expected = study(left).count().feasible_points
    assert whole.sel(left).sum() == whole.sum() == expected


@pytest.mark.parametrize(("text", "left"), LEFT)
def test_borders_lie_where_the_labels_are_left(text: str, left: Any) -> None:
    expected = study(left).borders("time <= 0.1 s", along="active_sms")
    query = {"quantity": "time <= 0.1 s", "along": "active_sms"}
    assert (expected.condition >= 0).all()
    agree(study().borders(**query, where=text), expected, left)
    agree(study(where=text).borders(**query), expected, left)


@pytest.mark.parametrize(("text", "left"), LEFT)
def test_what_changes_the_output_most_among_the_labels_left(text: str, left: Any) -> None:
    expected = study(left).sensitivity()
    for result in (study().sensitivity(where=text), study(where=text).sensitivity()):
        assert result.counted == expected.counted > 0
        for name in ("first", "total", "low", "high", "mean", "std", "counted"):
            np.testing.assert_allclose(
                result[name].values, expected[name].values, rtol=1e-12, atol=1e-15, err_msg=name
            )


@pytest.mark.parametrize(("text", "left"), LEFT)
def test_what_meets_a_target_among_the_labels_left(text: str, left: Any) -> None:
    expected = study(left).meets("time <= 0.2 s")
    for result in (
        study().meets(["time <= 0.2 s", text]),
        study(where=text).meets("time <= 0.2 s"),
    ):
        assert result.inner == expected.inner > 0
        assert result.outer == expected.outer
        assert int(result.points.sum()) == int(expected.points.sum())


@pytest.mark.parametrize(("text", "left"), mostly_long(LEFT[1:5:2], lambda k, _: k == 0))
def test_ranges_within_the_labels_left(text: str, left: Any) -> None:
    within = {"core_clock": ["1 GHz", "1.5 GHz"]}
    set_ = SET | {"core_clock": "1.2 GHz"}
    expected = study(left, set=set_).ranges(within)
    assert expected.certainly_feasible.any()
    agree(study(set=set_).ranges(within, where=text), expected, left)
    agree(study(set=set_, where=text).ranges(within), expected, left)


def test_a_label_that_is_set_makes_a_condition_that_always_or_never_holds() -> None:
    fixed = dse.Study(
        model="mwp_cwp",
        machine="gtx280",
        workload="svm",
        axes={"active_sms": [2, 4, 7]},
        set=SET | {"rounding": "whole"},
        outputs=["time"],
    )
    for text, values in [
        ("machine == 'gtx280'", 3),
        ("workload != 'svm'", 0),
        ("rounding == 'whole'", 3),
        ("rounding == 'continuous'", 0),
        ("printed == 'false' and active_sms < 5", 2),
        ("waves == 'whole' or active_sms < 3", 1),
    ]:
        assert fixed.count(where=text).feasible_points == values
    with pytest.raises(UnknownNameError, match="machine has no label 'c2075'; it takes gtx280"):
        fixed.count(where="machine == 'c2075'")
    with pytest.raises(InfeasibleError, match=r"broken at every point .*rounding = whole"):
        fixed.optimum(minimize="time", where="rounding == 'continuous'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workload == 'sepai'", "workload has no label 'sepai'; did you mean 'sepia'"),
        ("workload == sepia", "'sepia' is a label, which stands in quotes"),
        ("machine < 'gtx280'", "have no order"),
        ("machine == 1", "and '1' is a number: compare"),
        ("distribution == 'geometric:0.5'", "distribution has no label .* none here: give it one"),
    ],
)
def test_what_compares_no_labels_is_told_before_any_work(text: str, message: str) -> None:
    for query in ASKED.values():
        with pytest.raises(DseError, match=message):
            query(study(), text)
    with pytest.raises(DseError, match=message):
        study(where=text)


@pytest.mark.parametrize("text", ["workload", "where(workload == 'svm', time, 0)", "time * 'svm'"])
def test_formulas_refuse_labels(text: str) -> None:
    message = "cannot stand in a formula: .* compare it in a condition|is a label, no number"
    for ask in (
        lambda: study().optimum(minimize=text),
        lambda: study().quantiles(text, [0.5]),
        lambda: study().sensitivity(output=text),
    ):
        with pytest.raises(DseError, match=message):
            ask()


def test_the_text_of_a_condition_stays_and_makes_the_study_again() -> None:
    text = LEFT[3][0]
    ds = study(where=text).run()
    assert json.loads(ds.attrs["study"])["where"] == [text]
    assert text in ds.feasible.attrs["conditions"].split("; ")
    again = study_of(ds)
    assert again.text() == study(where=text).text() == ds.attrs["study"]
    assert again.attributes()["identity"] == ds.attrs["identity"]


def test_a_default_that_only_a_condition_reads_is_part_of_what_a_study_is() -> None:
    given = {"model": "transit", "axes": {"threads": [256, 512]}}
    given["set"] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
    assert "rounding" not in json.loads(dse.Study(**given).attributes()["defaults"])
    result = dse.Study(**given, where="rounding == 'continuous'").attributes()
    assert json.loads(result["defaults"])["rounding"] == "continuous"


def test_a_configuration_is_explained_by_its_labels() -> None:
    text = "workload == 'svm' and machine != 'gtx280'"
    result = dse.explain(study(where=text), machine="fx5600", workload="sepia")
    steps = {step.name: step for step in result.steps}
    assert (steps["machine"].value, steps["workload"].value) == ("fx5600", "sepia")
    assert steps["workload"].source == "axis of the study"
    assert result.conditions[text] is False


def test_advice_knows_the_labels_of_the_study() -> None:
    at = {"workload": "svm", "active_sms": 4, "rounding": "continuous"}
    query = study(where="machine != 'fx5600'")
    assert "improves" in str(dse.advise(query, machine="gtx280", **at))
    with pytest.raises(InfeasibleError, match="machine = fx5600"):
        dse.advise(query, machine="fx5600", **at)


def test_a_law_of_work_is_a_label() -> None:
    laws = ["geometric:0.05", "uniform:20,40"]
    query = dse.Study(
        model="imbalance", axes={"distribution": laws, "warp_size": [4, 32]}, outputs=None
    )
    ds = query.run()
    name = next(iter(ds.data_vars))
    result = query.optimum(maximize=name, where="distribution == 'uniform:20,40'")
    assert result.distribution == "uniform:20,40"
    assert result[name] == ds[name].sel(distribution="uniform:20,40").max()


def test_no_quantity_of_a_model_stands_in_the_way_of_a_place(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        "import dse\n"
        "policy = dse.quantity('policy', labels=('eager', 'lazy'), default='lazy')\n"
        "policy_index = dse.quantity('policy_index', domain='[0, inf)')\n"
        "machine = dse.quantity('machine', domain='[0, inf)')\n"
        "@dse.equation(name='cost', when={'policy': 'eager'})\n"
        "def eager(policy_index):\n    '''Cost.'''\n    return policy_index + 1\n"
        "@dse.equation(name='cost', when={'policy': 'lazy'})\n"
        "def lazy(policy_index, machine):\n    '''Cost.'''\n    return policy_index * machine\n"
    )
    query = dse.Study(
        model=str(path),
        axes={"policy": ["lazy", "eager"], "policy_index": [1, 2, 3]},
        set={"machine": 5},
    )
    assert query.optimum(maximize="cost", where="policy == 'eager'").cost == 4
    assert query.optimum(maximize="cost", where="policy != 'eager' and policy_index < 3").cost == 10
    assert query.count(where="machine == 5").feasible_points == 6
