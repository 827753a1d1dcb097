"""Rows of the quantities of machines: parts, clocks, rates, caches."""

from symbolic.quantity import Quantity, cost, fact, resource, row, spec
from symbolic.quantity_rows import COUNT0, COUNT1, NONNEG, POS

MACHINE = (
    resource("n_sms", "", COUNT1, "streaming multiprocessors of the machine", (1, 128)),
    row("active_sms", "", COUNT1, "multiprocessors in use", (1, 128), "n_sms", direction="up"),
    fact("rated_sms", "", COUNT1, "multiprocessors for which the rates of the machine are printed",
         (1, 128), "n_sms"),
    resource("cores_per_sm", "", COUNT1, "scalar cores of one multiprocessor", (8, 192)),
    fact("warp_size", "", COUNT1, "threads of a warp", (32, 64), 32),
    resource("core_clock", "Hz", POS, "clock of the cores", (5e8, 2e9), "nominal_clock"),
    fact("min_core_clock", "Hz", POS, "slowest clock of the cores", (2e8, 1e9)),
    resource("max_core_clock", "Hz", POS, "fastest clock of the cores", (1e9, 3e9)),
    fact("nominal_clock", "Hz", POS, "clock at which latencies were measured", (5e8, 2e9)),
    resource("mem_bandwidth", "B/s", POS, "DRAM bandwidth of the machine", (5e10, 2e12)),
    cost("mem_latency_nominal", "cycle", POS, "DRAM round trip at the nominal clock", (200, 800)),
    cost("mem_latency_dram", "cycle", POS, "DRAM round trip of one transaction", (200, 800)),
    cost("departure_delay_coalesced", "cycle", NONNEG, "least time between coalesced requests",
         (1, 10)),
    cost("departure_delay_uncoalesced", "cycle", NONNEG, "least distance, uncoalesced", (4, 40)),
    cost("issue_cycles", "cycle", POS, "cycles to issue one instruction of a warp", (1, 8)),
    resource("max_threads_per_sm", "", COUNT1, "resident threads of one SM", (768, 2048)),
    resource("max_warps_per_sm", "", COUNT1, "resident warps of one SM", (24, 64)),
    resource("max_blocks_per_sm", "", COUNT1, "resident blocks of one SM", (8, 32)),
    resource("max_threads_per_block", "", COUNT1, "threads of one block", (512, 1024)),
    resource("registers_per_sm", "", COUNT1, "registers of one SM", (8192, 65536)),
    resource("max_registers_per_block", "", COUNT1, "registers one block may use", (8192, 65536),
             "registers_per_sm"),
    resource("max_registers_per_thread", "", COUNT1, "registers one thread may use", (63, 255),
             255),
    resource("shared_mem_per_sm", "B", COUNT0, "shared memory of one SM", (16384, 167936)),
    resource("max_shared_mem_per_block", "B", COUNT0, "shared memory one block may use",
             (16384, 167936), "shared_mem_per_sm"),
    fact("register_allocation_unit", "", COUNT1, "allocation unit of registers", (256, 512)),
    fact("warp_allocation_unit", "", COUNT1, "allocation unit of the warps of a block", (1, 4)),
    fact("warp_check_unit", "", COUNT1, "allocation unit of warps in the block's limit", (1, 4),
         4),
    fact("shared_mem_allocation_unit", "B", COUNT1, "allocation unit of shared memory", (128, 512)),
    cost("reserved_shared_mem_per_block", "B", COUNT0, "taken by the system, per block", (0, 1024),
         0),
    fact("registers_allocated_per_warp", "", "whole [0, 1]", "1: per warp, 0: per block", (0, 1)),
)  # fmt: skip

# Printed values of today's GPUs (such as ``l2_bytes_per_cycle``, ``fp32_flops``, ``boost_clock``)
# and measured values (``read_bandwidth``, ``l2_bandwidth``, the latencies) have different names.
# Rates hold at the boost clock of the machine. Latencies hold at its nominal clock, and are in core
# cycles.


def _rate(name: str, what: str, least: float, most: float) -> Quantity:
    meaning = f"{what}, of the machine at its boost clock, without sparsity"
    return resource(name, "FLOP/s", POS, meaning, (least, most))


