"""Quantities of TMM, of its calibration and of all-pairs shortest paths."""

from symbolic.quantity import COUNT1, NONNEG, POS, RATIO, RESULT, SHARE, row, switch

ROWS = (
    switch("latency_hiding", "modelled assumed", "latency: modelled, or taken as hidden"),
    row("work", "", NONNEG, "operations of the algorithm in all (T_1)", (1e9, 1e13)),
    row("span", "", NONNEG, "operations on its critical path (T_inf)", (1, 1e10), 0),
    row("transactions", "", NONNEG, "global memory transactions in all (M)", (1e6, 1e11)),
    row("n_cores", "", COUNT1, "scalar cores of the machine (P)", (32, 4096)),
    row("threads_per_core", "", POS, "threads that share one core", (1, 48)),
    row("work_steps", "", RESULT, "steps in which all cores do the work", (1e6, 1e10)),
    row("latency_steps", "", RESULT, "steps of memory latency left to a core", (1e6, 1e10)),
    row("time_steps", "", RESULT, "steps on all cores (T_P)", (1e6, 1e10)),
    row("hiding_threads_per_core", "", RESULT, "threads of a core that hide the latency"),
    row("fits_on_chip", "", "whole [0, 1]", "1 where the working set fits on chip", (0, 1)),
    row("cache_hit_rate", "", SHARE, "share of accesses that hit the cache", (0, 1)),
    row("cache_miss_slowdown", "", RATIO, "slowdown where every access misses", (1, 20)),
    row("cache_factor", "", RESULT, "slowdown by cache misses", (1, 20)),
    row("block_slots", "", COUNT1, "blocks the machine holds at once", (1, 1024)),
    row("passes", "", COUNT1, "times the machine is filled with blocks", (1, 1e4)),
    row("full_pass_blocks", "", COUNT1, "blocks that fill the last pass too", (1, 1e5)),
    row("sched_factor", "", RESULT, "slowdown by a last pass that is not full", (1, 2)),
    row("relative_time", "", RESULT, "run time in steps, up to a constant factor"),
    # --- apsp
    row("vertices", "", "whole [2, inf)", "vertices of the graph", (64, 16384)),
    row("tile_dim", "", COUNT1, "edge of the sub-block of one thread block", (8, 128)),
    row("chunk", "", COUNT1, "accesses grouped into one memory transaction", (1, 64)),
    row("squarings", "", NONNEG, "squarings of the adjacency matrix (lg n)", (4, 16)),
    row(
        "latency_steps_by_blocks", "", RESULT, "the same as latency_steps, from the blocks", (1, 9)
    ),
    row("relative_time_by_blocks", "", RESULT, "the same as relative_time, from the blocks"),
    # --- tmm_calibrated
    row("root_blocks_per_thread", "", RESULT, "root of blocks over threads of a core"),
    row("memory_time_slope", "s", NONNEG, "time of one root_blocks_per_thread (a_1)", (0.01, 10)),
    row(
        "memory_time_offset",
        "s",
        "(-inf, inf)",
        "time to which latency would vanish (a_0)",
        (0.1, 100),
    ),
    row("latency_time", "s", RESULT, "run time that more threads would hide"),
    row("memory_bound_time", "s", "(-inf, inf]", "run time where latency shows"),
    row("compute_bound_time", "s", NONNEG, "run time where latency is hidden", (0.1, 200)),
)
