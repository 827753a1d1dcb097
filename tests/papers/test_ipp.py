"""Performance and power together: Hong 2012, section 3.3, and energy of any model."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
import sweeps.nest.run
from symbolic.library import load_model
from symbolic.models import ipp
from tests.long import draws, long
from tests.oracles.closed import evaluator as at
from tests.papers._solve import solve

#: §3.5.4: a block of 16 warps an SM, all accesses coalesced, 120 GB/s attained; Mem_L is 450.
BANDWIDTH_BOUND: dict[str, Any] = {
    "threads_per_block": 512,
    "active_blocks_per_sm": 1,
    "blocks": 3000,
    "elements": 512 * 3000,
    "mem_bandwidth": "120 GB/s",
    "departure_delay_coalesced": 0,
    "coalesced_insts": 100,
    "uncoalesced_insts": 0,
    "sync_insts": 0,
}

PARTS = "occupancy + mwp_cwp + power"


@cache
def bandwidth_bound(comp_insts: float, **changed: Any) -> dict[str, float]:
    """Every quantity of the benchmarks of §3.5.4, with all SMs unless said otherwise."""
    given = {**BANDWIDTH_BOUND, "comp_insts": comp_insts, **changed}
    wanted = ["optimal_sms", "sms_at_peak_bw", "mwp_peak_bw", "case", "runtime_power", "time"]
    ds = dse.evaluate("ipp", machine="gtx280", outputs=wanted, **given)
    return {name: float(ds[name]) for name in wanted}


@cache
def search(comp_insts: float, goal: str = "perf_per_watt") -> dict[str, float]:
    """The best number of SMs by exact search, and what the equation says."""
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        axes={"active_sms": range(1, 31)},
        set={**BANDWIDTH_BOUND, "comp_insts": comp_insts},
        outputs=["optimal_sms", "perf_per_watt"],
    )
    best: dict[str, float] = dse.best_config(study.optimum(maximize=goal))
    return best


# --- a union and no more


def test_ipp_is_a_union_by_name_alone() -> None:
    named, joined = load_model("ipp"), load_model(PARTS)
    assert ipp.UNION == PARTS
    assert named.equations == joined.equations
    assert named.rules == joined.rules
    assert named.quantities == joined.quantities
    assert named.outputs == ipp.OUTPUTS
    assert named.families == joined.families
    assert [name for name in vars(ipp) if name.isupper()] == ["UNION", "OUTPUTS"]
    assert "ipp" in dse.models()


def test_it_gives_what_the_union_gives() -> None:
    spec: dict[str, Any] = {
        "machine": "gtx280",
        "workload": "sepia",
        "axes": {"threads_per_block": [64, 100, 256], "active_sms": [1, 20, 30]},
        "outputs": list(ipp.OUTPUTS),
    }
    named, joined = dse.Study(model="ipp", **spec).run(), dse.Study(model=PARTS, **spec).run()
    for name in ipp.OUTPUTS:
        assert named[name].dims == joined[name].dims
        assert np.array_equal(named[name].values, joined[name].values, equal_nan=True)


def test_it_joins_further_models() -> None:
    ds = dse.evaluate(
        "ipp + temperature",
        machine="gtx280",
        workload="svm",
        threads_per_block=128,
        elapsed=[0.0, 600.0],
        outputs=["power", "power_at", "temperature"],
    )
    assert float(ds.power_at[0]) == float(ds.power)
    assert ds.power_at[1] > ds.power
    with pytest.raises(dse.DseError, match="two definitions"):
        load_model("ipp + apsp")
    assert "work" in load_model("ipp + apsp", prefer="ipp").yields


@pytest.mark.parametrize("machine", ["gtx280", "gtx580"])
def test_every_workload_on_both_machines(machine: str) -> None:
    of_mwp_cwp = [
        name
        for name, entry in dse.workloads().items()
        if {"comp_insts", "elements"} <= set(entry.values)  # without a launch of their own
        and "blocks" not in entry.values
    ]
    axes, given_ = {"workload": of_mwp_cwp}, {"threads_per_block": 256}
    outputs = ["power", "standing_power", "time", "energy"]
    printed: dict[str, Any] = {"model": "ipp", "machine": machine, "axes": axes, "set": given_}
    ds = dse.Study(**printed, outputs=outputs).run()
    assert np.all(ds.power >= ds.standing_power)
    assert np.all(ds.energy == ds.power * ds.time)
    assert np.all(ds.energy > 0)


def test_access_rates_take_the_cycles_without_and_energy_the_time_with_synchronisation() -> None:
    """Eq. 61 takes one of Eqs. 58-60; the run, and so its energy, lasts for Eq. 27."""
    given_ = {"machine": "gtx280", "workload": "sepia", "threads_per_block": 256}
    free, synced = (dse.evaluate("ipp", sync_insts=sync, **given_) for sync in (0, 50))
    assert float(free.issue_rate) == float(synced.issue_rate)
    assert float(free.power) == float(synced.power)
    assert float(free.exec_cycles) == float(synced.exec_cycles) < float(synced.total_cycles)
    assert float(synced.energy) > float(free.energy)


# --- §3.3.2: how many SMs


@pytest.mark.parametrize("comp_insts", [1, 50, 100, 300, 500])
def test_bandwidth_bound_benchmarks_get_20_sms(comp_insts: int) -> None:
    """§3.5.5: "IPP returns 20 for all the evaluated bandwidth-limited benchmarks"."""
    got = bandwidth_bound(comp_insts)
    assert got["optimal_sms"] == 20
    assert got["sms_at_peak_bw"] == pytest.approx(120e9 / (1.3e9 * 128 / 450 * 16))
    assert got["case"] == 2
    assert bandwidth_bound(comp_insts, departure_delay_coalesced=4)["optimal_sms"] == 20


@pytest.mark.parametrize("comp_insts", [1500, 3000, 20000])
def test_compute_bound_benchmarks_get_all_30(comp_insts: int) -> None:
    """§3.5.5: "and 30 for Cmem"."""
    assert bandwidth_bound(comp_insts)["optimal_sms"] == 30
    assert search(comp_insts)["active_sms"] == 30


@pytest.mark.parametrize("mwp", [5.878, 3.0])
def test_svm_and_bs_do_not_reach_the_bandwidth(mwp: float) -> None:
    """§3.5.4: their MWP of 5.878 and 3 is below the MWP_peak_BW of 10.8."""
    assert bandwidth_bound(100, mwp_without_bw_full=mwp)["optimal_sms"] == 30


def test_few_warps_get_all_sms() -> None:
    """Condition (1), case 1: N below what the bandwidth allows."""
    got = bandwidth_bound(100, threads_per_block=256, blocks=6000)
    assert (got["case"], got["optimal_sms"]) == (1, 30)


def test_no_memory_instructions_get_all_sms() -> None:
    assert bandwidth_bound(100, coalesced_insts=0)["optimal_sms"] == 30


def test_the_equation_does_not_depend_on_the_sms_in_use() -> None:
    """So that it stands beside the answer of the search, over one axis."""
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        axes={"active_sms": range(1, 31)},
        set={**BANDWIDTH_BOUND, "comp_insts": 100},
        outputs=["optimal_sms", "perf_per_watt", "mwp", "case", "time"],
    )
    ds = study.run()
    assert ds.optimal_sms.dims == ()
    best = study.optimum(maximize="perf_per_watt")
    assert (int(best.active_sms), float(best.optimal_sms)) == (21, 20)
    assert int(best.active_sms) == int(ds.perf_per_watt.argmax("active_sms")) + 1


def test_where_equation_and_search_differ() -> None:
    """Eq. 63 rounds 20.28, to SMs that fall short of the bandwidth; and has N where CWP binds."""
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        axes={"active_sms": range(1, 31)},
        set={**BANDWIDTH_BOUND, "comp_insts": 100},
        outputs=["time", "case", "power"],
    )
    ds = study.run().sel(active_sms=[20, 21, 30])
    assert ds.case.values.tolist() == [1, 2, 2]
    assert float(ds.time[0]) > 1.03 * float(ds.time[1])  # 20.28 - 20, and the jump of case 1
    assert float(ds.time[1]) == pytest.approx(float(ds.time[2]), rel=2e-3)
    assert np.all(np.diff(ds.power.values) > 0)
    near = search(1000)  # CWP is 11.2, just above MWP_peak_BW: Eq. 23 is longer than Eq. 22
    assert (near["optimal_sms"], near["active_sms"]) == (20, 30)


def test_least_energy_is_most_work_per_energy() -> None:
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        workload="linear",
        axes={"threads_per_block": range(32, 513, 32), "active_sms": range(1, 31)},
    )
    least, most = study.optimum(minimize="energy"), study.optimum(maximize="perf_per_watt")
    assert dse.best_config(least) == dse.best_config(most)


# --- energy of every model that yields time and power

OWN = '''"""A model of time and power."""
import dse

@dse.equation(source="own")
def time(elements, core_clock):
    return elements / core_clock

@dse.equation(source="own")
def power(core_clock):
    return core_clock * 1e-8
'''


def test_a_model_of_ones_own_has_energy_too(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    ds = dse.evaluate(str(path), elements=4e9, core_clock=2e9)
    assert (float(ds.time), float(ds.power)) == (2, 20)
    assert (float(ds.energy), float(ds.edp), float(ds.ed2p)) == (40, 80, 160)
    assert [ds[name].attrs["units"] for name in ("energy", "edp", "ed2p")] == ["J", "J s", "J s^2"]


def test_a_union_has_energy_where_one_part_has_time_and_another_power(tmp_path: Path) -> None:
    whole = OWN.split("@dse.equation")
    for name, part in (("first", whole[1]), ("second", whole[2])):
        (tmp_path / f"{name}.py").write_text(f"{whole[0]}@dse.equation{part}")
    first, second = (str(tmp_path / f"{name}.py") for name in ("first", "second"))
    assert "energy" not in load_model(first).yields
    assert {"energy", "edp", "ed2p"} <= set(load_model(f"{first} + {second}").yields)


def test_ones_own_energy_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        OWN + "\n@dse.equation(source='own')\ndef energy(power):\n    return power * 3\n"
    )
    ds = dse.evaluate(str(path), elements=4e9, core_clock=2e9)
    assert (float(ds.energy), float(ds.edp), float(ds.ed2p)) == (60, 120, 240)


def test_a_clock_that_costs_energy_has_an_optimum_within() -> None:
    """Latency in time and cubic power: neither the fastest nor the slowest clock is best."""
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        workload="blackscholes",
        axes={"core_clock": {"start": "0.3 GHz", "stop": "2.0 GHz", "step": "0.05 GHz"}},
        set={"threads_per_block": 256},
    )
    assert study.plan().warnings == ()
    clock = {goal: float(study.optimum(minimize=goal).core_clock) for goal in ("energy", "ed2p")}
    assert 0.3e9 < clock["energy"] < 2e9
    assert clock["energy"] <= clock["ed2p"]
    assert float(study.optimum(minimize="time").core_clock) == 2e9


# --- the same in every world

AGREE: dict[str, Any] = {
    "machine": "gtx280",
    "workload": "linear",
    "axes": {
        "comp_insts": [1, 50, 111, 5000],
        "threads_per_block": [32, 100, 256],
        "active_sms": [1, 7, 30],
        "core_clock": [0.5e9, 1.3e9, 1.7e9],
    },
    "set": {"int_insts": 20, "sync_insts": 2, "sfu_insts": 3},
}


@long
def test_numpy_and_the_nest_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a few ulp: their logarithms, and the powers of the clock, may differ by two."""
    outputs = [*ipp.OUTPUTS, "runtime_power", "fp_power", "global_power", "rate_clamped"]
    arrays = dse.Study(model="ipp", outputs=outputs, **AGREE).run()
    monkeypatch.setattr(sweeps.nest.run, "NUMPY_POINTS", 0)
    nest = dse.Study(model="ipp", outputs=outputs, **AGREE).run()
    for name in outputs:
        assert nest[name].dims == arrays[name].dims
        np.testing.assert_allclose(nest[name].values, arrays[name].values, rtol=1e-14)
    assert np.array_equal(nest.case.values, arrays.case.values)


