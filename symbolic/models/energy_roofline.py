"""The roofline of power, from energy per byte, energy per operation and constant power (Choi 2013).

A run that moves data and computes at the same time attains the lower of the two limits (the
roofline of Williams 2009). Its energy is the sum of three parts: the energy of its operations, the
energy of its bytes, and constant power times the run time. Power is this energy divided by the
time. Measured rates may replace the attained rates.
"""

import math

from symbolic.equation import Family, Validity, equation
from symbolic.ops import divide, minimum

OUTPUTS = ("power", "attained_flops", "attained_bandwidth", "flops_per_watt")
VALIDITY = Validity(statement="its energies are fitted to the machine at hand")

FAMILIES = (
    Family(of="attained_flops", terms={"memory": "bandwidth_flops", "computation": "peak_flops"}),
)


@equation(source="Williams 2009, the slope of the roofline")
def bandwidth_flops(arithmetic_intensity, mem_bandwidth):
    """Operations per second that the bandwidth allows. [flop/s]"""
    return arithmetic_intensity * mem_bandwidth


@equation(source="Williams 2009, the roofline")
def attained_flops(bandwidth_flops, peak_flops):
    """Attained operations per second. [flop/s]"""
    return minimum(bandwidth_flops, peak_flops)


@equation(source="Williams 2009, by the definition of intensity")
def attained_bandwidth(attained_flops, arithmetic_intensity):
    """Bytes moved per second. [B/s]"""
    return attained_flops / arithmetic_intensity


@equation(source="Choi 2013, energy of operations, bytes and time, over the time")
def power(constant_power, energy_per_byte, attained_bandwidth, energy_per_flop, attained_flops):
    """Power of the run. [W]"""
    return constant_power + energy_per_byte * attained_bandwidth + energy_per_flop * attained_flops


@equation(source="Choi 2013, the roofline of energy")
def flops_per_watt(attained_flops, power):
    """Operations per joule. [flop/J]"""
    return divide(attained_flops, power, at_zero=math.inf)
