"""Time of attention over a prompt, from the tiles of a causal or windowed mask.

A block computes the results of ``TILE`` queries of a head: for each tile of keys, two products on
tensor cores and an exponential of each score between them. Tiles that the mask crosses are computed
whole. Blocks differ in length, because late queries see more keys. The time is that of the mean
multiprocessor plus a part of the longest block, but not less than that of the longest block. Before
the blocks run, rotated queries, keys and values are written in the number type of the cache, and
read again. No time is below the floor of the machine. If ``lengths`` is given, it is the law of the
lengths of the prompts of a batch, and the work is the mean of all prompts.

Ten numbers belong to a GPU. They are fitted to measured times of whole calls; the defaults are
fitted to an H100 and a B200 together.

Not monotone: the edge of a smaller ``window`` crosses tiles of more blocks, and these tiles are
computed whole.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.models import _attention
from symbolic.models._attention import DATA, EQUAL, mean_over_lengths, prefill_keys
from symbolic.models._labels import by_label
from symbolic.ops import ceil, divide, log2, maximum, minimum, power, sqrt, where
from symbolic.quantity_rows.language_models import PREFILL_NUMBERS

FITTED = tuple(row.name for row in PREFILL_NUMBERS)
OUTPUTS = ("time", "time_low", "time_high")
VALIDITY = Validity(
    quantity="tensor_fp16_flops",
    minimum=1,
    statement="prefill_attention assumes tensor cores, which the machine does not have",
)

RULES = ("prefill_peak > 0",)  # the machine has tensor cores for the number type

FLASH = "Dao 2023 (FlashAttention-2), 3.3: a block for each tile of queries of a head"

#: Number of queries that a block computes.
TILE = 128.0

SHARED = (
    *_attention.KV_ELEMENT_BYTES,
    *_attention.length_equations("seq_len", "longest_prompt"),
    prefill_keys,
    *_attention.rate_and_interval("prefill"),
)

# --- Quantities that depend on the number type of the cache, which the products also use

_BY_CACHE = {
    "prefill_peak": {"bf16": "tensor_bf16_flops", "fp8": "tensor_fp8_flops"},
    "prefill_share": {"bf16": "prefill_bf16_share", "fp8": "prefill_fp8_share"},
    "prefill_edge_keys": {"bf16": "prefill_window_keys", "fp8": "prefill_fp8_window_keys"},
}
BY_CACHE = tuple(
    one for name, values in _BY_CACHE.items() for one in by_label(name, DATA, "kv_dtype", values)
)
prefill_cast_time = (
    *by_label("prefill_cast_time", "no cast", "kv_dtype", {"bf16": 0.0}),
    *by_label(
        "prefill_cast_time",
        "queries are cast to the number type of the cache",
        "dtype",
        {"bf16": "prefill_cast_start_time", "fp16": "prefill_cast_start_time", "fp8": 0.0},
        kv_dtype="fp8",
    ),
)
whole_dim = by_label("prefill_dim", "by definition", "kv_dtype", {"bf16": "head_dim"})


@equation(source="kernels for 8 bits compute powers of two", when={"kv_dtype": "fp8"})
def prefill_dim(head_dim):
    """Number of elements of a head that products use. [elements]"""
    return power(2, ceil(log2(head_dim)))


@equation(source="by definition, of a causal mask", when=EQUAL)
def prefill_scores(seq_len, prefill_keys):
    """Number of query-key pairs of one head and sequence that the mask keeps. [pairs]

    >>> prefill_scores(4.0, 4.0), prefill_scores(4.0, 2.0)
    (10.0, 7.0)
    """
    return prefill_keys * (prefill_keys + 1) / 2 + (seq_len - prefill_keys) * prefill_keys


@equation(source=FLASH, when=EQUAL)
def prefill_tiles(seq_len):
    """Number of blocks of one head and sequence. [blocks]"""
    return ceil(seq_len / TILE)


@equation(source=FLASH, when=EQUAL)
def prefill_late_tiles(prefill_tiles, prefill_keys):
    """Number of blocks whose windows begin after the first key. [blocks]"""
    return maximum(prefill_tiles - ceil(prefill_keys / TILE), 0)


@equation(source="tiles of keys that the mask crosses are computed whole", when=EQUAL)
def prefill_masked_scores(
    seq_len, prefill_tiles, prefill_late_tiles, prefill_diagonal_keys, prefill_edge_keys
):
    """Number of pairs of one head and sequence that are computed but masked. [pairs]"""
    diagonal = minimum(TILE, seq_len) * prefill_tiles * prefill_diagonal_keys
    return diagonal + TILE * prefill_late_tiles * prefill_edge_keys


def _scores(length, window):
    return prefill_scores(length, prefill_keys(length, window))


def _late_tiles(length, window):
    return prefill_late_tiles(prefill_tiles(length), prefill_keys(length, window))


def _masked_scores(length, window, *keys):
    return prefill_masked_scores(length, prefill_tiles(length), _late_tiles(length, window), *keys)


EDGES = ("prefill_diagonal_keys", "prefill_edge_keys")
OF_RANDOM_LENGTHS = (
    mean_over_lengths("prefill_scores", _scores, "window"),
    mean_over_lengths("prefill_tiles", prefill_tiles),
    mean_over_lengths("prefill_late_tiles", _late_tiles, "window"),
    mean_over_lengths("prefill_masked_scores", _masked_scores, "window", *EDGES),
)


@equation(source=f"{FLASH}; products and exponentials overlap in part")
def prefill_score_time(prefill_dim, n_sms, prefill_rate, prefill_softmax_cycles, core_clock):
    """Time that a multiprocessor needs for a pair of a query and a key. [s]"""
    products = divide(4 * prefill_dim * n_sms, prefill_rate, at_zero=math.inf)
    return sqrt(sqrt(power(products, 4) + power(prefill_softmax_cycles / core_clock, 4)))


@equation(source=FLASH)
def prefill_mean_time(
    batch, heads, n_sms, prefill_block_time, prefill_tiles, prefill_score_time, prefill_scores,
    prefill_masked_scores,
):  # fmt: skip
    """Time of all blocks, divided evenly among the multiprocessors. [s]"""
    scores = prefill_score_time * (prefill_scores + prefill_masked_scores)
    return batch * heads * (prefill_block_time * prefill_tiles + scores) / n_sms


@equation(source=FLASH)
def prefill_longest_time(
    longest_prompt, prefill_block_time, prefill_score_time, prefill_keys, prefill_late_tiles,
    prefill_diagonal_keys, prefill_edge_keys,
):  # fmt: skip
    """Time of the block of the last queries. [s]"""
    windowed = prefill_keys + TILE + prefill_edge_keys
    causal = prefill_keys + prefill_diagonal_keys
    keys = where(prefill_late_tiles > 0, windowed, causal)
    keys = minimum(keys, longest_prompt + prefill_diagonal_keys)
    return prefill_block_time + prefill_score_time * minimum(TILE, longest_prompt) * keys


@equation(source="Graham 1969: mean work and a part of the longest job")
def prefill_blocks_time(prefill_mean_time, prefill_longest_time, prefill_tail_share):
    """Time of all blocks. [s]"""
    return maximum(
        prefill_longest_time, prefill_mean_time + prefill_tail_share * prefill_longest_time
    )


@equation(source="projections are read, written in the type of the cache, and read again")
def prefill_bytes(batch, seq_len, heads, kv_heads, head_dim, kv_element_bytes):
    """Bytes of queries, keys, values and results. [B]"""
    projections = (heads + 2 * kv_heads) * (2 + 2 * kv_element_bytes)
    return batch * seq_len * head_dim * (projections + 2 * heads)


@equation(source="two products of two operations for each element")
def prefill_operations(batch, heads, head_dim, prefill_scores):
    """Operations of the products, without masked pairs. [operations]"""
    return 4 * batch * heads * head_dim * prefill_scores


@equation(source="Williams 2009, without the bytes that the L2 cache may keep")
def prefill_floor(
    prefill_operations, prefill_peak, batch, seq_len, heads, kv_heads, head_dim, l2_size,
    mem_bandwidth,
):  # fmt: skip
    """Lower bound on the time, from the machine's printed rate and bandwidth. [s]"""
    moved = 4 * batch * seq_len * head_dim * (heads + kv_heads)
    compute = divide(prefill_operations, prefill_peak, at_zero=math.inf)
    return maximum(compute, maximum(moved - l2_size, 0) / mem_bandwidth)


@equation(source="sum of what follows one after the other, and no less than the floor")
def time(
    prefill_start_time, prefill_cast_time, prefill_blocks_time, prefill_bytes, mem_bandwidth,
    prefill_floor,
):  # fmt: skip
    """Run time. [s]"""
    starts = prefill_start_time + prefill_cast_time
    return maximum(starts + prefill_blocks_time + prefill_bytes / mem_bandwidth, prefill_floor)