def _tensor_rate(name: str, kind: str, default: float | str = 0) -> Quantity:
    meaning = f"{kind} operations per second of tensor units at the boost clock; 0: none"
    unit = "OP/s" if name.endswith("_ops") else "FLOP/s"
    return resource(name, unit, NONNEG, meaning, (5e13, 2e15), default)


DEVICE = (
    fact("release_year", "", "whole [1999, 2100]", "release year of the machine"),
    fact("cache_levels", "", "whole [0, 4]", "number of caches that global loads pass", (0, 3)),
    fact("base_clock", "Hz", POS, "base clock of the cores, as printed", (7e8, 2e9)),
    fact("boost_clock", "Hz", POS, "boost clock of the cores, as printed", (1e9, 3e9),
         "nominal_clock"),
    fact("nominal_memory_clock", "Hz", POS, "default clock of the memory", (4e8, 2e9)),
    resource("memory_clock", "Hz", POS, "clock of the memory", (4e8, 2e9), "nominal_memory_clock"),
    spec("board_power", "W", POS, "power limit of the board (TDP)", (60, 800)),
    resource("schedulers_per_sm", "", COUNT1, "warp schedulers of one multiprocessor", (1, 4)),
    _rate("fp64_flops", "double-precision operations per second", 1e11, 1e14),
    _rate("fp32_flops", "single-precision operations per second", 1e12, 1e14),
    _rate("fp16_flops", "half-precision operations per second, no tensor units", 1e12, 2e14),
    _tensor_rate("tensor_fp64_flops", "double-precision"),
    _tensor_rate("tensor_tf32_flops", "TF32"),
    _tensor_rate("tensor_fp16_flops", "half-precision, sums in single precision"),
    _tensor_rate("tensor_fp16_fp16_flops", "half-precision, sums too", "tensor_fp16_flops"),
    _tensor_rate("tensor_bf16_flops", "bfloat16", "tensor_fp16_flops"),
    _tensor_rate("tensor_fp8_flops", "FP8, sums in single precision"),
    _tensor_rate("tensor_fp8_fp16_flops", "FP8, sums in half precision", "tensor_fp8_flops"),
    _tensor_rate("tensor_fp4_flops", "FP4"),
    _tensor_rate("tensor_int8_ops", "8-bit integer"),
    _tensor_rate("tensor_int4_ops", "4-bit integer"),
    _tensor_rate("tensor_binary_ops", "1-bit"),
    resource("l1_size", "B", POS, "L1 cache of one SM, including unified shared memory"),
    resource("l2_size", "B", POS, "L2 cache of the machine", (2**21, 2**27)),
    resource("l3_size", "B", POS, "L3 cache of the machine", (2**27, 2**28)),
    resource("l1_bytes_per_cycle", "B", POS, "bytes per cycle of one SM's L1 cache", (64, 128)),
    resource("l2_bytes_per_cycle", "B", POS, "bytes per core cycle of the whole L2 cache",
             (1e3, 1e4)),
    resource("l2_bandwidth", "B/s", POS, "attained bandwidth of the L2 cache", (1e12, 2e13)),
    spec("l2_partitions", "", COUNT1, "partitions of the L2 cache, with copies", (1, 2), 1),
    spec("multicast_sms", "", COUNT1, "SMs to which one read of the L2 cache goes", (1, 2), 1),
    resource("l3_bandwidth", "B/s", POS, "attained bandwidth of the L3 cache", (1e12, 2e13)),
    cost("far_l2_latency", "cycle", NONNEG, "latency of a hit in the far part of the L2 cache"),
    cost("l3_latency", "cycle", NONNEG, "latency of a hit in the L3 cache", (300, 800)),
    resource("mem_size", "B", POS, "DRAM of the machine", (2**32, 2**38)),
    resource("read_bandwidth", "B/s", POS, "DRAM bandwidth attained by reads", (2e11, 4e12)),
    resource("triad_bandwidth", "B/s", POS, "DRAM bandwidth attained by a triad", (2e11, 4e12)),
)  # fmt: skip
