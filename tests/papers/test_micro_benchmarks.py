"""Micro-benchmarks of Hong 2012: of one unit each (§3.5.1), of the caches (§3.7), MB_A-H (§5.4)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from symbolic.models import instruction_classes
from tests.papers._solve import run_doctests

UNITS = ("fp", "int", "sfu", "tex", "const", "shared", "mem")
MB = [f"mb_{letter}" for letter in "abcdefgh"]


@cache
def units() -> Any:
    """Power, access rates and the temperature of a long run on a GTX280."""
    rates = [f"access_rate_{unit}" for unit in ("fp", "register", "fds", "global")]
    axes = {"workload": [*(f"unit_{unit}" for unit in UNITS), "mb1_c", "mb4_c"]}
    given = {"threads_per_block": 256, "elapsed": 600}
    outputs = ["power", "runtime_power", "temperature", "power_at", *rates]
    printed: dict[str, Any] = {"model": "ipp + temperature", "machine": "gtx280", "axes": axes}
    return dse.Study(**printed, set=given, outputs=outputs).run()


@cache
def mb(machine: str, ending: str) -> Any:
    given = {"warps_per_sm": 48} if machine == "gtx580" else {}
    outputs = ["flops", "flops_without_memory", "peak_achievable", "mwp", "mwp_app", "mwp_bw"]
    outputs += ["effective_ratio", "exposed_mem_ratio", "flops_without_ilp", "category"]
    axes = {"workload": [name + ending for name in MB]}
    printed: dict[str, Any] = {"model": "throughput", "machine": machine, "axes": axes}
    return dse.Study(**printed, set=given, outputs=outputs).run()


# --- §2.6.4: Table 6


def test_docstrings() -> None:
    assert not run_doctests(instruction_classes)[0]


def test_computation_cycles_of_a_mix_are_the_sum_of_its_classes() -> None:
    """Eq. 30: four cycles for each instruction, times the factor of its class in Table 6."""
    counts: dict[str, Any] = {
        "fp_div_insts": 3,
        "int_mul_insts": 5,
        "int_div_insts": 2,
        "int_mod_insts": 1,
    }
    given: dict[str, Any] = {"comp_insts": 20, "coalesced_insts": 4, "uncoalesced_insts": 0}
    given |= {"issue_cycles": 4}
    model = "mwp_cwp + instruction_classes"
    manual = {"fp_div_factor": 4, "int_mul_factor": 4}
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 3 * 4.2 + 5 * 4.3 + 2 * 30 + 35),
        (manual, 3 * 4 + 5 * 4 + 2 * 30 + 35),
    ]
    for factors, slow in cases:
        ds = dse.evaluate(model, outputs=["comp_cycles"], **given, **counts, **factors)
        assert float(ds.comp_cycles) == pytest.approx(4 * (13 + slow), rel=1e-15)
    simple = dse.evaluate(model, outputs=["comp_factor"], **given)
    assert float(simple.comp_factor) == 1
    with pytest.raises(dse.DseError, match="int_mod_insts <= comp_insts"):
        dse.evaluate(model, outputs=["comp_cycles"], **given, int_mul_insts=21)


# --- §3.5.1: Figs. 41, 42 and 45


def test_access_rates_of_the_floating_point_benchmark_are_close_to_one() -> None:
    """Fig. 42: FP and REG "very close to one", FDS one "when an application reaches the peak"."""
    fp = units().sel(workload="unit_fp")
    assert float(fp.access_rate_register) == float(fp.access_rate_fds) == pytest.approx(1, 1e-3)
    assert float(fp.access_rate_fp) == pytest.approx(20 / 23, rel=1e-3)
    assert float(fp.access_rate_global) == 0


def test_memory_texture_and_constant_cache_draw_more_than_floating_point() -> None:
    """Fig. 41: "MB4, MB8, and MEM benchmarks consume much greater power than the FP benchmark".

    MB8 is in no table.
    """
    power = units().power
    fp = float(power.sel(workload="unit_fp"))
    assert float(power.sel(workload="mb4_c")) > fp + 30
    assert float(power.sel(workload="unit_mem")) > fp + 25
    assert float(power.sel(workload="unit_tex")) > fp + 20
    assert float(power.sel(workload="unit_const")) > fp + 5
    assert float(power.sel(workload="mb1_c")) == fp


def test_the_integer_benchmark_stays_coolest() -> None:
    """Fig. 45: from 68 °C for INT, which draws 5 W more then. Ours: 69.2 °C and 5.6 W."""
    result = units()
    heat = result.temperature
    assert str(heat.workload[int(np.argmin(heat.values))].item()) == "unit_int"
    mine = result.sel(workload="unit_int")
    assert float(mine.temperature) == pytest.approx(69.2, abs=0.05)
    assert float(mine.power_at - mine.power) == pytest.approx(5.55, abs=0.01)
    assert float(heat.max()) < 78  # printed of SVM, the hottest


# --- §3.7: Fig. 55


def test_stress_benchmarks_draw_their_power_where_they_hit() -> None:
    parts = ["l1_power", "l2_power", "global_power", "flops"]
    result = {
        level: dse.evaluate(
            "throughput + power",
            machine="gtx580",
            workload=f"stress_{level}",
            warps_per_sm=48,
            threads_per_block=256,
            outputs=parts,
        )
        for level in ("l1", "l2", "dram")
    }
    drawn = {
        level: [name for name in parts[:3] if float(ds[name]) > 0] for level, ds in result.items()
    }
    assert drawn == {
        "l1": ["l1_power"],
        "l2": ["l2_power"],
        "dram": ["l2_power", "global_power"],
    }
    speeds = [float(ds.flops) for ds in result.values()]
    assert speeds == sorted(speeds, reverse=True)


# --- §5.4 and §5.8: MB_A to MB_H


def test_fused_benchmarks_have_twice_the_performance_on_the_gpu() -> None:
    """Fig. 105: "the peak performance is doubled for MB_E0 to MB_H0"."""
    for name in ("flops_without_memory", "flops", "peak_achievable"):
        for ending in "02":
            values = mb("gtx580", ending)[name].values
            assert np.array_equal(values[4:], 2 * values[:4])
            assert np.all(values[:4] == values[0])  # 48 warps hide every dependence


def test_memory_bounds_them_by_bandwidth_but_not_by_much() -> None:
    """Figs. 104 and 110: "limited by MWP_BW, but not by that much difference"; Fig. 113."""
    result = mb("gtx580", "0")
    assert np.all(result.mwp == result.mwp_bw)
    assert np.all(result.mwp_app / result.mwp_bw < 1.005)
    assert np.all(result.category == 9)  # bandwidth just enough
    assert np.all(result.exposed_mem_ratio < 0.021)  # "a very small value for hidden memory ratio"
    assert np.array_equal(result.flops_without_ilp, result.flops_without_memory)  # Fig. 112


def test_other_instructions_lower_computation_and_hardly_what_memory_leaves() -> None:
    """Figs. 109 and 111: the ratios differ in computation, "become similar" with memory."""
    alone, mixed = mb("gtx580", "0"), mb("gtx580", "2")
    computing = mixed.flops_without_memory.values / alone.flops_without_memory.values
    assert computing == pytest.approx([21 / 25] * 8)
    assert np.all(mixed.flops.values / alone.flops.values > computing)


def test_dependence_on_the_cpu_grows_from_a_to_d_and_fused_ones_do_not_double() -> None:
    """Fig. 141: linear from MB_A to MB_D and from MB_E to MB_H, "does not double for E to H"."""
    ratio = mb("e5645_x2", "0").flops_without_memory.values
    for first in (0, 4):
        assert ratio[first : first + 4] / ratio[first] == pytest.approx([1, 2, 3, 4])
    assert ratio[4:] / ratio[:4] == pytest.approx([42 / 41] * 4)
    assert np.all(mb("e5645_x2", "0").mwp == 1)  # Fig. 142
    assert np.all(mb("e5645_x2", "0").effective_ratio < 0.17)  # Fig. 143


# --- §3.2.4: the powers of units, found from those of the benchmarks


def test_unit_powers_are_fitted_to_a_table_of_workloads_and_their_power(tmp_path: Path) -> None:
    """Measured powers are only drawn (Fig. 41): a table of those by Table 8 gives Table 8 back."""
    names = [*(f"unit_{unit}" for unit in UNITS), "mb4_c", "mb2_uc"]
    axes = {"active_sms": [10, 30], "workload": names}
    given = {"threads_per_block": 256}
    study: dict[str, Any] = {"model": "ipp", "machine": "gtx280", "axes": axes, "set": given}
    power = dse.Study(**study, outputs=["power"]).run().power
    table = power.transpose("active_sms", "workload").to_dataframe()["power"].reset_index()
    path = tmp_path / "measured.csv"
    table.rename(columns={"power": "power [W]"}).to_csv(path, index=False)
    printed = {"fp": 0.2, "int": 0.25, "sfu": 0.5, "texture": 0.9, "const": 0.4, "shared": 1.0}
    printed |= {"const_sm": 0.813, "global": 52}
    free = [f"max_power_{unit}" for unit in printed]
    fit = dse.fit("ipp", path, machine="gtx280", set=given, to="power", free=free, left_out="hat")
    assert [fit[name] for name in free] == pytest.approx([*printed.values()], rel=1e-6)
    some = dse.fit(
        "ipp",
        path,
        machine="gtx280",
        set=given,
        to="power",
        free=["max_power_int"],
        where='workload == "unit_int"',
        left_out="hat",
    )
    assert some["max_power_int"] == pytest.approx(0.25)
    assert some.dataset.workload.values.tolist() == ["unit_int"] * 2
