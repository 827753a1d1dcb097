"""Work per energy, and the rates of which it is made (Hong 2012, §3.5.4 and Eq. 62)."""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import divide


@equation(source="Hong 2012, section 3.5.4")
def work_insts(total_insts, elements):
    """Instructions of all threads, the thesis's unit of work. [instructions]

    >>> work_insts(33.0, 1000.0)
    33000.0
    """
    return total_insts * elements


@equation(source="Hong 2012, section 3.5.4", symbol="IPS")
def insts_per_second(work_insts, time):
    """Instructions of all threads a second, GIPS where 1e9. [1/s]

    >>> insts_per_second(33000.0, 1e-6)
    33000000000.0
    """
    return divide(work_insts, time, at_zero=0.0)


@equation(source="Hong 2012, Fig. 48, as Eq. 7 counts bytes")
def bandwidth_used(load_bytes_per_warp, mem_insts, warps_run_per_sm, busy_sms, time):
    """Bytes a second that the requests of all warps load. [B/s]

    >>> bandwidth_used(128.0, 6.0, 20.0, 16.0, 1e-4)
    2457600000.0
    """
    requests = mem_insts * warps_run_per_sm * busy_sms
    return divide(load_bytes_per_warp * requests, time, at_zero=0.0)


@equation(source="Hong 2012, Eq. 62", symbol="Perf/W")
def perf_per_watt(work_insts, energy):
    r"""Instructions a second for each watt, which is instructions for each joule. [1/J]

    .. math:: \frac{work / execution\ time}{power} = \frac{work}{energy}

    >>> perf_per_watt(33000.0, 0.5)
    66000.0
    """
    return divide(work_insts, energy, at_zero=0.0)


EQUATIONS = (
    work_insts,
    insts_per_second,
    bandwidth_used,
    perf_per_watt,
)
