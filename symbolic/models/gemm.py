"""Time of a matrix product on tensor cores: the best of a set of tiles, and the traffic around it.

A block computes a tile of the product, or a part of its sums (split-K). Three processes run at the
same time: tensor cores work in waves of blocks, multiprocessors read the operands of their tiles
through the L2 cache, and DRAM sends what the L2 cache does not keep. The slowest process dominates.
Their times are joined by the fourth root of the sum of fourth powers, because no process overlaps
fully with the others. A library chooses the tile and the parts: the time is the least over
``TILES`` and ``SPLITS``, which are part of the model; ``gemm_tile`` is the best of them. If another
tile is given, blocks, waves and their times follow, but the time stays that of the best. A tile is
what a multiprocessor computes before it takes the next: a library may do one of 256 x 256 as two
blocks. Measured times do not tell, so tiles and waves are assumptions. Before the product,
activations are cast to the number type of the weights, and after it results are written.
The energy of the operations takes time, too, because the board limits the power. This time and the
sum of the others are joined like those of processes. No time is below the floor of the machine:
operations at the printed rate, and bytes beyond the L2 cache at the printed bandwidth.

Five numbers belong to a GPU, and two to each of its number types of less than 16 bits. They are
fitted to measured times (``dse/data/fits``). A machine without a fit has the numbers of its nearest
relatives. Without relatives, three of the five follow from its clock, its L2 cache and the rate of
its tensor cores by ratios that four GPUs share, and the others are the same for all machines.

Power not monotone: operations and bytes draw shares of the board's power at full rate (Choi 2013).
So they draw less if ``mem_bandwidth``, ``tensor_fp16_flops``, ``tensor_bf16_flops`` or
``tensor_fp4_flops`` is raised. A meter averages over the pauses of a benchmark, which are a larger
share of shorter products. So its reading may fall if ``n_sms``, ``l2_size`` or ``l2_bandwidth`` is
raised.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from symbolic.equation import Equation, Validity, equation
from symbolic.models._labels import by_label
from symbolic.ops import ceil, divide, maximum, minimum, power, sqrt, where

OUTPUTS = ("time", "time_low", "time_high", "gemm_flops", "gemm_efficiency", "gemm_bound")
RULES = ("gemm_peak > 0",)  # the machine has tensor cores for the number type
SYMBOLS = {"product_rows": "m", "product_columns": "n", "product_depth": "k"}
VALIDITY = Validity(
    quantity="tensor_fp16_flops",
    minimum=1,
    statement="gemm assumes tensor cores, which the machine does not have",
)

GUIDE = "NVIDIA DU-09799, Matrix Multiplication Background"
DATA = "ai-dynamo/aiconfigurator, commit 095f58a: times of TensorRT-LLM"

#: Rows and columns of the tile of a block, from small to large: powers of two that libraries ship.
#: Three times as many tiles, with transposed tiles, change no score.
TILES = ((16, 64), (32, 64), (64, 32), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256))
SCALED_TILES = ((16, 128), (32, 128), *TILES[4:])
#: Possible numbers of blocks that share the sums of one tile.
SPLITS = (1, 4, 16)
#: Rows and columns of the tile and number of parts, for each value of ``gemm_tile``.
CHOICES = tuple((*t, split) for split in SPLITS for t in sorted({*TILES, *SCALED_TILES}))
CHOICE_NAMES = {
    place: f"{rows}x{columns}" + (f" in {split} parts" if split > 1 else "")
    for place, (rows, columns, split) in enumerate(CHOICES)
}
#: Time of the launch that adds the parts of shared sums; 2.4 to 2.8 us on three GPUs. [s]
MERGE_TIME = 2.6e-6


class NumberType(NamedTuple):
    """Properties of a number type in the library.

    ``step`` is the number of terms in 128 bytes, ``cast`` the bytes that the cast of an activation
    moves. Kernels with scales of 128 columns have no smaller tiles and do not share sums; those of
    4-bit types fill a tile of 128 rows and 256 columns.
    """

    rate: str
    element: float
    step: int
    cast: float
    tiles: tuple[tuple[int, int], ...] = TILES
    splits: tuple[int, ...] = SPLITS


TYPES = {
    "bf16": NumberType("tensor_bf16_flops", 2.0, 64, 0.0),
    "fp16": NumberType("tensor_fp16_flops", 2.0, 64, 0.0),
    "fp8": NumberType("tensor_fp8_flops", 1.0, 128, 7.0),
    "int8": NumberType("tensor_int8_ops", 1.0, 128, 0.35),
    "fp8_block": NumberType("tensor_fp8_flops", 1.0, 128, 5.0, SCALED_TILES, (1,)),
    "fp4": NumberType("tensor_fp4_flops", 0.5625, 256, 6.0, TILES[6:], (1,)),
}

FITTED_TIMES = "fitted to measured times"
LEFT_OUT = "quantiles of the errors of shapes that a fit left out"
#: For each number type, the name under which its numbers are fitted; 16-bit types share a name.
FITTED_AS = {label: "bf16" if label == "fp16" else label for label in TYPES}
CAST = [label for label, number in TYPES.items() if number.cast]
BY_TYPE = tuple(
    one
    for name, source, values in (
        ("gemm_peak", "printed rate", [number.rate for number in TYPES.values()]),
        ("gemm_share", FITTED_TIMES, [f"gemm_{t}_share" for t in FITTED_AS.values()]),
        ("gemm_error_low", LEFT_OUT, [f"gemm_{t}_error_low" for t in FITTED_AS.values()]),
        ("gemm_error_high", LEFT_OUT, [f"gemm_{t}_error_high" for t in FITTED_AS.values()]),
        ("gemm_cast_time", FITTED_TIMES,
         [f"gemm_{t}_cast_time" if t in CAST else 0.0 for t in TYPES]),
        ("element_bytes", "by definition", [number.element for number in TYPES.values()]),
        ("gemm_depth_step", "by definition", [number.step for number in TYPES.values()]),
        ("gemm_cast_bytes", f"fitted to {DATA}", [number.cast for number in TYPES.values()]),
        ("gemm_history_share", f"{DATA}: scales take longer to prepare than a meter averages",
         [float(t not in ("fp8_block", "fp4")) for t in TYPES]),
    )
    for one in by_label(name, source, "dtype", dict(zip(TYPES, values, strict=True)))
)  # fmt: skip

FITTED = (
    *("gemm_start_time", "gemm_dram_share", "gemm_operand_bytes_per_cycle"),
    *("gemm_result_ratio", "gemm_operation_energy"),
    *(f"gemm_{name}_{number}" for number in ("share", "cast_time") for name in CAST),
)


SHARED = "ratio fitted to A100, H100, B200 and L40S together (docs/gemm_fits.py)"


@equation(source=f"launch and fill take clock cycles; {SHARED}")
def gemm_start_time(gemm_start_cycles, core_clock):
    """Time of the smallest product. [s]"""
    return gemm_start_cycles / core_clock


@equation(source=f"{SHARED}; clusters of multiprocessors share a read")
def gemm_operand_bytes_per_cycle(
    gemm_operand_ratio, multicast_sms, l2_bandwidth, rated_sms, boost_clock
):
    """Bytes of operands that one multiprocessor reads in a cycle. [B]"""
    return gemm_operand_ratio * multicast_sms * l2_bandwidth / (rated_sms * boost_clock)


@equation(source=f"{SHARED}; partitions hold copies of the same operands")
def gemm_cache_share(gemm_cache_ratio, l2_partitions):
    """Share of the L2 cache that keeps operands. [ratio]"""
    return gemm_cache_ratio / l2_partitions


@equation(source=f"{SHARED}; kernels of clusters write while they compute")
def gemm_output_ratio(gemm_result_ratio, multicast_sms, n_sms, core_clock, gemm_dram_rate):
    """Rate at which results and casts move to the L2 cache, over that of DRAM. [ratio]"""
    sectors = gemm_result_ratio * multicast_sms * n_sms * core_clock
    return 32 * sectors / gemm_dram_rate


@equation(source=f"{SHARED}; a unit of twice the side does four times as much per operand")
def gemm_operation_energy(gemm_unit_energy, tensor_fp16_flops, rated_sms, boost_clock):
    """Energy of an operation of 16-bit numbers. [J]"""
    cycles = divide(rated_sms * boost_clock, tensor_fp16_flops, at_zero=math.inf)
    return gemm_unit_energy * sqrt(cycles)


@equation(source="Osama 2023: blocks take one tile after another, as those of clusters do")
def gemm_wave_overlap(multicast_sms):
    """Share of the wait for the last wave filled by other work. [ratio]"""
    return where(multicast_sms > 1, 1.0, 0.0)


@equation(source="printed rates hold for the printed multiprocessors at the boost clock")
def gemm_rate(gemm_peak, gemm_share, core_clock, boost_clock, n_sms, rated_sms):
    """Operations per second of full tiles. [1/s]"""
    return gemm_peak * gemm_share * (core_clock / boost_clock) * (n_sms / rated_sms)


@equation(source="the L2 cache serves each multiprocessor a number of bytes in a cycle")
def gemm_operand_rate(gemm_operand_bytes_per_cycle, core_clock):
    """Bytes of operands per second that one multiprocessor reads. [B/s]"""
    return gemm_operand_bytes_per_cycle * core_clock


@equation(source=f"{GUIDE}, 2")
def weight_bytes(product_columns, product_depth, element_bytes):
    """Bytes of the weights. [B]"""
    return product_columns * product_depth * element_bytes


activation_bytes = weight_bytes.copy_as(
    "activation_bytes", "product_rows", "product_depth", "element_bytes"
)


@equation(source="results have two bytes")
def result_bytes(product_rows, product_columns):
    """Bytes of the product. [B]"""
    return 2 * product_rows * product_columns


@equation(source="a cache keeps little of what is used again after more than its size")
def weight_miss_share(
    weight_bytes, activation_bytes, result_bytes, weights_in_turn, l2_size, gemm_cache_share
):
    """Share of the weights that come from DRAM, because other weights displaced them. [ratio]

    >>> [round(weight_miss_share(w, 0.0, 0.0, 5.0, 50e6, 1.0), 3) for w in (1e6, 10e6, 100e6)]
    [0.0, 0.5, 1.0]
    """
    used = (weights_in_turn * weight_bytes + activation_bytes + result_bytes) / (
        l2_size * gemm_cache_share
    )
    return 1 - 1 / (1 + power(used, 4))


@equation(source="as weight_miss_share, of activations that each call uses")
def activation_miss_share(weight_bytes, activation_bytes, result_bytes, l2_size, gemm_cache_share):
    """Share of the activations that come from DRAM. [ratio]"""
    used = (weight_bytes + activation_bytes + result_bytes) / (l2_size * gemm_cache_share)
    return 1 - 1 / (1 + power(used, 4))


@equation(source="by definition")
def gemm_dram_bytes(weight_bytes, weight_miss_share, activation_bytes, activation_miss_share):
    """Bytes that DRAM sends. [B]"""
    return weight_bytes * weight_miss_share + activation_bytes * activation_miss_share


@equation(source="Williams 2009, of the bandwidth that is attained")
def gemm_dram_rate(mem_bandwidth, gemm_dram_share):
    """Bytes per second of DRAM. [B/s]"""
    return mem_bandwidth * gemm_dram_share


TILES_AND_WAVES = f"{GUIDE}, 2 and 3; waves overlap as in Stream-K (Osama 2023)"
COST_INPUTS = (
    *("product_rows", "product_columns", "product_depth", "element_bytes", "n_sms", "gemm_rate"),
    *("gemm_operand_rate", "gemm_wave_overlap", "weight_miss_share", "activation_miss_share"),
    *("gemm_dram_rate", "gemm_operations"),
)


def tile_costs(rows, columns, split, step, m, n, k, element_bytes, n_sms, rate, *more):
    """Return the times of tensor cores and of operand reads for each operation, for a tile.

    Times are divided by the operations factor by factor: so each factor has tight bounds over a
    box of shapes, which a certified optimum needs.
    """
    operand_rate, overlap = more[:2]
    depth, across, down = (
        ceil(k / (split * step)) * (split * step),
        ceil(m / rows),
        ceil(n / columns),
    )
    # operations of whole tiles over those of the product
    padded = maximum(depth / k, 1) * maximum(across * rows / m, 1) * maximum(down * columns / n, 1)
    waves = across * down * split / n_sms
    idle, last = maximum(1, 1 / waves), maximum(ceil(waves) / waves, 1)
    filled = (1 - overlap) * last + overlap * idle
    operand = element_bytes / (2 * n_sms * operand_rate)
    edges = (rows + columns) / (rows * columns)
    return filled * padded * divide(1, rate, at_zero=math.inf), idle * padded * edges * operand


def split_costs(number, *inputs):
    """Return, for each split, the fourth powers of its tiles and the time of the best of them.

    ``inputs`` are ``COST_INPUTS``; the times are for each operation.
    """
    m, n, k, element_bytes, n_sms, _, operand_rate, _, *missed, dram_rate, operations = inputs
    weights, activations = missed[0] / (2 * m), missed[1] / (2 * n)
    dram = power((weights + activations) * element_bytes / dram_rate, 4)
    result = []
    for split in number.splits:
        times = [tile_costs(*tile, split, number.step, *inputs) for tile in number.tiles]
        powers = [power(work, 4) + power(moved, 4) for work, moved in times]
        merge = 0.0
        if split > 1:  # partial sums of four bytes are written and read
            merge = MERGE_TIME / operations + 4 * split / (k * n_sms * operand_rate)
        result.append((powers, sqrt(sqrt(minimum(*powers) + dram)) + merge))
    return result


def _first_least(values, labels):
    """Return the label of the first of the least values."""
    least, result = values[0], labels[0]
    for value, label in zip(values[1:], labels[1:], strict=True):
        result = where(value < least, label, result)
        least = minimum(least, value)
    return result


def _equations_of_best(number: NumberType, label: str) -> tuple[Equation, Equation]:
    def product_cost(*inputs):
        """Time of the best tile and split, for each operation. [s]"""
        return minimum(*(cost for _, cost in split_costs(number, *inputs)))

    def gemm_tile(*inputs):
        """Tile and split that take the least time; the first of several."""
        powers, costs = zip(*split_costs(number, *inputs), strict=True)
        best = [
            _first_least(of_split, [float(CHOICES.index((*tile, split))) for tile in number.tiles])
            for of_split, split in zip(powers, number.splits, strict=True)
        ]
        return _first_least(costs, best)

    known: Any = {"source": TILES_AND_WAVES, "when": {"dtype": label}, "inputs": COST_INPUTS}
    return equation(product_cost, **known), equation(gemm_tile, flags=CHOICE_NAMES, **known)


BEST = tuple(one for label, number in TYPES.items() for one in _equations_of_best(number, label))


@equation(source="by definition")
def product_time(product_cost, gemm_operations):
    """Time of the best tile and split. [s]"""
    return product_cost * gemm_operations


def _property_of_tile(name: str, place: int) -> Any:
    def entry(gemm_tile):
        """Property of the best tile and split."""
        result = float(CHOICES[-1][place])
        for index in reversed(range(len(CHOICES) - 1)):
            result = where(gemm_tile <= index, float(CHOICES[index][place]), result)
        return result

    return equation(entry, name=name, source="by definition")


OF_TILE = tuple(
    _property_of_tile(name, place)
    for place, name in enumerate(("gemm_tile_rows", "gemm_tile_columns", "gemm_splits"))
)


@equation(source=f"{GUIDE}, 2")
def gemm_blocks(product_rows, product_columns, gemm_tile_rows, gemm_tile_columns, gemm_splits):
    """Blocks of the product. [blocks]"""
    across, down = product_rows / gemm_tile_rows, product_columns / gemm_tile_columns
    return ceil(across) * ceil(down) * gemm_splits


@equation(source=f"{GUIDE}, 3: wave quantization")
def gemm_waves(gemm_blocks, n_sms):
    """Waves of blocks: one block for each multiprocessor at a time. [waves]"""
    return ceil(gemm_blocks / n_sms)


@equation(source=f"{GUIDE}, 3: wave quantization")
def gemm_last_wave_share(gemm_blocks, gemm_waves, n_sms):
    """Share of the multiprocessors that have a block in the last wave. [ratio]"""
    return (gemm_blocks - (gemm_waves - 1) * n_sms) / n_sms


_CHOSEN = ("gemm_tile_rows", "gemm_tile_columns", "gemm_splits", "gemm_depth_step", *COST_INPUTS)


@equation(source=TILES_AND_WAVES, inputs=_CHOSEN)
def gemm_tensor_time(*chosen):
    """Time of the tensor cores, with padding and the wait for the last wave. [s]"""
    return tile_costs(*chosen)[0] * chosen[-1]


@equation(source=TILES_AND_WAVES, inputs=_CHOSEN)
def gemm_operand_time(*chosen):
    """Time in which multiprocessors read the operands of their tiles. [s]"""
    return tile_costs(*chosen)[1] * chosen[-1]


@equation(source="Williams 2009")
def gemm_dram_time(gemm_dram_bytes, gemm_dram_rate):
    """Time in which DRAM sends the operands that the L2 cache does not keep. [s]"""
    return gemm_dram_bytes / gemm_dram_rate


@equation(source="what the L2 cache does not keep moves no faster than DRAM")
def gemm_output_rate(gemm_output_ratio, activation_miss_share, gemm_dram_rate):
    """Bytes per second of results and casts. [B/s]"""
    cached = 1 / gemm_output_ratio
    return gemm_dram_rate / (cached + activation_miss_share * maximum(1 - cached, 0))


@equation(source="what is written and cast is not overlapped with the product")
def gemm_output_time(product_rows, product_depth, result_bytes, gemm_cast_bytes, gemm_output_rate):
    """Time to write the results and the casts. [s]"""
    moved = result_bytes + product_rows * product_depth * gemm_cast_bytes
    return moved / gemm_output_rate


@equation(source="Choi 2014, power cap: energy takes as long as the limit allows; by operand bytes")
def gemm_limited_cost(gemm_operation_energy, element_bytes, seconds_per_joule):
    """Time per operation at the power limit of the board. [s]"""
    return gemm_operation_energy * element_bytes / 2 * seconds_per_joule


@equation(source=f"{GUIDE}, 2: two operations for each term")
def gemm_operations(product_rows, product_columns, product_depth):
    """Operations of the product. [operations]"""
    return 2 * product_rows * product_columns * product_depth


@equation(source="Williams 2009, without the bytes that the L2 cache may keep")
def gemm_floor(
    gemm_operations, gemm_peak, core_clock, boost_clock, n_sms, rated_sms, weight_bytes,
    activation_bytes, result_bytes, l2_size, mem_bandwidth,
):  # fmt: skip
    """Lower bound on the time, from the printed rate at this clock and the bandwidth. [s]"""
    beyond = maximum(weight_bytes + activation_bytes + result_bytes - l2_size, 0)
    peak = gemm_peak * (core_clock / boost_clock) * (n_sms / rated_sms)
    compute = divide(gemm_operations, peak, at_zero=math.inf)
    return maximum(compute, beyond / mem_bandwidth)


@equation(source="sum of what is not overlapped, joined with the power limit; floor")
def time(
    gemm_start_time, gemm_cast_time, product_time, gemm_output_time, gemm_operations,
    gemm_limited_cost, gemm_floor,
):  # fmt: skip
    """Run time. [s]"""
    total = gemm_start_time + gemm_cast_time + product_time + gemm_output_time
    limited = power(total, 4) + power(gemm_operations * gemm_limited_cost, 4)
    return maximum(sqrt(sqrt(limited)), gemm_floor)


@equation(source=LEFT_OUT)
def time_low(time, gemm_error_low, gemm_floor):
    """Lower end of an interval that contains the time of 90 % of the shapes. [s]"""
    return maximum(time * gemm_error_low, gemm_floor)


@equation(source=LEFT_OUT)
def time_high(time, gemm_error_high):
    """Upper end of an interval that contains the time of 90 % of the shapes. [s]"""
    return time * gemm_error_high


@equation(
    source="the largest of what takes time",
    flags={0: "start", 1: "tensor", 2: "memory", 3: "tiles", 4: "output", 5: "power"},
)
def gemm_bound(
    gemm_start_time, gemm_cast_time, gemm_operations, gemm_rate, gemm_limited_cost, gemm_dram_time,
    product_time, gemm_output_time,
):  # fmt: skip
    """Largest part of the time: start, tensor units, DRAM, tiles, results or the power limit.

    The part of the tiles is what padding, operands and the last wave add to tensor units or DRAM.
    """
    start = gemm_start_time + gemm_cast_time
    tensor = divide(gemm_operations, gemm_rate, at_zero=math.inf)
    work = maximum(tensor, gemm_dram_time)
    bound = where(gemm_dram_time > tensor, 2.0, 1.0)
    bound = where(product_time > 2 * work, 3.0, bound)
    longest = where(product_time > 2 * work, product_time - work, work)
    bound = where(gemm_output_time > longest, 4.0, bound)
    longest = maximum(longest, gemm_output_time)
    bound = where(start > longest, 0.0, bound)
    limited = gemm_operations * gemm_limited_cost
    return where(limited > maximum(longest, start), 5.0, bound)


@equation(source="by definition; operations are divided out of each term")
def gemm_efficiency(
    product_cost, gemm_start_time, gemm_cast_time, gemm_operations, product_columns, product_depth,
    gemm_cast_bytes, gemm_output_rate, gemm_limited_cost, gemm_floor, gemm_peak,
):  # fmt: skip
    """Operations per second divided by the printed rate. [ratio]"""
    start = (gemm_start_time + gemm_cast_time) / gemm_operations
    output = (1 / product_depth + gemm_cast_bytes / (2 * product_columns)) / gemm_output_rate
    cost = sqrt(sqrt(power(product_cost + start + output, 4) + power(gemm_limited_cost, 4)))
    most = divide(gemm_operations, gemm_floor, at_zero=math.inf)
    return divide(minimum(1 / cost, most), gemm_peak, at_zero=0.0)


@equation(source="by definition; the efficiency has tighter bounds over shapes than the time")
def gemm_flops(gemm_efficiency, gemm_peak):
    """Operations per second. [1/s]"""
    return gemm_efficiency * gemm_peak


# --- power


@equation(source="every byte crosses the L2 cache")
def gemm_moved_bytes(
    weight_bytes, activation_bytes, result_bytes, product_rows, product_depth, gemm_cast_bytes
):
    """Bytes that operands, results and casts move. [B]"""
    cast = product_rows * product_depth * gemm_cast_bytes
    return weight_bytes + activation_bytes + result_bytes + cast


@equation(source="Choi 2013, constant power")
def gemm_idle_power(board_power, gemm_idle_power_share):
    """Power of the machine between operations. [W]"""
    return board_power * gemm_idle_power_share


@equation(source="Choi 2013, energy roofline: power of operations and of bytes; fitted to a B200")
def gemm_power_ratio(
    gemm_launch_power_share, gemm_compute_power_share, gemm_operations, gemm_peak,
    gemm_memory_power_share, gemm_moved_bytes, mem_bandwidth, time, gemm_idle_power_share,
):  # fmt: skip
    """Power demand beyond idle power, at full clocks, over what board_power leaves. [ratio]"""
    compute = gemm_compute_power_share * divide(gemm_operations, gemm_peak, at_zero=0.0)
    work = compute + gemm_memory_power_share * gemm_moved_bytes / mem_bandwidth
    demand = gemm_launch_power_share + divide(work, time, at_zero=math.inf)
    return divide(demand, 1 - gemm_idle_power_share, at_zero=math.inf)


@equation(source="clocks fall where demand comes near the power limit of the board")
def power_demand(board_power, gemm_idle_power, gemm_power_ratio):
    """Power at the limit of the board, while the product is repeated. [W]

    >>> [round(power_demand(1000.0, 300.0, ratio)) for ratio in (0.0, 0.1, 1.0, 10.0)]
    [300, 370, 795, 997]
    """
    drawn = 1 / sqrt(1 + power(divide(1, gemm_power_ratio, at_zero=math.inf), 2))
    return gemm_idle_power + (board_power - gemm_idle_power) * drawn


@equation(source="by definition")
def gemm_energy(power_demand, gemm_idle_power, time):
    """Energy of a product, beyond that of an idle machine. [J]"""
    return (power_demand - gemm_idle_power) * time


@equation(source="Choi 2014, power cap: the energy takes as long as the limit allows")
def sustained_time(time, gemm_energy, power_limit, gemm_idle_power):
    """Run time of a product that is repeated for longer than a second. [s]"""
    left = maximum(power_limit - gemm_idle_power, 0)
    return maximum(time, divide(gemm_energy, left, at_zero=math.inf))


@equation(source="by definition")
def sustained_power(gemm_idle_power, gemm_energy, sustained_time):
    """Power while the product is repeated for longer than a second. [W]"""
    return gemm_idle_power + divide(gemm_energy, sustained_time, at_zero=math.inf)


@equation(source=f"{DATA}: up to 3,000 rounds over the weights, but no more than a second")
def gemm_metered_time(time, weights_in_turn, meter_window):
    """Time for which a benchmark repeats the product while it reads the power. [s]"""
    return minimum(3000 * weights_in_turn * time, meter_window)


@equation(source="fitted to a B200: the benchmark measures large products first, after a pause")
def gemm_metered_share(
    gemm_metered_time, meter_window, gemm_pause, product_rows, gemm_history_share
):
    """Share of the window of a power meter in which products run; 1 without pauses. [ratio]

    At the start of a measurement, the window holds earlier measurements and their pauses; at its
    end, it holds the measurement alone.

    >>> round(gemm_metered_share(1.0, 1.0, 0.1, 2000.0, 1.0), 2)  # pauses of 0.4 s
    0.86
    """
    pause = gemm_pause * power(product_rows / 1000, 2)
    before = divide(gemm_history_share * gemm_metered_time, gemm_metered_time + pause, at_zero=1.0)
    return 1 - (1 - gemm_metered_time / (2 * meter_window)) * (1 - before)


@equation(name="power", source="NVML averages power over a second")
def gemm_power(gemm_idle_power, sustained_power, gemm_metered_share):
    """Power that a meter shows in a benchmark; ``sustained_power`` is without its pauses. [W]"""
    return gemm_idle_power + (sustained_power - gemm_idle_power) * gemm_metered_share
