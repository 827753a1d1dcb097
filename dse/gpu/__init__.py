"""Kernels that measure a GPU (the extra ``gpu``).

Transit's curves, all-pairs shortest paths, where and when each block of a launch ran, latencies.
"""

from __future__ import annotations

from dse.gpu.launched import blocks, latency
from dse.gpu.measuring import demand, paths, shortest_paths, supply

__all__ = ["blocks", "demand", "latency", "paths", "shortest_paths", "supply"]
