"""Bytes that caches and DRAM move, from what a kernel touches; join with ``latency_roofline``.

``dse kernel`` counts the bytes that a warp's requests ask for, those that a block loads, and those
that all blocks touch. The first cache of a multiprocessor keeps what a block has loaded, the second
cache what any block has: so each moves the least that it can. That is exact where a kernel streams,
and where what it comes back to fits; what a cache evicts and loads again is not in it. Above all
arrays in local memory are not, beyond the bytes that are stored once through the first cache: of a
Coulomb sum with 128 bytes of them a thread, DRAM of an RTX 2080 Ti moved 18 to 32 times
``launch_bytes``.
"""

from __future__ import annotations

from symbolic.equation import Validity, equation
from symbolic.models._shared import mem_insts, total_insts
from symbolic.models.latency_roofline import launch_warps
from symbolic.ops import maximum, minimum, where

OUTPUTS = ("l1_bytes", "l2_bytes", "dram_bytes")
VALIDITY = Validity(statement="addresses are counted; a machine tells its levels of cache")

SHARED = (launch_warps, mem_insts, total_insts)


@equation(source="by definition: the sectors of all requests")
def l1_bytes(launch_warps, warp_bytes):
    """Bytes asked of the first cache, or of memory where there is none. [B]"""
    return launch_warps * warp_bytes


@equation(source="compulsory misses of the first cache (Hill 1989)")
def l2_bytes(l1_bytes, blocks, block_bytes, cache_levels):
    """Bytes that the second cache moves: each block's own, once. [B]

    >>> l2_bytes(307200.0, 100.0, 1024.0, 2), l2_bytes(307200.0, 100.0, 1024.0, 0)
    (102400.0, 307200.0)
    """
    return where(cache_levels >= 1, minimum(l1_bytes, blocks * block_bytes), l1_bytes)


@equation(source="compulsory misses of the second cache (Hill 1989)")
def dram_bytes(l2_bytes, launch_bytes, cache_levels):
    """Bytes that DRAM moves: those that all blocks touch, once. [B]"""
    return where(cache_levels >= 1, minimum(l2_bytes, launch_bytes), l2_bytes)


@equation(source="Volkov 2016: requests that a warp sends before it waits")
def memory_parallelism(mem_strength):
    """Requests of a warp under way at once. [requests]"""
    return maximum(mem_strength, 1)
