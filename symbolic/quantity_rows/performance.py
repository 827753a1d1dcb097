"""What models of performance take and yield."""

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
    quantity,
    row,
    spec,
    switch,
)

# --- Quantities of occupancy and of the padding of shared memory

OCCUPANCY = (
    switch(
        "granularity",
        "auto none cuda",
        "allocation granularity of the hardware: cuda by the machine's units, none without, auto "
        "by them where the machine holds them",
        "register_allocation_unit registers_allocated_per_warp warp_allocation_unit "
        "shared_mem_allocation_unit max_warps_per_sm",
    ),
    row("warps_per_block", "", COUNT1, "warps of one block", (1, 32)),
    row("blocks_by_shared_mem", "", RESULT, "blocks the shared memory allows", (1, 32)),
    row("blocks_by_registers", "", RESULT, "blocks the registers allow", (1, 32)),
    row("blocks_by_threads", "", RESULT, "blocks the thread and warp limits allow", (1, 32)),
    row("active_blocks_per_sm", "", COUNT0, "blocks resident on one SM", (1, 16)),
    row("warps_per_sm", "", NONNEG, "warps resident on one SM (N)", (1, 64)),
    row("occupancy", "", SHARE, "resident warps over the most there can be", (0.1, 1)),
    row("limiter", "", COUNT0, "what limits the resident blocks"),
    # --- shared_mem_padding
    row("shared_mem_needed", "B", COUNT0, "shared memory a block makes use of", (0, 16384)),
    row(
        "most_blocks_per_sm",
        "",
        COUNT1,
        "blocks that padding leaves to an SM at most",
        (1, 16),
        "max_blocks_per_sm",
    ),
    row("automatic_blocks_per_sm", "", COUNT0, "blocks an SM holds unpadded", (1, 16)),
    row("shared_mem_padding", "B", COUNT0, "shared memory asked for and not used"),
)

# --- Quantities of transit, its supply curve and what a profiler tells

TRANSIT = (
    switch("supply", "sharp smooth", "shape of the memory supply curve"),
    row("threads", "", POS, "threads of the machine (n)", (1, 4096)),
    row(
        "intensity",
        "cycle",
        POS,
        "computation between two memory requests (Z)",
        (1, 1000),
    ),
    spec("max_threads", "", COUNT1, "threads the machine holds, of those told (n)", (32, 4096)),
    spec("lanes_width", "", POS, "lanes that compute at once (M)", (1, 512)),
    spec("arithmetic_latency", "cycle", POS, "cycles an operation keeps its thread", (1, 50), 1),
    spec("ms_peak", "", POS, "most requests the memory system serves a cycle (R)", (0.01, 10)),
    spec("mem_latency", "cycle", NONNEG, "latency of one memory request", (100, 2000)),
    row("thread_limit", "", RESULT, "throughput the threads allow"),
    row("computation_limit", "", RESULT, "memory throughput the lanes ask for"),
    row("supply_limit", "", RESULT, "throughput where threads and memory balance"),
    row("ms_throughput", "", RESULT, "requests served a cycle (r)", (0.01, 10)),
    row("cs_throughput", "", RESULT, "operations computed a cycle (Z r)", (1, 512)),
    row("threads_in_ms", "", RESULT, "threads in the memory system"),
    row("threads_in_ms_low", "", RESULT, "fewest threads in the memory system"),
    row("threads_in_ms_high", "", RESULT, "most threads in the memory system"),
    row("threads_in_cs", "", RESULT, "threads in the computation system"),
    row("threads_in_cs_low", "", RESULT, "fewest threads in the computation system"),
    row("threads_in_cs_high", "", RESULT, "most threads in the computation system"),
    row("bound", "", COUNT0, "what bounds the machine"),
    row("cs_transition", "", POS, "threads that saturate the lanes", (32, 2048)),
    row("ms_transition", "", POS, "threads that saturate the memory system", (32, 2048)),
    spec("ms_peak_bandwidth", "B/s", POS, "peak of the memory supply curve, per SM", (1e9, 1e11)),
    spec("cs_peak_flops", "1/s", POS, "peak of the computation demand curve, per SM", (1e9, 1e12)),
    row("request_bytes", "B", POS, "bytes of one thread's memory request", (4, 16)),
    row("issued_insts", "", POS, "instructions issued, by a profiler", (1000.0, 1e9)),
    row("dram_reads", "", NONNEG, "DRAM reads, by a profiler", (1000.0, 1e7)),
    row("dram_writes", "", NONNEG, "DRAM writes, by a profiler", (1000.0, 1e7)),
    row("kernel_time", "s", POS, "run time of the kernel, by a profiler", (1e-6, 10)),
    row("measured_ms_throughput", "", RESULT, "requests a cycle, measured", (0.01, 10)),
    row("predicted_flops", "1/s", RESULT, "operations a second of one SM (PCT)", (1e9, 1e11)),
    row("measured_flops", "1/s", RESULT, "operations a second of one SM, measured (RCT)"),
    row("prediction_accuracy", "", "[-inf, 1]", "one less the error of the prediction", (0, 1)),
)

