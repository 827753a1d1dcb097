"""Rows of the quantities of workloads: instructions, shapes, work of lanes, transfers."""

from stochastic.work.families import FAMILIES
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

_PARAMETERS = {p.quantity: p for family in FAMILIES.values() for p in family.parameters}


def _class(name: str, kind: str, factor: float) -> tuple[Quantity, ...]:
    """Return the count and the measured factor of an instruction class (Hong 2012, Table 6)."""
    return (
        less(f"{name}_insts", "", NONNEG, f"instructions of one thread: {kind}", (0, 100), 0),
        row(f"{name}_factor", "", POS, f"slowdown of an instruction: {kind}", (1, 40), factor),
    )


WORKLOAD = (
    switch("printed", "false true", "use the equations exactly as printed"),
    size("elements", "", COUNT1, "work items, one thread each", (1e4, 1e8)),
    row("threads_per_block", "", COUNT1, "threads of one block", (32, 512)),
    row("blocks", "", COUNT1, "blocks of the grid", (1, 1e6)),
    row("block_x", "", COUNT1, "threads of a block along x", (1, 512)),
    row("block_y", "", COUNT1, "threads of a block along y", (1, 64)),
    row("block_z", "", COUNT1, "threads of a block along z", (1, 64)),
    row("threads_x", "", COUNT1, "threads of the launch along x", (1, 1e6)),
    row("threads_y", "", COUNT1, "threads of the launch along y", (1, 1e6)),
    row("threads_z", "", COUNT1, "threads of the launch along z", (1, 1e6)),
    row("grid_x", "", COUNT1, "blocks of the grid along x", (1, 1e6)),
    row("grid_y", "", COUNT1, "blocks of the grid along y", (1, 65535)),
    row("grid_z", "", COUNT1, "blocks of the grid along z", (1, 65535)),
    less("registers_per_thread", "", COUNT0, "registers of one thread", (4, 64)),
    less("warp_bytes", "B", NONNEG, "bytes of the sectors that a warp requests", (0, 1e4)),
    less("block_bytes", "B", NONNEG, "bytes that one block requests from the L2 cache", (0, 1e6)),
    row("launch_bytes", "B", NONNEG, "bytes that all blocks touch, each counted once", (1e6, 1e10)),
    less("shared_mem_per_block", "B", COUNT0, "shared memory of one block", (0, 16384)),
    less("comp_insts", "", NONNEG, "computation instructions of one thread", (1, 1e4)),
    less("coalesced_insts", "", NONNEG, "coalesced memory instructions of one thread", (0, 500)),
    less(
        "uncoalesced_insts", "", NONNEG, "uncoalesced memory instructions of one thread", (0, 500)
    ),
    less("sync_insts", "", NONNEG, "barriers executed by one thread", (0, 100)),
    row("independent_insts", "", NONNEG, "memory instructions without dependences", (0, 100), 0),
    less("mem_insts", "", NONNEG, "memory instructions of one thread", (0, 1000)),
    less("total_insts", "", NONNEG, "instructions of one thread", (1, 1e4)),
    less("tensor_insts", "", NONNEG, "tensor instructions of one warp", (0, 1e4), 0),
    less("warp_tensor_flops", "", NONNEG, "operations of tensor units, one warp", (0, 1e8), 0),
    less("tensor_flops", "", NONNEG, "operations of tensor units, whole launch", (1e9, 1e14), 0),
    switch(
        "tensor_type",
        "fp16 fp16_fp16 bf16 tf32 fp64 int8 int4 binary fp8 fp8_fp16 fp4",
        "number type of tensor instructions, whose sums are wider; _fp16: sums in FP16",
    ),
    less("atomic_insts", "", NONNEG, "atomic instructions of a thread, in memory", (0, 100), 0),
    less("shared_atomic_insts", "", NONNEG, "atomics of a thread in shared memory", (0, 100), 0),
    less(
        "async_copy_insts",
        "",
        NONNEG,
        "asynchronous copies of a thread to shared memory",
        (0, 100),
        0,
    ),
    less("async_copy_bytes", "B", NONNEG, "bytes that a warp copies asynchronously", (0, 1e6), 0),
    less("transactions_per_uncoalesced", "", RATIO, "transactions of such an instruction", (1, 32)),
    row("load_bytes_per_warp", "B", POS, "bytes of one memory request", (32, 512), 128),
    less("comp_factor", "", POS, "slowdown of the instruction mix (M_Factor)", (1, 8), 1),
    *_class("fp_div", "floating-point division", 4.2),
    *_class("int_mul", "integer multiplication", 4.3),
    *_class("int_div", "integer division", 30),
    *_class("int_mod", "integer modulo", 35),
    row("tile", "", POS, "edge of the square tile of a block", (4, 32)),
    row("imbalance_loss", "", RATIO, "slowdown by lockstep with uneven work", (1, 4), 1),
)

