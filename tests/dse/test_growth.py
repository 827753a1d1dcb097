"""Stores that are extended: byte for byte those of the larger study."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dse
import sweeps.nest.run
import sweeps.store.layout
from dse import DseError, Study
from dse.cli import main
from symbolic.errors import InfeasibleError
from tests.dse.killing import files
from tests.long import draws, long, mostly_long
from tests.oracles.compare import identical

ROOT = Path(__file__).parents[2]
SPECS: dict[str, dict[str, Any]] = {
    "numbers and switches": {
        "model": "transit",
        "axes": {
            "threads": [1, 32, 64, 100, 512, 513, 900],
            "supply": ["smooth", "sharp"],
            "mem_latency": [0, 100, 200, 300, 400, 500],
            "pair": {"zip": {"intensity": [4, 8, 16], "ms_peak": [0.1, 0.5, 2]}},
        },
        "set": {"lanes_width": 32},
        "outputs": ["ms_throughput", "bound", "cs_transition"],
        "where": "ms_throughput <= 0.5",
    },
    "machines": {
        "model": "occupancy + mwp_cwp",
        "workload": "svm",
        "axes": {
            "machine": ["gtx280", "8800gt", "fx5600"],
            "threads_per_block": [64, 128, 480, 512],
            "active_sms": [3, 10, 16, 30],
        },
        "outputs": ["time", "case", "occupancy"],
    },
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles and pieces, computed by NumPy."""
    monkeypatch.setattr(sweeps.nest.run, "SINGLE_TILE_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 70)
    monkeypatch.setattr(sweeps.store.layout, "CHUNK", 12)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 1 << 30)


def pick_values(spec: Any, chosen: list[int]) -> Any:
    if isinstance(spec, dict):
        return {"zip": {name: [values[k] for k in chosen] for name, values in spec["zip"].items()}}
    return [spec[k] for k in chosen]


def size_of(spec: Any) -> int:
    return len(next(iter(spec["zip"].values()))) if isinstance(spec, dict) else len(spec)


