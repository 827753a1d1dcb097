"""Memory latency, and the memory warp parallelism that it allows (Hong 2012, §2.3.3 and §2.6.3).

Latency and departure delay depend on how accesses coalesce (Eqs. 10-15). Without memory
instructions both, and the bandwidth of a warp, are 0, so that only the resident warps limit MWP.
"""

from __future__ import annotations

import math

from symbolic.equation import equation
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import both, ceil, divide, maximum, minimum, where


@equation(source="Hong 2012, Eq. 10", symbol=r"Weight_{uncoal}")
def weight_uncoalesced(uncoalesced_insts, mem_insts):
    """Share of one kind of memory instructions; 0 without memory instructions. [ratio]"""
    return divide(uncoalesced_insts, mem_insts, at_zero=0.0)


weight_coalesced = weight_uncoalesced.copy_as(
    *("weight_coalesced", "coalesced_insts", "mem_insts"),
    source="Hong 2012, Eq. 11",
    symbol=r"Weight_{coal}",
)


@equation(source="Hong 2012, Eq. 12", symbol=r"Mem\_L_{Uncoal}")
def mem_latency_uncoalesced(
    mem_latency_dram, transactions_per_uncoalesced, departure_delay_uncoalesced
):
    """Latency of an uncoalesced request of a warp, with the departures of its parts. [cycles]

    >>> mem_latency_uncoalesced(420, 32, 10)
    730
    """
    return mem_latency_dram + (transactions_per_uncoalesced - 1) * departure_delay_uncoalesced


@equation(source="Hong 2012, Eq. 13", symbol=r"Mem\_L_{Coal}")
def mem_latency_coalesced(mem_latency_dram, departure_delay_coalesced):
    """Latency of a coalesced request of a warp; the article of 2009 adds no delay. [cycles]"""
    return mem_latency_dram + departure_delay_coalesced


@equation(source="Hong 2012, Eq. 14", symbol=r"Mem\_L")
def mem_latency(
    mem_latency_uncoalesced, weight_uncoalesced, mem_latency_coalesced, weight_coalesced
):
    """Mean latency of a request of a warp; 0 without requests. [cycles]"""
    return mem_latency_uncoalesced * weight_uncoalesced + mem_latency_coalesced * weight_coalesced


@equation(source="Hong 2012, Eq. 15", symbol=r"Departure\_delay")
def departure_delay(
    departure_delay_uncoalesced,
    transactions_per_uncoalesced,
    weight_uncoalesced,
    departure_delay_coalesced,
    weight_coalesced,
):
    """Least distance between the requests of two warps; 0 without requests. [cycles]"""
    return (
        departure_delay_uncoalesced * transactions_per_uncoalesced * weight_uncoalesced
        + departure_delay_coalesced * weight_coalesced
    )


@equation(source="Hong 2012, Eq. 16", symbol=r"MWP\_Without\_BW\_full")
def mwp_without_bw_full(mem_latency, departure_delay):
    """Requests in flight at once that latency and departures allow. [warps]

    >>> mwp_without_bw_full(730, 320)
    2.28125
    """
    return divide(mem_latency, departure_delay, at_zero=math.inf)


@equation(source="Hong 2012, Eq. 28", symbol="N_{pw}", when=CORRECTED)
def parallel_warps(resident_warps, mem_insts, independent_insts):
    """Warps that count for memory parallelism. [warps]

    Correction (b): as printed the term cannot raise MWP, yet §2.6.3 and Figs. 26 and 28 need 2 N if
    half of the requests are independent. It is infinite if all are.

    >>> parallel_warps(4.0, 6.0, 3.0), parallel_warps(4.0, 6.0, 0.0)
    (8.0, 4.0)
    """
    dependent = maximum(mem_insts - independent_insts, 0)
    share = divide(mem_insts, dependent, at_zero=math.inf)
    some = both(independent_insts > 0, mem_insts > 0)
    return where(some, resident_warps * share, resident_warps)


@equation(name="parallel_warps", source="Hong 2012, Eq. 28", symbol="N_{pw}", when=PRINTED)
def parallel_warps_printed(resident_warps, mem_insts, independent_insts):
    """Warps that count for memory parallelism, as printed; N without independent ones. [warps]"""
    dependent = maximum(mem_insts - independent_insts, 0)
    share = divide(independent_insts, dependent, at_zero=math.inf)
    some = both(independent_insts > 0, mem_insts > 0)
    return where(some, resident_warps * share, resident_warps)


@equation(source="Hong 2012, Eq. 17", when=CORRECTED)
def mwp_without_bw(mwp_without_bw_full, parallel_warps):
    """Requests in flight within the warps that count; as printed, within all warps. [warps]

    Correction (b): N_pw in place of N, without which Eq. 29 could never exceed N.
    """
    return minimum(mwp_without_bw_full, parallel_warps)


mwp_without_bw_printed = mwp_without_bw.copy_as(
    *("mwp_without_bw", "mwp_without_bw_full", "resident_warps"), when=PRINTED
)


@equation(source="Hong 2012, Eq. 7", symbol=r"BW\_per\_warp")
def bw_per_warp(core_clock, load_bytes_per_warp, mem_latency):
    """Bandwidth of one warp; 0 without memory instructions. [B/s]"""
    return divide(core_clock * load_bytes_per_warp, mem_latency, at_zero=0.0)


@equation(source="Hong 2012, Eq. 6", symbol=r"MWP\_peak\_BW")
def mwp_peak_bw(mem_bandwidth, bw_per_warp, busy_sms):
    """Warps of one multiprocessor that reach the peak bandwidth. [warps]

    >>> round(mwp_peak_bw(80e9, 1e9 * 128 / 730, 16), 6)
    28.515625
    """
    return divide(mem_bandwidth, bw_per_warp * busy_sms, at_zero=math.inf)


@equation(source="Hong 2012, Eqs. 5 and 29", symbol="MWP", when={"rounding": "continuous"})
def mwp(mwp_without_bw, mwp_peak_bw, parallel_warps):
    r"""Memory warp parallelism: warps of one SM whose requests overlap. [warps]

    More bandwidth never lowers it. Within a case more of it never costs cycles (of two memory
    instructions or more), but the cases do not join: where MWP reaches N the cycles jump up by
    :math:`Comp\_cycles \times \#Rep` (2 to 1), and where it passes CWP_full by
    :math:`N Comp^2/(Mem + Comp) \times \#Rep` (2 to 3).
    """
    return minimum(mwp_without_bw, mwp_peak_bw, parallel_warps)


@equation(name="mwp", source="Hong 2012, Eqs. 5 and 29", symbol="MWP", when={"rounding": "whole"})
def mwp_whole(mwp_without_bw, mwp_peak_bw, parallel_warps):
    """Memory warp parallelism, rounded up after the minimum is taken. [warps]"""
    return ceil(minimum(mwp_without_bw, mwp_peak_bw, parallel_warps))
