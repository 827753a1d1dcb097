"""Quantities of the roofline with caches and latencies."""

from symbolic.quantity import COUNT0, COUNT1, NONNEG, POS, RESULT, SHARE, row

ROWS = (
    # --- a launch
    row("dram_bytes", "B", NONNEG, "bytes that DRAM moves", (1e6, 1e10)),
    row("l2_bytes", "B", NONNEG, "bytes that the second cache moves", (1e6, 1e10), "dram_bytes"),
    row("l1_bytes", "B", NONNEG, "bytes asked of the first cache", (1e6, 1e11), "l2_bytes"),
    row("load_requests", "", NONNEG, "memory requests a warp waits for", (0, 300), "mem_insts"),
    row("shared_wavefronts", "", NONNEG, "passes of a warp through shared memory", (0, 1e4), 0),
    row("l1_wavefronts", "", NONNEG, "passes of a warp through the first cache", (0, 1e4), 0),
    row("fp64_insts", "", NONNEG, "of fp_insts those in double precision", (0, 1e5), 0),
    row("launch_warps", "", COUNT1, "warps of the launch", (1, 1e6)),
    # --- a machine
    row("bandwidth_share", "", "(0, 1]", "attained share of the printed bandwidth", (0.8, 1), 0.9),
    row("special_units_per_sm", "", COUNT1, "special-function units of one SM", (16, 32), 16),
    row("fp64_units_per_sm", "", COUNT1, "units for doubles of one SM", (2, 64), "cores_per_sm"),
    row("int_units_per_sm", "", COUNT1, "integer units of one SM", (64, 128), "cores_per_sm"),
    row("dependent_latency", "cycle", POS, "cycles until a result may be used", (4, 24)),
    row("issue_wait", "", POS, "issue_interval over dependent_latency", (1, 2), 1.5),
    row("issue_interval", "cycle", POS, "cycles between instructions of a warp alone", (4, 12)),
    row("memory_parallelism", "", "[1, inf)", "requests of a warp under way at once", (1, 8), 3),
    row("start_up_time", "s", NONNEG, "time of a launch that does nothing", (1e-6, 1e-5), 0),
    # --- results
    row("l1_miss_share", "", SHARE, "share of bytes that the first cache does not have"),
    row("l2_miss_share", "", SHARE, "share of bytes that the second cache does not have"),
    row("mixed_latency", "cycle", NONNEG, "mean latency of a request, by where it is served"),
    row("warp_cycles", "cycle", NONNEG, "cycles of a warp that is alone"),
    row("latency_bound_time", "s", RESULT, "time were warps bound by their own latencies"),
    row("issue_time", "s", RESULT, "time of issuing all instructions"),
    row("fp_time", "s", RESULT, "time of floating-point units"),
    row("fp64_time", "s", RESULT, "time of double-precision units"),
    row("int_time", "s", RESULT, "time of integer units"),
    row("special_time", "s", RESULT, "time of special-function units"),
    row("l1_time", "s", RESULT, "time of the first cache and shared memory"),
    row("l2_time", "s", RESULT, "time of the second cache"),
    row("dram_time", "s", RESULT, "time of DRAM"),
    row("bound_by", "", COUNT0, "what bounds the time most"),
    row("throughput_time", "s", RESULT, "time of the unit that takes longest"),
)
