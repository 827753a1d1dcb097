"""The parts of the power of the whole machine, which sum to it (Hong 2012, Figs. 36 and 72)."""

from __future__ import annotations

from symbolic.equation import equation

SOURCE = "Hong 2012, Fig. 36"
FERMI = "Hong 2012, Fig. 72"


@equation(source=SOURCE)
def int_power(int_unit_power, sm_scale, clock_power_factor):
    """Power of the integer units, as the SMs in use and the clock scale it. [W]

    >>> int_power(0.5, 20.0, 1.0)
    10.0
    """
    return int_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def fp_power(fp_unit_power, sm_scale, clock_power_factor):
    """Power of the floating-point units, as the SMs in use and the clock scale it. [W]

    >>> fp_power(0.5, 20.0, 1.0)
    10.0
    """
    return fp_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def sfu_power(sfu_unit_power, sm_scale, clock_power_factor):
    """Power of the special-function units, as the SMs in use and the clock scale it. [W]

    >>> sfu_power(0.5, 20.0, 1.0)
    10.0
    """
    return sfu_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def alu_power(alu_unit_power, sm_scale, clock_power_factor):
    """Power of the logic units, as the SMs in use and the clock scale it. [W]

    >>> alu_power(0.5, 20.0, 1.0)
    10.0
    """
    return alu_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def texture_power(texture_unit_power, sm_scale, clock_power_factor):
    """Power of the texture caches, as the SMs in use and the clock scale it. [W]

    >>> texture_power(0.5, 20.0, 1.0)
    10.0
    """
    return texture_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def const_power(const_unit_power, sm_scale, clock_power_factor):
    """Power of the constant caches, as the SMs in use and the clock scale it. [W]

    >>> const_power(0.5, 20.0, 1.0)
    10.0
    """
    return const_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def shared_power(shared_unit_power, sm_scale, clock_power_factor):
    """Power of the shared memories, as the SMs in use and the clock scale it. [W]

    >>> shared_power(0.5, 20.0, 1.0)
    10.0
    """
    return shared_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def register_power(register_unit_power, sm_scale, clock_power_factor):
    """Power of the register files, as the SMs in use and the clock scale it. [W]

    >>> register_power(0.5, 20.0, 1.0)
    10.0
    """
    return register_unit_power * sm_scale * clock_power_factor


@equation(source=SOURCE)
def fds_power(fds_unit_power, sm_scale, clock_power_factor):
    """Power of fetch, decode and schedule, as the SMs in use and the clock scale it. [W]

    >>> fds_power(0.5, 20.0, 1.0)
    10.0
    """
    return fds_unit_power * sm_scale * clock_power_factor


@equation(source=FERMI)
def l1_power(l1_unit_power, sm_scale, clock_power_factor):
    """Power of the L1 caches, as the SMs in use and the clock scale it. [W]

    >>> l1_power(0.5, 20.0, 1.0)
    10.0
    """
    return l1_unit_power * sm_scale * clock_power_factor


@equation(source=FERMI)
def l2_power(l2_unit_power, memory_scale, clock_power_factor):
    """Power of the L2 cache, as the SMs in use and the clock scale it. [W]

    >>> l2_power(0.5, 0.8, 1.0)
    0.4
    """
    return l2_unit_power * memory_scale * clock_power_factor


@equation(source=SOURCE)
def global_power(global_unit_power, memory_scale, clock_power_factor):
    """Power of the DRAM, for global memory, as the SMs in use and the clock scale it. [W]

    >>> global_power(0.5, 0.8, 1.0)
    0.4
    """
    return global_unit_power * memory_scale * clock_power_factor


@equation(source=SOURCE)
def local_power(local_unit_power, memory_scale, clock_power_factor):
    """Power of the DRAM, for local memory, as the SMs in use and the clock scale it. [W]

    >>> local_power(0.5, 0.8, 1.0)
    0.4
    """
    return local_unit_power * memory_scale * clock_power_factor


@equation(source=SOURCE)
def const_sm_power(max_power_const_sm, sm_scale, clock_power_factor):
    """Power that SMs draw whatever they do, as their number and the clock scale it. [W]

    >>> const_sm_power(0.5, 20.0, 1.0)
    10.0
    """
    return max_power_const_sm * sm_scale * clock_power_factor


EQUATIONS = (
    int_power,
    fp_power,
    sfu_power,
    alu_power,
    texture_power,
    const_power,
    shared_power,
    register_power,
    fds_power,
    l1_power,
    l2_power,
    global_power,
    local_power,
    const_sm_power,
)
