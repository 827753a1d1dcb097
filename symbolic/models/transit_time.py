"""Run time by Transit from the inputs of MWP-CWP: join ``occupancy + transit + transit_time``.

The two models can then be compared over the same axes. As in ``transit_warps``, a thread of Transit
is a warp of one multiprocessor. One warp computes at a time. The departure delay and the bandwidth
limit the rate of requests. Transit has no barriers: ``sync_insts`` cost no time.
"""

import math

from symbolic.equation import Validity, equation, equations_of
from symbolic.models import _memory, _residency, _shared, mwp_cwp, transit_warps
from symbolic.ops import divide, minimum

OUTPUTS = ("time", "case")
VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")

RULES = transit_warps.RULES

MWP_CWP_EQUATIONS = (
    *equations_of(_shared),
    mwp_cwp.comp_cycles,
    *equations_of(_residency),
    *(eq for eq in equations_of(_memory) if eq.name not in ("mwp", "mwp_without_bw")),
)

TRANSIT_EQUATIONS = (transit_warps.intensity,)

CASES = {**mwp_cwp.CASES, 4: "memory and computation bound"}

threads = transit_warps.threads.copy_as(
    *("threads", "resident_warps"), source="Li 2015, §2.2; Hong 2012, Table 1"
)


@equation(source="Li 2015, Table 1; Hong 2012, Eq. 18", symbol="M")
def lanes_width(warp_size):
    """Number of warps that compute at once: 1, because issue cycles are per warp. [warps]

    >>> lanes_width(32)
    1.0
    """
    return warp_size / warp_size


@equation(source="Li 2015, Table 1; Hong 2012, Eqs. 6 and 16", symbol="R")
def ms_peak(mwp_without_bw_full, mwp_peak_bw, mem_latency):
    """Maximum number of requests of warps per cycle for one multiprocessor. [1/cycle]"""
    return divide(minimum(mwp_without_bw_full, mwp_peak_bw), mem_latency, at_zero=math.inf)


@equation(source="Li 2015, §2.3; Hong 2012, Eq. 20")
def time(resident_warps, repetitions, mem_insts, ms_throughput, core_clock):
    """Run time: requests of all warps of an SM, divided by Transit's throughput. [s]"""
    requests = resident_warps * repetitions * mem_insts
    return divide(requests, ms_throughput * core_clock, at_zero=math.inf)


@equation(source="Li 2015, §2.4, in the words of Hong 2012, §2.3.1", flags=CASES)
def case(bound):
    """The case of MWP-CWP that corresponds to the bound of Transit."""
    return bound + 1
