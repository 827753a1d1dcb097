"""Transit from its figure: the threads at which supply and demand of the memory system meet.

Written from Li 2015, §2.2 and §2.4, in fractions: both curves are drawn as the paper defines them,
and Eq. 3 is solved on the segments between their corners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise

BOUNDS = {(False, False): 0, (True, False): 1, (False, True): 2, (True, True): 3}
BOTH_FULL = 3
#: A system is also full if this share is missing, because rounding then decides the range of k.
TIE = Fraction(1, 10**12)


def transit(given: Mapping[str, Fraction], supply: str) -> dict[str, Fraction | int]:
    """Return the state of the machine of Fig. 6.

    An operation occupies its thread for ``arithmetic_latency`` cycles; the paper has 1. The smooth
    supply curve k / (L + k / R) never reaches R, so that the paper's four bounds do not apply.
    """
    n, z, latency = given["threads"], given["intensity"], given["mem_latency"]
    lanes, peak, busy = given["lanes_width"], given["ms_peak"], given["arithmetic_latency"]

    def demand(x: Fraction) -> Fraction:
        return min(x / (busy * z), lanes / z)  # Eq. 2

    def sharp(k: Fraction) -> Fraction:
        return min(peak, k / latency) if latency else peak  # Fig. 4-B

    def smooth(k: Fraction) -> Fraction:
        return k / (latency + k / peak) if k else Fraction(0 if latency else peak)

    delta, pi = peak * latency, busy * lanes
    curve = sharp if supply == "sharp" else smooth

    def excess(k: Fraction) -> Fraction:
        return curve(k) - demand(n - k)  # Eq. 3 holds if it is 0

    corners = sorted({Fraction(0), n, *(k for k in (delta, n - pi) if 0 < k < n)})
    find = last_linear if supply == "sharp" else last_bisected
    low = find(excess, corners, lambda value: value < 0)
    high = find(excess, corners, lambda value: value <= 0)
    r = demand(n - low)
    near = r * (1 + TIE)
    bound = BOUNDS[peak <= near, lanes / z <= near]
    result: dict[str, Fraction | int] = {
        "ms_throughput": r,
        "cs_throughput": z * r,
        "cs_transition": pi,
        "ms_transition": delta,
    }
    if supply == "sharp":
        result["bound"] = bound
    if low == high and bound != BOTH_FULL:
        result |= {"threads_in_ms": low, "threads_in_cs": n - low}
    if (low < high) == (bound == BOTH_FULL) and (low == high or supply == "sharp"):
        result |= {"threads_in_ms_low": low, "threads_in_ms_high": high}
        result |= {"threads_in_cs_low": n - high, "threads_in_cs_high": n - low}
    return result


def last_linear(
    value: Callable[[Fraction], Fraction],
    corners: list[Fraction],
    below: Callable[[Fraction], bool],
) -> Fraction:
    """Return the last point of the axis at which a rising value is ``below``.

    The value is linear between two corners.
    """
    for left, right in pairwise(corners):
        if not below(value(left)):
            return left
        if not below(value(right)):
            step = value(right) - value(left)
            return left + (right - left) * -value(left) / step if step else right
    return corners[-1]


def last_bisected(
    value: Callable[[Fraction], Fraction],
    corners: list[Fraction],
    below: Callable[[Fraction], bool],
) -> Fraction:
    """Return the last point of the axis at which a rising value is ``below``, by bisection."""
    low, high = corners[0], corners[-1]
    if not below(value(low)):
        return low
    for _ in range(600):
        middle = (low + high) / 2
        low, high = (middle, high) if below(value(middle)) else (low, middle)
    return high


def transit_profiler(given: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return n and Z of §3 from counters, and the throughputs that Figs. 18 and 19 compare.

    Counters count instructions of warps, and bytes, of the whole GPU. The model describes the
    threads of one multiprocessor. The paper does not define its accuracy.
    """
    insts = given["issued_warp_insts"] * given["warp_size"] / given["active_sms"]
    words = given["request_bytes"] * given["active_sms"]
    reads, writes = given["dram_read_bytes"] / words, given["dram_write_bytes"] / words
    requests = reads + writes
    return {
        "issued_insts": insts,
        "dram_reads": reads,
        "dram_writes": writes,
        "threads": given["occupancy"] * given["max_threads_per_sm"],
        "measured_ms_throughput": requests / (given["kernel_time"] * given["core_clock"]),
        "predicted_flops": given["cs_throughput"] * given["core_clock"],
        "measured_flops": insts / given["kernel_time"],
        "intensity": insts / requests,
    }
