"""Throughput of a GPU or CPU: floating point a second, and what it waits for (Hong 2012, ch. 5).

The switch ``processor`` chooses the form: warps on multiprocessors, or on a CPU one thread on each
core (``warps_per_sm`` and ``warp_size`` 1), where SMs are cores. ``printed`` restores the equations
as printed: results waited for that other warps do not hide, and a scaled number of warps.
``saturation = "requests"`` has every request of a warp share the bandwidth (Fig. 119), where Eq. 71
counts one of each.

Where requests hit caches, ``l1_share`` and ``l2_share`` say how many. The levels ``flops_l1`` and
``flops_dram`` are what comes out if all or none do.

Join ``power`` for energy. Its ``fp_insts`` are the unfused ones alone; where there are others, give
``access_rate_fp = "(narrow_fp_insts + wide_fp_insts) * issue_rate"``. ``dse kernel`` counts all of
them in ``fp_insts``, as profilers do, and gives ``narrow_fp_insts`` for the unfused ones.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.model import Family, Guide, Validity
from symbolic.models import (
    _idle_cycles,
    _instruction_cycles,
    _instruction_mix,
    _memory_demand,
    _memory_levels,
    _residency,
    _shared,
    _suggestions,
    _units,
)
from symbolic.ops import divide, maximum, where

OUTPUTS = (
    "flops",
    "effective_ratio",
    "mwp",
    "category",
    "suggested_sms",
    "suggested_warps",
    "clock_reduction",
)
VALIDITY = Validity(
    of="release_year",
    most=2012,
    says="throughput was held against devices of 2010 (GTX 580, E5645): units beside the "
    "cores and larger caches are not in it",
)

RULES = (
    "warps_per_sm >= 1",
    "l1_share + l2_share <= 1",
    # the second holds where narrow_fp_insts is given, and fp_insts counts the fused ones too
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

#: §5.5: warps, cores, bandwidth; and what a compiler can change. More ILP is not told as a help:
#: ``flops`` shows it only as far as there are units for it.
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
        for label in _suggestions.CATEGORIES.values()
    },
    show=("mwp_app", "mwp_bw", "mwp_app_infinite"),
    fixed=frozenset({"threads_per_block", "warp_size"}),
    suggests={
        "suggested_sms": "active_sms",
        "suggested_warps": "warps_per_sm",
        "clock_reduction": "core_clock",
    },
)

SHARED = (
    _shared.blocks,
    _shared.warps_per_block,
    _shared.warps_per_sm,
    _shared.mem_latency_dram,
    _shared.mem_insts,
    _shared.total_insts,
    _residency.busy_sms,
    _units.warps_run_per_sm,
)
INSTRUCTION_MIX = (*_instruction_mix.EQUATIONS, *_instruction_cycles.EQUATIONS)
MEMORY_DEMAND = _memory_demand.EQUATIONS
IDLE_CYCLES = _idle_cycles.EQUATIONS
LEVELS = _memory_levels.EQUATIONS
SUGGESTIONS = _suggestions.EQUATIONS


@equation(source="Hong 2012, Eq. 64", symbol="Perf")
def flops(peak_achievable, effective_ratio):
    r"""Floating-point operations a second. [1/s]

    .. math:: PeakAchi \times EffRatio

    >>> flops(1e12, 0.15)
    150000000000.0
    """
    return peak_achievable * effective_ratio


@equation(source="Hong 2012, Eq. 68 and Fig. 108, computations only")
def flops_without_memory(peak_achievable, perfect_cycles, comp_cycles):
    r"""Floating-point operations a second if memory took no time. [1/s]

    .. math:: PeakAchi \times \frac{PerfCycles}{TotalCycles}

    >>> flops_without_memory(1e12, 5.0, 10.0)
    500000000000.0
    """
    return peak_achievable * divide(perfect_cycles, comp_cycles, at_zero=0.0)


@equation(source="Hong 2012, Fig. 108, no ILP")
def flops_without_ilp(flops_without_memory, ilp):
    """The same if instructions issued one at a time: ILP 1 in TotalCycles alone. [1/s]

    >>> flops_without_ilp(5e11, 2.0)
    250000000000.0
    """
    return flops_without_memory / ilp


@equation(source="Hong 2012, Eqs. 77-82, of all warps", symbol=r"Exec\_cycles")
def exec_cycles(period_cycles, mem_insts, warps_run_per_sm, warps_per_sm):
    r"""Cycles of the whole workload. [cycles]

    The thesis stops at operations a second. All warps of a core take as many turns of N warps as it
    has; a grid that does not fill the cores takes one. On a GPU with an ILP of 1 the time that
    follows is that of all floating-point operations at ``flops``.

    .. math:: Period \times \#Mem\_insts \times \max\left(\frac{Warps\_per\_SM}{N}, 1\right)

    >>> exec_cycles(220.0, 4.0, 60.0, 6.0)
    8800.0
    """
    turns = maximum(divide(warps_run_per_sm, warps_per_sm, at_zero=1.0), 1)
    return period_cycles * where(mem_insts > 0, mem_insts, 1.0) * turns


@equation(source="Hong 2012, Eqs. 77-82, of all warps")
def time(exec_cycles, core_clock):
    """Run time. [s]

    >>> time(8800.0, 1e9)
    8.8e-06
    """
    return exec_cycles / core_clock
