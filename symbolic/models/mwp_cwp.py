"""MWP-CWP: run time from memory and computation warp parallelism (Hong 2012, chapter 2).

The switch ``printed`` selects the equations as printed. By default, two corrections apply: (a) the
computation of all warps and one memory period (Eq. 23) bound the cycles from below in every case,
so that the CPI is at least the issue limit; (b) independent requests raise MWP above N (Eq. 28).
The switch ``rounding`` rounds MWP and CWP up, and ``waves`` rounds the repetitions up. Case 2
uses Eq. 22, which has MWP − 1 where Eq. 1 has MWP. If a kernel has no memory instructions, its
latency, departure delay and bandwidth are 0; only N limits MWP, and case 3 holds. If MWP is below
1, MWP − 1 is set to 0, except as printed.

Not monotone: the equations of cases 1 and 2 do not meet at their border. So the time may grow if
one of these is raised: ``mem_bandwidth``, ``read_bandwidth``, ``triad_bandwidth``,
``ms_peak_bandwidth``, ``n_sms``, ``active_sms``, ``registers_per_sm``, ``shared_mem_per_sm``,
``max_blocks_per_sm``, ``max_warps_per_sm``, ``max_threads_per_sm``. It may also grow if one of
these is lowered: ``mem_latency_nominal``, ``departure_delay_coalesced``,
``departure_delay_uncoalesced``, ``reserved_shared_mem_per_block``, ``registers_per_thread``,
``shared_mem_per_block``, ``elements``, ``comp_insts``. If ``coalesced_insts`` or
``uncoalesced_insts`` is lowered, the computation periods are longer (Eq. 2), and if
``transactions_per_uncoalesced`` is lowered, MWP is larger (Eqs. 15-16); Eq. 22 adds MWP − 1
such periods. Advice lists no move that gains by such a jump.
"""

import math

from symbolic.equation import Family, Guide, Validity, equation, equations_of
from symbolic.models import _memory, _residency, _shared
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import NEARLY_ALL, both, ceil, divide, either, equal, maximum, minimum, where

OUTPUTS = ("time", "total_cycles", "cpi", "mwp", "cwp", "case")
VALIDITY = Validity(
    quantity="cache_levels",
    maximum=0,
    statement="mwp_cwp has no caches: every access goes to DRAM, so it suits only kernels that "
    "read their data once; compare its times with measured ones first",
)

FAMILIES = (
    Family(
        of="mwp",
        terms={
            "latency": "mwp_without_bw_full",
            "bandwidth": "mwp_peak_bw",
            "warps": "parallel_warps",
        },
    ),
    Family(of="cwp", terms={"periods": "cwp_full", "warps": "resident_warps"}),
    Family(of="warp_parallelism", terms={"memory": "mwp", "computation": "cwp"}),
)

SHARED, MEMORY_WARPS = equations_of(_shared), equations_of(_memory)
#: Residency that a small grid reduces; as printed, the grid reduces neither N nor the blocks.
RESIDENCY = (
    *(_residency.blocks_per_busy_sm, _residency.busy_sms, _residency.repetitions_whole),
    *(
        each.copy_as(each.name, *each.inputs, when={**each.when, **CORRECTED})
        for each in (_residency.repetitions, _residency.resident_blocks, _residency.resident_warps)
    ),
)

CASES = {1: "not enough warps", 2: "memory bound", 3: "computation bound"}

#: ``threads_per_block`` is not advised, because it also changes the work.
ADVICE = Guide(
    state="case",
    goal="time",
    limits="mwp",
    helps="active_blocks_per_sm, warps_per_sm, active_sms, mem_bandwidth, core_clock, comp_insts, "
    "coalesced_insts, uncoalesced_insts, transactions_per_uncoalesced, "
    "departure_delay_coalesced, departure_delay_uncoalesced",
    follow=True,
    show=("mwp", "cwp", "resident_warps"),
    fixed=frozenset({"threads_per_block", "warp_size"}),
    suggests={"optimal_sms": "active_sms"},
)


@equation(name="resident_blocks", source="Hong 2012, §2.3.5", when=PRINTED)
def resident_blocks_printed(active_blocks_per_sm):
    """Blocks that a multiprocessor can hold, as printed, even if the grid has fewer. [blocks]"""
    return active_blocks_per_sm


@equation(name="resident_warps", source="Hong 2012, Table 1", symbol="N", when=PRINTED)
def resident_warps_printed(warps_per_sm):
    """Warps that a multiprocessor can hold, as printed, even if the grid has fewer. [warps]"""
    return warps_per_sm


@equation(
    name="repetitions",
    source="Hong 2012, Eq. 20",
    symbol=r"\#Rep",
    when={**_residency.repetitions.when, **PRINTED},
)
def repetitions_printed(blocks, resident_blocks, busy_sms):
    """Number of times that an SM is filled with blocks, as printed: below 1 for a small grid."""
    return divide(blocks, resident_blocks * busy_sms, at_zero=math.inf)