LOCKSTEP = (
    row("path_probability", "", SHARE, "probability that a lane takes a path", (0, 1)),
    row("lanes", "", COUNT1, "threads in lockstep", (1, 64), "warp_size"),
    row("path_taken", "", SHARE, "probability that a warp executes a path"),
    quantity("paths", labels=(), meaning="paths of a divergent branch, 'probability: cycles, ...'"),
    row("divergent_cycles", "cycle", RESULT, "expected cycles of a divergent branch"),
    row("divergent_cycles_std", "cycle", RESULT, "standard deviation of divergent cycles per warp"),
    row("divergent_cycles_bound", "cycle", RESULT, "cycles of all paths together"),
    row("convergent_cycles", "cycle", RESULT, "expected cycles of a lane that runs alone"),
    row("divergence_loss", "", RESULT, "slowdown by lockstep at a divergent branch"),
    quantity(
        "distribution",
        labels=(),
        meaning="law of the work of one item, such as 'geometric:0.05' or a file of lengths",
    ),
    switch(
        "work_law",
        " ".join(("distribution", *FAMILIES)),
        "family of the law of work; distribution: given as a law",
    ),
    *(row(p.quantity, "", p.domain, p.meaning, p.typical) for p in _PARAMETERS.values()),
    row("work_mean", "", NONNEG, "mean work of an item", (1, 100)),
    row("work_std", "", NONNEG, "standard deviation of the work of an item", (0, 50)),
    row("work_min", "", NONNEG, "work of the shortest item", (0, 10)),
    row("work_max", "", RESULT, "work of the longest item", (100, 1000)),
    row("expected_max", "", NONNEG, "expected work of the longest of all lanes", (10, 1000)),
    row("max_sum_covariance", "", NONNEG, "covariance of the longest and the sum", (1, 1000)),
    row("imbalance_slowdown", "", RATIO, "slowdown of a whole workload by lockstep"),
    row("imbalance_loss_std", "", NONNEG, "standard deviation of the loss over groups"),
    row("imbalance_lower", "", RATIO, "rigorous lower bound on the mean loss"),
    row("imbalance_upper", "", RATIO, "rigorous upper bound on the mean loss"),
    row("imbalance_largest", "", RATIO, "largest loss that a group can have"),
    row("imbalance_delta", "", NONNEG, "second-order approximation of the mean loss"),
    row("imbalance_limit", "", RESULT, "limit of the loss for many lanes"),
    row("most_bins", "", COUNT1, "most bins into which items are sorted", (1, 8), 8),
    row("suggested_bins", "", COUNT1, "bins into which items are sorted by their work"),
    row("binned_slowdown", "", RATIO, "slowdown by lockstep with items in suggested_bins"),
    row("cut_overhead", "", COUNT0, "extra iterations of an item per further piece", (0, 9)),
    row("suggested_piece", "", COUNT1, "length into which longer items are cut"),
    row("cut_slowdown", "", RATIO, "slowdown by lockstep and cuts with suggested_piece"),
    row("share_overhead", "", NONNEG, "cost of each further lane on an item", (0, 1)),
    row("suggested_lanes", "", COUNT1, "items in lockstep, with the remaining lanes shared"),
    row("shared_slowdown", "", RATIO, "slowdown by lockstep and sharing with suggested_lanes"),
    row("exponential_loss", "", RATIO, "mean loss if work is exponential"),
)

