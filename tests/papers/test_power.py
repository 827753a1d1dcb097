"""Published numbers of the power model: Hong 2012, chapter 3."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.library import load_model
from symbolic.models import _efficiency, _energy, _unit_power, power
from symbolic.ops import references, walk
from symbolic.quantities import TABLE
from tests.long import draws
from tests.papers._solve import equations, run_doctests, solve

UNITS = {
    "int": "int_insts",
    "fp": "fp_insts",
    "sfu": "sfu_insts",
    "alu": "alu_insts",
    "texture": "texture_insts",
    "const": "const_insts",
    "shared": "shared_insts",
    "register": "register_insts",
    "fds": "total_insts",
    "l1": "l1_insts",
    "l2": "l2_insts",
    "global": "global_insts",
    "local": "local_insts",
}
SPECIAL = {"fp", "register", "int", "fds", "texture", "const", "global", "local", "l2"}  # Table 8
OFF_CHIP = {"global", "local", "l2"}
PARTS = [f"{unit}_power" for unit in UNITS]
PARTS += ["const_sm_power", "activation_power", "standing_power"]


@cache
def scaling(sms: int) -> float:
    given = {"blocks": 100, "active_sms": sms, "outputs": ["scaling_factor"]}
    return float(dse.evaluate("power", machine="gtx280", **given)["scaling_factor"])


def special(rate: float) -> float:
    """The function of Spec.Linear, by a unit of 1 W."""
    given = {"issue_rate": rate, "fp_insts": 1, "max_power_fp": 1, "outputs": ["fp_unit_power"]}
    return float(dse.evaluate("power", **given)["fp_unit_power"])


# --- Eqs. 40-42: access rates


def test_eq_42_counts_all_warps_of_an_sm_and_not_those_resident() -> None:
    """80 blocks of 4 warps on 16 SMs are 20 warps each, whatever their occupancy."""
    got = solve("power", blocks=80.0, threads_per_block=128.0, n_sms=16.0)
    assert got["warps_run_per_sm"] == 20


def test_eq_40_by_hand() -> None:
    """200 instructions of 20 warps in 32000 cycles: each takes 4, half of all that there are."""
    got = solve(
        "power",
        warps_run_per_sm=20.0,
        issue_cycles=4.0,
        exec_cycles=32000.0,
        comp_insts=150.0,
        mem_insts=50.0,
    )
    assert got["issue_rate"] == 20 / (32000 / 4)
    assert got["access_rate_fds"] == got["access_rate_register"] == 0.5
    assert got["access_rate_fp"] == 0.375
    assert got["access_rate_global"] == 0.125
    assert got["access_rate_int"] == got["access_rate_local"] == 0


def test_the_printed_4_is_the_issue_cycles() -> None:
    """A machine that issues a warp each cycle accesses its units four times as often in time."""
    given_ = {"warps_run_per_sm": 20.0, "total_insts": 100.0}
    slow = solve("power", issue_cycles=4.0, exec_cycles=8000.0, **given_)
    fast = solve("power", issue_cycles=1.0, exec_cycles=2000.0, **given_)
    assert slow["access_rate_fds"] == fast["access_rate_fds"] == 1


def test_peak_performance_is_a_rate_of_one() -> None:
    """§3.5.1: "the access rate for FDS is one when an application reaches the peak"."""
    given_ = {"comp_insts": 1e5, "coalesced_insts": 0, "uncoalesced_insts": 0}
    given_ |= {"threads_per_block": 256, "workload": "mb1_c", "machine": "gtx280"}
    ds = dse.evaluate("ipp", outputs=["access_rate_fds", "access_rate_fp"], fp_insts=1e5, **given_)
    assert float(ds.access_rate_fds) == pytest.approx(1, rel=1e-12)
    assert float(ds.access_rate_fp) == pytest.approx(1, rel=1e-12)


def test_unit_counts_that_nobody_published_are_assumed() -> None:
    """Table 4 has no counts of units: computation is floating-point, memory is global."""
    for name in ("sepia", "linear", "svm", "mat_naive", "mat_tiled", "blackscholes"):
        values = dse.workload(name).values
        printed = {key: values[key].value for key in ("fp_insts", "register_insts", "global_insts")}
        assert list(printed.values()) == ["comp_insts", "total_insts", "mem_insts"]
        assert all(values[key].assumed for key in printed)
    assert dse.workload("mb2_c").values["fp_insts"].value == 8  # Table 3 prints these


# --- Eqs. 37-39 and Table 8: units


def test_the_function_of_units_that_jump() -> None:
    """§3.2.4: a large step from idle to a low rate, a small one from there."""
    for rate in (1e-3, 0.02, 0.5, 1.0):
        assert special(rate) == pytest.approx(0.1365 * math.log(rate) + 1.001375, rel=1e-14)
    assert special(0.02) > 0.45
    assert special(1.0) - special(0.5) < 0.1
    assert special(6.5159e-4) == special(1e-5) == special(0.0) == 0
    assert 0 < special(6.5161e-4) < 1e-4


@pytest.mark.parametrize("unit", UNITS)
def test_each_unit_follows_its_column_of_table_8(unit: str) -> None:
    given_: dict[str, Any] = {"issue_rate": 0.05, UNITS[unit]: 10, f"max_power_{unit}": 2}
    given_["nominal_clock"] = 1e9
    got = solve("power", **given_)[f"{unit}_unit_power"]
    assert got == pytest.approx(2 * (special(0.5) if unit in SPECIAL else 0.5), rel=1e-14)


@pytest.mark.parametrize("unit", UNITS)
def test_rates_above_1_count_as_1_and_are_flagged(unit: str) -> None:
    def power_at(count: float) -> dict[str, Any]:
        counts = {**dict.fromkeys(UNITS.values(), 0.0), UNITS[unit]: count}
        counts |= {f"max_power_{unit}": 2.0, "nominal_clock": 1e9}
        return solve("power", issue_rate=0.25, **counts)

    assert power_at(4.0)[f"{unit}_unit_power"] == power_at(400.0)[f"{unit}_unit_power"]
    assert power_at(3.0)[f"{unit}_unit_power"] < power_at(4.0)[f"{unit}_unit_power"]
    assert [power_at(count)["rate_clamped"] for count in (4.0, 4.0001)] == [0, 1]
    assert power_at(8.0)[f"access_rate_{unit}"] == 2  # told as it is


def test_all_units_share_one_logarithm_of_the_cycles() -> None:
    """ln(rate) = ln(count) + ln(issue_rate): no unit takes a logarithm of its own at each point."""
    graph = load_model("ipp").graph()
    logs = [n for n in walk([graph.flat("power")]) if n.op == "log"]
    of_cycles = [n for n in logs if "mem_bandwidth" in references(n)]
    assert len(of_cycles) == 1
    assert len(logs) == 1 + len(SPECIAL)


def test_rates_that_were_measured_take_the_place_of_counts() -> None:
    rates = {"fp_insts": 0.5, "total_insts": 0.9, "register_insts": 0.9, "global_insts": 0.1}
    ds = dse.evaluate("power", machine="gtx280", issue_rate=1, blocks=30, outputs=PARTS, **rates)
    assert float(ds.fp_power) == pytest.approx(30 * 0.2 * special(0.5))
    assert float(ds.global_power) == pytest.approx(52 * special(0.1))


# --- Eqs. 35-36, 44-48: SMs in use


def gtx280(**values: Any) -> dict[str, float]:
    """Power of GTX280 at rates of 1/2, given in place of counts."""
    given_ = dict.fromkeys(UNITS.values(), 0.5) | {"issue_rate": 1, "blocks": 1000, **values}
    ds = dse.evaluate("power", machine=given_.pop("machine", "gtx280"), **given_)
    return {str(name): float(ds[name]) for name in ds.data_vars if ds[name].size == 1}


def test_eqs_44_to_48_scale_sms_and_memory_by_the_same_logarithm() -> None:
    every = gtx280()
    for sms in (1, 20, 30):
        got = gtx280(active_sms=sms)
        assert got["sm_power"] == pytest.approx(every["sm_power"] * scaling(sms))
        assert got["memory_power"] == pytest.approx(every["memory_power"] * scaling(sms))
        assert got["power"] == pytest.approx(83 + got["sm_power"] + got["memory_power"])
    assert every["sm_power"] == pytest.approx(30 * every["sm_component_power"])


def test_gtx580_is_linear_with_a_jump() -> None:
    """§3.11.1 and Fig. 73: idle, activation, and each SM the same, with its part of the memory."""
    powers = [gtx280(machine="gtx580", active_sms=sms)["power"] for sms in range(1, 17)]
    got = gtx280(machine="gtx580", active_sms=5)
    step = got["sm_component_power"] + got["memory_power"] / 5
    assert np.allclose(np.diff(powers), step)
    assert got["power"] == pytest.approx(27 + 64 + 5 * step)


@pytest.mark.parametrize("warps", [8, 32])
def test_more_sms_of_gtx580_draw_no_less_for_memory(warps: int) -> None:
    """§5.4.3: "the consumed power is always increased", saturated or not; the DRAM's too."""
    given_: dict[str, Any] = {"workload": "dmadd", "threads_per_block": 512}
    given_ |= {"machine": "gtx580", "warps_per_sm": warps, "active_sms": range(1, 17)}
    ds = dse.evaluate("throughput + power", outputs=["power", "memory_power"], **given_)
    assert np.all(np.diff(ds.power.values) > 0)
    assert np.all(np.diff(ds.memory_power.values) > 0)
    assert ds.memory_power.values[0] < 2  # Fig. 73: 93 W read with one SM, 91 W without any


