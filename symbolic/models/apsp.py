"""All-pairs shortest paths by repeated squaring, under the TMM model (Ma 2014, §III).

A matrix of distances is squared lg n times (lg is log₂), in sub-blocks, one for each thread block.
Work and transactions follow from the vertices, the edge of a sub-block and the accesses grouped in
one transaction; everything else is the TMM model. Computation bounds if 𝒯 S_D C > L (after Eq. 12).

Eqs. 12-14 put n/√B_r in the place of S_D; ``relative_time_by_blocks`` is that form. Correction: Eq.
12 prints n³ in its memory term, where the substitution leaves the n² of Eq. 14; ``printed``
restores it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from symbolic.equation import Validity, equation, equations_of
from symbolic.models import tmm
from symbolic.models._shared import CORRECTED, PRINTED
from symbolic.ops import ceil, divide, log2, maximum, power, sqrt

OUTPUTS = ("relative_time", "time_steps", "bound", "sched_factor", "hiding_threads_per_core")
VALIDITY = Validity(
    quantity="release_year",
    maximum=2012,
    statement="apsp counts the DRAM accesses of the algorithm, and was compared with a GPU of "
    "2010 (GTX 480): caches of later GPUs keep more",
)

FAMILIES = tmm.FAMILIES

#: §III: the graph is fixed; larger sub-blocks, or more threads, hide the latency.
ADVICE = tuple(
    replace(
        guide,
        helps={"computation": "n_cores", "memory": "threads_per_core, tile_dim, mem_latency"},
        fixed=frozenset({"vertices", "chunk"}),
    )
    for guide in tmm.ADVICE[:1]
)
RULES = (*tmm.RULES, "tile_dim <= vertices")


@equation(source="Ma 2014, §III", symbol=r"\lg n")
def squarings(vertices):
    """Squarings of the matrix until paths of all lengths are known. [squarings]"""
    return log2(vertices)


@equation(source="Ma 2014, §III", symbol="T_1")
def work(vertices, squarings):
    """Operations in all: n³ per squaring. [operations]"""
    return power(vertices, 3) * squarings


@equation(source="Ma 2014, Eq. 10", symbol="M")
def transactions(vertices, squarings, tile_dim, chunk):
    """Global memory transactions: each element is read for n/S_D sub-blocks, C at once."""
    return power(vertices, 3) * squarings / (tile_dim * chunk)


@equation(source="Ma 2014, §III, between Eqs. 11 and 12", symbol="B_r")
def blocks(vertices, tile_dim):
    """Thread blocks requested: one per sub-block, partial ones at the border included. [blocks]

    >>> blocks(8192, 32)
    65536.0
    """
    return power(ceil(vertices / tile_dim), 2)


TMM = equations_of(tmm)


@equation(source="Ma 2014, Eqs. 12 and 14", when=CORRECTED)
def latency_steps_by_blocks(
    vertices, squarings, mem_latency, blocks, chunk, threads_per_core, n_cores
):
    """Steps of latency that a core waits, by the number of blocks. [steps]

    Correction: Eq. 12 prints n³ for the n² that S_D = n/√B_r leaves of Eq. 11.
    """
    latency = power(vertices, 2) * squarings * mem_latency * sqrt(blocks)
    return divide(latency, chunk * threads_per_core * n_cores, at_zero=math.inf)


@equation(name="latency_steps_by_blocks", source="Ma 2014, Eq. 12", when=PRINTED)
def latency_steps_by_blocks_printed(
    vertices, squarings, mem_latency, blocks, chunk, threads_per_core, n_cores
):
    """Steps of latency that a core waits, by the number of blocks. [steps]"""
    latency = power(vertices, 3) * squarings * mem_latency * sqrt(blocks)
    return divide(latency, chunk * threads_per_core * n_cores, at_zero=math.inf)


@equation(source="Ma 2014, Eqs. 12-14")
def relative_time_by_blocks(work_steps, latency_steps_by_blocks, sched_factor):
    """Run time in steps, by the number of blocks. [steps]"""
    return maximum(work_steps, latency_steps_by_blocks) * sched_factor
