"""Floating-point throughput of a GPU or CPU, and its bottlenecks (Hong 2012, ch. 5).

The switch ``processor`` chooses the form: warps on the multiprocessors of a GPU, or one thread on
each core of a CPU (``warps_per_sm`` and ``warp_size`` are 1, and SMs are cores). ``printed``
selects the equations as printed: other warps do not hide the wait for results, ``flops`` may exceed
what the units do in the time, and the suggested number of warps is scaled. With ``saturation =
"requests"`` all requests of a warp share the bandwidth (Fig. 119), whereas Eq. 71 counts one
request per warp.

``l1_share`` and ``l2_share`` are the shares of requests that hit the caches. ``flops_l1`` is the
result if all requests hit the first cache, ``flops_dram`` the result if none hits a cache.

Not monotone: idle cycles may grow with MWP (Eq. 80). So the time may grow if ``mem_bandwidth``,
``n_sms`` or ``active_sms`` is raised, or if ``departure_delay`` is lowered. Advice lists no move
that gains by this.

Join ``power`` for energy. In that model, ``fp_insts`` are only the unfused instructions. If there
are fused instructions, give ``access_rate_fp = "(narrow_fp_insts + wide_fp_insts) * issue_rate"``.
``dse kernel`` counts all floating-point instructions in ``fp_insts``, as profilers do, and the
unfused instructions in ``narrow_fp_insts``.
"""

import math

from symbolic.equation import Family, Guide, Validity, equation, equations_of
from symbolic.models import _cycles, _memory, _memory_demand, _residency, _shared, _unit_power
from symbolic.models._labels import by_label
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import divide, floor, maximum, minimum, where

OUTPUTS = (
    "flops", "effective_ratio", "mwp", "category", "suggested_sms", "suggested_warps",
    "clock_reduction",
)  # fmt: skip
VALIDITY = Validity(
    quantity="release_year",
    maximum=2012,
    statement="throughput was compared with devices of 2010 (GTX 580, E5645): further units and "
    "larger caches are not modelled",
)

RULES = (
    "warps_per_sm >= 1",
    "l1_share + l2_share <= 1",
    # the second formula is for counts in which ``fp_insts`` includes fused instructions
    "fp_insts + fp_fused_insts + fp_vec_insts + fp_vec_fused_insts + int_insts + misc_insts "
    "<= comp_insts or narrow_fp_insts + wide_fp_insts + int_insts + misc_insts <= comp_insts",
)

FAMILIES = (
    Family(
        of="mwp",
        terms={
            "demand": "mwp_app",
            "bandwidth": "mwp_bw_warps",
            "departures": "mwp_proc",
            "warps": "warps_per_sm",
        },
    ),
)

#: Figs. 114 and 115. "Too few warps" means that latency is not hidden. For category 7, the text in
#: Fig. 115 also names the bandwidth, but the condition there excludes it.
CATEGORIES = {
    1: "too few warps and bandwidth and departures saturated",
    2: "too few warps and departures saturated",
    3: "too few warps and bandwidth saturated",
    4: "too few warps and bandwidth just enough",
    5: "too few warps",
    6: "bandwidth and departures saturated",
    7: "departures saturated",
    8: "bandwidth saturated",
    9: "bandwidth just enough",
    10: "nothing short",
}

#: Moves of §5.5 (warps, cores, bandwidth), and changes that a compiler can make. ILP is not listed,
#: because it affects ``flops`` only up to the number of units that a thread can fill.
MOVES = (
    "warps_per_sm, active_sms, mem_bandwidth, core_clock, int_insts, misc_insts, mem_insts, "
    "dependency_distance, thread_distance_bytes, l1_share, l2_share"
)
ADVICE = Guide(
    state="category",
    goal="flops",
    maximize=True,
    limits="mwp",
    helps={
        label: f"{MOVES}, departure_delay" if "departures" in label else MOVES
        for label in CATEGORIES.values()
    },
    show=("mwp_app", "mwp_bw", "mwp_app_infinite"),
    fixed=frozenset({"threads_per_block", "warp_size"}),
    suggests={
        "suggested_sms": "active_sms",
        "suggested_warps": "warps_per_sm",
        "clock_reduction": "core_clock",
    },
)

