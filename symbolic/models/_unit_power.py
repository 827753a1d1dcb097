"""Power of the units of a GPU from their access rates (Hong 2012, §3.2).

Counts are instructions of one thread. The access rate of a unit is its count times ``issue_rate``.
If rates are measured, give ``issue_rate = 1`` and the rates in place of the counts.

The power of a unit is its access rate × its maximum power. Table 8 marks some units as
*Spec.Linear*: their power jumps at the first access, and then rises slowly with the logarithm of
the rate. It is 0 below a rate of 6.516e-4. The logarithm of a rate is computed as log(count) +
log(``issue_rate``), so that all units share the second term. Rates above 1 count as 1.

For GTX580, Table 11 has no such marks and no ALU, and Fig. 58 has no formulas. We use the marks of
Table 8 for GTX580 too. The L1 cache is linear like the shared memory, with which it forms one unit.
The L2 cache is Spec.Linear like the DRAM behind it. The chip has one memory system and one L2
cache, and each SM has one of each other unit.
"""

from symbolic.equation import Equation, equation
from symbolic.ops import divide, log, maximum, minimum, where

#: Coefficients of the Spec.Linear function (§3.2.4): slope over ln(rate), and value at rate 1.
SLOPE, AT_ONE = 0.1365, 1.001375


@equation(source="Hong 2012, Eq. 42", symbol=r"Warps\_per\_SM")
def warps_run_per_sm(warps_per_block, blocks, busy_sms):
    """Number of warps that one SM executes during the run. [warps]"""
    return warps_per_block * (blocks / busy_sms)


@equation(source="Hong 2012, Eqs. 40 and 61, of one instruction")
def issue_rate(warps_run_per_sm, issue_cycles, exec_cycles):
    """Access rate of a unit if one instruction of each thread accesses the unit. [ratio]

    ``issue_cycles`` is the 4 of Eq. 40. ``exec_cycles`` are the measured (§3.2) or predicted (Eq.
    61) cycles without synchronisation; if they are 0, the rate is 0.
    """
    return divide(warps_run_per_sm * issue_cycles, exec_cycles, at_zero=0.0)


@equation(source="Hong 2012, Eqs. 40-41, Table 7")
def access_rate(insts, issue_rate):
    """Access rate of a unit. [ratio]

    All instructions access the unit for fetch, decode and schedule. The rate of this unit is 1 if
    the workload reaches the peak of the machine (§3.5.1).
    """
    return insts * issue_rate


@equation(source="Hong 2012, Eq. 39, Table 8")
def linear_power(most, insts, issue_rate):
    """Unscaled power of a unit with power proportional to its access rate. [W]"""
    return where(insts > 0, most * minimum(insts * issue_rate, 1), 0.0)


@equation(source="Hong 2012, Eq. 39, Table 8")
def special_power(most, insts, issue_rate):
    """Unscaled power of a unit with power that jumps at the first access. [W]"""
    jump = SLOPE * log(where(insts > 0, insts, 1)) + AT_ONE
    drawn = maximum(most * minimum(jump + SLOPE * log(issue_rate), AT_ONE), 0)
    return where(insts > 0, drawn, 0.0)


@equation(source="Hong 2012, Eq. 39, Table 8")
def dram_power(most, insts, issue_rate, core_clock, nominal_clock):
    """Unscaled power of DRAM accesses, by their rate per cycle of the nominal clock. [W]

    DRAM has its own clock: as many accesses per second draw the same power at any core clock.
    """
    return special_power(most, insts * (core_clock / nominal_clock), issue_rate)


@equation(source="Hong 2012, Fig. 36")
def scaled_power(unit_power, scale, clock_power_factor):
    """Power that a unit adds to the machine, scaled by the active SMs and the clock. [W]"""
    return unit_power * scale * clock_power_factor


@equation(source="Hong 2012, Fig. 36")
def scaled_dram_power(unit_power, scale):
    """Power that DRAM accesses add to the machine, at any core clock. [W]"""
    return unit_power * scale


