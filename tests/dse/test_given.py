"""Arguments may be odd, change later, or be pickled: one message, the same numbers."""

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse

GIVEN: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def _study(**changed: Any) -> dse.Study:
    given: dict[str, Any] = {"model": "transit", "axes": {"threads": [256, 512]}, "set": GIVEN}
    return dse.Study(**{**given, **changed})


def _point_study(**changed: Any) -> dse.Study:
    return _study(axes={}, set={**GIVEN, "threads": 256, **changed})


ANY: Any = 5
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "where": (lambda: _study(where=5), "where = 5: expected text"),
    "outputs": (lambda: _study(outputs=5), "outputs = 5: expected text"),
    "minimize": (lambda: _study().optimum(minimize=ANY), "minimize = 5: expected text"),
    "per": (lambda: _study().optimum(minimize="bound", per=ANY), "per = 5: expected text"),
    "where of a question": (
        lambda: dse.optimum(_study().run(), minimize="bound", where=ANY),
        "where = 5: expected text",
    ),
    "where of a front": (
        lambda: dse.pareto(_study().run(), minimize="bound", where=ANY),
        "where = 5: expected text",
    ),
    "name in set": (lambda: _study(set={5: 1}), "the name 5"),
    "huge whole number": (lambda: _point_study(threads=10**400), "beyond 1e308"),
    "huge coordinate": (lambda: _study().explain(threads=10**400), "is no value of the axis"),
    "table of text": (
        lambda: _study(axes={"core_clock": [1e9]}, set={**GIVEN, "threads": _text_table()}),
        "expected numbers",
    ),
    "empty array": (lambda: dse.evaluate("transit", **GIVEN, threads=[]), "is an empty array"),
    "outputs of evaluate": (
        lambda: dse.evaluate("transit", **GIVEN, threads=1, outputs=ANY),
        "outputs = 5: expected text",
    ),
    "model": (lambda: dse.model(ANY), "5 is no model"),
    "model of evaluate": (lambda: dse.evaluate(ANY), "5 is no model"),
    "preferred": (
        lambda: _study(prefer="mwp_cwp"),
        "is none of the joined models; these are: transit",
    ),
    "closed form": (lambda: dse.model("transit").closed_form(ANY), "5 is no quantity"),
    "path of a study": (lambda: dse.Study.from_toml(ANY), "expected the path"),
    "path of a store": (lambda: dse.open(ANY), "5 is not a path"),
}


def _text_table() -> xr.DataArray:
    return xr.DataArray(["a"], dims="core_clock")


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_in_words(case: str) -> None:
    call, message = WRONG[case]
    with pytest.raises(dse.DseError, match=message):
        call()


def test_a_table_without_axes_is_a_number() -> None:
    ds = _point_study(threads=xr.DataArray(256)).run()
    assert ds.identical(_point_study().run().assign_attrs(ds.attrs))


def test_what_was_given_may_change_afterwards() -> None:
    clocks = np.array([1e9, 2e9])
    table = xr.DataArray([100.0, 200.0], dims="core_clock")
    axes = {"core_clock": clocks}
    given = {**GIVEN, "threads": table}
    study = _study(axes=axes, set=given)
    expected = _study(axes={"core_clock": [1e9, 2e9]}, set={**GIVEN, "threads": table.copy()}).run()
    clocks[:] = 7
    table[:] = 7
    given["intensity"] = 99
    axes.clear()
    assert study.run().identical(expected)


def test_the_text_of_a_table_tells_its_labels() -> None:
    table = xr.DataArray([1e3, 2e3], dims="threads", coords={"threads": [512, 256]})
    study = _study(set={**GIVEN, "mem_latency": table})
    data = json.loads(study.run().attrs["study"])["set"]["mem_latency"]
    assert data == {"dims": ["threads"], "labels": {"threads": [512, 256]}, "values": [1e3, 2e3]}


def test_the_text_of_a_long_table_stays_short() -> None:
    table = xr.DataArray(np.arange(1.0, 2002.0), dims="threads")
    study = _study(axes={"threads": range(1, 2002)}, set={**GIVEN, "mem_latency": table})
    assert json.loads(study.text())["set"]["mem_latency"]["values"]["count"] == 2001
    assert len(study.text()) < 1000


@pytest.mark.parametrize("travel", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
def test_a_study_travels(travel: Callable[[dse.Study], dse.Study]) -> None:
    study = _study(where="threads <= 300")
    assert travel(study).run().identical(study.run())


def test_a_formula_reads_an_axis_of_which_one_value_was_selected() -> None:
    study = _study(
        axes={"threads": [256, 512], "mem_latency": [400, 600]},
        set={name: value for name, value in GIVEN.items() if name != "mem_latency"},
    )
    part = study.run().sel(mem_latency=600)
    best = dse.optimum(part, minimize="cs_throughput * mem_latency")
    assert best.objective.item() == part.cs_throughput.values.min() * 600


def test_what_is_no_file_of_ours_in_a_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("some.py", "some.toml"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine.toml").write_text("title = 'mine'\n[values]\n")
    monkeypatch.setenv("DSE_PATH", str(tmp_path))
    assert "transit" in dse.models()
    assert "some" not in dse.machines()
    with pytest.raises(dse.DseError, match='does not say kind = "machine"'):
        dse.machine("mine")
