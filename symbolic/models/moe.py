"""Time of the experts of a mixture (MoE) on one rank, with balanced or random loads.

Each token visits ``topk`` experts. Expert parallelism divides the experts among ranks, and tensor
parallelism divides the inner size of each expert. A rank multiplies the tokens of its occupied
experts by their weights in two grouped products: up (with a gate, two matrices) and down. The
weights of an occupied expert are read once. A library chooses the rows of a tile: the time is the
least over ``TILE_ROWS``. The time of a product is the root of the sum of squares of compute time
and DRAM time. Around the products, activations are cast, sorted by expert, and added up per token.

Twelve numbers belong to a GPU. They are fitted to measured times of whole calls; the defaults are
fitted to an H100 and a B200 together.

Loads are balanced if ``routing`` is not given. Otherwise ``routing`` is a law of the loads of
experts, as a text object that computes them, and the time is that of the rank with the most tokens:
at its mean loads, or at those of a level, ``routing_level``. A random level gives the law of the
time. The library chooses the rows of a tile for balanced loads.

Not monotone: with fewer ``experts``, each has more tokens, and its last tile may be emptier.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.models._attention import DATA, rate_and_interval
from symbolic.models._labels import by_label
from symbolic.models.imbalance import require_law
from symbolic.ops import ceil, divide, either, equal, maximum, minimum, power, sqrt, where
from symbolic.quantity_rows.language_models import MOE_NUMBERS

FITTED = tuple(row.name for row in MOE_NUMBERS)
OUTPUTS = ("time", "time_low", "time_high", "moe_expert_tokens")
VALIDITY = Validity(
    quantity="tensor_fp16_flops",
    minimum=1,
    statement="moe assumes tensor cores, which the machine does not have",
)

RULES = ("moe_peak > 0",)  # the machine has tensor cores for the number type

GROUPED = "NVIDIA DU-09799, 2 and 3, of each expert (grouped product)"

#: Possible numbers of rows (tokens) of a tile, of which the library takes the best; number of
#: columns.
TILE_ROWS = (16.0, 32.0, 64.0, 128.0, 256.0)
TILE_COLUMNS = 128.0


SHARED = rate_and_interval("moe")

#: For each number type: (1) printed rate; (2) attained share of this rate; (3) bytes of an element;
#: (4) how often activations of experts move; (5) start-up time of casts; (6) time of an expert. In
#: nvfp4, 16 elements share a scale of 8 bits. Kernels with block scales pad the experts' tokens.
_QUANTITIES = ("peak", "share", "element_bytes", "traffic", "cast_time", "padding_time")
_CAST = ("moe_wide_traffic", "moe_fp8_start_time")
TYPES: dict[str, tuple[str | float, ...]] = {
    "bf16": ("tensor_bf16_flops", 1.0, 2.0, "moe_wide_traffic", 0.0, 0.0),
    "fp16": ("tensor_fp16_flops", 1.0, 2.0, "moe_wide_traffic", 0.0, 0.0),
    "fp8": ("tensor_fp8_flops", 1.0, 1.0, *_CAST, 0.0),
    "fp8_block": ("tensor_fp8_flops", "moe_fp8_block_share", 1.0, *_CAST, "moe_expert_time"),
    "fp4": ("tensor_fp4_flops", 1.0, 0.5625, "moe_fp4_traffic", "moe_fp4_start_time", 0.0),
}
BY_TYPE = tuple(
    one
    for column, name in enumerate(_QUANTITIES)
    for one in by_label(f"moe_{name}", DATA, "dtype", {t: TYPES[t][column] for t in TYPES})
)
moe_up_matrices = by_label(
    "moe_up_matrices", "Shazeer 2020 (GLU)", "gated", {"true": 2.0, "false": 1.0}
)
moe_activation_time = (
    *by_label("moe_activation_time", "one kernel with its cast", "gated", {"true": 0.0}),
    *by_label(
        "moe_activation_time",
        "without a gate, the activation and its cast have kernels of their own",
        "dtype",
        dict.fromkeys(TYPES, "moe_activation_start_time") | {"bf16": 0.0, "fp16": 0.0},
        gated="false",
    ),
)


BALANCED, ROUTED = {"moe_loads": "balanced"}, {"moe_loads": "routing"}


@equation(source="by definition, of balanced loads", when=BALANCED)
def moe_rank_tokens(tokens, topk, expert_parallel):
    """Number of pairs of a token and an expert on one rank; at least 1. [pairs]"""
    return maximum(tokens * topk / expert_parallel, 1)


@equation(source="by definition")
def moe_rank_experts(experts, expert_parallel):
    """Experts of one rank. [experts]"""
    return maximum(experts / expert_parallel, 1)


@equation(source="balanced loads: as many experts as pairs, if these are few", when=BALANCED)
def moe_occupied_experts(moe_rank_tokens, moe_rank_experts):
    """Experts of one rank that get a token. [experts]"""
    return minimum(moe_rank_experts, moe_rank_tokens)


_LAYER = (
    *("routing", "routing_level", "tokens", "topk", "experts", "expert_parallel"),
    *("capacity_factor", "dropped_share", "expert_copies"),
)
TILE_NAMES = tuple(f"moe_tiles_{rows:.0f}" for rows in TILE_ROWS)
_NUMBERS = ("moe_rank_tokens", "moe_occupied_experts", "moe_dropped_tokens", *TILE_NAMES)


def _routed_equation(place, name):
    def number(routing, *layer):
        """Number of the rank with the most tokens."""
        law = require_law(routing, "routing", "busiest_rank")
        return law.busiest_rank(TILE_ROWS, *layer)[place]

    source = "random loads of experts, spread evenly among tokens"
    result = equation(number, name=name, source=source, when=ROUTED, table=True, inputs=_LAYER)
    return result.copy_as(name, *_LAYER, formula=name)


OF_BUSIEST_RANK = tuple(_routed_equation(place, name) for place, name in enumerate(_NUMBERS))


@equation(source="by definition")
def moe_expert_tokens(moe_rank_tokens, moe_occupied_experts):
    """Tokens of an occupied expert. [tokens]"""
    return moe_rank_tokens / moe_occupied_experts


@equation(source="by definition")
def moe_inner_size(intermediate, tensor_parallel):
    """Inner size of an expert on one rank. [elements]"""
    return intermediate / tensor_parallel


_PRODUCTS = (
    *("hidden", "moe_inner_size", "moe_up_matrices", "moe_element_bytes"),
    *("n_sms", "moe_rate", "moe_tile_time", "mem_bandwidth", "moe_dram_share"),
)


def _products_time(loads, rows, hidden, inner, up_matrices, element_bytes, n_sms, *rates):
    """Return the time of both grouped products, with tiles of ``rows`` rows.

    ``loads`` has tokens, occupied experts, and the number of tiles of one column as two factors.
    """
    tokens, occupied, units, tiles_of_unit = loads
    rate, tile_time, bandwidth, dram_share = rates
    both = 0.0
    for columns, depth in ((up_matrices * inner, hidden), (hidden, inner)):
        tiles = units * (tiles_of_unit * ceil(columns / TILE_COLUMNS))
        operations = 2 * rows * TILE_COLUMNS * depth
        tile = divide(operations * n_sms, rate, at_zero=math.inf) + tile_time
        weights = occupied * columns * depth * element_bytes
        moved = weights + tokens * (depth * element_bytes + 2 * columns)
        dram = moved / (bandwidth * dram_share)
        both = both + sqrt(power(ceil(tiles / n_sms) * tile, 2) + power(dram, 2))
    return both


def _balanced_times(tokens, occupied, expert_tokens, *products):
    """Return the time of the products of balanced loads for each of ``TILE_ROWS``."""
    return [
        _products_time((tokens, occupied, occupied, ceil(expert_tokens / rows)), rows, *products)
        for rows in TILE_ROWS
    ]


_EVEN = ("moe_rank_tokens", "moe_occupied_experts", "moe_expert_tokens", *_PRODUCTS)


@equation(source=GROUPED, when=BALANCED, inputs=_EVEN)
def moe_products_time(*inputs):
    """Time of both grouped products, with the best rows of a tile. [s]"""
    return minimum(*_balanced_times(*inputs))


_LOADS = ("tokens", "topk", "expert_parallel", "moe_rank_experts", "moe_tile_rows")
_BUSIEST = ("moe_rank_tokens", "moe_occupied_experts", *TILE_NAMES)
_INPUTS = (*_LOADS, *_BUSIEST, *_PRODUCTS)


@equation(name="moe_products_time", source=GROUPED, when=ROUTED, inputs=_INPUTS)
def moe_routed_time(tokens, topk, ranks, rank_experts, chosen_rows, *others):
    """Time of both grouped products, with the rows of a tile that are best for balanced loads. [s]

    ``moe_tile_rows`` chooses other rows; the time is infinite if no kernel has them.
    """
    busiest, products = others[: len(_BUSIEST)], others[len(_BUSIEST) :]
    balanced = moe_rank_tokens(tokens, topk, ranks)
    occupied = moe_occupied_experts(balanced, rank_experts)
    expected = _balanced_times(balanced, occupied, balanced / occupied, *products)
    least, result = math.inf, math.inf
    for rows, tiles, balanced_time in zip(TILE_ROWS, busiest[2:], expected, strict=True):
        is_chosen = either(equal(chosen_rows, 0), equal(chosen_rows, rows))
        time_of_rows = where(is_chosen, balanced_time, math.inf)
        routed_time = _products_time((*busiest[:2], tiles, 1.0), rows, *products)
        result = where(time_of_rows < least, routed_time, result)
        least = minimum(least, time_of_rows)
    return result


@equation(source=f"sums, casts, activation and sort move activations several times; {DATA}")
def moe_traffic_time(
    tokens, topk, hidden, moe_inner_size, moe_rank_tokens, moe_traffic, moe_token_traffic,
    moe_pair_time, mem_bandwidth,
):  # fmt: skip
    """Time around the products: a rank's activations, and the tokens of all ranks. [s]"""
    elements = moe_rank_tokens * (hidden + moe_inner_size) * moe_traffic
    moved = 2 * (elements + tokens * hidden * moe_token_traffic)
    return moved / mem_bandwidth + moe_pair_time * tokens * topk


