"""Rows of the quantities of performance models."""

from __future__ import annotations

from dataclasses import replace

from symbolic.quantity import (
    COUNT0,
    COUNT1,
    NONNEG,
    POS,
    RATIO,
    RESULT,
    SHARE,
    Quantity,
    cost,
    less,
    quantity,
    resource,
    row,
    size,
    spec,
    switch,
)

# --- occupancy and padding of shared memory

OCCUPANCY = (
    switch(
        "granularity",
        "auto none cuda",
        "allocation units: none, cuda (the machine's), or auto (cuda if known)",
        "register_allocation_unit registers_allocated_per_warp warp_allocation_unit "
        "shared_mem_allocation_unit max_warps_per_sm",
    ),
    row("warps_per_block", "", COUNT1, "warps of one block", (1, 32)),
    row("blocks_by_shared_mem", "", RESULT, "blocks that shared memory allows", (1, 32)),
    row("blocks_by_registers", "", RESULT, "blocks that registers allow", (1, 32)),
    row("blocks_by_threads", "", RESULT, "blocks that the thread and warp limits allow", (1, 32)),
    row("active_blocks_per_sm", "", COUNT0, "blocks resident on one SM", (1, 16)),
    row("warps_per_sm", "", NONNEG, "warps resident on one SM (N)", (1, 64)),
    row("occupancy", "", SHARE, "resident warps over their maximum number", (0.1, 1)),
    row("limiter", "", COUNT0, "limit of the resident blocks"),
    # --- shared_mem_padding
    row("shared_mem_needed", "B", COUNT0, "shared memory that a block uses", (0, 16384)),
    row("most_blocks_per_sm", "", COUNT1, "blocks of a padded SM", (1, 16), "max_blocks_per_sm"),
    row("automatic_blocks_per_sm", "", COUNT0, "blocks of an SM without padding", (1, 16)),
    row("shared_mem_padding", "B", COUNT0, "unused shared memory that a block requests"),
)

# --- transit, its supply curve and counters of profilers

TRANSIT = (
    switch("supply", "sharp smooth", "shape of the memory supply curve"),
    row("threads", "", POS, "threads of the machine (n)", (1, 4096)),
    row("intensity", "cycle", POS, "computation between two memory requests (Z)", (1, 1000)),
    resource("max_threads", "", COUNT1, "most threads of the machine (n)", (32, 4096)),
    resource("lanes_width", "", POS, "lanes that compute at once (M)", (1, 512)),
    cost("arithmetic_latency", "cycle", POS, "cycles an operation keeps its thread", (1, 50), 1),
    resource("ms_peak", "", POS, "peak requests per cycle of the memory system (R)", (0.01, 10)),
    cost("mem_latency", "cycle", NONNEG, "latency of one memory request", (100, 2000)),
    row("thread_limit", "", RESULT, "throughput that the threads allow"),
    row("computation_limit", "", RESULT, "memory throughput that the lanes need"),
    row("supply_limit", "", RESULT, "throughput where threads and memory balance"),
    row("ms_throughput", "", RESULT, "requests served per cycle (r)", (0.01, 10)),
    row("cs_throughput", "", RESULT, "operations per cycle (Z r)", (1, 512)),
    row("threads_in_ms", "", RESULT, "threads in the memory system"),
    row("threads_in_ms_low", "", RESULT, "fewest threads in the memory system"),
    row("threads_in_ms_high", "", RESULT, "most threads in the memory system"),
    row("threads_in_cs", "", RESULT, "threads in the computation system"),
    row("threads_in_cs_low", "", RESULT, "fewest threads in the computation system"),
    row("threads_in_cs_high", "", RESULT, "most threads in the computation system"),
    row("bound", "", COUNT0, "bottleneck of the machine"),
    row("cs_transition", "", POS, "threads that saturate the lanes", (32, 2048)),
    row("ms_transition", "", POS, "threads that saturate the memory system", (32, 2048)),
    resource(
        "ms_peak_bandwidth", "B/s", POS, "peak of the memory supply curve, per SM", (1e9, 1e11)
    ),
    resource(
        "cs_peak_flops", "1/s", POS, "peak of the computation demand curve, per SM", (1e9, 1e12)
    ),
    row("request_bytes", "B", POS, "bytes of one thread's memory request", (4, 16)),
    row("issued_insts", "", POS, "issued instructions, measured by a profiler", (1000.0, 1e9)),
    row("dram_reads", "", NONNEG, "DRAM reads, measured by a profiler", (1000.0, 1e7)),
    row("dram_writes", "", NONNEG, "DRAM writes, measured by a profiler", (1000.0, 1e7)),
    row("kernel_time", "s", POS, "run time of the kernel, measured by a profiler", (1e-6, 10)),
    row("measured_ms_throughput", "", RESULT, "requests per cycle, measured", (0.01, 10)),
    row("predicted_flops", "1/s", RESULT, "predicted operations per second, SM (PCT)", (1e9, 1e11)),
    row("measured_flops", "1/s", RESULT, "operations per second of one SM, measured (RCT)"),
    row("prediction_accuracy", "", "[-inf, 1]", "one minus the error of the prediction", (0, 1)),
)

