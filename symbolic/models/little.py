"""Bytes in flight, and how many a bandwidth needs (Little 1961; Volkov 2016).

Bytes in flight are throughput times latency. A memory runs at its bandwidth only while bandwidth
times latency bytes are in flight; a kernel has its resident warps times the requests that each
sends before it waits.
"""

from __future__ import annotations

from symbolic.equation import Validity, equation

OUTPUTS = ("bytes_in_flight_per_sm", "bytes_in_flight", "bytes_in_flight_needed")
VALIDITY = Validity(statement="a law of queues, for any machine")


@equation(source="Volkov 2016: warps times the requests of each")
def bytes_in_flight_per_sm(warps_per_sm, mem_strength, warp_size, bytes_per_thread):
    """Most bytes that the warps of one SM have requested at once. [B]"""
    return warps_per_sm * mem_strength * warp_size * bytes_per_thread


@equation(source="Volkov 2016: over the SMs in use")
def bytes_in_flight(bytes_in_flight_per_sm, active_sms):
    """Most bytes that the machine has requested at once. [B]"""
    return bytes_in_flight_per_sm * active_sms


@equation(source="Little 1961, L = λ W")
def bytes_in_flight_needed(mem_latency_dram, core_clock, mem_bandwidth):
    """Bytes that must be in flight for the whole bandwidth. [B]"""
    return mem_latency_dram / core_clock * mem_bandwidth
