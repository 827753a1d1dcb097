"""Energy efficiency and speed-up if a CPU and a GPU share the work (Hong 2012, app. A).

The GPU does ``gpu_share`` of the work and the CPU does the other part; both run at the same time.
In the baseline, the CPU does all work at its nominal clock. ``benchmark_series`` 1-16 (Table 16)
are the combinations of a slow or fast CPU, a slow or fast GPU, a CPU of low or high power, and a
GPU of low or high power. The power of the GPU changes with every series, the speed of the CPU only
after 8 series. ``node_configuration`` 1-4 are Figs. 152-155. The thesis prints no numbers for slow,
fast, low and high: a machine file contains assumed numbers.

Corrections: Table 16 prints a slow CPU in every series (``printed``), but in Fig. 156 series 9-16
have a fast CPU. As printed, a device without a share of the work draws dynamic power, and then the
energy efficiency of the baseline is not 1; here it draws none. The best shares follow the
corrections.
"""

import math
from dataclasses import replace

from symbolic.equation import Family, Guide, Validity, equation
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import both, divide, either, equal, floor, maximum, where
from symbolic.ops import power as raised

OUTPUTS = (
    "speedup", "energy_efficiency", "shared_time", "combined_power", "best_speed_share",
    "best_energy_share",
)  # fmt: skip
VALIDITY = Validity(statement="any two devices: only shares of work, time and power are modelled")

#: The device that finishes last determines the time. §A.5-A.7 treat the changes that help: share,
#: cores, clocks.
FAMILIES = (Family(of="shared_time", terms={"cpu": "cpu_time", "gpu": "gpu_time"}, largest=True),)
_SPEED_GUIDE = Guide(
    state="shared_time",
    goal="speedup",
    maximize=True,
    limits="shared_time",
    helps="gpu_share, cpu_cores, gpu_cores, cpu_clock, gpu_clock, gpu_work",
    show=("energy_efficiency", "combined_power"),
    fixed=frozenset({"benchmark_series", "node_configuration", "slow_work", "fast_work"}),
    suggests={"best_speed_share": "gpu_share"},
)
ADVICE = (
    _SPEED_GUIDE,
    replace(
        _SPEED_GUIDE,
        goal="energy_efficiency",
        show=("speedup", "combined_power"),
        suggests={"best_energy_share": "gpu_share"},
    ),
)


def _place_in_four(benchmark_series):
    """Return the position (1 to 4) of a series in its group of four with equal speeds."""
    return benchmark_series - 4 * floor((benchmark_series - 1) / 4)


@equation(source="Hong 2012, Table 16, Fig. 156", when=CORRECTED, symbol=r"\phi_C")
def cpu_work(benchmark_series, slow_work, fast_work):
    """Cycles per unit of work on the CPU: ``slow_work`` in series 1-8. [cycles]"""
    return where(benchmark_series <= 8, slow_work, fast_work)


@equation(name="cpu_work", source="Hong 2012, Table 16", when=PRINTED, symbol=r"\phi_C")
def cpu_work_printed(slow_work):
    """Cycles per unit of work on the CPU, as printed: ``slow_work`` in every series. [cycles]"""
    return slow_work


@equation(source="Hong 2012, Table 16", symbol=r"\phi_G")
def gpu_work(benchmark_series, slow_work, fast_work):
    """Cycles per unit of work on the GPU: ``slow_work`` in series 1-4 and 9-12. [cycles]"""
    slow = either(benchmark_series <= 4, both(benchmark_series > 8, benchmark_series <= 12))
    return where(slow, slow_work, fast_work)


@equation(source="Hong 2012, Table 16", symbol=r"\lambda_C")
def cpu_core_power(benchmark_series, low_core_power, high_core_power):
    """Dynamic power of a CPU core: ``low_core_power`` in series 1, 2, 5, 6, 9, 10, 13, 14. [W]"""
    return where(_place_in_four(benchmark_series) <= 2, low_core_power, high_core_power)