# --- TMM, its calibration and all-pairs shortest paths

TMM = (
    switch("latency_hiding", "modelled assumed", "latency: modelled, or assumed to be hidden"),
    row("work", "", NONNEG, "operations of the algorithm in all (T_1)", (1e9, 1e13)),
    row("span", "", NONNEG, "operations on its critical path (T_inf)", (1, 1e10), 0),
    row("transactions", "", NONNEG, "global memory transactions in all (M)", (1e6, 1e11)),
    resource("n_cores", "", COUNT1, "scalar cores of the machine (P)", (32, 4096)),
    row("threads_per_core", "", POS, "threads that share one core", (1, 48)),
    row("work_steps", "", RESULT, "steps in which all cores do the work", (1e6, 1e10)),
    row("latency_steps", "", RESULT, "steps of memory latency that a core waits", (1e6, 1e10)),
    row("time_steps", "", RESULT, "steps on all cores (T_P)", (1e6, 1e10)),
    row("hiding_threads_per_core", "", RESULT, "threads of a core that hide the latency"),
    row("fits_on_chip", "", "whole [0, 1]", "1 if the working set fits on chip", (0, 1)),
    row("cache_hit_rate", "", SHARE, "share of accesses that hit the cache", (0, 1)),
    cost("cache_miss_slowdown", "", RATIO, "slowdown if every access misses", (1, 20)),
    row("cache_factor", "", RESULT, "slowdown by cache misses", (1, 20)),
    row("block_slots", "", COUNT1, "blocks the machine holds at once", (1, 1024)),
    row("passes", "", COUNT1, "times that the machine is filled with blocks", (1, 1e4)),
    row("full_pass_blocks", "", COUNT1, "blocks that fill the last pass too", (1, 1e5)),
    row("sched_factor", "", RESULT, "slowdown by a partial last pass", (1, 2)),
    row("relative_time", "", RESULT, "run time in steps, up to a constant factor"),
    # --- apsp
    size("vertices", "", "whole [2, inf)", "vertices of the graph", (64, 16384)),
    row("tile_dim", "", COUNT1, "edge of the sub-block of one thread block", (8, 128)),
    row("chunk", "", COUNT1, "accesses grouped into one memory transaction", (1, 64)),
    row("squarings", "", NONNEG, "squarings of the adjacency matrix (lg n)", (4, 16)),
    row("latency_steps_by_blocks", "", RESULT, "latency_steps from the number of blocks", (1, 9)),
    row("relative_time_by_blocks", "", RESULT, "relative_time from the number of blocks"),
    # --- tmm_calibrated
    row("root_blocks_per_thread", "", RESULT, "square root of blocks over threads of a core"),
    row("memory_time_slope", "s", NONNEG, "time per root_blocks_per_thread (a_1)", (0.01, 10)),
    row("memory_time_offset", "s", "(-inf, inf)", "time without latency (a_0)", (0.1, 100)),
    row("latency_time", "s", RESULT, "run time that more threads would hide"),
    row("memory_bound_time", "s", "(-inf, inf]", "run time while latency is not hidden"),
    row("compute_bound_time", "s", NONNEG, "run time when latency is hidden", (0.1, 200)),
)

