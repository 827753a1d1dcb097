"""What a launch costs: the time that slots wait, and energy."""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import divide


@equation(source="Wald: mean steps of all slots")
def idle_slot_time(slots, launch_time_mean, tail_idle_share):
    """Time that all slots wait for the end of the launch, in sum. [s]

    >>> idle_slot_time(160.0, 0.001, 0.25)
    0.04
    """
    return slots * launch_time_mean * tail_idle_share


@equation(source="power times time")
def idle_energy(idle_slot_time, idle_power, slots, idle_slot_power):
    """Energy drawn for slots that wait: their share of the idle power, and what they draw. [J]

    >>> idle_energy(0.5, 80.0, 160.0, 0.5)
    0.5
    """
    return idle_slot_time * (divide(idle_power, slots, at_zero=0.0) + idle_slot_power)


@equation(source="power times time; what is beyond idle is in proportion to the slots at work")
def launch_energy_mean(
    idle_power, runtime_power, launch_time_mean, tail_idle_share, idle_slot_time, idle_slot_power
):
    """Mean energy of a launch. [J]

    >>> launch_energy_mean(50.0, 100.0, 0.01, 0.2, 0.3, 0.0)
    1.3
    """
    working = runtime_power * (1 - tail_idle_share) * launch_time_mean
    return working + idle_power * launch_time_mean + idle_slot_power * idle_slot_time


EQUATIONS = (idle_slot_time, idle_energy, launch_energy_mean)
