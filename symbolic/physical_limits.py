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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    uses: tuple[str, ...] = ("time",)
    without: tuple[str, ...] = ()


def _of_time(name: str, work: str, peak: str, statement: str, *uses: str) -> PhysicalLimit:
    return PhysicalLimit(
        name=name, least=work, most=peak, statement=statement, uses=("time", *uses)
    )


_REQUESTS = f"{_WARPS} * mem_insts * load_bytes_per_warp"
_OPERATIONS = "fp_insts + 2 * fp_fused_insts + fp_vec_insts + 2 * fp_vec_fused_insts"

LIMITS = (
    _of_time(
        "issue",
        f"{_WARPS} * total_insts * issue_cycles",
        _CYCLES,
        "schedulers need at least issue_cycles for an instruction of a warp",
        "total_insts",
    ),
    _of_time(
        "floating_point",
        f"{_THREADS} * (fp_insts - fp64_insts)",
        f"{_CYCLES} * cores_per_sm",
        "a core executes at most one floating-point instruction of a thread per cycle",
        "fp_insts",
    ),
    _of_time(
        "double_precision",
        f"{_THREADS} * fp64_insts",
        f"{_CYCLES} * fp64_units_per_sm",
        "a double-precision unit executes at most one instruction of a thread per cycle",
        "fp64_insts",
    ),
    _of_time(
        "tensor",
        "tensor_flops * rated_sms * boost_clock",
        f"{_CYCLES} * tensor_rate",
        "tensor units have the printed rate at most",
        "tensor_flops",
    ),
    _of_time(
        "l1",
        "l1_bytes",
        f"{_CYCLES} * l1_bytes_per_cycle",
        "an L1 cache moves l1_bytes_per_cycle at most",
        "l1_bytes",
    ),
    _of_time(
        "l2",
        "l2_bytes",
        "time * l2_bandwidth",
        "the L2 cache moves l2_bandwidth at most",
        "l2_bytes",
    ),
    _of_time(
        "dram",
        "dram_bytes",
        "time * mem_bandwidth",
        "DRAM moves mem_bandwidth at most",
        "dram_bytes",
    ),
    PhysicalLimit(
        name="dram",
        least=_REQUESTS,
        most="time * mem_bandwidth",
        statement="DRAM moves mem_bandwidth at most, and no cache serves requests in this model",
        uses=("time", "mwp", "bw_per_warp"),
        without=("dram_share",),
    ),
    PhysicalLimit(
        name="dram",
        least=f"{_REQUESTS} * dram_share",
        most="time * mem_bandwidth",
        statement="DRAM moves mem_bandwidth at most",
        uses=("time", "mwp", "bw_per_warp", "dram_share"),
    ),
    PhysicalLimit(
        name="operations",
        least="flops * time",
        most=f"{_THREADS} * ({_OPERATIONS})",
        statement="flops times time are more operations than the launch has",
        uses=("flops", "time"),
    ),
    PhysicalLimit(
        name="occupancy",
        least="warps_per_sm",
        most="max_warps_per_sm",
        statement="a multiprocessor holds max_warps_per_sm at most",
        uses=("warps_per_sm",),
    ),
    PhysicalLimit(
        name="occupancy",
        least="active_blocks_per_sm * threads_per_block",
        most="max_threads_per_sm",
        statement="a multiprocessor holds max_threads_per_sm at most",
        uses=("active_blocks_per_sm",),
    ),
    PhysicalLimit(
        name="occupancy",
        least="active_blocks_per_sm",
        most="max_blocks_per_sm",
        statement="a multiprocessor holds max_blocks_per_sm at most",
        uses=("active_blocks_per_sm",),
    ),
    PhysicalLimit(
        name="memory",
        least="launch_bytes",
        most="mem_size",
        statement="a launch touches mem_size at most (bytes at addresses that depend on data count "
        "once for each request, unless the sizes of their arrays are given: --bytes ARRAY=BYTES)",
        uses=("launch_bytes",),
    ),
)
