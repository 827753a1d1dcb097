"""The TMM model calibrated to seconds (Ma 2014, §IV): linear while latency shows, then flat.

On one machine and for one problem, L, C and n only scale Eq. 14: run time is linear in √B_r/𝒯 (Eq.
15) until computation bounds, and then flat (Eq. 13). The coefficients are quantities like any
other, given or fitted: ``memory_time_slope`` and ``memory_time_offset`` of the first regime,
``compute_bound_time`` of the second. Join ``apsp`` for the blocks, ``occupancy`` for the threads.

Eq. 15 has no f_sched, though Eq. 14 does: in the paper's runs it is within 0.1 % of 1.

Not monotone: the coefficients are those of one machine, and more ``cores_per_sm`` leave fewer
threads to each core to hide latency, so that the time grows with them (Eq. 15).
"""

from __future__ import annotations

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

#: The graph and the machine are fixed; ``latency_time`` and ``memory_time_offset`` show which term
#: of Eq. 15 dominates.
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
    """The variable in which run time is linear while latency shows. [ratio]"""
    return divide(sqrt(blocks), threads_per_core, at_zero=math.inf)


@equation(source="Ma 2014, Eq. 15")
def latency_time(memory_time_slope, root_blocks_per_thread):
    """The term of Eq. 15 that falls with the threads and rises with the blocks. [s]"""
    return memory_time_slope * root_blocks_per_thread


@equation(source="Ma 2014, Eq. 15", symbol="Time")
def memory_bound_time(latency_time, memory_time_offset):
    """Run time while memory latency shows. [s]

    The paper prints :math:`a_1 = 0.957`, :math:`a_0 = 53.9`, :math:`r^2 = 0.9916`. At its example
    of §V that is 115.15 s, where it prints 105 s.

    >>> round(memory_bound_time(61.248, 53.9), 3)
    115.148
    """
    return latency_time + memory_time_offset


@equation(source="Ma 2014, Eqs. 12-15 and Fig. 2")
def time(memory_bound_time, compute_bound_time):
    """Run time: the line of Eq. 15, or the constant time that computation takes. [s]"""
    return maximum(memory_bound_time, compute_bound_time)
