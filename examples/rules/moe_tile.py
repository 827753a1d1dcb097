"""Products of experts: the time of the rows of a tile, and the rule of a library.

Each of ``experts`` experts has ``expert_rows`` tokens. A tile of the
output has ``tile_rows`` rows and 64 columns; its time is that of its arithmetic or of its loads.
"""

import dse

rows = dse.quantity("expert_rows", domain="whole [1, inf)", meaning="tokens of an expert")
columns = dse.quantity(
    "column_tiles", domain="whole [1, inf)", meaning="tiles of 64 output columns"
)
ratio = dse.quantity("balance", domain="(0, inf)", meaning="multiply-adds in the time of one load")
tile = dse.quantity("tile_rows", domain="whole [1, inf)", meaning="rows of a tile")
used = dse.quantity("chosen_experts", domain="whole [1, inf)", meaning="experts of a token")


@dse.equation(
    source="NVIDIA DU-09799, Matrix Multiplication Background: tile and wave quantization"
)
def tile_cost(expert_rows, experts, column_tiles, balance, tile_rows, n_sms):
    """Time per term of the sums, in times of one load. [ratio]"""
    waves = dse.ceil(experts * column_tiles * dse.ceil(expert_rows / tile_rows) / n_sms)
    return waves * dse.maximum(tile_rows * 64 / balance, tile_rows + 64)


@dse.equation(
    source="vLLM, fused_moe.py, get_default_config: 16 rows if tokens <= experts, else 64"
)
def vllm_tile_rows(expert_rows, chosen_experts):
    """Rows of a tile; there are expert_rows * experts / chosen_experts tokens. [rows]"""
    return dse.where(expert_rows <= chosen_experts, 16, 64)
