"""One call for a study, models compared, a Dataset and a path: same keywords, same answer."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
import dse.progress
from dse.api import Comparison, Study
from dse.study.study import StudyData

GIVEN: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "mem_latency": 600}
SPEC: dict[str, Any] = {
    "axes": {"threads": [64, 512, 2048], "ms_peak": [0.5, 1]},
    "set": GIVEN,
    "outputs": ["ms_throughput", "cs_throughput", "bound"],
}
MODELS = ["transit", "transit + transit_warps"]
ONE = Study(model="transit", **SPEC)
BOTH = Study(model=MODELS, **SPEC)
FILE = """
model = {model}
outputs = ["ms_throughput", "cs_throughput", "bound"]
[axes]
threads = [64, 512, 2048]
ms_peak = [0.5, 1]
[set]
intensity = 10
lanes_width = 32
mem_latency = 600
"""

VERBS = (
    *("advise", "borders", "count", "disagreement", "explain", "histogram", "meets", "optimum"),
    *("pareto", "plan", "quantiles", "ranges", "run", "sensitivity"),
)
OF_VALUES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "optimum": ((), {"maximize": "cs_throughput", "where": "threads <= 512", "top": 2}),
    "pareto": ((), {"minimize": "threads", "maximize": "cs_throughput"}),
    "count": ((), {"where": "cs_throughput > 5"}),
    "histogram": (("cs_throughput",), {"bins": 3}),
    "quantiles": (("cs_throughput", [0, 0.5, 1]), {}),
    "sensitivity": ((), {"output": "cs_throughput"}),
}
OF_EQUATIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "meets": (("cs_throughput >= 5",), {}),
    "borders": (("bound",), {"along": "threads"}),
    "ranges": (({"mem_latency": "10 %"},), {"maximize": "cs_throughput"}),
}
POINT: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "advise": ((), {"threads": 64}),
    "explain": ((), {"threads": 512}),
    "plan": ((), {}),
}


def same(a: Any, b: Any) -> bool:
    return bool(a.identical(b) if isinstance(a, xr.Dataset) else str(a) == str(b))


def values_of(ds: xr.Dataset) -> xr.Dataset:
    """Without attributes, and without the mark that a search with constraints adds."""
    return ds.drop_attrs().drop_vars("feasible", errors="ignore")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.toml"
    path.write_text(FILE.format(model='"transit"'))
    return path


# --- signatures
@pytest.mark.parametrize("name", VERBS)
def test_a_method_takes_what_the_function_takes(name: str) -> None:
    first, *rest = inspect.signature(getattr(dse, name)).parameters.values()
    assert first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
    for source in (ONE, BOTH):
        if name != "disagreement" or source is BOTH:
            method = inspect.signature(getattr(source, name))
            assert list(method.parameters.values()) == rest
    spread = {p.name for p in rest if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    assert spread == ({"point"} if name in ("advise", "explain") else set())


def test_a_study_names_what_it_takes() -> None:
    taken = inspect.signature(dse.Study).parameters
    assert list(taken) == [f.name for f in fields(StudyData) if f.init]
    assert all(p.kind is p.KEYWORD_ONLY for p in taken.values())
    with pytest.raises(TypeError, match="modle"):
        dse.Study(modle="transit")


def test_a_study_is_what_it_was() -> None:
    again = pickle.loads(pickle.dumps(ONE))
    assert type(again) is dse.Study
    assert again == ONE
    assert repr(ONE).startswith("<Study: transit: ")
    assert isinstance(BOTH, Comparison)
    assert all(type(study) is dse.Study for study in BOTH.each.values())
    each = {name: study.text() for name, study in pickle.loads(pickle.dumps(BOTH)).each.items()}
    assert each == {name: study.text() for name, study in BOTH.each.items()}


# --- sources
@pytest.mark.parametrize("name", [*OF_VALUES, *OF_EQUATIONS, *POINT])
def test_method_function_and_file_agree(name: str, file: Path) -> None:
    given, options = (OF_VALUES | OF_EQUATIONS | POINT)[name]
    expected = getattr(ONE, name)(*given, **options)
    for source in (ONE, file, str(file)):
        assert same(getattr(dse, name)(source, *given, **options), expected)


@pytest.mark.parametrize("name", OF_VALUES)
def test_a_dataset_and_its_files_answer_as_the_study(name: str, tmp_path: Path) -> None:
    given, options = OF_VALUES[name]
    expected = values_of(getattr(ONE, name)(*given, **options))
    ds = ONE.run(store=tmp_path / "out.zarr")
    dse.export(ds, tmp_path / "out.nc")
    for source in (ds.load(), str(tmp_path / "out.zarr"), tmp_path / "out.nc"):
        result = values_of(getattr(dse, name)(source, *given, **options))
        if name == "sensitivity":  # elasticities are by steps between the values
            result, wanted = (
                d[["first", "total", "low", "high", "mean", "std"]] for d in (result, expected)
            )
            xr.testing.assert_equal(result.drop_vars("unit"), wanted.drop_vars("unit"))
        else:
            xr.testing.assert_equal(result, expected)


@pytest.mark.parametrize("name", [*OF_EQUATIONS, *POINT])
def test_the_study_that_a_dataset_tells_answers_of_its_equations(name: str, tmp_path: Path) -> None:
    given, options = (OF_EQUATIONS | POINT)[name]
    expected = getattr(ONE, name)(*given, **options)
    ds = ONE.run(store=tmp_path / "out.zarr")
    for source in (ONE.run(), ds, tmp_path / "out.zarr", str(tmp_path / "out.zarr")):
        assert same(getattr(dse, name)(source, *given, **options), expected)


# --- models compared
@pytest.mark.parametrize("name", [*OF_VALUES, "disagreement"])
def test_models_compared_answer_as_their_run(name: str, tmp_path: Path) -> None:
    given, options = OF_VALUES.get(name, ((), {"maximize": "cs_throughput"}))
    expected = getattr(dse, name)(BOTH.run(), *given, **options)
    (tmp_path / "two.toml").write_text(FILE.format(model=MODELS))
    for source in (BOTH, tmp_path / "two.toml"):
        assert same(getattr(dse, name)(source, *given, **options), expected)
    assert same(getattr(BOTH, name)(*given, **options), expected)


@pytest.mark.parametrize("name", OF_EQUATIONS)
def test_what_is_asked_of_equations_is_asked_of_each_model(name: str) -> None:
    given, options = OF_EQUATIONS[name]
    result = getattr(BOTH, name)(*given, **options)
    assert result.model.values.tolist() == MODELS
    for model, study in BOTH.each.items():
        alone = getattr(study, name)(*given, **options)
        assert set(result.data_vars) == set(alone.data_vars)
        for variable in alone.data_vars:
            part = result[variable].sel(model=model).transpose(*alone[variable].dims)
            assert part.dtype == alone[variable].dtype
            np.testing.assert_array_equal(part, alone[variable])
        if "flag_meanings" in alone.get("bound", xr.DataArray()).attrs:
            assert result["bound"].attrs["flag_meanings"] == alone["bound"].attrs["flag_meanings"]


@pytest.mark.parametrize("name", POINT)
def test_one_point_is_told_of_each_model(name: str) -> None:
    given, options = POINT[name]
    result = getattr(BOTH, name)(*given, **options)
    assert list(result) == MODELS
    for model, study in BOTH.each.items():
        assert same(result[model], getattr(study, name)(*given, **options))


def test_lists_of_models_end_where_the_longest_does() -> None:
    both = Study(
        model=["transit", "transit + transit_warps"],
        axes={"threads": range(64, 1025, 32), "intensity": range(1, 30)},
        set={"ms_peak": 1, "lanes_width": 32, "mem_latency": 600},
    )
    cut = both.each[MODELS[0]]
    other = Study(model=MODELS[1], axes=dict(cut.axes), set={**cut.set, "mem_latency": 300})
    result = Comparison({MODELS[0]: cut, MODELS[1]: other}).meets("cs_throughput >= 11")
    sizes = [s.meets("cs_throughput >= 11").sizes["box"] for s in (cut, other)]
    assert sizes[0] != sizes[1]
    assert result.sizes["box"] == max(sizes)
    short = result.isel(model=int(np.argmin(sizes)), box=slice(min(sizes), None))
    assert not short.certain.any()
    assert not short.points.any()
    assert result.threads_first.dtype == np.int64
    assert result.points.sum().item() == result.outer.sum().item()


# --- refusals
REFUSED = {
    "gap": ("optimum", {"minimize": "threads", "gap": 0.1}),
    "time_limit": ("pareto", {"minimize": "threads", "time_limit": 1}),
    "method": ("pareto", {"minimize": "threads", "method": "certified"}),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("of", [BOTH, ONE.run()], ids=["models", "Dataset"])
def test_what_only_a_study_answers_is_refused_with_a_reason(name: str, of: Any) -> None:
    verb, options = REFUSED[name]
    with pytest.raises(dse.DseError, match=f"takes no {name}: recorded values are scanned"):
        getattr(dse, verb)(of, **options)


def test_a_scan_of_a_dataset_is_what_it_is_anyway() -> None:
    options: dict[str, Any] = {"maximize": "cs_throughput"}
    result = dse.optimum(ONE.run(), **options, method="scan")
    assert result.identical(dse.optimum(ONE.run(), **options))


def test_what_cannot_be_run_or_asked_is_told(tmp_path: Path) -> None:
    with pytest.raises(dse.DseError, match="store: a run of several models stays in memory"):
        BOTH.run(store=tmp_path / "out.zarr")
    with pytest.raises(dse.DseError, match="cannot be run: give a Study"):
        dse.run(5)  # type: ignore[arg-type]
    with pytest.raises(dse.DseError, match="the study has one model"):
        dse.disagreement(ONE)
    with pytest.raises(dse.DseError, match="5 is no study of one model"):
        dse.explain(5)  # type: ignore[call-overload]
    with pytest.raises(dse.DseError, match="the Dataset has no study"):
        dse.meets(xr.Dataset(), "threads > 1")


# --- progress
@pytest.mark.parametrize("name", [*OF_VALUES, *OF_EQUATIONS, "disagreement"])
def test_a_query_shows_progress(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, options = (OF_VALUES | OF_EQUATIONS).get(name, ((), {"maximize": "cs_throughput"}))
    shown: list[str] = []

    class Shown(dse.progress.Meter):
        def close(self) -> None:
            shown.append(name)
            super().close()

    monkeypatch.setattr("dse.progress.Meter", Shown)
    quiet = getattr(BOTH, name)(*given, **options)
    assert shown == []
    assert same(getattr(BOTH, name)(*given, **options, progress=True), quiet)
    assert shown == [name]


def test_questions_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    dse.run(ONE, progress=seen.append)
    assert seen[-1].done == seen[-1].total
    monkeypatch.setattr("sweeps.nest.tiles.NUMPY_POINTS", 0)
    ONE.optimum(maximize="cs_throughput", progress=seen.append)
    assert seen[-1].done == seen[-1].total > 0
    ONE.optimum(maximize="cs_throughput", method="certified", progress=seen.append)
    assert seen[-1].gap == 0
    best = float(ONE.optimum(maximize="cs_throughput").cs_throughput)
    assert seen[-1].best == pytest.approx(best, rel=1e-12)
    for wrong in (1, "yes"):
        with pytest.raises(dse.DseError, match="expected True, False or a function"):
            ONE.optimum(maximize="cs_throughput", progress=wrong)


def test_axes_of_per_stand_in_their_order_whatever_the_order_given() -> None:
    for of in (ONE, ONE.run()):
        for verb, given in (
            ("count", ()),
            ("histogram", ("cs_throughput",)),
            ("quantiles", ("cs_throughput", 0.5)),
        ):
            axes, ask = list(ONE.axes), getattr(dse, verb)
            there, back = ask(of, *given, per=axes), ask(of, *given, per=axes[::-1])
            assert there.identical(back)
            for array in there.data_vars.values():
                assert array.dims[: len(axes)] == tuple(axes)
            with pytest.raises(dse.DseError, match="per = 'lanes' is no axis"):
                ask(of, *given, per="lanes")