SHARED = (*equations_of(_shared), _residency.busy_sms, _unit_power.warps_run_per_sm)
CYCLES, MEMORY_DEMAND = equations_of(_cycles), equations_of(_memory_demand)


# --- Cycles of waiting for memory, and the share of useful cycles (§5.3.10, Eqs. 77-82). If a warp
# has several requests in flight, MWP counts all of them. Then idle cycles may grow with MWP,
# because Eq. 80 adds a computation period for each request. With MSTR = 1 they never grow. Eq. 82
# assumes that all computation is hidden, also the part before the first request. So a single warp
# takes the longer of its two periods. In chapter 2 it takes the sum of both (Eq. 21).


@equation(source="Hong 2012, Eq. 78", symbol=r"Mem\_SerialN")
def serial_mem_cycles(mem_latency, warps_per_sm):
    """Sum of the memory (or computation) periods of all warps of a core. [cycles]"""
    return mem_latency * warps_per_sm


@equation(source="Hong 2012, Eq. 79", symbol=r"Mem\_DividedN")
def divided_mem_cycles(serial_mem_cycles, mwp):
    """Memory cycles of all warps of a core if MWP memory periods overlap. [cycles]"""
    return divide(serial_mem_cycles, mwp, at_zero=0.0)


#: If MWP is below 1, MWP − 1 adds no computation to the memory cycles, except as printed.
least_mwp = by_label("least_mwp", "Hong 2012, Eq. 80", "printed", {"false": 1, "true": 0})


@equation(source="Hong 2012, Eq. 80", symbol=r"Mem\_N")
def overlapped_mem_cycles(divided_mem_cycles, effective_comp, mwp, least_mwp):
    """Cycles from the first request of a core to the end of its last request. [cycles]"""
    return divided_mem_cycles + effective_comp * (maximum(mwp, least_mwp) - 1)


serial_comp_cycles = serial_mem_cycles.copy_as(
    *("serial_comp_cycles", "effective_comp", "warps_per_sm"),
    source="Hong 2012, Eq. 81",
    symbol="CompcyclesN",
)


@equation(source="Hong 2012, Eq. 82", symbol="IdleMemCycles")
def idle_mem_cycles(overlapped_mem_cycles, serial_comp_cycles):
    """Memory cycles that are not hidden by computation. [cycles]

    >>> idle_mem_cycles(220.0, 60.0)  # Fig. 102
    160.0
    """
    return maximum(overlapped_mem_cycles - serial_comp_cycles, 0)


@equation(source="Hong 2012, Eq. 77, its divisor")
def period_cycles(serial_comp_cycles, idle_mem_cycles):
    """Cycles in which each warp of a core computes once and accesses memory once. [cycles]"""
    return serial_comp_cycles + idle_mem_cycles


@equation(source="Hong 2012, Eq. 77", symbol="EffRatio")
def effective_ratio(effective_perfect, warps_per_sm, period_cycles):
    """Share of all cycles that the floating-point instructions alone would take. [ratio]"""
    return divide(effective_perfect * warps_per_sm, period_cycles, at_zero=0.0)


@equation(source="Hong 2012, Fig. 107, memory")
def idle_fraction(idle_mem_cycles, period_cycles):
    """Idle share of all cycles (or of the sum of the memory periods). [ratio]"""
    return divide(idle_mem_cycles, period_cycles, at_zero=0.0)


@equation(source="Hong 2012, Fig. 107, other instructions and results waited for")
def overhead_fraction(effective_ratio, idle_fraction):
    """Share of all cycles that other instructions and the wait for results take. [ratio]"""
    return 1 - effective_ratio - idle_fraction


exposed_mem_ratio = idle_fraction.copy_as(
    *("exposed_mem_ratio", "idle_mem_cycles", "serial_mem_cycles"), source="Hong 2012, Fig. 113"
)


# --- Results if one level of memory serves every request (§5.6, Figs. 131-135). As in the thesis,
# performance is highest if all requests hit the first cache, and lowest if none hits a cache. With
# MSTR = 1 (one request at a time), these two results bound the performance of every mix.


