"""Split-KV decode attention: the time of a number of splits, and the rules of three libraries.

A batch of ``groups`` (batch times KV heads) has ``kv_tiles`` tiles of keys each. A block computes
one split of one group. The blocks run in waves, and one more step merges the results of the splits.
"""

import dse

MODEL = "flashinfer pull request 4904: cost of a number of splits"

groups = dse.quantity("groups", domain="whole [1, inf)", meaning="batch times KV heads")
tiles = dse.quantity("kv_tiles", domain="whole [1, inf)", meaning="tiles of keys of a group")
chosen = dse.quantity("splits", domain="whole [1, inf)", meaning="parts of the keys of a group")


@dse.equation(source=MODEL, meaning="time, in times of one tile")
def tile_time(groups, kv_tiles, splits, n_sms):
    waves = dse.ceil(groups * splits / (n_sms * 3))
    return waves * (dse.ceil(kv_tiles / splits) + 10) + 0.22 * splits


@dse.equation(source="flashinfer before pull request 4904: a quarter of the blocks of a wave")
def flashinfer_splits(groups, n_sms):
    """Number of splits. [splits]"""
    return dse.maximum(1, dse.floor(dse.floor(n_sms * 3 / groups) * 0.25))


@dse.equation(source="flash-attention, flash_attn/cute/interface.py: num_splits_heuristic")
def flash_attention_splits(groups, kv_tiles, n_sms):
    """Number of splits; at most 128, as the caller passes it. [splits]"""
    filled = dse.minimum(dse.minimum(dse.floor(n_sms / groups), 128), kv_tiles)
    return dse.where(kv_tiles <= 4, 1, dse.maximum(1, filled))


@dse.equation(source="one wave of three blocks per multiprocessor, as occupancy APIs advise")
def one_wave_splits(groups, kv_tiles, n_sms):
    """Number of splits. [splits]"""
    filled = dse.minimum(dse.floor(n_sms * 3 / groups), 128)
    return dse.maximum(1, dse.minimum(kv_tiles, filled))


@dse.equation(
    source="vLLM, vllm/attention/ops/paged_attn.py: v1 or v2; 8 tiles of 64 keys, 512 keys"
)
def vllm_splits(groups, kv_tiles):
    """Number of splits: 1 for the kernel v1; one per partition of 512 keys for v2. [splits]"""
    partitions = dse.ceil(kv_tiles / 8)
    is_v1 = dse.both(kv_tiles <= 128, dse.either(partitions <= 1, groups > 512))
    return dse.where(is_v1, 1, partitions)
