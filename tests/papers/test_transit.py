"""The transit model: Li 2015, derived from its own premises and checked by brute force."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import transit, transit_demand, transit_profiler, transit_warps
from symbolic.ops import interpret
from symbolic.quantities import TABLE
from tests.long import draws
from tests.papers._solve import run_doctests, solve

THREAD, MEMORY, COMPUTATION, CAPACITY = range(4)


def state(
    n: Any, z: Any, m: Any, r: Any, latency: Any, keep: Any = 1, **more: Any
) -> dict[str, Any]:
    """The machine in the letters of the paper, ``keep`` being l."""
    values = {
        "threads": n,
        "intensity": z,
        "lanes_width": m,
        "ms_peak": r,
        "mem_latency": latency,
        "arithmetic_latency": keep,
    }
    return solve("transit", **values, **more)


def fractions(*values: Any, **more: Any) -> dict[str, Any]:
    return state(*(Fraction(value) for value in values), **more)


# --- each bound (§2.4); L = 400, Z = 32 unless said otherwise


def test_thread_bound() -> None:
    got = fractions(432, 32, 64, 10, 400)
    assert (got["bound"], got["ms_throughput"], got["cs_throughput"]) == (THREAD, 1, 32)
    assert got["threads_in_ms"] == got["threads_in_ms_low"] == got["threads_in_ms_high"] == 400
    assert got["threads_in_cs"] == got["threads_in_cs_low"] == got["threads_in_cs_high"] == 32


def test_memory_bound() -> None:
    """All lanes idle but RZ; whoever waits, waits for memory."""
    got = fractions(1000, 32, 64, "3/2", 400)
    assert (got["bound"], got["ms_throughput"], got["cs_throughput"]) == (
        MEMORY,
        Fraction(3, 2),
        48,
    )
    assert got["threads_in_ms"] == got["threads_in_ms_low"] == got["threads_in_ms_high"] == 952
    assert got["threads_in_cs"] == 48


def test_computation_bound() -> None:
    """All M lanes compute; the spare threads queue for them."""
    got = fractions(1000, 32, 32, "3/2", 400)
    assert (got["bound"], got["ms_throughput"], got["cs_throughput"]) == (COMPUTATION, 1, 32)
    assert got["threads_in_ms"] == got["threads_in_ms_low"] == got["threads_in_ms_high"] == 400
    assert got["threads_in_cs"] == 600


def test_capacity_bound_is_a_range() -> None:
    """Fig. 17: M/Z = R; both curves are flat where they meet, from k = δ to x = π."""
    got = fractions(1000, 32, 48, "3/2", 400)
    assert (got["bound"], got["ms_throughput"], got["cs_throughput"]) == (
        CAPACITY,
        Fraction(3, 2),
        48,
    )
    assert (got["threads_in_ms_low"], got["threads_in_ms_high"]) == (600, 952)
    assert (got["threads_in_cs_low"], got["threads_in_cs_high"]) == (48, 400)
    assert got["threads_in_ms_low"] == got["ms_transition"]
    assert got["threads_in_cs_low"] == got["cs_transition"]
    assert got["threads_in_ms"] == 776
    assert got["threads_in_ms"] + got["threads_in_cs"] == 1000


# --- ties


@pytest.mark.parametrize(
    ("n", "m", "r", "bound"),
    [
        (648, 64, "3/2", MEMORY),  # n/(L+Z) = R
        (432, 32, 10, COMPUTATION),  # n/(L+Z) = M/Z
        (648, 48, "3/2", CAPACITY),  # all three
    ],
)
def test_ties_with_the_threads_go_to_the_full_system(n: int, m: int, r: Any, bound: int) -> None:
    got = fractions(n, 32, m, r, 400)
    assert got["bound"] == bound
    low, high = got["threads_in_ms_low"], got["threads_in_ms_high"]
    assert low == high == got["ms_throughput"] * 400 == n - got["ms_throughput"] * 32


@pytest.mark.parametrize(("shift", "bound"), [(5e-13, CAPACITY), (-5e-13, CAPACITY)])
def test_ties_are_within_1e_12(shift: float, bound: int) -> None:
    assert state(1000.0, 32.0, 48.0 * (1 + shift), 1.5, 400.0)["bound"] == bound


@pytest.mark.parametrize(("shift", "bound"), [(5e-12, MEMORY), (-5e-12, COMPUTATION)])
def test_beyond_1e_12_is_no_tie(shift: float, bound: int) -> None:
    assert state(1000.0, 32.0, 48.0 * (1 + shift), 1.5, 400.0)["bound"] == bound


def test_borders_in_threads() -> None:
    """Memory at R(L+Z), computation at M(L+Z)/Z."""
    for m, r, border, full in ((64, "3/2", 648, MEMORY), (32, 10, 432, COMPUTATION)):
        below, at = (
            fractions(border - Fraction(1, 10**6), 32, m, r, 400),
            fractions(border, 32, m, r, 400),
        )
        assert (below["bound"], at["bound"]) == (THREAD, full)


# --- derived from the premises, Eqs. 1-3

n, z, m, r, latency, k, keep = sp.symbols("n Z M R L k l", positive=True)
SUPPLY = {"rising": k / latency, "flat": r}
DEMAND = {"rising": (n - k) / (keep * z), "flat": m / z}
#: What must not be negative for a piece of a curve to hold at k.
HOLDS = {
    ("supply", "rising"): r * latency - k,
    ("supply", "flat"): k - r * latency,
    ("demand", "rising"): keep * m - (n - k),
    ("demand", "flat"): (n - k) - keep * m,
}


def test_sympy_derives_the_throughput_in_each_regime() -> None:
    """At the crossing of two pieces, "the pieces hold there" says: their throughput is the minimum.

    Each condition is a positive factor times the gap to one of the other two limits.
    """
    thread = transit.thread_limit(n, latency, z, keep)
    computation = transit.computation_limit(m, z)
    limits = {"thread": thread, "memory": r, "computation": computation}
    turn = latency + keep * z
    regimes = {
        ("rising", "rising"): ("thread", (latency, "memory"), (keep * z, "computation")),
        ("flat", "rising"): ("memory", (turn, "thread"), (keep * z, "computation")),
        ("rising", "flat"): ("computation", (latency, "memory"), (turn, "thread")),
    }
    for (supply, demand), (regime, *gaps) in regimes.items():
        (crossing,) = sp.solve(sp.Eq(SUPPLY[supply], DEMAND[demand]), k)
        value = SUPPLY[supply].subs(k, crossing)
        assert sp.simplify(value - limits[regime]) == 0
        assert sp.simplify(DEMAND[demand].subs(k, crossing) - value) == 0
        conditions = [HOLDS["supply", supply], HOLDS["demand", demand]]
        for condition, (factor, other) in zip(conditions, gaps, strict=True):
            gap = factor * (limits[other] - limits[regime])
            assert sp.simplify(condition.subs(k, crossing) - gap) == 0
    # both flat: they cross only if R = M/Z, and then for every k from δ to n − π
    assert sp.solve(sp.Eq(SUPPLY["flat"], DEMAND["flat"]), k) == []
    total = HOLDS["supply", "flat"] + HOLDS["demand", "flat"]
    assert sp.simplify(total.subs(m, r * z) - turn * (thread - r)) == 0
    # so that in every regime the equation's text is what was derived
    assert repr(transit.ms_throughput_sharp.node) == (
        "minimum(minimum(thread_limit, ms_peak), computation_limit)"
    )


def test_sympy_derives_the_smooth_supply() -> None:
    """The equation solves k/(L + k/R) = (n − k)/(l Z); its limit is the roofline's rising part."""
    algebra = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "sqrt": sp.sqrt,
    }
    values = {"threads": n, "intensity": z, "ms_peak": r, "mem_latency": latency}
    values |= {"arithmetic_latency": keep}
    result = interpret(transit.supply_limit_smooth.node, values, algebra, sp.Integer)
    smooth = k / (latency + k / r)
    assert sp.limit(smooth, k, sp.oo) == r
    assert sp.diff(smooth, k).subs(k, 0) == 1 / latency
    flow = sp.Symbol("flow")
    (waiting,) = sp.solve(sp.Eq(smooth, flow), k)
    balance = sp.numer(sp.together((n - waiting) / (keep * z) - flow))
    roots = sp.roots(sp.Poly(balance, flow))
    assert any(sp.simplify(root - result) == 0 for root in roots)
    at = {n: 1000, z: 16, keep: 2, r: sp.Rational(3, 2), latency: 400}
    least = min((root.subs(at) for root in roots), key=float)
    assert sp.simplify(result.subs(at) - least) == 0
    assert sp.factor(sp.limit(result, r, sp.oo), deep=True) == n / (latency + keep * z)


