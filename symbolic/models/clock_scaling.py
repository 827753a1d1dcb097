"""Time and power of one workload against the core clock (DVFS).

Core cycles take less time at a higher clock. Waiting for memory does not, because memory has its
own clock. Power grows with the clock and with the square of the voltage. The switch
``voltage_curve`` has two labels. ``proportional``: the voltage is proportional to the clock, and
dynamic power grows with the cube of the clock (``clock_power_exponent``, as in ``power``).
``knee``: up to a knee clock the voltage is the lowest of the chip; above that clock it rises
linearly.

On some GPUs waiting for memory adds to the core cycles, on others it overlaps with them.
``dse.calibrate`` with ``choose=`` chooses ``clock_overlap`` by the error on left-out rows.

The numbers of a workload are fitted (``dse.fit``) to time and power at a few clocks. Knee and slope
are numbers of the machine. Then a query finds the clock with the least energy.
"""

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
    """Run time if the cores do not compute while they wait for memory. [s]

    Waiting during which the cores compute is not part of ``stall_time``.
    """
    return stall_time + core_cycles / core_clock


@equation(
    name="time",
    source="cycles of the cores, and memory in parallel: the slower of both",
    when={"clock_overlap": "full"},
)
def time_together(stall_time, core_cycles, core_clock):
    """Run time if waiting for memory overlaps with the core cycles. [s]"""
    return maximum(stall_time, core_cycles / core_clock)


@equation(source="a lowest voltage, and a straight line from the clock it serves", when=KNEE)
def relative_voltage(voltage_slope, core_clock, voltage_knee_clock):
    """Voltage divided by the lowest voltage of the chip. [ratio]"""
    return 1 + voltage_slope * maximum(core_clock - voltage_knee_clock, 0)


@equation(name="power", source="Hong 2012, Eq. 107", when=PROPORTIONAL)
def power_proportional(constant_power, dynamic_power, clock_power_factor):
    """Power of the run if the voltage is proportional to the clock. [W]"""
    return constant_power + dynamic_power * clock_power_factor


@equation(name="power", source="power of CMOS, C V^2 f, and leakage with it", when=KNEE)
def power_knee(constant_power, dynamic_power, core_clock, nominal_clock, relative_voltage):
    """Power of the run: constant and dynamic power both grow with the voltage squared. [W]"""
    flat = constant_power + dynamic_power * (core_clock / nominal_clock)
    return flat * (relative_voltage * relative_voltage)


ENERGY = _energy.EQUATIONS