def _flops_at_latency(latency, mwp_bw, delay, peak, perfect, comp, warps, strength, least):
    """Return the throughput by Eqs. 64 and 71-82 if all requests have the same ``latency``."""
    needed = _memory_demand.mwp_app_infinite(latency, comp)
    demand = _memory_demand.mwp_app(_memory_demand.mwp_app_one_warp(needed, warps), strength)
    mwp = _memory_demand.mwp(demand, mwp_bw, _memory_demand.mwp_proc(latency, delay), warps)
    serial = serial_mem_cycles(latency, warps)
    divided = divided_mem_cycles(serial, mwp)
    computed = serial_comp_cycles(comp, warps)
    overlapped = overlapped_mem_cycles(divided, comp, mwp, least)
    idle = idle_mem_cycles(overlapped, computed)
    period = period_cycles(computed, idle)
    return peak * effective_ratio(perfect, warps, period)


PACE_INPUTS = (
    *("departure_delay", "peak_achievable", "effective_perfect", "effective_comp"),
    *("warps_per_sm", "mem_strength", "least_mwp"),
)


@equation(
    source="Hong 2012, §5.6, every request served by the first cache",
    inputs=("l1_latency", "transactions_per_request", "mem_insts", *PACE_INPUTS),
)
def flops_l1(l1_latency, transactions_per_request, mem_insts, *pace):
    """Floating-point operations per second if every request hits the first cache. [1/s]"""
    latency = where(mem_insts > 0, l1_latency * transactions_per_request, 0.0)
    return _flops_at_latency(latency, math.inf, *pace)


flops_l2 = flops_l1.copy_as(
    *("flops_l2", "l2_latency", *flops_l1.inputs[1:]),
    source="Hong 2012, §5.6, every request served by the second cache",
)

DRAM_INPUTS = (
    *("mem_latency_dram", "transactions_per_request", "mem_insts", "core_clock"),
    *("load_bytes_per_warp", "mem_bandwidth", "active_sms"),
)


@equation(
    source="Hong 2012, §5.6, every request served by DRAM",
    inputs=(*DRAM_INPUTS, *PACE_INPUTS, "sharing_requests"),
)
def flops_dram(
    mem_latency_dram, transactions_per_request, mem_insts, clock, load_bytes, bandwidth, sms, *rest
):
    """Floating-point operations per second if DRAM serves every request. [1/s]

    >>> machine, workload = (1e9, 128.0, 128e9, 10.0, 0.0), (11.0, 2.0, 10.0, 8.0, 1.0, 1, 1.0)
    >>> round(flops_dram(450.0, 1.0, 1.0, *machine, *workload), 4)
    0.3385
    """
    *pace, sharing_requests = rest
    latency = where(mem_insts > 0, mem_latency_dram * transactions_per_request, 0.0)
    per_warp = _memory.bw_per_warp(clock, load_bytes, latency)
    allowed = _memory_demand.mwp_bw(bandwidth, per_warp, 1, sms) / sharing_requests
    return _flops_at_latency(latency, allowed, *pace)


# --- The ten categories, and suggested changes (§5.4.2 and §5.5, Eqs. 83-93)


@equation(source="Hong 2012, Figs. 114 and 115", flags=CATEGORIES)
def category(warps_per_sm, mwp_app_infinite, mwp_proc, mwp_bw, mwp_app):
    """The category, 1 to 10, of a workload on a machine.

    The best categories are, in this order, 10, 9, 5 and 4. The bandwidth is "just enough" if it is
    at most 15 % below the demand.
    """
    saturated = where(mwp_bw < mwp_app, 1.0, 2.0)
    short = where(mwp_bw < 0.85 * mwp_app, 3.0, where(mwp_bw < mwp_app, 4.0, 5.0))
    within = where(mwp_proc < mwp_app, saturated, short)
    return within + where(warps_per_sm < mwp_app_infinite, 0.0, 5.0)


@equation(source="Hong 2012, Eqs. 83-85", symbol=r"\alpha")
def bandwidth_excess(mwp_app, mwp_bw):
    """Bandwidth that the requests need, divided by the bandwidth; at least 1. [ratio]"""
    return maximum(divide(mwp_app, mwp_bw, at_zero=math.inf), 1)


