"""``ds.dse`` gives the study behind a Dataset and the labels of its cases."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pint
import pytest
import xarray as xr

import dse

SET: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}


def transit(**changed: Any) -> Any:
    study: dict[str, Any] = {"model": "transit", "axes": {"threads": [64, 256, 1024]}, "set": SET}
    return dse.Study(**{**study, **changed})


def test_a_run_and_an_answer_lead_back_to_their_study() -> None:
    study = transit(outputs=["ms_throughput", "bound"])
    run, best = study.run(), study.optimum(maximize="ms_throughput")
    for ds in (run, best, run.isel(threads=slice(0, 3))):
        assert isinstance(ds.dse.study, dse.Study)
        assert ds.dse.study.text() == study.text()
        assert ds.dse.identity == run.dse.identity
    assert run.dse.study.run().identical(run)
    assert run.dse.identity.startswith("transit, study ")
    assert repr(run.dse) == f"<DatasetAccessor: {run.dse.identity}>"


def test_a_store_and_a_file_lead_back_to_their_study(tmp_path: Path) -> None:
    study = transit(outputs=["ms_throughput"])
    stored = study.run(store=tmp_path / "s.zarr")
    assert stored.dse.study.text() == study.text()
    dse.export(study.run(), tmp_path / "s.nc")
    assert dse.open(tmp_path / "s.nc").dse.study.text() == study.text()


def test_a_comparison_leads_back_to_its_studies() -> None:
    both = transit(model=["transit", "transit + transit_warps"], outputs=["bound"])
    for ds in (both.run(), both.count(per="threads")):
        assert isinstance(ds.dse.study, dse.Comparison)
        assert {m: s.text() for m, s in ds.dse.study.each.items()} == {
            m: s.text() for m, s in both.each.items()
        }
    run = both.run()
    labels = run.dse.labels("bound")
    for model, study in both.each.items():
        expected = study.run().dse.labels("bound").values.tolist()
        assert labels.sel(model=model).values.tolist() == expected


def test_the_axes_of_an_answer_may_be_too_long_for_its_text() -> None:
    study = transit(axes={"threads": range(1, 100_001)})
    assert study.run().dse.study.text() == study.text()
    with pytest.raises(dse.DseError, match="the axis threads is incomplete"):
        study.optimum(maximize="ms_throughput").dse.study  # noqa: B018


@pytest.mark.parametrize("study", ["", "[]", '{"measured": "a.csv"}'])
def test_a_dataset_without_a_study(study: str) -> None:
    ds = xr.Dataset(attrs={"study": study} if study else {})
    with pytest.raises(dse.DseError, match=r"has no study|study of the Dataset cannot be read"):
        ds.dse.study  # noqa: B018


def test_verbs_of_a_dataset_are_those_of_the_library() -> None:
    study = transit(outputs=["ms_throughput", "bound"])
    query: dict[str, Any]
    run, query = study.run(), {"maximize": ["ms_throughput"], "minimize": ["threads"]}
    assert run.dse.pareto(**query).identical(dse.pareto(run, **query))
    best = run.dse.optimum(maximize="ms_throughput", top=2)
    assert best.identical(dse.optimum(run, maximize="ms_throughput", top=2))
    at = int(best.threads[0])
    expected = str(study.explain(threads=at))
    assert at != 64  # the default of the study
    for explained in (
        best.dse.explain(),  # the best of a ranking
        run.dse.explain(best),
        run.dse.explain(best.isel(rank=0)),
        run.sel(threads=at).dse.explain(),
        run.dse.explain({"threads": at}),
        best.isel(rank=1).dse.explain(threads=at),
    ):
        assert str(explained) == expected
    goal = {"goal": "cs_throughput"}
    assert str(best.dse.advise(**goal)) == str(study.advise(threads=at, **goal))
    assert str(run.dse.explain()) == str(study.explain())  # several, unranked: the default
    with pytest.raises(dse.DseError, match="has no study"):
        xr.Dataset({"a": 1}).dse.explain()
    with pytest.raises(dse.DseError, match="thread"):
        run.dse.explain({"thread": 64})


KINDS = ("run", "lazy", "store", ".nc", ".zarr")


def dataset(kind: str, folder: Path, study: Any) -> xr.Dataset:
    """Return the Dataset of a study: of a run, of a lazy run, of a store, or read from a file."""
    if kind == "lazy":
        return study.lazy()
    if kind == "store":
        return study.run(store=folder / "store.zarr")
    if kind == "run":
        return study.run()
    return dse.open(dse.export(study.run(), folder / f"file{kind}"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_works_on_each_kind_of_dataset(kind: str, tmp_path: Path) -> None:
    study = transit(outputs=["ms_throughput", "cs_throughput", "bound"])
    ds, run = dataset(kind, tmp_path, study), study.run()
    assert ds.dse.study.text() == study.text()
    assert ds.dse.identity == run.dse.identity
    assert ds.dse.labels("bound").values.tolist() == run.dse.labels("bound").values.tolist()
    best = ds.dse.optimum(maximize="ms_throughput")
    assert best.threads == study.optimum(maximize="ms_throughput").threads == 1024
    goals: dict[str, Any] = {"maximize": ["ms_throughput"], "minimize": ["threads"]}
    assert ds.dse.pareto(**goals).threads.values.tolist() == [64, 256, 1024]
    assert str(ds.dse.explain(best)) == str(study.explain(threads=1024))
    assert str(ds.dse.advise({"threads": 256})) == str(study.advise(threads=256))
    assert "Attributes" in ds.dse._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_units_of_pint(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("pint_xarray")
    given: dict[str, Any] = {"machine": "gtx280", "workload": "svm"}
    given |= {"set": {"threads_per_block": 256}, "axes": {"core_clock": ["1 GHz", "1.3 GHz"]}}
    study = dse.Study(model="ipp", outputs=["time", "case"], **given)
    ds = dataset(kind, tmp_path, study).dse.quantify()
    assert str(ds.time.pint.units) == "second"
    in_ms = ds.time.pint.to("ms").max().pint.dequantify()
    assert float(in_ms) == pytest.approx(1000 * float(study.run().time.max()))
    assert ds.case.pint.units is None


def test_units_of_pint_need_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pint_xarray", None)
    with pytest.raises(dse.DseError, match=r"pip install 'simt-dse\[pint\]'"):
        transit().run().dse.quantify()


def test_pint_knows_every_unit() -> None:
    registry = pint.UnitRegistry()
    rows = [row for model in dse.models().values() for row in model.quantities.values()]
    units = {str(row.unit or "1") for row in rows}
    assert {"1", "s", "B", "cycle", "1/s", "A/V^2"} <= units
    for unit in units:
        registry.parse_units("" if unit == "1" else unit)


def test_a_notebook_folds_the_attributes() -> None:
    best = transit(outputs=["bound"]).optimum(maximize="threads")
    shown = re.compile(r"type='checkbox'([^>]*)>\s*<label[^>]*>\s*Attributes")
    checked = ["checked" in shown.search(html)[1] for html in  # type: ignore[index]
               (best._repr_html_(), best.dse._repr_html_())]  # fmt: skip
    assert checked == [True, False]


def test_flags_become_labels() -> None:
    attributes = {"flag_values": np.int8([0, 2]), "flag_meanings": "memory_bound compute"}
    ds = xr.Dataset({"case": (("a", "b"), [[0, 2], [1, 0]], {**attributes, "long_name": "case"})})
    labels = ds.dse.labels("case")
    assert labels.values.tolist() == [["memory bound", "compute"], ["", "memory bound"]]
    assert labels.dims == ("a", "b")
    assert labels.attrs == {"long_name": "case"}
    assert ds.assign(text=("c", ["x"])).dse.labels("text").item() == "x"
    with pytest.raises(dse.DseError, match="'kase' is no variable of the Dataset; did you mean"):
        ds.dse.labels("kase")
    with pytest.raises(dse.DseError, match="time has no labels"):
        ds.assign(time=("a", [1.0, 2.0])).dse.labels("time")


@pytest.mark.parametrize(("first", "second"), [("xarray", "dse"), ("dse", "xarray")])
def test_the_order_of_imports_does_not_matter(first: str, second: str) -> None:
    code = f"import {first}, {second}, xarray as xr; print(repr(xr.Dataset().dse))"
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout == "<DatasetAccessor: no study>\n", result.stderr
