"""Define all sizes in one table: tiles, blocks, batches, limits, thresholds between methods.

Modules read sizes by name (``sizes.SCAN_BLOCK``). The environment variable
``DSE_SIZES`` selects other values, so that tests with small studies cross every threshold. The
variable is read when this module is imported. It has some of these settings, separated by commas:

``tiny``
    Use the tiny value of every row that has a tiny value.
``tiny:7``
    Like ``tiny``, but replace each tiny value that is a prime by a random prime up to four times as
    large, with the seed 7.
``numpy``
    Keep the shipped values of ``NESTS``, the sizes below which no loop nest is compiled. After
    ``tiny``, small studies then run in NumPy: this saves a second of compilation for each study.
``SCAN_BLOCK=7``
    Change only this size.

A size that has a tiny value may change results only by rounding and by the choice of method. A size
without a tiny value is a limit, or its value changes results.
"""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:

    def __getattr__(name: str) -> int: ...


#: For each name: the shipped value, the tiny value (or None), and the purpose with the unit.
TABLE: dict[str, tuple[int, int | None, str]] = {
    # Grids and loop nests
    "ELEMENTARY_BLOCK": (1 << 13, 7, "values of a series computed together"),
    "RUN_TILE": (1 << 23, 41, "points of a tile; smaller grids are cut into about four tiles"),
    "RUN_SMALL": (1 << 15, 5, "points below which a group is evaluated in NumPy"),
    "RUN_SINGLE": (1 << 17, 13, "points below which a group is one tile on one thread"),
    "RUN_MANY": (1 << 22, 17, "points from which tiles without a feasible point are skipped"),
    "NEST_ROW": (1024, 7, "points of the piece of a row in the first-level cache"),
    "NEST_LONG": (128, 5, "points at which a row takes in no further axis"),
    "NEST_SHORT": (32, 3, "points up to which a row stays short rather than being cut"),
    "NEST_STEPS": (48, 2, "steps of a loop along the row beyond which it is cut at calls"),
    "PASS_SMALL": (1 << 16, 5, "points below which no nest is compiled"),
    "PASS_PIECE": (1 << 19, 19, "points of a tile, which stay in the cache"),
    "PASS_WORTH": (32, 2, "tiles from which enclosures are worth their time"),
    "PASS_BATCH": (1 << 10, 5, "tiles enclosed together"),
    "PASS_SHARES": (4, 3, "pieces of a batch for each thread"),
    "REDUCE_ARCHIVE": (32, 3, "strong points with which all points are first compared"),
    "REDUCE_SAMPLE": (1 << 12, 11, "points from which the strong ones are chosen"),
    "REDUCE_TOGETHER": (1 << 10, 5, "points compared together with the front so far"),
    "ROWS_SMALL": (1 << 15, 5, "values below which no nest is compiled"),
    "ROWS_BLOCK": (1 << 16, 29, "values of rows computed together"),
    "REACH_TOGETHER": (1 << 13, 5, "points of a formula enclosed together over its laws"),
    "ROWS_SHORT": (32, 3, "values along an axis below which the points form the rows"),
    "SUM_SHORT": (64, None, "values of a row up to which a search expands it term by term"),
    "PORTION": (1 << 21, 37, "values of a statistic in memory"),
    "TABLE_PIECES": (8, 3, "pieces of a table equation for each thread"),
    "AXES_MOST": (60, None, "axes of a study; NumPy has 64 dimensions, answers need a few more"),
    "LAW_BIN_ENDS": (1000, None, "places at which a bin may end; fewer give another answer"),
    "FAILED_LISTED": (1000, None, "failed points of a tile that are listed"),
    "TOP_MOST": (1_000_000, None, "winners of a query"),
    # Scans
    "SCAN_TILE": (1 << 21, 31, "points of a tile that is only reduced"),
    "SCAN_BLOCK": (1 << 21, 29, "points ranked together in many short rankings"),
    "TABLE_BLOCK": (1 << 21, 37, "points of a Dataset read together"),
    "BINS_COMPILED": (1 << 15, 5, "values from which compiled code counts them"),
    "BINS_SLOTS": (1 << 12, 3, "least slots of the range of a histogram"),
    "BINS_DIGIT": (16, 4, "bits of a digit of a number; divides 64"),
    "BINS_MOST": (1 << 20, None, "bins a histogram may have"),
    "DECOMPOSE_BLOCK": (1 << 16, 13, "points whose intermediate values are in memory together"),
    "LEADERS_FIRST": (256, 3, "configurations visited first; their minima exclude most others"),
    "FRONT_JUDGES": (256, 3, "points of the front that a tile is compared with"),
    # Queries
    "LISTED_MOST": (1 << 20, None, "ties or near-best configurations an answer lists"),
    "CHANCE_RIVALS": (1024, 2, "likely winners that others are compared with on fresh draws"),
    "CELLS_OF_DRAWS": (64, None, "cells into which draws are grouped; fewer give wider bounds"),
    "INVARIANT_NAMED": (1 << 12, 3, "named points of an answer that are evaluated again"),
    "INVARIANT_SAMPLE": (32, 5, "random points that an answer is compared with"),
    "INVARIANT_COMPARED": (64, 3, "points of a front that are compared with the rest"),
    "LIKELY_WINNERS": (64, None, "configurations best in some draw; fewer give wider bounds"),
    "SCANNED": (1 << 27, 53, "points up to which a scan is as fast as a certified search"),
    "SCANNABLE": (1 << 37, None, "points up to which a scan replaces a slower proof"),
    "LISTED_BOXES": (1 << 20, None, "boxes in memory while near-best configurations are listed"),
    # Certified searches
    "MERGE_WORTH": (1 << 28, 3, "points below which no axes are merged"),
    "MERGE_MOST": (1 << 21, 997, "combinations evaluated to merge axes"),
    "MERGE_TRIED": (48, 5, "values of each axis tried first"),
    "ORDERED_ROWS": (1 << 17, 7, "rows above which they are only sorted, not ordered recursively"),
    "ORDERED_PIECE": (2, 3, "rows of a piece that is not split further"),
    "CHECK_SAMPLE": (1 << 12, 13, "points drawn to find the condition that excludes most"),
    "FIRST_BLOCK": (1 << 20, 23, "points searched together for the first feasible one"),
    "FIRST_GLANCE": (1 << 12, 7, "points of the first block, which usually has a feasible point"),
    "FIRST_MANY": (1 << 26, 101, "points beyond which boxes are searched instead"),
    "EXPAND_POINTS": (64, 5, "points up to which a statistic is written as a formula"),
    "EXPAND_CHEAP": (1 << 20, 11, "values up to which a statistic is no formula, but computed"),
    "EXPAND_MOST": (1 << 31, None, "values up to which a statistic is computed before a proof"),
    "EXPAND_NUMBERS": (1 << 24, None, "results of a statistic that is computed before a proof"),
    "REPLACED_VALUES": (1 << 12, None, "values of an axis among which a rule may choose"),
    "RULE_VALUES": (1 << 12, None, "values of the axis that a rule chooses"),
    "RULE_CONSTANTS": (32, 3, "constants among which a rule is fitted"),
    "RULE_SAMPLE": (1200, 50, "points of the first fit of a rule"),
    "RULE_ROUNDS": (100, None, "fits of a rule, each to more points"),
    "RULE_LEAVES": (1 << 10, None, "leaves of a rule that is checked"),
    "RULE_BATCH": (1 << 16, 64, "bounds of objectives that are computed together"),
    "RULE_VISITED": (1 << 13, 64, "points that are evaluated before the proof of a rule"),
    "RULE_POOL": (1 << 20, 31, "open boxes above which the last ones come first"),
    "RULE_POINTS": (64, 3, "worst points of a batch that join the fit"),
    "EXTREMES_TABLE": (1 << 24, 17, "numbers of the table of extremes of a leaf"),
    "SEARCH_ROUND": (32, 3, "boxes of a round"),
    "SEARCH_BUDGET": (512, 7, "parts bounded for each box of a round"),
    "SEARCH_POOL": (1 << 17, 31, "open boxes above which the highest bounds come first"),
    "SEARCH_DEEP": (1 << 14, 13, "parts bounded for each box then, to save memory"),
    "SEARCH_NEAR": (256, 3, "nearly best points of a box that NumPy evaluates again"),
    "SEARCH_QUICK": (1000, 11, "boxes bounded before a coordinate descent"),
    "CERTIFICATE_BATCH": (1 << 12, 3, "boxes bounded together while a certificate is written"),
    "CERTIFICATE_BOXES": (1 << 20, None, "boxes of a certificate"),
    "CERTIFICATE_NUMBERS": (1 << 20, None, "listed values of a quantity in a certificate"),
    "ALONG_FEW": (128, 5, "values of an axis that are bounded one by one"),
    "DIG_TRIED": (3, 2, "steps of a formula at which branching is tried in a box"),
    "LEAF_ROW": (1 << 10, 3, "points up to which a row of a leaf gets further axes"),
    "DESCENT_DRAWN": (1 << 12, 7, "random start points"),
    "DESCENT_IMPROVED": (4, 2, "best start points that are improved"),
    "DESCENT_ALONG": (1 << 12, 5, "values tried along one axis"),
    "DESCENT_PAIR": (1 << 12, 7, "points tried along two axes"),
    "DESCENT_INNER": (1 << 20, 7, "points over the axes of best values at an answer"),
    "DESCENT_ROUNDS": (50, 3, "rounds of improvement over all axes and pairs"),
    "FRONT_SINGLE": (1 << 15, 11, "boxes bounded before ties are broken point by point"),
    "FRONT_MOST": (1 << 16, None, "points of a certified front"),
    "ARCHIVE_JUDGES": (256, 3, "archived points with which new points are first compared"),
    "ARCHIVE_MANY": (1 << 12, 7, "new points above which the strongest archived points come first"),
    "ARCHIVE_SAMPLE": (1 << 8, 5, "new points in the sample that ranks archived points"),
    "BEAT_BATCH": (1 << 8, 3, "boxes of a front processed together"),
    "BEAT_LEAF": (1 << 17, 11, "points of a box up to which it is scanned"),
    "COVER_BATCH": (1 << 11, 3, "boxes of a covered front processed together"),
    "COVER_LEAF": (1 << 14, 7, "points of a box up to which it is scanned, with a tolerance"),
    "BEAT_TOGETHER": (1 << 16, 13, "points of all small boxes that one call scans"),
    "BEAT_COMPILED": (1 << 20, 17, "points from which a loop nest is compiled"),
    "BEAT_DRAWN": (1 << 12, 7, "random start points"),
    "BEAT_IMPROVED": (64, 3, "archived start points that are improved along each axis"),
    "BEAT_TRIED": (256, 5, "values tried along each axis"),
    "BEAT_ROUNDS": (3, 2, "rounds of improvement over all axes"),
    "BORDERS_TOGETHER": (1 << 20, 23, "points on all lines that are evaluated together"),
    "TARGETS_BATCH": (1 << 10, 5, "boxes split together"),
    "TARGETS_SCANNED": (1 << 8, 3, "points of a box that is scanned"),
    "RIVALS_TOGETHER": (1 << 11, 5, "boxes bounded together"),
    "RIVALS_FEW": (1 << 11, None, "boxes left up to which winning shares are refined"),
    "RANGES_TOGETHER": (1 << 11, 127, "configurations bounded together"),
    "RANGES_PIECES": (32, None, "pieces of a configuration; fewer give wider ranges"),
    "TOLERANCE_ALL": (1 << 18, None, "pieces of all configurations; fewer give wider ranges"),
    "TOLERANCE_PIECES": (1 << 12, None, "pieces of one configuration; fewer give wider ranges"),
    # Stores
    "STORE_TILE": (1 << 21, 43, "points of a tile of a store"),
    "STORE_CHUNK": (1 << 17, 11, "points of a chunk in a shard"),
    "STORE_MEMORY": (1 << 31, None, "bytes of tiles in progress and their copies"),
    "READER_SHARDS": (4, 2, "shards in the cache; the next chunk is often in the last shard"),
    "STORE_BLOCK": (1 << 10, 3, "tiles checked together for a feasible point"),
    "EXPORT_ROWS": (1 << 19, 7, "rows of a table written at a time"),
    "CHUNK_READ": (1 << 30, None, "bytes of a chunk or an axis of a foreign store"),
    # Clusters
    "CLUSTER_SHARES": (4, 3, "parts of a query for each thread, so that all threads end together"),
    # The tool
    "LOOKED_UP": (1 << 24, 19, "points below which a query compiles no nest, but reads a run"),
    "LAW_FEW_LANES": (24, None, "lanes of a group below which quantiles are simulated"),
    "LAW_VALUES": (2_500, None, "values of a law above which quantiles are simulated"),
    "LAW_GROUPS": (1_000_000, None, "groups in the simulation of quantiles"),
    "LAW_PLACES": (1000, None, "places at which a bin may end; fewer give another answer"),
    "SEARCHED_AROUND": (1 << 20, None, "points around the middle searched for a feasible one"),
    "EFFECTS_COMPILED": (1 << 22, 19, "points from which a nest is compiled"),
    "EFFECTS_LARGE": (1 << 20, 31, "points of a block of a compiled nest"),
    "EFFECTS_SMALL": (1 << 16, 7, "points of a block of NumPy"),
    "EFFECTS_BLOCK": (1 << 20, 29, "points of a block of a Dataset"),
    "FIT_NUMBERS": (1 << 21, 101, "numbers in memory while candidates of a fit are compared"),
    "CROSSING_MOST": (1 << 24, None, "configurations of an answer, times varied quantities"),
    "RIVALRY_BOXES": (1 << 16, None, "boxes of an answer that describes possible winners"),
    "RIVALRY_INPUTS": (3, None, "uncertain inputs of such an answer"),
    "WITHIN_MOST": (1 << 20, None, "configurations of an answer"),
    "WITHIN_CELLS": (64, None, "cells of the uncertain inputs; fewer give wider ranges"),
    "DELIMITED_SAMPLE": (1 << 17, 197, "characters of a table by which its layout is detected"),
    "DELIMITED_RECORDS": (1000, 11, "records of a table by which its separator is detected"),
    "DELIMITED_HEAD": (50, 7, "records searched for a header"),
    "DELIMITED_NEAR": (50, 7, "rows near a possible header that are searched for numbers"),
    "MEASURED_CELLS": (1 << 27, None, "cells of a grid of measurements"),
    "PAGE_SEARCHED": (200_000, None, "configurations that a page searches itself"),
    "DRAWS_MOST": (1 << 26, None, "draws of an uncertain study"),
    "POINTS_CACHED": (1 << 20, 97, "bytes of Sobol points cached for the next process"),
    "OUTPUT_PIECES": (256, None, "pieces of a law, each proven; fewer give wider bounds"),
    "WORDS_CACHED": (1 << 15, 3, "disassembled words remembered for each architecture"),
    "VARIANTS_TAKEN": (256, 2, "variants of a kernel compiled at once"),
    "FOOTPRINT_RUNS": (1 << 14, None, "runs of bytes listed one by one; beyond them an estimate"),
    "FOOTPRINT_LOOKED": (1 << 18, None, "addresses of an access; beyond them an estimate"),
    "PASSES_LOOKED": (32, None, "passes analysed; beyond them an estimate"),
    "PASSES_FOLLOWED": (1_000_000, None, "passes followed one by one"),
    "PASSES_EVERY": (2048, None, "passes up to which every one is analysed"),
    "PASSES_FEW": (4, None, "passes of each of many loops that are analysed"),
    "PASSES_NUMBERS": (1 << 23, None, "numbers in memory"),
    "KERNEL_INSTRUCTIONS": (1 << 16, None, "instructions of a kernel with all copies of functions"),
    "LITERALS_MOST": (10_000, 2, "numbers with units whose values are remembered"),
    "EXPRESSION_ATOMS": (20_000, None, "atoms of the largest expression followed"),
    "EXPRESSION_TERMS": (1500, None, "terms of the largest product of expressions"),
    "PASSES_TRIED": (1024, None, "passes tried one by one"),
    "BLOCKS_LOOKED": (512, None, "blocks of a launch analysed"),
    "REQUEST_BLOCKS": (27, None, "blocks whose requests are analysed"),
    "REQUESTS_LOOKED": (2048, None, "requests analysed"),
    "REGISTER_WAYS": (16, None, "paths followed separately"),
    # Equations
    "LINES_BATCH": (1 << 15, 37, "boxes or points followed together"),
    "BRACKETS_BATCH": (1 << 12, 41, "parts into which one step cuts all brackets together"),
    "GAP_DEPTH": (20, None, "halvings of a gap between two edges; fewer give other borders"),
    "GAP_WIDE": (32, None, "undecided pieces of a gap; fewer give other borders"),
    "GAP_FINE": (16, None, "parts of an undecided piece if they are few; fewer give other borders"),
    "GAP_FEW": (512, None, "undecided pieces that are few"),
    "GAP_PARTS": (256, None, "parts of a bracket of a border"),
    "ADVICE_NEAR": (4096, None, "whole values tried one by one; beyond them by ratio"),
    "BRANCHES_MOST": (12, None, "branches of a border in closed form"),
    # Laws
    "TIMES_EACH": (8, 2, "times for which it pays to start a thread"),
    "CENTRED_TILE": (64, 8, "starts computed together; a power of two"),
    "CONVOLVE_BLOCK": (64, 5, "terms added before a step of compensated summation"),
    "CONVOLVE_PART": (256, 7, "products added before a step of compensated summation"),
    "INVERT_BLOCK": (64, 7, "values transformed together"),
    "INVERT_FEW": (16, 3, "terms added before a step of compensated summation"),
    "INVERT_LEAP": (16, 3, "multiplications by a root that are replaced by one"),
    "INVERT_FRESH": (1024, 5, "multiplications after which a power of a root is recomputed"),
    "SPECTRA_TILE": (256, 7, "frequencies computed together"),
    "SWEEP_TILE": (128, 8, "deficits computed together"),
    "VARIANCE_CHUNK": (256, 7, "values computed together"),
    "COEFFICIENT_ROWS": (64, 3, "rows of a table of values at most"),
    "COEFFICIENT_SPARSE": (8, 2, "table cells per value from which values are listed"),
    "COEFFICIENT_CHUNK": (2_000_000, 101, "numbers computed together"),
    "ATOMS_AT_ONCE": (500_000, 101, "losses inverted together"),
    "QUANTILES_LISTED": (64, None, "candidates for a quantile compared exactly"),
    "RATIOS_BYTES": (2 << 30, None, "bytes of the table of ratios"),
    "MOMENT_ROWS": (32, 3, "rows of a table of values at most"),
    "MOMENT_SPARSE": (8, 2, "table cells per value from which values are listed"),
    "TRANSFORM_CHUNK": (1 << 19, 29, "probabilities computed together"),
    "FREQUENCIES_FINE": (64, None, "grid points per turn of the phase of the largest value"),
    "FREQUENCIES_WORTH": (10**6, None, "transforms beyond which a search among frequencies pays"),
    "LATTICE_COEFFICIENTS": (15_000_000, None, "coefficients in memory"),
    "LATTICE_TRANSFORMS": (10**9, None, "transforms of a value at a frequency"),
    "LATTICE_PRODUCTS": (2_000_000_000, None, "products of a convolution"),
    "CORRELATED_STATES": (2_000_000, None, "states of correlated lanes"),
    "CORRELATED_PRODUCTS": (500_000_000, None, "products of correlated lanes"),
    "OUTCOMES_BYTES": (4 << 30, None, "bytes of the joint law of maximum and sum"),
    "LAUNCH_BINS": (8, None, "bins tried; fewer give another answer"),
    "LAUNCH_PLACES": (200, None, "places at which a bin may end; fewer give another answer"),
    "LAUNCH_LENGTHS": (6, None, "lengths of pieces tried; fewer give another answer"),
    "LAUNCH_ORDERS": (32, None, "random orders tried; fewer give another answer"),
    "TRACE_EXACT": (10**10, None, "products up to which the mean is exact"),
    "TRACE_BLOCK": (32, None, "groups of a block of a trace; another gives another answer"),
    "SPLIT_MOST": (500_000_000, None, "steps of a scan"),
    "SPLIT_LONGEST": (50_000_000, None, "iterations of a piece"),
    "STEPS_MOST": (1 << 26, None, "steps of a block"),
    "CENTRED_BLOCK": (1 << 18, 29, "phases computed together"),
    "CENTRED_DEAR": (400_000_000, None, "products of convolutions above which transforms are used"),
    "CENTRED_LOOKED": (30_000_000, None, "times, times nodes, beyond which transforms are used"),
    "CONTINUOUS_STEPS": (1000, None, "steps of the longest block; fewer give wider bounds"),
    "LAUNCH_STARTS": (10_000, None, "starts of the last block beyond which steps are joined"),
    "CONTINUOUS_MOST": (1_000_000, None, "steps that may be requested"),
    "JOINT_MOST": (500_000_000, None, "coefficients of a joint law, times nodes"),
    "LOADS_ITEMS": (1 << 40, None, "items that fall into bins"),
    "LOADS_BINS": (1 << 24, None, "bins into which items fall"),
    "LOADS_WEIGHTS": (100_000, None, "values of an infinite law of weights that is tabulated"),
    "LOADS_SIMULATED": (1 << 26, None, "loads of all simulations"),
    "LOADS_TOGETHER": (1 << 20, 101, "numbers of laws of loads computed together"),
    "LOADS_THREADS": (1 << 20, 7, "products of a matrix from which threads of BLAS pay"),
    "LOADS_VALUES": (5_000_000, None, "probabilities of loads of all bins"),
    "LOADS_QUADRATURE": (30_000_000, None, "products of laws of loads with random weights"),
    "LOADS_PRODUCTS": (1_000_000_000, None, "products of laws of loads"),
    "LOADS_TRIALS": (20_000, None, "simulations of random weights; fewer give wider bands"),
    "ROUTING_LEAST": (64, None, "fewest draws of the loads of experts"),
    "ROUTING_DRAWS": (1024, None, "most draws of the loads of experts"),
    "ROUTING_LOADS": (1 << 16, None, "loads of experts of all draws"),
    "ROUTING_LAYERS": (1 << 12, None, "layers of experts and ranks whose numbers are cached"),
    "ROUTING_LOADS_KEPT": (512, None, "layers of experts whose drawn loads are cached"),
    "SEQUENCES_BYTES": (2**30, None, "bytes of sequences"),
    "SCHEDULE_ROUNDS": (1_000_000, None, "times at which slots are free in a scheduled launch"),
    "DURATIONS_AT_ONCE": (1 << 21, 37, "durations drawn together"),
    "WARPS_AT_ONCE": (1 << 20, 31, "warps simulated together"),
    "WARPS_MOST": (1 << 26, None, "warps of a simulation"),
    "TRIAL_BLOCK": (1 << 17, 31, "items of a block, so that sums do not depend on threads"),
    "TRIAL_TASK": (1 << 22, 101, "items of a thread's task"),
    "TRIAL_PILOT": (1 << 15, None, "items from which the width of fine bins is chosen"),
    "LAW_LARGEST": (50_000_000, None, "values of a tabulated law, which take 400 MB"),
    "EXTREME_EXACT": (1_000_000, None, "values up to which errors of an extreme are exact"),
    "CONVOLVE_MOST": (10**10, None, "products of a convolution, which take half a minute"),
    "SAMPLE_LARGEST": (1_000_000, None, "values of a sample that is fitted"),
    "TAIL_TERMS": (2**18, None, "terms of a tail that is summed"),
    "RATIOS_SMALL": (4096, None, "values up to which a law is hashed by all of its weights"),
    "WALK_STEPS": (1_000_000, 101, "steps of the recurrence from the mode; a step takes 12 ns"),
}

