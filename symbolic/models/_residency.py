"""Blocks and warps of one multiprocessor, and how often it repeats them (Hong 2012, §2.3.5).

Where the grid has fewer blocks than the machine holds at once, only ``min(blocks, active_sms)``
multiprocessors are busy, each with as many blocks as it gets, and nothing is repeated.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import ceil, maximum, minimum


@equation(source="Hong 2012, §2.3.3 and §2.3.5", symbol=r"\#Active\_SMs")
def busy_sms(blocks, active_sms):
    """Multiprocessors that have a block: no more than there are blocks. [SMs]"""
    return minimum(blocks, active_sms)


@equation(source="Hong 2012, §2.3.5")
def blocks_per_busy_sm(blocks, busy_sms):
    """Blocks of the multiprocessor that gets the most, dealt out evenly. [blocks]"""
    return ceil(blocks / busy_sms)


@equation(source="Hong 2012, §2.3.5", symbol=r"\#Active\_blocks\_per\_SM")
def resident_blocks(active_blocks_per_sm, blocks_per_busy_sm):
    """Blocks resident on a busy multiprocessor, fewer than it could hold in a small grid. [blocks]

    At least 1: a point whose block does not fit breaks the rule ``active_blocks_per_sm >= 1``.
    """
    return maximum(minimum(active_blocks_per_sm, blocks_per_busy_sm), 1)


@equation(source="Hong 2012, Table 1", symbol="N")
def resident_warps(warps_per_sm, blocks_per_busy_sm, warps_per_block):
    r"""Warps resident on a busy multiprocessor, the N of every equation below. [warps]

    That is resident_blocks × warps_per_block, and honours ``warps_per_sm`` where it is given.

    .. math:: N = \min(\#Active\_blocks, \lceil \#Blocks/\#Active\_SMs \rceil)
        \times \#Active\_warps\_per\_block
    """
    return maximum(minimum(warps_per_sm, blocks_per_busy_sm * warps_per_block), 1)


@equation(source="Hong 2012, Eq. 20", symbol=r"\#Rep", when={"waves": "fractional"})
def repetitions(blocks, resident_blocks, busy_sms):
    """Times a multiprocessor repeats its resident blocks; 1 where the grid does not fill it."""
    return maximum(blocks / (resident_blocks * busy_sms), 1)


@equation(name="repetitions", source="Hong 2012, Eq. 20", symbol=r"\#Rep", when={"waves": "whole"})
def repetitions_whole(blocks, resident_blocks, busy_sms):
    """Times a multiprocessor repeats its resident blocks, the last wave counted in full."""
    return ceil(maximum(blocks / (resident_blocks * busy_sms), 1))


#: All but the warps.
BLOCK_EQUATIONS = (blocks_per_busy_sm, busy_sms, repetitions, repetitions_whole, resident_blocks)
