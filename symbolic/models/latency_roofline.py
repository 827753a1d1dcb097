"""Run time on a GPU with caches: a roofline of units and memory levels, and exposed latency.

Each unit takes some time for its work in a launch. The units are schedulers, single-precision,
double-precision, integer, special-function and tensor units, the L1 cache with shared memory, the
L2 cache, its atomics, DRAM, and the start of blocks. The time of the slowest unit is a lower bound
(the hierarchical roofline). Latency gives another: the longest warp of a block takes the cycles
between its instructions, plus the latencies of its requests (each a mean over the levels that serve
it); blocks run in waves. If both bounds are close, neither hides the other completely, so they are
joined as the root of the sum of squares. The sum of both bounds predicts left-out kernels worse. A
norm of order two in place of the slowest unit lowers the error of 371 launches on an H100 from 12
to 11 %, but the choices in two tuning spaces get worse: the 90th percentile of the slowdown is 1.18
instead of 1.11.

The power limit of the board lengthens a launch only if the launch would draw more. Then the board
lowers its clock and voltage, or waits: the time is the shortest at five voltages, each with its
highest clock, in which idle power leaves enough for the energy of instructions and bytes. Tensor
units are not counted (see ``gemm``). Energy and idle power are proportional to the square of the
voltage, which falls with the core clock. With the two numbers of a P100 and its idle power, the
power of 30 kernels at four clocks follows from that at the top clock with an error of 2 % (median;
14 % at a constant voltage), and the clock of least energy costs 0.3 % more than the best one. Other
machines are assumed to be like it.

Bytes and instructions come from a profile or from ``dse.kernel``. Values that a profile lacks have
defaults that add no cost: the bytes of a cache default to the bytes of the next lower level.
Blocks of uneven work and the partial last wave are not modelled. ``l2_bandwidth`` is assumed to be
the same at all clocks of the cores: its clock is not published. If it follows theirs, times at low
clocks are too short for kernels near the limit of the L2 cache. Join with ``occupancy``.

Not monotone: with fewer ``l1_bytes``, ``warp_bytes``, ``l2_bytes`` or ``atomic_bytes``, and the
same bytes of the next level, a larger share of each request misses the cache. With fewer
``imad_insts`` among as many integer instructions, the integer units have more work. At the power
limit, the time may grow with ``core_clock``, as the voltage rises.
"""

import math
from dataclasses import replace

from symbolic.equation import Family, Guide, Validity, equation
from symbolic.models._residency import BLOCK_EQUATIONS
from symbolic.models._shared import mem_latency_dram, warps_per_block
from symbolic.ops import ceil, divide, equal, maximum, minimum, sqrt, where

OUTPUTS = ("time", "throughput_time", "latency_bound_time", "bound_by")
VALIDITY = Validity(
    quantity="cache_levels",
    minimum=1,
    statement="latency_roofline assumes caches, which the machine does not have: take mwp_cwp",
)

UNITS = {
    "issue": "issue_time", "floating_point": "fp_time", "double_precision": "fp64_time",
    "integer": "int_time", "special": "special_time", "l1": "l1_time", "l2": "l2_time",
    "dram": "dram_time", "tensor": "tensor_time", "dispatch": "dispatch_time",
    "atomic": "atomic_time",
}  # fmt: skip

#: Labels of the bound; the index of a label is its number in stored results, so new units come
#: last.
LABELS = (*tuple(UNITS)[:8], "latency", *tuple(UNITS)[8:], "power")
LIMITS = {**UNITS, "latency": "latency_bound_time", "power": "power_bound_time"}

#: Voltages at which a board at its limit may run: 0 is the lowest, 1 that of the core clock.
VOLTAGES = (0.0, 0.25, 0.5, 0.75, 1.0)

# a machine whose board power is unknown has no limit
RULES = (
    "(seconds_per_joule <= 0 or power_limit_share > idle_power_share * lowest_voltage_square)",
)