# --- MWP-CWP

MWP_CWP = (
    switch("rounding", "continuous whole", "round MWP and CWP up after the minimum"),
    switch("waves", "fractional whole", "round the repetitions up to whole waves"),
    row("mem_latency_uncoalesced", "cycle", POS, "latency of an uncoalesced request"),
    row("mem_latency_coalesced", "cycle", POS, "latency of a coalesced request", (200, 800)),
    less("departure_delay", "cycle", NONNEG, "mean distance between two requests", (1, 400), 0),
    row("weight_uncoalesced", "", SHARE, "share of memory instructions not coalesced"),
    row("weight_coalesced", "", SHARE, "share of memory instructions that are coalesced"),
    row("mwp_without_bw_full", "", RESULT, "MWP that latency and departures allow"),
    row("mwp_without_bw", "", RESULT, "MWP that latency, departures and warps allow"),
    row("bw_per_warp", "B/s", NONNEG, "bandwidth of one warp"),
    row("mwp_peak_bw", "", RESULT, "MWP that the bandwidth allows"),
    row("parallel_warps", "", RESULT, "warps that count for memory parallelism (N_pw)"),
    row("mwp", "", "(0, inf)", "memory warp parallelism", (0.5, 64)),
    row("comp_cycles", "cycle", NONNEG, "computation cycles of one warp", (10, 1e5)),
    row("comp_period", "cycle", NONNEG, "computation of a warp between two requests"),
    row("mem_cycles", "cycle", NONNEG, "memory cycles of one warp", (10, 1e6)),
    row("cwp_full", "", RESULT, "CWP with enough warps"),
    row("cwp", "", RESULT, "computation warp parallelism", (1, 64)),
    row("warp_parallelism", "", RESULT, "smaller of MWP and CWP: memory or computation bound"),
    row("busy_sms", "", COUNT1, "multiprocessors that have a block"),
    row("blocks_per_busy_sm", "", COUNT1, "most blocks of the grid on one SM"),
    row("resident_blocks", "", COUNT1, "blocks resident on a busy SM"),
    row("resident_warps", "", RATIO, "warps resident on a busy SM (N)"),
    row("repetitions", "", RATIO, "repetitions of an SM's resident blocks (Rep)"),
    row("case", "", COUNT0, "case of the workload: what is short, warps, memory or computation"),
    row("few_warps_cycles", "cycle", RESULT, "cycles of a repetition in case 1"),
    row("memory_bound_cycles", "cycle", RESULT, "cycles of a repetition in case 2"),
    row("computation_bound_cycles", "cycle", RESULT, "cycles of a repetition in case 3"),
    row("parallel_warps_per_block", "", RESULT, "warps of a block that overlap (NpWB)"),
    row("exec_cycles", "cycle", RESULT, "cycles without synchronisation"),
    row("sync_cycles", "cycle", RESULT, "cycles of synchronisation"),
    row("total_cycles", "cycle", RESULT, "cycles with synchronisation"),
    row("cpi", "cycle", RESULT, "cycles per instruction of a warp"),
    row("time", "s", RESULT, "run time"),
)

# --- throughput; a core is a multiprocessor, or one core of a CPU


def _insts(insts: str, kind: str) -> Quantity:
    return less(f"{insts}_insts", "", NONNEG, f"{kind} instructions of one thread", (0, 1000), 0)


