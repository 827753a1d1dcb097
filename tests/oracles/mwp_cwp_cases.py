"""MWP-CWP in fractions, equation by equation: Hong 2012, Eqs. 2-30.

Written from chapter 2 of the thesis. ``printed`` selects the equations as printed. The default has
four differences: independent requests raise MWP above N, MWP - 1 and NpWB - 1 are not negative, a
grid may be too small for the machine, and no case takes fewer cycles than Case 3. So Fig. 8 is
Case 3: if Comp_cycles > Mem_cycles and 1 <= MWP <= CWP, Eq. 22 is below Eq. 23.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

INFINITE = math.inf
#: A number that exceeds a whole number by at most this share is rounded down.
TIE = Fraction(1, 10**12)
Values = dict[str, Fraction | float | int]


def mwp_cwp(given: Mapping[str, Fraction], printed: bool, rounding: str, waves: str) -> Values:
    """Return every quantity that the thesis defines at these inputs."""

    def less_one(parallel: Fraction | float) -> Fraction | float:
        return parallel - 1 if printed else max(parallel - 1, Fraction(0))

    clock, nominal = given["core_clock"], given["nominal_clock"]
    blocks = Fraction(math.ceil(given["elements"] / given["threads_per_block"]))
    block_warps = Fraction(math.ceil(given["threads_per_block"] / given["warp_size"]))
    active = given["active_blocks_per_sm"]
    sms = min(blocks, given["active_sms"])  # §2.3.3: an active SM executes warps
    result: Values = {
        "blocks": blocks,
        "warps_per_block": block_warps,
        "warps_per_sm": active * block_warps,
    }
    if printed or blocks >= active * sms:
        repetitions = blocks / (active * sms)  # Eq. 20
        if waves == "whole":
            repetitions = Fraction(math.ceil(repetitions))
    else:  # by default
        active, repetitions = Fraction(math.ceil(blocks / sms)), Fraction(1)
    warps = active * block_warps
    coalesced, uncoalesced = given["coalesced_insts"], given["uncoalesced_insts"]
    requests = coalesced + uncoalesced
    insts = given["comp_insts"] + requests
    comp = given["issue_cycles"] * given["comp_factor"] * insts  # Eqs. 18 and 30
    comp *= given["imbalance_loss"]
    result |= {
        "busy_sms": sms,
        "resident_blocks": active,
        "resident_warps": warps,
        "repetitions": repetitions,
        "mem_insts": requests,
        "total_insts": insts,
        "comp_cycles": comp,
    }
    dram = given["mem_latency_nominal"] * clock / nominal
    gap_coalesced = given["departure_delay_coalesced"]
    gap_uncoalesced = given["departure_delay_uncoalesced"]
    each = given["transactions_per_uncoalesced"]
    latency_uncoalesced = dram + (each - 1) * gap_uncoalesced  # Eq. 12
    latency_coalesced = dram + gap_coalesced  # Eq. 13
    mem = latency_uncoalesced * uncoalesced + latency_coalesced * coalesced  # Eq. 19
    result |= {
        "mem_latency_dram": dram,
        "mem_latency_uncoalesced": latency_uncoalesced,
        "mem_latency_coalesced": latency_coalesced,
        "mem_cycles": mem,
    }
    if requests:
        share, rest = uncoalesced / requests, coalesced / requests  # Eqs. 10 and 11
        latency = latency_uncoalesced * share + latency_coalesced * rest  # Eq. 14
        gap = gap_uncoalesced * each * share + gap_coalesced * rest  # Eq. 15
        without_bw_full = latency / gap if gap else INFINITE  # Eq. 16
        independent = given["independent_insts"]
        if printed and not independent:
            parallel: Fraction | float = warps
        elif independent == requests:
            parallel = INFINITE
        else:  # Eq. 28, by default times all requests
            parallel = warps * (independent if printed else requests) / (requests - independent)
        without_bw = min(without_bw_full, warps if printed else parallel)  # Eq. 17
        bw_per_warp = clock * given["load_bytes_per_warp"] / latency  # Eq. 7
        peak_bw = given["mem_bandwidth"] / (bw_per_warp * sms)  # Eq. 6
        mwp = min(without_bw, peak_bw, parallel)  # Eqs. 5 and 29
        period = comp / requests  # Eq. 2
        cwp_full = (mem + comp) / comp  # Eq. 8
        cwp = min(cwp_full, warps)  # Eq. 9
        if rounding == "whole":
            mwp, cwp = (Fraction(math.ceil(value - value * TIE)) for value in (mwp, cwp))
        few = mem + comp + period * less_one(mwp)  # Eq. 21
        if mwp > warps and not printed:
            waiting = max(mem * warps / mwp, min(mem, latency))
            few = waiting + comp + period * less_one(warps)
        memory_bound = mem * warps / mwp + period * less_one(mwp)  # Eq. 22
        computation_bound = latency + comp * warps  # Eq. 23
        result |= {
            "weight_uncoalesced": share,
            "weight_coalesced": rest,
            "mem_latency": latency,
            "departure_delay": gap,
            "mwp_without_bw_full": without_bw_full,
            "parallel_warps": parallel,
            "mwp_without_bw": without_bw,
            "bw_per_warp": bw_per_warp,
            "mwp_peak_bw": peak_bw,
            "comp_period": period,
            "cwp_full": cwp_full,
            "few_warps_cycles": few,
            "memory_bound_cycles": memory_bound,
            "computation_bound_cycles": computation_bound,
        }
        if (mwp == warps if printed else mwp >= warps) and cwp == warps:
            case, cycles = 1, few if printed else max(few, computation_bound)
        elif (printed and (cwp >= mwp or comp > mem)) or (
            not printed and cwp >= mwp and memory_bound >= computation_bound
        ):
            case, cycles = 2, memory_bound
        else:
            case, cycles = 3, computation_bound
    else:  # no request: computation only
        gap = Fraction(0)
        mwp, cwp, case, cycles = warps, Fraction(1), 3, comp * warps
    exec_cycles = cycles * repetitions
    overlapping = min(mwp, block_warps)  # Eq. 26
    sync = gap * less_one(overlapping) * given["sync_insts"] * active * repetitions  # Eq. 25
    total = exec_cycles + sync  # Eq. 27
    result |= {
        "mwp": mwp,
        "cwp": cwp,
        "warp_parallelism": min(mwp, cwp),
        "case": case,
        "exec_cycles": exec_cycles,
        "parallel_warps_per_block": overlapping,
        "sync_cycles": sync,
        "total_cycles": total,
        "time": total / clock,
    }
    if insts:
        result["cpi"] = exec_cycles / (insts * block_warps * blocks / sms)  # Eq. 24
    return result
