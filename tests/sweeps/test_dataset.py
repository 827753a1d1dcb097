"""The labelled Dataset: coordinates, units, flags, attributes that explain it years later."""

from __future__ import annotations

import json
import pickle
import re
import socket
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from dse import Study
from sweeps.grid.dataset import answers_as_arrays, arrays_of, quantities_of
from symbolic.library import load_model
from symbolic.quantities import TABLE
from tests.oracles.compare import identical

SPEC: dict[str, Any] = {
    "model": "occupancy + mwp_cwp",
    "workload": "svm",
    "axes": {
        "machine": ["gtx280", "8800gt"],
        "waves": ["whole", "fractional"],
        "threads_per_block": [64, 128, 768],
        "pair": {"zip": {"core_clock": ["1 GHz", "1.2 GHz"], "active_sms": [10, 20]}},
    },
    "set": {"comp_factor": 2, "mem_bandwidth": "100 GB/s", "sync_insts": "mem_insts / 2"},
    "where": "time <= 1 s",
    "outputs": ["time", "case", "occupancy", "limiter", "mwp", "mem_insts"],
}


@pytest.fixture(scope="module")
def ds() -> xr.Dataset:
    return Study(**SPEC).run()


def test_axes_are_dimension_coordinates(ds: xr.Dataset) -> None:
    assert dict(ds.sizes) == {"machine": 2, "waves": 2, "threads_per_block": 3, "pair": 2}
    assert set(ds.xindexes) == {"machine", "waves", "threads_per_block", "pair"}
    assert ds.machine.values.tolist() == ["gtx280", "8800gt"]
    assert ds.waves.values.tolist() == ["whole", "fractional"]
    assert ds.threads_per_block.dtype == np.int64
    assert ds.core_clock.dims == ds.active_sms.dims == ("pair",)
    assert ds.core_clock.values.tolist() == [1e9, 1.2e9]


def test_units_and_meanings(ds: xr.Dataset) -> None:
    for name in ds.variables:
        attributes = ds[name].attrs
        assert attributes["long_name"], name
        row = TABLE.get(str(name))
        if row is None or row.is_label or "flag_values" in attributes:
            assert "units" not in attributes
        else:
            assert attributes["units"] == (row.unit or "1"), name
            assert attributes["long_name"] == row.meaning
    assert ds.core_clock.attrs["units"] == "Hz"
    assert ds.time.attrs["units"] == "s"
    assert ds.occupancy.attrs["units"] == "1"


def test_flags(ds: xr.Dataset) -> None:
    assert ds.case.dtype == ds.limiter.dtype == np.int8
    assert ds.case.attrs["flag_values"].dtype == np.int8
    assert ds.case.attrs["flag_values"].tolist() == [1, 2, 3]
    assert ds.case.attrs["flag_meanings"].split() == [
        "not_enough_warps",
        "memory_bound",
        "computation_bound",
    ]
    allowed = ds.feasible.broadcast_like(ds.case)
    marked = set(np.unique(ds.case.values))
    assert marked <= {-1, 1, 2, 3}
    assert -1 in marked
    assert not allowed.values[ds.case.broadcast_like(allowed).values == -1].any()


def test_feasible_says_of_what(ds: xr.Dataset) -> None:
    conditions = ds.feasible.attrs["conditions"].split("; ")
    assert "time <= 1 s" in conditions
    assert "active_sms <= n_sms" in conditions
    assert "threads_per_block <= max_threads_per_block" in conditions
    assert (
        "feasible"
        not in Study(
            model="transit",
            axes={"threads": [1]},
            set={"intensity": 3, "ms_peak": 1, "lanes_width": 8, "mem_latency": 7},
        ).run()
    )


def test_where_marks_and_keeps_values() -> None:
    spec: dict[str, Any] = {
        "model": "transit",
        "axes": {"threads": [1, 1000]},
        "set": {"intensity": 3, "ms_peak": 1, "lanes_width": 8, "mem_latency": 7},
    }
    free = Study(**spec).run()
    bound = Study(**spec, where="threads > 10").run()
    assert bound.feasible.values.tolist() == [False, True]
    for name in free.data_vars:
        assert np.array_equal(free[name].values, bound[name].values)


