"""Blocks and warps that are resident on a multiprocessor, and the repetitions (Hong 2012, §2.3.5).

If the grid has fewer blocks than the machine holds at once, only ``min(blocks, active_sms)``
multiprocessors are busy, and nothing is repeated.
"""

from symbolic.equation import equation
from symbolic.ops import ceil, maximum, minimum


@equation(source="Hong 2012, §2.3.3 and §2.3.5", symbol=r"\#Active\_SMs")
def busy_sms(blocks, active_sms):
    """Number of multiprocessors that have at least one block. [SMs]"""
    return minimum(blocks, active_sms)


@equation(source="Hong 2012, §2.3.5")
def blocks_per_busy_sm(blocks, busy_sms):
    """Blocks on the busiest multiprocessor if blocks are distributed evenly. [blocks]"""
    return ceil(blocks / busy_sms)


@equation(source="Hong 2012, §2.3.5", symbol=r"\#Active\_blocks\_per\_SM")
def resident_blocks(active_blocks_per_sm, blocks_per_busy_sm):
    """Blocks resident on a busy multiprocessor, which a small grid does not fill. [blocks]

    The value is at least 1. If no block fits, the rule ``active_blocks_per_sm >= 1`` is broken.
    """
    return maximum(minimum(active_blocks_per_sm, blocks_per_busy_sm), 1)


@equation(source="Hong 2012, Table 1", symbol="N")
def resident_warps(warps_per_sm, blocks_per_busy_sm, warps_per_block):
    """Warps resident on a busy multiprocessor: the N of all equations. [warps]

    N is ``resident_blocks`` × ``warps_per_block``, but at most ``warps_per_sm``.
    """
    return maximum(minimum(warps_per_sm, blocks_per_busy_sm * warps_per_block), 1)


@equation(source="Hong 2012, Eq. 20", symbol=r"\#Rep", when={"waves": "fractional"})
def repetitions(blocks, resident_blocks, busy_sms):
    """Number of times that an SM is filled with blocks; 1 if the grid does not fill the SMs."""
    return maximum(blocks / (resident_blocks * busy_sms), 1)


@equation(name="repetitions", source="Hong 2012, Eq. 20", symbol=r"\#Rep", when={"waves": "whole"})
def repetitions_whole(blocks, resident_blocks, busy_sms):
    """Number of times that an SM is filled with blocks; a partial last wave counts in full."""
    return ceil(maximum(blocks / (resident_blocks * busy_sms), 1))


BLOCK_EQUATIONS = (blocks_per_busy_sm, busy_sms, repetitions, repetitions_whole, resident_blocks)
