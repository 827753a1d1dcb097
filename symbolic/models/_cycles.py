"""Cycles of an instruction mix without memory accesses, ideal and real (Hong 2012, Eqs. 65-70).

*Narrow* floating-point instructions run at the scalar peak, *wide* ones at a higher peak. On a GPU
the wide instructions are fused multiply-adds, on a CPU SIMD instructions. A GPU runs vectorisable
instructions like any others; a CPU runs a fused instruction as two.

Corrections: perfect cycles are those at the peak, with all units in use, and no cycles are fewer;
on a CPU, scalar and SIMD instructions take their own times. So ``flops`` times the run time equals
the number of operations, and ``flops`` is at most the peak. As printed, both cycles are divided by
the ILP, and ``flops`` is too high if the ILP is below the number of units that a thread can fill.
"""

from symbolic.equation import equation
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import divide, maximum, where

GPU, CPU = {"processor": "gpu"}, {"processor": "cpu"}
GPU_PRINTED, CPU_PRINTED = GPU | PRINTED, CPU | PRINTED
GPU_CORRECTED, CPU_CORRECTED = GPU | CORRECTED, CPU | CORRECTED


@equation(source="Hong 2012, Table 15", symbol=r"\#FP", when=GPU)
def narrow_fp_insts(fp_insts, fp_vec_insts):
    """Number of narrow (or wide) instructions, vectorisable or not. [instructions]"""
    return fp_insts + fp_vec_insts


@equation(name="narrow_fp_insts", source="Hong 2012, §5.7", symbol=r"\#FP", when=CPU)
def narrow_fp_insts_cpu(fp_insts, fp_fused_insts):
    """Number of scalar (or SIMD) instructions; a fused instruction counts as two. [instructions]"""
    return fp_insts + 2 * fp_fused_insts


wide_fp_insts = narrow_fp_insts.copy_as(
    *("wide_fp_insts", "fp_fused_insts", "fp_vec_fused_insts"),
    source="Hong 2012, §5.3.4",
    symbol=r"\#FusedFP",
)

wide_fp_insts_cpu = narrow_fp_insts_cpu.copy_as(
    *("wide_fp_insts", "fp_vec_insts", "fp_vec_fused_insts"), symbol=r"\#FusedFP"
)


@equation(source="Hong 2012, Eq. 65")
def narrow_fraction(narrow_fp_insts, wide_fp_insts):
    """Narrow share of the floating-point instructions; 1 if there are none. [ratio]"""
    return divide(narrow_fp_insts, narrow_fp_insts + wide_fp_insts, at_zero=1.0)


@equation(source="Hong 2012, Eq. 66")
def wide_fraction(narrow_fp_insts, wide_fp_insts):
    """Wide share of the floating-point instructions. [ratio]"""
    return divide(wide_fp_insts, narrow_fp_insts + wide_fp_insts, at_zero=0.0)


@equation(source="Hong 2012, Eq. 65 and Table 14", symbol="DevPeakFP")
def peak_narrow(active_sms, fp_units, core_clock):
    """Peak operations per second of the scalar units of the active cores. [1/s]"""
    return active_sms * fp_units * core_clock


@equation(source="Hong 2012, §5.3.4", symbol="DevPeakFusedFP", when=GPU)
def peak_wide(peak_narrow):
    """Peak operations per second if every instruction is a fused multiply-add. [1/s]"""
    return 2 * peak_narrow


@equation(name="peak_wide", source="Hong 2012, Eq. 66, Table 14", symbol="DevPeakFusedFP", when=CPU)
def peak_wide_cpu(active_sms, simd_units, simd_lanes, core_clock):
    """Peak operations per second of the SIMD units of the active cores. [1/s]"""
    return active_sms * simd_units * simd_lanes * core_clock


@equation(source="Hong 2012, Eqs. 65-67", symbol="PeakAchi", when=GPU)
def peak_achievable(peak_narrow, narrow_fraction, peak_wide, wide_fraction):
    """Operations per second if only floating-point instructions ran and never waited. [1/s]

    As printed, this is the mean of both peaks, weighted by instructions. The mean is exact on a
    GPU. On a CPU with scalar and SIMD instructions it is too high, because scalar instructions take
    longer.
    """
    return peak_narrow * narrow_fraction + peak_wide * wide_fraction


peak_achievable_cpu_printed = peak_achievable.copy_as(
    "peak_achievable", *peak_achievable.inputs, when=CPU_PRINTED
)


@equation(
    name="peak_achievable", source="Hong 2012, Table 14", symbol="PeakAchi", when=CPU_CORRECTED
)
def peak_achievable_cpu(peak_narrow, narrow_fraction, peak_wide, wide_fraction):
    """Operations per second if scalar and SIMD instructions run one after another. [1/s]"""
    return divide(1, narrow_fraction / peak_narrow + wide_fraction / peak_wide, at_zero=0.0)


@equation(source="Hong 2012, Table 15")
def comp_insts(fp_insts, fp_fused_insts, fp_vec_insts, fp_vec_fused_insts, int_insts, misc_insts):
    """Instructions of one thread that do not access memory. [instructions]"""
    return fp_insts + fp_fused_insts + fp_vec_insts + fp_vec_fused_insts + int_insts + misc_insts


