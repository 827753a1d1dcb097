"""Quantities of machines."""

from symbolic.quantity import COUNT0, COUNT1, NONNEG, POS, row

ROWS = (
    row("n_sms", "", COUNT1, "streaming multiprocessors of the machine", (1, 128)),
    row("active_sms", "", COUNT1, "multiprocessors in use", (1, 128), "n_sms"),
    row("cores_per_sm", "", COUNT1, "scalar cores of one multiprocessor", (8, 192)),
    row("warp_size", "", COUNT1, "threads of a warp", (32, 64), 32),
    row("core_clock", "Hz", POS, "clock of the cores", (5e8, 2e9), "nominal_clock"),
    row("nominal_clock", "Hz", POS, "clock at which latencies were measured", (5e8, 2e9)),
    row("mem_bandwidth", "B/s", POS, "DRAM bandwidth of the machine", (5e10, 2e12)),
    row(
        "mem_latency_nominal",
        "cycle",
        POS,
        "DRAM round trip at the nominal clock, in core cycles",
        (200, 800),
    ),
    row("mem_latency_dram", "cycle", POS, "DRAM round trip of one transaction", (200, 800)),
    row(
        "departure_delay_coalesced",
        "cycle",
        NONNEG,
        "least distance between two coalesced transactions",
        (1, 10),
    ),
    row(
        "departure_delay_uncoalesced",
        "cycle",
        NONNEG,
        "least distance between two uncoalesced transactions",
        (4, 40),
    ),
    row("issue_cycles", "cycle", POS, "cycles to issue one instruction of a warp", (1, 8)),
    row("max_threads_per_sm", "", COUNT1, "resident threads of one SM", (768, 2048)),
    row("max_warps_per_sm", "", COUNT1, "resident warps of one SM", (24, 64)),
    row("max_blocks_per_sm", "", COUNT1, "resident blocks of one SM", (8, 32)),
    row("max_threads_per_block", "", COUNT1, "threads of one block", (512, 1024)),
    row("registers_per_sm", "", COUNT1, "registers of one SM", (8192, 65536)),
    row(
        "max_registers_per_block",
        "",
        COUNT1,
        "registers one block may use",
        (8192, 65536),
        "registers_per_sm",
    ),
    row("max_registers_per_thread", "", COUNT1, "registers one thread may use", (63, 255), 255),
    row("shared_mem_per_sm", "B", COUNT0, "shared memory of one SM", (16384, 167936)),
    row(
        "max_shared_mem_per_block",
        "B",
        COUNT0,
        "shared memory one block may use",
        (16384, 167936),
        "shared_mem_per_sm",
    ),
    row("register_allocation_unit", "", COUNT1, "registers are allocated in these", (256, 512)),
    row(
        "warp_allocation_unit",
        "",
        COUNT1,
        "parts into which registers are divided among warps; where a block is allocated at a time, "
        "its warps are rounded up to these",
        (1, 4),
    ),
    row(
        "warp_check_unit",
        "",
        COUNT1,
        "warps of a block are rounded up to these against the registers one block may use",
        (1, 4),
        4,
    ),
    row(
        "shared_mem_allocation_unit", "B", COUNT1, "shared memory is allocated in these", (128, 512)
    ),
    row(
        "reserved_shared_mem_per_block",
        "B",
        COUNT0,
        "shared memory the system takes from each block",
        (0, 1024),
        0,
    ),
    row(
        "registers_allocated_per_warp",
        "",
        "whole [0, 1]",
        "1 where registers are allocated a warp at a time, 0 where a block at a time",
        (0, 1),
    ),
)
