"""Where and when each block of a launch ran, and the latency of one request after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.measuring import checked, device
from stochastic import Pmf
from symbolic.errors import DseError

__all__ = ["blocks", "latency", "launches"]

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
    work = _checked_work(rounds, threads)
    stamps = _stamps(work, threads)
    start, end = (1e-9 * (stamps[k] - stamps[1].min()) for k in (1, 2))
    numbers = np.arange(len(work), dtype=float)
    columns = numbers, work.astype(float), stamps[0].astype(float), start, end
    names = ("block", "block_rounds", "sm", "block_start", "block_end")
    return dict(zip(names, columns, strict=True))


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
            work = _checked_work(work_law.sample(count, int(rng.integers(2**31))), threads)
            sm, start, end = _stamps(work, threads)
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


def _checked_work(rounds: Any, threads: int) -> NDArray[np.int64]:
    work = np.array(rounds, dtype=np.int64)
    if work.ndim != 1 or not len(work) or work.min() < 1 or work.max() >= 2**31:
        raise DseError("rounds: expected a number of 1 or more for each block")
    if not 1 <= threads <= 1024:
        raise DseError(f"threads = {threads}: expected 1 to 1024")
    return work


def _stamps(work: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
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