def test_sympy_agrees() -> None:
    """The closed forms, down to the inputs, with the exact values of a point."""
    model = load_model("ipp")
    wanted = ["power", "energy", "perf_per_watt", "optimal_sms"]
    point = {"threads_per_block": 256, "core_clock": 10**9, "active_sms": 20}
    given_ = {"machine": "gtx280", "workload": "svm", **point}
    inputs = [name for name in model.needs(*wanted) if name not in point]
    ds = dse.evaluate("ipp", outputs=[*wanted, *inputs], **given_)
    value = at(model, {name: float(ds[name]) for name in inputs} | point)
    for name in wanted:
        form = model.closed_form(name, expand=True)
        assert float(value(form)) == pytest.approx(float(ds[name]), rel=1e-12), name


@pytest.mark.parametrize("name", ["energy-gtx280", "sms-at-peak-bandwidth", "energy-speedup"])
def test_examples(name: str) -> None:
    study = dse.Study.from_toml(Path(__file__).parents[2] / "examples" / f"{name}.toml")
    assert study.plan().warnings == ()
    ds = study.run()
    assert all(bool(np.isfinite(values).all()) for values in ds.data_vars.values())


# --- what more bandwidth does

POINT = st.fixed_dictionaries(
    {
        "threads_per_block": st.integers(1, 16).map(lambda warps: 32.0 * warps),
        "active_blocks_per_sm": st.integers(1, 8).map(float),
        "blocks": st.integers(1, 10**5).map(float),
        "n_sms": st.integers(1, 60).map(float),
        "comp_insts": st.floats(0, 1e4),
        "coalesced_insts": st.integers(0, 200).map(float),
        "uncoalesced_insts": st.integers(0, 200).map(float),
        "transactions_per_uncoalesced": st.floats(1, 32),
        "departure_delay_coalesced": st.floats(0, 10),
        "departure_delay_uncoalesced": st.floats(0, 40),
        "mem_latency_dram": st.floats(100, 1000),
        "core_clock": st.floats(5e8, 2e9),
        "issue_cycles": st.floats(1, 8),
        "mem_bandwidth": st.floats(1e8, 1e12),
    }
)


