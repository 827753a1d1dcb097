"""Power of a GPU from the access rates of its units (Hong 2012, chapter 3).

The general form is Eq. 32: power = Σ rate × ArchitecturalScaling × MaxPower + NonGatedClockPower +
idle. The thesis includes the scaling in MaxPower, and sets NonGatedClockPower to 0 (§3.2.1).

By the switch ``sm_scaling``, power grows with the logarithm of the number of active SMs (GTX280,
Eqs. 44-48), or linearly (GTX580, Fig. 73, with a jump when the chip is activated). With
``power_gating``, unused SMs draw no power, not even idle power (§3.5.6). An SM is active if it has
a block (footnote 1 of the thesis). Dynamic power is all power except idle power. Its part of the
chip is proportional to the core clock raised to ``clock_power_exponent``. Its part of DRAM is not,
because the memory has its own clock, which the model takes as nominal.

Power not monotone: a unit draws its maximum power at one access per issue slot (Eq. 40). So with
fewer ``issue_cycles``, or more ``schedulers_per_sm``, the same accesses draw less. With
``sm_scaling = "linear"``, memory draws the share of active SMs, which falls with ``n_sms``.

Work per energy, and the number of SMs with the most work per energy (Eqs. 62-63), need MWP-CWP, as
in ``ipp``.
"""

from symbolic.equation import Family, Guide, Validity, equation, equations_of
from symbolic.models import _efficiency, _energy, _residency, _shared, _unit_power
from symbolic.ops import log10
from symbolic.ops import power as raised

OUTPUTS = ("power", "runtime_power", "sm_power", "memory_power")
VALIDITY = Validity(
    quantity="release_year",
    maximum=2012,
    statement="power has no clock of the memory and parameters of GPUs of 2008 to 2010: "
    "fit them to measured watts and compare with others first, or take activity_power",
)

SHARED = (
    _shared.blocks, _shared.warps_per_block, _shared.mem_insts, _shared.total_insts,
    _residency.busy_sms,
)  # fmt: skip
#: Fewer accesses, fewer SMs or a slower clock reduce the power of the unit with the most power.
_UNITS = tuple(unit[0] for unit in _unit_power.UNITS)
_SHARES = {name: f"{name}_power" for name in (*_UNITS, "const_sm", "activation")}
FAMILIES = (Family(of="largest_power", terms=_SHARES, largest=True),)
ADVICE = Guide(
    state="largest_power",
    goal="power",
    limits="largest_power",
    helps={
        **dict.fromkeys(_SHARES, "active_sms, core_clock"),
        **{unit: f"{unit}_insts, active_sms, core_clock" for unit in _UNITS if unit != "fds"},
    },
    show=("runtime_power", "standing_power"),
)

ACCESS_RATES = _unit_power.ACCESS_RATES
UNIT_POWER = _unit_power.UNIT_POWER

LOG = {"sm_scaling": "log", "power_gating": False}
LINEAR = {"sm_scaling": "linear", "power_gating": False}
UNGATED, GATED = {"power_gating": False}, {"power_gating": True}


@equation(source="Hong 2012, Eqs. 46 and 47", symbol=r"\alpha")
def scaling_slope(n_sms, scaling_offset):
    """Slope of the logarithmic scaling, with which the factor of all SMs is log₁₀ 10 = 1. [1/SM]"""
    return (10 - scaling_offset) / n_sms


@equation(source="Hong 2012, Eqs. 44 and 48")
def scaling_factor(scaling_slope, busy_sms, scaling_offset):
    """Dynamic power of the active SMs divided by that of all SMs. [ratio]

    >>> [round(scaling_factor(8.9 / 30, sms, 1.1), 5) for sms in (1.0, 20.0, 30.0)]
    [0.14509, 0.84716, 1.0]
    """
    return log10(scaling_slope * busy_sms + scaling_offset)


@equation(name="sm_scale", source="Hong 2012, Eqs. 44 and 45", when=LOG)
def sm_scale_log(n_sms, scaling_factor):
    """Factor from the power of one SM to the power of all active SMs. [SMs]"""
    return n_sms * scaling_factor


