"""Kernels that measure a GPU (the extra ``gpu``).

Transit's curves, all-pairs shortest paths, where and when each block of a launch ran, times of
launches, latencies, what lockstep costs, clocks and power. Each function yields columns of a table;
:func:`dataset_of` joins them with what they were measured on.
"""

from __future__ import annotations

from dse.gpu.latency import latency
from dse.gpu.launch_times import launches
from dse.gpu.launched import blocks
from dse.gpu.losses import lockstep
from dse.gpu.measuring import demand, supply
from dse.gpu.paths import paths, shortest_paths
from dse.gpu.rows import dataset_of
from dse.gpu.watts import power

__all__ = [
    "blocks",
    "dataset_of",
    "demand",
    "latency",
    "launches",
    "lockstep",
    "paths",
    "power",
    "shortest_paths",
    "supply",
]
