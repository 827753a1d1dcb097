"""The roofline: operations per second against operations per byte (Williams 2009).

A roof is the bandwidth of a level of memory times the operations per byte of that level (Ilic 2014,
Yang 2020). A ceiling is the peak of a pipe; a fused multiply-add counts as two operations. No
kernel is above the lowest roof or ceiling. Join with a model of the time and of the bytes, such as
``occupancy + latency_roofline + footprint``, or give ``time``, ``dram_bytes`` and ``work_flops``.

Operations of single and double precision and of tensor units are counted. Half precision outside
tensor units is not counted. If a workload has no ``fp_insts``, all its computation counts as
floating point.
"""

import math

from symbolic.equation import Family, Validity, equation
from symbolic.models._cycles import narrow_fp_insts, narrow_fp_insts_cpu
from symbolic.models.energy_roofline import bandwidth_flops
from symbolic.models.latency_roofline import TENSOR_EQUATIONS, counted_warps
from symbolic.ops import divide, maximum, minimum, where

OUTPUTS = ("attained_flops", "attainable_flops", "work_flops", "arithmetic_intensity")
VALIDITY = Validity(statement="roofs are peak rates, which exist on any machine")

FAMILIES = (
    Family(
        of="attainable_flops",
        terms={"dram": "bandwidth_flops", "l2": "l2_roof", "l1": "l1_roof", "pipes": "pipe_roof"},
    ),
)

SHARED = (narrow_fp_insts, narrow_fp_insts_cpu, counted_warps, bandwidth_flops, *TENSOR_EQUATIONS)


@equation(source="by definition: a fused multiply-add is two operations")
def vector_flops(blocks, threads_per_block, narrow_fp_insts, fp_fused_insts):
    """Floating-point operations of the launch outside tensor units. [operations]"""
    return blocks * threads_per_block * (narrow_fp_insts + 2 * fp_fused_insts)


@equation(source="by definition, with as many fused ones in double precision as in all")
def vector_fp64_flops(vector_flops, fp64_insts, narrow_fp_insts, fp_fused_insts):
    """Number of the ``vector_flops`` in double precision. [operations]"""
    return vector_flops * divide(fp64_insts, narrow_fp_insts + fp_fused_insts, at_zero=0.0)


@equation(source="by definition")
def work_flops(vector_flops, tensor_flops):
    """Floating-point operations of the launch. [operations]"""
    return vector_flops + tensor_flops


@equation(source="as l1_time of latency_roofline: a wavefront has 128 bytes")
def l1_moved_bytes(counted_warps, shared_wavefronts, l1_wavefronts, l1_bytes):
    """Bytes that the data path of L1 cache and shared memory moves. [B]"""
    shared = 128 * counted_warps * shared_wavefronts
    return shared + maximum(128 * counted_warps * l1_wavefronts, l1_bytes)


@equation(source="Williams 2009, operational intensity")
def arithmetic_intensity(work_flops, dram_bytes):
    """Operations per byte moved by DRAM; infinite if DRAM moves none. [1/B]"""
    return divide(work_flops, dram_bytes, at_zero=math.inf)


l2_intensity = arithmetic_intensity.copy_as("l2_intensity", "work_flops", "l2_bytes")
l1_intensity = arithmetic_intensity.copy_as("l1_intensity", "work_flops", "l1_moved_bytes")


@equation(source="by definition")
def l1_bandwidth(l1_bytes_per_cycle, active_sms, core_clock):
    """Bandwidth of the L1 caches with shared memory of all active SMs. [B/s]"""
    return l1_bytes_per_cycle * active_sms * core_clock


@equation(source="CUDA programming guide, arithmetic throughput: a multiply-add a cycle")
def fp32_ceiling(cores_per_sm, active_sms, core_clock):
    """Operations per second if all units execute fused multiply-adds. [1/s]"""
    return 2 * cores_per_sm * active_sms * core_clock


FP64_INPUTS = ("fp64_units_per_sm", "active_sms", "core_clock")
fp64_ceiling = fp32_ceiling.copy_as("fp64_ceiling", *FP64_INPUTS)


@equation(source="printed rate, at this clock")
def tensor_ceiling(tensor_rate, active_sms, rated_sms, core_clock, boost_clock):
    """Operations per second of tensor units; 0 if they do not support the number type. [1/s]"""
    return tensor_rate * (active_sms / rated_sms) * (core_clock / boost_clock)


def _ceiling_of(name, rate):
    return tensor_ceiling.copy_as(name, rate, *tensor_ceiling.inputs[1:])


tensor_fp64_ceiling = _ceiling_of("tensor_fp64_ceiling", "tensor_fp64_flops")
tensor_tf32_ceiling = _ceiling_of("tensor_tf32_ceiling", "tensor_tf32_flops")
tensor_fp16_ceiling = _ceiling_of("tensor_fp16_ceiling", "tensor_fp16_flops")
tensor_fp8_ceiling = _ceiling_of("tensor_fp8_ceiling", "tensor_fp8_flops")
tensor_int8_ceiling = _ceiling_of("tensor_int8_ceiling", "tensor_int8_ops")

l2_roof = bandwidth_flops.copy_as("l2_roof", "l2_intensity", "l2_bandwidth")
l1_roof = bandwidth_flops.copy_as("l1_roof", "l1_intensity", "l1_bandwidth")


@equation(source="Williams 2009, ceilings, for a mix of pipes")
def pipe_roof(
    work_flops, vector_flops, vector_fp64_flops, tensor_flops, fp32_ceiling, fp64_ceiling,
    tensor_ceiling,
):  # fmt: skip
    """Operations per second if only the pipe that takes longest limited the kernel. [1/s]"""
    single = (vector_flops - vector_fp64_flops) / fp32_ceiling
    tensor = where(tensor_flops > 0, divide(tensor_flops, tensor_ceiling, at_zero=math.inf), 0.0)
    longest = maximum(maximum(single, vector_fp64_flops / fp64_ceiling), tensor)
    return divide(work_flops, longest, at_zero=math.inf)


@equation(source="Williams 2009, the roofline over levels of memory (Ilic 2014) and pipes")
def attainable_flops(bandwidth_flops, l2_roof, l1_roof, pipe_roof):
    """Operations per second that the lowest roof or ceiling allows. [1/s]"""
    return minimum(minimum(bandwidth_flops, l2_roof), minimum(l1_roof, pipe_roof))


@equation(source="by definition")
def attained_flops(work_flops, time):
    """Operations per second of the launch. [1/s]"""
    return divide(work_flops, time, at_zero=math.inf)
