"""The table of all quantities that models share; its rows are in :mod:`symbolic.quantity_rows`.

A name has the same unit and domain in all models. Values are stored in SI units. Counts (cycles,
threads, warps, blocks, instructions, requests) are dimensionless.
"""

from collections.abc import Mapping

from symbolic.quantity import Domain, Quantity, indexed_quantity, label_index_name, quantity
from symbolic.quantity_rows import energy, language_models, machines, performance, sparse, workloads

__all__ = [
    "RULES", "TABLE", "Domain", "Quantity", "indexed_quantity", "label_index_name", "quantity",
    "text_unit",
]  # fmt: skip

TABLE: Mapping[str, Quantity] = {
    row.name: row
    for row in (
        *machines.MACHINE, *workloads.WORKLOAD, *performance.OCCUPANCY, *performance.TRANSIT,
        *performance.TMM, *performance.MWP_CWP, *workloads.LOCKSTEP, *energy.POWER,
        *energy.TEMPERATURE, *energy.PLACEMENT, *energy.ENERGY_SPEEDUP, *performance.THROUGHPUT,
        *energy.ENERGY_ROOFLINE, *machines.DEVICE, *performance.LATENCY_ROOFLINE,
        *performance.ROOFLINE, *workloads.STREAMING, *performance.LAUNCH, *workloads.BLOCK_SHAPE,
        *language_models.PREFILL_NUMBERS, *language_models.DECODE_NUMBERS,
        *language_models.MOE_NUMBERS, *language_models.ATTENTION, *language_models.EXPERTS,
        *sparse.SPMV_NUMBERS, *sparse.SPARSE, *workloads.GEMM,
    )
}  # fmt: skip

#: Rules for all models: a point that breaks a rule is infeasible. A rule is applied only if the
#: model has all quantities in it.
RULES: tuple[str, ...] = (
    "active_sms <= n_sms",
    "threads_per_block <= max_threads_per_block",
    "active_blocks_per_sm >= 1",
    "active_blocks_per_sm <= max_blocks_per_sm",
    "warps_per_sm <= max_warps_per_sm",
    "core_clock >= min_core_clock",
    "core_clock <= max_core_clock",
    "independent_insts <= mem_insts",
)


def text_unit(name: str, unit: str) -> str:
    """Return the unit of a quantity in texts: FLOP/s for floating-point operations in 1/s.

    >>> text_unit("gemm_flops", "1/s"), text_unit("tensor_int8_ops", "1/s"), text_unit("x", "1/s")
    ('FLOP/s', 'OP/s', '1/s')
    """
    row = TABLE.get(name)
    return row.text_unit if row is not None and row.unit == unit else unit