@equation(source="Hong 2012, §5.3.4, a core narrower than a warp")
def lane_passes(warp_size, fp_units):
    """Number of times that an instruction of a warp passes through a core's units. [ratio]"""
    return maximum(warp_size / fp_units, 1)


@equation(source="Hong 2012, §5.2")
def simd_ilp(ilp, simd_lanes):
    """Number of elements that a thread's SIMD instructions process at once. [ratio]"""
    return ilp * simd_lanes


@equation(source="Hong 2012, Eq. 69", symbol="PerfCycles", when=GPU_CORRECTED)
def perfect_cycles(narrow_fp_insts, wide_fp_insts, warp_size, fp_units):
    """Cycles of one warp's floating-point instructions if they fill all units. [cycles]"""
    return (narrow_fp_insts + wide_fp_insts) * (warp_size / fp_units)


@equation(name="perfect_cycles", source="Hong 2012, Eq. 69", symbol="PerfCycles", when=GPU_PRINTED)
def perfect_cycles_printed(narrow_fp_insts, wide_fp_insts, ilp, lane_passes):
    """Cycles of one warp's floating-point instructions if none waits, as printed. [cycles]"""
    return (narrow_fp_insts + wide_fp_insts) / ilp * lane_passes


@equation(
    name="perfect_cycles", source="Hong 2012, Eq. 69", symbol="PerfCycles", when=CPU_CORRECTED
)
def perfect_cycles_cpu(narrow_fp_insts, wide_fp_insts, fp_units, simd_units, simd_lanes):
    """Cycles of one thread's floating-point instructions if they fill all units. [cycles]"""
    return narrow_fp_insts / fp_units + wide_fp_insts / (simd_units * simd_lanes)


@equation(name="perfect_cycles", source="Hong 2012, Eq. 69", symbol="PerfCycles", when=CPU_PRINTED)
def perfect_cycles_cpu_printed(narrow_fp_insts, wide_fp_insts, ilp, simd_ilp):
    """Cycles of one thread's floating-point instructions if none waits, as printed. [cycles]"""
    return narrow_fp_insts / ilp + wide_fp_insts / simd_ilp


@equation(source="Hong 2012, §5.3.4", symbol=r"DEP\_Effect", when=CORRECTED)
def dependency_factor(inst_latency, dependency_distance, warps_per_sm):
    """Slowdown because instructions wait for the result of an earlier one. [ratio]

    Correction: the printed equation omits the number of warps, so other warps hide no latency. By
    that equation, a latency of 20 cycles slows down every GPU by the factor 20 /
    ``dependency_distance``. On a CPU, which has one warp per core, both equations agree.
    """
    return maximum(divide(inst_latency, dependency_distance * warps_per_sm, at_zero=1.0), 1)


@equation(name="dependency_factor", source="Hong 2012, §5.3.4", symbol=r"DEP\_Effect", when=PRINTED)
def dependency_factor_printed(inst_latency, dependency_distance):
    """Slowdown because instructions wait for the result of an earlier one, as printed. [ratio]"""
    return maximum(inst_latency / dependency_distance, 1)


@equation(source="Hong 2012, Eq. 70", symbol="TotalCycles", when=GPU)
def issued_cycles(total_insts, dependency_factor, ilp, lane_passes, imbalance_loss):
    """Cycles of all instructions of one warp if units and memory accesses took no time. [cycles]

    The cycles are multiplied by the loss from imbalance of the lanes, if that loss is known.
    """
    return total_insts * dependency_factor / ilp * lane_passes * imbalance_loss


@equation(name="issued_cycles", source="Hong 2012, Eq. 70", symbol="TotalCycles", when=CPU)
def issued_cycles_cpu(
    total_insts, fp_fused_insts, fp_vec_insts, fp_vec_fused_insts, dependency_factor, ilp, simd_ilp,
    imbalance_loss,
):  # fmt: skip
    """Cycles of all instructions of a thread if units and memory took no time. [cycles]"""
    wide = wide_fp_insts_cpu(fp_vec_insts, fp_vec_fused_insts)
    scalar = maximum(total_insts + fp_fused_insts - fp_vec_insts - fp_vec_fused_insts, 0)
    return (scalar / ilp + wide / simd_ilp) * dependency_factor * imbalance_loss


@equation(source="Hong 2012, Eq. 70", symbol="TotalCycles", when=CORRECTED)
def comp_cycles(issued_cycles, perfect_cycles, imbalance_loss):
    """Cycles of all instructions of one warp if memory accesses take no time. [cycles]

    Correction: they are at least the cycles that the floating-point units need. Lanes that have
    finished take part in these instructions.
    """
    return maximum(issued_cycles, perfect_cycles * imbalance_loss)


@equation(name="comp_cycles", source="Hong 2012, Eq. 70", symbol="TotalCycles", when=PRINTED)
def comp_cycles_printed(issued_cycles):
    """Cycles of all instructions of one warp if memory takes no time, as printed. [cycles]"""
    return issued_cycles


@equation(source="Hong 2012, §5.3.3", symbol="EffComp")
def effective_comp(comp_cycles, mem_insts):
    """Computation cycles of a warp per memory instruction (all cycles if it has none). [cycles]"""
    return comp_cycles / where(mem_insts > 0, mem_insts, 1.0)


effective_perfect = effective_comp.copy_as(
    *("effective_perfect", "perfect_cycles", "mem_insts"), symbol="EffPerf"
)
