"""The memory supply curve, as benchmarks measure it: bandwidth against waiting threads.

Of Transit's two curves, f(k) is a property of the machine, measured by a kernel that only streams.
Its two ends are those of the point δ that the paper prints for each machine: the threads that fill
the memory system, and its bandwidth then. ``dse.fit`` determines them from measured bandwidth; a
machine file turns them into ``ms_peak`` and ``mem_latency``.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.ops import divide, minimum

OUTPUTS = ("attained_bandwidth",)
VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")


@equation(name="attained_bandwidth", source="Li 2015, Eq. 1, Fig. 4-B", when={"supply": "sharp"})
def attained_bandwidth_sharp(ms_peak_bandwidth, threads_in_ms, ms_transition):
    """Bandwidth of k threads that only wait for memory. [B/s]"""
    return ms_peak_bandwidth * minimum(1, threads_in_ms / ms_transition)


@equation(name="attained_bandwidth", source="Li 2015, Eq. 1, Fig. 4-A", when={"supply": "smooth"})
def attained_bandwidth_smooth(ms_peak_bandwidth, threads_in_ms, ms_transition):
    """Bandwidth of k threads that only wait for memory; at the sharp corner half the peak. [B/s]"""
    return ms_peak_bandwidth / (1 + divide(ms_transition, threads_in_ms, at_zero=math.inf))
