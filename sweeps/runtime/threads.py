"""Work in threads, as many as there are processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stochastic.threads import workers

__all__ = ["in_threads", "workers"]

Result = TypeVar("Result")


def in_threads(work: Callable[[int], Result], count: int) -> list[Result]:
    """The results of ``work`` on each number below ``count``, by Dask's threaded scheduler."""
    if count == 1 or workers() == 1:
        return [work(number) for number in range(count)]
    import dask.threaded

    # the scheduler itself: dask.compute would add as much as a small tile costs
    graph = {f"tile {number}": (work, number) for number in range(count)}
    return list(dask.threaded.get(graph, list(graph), num_workers=workers()))
