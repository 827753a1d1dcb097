"""Which blocks of a store the points of a front dominate, and which promise most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sweeps.stored.question import Question

__all__ = ["dominated", "promise_of", "spread_of"]

#: Strong points against which the points of a block are held first.
_STRONG = 24


def promise_of(question: Question, lower: NDArray[np.float64]) -> NDArray[np.int64]:
    """The sum of the ranks of each block's corner; below 0 for the best for each goal."""
    order = np.argsort(lower[:, question.open], axis=1, kind="stable")
    rank = np.argsort(order, axis=1).sum(axis=0)
    rank[order[:, :1]] = -1
    found = np.zeros(question.blocks.count, dtype=np.int64)
    found[question.open] = rank
    return found


def spread_of(known: NDArray[np.float64]) -> NDArray[np.int64]:
    """Some of the points of a front, evenly along its first goal."""
    order = np.argsort(known[0], kind="stable")
    count = min(_STRONG, order.size)
    return order[np.linspace(0, order.size - 1, count).astype(int)] if count else order


def dominated(
    corners: NDArray[np.float64],
    origins: NDArray[np.int64],
    known: NDArray[np.float64],
    places: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether a point of a front dominates all that may lie in a block, or is as good and first.

    Of two goals the one point is asked that can; of more, a few.
    """
    count = len(origins)
    found = np.zeros(count, dtype=bool)
    if not places.size:
        return found
    if len(known) == 2:
        order = np.argsort(known[0])
        before = np.searchsorted(known[0, order], corners[0], "right")
        rivals = [(before > 0, order[np.maximum(before - 1, 0)])]
    else:
        rivals = [(np.ones(count, bool), np.full(count, one)) for one in spread_of(known)]
    for there, rival in rivals:
        value = known[:, rival]
        no_worse = np.all(value <= corners, axis=0)
        better = np.any(value < corners, axis=0) | (places[rival] < origins)
        found |= there & no_worse & better
    return found
