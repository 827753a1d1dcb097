"""Bytes that caches and DRAM move, from what a kernel touches; join with ``latency_roofline``.

``dse kernel`` counts the bytes that a warp requests, the bytes that a block loads, and the bytes
that all blocks touch. The L1 cache is assumed to keep all data that a block has loaded, and the L2
cache all data that any block has loaded. So each cache moves as few bytes as possible. This is
exact if a kernel streams, or if the data that it reuses fit; evicted data that are loaded again are
not counted. Arrays in local memory count only once, when they are stored through the L1 cache. For
a Coulomb sum with 128 bytes of such arrays per thread, DRAM of an RTX 2080 Ti moved 18 to 32 times
``launch_bytes``.
"""

from symbolic.equation import Validity, equation
from symbolic.models._shared import mem_insts, total_insts
from symbolic.models.latency_roofline import counted_warps
from symbolic.ops import maximum, minimum, where

OUTPUTS = ("l1_bytes", "l2_bytes", "dram_bytes")
VALIDITY = Validity(statement="addresses are counted; the machine gives its levels of cache")

SHARED = (counted_warps, mem_insts, total_insts)


@equation(source="by definition: the sectors of all requests")
def l1_bytes(counted_warps, warp_bytes):
    """Bytes requested from the L1 cache, or from memory on a machine without an L1 cache. [B]"""
    return counted_warps * warp_bytes


@equation(source="compulsory misses of the first cache (Hill 1989)")
def l2_bytes(l1_bytes, blocks, block_bytes, cache_levels):
    """Bytes that the L2 cache moves: for each block, the bytes that the block touches. [B]"""
    return where(cache_levels >= 1, minimum(l1_bytes, blocks * block_bytes), l1_bytes)


@equation(source="compulsory misses of the second cache (Hill 1989)")
def dram_bytes(l2_bytes, launch_bytes, cache_levels):
    """Bytes that DRAM moves: each byte that any block touches is moved once. [B]"""
    return where(cache_levels >= 1, minimum(l2_bytes, launch_bytes), l2_bytes)


@equation(source="Volkov 2016: requests that a warp sends before it waits")
def memory_parallelism(mem_strength):
    """Number of requests of a warp that are in flight at the same time. [requests]"""
    return maximum(mem_strength, 1)