@settings(max_examples=draws(200), deadline=None)
@given(POINT, st.floats(1, 100), st.sampled_from([0.0, 0.5, 1.0]))
def test_more_bandwidth(point: dict[str, float], factor: float, share: float) -> None:
    """It never lowers MWP; within a case, and with two memory instructions, it never costs time."""
    point["sync_insts"] = 0.0
    point["independent_insts"] = share * (point["coalesced_insts"] + point["uncoalesced_insts"])
    less = solve("mwp_cwp", **point)
    more = solve("mwp_cwp", **{**point, "mem_bandwidth": factor * point["mem_bandwidth"]})
    assert more["mwp"] >= less["mwp"]
    if more["case"] == less["case"] and less["mem_insts"] >= 2:
        assert more["exec_cycles"] <= less["exec_cycles"] * (1 + 1e-12)


def values_around(border: float, **given_: float) -> tuple[dict[str, float], dict[str, float]]:
    """Just below and just above the bandwidth at which MWP_peak_BW is at a border."""
    fixed = {"issue_cycles": 4.0, "core_clock": 1e9, "n_sms": 10.0, "blocks": 600.0}
    fixed |= {"uncoalesced_insts": 0.0, "sync_insts": 0.0, "departure_delay_uncoalesced": 0.0}
    fixed |= {"transactions_per_uncoalesced": 1.0, "departure_delay_coalesced": 0.0}
    fixed |= {"mem_latency_dram": 400.0, "threads_per_block": 256.0, **given_}
    per_warp = 1e9 * 128 / 400 * 10
    below, above = (
        solve("mwp_cwp", mem_bandwidth=border * per_warp * (1 + side * 1e-9), **fixed)
        for side in (-1, 1)
    )
    return below, above


