"""Quantities of today's GPUs: caches, rates, clocks and bandwidths that are attained.

What is printed (``l2_bytes_per_cycle``, ``fp32_flops``, ``boost_clock``) and what was measured
(``read_bandwidth``, ``l2_bandwidth``, the latencies) have names of their own. Rates of the machine
are at its boost clock; latencies at its nominal clock, in core cycles.
"""

from __future__ import annotations

from symbolic.quantity import COUNT1, NONNEG, POS, Quantity, row


def _rate(name: str, what: str, least: float, most: float) -> Quantity:
    meaning = f"{what}, of the machine at its boost clock, without sparsity"
    return row(name, "1/s", POS, meaning, (least, most))


ROWS = (
    row("release_year", "", "whole [1999, 2100]", "year in which the machine came out"),
    row("cache_levels", "", "whole [0, 4]", "caches that loads of global memory pass", (0, 3)),
    # --- clocks and power
    row("base_clock", "Hz", POS, "base clock of the cores, as printed", (7e8, 2e9)),
    row("boost_clock", "Hz", POS, "boost clock of the cores, as printed", (1e9, 3e9)),
    row("nominal_memory_clock", "Hz", POS, "clock of the memory, as it is by default", (4e8, 2e9)),
    row("memory_clock", "Hz", POS, "clock of the memory", (4e8, 2e9), "nominal_memory_clock"),
    row("board_power", "W", POS, "most power that the board is allowed (TDP)", (60, 800)),
    # --- rates
    row("schedulers_per_sm", "", COUNT1, "warp schedulers of one multiprocessor", (1, 4)),
    _rate("fp64_flops", "double-precision operations a second", 1e11, 1e14),
    _rate("fp32_flops", "single-precision operations a second", 1e12, 1e14),
    _rate("fp16_flops", "half-precision operations a second, no tensor units", 1e12, 2e14),
    _rate("tensor_fp64_flops", "double-precision operations a second, tensor units", 1e13, 2e14),
    _rate("tensor_tf32_flops", "TF32 operations a second, tensor units", 5e13, 1e15),
    _rate(
        "tensor_fp16_flops",
        "half-precision products summed in single precision, tensor units",
        5e13,
        2e15,
    ),
    _rate("tensor_fp8_flops", "FP8 operations a second, tensor units", 2e14, 4e15),
    _rate("tensor_int8_ops", "8-bit integer operations a second, tensor units", 1e14, 4e15),
    # --- caches
    row("l1_size", "B", POS, "first cache of one SM, with shared memory where they are one"),
    row("l2_size", "B", POS, "second cache, all of it", (2**21, 2**27)),
    row("l3_size", "B", POS, "third cache, all of it", (2**27, 2**28)),
    row("l1_bytes_per_cycle", "B", POS, "bytes a cycle of one SM's first cache", (64, 128)),
    row("l2_bytes_per_cycle", "B", POS, "bytes a core cycle of the whole second cache", (1e3, 1e4)),
    row("l2_bandwidth", "B/s", POS, "bandwidth attained from the second cache", (1e12, 2e13)),
    row("l3_bandwidth", "B/s", POS, "bandwidth attained from the third cache", (1e12, 2e13)),
    row("far_l2_latency", "cycle", NONNEG, "latency of a hit in the far part of the second cache"),
    row("l3_latency", "cycle", NONNEG, "latency of a hit in the third cache", (300, 800)),
    # --- DRAM
    row("mem_size", "B", POS, "DRAM of the machine", (2**32, 2**38)),
    row("read_bandwidth", "B/s", POS, "DRAM bandwidth attained by reading alone", (2e11, 4e12)),
    row("triad_bandwidth", "B/s", POS, "DRAM bandwidth attained by a triad", (2e11, 4e12)),
)
