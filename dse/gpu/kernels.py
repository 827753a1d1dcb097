"""The CUDA kernels of the measurements, on numba-cuda; loaded only with a GPU or its simulator."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from stochastic.kernels.gpu import SIMULATED, clock

#: Operations of a round of :func:`multiply_add`, without a jump between them.
OPERATIONS_PER_ROUND = 64
#: Factor of :func:`multiply_add`, a constant in the code. With the factor in a third register, two
#: of the three can be in one register bank, and an H100 then reaches half of its peak.
_HALF = np.float32(0.5)
_SAMPLE_INTERVAL = 0.05  # seconds between samples of power, as drivers update it


@cuda.jit
def chase_pointers(ring: Any, ends: Any, requests: Any) -> None:
    """Follow a ring in each thread, one request after the other.

    ``ring`` uint32 (size): the place after each place; ``ends`` uint32 (threads): each thread's
    last place; ``requests`` of each thread. Places are unsigned, as Numba else adds instructions
    to each request that count negative places from the end.
    """
    thread = cuda.grid(1)
    place = np.uint32(thread)
    for _ in range(requests):
        place = ring[place]
    ends[thread] = place


@cuda.jit
def multiply_add(values: Any, term: Any, rounds: Any) -> None:
    """Multiply by a half and add in each thread, each operation on the result of the one before.

    ``values`` (threads) is overwritten; ``term`` (1) has the same precision; ``rounds`` of
    :data:`OPERATIONS_PER_ROUND` operations.
    """
    thread = cuda.grid(1)
    value, plus = values[thread], term[0]
    for _ in range(rounds):
        for _ in range(OPERATIONS_PER_ROUND):
            value = value * _HALF + plus
    values[thread] = value


@cache
def min_plus_square(tile: int) -> Any:
    """Return a kernel that squares a matrix of distances in (min, +), by tiles (Ma 2014, Eq. 9).

    A block has three tiles in shared memory: its own and two factors, read in turn along the row
    and the column. Distances beyond the matrix are infinite. The kernel takes ``distances`` and
    ``shorter``, float32 (vertices, vertices), on a grid of two dimensions.
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
    """Return the time until the device has finished what a function launches. [s]"""
    cuda.synchronize()
    start = time.perf_counter()
    run()
    cuda.synchronize()
    return time.perf_counter() - start


def uuid() -> str:
    """Return the UUID of the GPU that runs the kernels."""
    return str(cuda.get_current_device().uuid)


def run_sustained(
    run: Callable[[], None], sample: Callable[[], Any], *, settle: float, seconds: float
) -> tuple[float, list[Any]]:
    """Launch repeatedly while sampling; return the time of a launch [s] and the samples.

    A launch always waits behind the running one, so that the device is never idle. The time before
    ``settle`` does not count; there are at least two samples.
    """
    start = time.perf_counter()
    first, launches, sampled_at = 0.0, 0, -1.0
    samples: list[Any] = []
    waiting = _record_event(run)
    while True:
        running, waiting = waiting, _record_event(run)
        running.synchronize()
        now = time.perf_counter()
        if now - start < settle:
            continue
        if samples:
            launches += 1
        else:
            first = now
        if now - sampled_at >= _SAMPLE_INTERVAL or len(samples) < 2:
            samples.append(sample())
            sampled_at = now
        if now - first >= seconds and len(samples) >= 2:
            waiting.synchronize()
            return (now - first) / launches, samples


def _record_event(run: Callable[[], None]) -> Any:
    """Launch, and return an event that marks the end of everything launched so far."""
    run()
    event = cuda.event()
    event.record()
    return event


if SIMULATED:

    def multiprocessor_id() -> int:
        """Return the one multiprocessor of the simulator."""
        return 0

    def global_timer() -> int:
        """Return the time of this machine in place of the GPU's. [ns]"""
        return time.perf_counter_ns()

else:
    from stochastic.kernels.gpu import special_register

    #: The number of the multiprocessor that runs a block.
    multiprocessor_id = special_register(32, "mov.u32 $0, %smid;")
    #: The common clock of all multiprocessors. [ns]
    global_timer = special_register(64, "mov.u64 $0, %globaltimer;")


@cuda.jit
def stamp_blocks(values: Any, term: Any, rounds: Any, stamps: Any) -> None:
    """Compute in each block, and record its multiprocessor, start and end.

    ``values`` float32 (threads) is overwritten; ``term`` (1); ``rounds`` int32 (blocks) of
    :data:`OPERATIONS_PER_ROUND` operations; ``stamps`` int64 (3, blocks): multiprocessor, start and
    end.
    """
    block, thread = cuda.blockIdx.x, cuda.grid(1)
    if cuda.threadIdx.x == 0:
        stamps[0, block] = multiprocessor_id()
        stamps[1, block] = global_timer()
    cuda.syncthreads()
    value, plus = values[thread], term[0]
    for _ in range(rounds[block]):
        for _ in range(OPERATIONS_PER_ROUND):
            value = value * _HALF + plus
    values[thread] = value
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        stamps[2, block] = global_timer()


@cuda.jit
def stamp_loading_blocks(places: Any, ring: Any, rounds: Any, stamps: Any) -> None:
    """Follow a ring in each block, and record its multiprocessor, start and end.

    ``places`` uint32 (blocks) of the ring are overwritten by the last ones; ``ring`` uint32 (size):
    the place after each place; ``rounds`` int32 (blocks), each one load; ``stamps`` as of
    :func:`stamp_blocks`.
    """
    block = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        stamps[0, block] = multiprocessor_id()
        stamps[1, block] = global_timer()
    place = places[block]
    cuda.syncthreads()
    for _ in range(rounds[block]):
        place = ring[place]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        places[block] = place
        stamps[2, block] = global_timer()


@cuda.jit
def time_pointer_chase(ring: Any, requests: Any, result: Any) -> None:
    """Follow a ring twice in one thread, and time the second round.

    ``ring`` uint32 (size): the place after each place; ``result`` int64 (2): the last place, and
    the cycles of the second round.
    """
    place_now = np.uint32(0)
    for _ in range(requests):
        place_now = ring[place_now]
    start = clock()
    for _ in range(requests):
        place_now = ring[place_now]
    result[0] = place_now
    result[1] = clock() - start