THROUGHPUT = (
    switch("processor", "gpu cpu", "warps on multiprocessors, or one thread on each CPU core"),
    switch("saturation", "warps requests", "what shares the bandwidth: warps, or all requests"),
    resource("fp_units", "", COUNT1, "floating-point units of one core", (2, 64)),
    resource("simd_units", "", COUNT1, "SIMD units of one core", (1, 4)),
    resource("simd_lanes", "", COUNT1, "lanes of one SIMD unit", (2, 16)),
    cost("inst_latency", "cycle", POS, "latency of an arithmetic instruction", (4, 24)),
    cost("l1_latency", "cycle", POS, "latency of an L1 cache hit", (4, 80), "l2_latency"),
    cost("l2_latency", "cycle", POS, "latency of an L2 cache hit", (10, 300), "mem_latency_dram"),
    spec("transaction_bytes", "B", POS, "bytes of one memory transaction", (32, 128), 128),
    _insts("fp_fused", "fused multiply-add"),
    _insts("fp_vec", "vectorisable floating-point"),
    _insts("fp_vec_fused", "vectorisable fused multiply-add"),
    _insts("misc", "branch and other"),
    row("mem_strength", "", RATIO, "requests of one warp that overlap (MSTR)", (1, 4), 1),
    row("ilp", "", RATIO, "instructions of one warp that issue at once", (1, 4), 1),
    row("simd_ilp", "", RATIO, "SIMD instructions that issue at once, in lanes", (1, 16)),
    row("dependency_distance", "", RATIO, "instructions until a result is used (DEP)", (1, 8), 1),
    row("bytes_in_flight_per_sm", "B", NONNEG, "most bytes that an SM requests", (1e3, 1e5)),
    row("bytes_in_flight", "B", NONNEG, "most bytes that the machine requests", (1e4, 1e7)),
    row("bytes_in_flight_needed", "B", NONNEG, "bytes in flight for the bandwidth", (1e4, 1e7)),
    row("bytes_per_thread", "B", POS, "bytes of one request of a thread", (1, 16), 4),
    row(
        "thread_distance_bytes",
        "B",
        NONNEG,
        "distance between requests of neighbours",
        (1, 256),
        "bytes_per_thread",
    ),
    row("l1_share", "", SHARE, "share of requests that hit the L1 cache", (0, 1), 0),
    row("l2_share", "", SHARE, "share of requests that hit the L2 cache", (0, 1), 0),
    row("dram_share", "", SHARE, "share of requests that reach DRAM", (0, 1)),
    row("narrow_fp_insts", "", NONNEG, "floating-point instructions of the scalar peak (#FP)"),
    row("wide_fp_insts", "", NONNEG, "fused or SIMD floating-point instructions (#VecFP)"),
    row("narrow_fraction", "", SHARE, "share of narrow_fp_insts in narrow and wide", (0, 1)),
    row("wide_fraction", "", SHARE, "share of wide_fp_insts in narrow and wide", (0, 1)),
    row("peak_narrow", "1/s", NONNEG, "operations per second of scalar units", (1e10, 1e12)),
    row("peak_wide", "1/s", NONNEG, "operations per second, fused or SIMD", (1e10, 1e13)),
    row("peak_achievable", "1/s", NONNEG, "peak of the instruction mix (PeakAchi)", (1e10, 1e13)),
    row("lane_passes", "", RATIO, "times that an instruction of a warp fills the units", (1, 4)),
    row("dependency_factor", "", RATIO, "slowdown by waits for results (DEP_Effect)", (1, 8)),
    row("perfect_cycles", "cycle", NONNEG, "cycles of a warp's floating point", (10, 1e5)),
    row("effective_comp", "cycle", NONNEG, "computation per memory instruction", (1, 1000)),
    row("effective_perfect", "cycle", NONNEG, "floating point per memory instruction", (1, 1000)),
    row("transactions_per_request", "", RATIO, "transactions of a warp's request", (1, 32)),
    row("mwp_app_infinite", "", "[1, inf]", "warps that hide all latency (InfiN)", (1, 64)),
    row("mwp_app_one_warp", "", RESULT, "mwp_app_infinite within the resident warps", (1, 64)),
    row("mwp_app", "", RESULT, "requests in flight that the workload needs", (1, 128)),
    row("mwp_bw", "", RESULT, "requests in flight that the bandwidth allows", (1, 128)),
    row("sharing_requests", "", RATIO, "requests of a warp that share the bandwidth", (1, 4)),
    row("mwp_bw_warps", "", RESULT, "warps whose requests the bandwidth allows", (1, 128)),
    row("mwp_proc", "", RESULT, "requests in flight that departures allow", (1, 128)),
    row("serial_mem_cycles", "cycle", RESULT, "memory periods of all warps, one after another"),
    row("divided_mem_cycles", "cycle", RESULT, "serial_mem_cycles with MWP requests at a time"),
    row("overlapped_mem_cycles", "cycle", RESULT, "cycles from the first request to the last end"),
    row("serial_comp_cycles", "cycle", RESULT, "computation periods of all warps"),
    row("idle_mem_cycles", "cycle", RESULT, "memory cycles that are not hidden", (0, 1e4)),
    row("period_cycles", "cycle", RESULT, "cycles in which each warp has one period"),
    row("effective_ratio", "", RESULT, "share of cycles of floating point (EffRatio)"),
    row("overhead_fraction", "", "[-inf, inf]", "share of cycles of other computation"),
    row("idle_fraction", "", RESULT, "share of cycles that wait for memory"),
    row("exposed_mem_ratio", "", RESULT, "idle over serial memory cycles (Fig. 113)"),
    row("flops", "1/s", RESULT, "floating-point operations per second", (1e9, 1e12)),
    row("flops_without_memory", "1/s", RESULT, "flops without memory time"),
    row("flops_without_ilp", "1/s", RESULT, "flops without memory time and ILP"),
    row("flops_l1", "1/s", RESULT, "flops if L1 serves all requests"),
    row("flops_l2", "1/s", RESULT, "flops if L2 serves all requests"),
    row("flops_dram", "1/s", RESULT, "flops if DRAM serves all requests"),
    row("category", "", "whole [1, 10]", "bottleneck category: warps, bandwidth, departures"),
    row("bandwidth_excess", "", RATIO, "demand over the bandwidth's supply (alpha)", (1, 4)),
    row("suggested_sms", "", COUNT1, "most SMs that the bandwidth supplies"),
    row("suggested_warps", "", NONNEG, "most warps of an SM that the bandwidth supplies"),
    row("clock_reduction", "", "[-inf, inf]", "factor by which the core clock may fall"),
)

