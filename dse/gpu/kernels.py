"""The kernels themselves, on numba-cuda; loaded where a GPU or its simulator is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from stochastic.kernels.gpu import SIMULATED, clock

#: Operations of a round of :func:`multiply_add`, one after the other without a jump.
OPERATIONS_PER_ROUND = 64
#: Seconds between two looks at power, which drivers renew about so often.
_SAMPLE_INTERVAL = 0.05


@cuda.jit
def chase_pointers(ring: Any, ends: Any, requests: Any) -> None:
    """Each thread follows a ring: one request in memory, and nothing to do until it is back.

    Its arguments: ``ring`` int32 (size), the place after each place; ``ends`` int32 (threads),
    where each thread comes to; how many requests a thread makes.
    """
    thread = cuda.grid(1)
    place = thread
    for _ in range(requests):
        place = ring[place]
    ends[thread] = place


@cuda.jit
def multiply_add(values: Any, factor: Any, term: Any, rounds: Any) -> None:
    """Each thread multiplies and adds, an operation on the result of the one before.

    Its arguments: ``values`` (threads), which is overwritten, ``factor`` and ``term`` (1) of the
    same precision; how many rounds of :data:`OPERATIONS_PER_ROUND` operations.
    """
    thread = cuda.grid(1)
    value, times, plus = values[thread], factor[0], term[0]
    for _ in range(rounds):
        for _ in range(OPERATIONS_PER_ROUND):
            value = value * times + plus
    values[thread] = value


@cache
def min_plus_square(tile: int) -> Any:
    """One squaring of a matrix of distances in (min, +), a sub-block a block (Ma 2014, Eq. 9).

    A block of any number of threads keeps three sub-blocks in shared memory: its own, and the two
    from which it is made, read in turn along the row and the column. Beyond the matrix distances
    are infinite.

    Its arguments: ``distances`` and ``shorter`` float32 (vertices, vertices). The grid has two
    dimensions.
    """

    @cuda.jit
    def square(distances: Any, shorter: Any) -> None:
        mine = cuda.shared.array((tile, tile), np.float32)
        left = cuda.shared.array((tile, tile), np.float32)
        above = cuda.shared.array((tile, tile), np.float32)
        vertices = distances.shape[0]
        down, across = cuda.blockIdx.y * tile, cuda.blockIdx.x * tile
        first, step = cuda.threadIdx.x, cuda.blockDim.x
        infinite = np.float32(np.inf)
        for place in range(first, tile * tile, step):
            i, j = place // tile, place % tile
            inside = down + i < vertices and across + j < vertices
            mine[i, j] = distances[down + i, across + j] if inside else infinite
        for between in range(0, vertices, tile):
            for place in range(first, tile * tile, step):
                i, j = place // tile, place % tile
                inside = down + i < vertices and between + j < vertices
                left[i, j] = distances[down + i, between + j] if inside else infinite
                inside = between + i < vertices and across + j < vertices
                above[i, j] = distances[between + i, across + j] if inside else infinite
            cuda.syncthreads()
            for place in range(first, tile * tile, step):
                i, j = place // tile, place % tile
                least = mine[i, j]
                for k in range(tile):
                    length = left[i, k] + above[k, j]
                    least = length if length < least else least
                mine[i, j] = least
            cuda.syncthreads()
        for place in range(first, tile * tile, step):
            i, j = place // tile, place % tile
            if down + i < vertices and across + j < vertices:
                shorter[down + i, across + j] = mine[i, j]

    return square


def time_run(run: Callable[[], None]) -> float:
    """The time until the device has done what a function launches. [s]"""
    cuda.synchronize()
    start = time.perf_counter()
    run()
    cuda.synchronize()
    return time.perf_counter() - start


def uuid() -> str:
    """Which GPU runs the kernels, as its driver names it."""
    return str(cuda.get_current_device().uuid)


def run_sustained(
    run: Callable[[], None], sample: Callable[[], Any], *, settle: float, seconds: float
) -> tuple[float, list[Any]]:
    """Launch again and again, and look while the device works; the time of a launch. [s]

    A launch always waits behind the one that runs, so that the device never rests. What is seen
    before ``settle`` is left out; there are two looks at least.
    """
    begun = time.perf_counter()
    first, launches, seen_at = 0.0, 0, -1.0
    seen: list[Any] = []
    behind = _record_event(run)
    while True:
        ahead, behind = behind, _record_event(run)
        ahead.synchronize()
        now = time.perf_counter()
        if now - begun < settle:
            continue
        if seen:
            launches += 1
        else:
            first = now
        if now - seen_at >= _SAMPLE_INTERVAL or len(seen) < 2:
            seen.append(sample())
            seen_at = now
        if now - first >= seconds and len(seen) >= 2:
            behind.synchronize()
            return (now - first) / launches, seen


def _record_event(run: Callable[[], None]) -> Any:
    """What tells that all that was launched up to now has ended."""
    run()
    event = cuda.event()
    event.record()
    return event


if SIMULATED:

    def multiprocessor_id() -> int:
        """The multiprocessor, of which the simulator has one."""
        return 0

    def global_timer() -> int:
        """A clock of this machine, in place of the GPU's. [ns]"""
        return time.perf_counter_ns()

else:
    from stochastic.kernels.gpu import special_register

    #: The multiprocessor on which a block runs, as hardware numbers it.
    multiprocessor_id = special_register(32, "mov.u32 $0, %smid;")
    #: The clock that all multiprocessors share. [ns]
    global_timer = special_register(64, "mov.u64 $0, %globaltimer;")


@cuda.jit
def stamp_blocks(values: Any, factor: Any, term: Any, rounds: Any, stamps: Any) -> None:
    """Each block computes for a while, and tells where it ran, from when and until when.

    Its arguments: ``values`` float32 (threads), which is overwritten; ``factor`` and ``term`` (1);
    ``rounds`` int32 (blocks) of :data:`OPERATIONS_PER_ROUND` operations; ``stamps`` int64 (3, blocks):
    multiprocessor, start and end.
    """
    block, thread = cuda.blockIdx.x, cuda.grid(1)
    if cuda.threadIdx.x == 0:
        stamps[0, block] = multiprocessor_id()
        stamps[1, block] = global_timer()
    cuda.syncthreads()
    value, times, plus = values[thread], factor[0], term[0]
    for _ in range(rounds[block]):
        for _ in range(OPERATIONS_PER_ROUND):
            value = value * times + plus
    values[thread] = value
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        stamps[2, block] = global_timer()


@cuda.jit
def time_pointer_chase(ring: Any, requests: Any, result: Any) -> None:
    """One thread follows a ring twice, and times the second time by its multiprocessor's clock.

    Its arguments: ``ring`` int32 (size), the place after each place; how many requests; ``found``
    int64 (2): where it came to, and the cycles of the second time.
    """
    place_now = 0
    for _ in range(requests):
        place_now = ring[place_now]
    start = clock()
    for _ in range(requests):
        place_now = ring[place_now]
    result[0] = place_now
    result[1] = clock() - start
