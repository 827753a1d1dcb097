"""Power of each unit before it is scaled over the SMs (Hong 2012, Eqs. 37, 39 and 43, Table 8).

A unit draws its access rate × its most. Units that Table 8 marks *Spec.Linear* jump when first
accessed and rise slowly from there; their function of the rate is 0 below a rate of 6.516e-4, and
at none. Its logarithm is that of the count plus that of ``issue_rate``, so that all units share one
logarithm a point. Rates above 1 count as 1.

Table 11 has neither this column nor an ALU for GTX580, and Fig. 58 no formulas: the column of Table
8 is used there too, the L1 cache as the shared memory that it is one with (linear), the L2 cache as
the DRAM behind it (Spec.Linear). Memory and L2 are one for the chip, the others one for each SM.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import log, maximum, minimum, where

SOURCE = "Hong 2012, Eq. 39, Table 8"
FERMI = "Hong 2012, Eq. 39, Table 11"

#: §3.2.4, the function of the units that jump.
SLOPE, AT_ONE = 0.1365, 1.001375


def _linear(most, insts, issue_rate):
    return where(insts > 0, most * minimum(insts * issue_rate, 1), 0.0)


def _special(most, insts, issue_rate):
    jump = SLOPE * log(where(insts > 0, insts, 1)) + AT_ONE
    drawn = maximum(most * minimum(jump + SLOPE * log(issue_rate), AT_ONE), 0)
    return where(insts > 0, drawn, 0.0)


@equation(source=SOURCE, symbol=r"RP\_Int")
def int_unit_power(max_power_int, int_insts, issue_rate):
    """Power of the integer units of one SM. [W]

    >>> round(int_unit_power(0.25, 10.0, 0.05), 6)
    0.22669
    """
    return _special(max_power_int, int_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Fp")
def fp_unit_power(max_power_fp, fp_insts, issue_rate):
    """Power of the floating-point units of one SM. [W]

    >>> round(fp_unit_power(0.2, 10.0, 0.05), 6)
    0.181352
    """
    return _special(max_power_fp, fp_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Sfu")
def sfu_unit_power(max_power_sfu, sfu_insts, issue_rate):
    """Power of the special-function units of one SM. [W]

    >>> sfu_unit_power(0.5, 10.0, 0.05)
    0.25
    """
    return _linear(max_power_sfu, sfu_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Alu")
def alu_unit_power(max_power_alu, alu_insts, issue_rate):
    """Power of the logic units of one SM. [W]

    >>> alu_unit_power(0.2, 10.0, 0.05)
    0.1
    """
    return _linear(max_power_alu, alu_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Texture\_Cache")
def texture_unit_power(max_power_texture, texture_insts, issue_rate):
    """Power of the texture cache, an SM's part. [W]

    >>> round(texture_unit_power(0.9, 10.0, 0.05), 6)
    0.816084
    """
    return _special(max_power_texture, texture_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Const\_Cache")
def const_unit_power(max_power_const, const_insts, issue_rate):
    """Power of the constant cache of one SM. [W]

    >>> round(const_unit_power(0.4, 10.0, 0.05), 6)
    0.362704
    """
    return _special(max_power_const, const_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Shared")
def shared_unit_power(max_power_shared, shared_insts, issue_rate):
    """Power of the shared memory of one SM. [W]

    >>> shared_unit_power(1.0, 10.0, 0.05)
    0.5
    """
    return _linear(max_power_shared, shared_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_Reg")
def register_unit_power(max_power_register, register_insts, issue_rate):
    """Power of the register file of one SM. [W]

    >>> round(register_unit_power(0.3, 10.0, 0.05), 6)
    0.272028
    """
    return _special(max_power_register, register_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_FDS")
def fds_unit_power(max_power_fds, total_insts, issue_rate):
    """Power of fetch, decode and schedule of one SM. [W]

    >>> round(fds_unit_power(0.5, 10.0, 0.05), 6)
    0.45338
    """
    return _special(max_power_fds, total_insts, issue_rate)


@equation(source=FERMI, symbol=r"RP\_L1")
def l1_unit_power(max_power_l1, l1_insts, issue_rate):
    """Power of the L1 cache of one SM. [W]

    >>> l1_unit_power(1.6, 10.0, 0.05)
    0.8
    """
    return _linear(max_power_l1, l1_insts, issue_rate)


@equation(source=FERMI, symbol=r"RP\_L2")
def l2_unit_power(max_power_l2, l2_insts, issue_rate):
    """Power of the L2 cache, one for the chip. [W]

    >>> round(l2_unit_power(12.0, 10.0, 0.05), 6)
    10.881125
    """
    return _special(max_power_l2, l2_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_GlobalMem")
def global_unit_power(max_power_global, global_insts, issue_rate):
    """Power of the DRAM, for global memory. [W]

    >>> round(global_unit_power(52.0, 10.0, 0.05), 6)
    47.151541
    """
    return _special(max_power_global, global_insts, issue_rate)


@equation(source=SOURCE, symbol=r"RP\_LocalMem")
def local_unit_power(max_power_local, local_insts, issue_rate):
    """Power of the DRAM, for local memory. [W]

    >>> round(local_unit_power(52.0, 10.0, 0.05), 6)
    47.151541
    """
    return _special(max_power_local, local_insts, issue_rate)


@equation(source="Hong 2012, Eq. 37", symbol=r"\sum SM\_Component")
def sm_component_power(
    int_unit_power,
    fp_unit_power,
    sfu_unit_power,
    alu_unit_power,
    texture_unit_power,
    const_unit_power,
    shared_unit_power,
    register_unit_power,
    fds_unit_power,
    l1_unit_power,
    max_power_const_sm,
):
    r"""Power of one SM: of its units, and what it draws constantly while in use. [W]

    The column of Table 8 sums to 5.063 W.

    .. math:: RP\_Int + RP\_Fp + RP\_Sfu + RP\_Alu + RP\_Texture\_Cache + RP\_Const\_Cache
        + RP\_Shared + RP\_Reg + RP\_FDS + RP\_Const\_SM

    >>> round(sm_component_power(0.25, 0.2, 0.5, 0.2, 0.9, 0.4, 1.0, 0.3, 0.5, 0.0, 0.813), 9)
    5.063
    """
    arithmetic = int_unit_power + fp_unit_power + sfu_unit_power + alu_unit_power
    caches = texture_unit_power + const_unit_power + shared_unit_power + l1_unit_power
    return arithmetic + caches + register_unit_power + fds_unit_power + max_power_const_sm


@equation(source="Hong 2012, Eq. 43", symbol=r"RP\_Memory")
def memory_component_power(global_unit_power, local_unit_power, l2_unit_power):
    r"""Power of the memory system, and of the L2 cache where there is one. [W]

    .. math:: RP\_GlobalMem + RP\_LocalMem

    >>> memory_component_power(47.1, 0.0, 0.0)
    47.1
    """
    return global_unit_power + local_unit_power + l2_unit_power


EQUATIONS = (
    int_unit_power,
    fp_unit_power,
    sfu_unit_power,
    alu_unit_power,
    texture_unit_power,
    const_unit_power,
    shared_unit_power,
    register_unit_power,
    fds_unit_power,
    l1_unit_power,
    l2_unit_power,
    global_unit_power,
    local_unit_power,
    sm_component_power,
    memory_component_power,
)
