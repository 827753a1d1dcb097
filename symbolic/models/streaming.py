"""Time of a streaming kernel: a start-up time, and bytes at the attained bandwidth.

No kernel attains the printed bandwidth, and a short kernel attains less than a long kernel. The
attained share depends on the memory and on the mix of reads and writes, so it is best measured. If
a streaming benchmark of the machine is known (``measured_bandwidth``), bytes move at a share of the
measured bandwidth, otherwise at a share of the printed bandwidth. Both shares and the start-up time
are fitted (``dse.calibrate``). Caches are not modelled: a kernel whose data stay in the L2 cache is
faster than predicted.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.ops import divide, where

OUTPUTS = ("time", "sustained_bandwidth", "attained_bandwidth")
VALIDITY = Validity(
    statement="shares are fitted to the machine at hand; compared with GPUs from 2016 to 2020"
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