#: Names of the sizes above which a loop nest is compiled for a study.
NESTS = ("BEAT_COMPILED", "EFFECTS_COMPILED", "LOOKED_UP", "PASS_SMALL", "ROWS_SMALL", "RUN_SMALL")


def resolve_sizes(setting: str) -> dict[str, int]:
    """Return the value of every size for a setting such as ``tiny:7,SCAN_BLOCK=7``."""
    values = {name: shipped for name, (shipped, _, _) in TABLE.items()}
    for item in filter(None, setting.split(",")):
        name, equals, number = item.partition("=")
        word, colon, seed = item.partition(":")
        if equals and name in TABLE and number.isdecimal() and int(number) > 0:
            values[name] = int(number)
        elif item == "numpy":
            values |= {name: TABLE[name][0] for name in NESTS}
        elif word == "tiny" and (seed.isdecimal() or not colon):
            values |= {
                name: _random_prime(name, tiny, seed) if seed else tiny
                for name, (_, tiny, _) in TABLE.items()
                if tiny is not None
            }
        else:
            raise ValueError(
                f"DSE_SIZES = {setting!r}: expected tiny, tiny:SEED, numpy, or NAME=NUMBER with a "
                "name of the table in stochastic/sizes.py, separated by commas"
            )
    return values


def _random_prime(name: str, tiny: int, seed: str) -> int:
    import random

    primes = [p for p in range(2, 4 * tiny + 1) if all(p % d for d in range(2, int(p**0.5) + 1))]
    return random.Random(f"{name} {seed}").choice(primes) if tiny in primes else tiny


#: The setting of this process; all processes of a cluster must have the same setting.
SETTING = os.environ.get("DSE_SIZES", "")

globals().update(resolve_sizes(SETTING))
