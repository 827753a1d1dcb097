"""Memory latency and departure delay, by how accesses coalesce (Hong 2012, Eqs. 10-15).

Without memory instructions both are 0.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import divide


@equation(source="Hong 2012, Eq. 10", symbol=r"Weight_{uncoal}")
def weight_uncoalesced(uncoalesced_insts, mem_insts):
    """Share of the memory instructions that are uncoalesced; 0 where there are none. [ratio]

    >>> weight_uncoalesced(3.0, 12.0)
    0.25
    """
    return divide(uncoalesced_insts, mem_insts, at_zero=0.0)


@equation(source="Hong 2012, Eq. 11", symbol=r"Weight_{coal}")
def weight_coalesced(coalesced_insts, mem_insts):
    """Share of the memory instructions that are coalesced; 0 where there are none. [ratio]

    >>> weight_coalesced(9.0, 12.0)
    0.75
    """
    return divide(coalesced_insts, mem_insts, at_zero=0.0)


@equation(source="Hong 2012, Eq. 12", symbol=r"Mem\_L_{Uncoal}")
def mem_latency_uncoalesced(
    mem_latency_dram, transactions_per_uncoalesced, departure_delay_uncoalesced
):
    r"""Latency of an uncoalesced request of a warp, with the departures of its parts. [cycles]

    .. math:: Mem\_LD + (\#Uncoal\_per\_mw - 1) \times Departure\_del\_uncoal

    >>> mem_latency_uncoalesced(420, 32, 10)
    730
    """
    return mem_latency_dram + (transactions_per_uncoalesced - 1) * departure_delay_uncoalesced


@equation(source="Hong 2012, Eq. 13", symbol=r"Mem\_L_{Coal}")
def mem_latency_coalesced(mem_latency_dram, departure_delay_coalesced):
    r"""Latency of a coalesced request of a warp; the article of 2009 adds no delay. [cycles]

    .. math:: Mem\_LD + Departure\_del\_coal

    >>> mem_latency_coalesced(420, 4)
    424
    """
    return mem_latency_dram + departure_delay_coalesced


@equation(source="Hong 2012, Eq. 14", symbol=r"Mem\_L")
def mem_latency(
    mem_latency_uncoalesced, weight_uncoalesced, mem_latency_coalesced, weight_coalesced
):
    r"""Mean latency of a request of a warp; 0 where there are none. [cycles]

    .. math:: Mem\_L_{Uncoal} \times Weight_{uncoal} + Mem\_L_{Coal} \times Weight_{coal}

    >>> mem_latency(730, 0.5, 424, 0.5)
    577.0
    """
    return mem_latency_uncoalesced * weight_uncoalesced + mem_latency_coalesced * weight_coalesced


@equation(source="Hong 2012, Eq. 15", symbol=r"Departure\_delay")
def departure_delay(
    departure_delay_uncoalesced,
    transactions_per_uncoalesced,
    weight_uncoalesced,
    departure_delay_coalesced,
    weight_coalesced,
):
    r"""Least distance between the requests of two warps; 0 where there are none. [cycles]

    .. math:: Departure\_del\_uncoal \times \#Uncoal\_per\_mw \times Weight_{uncoal}
        + Departure\_del\_coal \times Weight_{coal}

    >>> departure_delay(10, 32, 1, 4, 0)
    320
    """
    return (
        departure_delay_uncoalesced * transactions_per_uncoalesced * weight_uncoalesced
        + departure_delay_coalesced * weight_coalesced
    )


EQUATIONS = (
    weight_uncoalesced,
    weight_coalesced,
    mem_latency_uncoalesced,
    mem_latency_coalesced,
    mem_latency,
    departure_delay,
)