def test_the_jump_where_mwp_reaches_n() -> None:
    """From case 2 to case 1: Comp_cycles × Rep more."""
    values = {"comp_insts": 50.0, "coalesced_insts": 10.0, "active_blocks_per_sm": 2.0}
    below, above = values_around(16.0, **values)
    assert (below["case"], above["case"], above["resident_warps"]) == (2, 1, 16)
    jump = above["comp_cycles"] * above["repetitions"]
    assert above["exec_cycles"] - below["exec_cycles"] == pytest.approx(jump, rel=1e-5)
    assert jump > 0


def test_the_jump_where_mwp_passes_cwp_full() -> None:
    """From case 2 to case 3: N·Comp²/(Mem + Comp) × Rep more as printed, otherwise nothing."""
    comp, mem = 4 * 260.0, 400 * 10.0
    border = (mem + comp) / comp
    values = {"comp_insts": 250.0, "coalesced_insts": 10.0, "active_blocks_per_sm": 4.0}
    below, above = values_around(border, **values)
    assert below["exec_cycles"] == pytest.approx(above["exec_cycles"], rel=1e-12)
    below, above = values_around(border, **values, printed=True)
    assert (below["case"], above["case"], above["resident_warps"]) == (2, 3, 32)
    assert (above["comp_cycles"], above["mem_cycles"]) == (comp, mem)
    jump = 32 * comp * comp / (mem + comp) * above["repetitions"]
    assert above["exec_cycles"] - below["exec_cycles"] == pytest.approx(jump, rel=1e-5)
