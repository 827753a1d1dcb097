"""Chip temperature and the power that heating adds (Hong 2012, §3.2.6-3.2.7); join with ``power``.

A chip heats and cools like an RC circuit. ``elapsed`` is the time since the workload began; for
``cooling_temperature`` it is the time since the workload ended. Static power grows with the
temperature. The temperature of a long run depends only on the power at the beginning, so no
feedback has to be solved.

The thesis prints Eq. 53 as an absolute temperature. But with the parameters of Table 9 the value is
about 20 °C, below the idle temperature. So we read Eq. 53 as the rise above the idle temperature;
the switch ``printed`` selects the printed form.
"""

import math

from symbolic.equation import Validity, equation
from symbolic.models import _shared
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import absolute, divide, exp, log, maximum

OUTPUTS = ("temperature", "power_at", "max_temperature", "steady_power", "settling_time")
VALIDITY = Validity(
    quantity="release_year",
    maximum=2009,
    statement="temperature has the numbers of one GPU of 2008 (GTX 280): fit those of the machine",
)

#: Eq. 54 divides by ``comp_insts``.
RULES = ("comp_insts > 0",)

SHARED = (_shared.mem_insts,)


@equation(source="Hong 2012, Eq. 54", symbol=r"MemAccess\_intensity")
def access_intensity(mem_insts, comp_insts):
    """Memory instructions per other instruction. [ratio]"""
    return divide(mem_insts, comp_insts, at_zero=math.inf)


@equation(source="Hong 2012, Eq. 53", symbol=r"Max\_temp", when=CORRECTED)
def max_temperature(
    idle_temperature, temperature_per_watt, runtime_power, temperature_offset,
    temperature_per_intensity, access_intensity,
):  # fmt: skip
    """Temperature that a long run reaches. [°C]

    Correction: the sum of Eq. 53 is the rise above the idle temperature. ``runtime_power`` is the
    power at the beginning.
    """
    rise = temperature_per_watt * runtime_power + temperature_offset
    return idle_temperature + (rise + temperature_per_intensity * access_intensity)


@equation(name="max_temperature", source="Hong 2012, Eq. 53", symbol=r"Max\_temp", when=PRINTED)
def max_temperature_printed(
    temperature_per_watt, runtime_power, temperature_offset, temperature_per_intensity,
    access_intensity,
):  # fmt: skip
    """Temperature that a long run reaches, as printed. [°C]"""
    rise = temperature_per_watt * runtime_power + temperature_offset
    return rise + temperature_per_intensity * access_intensity


@equation(source="Hong 2012, Eqs. 49 and 51", symbol=r"Temperature_{rise}(t)")
def temperature(idle_temperature, max_temperature, elapsed, heating_time_constant):
    """Temperature while the workload runs, if it started at the idle temperature. [°C]"""
    risen = 1 - exp(-(elapsed / heating_time_constant))
    return idle_temperature + (max_temperature - idle_temperature) * risen


@equation(source="Hong 2012, Eqs. 50 and 52", symbol=r"Temperature_{decay}(t)")
def cooling_temperature(idle_temperature, cooling_start, elapsed, cooling_time_constant):
    """Temperature after a workload that ended at the temperature ``cooling_start``. [°C]"""
    left = exp(-(elapsed / cooling_time_constant))
    return idle_temperature + (cooling_start - idle_temperature) * left


@equation(source="Hong 2012, Eqs. 55-57", symbol=r"GPU\_power(t)")
def power_at(power, leakage_per_degree, temperature, idle_temperature):
    """Power at a chip temperature; static power grows with the rise above idle. [W]

    The benchmark INT heats to 68 °C and then draws 5 W more. SVM heats to 78 °C and then draws 9.5
    W more, printed as 10 (§3.5.2).

    >>> [round(power_at(150.0, 10 / 22, hot, 57.0), 2) for hot in (68.0, 78.0)]
    [155.0, 159.55]
    """
    return power + leakage_per_degree * (temperature - idle_temperature)


steady_power = power_at.copy_as(
    *("steady_power", "power", "leakage_per_degree", "max_temperature", "idle_temperature"),
    source="Hong 2012, Eqs. 55-57 after a long run",
    symbol="",
)


@equation(source="Hong 2012, Eq. 49 solved for t")
def settling_time(max_temperature, idle_temperature, settled_within, heating_time_constant):
    """Time until the temperature is within ``settled_within`` of the maximum. [s]"""
    rise = absolute(max_temperature - idle_temperature)
    return heating_time_constant * log(maximum(rise / settled_within, 1))
