"""Bytes that caches and DRAM move, from what a kernel touches; join with ``latency_roofline``.

``dse kernel`` counts the bytes that a warp requests, those that a block loads, and those that all
blocks touch. The L1 cache is assumed to keep all that a block has loaded, and the L2 cache all that
any block has loaded, so each moves as few bytes as possible. That is exact if a kernel streams, or
if the data it reuses fit; evicted data that are loaded again are not counted. Bytes of arrays in
local memory count only once, when they are stored through the L1 cache: for a Coulomb sum with 128
bytes of them per thread, DRAM of an RTX 2080 Ti moved 18 to 32 times ``launch_bytes``.
"""

from __future__ import annotations

from symbolic.equation import Validity, equation
from symbolic.models._shared import mem_insts, total_insts
from symbolic.models.latency_roofline import counted_warps
from symbolic.ops import maximum, minimum, where

OUTPUTS = ("l1_bytes", "l2_bytes", "dram_bytes")
VALIDITY = Validity(statement="addresses are counted; the machine gives its levels of cache")

SHARED = (counted_warps, mem_insts, total_insts)


@equation(source="by definition: the sectors of all requests")
def l1_bytes(counted_warps, warp_bytes):
    """Bytes requested from the L1 cache (on a machine without one, from memory). [B]"""
    return counted_warps * warp_bytes


@equation(source="compulsory misses of the first cache (Hill 1989)")
def l2_bytes(l1_bytes, blocks, block_bytes, cache_levels):
    """Bytes that the L2 cache moves: those that each block touches, once per block. [B]"""
    return where(cache_levels >= 1, minimum(l1_bytes, blocks * block_bytes), l1_bytes)


@equation(source="compulsory misses of the second cache (Hill 1989)")
def dram_bytes(l2_bytes, launch_bytes, cache_levels):
    """Bytes that DRAM moves: those that all blocks touch, once. [B]"""
    return where(cache_levels >= 1, minimum(l2_bytes, launch_bytes), l2_bytes)


@equation(source="Volkov 2016: requests that a warp sends before it waits")
def memory_parallelism(mem_strength):
    """Number of requests of a warp that are in flight at the same time. [requests]"""
    return maximum(mem_strength, 1)