# --- brute force

NAMES = ("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency")


def typical(name: str) -> st.SearchStrategy[float]:
    bounds = TABLE[name].typical
    assert bounds is not None
    return st.floats(*bounds)


MACHINE = st.tuples(*map(typical, NAMES))
WHOLE = st.tuples(
    st.integers(1, 200),
    st.integers(1, 12),
    st.integers(1, 24),
    st.integers(1, 6),
    st.integers(1, 24),
    st.integers(1, 4),
)


def curves(machine: tuple[Any, ...], supply: str) -> tuple[Any, Any]:
    """f(k) and g(x) as the paper draws them."""
    _, z, m, r, latency, keep = machine

    def demand(x: Any) -> Any:
        return min(x / (keep * z), m / z)

    if supply == "sharp":
        return lambda k: min(k / latency, r), demand
    return lambda k: k / (latency + k / r), demand


def bisect(machine: tuple[Any, ...], supply: str) -> float:
    """The throughput at which supply meets demand."""
    f, g = curves(machine, supply)
    low, high = 0.0, machine[0]
    for _ in range(200):
        middle = (low + high) / 2
        if f(middle) < g(machine[0] - middle):
            low = middle
        else:
            high = middle
    return f(high)


@settings(max_examples=draws(100), deadline=None)
@given(MACHINE, st.sampled_from(["sharp", "smooth"]))
def test_brute_force_and_invariants(machine: tuple[float, ...], supply: str) -> None:
    got = state(*machine, supply=supply)
    n, _, m, r, _, _ = machine
    f, g = curves(machine, supply)
    flow = got["ms_throughput"]
    assert flow == pytest.approx(bisect(machine, supply), rel=1e-9)
    assert flow <= got["thread_limit"] * (1 + 1e-12)
    assert flow <= got["computation_limit"]
    assert flow <= r
    assert flow <= got["supply_limit"]
    assert got["cs_throughput"] <= m * (1 + 1e-12)
    low, high = got["threads_in_ms_low"], got["threads_in_ms_high"]
    assert 0 <= low <= got["threads_in_ms"] <= high <= n
    assert got["threads_in_ms"] + got["threads_in_cs"] == pytest.approx(n, rel=1e-15)
    assert got["threads_in_cs_low"] <= got["threads_in_cs"] <= got["threads_in_cs_high"]
    for waiting in (low, high):
        assert f(waiting) == pytest.approx(flow, rel=1e-6)
        assert g(n - waiting) == pytest.approx(flow, rel=1e-6)
    assert got["bound"] in transit.FLAGS
    assert all(math.isfinite(got[name]) for name in transit.OUTPUTS)


