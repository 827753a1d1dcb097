"""Compute powers of matrices on a GPU, and time every lane (Swatman 2022, Algorithm 1).

This module is imported only if a GPU or its simulator is needed. The simulator is used if
NUMBA_ENABLE_CUDASIM=1 is set before numba is first imported.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import config, cuda, types
from numba.cuda.extending import intrinsic

from stochastic.arrays import Ints

# measurements of one thread, or of one block per multiprocessor, use small grids on purpose; the
# text of the warning begins with a colour code
warnings.filterwarnings("ignore", message=r".*Grid size \d+ will likely")

#: True if kernels run on the simulator of numba-cuda, in threads of the CPU.
SIMULATED = bool(config.ENABLE_CUDASIM)

if SIMULATED:

    def clock() -> int:
        """Return the time in ns of a clock that never runs backwards."""
        return time.perf_counter_ns()

    def sync_lanes(mask: int) -> None:
        """Wait for all threads of the block, because the simulator has no barrier for a warp."""
        cuda.syncthreads()

else:

    def special_register(bits: int, instruction: str) -> Any:
        """Return a device function that reads a register; compilers do not move the read."""

        @intrinsic
        def read(typing_context: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                from llvmlite import ir

                reads = ir.FunctionType(ir.IntType(bits), [])
                constraint = f"={'r' if bits == 32 else 'l'},~{{memory}}"
                return builder.asm(reads, instruction, constraint, [], True)

            return (types.int32 if bits == 32 else types.int64)(), generate

        return read

    #: Return the clock of the multiprocessor in cycles.
    clock = special_register(64, "mov.u64 $0, %clock64;")

    @cuda.jit(device=True)
    def sync_lanes(mask: Any) -> None:
        """Wait for the lanes in a mask, which belong to one warp."""
        cuda.syncwarp(mask)


@cache
def power_kernel(size: int, synchronised: bool) -> Any:
    """Return the kernel for matrices of one size, which runs one group in each block.

    Each lane is a thread; other threads of a block are idle. With ``synchronised``, the lanes of a
    group wait for each other after every iteration, until the longest lane ends. Arguments:
    ``matrices`` and ``powers``, float32 (groups, lanes, size, size); ``exponents``, int32 (groups,
    lanes); and ``clocks``, int64 (3, groups, lanes): the time before the loop, after the lane's own
    last iteration, and after the loop.
    """

    @cuda.jit
    def powers_of(matrices: Any, exponents: Any, powers: Any, clocks: Any) -> None:
        group = cuda.blockIdx.x
        lane = cuda.threadIdx.x
        lanes = exponents.shape[1]
        if lane >= lanes:
            return
        mask = (1 << lanes) - 1
        longest = 0
        for other in range(lanes):
            longest = max(longest, exponents[group, other])
        count = exponents[group, lane]
        matrix = cuda.local.array((size, size), np.float32)
        power = cuda.local.array((size, size), np.float32)
        row = cuda.local.array(size, np.float32)
        for i in range(size):
            for j in range(size):
                matrix[i, j] = matrices[group, lane, i, j]
                power[i, j] = 1.0 if i == j else 0.0

        start = done = 0
        for k in range(1 + (longest if synchronised else count)):
            working = k <= count
            if working:
                for i in range(size):
                    for j in range(size):
                        row[j] = power[i, j]
                    for j in range(size):
                        total = np.float32(0.0)
                        for inner in range(size):
                            total += row[inner] * matrix[inner, j]
                        power[i, j] = total
            if synchronised:
                sync_lanes(mask)
            if working:
                done = clock()
            if k == 0:
                start = done
        left = clock()

        clocks[0, group, lane] = start
        clocks[1, group, lane] = done
        clocks[2, group, lane] = left
        for i in range(size):
            for j in range(size):
                powers[group, lane, i, j] = power[i, j]

    return powers_of


def run_launches(
    matrices: npt.NDArray[np.float32],
    exponents: npt.NDArray[np.int32],
    *,
    synchronised: bool,
    threads: int,
) -> Iterator[tuple[int, Ints, Any]]:
    """Yield, for each launch, the index of its first group, clocks (3, groups, lanes) and powers.

    A launch runs ``len(matrices)`` groups. The next launch overwrites the powers on the device.
    """
    chunk, lanes, size, _ = matrices.shape
    run = power_kernel(size, synchronised)
    there = cuda.to_device(matrices)
    powers = cuda.device_array(matrices.shape, np.float32)
    for first in range(0, len(exponents), chunk):
        part = np.ascontiguousarray(exponents[first : first + chunk])
        clocks = cuda.device_array((3, len(part), lanes), np.int64)
        run[len(part), threads](there, cuda.to_device(part), powers, clocks)
        yield first, clocks.copy_to_host(), powers


def is_available() -> bool:
    """True if there is a GPU with a driver, or its simulator."""
    return bool(cuda.is_available())


def free_memory() -> float:
    """Return the free memory of the device in bytes; infinity on the simulator."""
    return float(cuda.current_context().get_memory_info().free)


def device_facts() -> dict[str, Any]:
    """Return the device's name, UUID, compute capability, multiprocessors, clock and driver."""
    if SIMULATED:
        return {"device": "simulator of numba-cuda: no measurement"}
    device = cuda.get_current_device()
    name = device.name
    return {
        "device": name.decode() if isinstance(name, bytes) else name,
        "uuid": str(device.uuid),
        "compute_capability": ".".join(map(str, device.compute_capability)),
        "multiprocessors": int(device.MULTIPROCESSOR_COUNT),
        "clock_khz": int(device.CLOCK_RATE),
        "cuda_driver": ".".join(map(str, cuda.cudadrv.driver.driver.get_version())),
    }