@equation(source="Hong 2012, Table 16", symbol=r"\lambda_G")
def gpu_core_power(benchmark_series, low_core_power, high_core_power):
    """Dynamic power of a GPU core: ``low_core_power`` in the odd-numbered series. [W]"""
    place = _place_in_four(benchmark_series)
    low = either(equal(place, 1), equal(place, 3))
    return where(low, low_core_power, high_core_power)


@equation(source="Hong 2012, Figs. 152-155")
def cpu_scale(node_configuration, reduced_share):
    """Factor for the CPU's performance and power; below 1 in configurations 2 and 4. [ratio]"""
    less = either(equal(node_configuration, 2), equal(node_configuration, 4))
    return where(less, reduced_share, 1.0)


@equation(source="Hong 2012, Figs. 152-155")
def gpu_scale(node_configuration, reduced_share):
    """Factor for the GPU's performance and power; below 1 in configurations 3 and 4. [ratio]"""
    return where(node_configuration >= 3, reduced_share, 1.0)


@equation(source="Hong 2012, Eq. 104, all work on the CPU", symbol="T_{CPU}")
def cpu_full_time(work_units, cpu_work, cpu_cores, cpu_throughput, cpu_scale, cpu_clock):
    """Time that the CPU (or the GPU) takes for all the work. [s]"""
    return work_units * cpu_work / (cpu_cores * (cpu_throughput * cpu_scale) * cpu_clock)


_GPU_INPUTS = ("gpu_work", "gpu_cores", "gpu_throughput", "gpu_scale", "gpu_clock")
gpu_full_time = cpu_full_time.copy_as(
    *("gpu_full_time", "work_units", *_GPU_INPUTS),
    source="Hong 2012, Eq. 104, all work on the GPU",
    symbol="T_{GPU}",
)


@equation(source="Hong 2012, Eq. 107", symbol=r"C F^3 \lambda")
def cpu_full_power(
    cpu_cores, cpu_clock, cpu_nominal_clock, cpu_core_power, cpu_scale, clock_power_exponent
):
    """Dynamic power of the CPU (or the GPU) while it works. [W]"""
    relative = raised(cpu_clock / cpu_nominal_clock, clock_power_exponent)
    return cpu_cores * (cpu_core_power * cpu_scale) * relative


gpu_full_power = cpu_full_power.copy_as(
    *("gpu_full_power", "gpu_cores", "gpu_clock", "gpu_nominal_clock", "gpu_core_power"),
    *("gpu_scale", "clock_power_exponent"),
)
baseline_time = cpu_full_time.copy_as(
    *("baseline_time", *cpu_full_time.inputs[:-1], "cpu_nominal_clock"),
    source="Hong 2012, Eqs. 95 and 104",
    symbol="T_o",
)


@equation(source="Hong 2012, Eq. 107", symbol=r"C_o F_o^3 \lambda_o")
def baseline_dynamic_power(cpu_cores, cpu_core_power, cpu_scale):
    """Dynamic power of the CPU at its nominal clock. [W]"""
    return cpu_cores * (cpu_core_power * cpu_scale)


@equation(source="Hong 2012, Eqs. 107 and 112", symbol="P_o")
def baseline_power(baseline_dynamic_power, system_power):
    """Power of the system while the CPU does all work at its nominal clock. [W]"""
    return baseline_dynamic_power + system_power


@equation(source="Hong 2012, Eq. 113")
def cpu_time(cpu_full_time, gpu_share):
    """Time that the CPU takes for its share of the work. [s]"""
    return cpu_full_time * (1 - gpu_share)


@equation(source="Hong 2012, Eq. 113")
def gpu_time(gpu_full_time, gpu_share):
    """Time that the GPU takes for its share of the work. [s]"""
    return gpu_full_time * gpu_share


@equation(source="Hong 2012, Eqs. 110 and 113", symbol="T_N")
def shared_time(cpu_time, gpu_time):
    """Time until both devices have finished. [s]"""
    return maximum(cpu_time, gpu_time)