@equation(source="Hong 2012, Eqs. 83-88", symbol=r"\#ActiveSM / \alpha")
def suggested_sms(active_sms, mwp_bw, mwp_app):
    """Largest number of cores for which the bandwidth is sufficient (Eq. 84); at least 1. [SMs]

    The published 13 and 10 are the quotient rounded up, ``ceil(active_sms / bandwidth_excess)``,
    and do not satisfy Eq. 84.

    >>> [suggested_sms(16.0, 592 / 16, 2.0 * warps) for warps in (16.0, 24.0, 32.0)]
    [16.0, 12.0, 9.0]
    """
    enough = active_sms * mwp_bw
    most = floor(divide(enough, mwp_app, at_zero=math.inf))
    most = where(enough < most * mwp_app, most - 1, most)  # quotient rounded up
    return maximum(minimum(active_sms, most), 1)


@equation(source="Hong 2012, Eqs. 89-92", symbol="N", when=CORRECTED)
def suggested_warps(warps_per_sm, mwp_app, mwp_bw, mem_strength):
    r"""Largest number of warps per core for which the bandwidth is sufficient. [warps]

    The number is 1 if even one warp needs more bandwidth. Correction: the thesis decreases N by
    :math:`1 - \alpha`. This does not satisfy Eq. 90 if N is above MWP_App_InfiN, because further
    warps add no demand.

    >>> suggested_warps(32.0, 64.0, 592 / 16, 2.0)
    18.0
    """
    most = floor(mwp_bw / mem_strength)
    most = where(mwp_bw < most * mem_strength, most - 1, most)  # quotient rounded up
    return where(mwp_bw < mwp_app, maximum(most, 1), warps_per_sm)


@equation(name="suggested_warps", source="Hong 2012, Eqs. 89-92", symbol="N", when=PRINTED)
def suggested_warps_printed(warps_per_sm, mwp_app, mwp_bw):
    """Number of warps per core divided by the excess of demand over bandwidth. [warps]"""
    scaled = floor(warps_per_sm * divide(mwp_bw, mwp_app, at_zero=1.0))
    return where(mwp_bw < mwp_app, maximum(scaled, 1), warps_per_sm)


@equation(source="Hong 2012, Eq. 93", symbol="CoreReduction")
def clock_reduction(mwp_app_infinite, warps_per_sm):
    """Factor by which the core clock can be divided, because the cores wait for memory. [ratio]

    If there are enough warps, the factor is below 1, and the clock could rise until the cores wait.
    The factor is NaN for a single warp, which hides nothing.

    >>> clock_reduction(4.0, 2.0)  # Fig. 130
    3.0
    """
    return divide(mwp_app_infinite - 1, warps_per_sm - 1, at_zero=math.nan)


@equation(source="Hong 2012, Eq. 64", symbol="Perf")
def flops(peak_achievable, effective_ratio):
    """Floating-point operations per second. [1/s]"""
    return peak_achievable * effective_ratio


@equation(source="Hong 2012, Eq. 68 and Fig. 108, computations only")
def flops_without_memory(peak_achievable, perfect_cycles, comp_cycles):
    """Floating-point operations per second if memory accesses took no time. [1/s]"""
    return peak_achievable * divide(perfect_cycles, comp_cycles, at_zero=0.0)


@equation(source="Hong 2012, Fig. 108, no ILP")
def flops_without_ilp(peak_achievable, perfect_cycles, issued_cycles, comp_cycles, ilp):
    """Operations per second if memory took no time and instructions issued one by one. [1/s]"""
    slower = maximum(issued_cycles * ilp, comp_cycles)
    return peak_achievable * divide(perfect_cycles, slower, at_zero=0.0)


@equation(source="Hong 2012, Eqs. 77-82, of all warps", symbol=r"Exec\_cycles")
def exec_cycles(period_cycles, mem_insts, warps_run_per_sm, warps_per_sm):
    """Cycles of the whole workload. [cycles]

    The thesis gives only operations per second. Here the warps of a core run in turns of N warps; a
    grid that does not fill the cores takes one turn. If it fills them, the time equals the number
    of floating-point operations divided by ``flops``, except as printed.
    """
    turns = maximum(divide(warps_run_per_sm, warps_per_sm, at_zero=1.0), 1)
    return period_cycles * where(mem_insts > 0, mem_insts, 1.0) * turns


@equation(source="Hong 2012, Eqs. 77-82, of all warps")
def time(exec_cycles, core_clock):
    """Run time. [s]"""
    return exec_cycles / core_clock
