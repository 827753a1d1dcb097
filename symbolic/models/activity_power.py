"""Power from measured activity: linear in the access rates, with separate core and memory clocks.

Each access costs a constant energy, so power is linear in the access rates. The power of active
multiprocessors and of busy pipelines is proportional to the core clock; another term is
proportional to the memory clock. All energies and powers are fitted to measured power
(``dse.calibrate``).
"""

from symbolic.equation import Validity, equation

OUTPUTS = ("power", "access_power")
VALIDITY = Validity(statement="energies of accesses are fitted to the machine at hand")


@equation(source="Kandiah 2021 (AccelWattch), Eq. 2: energies of accesses times their rates")
def access_power(
    energy_per_l1_access, l1_rate, energy_per_shared_access, shared_rate, energy_per_l2_access,
    l2_rate, energy_per_dram_access, dram_rate,
):  # fmt: skip
    """Power of the accesses to all levels of memory. [W]"""
    near = energy_per_l1_access * l1_rate + energy_per_shared_access * shared_rate
    return near + energy_per_l2_access * l2_rate + energy_per_dram_access * dram_rate


@equation(source="Kandiah 2021 (AccelWattch), constant, idle SM and active SM power")
def power(
    constant_power, idle_sm_power, mean_busy_sms, pipeline_power, pipeline_duty, core_clock,
    nominal_clock, memory_clock_power, memory_clock, nominal_memory_clock, access_power,
):  # fmt: skip
    """Power of the run. [W]"""
    cores = (idle_sm_power * mean_busy_sms + pipeline_power * pipeline_duty) * core_clock
    memory = memory_clock_power * (memory_clock / nominal_memory_clock)
    return constant_power + cores / nominal_clock + memory + access_power
