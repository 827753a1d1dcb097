"""A study: what it reads, what it refuses and with which words, that it does not change."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from dse import DseError, Study
from dse.inputs import merge
from symbolic.errors import DomainError, GraphError, UnitError, UnknownNameError
from tests.oracles.compare import identical

SET: dict[str, Any] = {"intensity": 4, "ms_peak": 1, "lanes_width": 8, "mem_latency": 100}


def transit(**changes: Any) -> Study:
    """A small study with some keys given otherwise."""
    return Study(**{"model": "transit", "axes": {"threads": [1, 2]}, "set": SET, **changes})


# --- refusals: what was given, what was expected, a way out


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        # units
        (
            {"set": {**SET, "intensity": "4 GB/s"}},
            UnitError,
            r"intensity \[cycle\]: .*4 GB/s",
        ),
        ({"set": {**SET, "intensity": "4 parsnips"}}, UnitError, "parsnips"),
        ({"axes": {"threads": ["1 s"]}}, UnitError, r"the axis threads: .*1 s"),
        ({"where": "mem_latency < 3 W"}, UnitError, "3 W"),
        ({"set": {**SET, "intensity": "mem_latency + 1 W"}}, UnitError, "1 W"),
        # values outside their domain, NaN, infinity
        ({"set": {**SET, "intensity": 0}}, DomainError, r"intensity = 0 cycle \(set\) is outside"),
        (
            {"set": {**SET, "intensity": -1.5}},
            DomainError,
            r"domain \(0, inf\) cycle: give a value",
        ),
        ({"set": {**SET, "intensity": math.nan}}, DomainError, "intensity = nan cycle"),
        ({"set": {**SET, "mem_latency": math.inf}}, DomainError, "mem_latency = inf cycle"),
        ({"set": {**SET, "mem_latency": "-1"}}, DomainError, "mem_latency = -1"),
        ({"axes": {"threads": [1, math.nan]}}, DomainError, "threads = nan at index 1"),
        ({"axes": {"threads": [1, math.inf]}}, DomainError, "threads = inf at index 1"),
        # unknown names
        ({"model": "transt"}, UnknownNameError, "'transt' is no model; did you mean 'transit'"),
        ({"axes": {"thread": [1]}}, UnknownNameError, "thread is no known quantity; did you mean"),
        (
            {"set": {**SET, "intensty": 1}},
            UnknownNameError,
            "'intensty' .* did you mean 'intensity'",
        ),
        ({"outputs": ["ms_throughptu"]}, UnknownNameError, "did you mean 'ms_throughput'"),
        ({"where": "bnd == 1"}, UnknownNameError, "'bnd' is no quantity"),
        ({"set": {**SET, "intensity": "2 * treads"}}, UnknownNameError, "did you mean 'threads'"),
        ({"machine": "gtx281"}, UnknownNameError, "'gtx281' is no machine; did you mean 'gtx280'"),
        ({"workload": "svn"}, UnknownNameError, "'svn' is no workload; did you mean 'svm'"),
        (
            {"axes": {"machine": ["gtx281"], "threads": [1]}},
            UnknownNameError,
            "did you mean 'gtx280'",
        ),
        (
            {"set": {**SET, "supply": "smoth"}},
            UnknownNameError,
            "expected one of sharp, smooth; did",
        ),
        ({"model": "transit + ocupancy"}, UnknownNameError, "'ocupancy' is no model; did you mean"),
        # missing inputs
        (
            {"axes": {}},
            GraphError,
            r"lacks a value:\n  threads, .* is needed by thread_limit .*\nGive each a value",
        ),
        (
            {"set": {"intensity": 4}},
            GraphError,
            r"lacks 3 values:(.|\n)*mem_latency(.|\n)*ms_peak(.|\n)*lanes_width",
        ),
        # cycles
        (
            {"set": {**SET, "intensity": "mem_latency / 2", "mem_latency": "3 * intensity"}},
            GraphError,
            "form a cycle: .*intensity.*mem_latency.*; give one of them a value to cut it",
        ),
        ({"set": {**SET, "intensity": "intensity / 2"}}, GraphError, "intensity"),
        ({"set": {**SET, "intensity": "cs_throughput"}}, GraphError, "form a cycle"),
        # two of one
        (
            {"axes": {"threads": [1]}, "set": {**SET, "threads": 1}},
            DseError,
            "is an axis and is set",
        ),
        (
            {"axes": {"threads": [1], "p": {"zip": {"threads": [1, 2]}}}},
            DseError,
            "threads is given by two axes: keep one of them",
        ),
        (
            {"machine": "gtx280", "axes": {"machine": ["gtx280"]}},
            DseError,
            "machine is given and is",
        ),
        # axes
        ({"axes": {"threads": []}}, DseError, "the axis threads is empty: give it at least one"),
        ({"axes": {"threads": [1, 2, 1]}}, DseError, "holds 1 twice, at 0 and 2: remove one"),
        # what cannot be a value
        ({"set": {**SET, "intensity": [1, 2]}}, DseError, "several values belong in axes"),
        ({"set": {**SET, "intensity": None}}, DseError, "intensity = None: expected a number"),
        ({"set": {**SET, "intensity": True}}, DseError, "intensity = True: expected a number"),
        ({"set": {**SET, "supply": 3}}, DseError, "supply = 3: expected a label"),
        # keys of the wrong kind
        ({"model": None}, DseError, "model = None: expected a name"),
        ({"machine": 280}, DseError, "machine = 280: expected a name or a path"),
        ({"axes": [1, 2]}, DseError, r"axes = \[1, 2\]: expected a mapping"),
        ({"set": "x"}, DseError, "set = 'x': expected a mapping"),
        ({"where": [3]}, DseError, "where holds 3: expected text, or a list of texts"),
        ({"outputs": [3]}, DseError, "outputs holds 3: expected text"),
        # conditions
        ({"where": "threads"}, DseError, "'threads' is a number where a condition is expected"),
        ({"where": "threads <"}, DseError, "threads <"),
        ({"where": "__import__('os')"}, DseError, "position"),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_refused(changes: dict[str, Any], kind: type[DseError], message: str) -> None:
    with pytest.raises(kind, match=message):
        transit(**changes)


def test_two_definitions_name_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import dse\n"
        "@dse.equation(source='mine')\n"
        "def thread_limit(threads):\n"
        "    return threads / 7\n"
    )
    both = f"transit + {path}"
    with pytest.raises(
        GraphError, match=r"thread_limit has two definitions: .*Li 2015.*mine.*prefer"
    ):
        Study(model=both, axes={"threads": [7]}, set=SET)
    study = Study(
        model=both, axes={"threads": [7]}, set=SET, prefer="mine", outputs=["thread_limit"]
    )
    assert study.run().thread_limit.values.tolist() == [1.0]
    given = Study(
        model=both, axes={"threads": [7]}, set={**SET, "thread_limit": 9}, prefer="transit"
    )
    assert float(given.run().ms_throughput) == 1.0


def test_a_number_beyond_floats() -> None:
    with pytest.raises(DseError, match="intensity"):
        transit(set={**SET, "intensity": 10**400})


# --- tables


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (xr.DataArray([1.0, 2.0], dims="thread"), "'thread' is no axis of the study; did you mean"),
        (xr.DataArray([1.0], dims="threads"), "has 1 values along threads, the axis has 2"),
        (
            xr.DataArray([1.0, 2.0], dims="threads", coords={"threads": [2, 3]}),
            "mem_latency has no value at threads = 1: extend the table",
        ),
        (xr.DataArray([1.0, math.nan], dims="threads"), "mem_latency = nan cycle at index 1"),
        (xr.DataArray([1.0, -2.0], dims="threads"), "mem_latency = -2 cycle at index 1"),
    ],
)
def test_tables_refused(array: xr.DataArray, message: str) -> None:
    with pytest.raises(DseError, match=message):
        transit(set={**SET, "mem_latency": array})


@pytest.mark.parametrize("values", [["a", "b"], [True, False]])
def test_tables_hold_numbers(values: list[Any]) -> None:
    with pytest.raises(DseError, match="mem_latency"):
        transit(set={**SET, "mem_latency": xr.DataArray(values, dims="threads")})


def test_a_table_is_aligned_by_its_coordinates() -> None:
    table = xr.DataArray([5.0, 6.0, 7.0], dims="threads", coords={"threads": [3, 2, 1]})
    ds = transit(set={**SET, "mem_latency": table}, outputs=["ms_transition"]).run()
    assert ds.ms_transition.values.tolist() == [7.0, 6.0]


# --- a study does not change


def test_it_is_frozen() -> None:
    study = transit()
    for name in ("model", "axes", "where", "anything"):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
            setattr(study, name, "other")


def test_a_table_is_copied() -> None:
    table = xr.DataArray(np.array([10.0, 20.0]), dims="threads")
    study = transit(set={**SET, "mem_latency": table}, outputs=["ms_transition"])
    table[:] = -1
    assert study.run().ms_transition.values.tolist() == [10.0, 20.0]


def test_what_the_caller_does_with_the_mappings_later_does_not_matter() -> None:
    axes, set_ = {"threads": [1, 2]}, dict(SET)
    study = transit(axes=axes, set=set_)
    expected = transit()
    set_["intensity"] = 9
    axes["lanes_width"] = [1]
    assert study.text() == expected.text()


def test_asking_changes_nothing() -> None:
    study = transit()
    before = study.run()
    study.optimum(minimize="thread_limit", where="threads < 2")
    study.pareto(minimize=["thread_limit", "bound"])
    study.explain()
    study.plan()
    identical(study.run(), before)
    assert study.attributes() == before.attrs


def test_a_question_joins_its_grid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    joined, join = [], merge.build_grid
    monkeypatch.setattr(merge, "build_grid", lambda *a, **k: joined.append(k) or join(*a, **k))
    transit().optimum(minimize="ms_throughput * 2", where="threads > 1")
    assert len(joined) == 2  # before any question, for what can be wrong with the study, and for it


def test_studies_made_alike_are_alike() -> None:
    one, other = transit(), transit(where=(), outputs=None)
    assert one.text() == other.text()
    assert one.attributes() == other.attributes()
    with_axis = transit(axes={"threads": {"start": 1, "stop": 2}})
    assert with_axis.attributes()["identity"] == one.attributes()["identity"]


def test_a_variation_of_a_study() -> None:
    study = dataclasses.replace(transit(), where="threads > 1")
    assert study.run().feasible.values.tolist() == [False, True]
    layer = dse.Study.from_toml("examples/layer.toml")  # names files in its folder
    fewer = dataclasses.replace(layer, axes={**layer.axes, "product_rows": [64]})
    assert fewer.run().time.equals(layer.run().time.sel(product_rows=[64]))


# --- forms of its keys


def test_texts_and_lists_of_texts() -> None:
    assert transit(where="threads > 1").where == transit(where=["threads > 1"]).where
    assert list(transit(outputs="bound").run().data_vars) == ["bound"]
    assert list(transit(outputs=["bound", "thread_limit", "bound"]).run().data_vars) == [
        "bound",
        "thread_limit",
    ]


def test_set_takes_numbers_units_formulas_labels() -> None:
    study = Study(
        model="mwp_cwp",
        machine="gtx280",
        workload="svm",
        axes={"threads_per_block": [64, 128]},
        set={
            "mem_bandwidth": "100 GB/s",
            "active_blocks_per_sm": np.int64(4),
            "active_sms": "n_sms / 2",
            "comp_factor": np.float32(1.5),
            "printed": True,
            "rounding": "whole",
        },
        outputs=["mwp", "comp_cycles"],
    )
    steps = study.explain(threads_per_block=128)
    assert steps["mem_bandwidth"].value == 1e11
    assert steps["active_sms"].value == 15.0
    assert steps["comp_factor"].value == 1.5
    assert float(study.run().mwp[0]) == math.ceil(float(study.run().mwp[0]))


# --- study files

FILE = """
model = "mwp_cwp"
machine = "gtx280"
workload = "svm"
outputs = ["time", "case"]
where = ["time <= 1 s"]
[axes]
threads_per_block = { start = 64, stop = 192, step = 64 }
active_sms = [10, 20]
core_clock = { linspace = ["1 GHz", "1.3 GHz", 2] }
pair.zip = { comp_factor = [1, 2], sync_insts = [0, 4] }
printed = [true, false]
[set]
mem_bandwidth = "120 GB/s"
active_blocks_per_sm = 4
"""


def test_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(FILE)
    ds = Study.from_toml(path).run()
    assert dict(ds.sizes) == {
        "threads_per_block": 3,
        "active_sms": 2,
        "core_clock": 2,
        "pair": 2,
        "printed": 2,
    }
    assert ds.printed.values.tolist() == ["true", "false"]
    identical(ds, Study.from_toml(str(path)).run())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'modle = "transit"',
            "has the unknown key 'modle'; did you mean 'model'",
        ),
        (
            'model = "transit"\nthreads = 3',
            "the unknown key 'threads'.*quantities belong under .set. or .axes.",
        ),
        ('machine = "gtx280"', "names no model: begin it with model ="),
        ("model = ", "is no TOML"),
        ('model = "transit"\n[axes]\nthreads = 5', "put one value under set"),
        ('model = "transit"\n[axes]\nthreads = 1979-05-27', "is no axis"),
        ('model = "transit"\n[set]\nthreads = 1979-05-27', "threads = .*expected a number"),
        ('model = "transit"\naxes = 3', "axes = 3: expected a mapping"),
        ("", "names no model"),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(DseError, match=message):
        Study.from_toml(path)


@pytest.mark.parametrize("key", ["where", "outputs"])
def test_texts_of_the_wrong_kind(key: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'model = "transit"\n{key} = 3\n')
    with pytest.raises(DseError, match=key):
        Study.from_toml(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DseError, match=r"the study '.*none\.toml' cannot be read"):
        Study.from_toml(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DseError, match="cannot be read"):
        Study.from_toml(tmp_path / "bytes.toml")
    with pytest.raises(DseError, match="cannot be read"):
        Study.from_toml(tmp_path)


def test_paths_in_a_file_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.py").write_text(
        "import dse\n@dse.equation(source='here')\ndef doubled(threads):\n    return threads * 2\n"
    )
    (tmp_path / "folder" / "chip.toml").write_text(
        'title = "Chip"\n[values]\nthreads = { value = 21, source = "me" }\n'
    )
    (tmp_path / "folder" / "study.toml").write_text('model = "mine.py"\nmachine = "chip.toml"\n')
    monkeypatch.chdir("/")
    ds = Study.from_toml(tmp_path / "folder" / "study.toml").run()
    assert float(ds.doubled) == 42.0


# --- running into a store


def test_a_store_is_written_once(tmp_path: Path) -> None:
    study, path = transit(), tmp_path / "run.zarr"
    first = study.run(store=path)
    stamp = path.stat().st_mtime_ns
    again = study.run(store=path)
    assert path.stat().st_mtime_ns == stamp
    for name in study.run().variables:
        assert np.array_equal(first[name].values, again[name].values)
    with pytest.raises(DseError, match="is the store of another study"):
        transit(where="threads > 1").run(store=path)
    with pytest.raises(DseError, match="is the store of another study"):
        study.run(store=path, expand=True)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("run.nc", "expected a name that ends in .zarr"),
        ("missing/run.zarr", "cannot write in .*missing: No such file or directory; create the"),
        ("file/run.zarr", "cannot write in .*file: Not a directory"),
        ("full.zarr", "exists and is no store of a study: choose another path, or give fresh=True"),
        ("full.zarr/inner.zarr", "cannot write in .*full.zarr: Not a directory"),
    ],
)
def test_places_that_cannot_hold_a_store(path: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "full.zarr").write_text("mine")
    with pytest.raises(DseError, match=message):
        transit().run(store=tmp_path / path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "full.zarr"]
    assert (tmp_path / "full.zarr").read_text() == "mine"


def test_a_run_that_fails_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("sweeps.store.fill.TileWriter.store", fail)
        with pytest.warns(UserWarning, match=r"failed: 2 points; the same .*configurations: Mem"):
            transit().run(store=tmp_path / "run.zarr")
    assert np.isnan(dse.open(tmp_path / "run.zarr").ms_throughput).all()
    ds, expected = transit().run(store=tmp_path / "run.zarr"), transit().run()
    assert np.array_equal(ds.ms_throughput, expected.ms_throughput)


def test_a_study_that_has_no_feasible_point_leaves_no_store(tmp_path: Path) -> None:
    with pytest.raises(DseError, match="is broken at every point"):
        transit(where="threads > 5").run(store=tmp_path / "run.zarr")
    assert list(tmp_path.iterdir()) == []


def test_opening_what_was_stored(tmp_path: Path) -> None:
    study = transit(where="threads > 1")
    study.run(store=tmp_path / "run.zarr")
    ds = dse.open(tmp_path / "run.zarr")
    assert list(ds.data_vars) == list(study.run().data_vars)
    assert ds.feasible.dtype == np.bool_
    assert dse.best_config(dse.optimum(ds, maximize="ms_throughput"))["threads"] == 2


def test_symbols_of_the_paper_name_its_quantities() -> None:
    given = {"Z": 10, "M": 32, "L": 600, "R": 1}
    result = dse.Study(model="transit", axes={"n": [64, 256]}, set=given).run()
    named = {"intensity": 10, "lanes_width": 32, "mem_latency": 600, "ms_peak": 1}
    plain = dse.Study(model="transit", axes={"threads": [64, 256]}, set=named).run()
    assert result.ms_throughput.equals(plain.ms_throughput)
    assert float(dse.evaluate("transit", n=256, **given).ms_throughput) == plain.ms_throughput[1]
    with pytest.raises(dse.DseError, match=r"given twice, among n \(threads\), threads"):
        dse.Study(model="transit", axes={"n": [64], "threads": [1]}, set=given)
    with pytest.raises(dse.DseError, match="'n' is no quantity"):
        dse.evaluate("mwp_cwp", n=1, machine="gtx280", workload="svm", threads_per_block=64)
