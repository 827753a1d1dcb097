"""Where and when each block of a launch ran, and the latency of one request after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.measuring import checked, device
from symbolic.errors import DseError

__all__ = ["blocks", "latency"]

Floats = NDArray[np.float64]
_LINE = 128  # bytes between two places of a ring, so that no two share a line of a cache


def blocks(rounds: Sequence[int], *, threads: int = 256) -> dict[str, Floats]:
    """Start, end and multiprocessor of every block of one launch, for laws of launches.

    Parameters
    ----------
    rounds : sequence of int
        Work of each block, in rounds of 64 multiplications and additions of each thread.
    threads : int
        Of a block.

    Returns
    -------
    dict
        ``block``, ``block_rounds``, ``sm`` as hardware numbers it, ``block_start`` and
        ``block_end`` [s] since the first start, one entry a block.

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing.
    DseError
        For a launch that cannot be, or blocks that did not do their work.
    """
    work = np.array(rounds, dtype=np.int64)
    if work.ndim != 1 or not len(work) or work.min() < 1 or work.max() >= 2**31:
        raise DseError("rounds: expected a number of 1 or more for each block")
    if not 1 <= threads <= 1024:
        raise DseError(f"threads = {threads}: expected 1 to 1024")
    kernels, _ = device()
    half, one = (kernels.sent(np.array([number], np.float32)) for number in (0.5, 1.0))
    given = kernels.sent(work.astype(np.int32))
    stamps = np.zeros((3, len(work)), np.int64)
    for _ in range(2):  # compiled before the launch that counts
        values = kernels.sent(np.zeros(len(work) * threads, np.float32))
        there = kernels.sent(np.zeros_like(stamps))
        kernels.standing()[len(work), threads](values, half, one, given, there)
        stamps = kernels.copied(there)
    checked(bool(np.all(kernels.copied(values) == 2)))  # the limit of v/2 + 1
    checked(bool(np.all(stamps[2] >= stamps[1]) and np.all(stamps[1] > 0)))
    start, end = (1e-9 * (stamps[k] - stamps[1].min()) for k in (1, 2))
    numbers = np.arange(len(work), dtype=float)
    columns = numbers, work.astype(float), stamps[0].astype(float), start, end
    names = ("block", "block_rounds", "sm", "block_start", "block_end")
    return dict(zip(names, columns, strict=True))


def latency(sizes: Sequence[int], *, requests: int = 4096, seed: int = 0) -> dict[str, Floats]:
    """Cycles of a load that waits for the one before, against the bytes that are gone through.

    One thread follows a ring in random order, each place in a line of its own; it goes through it
    once before the clock runs, so that a ring that fits in a cache is there.

    Parameters
    ----------
    sizes : sequence of int
        Of rings. [B]
    requests : int
        At least so many loads a ring; a ring is gone through at least once.
    seed : int
        Of the order.

    Returns
    -------
    dict
        ``ring_bytes`` [B] and ``load_cycles`` [cycle], one entry a ring.

    Raises
    ------
    LawError, DseError
        As :func:`blocks`.
    """
    for size in sizes:
        if size < 2 * _LINE or size >= 2**33:
            raise DseError(f"sizes: {size}: expected {2 * _LINE} bytes or more, and below 8 GiB")
    kernels, _ = device()
    rng = np.random.default_rng(seed)
    found = []
    for size in sizes:
        ring, order = _ring(size, rng)
        count = max(requests, len(order))
        there = kernels.sent(np.full(2, -1, np.int64))
        given: Any = kernels.sent(ring)
        for _ in range(2):
            kernels.chasing()[1, 1](given, count, there)
        end, cycles = kernels.copied(there).tolist()
        checked(cycles > 0 and end == order[(2 * count) % len(order)])
        found.append(cycles / count)
    return {"ring_bytes": np.array(sizes, float), "load_cycles": np.array(found)}


def _ring(size: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The place after each place, and the places in the order in which they come, from 0 on."""
    step = _LINE // 4
    order = np.concatenate([[0], 1 + rng.permutation(size // _LINE - 1)]) * step
    ring = np.zeros(size // 4, np.int32)
    ring[order] = np.roll(order, -1)
    return ring, order
