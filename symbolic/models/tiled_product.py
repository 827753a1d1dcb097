"""Time of a matrix product, from its tiles and the waves in which SMs compute them.

A block computes a whole tile of the product, even if the matrix does not fill the tile (tile
quantisation). An SM computes one tile at a time, and the last wave takes as long as the others
(wave quantisation). ``product_rate`` is the peak of the units for the number type, such as
``tensor_fp16_flops``, ``fp16_flops`` or ``fp32_flops`` in a machine file. Each matrix is moved
once, in parallel with the computation. The model does not cover sums that are split among blocks
(split-K) or tiles that caches evict, and was not compared with measured times.
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
    """Number of tiles of all products. [tiles]

    One column more than two tiles adds 0.39 % to the product, but 50 % to the number of tiles:

    >>> [product_tiles(256.0, columns, 1.0, 128.0, 128.0) for columns in (256.0, 257.0)]
    [4.0, 6.0]
    """
    high, wide = ceil(product_rows / tile_rows), ceil(product_columns / tile_columns)
    return product_batch * high * wide


@equation(source=f"{GUIDE}, 3.2: wave quantisation")
def product_waves(product_tiles, active_sms):
    """Number of times that the SMs are filled with tiles. [waves]

    An A100 has 108 SMs, each of which takes one tile of 256 x 128 at a time:

    >>> product_waves(108.0, 108.0), product_waves(109.0, 108.0)
    (1.0, 2.0)
    """
    return ceil(product_tiles / active_sms)


@equation(source=f"{GUIDE}, 2: a product and a sum for each element and term")
def tile_time(tile_rows, tile_columns, product_depth, product_rate, product_share, rated_sms):
    """Time that an SM takes for a tile. [s]"""
    operations = 2 * tile_rows * tile_columns * product_depth
    return operations * rated_sms / (product_share * product_rate)


@equation(source=f"{GUIDE}, 2: math and memory bounds")
def product_bytes(product_rows, product_columns, product_depth, product_batch, element_bytes):
    """Number of bytes of all matrices. [B]"""
    factors = (product_rows + product_columns) * product_depth
    return product_batch * (factors + product_rows * product_columns) * element_bytes


@equation(source="as product_bytes: all of it moves through DRAM")
def dram_bytes(product_bytes):
    """Number of bytes that DRAM moves: each matrix once. [B]"""
    return product_bytes


@equation(source=f"{GUIDE}, 2: the longer of both")
def time(start_up_time, product_waves, tile_time, dram_time):
    """Run time. [s]"""
    return start_up_time + maximum(product_waves * tile_time, dram_time)


@equation(source=f"{GUIDE}, 3")
def product_efficiency(
    product_rows, product_columns, product_batch, product_waves, active_sms, tile_rows, tile_columns
):
    """Operations of the product divided by those of full tiles in full waves. [ratio]"""
    requested = product_batch * product_rows * product_columns
    return requested / (product_waves * active_sms * tile_rows * tile_columns)