@settings(max_examples=draws(150), deadline=None)
@given(WHOLE)
def test_both_ends_of_k_in_fractions(machine: tuple[int, ...]) -> None:
    """Small whole numbers tie often. Every k inside the range balances, none outside does."""
    exact = tuple(map(Fraction, machine))
    n = exact[0]
    got = state(*exact)
    f, g = curves(exact, "sharp")
    low, high = got["threads_in_ms_low"], got["threads_in_ms_high"]
    inside = [low, high, got["threads_in_ms"], (3 * low + high) / 4]
    assert all(f(k) == g(n - k) == got["ms_throughput"] for k in inside)
    step = Fraction(1, 1000)
    outside = [k for k in (low - step, high + step) if 0 <= k <= n]
    assert all(f(k) != g(n - k) for k in outside)
    assert got["threads_in_ms"] + got["threads_in_cs"] == n
    full = (got["ms_peak"] == got["ms_throughput"]) + 2 * (
        got["computation_limit"] == got["ms_throughput"]
    )
    assert got["bound"] == full


def test_every_regime_and_tie_is_among_the_small_whole_numbers() -> None:
    seen = {fractions(n, 2, m, r, 3)["bound"] for n, m, r in product((4, 5, 20), (2, 4, 8), (1, 2))}
    assert seen == {THREAD, MEMORY, COMPUTATION, CAPACITY}


