"""Times of launches whose blocks work for random whiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.launched import checked_work, stamps_of
from stochastic import Pmf
from symbolic.errors import DseError


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
