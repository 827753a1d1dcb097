"""Kernels that measure a GPU (the extra ``gpu``): Transit's curves, all-pairs shortest paths."""

from __future__ import annotations

from dse.gpu.measuring import demand, paths, shortest_paths, supply

__all__ = ["demand", "paths", "shortest_paths", "supply"]