# --- attributes


def test_attributes_are_complete_and_plain(ds: xr.Dataset) -> None:
    assert all(isinstance(value, str) for value in ds.attrs.values())
    assert ds.attrs["Conventions"].startswith("CF-")
    assert ds.attrs["simt_dse_version"] == metadata.version("simt-dse")
    assert ds.attrs["model"] == SPEC["model"]
    assert ds.attrs["axes"].split() == list(SPEC["axes"])
    assert re.fullmatch("[0-9a-f]{64}", ds.attrs["identity"])


def test_the_study_can_be_run_again_from_its_text(ds: xr.Dataset) -> None:
    recorded = json.loads(ds.attrs["study"])
    assert recorded["set"] == SPEC["set"]
    assert recorded["where"] == [SPEC["where"]]
    again = Study(**recorded).run()
    identical(again, ds)


def test_equations_bear_their_sources(ds: xr.Dataset) -> None:
    recorded = json.loads(ds.attrs["equations"])
    model = load_model(SPEC["model"])
    known = {(eq.name, eq.source, eq.switch_text) for eq in model.equations}
    result = {(row["name"], row["source"], row.get("when", "")) for row in recorded}
    assert len(result) == len(recorded)
    assert result <= known
    assert all(row["source"] for row in recorded)
    names = {row["name"] for row in recorded}
    assert {"time", "mwp", "case", "blocks", "active_blocks_per_sm", "limiter"} <= names
    assert {row.get("when") for row in recorded if row["name"] == "repetitions"} == {
        "waves=whole",
        "waves=fractional, printed=false",
    }
    assert "sync_insts" not in names  # set
    assert {row.get("when") for row in recorded if row["name"] == "mwp"} == {"rounding=continuous"}


def test_defaults_are_told(ds: xr.Dataset) -> None:
    recorded = json.loads(ds.attrs["defaults"])
    assert recorded["load_bytes_per_warp"] == 128
    assert recorded["imbalance_loss"] == 1
    assert (recorded["rounding"], recorded["printed"], recorded["granularity"]) == (
        "continuous",
        "false",
        "cuda",
    )
    assert "comp_factor" not in recorded
    assert "waves" not in recorded


def test_a_default_that_is_another_quantity_is_told() -> None:
    ds = Study(
        model="mwp_cwp",
        machine="gtx280",
        workload="svm",
        set={"threads_per_block": 128, "active_blocks_per_sm": 4},
    ).run()
    recorded = json.loads(ds.attrs["defaults"])
    assert recorded["active_sms"] == "n_sms"
    assert recorded["core_clock"] == "nominal_clock"


def test_sources_of_values_are_told(ds: xr.Dataset) -> None:
    recorded = json.loads(ds.attrs["sources"])
    assert recorded["elements"].startswith("svm: Hong 2012")
    assert recorded["n_sms"]["gtx280"].startswith("gtx280: Hong 2012")
    assert set(recorded["n_sms"]) == {"gtx280", "8800gt"}
    assert recorded["comp_factor"] == recorded["mem_bandwidth"] == "set by the study"
    assert recorded["active_sms"] == recorded["threads_per_block"] == "axis of the study"
    assert "tile" not in recorded  # of no equation in use


def test_assumptions_are_told(ds: xr.Dataset) -> None:
    recorded = json.loads(ds.attrs["assumptions"])
    assert any(text.startswith("transactions_per_uncoalesced of gtx280: ") for text in recorded)
    assert not any(text.startswith("sync_insts of svm") for text in recorded)  # it is set
    unset = Study(**{**SPEC, "set": {}}).run()
    assert any(
        text.startswith("sync_insts of svm") for text in json.loads(unset.attrs["assumptions"])
    )


def test_nothing_of_this_computer_and_no_time_is_told(ds: xr.Dataset) -> None:
    text = json.dumps({**ds.attrs, **{str(n): str(v.attrs) for n, v in ds.variables.items()}})
    assert str(Path(dse.__file__).parents[1]) not in text
    assert str(Path.home()) not in text or len(str(Path.home())) < 3
    assert socket.gethostname() not in text or len(socket.gethostname()) < 4
    assert not re.search(r"(?<![\w.])/(home|usr|tmp|root|work|var|Users)/", text)
    assert time.strftime("%Y-%m") not in text