def test_the_most_that_table_11_allows_to_15_more_sms() -> None:
    """Fig. 116 has 170 W for memory-intensive benchmarks and 60 W for computation alone."""
    machine = dse.evaluate("power", machine="gtx580", outputs=[f"max_power_{u}" for u in UNITS])
    most = {unit: float(machine[f"max_power_{unit}"]) for unit in UNITS}
    computing = sum(most[unit] for unit in ("fp", "int", "register", "fds"))
    memory = most["global"] + most["l2"]
    assert 15 * computing == pytest.approx(54)
    assert 15 * (computing + most["l1"]) + memory * 15 / 16 == pytest.approx(115.5)
    assert 1 - scaling(20) == pytest.approx(0.1528, abs=5e-5)  # what 10 SMs fewer save, GTX280


def test_an_sm_in_use_is_one_that_has_a_block() -> None:
    """Footnote 1: active cores are executing a program; 7 blocks use 7 SMs of 30."""
    assert gtx280(blocks=7)["power"] == gtx280(blocks=7, active_sms=12)["power"]
    assert gtx280(blocks=7)["power"] == gtx280(active_sms=7)["power"]


@pytest.mark.parametrize("machine", ["gtx280", "gtx580"])
def test_power_gating_is_proportional(machine: str) -> None:
    """§3.5.6: of the power of all SMs, idle power and memory too."""
    every = gtx280(machine=machine)
    n = every["n_sms"]
    for sms in (1, 10, n):
        got = gtx280(machine=machine, active_sms=sms, power_gating=True)
        assert got["power"] == pytest.approx(every["power"] * sms / n)
        assert got["standing_power"] == pytest.approx(every["idle_power"] * sms / n)