FAMILIES = (
    Family(of="limiting_time", terms=LIMITS, largest=True),
    Family(of="throughput_time", terms=UNITS, largest=True),
)
_GUIDE = Guide(
    state="bound_by",
    goal="time",
    limits="limiting_time",
    helps="time",
    same_work=True,
    # these are the work of the launch, which moves must not change
    fixed=frozenset(
        {
            *("fp_insts", "fp64_insts", "sfu_insts", "coalesced_insts", "uncoalesced_insts"),
            *("launch_bytes", "dram_bytes", "load_requests", "warp_tensor_flops"),
            *("updated_bytes", "launch_updated_bytes"),
            *("atomic_words", "atomic_bytes"),
            "board_power",  # moved by power_limit_share
        }
    ),
    conditions=(
        "issue_interval >= 1",  # a warp issues at most one instruction a cycle
        "fp_insts + sfu_insts <= comp_insts",
        "launch_bytes <= blocks * block_bytes",
        "updated_bytes <= block_bytes",
        "launch_bytes + launch_updated_bytes <= l1_bytes",
        "dram_bytes <= l2_bytes",
        "l2_bytes <= l1_bytes",
    ),
    show=("throughput_time", "latency_bound_time"),
)
ADVICE = (
    _GUIDE,
    replace(
        _GUIDE,
        state="throughput_time",
        goal="throughput_time",
        limits="throughput_time",
        helps="throughput_time",
        show=(),
    ),
)

SHARED = (*BLOCK_EQUATIONS, mem_latency_dram, warps_per_block)


@equation(source="by definition")
def launch_warps(blocks, warps_per_block):
    """Warps of the launch. [warps]"""
    return blocks * warps_per_block


@equation(source="by definition: counts of a warp are those of ``counted_warp_size`` threads")
def counted_warps(blocks, threads_per_block, counted_warp_size):
    """Number of warps in the launch, with the warp size of the instruction counts. [warps]"""
    return blocks * ceil(threads_per_block / counted_warp_size)


@equation(source="Hong 2012, Table 1; each scheduler issues one instruction a cycle (Jia 2018)")
def issue_time(launch_warps, total_insts, issue_cycles, busy_sms, core_clock):
    """Time of the schedulers that issue all instructions. [s]"""
    return launch_warps * total_insts * issue_cycles / (busy_sms * core_clock)


@equation(source="CUDA programming guide, arithmetic throughput")
def special_time(launch_warps, warp_size, sfu_insts, special_units_per_sm, busy_sms, core_clock):
    """Time of the units that execute one kind of instruction. [s]"""
    return launch_warps * warp_size * sfu_insts / (special_units_per_sm * busy_sms * core_clock)


_WARPS, _RATE = ("launch_warps", "warp_size"), ("busy_sms", "core_clock")
fp64_time = special_time.copy_as("fp64_time", *_WARPS, "fp64_insts", "fp64_units_per_sm", *_RATE)


@equation(source="NVIDIA developer forum 108729, 302018: IMAD runs on the FP32 pipe from 7.0 on")
def fp_time(
    launch_warps, warp_size, fp_insts, imad_insts, cores_per_sm, int_units_per_sm, busy_sms,
    core_clock,
):  # fmt: skip
    """Time of the FP32 pipe; a part of it (``int_units_per_sm``) also multiplies integers. [s]"""
    cycles = maximum((fp_insts + imad_insts) / cores_per_sm, imad_insts / int_units_per_sm)
    return launch_warps * warp_size * cycles / (busy_sms * core_clock)


@equation(source="CUDA programming guide, arithmetic throughput")
def int_time(
    launch_warps, warp_size, int_insts, imad_insts, int_units_per_sm, busy_sms, core_clock
):
    """Time of the units that execute integer instructions other than IMAD. [s]"""
    others = launch_warps * warp_size * maximum(int_insts - imad_insts, 0)
    return others / (int_units_per_sm * busy_sms * core_clock)


@equation(source="by definition")
def tensor_flops(counted_warps, warp_tensor_flops):
    """Operations of tensor units in the launch. [operations]"""
    return counted_warps * warp_tensor_flops


@equation(name="tensor_rate", source="printed rate", when={"tensor_type": "fp16"})
def tensor_rate_fp16(tensor_fp16_flops):
    """Operations per second of all tensor units at the boost clock, for a number type. [1/s]"""
    return tensor_fp16_flops


def _rate_of(label, quantity):
    return tensor_rate_fp16.copy_as("tensor_rate", quantity, when={"tensor_type": label})


