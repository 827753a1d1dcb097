"""Rows of the quantities of attention and of mixtures of experts."""

from __future__ import annotations

from symbolic.quantity import Quantity, fit, quantity, resource, row, size, switch
from symbolic.quantity_rows import COUNT0, COUNT1, NONNEG, POS, RATIO, RESULT, SHARE


def _start(name: str, meaning: str, default: float) -> Quantity:
    return fit(name, "s", NONNEG, f"start-up time {meaning}", (1e-7, 1e-4), default)


def _time(name: str, meaning: str, default: float) -> Quantity:
    return fit(name, "s", NONNEG, f"time {meaning}", (1e-9, 1e-5), default)


def _share_of(name: str, of: str, default: float) -> Quantity:
    return fit(name, "", "(0, 1]", f"attained share of {of}", (0.3, 1), default)


def _errors(model: str, low: float, high: float) -> tuple[Quantity, Quantity]:
    """Return rows for the ends of a 90 % interval of time / predicted time, for unfitted shapes."""
    meaning = "end of time over its prediction"
    return (
        row(f"{model}_error_low", "", SHARE, f"lower {meaning}", (0.4, 1), low),
        row(f"{model}_error_high", "", RATIO, f"upper {meaning}", (1, 3), high),
    )


# --- Numbers fitted to a GPU. The defaults are fitted to an H100 and a B200 together.

PREFILL_NUMBERS = (
    _start("prefill_start_time", "of attention over a prompt", 1.18e-5),
    _start("prefill_cast_start_time", "of the cast of queries", 6e-7),
    _share_of("prefill_bf16_share", "the rate of tensor cores, attention in bf16", 0.643),
    _share_of("prefill_fp8_share", "the rate of tensor cores, attention in fp8", 0.456),
    fit("prefill_softmax_cycles", "cycle", NONNEG,
        "cycles of a multiprocessor for the exponential of a score", (0.03, 0.3), 0.0929),
    _time("prefill_block_time", "of a block of queries without keys", 3.18e-6),
    fit("prefill_tail_share", "", SHARE, "share of the longest block that is waited for",
        (0, 1), 0.6),
    fit("prefill_diagonal_keys", "", NONNEG, "dropped keys at the diagonal", (0, 500), 117),
    fit("prefill_window_keys", "", NONNEG, "dropped keys at a window, bf16", (0, 500), 242),
    fit("prefill_fp8_window_keys", "", NONNEG, "dropped keys at a window, fp8", (0, 1000), 319),
)  # fmt: skip

DECODE_NUMBERS = (
    _start("decode_start_time", "of attention of new tokens", 7.55e-6),
    _time("decode_head_latency", "of a lone block that reads for one head, without keys", 9.25e-7),
    _time("decode_head_block_time", "of a block that reads for one head, without keys", 1.3e-6),
    _time("decode_key_time", "of such a block for a key of 128 elements", 8.07e-9),
    _time("decode_bf16_block_time", "of a block that reads for a group, 16 bits", 2.32e-6),
    _time("decode_fp8_block_time", "of a block that reads for a group, 8 bits", 1.2e-6),
    fit("decode_head_growth", "", NONNEG, "growth of both for each query head", (0, 0.1), 0.0438),
    _share_of("decode_dram_share", "the printed bandwidth by attention", 0.953),
    _time("decode_head_merge_time", "of the merge of splits of one head", 3.51e-6),
    _time("decode_group_merge_time", "of the merge of splits of a group", 8.2e-7),
)

MOE_NUMBERS = (
    _start("moe_start_time", "of the kernels of a mixture of experts", 2.53e-5),
    _start("moe_fp8_start_time", "of casts to fp8", 1.4e-7),
    _start("moe_fp4_start_time", "of casts to fp4", 1.22e-5),
    _start("moe_activation_start_time", "of an activation without a gate and its cast", 2.13e-5),
    _share_of("moe_fp8_block_share", "the rate of tensor cores, experts in fp8_block", 0.637),
    _time("moe_tile_time", "of a tile without terms", 1.58e-6),
    _share_of("moe_dram_share", "the printed bandwidth by experts", 0.885),
    fit("moe_wide_traffic", "", NONNEG, "times that activations move, 16 and 8 bits", (1, 20), 4.9),
    fit("moe_fp4_traffic", "", NONNEG, "times that activations move, fp4", (1, 20), 11.6),
    fit("moe_token_traffic", "", NONNEG, "times that tokens of all ranks move", (1, 10), 2.67),
    _time("moe_pair_time", "of the sort for a pair of a token and an expert", 4.5e-10),
    _time("moe_expert_time", "of each expert of a rank, fp8_block", 2.02e-7),
)  # fmt: skip