STREAMING = (
    row("startup_time", "s", NONNEG, "time of a kernel that moves no bytes", (1e-6, 1e-4)),
    row("measured_bandwidth", "B/s", NONNEG, "streaming benchmark; 0 if unknown", (1e11, 4e12), 0),
    row("measured_share", "", POS, "bandwidth over that of the benchmark", (0.5, 1.5), 1),
    row("sustained_bandwidth", "B/s", RESULT, "bandwidth of a long streaming kernel", (1e11, 4e12)),
    row("supply_sharpness", "", POS, "sharpness of the corner of the supply curve", (1, 20), 1),
    row("supply_rise", "", POS, "exponent of the bandwidth at few threads", (0.7, 1.1), 1),
    row("idle_sm_power", "W", NONNEG, "power of an SM with work but without activity", (0.1, 3)),
    row("mean_busy_sms", "", NONNEG, "mean multiprocessors with work over the run", (1, 132)),
    row("pipeline_power", "W", NONNEG, "power of all pipelines when always busy", (10, 200)),
    row("pipeline_duty", "", "[0, 1]", "share of cycles in which pipelines are busy"),
    row("memory_clock_power", "W", NONNEG, "power of the nominal memory clock", (1, 50), 0),
    row("l1_rate", "1/s", NONNEG, "accesses per second of the L1 caches", (1e8, 1e12)),
    row("shared_rate", "1/s", NONNEG, "accesses per second of shared memories", (1e8, 1e12)),
    row("l2_rate", "1/s", NONNEG, "accesses per second of the L2 cache", (1e8, 1e12)),
    row("dram_rate", "1/s", NONNEG, "accesses per second of DRAM", (1e8, 1e12)),
    row("energy_per_l1_access", "J", NONNEG, "energy of an L1 access", (1e-11, 1e-8)),
    row("energy_per_shared_access", "J", NONNEG, "energy of a shared-memory access", (1e-11, 1e-8)),
    row("energy_per_l2_access", "J", NONNEG, "energy of an L2 access", (1e-11, 1e-8)),
    row("energy_per_dram_access", "J", NONNEG, "energy of a DRAM access", (1e-11, 1e-8)),
    row("access_power", "W", RESULT, "power of all accesses to memories", (0, 200)),
)

BLOCK_SHAPE = (
    row("row_loads", "", NONNEG, "loads with a separate address for each block row", (0, 500), 0),
    row("column_loads", "", NONNEG, "loads with a separate address for each lane", (0, 500), 0),
    row("store_insts", "", NONNEG, "stores of a thread", (0, 500), 0),
    row("row_stores", "", NONNEG, "stores with a separate address for each block row", (0, 500), 0),
    row("warp_rows", "", COUNT1, "rows of a block that a warp holds"),
    row("load_lines", "", NONNEG, "lines that the loads of a warp touch"),
    row("store_lines", "", NONNEG, "lines that the stores of a warp touch"),
    cost("request_wait", "cycle", POS, "wait of a warp per request in flight", (9, 600)),
    cost("load_line_cycles", "cycle", NONNEG, "cycles of an SM per loaded line", (0.2, 8)),
    cost("request_cycles", "cycle", NONNEG, "L2 cycles per line requested by an SM", (0.2, 8)),
    cost("store_line_cycles", "cycle", NONNEG, "L2 cycles per line stored by an SM", (0.2, 8)),
    row("sm_cycles", "cycle", RESULT, "cycles of an SM for instructions and lines"),
    row("shared_cache_cycles", "cycle", RESULT, "cycles of the L2 cache that all SMs share"),
    row("wait_cycles", "cycle", RESULT, "cycles that warps wait for their requests"),
)

#: Attained shares and start-up times of casts for each number type, fitted to four GPUs together.
_GEMM_SHARES = {"bf16": 0.765, "fp8": 0.705, "fp8_block": 0.57, "fp4": 0.5, "int8": 0.9}
_GEMM_ERRORS = {"low": 0.6, "high": 1.65}
_GEMM_CAST_TIMES = {"fp8": 10.5e-6, "fp8_block": 2.5e-6, "fp4": 5e-6, "int8": 7.5e-6}

