"""Time and power of one workload against the core clock (DVFS).

Core cycles take less time at a higher clock; waiting for memory, which has its own clock, does not.
Power grows with the clock and with the square of the voltage that the clock needs.
``voltage_curve`` is proportional to the clock, so that dynamic power is cubic (as in ``power``,
whose exponent applies here too), or flat up to a knee, below which the lowest voltage of the chip
serves all clocks, and linear from there.

Whether waiting for memory adds to the cycles or overlaps with them differs by GPU:
``clock_overlap`` is chosen by the error on rows left out (``dse.calibrate``, ``choose=``).

The numbers of a workload are fitted (``dse.fit``) to its time and power at a few clocks; knee and
slope belong to the machine. The clock of least energy is then a query.
"""

from __future__ import annotations

from symbolic.equation import Validity, equation
from symbolic.models import _energy
from symbolic.models.power import clock_power_factor
from symbolic.ops import maximum

OUTPUTS = ("time", "power", "energy", "edp")
VALIDITY = Validity(statement="its numbers are fitted to the machine and workload at hand")

CLOCK = (clock_power_factor,)

PROPORTIONAL, KNEE = {"voltage_curve": "proportional"}, {"voltage_curve": "knee"}


@equation(
    name="time",
    source="cycles of the cores, and stalls that they do not pace",
    when={"clock_overlap": "none"},
)
def time_apart(stall_time, core_cycles, core_clock):
    """Run time. [s]

    Stalls during which cores compute are part of the cycles, so that the two add.
    """
    return stall_time + core_cycles / core_clock


@equation(
    name="time",
    source="cycles of the cores, and memory in parallel: the slower of both",
    when={"clock_overlap": "full"},
)
def time_together(stall_time, core_cycles, core_clock):
    """Run time if cores and memory work at once. [s]"""
    return maximum(stall_time, core_cycles / core_clock)


@equation(source="a lowest voltage, and a straight line from the clock it serves", when=KNEE)
def relative_voltage(voltage_slope, core_clock, voltage_knee_clock):
    """Voltage relative to that of low clocks. [ratio]"""
    return 1 + voltage_slope * maximum(core_clock - voltage_knee_clock, 0)


@equation(name="power", source="Hong 2012, Eq. 107", when=PROPORTIONAL)
def power_proportional(constant_power, dynamic_power, clock_power_factor):
    """Power of the run if the voltage is proportional to the clock. [W]"""
    return constant_power + dynamic_power * clock_power_factor


@equation(name="power", source="power of CMOS, C V^2 f, and leakage with it", when=KNEE)
def power_knee(constant_power, dynamic_power, core_clock, nominal_clock, relative_voltage):
    """Power of the run, both parts at the lowest voltage before it is scaled. [W]"""
    flat = constant_power + dynamic_power * (core_clock / nominal_clock)
    return flat * (relative_voltage * relative_voltage)


ENERGY = _energy.EQUATIONS
