"""Cycles that wait for memory, and the share of useful ones (Hong 2012, §5.3.10, Eqs. 77-82).

Where a warp has several requests in flight, MWP counts them all, and idle cycles may grow with it:
Eq. 80 pays a computation period for each. They never do where MSTR is 1.

Eq. 82 takes all computation as hidden, that before the first request, too: a single warp takes the
longer of its two periods, where chapter 2 (Eq. 21) has it take both.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import divide, maximum


@equation(source="Hong 2012, Eq. 78", symbol=r"Mem\_SerialN")
def serial_mem_cycles(mem_latency, warps_per_sm):
    r"""Memory periods of all warps of a core, one after the other. [cycles]

    .. math:: EffMem \times N

    >>> serial_mem_cycles(100.0, 6.0)
    600.0
    """
    return mem_latency * warps_per_sm


@equation(source="Hong 2012, Eq. 79", symbol=r"Mem\_DividedN")
def divided_mem_cycles(serial_mem_cycles, mwp):
    r"""The same, MWP at a time. [cycles]

    .. math:: Mem\_SerialN / MWP

    >>> divided_mem_cycles(600.0, 3.0)
    200.0
    """
    return divide(serial_mem_cycles, mwp, at_zero=0.0)


@equation(source="Hong 2012, Eq. 80", symbol=r"Mem\_N")
def overlapped_mem_cycles(divided_mem_cycles, effective_comp, mwp):
    r"""Cycles from the first request to the end of the last. [cycles]

    MWP − 1 is 0 where MWP falls below 1, as in chapter 2.

    .. math:: Mem\_DividedN + EffComp \times (MWP - 1)

    >>> overlapped_mem_cycles(200.0, 10.0, 3.0)
    220.0
    """
    return divided_mem_cycles + effective_comp * maximum(mwp - 1, 0)


@equation(source="Hong 2012, Eq. 81", symbol="CompcyclesN")
def serial_comp_cycles(effective_comp, warps_per_sm):
    r"""Computation periods of all warps of a core. [cycles]

    .. math:: EffComp \times N

    >>> serial_comp_cycles(10.0, 6.0)
    60.0
    """
    return effective_comp * warps_per_sm


@equation(source="Hong 2012, Eq. 82", symbol="IdleMemCycles")
def idle_mem_cycles(overlapped_mem_cycles, serial_comp_cycles):
    r"""Memory cycles that no computation hides. [cycles]

    .. math:: \max(0, Mem\_N - CompcyclesN)

    >>> idle_mem_cycles(220.0, 60.0)  # Fig. 102
    160.0
    """
    return maximum(overlapped_mem_cycles - serial_comp_cycles, 0)


@equation(source="Hong 2012, Eq. 77, its divisor")
def period_cycles(serial_comp_cycles, idle_mem_cycles):
    r"""Cycles in which every warp of a core has one computation and one memory period. [cycles]

    .. math:: EffComp \times N + IdleMemCycles

    >>> period_cycles(60.0, 160.0)
    220.0
    """
    return serial_comp_cycles + idle_mem_cycles


@equation(source="Hong 2012, Eq. 77", symbol="EffRatio")
def effective_ratio(effective_perfect, warps_per_sm, period_cycles):
    r"""Share of the cycles that perfect floating point would take. [ratio]

    .. math:: \frac{EffPerf \times N}{EffComp \times N + IdleMemCycles}

    >>> effective_ratio(5.5, 6.0, 220.0)
    0.15
    """
    return divide(effective_perfect * warps_per_sm, period_cycles, at_zero=0.0)


@equation(source="Hong 2012, Fig. 107, memory")
def idle_fraction(idle_mem_cycles, period_cycles):
    """Share of the cycles that wait for memory. [ratio]

    >>> idle_fraction(160.0, 220.0) == 160 / 220
    True
    """
    return divide(idle_mem_cycles, period_cycles, at_zero=0.0)


@equation(source="Hong 2012, Fig. 107, other instructions and results waited for")
def overhead_fraction(effective_ratio, idle_fraction):
    """Share of the cycles that compute and yield no floating point: the rest. [ratio]

    >>> overhead_fraction(0.25, 0.5)
    0.25
    """
    return 1 - effective_ratio - idle_fraction


@equation(source="Hong 2012, Fig. 113")
def exposed_mem_ratio(idle_mem_cycles, serial_mem_cycles):
    """Idle over serial memory cycles, what of memory nothing hides. [ratio]

    >>> exposed_mem_ratio(150.0, 600.0)
    0.25
    """
    return divide(idle_mem_cycles, serial_mem_cycles, at_zero=0.0)


EQUATIONS = (
    serial_mem_cycles,
    divided_mem_cycles,
    overlapped_mem_cycles,
    serial_comp_cycles,
    idle_mem_cycles,
    period_cycles,
    effective_ratio,
    idle_fraction,
    overhead_fraction,
    exposed_mem_ratio,
)
