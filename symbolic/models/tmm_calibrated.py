"""The TMM model calibrated to seconds (Ma 2014, §IV): linear, then constant if latency is hidden.

For one machine and one problem, L, C and n are constant factors in Eq. 14. Run time is linear in
√B_r/𝒯 (Eq. 15) if latency is not hidden, and constant if computation is the bound (Eq. 13). The
coefficients are given or fitted: ``memory_time_slope`` and ``memory_time_offset`` for the first
regime, ``compute_bound_time`` for the second regime. Join ``apsp`` for the blocks and ``occupancy``
for the threads.

Unlike Eq. 14, Eq. 15 has no f_sched, which is within 0.1 % of 1 in the paper's runs.

Not monotone: the coefficients are those of one machine. With more ``cores_per_sm``, each core has
fewer threads to hide latency, so the time grows (Eq. 15).
"""

import math

from symbolic.equation import Family, Guide, Validity, equation
from symbolic.models import tmm
from symbolic.ops import divide, maximum, sqrt

OUTPUTS = ("time", "root_blocks_per_thread")
VALIDITY = Validity(
    quantity="release_year",
    maximum=2012,
    statement="the published numbers of tmm_calibrated are of a GPU of 2010 (GTX 480): "
    "calibrate them first",
)

FAMILIES = (
    Family(
        of="time",
        terms={"latency": "memory_bound_time", "flat": "compute_bound_time"},
        largest=True,
    ),
)

#: The graph and the machine are fixed. The two terms of Eq. 15 are shown.
ADVICE = Guide(
    state="time",
    goal="time",
    limits="time",
    helps="threads_per_core, blocks",
    show=("latency_time", "memory_time_offset"),
    fixed=frozenset({"vertices", "chunk", "cores_per_sm", "shared_mem_per_sm"}),
)

RULES = tmm.RULES

TMM = (tmm.threads_per_core,)


@equation(source="Ma 2014, Fig. 2", symbol=r"\sqrt{B_r}/\mathcal{T}")
def root_blocks_per_thread(blocks, threads_per_core):
    """The variable √B_r/𝒯, in which run time is linear if latency is not hidden. [ratio]"""
    return divide(sqrt(blocks), threads_per_core, at_zero=math.inf)


@equation(source="Ma 2014, Eq. 15")
def latency_time(memory_time_slope, root_blocks_per_thread):
    """The first term of Eq. 15, which falls with the threads and grows with the blocks. [s]"""
    return memory_time_slope * root_blocks_per_thread


@equation(source="Ma 2014, Eq. 15", symbol="Time")
def memory_bound_time(latency_time, memory_time_offset):
    """Run time if memory latency is not hidden. [s]

    The paper prints :math:`a_1 = 0.957`, :math:`a_0 = 53.9`, :math:`r^2 = 0.9916`. With these
    values, the example in §V gives 115.15 s, but the paper prints 105 s.

    >>> round(memory_bound_time(61.248, 53.9), 3)
    115.148
    """
    return latency_time + memory_time_offset


@equation(source="Ma 2014, Eqs. 12-15 and Fig. 2")
def time(memory_bound_time, compute_bound_time):
    """Run time: the maximum of Eq. 15 and of the constant time of computation. [s]"""
    return maximum(memory_bound_time, compute_bound_time)