#: For each unit: name, name in the paper, power equation, and scale.
UNITS = (
    ("int", "Int", special_power, "sm_scale"),
    ("fp", "Fp", special_power, "sm_scale"),
    ("sfu", "Sfu", linear_power, "sm_scale"),
    ("alu", "Alu", linear_power, "sm_scale"),
    ("texture", "Texture_Cache", special_power, "sm_scale"),
    ("const", "Const_Cache", special_power, "sm_scale"),
    ("shared", "Shared", linear_power, "sm_scale"),
    ("register", "Reg", special_power, "sm_scale"),
    ("fds", "FDS", special_power, "sm_scale"),
    ("l1", "L1", linear_power, "sm_scale"),
    ("l2", "L2", special_power, "memory_scale"),
    ("global", "GlobalMem", dram_power, "memory_scale"),
    ("local", "LocalMem", dram_power, "memory_scale"),
)


def _unit_equations(
    unit: str, symbol: str, power_equation: Equation, scale: str
) -> tuple[Equation, ...]:
    """Return the equations of a unit: access rate, power before scaling, and scaled power."""
    counts = ("total_insts" if unit == "fds" else f"{unit}_insts", "issue_rate")
    clocks = ("core_clock", "nominal_clock") if power_equation is dram_power else ()
    fermi = unit in ("l1", "l2")
    sources = ("Eqs. 40-41, section 3.6", "Eq. 39, Table 11", "Fig. 72")
    named = [{"source": f"Hong 2012, {each}"} if fermi else {} for each in sources]
    named[1]["symbol"] = rf"RP\_{symbol.replace('_', chr(92) + '_')}"
    most, power = f"max_power_{unit}", f"{unit}_unit_power"
    return (
        access_rate.copy_as(f"access_rate_{unit}", *counts, **named[0]),
        power_equation.copy_as(power, most, *counts, *clocks, **named[1]),
        scaled_dram_power.copy_as(f"{unit}_power", power, scale)
        if clocks
        else scaled_power.copy_as(f"{unit}_power", power, scale, "clock_power_factor", **named[2]),
    )


RATE_EQUATIONS, UNSCALED_POWERS, SCALED_POWERS = (
    tuple(each) for each in zip(*(_unit_equations(*unit) for unit in UNITS), strict=True)
)


@equation(
    source="Hong 2012, section 3.2.2: the maximum is one",
    flags={0: "all within 1", 1: "some above 1"},
    inputs=[rate.name for rate in RATE_EQUATIONS],
)
def rate_clamped(*rates):
    """1 if an access rate above 1 was replaced by 1, otherwise 0.

    No unit can be accessed at a rate above 1. Such a rate means that the given cycles are too few
    to issue all instructions, or that the instructions of one class outnumber all instructions.
    """
    return where(maximum(*rates) > 1, 1.0, 0.0)


@equation(source="Hong 2012, Eq. 37", symbol=r"\sum SM\_Component")
def sm_component_power(
    int_unit_power, fp_unit_power, sfu_unit_power, alu_unit_power, texture_unit_power,
    const_unit_power, shared_unit_power, register_unit_power, fds_unit_power, l1_unit_power,
    max_power_const_sm,
):  # fmt: skip
    """Power of one active SM: the sum of the powers of its units, plus a constant. [W]

    The maximum powers in Table 8 sum to 5.063 W.

    >>> round(sm_component_power(0.25, 0.2, 0.5, 0.2, 0.9, 0.4, 1.0, 0.3, 0.5, 0.0, 0.813), 9)
    5.063
    """
    arithmetic = int_unit_power + fp_unit_power + sfu_unit_power + alu_unit_power
    caches = texture_unit_power + const_unit_power + shared_unit_power + l1_unit_power
    return arithmetic + caches + register_unit_power + fds_unit_power + max_power_const_sm


@equation(source="Hong 2012, Eq. 43", symbol=r"RP\_Memory")
def memory_component_power(global_unit_power, local_unit_power, l2_unit_power):
    """Power of the memory system, including the L2 cache if there is one. [W]"""
    return global_unit_power + local_unit_power + l2_unit_power


const_sm_power = scaled_power.copy_as(
    "const_sm_power", "max_power_const_sm", "sm_scale", "clock_power_factor"
)


@equation(
    source="Hong 2012, Fig. 36, its largest share beyond idle",
    inputs=[*(share.name for share in SCALED_POWERS), "const_sm_power", "activation_power"],
)
def largest_power(*shares):
    """Power of the unit that draws the most power. [W]"""
    return maximum(*shares)


ACCESS_RATES = (warps_run_per_sm, issue_rate, *RATE_EQUATIONS, rate_clamped)
UNIT_POWER = (*UNSCALED_POWERS, sm_component_power, memory_component_power)
POWER_PARTS = (*SCALED_POWERS, const_sm_power, largest_power)
