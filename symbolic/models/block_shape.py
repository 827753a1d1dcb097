"""Run time by the shape of a block, from the cache lines that each request of a warp touches.

Lanes of a warp in the same row of the block (along x, ``block_x``) read the same line; lanes in
another row may read another line. MWP-CWP has one number of transactions for all shapes. This model
has three kinds of requests, which the source code shows (``row`` is the index along y, ``column``
along x):

* ``a[k * n + column]``, ``x[k]``: one line for any shape;
* ``a[row * n + k]``, ``c[row * n + column]``: a line for each row of the warp (``row_loads``,
  ``row_stores``);
* ``a[column * n + k]``: a line for each lane of a row (``column_loads``).

A loaded line occupies the requesting SM, which looks up one line after another, and the cache that
all SMs share. Stores are written through to that cache. These times are joined with the time of
waiting as in ``latency_roofline``. Four numbers of the machine and the start-up time are
calibrated; ``docs/validation.md`` has the errors. A line has 128 bytes. Join with ``occupancy``, or
give the blocks of an SM.
"""

from symbolic.equation import Validity, equation
from symbolic.models._residency import BLOCK_EQUATIONS
from symbolic.models._shared import warps_per_block
from symbolic.ops import ceil, minimum, sqrt

OUTPUTS = ("time", "sm_cycles", "shared_cache_cycles", "wait_cycles")
VALIDITY = Validity(
    quantity="cache_levels",
    minimum=1,
    statement="block_shape assumes an L1 cache that keeps the lines which neighbouring lanes read",
)
RULES = ("store_insts <= mem_insts",)

SHARED = (*BLOCK_EQUATIONS, warps_per_block)


@equation(source="CUDA programming guide: threads of a block are numbered along x first")
def warp_rows(threads_per_block, block_x, warp_size):
    """Number of rows of a block that one warp covers. [rows]"""
    return ceil(minimum(threads_per_block, warp_size) / minimum(block_x, warp_size))


@equation(source="CUDA programming guide: a request is as many transactions as lines are touched")
def load_lines(mem_insts, store_insts, row_loads, column_loads, warp_rows, block_x, warp_size):
    """Number of lines that the loads of a warp touch. [lines]"""
    row_lanes = minimum(block_x, warp_size)
    further = row_loads * (warp_rows - 1) + column_loads * (row_lanes - 1)
    return mem_insts - store_insts + further


@equation(source="CUDA programming guide: a request is as many transactions as lines are touched")
def store_lines(store_insts, row_stores, warp_rows):
    """Number of lines that the stores of a warp touch. [lines]"""
    return store_insts + row_stores * (warp_rows - 1)


@equation(source="Jia 2018: a first cache looks up one line after the other; cycles calibrated")
def sm_cycles(
    blocks_per_busy_sm, warps_per_block, total_insts, issue_cycles, load_lines, load_line_cycles
):
    """Cycles that the busiest SM needs to issue instructions and look up lines. [cycles]"""
    of_warp = total_insts * issue_cycles + load_lines * load_line_cycles
    return blocks_per_busy_sm * warps_per_block * of_warp


@equation(source="as sm_cycles, of the second cache; stores are written through (Jia 2018)")
def shared_cache_cycles(
    blocks, warps_per_block, active_sms, load_lines, request_cycles, store_lines, store_line_cycles
):
    """Core cycles in which the cache shared by all SMs is busy. [cycles]"""
    of_warp = load_lines * request_cycles + store_lines * store_line_cycles
    return blocks * warps_per_block / active_sms * of_warp


@equation(source="Volkov 2016, Little's law: warps in turns wait one after the other")
def wait_cycles(repetitions, mem_insts, request_wait):
    """Cycles in which the warps of an SM wait for their requests. [cycles]"""
    return repetitions * mem_insts * request_wait


@equation(source="joined as in latency_roofline; a sum errs more on kernels left out")
def time(start_up_time, sm_cycles, shared_cache_cycles, wait_cycles, core_clock):
    """Run time. [s]"""
    busy = sm_cycles + shared_cache_cycles
    return start_up_time + sqrt(busy * busy + wait_cycles * wait_cycles) / core_clock
