"""Time of attention of one new token of each sequence, from the bytes of the KV cache.

A library has two kernels. In one kernel, a block reads the cache for a single query head. In the
other, a block reads the cache for a group of query heads that share keys and values. Several blocks
may divide a long context (splits), and a further step merges their results. Three times are joined
as the root of the sum of squares: the time of a lone block, the time of all blocks on their
multiprocessors, and the time in which DRAM sends the part of the KV cache that does not fit into
the L2 cache. The whole context determines the splits and the kernel, also if a window hides most of
it. If ``lengths`` is given, it is the law of the contexts of a batch: the work is the mean of all
contexts, and the longest context determines the splits, the kernel and the lone block.

Ten numbers belong to a GPU. Two belong to the library on this GPU: ``decode_waves``, and
``decode_group_fill``, the number of blocks from which on the library takes the kernel for groups.
The defaults are fitted to an H100 and a B200 together.

Not monotone: the library's constants belong to one GPU. So the time may grow if ``n_sms``,
``l2_size``, ``decode_group_fill`` or ``decode_waves`` is raised. The library may take the other
kernel, or fewer splits, for a smaller problem. So the time may grow if ``batch``, ``context``,
``heads`` or ``kv_heads`` is lowered.
"""

from __future__ import annotations

from symbolic.equation import Validity, equation
from symbolic.models import _attention
from symbolic.models._attention import DATA, mean_over_lengths
from symbolic.ops import divide, floor, maximum, minimum, power, sqrt, where
from symbolic.quantity_rows.language_models import DECODE_NUMBERS

FITTED = tuple(row.name for row in DECODE_NUMBERS)
OUTPUTS = ("time", "time_low", "time_high", "decode_splits", "decode_bound")
VALIDITY = Validity(
    quantity="tensor_fp16_flops",
    minimum=1,
    statement="decode_attention assumes tensor cores, which the machine does not have",
)

LIBRARY = "TensorRT-LLM, decoderXQAConstants.h and decoderXQAImplJIT.cpp"

#: Number of keys in the shortest split, for a group of heads and for a single head.
GROUP_SPLIT, HEAD_SPLIT = 128.0, 256.0
#: Largest group of query heads that a block computes.
LARGEST_GROUP = 32.0
#: Share of the L2 cache that keeps a KV cache that fits, and share that is filled again if the KV
#: cache does not fit; 0.38 and 0.41 were fitted to an H100 and a B200.
CACHE_SHARE, REFILL_SHARE = 0.8, 0.4

BF16, FP8 = {"kv_dtype": "bf16"}, {"kv_dtype": "fp8"}
SHARED = (
    *_attention.KV_ELEMENT_BYTES,
    *_attention.length_equations("context", "longest_context"),
    _attention.decode_keys,
    _attention.decode_longest_keys,
    mean_over_lengths("decode_keys", _attention.decode_keys, "window"),
    *_attention.rate_and_interval("decode")[1:],
)


def _per_head(heads, kv_heads, decode_group_fill, is_few):
    """Return 1 if a block reads the cache for a single head, and 0 if for a group of heads."""
    group = heads / kv_heads
    single = where(decode_group_fill > 0, where(group > 1, is_few, 1.0), 0.0)
    return where(group > LARGEST_GROUP, 1.0, single)


@equation(source=LIBRARY, when=BF16)
def decode_per_head(batch, longest_context, heads, kv_heads, n_sms, decode_group_fill):
    """1 if a block of the library's kernel reads for one query head, 0 if for a group. [0 or 1]"""
    blocks = batch * kv_heads * maximum(floor(longest_context / GROUP_SPLIT), 1)
    is_few = where(blocks < decode_group_fill * n_sms, 1.0, 0.0)
    return _per_head(heads, kv_heads, decode_group_fill, is_few)


@equation(name="decode_per_head", source=f"{LIBRARY}: few blocks do not matter", when=FP8)
def decode_per_head_fp8(heads, kv_heads, decode_group_fill):
    """1 if a block of the library's kernel reads for one query head, 0 if for a group. [0 or 1]"""
    return _per_head(heads, kv_heads, decode_group_fill, 0.0)


@equation(source="by definition")
def decode_rows(batch, heads, kv_heads, decode_per_head):
    """Number of blocks if contexts are not split. [blocks]"""
    return batch * where(decode_per_head > 0, heads, kv_heads)


@equation(source=LIBRARY)
def decode_splits(longest_context, decode_per_head, decode_rows, decode_waves, n_sms):
    """Number of blocks that share the context of a sequence. [blocks]

    >>> decode_splits(8192.0, 0.0, 8.0, 8.0, 132.0), decode_splits(8192.0, 0.0, 512.0, 8.0, 132.0)
    (64.0, 2.0)
    """
    single = decode_per_head > 0
    most = floor(longest_context / where(single, HEAD_SPLIT, GROUP_SPLIT))
    filled = floor(where(single, 1, decode_waves) * n_sms / decode_rows)
    return maximum(minimum(most, filled), 1)