# --- the law of a launch


def _law(name: str, meaning: str) -> Quantity:
    """Return a quantity whose values are laws."""
    return replace(quantity(name, labels=(), meaning=meaning), is_law=True)


LAUNCH = (
    switch(
        "dispatch",
        "hardware loop queue",
        "who assigns blocks: the hardware, a loop in each block, or a queue of persistent warps",
    ),
    switch("sharing", "none rate", "slowdown by resident warps: none, or a shared rate"),
    row("simulated_launches", "", COUNT1, "launches simulated for a shared rate", (100, 4e3), 1000),
    row("alike", "", SHARE, "probability that an item repeats the work of its neighbour", None, 0),
    row("alike_pieces", "", SHARE, "probability that a piece repeats its neighbour", (0, 1)),
    row("lanes_per_item", "", COUNT1, "lanes that work on one item together", (1, 8), 1),
    row("lane_overhead", "", NONNEG, "extra share of an item's work per further lane", (0, 1), 0),
    row("piece_length", "", COUNT0, "longest piece of an item; 0: uncut", (0, 1e3), 0),
    row("piece_overhead", "", COUNT0, "extra steps of an item per further piece", (0, 9), 0),
    quantity("piece_law", labels=(), meaning="law of the work of one piece of an item"),
    row("pieces_per_item", "", RATIO, "mean pieces of an item"),
    row("lockstep_items", "", COUNT0, "items that a warp works on together", (1, 64)),
    row("launch_blocks", "", COUNT0, "blocks of the launch, of items or pieces", (1, 1e6)),
    row("slots", "", COUNT0, "blocks that the machine runs at once", (1, 2000)),
    row("step_cycles", "cycle", POS, "cycles of one step of an item's work", (1, 1e4)),
    row("item_step_time", "s", POS, "time of one step of one lane's item", (1e-9, 1e-5)),
    row("step_time", "s", POS, "time of one step of an item that lanes share", (1e-9, 1e-5)),
    _law("launch_steps", "law of the steps of a launch"),
    row("launch_steps_mean", "", NONNEG, "mean steps of a launch"),
    row("launch_steps_std", "", NONNEG, "standard deviation of the steps of a launch"),
    row("launch_time", "s", NONNEG, "time of a launch (a law)"),
    row("launch_time_mean", "s", NONNEG, "mean time of a launch"),
    row("launch_time_std", "s", NONNEG, "standard deviation of the time of a launch"),
    row("launch_waves", "", COUNT0, "times that the slots are filled"),
    row("block_steps_mean", "", NONNEG, "mean steps of a block"),
    row("waves_time", "s", NONNEG, "waves times the mean time of a block: the usual estimate"),
    row("work_bound_time", "s", NONNEG, "time of all blocks if no slot ever waited"),
    row("tail_idle_share", "", SHARE, "share of slot time spent waiting for the end of the launch"),
    row("lane_idle_share", "", SHARE, "share of slot time that lanes wait for their warp"),
    row("warp_idle_share", "", SHARE, "share of slot time that warps wait for their block"),
    row("working_share", "", SHARE, "share of slot time that is useful work"),
    row("idle_slot_time", "s", NONNEG, "time that all slots wait for the end"),
    row("idle_slot_power", "W", NONNEG, "power of a waiting slot beyond idle_power", (0, 1), 0),
    row("idle_energy", "J", NONNEG, "energy of slots that wait for the end"),
    row("launch_energy_mean", "J", NONNEG, "mean energy of a launch"),
    row("deadline", "s", POS, "time by which a launch should end", (1e-6, 1)),
)

