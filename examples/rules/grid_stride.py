"""A kernel with a grid-stride loop: the time of a number of blocks, and two rules for it."""

import dse

items = dse.quantity(
    "items", domain="whole [1, inf)", meaning="blocks of work, of 256 elements each"
)
grid = dse.quantity("grid_blocks", domain="whole [1, inf)", meaning="blocks that are launched")
resident = dse.quantity(
    "resident", domain="whole [1, inf)", meaning="blocks that an SM runs at once"
)
start = dse.quantity(
    "start_cost", domain="[0, inf)", meaning="start of a block, in times of an item"
)


@dse.equation(source="waves of equal blocks, each with the largest share of the items")
def grid_time(items, grid_blocks, resident, start_cost, n_sms):
    """Time, in times of one item. [ratio]"""
    waves = dse.ceil(grid_blocks / (n_sms * resident))
    return waves * (start_cost + dse.ceil(items / grid_blocks))


@dse.equation(source="Harris 2013, CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops")
def thirty_two_per_sm(items, n_sms):
    """Number of blocks: 32 per multiprocessor. [blocks]"""
    return dse.minimum(items, 32 * n_sms)


@dse.equation(source="CUDA runtime: cudaOccupancyMaxActiveBlocksPerMultiprocessor times the SMs")
def one_wave_grid(items, resident, n_sms):
    """Number of blocks: all that can run at once. [blocks]"""
    return dse.minimum(items, resident * n_sms)