ATTENTION = (
    size("batch", "", COUNT1, "sequences of one call", (1, 1024)),
    size("seq_len", "", COUNT1, "tokens of each prompt", (1, 16384)),
    size("context", "", COUNT1, "tokens in the KV cache of each sequence", (1, 131072)),
    quantity("lengths", labels=(), meaning="law of lengths of sequences, such as 'poisson:900'"),
    switch("batch_lengths", "auto equal lengths", "auto: by the law lengths if given", "lengths"),
    row("longest_prompt", "", NONNEG, "tokens of the longest prompt of a batch"),
    row("longest_context", "", NONNEG, "tokens of the longest context of a batch"),
    size("heads", "", COUNT1, "query heads", (2, 128)),
    size("kv_heads", "", COUNT1, "heads of keys and values", (1, 64)),
    size("head_dim", "", COUNT1, "elements of a head", (64, 256), 128),
    size("window", "", COUNT0, "keys that a query sees; 0: all before it", (0, 8192), 0),
    switch("kv_dtype", "bf16 fp8", "number type of the KV cache"),
    row("kv_element_bytes", "B", POS, "bytes of an element of the KV cache"),
    *_errors("prefill", 0.6, 1.56),
    resource("decode_waves", "", POS, "largest number of blocks per SM that splits make", (1, 8),
             1),
    resource("decode_group_fill", "", NONNEG,
             "blocks per SM from which on the kernel for groups is taken; 0: always", (0, 1), 0),
    *_errors("decode", 0.45, 2),
    row("prefill_peak", "FLOP/s", NONNEG, "printed rate of tensor cores for attention"),
    row("prefill_share", "", SHARE, "attained share of prefill_peak"),
    row("prefill_rate", "FLOP/s", RESULT, "operations per second of attention without a mask"),
    row("prefill_edge_keys", "", NONNEG, "dropped keys at a window"),
    row("prefill_cast_time", "s", NONNEG, "start-up time of casts"),
    row("prefill_dim", "", POS, "elements of a head in products"),
    row("prefill_keys", "", NONNEG, "keys that the last query of the longest prompt sees"),
    row("prefill_scores", "", RESULT, "pairs of a query and a key that the mask keeps, of a head"),
    row("prefill_tiles", "", NONNEG, "blocks of one head and sequence"),
    row("prefill_late_tiles", "", NONNEG, "blocks whose windows begin after the first key"),
    row("prefill_masked_scores", "", RESULT, "pairs that are computed and dropped, of a head"),
    row("prefill_score_time", "s", RESULT, "time of an SM for a pair of a query and a key"),
    row("prefill_mean_time", "s", RESULT, "time of all blocks, divided evenly among SMs"),
    row("prefill_longest_time", "s", RESULT, "time of the block of the last queries"),
    row("prefill_blocks_time", "s", RESULT, "time of all blocks"),
    row("prefill_bytes", "B", RESULT, "bytes of queries, keys, values and results"),
    row("prefill_operations", "", RESULT, "operations of products that the mask keeps"),
    row("prefill_floor", "s", RESULT, "time below which the machine cannot be"),
    row("decode_keys", "", NONNEG, "mean keys that a new token sees"),
    row("decode_longest_keys", "", NONNEG, "keys that the new token of the longest context sees"),
    row("decode_per_head", "", "whole [0, 1]", "1: a block reads for one head, 0: for a group"),
    row("decode_rows", "", COUNT1, "blocks without splits"),
    row("decode_splits", "", COUNT1, "blocks that share a context"),
    row("decode_group_block_time", "s", RESULT, "time of a block that reads for a group"),
    row("decode_lone_time", "s", RESULT, "time of a block on an idle machine"),
    row("decode_blocks_time", "s", RESULT, "time of the blocks of a multiprocessor"),
    row("decode_bytes", "B", RESULT, "bytes of the KV cache that are read"),
    row("decode_miss_share", "", SHARE, "share of the KV cache that comes from DRAM"),
    row("decode_dram_time", "s", RESULT, "time of DRAM and of the L2 cache"),
    row("decode_floor", "s", RESULT, "time below which the machine cannot be"),
    row("decode_merge_time", "s", RESULT, "time of the merge of splits"),
    row("decode_bound", "", COUNT0, "what takes longest in attention of new tokens"),
)  # fmt: skip

