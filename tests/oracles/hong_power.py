"""Power, temperature and static power of a GPU, point by point, from the text of Hong 2012.

The functions repeat chapter 3 of the thesis in plain Python. They were written from its text, with
the decisions of the model's description where the text is ambiguous.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Point = Mapping[str, float]

#: Units without the mark Spec.Linear in Table 8. Table 11 adds two caches without a mark. L1 is
#: treated as the shared memory, because both are one unit; L2 is treated as DRAM.
PROPORTIONAL = ("alu", "sfu", "shared", "l1")
LOGARITHMIC = ("int", "fp", "texture", "const", "register", "fds", "l2", "global", "local")
DRAM = ("global", "local")
#: One memory system and one L2 serve all SMs (§3.2.3 and Table 10).
OFF_CHIP = (*DRAM, "l2")


def special_rate(rate: float) -> float:
    """Return the access rate of a unit with the mark Spec.Linear (§3.2.4)."""
    return 0.0 if rate <= 0 else max(0.0, 0.1365 * math.log(rate) + 1.001375)


def power(at: Point, scaling: str = "log", gated: bool = False) -> dict[str, float]:
    """Return the power of each unit and of the GPU (Eqs. 35-48, §3.5.6 and §3.11)."""
    out: dict[str, float] = {}
    mem = at["coalesced_insts"] + at["uncoalesced_insts"]
    total = at["comp_insts"] + mem
    blocks = math.ceil(at["elements"] / at["threads_per_block"])
    warps = math.ceil(at["threads_per_block"] / at["warp_size"])
    active = min(at["active_sms"], blocks)  # an active SM executes a block
    run = warps * blocks / active  # Eq. 42
    counts = {unit: at[f"{unit}_insts"] for unit in ("int", "fp", "sfu", "alu", "texture", "const")}
    counts |= {unit: at[f"{unit}_insts"] for unit in ("shared", "register", "l1", *OFF_CHIP)}
    counts["fds"] = total  # Table 7: all instructions
    per_unit: dict[str, float] = {}
    clamped = False
    slots = at["exec_cycles"] / at["issue_cycles"]
    for unit, count in counts.items():
        rate = count * run / slots if slots else 0.0  # Eq. 40
        out[f"access_rate_{unit}"] = rate
        clamped |= rate > 1
        if unit in DRAM:  # the memory has its own clock: accesses per cycle of the nominal clock
            rate *= at["core_clock"] / at["nominal_clock"]
        rate = min(rate, 1.0)  # §3.2.2: the maximum is one
        effective = special_rate(rate) if unit in LOGARITHMIC else rate
        per_unit[unit] = out[f"{unit}_unit_power"] = at[f"max_power_{unit}"] * effective  # Eq. 39
    out |= {"mem_insts": mem, "total_insts": total, "blocks": blocks, "busy_sms": active}
    out |= {"warps_per_block": warps, "warps_run_per_sm": run, "rate_clamped": float(clamped)}
    out["issue_rate"] = run / slots if slots else 0.0

    on_chip = [unit for unit in counts if unit not in OFF_CHIP]
    watts_of_sm = [*(per_unit[unit] for unit in on_chip), at["max_power_const_sm"]]
    out["sm_component_power"] = math.fsum(watts_of_sm)  # Eq. 37
    out["memory_component_power"] = math.fsum(per_unit[unit] for unit in OFF_CHIP)  # Eq. 43

    share = active / at["n_sms"]
    slope = (10 - at["scaling_offset"]) / at["n_sms"]  # Eq. 46
    factor = math.log10(slope * active + at["scaling_offset"])
    out |= {"scaling_slope": slope, "scaling_factor": factor}
    if gated:  # §3.5.6: 30 SMs at 120 W are 4 W each
        sms, memory = active, share
    elif scaling == "log":  # Eqs. 44, 45 and 48
        sms, memory = at["n_sms"] * factor, factor
    else:  # Fig. 73: a line, which begins just above idle and activation power
        sms, memory = active, share
    drawn_share = share if gated else 1.0
    clock = (at["core_clock"] / at["nominal_clock"]) ** at["clock_power_exponent"]
    out |= {"sm_scale": sms, "memory_scale": memory, "clock_power_factor": clock}
    for unit, watts in {**per_unit, "const_sm": at["max_power_const_sm"]}.items():
        factor = 1.0 if unit in DRAM else clock
        out[f"{unit}_power"] = watts * factor * (memory if unit in OFF_CHIP else sms)
    parts = [out[f"{unit}_power"] for unit in (*counts, "const_sm")]
    out["memory_power"] = math.fsum(out[f"{unit}_power"] for unit in OFF_CHIP)
    out["sm_power"] = math.fsum(out[f"{unit}_power"] for unit in (*on_chip, "const_sm"))
    out["activation_power"] = at["max_power_activation"] * drawn_share * clock
    out["largest_power"] = max(*parts, out["activation_power"])
    out["standing_power"] = at["idle_power"] * drawn_share
    out["runtime_power"] = math.fsum([*parts, out["activation_power"]])  # Eqs. 36 and 48
    out["power"] = out["runtime_power"] + out["standing_power"]  # Eq. 35
    return out


def efficiency(at: Point, watts: float) -> dict[str, float]:
    """Return energies and work per energy (§3.3.2 and §3.5.4); ``at`` also has the time."""
    mem = at["coalesced_insts"] + at["uncoalesced_insts"]
    blocks = math.ceil(at["elements"] / at["threads_per_block"])
    warps = blocks * math.ceil(at["threads_per_block"] / at["warp_size"])
    work = (at["comp_insts"] + mem) * at["elements"]
    time = at["time"]
    return {
        "energy": watts * time,
        "edp": watts * time**2,
        "ed2p": watts * time**3,
        "work_insts": work,
        "insts_per_second": work / time if time else 0.0,
        "perf_per_watt": work / (watts * time) if watts * time else 0.0,  # Eq. 62
        "bandwidth_used": mem * warps * at["load_bytes_per_warp"] / time if time else 0.0,
    }


def optimal_sms(at: Point, printed: bool = False) -> dict[str, float]:
    """Return the number of SMs with the most work per energy, by Eq. 63.

    ``at`` has the values of MWP-CWP that do not depend on the SMs in use.
    """
    blocks = math.ceil(at["elements"] / at["threads_per_block"])
    warps = math.ceil(at["threads_per_block"] / at["warp_size"])
    mem = at["coalesced_insts"] + at["uncoalesced_insts"]
    busy = min(blocks, at["n_sms"])
    n = min(at["warps_per_sm"], warps * math.ceil(blocks / busy))
    rate = at["bw_per_warp"]
    peak = math.inf if rate == 0 else at["mem_bandwidth"] / (rate * busy)  # Eq. 6
    others = mem - at["independent_insts"]
    if at["independent_insts"] == 0:
        parallel = n
    elif others:  # Eq. 28: the print has no N of the first request of each run
        parallel = n * (at["independent_insts"] if printed else mem) / others
    else:
        parallel = math.inf
    mwp = min(at["mwp_without_bw_full"], parallel, peak)  # Eqs. 5, 17 and 29
    cwp = min(at["cwp_full"], n)  # Eq. 9
    out = {"warps_on_all_sms": n, "mwp_peak_bw_on_all_sms": peak, "mwp_on_all_sms": mwp}
    out |= {"cwp_on_all_sms": cwp, "parallel_warps_on_all_sms": parallel}
    few = (mwp == n or cwp == n) if printed else (mwp >= n and cwp == n)
    out["sms_at_peak_bw"] = at["n_sms"] if rate == 0 else at["mem_bandwidth"] / (rate * n)
    if few or mwp > cwp or mwp < peak:
        out["optimal_sms"] = at["n_sms"]
    else:
        out["optimal_sms"] = max(1.0, math.floor(out["sms_at_peak_bw"] + 0.5))  # 20 for 20.28
    return out


def temperature(at: Point, printed: bool = False) -> dict[str, float]:
    """Return the temperatures and the power that heating adds (Eqs. 49-57)."""
    memory = at["coalesced_insts"] + at["uncoalesced_insts"]
    intensity = memory / at["comp_insts"]  # Eq. 54
    idle, sigma = at["idle_temperature"], at["leakage_per_degree"]
    most = (
        at["temperature_per_watt"] * at["runtime_power"]
        + at["temperature_offset"]
        + at["temperature_per_intensity"] * intensity
    )  # Eq. 53
    if not printed:  # read as the rise above the idle temperature
        most += idle
    warm = idle + (most - idle) * (1 - math.exp(-at["elapsed"] / at["heating_time_constant"]))
    cool = idle + (at.get("cooling_start", most) - idle) * math.exp(
        -at["elapsed"] / at["cooling_time_constant"]
    )
    apart = max(1.0, abs(most - idle) / at["settled_within"])
    return {
        "mem_insts": memory,
        "access_intensity": intensity,
        "max_temperature": most,
        "temperature": warm,
        "cooling_temperature": cool,
        "power_at": at["power"] + sigma * (warm - idle),  # Eqs. 55-57
        "steady_power": at["power"] + sigma * (most - idle),
        "settling_time": at["heating_time_constant"] * math.log(apart),
    }


#: Boltzmann's constant and the elementary charge, exact in the SI of 2019. [J/K, C]
BOLTZMANN, CHARGE = 1.380649e-23, 1.602176634e-19


def _static_power(at: Point, kelvin: float) -> tuple[float, float]:
    """Return the leakage of one transistor (Eq. 34) and of the chip (Eq. 33)."""
    thermal, supply = BOLTZMANN * kelvin / CHARGE, at["supply_voltage"]
    current = (
        at["leakage_scale"]
        * math.exp(
            at["voltage_leakage_slope"] * (at["supply_voltage"] - at["nominal_supply_voltage"])
        )
        * thermal**2
        * -math.expm1(-supply / thermal)
        * math.exp(
            -(abs(at["threshold_voltage"]) - at["offset_voltage"])
            / (at["subthreshold_swing"] * thermal)
        )
    )
    return current, supply * at["transistors"] * at["design_factor"] * current


def leakage(at: Point) -> dict[str, float]:
    """Return static power by Eqs. 33 and 34, and on its tangent at a reference temperature."""
    kelvin, reference = at["temperature"] + 273.15, at["reference_temperature"] + 273.15
    thermal = BOLTZMANN * reference / CHARGE
    ratio = at["supply_voltage"] / thermal
    barrier = (at["threshold_voltage"] - at["offset_voltage"]) / (
        at["subthreshold_swing"] * thermal
    )
    # the derivatives of the logarithms of v_t², of 1 - exp(-V/v_t), and of the last exponential
    slope = (2 - ratio / math.expm1(ratio) + barrier) / reference
    further = at["temperature"] - at["reference_temperature"]
    current, here = _static_power(at, kelvin)
    there = _static_power(at, reference)[1]
    return {
        "thermal_voltage": BOLTZMANN * kelvin / CHARGE,
        "leakage_current": current,
        "static_power": here,
        "reference_static_power": there,
        "leakage_slope": slope,
        "linear_static_power": there * (1 + slope * further),
    }