def test_power_of_the_chip_is_cubic_in_the_clock() -> None:
    """Eq. 107; an exponent of 1 keeps the voltage, 0 the power."""
    plain = gtx280()
    assert plain["core_clock"] == plain["nominal_clock"] == 1.3e9
    for exponent in (0, 1, 3):
        got = gtx280(core_clock=0.65e9, clock_power_exponent=exponent)
        assert got["sm_power"] == pytest.approx(plain["sm_power"] / 2**exponent)
        assert got["power"] == pytest.approx(83 + got["sm_power"] + got["memory_power"])
    assert gtx280(core_clock=0.65e9)["sm_power"] == pytest.approx(plain["sm_power"] / 8)


def test_power_of_dram_follows_its_own_clock() -> None:
    """Road, row 20: as many accesses per second draw the same watts at any core clock."""
    clocks = [0.65e9, 1.3e9, 2.6e9]
    names = ["time", "global_power", "memory_power", "runtime_power", "sm_power"]
    given_: dict[str, Any] = {"machine": "gtx280", "workload": "nmat", "threads_per_block": 256}
    ds = dse.evaluate("ipp", core_clock=clocks, outputs=names, **given_)
    assert ds.time.values == pytest.approx([float(ds.time[1])] * 3, rel=1e-4)
    assert ds.global_power.values == pytest.approx([36.63] * 3, abs=0.005)
    assert np.array_equal(ds.memory_power, ds.global_power)
    assert np.allclose(ds.runtime_power, ds.sm_power + ds.memory_power, rtol=1e-12)


def test_off_chip_power_is_not_multiplied_by_sms() -> None:
    """§3.2.3: the DRAM is one for the chip, and so is the L2 cache of Table 10."""
    names = [f"{unit}_{kind}" for unit in UNITS for kind in ("power", "unit_power")]
    given_ = dict.fromkeys(UNITS.values(), 0.5) | {"issue_rate": 1, "blocks": 1000}
    ds = dse.evaluate("power", machine="gtx580", outputs=names, **given_)
    for unit in UNITS:
        times = 1 if unit in OFF_CHIP else 16
        assert float(ds[f"{unit}_power"]) == pytest.approx(times * float(ds[f"{unit}_unit_power"]))


# --- Fig. 36: shares


def typical(name: str) -> st.SearchStrategy[float]:
    row = TABLE[name]
    if row.typical is None:
        return st.floats(0, 100)
    low, high = row.typical
    if row.domain.whole:
        return st.integers(math.ceil(low), math.floor(high)).map(float)
    ends = [st.just(0.0)] if row.domain.contains(0) else []
    return st.one_of(*ends, st.floats(low if low > 0 else high / 1e6, high))


