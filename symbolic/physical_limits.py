"""Limits on predicted times: a launch takes at least as long as its work at peak rates.

A limit is a condition on quantities of any model. It does not apply if one of its quantities is
unknown, or has only a default that copies another quantity.
"""

from dataclasses import dataclass

#: Relative tolerance of a limit, for rounding.
TOLERANCE = 1e-9

_WARPS = "blocks * ceil(threads_per_block / warp_size)"
_THREADS = "blocks * threads_per_block"
_CYCLES = "time * core_clock * active_sms"


@dataclass(frozen=True, slots=True)
class PhysicalLimit:
    """A limit: the formula ``least`` must not be larger than the formula ``most``.

    ``name`` is the unit or level of memory; ``statement`` states the limit in words. It applies to
    models that have the quantities ``uses`` and none of ``without``. If a prediction breaks the
    limit, the first quantity of ``uses`` is named as the cause.
    """

    name: str
    least: str
    most: str
    statement: str
    uses: tuple[str, ...]
    without: tuple[str, ...]


def _limit(
    name: str, least: str, most: str, statement: str, uses: str, without: str = ""
) -> PhysicalLimit:
    return PhysicalLimit(name, least, most, statement, tuple(uses.split()), tuple(without.split()))


_REQUESTS = f"{_WARPS} * mem_insts * load_bytes_per_warp"
_OPERATIONS = "fp_insts + 2 * fp_fused_insts + fp_vec_insts + 2 * fp_vec_fused_insts"

LIMITS = (
    _limit("issue", f"{_WARPS} * total_insts * issue_cycles", _CYCLES,
           "schedulers need at least issue_cycles for an instruction of a warp",
           "time total_insts"),
    _limit("floating_point", f"{_THREADS} * (fp_insts - fp64_insts)", f"{_CYCLES} * cores_per_sm",
           "a core executes at most one floating-point instruction of a thread per cycle",
           "time fp_insts"),
    _limit("double_precision", f"{_THREADS} * fp64_insts", f"{_CYCLES} * fp64_units_per_sm",
           "a double-precision unit executes at most one instruction of a thread per cycle",
           "time fp64_insts"),
    _limit("tensor", "tensor_flops * rated_sms * boost_clock", f"{_CYCLES} * tensor_rate",
           "tensor units have the printed rate at most", "time tensor_flops"),
    _limit("l1", "l1_bytes", f"{_CYCLES} * l1_bytes_per_cycle",
           "an L1 cache moves l1_bytes_per_cycle at most", "time l1_bytes"),
    _limit("l2", "l2_bytes", "time * l2_bandwidth", "the L2 cache moves l2_bandwidth at most",
           "time l2_bytes"),
    _limit("dram", "dram_bytes", "time * mem_bandwidth", "DRAM moves mem_bandwidth at most",
           "time dram_bytes"),
    _limit("dram", _REQUESTS, "time * mem_bandwidth",
           "DRAM moves mem_bandwidth at most, and no cache serves requests in this model",
           "time mwp bw_per_warp", "dram_share"),
    _limit("dram", f"{_REQUESTS} * dram_share", "time * mem_bandwidth",
           "DRAM moves mem_bandwidth at most", "time mwp bw_per_warp dram_share"),
    _limit("operations", "flops * time", f"{_THREADS} * ({_OPERATIONS})",
           "flops times time are more operations than the launch has", "flops time"),
    _limit("occupancy", "warps_per_sm", "max_warps_per_sm",
           "a multiprocessor holds max_warps_per_sm at most", "warps_per_sm"),
    _limit("occupancy", "active_blocks_per_sm * threads_per_block", "max_threads_per_sm",
           "a multiprocessor holds max_threads_per_sm at most", "active_blocks_per_sm"),
    _limit("occupancy", "active_blocks_per_sm", "max_blocks_per_sm",
           "a multiprocessor holds max_blocks_per_sm at most", "active_blocks_per_sm"),
    _limit("memory", "launch_bytes", "mem_size",
        "a launch touches mem_size at most (bytes at addresses that depend on data count "
        "once for each request, unless the sizes of their arrays are given: --bytes ARRAY=BYTES)",
        "launch_bytes"),
    _limit("memory", "decode_bytes", "mem_size", "the KV cache must fit into mem_size",
           "batch decode_bytes"),
    _limit("memory", "batch * seq_len * head_dim * (4 * heads + 2 * kv_heads * kv_element_bytes)",
           "mem_size", "queries to results must fit into mem_size", "batch prefill_bytes"),
    _limit("memory", "experts / expert_parallel * hidden * moe_inner_size * (moe_up_matrices + 1)"
           " * moe_element_bytes", "mem_size", "the experts of a rank must fit into mem_size",
           "experts moe_element_bytes"),
    _limit("memory", "weight_bytes + activation_bytes + result_bytes", "mem_size",
           "both factors and the result must fit into mem_size", "product_rows weight_bytes"),
)  # fmt: skip
