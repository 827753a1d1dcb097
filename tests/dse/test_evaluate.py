"""A model at scalars, arrays and DataArrays, against nested loops over floats."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
import sweeps.nest.run
from dse import DseError
from symbolic.errors import DomainError, GraphError, InfeasibleError, UnitError, UnknownNameError
from symbolic.library import load_model
from symbolic.quantities import TABLE
from tests.long import draws
from tests.oracles.compare import same_bits, same_run
from tests.oracles.nested import Loops, Table

GIVEN: dict[str, Any] = {
    "threads": 640,
    "intensity": 4,
    "ms_peak": 1,
    "lanes_width": 8,
    "mem_latency": 100,
}
WORKED: dict[str, Any] = {
    "mem_latency_dram": 420,
    "departure_delay_uncoalesced": 10,
    "departure_delay_coalesced": 4,
    "n_sms": 16,
    "core_clock": "1 GHz",
    "mem_bandwidth": "80 GB/s",
    "load_bytes_per_warp": 128,
    "issue_cycles": 4,
    "comp_insts": 27,
    "uncoalesced_insts": 6,
    "coalesced_insts": 0,
    "transactions_per_uncoalesced": 32,
    "sync_insts": 6,
    "blocks": 80,
    "threads_per_block": 128,
    "active_blocks_per_sm": 5,
}


def test_the_worked_example() -> None:
    ds = dse.evaluate("mwp_cwp", **WORKED)
    assert ds.sizes == {}
    assert float(ds.total_cycles) == 50728.1875
    assert float(ds.mwp) == 2.28125
    assert float(ds.cwp) == 20
    assert int(ds.case) == 2


def test_every_quantity_computed_is_there() -> None:
    ds = dse.evaluate("transit", **GIVEN)
    assert set(GIVEN) <= set(ds.data_vars)
    assert {"thread_limit", "computation_limit", "threads_in_ms_low", "bound"} <= set(ds.data_vars)
    expected = Loops(model=load_model("transit"), axes={}, given=GIVEN)
    for name in ds.data_vars:
        assert float(ds[name]) == expected.value(str(name), {}), name
        assert ds[name].attrs["long_name"] == TABLE[str(name)].meaning
    assert ds.intensity.attrs["units"] == "cycle"
    assert list(dse.evaluate("transit", outputs=["bound"], **GIVEN).data_vars) == ["bound"]
    assert list(dse.evaluate("transit", outputs="bound", **GIVEN).data_vars) == ["bound"]


@settings(max_examples=draws(40), deadline=None)
@given(data=st.data())
def test_arrays_broadcast_as_in_numpy(data: st.DataObject) -> None:
    """Each quantity varies along the dimensions of the arrays it depends on, and no others."""
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    names = [f"dim_{k}" for k in range(len(shape))]
    given_: dict[str, Any] = dict(GIVEN)
    loops: dict[str, Any] = {name: float(value) for name, value in GIVEN.items()}
    full = False
    for name in GIVEN:
        if not data.draw(st.booleans()):
            continue
        count = data.draw(st.integers(1, len(shape)))
        own = [data.draw(st.sampled_from([size, 1])) for size in shape[len(shape) - count :]]
        full = full or (count == len(shape) and own == shape)
        pool = st.sampled_from([1.0, 3.5, 64.0, 700.0])
        array = np.array([data.draw(pool) for _ in range(math.prod(own))]).reshape(own)
        given_[name] = array.tolist() if data.draw(st.booleans()) else array
        aligned = [1] * (len(shape) - count) + own
        stored = [
            (dim, size)
            for dim, size, most in zip(names, aligned, shape, strict=True)
            if size > 1 or most == 1
        ]
        values = array.reshape([size for _, size in stored])
        loops[name] = Table(tuple(dim for dim, _ in stored), dict(np.ndenumerate(values)))
    if not full:
        given_["threads"] = np.full(shape, 640.0)
        loops["threads"] = Table(tuple(names), dict.fromkeys(np.ndindex(*shape), 640.0))
    ds = dse.evaluate("transit", **given_)
    sizes: dict[str, Any] = {n: [{}] * size for n, size in zip(names, shape, strict=True)}
    model = load_model("transit")
    expected = Loops(model=model, axes=sizes, given=loops).run(list(map(str, ds.data_vars)))
    same_run(ds, expected)
    assert not ds.coords


def test_labels_are_kept() -> None:
    latency = xr.DataArray([100.0, 200.0], dims="gpu", coords={"gpu": ["a", "b"]})
    threads = xr.DataArray(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dims=("run", "gpu"), coords={"run": [7, 8, 9]}
    )
    ds = dse.evaluate("transit", **{**GIVEN, "mem_latency": latency, "threads": threads})
    assert ds.gpu.values.tolist() == ["a", "b"]
    assert ds.run.values.tolist() == [7, 8, 9]
    assert set(ds.thread_limit.dims) == {"gpu", "run"}
    assert ds.mem_latency.dims == ("gpu",)
    assert float(ds.thread_limit.sel(gpu="b", run=8)) == 4 / 204
    assert float(ds.computation_limit) == 2.0


def test_an_array_of_values_over_itself() -> None:
    """A coordinate is a DataArray over its own name."""
    threads = xr.DataArray([1.0, 2.0], dims="threads", coords={"threads": [1.0, 2.0]})
    ds = dse.evaluate("transit", **{**GIVEN, "threads": threads.threads})
    assert ds.thread_limit.sel(threads=2.0) == 2 / 104


def test_a_call_is_vectorised_and_equals_single_calls() -> None:
    threads = np.linspace(1, 5000, 300)
    latency = np.linspace(1, 900, 120)[:, None]
    many = dse.evaluate("transit", **{**GIVEN, "threads": threads, "mem_latency": latency})
    assert many.ms_throughput.shape == (120, 300)
    for i, j in [(0, 0), (119, 299), (60, 150)]:
        one = dse.evaluate(
            "transit", **{**GIVEN, "threads": threads[j], "mem_latency": float(latency[i, 0])}
        )
        for name in ("ms_throughput", "bound", "threads_in_ms"):
            assert same_bits(float(one[name]), float(many[name][i, j]))


def test_nests_and_numpy_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    given_ = {**GIVEN, "threads": np.linspace(1, 900, 40), "ms_peak": [[0.1], [2.0]]}
    outputs = ["ms_throughput", "bound"]
    expected = dse.evaluate("transit", outputs=outputs, **given_)
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    xr.testing.assert_identical(dse.evaluate("transit", outputs=outputs, **given_), expected)


def test_texts_formulas_switches_machines() -> None:
    ds = dse.evaluate(
        "mwp_cwp",
        machine="gtx280",
        workload="svm",
        active_blocks_per_sm=4,
        threads_per_block=np.array([64, 128]),
        active_sms="n_sms / 3",
        core_clock="650 MHz",
        printed=True,
    )
    assert float(ds.active_sms) == 10.0
    assert float(ds.mem_latency_dram) == 225.0
    assert ds.blocks.values.tolist() == [730112 / 64, 730112 / 128]
    data = json.loads(ds.attrs["equations"])
    assert {row["when"] for row in data if row["name"] == "case"} == {"printed=true"}
    sources = json.loads(ds.attrs["sources"])
    assert sources["elements"].startswith("svm:")


def test_a_list_of_labels_is_a_dimension() -> None:
    given_: dict[str, Any] = {"machine": "h100_sxm", "m": [16, 4096], "n": 4096, "k": 4096}
    both = dse.evaluate("gemm", dtype=["bf16", "fp8"], **given_)
    assert both.time.dims == ("dtype", "dim_0")
    for dtype in ("bf16", "fp8"):
        single = dse.evaluate("gemm", dtype=dtype, **given_)
        assert np.array_equal(both.time.sel(dtype=dtype), single.time)
        assert {*both.data_vars} <= {*single.data_vars}
    assert "gemm_cast_time" in both  # also quantities between the inputs and the outputs
    with pytest.raises(dse.DseError, match="'fp9', which is none of bf16"):
        dse.evaluate("gemm", dtype=["bf16", "fp9"], **given_)


def test_an_array_goes_before_a_file() -> None:
    ds = dse.evaluate(
        "mwp_cwp",
        machine="gtx280",
        workload="svm",
        active_blocks_per_sm=4,
        threads_per_block=128,
        mem_bandwidth=[1e10, 1e11],
        outputs=["mem_bandwidth", "mwp_peak_bw"],
    )
    assert ds.mem_bandwidth.values.tolist() == [1e10, 1e11]
    assert ds.mwp_peak_bw.values[1] == pytest.approx(10 * ds.mwp_peak_bw.values[0])


def test_broken_rules_are_marked() -> None:
    ds = dse.evaluate("mwp_cwp", **{**WORKED, "active_sms": [8, 16, 17]})
    assert ds.feasible.values.tolist() == [True, True, False]
    assert np.isnan(ds.time.values).tolist() == [False, False, True]
    assert ds.case.values[2] == -1
    with pytest.raises(InfeasibleError, match="'active_sms <= n_sms' is broken at every point"):
        dse.evaluate("mwp_cwp", **{**WORKED, "active_sms": [17, 18]})


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"threads": None}, DseError, "threads = None"),
        ({"threads": []}, DseError, "threads is an empty array: give it at least one value"),
        ({"threads": [[]]}, DseError, "threads is an empty array"),
        ({"threads": [1, math.nan]}, DomainError, "threads = nan at index 1"),
        ({"threads": [[1.0], [0.0]]}, DomainError, "threads = 0 at index 1, 0"),
        ({"threads": math.inf}, DomainError, "threads = inf"),
        ({"threads": xr.DataArray([1.0, -1.0], dims="x")}, DomainError, "threads = -1 at index 1"),
        ({"threads": ["1", "2"]}, DseError, "threads = .*expected a number"),
        ({"threads": [1, None]}, DseError, "threads = .*expected a number"),
        ({"threads": [[1], [1, 2]]}, DseError, "threads = .*expected a number"),
        ({"threads": [True]}, DseError, "threads = .*expected a number"),
        ({"threads": True}, DseError, "threads = True: expected a number"),
        ({"threads": "5 GB/s"}, UnitError, "threads: .*5 GB/s"),
        ({"thread": 1}, UnknownNameError, "'thread' .* did you mean 'threads'"),
        ({"supply": ["sharp", 1]}, DseError, "supply holds '1', which is none of sharp"),
        ({"supply": "smoth"}, UnknownNameError, "supply = 'smoth' is no choice: .*did you mean"),
        ({"machine": "gtx281"}, UnknownNameError, "did you mean 'gtx280'"),
        ({"outputs": ["bnd"]}, UnknownNameError, "'bnd' is no quantity"),
        (
            {"threads": [1, 2], "intensity": [1, 2, 3]},
            DseError,
            r"do not broadcast: threads \(2,\)",
        ),
        (
            {
                "threads": xr.DataArray([1.0, 2.0], dims="x"),
                "intensity": xr.DataArray([1.0, 2.0, 3.0], dims="x"),
            },
            DseError,
            "intensity has 3 values along x, others have 2",
        ),
        (
            {
                "threads": xr.DataArray([1.0, 2.0], dims="x", coords={"x": [1, 2]}),
                "intensity": xr.DataArray([1.0, 2.0], dims="x", coords={"x": [2, 1]}),
            },
            DseError,
            "intensity has other labels along x than the arrays before it: align",
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_refused(changes: dict[str, Any], kind: type[DseError], message: str) -> None:
    with pytest.raises(kind, match=message):
        dse.evaluate("transit", **{**GIVEN, **changes})


def test_a_missing_input_names_the_equations_that_need_it() -> None:
    given_ = {name: value for name, value in GIVEN.items() if name != "mem_latency"}
    with pytest.raises(
        GraphError, match=r"mem_latency, .* \[cycle\], is needed by thread_limit \(Li"
    ):
        dse.evaluate("transit", **given_)


@pytest.mark.parametrize("sizes", [(3, 2), (2, 3)])
def test_a_bare_array_beside_a_dimension_of_its_default_name(sizes: tuple[int, int]) -> None:
    """xarray calls an unnamed dimension dim_0, and so do we."""
    named, bare = xr.DataArray(np.ones(sizes[0])), np.ones(sizes[1])
    with pytest.raises(DseError, match="dim_0"):
        dse.evaluate("transit", **{**GIVEN, "threads": named, "intensity": bare})
    ds = dse.evaluate("transit", **{**GIVEN, "threads": named, "intensity": np.ones(sizes[0])})
    assert ds.thread_limit.dims == ("dim_0",)


def test_a_dimension_named_after_an_output() -> None:
    bandwidth = xr.DataArray([1e9, 2e9], dims="time")
    with pytest.raises(DseError, match="time"):
        dse.evaluate("mwp_cwp", **{**WORKED, "mem_bandwidth": bandwidth})


def test_a_list_of_machines_or_workloads_is_a_dimension() -> None:
    """Each entry of a list gives the values that it gives alone, over arrays too."""
    machines, workloads = ["gtx280", "8800gt"], ("svm", "cmem")
    point: dict[str, Any] = {"threads_per_block": [64.0, 256.0]}
    every = dse.evaluate("ipp", machine=machines, workload=workloads, **point)
    assert every.time.dims == ("machine", "workload", "dim_0")
    for machine, workload in itertools.product(machines, workloads):
        alone = dse.evaluate("ipp", machine=machine, workload=workload, **point)
        part = every.sel(machine=machine, workload=workload)
        # inputs of an equation that some workload replaces are no outputs of all
        assert set(alone.data_vars) - set(part.data_vars) <= {"misc_insts", "fp_fused_insts"}
        for name in part.data_vars:
            values = np.broadcast_to(part[name], alone[name].shape)
            np.testing.assert_array_equal(values, alone[name])
    scalar = dse.evaluate("ipp", machine=machines, workload="svm", threads_per_block=256)
    assert "interval" not in scalar.time.attrs
    wrong: Any
    for wrong in ([], ["gtx280", "gtx280"], ["gtx28"], [3]):
        with pytest.raises(DseError, match="machine"):
            dse.evaluate("ipp", machine=wrong, workload="svm", **point)
