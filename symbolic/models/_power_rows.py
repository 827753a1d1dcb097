"""Quantities of power and energy."""

from __future__ import annotations

from symbolic.quantity import NONNEG, RATIO, RESULT, Quantity, row, switch


def _insts(insts: str, kind: str, default: str | int = 0) -> Quantity:
    return row(
        f"{insts}_insts", "", NONNEG, f"{kind} instructions of one thread", (0, 1e4), default
    )


def _unit(unit: str, kind: str, most: float) -> tuple[Quantity, ...]:
    typical, absent = (most / 2, most * 2), 0 if unit in ("l1", "l2") else None
    return (
        row(f"access_rate_{unit}", "", RESULT, f"accesses an issue slot: {kind}", (0, 2)),
        row(f"max_power_{unit}", "W", NONNEG, f"at full rate: {kind}", typical, absent),
        row(f"{unit}_unit_power", "W", NONNEG, f"before scaling: {kind}", (0, most)),
        row(f"{unit}_power", "W", RESULT, f"share of the power: {kind}", (0, 30 * most)),
    )


ROWS = (
    switch("sm_scaling", "log linear", "how power grows with the multiprocessors in use"),
    switch("power_gating", "false true", "unused multiprocessors draw no power at all"),
    _insts("fp", "floating-point", "comp_insts"),
    _insts("sfu", "special-function"),
    _insts("int", "integer"),
    _insts("alu", "logic and move"),
    _insts("shared", "shared memory"),
    _insts("texture", "texture"),
    _insts("const", "constant memory"),
    _insts("register", "register-using", "total_insts"),
    _insts("global", "global memory", "mem_insts"),
    _insts("local", "local memory"),
    _insts("l1", "L1-cache"),
    _insts("l2", "L2-cache"),
    *_unit("fp", "floating-point units", 0.2),
    *_unit("sfu", "special-function units", 0.5),
    *_unit("int", "integer units", 0.25),
    *_unit("alu", "logic units", 0.2),
    *_unit("shared", "shared memory", 1),
    *_unit("texture", "texture cache", 0.9),
    *_unit("const", "constant cache", 0.4),
    *_unit("register", "register file", 0.3),
    *_unit("fds", "fetch, decode and schedule", 0.5),
    *_unit("l1", "L1 cache", 1.6),
    *_unit("l2", "L2 cache", 12),
    *_unit("global", "DRAM, global accesses", 52),
    *_unit("local", "DRAM, local accesses", 52),
    row("max_power_const_sm", "W", NONNEG, "constant power of an SM in use", (0.5, 1)),
    row("const_sm_power", "W", RESULT, "share of the power: constant, of SMs in use"),
    row("max_power_activation", "W", NONNEG, "power of waking the chip", (0, 64), 0),
    row("activation_power", "W", RESULT, "share of the power: activation"),
    row("idle_power", "W", NONNEG, "power of the machine that runs nothing", (20, 100)),
    row("standing_power", "W", NONNEG, "share of the power: idle, of what is not gated"),
    row("warps_run_per_sm", "", RESULT, "warps that one SM executes in all", (1, 1e5)),
    row("issue_rate", "", RESULT, "access rate of one instruction of a thread", (1e-5, 0.1)),
    row("rate_clamped", "", "whole [0, 1]", "whether an access rate above 1 counts as 1"),
    row("sm_component_power", "W", NONNEG, "power of one SM (sum of its units)", (1, 5)),
    row("memory_component_power", "W", NONNEG, "power of the memory system", (0, 60)),
    row("scaling_offset", "", "[1, 10]", "offset of the logarithmic scaling (beta)", None, 1.1),
    row("scaling_slope", "", NONNEG, "slope of the logarithmic scaling (alpha)", (0.1, 0.6)),
    row("scaling_factor", "", NONNEG, "logarithmic share of the power of all SMs", (0.1, 1)),
    row("sm_scale", "", NONNEG, "SMs' worth of power that the SMs in use draw", (1, 30)),
    row("memory_scale", "", NONNEG, "share of the memory's power that is drawn", (0.1, 1)),
    row("clock_power_exponent", "", NONNEG, "power of the clock in dynamic power", (3, 3), 3),
    row("clock_power_factor", "", NONNEG, "dynamic power over that at the nominal clock"),
    row("largest_power", "W", RESULT, "power of the unit that draws most", (1, 60)),
    row("sm_power", "W", RESULT, "dynamic power of the multiprocessors", (10, 200)),
    row("memory_power", "W", RESULT, "dynamic power of the memory system", (10, 60)),
    row("runtime_power", "W", RESULT, "power beyond idle", (20, 200)),
    row("power", "W", RESULT, "power of the machine", (50, 300)),
    row("work_insts", "", NONNEG, "instructions of all threads", (1e6, 1e11)),
    row("insts_per_second", "1/s", RESULT, "instructions of all threads a second"),
    row("bandwidth_used", "B/s", RESULT, "bytes a second that requests load", (1e9, 2e11)),
    row("perf_per_watt", "1/J", RESULT, "instructions a second and watt"),
    row("energy", "J", RESULT, "energy of the run", (0.001, 10)),
    row("edp", "J s", RESULT, "energy-delay product", (1e-6, 1)),
    row("ed2p", "J s^2", RESULT, "energy-delay-squared product"),
    row("warps_on_all_sms", "", RATIO, "warps of a busy SM when every SM is in use"),
    row("parallel_warps_on_all_sms", "", RESULT, "N_pw when every SM is in use"),
    row("mwp_on_all_sms", "", "(0, inf)", "MWP when every SM is in use", (0.5, 64)),
    row("cwp_on_all_sms", "", RESULT, "CWP when every SM is in use", (1, 64)),
    row("sms_at_peak_bw", "", RESULT, "SMs that reach the peak bandwidth", (1, 64)),
    row("mwp_peak_bw_on_all_sms", "", RESULT, "MWP of the bandwidth, every SM in use"),
    row("optimal_sms", "", RATIO, "SMs for most work per energy, by the bandwidth"),
)
