"""Unused shared memory that blocks request, so that fewer blocks are active (Ma 2014, §V).

The scheduler fills a multiprocessor with as many blocks as fit. In the paper some runs were faster
with fewer blocks, when each block requested more shared memory. ``most_blocks_per_sm`` is the
maximum number of blocks, and the padding is the smallest that enforces this maximum. Sweep this
maximum, or give or sweep ``shared_mem_padding`` itself. Join ``occupancy``, which computes the
blocks, and a model of the run time. Fewer blocks mean fewer threads per core, unless
``threads_per_core`` is given; the paper's Fig. 5 compares runs with the same number of threads.
"""

from symbolic.equation import Validity, equation
from symbolic.models import occupancy
from symbolic.ops import floor, maximum, minimum, where

OUTPUTS = ("shared_mem_padding", "automatic_blocks_per_sm", "shared_mem_per_block")
VALIDITY = Validity(
    quantity="release_year",
    maximum=2012,
    statement="shared_mem_padding was compared with a GPU of 2010 (GTX 480), which has separate "
    "shared memory",
)

PRINTED, CUDA = occupancy.PRINTED, occupancy.CUDA


@equation(source="Ma 2014, Eq. 4 and §V", when=PRINTED)
def automatic_blocks_per_sm(
    shared_mem_per_sm, shared_mem_needed, blocks_by_registers, max_blocks_per_sm, blocks_by_threads
):
    """Number of blocks per SM that the scheduler makes active without padding. [blocks]

    >>> automatic_blocks_per_sm(49152, 12288, 32.0, 8, 48.0)  # §V
    4.0
    """
    fitting = occupancy.blocks_by_shared_mem_printed(shared_mem_per_sm, shared_mem_needed)
    return minimum(fitting, blocks_by_registers, max_blocks_per_sm, blocks_by_threads)


@equation(
    name="automatic_blocks_per_sm",
    source="Ma 2014, §V, by NVIDIA's occupancy calculator",
    when=CUDA,
    inputs=(
        *("shared_mem_per_sm", "shared_mem_needed"),
        *occupancy.blocks_by_shared_mem_cuda.inputs[2:],
        *automatic_blocks_per_sm.inputs[2:],
    ),
)
def automatic_blocks_per_sm_cuda(*limits):
    """Number of blocks per SM that the scheduler makes active without padding. [blocks]"""
    return minimum(occupancy.blocks_by_shared_mem_cuda(*limits[:5]), *limits[5:])


@equation(source="Ma 2014, §V", when=PRINTED)
def shared_mem_padding(
    shared_mem_per_sm, shared_mem_needed, most_blocks_per_sm, automatic_blocks_per_sm
):
    """Smallest extra shared memory with which at most ``most_blocks_per_sm`` are active. [B]

    The paper gives no amount. If each block requests more than :math:`Z/(b+1)` bytes, b + 1 blocks
    do not fit. The padding is 0 if other limits allow at most b blocks.
    """
    least = floor(shared_mem_per_sm / (most_blocks_per_sm + 1)) + 1
    more = maximum(least - shared_mem_needed, 0.0)
    return where(most_blocks_per_sm < automatic_blocks_per_sm, more, 0.0)


@equation(
    name="shared_mem_padding", source="Ma 2014, §V, by NVIDIA's occupancy calculator", when=CUDA
)
def shared_mem_padding_cuda(
    shared_mem_per_sm, shared_mem_needed, shared_mem_allocation_unit, reserved_shared_mem_per_block,
    most_blocks_per_sm, automatic_blocks_per_sm,
):  # fmt: skip
    """Smallest extra shared memory with which at most ``most_blocks_per_sm`` are active. [B]

    Memory is allocated in units. The request is one byte more than the largest number of units with
    which b + 1 blocks still fit.
    """
    unit = shared_mem_allocation_unit
    full = floor(shared_mem_per_sm / (unit * (most_blocks_per_sm + 1))) * unit
    more = maximum(full + 1 - reserved_shared_mem_per_block - shared_mem_needed, 0.0)
    return where(most_blocks_per_sm < automatic_blocks_per_sm, more, 0.0)


@equation(source="Ma 2014, §V", symbol="S_B")
def shared_mem_per_block(shared_mem_needed, shared_mem_padding):
    """Shared memory that a block requests. [B]"""
    return shared_mem_needed + shared_mem_padding
