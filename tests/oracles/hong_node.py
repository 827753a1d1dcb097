"""A CPU and a GPU that share work, point by point, from §5.9 and appendix A of Hong 2012."""

from __future__ import annotations

from collections.abc import Mapping

Point = Mapping[str, float]


def heterogeneous(at: Point, share: float | None = None) -> dict[str, float]:
    """Return shares, times and energies of work split by throughput (§5.9)."""
    alone = {
        "cpu": at["work_flops"] / at["cpu_flops"],
        "gpu": at["work_flops"] / at["gpu_flops"] + at["transfer_time"],
    }
    both = alone["cpu"] + alone["gpu"]
    gpu = share if share is not None else alone["cpu"] / both if both else None
    if gpu is None:  # no work: shares by throughput
        gpu = at["gpu_flops"] / (at["cpu_flops"] + at["gpu_flops"])
    times = {"cpu": alone["cpu"] * (1 - gpu), "gpu": alone["gpu"] * gpu}
    time = max(times.values())  # Eq. 110
    busy = at["cpu_full_power"] * times["cpu"] + at["gpu_full_power"] * times["gpu"]
    out = {"cpu_full_time": alone["cpu"], "gpu_full_time": alone["gpu"], "gpu_share": gpu}
    out |= {"cpu_share": 1 - gpu, "cpu_time": times["cpu"], "gpu_time": times["gpu"]}
    out["time"] = time
    out["power"] = at["system_power"] + (busy / time if time else 0.0)
    out["sharing_gain"] = min(alone.values()) / time if time else 1.0
    energy = busy + at["system_power"] * time
    return out | {"energy": energy, "edp": energy * time, "ed2p": energy * time**2}


#: Table 16: speed of the CPU (as in Fig. 156), speed of the GPU.
SPEEDS = (("slow", "slow"), ("slow", "fast"), ("fast", "slow"), ("fast", "fast"))
#: Table 16: power of the CPU, power of the GPU.
POWERS = (("low", "low"), ("low", "high"), ("high", "low"), ("high", "high"))


def energy_speedup(at: Point, printed: bool = False) -> dict[str, float]:
    """Return speed-up and energy efficiency for a given share of the GPU (Eqs. 94-117)."""
    series = int(at["benchmark_series"]) - 1
    speeds, powers = SPEEDS[series // 4], POWERS[series % 4]
    if printed:
        speeds = ("slow", speeds[1])
    work = [at[f"{speed}_work"] for speed in speeds]
    core = [at[f"{level}_core_power"] for level in powers]
    which = int(at["node_configuration"])
    scale = [
        at["reduced_share"] if which in reduced else 1.0 for reduced in ((2, 4), (3, 4))
    ]  # Figs. 153-155: less performance and power
    exponent, idle, share = at["clock_power_exponent"], at["system_power"], at["gpu_share"]
    full_time, full_power = [], []
    for i, device in enumerate(("cpu", "gpu")):
        cores, clock = at[f"{device}_cores"], at[f"{device}_clock"]
        rate = cores * at[f"{device}_throughput"] * clock * scale[i]
        full_time.append(at["work_units"] * work[i] / rate)  # Eq. 104
        relative = clock / at[f"{device}_nominal_clock"]
        full_power.append(cores * relative**exponent * core[i] * scale[i])  # Eq. 107
    first = (
        at["work_units"]
        * work[0]
        / (at["cpu_cores"] * at["cpu_throughput"] * at["cpu_nominal_clock"] * scale[0])
    )
    before = at["cpu_cores"] * core[0] * scale[0]
    base = before + idle  # P_o
    times = [full_time[0] * (1 - share), full_time[1] * share]
    time = max(times)  # Eq. 113
    drawn = [
        watts if printed or part > 0 else 0.0
        for watts, part in zip(full_power, (1 - share, share), strict=True)
    ]  # Eq. 114; a device without a share draws nothing
    combined = drawn[0] + drawn[1] + idle
    speedup = first / time  # Eq. 105
    balanced = full_time[0] / (full_time[0] + full_time[1])

    def energy_at(part: float) -> float:
        watts = idle + (full_power[0] if part < 1 else 0.0) + (full_power[1] if part > 0 else 0.0)
        return watts * max(full_time[0] * (1 - part), full_time[1] * part)

    # dynamic power that grows with the speed-up to the power g: E = P_o S / (B + d S^g)
    g, quotient = at["power_growth"], before * speedup ** at["power_growth"]
    below = idle + quotient
    curvature = (
        base
        * quotient
        / speedup
        * (g * (1 - g) * below - 2 * g * (idle + (1 - g) * quotient))
        / below**3
    )
    names = ("work", "core_power", "scale", "full_time", "full_power", "time", "dynamic_power")
    out = {
        f"{device}_{name}": values[i]
        for i, device in enumerate(("cpu", "gpu"))
        for name, values in zip(
            names, (work, core, scale, full_time, full_power, times, drawn), strict=True
        )
    }
    shares = (0.0, balanced, 1.0)
    out |= {f"energy_of_share_{i}": energy_at(part) for i, part in enumerate(shares)}
    return out | {
        "baseline_time": first,
        "baseline_dynamic_power": before,
        "baseline_power": base,
        "shared_time": time,
        "combined_power": combined,
        "speedup": speedup,
        "energy_efficiency": base / combined * speedup,  # Eq. 112
        "best_speed_share": balanced,
        "best_energy_share": min(shares, key=energy_at),
        "efficiency_curvature": curvature,
    }
