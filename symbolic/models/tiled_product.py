"""Time of a matrix product: tiles, waves of tiles on the SMs, and the rate.

A block computes a tile of the product, also if the matrix does not fill it (tile quantisation); an
SM computes one tile at a time, and the last wave takes as long as the others (wave quantisation).
``product_rate`` is that of the units and the type: ``tensor_fp16_flops``, ``fp16_flops`` or
``fp32_flops`` of a machine's file. Matrices are moved once, in parallel with the work. Sums split
among blocks (split-K), and tiles that caches do not keep, are not modelled. Not compared with
measured times.
"""

from __future__ import annotations

from symbolic.equation import Validity, equation
from symbolic.models.latency_roofline import dram_time
from symbolic.ops import ceil, maximum

OUTPUTS = ("time", "product_efficiency", "product_tiles", "product_waves")
VALIDITY = Validity(statement="rates and tiles are given; not compared with measured times yet")

GUIDE = "NVIDIA DU-09799, Matrix Multiplication Background"

SHARED = (dram_time,)


@equation(source=f"{GUIDE}, 3.1: tile quantisation")
def product_tiles(product_rows, product_columns, product_batch, tile_rows, tile_columns):
    """Tiles of all products. [tiles]

    A column beyond the tiles adds 0.39 % to the request, and half to the work:

    >>> [product_tiles(256.0, columns, 1.0, 128.0, 128.0) for columns in (256.0, 257.0)]
    [4.0, 6.0]
    """
    high, wide = ceil(product_rows / tile_rows), ceil(product_columns / tile_columns)
    return product_batch * high * wide


@equation(source=f"{GUIDE}, 3.2: wave quantisation")
def product_waves(product_tiles, active_sms):
    """Times that the SMs are filled with tiles. [waves]

    An A100 has 108 SMs, each of which takes one tile of 256 x 128 at a time:

    >>> product_waves(108.0, 108.0), product_waves(109.0, 108.0)
    (1.0, 2.0)
    """
    return ceil(product_tiles / active_sms)


@equation(source=f"{GUIDE}, 2: a product and a sum for each element and term")
def tile_time(tile_rows, tile_columns, product_depth, product_rate, product_share, rated_sms):
    """Time of a tile on its SM. [s]"""
    operations = 2 * tile_rows * tile_columns * product_depth
    return operations * rated_sms / (product_share * product_rate)


@equation(source=f"{GUIDE}, 2: math and memory bounds")
def product_bytes(product_rows, product_columns, product_depth, product_batch, element_bytes):
    """Bytes of all matrices, each once. [B]"""
    factors = (product_rows + product_columns) * product_depth
    return product_batch * (factors + product_rows * product_columns) * element_bytes


@equation(source="as product_bytes: all of it moves through DRAM")
def dram_bytes(product_bytes):
    """Bytes that DRAM moves. [B]"""
    return product_bytes


@equation(source=f"{GUIDE}, 2: the longer of both")
def time(start_up_time, product_waves, tile_time, dram_time):
    """Run time. [s]"""
    return start_up_time + maximum(product_waves * tile_time, dram_time)


@equation(source=f"{GUIDE}, 3")
def product_efficiency(
    product_rows, product_columns, product_batch, product_waves, active_sms, tile_rows, tile_columns
):
    """Requested operations over those of full waves. [ratio]"""
    requested = product_batch * product_rows * product_columns
    return requested / (product_waves * active_sms * tile_rows * tile_columns)
