"""Quantities of the time by the shape of a block."""

from symbolic.quantity import COUNT1, NONNEG, POS, RESULT, row

ROWS = (
    # --- a launch
    row("block_x", "", COUNT1, "threads of a block that lie side by side", (1, 512)),
    row("row_loads", "", NONNEG, "loads of a thread, each row of a block elsewhere", (0, 500), 0),
    row("column_loads", "", NONNEG, "loads of a thread, each lane elsewhere", (0, 500), 0),
    row("store_insts", "", NONNEG, "stores of a thread", (0, 500), 0),
    row("row_stores", "", NONNEG, "stores of a thread, each row of a block elsewhere", (0, 500), 0),
    row("warp_rows", "", COUNT1, "rows of a block that a warp holds"),
    row("load_lines", "", NONNEG, "lines that the loads of a warp touch"),
    row("store_lines", "", NONNEG, "lines that the stores of a warp touch"),
    # --- a machine, calibrated
    row(
        "request_wait", "cycle", POS, "wait of a warp for a request, over those under way", (9, 600)
    ),
    row("load_line_cycles", "cycle", NONNEG, "cycles of an SM for a line that is loaded", (0.2, 8)),
    row(
        "request_cycles",
        "cycle",
        NONNEG,
        "an SM's share of the second cache, a line that is asked of it",
        (0.2, 8),
    ),
    row("store_line_cycles", "cycle", NONNEG, "the same, a line that is stored", (0.2, 8)),
    # --- results
    row("sm_cycles", "cycle", RESULT, "cycles of an SM for instructions and lines"),
    row("shared_cache_cycles", "cycle", RESULT, "cycles of the cache that all SMs share"),
    row("wait_cycles", "cycle", RESULT, "cycles that warps wait for their requests"),
)
