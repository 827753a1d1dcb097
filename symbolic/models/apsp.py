"""All-pairs shortest paths by repeated squaring, under the TMM model (Ma 2014, §III).

A matrix of distances is squared log₂ n times. It is divided into sub-blocks, one for each thread
block. Work and transactions follow from the number of vertices n, the edge length S_D of a
sub-block and the number C of accesses in one transaction. The other equations are those of the TMM
model. Computation is the bound if 𝒯 S_D C > L (after Eq. 12).

Eqs. 12-14 replace S_D by n/√B_r, with B_r thread blocks; ``relative_time_by_blocks`` has this form.
Correction: Eq. 12 prints n³ in its memory term (``printed``), but the substitution gives the n² of
Eq. 14.
"""

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

#: The graph is fixed. Larger sub-blocks or more threads hide the latency (§III).
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
    """Number of squarings of the matrix after which paths of all lengths are known. [squarings]"""
    return log2(vertices)


@equation(source="Ma 2014, §III", symbol="T_1")
def work(vertices, squarings):
    """Number of operations: n³ for each squaring. [operations]"""
    return power(vertices, 3) * squarings


@equation(source="Ma 2014, Eq. 10", symbol="M")
def transactions(vertices, squarings, tile_dim, chunk):
    """Number of global memory transactions of C elements each. [transactions]

    Each element is read n/S_D times.
    """
    return power(vertices, 3) * squarings / (tile_dim * chunk)


@equation(source="Ma 2014, §III, between Eqs. 11 and 12", symbol="B_r")
def blocks(vertices, tile_dim):
    """Number of thread blocks: one per sub-block, also for partial sub-blocks. [blocks]

    >>> blocks(8192, 32)
    65536.0
    """
    return power(ceil(vertices / tile_dim), 2)


TMM = equations_of(tmm)


@equation(source="Ma 2014, Eqs. 12 and 14", when=CORRECTED)
def latency_steps_by_blocks(
    vertices, squarings, mem_latency, blocks, chunk, threads_per_core, n_cores
):
    """Steps in which a core waits for latency, computed from the number of blocks. [steps]

    Correction: Eq. 12 prints n³, but Eq. 11 with S_D = n/√B_r gives n².
    """
    latency = power(vertices, 2) * squarings * mem_latency * sqrt(blocks)
    return divide(latency, chunk * threads_per_core * n_cores, at_zero=math.inf)


@equation(name="latency_steps_by_blocks", source="Ma 2014, Eq. 12", when=PRINTED)
def latency_steps_by_blocks_printed(
    vertices, squarings, mem_latency, blocks, chunk, threads_per_core, n_cores
):
    """Steps in which a core waits for latency, as printed (with n³). [steps]"""
    latency = power(vertices, 3) * squarings * mem_latency * sqrt(blocks)
    return divide(latency, chunk * threads_per_core * n_cores, at_zero=math.inf)


@equation(source="Ma 2014, Eqs. 12-14")
def relative_time_by_blocks(work_steps, latency_steps_by_blocks, sched_factor):
    """Run time in steps, computed from the number of blocks. [steps]"""
    return maximum(work_steps, latency_steps_by_blocks) * sched_factor
