"""Rows of the quantities of products of a sparse matrix and a vector."""

from __future__ import annotations

from symbolic.quantity import Quantity, fit, row, size, switch
from symbolic.quantity_rows import COUNT1, NONNEG, POS, RATIO, RESULT, SHARE


def _start(mapping: str, default: float) -> Quantity:
    meaning = f"time of the smallest product, {mapping}-mapped"
    return fit(f"spmv_{mapping}_start_time", "s", NONNEG, meaning, (1e-6, 1e-4), default)


def _cycles(name: str, meaning: str, default: float) -> Quantity:
    return fit(f"spmv_{name}_cycles", "cycle", NONNEG, f"cycles {meaning}", (1, 100), default)


#: Numbers of a GPU. The defaults are fitted to one V100 (tests/papers/spmv_fits.py).
SPMV_NUMBERS = (
    _start("merge", 1.84e-5),
    fit("spmv_dram_share", "", "(0, 1]", "attained share of mem_bandwidth", (0.3, 1), 0.617),
    _cycles("merge_row", "of a multiprocessor for a row, merge-mapped", 3.52),
    _start("thread", 1.09e-5),
    _cycles("thread_step", "of a multiprocessor for a step of a warp, thread-mapped", 3.82),
    _cycles("thread_wait", "that a lane waits for a nonzero", 60.5),
    fit("spmv_unused_share", "", NONNEG, "share of long rows that is read again", (0, 1), 0.724),
    fit("spmv_l2_reach", "", POS, "bytes over l2_size at which half of it is", (1, 20), 7.06),
    _start("warp", 9.9e-6),
    _cycles("warp_nonzero", "of a multiprocessor for a nonzero, warp-mapped", 1.96),
    _cycles("warp_wait", "that a warp waits for a nonzero of its rows", 59.3),
)

SPARSE = (
    switch("mapping", "thread warp merge", "what a row is assigned to"),
    switch("row_lengths", "quantiles distribution", "lengths of rows: quantiles, or a law"),
    size("rows", "", COUNT1, "rows of a sparse matrix", (1e3, 1e7)),
    size("cols", "", COUNT1, "columns of a sparse matrix", (1e3, 1e7), "rows"),
    size("nonzeros", "", NONNEG, "stored elements of a sparse matrix", (1e4, 1e8)),
    row("value_bytes", "B", POS, "bytes of a stored element, without its index", (2, 8), 4),
    row("row_correlation", "", SHARE, "probability that rows of a warp are equal", (0, 0.5), 0),
    row("row_variance", "", NONNEG, "variance of the length of a row", (0, 1e4)),
    row("row_variation", "", NONNEG, "standard deviation of the length of a row over its mean"),
    row("warp_longest_row", "", NONNEG, "expected longest of 32 independent rows"),
    row("spmv_bytes", "B", POS, "bytes of matrix, offsets and vectors, each counted once"),
    row("spmv_start_time", "s", NONNEG, "time of the smallest product"),
    row("spmv_dram_time", "s", RESULT, "time of DRAM for bytes that are read once"),
    row("spmv_unused_time", "s", RESULT, "time of DRAM for bytes that are read again"),
    row("spmv_step_time", "s", RESULT, "time in which all multiprocessors issue their steps"),
    row("spmv_wait_time", "s", RESULT, "time of the lane or warp with the longest rows"),
    row("spmv_floor", "s", RESULT, "time below which the machine cannot be"),
    row("spmv_error_low", "", SHARE, "lower end of time over its prediction", (0.4, 1)),
    row("spmv_error_high", "", RATIO, "upper end of time over its prediction", (1, 3)),
)
