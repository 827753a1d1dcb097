"""Memory latency, and the memory warp parallelism that it allows (Hong 2012, §2.3.3 and §2.6.3).

Latency and departure delay depend on how accesses coalesce (Eqs. 10-15). If there are no memory
instructions, the latency, the departure delay and the bandwidth of a warp are 0, and only the
resident warps limit MWP.
"""

import math

from symbolic.equation import equation
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import NEARLY_ALL, both, ceil, divide, maximum, minimum, where


@equation(source="Hong 2012, Eq. 10", symbol=r"Weight_{uncoal}")
def weight_uncoalesced(uncoalesced_insts, mem_insts):
    """Uncoalesced (or coalesced) share of the memory instructions; 0 for none. [ratio]"""
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
    """Latency of an uncoalesced request of a warp, whose transactions depart in turn. [cycles]

    >>> mem_latency_uncoalesced(420, 32, 10)
    730
    """
    return mem_latency_dram + (transactions_per_uncoalesced - 1) * departure_delay_uncoalesced


@equation(source="Hong 2012, Eq. 13", symbol=r"Mem\_L_{Coal}")
def mem_latency_coalesced(mem_latency_dram, departure_delay_coalesced):
    """Latency of a coalesced request of a warp; the article of 2009 omits the delay. [cycles]"""
    return mem_latency_dram + departure_delay_coalesced


@equation(source="Hong 2012, Eq. 14", symbol=r"Mem\_L")
def mem_latency(
    mem_latency_uncoalesced, weight_uncoalesced, mem_latency_coalesced, weight_coalesced
):
    """Mean latency of a request of a warp; 0 without memory instructions. [cycles]"""
    return mem_latency_uncoalesced * weight_uncoalesced + mem_latency_coalesced * weight_coalesced


@equation(source="Hong 2012, Eq. 15", symbol=r"Departure\_delay")
def departure_delay(
    departure_delay_uncoalesced, transactions_per_uncoalesced, weight_uncoalesced,
    departure_delay_coalesced, weight_coalesced,
):  # fmt: skip
    """Minimum time between the requests of two warps; 0 without memory instructions. [cycles]"""
    return (
        departure_delay_uncoalesced * transactions_per_uncoalesced * weight_uncoalesced
        + departure_delay_coalesced * weight_coalesced
    )


@equation(source="Hong 2012, Eq. 16", symbol=r"MWP\_Without\_BW\_full")
def mwp_without_bw_full(mem_latency, departure_delay):
    """Number of warps with requests in flight that latency and departure delay allow. [warps]

    >>> mwp_without_bw_full(730, 320)
    2.28125
    """
    return divide(mem_latency, departure_delay, at_zero=math.inf)


@equation(source="Hong 2012, Eq. 28", symbol="N_{pw}", when=CORRECTED)
def parallel_warps(resident_warps, mem_insts, independent_insts):
    """Upper limit that resident warps and independent requests set for MWP. [warps]

    Correction (b): by the printed equation MWP never exceeds the N resident warps. But §2.6.3 and
    Figs. 26 and 28 need 2 N if half of the requests are independent, and no limit if all are.

    >>> parallel_warps(4.0, 6.0, 3.0), parallel_warps(4.0, 6.0, 0.0)
    (8.0, 4.0)
    """
    dependent = maximum(mem_insts - independent_insts, 0)
    share = divide(mem_insts, dependent, at_zero=math.inf)
    some = both(independent_insts > 0, mem_insts > 0)
    return where(some, resident_warps * share, resident_warps)


@equation(name="parallel_warps", source="Hong 2012, Eq. 28", symbol="N_{pw}", when=PRINTED)
def parallel_warps_printed(resident_warps, mem_insts, independent_insts):
    """Upper limit of MWP as printed; N if no request is independent. [warps]"""
    dependent = maximum(mem_insts - independent_insts, 0)
    share = divide(independent_insts, dependent, at_zero=math.inf)
    some = both(independent_insts > 0, mem_insts > 0)
    return where(some, resident_warps * share, resident_warps)


@equation(source="Hong 2012, Eq. 17", when=CORRECTED)
def mwp_without_bw(mwp_without_bw_full, parallel_warps):
    """MWP if bandwidth did not limit it: at most ``parallel_warps`` (as printed: N). [warps]

    Correction (b): ``parallel_warps`` replaces N; otherwise Eq. 29 could never exceed N.
    """
    return minimum(mwp_without_bw_full, parallel_warps)


mwp_without_bw_printed = mwp_without_bw.copy_as(
    *("mwp_without_bw", "mwp_without_bw_full", "resident_warps"), when=PRINTED
)


@equation(source="Hong 2012, Eq. 7", symbol=r"BW\_per\_warp")
def bw_per_warp(core_clock, load_bytes_per_warp, mem_latency):
    """Bandwidth that one warp uses; 0 without memory instructions. [B/s]"""
    return divide(core_clock * load_bytes_per_warp, mem_latency, at_zero=0.0)


@equation(source="Hong 2012, Eq. 6", symbol=r"MWP\_peak\_BW")
def mwp_peak_bw(mem_bandwidth, bw_per_warp, busy_sms):
    """Number of warps on each multiprocessor that together reach the peak bandwidth. [warps]

    >>> round(mwp_peak_bw(80e9, 1e9 * 128 / 730, 16), 6)
    28.515625
    """
    return divide(mem_bandwidth, bw_per_warp * busy_sms, at_zero=math.inf)


@equation(source="Hong 2012, Eqs. 5 and 29", symbol="MWP", when={"rounding": "continuous"})
def mwp(mwp_without_bw, mwp_peak_bw, parallel_warps):
    r"""Memory warp parallelism: number of warps of one SM whose requests overlap. [warps]

    More bandwidth never lowers MWP. Within one case, a higher MWP never costs cycles (with at least
    two memory instructions). Where MWP reaches N (case 2 to 1), the cycles grow by up to
    :math:`Comp\_cycles \times \#Rep`. As printed, they also grow by :math:`N Comp^2/(Mem + Comp)
    \times \#Rep` where MWP exceeds CWP_full (case 2 to 3).
    """
    return minimum(mwp_without_bw, mwp_peak_bw, parallel_warps)


@equation(name="mwp", source="Hong 2012, Eqs. 5 and 29", symbol="MWP", when={"rounding": "whole"})
def mwp_whole(mwp_without_bw, mwp_peak_bw, parallel_warps):
    """Memory warp parallelism, rounded up after the minimum is taken. [warps]"""
    return ceil(minimum(mwp_without_bw, mwp_peak_bw, parallel_warps) * NEARLY_ALL)
