"""Quantities of devices that share work: energy_speedup and heterogeneous."""

from __future__ import annotations

from symbolic.quantity import NONNEG, POS, RESULT, SHARE, Quantity, row


def _device(device: str) -> tuple[Quantity, ...]:
    name = device.upper()
    return (
        row(f"{device}_cores", "", POS, f"cores of the {name} (C)", (1, 32)),
        row(f"{device}_throughput", "", POS, f"of a core of the {name} (zeta)", (0.5, 4)),
        row(
            f"{device}_clock",
            "Hz",
            POS,
            f"clock of the {name}",
            (5e8, 3e9),
            f"{device}_nominal_clock",
        ),
        row(f"{device}_nominal_clock", "Hz", POS, f"clock of the {name} at first", (5e8, 3e9)),
        row(f"{device}_scale", "", "(0, 1]", f"the {name} over the default one", (0.3, 1)),
        row(f"{device}_work", "", POS, f"cycles for a unit of work, {name} (phi)", (0.1, 100)),
        row(f"{device}_core_power", "W", POS, f"dynamic power of a core of the {name}", (0.1, 10)),
        row(f"{device}_full_time", "s", POS, f"time of all work on the {name}", (1e-3, 10)),
        row(f"{device}_full_power", "W", NONNEG, f"dynamic power of the busy {name}", (1, 100)),
        row(f"{device}_time", "s", NONNEG, f"time of the {name}'s share", (0, 10)),
        row(f"{device}_dynamic_power", "W", NONNEG, f"dynamic power of the {name}", (0, 100)),
        row(f"{device}_flops", "1/s", POS, f"operations a second, {name}", (1e9, 1e12)),
    )


ROWS = (
    row("gpu_share", "", SHARE, "share of the work that the GPU does", (0, 1)),
    row("benchmark_series", "", "whole [1, 16]", "row of Table 16", (1, 16)),
    row("node_configuration", "", "whole [1, 4]", "of Figs. 152-155", (1, 4), 1),
    row("slow_work", "", POS, "cycles for a unit of work where slow (phi)", (1, 100)),
    row("fast_work", "", POS, "cycles for a unit of work where fast (phi)", (0.1, 10)),
    row("low_core_power", "W", POS, "dynamic power of a core where low", (0.1, 5)),
    row("high_core_power", "W", POS, "dynamic power of a core where high", (1, 10)),
    row("reduced_share", "", "(0, 1]", "what a lesser device has of the default", (0.3, 0.9)),
    row("work_units", "", POS, "units of work in all (D)", (1, 1e9), 1),
    row("system_power", "W", NONNEG, "idle power of the system, both devices in it", (50, 300)),
    *_device("cpu"),
    *_device("gpu"),
    row("baseline_time", "s", POS, "time of all work on the CPU as it was (T_o)", (0.001, 10)),
    row("baseline_dynamic_power", "W", NONNEG, "dynamic power of the CPU as it was", (1, 100)),
    row("baseline_power", "W", POS, "power of the system, CPU as it was (P_o)", (50, 400)),
    row("shared_time", "s", NONNEG, "time of both devices together (T_N)", (0.001, 10)),
    row("combined_power", "W", POS, "power of both devices together (P_N)", (50, 400)),
    row("speedup", "", RESULT, "baseline time over the new (S)", (0.1, 10)),
    row("energy_efficiency", "", RESULT, "baseline energy over the new (E)", (0.1, 10)),
    row("best_speed_share", "", SHARE, "share of the GPU for the shortest time"),
    row("best_energy_share", "", SHARE, "share of the GPU for the least energy"),
    row("power_growth", "", NONNEG, "power of the speed-up in dynamic power", (0, 3), 3),
    row("efficiency_curvature", "", "[-inf, inf]", "second derivative of E by S"),
    # --- heterogeneous
    row("work_flops", "", POS, "floating-point operations in all", (1e9, 1e12)),
    row("transfer_time", "s", NONNEG, "time to move all data to the GPU", (0, 1), 0),
    row("cpu_share", "", SHARE, "share of the work that the CPU does", (0, 1)),
    row("sharing_gain", "", RESULT, "speed-up over the faster device alone"),
)
