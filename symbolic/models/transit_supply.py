"""The memory supply curve, as benchmarks measure it: bandwidth against waiting threads.

f(k), one of Transit's two curves, is a property of the machine. A kernel that only streams measures
it. The corner of the curve is the point δ, which the paper prints for each machine: the number of
threads that fill the memory system, and the bandwidth there. ``dse.fit`` determines both from
measured bandwidth; a machine file converts them to ``ms_peak`` and ``mem_latency``.
"""

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
    """Bandwidth of k threads that only wait for memory; half of the peak at δ. [B/s]"""
    return ms_peak_bandwidth / (1 + divide(ms_transition, threads_in_ms, at_zero=math.inf))
