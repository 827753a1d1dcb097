"""Time of a matrix product for a chosen tile, by the equations of the shipped model `gemm`.

Join it with that model: ``model = "gemm + gemm_tile.py"``. ``tile_number`` is the index of one of
the eight tiles of `gemm` for 16-bit types. As in `gemm`, the number of blocks that share the sums
of a tile is the best one.
"""

import dse
from symbolic.models.gemm import MERGE_TIME, SPLITS, TILES
from symbolic.ops import ceil, maximum, minimum, power, sqrt, where

#: Number of 16-bit terms in 128 bytes.
STEP = 64

number = dse.quantity(
    "tile_number", domain=f"whole [0, {len(TILES) - 1}]", meaning="number of a tile of gemm"
)


def entry(values, number):
    """Return the entry of ``values`` at the index ``number``."""
    result = float(values[-1])
    for place in reversed(range(len(values) - 1)):
        result = where(number <= place, float(values[place]), result)
    return result


@dse.equation(source="symbolic/models/gemm.py: TILES")
def tile_rows(tile_number):
    """Rows of the tile. [rows]"""
    return entry([rows for rows, _ in TILES], tile_number)


@dse.equation(source="symbolic/models/gemm.py: TILES")
def tile_columns(tile_number):
    """Columns of the tile. [columns]"""
    return entry([columns for _, columns in TILES], tile_number)


@dse.equation(source="symbolic/models/gemm.py: product_cost, of 16-bit types")
def tile_cost(
    tile_rows,
    tile_columns,
    product_rows,
    product_columns,
    product_depth,
    element_bytes,
    n_sms,
    gemm_rate,
    gemm_operand_rate,
    weight_miss_share,
    activation_miss_share,
    gemm_dram_rate,
    gemm_wave_overlap,
    gemm_operations,
):
    """Time of the product with this tile, per operation. [s]"""
    weights = weight_miss_share / (2 * product_rows)
    activations = activation_miss_share / (2 * product_columns)
    dram = power((weights + activations) * element_bytes / gemm_dram_rate, 4)
    operand = element_bytes / (2 * n_sms * gemm_operand_rate)
    across, down = ceil(product_rows / tile_rows), ceil(product_columns / tile_columns)
    height = maximum(across * tile_rows / product_rows, 1)
    width = maximum(down * tile_columns / product_columns, 1)
    edges = (tile_rows + tile_columns) / (tile_rows * tile_columns)
    result = []
    for split in SPLITS:
        step = split * STEP
        depth = maximum(ceil(product_depth / step) * step / product_depth, 1)
        padded = depth * height * width
        waves = across * down * split / n_sms
        idle, last = maximum(1, 1 / waves), maximum(ceil(waves) / waves, 1)
        filled = (1 - gemm_wave_overlap) * last + gemm_wave_overlap * idle
        work, moved = filled * padded / gemm_rate, idle * padded * edges * operand
        merge = 0.0
        if split > 1:  # partial sums of four bytes are written and read
            sums = 4 * split / (product_depth * n_sms * gemm_operand_rate)
            merge = MERGE_TIME / gemm_operations + sums
        result.append(sqrt(sqrt(power(work, 4) + power(moved, 4) + dram)) + merge)
    return minimum(*result)
