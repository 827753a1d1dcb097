"""Quantities of streaming kernels, of rounded supply curves and of power by activity."""

from symbolic.quantity import NONNEG, POS, RESULT, row

ROWS = (
    # --- time of a streaming kernel
    row("startup_time", "s", NONNEG, "time of a kernel that moves nothing", (1e-6, 1e-4)),
    row(
        "measured_bandwidth",
        "B/s",
        NONNEG,
        "bandwidth that a streaming benchmark attained; 0 where none is known",
        (1e11, 4e12),
        0,
    ),
    row("measured_share", "", POS, "bandwidth over that of the benchmark", (0.5, 1.5), 1),
    row("sustained_bandwidth", "B/s", RESULT, "bandwidth of a long streaming kernel", (1e11, 4e12)),
    # --- supply curve with a rounded corner
    row("supply_sharpness", "", POS, "how sharp the corner of the supply curve is", (1, 20), 1),
    row(
        "supply_rise", "", POS, "exponent by which bandwidth rises with few threads", (0.7, 1.1), 1
    ),
    # --- power by activity
    row("idle_sm_power", "W", NONNEG, "power of one SM that has work, without activity", (0.1, 3)),
    row("mean_busy_sms", "", NONNEG, "multiprocessors with work, over the run's mean", (1, 132)),
    row("pipeline_power", "W", NONNEG, "power of all pipelines, always busy", (10, 200)),
    row("pipeline_duty", "", "[0, 1]", "share of cycles in which pipelines are busy"),
    row("memory_clock_power", "W", NONNEG, "power of the memory's clock, nominal", (1, 50), 0),
    row("l1_rate", "1/s", NONNEG, "accesses a second of the first caches", (1e8, 1e12)),
    row("shared_rate", "1/s", NONNEG, "accesses a second of shared memories", (1e8, 1e12)),
    row("l2_rate", "1/s", NONNEG, "accesses a second of the second cache", (1e8, 1e12)),
    row("dram_rate", "1/s", NONNEG, "accesses a second of DRAM", (1e8, 1e12)),
    row("energy_per_l1_access", "J", NONNEG, "energy of an access", (1e-11, 1e-8)),
    row("energy_per_shared_access", "J", NONNEG, "energy of an access", (1e-11, 1e-8)),
    row("energy_per_l2_access", "J", NONNEG, "energy of an access", (1e-11, 1e-8)),
    row("energy_per_dram_access", "J", NONNEG, "energy of an access", (1e-11, 1e-8)),
    row("access_power", "W", RESULT, "power of all accesses to memories", (0, 200)),
)
