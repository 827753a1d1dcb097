"""Quantities of occupancy and of the padding of shared memory."""

from symbolic.quantity import COUNT0, COUNT1, NONNEG, RESULT, SHARE, row, switch

ROWS = (
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