@equation(source="Hong 2012, Eqs. 18 and 30", symbol=r"Comp\_cycles")
def comp_cycles(issue_cycles, comp_factor, total_insts, imbalance_loss):
    """Computation cycles of one warp, including the loss from imbalance if it is known. [cycles]"""
    return issue_cycles * comp_factor * total_insts * imbalance_loss


@equation(source="Hong 2012, Eq. 2", symbol=r"Comp\_p")
def comp_period(comp_cycles, mem_insts):
    """Computation cycles of a warp from one request to its next; 0 without requests. [cycles]"""
    return divide(comp_cycles, mem_insts, at_zero=0.0)


@equation(source="Hong 2012, Eq. 19", symbol=r"Mem\_cycles")
def mem_cycles(mem_latency_uncoalesced, uncoalesced_insts, mem_latency_coalesced, coalesced_insts):
    """Memory cycles of one warp whose requests do not overlap. [cycles]"""
    return mem_latency_uncoalesced * uncoalesced_insts + mem_latency_coalesced * coalesced_insts


@equation(source="Hong and Kim 2009; Hong 2012, Eq. 8", symbol=r"CWP\_full")
def cwp_full(mem_cycles, comp_cycles):
    """One more than the number of warps that can compute while a warp waits for memory. [warps]"""
    return divide(mem_cycles + comp_cycles, comp_cycles, at_zero=1.0)


@equation(source="Hong 2012, Eq. 9", symbol="CWP", when={"rounding": "continuous"})
def cwp(cwp_full, resident_warps):
    """Computation warp parallelism: the smaller of CWP_full and the resident warps. [warps]"""
    return minimum(cwp_full, resident_warps)


@equation(name="cwp", source="Hong 2012, Eq. 9", symbol="CWP", when={"rounding": "whole"})
def cwp_whole(cwp_full, resident_warps):
    """Computation warp parallelism, rounded up after the minimum is taken. [warps]"""
    return ceil(minimum(cwp_full, resident_warps) * NEARLY_ALL)


@equation(source="Hong 2012, §2.3.1")
def warp_parallelism(mwp, cwp):
    """The smaller of MWP and CWP, which determines the run time. [warps]"""
    return minimum(mwp, cwp)


@equation(source="Hong 2012, §2.3.6 and Fig. 8", flags=CASES, when=CORRECTED)
def case(mwp, cwp, resident_warps, memory_bound_cycles, computation_bound_cycles, mem_insts):
    """The first of the three cases that holds.

    Correction (a): case 2 holds only if Eq. 22 gives at least the cycles of Eq. 23. So case 3 holds
    if computation takes longer than memory, as in Fig. 8 and its text. Case 1 is tested first,
    because a single warp hides nothing (Fig. 9a). Correction (b): MWP may exceed N in case 1. If
    there are no memory instructions, case 3 holds.
    """
    few = both(mwp >= resident_warps, equal(cwp, resident_warps))
    memory = both(cwp >= mwp, memory_bound_cycles >= computation_bound_cycles)
    return where(mem_insts > 0, where(few, 1.0, where(memory, 2.0, 3.0)), 3.0)


@equation(name="case", source="Hong 2012, §2.3.6", flags=CASES, when=PRINTED)
def case_printed(mwp, cwp, resident_warps, comp_cycles, mem_cycles, mem_insts):
    """The first of the three cases that holds, as printed."""
    few = both(equal(mwp, resident_warps), equal(cwp, resident_warps))
    memory = either(cwp >= mwp, comp_cycles > mem_cycles)
    return where(mem_insts > 0, where(few, 1.0, where(memory, 2.0, 3.0)), 3.0)


@equation(source="Hong 2012, Eq. 21", when=CORRECTED)
def few_warps_cycles(mem_cycles, comp_cycles, comp_period, mwp, resident_warps, mem_latency):
    """Cycles of one repetition in case 1: too few warps to hide anything. [cycles]

    Correction (b): if independent requests raise MWP above N, requests of one warp also overlap.
    Then the memory cycles of the warp are multiplied by N/MWP (but are at least one latency), and N
    − 1 computation periods are added.

    >>> few_warps_cycles(6.0, 2.0, 1.0, 2.0, 2.0, 3.0)  # Fig. 9b
    9.0
    """
    shrunk = mem_cycles * resident_warps / mwp  # as in Eq. 22
    overlapped = where(resident_warps < mwp, shrunk, mem_cycles)
    waiting = maximum(overlapped, minimum(mem_latency, mem_cycles))
    return waiting + comp_cycles + comp_period * maximum(minimum(mwp, resident_warps) - 1, 0)