# --- the roofline of operations and bytes

_PER_BYTE = "operations per byte of the"


def _ceiling(name: str, kind: str, domain: str = NONNEG) -> Quantity:
    return row(f"{name}_ceiling", "1/s", domain, f"peak operations per second, {kind}")


ROOFLINE = (
    row("vector_flops", "", NONNEG, "operations of a launch outside tensor units", (1e6, 1e14)),
    row("vector_fp64_flops", "", NONNEG, "double-precision operations among vector_flops"),
    row("l1_moved_bytes", "B", NONNEG, "bytes of L1 cache and shared memory", (1e6, 1e12)),
    row("l2_intensity", "1/B", RESULT, f"{_PER_BYTE} L2 cache", (0.1, 100)),
    row("l1_intensity", "1/B", RESULT, f"{_PER_BYTE} L1 cache and shared memory", (0.1, 100)),
    row("l1_bandwidth", "B/s", POS, "bandwidth of all L1 caches", (1e12, 5e13)),
    _ceiling("fp32", "fused multiply-adds of single precision", POS),
    _ceiling("fp64", "fused multiply-adds of double precision", POS),
    _ceiling("tensor", "tensor units, for the number type"),
    _ceiling("tensor_fp64", "tensor units of double precision"),
    _ceiling("tensor_tf32", "tensor units, TF32"),
    _ceiling("tensor_fp16", "tensor units of half precision"),
    _ceiling("tensor_fp8", "tensor units, FP8"),
    _ceiling("tensor_int8", "tensor units, 8-bit integers"),
    row("l2_roof", "1/s", RESULT, "operations per second that the L2 cache allows"),
    row("l1_roof", "1/s", RESULT, "operations per second that the L1 caches allow"),
    row("pipe_roof", "1/s", RESULT, "operations per second that the pipes allow"),
    row("attainable_flops", "1/s", RESULT, "operations per second below the roofs"),
)

# --- the roofline with caches and latencies

