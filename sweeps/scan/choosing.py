"""The smallest of some values along some axes, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.flat_index import ravel, unravel
from sweeps.nest.reduce import smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Winning places: an index along each axis, of shape (*per, top); -1 where there is none."""

    per: tuple[str, ...]
    places: Mapping[str, NDArray[np.int64]]


def choose(
    values: NDArray[np.float64], dims: Sequence[str], per: Sequence[str], top: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """The ``top`` smallest, shape (*per, top): flat indices over the other axes, and values."""
    rest = tuple(dim for dim in dims if dim not in per)
    moved = values.transpose([dims.index(dim) for dim in (*per, *rest)])
    shape = moved.shape[: len(per)]
    rows = moved.reshape(math.prod(shape), -1)
    if top == 1 and rows.size:
        best = rows.argmin(axis=1)
        scores = np.take_along_axis(rows, best[:, None], axis=1)
        found = np.where(scores < np.inf, best[:, None], -1).astype(np.int64)
        return found.reshape(*shape, 1), scores.reshape(*shape, 1), rest
    found = np.full((len(rows), top), -1, dtype=np.int64)
    scores = np.full((len(rows), top), np.inf)
    for place, row in enumerate(rows):
        best = smallest(row, top)
        found[place, : best.size] = best
        scores[place, : best.size] = row[best]
    return found.reshape(*shape, top), scores.reshape(*shape, top), rest


def with_idle_axes(
    flat: NDArray[np.int64],
    values: NDArray[np.float64],
    rest: Sequence[str],
    per: Sequence[str],
    sizes: Mapping[str, int],
) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
    """The winners among all axes, those included along which nothing varies: ties of each other.

    ``flat`` and ``values`` are those of :func:`choose`, over the axes ``rest``. A configuration of
    the first ``top`` lies, along either kind of axes, among the first ``top`` that tie.
    """
    idle = [axis for axis in sizes if axis not in rest and axis not in per]
    top = flat.shape[-1]
    if top == 1 or not idle:
        return flat, values, tuple(rest)
    whole = tuple(axis for axis in sizes if axis not in per)
    shape = [sizes[axis] for axis in idle]
    copies = unravel(np.arange(min(top, math.prod(shape))), shape)
    index = dict(zip(idle, copies, strict=True))
    if rest:
        split = unravel(np.maximum(flat, 0), [sizes[axis] for axis in rest])
        index.update({axis: i[..., None] for axis, i in zip(rest, split, strict=True)})
    found = ravel([index[axis] for axis in whole], [sizes[axis] for axis in whole])
    found = np.where(flat[..., None] < 0, -1, found)
    scores = np.broadcast_to(values[..., None], found.shape).reshape(*flat.shape[:-1], -1)
    found = found.reshape(*flat.shape[:-1], -1)
    order = np.lexsort((found, scores))[..., :top]
    best = np.take_along_axis(scores, order, axis=-1)
    return np.take_along_axis(found, order, axis=-1), best, whole


def trimmed(flat: NDArray[np.int64], per: Sequence[str]) -> NDArray[np.int64]:
    """Without the ranks that no point takes, where there is one ranking."""
    return flat if per else flat[: max(int(np.count_nonzero(flat >= 0)), 1)]


def spread(
    flat: NDArray[np.int64],
    rest: Sequence[str],
    per: Sequence[str],
    sizes: Mapping[str, int],
) -> dict[str, NDArray[np.int64]]:
    """From flat indices over ``rest``, shape (*per, top), to an index along every axis."""
    shape = tuple(sizes[axis] for axis in rest)
    split = unravel(np.maximum(flat, 0), shape)
    places = {axis: np.zeros(flat.shape, dtype=np.int64) for axis in sizes}
    places.update(
        {axis: np.asarray(i, dtype=np.int64) for axis, i in zip(rest, split, strict=True)}
    )
    for position, axis in enumerate(per):
        steps = np.arange(sizes[axis]).reshape(
            [-1 if k == position else 1 for k in range(flat.ndim)]
        )
        places[axis] = np.broadcast_to(steps, flat.shape).copy()
    for axis in places:
        places[axis][flat < 0] = -1
    return places
