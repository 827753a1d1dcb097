"""CUDA kernels of the measurements, for numba-cuda on a GPU or in its simulator."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from stochastic.kernels.gpu import SIMULATED, clock

#: Number of operations in a round of :func:`multiply_add`; no jump separates these operations.
OPERATIONS_PER_ROUND = 64
#: Factor of :func:`multiply_add`, a constant in the code. With the factor in a third register, two
#: of the three registers can be in one bank, and an H100 then reaches half of its peak.
_HALF = np.float32(0.5)
_SAMPLE_INTERVAL = 0.05  # seconds between samples of power; drivers update about as often


@cuda.jit
def chase_pointers(ring: Any, ends: Any, requests: Any) -> None:
    """Follow a ring of indices in each thread; each request depends on the one before.

    ``ring`` uint32 (size): for each index, the next index; ``ends`` uint32 (threads): the last
    index of each thread; ``requests``: number of requests of each thread. Indices are unsigned
    because Numba tests the sign of signed indices before each request, which takes time.
    """
    thread = cuda.grid(1)
    place = np.uint32(thread)
    for _ in range(requests):
        place = ring[place]
    ends[thread] = place


@cuda.jit
def multiply_add(values: Any, term: Any, rounds: Any) -> None:
    """Multiply by a half and add in each thread; each operation uses the result of the one before.

    ``values`` (threads) is overwritten; ``term`` has shape (1) and the same precision; ``rounds``
    is the number of rounds of :data:`OPERATIONS_PER_ROUND` operations.
    """
    thread = cuda.grid(1)
    value, plus = values[thread], term[0]
    for _ in range(rounds):
        for _ in range(OPERATIONS_PER_ROUND):
            value = value * _HALF + plus
    values[thread] = value


@cache
def min_plus_square(tile: int) -> Any:
    """Return a kernel that squares a distance matrix in (min, +) algebra by tiles (Ma 2014, Eq. 9).

    A block holds three tiles in shared memory: a tile of the result, and one tile of each factor;
    the tiles of the factors move along a row and a column. Distances beyond the matrix are
    infinite. The kernel takes ``distances`` and ``shorter`` (the result), float32 (vertices,
    vertices), and is launched on a grid of two dimensions.
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
    """Return the time until the device has finished all launches that ``run`` makes. [s]"""
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
    """Launch a kernel repeatedly and take samples; return the time per launch [s] and the samples.

    While a launch runs, the next launch is already in the queue, so the device is never idle. The
    first ``settle`` seconds are not measured. There are at least two samples.
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
    run()
    event = cuda.event()
    event.record()
    return event


if SIMULATED:

    def multiprocessor_id() -> int:
        """Return 0, because the simulator has a single multiprocessor."""
        return 0

    def global_timer() -> int:
        """Return the time of the host, because the simulator has no GPU timer. [ns]"""
        return time.perf_counter_ns()

else:
    from stochastic.kernels.gpu import special_register

    #: Device function that returns the number of the multiprocessor that runs the thread.
    multiprocessor_id = special_register(32, "mov.u32 $0, %smid;")
    #: Device function that returns the time of a timer that all multiprocessors share. [ns]
    global_timer = special_register(64, "mov.u64 $0, %globaltimer;")


@cuda.jit
def stamp_blocks(values: Any, term: Any, rounds: Any, stamps: Any) -> None:
    """Compute in each block, and record the multiprocessor, start and end of the block.

    ``values`` float32 (threads) is overwritten; ``term`` has shape (1); ``rounds`` int32 (blocks):
    number of rounds of :data:`OPERATIONS_PER_ROUND` operations; ``stamps`` int64
    (3, blocks): multiprocessor, start and end.
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
    """Follow a ring of indices in each block, and record its multiprocessor, start and end.

    ``places`` uint32 (blocks): the first index of each block, replaced by the last index; ``ring``
    uint32 (size): for each index, the next index; ``rounds`` int32 (blocks): number of loads;
    ``stamps`` as for :func:`stamp_blocks`.
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
    """Follow a ring of indices twice in one thread, and time the second pass.

    Each pass makes ``requests`` requests. ``ring`` uint32 (size): for each index, the next
    index; ``result`` int64 (2): the last index, and the cycles of the second pass.
    """
    place_now = np.uint32(0)
    for _ in range(requests):
        place_now = ring[place_now]
    start = clock()
    for _ in range(requests):
        place_now = ring[place_now]
    result[0] = place_now
    result[1] = clock() - start