@equation(source="Hong 2012, Eq. 114", when=CORRECTED)
def cpu_dynamic_power(cpu_full_power, gpu_share):
    """Dynamic power of the CPU; 0 if the CPU has no share of the work. [W]

    Correction: by Eq. 114 a device without work draws power, and the efficiency of the baseline is
    not 1.
    """
    return where(gpu_share < 1, cpu_full_power, 0.0)


@equation(name="cpu_dynamic_power", source="Hong 2012, Eq. 114", when=PRINTED)
def cpu_dynamic_power_printed(cpu_full_power):
    """Dynamic power of a device as printed: also drawn without a share of the work. [W]"""
    return cpu_full_power


@equation(source="Hong 2012, Eq. 114", when=CORRECTED)
def gpu_dynamic_power(gpu_full_power, gpu_share):
    """Dynamic power of the GPU; 0 if the GPU has no share of the work. [W]"""
    return where(gpu_share > 0, gpu_full_power, 0.0)


gpu_dynamic_power_printed = cpu_dynamic_power_printed.copy_as("gpu_dynamic_power", "gpu_full_power")


@equation(source="Hong 2012, Eqs. 111 and 114", symbol="P_N")
def combined_power(cpu_dynamic_power, gpu_dynamic_power, system_power):
    """Power of the system while both devices work. [W]"""
    return cpu_dynamic_power + gpu_dynamic_power + system_power


@equation(source="Hong 2012, Eqs. 95 and 105", symbol="S")
def speedup(baseline_time, shared_time):
    """Speed-up compared with the baseline. [ratio]"""
    return divide(baseline_time, shared_time, at_zero=math.inf)


@equation(source="Hong 2012, Eqs. 96, 103 and 112", symbol="E")
def energy_efficiency(baseline_power, combined_power, speedup):
    """Energy of the baseline divided by the energy of the shared run. [ratio]"""
    return baseline_power / combined_power * speedup


@equation(source="Hong 2012, Eq. 110, both devices done at once")
def best_speed_share(cpu_full_time, gpu_full_time):
    """GPU share with the shortest time. [ratio]"""
    return cpu_full_time / (cpu_full_time + gpu_full_time)


@equation(source="Hong 2012, Eqs. 110-112")
def best_energy_share(
    best_speed_share, cpu_full_time, gpu_full_time, cpu_full_power, gpu_full_power, system_power
):
    """GPU share with the least energy: 0, 1, or the share with the shortest time. [ratio]

    Power is the same at every share between 0 and 1, so among these shares the shortest time needs
    the least energy. If shares need the same energy, the result is the smallest.
    """
    none = (cpu_full_power + system_power) * cpu_full_time
    every = (gpu_full_power + system_power) * gpu_full_time
    power = cpu_full_power + gpu_full_power + system_power
    some = power * (cpu_full_time * (1 - best_speed_share))
    least = where(every < some, 1.0, best_speed_share)
    return where(none <= where(every < some, every, some), 0.0, least)


@equation(source="Hong 2012, Eqs. 115-117")
def efficiency_curvature(
    speedup, baseline_power, baseline_dynamic_power, system_power, power_growth
):
    r"""Second derivative of the energy efficiency E by the speed-up S; 0 if E is linear in S.

    The power is :math:`P_N = d S^k + B`. The derivative is 0 if d = 0 or k = 0 (more work for a
    device that already draws its power). For k = 1 (more cores) it is 0 only if B = 0, and then E
    is constant. For k = 3 (a higher clock) it is 0 at one speed-up only. By §A.8 the relation is
    mostly linear unless power grows with the square; that is true only for k = 0.

    .. math:: \frac{\partial^2 E}{\partial S^2} = P_o \frac{k d S^{k-1} \left((k-1) d S^k
        - (k+1) B\right)}{(d S^k + B)^3}
    """
    dynamic = baseline_dynamic_power * raised(speedup, power_growth)
    power = dynamic + system_power
    bend = (power_growth - 1) * dynamic - (power_growth + 1) * system_power
    slope = divide(power_growth * dynamic, speedup, at_zero=0.0)
    return divide(baseline_power * slope * bend, power * power * power, at_zero=0.0)