POINT = st.fixed_dictionaries(
    {
        **{name: typical(name) for name in UNITS.values()},
        **{f"max_power_{unit}": typical(f"max_power_{unit}") for unit in UNITS},
        **{name: typical(name) for name in ("max_power_const_sm", "max_power_activation")},
        **{name: typical(name) for name in ("idle_power", "n_sms", "issue_cycles")},
        **{name: typical(name) for name in ("nominal_clock", "core_clock")},
        "clock_power_exponent": st.floats(0, 4),
        "blocks": st.integers(1, 10**6).map(float),
        "threads_per_block": st.integers(1, 512).map(float),
        "exec_cycles": st.floats(1, 1e10) | st.just(math.inf),
    }
)
SWITCHES = st.fixed_dictionaries(
    {"sm_scaling": st.sampled_from(["log", "linear"]), "power_gating": st.booleans()}
)


@settings(max_examples=draws(100), deadline=None)
@given(POINT, SWITCHES, st.floats(0, 1))
def test_shares_sum_to_the_whole_and_none_is_negative(
    point: dict[str, float], switches: dict[str, Any], share: float
) -> None:
    point["active_sms"] = max(1.0, math.floor(share * point["n_sms"]))
    got = solve("power", **point, **switches)
    assert all(got[name] >= 0 for name in PARTS)
    assert math.isclose(sum(got[name] for name in PARTS), got["power"], rel_tol=1e-9, abs_tol=1e-12)
    chip = [f"{unit}_power" for unit in UNITS if unit not in OFF_CHIP] + ["const_sm_power"]
    assert math.isclose(sum(got[n] for n in chip), got["sm_power"], rel_tol=1e-9, abs_tol=1e-12)
    assert got["power"] >= got["standing_power"]
    if not switches["power_gating"]:
        assert got["power"] >= got["idle_power"]


@settings(max_examples=draws(100), deadline=None)
@given(POINT)
def test_rates_are_clamped(point: dict[str, float]) -> None:
    """No unit draws less than nothing, nor more than at a rate of 1."""
    got = solve("power", **point)
    for unit in UNITS:
        rate, drawn, most = (
            got[name] for name in (f"access_rate_{unit}", f"{unit}_unit_power", f"max_power_{unit}")
        )
        top = 1.001375 if unit in SPECIAL else 1
        assert 0 <= drawn <= most * top
        if unit in SPECIAL and rate < 6.5159e-4:
            assert drawn == 0
        if rate > 1:
            assert math.isclose(drawn, most * top, rel_tol=1e-12)
            assert got["rate_clamped"] == 1
    most = max(got[f"access_rate_{unit}"] for unit in UNITS)
    assert got["rate_clamped"] == (most > 1)


@settings(max_examples=draws(70), deadline=None)
@given(POINT, SWITCHES, st.floats(1, 1e4))
def test_slower_runs_draw_no_more(
    point: dict[str, float], switches: dict[str, Any], factor: float
) -> None:
    fast = solve("power", **point, **switches)["power"]
    point["exec_cycles"] *= factor
    assert solve("power", **point, **switches)["power"] <= fast * (1 + 1e-12)


@settings(max_examples=draws(20), deadline=None)
@given(POINT, SWITCHES)
def test_more_sms_draw_no_less_at_the_same_rates(
    point: dict[str, float], switches: dict[str, Any]
) -> None:
    point |= {"issue_rate": 0.01, "blocks": 1e6}
    powers = [
        solve("power", **point, **switches, active_sms=float(sms))["power"]
        for sms in sorted({1, 2, *range(1, int(point["n_sms"]), 7), int(point["n_sms"])})
    ]
    assert np.all(np.diff(powers) >= -1e-9 * max(powers))


@pytest.mark.parametrize("model", ["power", "temperature", "leakage", "energy_speedup"])
def test_each_combination_of_switches_selects_one_equation(model: str) -> None:
    result = equations(model)
    for name in {eq.name for eq in result}:
        variants = [eq for eq in result if eq.name == name]
        switches = sorted({switch for eq in variants for switch in eq.when})
        for labels in product(*(TABLE[switch].labels or () for switch in switches)):
            chosen = dict(zip(switches, labels, strict=True))
            assert sum(eq.when.items() <= chosen.items() for eq in variants) == 1, (name, chosen)


@pytest.mark.parametrize("module", [_unit_power, _efficiency, _energy, power])
def test_docstrings(module: Any) -> None:
    failed, attempted = run_doctests(module)
    assert failed == 0
    assert attempted > 0


def test_a_formula_of_several_units_takes_the_names_of_its_own_inputs() -> None:
    (equation,) = load_model("power").variants("const_sm_power")
    values = dict(zip(equation.inputs, (0.5, 20.0, 1.0), strict=True))
    assert equation(**values) == equation(*values.values()) == 10
    with pytest.raises(TypeError):
        equation(max_power_const_sm=0.5)
