"""The throughput model: Hong 2012, chapter 5; its printed numbers stand in claims.toml."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.equation import Equation
from symbolic.errors import DseError, InfeasibleError
from symbolic.library import load_model
from symbolic.models import _cycles, _memory_demand, throughput
from symbolic.models.throughput import CATEGORIES
from tests.long import draws
from tests.papers._solve import run_doctests, solve

Point = dict[str, Any]

#: Fig. 147: the share of the GPU in percent, found by hand and by the model.
FIG_147 = (
    *((95.56, 96.42), (96.72, 91.89), (47.28, 84.22), (43.70, 83.76), (60.71, 84.34)),
    *((83.24, 87.36), (88.96, 88.56), (89.97, 91.05), (82.50, 77.49), (87.57, 85.76)),
    *((88.53, 89.76), (95.15, 91.74), (95.98, 93.57), (95.96, 94.30)),
)

#: Mem_Bandwidth / BW_per_warp: the published counts follow from any K between 576 and 608, all of
#: them; Table 14's own figures give 341.5.
K = 592.0
LOWEST_K, HIGHEST_K = 576.0, 608.0

BENCHMARKS = ("cmem", "madd", "mmul", "dmadd", "dotp")


def evaluate(wanted: str, **given: Any) -> float:
    """One quantity at one point, of GTX580 unless said otherwise."""
    given = {"machine": "gtx580", "warps_per_sm": 1} | given
    return float(dse.evaluate("throughput", outputs=[wanted], **given)[wanted])


@cache
def benchmark(name: str, wanted: str, warps: int, k: float = K) -> float:
    """A quantity of a memory benchmark on GTX580, with so many warps an SM."""
    given = {"workload": name, "warps_per_sm": warps, "bw_per_warp": f"mem_bandwidth / {k}"}
    return evaluate(wanted, **given)


def previous_sms(warps: int, k: float = K) -> float:
    """SMs by the model of chapter 2 (Eq. 63): every warp has one request in flight."""
    return math.ceil(min(evaluate("n_sms"), k / warps))


def rational(low: Fraction | int, high: int) -> st.SearchStrategy[Fraction]:
    return st.fractions(low, high, max_denominator=12)


tenth = Fraction(1, 10)
workloads = {
    **{name: rational(0, 40) for name in ("fp_insts", "fp_fused_insts", "int_insts")},
    **{name: rational(0, 40) for name in ("fp_vec_insts", "fp_vec_fused_insts", "misc_insts")},
    "mem_insts": rational(tenth, 40),
    "mem_strength": rational(1, 4),
    "ilp": rational(1, 4),
    "dependency_distance": rational(1, 8),
    "warps_per_sm": st.integers(1, 64).map(Fraction),
}
machines = {
    "active_sms": st.integers(1, 64).map(Fraction),
    "n_sms": st.just(Fraction(64)),
    "fp_units": st.integers(2, 64).map(Fraction),
    "simd_units": st.integers(1, 2).map(Fraction),
    "simd_lanes": st.integers(2, 16).map(Fraction),
    "inst_latency": rational(4, 24),
    "core_clock": rational(1, 3),  # GHz, so that bytes of the bandwidth are in GB
    "mem_bandwidth": rational(1, 2000),
    "mem_latency_dram": rational(200, 800),
    "l1_latency": rational(4, 60),
    "l2_latency": rational(60, 200),
    "departure_delay": st.one_of(st.just(Fraction(0)), rational(1, 200)),
    "bytes_per_thread": st.integers(1, 16).map(Fraction),
    "transaction_bytes": st.just(Fraction(128)),
    "processor": st.sampled_from(["gpu", "cpu"]),
}
caches = {"l1_share": rational(0, 1), "l2_share": st.just(Fraction(0))}
points = st.fixed_dictionaries({**workloads, **machines, **caches})
exactly = settings(max_examples=draws(30), deadline=None)


@cache
def equations(processor: str) -> tuple[Equation, ...]:
    """Return equations of one form, each after those it needs."""
    graph = load_model("throughput").graph(processor=processor)
    return tuple(d.equation for d in graph.definitions.values() if d.equation)


def solve_at(point: Point, **changed: Any) -> Point:
    """Every quantity that follows at a point, in exact rationals."""
    one = Fraction(1)
    known = {"warp_size": 32 * one, "imbalance_loss": one, "thread_distance_bytes": 4 * one}
    known |= point | changed
    for eq in equations(known["processor"]):
        if eq.name not in known and all(name in known for name in eq.inputs):
            known[eq.name] = eq(*(known[name] for name in eq.inputs))
    return known


@pytest.mark.parametrize("module", [throughput, _cycles, _memory_demand])
def test_docstrings(module: Any) -> None:
    failed, attempted = run_doctests(module)
    assert not failed
    assert attempted >= 3


# --- Eqs. 64-70: the mix


@exactly
@given(points)
def test_fractions_sum_to_one(point: Point) -> None:
    got = solve_at(point)
    assert got["narrow_fraction"] + got["wide_fraction"] == 1
    assert got["l1_share"] + got["l2_share"] + got["dram_share"] == 1
    parts = ("effective_ratio", "overhead_fraction", "idle_fraction")
    assert sum(got[part] for part in parts) == 1
    assert all(0 <= got[part] <= 1 for part in parts)
    busy = (got["effective_comp"] - got["effective_perfect"]) * got["warps_per_sm"]
    assert got["overhead_fraction"] == busy / got["period_cycles"]


@exactly
@given(points)
def test_the_four_levels_of_fig_108_are_in_order(point: Point) -> None:
    got = solve_at(point)
    assert got["flops"] <= got["flops_without_memory"] <= got["peak_achievable"]
    assert got["flops_without_ilp"] <= got["flops_without_memory"]


def count_work(got: Point, lanes: Any) -> Any:
    """Return the floating-point operations of all warps that run."""
    operations = got["narrow_fp_insts"] + got["wide_fp_insts"] * (
        2 if got["processor"] == "gpu" else 1
    )
    return operations * lanes * got["warps_run_per_sm"] * got["active_sms"]


@exactly
@given(points, st.sampled_from([1, 32, 64]))
def test_flops_times_time_is_the_work(point: Point, lanes: int) -> None:
    """Whatever the ILP and the mix of instructions; and no rate is above that of the units."""
    lanes = lanes if point["processor"] == "gpu" else 1
    point |= {"warp_size": Fraction(lanes), "warps_run_per_sm": 3 * point["warps_per_sm"]}
    got = solve_at(point)
    assert got["flops"] * got["time"] == count_work(got, lanes)
    assert got["flops"] <= got["peak_achievable"] <= max(got["peak_narrow"], got["peak_wide"])
    if got["processor"] == "gpu":
        most = got["active_sms"] * got["fp_units"] * got["core_clock"]
        assert (got["narrow_fp_insts"] + got["wide_fp_insts"]) * got["flops"] <= most * (
            got["narrow_fp_insts"] + 2 * got["wide_fp_insts"]
        )


def test_flops_times_time_is_the_work_on_every_machine() -> None:
    """Work is conserved at 10,000 random points, and no rate is above that of the units."""
    machines = [name for name in dse.machines() if "fp_units" in dse.machine(name).values]
    assert len(machines) >= 30
    random, count = np.random.default_rng(1), -(-10_000 // len(machines))
    names = ("fp_insts", "fp_fused_insts", "fp_vec_insts", "fp_vec_fused_insts", "int_insts")
    wanted = ["flops", "time", "narrow_fp_insts", "wide_fp_insts", "active_sms", "warp_size"]
    for machine in machines:
        cpu = machine == "e5645_x2"
        warps = np.ones(count) if cpu else random.integers(1, 25, count).astype(float)
        given_: Point = {name: random.integers(0, 40, count).astype(float) for name in names}
        given_ |= {"mem_insts": random.integers(0, 5, count).astype(float), "warps_per_sm": warps}
        given_ |= {"ilp": random.uniform(1, 4, count), "mem_strength": random.uniform(1, 4, count)}
        given_ |= {"dependency_distance": random.uniform(1, 8, count), "inst_latency": 20.0}
        given_ |= {"mem_latency_dram": random.uniform(200, 800, count)}
        ds = dse.evaluate(
            *("throughput",),
            machine=machine,
            outputs=[*wanted, "peak_narrow", "peak_wide"],
            warps_run_per_sm=3 * warps,
            **given_,
        )
        operations = ds.narrow_fp_insts + ds.wide_fp_insts * (1 if cpu else 2)
        work = operations * ds.warp_size * 3 * warps * ds.active_sms
        np.testing.assert_allclose(ds.flops * ds.time, work, rtol=1e-12, err_msg=machine)
        assert np.all(ds.flops <= np.maximum(ds.peak_wide, ds.peak_narrow) * (1 + 1e-12)), machine


def test_fused_instructions_are_two_on_a_cpu() -> None:
    counts = {"fp_insts": 1, "fp_fused_insts": 10, "fp_vec_insts": 100, "fp_vec_fused_insts": 1000}
    gpu, cpu = (solve("throughput", processor=p, **counts) for p in ("gpu", "cpu"))
    assert (gpu["narrow_fp_insts"], gpu["wide_fp_insts"]) == (101, 1010)
    assert (cpu["narrow_fp_insts"], cpu["wide_fp_insts"]) == (21, 2100)


def test_as_printed_no_warp_hides_a_dependency() -> None:
    """On a GPU, N = 24 and 32 differ by nothing then; the correction is of no effect on a CPU."""
    few, many, printed = (
        evaluate("dependency_factor", warps_per_sm=warps, printed=printed)
        for warps, printed in ((8, False), (24, False), (24, True))
    )
    assert (few, many, printed) == (2.5, 1, 20)
    cpu = [
        evaluate("dependency_factor", machine="e5645_x2", printed=printed)
        for printed in (False, True)
    ]
    assert cpu == [4, 4]


def test_a_core_narrower_than_a_warp() -> None:
    wide, narrow = (evaluate("comp_cycles", workload="madd", fp_units=n) for n in (32, 8))
    assert narrow == 4 * wide


def test_without_memory_instructions_nothing_is_short() -> None:
    given_ = {"mem_insts": 0, "fp_insts": 6, "int_insts": 4, "warps_per_sm": 24}
    got = {
        name: evaluate(name, **given_)
        for name in ("flops", "flops_without_memory", "idle_mem_cycles", "category", "mwp_bw")
    }
    assert got["flops"] == got["flops_without_memory"] == 0.6 * 16 * 32 * 1.544e9
    assert (got["idle_mem_cycles"], got["category"], got["mwp_bw"]) == (0, 10, math.inf)


def test_no_floating_point_is_no_throughput_but_takes_time() -> None:
    given_ = {"workload": "madd", "fp_insts": 0, "threads_per_block": 256, "warps_per_sm": 24}
    assert evaluate("flops", **given_) == 0
    assert 0 < evaluate("time", **given_) < evaluate("time", **given_ | {"fp_insts": 6})


def test_instructions_that_are_more_than_all_are_refused() -> None:
    """Otherwise more would come out than the peak."""
    given_ = {"machine": "gtx580", "workload": "svm", "warps_per_sm": 48, "fp_fused_insts": 3000}
    with pytest.raises(InfeasibleError, match=r"misc_insts <= comp_insts"):
        dse.evaluate("throughput", **given_)


def test_nothing_helps_where_nothing_is_computed() -> None:
    given_ = {"warps_per_sm": 8, "fp_insts": 0, "fp_fused_insts": 0}
    advice = dse.advise("throughput", machine="gtx580", workload="cmem", **given_)
    assert advice.values["flops"] == 0
    assert not [move for move in advice.moves if move.helps]


def test_no_warps_are_refused() -> None:
    with pytest.raises(DseError, match="warps_per_sm >= 1"):
        evaluate("flops", workload="madd", warps_per_sm=0)


# --- Eqs. 71-82: requests in flight


@exactly
@given(points)
def test_mwp_is_the_least_and_idle_cycles_are_those_of_the_print(point: Point) -> None:
    got = solve_at(point)
    warps, comp, latency = got["warps_per_sm"], got["effective_comp"], got["mem_latency"]
    demand = min(max(latency / comp, 1), warps) * got["mem_strength"]
    mwp = min(demand, got["mwp_bw"], got["mwp_proc"], warps)
    assert (got["mwp_app"], got["mwp"]) == (demand, mwp)
    total = latency * warps / mwp + comp * max(mwp - 1, 0)
    assert got["idle_mem_cycles"] == max(total - comp * warps, 0)
    assert got["exposed_mem_ratio"] == got["idle_mem_cycles"] / (latency * warps)


@exactly
@given(points)
def test_a_level_of_memory_is_what_hits_there_give(point: Point) -> None:
    """And for requests one at a time all hits and no hits bound every mix of them."""
    point |= {"mem_strength": Fraction(1)}
    mixed = solve_at(point)
    every, none = solve_at(point, l1_share=Fraction(1)), solve_at(point, l1_share=Fraction(0))
    second = solve_at(point, l1_share=Fraction(0), l2_share=Fraction(1))
    assert every["flops_l1"] == every["flops"] == mixed["flops_l1"]
    assert second["flops_l2"] == second["flops"] == mixed["flops_l2"]
    assert none["flops_dram"] == none["flops"] == mixed["flops_dram"]
    assert mixed["flops_dram"] <= mixed["flops"]
    assert mixed["flops"] <= mixed["flops_l1"] or point["departure_delay"]


@given(
    st.integers(1, 64),
    st.integers(0, 300),
    st.integers(1, 256),
    st.sampled_from([32, 64, 128]),
)
def test_transactions_are_the_segments_that_a_warp_touches(
    warp: int, distance: int, size: int, segment: int
) -> None:
    """Enumeration agrees where threads lie no further apart than a segment, or begin segments."""
    if distance > segment:
        distance -= distance % segment
    firsts = (thread * distance for thread in range(warp))
    touched = {byte // segment for first in firsts for byte in range(first, first + size)}
    got = _memory_demand.transactions_per_request(warp, distance, size, segment)
    assert got == len(touched) or (distance > segment and size > segment)
    assert got >= len(touched)


# --- Figs. 114 and 115: the categories

#: The conditions as printed.
PRINTED: dict[int, Callable[[Any, Any, Any, Any, Any], bool]] = {
    1: lambda n, inf, proc, bw, app: n < inf and proc < app and bw < app,
    2: lambda n, inf, proc, bw, app: n < inf and proc < app and bw >= app,
    3: lambda n, inf, proc, bw, app: n < inf and proc >= app and bw < 0.85 * app,
    4: lambda n, inf, proc, bw, app: n < inf and proc >= app and 0.85 * app <= bw < app,
    5: lambda n, inf, proc, bw, app: n < inf and proc >= app and bw >= app,
    6: lambda n, inf, proc, bw, app: n >= inf and proc < app and bw < app,
    7: lambda n, inf, proc, bw, app: n >= inf and proc < app and bw >= app,
    8: lambda n, inf, proc, bw, app: n >= inf and proc >= app and bw < 0.85 * app,
    9: lambda n, inf, proc, bw, app: n >= inf and proc >= app and 0.85 * app <= bw < app,
    10: lambda n, inf, proc, bw, app: n >= inf and proc >= app and bw >= app,
}
FIVE = ("warps_per_sm", "mwp_app_infinite", "mwp_proc", "mwp_bw", "mwp_app")
some = st.one_of(st.integers(1, 12).map(float), st.floats(0.1, 100), st.just(math.inf))


@given(some, some, some, some, some)
def test_category_is_the_one_printed_condition_that_holds(
    warps: float, infinite: float, departures: float, bandwidth: float, demand: float
) -> None:
    five = (warps, infinite, departures, bandwidth, demand)
    state = [number for number, condition in PRINTED.items() if condition(*five)]
    assert state == [throughput.category(*five)]


@exactly
@given(points)
def test_category_is_a_function_of_its_five_inputs(point: Point) -> None:
    assert throughput.category.inputs == FIVE
    got = solve_at(point)
    five = {name: got[name] for name in (*FIVE, "processor")}
    assert solve_at(five)["category"] == got["category"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_category_is_reached(category: int) -> None:
    """Limits of one kernel by warps, bandwidth and departures."""
    given_ = {
        "warps_per_sm": 8 if category <= 5 else 48,  # 45 hide the latency
        "departure_delay": 100 if category in (1, 2, 6, 7) else 0,
        "mem_bandwidth": {0: "1 GB/s", 1: "1 TB/s"}[category in (2, 5, 7, 10)],
    }
    if category in (4, 9):  # nine tenths of what is asked for
        requested = evaluate("mwp_app", fp_insts=9, mem_insts=1, **given_)
        given_["mwp_bw"] = 0.9 * requested
    assert evaluate("category", fp_insts=9, mem_insts=1, **given_) == category


def test_more_warps_shift_the_category_of_the_saturating_benchmarks_alone() -> None:
    """Fig. 125: of N = 8 to 32; Cmem has computation enough for its warps."""
    result = {
        name: [benchmark(name, "category", warps) for warps in (8, 16, 24, 32)]
        for name in BENCHMARKS
    }
    assert result["dmadd"] == result["dotp"] == [5, 5, 3, 3]
    assert result["madd"] == result["mmul"] == [5, 5, 5, 5]
    assert result["cmem"] == [5, 5, 5, 10]


# --- Eqs. 83-93: suggestions


@exactly
@given(points)
def test_suggested_warps_ask_for_no_more_than_the_bandwidth_allows(point: Point) -> None:
    got = solve_at(point)
    suggested = solve_at(point, warps_per_sm=got["suggested_warps"])
    alone = solve_at(point, warps_per_sm=Fraction(1))
    if alone["mwp_app"] <= alone["mwp_bw"]:
        assert suggested["mwp_app"] <= suggested["mwp_bw"]
    else:
        assert got["suggested_warps"] == 1
    assert 1 <= got["suggested_warps"] <= got["warps_per_sm"]
    assert (got["suggested_warps"] == got["warps_per_sm"]) or got["mwp_app"] > got["mwp_bw"]


@settings(max_examples=draws(80), deadline=None)
@given(st.integers(1, 100), st.floats(0.1, 10), st.sampled_from([-1, 0, 1]))
def test_suggested_warps_hold_to_the_last_digit(warps: int, strength: float, ulps: int) -> None:
    """The bandwidth for just so many warps, and its neighbours among the floats."""
    limit = warps * strength
    limit += ulps * math.ulp(limit)
    given_ = {"warps_per_sm": 2.0 * warps, "mwp_app": 2.0 * warps * strength, "mwp_bw": limit}
    result = throughput.suggested_warps(mem_strength=strength, **given_)
    assert result == 1 or result * strength <= limit
    assert result >= warps - 1


@exactly
@given(points)
def test_suggested_sms_are_the_most_for_which_the_bandwidth_suffices(point: Point) -> None:
    """Eq. 84, unless even one SM asks for more; and one SM more would not satisfy it."""
    got = solve_at(point)
    suggested = got["suggested_sms"]
    assert 1 <= suggested <= got["active_sms"]
    assert suggested == int(suggested)
    there = solve_at(point, active_sms=suggested)
    assert there["mwp_app"] <= there["mwp_bw"] or suggested == 1
    if suggested < got["active_sms"]:
        more = solve_at(point, active_sms=suggested + 1)
        assert more["mwp_app"] > more["mwp_bw"]


@given(st.floats(LOWEST_K, HIGHEST_K, exclude_min=True, exclude_max=True))
@settings(max_examples=draws(6), deadline=None)
def test_all_published_counts_follow_from_one_k(k: float) -> None:
    expected = {"dmadd": [16, 16, 13, 10], "dotp": [16, 16, 13, 10], "cmem": [16] * 4}
    given_ = {"warps_per_sm": [8, 16, 24, 32], "bw_per_warp": f"mem_bandwidth / {k!r}"}
    for name, sms in expected.items():
        ds = dse.evaluate("throughput", machine="gtx580", workload=name, **given_)
        excess = dse.evaluate(
            "throughput", machine="gtx580", workload=name, outputs=["bandwidth_excess"], **given_
        )
        assert np.ceil(16 / excess.bandwidth_excess.values).tolist() == sms
        assert ds.suggested_sms.values.tolist() == [16, 16, *(n - (n < 16) for n in sms[2:])]
        assert ds.suggested_warps.values[-1] == (32 if name == "cmem" else 18)
    assert [previous_sms(warps, k) for warps in (8, 32)] == [16, 16]
    assert previous_sms(48, k) < 16  # the only N for which it spares any


def test_no_other_k_gives_the_published_counts() -> None:
    assert 16 / benchmark("dmadd", "bandwidth_excess", 24, LOWEST_K) == 12
    assert benchmark("dmadd", "suggested_warps", 32, HIGHEST_K) == 19


def test_the_printed_scaling_of_warps_misses_where_they_are_more_than_needed() -> None:
    """48 warps of which 24 hide the latency: 37 of them still ask for 48 requests of 37."""
    given_ = {"mwp_app_infinite": 24, "mem_strength": 2, "mwp_bw": 37}
    for printed, warps, enough in ((True, 37, False), (False, 18, True)):
        assert evaluate("suggested_warps", warps_per_sm=48, printed=printed, **given_) == warps
        assert (evaluate("mwp_app", warps_per_sm=warps, **given_) <= 37) is enough


def test_clock_reduction() -> None:
    assert math.isnan(evaluate("clock_reduction", workload="madd", warps_per_sm=1))
    assert evaluate("clock_reduction", mwp_app_infinite=4, warps_per_sm=7) == 0.5


# --- what it joins


def test_with_power_it_gives_energy() -> None:
    wanted = ["power", "time", "energy", "flops", "access_rate_fp", "perf_per_watt"]
    given_ = {"workload": "cmem", "warps_per_sm": 24, "threads_per_block": 256}
    ds = dse.evaluate("throughput + power", machine="gtx580", outputs=wanted, **given_)
    got = {name: float(ds[name]) for name in wanted}
    assert got["energy"] == got["power"] * got["time"]
    assert got["flops"] * got["time"] == pytest.approx(1048576 * 50, rel=1e-12)
    units = 16 * 1.544e9 * 32  # floating-point instructions a second: 26 of 50 operations
    assert got["access_rate_fp"] == pytest.approx(got["flops"] * 26 / 50 / units, rel=1e-12)


def test_with_occupancy_the_warps_follow() -> None:
    ds = dse.evaluate(
        "occupancy + throughput",
        machine="gtx580",
        workload="madd",
        threads_per_block=[64, 192, 256],
        outputs=["warps_per_sm", "mwp", "category"],
    )
    assert ds.warps_per_sm.values.tolist() == [16, 48, 48]
    assert ds.mwp.values.tolist() == [16.0, *[evaluate("mwp_bw", workload="madd")] * 2]


def test_half_the_clock_halves_the_latency_in_cycles() -> None:
    slow, fast = (
        {name: evaluate(name, workload="madd", warps_per_sm=8, core_clock=clock) for name in FIVE}
        for clock in ("0.772 GHz", "1.544 GHz")
    )
    assert slow["mwp_app_infinite"] == fast["mwp_app_infinite"] / 2
    assert slow["mwp_bw"] == fast["mwp_bw"]  # bandwidth and latency are of the DRAM's own clock


def test_advice() -> None:
    point = {"workload": "madd", "warps_per_sm": 48}
    advice = dse.advise("throughput", machine="gtx580", **point)
    assert advice.bound == CATEGORIES[3]
    assert advice.limiter == ("bandwidth",)
    suggested = {output.quantity: output for output in advice.suggestions}
    assert set(suggested) == {"suggested_sms", "suggested_warps", "clock_reduction"}
    for name, output in suggested.items():
        assert output.value == evaluate(name, **point)
    assert (suggested["suggested_sms"].value, suggested["suggested_sms"].of) == (7, "active_sms")
    move = advice["mem_bandwidth"]
    assert move.next_bound == CATEGORIES[4]
    assert move.until == pytest.approx(150e9 * 0.85 * 48 / evaluate("mwp_bw", **point))
    for step in advice.moves:  # each that helps does so, by as much
        if math.isfinite(step.until):
            there = evaluate("flops", **point | {step.quantity: step.until})
            assert there / evaluate("flops", **point) == pytest.approx(step.gain, rel=1e-9)
            assert step.gain > 1


def test_regimes_and_borders() -> None:
    model = load_model("throughput")
    labels = [regime.label for regime in model.regimes("mwp")]
    assert labels == ["demand", "bandwidth", "departures", "warps"]
    border = model.border("bandwidth", "warps", solve_for="mem_bandwidth").args[0][0]
    names = ("bw_per_warp", "dram_share", "sharing_requests", "active_sms")
    names += ("active_blocks_per_sm", "warps_per_block")
    assert border == math.prod(map(model.symbol, names))


def test_fig_147_holds_the_printed_shares() -> None:
    """Their mean distance from those by hand is the "within 17 %"; the largest is 40 points."""
    manual, model = np.array(FIG_147).T
    apart = np.abs(model - manual)
    assert len(FIG_147) == 14
    assert np.mean(apart / manual) == pytest.approx(0.1704, abs=5e-5)
    assert (np.mean(apart), np.max(apart)) == pytest.approx((9.10, 40.06), abs=5e-3)
