"""Bytes in flight of a kernel, and the number that a bandwidth needs (Little 1961; Volkov 2016).

Bytes in flight equal throughput times latency. A memory attains its bandwidth only if the number of
bytes in flight is bandwidth times latency. A kernel's bytes in flight follow from its resident
warps and the number of requests that a warp sends before it waits.
"""

from symbolic.equation import Validity, equation

OUTPUTS = ("bytes_in_flight_per_sm", "bytes_in_flight", "bytes_in_flight_needed")
VALIDITY = Validity(statement="a law of queues, for any machine")


@equation(source="Volkov 2016: warps times the requests of each")
def bytes_in_flight_per_sm(warps_per_sm, mem_strength, warp_size, bytes_per_thread):
    """Maximum number of bytes in flight for the warps of one SM. [B]"""
    return warps_per_sm * mem_strength * warp_size * bytes_per_thread


@equation(source="Volkov 2016: over the SMs in use")
def bytes_in_flight(bytes_in_flight_per_sm, active_sms):
    """Maximum number of bytes in flight of the machine. [B]"""
    return bytes_in_flight_per_sm * active_sms


@equation(source="Little 1961, L = λ W")
def bytes_in_flight_needed(mem_latency_dram, core_clock, mem_bandwidth):
    """Number of bytes that must be in flight to attain the bandwidth. [B]"""
    return mem_latency_dram / core_clock * mem_bandwidth
