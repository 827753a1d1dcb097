"""The one table of quantities. Their rows stand beside the models that own them.

A name has one unit and one domain everywhere. Values are stored in SI units or plain counts; counts
(cycles, threads, warps, blocks, instructions, requests) are dimensionless. All are known before any
model is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from symbolic.models import (
    _block_shape_rows,
    _device_rows,
    _energy_roofline_rows,
    _energy_speedup_rows,
    _latency_roofline_rows,
    _launch_rows,
    _lockstep_rows,
    _machine_rows,
    _mwp_cwp_rows,
    _occupancy_rows,
    _placement_rows,
    _power_rows,
    _streaming_rows,
    _temperature_rows,
    _throughput_rows,
    _tiled_product_rows,
    _tmm_rows,
    _transit_rows,
    _workload_rows,
)
from symbolic.quantity import Domain, Quantity, label_of, place_of, quantity

__all__ = ["RULES", "TABLE", "Domain", "Quantity", "label_of", "place_of", "quantity"]

_FILES = (
    *(_machine_rows, _workload_rows, _occupancy_rows, _transit_rows, _tmm_rows, _mwp_cwp_rows),
    *(_lockstep_rows, _power_rows, _temperature_rows, _placement_rows, _energy_speedup_rows),
    *(_throughput_rows, _energy_roofline_rows, _device_rows, _latency_roofline_rows),
    *(_streaming_rows, _launch_rows, _block_shape_rows, _tiled_product_rows),
)

#: What a machine is, and its programmer finds (Hong 2012, Table 1: from machine resources and
#: Tables 2 and 5); all else is the programmer's. An SM stands idle where the grid leaves it so
#: (section 3.1), so that how many are active is for the programmer.
_MACHINES = """
    max_threads idle_power scaling_offset clock_power_exponent n_cores cache_miss_slowdown
    n_tpcs tpc_map tpc_distances placement_base_power power_per_tpc fitted_sms lanes_width
    arithmetic_latency ms_peak mem_latency ms_peak_bandwidth cs_peak_flops fp_units simd_units
    simd_lanes inst_latency l1_latency l2_latency transaction_bytes idle_temperature
    temperature_per_watt temperature_offset temperature_per_intensity heating_time_constant
    cooling_time_constant leakage_per_degree low_core_power high_core_power reduced_share
    system_power peak_flops constant_power energy_per_byte energy_per_flop dynamic_power
    voltage_knee_clock voltage_slope bandwidth_share special_units_per_sm fp64_units_per_sm
    int_units_per_sm issue_wait dependent_latency memory_parallelism start_up_time request_wait
    load_line_cycles request_cycles store_line_cycles product_rate product_share
"""
_DEVICES = ("cores", "throughput", "clock", "nominal_clock", "core_power")
_DESIGNED = {
    *(row.name for row in _machine_rows.ROWS if row.name != "active_sms"),
    *(row.name for row in _device_rows.ROWS),
    *(row.name for row in _power_rows.ROWS if row.name.startswith("max_power_")),
    *(f"{device}_{what}" for device in ("cpu", "gpu") for what in _DEVICES),
    *_MACHINES.split(),
}

#: Every quantity of the shipped models, by name.
TABLE: Mapping[str, Quantity] = {
    row.name: replace(row, lever="designer") if row.name in _DESIGNED else row
    for file in _FILES
    for row in file.ROWS
}

#: Relations between quantities. A rule applies where all its quantities are known; a point that
#: breaks one is infeasible.
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
