"""Time of a matrix product for a chosen tile, by the equations of the shipped model `gemm`.

Join it with that model: ``model = "gemm + gemm_tile.py"``. ``tile_number`` is the index of one of
the eight tiles of `gemm` for 16-bit types. As in `gemm`, the number of blocks that share the sums
of a tile is the best one.
"""

import dse
from symbolic.models.gemm import COST_INPUTS, TILES, TYPES, split_costs
from symbolic.ops import minimum, where

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


@dse.equation(
    source="symbolic/models/gemm.py: product_cost, of 16-bit types",
    inputs=("tile_rows", "tile_columns", *COST_INPUTS),
)
def tile_cost(tile_rows, tile_columns, *inputs):
    """Time of the product with this tile, per operation. [s]"""
    number = TYPES["bf16"]._replace(tiles=((tile_rows, tile_columns),))
    return minimum(*(cost for _, cost in split_costs(number, *inputs)))
