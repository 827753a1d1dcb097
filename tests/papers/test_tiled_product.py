"""Products of matrices in tiles: published counts, and a launch played tile by tile."""

from __future__ import annotations

import heapq
from itertools import product

import numpy as np
import pytest

import dse
from symbolic.models import tiled_product
from tests.papers._solve import run_doctests


def test_doctests_of_equations() -> None:
    assert run_doctests(tiled_product) == (0, 7)


def test_one_row_more_is_a_second_wave_on_an_a100() -> None:
    """Horace He, What shapes do matrix multiplications like: 98 tiles, then 120, on 108 SMs."""
    size = {"product_rows": [1792, 1793], "product_depth": 4096}
    both = dse.evaluate(
        "tiled_product",
        machine="a100_40",
        product_columns=[1792, 1793],
        **size,
        product_rate=312e12,
    )
    assert both["product_tiles"].values.tolist() == [98, 120]
    assert both["product_waves"].values.tolist() == [1, 2]
    slower = both["time"].values[1] / both["time"].values[0]
    assert slower == pytest.approx(2)
    assert both["product_efficiency"].values[0] == pytest.approx(98 / 108)


@pytest.mark.parametrize("seed", range(20))
def test_a_launch_played_tile_by_tile(seed: int) -> None:
    """Every tile goes to the SM that is free first; elements are counted one tile at a time."""
    rng = np.random.default_rng(seed)
    rows, columns, batch = (int(rng.integers(1, most)) for most in (3000, 3000, 4))
    high, wide, sms = (int(rng.choice(of)) for of in ([64, 128, 256], [64, 128], [5, 46, 108]))
    each = 3.0
    free = [0.0] * sms
    end, requested, tiles = 0.0, 0, 0
    for _, top, left in product(range(batch), range(0, rows, high), range(0, columns, wide)):
        requested += min(high, rows - top) * min(wide, columns - left)
        tiles += 1
        end = heapq.heappop(free) + each
        heapq.heappush(free, end)
    output = tiled_product.product_tiles(rows, columns, batch, high, wide)
    waves = tiled_product.product_waves(output, sms)
    assert output == tiles
    assert tiled_product.time(0.0, waves, each, 0.0) == max(free)
    share = tiled_product.product_efficiency(rows, columns, batch, waves, sms, high, wide)
    assert share == pytest.approx(requested / (max(free) / each * sms * high * wide))


def time_product(columns: int, rate: str, tile: tuple[int, int]) -> float:
    result = dse.evaluate(
        "tiled_product",
        machine="a100_40",
        product_rows=4096,
        product_columns=columns,
        product_depth=4096,
        product_rate=rate,
        tile_rows=tile[0],
        tile_columns=tile[1],
    )
    return float(result["time"].item())


def test_a_thin_product_is_bound_by_memory_and_types_have_their_rates() -> None:
    moved = 2 * (4097 * 4096 + 4096)
    for rate in ("tensor_fp16_flops", "fp32_flops"):
        assert time_product(1, rate, (64, 8)) == pytest.approx(moved / (0.9 * 1555e9))
    rates = ("tensor_fp16_flops", "fp32_flops")
    tensor, plain = (time_product(8192, rate, (256, 128)) for rate in rates)
    waves = np.ceil(16 * 64 / 108)
    assert tensor == pytest.approx(waves * 2 * 256 * 128 * 4096 * 108 / 312e12)
    assert plain == pytest.approx(16 * tensor)
