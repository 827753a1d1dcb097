"""Reading the blocks of a store: all that matter, or the most promising first until none does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.runtime.loop import in_turn
from sweeps.runtime.threads import workers
from sweeps.runtime.watching import seen
from sweeps.stored.question import BUILT, Question

__all__ = ["rounds", "through"]

#: Blocks read before the others are judged anew: few at first, which tell most.
_FIRST, _ROUND = sizes.STORED_FIRST, sizes.STORED_ROUND
#: Points of blocks that are evaluated together where nothing is compiled.
_BATCH = sizes.STORED_BATCH


def through(
    question: Question,
    numbers: NDArray[np.int64],
    work: Callable[[NDArray[np.int64], int], Any],
    *,
    built: bool = False,
) -> Iterator[Any]:
    """The work on some blocks, all of them; it knows what to do once it is ``compiled``.

    ``built`` tells that it puts all values together.
    """
    question.compiles, question.batch = True, BUILT if built else question.batch
    some = (numbers[start : start + _ROUND] for start in range(0, numbers.size, _ROUND))
    batches = ((now, int(question.points(now).sum())) for now in some)
    for now in in_turn(batches, int(question.points(numbers).sum())):
        question.read += int(now.size)
        yield from _worked(question, now, work)


def rounds(
    question: Question,
    numbers: NDArray[np.int64],
    key: NDArray[Any],
    still: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    work: Callable[[NDArray[np.int64], int], Any],
    *,
    compiles: bool = False,
    partial: bool = False,
) -> Iterator[list[Any]]:
    """The work on some blocks at a time, by their keys; each time those no longer needed go.

    ``compiles`` tells that the work knows what to do once it is ``compiled``; ``partial``, that
    what is known by an interrupt is an answer.
    """
    question.compiles = compiles
    batches, total = _promising(question, numbers, key, still), int(question.points(numbers).sum())

    def leave(_: int) -> None:
        question.left = question.unread

    for now in in_turn(batches, total, leave if partial else None):
        question.read += int(now.size)
        yield _worked(question, now, work)


def _promising(
    question: Question,
    rest: NDArray[np.int64],
    key: NDArray[Any],
    still: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Blocks by their keys, and how many points they have: one, then more each time."""
    now = rest[key[rest] == key[rest].min()][:1] if rest.size else rest
    rest, size = rest[rest != now[:1]], _FIRST
    ordered = False
    while now.size:
        question.unread = int(question.points(now).sum() + question.points(rest).sum())
        yield now, int(question.points(now).sum())
        left, rest = rest, rest[still(rest)]
        seen(int(question.points(left).sum() - question.points(rest).sum()))
        if not ordered:
            rest, ordered = rest[np.argsort(key[rest], kind="stable")], True
        now, rest = np.sort(rest[:size]), rest[size:]
        size = min(size * 4, _ROUND)


def _worked(
    question: Question, numbers: NDArray[np.int64], work: Callable[[NDArray[np.int64], int], Any]
) -> list[Any]:
    """The work on blocks, those of a length together, as many as the cache holds."""
    lengths = question.blocks.length(numbers)
    batches: list[tuple[NDArray[np.int64], int]] = []
    for length in np.unique(lengths).tolist():
        alike = numbers[lengths == length]
        most = question.batch if question.compiled else _BATCH
        step = max(1, most // max(math.prod(question.sizes(length).values()), 1))
        batches += [(alike[k : k + step], length) for k in range(0, alike.size, step)]
    if len(batches) == 1 or workers() == 1:
        return [work(*batch) for batch in batches]
    with ThreadPoolExecutor(workers()) as pool:
        return list(pool.map(work, *zip(*batches, strict=True)))