tensor_rate_fp16_fp16 = _rate_of("fp16_fp16", "tensor_fp16_fp16_flops")
tensor_rate_bf16 = _rate_of("bf16", "tensor_bf16_flops")
tensor_rate_tf32 = _rate_of("tf32", "tensor_tf32_flops")
tensor_rate_fp64 = _rate_of("fp64", "tensor_fp64_flops")
tensor_rate_int8 = _rate_of("int8", "tensor_int8_ops")
tensor_rate_int4 = _rate_of("int4", "tensor_int4_ops")
tensor_rate_binary = _rate_of("binary", "tensor_binary_ops")
tensor_rate_fp8 = _rate_of("fp8", "tensor_fp8_flops")
tensor_rate_fp8_fp16 = _rate_of("fp8_fp16", "tensor_fp8_fp16_flops")
tensor_rate_fp4 = _rate_of("fp4", "tensor_fp4_flops")
#: The equations of the work and the rate of tensor units, for other models.
TENSOR_EQUATIONS = (
    *(tensor_flops, tensor_rate_fp16, tensor_rate_fp16_fp16, tensor_rate_bf16, tensor_rate_tf32),
    *(tensor_rate_fp64, tensor_rate_int8, tensor_rate_int4, tensor_rate_binary, tensor_rate_fp8),
    *(tensor_rate_fp8_fp16, tensor_rate_fp4),
)


@equation(source="Williams 2009, of the tensor units of the SMs in use")
def tensor_time(tensor_flops, tensor_rate, busy_sms, rated_sms, core_clock, boost_clock):
    """Time of tensor units; infinite if the machine has none for the number type. [s]"""
    rate = tensor_rate * (busy_sms / rated_sms) * (core_clock / boost_clock)
    return where(tensor_flops > 0, divide(tensor_flops, rate, at_zero=math.inf), 0.0)


@equation(source="measured on an H100: no launch starts blocks faster (docs/gpu-validation.md)")
def dispatch_time(blocks, dispatch_cycles, core_clock):
    """Time in which the machine starts all blocks, one after another. [s]"""
    return blocks * dispatch_cycles / core_clock


@equation(source="measured on an H100: a sector's atomics take turns (docs/gpu-validation.md)")
def atomic_time(counted_warps, atomic_words, atomic_bytes, atomic_cycles, core_clock):
    """Time in which the sectors of the L2 cache (32 bytes) execute their shares of the atomics. [s]

    All sectors have equal shares of the words that the requests change. If the bytes that atomics
    change are unknown (0), they are assumed to spread over so many sectors that they take no time.
    """
    shares = divide(32 * counted_warps * atomic_words, atomic_bytes, at_zero=0.0)
    return shares * atomic_cycles / core_clock


@equation(source="NV-DVFS-Benchmark, P100: a lowest voltage, and a straight line above it")
def voltage_square(lowest_voltage_square, voltage_rise, core_clock, boost_clock):
    """Square of the ratio of the voltage to that at the boost clock. [ratio]"""
    voltage = maximum(1 - voltage_rise * (1 - core_clock / boost_clock), 0)
    return maximum(voltage * voltage, lowest_voltage_square)


@equation(source="by definition; a line that is too flat does not reach the lowest voltage")
def lowest_voltage_square(lowest_voltage_ratio, voltage_rise):
    """Square of the ratio of the lowest voltage to that at the boost clock. [ratio]"""
    lowest = maximum(lowest_voltage_ratio, 1 - voltage_rise)
    return lowest * lowest


@equation(source="Choi 2013, energy roofline: operations and bytes; no tensor units")
def dynamic_energy(
    launch_warps, warp_size, total_insts, instruction_energy, l2_bytes, l2_byte_energy, dram_bytes,
    dram_byte_energy, voltage_square,
):  # fmt: skip
    """Energy of the instructions and bytes of the launch, without idle power. [J]"""
    moved = l2_bytes * l2_byte_energy + dram_bytes * dram_byte_energy
    return voltage_square * (launch_warps * warp_size * total_insts * instruction_energy + moved)