@settings(max_examples=draws(80), deadline=None)
@given(MACHINE)
def test_smooth_lies_below_sharp_and_meets_it_far_from_the_corner(
    machine: tuple[float, ...],
) -> None:
    smooth, sharp = (state(*machine, supply=supply) for supply in ("smooth", "sharp"))
    assert smooth["ms_throughput"] <= sharp["ms_throughput"] * (1 + 1e-12)
    n, z, m, r, latency, keep = machine
    wide = state(n, z, m, r * 1e12, latency, keep, supply="smooth")["supply_limit"]
    assert wide == pytest.approx(n / (latency + keep * z), rel=1e-6)
    crowded = state(n * 1e9, z, m, r, latency, keep, supply="smooth")["supply_limit"]
    assert crowded == pytest.approx(r, rel=1e-3)
    assert smooth["bound"] != CAPACITY


# --- measured machines (§3)

#: Machine: δ (threads, GB/s), π (threads, as printed), lanes, most threads of an SM.
MEASURED = {
    "c2075": ((1536, 8.93), (576, 24.8), 32, 1536),
    "c2075_dp": ((768, 9.29), (384, 14.0), 16, 1536),
    "gtx690": ((2048, 16.25), (2048, 80.0), 192, 2048),
    "gtx690_dp": ((1024, 18.86), (384, 8.0), 8, 2048),
}


@pytest.mark.parametrize("name", MEASURED)
def test_measured_transition_points(name: str) -> None:
    """δ and π as printed, of the machine as shipped: both curves reach their roofs there."""
    (delta, supply), (pi, demand), lanes, most = MEASURED[name]
    wanted = ["cs_transition", "ms_transition", "cs_peak_flops", "ms_peak_bandwidth"]
    given = {"machine": name, "threads": most, "intensity": 1e5}
    ds = dse.evaluate("transit", outputs=[*wanted, "lanes_width", "core_clock"], **given)
    assert [round(float(ds[name]), 9) for name in wanted[:2]] == [pi, delta]
    assert [float(ds[name]) / 1e9 for name in wanted[2:]] == [demand, supply]
    assert float(ds.lanes_width * ds.core_clock) / 1e9 == pytest.approx(demand, rel=1e-12)
    # what was measured is no more than the lanes can do (boosted: GTX 690 to 1.019 GHz)
    clock = 1.019e9 if name.startswith("gtx690") else float(ds.core_clock)
    assert demand * 1e9 <= lanes * clock


@pytest.mark.parametrize("name", MEASURED)
def test_a_machine_saturates_at_the_printed_ordinate(name: str) -> None:
    """Half of π's threads compute at half of its ordinate, and more threads at the ordinate."""
    _, (pi, demand), _, most = MEASURED[name]
    threads = [pi / 2, pi, most]
    given = {"machine": name, "threads": threads, "intensity": 1e9}
    ds = dse.evaluate("transit", outputs=["cs_throughput", "core_clock"], **given)
    rate = ds.cs_throughput.values * float(ds.core_clock) / 1e9
    assert rate == pytest.approx([demand / 2, demand, demand], rel=1e-4)
    assert rate.max() <= demand * (1 + 1e-12)


def test_advice_names_the_computation_roof() -> None:
    """1024 threads of much computation reach the ordinate of π: only more lanes would help."""
    advice = dse.advise("transit", machine="c2075", threads=1024, intensity=500)
    assert (advice.bound, advice.limiter) == ("computation", ("computation",))
    assert advice.values["cs_throughput"] == pytest.approx(24.8 / 1.15)
    (move,) = (move for move in advice.moves if move.helps)
    turn = 1536 / (8.93e9 / (4 * 1.15e9)) + 576 / (24.8 / 1.15) * 500
    assert (move.quantity, move.until) == ("lanes_width", pytest.approx(1024 * 500 / turn))


