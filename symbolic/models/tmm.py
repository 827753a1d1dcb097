"""TMM: threads that hide memory latency, and blocks that fill the machine in passes (Ma 2014, §II).

The asymptotic model counts steps (Eq. 1): the work shared by all cores, the critical path, and
memory latency shared by all threads. The calibrated model multiplies them by the cost of uneven
passes (Eq. 3). Run time is proportional to the product (Eq. 6); ``relative_time`` is the product
itself. Eq. 7 leaves the span out, as T_∞ is far below T₁/P: ``span`` is 0 unless given.

The switch ``latency_hiding`` chooses Eq. 6 (``modelled``), which computes whether threads suffice,
or Eq. 5 (``assumed``), which assumes that and counts cache misses instead.

Correction: P and Q are all cores and the core groups in Table I, but Eqs. 3, 4, 7 and 8 call P/Q
the number of multiprocessors. Here P is ``n_cores`` and P/Q is ``n_sms``; the Q left over in Eq. 8
is then the cores of one multiprocessor, and Eqs. 7 and 8 agree.
"""

from __future__ import annotations

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

#: Eq. 1 and §III: more threads or cores, and the blocks that fill the passes.
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

#: Table I.
SYMBOLS = {"mem_latency": "L", "work": "T_1", "span": r"T_\infty"}

#: Table I: X, the hardware limit on the threads of a core, is max_threads_per_sm / cores_per_sm.
RULES = ("threads_per_core * cores_per_sm <= max_threads_per_sm",)

#: Two bounds closer than one part in this many are a tie.
TIE = 10**12


@equation(source="Ma 2014, Table I", symbol="P")
def n_cores(n_sms, cores_per_sm):
    """Cores of the machine. [cores]"""
    return n_sms * cores_per_sm


@equation(source="Ma 2014, Table I, with B_a and T_r of Eq. 4", symbol=r"\mathcal{T}")
def threads_per_core(active_blocks_per_sm, threads_per_block, cores_per_sm):
    """Threads that share one core: those resident on a multiprocessor over its cores. [threads]"""
    return active_blocks_per_sm * threads_per_block / cores_per_sm


@equation(source="Ma 2014, Eq. 1")
def work_steps(work, n_cores):
    """Steps in which all cores together do the work. [steps]"""
    return work / n_cores


@equation(source="Ma 2014, Eq. 1")
def latency_steps(transactions, mem_latency, threads_per_core, n_cores):
    """Steps of latency that a core waits whose threads overlap their transactions. [steps]"""
    return divide(transactions * mem_latency, threads_per_core * n_cores, at_zero=math.inf)


@equation(source="Ma 2014, Eq. 1", symbol="T_P")
def time_steps(work_steps, span, latency_steps):
    """Steps of the algorithm on all cores, scheduled perfectly: the largest lower bound. [steps]"""
    return maximum(work_steps, span, latency_steps)


@equation(source="Ma 2014, Eq. 1", flags={0: "computation", 1: "span", 2: "memory"})
def bound(time_steps, work_steps, span):
    """The bound that binds; the first of the flags on ties (within 1e-12).

    At a tie of computation and memory the latency is hidden: more threads no longer help.
    """
    near = time_steps - time_steps / TIE
    return where(near <= work_steps, 0.0, where(near <= span, 1.0, 2.0))


@equation(source="Ma 2014, Eq. 1 where its first and third term are equal")
def hiding_threads_per_core(transactions, mem_latency, work):
    """Threads of a core, M L/T_1, above which latency is hidden and run time is flat. [threads]"""
    return divide(transactions * mem_latency, work, at_zero=math.inf)


@equation(source="Ma 2014, Eq. 2", symbol=r"f_\mathrm{cache}")
def cache_factor(fits_on_chip, cache_hit_rate, cache_miss_slowdown):
    """Slowdown by cache misses if memory latency is not modelled. [ratio]"""
    blended = cache_hit_rate + (1 - cache_hit_rate) * cache_miss_slowdown
    return where(equal(fits_on_chip, 1), 1.0, blended)


@equation(source="Ma 2014, Eq. 3")
def block_slots(active_blocks_per_sm, n_sms):
    """Blocks that the machine holds at once. [blocks]

    At least one a multiprocessor: a point whose block does not fit breaks the rule
    ``active_blocks_per_sm >= 1``.
    """
    return maximum(active_blocks_per_sm, 1) * n_sms


@equation(source="Ma 2014, Eq. 3")
def passes(blocks, block_slots):
    """Times that the machine is filled until all requested blocks are done. [passes]"""
    return ceil(blocks / block_slots)


@equation(source="Ma 2014, §III (3)")
def full_pass_blocks(passes, block_slots):
    """Blocks, at least those requested, for which the last pass is full. [blocks]"""
    return passes * block_slots


@equation(source="Ma 2014, Eq. 3", symbol=r"f_\mathrm{sched}")
def sched_factor(passes, block_slots, blocks):
    """Slowdown by a partial last pass: slots paid for over blocks requested. [ratio]

    >>> sched_factor(2, 15, 30), sched_factor(2, 15, 16)  # Fig. 1
    (1.0, 1.875)
    """
    return passes * block_slots / blocks


@equation(source="Ma 2014, Eqs. 6-8", symbol="Time", when={"latency_hiding": "modelled"})
def relative_time(time_steps, sched_factor):
    """Run time in steps, to which seconds are proportional. [steps]"""
    return time_steps * sched_factor


@equation(
    name="relative_time", source="Ma 2014, Eq. 5", symbol="Time", when={"latency_hiding": "assumed"}
)
def relative_time_hidden(work_steps, cache_factor, sched_factor):
    """Run time in steps if enough threads hide the latency (A_T). [steps]

    The paper leaves the application's factor open; here it is the work over all cores, so that both
    forms agree if latency is hidden and the working set fits.
    """
    return work_steps * cache_factor * sched_factor