@equation(source="all units but the L2 cache and DRAM have the core clock")
def core_time(
    issue_time, fp_time, fp64_time, int_time, special_time, l1_time, tensor_time, dispatch_time,
    atomic_time,
):  # fmt: skip
    """Time of the busiest unit with the core clock. [s]"""
    floating = maximum(maximum(fp_time, fp64_time), tensor_time)
    cores = maximum(maximum(issue_time, floating), maximum(int_time, special_time))
    return maximum(maximum(cores, l1_time), maximum(dispatch_time, atomic_time))


@equation(source="NVIDIA, Volta whitepaper: one data path for shared memory and first cache")
def l1_time(
    counted_warps, shared_wavefronts, l1_wavefronts, l1_bytes, l1_bytes_per_cycle, busy_sms,
    core_clock,
):  # fmt: skip
    """Time of the L1 cache and shared memory; a wavefront has 128 bytes. [s]"""
    shared = 128 * counted_warps * shared_wavefronts
    moved = shared + maximum(128 * counted_warps * l1_wavefronts, l1_bytes)
    return moved / (l1_bytes_per_cycle * busy_sms * core_clock)


@equation(source="Williams 2009, of the second cache")
def l2_time(l2_bytes, l2_bandwidth):
    """Time of the L2 cache. [s]"""
    return l2_bytes / l2_bandwidth


@equation(source="Williams 2009, of the bandwidth that is attained")
def dram_time(dram_bytes, bandwidth_share, mem_bandwidth):
    """Time of DRAM. [s]"""
    return dram_bytes / (bandwidth_share * mem_bandwidth)


@equation(source="Williams 2009, over all units")
def throughput_time(
    issue_time, fp_time, fp64_time, int_time, special_time, l1_time, l2_time, dram_time,
    tensor_time, dispatch_time, atomic_time,
):  # fmt: skip
    """Time if only the busiest unit limited the kernel. [s]"""
    cores = core_time(
        issue_time, fp_time, fp64_time, int_time, special_time, l1_time, tensor_time, dispatch_time,
        atomic_time,
    )  # fmt: skip
    return maximum(cores, maximum(l2_time, dram_time))


@equation(source="bytes of the level below over bytes requested")
def l1_miss_share(l2_bytes, l1_bytes):
    """Share of the bytes requested from the L1 cache that the L2 cache must deliver. [ratio]"""
    return minimum(1, divide(l2_bytes, l1_bytes, at_zero=1.0))


l2_miss_share = l1_miss_share.copy_as("l2_miss_share", "dram_bytes", "l2_bytes")


@equation(source="mean access time of a hierarchy (Hennessy and Patterson)")
def mixed_latency(l1_latency, l2_latency, mem_latency_dram, l1_miss_share, l2_miss_share):
    """Mean latency of a request, weighted by the levels of memory that serve it. [cycles]"""
    missing = (1 - l2_miss_share) * l2_latency + l2_miss_share * mem_latency_dram
    return (1 - l1_miss_share) * l1_latency + l1_miss_share * missing


@equation(source="Volkov 2016: a warp waits for the results that its next instruction uses")
def issue_interval(issue_wait, dependent_latency):
    """Cycles between two instructions of a single warp. [cycles]"""
    return issue_wait * dependent_latency


@equation(source="Volkov 2016, latency of a warp; issue_interval holds dependent instructions")
def warp_cycles(
    issue_interval, total_insts, longest_warp_insts, load_requests, longest_warp_loads,
    mixed_latency, memory_parallelism,
):  # fmt: skip
    """Cycles of the longest warp of a block; the block holds its place so long. [cycles]"""
    waits = load_requests * longest_warp_loads * mixed_latency / memory_parallelism
    return issue_interval * total_insts * longest_warp_insts + waits


@equation(source="Volkov 2016, Little's law: warps resident over the cycles of one")
def latency_bound_time(repetitions, warp_cycles, core_clock):
    """Time if only the latency of warps limited the kernel. [s]"""
    return repetitions * warp_cycles / core_clock


@equation(source="root of the sum of squares; a sum errs more on kernels left out")
def unlimited_time(start_up_time, throughput_time, latency_bound_time):
    """Run time without a power limit. [s]"""
    both = throughput_time * throughput_time + latency_bound_time * latency_bound_time
    return start_up_time + sqrt(both)