LATENCY_ROOFLINE = (
    # --- a launch
    less("dram_bytes", "B", NONNEG, "bytes that DRAM moves", (1e6, 1e10)),
    less("l2_bytes", "B", NONNEG, "bytes that the L2 cache moves", (1e6, 1e10), "dram_bytes"),
    less("l1_bytes", "B", NONNEG, "bytes requested from the L1 cache", (1e6, 1e11), "l2_bytes"),
    less("load_requests", "", NONNEG, "requests that a warp waits for", (0, 300), "mem_insts"),
    less("shared_wavefronts", "", NONNEG, "passes of a warp through shared memory", (0, 1e4), 0),
    less("l1_wavefronts", "", NONNEG, "passes of a warp through the L1 cache", (0, 1e4), 0),
    less("atomic_words", "", NONNEG, "words that the atomics of a warp change", (0, 1e3), 0),
    less("atomic_bytes", "B", NONNEG, "bytes that all atomics change; 0: unknown", (1e3, 1e9), 0),
    less("fp64_insts", "", NONNEG, "double-precision instructions among fp_insts", (0, 1e5), 0),
    row("launch_warps", "", COUNT1, "warps of the launch", (1, 1e6)),
    row("counted_warps", "", COUNT1, "warps of the launch in the counts", (1, 1e6)),
    size("counted_warp_size", "", COUNT1, "threads of a warp of the counts", (32, 64), 32),
    # --- a machine
    resource(
        "bandwidth_share", "", "(0, 1]", "attained share of the printed bandwidth", (0.8, 1), 0.9
    ),
    resource("special_units_per_sm", "", COUNT1, "special-function units of one SM", (16, 32), 16),
    resource(
        "fp64_units_per_sm", "", COUNT1, "double-precision units, one SM", (2, 64), "cores_per_sm"
    ),
    resource("int_units_per_sm", "", COUNT1, "integer units of one SM", (64, 128), "cores_per_sm"),
    cost("dependent_latency", "cycle", POS, "cycles until a result can be used", (4, 24)),
    cost("issue_wait", "", POS, "wait between instructions, in dependent latencies", (1, 2), 1.5),
    row("issue_interval", "cycle", POS, "cycles between instructions of a single warp", (4, 12)),
    resource(
        "memory_parallelism", "", "[1, inf)", "requests of a warp in flight at once", (1, 8), 3
    ),
    cost("dispatch_cycles", "cycle", NONNEG, "cycles between starts of blocks", (0, 2), 0),
    cost("atomic_cycles", "cycle", NONNEG, "cycles of an atomic at an L2 sector", (1, 4), 0),
    cost("start_up_time", "s", NONNEG, "time of an empty launch", (1e-6, 1e-5), 0),
    # --- results
    row("l1_miss_share", "", SHARE, "share of bytes that miss the L1 cache"),
    row("l2_miss_share", "", SHARE, "share of bytes that miss the L2 cache"),
    row("mixed_latency", "cycle", NONNEG, "mean latency of a request over caches and DRAM"),
    row("warp_cycles", "cycle", NONNEG, "cycles of a single warp"),
    row("latency_bound_time", "s", RESULT, "time if only the latency of warps limited the kernel"),
    row("issue_time", "s", RESULT, "time of the instruction schedulers"),
    row("fp_time", "s", RESULT, "time of floating-point units"),
    row("fp64_time", "s", RESULT, "time of double-precision units"),
    row("int_time", "s", RESULT, "time of integer units"),
    row("special_time", "s", RESULT, "time of special-function units"),
    row("l1_time", "s", RESULT, "time of the L1 cache and shared memory"),
    row("l2_time", "s", RESULT, "time of the L2 cache"),
    row("dram_time", "s", RESULT, "time of DRAM"),
    row("tensor_rate", "1/s", NONNEG, "operations per second of tensor units, for the type"),
    row("tensor_time", "s", RESULT, "time of tensor units"),
    row("dispatch_time", "s", RESULT, "time in which all blocks are started"),
    row("atomic_time", "s", RESULT, "time of atomics that share sectors of the L2 cache"),
    row("bound_by", "", COUNT0, "bottleneck: a unit, a level of memory, or latency"),
    row("throughput_time", "s", RESULT, "time if only the busiest unit limited the kernel"),
    row("limiting_time", "s", RESULT, "largest of the times of units and of latency"),
)
