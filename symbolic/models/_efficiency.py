"""Work per energy, and the number of SMs that maximizes it (Hong 2012, §3.5.4 and Eqs. 62-63).

``optimal_sms`` uses MWP and CWP for all SMs, so it does not depend on ``active_sms``. Compare it
with an exact search: ``Study(model="ipp", axes={"active_sms":
...}).optimum(maximize="perf_per_watt")``.
"""

from symbolic.equation import equation
from symbolic.models import _memory
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import both, ceil, divide, either, equal, floor, maximum, minimum, negate, where


@equation(source="Hong 2012, section 3.5.4")
def work_insts(total_insts, elements):
    """Work, measured as the thesis does: instructions of all threads. [instructions]"""
    return total_insts * elements


@equation(source="Hong 2012, section 3.5.4", symbol="IPS")
def insts_per_second(work_insts, time):
    """Instructions of all threads per second. [1/s]"""
    return divide(work_insts, time, at_zero=0.0)


@equation(source="Hong 2012, Fig. 48, as Eq. 7 counts bytes")
def bandwidth_used(load_bytes_per_warp, mem_insts, warps_run_per_sm, busy_sms, time):
    """Bytes per second that the requests of all warps load. [B/s]"""
    requests = mem_insts * warps_run_per_sm * busy_sms
    return divide(load_bytes_per_warp * requests, time, at_zero=0.0)


@equation(source="Hong 2012, Eq. 62", symbol="Perf/W")
def perf_per_watt(work_insts, energy):
    """Instructions per second per watt, which equals instructions per joule. [1/J]"""
    return divide(work_insts, energy, at_zero=0.0)


@equation(source="Hong 2012, section 2.3.5, every SM in use", symbol="N")
def warps_on_all_sms(warps_per_sm, blocks, n_sms, warps_per_block):
    """Resident warps of a busy SM if blocks are distributed over all SMs. [warps]"""
    most = ceil(blocks / minimum(blocks, n_sms)) * warps_per_block
    return maximum(minimum(warps_per_sm, most), 1)


@equation(source="Hong 2012, Eq. 6, every SM in use")
def mwp_peak_bw_on_all_sms(mem_bandwidth, bw_per_warp, blocks, n_sms):
    """Warps per SM that reach the peak bandwidth if blocks are distributed over all SMs. [warps]

    >>> round(mwp_peak_bw_on_all_sms(120e9, 1.3e9 * 128 / 450, 300.0, 30.0), 4)
    10.8173
    """
    return _memory.mwp_peak_bw(mem_bandwidth, bw_per_warp, minimum(blocks, n_sms))


_WARP_INPUTS = ("parallel_warps_on_all_sms", "warps_on_all_sms", "mem_insts", "independent_insts")
parallel_warps_on_all_sms = _memory.parallel_warps.copy_as(*_WARP_INPUTS, symbol="")
parallel_warps_on_all_sms_printed = _memory.parallel_warps_printed.copy_as(*_WARP_INPUTS, symbol="")
mwp_on_all_sms = _memory.mwp.copy_as(
    *("mwp_on_all_sms", "mwp_without_bw_full", "mwp_peak_bw_on_all_sms"),
    "parallel_warps_on_all_sms",
    source="Hong 2012, Eq. 5, every SM in use",
    when={},
)


@equation(source="Hong 2012, Eq. 9, every SM in use", symbol="CWP")
def cwp_on_all_sms(cwp_full, warps_on_all_sms):
    """Computation warp parallelism if blocks are distributed over all SMs. [warps]"""
    return minimum(cwp_full, warps_on_all_sms)


@equation(source="Hong 2012, Eq. 63, its last line")
def sms_at_peak_bw(mem_bandwidth, bw_per_warp, warps_on_all_sms, n_sms):
    """Number of SMs that together reach the peak bandwidth. [SMs]

    >>> round(sms_at_peak_bw(120e9, 1.3e9 * 128 / 450, 16.0, 30.0), 2)
    20.28
    """
    return divide(mem_bandwidth, bw_per_warp * warps_on_all_sms, at_zero=n_sms)


@equation(source="Hong 2012, Eq. 63", when=CORRECTED)
def optimal_sms(
    n_sms, sms_at_peak_bw, mwp_on_all_sms, cwp_on_all_sms, warps_on_all_sms, mwp_peak_bw_on_all_sms
):
    """Number of SMs with the most work per energy: the fewest with the peak bandwidth. [SMs]

    All SMs are best (1) in case 1, (2) if MWP > CWP, (3) if MWP < MWP_peak_BW. We read condition
    (1) as MWP = N *and* CWP = N. The printed "or" would give all SMs to bandwidth-bound benchmarks,
    whose CWP is N, but the thesis prints 20. The result is rounded to the nearest whole number,
    because the thesis prints 20 for 20.28 (§3.5.5) and 11 for 10.77 (Table 13).

    >>> optimal_sms(30.0, 20.28, 10.8173, 16.0, 16.0, 10.8173)
    20.0
    """
    few = both(mwp_on_all_sms >= warps_on_all_sms, equal(cwp_on_all_sms, warps_on_all_sms))
    bound = both(mwp_on_all_sms <= cwp_on_all_sms, mwp_peak_bw_on_all_sms <= mwp_on_all_sms)
    return where(both(bound, negate(few)), maximum(floor(sms_at_peak_bw + 0.5), 1), n_sms)


@equation(name="optimal_sms", source="Hong 2012, Eq. 63", when=PRINTED, inputs=optimal_sms.inputs)
def optimal_sms_printed(n_sms, at_peak_bw, mwp, cwp, warps, mwp_peak_bw):
    """Number of SMs with the most work per energy, as printed ("MWP = N or CWP = N"). [SMs]

    >>> optimal_sms_printed(30.0, 20.28, 10.8173, 16.0, 16.0, 10.8173)
    30.0
    """
    met = both(mwp <= cwp, mwp_peak_bw <= mwp, negate(either(equal(mwp, warps), equal(cwp, warps))))
    return where(met, maximum(floor(at_peak_bw + 0.5), 1), n_sms)
