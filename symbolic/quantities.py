"""The one table of quantities. Their rows stand beside the models that own them.

A name has one unit and one domain everywhere. Values are stored in SI units or plain counts; counts
(cycles, threads, warps, blocks, instructions, requests) are dimensionless. All are known before any
model is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping

from symbolic.models import (
    _energy_roofline_rows,
    _energy_speedup_rows,
    _lockstep_rows,
    _machine_rows,
    _mwp_cwp_rows,
    _occupancy_rows,
    _placement_rows,
    _power_rows,
    _temperature_rows,
    _throughput_rows,
    _tmm_rows,
    _transit_rows,
    _workload_rows,
)
from symbolic.quantity import Domain, Quantity, label_of, place_of, quantity

__all__ = ["RULES", "TABLE", "Domain", "Quantity", "label_of", "place_of", "quantity"]

_FILES = (
    *(_machine_rows, _workload_rows, _occupancy_rows, _transit_rows, _tmm_rows, _mwp_cwp_rows),
    *(_lockstep_rows, _power_rows, _temperature_rows, _placement_rows, _energy_speedup_rows),
    *(_throughput_rows, _energy_roofline_rows),
)

#: Every quantity of the shipped models, by name.
TABLE: Mapping[str, Quantity] = {row.name: row for file in _FILES for row in file.ROWS}

#: Relations between quantities. A rule applies where all its quantities are known; a point that
#: breaks one is infeasible.
RULES: tuple[str, ...] = (
    "active_sms <= n_sms",
    "threads_per_block <= max_threads_per_block",
    "active_blocks_per_sm >= 1",
    "independent_insts <= mem_insts",
)
