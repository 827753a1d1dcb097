"""Time of the product of a sparse matrix and a vector (SpMV), with rows of uneven length.

``mapping`` says what a row is assigned to. With ``thread``, each lane sums a row of its own, so the
32 lanes of a warp take as many steps as the longest of their rows has nonzeros. With ``warp``,
32 lanes share the nonzeros of 32 rows, and add to each row one after the other. With ``merge``, all
threads get as many nonzeros and ends of rows, so that only the sum counts.

The lengths of rows are quantiles and a mean (the law ``quantiles``), or any law or trace in
``distribution``. ``time`` is the sum of a start, the bytes over the attained bandwidth, the steps
of all warps, and the wait for the longest row. Lanes with long rows read sectors of which they
use a part; if the matrix is far larger than the L2 cache, they are read again for the next part.

Eleven numbers belong to a GPU. They are fitted to one V100 with values of four bytes; on other
machines they scale with ``mem_bandwidth``, ``l2_size``, ``n_sms`` and ``core_clock``, which no
measurement has confirmed.

Not monotone: if the same nonzeros are in fewer ``rows``, the rows and the waits are longer.
"""

from __future__ import annotations

import math

from symbolic.equation import Validity, equation
from symbolic.models._labels import by_label
from symbolic.models.gemm import time_high, time_low
from symbolic.models.imbalance import require_law
from symbolic.ops import divide, maximum, minimum, sqrt
from symbolic.quantity_rows.sparse import SPMV_NUMBERS

FITTED = tuple(number.name for number in SPMV_NUMBERS)
OUTPUTS = ("time", "time_low", "time_high", "spmv_wait_time")
VALIDITY = Validity(statement="kernels of groups of 32 rows, which one V100 has measured")

RULES = ("row_min <= row_q1", "row_q1 <= row_median", "row_median <= row_q3", "row_q3 <= row_max")

KERNELS = "gunrock/loops, commit 8fe3eb6, include/loops/algorithms/spmv"
DATA = f"fitted to times of {KERNELS}"
QUANTILES, LAW = {"row_lengths": "quantiles"}, {"row_lengths": "distribution"}
MAPPINGS = ("thread", "warp", "merge")
THREAD, WARP, MERGE = ({"mapping": mapping} for mapping in MAPPINGS)

#: Rows of a warp, elements of a line of the cache, and bytes of two sectors (index and value).
LANES, LINE, SECTORS = 32, 32.0, 64.0
#: Probability that k of 31 other rows are above q3.
ABOVE_Q3 = tuple(math.comb(LANES - 1, k) * 0.25**k * 0.75 ** (LANES - 1 - k) for k in range(LANES))
#: Ends of a 90 % interval of time / predicted time, for left-out matrices above 2e5 nonzeros.
ERRORS = {"thread": (0.7, 1.81), "warp": (0.72, 4.58), "merge": (0.77, 1.25)}

spmv_start_time = by_label(
    "spmv_start_time", DATA, "mapping", {m: f"spmv_{m}_start_time" for m in MAPPINGS}
)
spmv_error_low = by_label("spmv_error_low", DATA, "mapping", {m: ERRORS[m][0] for m in MAPPINGS})
spmv_error_high = by_label("spmv_error_high", DATA, "mapping", {m: ERRORS[m][1] for m in MAPPINGS})


@equation(source="by definition", when=LAW)
def nonzeros(rows, row_mean):
    """Stored elements of the matrix. [elements]"""
    return rows * row_mean


@equation(source="by definition", when=QUANTILES)
def row_mean(nonzeros, rows):
    """Mean length of a row. [elements]"""
    return nonzeros / rows


@equation(name="row_mean", source="of the law", when=LAW, table=True)
def row_mean_of_law(distribution):
    """Mean length of a row. [elements]"""
    return float(require_law(distribution).pmf.mean())


@equation(source="of as many independent draws as rows", when=LAW, table=True)
def row_max(distribution, rows):
    """Expected longest row of the matrix. [elements]"""
    return require_law(distribution).mean_max(rows, 0.0)


@equation(name="warp_longest_row", source="Swatman 2022, Eq. 7", when=LAW, table=True)
def warp_longest_row_of_law(distribution):
    """Expected longest of 32 independent rows. [elements]"""
    return require_law(distribution).order_statistics(LANES).mean_max


@equation(source="32 rows of the law of these quantiles, without what is below q3", when=QUANTILES)
def warp_longest_row(row_min, row_q1, row_median, row_q3, row_max, row_mean):
    """Expected longest of 32 independent rows. [elements]

    Above q3, the length is q3 + (max - q3)·v**g with v uniform in [0, 1]. The exponent gives the
    law its mean: max - q3 = tail and (max - q3)/(g + 1) = excess. The largest v of 32 rows has a
    density that is a polynomial, so that the mean is a sum over the other rows above q3. If
    no row is above q3, with a probability of 0.0001, the longest is taken as q3.

    >>> warp_longest_row(5.0, 5.0, 5.0, 5.0, 5.0, 5.0)
    5.0
    >>> round(warp_longest_row(1.0, 4.0, 6.0, 9.0, 80.0, 8.5), 2)
    48.3
    """
    tail = maximum(row_max - row_q3, 0.0)
    missing = 4 * row_mean - (row_min + row_q1 + row_median + row_q3) - (row_q3 - row_min) / 2
    excess = minimum(maximum(missing, 0.0), tail)
    shortest = divide(1.0, excess, at_zero=math.inf)
    inverse = divide(1.0, tail, at_zero=0.0)
    means = [chance / (shortest + k * inverse) for k, chance in enumerate(ABOVE_Q3)]
    return row_q3 + LANES / 4 * sum(means)