EXPERTS = (
    size("tokens", "", COUNT1, "tokens of one call", (1, 16384)),
    size("hidden", "", COUNT1, "elements of a token", (1024, 8192)),
    size("intermediate", "", COUNT1, "inner size of an expert", (512, 16384)),
    size("experts", "", COUNT1, "experts of the layer", (8, 512)),
    size("topk", "", COUNT1, "experts of each token", (1, 32)),
    size("tensor_parallel", "", COUNT1, "ranks that share each expert", (1, 32), 1),
    size("expert_parallel", "", COUNT1, "ranks that share the experts", (1, 256), 1),
    quantity("routing", labels=(), meaning="law of the loads of experts, such as 'power: 1.2'"),
    switch("moe_loads", "auto balanced routing", "auto: by the law routing if given", "routing"),
    row("routing_level", "", "[-1, 1]", "level of the busiest rank's load; -1: mean", (0, 1), -1),
    row("capacity_factor", "", NONNEG, "most over mean tokens of experts; 0: no limit", (1, 2), 0),
    row("dropped_share", "", SHARE, "dropped share of tokens beyond the capacity", (0, 1), 1),
    row("expert_copies", "", COUNT0, "further copies of experts with many tokens", (0, 32), 0),
    switch("gated", "true false", "an expert has a gate: three matrices instead of two"),
    *_errors("moe", 0.77, 2.05),
    row("moe_peak", "FLOP/s", NONNEG, "printed rate of tensor cores for experts"),
    row("moe_share", "", SHARE, "attained share of moe_peak"),
    row("moe_traffic", "", NONNEG, "times that activations move"),
    row("moe_element_bytes", "B", POS, "bytes of a weight or an activation"),
    row("moe_padding_time", "s", NONNEG, "time of each expert of a rank"),
    row("moe_up_matrices", "", COUNT1, "matrices of an expert before the activation"),
    row("moe_cast_time", "s", NONNEG, "start-up time of casts"),
    row("moe_activation_time", "s", NONNEG, "start-up time of the activation and its cast"),
    row("moe_rank_tokens", "", RATIO, "pairs of a token and an expert on one rank"),
    row("moe_rank_experts", "", RATIO, "experts of one rank"),
    row("moe_occupied_experts", "", RATIO, "experts of one rank that get a token"),
    row("moe_tile_rows", "", COUNT0, "rows of a tile; 0: best for balanced loads", None, 0),
    row("moe_dropped_tokens", "", NONNEG, "dropped pairs of a token and an expert, all ranks"),
    *(
        row(f"moe_tiles_{rows}", "", RATIO, f"tiles of {rows} rows of a rank's occupied experts")
        for rows in (16, 32, 64, 128, 256)
    ),
    row("moe_expert_tokens", "", RATIO, "tokens of an occupied expert"),
    row("moe_inner_size", "", POS, "inner size of an expert on one rank"),
    row("moe_rate", "FLOP/s", RESULT, "operations per second of full tiles of experts"),
    row("moe_products_time", "s", RESULT, "time of both grouped products"),
    row("moe_traffic_time", "s", RESULT, "time of sorting, casts, activation and sums"),
    row("moe_operations", "", RESULT, "operations of one rank"),
    row("moe_floor", "s", RESULT, "time below which the machine cannot be"),
)