@equation(name="sm_scale", source="Hong 2012, section 3.11.1, Fig. 73", when=LINEAR)
def sm_scale_linear(busy_sms):
    """Factor from the power of one SM to the power of all active SMs: their number. [SMs]"""
    return busy_sms


sm_scale_gated = sm_scale_linear.copy_as(
    *("sm_scale", "busy_sms"), source="Hong 2012, section 3.5.6", when=GATED
)


@equation(name="memory_scale", source="Hong 2012, Eq. 48", when=LOG)
def memory_scale_log(scaling_factor):
    """Share of the memory system's power that is drawn: the factor of the SMs. [ratio]"""
    return scaling_factor


@equation(name="memory_scale", source="Hong 2012, Eq. 48 and section 3.11.1", when=LINEAR)
def memory_scale_linear(busy_sms, n_sms):
    """Share of the memory system's power that is drawn: the share of active SMs. [ratio]

    The thesis has no equation for GTX580. We use a share proportional to the SMs, as in Eq. 48,
    because the line of Fig. 73 begins only 2 W above idle and activation power. With a constant
    share, one SM would already draw the full power of the DRAM.
    """
    return busy_sms / n_sms


memory_scale_gated = memory_scale_linear.copy_as(
    *("memory_scale", "busy_sms", "n_sms"), source="Hong 2012, section 3.5.6", when=GATED
)


@equation(source="Hong 2012, Eq. 107", symbol="F^3")
def clock_power_factor(core_clock, nominal_clock, clock_power_exponent):
    """Dynamic power of the chip divided by that at the nominal clock. [ratio]

    The default exponent is 3, from appendix A: the voltage is proportional to the clock. (Chapter 3
    never changes the clock.) An exponent of 1 means a constant voltage.
    """
    return raised(core_clock / nominal_clock, clock_power_exponent)


sm_power = _unit_power.scaled_power.copy_as(
    *("sm_power", "sm_component_power", "sm_scale", "clock_power_factor"),
    source="Hong 2012, Eqs. 38 and 44",
    symbol=r"RP\_SMs",
)


@equation(source="Hong 2012, Eqs. 43 and 48")
def memory_power(global_power, local_power, l2_power):
    """Power of the memory system: DRAM at its own clock, and the L2 cache at the core clock. [W]"""
    return global_power + local_power + l2_power


@equation(source="Hong 2012, Table 11, section 3.8.1", when=UNGATED)
def activation_power(max_power_activation, clock_power_factor):
    """Power that the chip draws as soon as anything runs on it. [W]"""
    return max_power_activation * clock_power_factor


@equation(name="activation_power", source="Hong 2012, section 3.5.6", when=GATED)
def activation_power_gated(max_power_activation, clock_power_factor, busy_sms, n_sms):
    """Power that the chip draws as soon as anything runs on it, with unused SMs gated. [W]"""
    return max_power_activation * clock_power_factor * (busy_sms / n_sms)


@equation(source="Hong 2012, Eqs. 36 and 48", symbol=r"Runtime\_power")
def runtime_power(sm_power, memory_power, activation_power):
    """Power of the GPU without idle power. [W]"""
    return sm_power + memory_power + activation_power


@equation(source="Hong 2012, Eq. 35", when=UNGATED, symbol="IdlePower")
def standing_power(idle_power):
    """Power of a GPU that runs nothing. [W]"""
    return idle_power


@equation(name="standing_power", source="Hong 2012, section 3.5.6", when=GATED)
def standing_power_gated(idle_power, busy_sms, n_sms):
    """Idle power of the parts that are not gated. [W]"""
    return idle_power * (busy_sms / n_sms)


@equation(source="Hong and Kim 2010; Hong 2012, Eq. 35", symbol=r"GPU\_power")
def power(standing_power, runtime_power):
    """Power of the GPU. [W]"""
    return standing_power + runtime_power


PARTS = _unit_power.POWER_PARTS
ENERGY = _energy.EQUATIONS
EFFICIENCY = equations_of(_efficiency)
