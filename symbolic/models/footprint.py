"""Bytes that caches and DRAM move, from what a kernel touches; join with ``latency_roofline``.

``dse kernel`` counts the bytes that a warp requests, that a block touches, that it both loads and
stores (``updated_bytes``), that it loads again in a later loop (``reread_bytes``), and the same of
all blocks. Within a loop, the L1 cache is assumed to keep all data; the L2 cache keeps what blocks
share. Updated bytes take their place in a cache once, but are moved twice. Where addresses are not
known, loads and stores are assumed to touch different bytes. Arrays in local memory count only
once, when they are stored through the L1 cache. For a Coulomb sum with 128 bytes of such arrays per
thread, DRAM of an RTX 2080 Ti moved 18 to 32 times ``launch_bytes``.

Before a block reads a byte again, the resident blocks touch about as many distinct bytes as they
touch in all: the reuse distance. A cache that replaces the least recently used keeps the byte if it
is at least as large (Mattson 1970). As blocks are at different places, the distance is assumed to
be uniform between 0.5 and 1.5 times these bytes (errors on an H100: docs/gpu-validation.md).

Not monotone: more resident blocks leave less of the caches to each. So the time may grow with
``n_sms``, ``max_blocks_per_sm``, ``max_threads_per_sm``, ``max_warps_per_sm``,
``registers_per_sm`` and ``shared_mem_per_sm``, and with fewer ``registers_per_thread``, or a
smaller ``shared_mem_per_block`` or ``reserved_shared_mem_per_block``. A larger ``l1_size``, or
fewer ``block_bytes``, leave fewer requests to L2, of which a larger share misses.
"""

import math

from symbolic.equation import Validity, equation
from symbolic.models._residency import BLOCK_EQUATIONS
from symbolic.models._shared import mem_insts, total_insts
from symbolic.models.latency_roofline import counted_warps
from symbolic.ops import divide, maximum, minimum, where

OUTPUTS = ("l1_bytes", "l2_bytes", "dram_bytes")
VALIDITY = Validity(statement="addresses are counted; the machine gives its levels of cache")

SHARED = (*BLOCK_EQUATIONS, counted_warps, mem_insts, total_insts)


@equation(source="by definition: the sectors of all requests")
def l1_bytes(counted_warps, warp_bytes):
    """Bytes requested from the L1 cache, or from memory on a machine without an L1 cache. [B]"""
    return counted_warps * warp_bytes


@equation(source="the bytes that blocks share: linear in the number of blocks")
def added_block_bytes(block_bytes, launch_bytes, blocks):
    """Bytes that a further block touches and no earlier one. [B]"""
    return maximum(divide(launch_bytes - block_bytes, blocks - 1, at_zero=0.0), 0)


@equation(source="by definition")
def sm_resident_bytes(block_bytes, added_block_bytes, resident_blocks):
    """Distinct bytes that the resident blocks of a multiprocessor touch. [B]"""
    return block_bytes + (resident_blocks - 1) * added_block_bytes


@equation(source="by definition")
def resident_bytes(block_bytes, added_block_bytes, resident_blocks, busy_sms):
    """Distinct bytes that all resident blocks touch. [B]"""
    return block_bytes + (resident_blocks * busy_sms - 1) * added_block_bytes


@equation(source="NVIDIA, Volta whitepaper: one memory for shared memory and first cache")
def l1_data_size(
    l1_size, shared_mem_per_sm, resident_blocks, shared_mem_per_block, reserved_shared_mem_per_block
):
    """Size of the L1 cache without shared memory, if both are one memory (the larger one). [B]"""
    used = resident_blocks * (shared_mem_per_block + reserved_shared_mem_per_block)
    return maximum(l1_size - where(l1_size > shared_mem_per_sm, used, 0.0), 0)


@equation(source="Mattson 1970: hits if the reuse distance is at most the size of the cache")
def l1_reread_miss_share(sm_resident_bytes, l1_data_size):
    """Share of the bytes loaded again that misses the cache; see the text of the model. [ratio]"""
    return minimum(maximum(1.5 - divide(l1_data_size, sm_resident_bytes, at_zero=math.inf), 0), 1)


l2_reread_miss_share = l1_reread_miss_share.copy_as(
    "l2_reread_miss_share", "resident_bytes", "l2_size"
)


@equation(source="compulsory misses of the first cache (Hill 1989), and those of reread bytes")
def l2_bytes(
    l1_bytes, blocks, block_bytes, updated_bytes, reread_bytes, l1_reread_miss_share, cache_levels
):
    """Bytes that the L2 cache moves: those that a block loads, stores, and loads again. [B]"""
    moved = blocks * (block_bytes + updated_bytes + reread_bytes * l1_reread_miss_share)
    return where(cache_levels >= 1, minimum(l1_bytes, moved), l1_bytes)


@equation(source="compulsory misses of the second cache (Hill 1989), and those of reread bytes")
def dram_bytes(
    l2_bytes, launch_bytes, launch_updated_bytes, blocks, reread_bytes, l1_reread_miss_share,
    l2_reread_miss_share, cache_levels,
):  # fmt: skip
    """Bytes that DRAM moves: those loaded, those stored, and those that miss both caches. [B]"""
    reloaded = blocks * reread_bytes * l1_reread_miss_share * l2_reread_miss_share
    moved = launch_bytes + launch_updated_bytes + reloaded
    return where(cache_levels >= 1, minimum(l2_bytes, moved), l2_bytes)


@equation(source="Volkov 2016: requests that a warp sends before it waits")
def memory_parallelism(mem_strength):
    """Number of requests of a warp that are in flight at the same time. [requests]"""
    return maximum(mem_strength, 1)
