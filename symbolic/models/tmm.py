"""TMM: threads that hide memory latency, and blocks that fill the machine in passes (Ma 2014, §II).

The asymptotic model has three bounds in steps (Eq. 1): the work divided by the cores, the critical
path, and the memory latency divided by the threads. The calibrated model multiplies the largest
bound by the cost of a partial last pass (Eq. 3). Run time is proportional to the product (Eq. 6),
which is ``relative_time``. Eq. 7 neglects the critical path, because T_∞ is far below T₁/P;
``span`` is 0 unless it is given.

The switch ``latency_hiding`` chooses between two equations. Eq. 6 (``modelled``) computes whether
the threads hide the latency. Eq. 5 (``assumed``) assumes hidden latency, and counts cache misses.

Correction: in Table I, P is the number of all cores and Q the number of core groups. But Eqs. 3, 4,
7 and 8 call P/Q the number of multiprocessors. Here P is ``n_cores`` and P/Q is ``n_sms``. Then Q
in Eq. 8 is the number of cores of one multiprocessor, and Eqs. 7 and 8 agree.
"""

import math

from symbolic.equation import Family, Guide, Validity, equation
from symbolic.ops import ceil, divide, equal, maximum, where

OUTPUTS = ("relative_time", "time_steps", "bound", "sched_factor")
VALIDITY = Validity(
    quantity="release_year",
    maximum=2012,
    statement="tmm counts every access to global memory, and was compared with a GPU of 2010 "
    "(GTX 480): caches of later GPUs keep more",
)

FAMILIES = (
    Family(
        of="time_steps",
        terms={"computation": "work_steps", "span": "span", "memory": "latency_steps"},
        largest=True,
    ),
)

#: Moves of Eq. 1 and §III: more threads or cores, or a number of blocks that fills the last pass.
ADVICE = (
    Guide(
        state="bound",
        goal="relative_time",
        limits="time_steps",
        helps={
            "computation": "work, n_cores",
            "span": "span",
            "memory": "threads_per_core, transactions, mem_latency",
        },
        show=("sched_factor",),
        suggests={"full_pass_blocks": "blocks"},
    ),
    Guide(
        state="sched_factor",
        goal="sched_factor",
        limits="sched_factor",
        helps="blocks, active_blocks_per_sm",
        show=("passes",),
        suggests={"full_pass_blocks": "blocks"},
    ),
)

SYMBOLS = {"mem_latency": "L", "work": "T_1", "span": r"T_\infty"}

#: In Table I, X is the maximum number of threads per core, max_threads_per_sm / cores_per_sm.
RULES = ("threads_per_core * cores_per_sm <= max_threads_per_sm",)

#: Bounds whose relative difference is below 1 / TIE are equal.
TIE = 10**12


@equation(source="Ma 2014, Table I", symbol="P")
def n_cores(n_sms, cores_per_sm):
    """Number of cores of the machine. [cores]"""
    return n_sms * cores_per_sm


@equation(source="Ma 2014, Table I, with B_a and T_r of Eq. 4", symbol=r"\mathcal{T}")
def threads_per_core(active_blocks_per_sm, threads_per_block, cores_per_sm):
    """Threads per core: resident threads of a multiprocessor divided by its cores. [threads]"""
    return active_blocks_per_sm * threads_per_block / cores_per_sm


@equation(source="Ma 2014, Eq. 1")
def work_steps(work, n_cores):
    """Number of steps if all cores share the work evenly. [steps]"""
    return work / n_cores


@equation(source="Ma 2014, Eq. 1")
def latency_steps(transactions, mem_latency, threads_per_core, n_cores):
    """Steps in which a core waits for latency, if transactions of its threads overlap. [steps]"""
    return divide(transactions * mem_latency, threads_per_core * n_cores, at_zero=math.inf)


@equation(source="Ma 2014, Eq. 1", symbol="T_P")
def time_steps(work_steps, span, latency_steps):
    """Steps of the algorithm if scheduling is perfect: the largest of three bounds. [steps]"""
    return maximum(work_steps, span, latency_steps)


@equation(source="Ma 2014, Eq. 1", flags={0: "computation", 1: "span", 2: "memory"})
def bound(time_steps, work_steps, span):
    """The largest bound; if several are equal (within 1e-12), the first in ``flags``.

    If computation and memory are equal, the latency is hidden, and more threads do not help.
    """
    near = time_steps - time_steps / TIE
    return where(near <= work_steps, 0.0, where(near <= span, 1.0, 2.0))


@equation(source="Ma 2014, Eq. 1 where its first and third term are equal")
def hiding_threads_per_core(transactions, mem_latency, work):
    """Smallest number of threads per core that hides the latency, M L/T_1. [threads]"""
    return divide(transactions * mem_latency, work, at_zero=math.inf)


@equation(source="Ma 2014, Eq. 2", symbol=r"f_\mathrm{cache}")
def cache_factor(fits_on_chip, cache_hit_rate, cache_miss_slowdown):
    """Slowdown from cache misses, under the assumption of hidden latency (Eq. 5). [ratio]"""
    blended = cache_hit_rate + (1 - cache_hit_rate) * cache_miss_slowdown
    return where(equal(fits_on_chip, 1), 1.0, blended)


@equation(source="Ma 2014, Eq. 3")
def block_slots(active_blocks_per_sm, n_sms):
    """Number of blocks that the machine holds at once. [blocks]

    The number is at least one per multiprocessor. If no block fits, the rule ``active_blocks_per_sm
    >= 1`` is broken.
    """
    return maximum(active_blocks_per_sm, 1) * n_sms


@equation(source="Ma 2014, Eq. 3")
def passes(blocks, block_slots):
    """Number of times that the machine is filled until all blocks are done. [passes]"""
    return ceil(blocks / block_slots)


@equation(source="Ma 2014, §III (3)")
def full_pass_blocks(passes, block_slots):
    """Smallest number of blocks, not below ``blocks``, that fills the last pass. [blocks]"""
    return passes * block_slots


@equation(source="Ma 2014, Eq. 3", symbol=r"f_\mathrm{sched}")
def sched_factor(passes, block_slots, blocks):
    """Slowdown from a partial last pass: slots in all passes divided by blocks. [ratio]

    >>> sched_factor(2, 15, 30), sched_factor(2, 15, 16)  # Fig. 1
    (1.0, 1.875)
    """
    return passes * block_slots / blocks


@equation(source="Ma 2014, Eqs. 6-8", symbol="Time", when={"latency_hiding": "modelled"})
def relative_time(time_steps, sched_factor):
    """Run time in steps; the time in seconds is proportional to it. [steps]"""
    return time_steps * sched_factor


@equation(
    name="relative_time", source="Ma 2014, Eq. 5", symbol="Time", when={"latency_hiding": "assumed"}
)
def relative_time_hidden(work_steps, span, cache_factor, sched_factor):
    """Run time in steps if enough threads hide the latency (A_T). [steps]

    By §II.C, the factor f_app is T_P. Without latency, T_P is the larger of work per core and span.
    So both forms agree if latency is hidden and the working set fits into the cache.
    """
    return maximum(work_steps, span) * cache_factor * sched_factor