@equation(source="Choi 2014, power cap: the fastest of five voltages, each with its highest clock")
def power_time(
    start_up_time, throughput_time, core_time, latency_bound_time, core_clock, boost_clock,
    dynamic_energy, voltage_square, lowest_voltage_square, voltage_rise, seconds_per_joule,
    power_limit_share, idle_power_share,
):  # fmt: skip
    """Time in which the power limit of the board allows the energy of the launch. [s]"""
    highest, lowest, result = sqrt(voltage_square), sqrt(lowest_voltage_square), math.inf
    for share in VOLTAGES:
        voltage = lowest + share * (highest - lowest)
        square = voltage * voltage
        left = maximum(power_limit_share - idle_power_share * square, 0)
        needed = dynamic_energy * (square / voltage_square) * seconds_per_joule
        limited = where(needed > 0, divide(needed, left, at_zero=math.inf), 0.0)
        if share < 1:
            clock = 1 - divide(1 - voltage, voltage_rise, at_zero=0.0)
            slower = maximum(core_clock / (boost_clock * maximum(clock, 1e-3)), 1)
            busiest = maximum(throughput_time, core_time * slower)
            latency = latency_bound_time * slower
            limited = maximum(unlimited_time(start_up_time, busiest, latency), limited)
        result = minimum(result, limited)
    return result


@equation(source="Choi 2014, power cap")
def time(unlimited_time, power_time):
    """Run time. [s]"""
    return maximum(unlimited_time, power_time)


@equation(source="Choi 2014, power cap: without effect unless the board would draw more")
def power_bound_time(unlimited_time, power_time):
    """The time at the power limit if the limit is reached, otherwise 0. [s]"""
    return where(power_time > unlimited_time, power_time, 0.0)


@equation(source="Choi 2013, energy roofline: dynamic energy and idle power")
def average_power(
    dynamic_energy, time, idle_power_share, voltage_square, board_power, power_limit_share,
    seconds_per_joule,
):  # fmt: skip
    """Mean power of the board during the launch, at most its limit. [W]"""
    idle_power = idle_power_share * voltage_square * board_power
    limit = divide(power_limit_share, seconds_per_joule, at_zero=math.inf)
    return minimum(idle_power + divide(dynamic_energy, time, at_zero=0.0), limit)


@equation(source="by definition")
def limiting_time(throughput_time, latency_bound_time, power_bound_time):
    """The largest of three lower bounds of the time: busiest unit, latency, power limit. [s]"""
    return maximum(maximum(throughput_time, latency_bound_time), power_bound_time)


@equation(source="Williams 2009, without the bytes that the L2 cache may keep")
def least_time(
    launch_warps, warp_size, fp_insts, fp_fused_insts, cores_per_sm, busy_sms, core_clock,
    imad_insts, int_time, fp64_time, tensor_time, dram_bytes, l2_size, mem_bandwidth,
):  # fmt: skip
    """Time at the printed rates of operations and of DRAM; half precision counts as single. [s]

    Without ``imad_insts``, ``int_insts`` may hold instructions of the FP32 pipe, and sets no bound.
    """
    operations = launch_warps * warp_size * (fp_insts + fp_fused_insts)
    single = operations / (2 * cores_per_sm * busy_sms * core_clock)
    beyond = maximum(dram_bytes - l2_size, 0)
    pipes = maximum(maximum(single, where(imad_insts > 0, int_time, 0)), fp64_time)
    return maximum(maximum(pipes, tensor_time), beyond / mem_bandwidth)


@equation(
    source="the largest of what bounds the time",
    flags=dict(enumerate(LABELS)),
    inputs=(
        *("throughput_time", "latency_bound_time", "power_bound_time"),
        *tuple(UNITS.values())[:-1],
    ),
)
def bound_by(throughput_time, latency_bound_time, power_bound_time, *times):
    """The bottleneck: what takes longest of units, levels of memory, latency and the power limit.

    If several take equally long, the bottleneck is the first in ``flags``, latency the last.
    """
    *labels, last = UNITS
    unit = float(LABELS.index(last))
    for label, of_unit in reversed([*zip(labels, times, strict=True)]):
        unit = where(equal(throughput_time, of_unit), float(LABELS.index(label)), unit)
    latency, power = (float(LABELS.index(label)) for label in ("latency", "power"))
    unit = where(latency_bound_time > throughput_time, latency, unit)
    return where(power_bound_time > 0, power, unit)