# --- Quantities of TMM, of its calibration and of all-pairs shortest paths

TMM = (
    switch("latency_hiding", "modelled assumed", "latency: modelled, or taken as hidden"),
    row("work", "", NONNEG, "operations of the algorithm in all (T_1)", (1e9, 1e13)),
    row("span", "", NONNEG, "operations on its critical path (T_inf)", (1, 1e10), 0),
    row("transactions", "", NONNEG, "global memory transactions in all (M)", (1e6, 1e11)),
    spec("n_cores", "", COUNT1, "scalar cores of the machine (P)", (32, 4096)),
    row("threads_per_core", "", POS, "threads that share one core", (1, 48)),
    row("work_steps", "", RESULT, "steps in which all cores do the work", (1e6, 1e10)),
    row("latency_steps", "", RESULT, "steps of memory latency left to a core", (1e6, 1e10)),
    row("time_steps", "", RESULT, "steps on all cores (T_P)", (1e6, 1e10)),
    row("hiding_threads_per_core", "", RESULT, "threads of a core that hide the latency"),
    row("fits_on_chip", "", "whole [0, 1]", "1 where the working set fits on chip", (0, 1)),
    row("cache_hit_rate", "", SHARE, "share of accesses that hit the cache", (0, 1)),
    spec("cache_miss_slowdown", "", RATIO, "slowdown where every access misses", (1, 20)),
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

# --- Quantities of MWP-CWP

MWP_CWP = (
    switch("rounding", "continuous whole", "round MWP and CWP up after the minimum"),
    switch("waves", "fractional whole", "round the repetitions up to whole waves"),
    row("mem_latency_uncoalesced", "cycle", POS, "latency of an uncoalesced request"),
    row("mem_latency_coalesced", "cycle", POS, "latency of a coalesced request", (200, 800)),
    row("departure_delay", "cycle", NONNEG, "mean distance between two requests", (1, 400), 0),
    row("weight_uncoalesced", "", SHARE, "share of memory instructions not coalesced"),
    row("weight_coalesced", "", SHARE, "share of memory instructions that are coalesced"),
    row("mwp_without_bw_full", "", RESULT, "MWP that latency and departures allow"),
    row("mwp_without_bw", "", RESULT, "the same, within the warps there are"),
    row("bw_per_warp", "B/s", NONNEG, "bandwidth one warp takes"),
    row("mwp_peak_bw", "", RESULT, "MWP that the bandwidth allows"),
    row("parallel_warps", "", RESULT, "warps that count for memory parallelism (N_pw)"),
    row("mwp", "", "(0, inf)", "memory warp parallelism", (0.5, 64)),
    row("comp_cycles", "cycle", NONNEG, "computation cycles of one warp", (10, 1e5)),
    row("comp_period", "cycle", NONNEG, "computation of a warp between two requests"),
    row("mem_cycles", "cycle", NONNEG, "memory cycles of one warp", (10, 1e6)),
    row("cwp_full", "", RESULT, "CWP with warps enough"),
    row("cwp", "", RESULT, "computation warp parallelism", (1, 64)),
    row("warp_parallelism", "", RESULT, "the smaller of MWP and CWP: memory or computation bound"),
    row("busy_sms", "", COUNT1, "multiprocessors that have a block"),
    row("blocks_per_busy_sm", "", COUNT1, "blocks a busy SM gets of the grid at most"),
    row("resident_blocks", "", COUNT1, "blocks resident on a busy SM"),
    row("resident_warps", "", RATIO, "warps resident on a busy SM (N)"),
    row("repetitions", "", RATIO, "times an SM repeats its resident blocks (Rep)"),
    row("case", "", COUNT0, "which case holds"),
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

# --- Quantities of throughput; a core is a multiprocessor, or one core of a CPU


def _insts(insts: str, kind: str) -> Quantity:
    return row(f"{insts}_insts", "", NONNEG, f"{kind} instructions of one thread", (0, 1000), 0)


THROUGHPUT = (
    switch("processor", "gpu cpu", "warps on multiprocessors, or one thread on each CPU core"),
    switch("saturation", "warps requests", "what shares the bandwidth: warps, or all requests"),
    spec("fp_units", "", COUNT1, "floating-point units of one core", (2, 64)),
    spec("simd_units", "", COUNT1, "SIMD units of one core", (1, 4)),
    spec("simd_lanes", "", COUNT1, "lanes of one SIMD unit", (2, 16)),
    spec("inst_latency", "cycle", POS, "latency of an arithmetic instruction", (4, 24)),
    spec("l1_latency", "cycle", POS, "latency of a hit in the first cache", (4, 80), "l2_latency"),
    spec(
        "l2_latency",
        "cycle",
        POS,
        "latency of a hit in the second cache",
        (10, 300),
        "mem_latency_dram",
    ),
    spec("transaction_bytes", "B", POS, "bytes of one memory transaction", (32, 128), 128),
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

# --- Quantities of the law of a launch


def _law(name: str, meaning: str) -> Quantity:
    """A quantity whose values are laws."""
    return replace(quantity(name, labels=(), meaning=meaning), is_law=True)


LAUNCH = (
    switch(
        "dispatch",
        "hardware loop queue",
        "who deals out the work: the hardware, a block to the first free slot; a loop, in which "
        "each of as many blocks as there are slots has its own share; a queue, from which warps "
        "that persist take the work of one warp at a time",
    ),
    switch(
        "sharing",
        "none rate",
        "whether warps share the rate of their multiprocessor: none, slots do not slow each other "
        "down; rate, where more are resident than run at full rate, warp_parallelism of them",
    ),
    row("simulated_launches", "", COUNT1, "launches simulated where warps share", (100, 4e3), 1000),
    row("alike", "", SHARE, "probability that an item repeats the work of its neighbour", None, 0),
    row("alike_pieces", "", SHARE, "the same of items or pieces, as they are launched", (0, 1)),
    row("lanes_per_item", "", COUNT1, "lanes that work on one item together", (1, 8), 1),
    row(
        "lane_overhead",
        "",
        NONNEG,
        "share of an item's work that each further lane on it adds",
        (0, 1),
        0,
    ),
    row("piece_length", "", COUNT0, "longest piece of an item, 0: uncut", (0, 1e3), 0),
    row("piece_overhead", "", COUNT0, "steps that each further piece adds to an item", (0, 9), 0),
    quantity("piece_law", labels=(), meaning="the law of the work of one piece of an item"),
    row("pieces_per_item", "", RATIO, "pieces that an item is cut into, on average"),
    row("lockstep_items", "", COUNT0, "items that a warp works on side by side", (1, 64)),
    row("launch_blocks", "", COUNT0, "blocks of the launch, of whole items or pieces", (1, 1e6)),
    row("slots", "", COUNT0, "blocks that the machine runs at once", (1, 2000)),
    row("step_cycles", "cycle", POS, "cycles that one step of an item's work takes", (1, 1e4)),
    row("item_step_time", "s", POS, "time that one step of one lane's item takes", (1e-9, 1e-5)),
    row("step_time", "s", POS, "the same of an item that lanes share", (1e-9, 1e-5)),
    _law("launch_steps", "the law of the steps of a launch"),
    row("launch_steps_mean", "", NONNEG, "mean steps of a launch"),
    row("launch_steps_std", "", NONNEG, "standard deviation of the steps of a launch"),
    row("launch_time", "s", NONNEG, "time of a launch, which has a law"),
    row("launch_time_mean", "s", NONNEG, "mean time of a launch"),
    row("launch_time_std", "s", NONNEG, "standard deviation of the time of a launch"),
    row("launch_waves", "", COUNT0, "times that the slots are filled"),
    row("block_steps_mean", "", NONNEG, "mean steps of a block"),
    row("waves_time", "s", NONNEG, "waves times the mean time of a block: the usual estimate"),
    row("work_bound_time", "s", NONNEG, "time in which slots that never wait do all blocks"),
    row("tail_idle_share", "", SHARE, "share of slot time waited for the end of the launch"),
    row("lane_idle_share", "", SHARE, "share of slot time that lanes wait for their warp"),
    row("warp_idle_share", "", SHARE, "share of slot time that warps wait for their block"),
    row("working_share", "", SHARE, "share of slot time that is useful work"),
    row("idle_slot_time", "s", NONNEG, "time that all slots wait for the end, in sum"),
    row("idle_slot_power", "W", NONNEG, "power of a slot that waits, beyond idle_power", (0, 1), 0),
    row("idle_energy", "J", NONNEG, "energy drawn for slots that wait for the end"),
    row("launch_energy_mean", "J", NONNEG, "mean energy of a launch"),
    row("deadline", "s", POS, "time by which a launch should have ended", (1e-6, 1)),
)

# --- Quantities of the roofline with caches and latencies

LATENCY_ROOFLINE = (
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
    spec("bandwidth_share", "", "(0, 1]", "attained share of the printed bandwidth", (0.8, 1), 0.9),
    spec("special_units_per_sm", "", COUNT1, "special-function units of one SM", (16, 32), 16),
    spec("fp64_units_per_sm", "", COUNT1, "units for doubles of one SM", (2, 64), "cores_per_sm"),
    spec("int_units_per_sm", "", COUNT1, "integer units of one SM", (64, 128), "cores_per_sm"),
    spec("dependent_latency", "cycle", POS, "cycles until a result may be used", (4, 24)),
    spec("issue_wait", "", POS, "issue_interval over dependent_latency", (1, 2), 1.5),
    row("issue_interval", "cycle", POS, "cycles between instructions of a warp alone", (4, 12)),
    spec("memory_parallelism", "", "[1, inf)", "requests of a warp under way at once", (1, 8), 3),
    spec("start_up_time", "s", NONNEG, "time of a launch that does nothing", (1e-6, 1e-5), 0),
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
