"""Quantities of throughput; a core is a multiprocessor, or one core of a CPU."""

from __future__ import annotations

from symbolic.quantity import COUNT1, NONNEG, POS, RATIO, RESULT, SHARE, Quantity, row, switch


def _insts(insts: str, kind: str) -> Quantity:
    return row(f"{insts}_insts", "", NONNEG, f"{kind} instructions of one thread", (0, 1000), 0)


ROWS = (
    switch("processor", "gpu cpu", "warps on multiprocessors, or one thread on each CPU core"),
    switch("saturation", "warps requests", "what shares the bandwidth: warps, or all requests"),
    row("fp_units", "", COUNT1, "floating-point units of one core", (2, 64)),
    row("simd_units", "", COUNT1, "SIMD units of one core", (1, 4)),
    row("simd_lanes", "", COUNT1, "lanes of one SIMD unit", (2, 16)),
    row("inst_latency", "cycle", POS, "latency of an arithmetic instruction", (4, 24)),
    row("l1_latency", "cycle", POS, "latency of a hit in the first cache", (4, 80), "l2_latency"),
    row(
        "l2_latency",
        "cycle",
        POS,
        "latency of a hit in the second cache",
        (10, 300),
        "mem_latency_dram",
    ),
    row("transaction_bytes", "B", POS, "bytes of one memory transaction", (32, 128), 128),
    _insts("fp_fused", "fused multiply-add"),
    _insts("fp_vec", "vectorisable floating-point"),
    _insts("fp_vec_fused", "vectorisable fused multiply-add"),
    _insts("misc", "branch and other"),
    row("mem_strength", "", RATIO, "requests of one warp that overlap (MSTR)", (1, 4), 1),
    row("ilp", "", RATIO, "instructions of one warp that issue at once", (1, 4), 1),
    row("simd_ilp", "", RATIO, "the same of SIMD instructions, in lanes", (1, 16)),
    row(
        "dependency_distance", "", RATIO, "instructions until one needs the result (DEP)", (1, 8), 1
    ),
    row(
        "bytes_in_flight_per_sm", "B", NONNEG, "bytes an SM can have asked for at once", (1e3, 1e5)
    ),
    row("bytes_in_flight", "B", NONNEG, "bytes a machine can have asked for at once", (1e4, 1e7)),
    row("bytes_in_flight_needed", "B", NONNEG, "those that the bandwidth needs", (1e4, 1e7)),
    row("bytes_per_thread", "B", POS, "bytes of one request of a thread", (1, 16), 4),
    row(
        "thread_distance_bytes",
        "B",
        NONNEG,
        "distance between the requests of neighbouring threads",
        (1, 256),
        "bytes_per_thread",
    ),
    row("l1_share", "", SHARE, "share of the requests that hit the first cache", (0, 1), 0),
    row("l2_share", "", SHARE, "share of the requests that hit the second", (0, 1), 0),
    row("dram_share", "", SHARE, "share of the requests that reach DRAM", (0, 1)),
    row("narrow_fp_insts", "", NONNEG, "floating-point instructions of the scalar peak (#FP)"),
    row("wide_fp_insts", "", NONNEG, "those of the higher peak, fused or SIMD (#VecFP)"),
    row("narrow_fraction", "", SHARE, "share of the former in both", (0, 1)),
    row("wide_fraction", "", SHARE, "share of the latter in both", (0, 1)),
    row("peak_narrow", "1/s", NONNEG, "operations a second of scalar units", (1e10, 1e12)),
    row("peak_wide", "1/s", NONNEG, "operations a second, fused or SIMD", (1e10, 1e13)),
    row("peak_achievable", "1/s", NONNEG, "the peak for the mix (PeakAchi)", (1e10, 1e13)),
    row("lane_passes", "", RATIO, "times an instruction of a warp fills the units", (1, 4)),
    row("dependency_factor", "", RATIO, "slowdown by results waited for (DEP_Effect)", (1, 8)),
    row("perfect_cycles", "cycle", NONNEG, "cycles of a warp's floating point", (10, 1e5)),
    row("effective_comp", "cycle", NONNEG, "computation to a memory instruction", (1, 1000)),
    row("effective_perfect", "cycle", NONNEG, "of it, perfect floating point", (1, 1000)),
    row("transactions_per_request", "", RATIO, "transactions of a warp's request", (1, 32)),
    row("mwp_app_infinite", "", "[1, inf]", "warps that hide all latency (InfiN)", (1, 64)),
    row("mwp_app_one_warp", "", RESULT, "the same, within the warps there are", (1, 64)),
    row("mwp_app", "", RESULT, "requests in flight that the workload asks for", (1, 128)),
    row("mwp_bw", "", RESULT, "requests in flight that the bandwidth allows", (1, 128)),
    row("sharing_requests", "", RATIO, "requests of a warp that share the bandwidth", (1, 4)),
    row("mwp_bw_warps", "", RESULT, "warps whose requests the bandwidth allows", (1, 128)),
    row("mwp_proc", "", RESULT, "requests in flight that departures allow", (1, 128)),
    row("serial_mem_cycles", "cycle", RESULT, "memory periods of all warps in turn"),
    row("divided_mem_cycles", "cycle", RESULT, "the same, MWP at a time"),
    row("overlapped_mem_cycles", "cycle", RESULT, "from the first request to the last end"),
    row("serial_comp_cycles", "cycle", RESULT, "computation periods of all warps"),
    row("idle_mem_cycles", "cycle", RESULT, "memory cycles that nothing hides", (0, 1e4)),
    row("period_cycles", "cycle", RESULT, "cycles in which each warp has one period"),
    row("effective_ratio", "", RESULT, "share of cycles that do floating point (EffRatio)"),
    row("overhead_fraction", "", "[-inf, inf]", "share of cycles of other computation"),
    row("idle_fraction", "", RESULT, "share of cycles that wait for memory"),
    row("exposed_mem_ratio", "", RESULT, "idle over serial memory cycles (Fig. 113)"),
    row("flops", "1/s", RESULT, "floating-point operations a second", (1e9, 1e12)),
    row("flops_without_memory", "1/s", RESULT, "the same, computation only"),
    row("flops_without_ilp", "1/s", RESULT, "computation only, one instruction at a time"),
    row("flops_l1", "1/s", RESULT, "flops if L1 serves all requests"),
    row("flops_l2", "1/s", RESULT, "flops if L2 serves all requests"),
    row("flops_dram", "1/s", RESULT, "flops if DRAM serves all requests"),
    row("category", "", "whole [1, 10]", "which of ten: what is short, warps or memory"),
    row("bandwidth_excess", "", RATIO, "demand over what the bandwidth allows (alpha)", (1, 4)),
    row("suggested_sms", "", COUNT1, "SMs to which the bandwidth reaches"),
    row("suggested_warps", "", NONNEG, "warps of an SM to which the bandwidth reaches"),
    row(
        "clock_reduction",
        "",
        "[-inf, inf]",
        "factor by which the cores may be slower, below 1 should be faster",
    ),
)
