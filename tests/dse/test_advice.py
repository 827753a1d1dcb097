"""Advice: the borders of Li 2015, §2.4, and of MWP-CWP, by hand, by oracle and by brute force."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st

import dse
from dse.advice import Advice, Move
from symbolic.advice import guides, search_values
from symbolic.crossings import CaseLines, first_crossing
from symbolic.errors import DseError, InfeasibleError, UnknownNameError
from symbolic.graph import extreme_terms
from symbolic.library import load_model
from symbolic.ops import reference
from symbolic.quantities import TABLE, Domain
from tests.long import draws, long
from tests.papers.test_ipp import BANDWIDTH_BOUND

MACHINE = {"lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
WORKED: dict[str, Any] = {
    "mem_latency_dram": 420,
    "departure_delay_uncoalesced": 10,
    "departure_delay_coalesced": 4,
    "n_sms": 16,
    "core_clock": 1e9,
    "mem_bandwidth": 80e9,
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
COALESCED = {**WORKED, "coalesced_insts": 6, "uncoalesced_insts": 0, "blocks": 8000}


def transit(threads: float, intensity: float, **other: Any) -> Advice:
    return dse.advise("transit", threads=threads, intensity=intensity, **{**MACHINE, **other})


def end_of(move: Move) -> float | None:
    return None if math.isnan(move.until) else move.until


def moves(advice: Advice) -> dict[str, tuple[float | None, str | None]]:
    return {"+".join([m.quantity, *m.together]): (end_of(m), m.next_bound) for m in advice.moves}


# --- transit, by hand: L = 600, R = 1, M = 32


def test_thread_bound() -> None:
    advice = transit(100, 10)
    assert (advice.bound, advice.limiter) == ("thread", ("thread",))
    result = moves(advice)
    # min(R(L+Z), M(L+Z)/Z) = min(610, 1952); M L/(n-M) = 19200/68
    assert result["threads"] == (pytest.approx(610, rel=1e-12), "memory")
    assert result["intensity"] == (pytest.approx(19200 / 68, rel=1e-12), "computation")
    assert set(result) == {"threads", "intensity"}
    assert advice["threads"].gain == pytest.approx(6.1)
    assert advice["threads"].source.startswith("Li 2015")
    assert advice["intensity"].equation == "computation_limit"


def test_thread_bound_reaches_computation_first() -> None:
    # M(L+Z)/Z = 32·700/100 = 224 comes before R(L+Z) = 700
    assert moves(transit(100, 100))["threads"] == (pytest.approx(224), "computation")


@pytest.mark.parametrize("threads", [8, 31.5, 32])
def test_few_threads_never_fill_the_lanes(threads: float) -> None:
    move = transit(threads, 10)["intensity"]
    assert (end_of(move), move.next_bound, move.next_limiter) == (None, None, ())
    assert "raise intensity from 10 cycles: no other bound follows, and no limit is k" in str(move)
    assert move.gain == pytest.approx(610 / 10)  # (L+Z)/Z, as Z n/(L+Z) tends to n


def test_memory_bound() -> None:
    result = moves(transit(1024, 10))
    # min(n/R - L, M/R) = min(424, 32); min(n/(L+Z), M/Z) = min(1.678, 3.2)
    assert result == {
        "intensity": (pytest.approx(32), "computation"),
        "ms_peak": (pytest.approx(1024 / 610), "thread"),
    }
    result = moves(transit(620, 10))
    assert result["intensity"] == (pytest.approx(20), "thread")
    result = moves(transit(9000, 10))
    assert result["ms_peak"] == (pytest.approx(3.2), "computation")


def test_computation_bound() -> None:
    # min(Z n/(L+Z), R Z) = min(100·1024/700, 100)
    assert moves(transit(1024, 100)) == {"lanes_width": (pytest.approx(100), "memory")}
    assert moves(transit(400, 100)) == {"lanes_width": (pytest.approx(40000 / 700), "thread")}


def test_capacity_moves_several_at_once() -> None:
    advice = transit(1024, 32)
    assert (advice.bound, advice.limiter) == ("capacity", ("memory", "computation"))
    # both M and R by n/(R(L+Z)), both M and Z by (n/R - L)/Z, all three without end
    assert moves(advice) == {
        "lanes_width+ms_peak": (pytest.approx(32 * 1024 / 632), "thread"),
        "lanes_width+intensity": (pytest.approx(424), "thread"),
        "lanes_width+ms_peak+threads": (None, None),
    }
    assert advice["lanes_width"].together == ("ms_peak", "threads")
    assert advice["lanes_width"].gain == math.inf
    together = transit(1024 * 1.5, 32, lanes_width=32 * 1.5, ms_peak=1.5)
    assert together.values["cs_throughput"] == pytest.approx(1.5 * 32)


def test_capacity_without_threads_to_spare() -> None:
    advice = transit(632, 32)
    assert advice.limiter == ("thread", "memory", "computation")
    result = moves(advice)
    assert result["lanes_width+ms_peak"] == (32, "thread")
    assert result["lanes_width+ms_peak+threads"] == (None, None)
    assert [m.helps for m in advice.moves] == [True, False, False]


def test_a_tie_with_the_threads_is_a_border_at_once() -> None:
    advice = transit(610, 10)  # n/(L+Z) = R
    assert (advice.bound, advice.limiter) == ("memory", ("thread", "memory"))
    assert moves(advice) == {"intensity": (10, "thread"), "ms_peak": (1, "thread")}
    assert not any(move.helps for move in advice.moves)
    assert "no move improves cs_throughput" in str(advice)


positive = {"allow_nan": False, "allow_infinity": False}
POINTS = st.fixed_dictionaries(
    {
        "threads": st.floats(1, 4096, **positive),
        "intensity": st.floats(1, 1000, **positive),
        "lanes_width": st.floats(1, 512, **positive),
        "ms_peak": st.floats(0.01, 10, **positive),
        "mem_latency": st.floats(50, 2000, **positive),
        "arithmetic_latency": st.floats(1, 50, **positive),
    }
)


def by_paper(bound: str, p: dict[str, float]) -> dict[str, Fraction | float]:
    """The first next bound, from §2.4 with l, exactly."""
    names = ("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency")
    n, z, m, r, latency, keep = (Fraction(p[key]) for key in names)
    turn = latency + keep * z
    if bound == "thread":
        full = m * latency / (n - keep * m) if n > keep * m else math.inf
        return {"threads": min(r * turn, m * turn / z), "intensity": full}
    if bound == "memory":
        return {"intensity": min((n / r - latency) / keep, m / r), "ms_peak": min(n / turn, m / z)}
    return {"lanes_width": min(z * n / turn, r * z)}


@settings(deadline=None, max_examples=draws(70))
@given(p=POINTS)
@example(p={**MACHINE, "arithmetic_latency": 1.0, "threads": 100.0, "intensity": 10.0})
@example(p={**MACHINE, "arithmetic_latency": 1.0, "threads": 632.0, "intensity": 10.0})
def test_transit_borders_are_those_of_the_paper(p: dict[str, float]) -> None:
    filled = p["arithmetic_latency"] * p["lanes_width"]
    assume(abs(p["threads"] - filled) > 1e-4 * p["threads"])
    advice = dse.advise("transit", **p)
    assume(advice.bound != "capacity")
    assert advice.bound == flag(p)
    expected = by_paper(advice.bound, p)
    assert {move.quantity for move in advice.moves} == set(expected)
    for name, border in expected.items():
        move = advice[name]
        assert move.direction == "raise"
        if border == math.inf:
            assert (end_of(move), move.next_bound) == (None, None)
            continue
        assert move.until == pytest.approx(float(border), rel=1e-9)
        before, after = move.until * (1 - 1e-6), move.until * (1 + 1e-6)
        ds = dse.evaluate("transit", **{**p, name: [p[name], before, move.until, after]})
        meanings = ds.bound.attrs["flag_meanings"].split()
        _, below, _, above = (meanings[k] for k in ds.bound.values)
        if before > move.value:
            assert below == advice.bound
        assert above == move.next_bound
        here, _, there, _ = ds.cs_throughput.values
        assert move.gain == pytest.approx(there / here, rel=1e-12)
        here, _, there, _ = ds.ms_throughput.values  # principle 1 beside 2 and 3
        assert move.along == {"ms_throughput": pytest.approx(there / here, rel=1e-12)}


def flag(p: dict[str, Any]) -> str:
    ds = dse.evaluate("transit", outputs=["bound"], **p)
    return str(ds.bound.attrs["flag_meanings"].split()[int(ds.bound)])


def goal(model: str, p: dict[str, Any]) -> float:
    name = "cs_throughput" if model == "transit" else "time"
    return float(dse.evaluate(model, outputs=[name], **p)[name])


def test_transit_agrees_with_the_closed_borders() -> None:
    import sympy

    model = load_model("transit")
    for point, quantity in [
        ({"threads": 100.0, "intensity": 10.0}, "threads"),
        ({"threads": 100.0, "intensity": 10.0}, "intensity"),
        ({"threads": 1024.0, "intensity": 10.0}, "ms_peak"),
        ({"threads": 1024.0, "intensity": 100.0}, "lanes_width"),
    ]:
        values = {**MACHINE, "arithmetic_latency": 1.0, **point}
        advice = dse.advise("transit", **values)
        move = advice[quantity]
        assert move.next_bound is not None
        border = model.border(advice.bound, move.next_bound, solve_for=quantity)
        at = {symbol: sympy.Rational(values[symbol.name]) for symbol in border.free_symbols}
        assert move.until == pytest.approx(float(border.subs(at)), rel=1e-12)


# --- what is given, where the domain ends, other supplies


def test_a_given_value_cuts_the_advice_through_its_equation() -> None:
    advice = transit(100, 10, thread_limit=0.5)
    # r = min(0.5, 1, M/Z): no more threads help; Z helps until M/Z = 0.5
    assert moves(advice) == {"intensity": (pytest.approx(64), "computation")}


def test_a_formula_is_moved_through_its_inputs() -> None:
    result = moves(transit("4 * lanes_width", 10))  # type: ignore[arg-type]
    assert result["lanes_width"] == (pytest.approx(610 / 4), "memory")
    assert "threads" not in result


def test_no_advice_beyond_the_domain() -> None:
    values = {**MACHINE, "max_threads_per_sm": 500, "occupancy": 0.25}
    counters = {"issued_insts": 1000, "dram_reads": 50, "dram_writes": 50}
    advice = dse.advise("transit + transit_profiler", **values, **counters)
    move = advice["occupancy"]
    assert (move.value, move.until, move.next_bound, move.gain) == (0.25, 1.0, None, 4.0)
    assert "domain [0, 1]" in move.limit
    assert moves(advice)["max_threads_per_sm"] == (2440, "memory")
    assert {m.quantity: m.direction for m in advice.moves}["dram_reads"] == "lower"


def test_smooth_supply() -> None:
    advice = transit(1024, 100, supply="smooth")
    assert advice.bound == "computation"
    move = advice["lanes_width"]  # until M/Z is what supply and demand give without lanes
    free = dse.evaluate("transit", threads=1024, intensity=100, **{**MACHINE, "supply": "smooth"})
    assert move.until == pytest.approx(100 * float(free.supply_limit))
    assert move.next_bound == "memory"
    assert any("never fills" in note for note in advice.notes)
    advice = transit(1024, 10, supply="smooth")
    assert advice.bound == "memory"
    values = {**MACHINE, "threads": 1024, "intensity": 10, "supply": "smooth"}
    for move in advice.moves:
        there = goal("transit", {**values, move.quantity: move.until})
        assert move.gain == pytest.approx(there / goal("transit", values))
        assert flag({**values, move.quantity: move.until * (1 + 1e-6)}) == move.next_bound


# --- MWP-CWP: the worked example


def test_worked_example() -> None:
    advice = dse.advise("mwp_cwp", **WORKED)
    assert (advice.state, advice.bound, advice.limiter) == ("case", "memory bound", ("latency",))
    assert advice.terms == pytest.approx({"latency": 2.28125, "warps": 20, "bandwidth": 28.515625})
    assert (advice.values["cwp"], advice.values["mwp"]) == (20.0, 2.28125)
    result = {(m.quantity, m.direction): m for m in advice.moves}
    # (420 + 31 d)/(32 d) = (420 + 31 d)/25.6: the bandwidth before the 20 warps
    move = result["departure_delay_uncoalesced", "lower"]
    assert (move.until, move.next_limiter) == (pytest.approx(0.8, rel=1e-12), ("bandwidth",))
    assert (move.next_bound, move.equation, move.helps) == ("memory bound", "mwp_peak_bw", True)
    # Eq. 22 = Eq. 23: 4380 · 20/2.28125 + 1.28125 C/6 = 730 + 20 C, with C = 4 (c + 6)
    move = result["comp_insts", "raise"]
    border = (4380 * 20 / 2.28125 - 730) / (20 - 1.28125 / 6)
    assert move.until == pytest.approx(border / 4 - 6, rel=1e-12)
    assert (move.next_bound, move.equation, move.helps) == ("computation bound", "case", False)
    # bandwidth sets MWP below 2.28125/28.515625 of 80 GB/s; until there nothing changes
    move = result["mem_bandwidth", "lower"]
    assert (move.until, move.gain) == (pytest.approx(6.4e9), pytest.approx(1))
    assert ("mem_bandwidth", "raise") not in result
    assert ("active_blocks_per_sm", "raise") not in result  # 80 blocks on 16 SMs: 5 each
    assert ("active_sms", "raise") not in result  # all 16 are active


def test_ties_are_told() -> None:
    # N = 4 and latency/departure = (420 + 4)/106 = 4
    values = {**COALESCED, "departure_delay_coalesced": 140, "active_blocks_per_sm": 1}
    assert dse.advise("mwp_cwp", **values).limiter == ("latency", "warps")


def test_whole_quantities_stop_at_the_first_number_beyond() -> None:
    # N = 4 b, MWP_peak_BW = 80e9·424/(1e9·128·16) = 16.5625, CWP_full = 2676/132 = 20.27
    advice = dse.advise("mwp_cwp", **{**COALESCED, "active_blocks_per_sm": 3})
    assert (advice.bound, advice.limiter) == ("not enough warps", ("warps",))
    move = advice["active_blocks_per_sm"]
    assert (move.direction, move.until) == ("raise", 5)  # 16 warps still fit, 20 do not
    assert (move.next_bound, move.next_limiter) == ("memory bound", ("bandwidth",))
    here, there = (
        goal("mwp_cwp", {**COALESCED, "active_blocks_per_sm": blocks}) for blocks in (3, 5)
    )
    assert move.gain == here / there


def test_rules_end_the_way() -> None:
    # 12 of 16 SMs, one block: 424 cycles of latency bind nothing; more SMs divide the blocks
    values = {**COALESCED, "active_blocks_per_sm": 1, "active_sms": 12}
    move = dse.advise("mwp_cwp", **values)["active_sms"]
    assert (move.until, move.next_bound) == (16, None)
    assert move.limit == "the rule active_sms <= n_sms"
    assert move.gain == pytest.approx(16 / 12)


def test_no_memory_instructions() -> None:
    advice = dse.advise("mwp_cwp", **{**WORKED, "uncoalesced_insts": 0})
    assert (advice.bound, advice.limiter) == ("computation bound", ("warps",))
    move = advice["uncoalesced_insts"]
    # one request in a long computation: nothing but MWP changes, and at once
    assert (move.value, move.until, move.next_limiter) == (0, 0, ("latency",))
    lower = dse.advise("mwp_cwp", **{**COALESCED, "active_blocks_per_sm": 8})
    result = [m for m in lower.moves if (m.quantity, m.direction) == ("coalesced_insts", "lower")]
    assert result[0].until >= 0


def test_printed_equations_have_another_term() -> None:
    values = {**COALESCED, "active_blocks_per_sm": 3, "independent_insts": 4, "printed": True}
    advice = dse.advise("mwp_cwp", **values)
    assert set(advice.terms) == {"latency", "resident_warps", "bandwidth", "warps"}
    assert advice.limiter == ("resident_warps",)


def test_a_given_mwp_is_not_advised_on() -> None:
    advice = dse.advise("mwp_cwp", **WORKED, mwp=2)
    assert advice.terms == {"mwp": 2.0}
    assert not {m.quantity for m in advice.moves} & {"mem_bandwidth", "mwp"}


WARPS = st.fixed_dictionaries(
    {
        "mem_latency_dram": st.floats(200, 800),
        "departure_delay_uncoalesced": st.floats(0, 40),
        "departure_delay_coalesced": st.floats(0, 10),
        "mem_bandwidth": st.floats(1e10, 1e12),
        "core_clock": st.floats(5e8, 2e9),
        "comp_insts": st.floats(1, 1e4),
        "uncoalesced_insts": st.sampled_from([0.0, 3.0, 40.0]),
        "coalesced_insts": st.sampled_from([0.0, 1.0, 80.0]),
        "active_blocks_per_sm": st.integers(1, 8),
        "active_sms": st.integers(1, 16),
        "blocks": st.sampled_from([7, 80, 8000]),
        "rounding": st.sampled_from(["continuous", "whole"]),
    }
)
TERMS = {
    "latency": "mwp_without_bw_full",
    "bandwidth": "mwp_peak_bw",
    "warps": "parallel_warps",
}


def states(values: dict[str, Any]) -> tuple[list[int], list[set[str]], list[float]]:
    ds = dse.evaluate("mwp_cwp", outputs=["case", "time", *TERMS.values()], **values)
    columns = [np.atleast_1d(ds[name].values) for name in ("case", "time", *TERMS.values())]
    cases, time, *terms = np.broadcast_arrays(*columns)
    least = np.stack(terms) <= np.min(terms, axis=0) * (1 + 1e-12)
    labels = [{name for name, hit in zip(TERMS, column, strict=True) if hit} for column in least.T]
    return cases.tolist(), labels, time.tolist()


@long
@settings(deadline=None, max_examples=draws(12), phases=set(Phase) - {Phase.shrink})  # minutes
@given(p=WARPS)
def test_mwp_cwp_against_brute_force(p: dict[str, Any]) -> None:
    values = {**WORKED, **p}
    advice = dse.advise("mwp_cwp", **values)
    meanings = {1: "not enough warps", 2: "memory bound", 3: "computation bound"}
    (case,), (limiter,), (time,) = states(values)
    assert (advice.bound, set(advice.limiter)) == (meanings[case], limiter)
    for move in advice.moves:
        domain = TABLE[move.quantity].domain
        whole = domain.whole
        assert values[move.quantity] == move.value
        until = end_of(move)
        if until is None:
            until = math.inf if move.direction == "raise" else 0.0
        end = min(until, 1e3 * move.value + 10)
        between = np.linspace(move.value, end, 60)[1:-1]
        if whole:
            between = np.unique(np.rint(between))
            between = between[(between != move.value) & (between != until)]
        if math.isclose(move.value, end, rel_tol=1e-9):
            between = between[:0]
        border = [move.until] if domain.contains(move.until) else []
        beyond = []
        if move.next_bound is not None and move.until and move.until != move.value:
            sign = 1 if move.direction == "raise" else -1
            beyond = [move.until if whole else move.until * (1 + sign * 2e-9)]
        every = np.concatenate([between, border, beyond])
        if not every.size:
            continue
        cases, limiters, times = states({**values, move.quantity: every})
        inside = slice(0, between.size)
        assert set(cases[inside]) <= {case}, move
        assert all(result & limiter for result in limiters[inside]), move
        if border:
            there = times[between.size]
            assert move.gain == (time / there if there else math.inf)
        if beyond:
            assert meanings[cases[-1]] == move.next_bound, move
            assert set(move.next_limiter) & limiters[-1], move


# --- studies


def test_a_study_is_advised_at_a_point_of_its_axes() -> None:
    study = dse.Study(
        model="transit",
        axes={"threads": [100, 1024], "supply": ["sharp", "smooth"]},
        set={"intensity": 10, **MACHINE},
    )
    assert dse.advise(study) == transit(100, 10)
    assert dse.advise(study, threads=1024) == transit(1024, 10)
    assert dse.advise(study, threads="1024", supply="smooth") == transit(1024, 10, supply="smooth")
    with pytest.raises(UnknownNameError, match="no axis"):
        dse.advise(study, thread=1024)
    with pytest.raises(DseError, match="nearest value is 100"):
        dse.advise(study, threads=101)
    with pytest.raises(DseError, match="prefer"):
        dse.advise(study, prefer="transit")


def test_a_study_over_machines_zips_and_tables() -> None:
    blocks = xr.DataArray([4, 8], dims="machine", coords={"machine": ["8800gt", "gtx280"]})
    study = dse.Study(
        model="mwp_cwp",
        workload="svm",
        axes={
            "machine": ["gtx280", "8800gt"],
            "shape": {"zip": {"threads_per_block": [64, 128], "active_sms": [10, 14]}},
        },
        set={"active_blocks_per_sm": blocks},
    )
    direct = dse.advise(
        "mwp_cwp",
        machine="gtx280",
        workload="svm",
        threads_per_block=128,
        active_sms=14,
        active_blocks_per_sm=8,
    )
    assert dse.advise(study, machine="gtx280", shape=1) == direct
    assert dse.advise(study, shape=1) == direct
    assert dse.advise(study, machine="8800gt") != direct


def test_constraints_of_a_study_end_the_way() -> None:
    study = dse.Study(
        model="transit", set={"intensity": 10, "threads": 100, **MACHINE}, where="threads <= 400"
    )
    move = dse.advise(study)["threads"]
    assert (move.until, move.next_bound, move.limit) == (400, None, "the constraint threads <= 400")


def test_inputs_that_stand_at_another_input() -> None:
    advice = dse.advise(
        "occupancy + mwp_cwp", machine="gtx280", workload="svm", threads_per_block=256
    )
    result = {m.quantity for m in advice.moves}
    assert {"core_clock", "active_sms"} <= result  # neither is given: nominal_clock, n_sms
    assert not result & {"nominal_clock", "n_sms", "threads_per_block", "active_blocks_per_sm"}
    assert "registers_per_thread" in result  # behind the resident blocks


def test_of_several_guides_the_outputs_choose() -> None:
    union = "transit + transit_warps + mwp_cwp"
    model = load_model(union)
    assert [guide.state for guide in guides(model)] == ["case", "bound"]  # time first
    values = {**WORKED, "lanes_width": 1, "ms_peak": 0.1}
    assert dse.advise(union, **values).state == "case"
    assert dse.advise(dse.Study(model=union, set=values, outputs=["bound"])).state == "bound"


# --- refusals and form


def test_refusals() -> None:
    with pytest.raises(DseError, match="no advice on the model divergence"):
        dse.advise("divergence", path_probability=0.1)
    with pytest.raises(InfeasibleError, match="active_sms <= n_sms"):
        dse.advise("mwp_cwp", **{**WORKED, "active_sms": 17})
    with pytest.raises(DseError, match="several values belong in axes"):
        transit([1, 2], 10)  # type: ignore[arg-type]
    with pytest.raises(DseError, match="so that its equation is used"):
        transit(100, 10, bound=1)
    with pytest.raises(DseError, match="lacks a value"):
        dse.advise("transit", threads=100, intensity=10, lanes_width=32, ms_peak=1)
    with pytest.raises(DseError, match="no advice on 'ms_peak' here; there is on: "):
        transit(100, 10)["ms_peak"]


def test_form() -> None:
    advice = transit(20, 10)
    with pytest.raises(dataclasses.FrozenInstanceError):
        advice.bound = "memory"  # type: ignore[misc]
    tree = json.loads(json.dumps(advice.to_dict()))
    assert tree["bound"] == "thread"
    assert [m["quantity"] for m in tree["moves"]] == ["intensity", "threads"]
    assert all(isinstance(move, Move) for move in advice.moves)
    text = str(advice)
    assert "raise threads from 20 to 610: then memory; gain 30.5" in text
    assert "no other bound follows, and no limit is known; gain tends to 61" in text


def test_what_the_model_suggests_in_closed_form_is_told() -> None:
    """Hong 2012, section 3.5.5: 20 SMs; Eq. 63 rounds 20.28 down, which costs a little time."""
    given = {"comp_insts": 100, **BANDWIDTH_BOUND}
    advice = dse.advise("ipp", machine="gtx280", **given)
    (result,) = advice.suggestions
    assert (result.quantity, result.of, result.value, result.now) == (
        "optimal_sms",
        "active_sms",
        20,
        30,
    )
    times = [
        float(dse.evaluate("ipp", machine="gtx280", active_sms=sms, **given).time)
        for sms in (30, 20)
    ]
    assert result.gain == times[0] / times[1]
    assert f"optimal_sms = 20 (active_sms is 30): {result.meaning}; gain " in str(advice)
    assert "[Hong 2012, Eq. 63]" in str(advice)
    assert dse.advise("mwp_cwp", **WORKED).suggestions == ()


def test_a_given_suggestion_is_none() -> None:
    given = {"comp_insts": 100, **BANDWIDTH_BOUND}
    assert dse.advise("ipp", machine="gtx280", optimal_sms=7, **given).suggestions == ()


def test_a_model_of_your_own(tmp_path: Any) -> None:
    path = tmp_path / "kiln.py"
    path.write_text(
        '''"""A kiln: bricks fired an hour."""
from symbolic.model import Guide
from symbolic.equation import equation
from symbolic.ops import minimum, where
from symbolic.quantities import quantity

heat = quantity("heat", domain="[0, 10]", meaning="heat")
clay = quantity("clay", domain="whole [0, inf)", meaning="clay")
ADVICE = Guide(state="lack", goal="bricks", limits="bricks", maximize=True, helps="heat, clay")

@equation(domain="[0, inf]")
def bricks(heat, clay):
    return minimum(heat, clay)

@equation(flags={0: "of heat", 1: "of clay"})
def lack(heat, clay):
    return where(heat <= clay, 0, 1)
'''
    )
    advice = dse.advise(str(path), heat=2.5, clay=7)
    assert (advice.bound, moves(advice)) == ("of heat", {"heat": (7, "of clay")})
    assert moves(dse.advise(str(path), heat=2.5, clay=1)) == {"clay": (3, "of heat")}
    move = dse.advise(str(path), heat=2.5, clay=20)["heat"]
    assert (move.until, move.next_bound, move.gain) == (10, None, 4)


# --- the search


def test_steps_stay_in_the_domain() -> None:
    assert search_values(1.0, Domain(low=0, high=1, high_open=False), upward=True).size == 0
    down = search_values(0.5, Domain(low=0, high=1), upward=False)
    assert (np.diff(down) < 0).all()
    assert down[-1] == 0.5 * 2.0**-64
    closed = search_values(
        0.5, Domain(low=0, high=1, low_open=False, high_open=False), upward=False
    )
    assert closed[-1] == 0
    assert search_values(0.0, Domain(low=0, low_open=False), upward=True)[0] == 2.0**-64
    whole = search_values(5.0, Domain(low=1, low_open=False, whole=True), upward=True)
    assert whole[:3].tolist() == [6, 7, 8]
    assert (np.floor(whole) == whole).all()
    assert search_values(1.0, Domain(low=0, whole=True, low_open=False), upward=False).tolist() == [
        0
    ]


@settings(deadline=None)
@given(border=st.floats(1.5, 1e15), whole=st.booleans())
def test_the_search_finds_the_first_number_beyond(border: float, whole: bool) -> None:
    xs = search_values(1.0, Domain(low=0, whole=whole), upward=True)
    way = np.concatenate([[1.0], xs])
    result = first_crossing(CaseLines(reference("x") >= border, "x", {}), way, whole=whole)
    expected = (math.ceil(border) - 1, math.ceil(border))
    assert result == (expected if whole else (np.nextafter(border, 0), border))
    assert first_crossing(CaseLines(reference("x") > math.inf, "x", {}), way) is None
    back = first_crossing(
        CaseLines(reference("x") < border, "x", {}), np.array([2 * border, border, 1])
    )
    assert back == (border, np.nextafter(border, 0))


def test_extreme_terms_stop_at_what_is_no_minimum() -> None:
    graph = load_model("mwp_cwp").graph(rounding="whole")
    assert extreme_terms(graph, "mwp") == ("mwp_without_bw_full", "parallel_warps", "mwp_peak_bw")
    assert extreme_terms(graph, "mem_latency") == ("mem_latency",)
