"""TMM, its calibration and all-pairs shortest paths, in fractions: Ma 2014, Eqs. 1-15.

Written from the paper. Its P / Q in Eqs. 3, 4 and 8 is the number of multiprocessors, which
Table I calls Q; P is the number of all cores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

Values = dict[str, Fraction | float | int]


def tmm(given: Mapping[str, Fraction], latency_hiding: str) -> Values:
    """Return the quantities of Eqs. 1-8; ``"assumed"`` selects Eq. 5, in which A_T is true."""
    sms, active, blocks = (given[name] for name in ("n_sms", "active_blocks_per_sm", "blocks"))
    work, span, transactions = (given[name] for name in ("work", "span", "transactions"))
    cores = sms * given["cores_per_sm"]
    threads = active * given["threads_per_block"] / given["cores_per_sm"]
    terms = [work / cores, span, transactions * given["mem_latency"] / (threads * cores)]  # Eq. 1
    steps = max(terms)
    hit = given["cache_hit_rate"]
    cache = Fraction(1)
    if not given["fits_on_chip"]:
        cache = hit + (1 - hit) * given["cache_miss_slowdown"]  # Eq. 2
    passes = math.ceil(blocks / (active * sms))
    scheduling = passes * active * sms / blocks  # Eq. 3
    hidden = latency_hiding == "assumed"
    result: Values = {
        "n_cores": cores,
        "threads_per_core": threads,
        "work_steps": terms[0],
        "latency_steps": terms[2],
        "time_steps": steps,
        "cache_factor": cache,
        "block_slots": active * sms,
        "passes": passes,
        "full_pass_blocks": passes * active * sms,
        "sched_factor": scheduling,
        "relative_time": (max(terms[:2]) * cache if hidden else steps) * scheduling,  # Eqs. 5, 6
    }
    if terms.count(steps) == 1:
        result["bound"] = terms.index(steps)
    if work:
        result["hiding_threads_per_core"] = transactions * given["mem_latency"] / work
    return result


def apsp(given: Mapping[str, Fraction], latency_hiding: str, printed: bool) -> Values:
    """Return the quantities of Eqs. 10-14; Eq. 12 as printed has n cubed in both terms."""
    n, tile, chunk = given["vertices"], given["tile_dim"], given["chunk"]
    squarings = Fraction(math.log2(n))
    work = n**3 * squarings
    derived = {
        "squarings": squarings,
        "work": work,
        "transactions": work / (tile * chunk),  # Eq. 10
        "blocks": Fraction(math.ceil(n / tile)) ** 2,
    }
    result = tmm({**given, **derived}, latency_hiding)
    cores, threads = result["n_cores"], result["threads_per_core"]
    root = math.isqrt(int(derived["blocks"]))
    power = 3 if printed else 2
    latency = n**power * squarings * given["mem_latency"] * root / (chunk * threads * cores)
    result |= derived
    result |= {
        "latency_steps_by_blocks": latency,
        "relative_time_by_blocks": max(work / cores, latency) * result["sched_factor"],
        "hiding_threads_per_core": given["mem_latency"] / (tile * chunk),
    }
    return result


def tmm_calibrated(given: Mapping[str, Fraction]) -> Values:
    """Return the time of Eq. 15 and Fig. 2: a line until latency is hidden, then a constant."""
    threads = given["active_blocks_per_sm"] * given["threads_per_block"] / given["cores_per_sm"]
    root = Fraction(math.isqrt(int(given["blocks"]) << 200), 1 << 100) / threads
    slope = given["memory_time_slope"] * root
    line = slope + given["memory_time_offset"]
    return {
        "threads_per_core": threads,
        "root_blocks_per_thread": root,
        "memory_bound_time": line,
        "time": max(line, given["compute_bound_time"]),
    }


def occupancy(given: Mapping[str, Fraction]) -> Values:
    """Return Eq. 4: add blocks until one does not fit. The first of equal limits is returned."""
    block_warps = Fraction(math.ceil(given["threads_per_block"] / given["warp_size"]))
    registers = given["registers_per_thread"] * given["threads_per_block"]
    uses = {  # what a block uses, and what a multiprocessor has
        "blocks_by_shared_mem": (given["shared_mem_per_block"], given["shared_mem_per_sm"]),
        "blocks_by_registers": (registers, given["registers_per_sm"]),
        "max_blocks_per_sm": (Fraction(1), given["max_blocks_per_sm"]),
        "blocks_by_threads": (given["threads_per_block"], given["max_threads_per_sm"]),
    }
    limits = {
        name: Fraction(math.floor(most / each)) if each else math.inf
        for name, (each, most) in uses.items()
    }
    active = 0
    while all((active + 1) * each <= most for each, most in uses.values()):
        active += 1
    del limits["max_blocks_per_sm"]
    return {
        **limits,
        "warps_per_block": block_warps,
        "active_blocks_per_sm": active,
        "limiter": [(active + 1) * each > most for each, most in uses.values()].index(True),
        "warps_per_sm": active * block_warps,
    }