GEMM = (
    size("product_rows", "", COUNT1, "rows of the product of two matrices (m)", (1, 32768)),
    size("product_columns", "", COUNT1, "columns of the product (n)", (32, 65536)),
    size("product_depth", "", COUNT1, "terms of each sum of the product (k)", (32, 65536)),
    switch("dtype", "bf16 fp16 fp8 fp8_block fp4 int8", "number type of the weights"),
    row(
        "weights_in_turn",
        "",
        RATIO,
        "weight matrices used in turn, of which one is timed; many: weights are cold",
        (1, 1e3),
        5,
    ),
    # Numbers of a GPU. The defaults are fitted to A100, H100, B200 and L40S together.
    cost("gemm_start_time", "s", NONNEG, "time of the smallest product", (1e-6, 1e-5), 2.9e-6),
    resource("gemm_dram_share", "", "(0, 1]", "attained share of mem_bandwidth", (0.5, 1), 0.776),
    resource(
        "gemm_operand_bytes_per_cycle",
        "B",
        POS,
        "bytes of operands that one multiprocessor reads in a cycle",
        (10, 150),
        76,
    ),
    resource(
        "gemm_wave_overlap",
        "",
        SHARE,
        "share of the wait for the last wave that other work fills",
        (0, 1),
        0.75,
    ),
    resource(
        "gemm_cache_share", "", POS, "share of the L2 cache that keeps operands", (0.3, 1.5), 0.77
    ),
    resource(
        "gemm_output_ratio",
        "",
        POS,
        "rate at which results and casts move, over that of gemm_dram_rate",
        (0.5, 5),
        1.7,
    ),
    *(
        resource(
            f"gemm_{label}_share",
            "",
            "(0, 1]",
            f"attained share of the rate of tensor cores, {label}",
            (0.3, 1),
            share,
        )
        for label, share in _GEMM_SHARES.items()
    ),
    *(
        cost(
            f"gemm_{label}_cast_time",
            "s",
            NONNEG,
            f"start-up time of the cast of activations to {label}",
            (1e-6, 2e-5),
            time,
        )
        for label, time in _GEMM_CAST_TIMES.items()
    ),
    *(
        row(
            f"gemm_{label}_error_{end}",
            "",
            POS,
            f"{end}er end of 90 % of the times over their predictions, {label}",
            (0.5, 2),
            default,
        )
        for label in _GEMM_SHARES
        for end, default in _GEMM_ERRORS.items()
    ),
    # --- power, fitted to a B200
    spec("power_limit", "W", POS, "power limit of the machine", (60, 1500), "board_power"),
    spec(
        "gemm_idle_power_share",
        "",
        SHARE,
        "power between operations, of board_power",
        (0.1, 0.5),
        0.31,
    ),
    spec(
        "gemm_compute_power_share", "", POS, "power at gemm_peak, of board_power", (0.3, 1.5), 1.0
    ),
    spec(
        "gemm_memory_power_share", "", POS, "power at mem_bandwidth, of board_power", (0.1, 1), 0.47
    ),
    row("gemm_energy", "J", RESULT, "energy of operations and bytes"),
    row("gemm_idle_power", "W", RESULT, "power between operations"),
    row("power_demand", "W", RESULT, "power if nothing limited it"),
    row("sustained_time", "s", RESULT, "run time where the power limit holds"),
    # --- results
    row("gemm_error_low", "", POS, "lower end of time over its prediction"),
    row("gemm_error_high", "", POS, "upper end of time over its prediction"),
    row("gemm_peak", "1/s", NONNEG, "printed rate of tensor cores for the number type"),
    row("gemm_share", "", SHARE, "attained share of gemm_peak, full tiles"),
    row("gemm_cast_time", "s", NONNEG, "start-up time of the cast of activations"),
    row("element_bytes", "B", POS, "bytes of an element", (0.5, 8), 2),
    row("gemm_cast_bytes", "B", NONNEG, "bytes that the cast of an activation moves"),
    row("gemm_rate", "1/s", RESULT, "operations per second of full tiles"),
    row("gemm_operand_rate", "B/s", POS, "bytes of operands per second of a multiprocessor"),
    row("weight_bytes", "B", RESULT, "bytes of the weights"),
    row("activation_bytes", "B", RESULT, "bytes of the activations, after a cast"),
    row("result_bytes", "B", RESULT, "bytes of the product"),
    row("weight_miss_share", "", SHARE, "share of the weights that come from DRAM"),
    row("activation_miss_share", "", SHARE, "share of the activations that come from DRAM"),
    row("gemm_dram_bytes", "B", RESULT, "bytes that DRAM sends"),
    row("gemm_dram_rate", "B/s", POS, "attained bandwidth of DRAM"),
    row("product_time", "s", RESULT, "time of the best tile and split"),
    row("gemm_output_time", "s", RESULT, "time of results and casts"),
    row("gemm_operations", "", RESULT, "operations of the product"),
    row("gemm_floor", "s", RESULT, "time below which the machine cannot be"),
    row("time_low", "s", RESULT, "time that 5 % of the shapes are below"),
    row("time_high", "s", RESULT, "time that 5 % of the shapes are above"),
    row("gemm_flops", "1/s", RESULT, "operations per second of the product"),
    row("gemm_efficiency", "", SHARE, "operations per second over the printed rate"),
)
