"""Time of a kernel that streams: a start-up time, and bytes at the bandwidth that is attained.

No kernel attains the printed bandwidth, and a short one does not attain what a long one does. The
share is a property of the memory and of the mix of reads and writes, so that it is best measured:
where a streaming benchmark of the machine is known (``measured_bandwidth``), bytes move at a share
of that; where none is, at a share of the printed bandwidth. Both shares and the start-up time are
fitted (``dse.calibrate``). There are no caches here: a kernel whose data stay in the second cache
is faster than this says.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.ops import divide, where

OUTPUTS = ("time", "sustained_bandwidth", "attained_bandwidth")
VALIDITY = Validity(
    statement="shares are fitted to the machine at hand; held against GPUs from 2016 to 2020"
)


@equation(source="McCalpin 1995 (STREAM): attained bandwidth is measured, not printed")
def sustained_bandwidth(measured_bandwidth, measured_share, mem_bandwidth, bandwidth_share):
    """Bandwidth that a long streaming kernel attains. [B/s]"""
    known = measured_share * measured_bandwidth
    return where(measured_bandwidth > 0, known, bandwidth_share * mem_bandwidth)


@equation(source="Hockney 1982: a start-up time, and what then moves at a constant rate")
def time(startup_time, dram_bytes, sustained_bandwidth):
    """Run time. [s]"""
    return startup_time + divide(dram_bytes, sustained_bandwidth, at_zero=math.inf)


@equation(source="by definition")
def attained_bandwidth(dram_bytes, time):
    """Bandwidth over the whole run. [B/s]"""
    return divide(dram_bytes, time, at_zero=math.inf)
