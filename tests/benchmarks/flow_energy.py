"""Flow balance with energy: the work on which sweep engines are compared."""

from dse import equation, quantity
from symbolic.ops import minimum

ENERGY_PER_REQUEST = quantity("energy_per_request", unit="J", domain="[0, inf)")
ENERGY_PER_OPERATION = quantity("energy_per_operation", unit="J", domain="[0, inf)")
BASE_POWER = quantity("base_power", unit="W", domain="[0, inf)")
OPERATIONS = quantity("operations", domain="(0, inf)")


@equation(source="Li 2015, Eq. 3")
def ms_throughput(threads, mem_latency, intensity, ms_peak, lanes_width):
    return minimum(threads / (mem_latency + intensity), ms_peak, lanes_width / intensity)


@equation(source="Li 2015")
def cs_throughput(intensity, ms_throughput):
    return intensity * ms_throughput


@equation
def time(operations, cs_throughput, core_clock):
    return operations / (cs_throughput * core_clock)


@equation(unit="W")
def flow_power(base_power, energy_per_request, energy_per_operation, ms_throughput, cs_throughput):
    return base_power + energy_per_request * ms_throughput + energy_per_operation * cs_throughput


@equation(unit="J")
def flow_energy(flow_power, time):
    return flow_power * time