@equation(source=f"{DATA}; more query heads and elements take longer", when=BF16)
def decode_group_block_time(heads, kv_heads, head_dim, decode_bf16_block_time, decode_head_growth):
    """Time of a block that reads the cache for a group of heads. [s]"""
    growth = 1 + decode_head_growth * heads / kv_heads
    return decode_bf16_block_time * power(head_dim / 128, 1 / 3) * growth


_SIZES = ("heads", "kv_heads", "head_dim")
decode_group_block_time_fp8 = decode_group_block_time.copy_as(
    "decode_group_block_time", *_SIZES, "decode_fp8_block_time", "decode_head_growth", when=FP8
)


@equation(
    source="a lone block of one head waits for its keys; blocks for a group run in pairs or alone"
)
def decode_lone_time(
    decode_per_head, decode_head_latency, decode_key_time, decode_longest_keys, decode_splits,
    head_dim, decode_group_block_time, kv_element_bytes,
):  # fmt: skip
    """Time of a block of the longest context on an idle machine. [s]"""
    keys = 2 * decode_key_time * decode_longest_keys / decode_splits * (head_dim / 128)
    group = decode_group_block_time * (2 / kv_element_bytes)
    return where(decode_per_head > 0, decode_head_latency + keys, group)


@equation(source="by definition")
def decode_blocks_time(
    decode_per_head, decode_rows, n_sms, decode_head_block_time, decode_key_time, decode_keys,
    decode_splits, head_dim, decode_group_block_time,
):  # fmt: skip
    """Time of all blocks that a multiprocessor runs. [s]"""
    keys = decode_key_time * decode_keys / decode_splits * (head_dim / 128)
    single = decode_head_block_time + keys
    block = where(decode_per_head > 0, single, decode_group_block_time)
    return decode_rows * decode_splits / n_sms * block


@equation(source="keys and values")
def decode_bytes(batch, kv_heads, decode_keys, head_dim, kv_element_bytes):
    """Bytes of the KV cache that are read. [B]"""
    return 2 * batch * kv_heads * decode_keys * head_dim * kv_element_bytes


@equation(source="a cache keeps nothing of what is used again after more than its size")
def decode_miss_share(decode_bytes, l2_size):
    """Share of the bytes that come from DRAM: 0 if all of them fit into the L2 cache. [ratio]"""
    return 1 - 1 / (1 + power(decode_bytes / (CACHE_SHARE * l2_size), 16))


@equation(source=f"Williams 2009, of the bandwidth that is attained; {DATA}")
def decode_dram_time(decode_bytes, decode_miss_share, l2_size, mem_bandwidth, decode_dram_share):
    """Time of DRAM and of the L2 cache, which is read at the printed bandwidth of DRAM. [s]"""
    missed = decode_miss_share * (decode_bytes + REFILL_SHARE * l2_size) / decode_dram_share
    return (missed + (1 - decode_miss_share) * decode_bytes) / mem_bandwidth


@equation(source="Williams 2009, without the bytes that the L2 cache may keep")
def decode_floor(
    batch, heads, decode_keys, head_dim, tensor_fp8_flops, tensor_bf16_flops, decode_bytes, l2_size,
    mem_bandwidth,
):  # fmt: skip
    """Lower bound on the time, from the printed rate and the printed bandwidth. [s]"""
    operations = 4 * batch * heads * decode_keys * head_dim
    rate = maximum(tensor_fp8_flops, tensor_bf16_flops)
    compute = divide(operations, rate, at_zero=0.0)
    return maximum(compute, maximum(decode_bytes - l2_size, 0) / mem_bandwidth)


@equation(source=DATA)
def decode_merge_time(
    decode_splits, decode_per_head, decode_head_merge_time, decode_group_merge_time
):
    """Time in which the results of splits are merged. [s]"""
    merge = where(decode_per_head > 0, decode_head_merge_time, decode_group_merge_time)
    return where(decode_splits > 1, merge, 0)


@equation(source="joined as right angles are, because none hides the others completely")
def time(
    decode_start_time, decode_lone_time, decode_blocks_time, decode_dram_time, decode_merge_time,
    decode_floor,
):  # fmt: skip
    """Run time. [s]"""
    squares = power(decode_lone_time, 2) + power(decode_blocks_time, 2) + power(decode_dram_time, 2)
    return maximum(decode_start_time + sqrt(squares) + decode_merge_time, decode_floor)


@equation(
    source="the largest of what takes time",
    flags={0: "start", 1: "latency", 2: "blocks", 3: "memory"},
)
def decode_bound(
    decode_start_time, decode_merge_time, decode_lone_time, decode_blocks_time, decode_dram_time
):
    """Bottleneck: start-up and merge, a lone block, the blocks of a multiprocessor, or DRAM."""
    start = decode_start_time + decode_merge_time
    work = maximum(decode_lone_time, decode_blocks_time)
    slowest = where(decode_blocks_time > decode_lone_time, 2.0, 1.0)
    slowest = where(decode_dram_time > work, 3.0, slowest)
    return where(start >= maximum(work, decode_dram_time), 0.0, slowest)
