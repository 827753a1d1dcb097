"""Table 16's benchmarks, the configurations of Figs. 152-155, what helps (Hong 2012, appendix A).

Series 1-16 count through four words, slow before fast and low before high: the performance of the
CPU turns slowest, then that of the GPU, the power of the CPU, and that of the GPU fastest.
"""

from __future__ import annotations

from dataclasses import replace

from symbolic.equation import equation
from symbolic.model import Family, Guide
from symbolic.ops import both, either, equal, floor, where

#: The device that is done last, and §A.5-A.7: share of the work, cores, clocks.
FAMILIES = (Family(of="shared_time", terms={"cpu": "cpu_time", "gpu": "gpu_time"}, largest=True),)
_SPEED = Guide(
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
    _SPEED,
    replace(
        _SPEED,
        goal="energy_efficiency",
        show=("speedup", "combined_power"),
        suggests={"best_energy_share": "gpu_share"},
    ),
)

PRINTED, CORRECTED = {"printed": True}, {"printed": False}


def _of_four(benchmark_series):
    """Place 1-4 within the four series of one pair of performances."""
    return benchmark_series - 4 * floor((benchmark_series - 1) / 4)


@equation(name="cpu_work", source="Hong 2012, Table 16, Fig. 156", when=CORRECTED, symbol=r"\phi_C")
def cpu_work(benchmark_series, slow_work, fast_work):
    """Cycles for a unit of work on the CPU: slow in series 1-8. [cycles]

    >>> [cpu_work(series, 100.0, 1.0) for series in (1, 8, 9, 16)]
    [100.0, 100.0, 1.0, 1.0]
    """
    return where(benchmark_series <= 8, slow_work, fast_work)


@equation(name="cpu_work", source="Hong 2012, Table 16", when=PRINTED, symbol=r"\phi_C")
def cpu_work_printed(slow_work):
    """Cycles for a unit of work on the CPU: slow in every series, as printed. [cycles]

    >>> cpu_work_printed(100.0)
    100.0
    """
    return slow_work


@equation(source="Hong 2012, Table 16", symbol=r"\phi_G")
def gpu_work(benchmark_series, slow_work, fast_work):
    """Cycles for a unit of work on the GPU: slow in series 1-4 and 9-12. [cycles]

    >>> [gpu_work(series, 100.0, 1.0) for series in (4, 5, 12, 13)]
    [100.0, 1.0, 100.0, 1.0]
    """
    slow = either(benchmark_series <= 4, both(benchmark_series > 8, benchmark_series <= 12))
    return where(slow, slow_work, fast_work)


@equation(source="Hong 2012, Table 16", symbol=r"\lambda_C")
def cpu_core_power(benchmark_series, low_core_power, high_core_power):
    """Dynamic power of a core of the CPU: low in the first two of each four series. [W]

    >>> [cpu_core_power(series, 1.0, 2.0) for series in (1, 2, 3, 4, 9)]
    [1.0, 1.0, 2.0, 2.0, 1.0]
    """
    return where(_of_four(benchmark_series) <= 2, low_core_power, high_core_power)


@equation(source="Hong 2012, Table 16", symbol=r"\lambda_G")
def gpu_core_power(benchmark_series, low_core_power, high_core_power):
    """Dynamic power of a core of the GPU: low in series of odd number. [W]

    >>> [gpu_core_power(series, 1.0, 2.0) for series in (1, 2, 3, 4, 9)]
    [1.0, 2.0, 1.0, 2.0, 1.0]
    """
    place = _of_four(benchmark_series)
    low = either(equal(place, 1), equal(place, 3))
    return where(low, low_core_power, high_core_power)


@equation(source="Hong 2012, Figs. 152-155")
def cpu_scale(node_configuration, reduced_share):
    """Performance and power of the CPU over the default one: less in configurations 2, 4. [ratio]

    >>> [cpu_scale(configuration, 0.5) for configuration in (1, 2, 3, 4)]
    [1.0, 0.5, 1.0, 0.5]
    """
    less = either(equal(node_configuration, 2), equal(node_configuration, 4))
    return where(less, reduced_share, 1.0)


@equation(source="Hong 2012, Figs. 152-155")
def gpu_scale(node_configuration, reduced_share):
    """Performance and power of the GPU over the default one: less in configurations 3, 4. [ratio]

    >>> [gpu_scale(configuration, 0.5) for configuration in (1, 2, 3, 4)]
    [1.0, 1.0, 0.5, 0.5]
    """
    return where(node_configuration >= 3, reduced_share, 1.0)


EQUATIONS = (
    cpu_work,
    cpu_work_printed,
    gpu_work,
    cpu_core_power,
    gpu_core_power,
    cpu_scale,
    gpu_scale,
)
