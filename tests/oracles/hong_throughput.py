"""Floating-point throughput and its bottlenecks, point by point, from chapter 5 of Hong 2012.

The functions repeat the thesis in plain Python. They were written from its text, with the
decisions of the model's description where the text is ambiguous.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Point = Mapping[str, float]


def category(n: float, infinite: float, app: float, bandwidth: float, process: float) -> int:
    """Return the case of Figs. 114 and 115 whose condition holds."""
    short = n < infinite
    if process < app:
        case = 1 if bandwidth < app else 2
    elif bandwidth < 0.85 * app:
        case = 3
    else:
        case = 4 if bandwidth < app else 5
    return case if short else case + 5


def throughput(
    at: Point, processor: str = "gpu", printed: bool = False, requests: bool = False
) -> dict[str, float]:
    """Return the quantities of Eqs. 64-93.

    With ``requests``, all requests of a warp share the bandwidth (§5.4.4), otherwise only one.
    """
    cpu = processor == "cpu"
    mem = at["coalesced_insts"] + at["uncoalesced_insts"]
    fp, vec = at["fp_insts"], at["fp_vec_insts"]
    fused, vec_fused = at["fp_fused_insts"], at["fp_vec_fused_insts"]
    comp = fp + fused + vec + vec_fused + at["int_insts"] + at["misc_insts"]
    total, ilp, lanes, clock = comp + mem, at["ilp"], at["simd_lanes"], at["core_clock"]
    blocks = math.ceil(at["elements"] / at["threads_per_block"])
    warps = math.ceil(at["threads_per_block"] / at["warp_size"])
    cores, busy_cores = at["active_sms"], min(at["active_sms"], blocks)
    n = warps * at["active_blocks_per_sm"]
    run = warps * blocks / busy_cores
    turns = max(run / n, 1.0)  # a small grid takes one turn
    dram_latency = at["mem_latency_nominal"] * clock / at["nominal_clock"]

    # §5.3.4 and §5.7: useful operations, and the peak rate of their mixture
    narrow, wide = (fp + 2 * fused, vec + 2 * vec_fused) if cpu else (fp + vec, fused + vec_fused)
    useful = narrow + wide
    peak_narrow = clock * cores * at["fp_units"]
    peak_wide = clock * cores * at["simd_units"] * lanes if cpu else 2 * peak_narrow
    shares = (narrow / useful, wide / useful) if useful else (1.0, 0.0)
    if cpu and not printed:  # the times of both kinds add up
        least = narrow / peak_narrow + wide / peak_wide
        peak = useful / least if useful else peak_narrow
    else:
        peak = peak_narrow * shares[0] + peak_wide * shares[1]  # Eqs. 65-67

    # Eqs. 68-70
    passes = max(1.0, at["warp_size"] / at["fp_units"])
    simd_ilp = ilp * lanes  # Table 15's SSE_ILP, in lanes
    if cpu:
        scalar = total + fused - vec - vec_fused  # a fused instruction is two
        issued = scalar / ilp + wide / simd_ilp
        perfect = narrow / ilp + wide / simd_ilp
        fastest = narrow / at["fp_units"] + wide / (at["simd_units"] * lanes)
    else:
        issued = total / ilp * passes
        perfect = useful / ilp * passes
        fastest = useful * at["warp_size"] / at["fp_units"]
    waiting = at["inst_latency"] / (at["dependency_distance"] * (1 if printed else n))
    dependency = max(waiting, 1.0)
    issued *= dependency * at["imbalance_loss"]
    cycles = issued
    if not printed:  # no unit is faster than its rate, and all lanes wait for the longest
        perfect = fastest
        cycles = max(issued, perfect * at["imbalance_loss"])

    def of_memory(l1: float, l2: float) -> dict[str, float]:
        """Return the quantities for the shares ``l1`` and ``l2`` of requests that hit caches."""
        dram = 1 - l1 - l2
        period = mem or 1.0
        eff_comp, eff_perfect = cycles / period, perfect / period
        extent = (at["warp_size"] - 1) * at["thread_distance_bytes"] + at["bytes_per_thread"]
        segments = min(
            math.ceil(extent / at["transaction_bytes"]),
            at["warp_size"] * math.ceil(at["bytes_per_thread"] / at["transaction_bytes"]),
        )
        each = l1 * at["l1_latency"] + l2 * at["l2_latency"] + dram * dram_latency
        latency = each * segments if mem else 0.0
        size = segments * at["transaction_bytes"]
        rate = clock * size / latency if mem else 0.0  # Eq. 76
        used = rate * dram * cores
        bandwidth = at["mem_bandwidth"] / used if used else math.inf  # Eq. 75
        infinite = max(latency / eff_comp, 1.0) if eff_comp else (math.inf if mem else 1.0)  # 72
        one = min(infinite, n)  # Eq. 73
        app = one * at["mem_strength"]  # Eq. 74
        delay = at["departure_delay"]
        process = latency / delay if delay and mem else math.inf  # Eq. 16
        sharing = at["mem_strength"] if requests else 1.0
        mwp = min(app, bandwidth / sharing, process, n)  # Eq. 71
        serial = latency * n  # Eq. 78
        divided = serial / mwp  # Eq. 79
        least = 0.0 if printed else 1.0  # below 1, MWP − 1 is 0
        overlap = eff_comp * (max(mwp, least) - 1)
        together, busy = divided + overlap, eff_comp * n  # Eqs. 80 and 81
        idle = max(0.0, together - busy)  # Eq. 82
        whole = busy + idle
        ratio = eff_perfect * n / whole if whole else 0.0  # Eq. 77
        alpha = max(1.0, app / bandwidth) if app else 1.0  # Eq. 85
        if printed:
            fewer = max(1, math.floor(n * bandwidth / app)) if app > bandwidth else n
        else:
            fewer = n if app <= bandwidth else max(1, math.floor(bandwidth / at["mem_strength"]))
        return {
            "effective_comp": eff_comp,
            "effective_perfect": eff_perfect,
            "dram_share": dram,
            "transactions_per_request": segments,
            "mem_latency": latency,
            "load_bytes_per_warp": size,
            "bw_per_warp": rate,
            "mwp_app_infinite": infinite,
            "mwp_app_one_warp": one,
            "mwp_app": app,
            "mwp_bw": bandwidth,
            "mwp_proc": process,
            "sharing_requests": sharing,
            "least_mwp": least,
            "mwp_bw_warps": bandwidth / sharing,
            "mwp": mwp,
            "serial_mem_cycles": serial,
            "divided_mem_cycles": divided,
            "overlapped_mem_cycles": together,
            "serial_comp_cycles": busy,
            "idle_mem_cycles": idle,
            "period_cycles": whole,
            "effective_ratio": ratio,
            "idle_fraction": idle / whole if whole else 0.0,
            "overhead_fraction": 1 - ratio - (idle / whole if whole else 0.0),
            "exposed_mem_ratio": idle / serial if serial else 0.0,
            "exposed_of": together / serial if serial else 0.0,
            "category": category(n, infinite, app, bandwidth, process),
            "bandwidth_excess": alpha,
            "suggested_sms": max(1, math.floor(cores / alpha)),
            "suggested_warps": fewer,
            "clock_reduction": (infinite - 1) / (n - 1) if n != 1 else math.nan,  # Eq. 93
            "flops": peak * ratio,  # Eq. 64
            "exec_cycles": whole * period * turns,
            "time": whole * period * turns / clock,
        }

    out = of_memory(at["l1_share"], at["l2_share"])
    for level, hits in (("l1", (1.0, 0.0)), ("l2", (0.0, 1.0)), ("dram", (0.0, 0.0))):
        out[f"flops_{level}"] = of_memory(*hits)["flops"]
    without_ilp = max(issued * ilp, cycles)  # Fig. 108: ILP is 1 only in TotalCycles
    return out | {
        "mem_insts": mem,
        "total_insts": total,
        "comp_insts": comp,
        "blocks": blocks,
        "warps_per_block": warps,
        "busy_sms": busy_cores,
        "warps_per_sm": n,
        "warps_run_per_sm": run,
        "narrow_fp_insts": narrow,
        "wide_fp_insts": wide,
        "narrow_fraction": shares[0],
        "wide_fraction": shares[1],
        "peak_narrow": peak_narrow,
        "peak_wide": peak_wide,
        "peak_achievable": peak,
        "lane_passes": passes,
        "mem_latency_dram": dram_latency,
        "simd_ilp": simd_ilp,
        "perfect_cycles": perfect,
        "dependency_factor": dependency,
        "issued_cycles": issued,
        "comp_cycles": cycles,
        "flops_without_memory": peak * perfect / cycles if cycles else 0.0,
        "flops_without_ilp": peak * perfect / without_ilp if cycles else 0.0,
    }
