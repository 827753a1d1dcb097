"""Times of launches whose blocks work for random whiles; where and when each block ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import MOST_THREADS, checked, device
from stochastic import Pmf
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
    if not 1 <= threads <= MOST_THREADS:
        raise DseError(f"threads = {threads}: expected 1 to {MOST_THREADS}")
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


def launches(
    blocks: Sequence[int],
    *,
    law: str = "uniform:1,2000",
    times: int = 50,
    threads: int = 32,
    seed: int = 0,
) -> dict[str, NDArray[Any]]:
    """Times of launches whose blocks work for random whiles, for the law of a launch.

    Parameters
    ----------
    blocks : sequence of int
        Of a launch; a row each.
    law : str
        Of the work of a block, in rounds of 64 operations of each thread, 1 or more.
    times : int
        Launches of each, with fresh work.
    threads : int
        Of a block, which all work for as long.
    seed : int
        Of the work.

    Returns
    -------
    dict
        ``distribution``, ``blocks``, ``lanes`` and ``warps_per_block`` (1: the work is that of a
        block), ``slots`` (blocks that ran at once, at most, by the multiprocessors that were
        seen), ``step_time`` (time of all blocks by their rounds) [s], ``launch_time_mean`` and
        ``launch_time_std`` over the launches, ``block_time_mean`` [s], ``launches``. For
        :func:`dse.validate` of the model ``launch``.

    Raises
    ------
    LawError, DseError
        As :func:`blocks`.
    """
    if times < 2 or not len(blocks):
        raise DseError(f"times = {times}: expected 2 launches or more, of some number of blocks")
    work_law, rng = Pmf.parse(law), np.random.default_rng(seed)
    rows = []
    for count in blocks:
        taken, worked, rounds, slots = [], 0.0, 0.0, 0
        for _ in range(times):
            work = checked_work(work_law.sample(count, int(rng.integers(2**31))), threads)
            sm, start, end = stamps_of(work, threads)
            taken.append(1e-9 * float(end.max() - start.min()))
            worked += 1e-9 * float((end - start).sum())
            rounds += float(work.sum())
            slots = max(slots, _at_once(sm, start, end))
        rows.append(
            {
                "distribution": law,
                "blocks": count,
                "lanes": 1,
                "warps_per_block": 1,
                "slots": slots,
                "step_time": worked / rounds,
                "launch_time_mean": np.mean(taken),
                "launch_time_std": np.std(taken, ddof=1),
                "block_time_mean": worked / (count * times),
                "launches": times,
            }
        )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _at_once(sm: NDArray[Any], start: NDArray[Any], end: NDArray[Any]) -> int:
    """Slots: multiprocessors that ran a block, times the most that one of them ran at once.

    >>> _at_once(np.array([0, 0, 1, 0]), np.array([0, 0, 0, 5]), np.array([5, 9, 3, 7]))
    4
    """
    most = 0
    for number in np.unique(sm):
        own = sm == number
        moments = np.concatenate([start[own], end[own]])
        steps = np.repeat([1, -1], [own.sum(), own.sum()])
        order = np.lexsort((steps, moments))  # at one moment, one that ends goes first
        most = max(most, int(np.cumsum(steps[order]).max()))
    return most * len(np.unique(sm))
