"""Points of which none beats another, the best of all that were looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Indices
from sweeps.nest.reduce import beaten_by
from sweeps.runtime.stopping import halt
from symbolic.errors import DseError

#: Most points of a front that is certified.
MOST_POINTS = sizes.FRONT_MOST

#: Most points that many others are held against first.
_JUDGES = sizes.ARCHIVE_JUDGES
#: Points of which some tell which judges beat most, and how many of them.
_MANY, _SAMPLE = sizes.ARCHIVE_MANY, sizes.ARCHIVE_SAMPLE
#: Points that are compared with the front of all before them at once.
_TOGETHER = sizes.ARCHIVE_TOGETHER


class Archive:
    """Objectives (rows) of some points, all finite, and what tells where they are (rows)."""

    def __init__(self, objectives: int, axes: int) -> None:
        self.values = np.empty((objectives, 0))
        self.places = np.empty((axes, 0), dtype=np.int64)

    def open_to(self, values: NDArray[np.float64]) -> Indices:
        """Which points are finite, and neither beaten by one held nor equal to it in all."""
        rest = np.arange(values.shape[1])
        held = self.values[:, :: max(-(-self.values.shape[1] // _JUDGES), 1)]
        if rest.size > _MANY and held.shape[1]:  # those first that beat most of some points
            some = values[:, :: rest.size // _SAMPLE, None]
            beats = np.all(held[:, None] <= some, axis=0).sum(axis=0)
            held = held[:, np.argsort(-beats, kind="stable")]
        for judges in (held, self.values):
            if rest.size:
                part = values if rest.size == values.shape[1] else values[:, rest]
                rest = rest[beaten_by(part, judges, np.full(judges.shape[1], -1))]
        return rest[np.all(values[:, rest] < np.inf, axis=0)]

    def opens(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Of each point, whether it is one of those."""
        found = np.zeros(values.shape[1], dtype=bool)
        found[self.open_to(values)] = True
        return found

    def add(self, values: NDArray[np.float64], places: Indices) -> None:
        """Points that are ``open_to``; those of them, and those held, that another beats go."""
        if not values.shape[1]:
            return
        joined = np.concatenate([self.values, values], axis=1)
        reach = np.ptp(joined, axis=1, keepdims=True)
        rank = (values / np.where(reach > 0, reach, 1.0)).sum(axis=0)
        # those that beat many first; who beats another comes before it, for rounding is monotone
        order = np.lexsort((*values[::-1], rank))
        best = _undominated(values[:, order])
        values, places = values[:, order[best]], places[:, order[best]]
        stay = beaten_by(self.values, values, np.full(best.size, self.values.shape[1]))
        self.values = np.concatenate([self.values[:, stay], values], axis=1)
        self.places = np.concatenate([self.places[:, stay], places], axis=1)
        if self.places.shape[1] > MOST_POINTS:
            raise DseError(
                f"the front has more than {MOST_POINTS:,} points, which is the most that are "
                "certified: round objectives by floor, or give coarser axes"
            )


def _undominated(values: NDArray[np.float64]) -> Indices:
    """Return the indices of the points of a front, of points none of which a later one beats."""
    front = np.empty((len(values), 0))
    kept = []
    for first in range(0, values.shape[1], _TOGETHER):
        halt()
        part = values[:, first : first + _TOGETHER]
        left = beaten_by(part, front, np.full(front.shape[1], -1))
        left = left[beaten_by(part[:, left], part[:, left], np.arange(left.size))]
        front = np.concatenate([front, part[:, left]], axis=1)
        kept.append(first + left)
    return np.concatenate(kept)
