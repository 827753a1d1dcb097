"""Quantities of the energy roofline, of clock scaling and of the supply of memory."""

from symbolic.quantity import NONNEG, POS, RATIO, RESULT, row, switch

ROWS = (
    switch("voltage_curve", "proportional knee", "how the voltage goes with the core clock"),
    switch("clock_overlap", "none full", "whether cores compute while memory answers"),
    row("attained_bandwidth", "B/s", RESULT, "DRAM bandwidth that is attained", (1e9, 1e12)),
    row("arithmetic_intensity", "1/B", POS, "operations for a byte of DRAM", (0.1, 100)),
    row("peak_flops", "1/s", POS, "most operations a second", (1e11, 2e13)),
    row("bandwidth_flops", "1/s", RESULT, "operations a second that the bandwidth allows"),
    row("attained_flops", "1/s", RESULT, "operations attained a second", (1e10, 1e13)),
    row("constant_power", "W", NONNEG, "power that no rate or clock changes", (10, 100)),
    row("energy_per_byte", "J/B", NONNEG, "energy of a byte of DRAM", (1e-11, 1e-9)),
    row("energy_per_flop", "J", NONNEG, "energy of an operation", (1e-12, 1e-10)),
    row("flops_per_watt", "1/J", RESULT, "operations for a joule"),
    row("core_cycles", "cycle", NONNEG, "cycles that the core clock paces", (1e4, 1e10)),
    row("stall_time", "s", NONNEG, "time that the core clock does not change", (1e-5, 10)),
    row("dynamic_power", "W", NONNEG, "clocked power at the nominal clock", (10, 200)),
    row("voltage_knee_clock", "Hz", POS, "clock up to which the voltage is flat", (5e8, 2e9)),
    row("voltage_slope", "1/Hz", NONNEG, "relative rise of voltage for a hertz", (1e-10, 3e-9)),
    row("relative_voltage", "", RATIO, "voltage over that of low clocks", (1, 1.3)),
)
