"""Inputs of the transit model from a profiler's counters (Li 2015, §3); join with ``transit``."""

from __future__ import annotations

import math

from symbolic.equation import equation
from symbolic.ops import divide

#: A workload that never reaches DRAM is outside the model.
RULES = ("dram_reads + dram_writes > 0",)


@equation(source="Li 2015, §3", symbol="n")
def threads(occupancy, max_threads_per_sm):
    """Threads of one multiprocessor: occupancy × the most that can be resident. [threads]

    >>> threads(0.5, 1536.0)
    768.0
    """
    return occupancy * max_threads_per_sm


@equation(source="Li 2015, §3", symbol="Z")
def intensity(issued_insts, dram_reads, dram_writes):
    r"""Instructions issued for each DRAM access. [cycles]

    .. math:: Z = \frac{instructions\ issued}{dram\ reads + dram\ writes}

    >>> intensity(6400.0, 150.0, 50.0)
    32.0
    """
    return divide(issued_insts, dram_reads + dram_writes, at_zero=math.inf)
