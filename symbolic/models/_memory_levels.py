"""Performance if one level of memory served every request (Hong 2012, §5.6, Figs. 131-135).

All hits in the first cache bound it from above and no hits from below, as the thesis reads them:
for requests one at a time (MSTR 1) that is so of every mix of hits.
"""

from __future__ import annotations

import math

from symbolic.equation import equation
from symbolic.models import _idle_cycles, _memory_demand, _memory_warps
from symbolic.ops import where


def _flops(latency, allowed, delay, peak, perfect, comp, warps, strength):
    """Eqs. 64 and 71-82, of requests of this latency, so many of which may be in flight."""
    needed = _memory_demand.mwp_app_infinite(latency, comp)
    asked = _memory_demand.mwp_app(_memory_demand.mwp_app_one_warp(needed, warps), strength)
    mwp = _memory_demand.mwp(asked, allowed, _memory_demand.mwp_proc(latency, delay), warps)
    serial = _idle_cycles.serial_mem_cycles(latency, warps)
    divided = _idle_cycles.divided_mem_cycles(serial, mwp)
    computed = _idle_cycles.serial_comp_cycles(comp, warps)
    overlapped = _idle_cycles.overlapped_mem_cycles(divided, comp, mwp)
    idle = _idle_cycles.idle_mem_cycles(overlapped, computed)
    period = _idle_cycles.period_cycles(computed, idle)
    return peak * _idle_cycles.effective_ratio(perfect, warps, period)


@equation(source="Hong 2012, §5.6, every request served by the first cache")
def flops_l1(
    l1_latency,
    transactions_per_request,
    mem_insts,
    departure_delay,
    peak_achievable,
    effective_perfect,
    effective_comp,
    warps_per_sm,
    mem_strength,
):
    """Floating-point operations a second if one cache serves every request. [1/s]

    >>> round(flops_l1(40.0, 1.0, 1.0, 0.0, 11.0, 2.0, 10.0, 8.0, 1.0), 4)
    1.6
    """
    latency = where(mem_insts > 0, l1_latency * transactions_per_request, 0.0)
    return _flops(
        latency,
        math.inf,
        departure_delay,
        peak_achievable,
        effective_perfect,
        effective_comp,
        warps_per_sm,
        mem_strength,
    )


flops_l2 = flops_l1.of(
    *("flops_l2", "l2_latency", *flops_l1.inputs[1:]),
    source="Hong 2012, §5.6, every request served by the second cache",
)


@equation(source="Hong 2012, §5.6, every request served by DRAM")
def flops_dram(
    mem_latency_dram,
    transactions_per_request,
    mem_insts,
    core_clock,
    load_bytes_per_warp,
    mem_bandwidth,
    active_sms,
    departure_delay,
    peak_achievable,
    effective_perfect,
    effective_comp,
    warps_per_sm,
    mem_strength,
    sharing_requests,
):
    """Floating-point operations a second if DRAM serves every request. [1/s]

    >>> machine, workload = (1e9, 128.0, 128e9, 10.0, 0.0), (11.0, 2.0, 10.0, 8.0, 1.0, 1.0)
    >>> round(flops_dram(450.0, 1.0, 1.0, *machine, *workload), 4)
    0.3385
    """
    latency = where(mem_insts > 0, mem_latency_dram * transactions_per_request, 0.0)
    per_warp = _memory_warps.bw_per_warp(core_clock, load_bytes_per_warp, latency)
    allowed = _memory_demand.mwp_bw(mem_bandwidth, per_warp, 1, active_sms) / sharing_requests
    return _flops(
        latency,
        allowed,
        departure_delay,
        peak_achievable,
        effective_perfect,
        effective_comp,
        warps_per_sm,
        mem_strength,
    )


EQUATIONS = (flops_l1, flops_l2, flops_dram)
