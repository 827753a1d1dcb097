"""The latency of one request after the other, as a working set grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import checked, device
from symbolic.errors import DseError

Floats = NDArray[np.float64]
_LINE = 128  # bytes between two places of a ring, so that no two share a line of a cache


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
