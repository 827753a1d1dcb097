"""Rows of the quantities of power, temperature, placement and energy."""

from __future__ import annotations

from symbolic.quantity import (
    CELSIUS,
    COUNT0,
    COUNT1,
    NONNEG,
    POS,
    RATIO,
    RESULT,
    SHARE,
    Quantity,
    quantity,
    row,
    spec,
    switch,
)


def _insts(insts: str, kind: str, default: str | int = 0) -> Quantity:
    return row(
        f"{insts}_insts", "", NONNEG, f"{kind} instructions of one thread", (0, 1e4), default
    )


def _unit(unit: str, kind: str, most: float) -> tuple[Quantity, ...]:
    typical, absent = (most / 2, most * 2), 0 if unit in ("l1", "l2") else None
    return (
        row(f"access_rate_{unit}", "", RESULT, f"accesses per issue slot: {kind}", (0, 2)),
        spec(f"max_power_{unit}", "W", NONNEG, f"power at full rate: {kind}", typical, absent),
        row(f"{unit}_unit_power", "W", NONNEG, f"power before scaling: {kind}", (0, most)),
        row(f"{unit}_power", "W", RESULT, f"share of the power: {kind}", (0, 30 * most)),
    )


POWER = (
    switch("sm_scaling", "log linear", "dependence of power on the multiprocessors in use"),
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
    spec("max_power_const_sm", "W", NONNEG, "constant power of an SM in use", (0.5, 1)),
    row("const_sm_power", "W", RESULT, "share of the power: constant part of SMs in use"),
    spec("max_power_activation", "W", NONNEG, "power of activating the chip", (0, 64), 0),
    row("activation_power", "W", RESULT, "share of the power: activation"),
    spec("idle_power", "W", NONNEG, "power of the machine that runs nothing", (20, 100)),
    row("standing_power", "W", NONNEG, "share of the power: idle parts that are not gated"),
    row("warps_run_per_sm", "", RESULT, "warps that one SM executes in all", (1, 1e5)),
    row("issue_rate", "", RESULT, "access rate of one instruction of a thread", (1e-5, 0.1)),
    row("rate_clamped", "", "whole [0, 1]", "1 if an access rate above 1 counts as 1"),
    row("sm_component_power", "W", NONNEG, "power of one SM (sum of its units)", (1, 5)),
    row("memory_component_power", "W", NONNEG, "power of the memory system", (0, 60)),
    spec("scaling_offset", "", "[1, 10]", "offset of the logarithmic scaling (beta)", None, 1.1),
    row("scaling_slope", "", NONNEG, "slope of the logarithmic scaling (alpha)", (0.1, 0.6)),
    row("scaling_factor", "", NONNEG, "logarithmic share of the power of all SMs", (0.1, 1)),
    row("sm_scale", "", NONNEG, "power of the SMs in use over that of one SM", (1, 30)),
    row("memory_scale", "", NONNEG, "share of the memory's power that is drawn", (0.1, 1)),
    spec("clock_power_exponent", "", NONNEG, "exponent of the clock in dynamic power", (3, 3), 3),
    row("clock_power_factor", "", NONNEG, "dynamic power over that at the nominal clock"),
    row("largest_power", "W", RESULT, "power of the unit that draws most", (1, 60)),
    row("sm_power", "W", RESULT, "dynamic power of the multiprocessors", (10, 200)),
    row("memory_power", "W", RESULT, "dynamic power of the memory system", (10, 60)),
    row("runtime_power", "W", RESULT, "power beyond idle", (20, 200)),
    row("power", "W", RESULT, "power of the machine", (50, 300)),
    row("work_insts", "", NONNEG, "instructions of all threads", (1e6, 1e11)),
    row("insts_per_second", "1/s", RESULT, "instructions of all threads per second"),
    row("bandwidth_used", "B/s", RESULT, "bytes per second that requests load", (1e9, 2e11)),
    row("perf_per_watt", "1/J", RESULT, "instructions per second and watt"),
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

TEMPERATURE = (
    row("elapsed", "s", NONNEG, "time since the workload began, or since it ended", (0, 600)),
    spec("idle_temperature", "degC", CELSIUS, "chip temperature at rest", (30, 60)),
    spec("temperature_per_watt", "K/W", NONNEG, "temperature rise per watt over idle", (0.05, 0.3)),
    spec("temperature_offset", "K", NONNEG, "temperature rise of any run", (0, 10)),
    spec("temperature_per_intensity", "K", NONNEG, "rise at an access_intensity of 1", (0, 30)),
    spec("heating_time_constant", "s", POS, "time constant of heating (RC_Rise)", (10, 100)),
    spec("cooling_time_constant", "s", POS, "time constant of cooling (RC_Decay)", (10, 100)),
    row("access_intensity", "", RESULT, "memory instructions per other instruction", (0, 1)),
    row("max_temperature", "degC", "(-273.15, inf]", "steady chip temperature", (60, 90)),
    row("temperature", "degC", "(-273.15, inf]", "chip temperature", (50, 90)),
    row("cooling_start", "degC", CELSIUS, "initial temperature", (60, 90), "max_temperature"),
    row("cooling_temperature", "degC", "(-273.15, inf]", "temperature after the run"),
    spec("leakage_per_degree", "W/K", NONNEG, "static power per degree of rise", (0.1, 1)),
    row("power_at", "W", "[-inf, inf]", "power at the current temperature"),
    row("steady_power", "W", "[-inf, inf]", "power at the steady temperature"),
    row("settled_within", "K", POS, "distance from steady that counts as settled", (0.5, 2), 1),
    row("settling_time", "s", RESULT, "time until the temperature is settled"),
    row("supply_voltage", "V", POS, "supply voltage (V_dd, V_cc)", (0.7, 1.3)),
    row("nominal_supply_voltage", "V", POS, "supply voltage of the process (V_dd0)", (0.9, 1.2)),
    row("transistors", "", POS, "transistors of the design (N)", (1e9, 1e10)),
    row("design_factor", "", POS, "factor of the circuit and its technology (K_design)", (0.01, 1)),
    row("leakage_scale", "A/V^2", POS, "mobility x oxide capacitance x W/L", (1e-6, 0.001)),
    row("voltage_leakage_slope", "1/V", NONNEG, "growth of leakage with voltage (b)", (0.5, 3)),
    row("threshold_voltage", "V", NONNEG, "threshold voltage (V_th)", (0.2, 0.5)),
    row("offset_voltage", "V", "(-inf, inf)", "offset of the threshold (V_off)", (0, 0.1)),
    row("subthreshold_swing", "", POS, "swing coefficient (n)", (1, 2)),
    row("thermal_voltage", "V", POS, "kT/q", (0.025, 0.032)),
    row("leakage_current", "A", RESULT, "leakage of one transistor", (1e-12, 1e-7)),
    row("static_power", "W", RESULT, "leakage power of the design", (1, 100)),
    row("reference_temperature", "degC", CELSIUS, "where the line meets the curve", (50, 80)),
    row("leakage_slope", "1/K", "[-inf, inf]", "relative growth of leakage per degree"),
    row("reference_static_power", "W", NONNEG, "static power at the reference", (1, 100)),
    row("linear_static_power", "W", "[-inf, inf]", "static power on the line"),
)

PLACEMENT = (
    switch(
        "placement_policy", "compact scatter apart", "choice of lit_sms: few, many or distant TPCs"
    ),
    spec("n_tpcs", "", COUNT1, "texture processing clusters (TPCs) of the machine", (4, 40)),
    row("sms_to_light", "", COUNT1, "SMs that a placement policy lights", (1, 14), "active_sms"),
    quantity("tpc_map", labels=(), meaning="TPC of each SM, '0-1-2-0-1-2'", lever="designer"),
    quantity("lit_sms", labels=(), meaning="SMs that are lit, '0-7-1-8'"),
    quantity(
        "tpc_distances",
        labels=(),
        meaning="distances between TPCs, '[[0, 1], [1, 0]]'",
        lever="designer",
    ),
    row("lit_count", "", COUNT1, "SMs that are lit", (1, 14)),
    row("active_tpcs", "", COUNT1, "TPCs with a lit SM", (1, 7)),
    row("fewest_tpcs", "", COUNT1, "fewest TPCs with this number of lit SMs", (1, 7)),
    row("most_tpcs", "", COUNT1, "most TPCs with this number of lit SMs", (1, 7)),
    row("placements", "", COUNT1, "number of sets with this number of SMs"),
    row("equal_placements", "", COUNT0, "number of sets with these numbers of SMs and TPCs"),
    row("tpc_separation", "", RESULT, "smallest distance between two lit TPCs"),
    spec("placement_base_power", "W", NONNEG, "power of the system without TPCs", (50, 300), 0),
    spec("power_per_tpc", "W", NONNEG, "power that a lit TPC adds", (0.5, 10)),
    spec("fitted_sms", "", COUNT1, "lit SMs for which the line was fitted", (1, 14), 4),
    row("placement_fit", "", "whole [0, 1]", "1 if the line was fitted to another number of SMs"),
    row("placement_power", "W", RESULT, "power of the system with lit_sms", (50, 300)),
    quantity(
        "suggested_placement", labels=(), meaning="set of equally many SMs on the fewest TPCs"
    ),
    row("suggested_tpcs", "", COUNT1, "TPCs with a lit SM in suggested_placement", (1, 7)),
    row("suggested_placement_power", "W", RESULT, "power of the system with suggested_placement"),
    row("placement_loss", "W", RESULT, "power that the fewest TPCs would save", (0, 40)),
)


def _device(device: str) -> tuple[Quantity, ...]:
    name = device.upper()
    return (
        spec(f"{device}_cores", "", POS, f"cores of the {name} (C)", (1, 32)),
        spec(
            f"{device}_throughput", "", POS, f"throughput of a core of the {name} (zeta)", (0.5, 4)
        ),
        spec(
            f"{device}_clock",
            "Hz",
            POS,
            f"clock of the {name}",
            (5e8, 3e9),
            f"{device}_nominal_clock",
        ),
        spec(f"{device}_nominal_clock", "Hz", POS, f"nominal clock of the {name}", (5e8, 3e9)),
        row(
            f"{device}_scale", "", "(0, 1]", f"performance of the {name} over the default", (0.3, 1)
        ),
        row(f"{device}_work", "", POS, f"cycles per unit of work, {name} (phi)", (0.1, 100)),
        spec(f"{device}_core_power", "W", POS, f"dynamic power of a core of the {name}", (0.1, 10)),
        row(f"{device}_full_time", "s", POS, f"time of all work on the {name}", (1e-3, 10)),
        row(f"{device}_full_power", "W", NONNEG, f"dynamic power of the busy {name}", (1, 100)),
        row(f"{device}_time", "s", NONNEG, f"time of the {name}'s share", (0, 10)),
        row(f"{device}_dynamic_power", "W", NONNEG, f"dynamic power of the {name}", (0, 100)),
        row(f"{device}_flops", "1/s", POS, f"operations per second, {name}", (1e9, 1e12)),
    )


ENERGY_SPEEDUP = (
    row("gpu_share", "", SHARE, "share of the work that the GPU does", (0, 1)),
    row("benchmark_series", "", "whole [1, 16]", "row of Table 16", (1, 16)),
    row("node_configuration", "", "whole [1, 4]", "configuration of Figs. 152-155", (1, 4), 1),
    row("slow_work", "", POS, "cycles per unit of work, slow (phi)", (1, 100)),
    row("fast_work", "", POS, "cycles per unit of work, fast (phi)", (0.1, 10)),
    spec("low_core_power", "W", POS, "dynamic power of a core, low", (0.1, 5)),
    spec("high_core_power", "W", POS, "dynamic power of a core, high", (1, 10)),
    spec("reduced_share", "", "(0, 1]", "share of the default in a reduced device", (0.3, 0.9)),
    row("work_units", "", POS, "units of work in all (D)", (1, 1e9), 1),
    spec("system_power", "W", NONNEG, "idle power of the system with both devices", (50, 300)),
    *_device("cpu"),
    *_device("gpu"),
    row("baseline_time", "s", POS, "time of all work on the unchanged CPU (T_o)", (0.001, 10)),
    row("baseline_dynamic_power", "W", NONNEG, "dynamic power of the unchanged CPU", (1, 100)),
    row("baseline_power", "W", POS, "power of the system with the unchanged CPU (P_o)", (50, 400)),
    row("shared_time", "s", NONNEG, "time of both devices together (T_N)", (0.001, 10)),
    row("combined_power", "W", POS, "power of both devices together (P_N)", (50, 400)),
    row("speedup", "", RESULT, "baseline time over the new (S)", (0.1, 10)),
    row("energy_efficiency", "", RESULT, "baseline energy over the new (E)", (0.1, 10)),
    row("best_speed_share", "", SHARE, "share of the GPU for the shortest time"),
    row("best_energy_share", "", SHARE, "share of the GPU for the least energy"),
    row("power_growth", "", NONNEG, "exponent of the speed-up in dynamic power", (0, 3), 3),
    row("efficiency_curvature", "", "[-inf, inf]", "second derivative of E by S"),
    row("work_flops", "", NONNEG, "floating-point operations in all", (1e9, 1e12)),
    row("transfer_time", "s", NONNEG, "time to move all data to the GPU", (0, 1), 0),
    row("cpu_share", "", SHARE, "share of the work that the CPU does", (0, 1)),
    row("sharing_gain", "", RESULT, "speed-up over the faster device alone"),
)

ENERGY_ROOFLINE = (
    switch("voltage_curve", "proportional knee", "dependence of the voltage on the core clock"),
    switch("clock_overlap", "none full", "whether cores compute while they wait for memory"),
    row("attained_bandwidth", "B/s", RESULT, "attained DRAM bandwidth", (1e9, 1e12)),
    row("arithmetic_intensity", "1/B", POS, "operations per byte of DRAM", (0.1, 100)),
    spec("peak_flops", "1/s", POS, "peak operations per second", (1e11, 2e13)),
    row("bandwidth_flops", "1/s", RESULT, "operations per second that the bandwidth allows"),
    row("attained_flops", "1/s", RESULT, "attained operations per second", (1e10, 1e13)),
    spec("constant_power", "W", NONNEG, "power independent of rates and clocks", (10, 100)),
    spec("energy_per_byte", "J/B", NONNEG, "energy of a byte of DRAM", (1e-11, 1e-9)),
    spec("energy_per_flop", "J", NONNEG, "energy of an operation", (1e-12, 1e-10)),
    row("flops_per_watt", "1/J", RESULT, "operations per joule"),
    row("core_cycles", "cycle", NONNEG, "cycles that scale with the core clock", (1e4, 1e10)),
    row("stall_time", "s", NONNEG, "time independent of the core clock", (1e-5, 10)),
    spec("dynamic_power", "W", NONNEG, "clocked power at the nominal clock", (10, 200)),
    spec("voltage_knee_clock", "Hz", POS, "clock up to which the voltage is constant", (5e8, 2e9)),
    spec("voltage_slope", "1/Hz", NONNEG, "relative rise of the voltage per hertz", (1e-10, 3e-9)),
    row("relative_voltage", "", RATIO, "voltage over that of low clocks", (1, 1.3)),
)
