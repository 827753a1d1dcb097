"""Quantities of workloads."""

from symbolic.quantity import COUNT0, COUNT1, NONNEG, POS, RATIO, Quantity, row, switch


def _class(name: str, kind: str, factor: float) -> tuple[Quantity, ...]:
    """A class of Table 6 of Hong 2012: its instructions, and the factor of the experiment."""
    return (
        row(f"{name}_insts", "", NONNEG, f"instructions of one thread: {kind}", (0, 100), 0),
        row(f"{name}_factor", "", POS, f"slowdown of an instruction: {kind}", (1, 40), factor),
    )


ROWS = (
    switch("printed", "false true", "use the equations exactly as printed"),
    row("elements", "", COUNT1, "work items, one thread each", (1e4, 1e8)),
    row("threads_per_block", "", COUNT1, "threads of one block", (32, 512)),
    row("blocks", "", COUNT1, "blocks of the grid", (1, 1e6)),
    row("registers_per_thread", "", COUNT0, "registers of one thread", (4, 64)),
    row("warp_bytes", "B", NONNEG, "bytes of the sectors that a warp asks for", (0, 1e4)),
    row("block_bytes", "B", NONNEG, "bytes that one block asks the second cache for", (0, 1e6)),
    row("launch_bytes", "B", NONNEG, "bytes that all blocks touch, each once", (1e6, 1e10)),
    row("shared_mem_per_block", "B", COUNT0, "shared memory of one block", (0, 16384)),
    row("comp_insts", "", NONNEG, "computation instructions of one thread", (1, 1e4)),
    row("coalesced_insts", "", NONNEG, "coalesced memory instructions of one thread", (0, 500)),
    row("uncoalesced_insts", "", NONNEG, "uncoalesced memory instructions of one thread", (0, 500)),
    row("sync_insts", "", NONNEG, "barriers executed by one thread", (0, 100)),
    row(
        "independent_insts",
        "",
        NONNEG,
        "memory instructions of one thread that need no earlier one",
        (0, 100),
        0,
    ),
    row("mem_insts", "", NONNEG, "memory instructions of one thread", (0, 1000)),
    row("total_insts", "", NONNEG, "instructions of one thread", (1, 1e4)),
    row(
        "transactions_per_uncoalesced",
        "",
        RATIO,
        "memory transactions of one uncoalesced instruction of a warp",
        (1, 32),
    ),
    row("load_bytes_per_warp", "B", POS, "bytes of one memory request", (32, 512), 128),
    row("comp_factor", "", POS, "slowdown of the instruction mix (M_Factor)", (1, 8), 1),
    *_class("fp_div", "floating-point division", 4.2),
    *_class("int_mul", "integer multiplication", 4.3),
    *_class("int_div", "integer division", 30),
    *_class("int_mod", "integer modulo", 35),
    row("tile", "", POS, "edge of the square tile a block works on", (4, 32)),
    row("imbalance_loss", "", RATIO, "what lockstep costs where work is uneven", (1, 4), 1),
)