@settings(
    max_examples=draws(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_it_is_the_store_of_the_larger_study(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Values at the end, in between, at the front, along several axes, in another order."""
    spec = SPECS[data.draw(st.sampled_from(sorted(SPECS)))]
    folder, expand = tmp_path_factory.mktemp("grown"), data.draw(st.booleans())
    axes = {}
    for name, values in spec["axes"].items():
        every = list(range(size_of(values)))
        some = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
        axes[name] = pick_values(values, some if data.draw(st.booleans()) else every)
    outputs = data.draw(st.permutations(spec["outputs"]))
    outputs = outputs[: data.draw(st.integers(1, len(outputs)))]
    large, before = Study(**spec), Study(**{**spec, "axes": axes, "outputs": outputs})
    with suppress(InfeasibleError):
        before.run(store=folder / "a.zarr", expand=expand)
    if not (folder / "a.zarr").exists():
        return
    large.run(store=folder / "fresh.zarr", expand=expand)
    result = large.run(store=folder / "a.zarr", expand=expand, extend=True)
    assert files(folder / "a.zarr") == files(folder / "fresh.zarr")
    assert sorted(path.name for path in folder.iterdir()) == ["a.zarr", "fresh.zarr"]
    identical(result.load(), dse.open(folder / "fresh.zarr").load())


def test_compiled_values_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    monkeypatch.setattr(sweeps.store.layout, "TILE", 700)
    spec = SPECS["numbers and switches"]
    spec = {**spec, "axes": {**spec["axes"], "supply": ["smooth"]}}
    axes = {**spec["axes"], "threads": [32, 512], "mem_latency": [100, 500]}
    Study(**{**spec, "axes": axes}).run(store=tmp_path / "a.zarr")
    Study(**spec).run(store=tmp_path / "fresh.zarr")
    Study(**spec).run(store=tmp_path / "a.zarr", extend=True)
    assert files(tmp_path / "a.zarr") == files(tmp_path / "fresh.zarr")


def test_where_rules_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles without a feasible point are filled and not computed."""
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    path = tmp_path / "a.zarr"
    spec: dict[str, Any] = {
        "model": str(ROOT / "tests" / "oracles" / "toy_model.py"),
        "axes": {"toy_load": {"linspace": [0, 100, 60]}, "toy_unit": {"linspace": [1, 9, 20]}},
        "set": {"toy_kind": "x", "toy_share": 0.5},
        "outputs": ["toy_cost", "toy_waste"],
    }
    Study(**spec).run(store=tmp_path / "fresh.zarr")
    axes = {**spec["axes"], "toy_unit": np.linspace(1, 9, 20)[[0, 3, 4, 19]]}
    Study(**{**spec, "axes": axes, "outputs": ["toy_cost"]}).run(store=path)
    heard: list[Any] = []
    Study(**{**spec, "outputs": ["toy_cost"]}).run(store=path, extend=True, progress=heard.append)
    assert 0.3 * 60 * 21 < heard[-1].infeasible < 0.5 * 60 * 21
    dse.add(path, "toy_waste")
    assert files(path) == files(tmp_path / "fresh.zarr")


def test_adding_outputs_keeps_the_values(tmp_path: Path) -> None:
    spec, path = SPECS["machines"], tmp_path / "a.zarr"
    narrow, wide = (Study(**{**spec, "outputs": out}) for out in (["time"], ["time", "occupancy"]))
    expected = narrow.run(store=path).load()
    result = dse.add(path, "occupancy")
    assert list(result.data_vars) == ["time", "occupancy", "feasible"]
    wide.run(store=tmp_path / "fresh.zarr")
    assert files(path) == files(tmp_path / "fresh.zarr")
    heard: list[Any] = []
    again = narrow.run(store=path, progress=heard.append)
    assert list(again.data_vars) == ["time", "feasible"]
    assert np.array_equal(again.time.values, expected.time.values, equal_nan=True)
    other = Study(**{**spec, "outputs": ["occupancy", "time"]}).run(store=path)
    assert set(other.data_vars) == {"time", "occupancy", "feasible"}
    assert heard == []
    longer = {**spec["axes"], "active_sms": [3, 7, 10, 16, 30]}
    result = Study(**{**spec, "axes": longer, "outputs": ["time"]}).run(store=path, extend=True)
    assert list(result.data_vars) == ["time", "feasible"]
    wide = Study(**{**spec, "axes": longer, "outputs": ["time", "occupancy"]})
    wide.run(store=tmp_path / "longer.zarr")
    assert files(path) == files(tmp_path / "longer.zarr")
    assert dse.verify(path).damages == ()
    with pytest.raises(DseError, match="no_such"):
        dse.add(path, "no_such")


def test_a_link_stays_one(tmp_path: Path) -> None:
    """The store behind a link is extended."""
    path, link = tmp_path / "far" / "a.zarr", tmp_path / "link.zarr"
    path.parent.mkdir()
    Study(**{**SPECS["machines"], "outputs": ["time"]}).run(store=path)
    link.symlink_to(path)
    dse.add(link, "occupancy")
    assert list(dse.open(path).data_vars) == ["time", "occupancy", "feasible"]
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["far", "link.zarr"]
    assert [each.name for each in path.parent.iterdir()] == ["a.zarr"]


def test_the_way_out_is_offered(tmp_path: Path) -> None:
    spec, path = SPECS["machines"], tmp_path / "a.zarr"
    axes = {**spec["axes"], "active_sms": [3, 10]}
    small = Study(**{**spec, "axes": axes})
    small.run(store=path)
    with pytest.raises(DseError, match=r"the axis active_sms is .*--extend.*replace it"):
        Study(**spec).run(store=path)
    whole = files(path)
    for changed in ({"set": {"mem_bandwidth": "1 GB/s"}}, {"where": "time <= 1 s"}):
        for extend in (False, True):
            with pytest.raises(DseError, match="is the store of another study") as caught:
                Study(**{**spec, **changed}).run(store=path, extend=extend)
            assert "--extend" not in str(caught.value)
    other = {**spec["axes"], "active_sms": [3, 11, 12]}
    with pytest.raises(DseError, match="is the store of another study"):
        Study(**{**spec, "axes": other}).run(store=path, extend=True)
    assert files(path) == whole
    (path / ".simt-dse" / "finished").unlink()
    with pytest.raises(DseError, match="is not finished"):
        Study(**spec).run(store=path, extend=True)


def test_a_url() -> None:
    spec = SPECS["machines"]
    axes = {**spec["axes"], "active_sms": [3, 10]}
    url = "memory://growth/a.zarr"
    Study(**{**spec, "axes": axes}).run(store=url)
    Study(**spec).run(store=url, extend=True)
    Study(**spec).run(store="memory://growth/fresh.zarr")
    import fsspec

    fs = fsspec.filesystem("memory")
    values = [
        {key[len(place) :]: fs.cat_file(key) for key in fs.find(place)}
        for place in ("/growth/a.zarr", "/growth/fresh.zarr")
    ]
    assert values[0] == values[1]
    assert not fs.exists("/growth/a.next.zarr")
    dse.add(url, "mwp")
    assert dse.verify(url).damages == ()


OWN = """
import dse
OUTPUTS = ("reach",)
width = dse.quantity("width", domain="[0, inf)")
@dse.equation(source="here")
def reach(width):
    return width * 3
@dse.equation(source="here")
def area(reach):
    return reach * 2
"""


def test_a_changed_model_is_named(tmp_path: Path) -> None:
    own, path = tmp_path / "own.py", tmp_path / "a.zarr"
    own.write_text(OWN)
    memory = Study(model=str(own), axes={"width": [1, 2]}).run()
    Study(model=str(own), axes={"width": [1, 2]}).run(store=path)
    for query in (path, memory, dse.open(path)):
        result = dse.optimum(query, maximize="area", where="reach < 5")
        assert (int(result.width), float(result.area)) == (1, 6)
        assert dse.pareto(query, minimize=["area", "width"]).width.values.tolist() == [1]
    assert dse.open(path, add="area").area.values.tolist() == [6, 12]
    own.write_text(OWN.replace("width * 3", "width * 4"))
    for ask in (
        lambda: dse.add(path, "area"),
        lambda: dse.optimum(path, maximize="area"),
        lambda: dse.open(path, add="area"),
    ):
        with pytest.raises(DseError, match=r"sha256 .*own.py is another file.* not run"):
            ask()
    with pytest.raises(DseError, match=r"own\.py is another file"):
        dse.derive(memory, "area")
    with pytest.raises(DseError, match="its equation of reach is another one"):
        dse.add(path, "area", study=Study(model=str(own), axes={"width": [1, 2]}))
    with pytest.raises(DseError, match="no_such"):
        dse.optimum(memory, maximize="no_such")


@pytest.mark.parametrize("name", mostly_long(sorted(SPECS), lambda k, _: k == 0))
def test_derived_quantities_are_those_of_a_run(name: str, tmp_path: Path) -> None:
    spec = SPECS[name]
    more = {"machines": ["mwp", "limiter"], "numbers and switches": ["cs_throughput"]}[name]
    expected = Study(**{**spec, "outputs": [*spec["outputs"], *more]}).run()
    memory = Study(**spec).run()
    Study(**spec).run(store=tmp_path / "a.zarr")
    part = {axis: slice(1, None, 2) for axis in list(spec["axes"])[::2]}
    for ds in (memory, dse.open(tmp_path / "a.zarr"), Study(**spec).run(expand=True)):
        for values, wanted in ((ds, expected), (ds.isel(part), expected.isel(part))):
            result = dse.derive(values, more)
            for one in more:
                assert result[one].chunks is not None
                xr.testing.assert_identical(
                    result[one].load().reset_coords(drop=True).drop_vars(result[one].dims),
                    wanted[one].reset_coords(drop=True).drop_vars(wanted[one].dims),
                )
    one = dict.fromkeys(list(spec["axes"])[:1], 0)
    result = dse.derive(memory.isel(one), more)[more[0]]
    assert np.array_equal(result.values, expected[more[0]].isel(one).values, equal_nan=True)
    assert dse.derive(memory, spec["outputs"]) is memory
    lazy = dse.derive(dse.open(tmp_path / "a.zarr"), more)
    assert dse.optimum(lazy, minimize=spec["outputs"][0]).attrs["method"] == "scan"


@pytest.mark.parametrize("small", mostly_long([1 << 30, 0], lambda k, _: k == 0))
def test_a_study_lists_its_ties(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(**SPECS["numbers and switches"])
    monkeypatch.setattr("sweeps.nest.tiles.NUMPY_POINTS", small)
    for query in ({"maximize": "ms_throughput"}, {"minimize": "bound"}, {"minimize": "ms_peak"}):
        result = study.optimum(**query, ties=True)
        expected = dse.optimum(study.run(), **query, ties=True)
        assert result.sizes["tie"] == expected.sizes["tie"] > 1
        for name in expected.variables:
            assert result[name].values.tolist() == expected[name].values.tolist()
        proven = study.optimum(**query, ties=True, method="certified")
        for name in expected.variables:
            assert proven[name].values.tolist() == expected[name].values.tolist()


KILLS = """
from tests.dse.growing import main

print(*(main(2, 3, every, exchange)["kills"] for every, exchange in ((3, True), (5, False))))
"""


@long
def test_kills() -> None:
    """After each step of both by ``python -m tests.dse.growing 20 1 1``."""
    done = subprocess.run([sys.executable, "-c", KILLS], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert min(map(int, done.stdout.split())) >= 3


def test_the_commands(tmp_path: Path) -> None:
    file, path, run = tmp_path / "study.toml", str(tmp_path / "a.zarr"), CliRunner().invoke
    text = (
        'model = "transit"\noutputs = ["cs_throughput"]\n[axes]\nthreads = [1, 2, 3]\n'
        "[set]\nintensity = 10\nlanes_width = 32\nms_peak = 1\nmem_latency = 600\n"
    )
    file.write_text(text)
    assert run(main, ["run", str(file), "--store", path]).exit_code == 0
    file.write_text(text.replace("3]", "3, 900, 901]"))
    refused = run(main, ["run", str(file), "--store", path])
    assert refused.exit_code == 2
    assert "--extend" in refused.stderr
    result = run(main, ["run", str(file), "--store", path, "--extend", "--json"])
    assert json.loads(result.stdout)["computed"] is True
    result = run(main, ["add", path, "ms_throughput", "--json"])
    assert json.loads(result.stdout)["outputs"] == ["cs_throughput", "ms_throughput"]
    assert "holds cs_throughput, ms_throughput" in run(main, ["add", path, "bound"]).stdout
    result = run(main, ["optimum", path, "--maximize", "ms_transition", "--ties", "--json"])
    assert len(json.loads(result.stdout)["rows"]) == 5
