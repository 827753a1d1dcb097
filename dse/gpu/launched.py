"""Where and when each block of a launch ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import checked, device
from symbolic.errors import DseError

Floats = NDArray[np.float64]


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
    work = checked_work(rounds, threads)
    stamps = stamps_of(work, threads)
    start, end = (1e-9 * (stamps[k] - stamps[1].min()) for k in (1, 2))
    numbers = np.arange(len(work), dtype=float)
    columns = numbers, work.astype(float), stamps[0].astype(float), start, end
    names = ("block", "block_rounds", "sm", "block_start", "block_end")
    return dict(zip(names, columns, strict=True))


def checked_work(rounds: Any, threads: int) -> NDArray[np.int64]:
    """The rounds of each block of a launch that can be."""
    work = np.array(rounds, dtype=np.int64)
    if work.ndim != 1 or not len(work) or work.min() < 1 or work.max() >= 2**31:
        raise DseError("rounds: expected a number of 1 or more for each block")
    if not 1 <= threads <= 1024:
        raise DseError(f"threads = {threads}: expected 1 to 1024")
    return work


def stamps_of(work: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Multiprocessor, start and end [ns] of each block of a launch."""
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
    return stamps
