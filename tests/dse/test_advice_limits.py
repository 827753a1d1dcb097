"""Advice stays within domains, rules and hardware; whose moves they are; what they are good for."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.advice.report import Move
from dse.catalog.entries import shipped_values
from symbolic.errors import DomainError, DseError, InfeasibleError, UnknownNameError
from symbolic.quantities import RULES, TABLE
from tests.dse.advising import check, draw_case
from tests.long import draws, long

#: The issue's own configuration: 32 warps on each SM of a GTX 580.
DMADD = {"machine": "gtx580", "workload": "dmadd", "warps_per_sm": 32, "active_sms": 16}


@settings(deadline=None, max_examples=draws(10))
@given(data=st.data())
def test_advice_names_nothing_beyond_domains_rules_and_hardware(data: st.DataObject) -> None:
    """Over machines, workloads and points; more by ``python -m tests.dse.advising 2000 1``."""

    def choose(low: float, high: float) -> float:
        return data.draw(st.floats(low, high))

    check(draw_case(lambda items: data.draw(st.sampled_from(list(items))), choose))


# --- what hardware allows


def test_warps_end_at_what_the_compute_capability_holds() -> None:
    """Fermi holds 48; the way ends there and says by which rule."""
    move = dse.advise("throughput", **DMADD)["warps_per_sm"]
    assert (move.until, move.next_bound) == (48, None)
    assert move.limit == "the rule warps_per_sm <= max_warps_per_sm"
    with pytest.raises(InfeasibleError, match="warps_per_sm <= max_warps_per_sm"):
        dse.evaluate("throughput", **{**DMADD, "warps_per_sm": 500})


def test_a_clock_without_a_published_end_is_not_given_one() -> None:
    move = dse.advise("throughput", **DMADD)["core_clock"]
    assert math.isnan(move.until)
    assert "raise core_clock from 1.544 GHz: no other bound follows, and no limit is kn" in str(
        move
    )
    assert "gain tends to 1.13573" in str(move)
    faster = dse.evaluate("throughput", outputs=["flops"], core_clock=1e15, **DMADD)
    start = dse.evaluate("throughput", outputs=["flops"], **DMADD)
    assert move.gain == pytest.approx(float(faster.flops / start.flops), rel=1e-4)


def test_a_clock_ends_at_the_published_one() -> None:
    cpu = {"machine": "e5645_x2", "fp_insts": 9, "mem_insts": 0, "bytes_per_thread": 8}
    move = dse.advise("throughput", **cpu)["core_clock"]
    assert (move.until, move.limit) == (2.67e9, "the rule core_clock <= max_core_clock")


def test_threads_of_a_multiprocessor_end_at_what_it_holds() -> None:
    move = dse.advise("transit", machine="c2075", threads=400, intensity=1)["threads"]
    assert (move.until, move.limit) == (1536, "the rule threads <= max_threads")


def test_a_search_does_not_leave_the_hardware() -> None:
    study = dse.Study(
        model="throughput",
        machine="gtx580",
        workload="dmadd",
        axes={"warps_per_sm": [16, 32, 48, 64]},
    )
    assert study.run().feasible.values.tolist() == [True, True, True, False]
    assert study.optimum(maximize="flops").warps_per_sm == 48


def test_a_move_ends_where_a_formula_leaves_its_domain() -> None:
    """Another quantity that a formula gives follows, and must stay in its own domain."""
    given_ = {**DMADD, "int_insts": "16 - fp_insts", "fp_insts": 2, "misc_insts": 0}
    for move in dse.advise("throughput", **given_).moves:
        if move.quantity == "fp_insts":
            assert move.until <= 16


def test_an_instruction_distance_ends_where_it_changes_nothing_more() -> None:
    """20 cycles of latency behind 16 warps: a distance of 1.25 hides them."""
    move = dse.advise("throughput", **{**DMADD, "warps_per_sm": 16})["dependency_distance"]
    assert (move.until, move.limit) == (pytest.approx(1.25), "where flops changes no more")


def test_rules_of_hardware_are_those_of_every_model() -> None:
    for rule in ("warps_per_sm <= max_warps_per_sm", "core_clock <= max_core_clock"):
        assert rule in RULES
        assert all(rule in dse.model(name).rules for name in ("throughput", "mwp_cwp", "power"))


# --- whose moves


@long
def test_levers_tell_the_programmer_from_the_designer() -> None:
    every = dse.advise("throughput", **DMADD)
    programmer, designer = (
        dse.advise("throughput", levers=lever, **DMADD) for lever in ("programmer", "designer")
    )
    assert {m.quantity for m in designer.moves} == {"mem_bandwidth", "core_clock"}
    assert {m.quantity for m in programmer.moves} >= {"coalesced_insts", "l1_share", "warps_per_sm"}
    assert sorted(map(str, every.moves)) == sorted(map(str, programmer.moves + designer.moves))
    assert {m.lever for m in programmer.moves} == {"programmer"}
    text = str(every)
    first, second = (f"what improves flops{whose}:" for whose in ("", ", for the designer"))
    assert text.index(first) < text.index("raise warps_per_sm") < text.index(second)
    assert text.index(second) < text.index("raise mem_bandwidth")
    with pytest.raises(
        DseError, match="levers = 'boss': expected one of programmer, designer, all"
    ):
        dse.advise("throughput", levers="boss", **DMADD)


def test_moves_together_are_the_designers_where_one_is() -> None:
    given_ = {"threads": 1024, "intensity": 32, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
    advice = dse.advise("transit", **given_)
    assert {(m.quantity, m.together): m.lever for m in advice.moves} == {
        ("lanes_width", ("ms_peak",)): "designer",
        ("lanes_width", ("intensity",)): "designer",
        ("lanes_width", ("ms_peak", "threads")): "designer",
    }


def test_what_machine_files_give_is_the_designers() -> None:
    """But how many SMs are used, and what a kernel asks of memory, which a machine may say, too."""
    own = {"active_sms", "warps_per_sm", "request_bytes", "transactions_per_uncoalesced"}
    own |= {"slow_work", "fast_work", "work_units", "load_bytes_per_warp"}
    names = {name for entry in dse.machines().values() for name in entry.values}
    rows = [TABLE[name] for name in names - own if not TABLE[name].is_switch]
    rows = [row for row in rows if not row.name.endswith(("_error_low", "_error_high"))]
    assert [row.name for row in rows if row.lever != "designer" and not row.is_label] == []


def test_a_quantity_of_your_own_says_whose_it_is() -> None:
    assert dse.quantity("ports", domain="[1, 8]", lever="designer").lever == "designer"
    with pytest.raises(DomainError, match="lever='mine' of ports: expected one of programmer, des"):
        dse.quantity("ports", lever="mine")


# --- cases that do not meet


MEETING = '''"""Costs of two ways to work, each dearer with more hands; they do not meet."""
from symbolic.model import Guide
from symbolic.equation import equation
from symbolic.ops import equal, minimum, where
from symbolic.quantities import quantity

hands = quantity("hands", domain="whole [1, 9]", meaning="hands at work")
room = quantity("room", domain="[1, 99]", meaning="hands there is room for")
ADVICE = Guide(state="way", goal="toil", limits="busy", helps="hands")

@equation(domain="[0, inf]")
def busy(hands, room):
    return minimum(hands, room)

@equation(flags={1: "alone", 2: "together"})
def way(hands):
    return where(hands <= 3, 1, 2)

@equation(domain="[0, inf]")
def toil(way, busy):
    return where(equal(way, 1), 10 + busy, 5 + SLOPE * busy)
'''


@pytest.mark.parametrize(("slope", "artefact"), [("1", True), ("-0.5", False)])
def test_a_gain_that_is_an_artefact(tmp_path: Path, slope: str, artefact: bool) -> None:
    """Neither way's own costs fall with more hands; the second's do where its slope is negative."""
    path = tmp_path / "hands.py"
    path.write_text(MEETING.replace("SLOPE", slope))
    advice = dse.advise(str(path), hands=2, room=20)
    (move,) = (m for m in advice.moves if m.direction == "raise")
    assert (move.until, move.next_bound, move.artefact, move.helps) == (
        4,
        "together",
        artefact,
        not artefact,
    )
    assert move.gain == pytest.approx(12 / (5 + float(slope) * 4))
    beyond = 5 + float(slope) * 4  # alone: 10 + busy
    assert (
        move.jump == f"toil jumps from 14 to {beyond:g}"
    )  # 10 + busy alone, SLOPE * busy together
    assert move.jump in str(advice)
    marked = "do not meet at their border:\n  raise hands from 2 to 4"
    assert (marked in str(advice)) == artefact


# --- for other ends


@long
def test_energy_has_a_best_clock_on_the_way() -> None:
    """Dynamic power falls by the cube, time rises by the inverse: the least energy lies between."""
    given_ = {"machine": "gtx280", "workload": "svm", "threads_per_block": 256}
    advice = dse.advise("ipp", goal="energy", levers="designer", core_clock="1.8 GHz", **given_)
    move = advice["core_clock"]
    assert (advice.goal, move.direction, move.limit) == ("energy", "lower", "where energy is best")
    clocks = [0.999 * move.until, move.until, 1.001 * move.until]
    energy = dse.evaluate("ipp", outputs=["energy"], core_clock=clocks, **given_).energy.values
    assert energy[1] < min(energy[0], energy[2])
    assert dse.advise("ipp", levers="designer", **given_).goal == "time"
    with pytest.raises(UnknownNameError, match=r"goal = 'enrgy'.*did you mean 'energy'"):
        dse.advise("ipp", goal="enrgy", **given_)
    with pytest.raises(UnknownNameError, match="dse sensitivity STUDY --output 'time / energy'"):
        dse.advise("ipp", goal="time / energy", **given_)


def test_power_tells_the_unit_that_draws_most() -> None:
    given_ = {"machine": "gtx280", "workload": "svm", "threads_per_block": 256}
    advice = dse.advise("ipp", goal="power", **given_)
    ds = dse.evaluate("ipp", **given_, outputs=["global_power", "fds_power", "const_sm_power"])
    assert advice.limiter == ("global",)
    assert advice.terms["global"] == float(ds.global_power) == max(advice.terms.values())
    move = advice["global_insts"]
    assert (move.direction, move.next_limiter) == ("lower", ("const_sm",))
    assert {m.quantity for m in advice.moves if m.helps} == {
        "global_insts",
        "active_sms",
        "core_clock",
    }


def test_placement_tells_the_cores_that_light_fewest_tpcs() -> None:
    """Table 12: 0-7-1-8 light two TPCs, 0-1-2-3 four; 2 x 3.9276 W apart."""
    advice = dse.advise("placement", machine="8800gt", lit_sms="0-1-2-3")
    (result,) = advice.suggestions
    assert (result.quantity, result.value, result.of) == (
        "suggested_placement",
        "0-1-7-8",
        "placement_power",
    )
    given = {"machine": "8800gt", "outputs": ["placement_power"]}
    better = dse.evaluate("placement", lit_sms=result.value, **given).placement_power
    assert result.gain == pytest.approx(result.now / float(better))
    assert dse.advise("placement", machine="8800gt", active_sms=4).suggestions == ()
    seven = dse.advise("placement", machine="8800gt", lit_sms="0-1-2-3-4-5-6")
    assert "measured to draw the same" in str(seven)


def test_sharing_work_moves_to_where_both_devices_are_done_at_once() -> None:
    given_ = {"machine": "hong2012_node", "benchmark_series": 5, "gpu_share": 0.2}
    for goal, share in (
        ("speedup", "best_speed_share"),
        ("energy_efficiency", "best_energy_share"),
    ):
        advice = dse.advise("energy_speedup", goal=goal, **given_)
        assert (advice.bound, advice.limiter) == ("cpu", ("cpu",))
        best = float(dse.evaluate("energy_speedup", outputs=[share], **given_)[share])
        assert advice["gpu_share"].until == pytest.approx(best, rel=1e-9)
        assert advice["gpu_share"].next_limiter == ("gpu",)
        assert [s.quantity for s in advice.suggestions] == [share]


@pytest.mark.parametrize("series", [1, 5, 9, 13])
def test_no_gain_is_that_of_a_slower_baseline(series: int) -> None:
    """Table 16 gives the speeds of the benchmarks: a slower CPU would gain over itself."""
    given_ = {"machine": "hong2012_node", "benchmark_series": series, "gpu_share": 0.2}
    moved = {move.quantity for move in dse.advise("energy_speedup", **given_).moves}
    assert moved <= {"gpu_share", "cpu_cores", "gpu_cores", "cpu_clock", "gpu_clock"}


def test_imbalance_tells_bins_pieces_and_shared_lanes() -> None:
    from stochastic import Pmf, granularity, partition, split

    law = Pmf.geometric(0.05)
    given_ = {"distribution": law, "lanes": 32}
    (only,) = dse.advise("imbalance", **given_).suggestions
    assert only.quantity == "suggested_bins"
    assert only.value == int(partition(law, 8, 32)["enough"])
    advice = dse.advise("imbalance", cut_overhead=2, share_overhead=0.15, **given_)
    result = {s.quantity: s for s in advice.suggestions}
    cut, shared = split(law, overhead=2), granularity(law, 32, 0.15, objective="slowdown")
    assert result["suggested_piece"].value == int(cut["best_threshold"])
    assert result["suggested_lanes"].value == int(shared["best_lanes"])
    now = advice.values["imbalance_slowdown"]
    assert result["suggested_piece"].gain == pytest.approx(now / float(cut["best_total"]))
    assert result["suggested_lanes"].gain == pytest.approx(now / float(shared["best_cost"]))


def test_no_advice_says_infinity() -> None:
    for advice in (
        dse.advise("throughput", **DMADD),
        dse.advise("ipp", machine="gtx280", workload="svm", threads_per_block=256, goal="power"),
    ):
        assert not re.search(r"(to|from) (inf|nan|-)\b", str(advice))
    assert dataclasses.replace(advice, moves=()).moves == ()


@pytest.mark.parametrize(
    ("name", "expected"), [("registers_per_thread", 32), ("registers_per_sm", 131072)]
)
def test_a_move_ends_where_it_helps_no_more(name: str, expected: float) -> None:
    """At 32 registers, or with twice as many, a multiprocessor is full; then threads limit it."""
    move = dse.advise(
        "occupancy + latency_roofline + footprint",
        machine="h100_pcie",
        workload="examples/kernels/triad.toml",
        threads_per_block=256,
        registers_per_thread=64,
    )[name]
    assert move.until == expected
    assert move.gain > 1.01
    is_shipped = move.lever == "designer" and max(shipped_values(name)) == expected
    assert ("largest value of any shipped" if is_shipped else "changes no more") in move.limit


def test_a_time_that_only_approaches_its_limit_ends_where_a_doubling_gains_little() -> None:
    """More requests in flight per warp: the gain tends to 1.07, most of it comes at once."""
    given = {"machine": "h100_pcie", "workload": TRIAD}
    move = dse.advise(GPU, **given)["mem_strength"]
    assert math.isnan(move.until)
    times = [time_of(**given, mem_strength=move.value * n) for n in (1, 1e9)]
    assert move.gain == pytest.approx(times[0] / times[1], rel=1e-6)
    for_end, half, twice = (time_of(**given, mem_strength=move.end * n) for n in (1, 0.5, 2))
    assert move.end_gain == pytest.approx(times[0] / for_end)
    assert for_end / twice < 1.01 < half / for_end
    assert move.end_limit == "where twice the value gains less than 1 % more"


def time_of(**given: Any) -> float:
    return float(dse.evaluate(GPU, **given).time)


def test_a_move_goes_on_past_a_border_where_times_add_as_squares() -> None:
    """More bandwidth was listed with a gain of 1.001, up to where latency takes over."""
    given = {"machine": "h100_pcie", "workload": TRIAD, "mem_latency_nominal": 1720}
    advice = dse.advise(GPU, **given)
    move = advice["mem_bandwidth"]
    assert (move.next_bound, move.gain < 1.01) == ("latency", True)
    gains = [each.end_gain for each in advice.moves if each.helps]
    assert gains == sorted(gains, reverse=True), "the gain at the end decides the order"
    here, there = time_of(**given), time_of(**given, mem_bandwidth=move.end)
    assert move.end_gain == pytest.approx(here / there)
    assert move.end_gain > 1.29
    most = max(shipped_values("mem_bandwidth"))
    assert move.end <= most
    assert time_of(**given, mem_bandwidth=most) == pytest.approx(there), "more changes nothing"
    assert f"gain {move.end_gain:.6g} up to" in str(advice)


def test_no_move_goes_on_past_a_border_where_the_slowest_term_is_the_time() -> None:
    advice = dse.advise(
        "transit", threads=100, intensity=10, lanes_width=32, ms_peak=1, mem_latency=600
    )
    assert len(advice.moves) == 2
    assert all(move.end == move.until and move.end_gain == move.gain for move in advice.moves)


@pytest.mark.parametrize("threads", [256, 100])
def test_threads_of_a_block_move_by_whole_warps(threads: int) -> None:
    """607 threads were proposed, which need as many warps as 608."""
    given = {"machine": "h100_pcie", "workload": BODIES, "threads_per_block": threads}
    moves = [m for m in dse.advise(GPU, **given).moves if m.quantity == "threads_per_block"]
    assert any(move.direction == "raise" for move in moves)
    assert all(move.until % 32 == 0 for move in moves)
    (up,) = (move for move in moves if move.direction == "raise")
    assert (up.value, up.until > threads) == (threads, True)
    assert up.gain == pytest.approx(time_of(**given) / time_of(**given | {up.quantity: up.until}))


def test_a_warp_issues_at_most_one_instruction_a_cycle() -> None:
    move = helping_moves("h100_sxm")["issue_wait"]
    given = {"machine": "h100_sxm", "workload": BODIES, "issue_wait": move.end}
    assert float(dse.evaluate(GPU, outputs=["issue_interval"], **given).issue_interval) == 1


GPU = "occupancy + latency_roofline + footprint"
BODIES, TRIAD = "examples/kernels/bodies.toml", "examples/kernels/triad.toml"


def helping_moves(machine: str, goal: str = "time") -> dict[str, Move]:
    advice = dse.advise(GPU, machine=machine, workload=BODIES, goal=goal)
    return {move.quantity: move for move in advice.moves if move.helps}


def test_moves_of_a_designer_end_at_the_extreme_shipped_machine() -> None:
    """An H100 was advised to raise its clock to 6.7 GHz."""
    files = Path("dse/data/machines").glob("*.toml")
    rows = [re.search(r'boost_clock = .*?"([0-9.]+) MHz', path.read_text()) for path in files]
    fastest = max(float(row[1]) for row in rows if row)
    moves = helping_moves("h100_sxm")
    move = moves["core_clock"]
    assert move.until == fastest * 1e6
    assert "up to the largest value of any shipped machine" in str(move)
    there, here = (
        float(dse.evaluate(GPU, machine="h100_sxm", workload=BODIES, core_clock=clock).time)
        for clock in (move.until, move.value)
    )
    assert move.gain == pytest.approx(here / there)
    for name, each in moves.items():
        known = shipped_values(name)
        if each.lever == "designer" and known:
            assert min(known) <= each.until <= max(known), name


def test_the_machine_with_the_largest_value_is_not_moved_beyond_it() -> None:
    fastest = "rtxpro6000"
    assert "2617 MHz" in Path(f"dse/data/machines/{fastest}.toml").read_text()
    assert "core_clock" not in helping_moves(fastest)
    beyond = helping_moves("h100_sxm", "throughput_time")["core_clock"]
    assert beyond.until > 2.4e9
    assert beyond.next_bound == "l2"


def test_a_move_to_a_shipped_extreme_that_worsens_the_time_is_not_listed() -> None:
    """A larger L2 cache was listed as an improvement of decode attention, with a gain of 0.948."""
    shape = {"batch": 16, "context": 8192, "heads": 32, "kv_heads": 8, "head_dim": 128}
    advice = dse.advise("decode_attention", machine="h100_sxm", **shape)
    gains = {move.quantity: move.gain for move in advice.moves if move.helps}
    assert gains["mem_bandwidth"] > 2
    assert all(gain > 1 for gain in gains.values())
    product = dse.advise("gemm", machine="h100_sxm", m=8192, n=8192, k=8192)
    small = [move for move in product.moves if move.helps and move.gain < 1.001]
    assert small
    assert f"{len(small)} moves gain less than 0.1 % each" in str(product)
    assert not any(f"{move.direction} {move.quantity} " in str(product) for move in small)


@pytest.mark.parametrize(("dtype", "rate"), [("bf16", "bf16"), ("fp16", "fp16")])
def test_a_product_at_the_power_limit_is_advised_more_power(dtype: str, rate: str) -> None:
    """Power was no move, and the rates of bf16 and fp16 were two moves with the same effect."""
    shape = {"m": 2048, "n": 57344, "k": 8192, "dtype": dtype}
    best, *others = (m for m in dse.advise("gemm", machine="b200", **shape).moves if m.helps)
    assert (best.quantity, best.value, best.until) == ("board_power", 1000, 1400)
    times = dse.evaluate("gemm", machine="b200", board_power=[1000, 1400], **shape).time
    assert best.gain == pytest.approx(float(times[0] / times[1]))
    rates = [move.quantity for move in others if move.quantity.startswith("tensor_")]
    assert rates == [f"tensor_{rate}_flops"]


def test_no_move_changes_an_allocation_unit() -> None:
    """A unit of 456 registers gained 10 %: fewer resident blocks left more of the L2 cache each."""
    model = "occupancy + latency_roofline + footprint"
    counted = {"blocks": 8192, "threads_per_block": 256, "registers_per_thread": 32}
    counted |= {"shared_mem_per_block": 128, "comp_insts": 500, "coalesced_insts": 40}
    counted |= {"uncoalesced_insts": 0, "mem_strength": 2, "warp_bytes": 12288}
    counted |= {"block_bytes": 81920, "reread_bytes": 16384, "launch_bytes": 536_887_296}
    here = {"machine": "h100_sxm", **counted}
    times = [
        float(dse.evaluate(model, outputs=["time"], register_allocation_unit=unit, **here).time)
        for unit in (256, 456)
    ]
    assert times[0] > 1.05 * times[1]  # the model's equations would call it a gain
    moved = {move.quantity for move in dse.advise(model, **here).moves}
    assert {"l2_size", "reread_bytes"} <= moved
    assert not {name for name in moved if "allocat" in name}
