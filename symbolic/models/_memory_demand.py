"""Requests in flight that a workload needs and that a machine allows (Hong 2012, §5.3.5-5.3.9).

Without memory instructions the latency is 0. Then one warp is enough, and no resource limits MWP.
"""

import math

from symbolic.equation import equation
from symbolic.models import _memory
from symbolic.ops import ceil, divide, maximum, minimum, where


@equation(source="Hong 2012, §5.6")
def dram_share(l1_share, l2_share):
    """Share of the requests that DRAM serves, because they hit no cache. [ratio]"""
    return maximum(1 - l1_share - l2_share, 0)


@equation(source="Hong 2012, Table 15 (DistanceMemBytes)")
def transactions_per_request(warp_size, thread_distance_bytes, bytes_per_thread, transaction_bytes):
    """Transactions of one request of a warp, aligned at its first thread. [transactions]

    The thesis names the distance between threads as an input, but gives no equation. Our equation
    counts the transactions that cover all bytes from the first to the last thread. If threads lie
    further apart than a transaction, each thread has transactions of its own.
    """
    span = (warp_size - 1) * thread_distance_bytes + bytes_per_thread
    alone = warp_size * ceil(bytes_per_thread / transaction_bytes)
    return minimum(ceil(span / transaction_bytes), alone)


@equation(source="Hong 2012, §5.3.3 and §5.3.8", symbol="EffMem")
def mem_latency(
    l1_share, l1_latency, l2_share, l2_latency, dram_share, mem_latency_dram,
    transactions_per_request, mem_insts,
):  # fmt: skip
    """Mean latency of a warp's request: the latencies of its transactions are added. [cycles]

    Bytes and latency are both proportional to the number of transactions, so the ratio of bytes to
    latency in Eq. 76 does not depend on this number.
    """
    hits = l1_share * l1_latency + l2_share * l2_latency
    latency = (hits + dram_share * mem_latency_dram) * transactions_per_request
    return where(mem_insts > 0, latency, 0.0)


@equation(source="Hong 2012, §5.3.8", symbol=r"Load\_bytes\_per\_warp")
def load_bytes_per_warp(transactions_per_request, transaction_bytes):
    """Bytes of one request of a warp, counted in whole transactions. [B]"""
    return transactions_per_request * transaction_bytes


bw_per_warp = _memory.bw_per_warp


@equation(source="Hong 2012, Eq. 72", symbol=r"MWP\_App\_InfiN")
def mwp_app_infinite(mem_latency, effective_comp):
    """Number of warps per core that would hide all latency, if they were resident. [warps]"""
    return maximum(divide(mem_latency, effective_comp, at_zero=math.inf), 1)


@equation(source="Hong 2012, Eq. 73", symbol=r"MWP\_App\_OneMemWarp")
def mwp_app_one_warp(mwp_app_infinite, warps_per_sm):
    """Number of warps that hide latency, limited to the resident warps. [warps]"""
    return minimum(mwp_app_infinite, warps_per_sm)


@equation(source="Hong 2012, Eq. 74", symbol=r"MWP\_App")
def mwp_app(mwp_app_one_warp, mem_strength):
    """Requests in flight that the workload needs. [requests]

    >>> mwp_app(2.0, 2.0)  # Fig. 101
    4.0
    """
    return mwp_app_one_warp * mem_strength


@equation(source="Hong 2012, Eq. 75", symbol=r"MWP\_BW")
def mwp_bw(mem_bandwidth, bw_per_warp, dram_share, active_sms):
    """Number of requests in flight that the bandwidth allows for each core. [requests]

    Cache hits use no DRAM bandwidth; in the thesis every request reaches DRAM.
    """
    return divide(mem_bandwidth, bw_per_warp * dram_share * active_sms, at_zero=math.inf)


@equation(source="Hong 2012, Eq. 16 and §5.3.8", symbol=r"MWP\_Proc")
def mwp_proc(mem_latency, departure_delay):
    """Number of requests in flight that the departure delay allows. [requests]"""
    return where(mem_latency > 0, divide(mem_latency, departure_delay, at_zero=math.inf), math.inf)


@equation(name="sharing_requests", source="Hong 2012, Eq. 71", when={"saturation": "warps"})
def sharing_requests_warps():
    """Number of a warp's requests that share the bandwidth: 1, as printed. [requests]"""
    return 1


@equation(name="sharing_requests", source="Hong 2012, §5.4.4", when={"saturation": "requests"})
def sharing_requests_all(mem_strength):
    """Number of a warp's requests that share the bandwidth: all in flight. [requests]

    Eq. 71 compares numbers of requests (MWP_App, MWP_BW) with the number of warps N. By Eq. 71, a
    warp's second request would use bandwidth but take no time. In Fig. 119 it takes time.
    """
    return mem_strength


@equation(source="Hong 2012, Eqs. 71 and 75, in warps")
def mwp_bw_warps(mwp_bw, sharing_requests):
    """Number of warps per core whose requests the bandwidth can serve. [warps]"""
    return mwp_bw / sharing_requests


@equation(source="Hong 2012, Eq. 71", symbol="MWP")
def mwp(mwp_app, mwp_bw_warps, mwp_proc, warps_per_sm):
    """Memory warp parallelism: number of requests of one core that overlap. [warps]

    >>> mwp(4.0, 3.0, float("inf"), 2.0)  # Fig. 101
    2.0
    """
    return minimum(mwp_app, mwp_bw_warps, mwp_proc, warps_per_sm)