@equation(source="by definition")
def row_variation(row_variance, row_mean):
    """Standard deviation of the length of a row over its mean. [ratio]"""
    return divide(sqrt(row_variance), row_mean, at_zero=0.0)


@equation(source="indices, offsets and vectors of four bytes a number, values of value_bytes")
def spmv_bytes(nonzeros, rows, cols, value_bytes):
    """Bytes of the matrix, its offsets and both vectors. [B]"""
    return nonzeros * (4 + value_bytes) + rows * (4 + value_bytes) + cols * value_bytes


@equation(source=f"Williams 2009, of the bandwidth that is attained; {DATA}")
def spmv_dram_time(spmv_bytes, mem_bandwidth, spmv_dram_share):
    """Time of DRAM for bytes that are read once. [s]"""
    return spmv_bytes / (mem_bandwidth * spmv_dram_share)


@equation(source=f"a lane with a long row uses a part of each sector; {DATA}", when=THREAD)
def spmv_unused_time(
    nonzeros, row_mean, spmv_bytes, l2_size, mem_bandwidth, spmv_unused_share, spmv_l2_reach
):
    """Time of DRAM for sectors that are read again, because lanes do not share them. [s]"""
    apart = minimum(row_mean / LINE, 1.0)
    lost = 1 / (1 + spmv_l2_reach * l2_size / spmv_bytes)
    return nonzeros * SECTORS * spmv_unused_share * apart * lost / mem_bandwidth


@equation(source=f"{KERNELS}: a warp steps as often as its longest row has nonzeros", when=THREAD)
def spmv_step_time(
    rows, warp_longest_row, row_mean, row_correlation, n_sms, core_clock, spmv_thread_step_cycles
):
    """Time in which all multiprocessors issue the steps of all warps. [s]"""
    longest = (1 - row_correlation) * warp_longest_row + row_correlation * row_mean
    return rows / LANES * longest * spmv_thread_step_cycles / (n_sms * core_clock)


@equation(name="spmv_step_time", source=f"{KERNELS}: a lane takes any nonzero", when=WARP)
def spmv_warp_step_time(nonzeros, n_sms, core_clock, spmv_warp_nonzero_cycles):
    """Time in which all multiprocessors issue the steps of all warps. [s]"""
    return nonzeros * spmv_warp_nonzero_cycles / (n_sms * core_clock)


@equation(name="spmv_step_time", source=f"{KERNELS}: rows cost beyond their bytes", when=MERGE)
def spmv_merge_step_time(rows, n_sms, core_clock, spmv_merge_row_cycles):
    """Time in which all multiprocessors issue the steps of all warps. [s]"""
    return rows * spmv_merge_row_cycles / (n_sms * core_clock)


@equation(source="a lane reads its row one nonzero after the other", when=THREAD)
def spmv_wait_time(row_max, core_clock, spmv_thread_wait_cycles):
    """Time of the lane with the longest row. [s]"""
    return row_max * spmv_thread_wait_cycles / core_clock


@equation(name="spmv_wait_time", source=f"{KERNELS}: atomic sums of a row queue", when=WARP)
def spmv_warp_wait_time(row_max, row_mean, row_correlation, core_clock, spmv_warp_wait_cycles):
    """Time of the warp with the longest row, and with 31 rows near to it. [s]"""
    other = row_correlation * row_max + (1 - row_correlation) * row_mean
    return (row_max + (LANES - 1) * other) * spmv_warp_wait_cycles / core_clock


spmv_merge_times = (
    *by_label("spmv_unused_time", KERNELS, "mapping", {"warp": 0.0, "merge": 0.0}),
    *by_label("spmv_wait_time", KERNELS, "mapping", {"merge": 0.0}),
)


@equation(source="Williams 2009, without the bytes that the L2 cache may keep")
def spmv_floor(spmv_bytes, l2_size, mem_bandwidth):
    """Lower bound on the time, from the printed bandwidth. [s]"""
    return maximum(spmv_bytes - l2_size, 0) / mem_bandwidth


@equation(source="sum of what no mapping hides")
def time(spmv_start_time, spmv_dram_time, spmv_unused_time, spmv_step_time, spmv_wait_time):
    """Run time. [s]"""
    return spmv_start_time + spmv_dram_time + spmv_unused_time + spmv_step_time + spmv_wait_time


time_low = time_low.copy_as("time_low", "time", "spmv_error_low", "spmv_floor")
time_high = time_high.copy_as("time_high", "time", "spmv_error_high")