def test_advice_raises_the_supply_of_a_machine_and_holds_its_latency() -> None:
    """§2.3: the latency is constant; so R is raised until δ = R L meets g, past any bandwidth."""
    given = {"machine": "c2075_dp", "threads": 1536, "intensity": 3}
    ds = dse.evaluate("transit", **given)
    move = dse.advise("transit", **given)["ms_peak"]
    assert move.value == float(ds.ms_peak)
    assert move.next_bound == "thread"
    latency = 384 / (14 / 1.15)  # π: threads over operations per cycle
    assert move.until == pytest.approx(1536 / (float(ds.mem_latency) + latency * 3))


def test_c2075_never_fills_its_memory_system_in_single_precision() -> None:
    """δ = 1536 is all the threads an SM can hold: "linear behavior of f(k)" (§3)."""
    for n, z in product((64, 768, 1536), (1, 30, 1000)):
        ds = dse.evaluate("transit", machine="c2075", threads=n, intensity=z)
        assert int(ds.bound) in (THREAD, COMPUTATION)


def test_a_demand_curve_is_transits() -> None:
    """G(x) of Eq. 1: what Transit computes where memory answers at once and is never full."""
    x = [1.0, 100.0, 576.0, 2000.0]
    alone = dse.evaluate("transit_demand", threads_in_cs=x, cs_transition=576, cs_peak_flops=32.0)[
        "attained_flops"
    ]
    whole = state(np.array(x), 10.0, 32.0, 1e9, 0.0, 18.0)["cs_throughput"]
    assert alone.values == pytest.approx(whole, rel=1e-12)


def test_a_given_transition_is_kept() -> None:
    assert state(100.0, 32.0, 64.0, 1.5, 400.0, ms_transition=1536.0)["ms_transition"] == 1536.0


# --- inputs from elsewhere


def test_inputs_from_a_profiler() -> None:
    got = solve(
        "transit + transit_profiler",
        occupancy=0.5,
        max_threads_per_sm=1536.0,
        issued_insts=6400.0,
        dram_reads=150.0,
        dram_writes=50.0,
        lanes_width=64.0,
        ms_peak=1.5,
        mem_latency=400.0,
    )
    assert (got["threads"], got["intensity"]) == (768, 32)
    assert (got["bound"], got["cs_throughput"]) == (MEMORY, 48)


def test_warps_of_mwp_cwp_travel_the_same_road() -> None:
    """The worked example: 20 warps of 6 requests, one request each 320 cycles.

    At that throughput the 120 requests take Mem_cycles · N/MWP = 38400 cycles, the memory part of
    Eq. 22.
    """
    got = solve(
        "transit + transit_warps + mwp_cwp",
        mem_latency_dram=420,
        departure_delay_uncoalesced=10,
        departure_delay_coalesced=4,
        n_sms=16,
        core_clock=10**9,
        mem_bandwidth=80 * 10**9,
        issue_cycles=4,
        comp_insts=27,
        uncoalesced_insts=6,
        coalesced_insts=0,
        transactions_per_uncoalesced=32,
        sync_insts=6,
        blocks=80,
        threads_per_block=128,
        active_blocks_per_sm=5,
        lanes_width=1,
        ms_peak=Fraction(1, 320),
    )
    assert (got["threads"], got["intensity"], got["mem_latency"]) == (20, 22, 730)
    assert got["bound"] == MEMORY
    assert got["threads"] * got["mem_insts"] / got["ms_throughput"] == 38400
    assert got["mem_cycles"] * got["resident_warps"] / got["mwp"] == 38400


@pytest.mark.parametrize("module", [transit, transit_demand, transit_profiler, transit_warps])
def test_docstrings(module: Any) -> None:
    failed, attempted = run_doctests(module)
    assert failed == 0
    assert attempted > 0
