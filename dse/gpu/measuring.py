"""The GPU at hand, measured: Transit's two curves (Li 2015, §3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import MOST_THREADS, checked, device, least
from symbolic.errors import DseError

Floats = NDArray[np.float64]


def supply(threads: Sequence[int], *, requests: int = 4096, size: int = 2**26) -> dict[str, Floats]:
    """Bandwidth of a multiprocessor against its threads that only wait: f(k) of Transit, δ in it.

    Parameters
    ----------
    threads : sequence of int
        On each multiprocessor, whole warps for full coalescing.
    requests : int
        Of each thread, one after the other, of 4 bytes; those of a warp stand side by side.
    size : int
        Numbers of the ring that is read, far more than any cache holds.

    Returns
    -------
    dict
        ``threads_in_ms`` and ``attained_bandwidth`` [B/s], for :func:`dse.fit` of
        ``transit_supply``.

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing.
    DseError
        For threads that cannot stand on a multiprocessor, or a thread that went astray.
    """
    kernels, multiprocessors = device()
    rates = []
    for count in threads:
        grid, block = _shape(count, multiprocessors)
        total = grid * block
        if total > size:
            raise DseError(f"size = {size}: expected {total} or more, a number for each thread")
        places = np.arange(size, dtype=np.int64)
        ring = kernels.sent(((places + total) % size).astype(np.int32))
        ends = kernels.sent(np.zeros(total, np.int32))

        def run(shape: Any = (grid, block), given: Any = (ring, ends)) -> None:
            kernels.waiting()[shape](*given, requests)

        taken = least(kernels, run)
        expected = (places[:total] + total * requests) % size
        checked(np.array_equal(kernels.copied(ends), expected))
        rates.append(4.0 * count * requests / taken)
    return {"threads_in_ms": np.array(threads, float), "attained_bandwidth": np.array(rates)}


def demand(
    threads: Sequence[int], *, rounds: int = 4096, double: bool = False
) -> dict[str, Floats]:
    """Operations of a multiprocessor against its threads that only compute: G(x), with π in it.

    An operation is one multiplication and addition, on the result of the one before.

    Parameters
    ----------
    threads : sequence of int
        On each multiprocessor.
    rounds : int
        Of 64 operations of each thread.
    double : bool
        Whether in double precision.

    Returns
    -------
    dict
        ``threads_in_cs`` and ``attained_flops`` [1/s], for :func:`dse.fit` of ``transit_demand``.

    Raises
    ------
    LawError, DseError
        As :func:`supply`.
    """
    kernels, multiprocessors = device()
    kind = np.float64 if double else np.float32
    half, one = (kernels.sent(np.array([number], kind)) for number in (0.5, 1.0))
    rates = []
    for count in threads:
        grid, block = _shape(count, multiprocessors)
        values = kernels.sent(np.zeros(grid * block, kind))

        def run(shape: Any = (grid, block), given: Any = values) -> None:
            kernels.thinking()[shape](given, half, one, rounds)

        taken = least(kernels, run)
        checked(bool(np.all(kernels.copied(values) == 2)))  # the limit of v/2 + 1
        rates.append(kernels.ROUND * count * rounds / taken)
    return {"threads_in_cs": np.array(threads, float), "attained_flops": np.array(rates)}


def _shape(threads: int, multiprocessors: int) -> tuple[int, int]:
    """Blocks of a launch and threads of each, for so many threads on every multiprocessor."""
    for blocks in range(1, 33):
        if threads >= blocks and threads % blocks == 0 and threads // blocks <= MOST_THREADS:
            return blocks * multiprocessors, threads // blocks
    raise DseError(
        f"threads = {threads}: expected a number of 1 or more that blocks of at most "
        f"{MOST_THREADS} threads can share"
    )
