"""Answers of a finished store: zones bound each block, and only blocks that matter are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.grid.flat_index import unravel
from sweeps.nest.reduce import smallest
from sweeps.runtime.watching import best_so_far
from sweeps.stored.blocks import points_cut
from sweeps.stored.columns import columns_of, offsets
from sweeps.stored.question import Question
from sweeps.stored.rounds import rounds

__all__ = ["best", "upto"]

#: Most winners that compiled code keeps in order, of one slot and of all.
_ORDERED, _WINNERS = sizes.STORED_ORDERED, sizes.STORED_WINNERS


def best(
    question: Question, per: Sequence[str], top: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """As :func:`sweeps.scan.choosing.choose`: the first ``top`` for each value of some axes."""
    sizes = tuple(question.axes[axis] for axis in per)
    slots = math.prod(sizes)
    found = np.full((slots, top), -1, dtype=np.int64)
    scores = np.full((slots, top), math.inf)
    (lower,), cut = question.lower, points_cut(sizes)

    def still(order: NDArray[np.int64]) -> NDArray[np.bool_]:
        limits: list[Any] = [scores[0, -1], found[0, -1]]
        for k, array in enumerate((scores[:, -1], found[:, -1]) if per else ()):
            worst = array.reshape(sizes)
            worst = question.blocks.reduced(worst, per, cut, np.maximum, array.min())
            limits[k] = np.broadcast_to(worst, question.blocks.grid).reshape(-1)[order]
        value, place = limits
        equal = (lower[order] == value) & (question.origins[order] <= place)
        keep: NDArray[np.bool_] = (lower[order] < value) | equal
        return keep

    def work(numbers: NDArray[np.int64], length: int) -> Any:
        if question.compiled:
            return _kept(question, numbers, length, per, scores)
        (values,) = question.values(numbers, length)
        return _ranked(question, values, numbers, length, per, top)

    few = top <= _ORDERED and scores.size <= _WINNERS
    for results in rounds(question, question.open, lower, still, work, compiles=few, partial=True):
        slot, score, place = (np.concatenate(column) for column in zip(*results, strict=True))
        touched, slot = np.unique(slot, return_inverse=True)
        slot = np.concatenate([slot, np.repeat(np.arange(touched.size), top)])
        score = np.concatenate([score, scores[touched].reshape(-1)])
        place = np.concatenate([place, found[touched].reshape(-1)])
        sort = np.lexsort((place, score, slot))
        first = np.searchsorted(slot[sort], np.arange(touched.size))
        chosen = sort[first[:, None] + np.arange(top)]
        scores[touched], found[touched] = score[chosen], place[chosen]
        best_so_far(float(scores.min()))
    found[np.isinf(scores)] = -1
    rest = tuple(axis for axis in question.axes if axis not in per)
    return (
        _over(question, found, rest).reshape(*sizes, top),
        scores.reshape(*sizes, top),
        rest,
    )


def _over(question: Question, places: NDArray[np.int64], rest: Sequence[str]) -> NDArray[np.int64]:
    """From flat indices over the axes of the question to those over some of them."""
    shape = tuple(question.axes.values())
    split = unravel(np.maximum(places, 0), shape)
    flat = np.zeros_like(places)
    for axis, index in zip(question.axes, split, strict=True):
        flat = flat * question.axes[axis] + index if axis in rest else flat
    return np.where(places < 0, -1, flat)


def _ranked(
    question: Question,
    values: NDArray[np.float64],
    numbers: NDArray[np.int64],
    length: int,
    per: Sequence[str],
    top: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """The best of some blocks for each slot of ``per``: slots, values and flat indices."""
    if not per:
        first = smallest(values.reshape(-1), top)
        block, place = np.divmod(first, values.shape[1])
        places = question.origins[numbers[block]] + place
        return np.zeros_like(first), values.reshape(-1)[first], places
    sizes = question.sizes(length)
    own = [axis for axis in sizes if axis in per]
    others = [axis for axis in sizes if axis not in per]
    turned = [1 + list(sizes).index(axis) for axis in (*own, *others)]
    kept = math.prod(sizes[axis] for axis in own)
    rows = values.reshape(numbers.size, *sizes.values()).transpose([0, *turned])
    rows = rows.reshape(numbers.size * kept, -1)
    within = np.arange(values.shape[1]).reshape(tuple(sizes.values()))
    within = within.transpose([k - 1 for k in turned]).reshape(kept, -1)
    first = rows.argmin(axis=1)[:, None] if top == 1 else np.argsort(rows, axis=1, kind="stable")
    first = first[:, :top]
    score = np.take_along_axis(rows, first, axis=1)
    block = np.repeat(np.arange(numbers.size), kept)
    place = within[np.tile(np.arange(kept), numbers.size)[:, None], first]
    places = place + question.origins[numbers[block]][:, None]
    slot = np.broadcast_to(_over(question, places[:, :1], per), places.shape)
    counts = score < math.inf
    return slot[counts], score[counts], places[counts]


def _kept(
    question: Question,
    numbers: NDArray[np.int64],
    length: int,
    per: Sequence[str],
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """As :func:`_ranked` by compiled code, of what is not worse than the best so far."""
    from sweeps.stored.kernels import least

    best = np.nextafter(scores, math.inf)
    places = np.full(scores.shape, -1, dtype=np.int64)
    columns, _held = columns_of(question, numbers, length)
    whole = question.shape(list(question.axes), length)
    rows, step = offsets(question.shape(per, length), whole)
    slots = (question.starts(per)[numbers], rows, step)
    origins = question.origins[numbers]
    least(columns, question.signs[0], origins, *slots, best, places)
    slot, rank = np.nonzero(places >= 0)
    return slot, best[slot, rank], places[slot, rank]


def upto(
    question: Question, limit: float, most: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Flat indices of the points whose goal does not exceed a value; not all beyond so many."""
    (lower,) = question.lower

    def work(numbers: NDArray[np.int64], length: int) -> Any:
        (values,) = question.values(numbers, length)
        block, place = np.nonzero(values <= limit)
        return question.origins[numbers[block]] + place, values[block, place]

    places, scores = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    order = question.open[lower[question.open] <= limit]
    for results in rounds(question, order, lower, lambda left: lower[left] <= limit, work):
        places += [at for at, _ in results]
        scores += [values for _, values in results]
        if sum(at.size for at in places) > most:
            break
    return np.concatenate(places), np.concatenate(scores)