def test_the_same_study_tells_the_same(ds: xr.Dataset) -> None:
    assert Study(**SPEC).run().attrs == ds.attrs


@pytest.mark.parametrize(
    "change",
    [
        {"set": {**SPEC["set"], "comp_factor": 3}},
        {"axes": {**SPEC["axes"], "threads_per_block": [64, 128, 256]}},
        {"where": "time <= 2 s"},
        {"workload": "sepia"},
        {"outputs": ["time"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_study_has_another_identity(ds: xr.Dataset, change: dict[str, Any]) -> None:
    other = Study(**{**SPEC, **change})
    assert other.attributes()["identity"] != ds.attrs["identity"]


def test_another_table_has_another_identity() -> None:
    spec: dict[str, Any] = {"intensity": 3, "ms_peak": 1, "lanes_width": 8}
    result = set()
    for labels in ([1, 2], [2, 1]):
        table = xr.DataArray([10.0, 20.0], dims="threads", coords={"threads": labels})
        study = Study(model="transit", axes={"threads": [1, 2]}, set={**spec, "mem_latency": table})
        result.add(study.attributes()["identity"])
    assert len(result) == 2


def test_another_machine_file_has_another_identity(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    identities = set()
    for bandwidth in (100, 200):
        path.write_text(
            f'title = "Mine"\nbase = "gtx280"\n[values]\n'
            f'mem_bandwidth = {{ value = "{bandwidth} GB/s", source = "me" }}\n'
        )
        study = Study(
            model="mwp_cwp",
            machine=str(path),
            workload="svm",
            set={"threads_per_block": 128, "active_blocks_per_sm": 4},
        )
        identities.add(study.attributes()["identity"])
    assert len(identities) == 2


# --- as an object


def test_it_can_be_pickled(ds: xr.Dataset) -> None:
    identical(pickle.loads(pickle.dumps(ds)), ds)


def test_its_quantities_can_be_named_in_formulas(ds: xr.Dataset) -> None:
    rows = quantities_of(ds)
    assert set(rows) == set(ds.variables)
    assert (rows["time"].unit, rows["occupancy"].unit, rows["core_clock"].unit) == ("s", "", "Hz")
    assert rows["machine"].is_label
    assert not rows["feasible"].is_label


@pytest.mark.parametrize(
    "options",
    [
        {"minimize": "time"},
        {"minimize": "time * mwp", "per": "machine", "where": "time <= 0.3 s"},
        {"minimize": "time", "per": ["machine", "pair"], "top": 3, "method": "certified"},
        {"maximize": "mwp", "ties": True},
        {"minimize": "time", "within": 0.5},
        {"minimize": ["mwp / 2", "time"]},
        {"minimize": ["mwp / 2", "time"], "ties": True},
    ],
)
def test_an_answer_as_bare_arrays_is_that_of_its_dataset(
    options: dict[str, Any], tmp_path: Path
) -> None:
    def describe(answer: Any) -> Any:
        parts = arrays_of(answer)
        listed = [
            {
                n: (dims, values.tolist(), values.dtype.kind, dict(attrs))
                for n, (dims, values, attrs) in part.items()
            }
            for part in parts
        ]
        return json.dumps([listed, answer.attrs], default=str, sort_keys=True)

    study, path = Study(**SPEC), tmp_path / "out.zarr"
    study.run(store=path)
    of_store = {key: value for key, value in options.items() if key not in ("within", "method")}
    for ask, given in ((study.optimum, options), (dse.optimum, of_store)):
        args = () if ask == study.optimum else (path,)
        whole = ask(*args, **given)
        assert isinstance(whole, xr.Dataset)
        with answers_as_arrays():
            bare = ask(*args, **given)
        assert describe(bare) == describe(whole)
        identical(bare.drop_attrs(deep=False), whole.drop_attrs(deep=False))
    goals = {"minimize": ["time", "mwp"]}
    with answers_as_arrays():
        bare = study.pareto(**goals)
    assert describe(bare) == describe(study.pareto(**goals))
