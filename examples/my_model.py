"""Tiled stencil: wide tiles read less halo, but fewer blocks fit on an SM.

This is a model outside the package. Names that it neither declares nor computes are quantities that
the shipped models, machines and workloads share.
"""

import dse

OUTPUTS = ("stencil_time", "halo_factor")

radius = dse.quantity("radius", domain="whole [0, inf)", meaning="cells read on each side of one")
cell_bytes = dse.quantity("cell_bytes", unit="B", domain="(0, inf)", default=4)
warps_needed = dse.quantity("warps_needed", domain="(0, inf)", meaning="to use the full bandwidth")


@dse.equation(source="one thread a cell")
def threads_per_block(tile):
    return tile * tile


@dse.equation(source="the tile and its halo")
def shared_mem_per_block(tile, radius, cell_bytes):
    return cell_bytes * (tile + 2 * radius) * (tile + 2 * radius)


@dse.equation(source="the tile and its halo", meaning="cells read for each cell written")
def halo_factor(shared_mem_per_block, cell_bytes, threads_per_block):
    return shared_mem_per_block / (cell_bytes * threads_per_block)


@dse.equation(source="a straight line up to the peak", unit="B/s", meaning="bandwidth in reach")
def reached_bandwidth(mem_bandwidth, warps_per_sm, warps_needed):
    return mem_bandwidth * dse.minimum(1, warps_per_sm / warps_needed)


@dse.equation(source="bytes over bandwidth", unit="s", meaning="time of one pass")
def stencil_time(elements, cell_bytes, halo_factor, reached_bandwidth):
    moved = elements * cell_bytes * (halo_factor + 1)
    return dse.divide(moved, reached_bandwidth, at_zero=float("inf"))
