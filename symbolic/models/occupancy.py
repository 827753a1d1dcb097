"""Occupancy: the blocks that one multiprocessor can hold, and their limit (Ma 2014, Eq. 4).

The switch ``granularity`` chooses Eq. 4 as printed (``none``), or the same limits with the
allocation units of the hardware (``cuda``), by the rules of NVIDIA's ``cuda_occupancy.h`` without
partitioned global caching. The default ``auto`` means ``cuda`` for every machine file with these
units, and ``none`` for the others. If a block does not fit, there are 0 blocks, and the point
breaks the rule ``active_blocks_per_sm >= 1``.

Correction: the paper divides the block limit by P/Q, its name for the number of multiprocessors;
``max_blocks_per_sm`` is that quotient.
"""

import math

from symbolic.equation import Family, Guide, Validity, equation
from symbolic.models._shared import warps_per_block, warps_per_sm
from symbolic.ops import both, ceil, divide, equal, floor, minimum, where

OUTPUTS = ("active_blocks_per_sm", "warps_per_sm", "occupancy", "limiter")
VALIDITY = Validity(
    statement="limits and allocation units come from the machine, from compute capability 1.0 on"
)

FAMILIES = (
    Family(
        of="active_blocks_per_sm",
        terms={
            "shared_memory": "blocks_by_shared_mem",
            "registers": "blocks_by_registers",
            "blocks": "max_blocks_per_sm",
            "threads": "blocks_by_threads",
        },
    ),
)

ADVICE = Guide(
    state="active_blocks_per_sm",
    goal="active_blocks_per_sm",
    limits="active_blocks_per_sm",
    maximize=True,
    helps="active_blocks_per_sm",
)

SHARED = (warps_per_block, warps_per_sm)

PRINTED, CUDA = {"granularity": "none"}, {"granularity": "cuda"}


def _round_up(amount, unit):
    return ceil(amount / unit) * unit


def _round_down(amount, unit):
    return floor(amount / unit) * unit


@equation(
    name="blocks_by_shared_mem",
    source="Ma 2014, Eq. 4",
    symbol=r"\lfloor Z/S_B \rfloor",
    when=PRINTED,
)
def blocks_by_shared_mem_printed(shared_mem_per_sm, shared_mem_per_block):
    """Number of blocks that fit in shared memory; infinite if they use none. [blocks]"""
    return floor(divide(shared_mem_per_sm, shared_mem_per_block, at_zero=math.inf))


@equation(name="blocks_by_shared_mem", source="NVIDIA occupancy calculator", when=CUDA)
def blocks_by_shared_mem_cuda(
    shared_mem_per_sm, shared_mem_per_block, max_shared_mem_per_block, shared_mem_allocation_unit,
    reserved_shared_mem_per_block,
):  # fmt: skip
    """Number of blocks that fit in shared memory in whole allocation units. [blocks]

    The number is 0 if one block needs more than the limit per block.
    """
    used = _round_up(
        shared_mem_per_block + reserved_shared_mem_per_block, shared_mem_allocation_unit
    )
    fitting = floor(divide(shared_mem_per_sm, used, at_zero=math.inf))
    return where(shared_mem_per_block <= max_shared_mem_per_block, fitting, 0.0)


@equation(
    name="blocks_by_registers",
    source="Ma 2014, Eq. 4",
    symbol=r"\lfloor R/(R_T T_r) \rfloor",
    when=PRINTED,
)
def blocks_by_registers_printed(registers_per_sm, registers_per_thread, threads_per_block):
    """Number of blocks whose registers fit; infinite if they use none. [blocks]"""
    return floor(
        divide(registers_per_sm, registers_per_thread * threads_per_block, at_zero=math.inf)
    )