@equation(name="few_warps_cycles", source="Hong 2012, Eq. 21", when=PRINTED)
def few_warps_cycles_printed(mem_cycles, comp_cycles, comp_period, mwp):
    """Cycles of one repetition in case 1 (too few warps to hide anything), as printed. [cycles]"""
    return mem_cycles + comp_cycles + comp_period * (mwp - 1)


@equation(source="Hong 2012, Eq. 22", when=CORRECTED)
def memory_bound_cycles(mem_cycles, comp_period, mwp, resident_warps):
    """Cycles of one repetition in case 2: memory periods hide the computation. [cycles]

    >>> memory_bound_cycles(4380.0, 22.0, 2.28125, 20.0)
    38428.1875
    """
    return mem_cycles * resident_warps / mwp + comp_period * maximum(mwp - 1, 0)


@equation(name="memory_bound_cycles", source="Hong 2012, Eq. 22", when=PRINTED)
def memory_bound_cycles_printed(mem_cycles, comp_period, mwp, resident_warps):
    """Cycles of one repetition in case 2 (memory hides the computation), as printed. [cycles]"""
    waiting = divide(mem_cycles * resident_warps, mwp, at_zero=math.inf)
    return waiting + comp_period * (mwp - 1)


@equation(source="Hong 2012, Eqs. 3 and 23")
def computation_bound_cycles(mem_latency, comp_cycles, resident_warps):
    """Cycles of one repetition in case 3: computation hides all but one memory period. [cycles]"""
    return mem_latency + comp_cycles * resident_warps


@equation(source="Hong 2012, Eqs. 21-23", symbol=r"Exec\_cycles\_app", when=CORRECTED)
def exec_cycles(case, few_warps_cycles, memory_bound_cycles, computation_bound_cycles, repetitions):
    """Cycles without synchronisation: cycles of one repetition in this case × #Rep. [cycles]

    Correction (a): no case takes fewer cycles than Eq. 23. In case 1 this matters only if requests
    are independent.
    """
    few = maximum(few_warps_cycles, computation_bound_cycles)
    longest = where(equal(case, 2), memory_bound_cycles, computation_bound_cycles)
    return where(equal(case, 1), few, longest) * repetitions


@equation(
    name="exec_cycles",
    source="Hong 2012, Eqs. 21-23",
    symbol=r"Exec\_cycles\_app",
    when=PRINTED,
    inputs=exec_cycles.inputs,
)
def exec_cycles_printed(case, few, memory_bound, computation_bound, repetitions):
    """Cycles without synchronisation, as printed: those of the case alone × #Rep. [cycles]"""
    longest = where(equal(case, 2), memory_bound, computation_bound)
    return where(equal(case, 1), few, longest) * repetitions


@equation(source="Hong 2012, Eq. 26", symbol="NpWB")
def parallel_warps_per_block(mwp, warps_per_block):
    """Number of warps of one block whose requests overlap. [warps]"""
    return minimum(mwp, warps_per_block)


@equation(source="Hong 2012, Eq. 25", symbol=r"Synch\_cost", when=CORRECTED)
def sync_cycles(
    departure_delay, parallel_warps_per_block, sync_insts, resident_blocks, repetitions
):
    """Cycles that barriers add. [cycles]

    >>> sync_cycles(320, 2.28125, 6, 5, 1)
    12300.0
    """
    delay = departure_delay * maximum(parallel_warps_per_block - 1, 0)
    return delay * sync_insts * resident_blocks * repetitions


@equation(name="sync_cycles", source="Hong 2012, Eq. 25", when=PRINTED, inputs=sync_cycles.inputs)
def sync_cycles_printed(departure_delay, parallel, sync_insts, blocks, repetitions):
    """Cycles that barriers add, as printed. [cycles]"""
    return departure_delay * (parallel - 1) * sync_insts * blocks * repetitions


@equation(source="Hong 2012, Eq. 27", symbol=r"Exec\_cycles\_with\_synch")
def total_cycles(exec_cycles, sync_cycles):
    """Cycles of the whole workload. [cycles]

    For this example, the article of 2009 prints 50738, computed with MWP = 2.28.

    >>> total_cycles(38428.1875, 12300.0)
    50728.1875
    """
    return exec_cycles + sync_cycles


@equation(source="Hong 2012, Eq. 24", symbol="CPI")
def cpi(exec_cycles, total_insts, warps_per_block, blocks, busy_sms):
    """Cycles per instruction of a warp on one multiprocessor. [cycles/instruction]

    >>> round(cpi(38428.1875, 33, 4, 80, 16), 4)
    58.2245
    """
    insts = total_insts * warps_per_block * (blocks / busy_sms)
    return divide(exec_cycles, insts, at_zero=0.0)


@equation(source="Hong 2012, §2.3.6")
def time(total_cycles, core_clock):
    """Run time. [s]"""
    return total_cycles / core_clock
