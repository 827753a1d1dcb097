"""The roofline of power: energy of bytes and operations, and constant power (Choi 2013).

A run that moves data and computes at once attains the slower of the two limits (the roofline of
Williams 2009). Its energy is that of its operations, of its bytes, and of constant power while it
lasts; divided by its time that is power. Measured rates can replace the roofline.
"""

from __future__ import annotations

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
    """Operations a second that the bandwidth allows. [flop/s]"""
    return arithmetic_intensity * mem_bandwidth


@equation(source="Williams 2009, the roofline")
def attained_flops(bandwidth_flops, peak_flops):
    """Operations a second that are attained. [flop/s]"""
    return minimum(bandwidth_flops, peak_flops)


@equation(source="Williams 2009, by the definition of intensity")
def attained_bandwidth(attained_flops, arithmetic_intensity):
    """Bytes a second that are moved. [B/s]"""
    return attained_flops / arithmetic_intensity


@equation(source="Choi 2013, energy of operations, bytes and time, over the time")
def power(constant_power, energy_per_byte, attained_bandwidth, energy_per_flop, attained_flops):
    """Power of the run. [W]"""
    return constant_power + energy_per_byte * attained_bandwidth + energy_per_flop * attained_flops


@equation(source="Choi 2013, the roofline of energy")
def flops_per_watt(attained_flops, power):
    """Operations for a joule. [flop/J]"""
    return divide(attained_flops, power, at_zero=math.inf)
