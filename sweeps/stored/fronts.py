"""The front of a finished store: only blocks that may hold a point of it are read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.nest.reduce import beaten_by, front
from sweeps.runtime.watching import points_so_far
from sweeps.stored.columns import columns_of
from sweeps.stored.question import Question
from sweeps.stored.rounds import rounds

__all__ = ["best_front"]

#: Slots of the first goal of a front, and most points of a batch that may belong to it.
_STAIRS, _ROOM = sizes.STORED_STAIRS, sizes.STORED_ROOM
#: Strong points against which the points of a block are held first.
_STRONG = sizes.STORED_STRONG


def best_front(question: Question) -> NDArray[np.int64]:
    """Flat indices of the points that no other dominates, ascending."""
    lower = np.stack(question.lower)
    known, places = np.empty((len(lower), 0)), np.empty(0, dtype=np.int64)

    def still(order: NDArray[np.int64]) -> NDArray[np.bool_]:
        return ~_dominated(lower[:, order], question.origins[order], known, places)

    def work(numbers: NDArray[np.int64], length: int) -> Any:
        if question.compiled:
            found = _outside(question, numbers, length, known, *ends)
            if found is not None:
                return found
        values = question.values(numbers, length)
        size = values[0].shape[1]
        flat = np.stack([value.reshape(-1) for value in values])
        origins = question.origins[numbers]
        some = _spread_of(known)
        block = np.searchsorted(origins, places[some], "right") - 1
        at = np.minimum(places[some] - origins[block], size - 1)
        at = np.where(block < 0, -1, block * size + at)  # the last column not after the point
        left = beaten_by(flat, known[:, some], at)
        left = left[np.all(np.isfinite(flat[:, left]), axis=0)]
        left = left[front(np.ascontiguousarray(flat[:, left]))]
        return flat[:, left], origins[left // size] + left % size

    corners = lower[0, question.open]
    ends = corners.min(initial=math.inf), corners.max(initial=-math.inf)
    promise, two = _promise_of(question, lower), len(lower) == 2
    reading = rounds(question, question.open, promise, still, work, compiles=two, partial=True)
    for results in reading:
        joined = np.concatenate([known, *(values for values, _ in results)], axis=1)
        at = np.concatenate([places, *(found for _, found in results)])
        sort = np.argsort(at, kind="stable")
        left = sort[front(np.ascontiguousarray(joined[:, sort]))]
        known, places = np.ascontiguousarray(joined[:, left]), at[left]
        points_so_far(places.size)
    return np.sort(places)


def _outside(
    question: Question,
    numbers: NDArray[np.int64],
    length: int,
    known: NDArray[np.float64],
    begin: float,
    end: float,
) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    """The front of the points of some blocks that known ones leave; None where there are many.

    The first goal is held in slots: those of the known points, or from ``begin`` to ``end``.
    """
    from sweeps.stored.kernels import outside

    if known.size:
        begin, end = float(known[0].min()), float(known[0].max())
    if not math.isfinite(begin):
        return None
    with np.errstate(over="ignore", divide="ignore"):
        scale = float(_STAIRS / np.float64(end - begin))
        scale = scale if 0 < scale < math.inf else 1.0
        slot = np.minimum((known[0] - begin) * scale, _STAIRS - 1).astype(np.int64)
    stairs = np.full(_STAIRS + 1, math.inf)
    np.minimum.at(stairs, slot + 1, known[1])
    stairs = np.minimum.accumulate(stairs)
    columns, _held = columns_of(question, numbers, length)
    origins = question.origins[numbers]
    values, places = np.empty((2, _ROOM)), np.empty(_ROOM, dtype=np.int64)
    called = (columns, question.signs, origins, begin, end, scale, stairs, values, places)
    count = outside(*called)
    if count < 0:
        return None
    left = front(np.ascontiguousarray(values[:, :count]))
    return values[:, left], places[left]


def _promise_of(question: Question, lower: NDArray[np.float64]) -> NDArray[np.int64]:
    """The sum of the ranks of each block's corner; below 0 for the best for each goal."""
    order = np.argsort(lower[:, question.open], axis=1, kind="stable")
    rank = np.argsort(order, axis=1).sum(axis=0)
    rank[order[:, :1]] = -1
    found = np.zeros(question.blocks.count, dtype=np.int64)
    found[question.open] = rank
    return found


def _spread_of(known: NDArray[np.float64]) -> NDArray[np.int64]:
    """Some of the points of a front, evenly along its first goal."""
    order = np.argsort(known[0], kind="stable")
    count = min(_STRONG, order.size)
    return order[np.linspace(0, order.size - 1, count).astype(int)] if count else order


def _dominated(
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
        rivals = [(np.ones(count, bool), np.full(count, one)) for one in _spread_of(known)]
    for there, rival in rivals:
        value = known[:, rival]
        no_worse = np.all(value <= corners, axis=0)
        better = np.any(value < corners, axis=0) | (places[rival] < origins)
        found |= there & no_worse & better
    return found
