"""Equations that several models share; each model imports those it uses."""

from symbolic.equation import equation
from symbolic.ops import ceil

#: Labels of the switch ``printed``: equations as the paper prints them, or corrected.
PRINTED, CORRECTED = {"printed": True}, {"printed": False}


@equation(source="Hong 2012, Table 1", symbol=r"\#Blocks")
def blocks(elements, threads_per_block):
    """Number of blocks of a grid with one thread for each element. [blocks]"""
    return ceil(elements / threads_per_block)


@equation(source="Hong 2012, Table 1", symbol=r"\#Active\_warps\_per\_block")
def warps_per_block(threads_per_block, warp_size):
    """Number of warps of one block; a partly filled last warp counts in full. [warps]"""
    return ceil(threads_per_block / warp_size)


@equation(source="Hong 2012, Table 1", symbol=r"N_\mathrm{SM}")
def warps_per_sm(active_blocks_per_sm, warps_per_block):
    """Number of warps that one multiprocessor can hold at once. [warps]"""
    return active_blocks_per_sm * warps_per_block


@equation(source="Hong 2012, Table 5, at its clock", symbol=r"Mem\_LD")
def mem_latency_dram(mem_latency_nominal, core_clock, nominal_clock):
    """DRAM round trip of one transaction, in cycles of the core clock. [cycles]

    The thesis never changes a clock. DRAM has its own clock, so a round trip takes the same time at
    any core clock, and fewer core cycles at a lower core clock.
    """
    return mem_latency_nominal * (core_clock / nominal_clock)


@equation(source="Hong 2012, Table 1", symbol=r"\#Mem\_insts")
def mem_insts(coalesced_insts, uncoalesced_insts):
    """Memory instructions of one thread. [instructions]"""
    return coalesced_insts + uncoalesced_insts


@equation(source="Hong 2012, Table 1", symbol=r"\#Total\_insts")
def total_insts(comp_insts, mem_insts):
    """Instructions of one thread. [instructions]"""
    return comp_insts + mem_insts
