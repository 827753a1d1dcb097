"""How often an SM accesses each of its units (Hong 2012, §3.2.2, Eqs. 40-42 and 61, Table 7).

Counts are of instructions of one thread. All rates are a count times ``issue_rate``, so that one
logarithm serves all units. Where rates are measured, give ``issue_rate = 1`` and the rates in place
of the counts.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import divide, maximum, where

SOURCE = "Hong 2012, Eqs. 40-41, Table 7"
FERMI = "Hong 2012, Eqs. 40-41, section 3.6"


@equation(source="Hong 2012, Eq. 42", symbol=r"Warps\_per\_SM")
def warps_run_per_sm(warps_per_block, blocks, busy_sms):
    r"""Warps that one SM executes in all, not only those resident at once. [warps]

    .. math:: \frac{\#Threads\_per\_block}{\#Threads\_per\_warp}
        \times \frac{\#Blocks}{\#Active\_SMs}

    >>> warps_run_per_sm(4.0, 80.0, 16.0)
    20.0
    """
    return warps_per_block * (blocks / busy_sms)


@equation(source="Hong 2012, Eqs. 40 and 61, of one instruction")
def issue_rate(warps_run_per_sm, issue_cycles, exec_cycles):
    r"""Access rate of a unit that one instruction of each thread accesses. [ratio]

    The 4 of Eq. 40 is the cycles that a warp takes to issue. The cycles are those without
    synchronisation, measured (§3.2) or predicted (Eq. 61); 0 where there are none.

    .. math:: \frac{Warps\_per\_SM}{Exec\_cycles / \#Issue\_cycles}

    >>> issue_rate(20.0, 4.0, 1600.0)
    0.05
    """
    return divide(warps_run_per_sm * issue_cycles, exec_cycles, at_zero=0.0)


@equation(source=SOURCE)
def access_rate_int(int_insts, issue_rate):
    """Access rate of the integer units. [ratio]

    >>> access_rate_int(10.0, 0.05)
    0.5
    """
    return int_insts * issue_rate


@equation(source=SOURCE)
def access_rate_fp(fp_insts, issue_rate):
    """Access rate of the floating-point units. [ratio]

    >>> access_rate_fp(10.0, 0.05)
    0.5
    """
    return fp_insts * issue_rate


@equation(source=SOURCE)
def access_rate_sfu(sfu_insts, issue_rate):
    """Access rate of the special-function units. [ratio]

    >>> access_rate_sfu(10.0, 0.05)
    0.5
    """
    return sfu_insts * issue_rate


@equation(source=SOURCE)
def access_rate_alu(alu_insts, issue_rate):
    """Access rate of the logic units. [ratio]

    >>> access_rate_alu(10.0, 0.05)
    0.5
    """
    return alu_insts * issue_rate


@equation(source=SOURCE)
def access_rate_texture(texture_insts, issue_rate):
    """Access rate of the texture cache. [ratio]

    >>> access_rate_texture(10.0, 0.05)
    0.5
    """
    return texture_insts * issue_rate


@equation(source=SOURCE)
def access_rate_const(const_insts, issue_rate):
    """Access rate of the constant cache. [ratio]

    >>> access_rate_const(10.0, 0.05)
    0.5
    """
    return const_insts * issue_rate


@equation(source=SOURCE)
def access_rate_shared(shared_insts, issue_rate):
    """Access rate of the shared memory. [ratio]

    >>> access_rate_shared(10.0, 0.05)
    0.5
    """
    return shared_insts * issue_rate


@equation(source=SOURCE)
def access_rate_register(register_insts, issue_rate):
    """Access rate of the register file. [ratio]

    >>> access_rate_register(10.0, 0.05)
    0.5
    """
    return register_insts * issue_rate


@equation(source=SOURCE)
def access_rate_fds(total_insts, issue_rate):
    """Access rate of fetch, decode and schedule, which all instructions access. [ratio]

    1 where the workload reaches the peak of the machine (§3.5.1).

    >>> access_rate_fds(20.0, 0.05)
    1.0
    """
    return total_insts * issue_rate


@equation(source=FERMI)
def access_rate_l1(l1_insts, issue_rate):
    """Access rate of the L1 cache. [ratio]

    >>> access_rate_l1(10.0, 0.05)
    0.5
    """
    return l1_insts * issue_rate


@equation(source=FERMI)
def access_rate_l2(l2_insts, issue_rate):
    """Access rate of the L2 cache. [ratio]

    >>> access_rate_l2(10.0, 0.05)
    0.5
    """
    return l2_insts * issue_rate


@equation(source=SOURCE)
def access_rate_global(global_insts, issue_rate):
    """Access rate of the DRAM, for global memory. [ratio]

    >>> access_rate_global(10.0, 0.05)
    0.5
    """
    return global_insts * issue_rate


@equation(source=SOURCE)
def access_rate_local(local_insts, issue_rate):
    """Access rate of the DRAM, for local memory. [ratio]

    >>> access_rate_local(10.0, 0.05)
    0.5
    """
    return local_insts * issue_rate


@equation(
    source="Hong 2012, section 3.2.2: the maximum is one",
    flags={0: "all within 1", 1: "some above 1"},
)
def rate_clamped(
    access_rate_int,
    access_rate_fp,
    access_rate_sfu,
    access_rate_alu,
    access_rate_texture,
    access_rate_const,
    access_rate_shared,
    access_rate_register,
    access_rate_fds,
    access_rate_l1,
    access_rate_l2,
    access_rate_global,
    access_rate_local,
):
    """Whether an access rate is above 1, which no unit can be: it counts as 1.

    Cycles below what the issue takes, or counts beyond all instructions, make it so.

    >>> rate_clamped(0.5, 1.2, *[0.0] * 11), rate_clamped(*[1.0] * 13)
    (1.0, 0.0)
    """
    most = maximum(
        access_rate_int,
        access_rate_fp,
        access_rate_sfu,
        access_rate_alu,
        access_rate_texture,
        access_rate_const,
        access_rate_shared,
        access_rate_register,
        access_rate_fds,
        access_rate_l1,
        access_rate_l2,
        access_rate_global,
        access_rate_local,
    )
    return where(most > 1, 1.0, 0.0)


EQUATIONS = (
    warps_run_per_sm,
    issue_rate,
    access_rate_int,
    access_rate_fp,
    access_rate_sfu,
    access_rate_alu,
    access_rate_texture,
    access_rate_const,
    access_rate_shared,
    access_rate_register,
    access_rate_fds,
    access_rate_l1,
    access_rate_l2,
    access_rate_global,
    access_rate_local,
    rate_clamped,
)