@equation(source="two operations for each element of each matrix")
def moe_operations(moe_rank_tokens, hidden, moe_inner_size, moe_up_matrices):
    """Operations of one rank. [operations]"""
    return 2 * moe_rank_tokens * hidden * moe_inner_size * (moe_up_matrices + 1)


@equation(source="Williams 2009, without the bytes that the L2 cache may keep")
def moe_floor(
    moe_operations, moe_peak, moe_occupied_experts, hidden, moe_inner_size, moe_up_matrices,
    moe_element_bytes, l2_size, mem_bandwidth,
):  # fmt: skip
    """Lower bound on the time, from the machine's printed rate and bandwidth. [s]"""
    elements = moe_occupied_experts * hidden * moe_inner_size * (moe_up_matrices + 1)
    beyond = maximum(elements * moe_element_bytes - l2_size, 0)
    compute = divide(moe_operations, moe_peak, at_zero=math.inf)
    return maximum(compute, beyond / mem_bandwidth)


@equation(source="sum of what follows one after the other, and no less than the floor")
def time(
    moe_start_time, moe_cast_time, moe_activation_time, moe_padding_time, moe_rank_experts,
    moe_products_time, moe_traffic_time, moe_floor,
):  # fmt: skip
    """Run time of one rank. [s]"""
    starts = moe_start_time + moe_cast_time + moe_activation_time
    experts = moe_padding_time * moe_rank_experts
    return maximum(starts + experts + moe_products_time + moe_traffic_time, moe_floor)