@equation(name="blocks_by_registers", source="NVIDIA occupancy calculator", when=CUDA)
def blocks_by_registers_cuda(
    registers_per_sm, max_registers_per_block, max_registers_per_thread, registers_per_thread,
    register_allocation_unit, registers_allocated_per_warp, warp_allocation_unit, warp_check_unit,
    warps_per_block, warp_size,
):  # fmt: skip
    r"""Number of blocks whose registers fit in whole allocation units. [blocks]

    With w warps per block and allocation units of u registers and v warps, the hardware allocates
    for a block at a time up to compute capability 1.3,

    .. math:: \left\lfloor R / \lceil\lceil w\rceil_v R_T \cdot 32\rceil_u \right\rfloor,

    and for a warp at a time from 2.0 on, in each of v parts of the multiprocessor,

    .. math:: \left\lfloor \lfloor R / \lceil 32 R_T\rceil_u \rfloor_v / w \right\rfloor .

    The number is 0 if a block needs more registers than its limit :math:`R_b`, or a thread more
    than its limit. For R_b, the warps of a block are rounded up to v (on 6.0 to 4).

    >>> blocks_by_registers_cuda(65536.0, 65536.0, 255.0, 85.0, 256.0, 1.0, 4.0, 4.0, 4.0, 32.0)
    5.0
    >>> blocks_by_registers_cuda(65536.0, 32768.0, 255.0, 85.0, 256.0, 1.0, 4.0, 4.0, 12.0, 32.0)
    0.0
    """
    per_warp = _round_up(registers_per_thread * warp_size, register_allocation_unit)
    warps = _round_down(divide(registers_per_sm, per_warp, at_zero=math.inf), warp_allocation_unit)
    checked = per_warp * _round_up(warps_per_block, warp_check_unit)
    warps_up = _round_up(warps_per_block, warp_allocation_unit)
    per_block = _round_up(warps_up * registers_per_thread * warp_size, register_allocation_unit)
    by_warp = equal(registers_allocated_per_warp, 1)
    fitting = where(
        by_warp,
        floor(warps / warps_per_block),
        floor(divide(registers_per_sm, per_block, at_zero=math.inf)),
    )
    allowed = both(
        where(by_warp, checked, per_block) <= max_registers_per_block,
        registers_per_thread <= max_registers_per_thread,
    )
    return where(allowed, fitting, 0.0)


@equation(
    name="blocks_by_threads",
    source="Ma 2014, Eq. 4",
    symbol=r"\lfloor T_{maxMP}/T_r \rfloor",
    when=PRINTED,
)
def blocks_by_threads_printed(max_threads_per_sm, threads_per_block):
    """Number of blocks that the thread limit allows. [blocks]"""
    return floor(max_threads_per_sm / threads_per_block)


@equation(name="blocks_by_threads", source="NVIDIA occupancy calculator", when=CUDA)
def blocks_by_threads_cuda(
    max_threads_per_sm, threads_per_block, max_warps_per_sm, warps_per_block
):
    """Number of blocks that the thread limit and the warp limit allow. [blocks]"""
    return minimum(
        floor(max_threads_per_sm / threads_per_block), floor(max_warps_per_sm / warps_per_block)
    )


@equation(source="Ma 2014, Eq. 4; Hong 2012, §2.3.5", symbol="B_a")
def active_blocks_per_sm(
    blocks_by_shared_mem, blocks_by_registers, max_blocks_per_sm, blocks_by_threads
):
    """Number of blocks that one multiprocessor holds at once. [blocks]"""
    return minimum(blocks_by_shared_mem, blocks_by_registers, max_blocks_per_sm, blocks_by_threads)


@equation(
    source="Ma 2014, Eq. 4", flags={0: "shared_memory", 1: "registers", 2: "blocks", 3: "threads"}
)
def limiter(active_blocks_per_sm, blocks_by_shared_mem, blocks_by_registers, max_blocks_per_sm):
    """The limit that determines the number of blocks; if several do, the first in ``flags``."""
    others = where(equal(active_blocks_per_sm, max_blocks_per_sm), 2.0, 3.0)
    others = where(equal(active_blocks_per_sm, blocks_by_registers), 1.0, others)
    return where(equal(active_blocks_per_sm, blocks_by_shared_mem), 0.0, others)


@equation(name="occupancy", source="Hong 2012, §2.3.5 and Fig. 20", when=PRINTED)
def occupancy_printed(active_blocks_per_sm, threads_per_block, max_threads_per_sm):
    """Resident threads divided by the maximum number of threads. [ratio]"""
    return active_blocks_per_sm * threads_per_block / max_threads_per_sm


@equation(name="occupancy", source="NVIDIA occupancy calculator", when=CUDA)
def occupancy_cuda(warps_per_sm, max_warps_per_sm):
    """Resident warps divided by the maximum number of warps. [ratio]"""
    return warps_per_sm / max_warps_per_sm
