"""The gaps between the points of a front of two objectives, each shown to be empty by a search.

What is on the front besides the points found lies, in both objectives, below the corner of a gap
between neighbours of them. Where boxes tell little of both objectives together, the search for the
least of the first, where the second is below the corner, may still show that nothing is there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.search import Least, search
from sweeps.prove.beating import Exploration
from sweeps.runtime.loop import Tally, explore
from symbolic.ops import both, constant, where

__all__ = ["close_gaps"]

Numbers = NDArray[np.float64]


def close_gaps(explored: Sequence[Exploration], tally: Tally) -> Numbers:
    """Look into every gap, and those that points found there leave; the corners left when late."""
    gaps = _Gaps(explored, tally)
    explore(gaps, tally)
    return gaps.corners


class _Gaps:
    def __init__(self, explored: Sequence[Exploration], tally: Tally) -> None:
        self.explored, self.tally = explored, tally
        self.archive = explored[0].archive
        self.corners = self.closed = np.empty((2, 0))

    def open(self) -> bool:
        """Whether a gap is left between the points known by now."""
        corners = _corners(self.archive.values)
        known = np.all(corners[:, :, None] <= self.closed[:, None], axis=0).any(axis=1)
        self.corners = corners[:, ~known]
        return bool(self.corners.shape[1])

    def step(self) -> None:
        """Look into the first; it is closed where nothing is found."""
        before, corner = self.archive.values, self.corners[:, :1]
        seen = all(_look(one, corner[:, 0], self.tally) for one in self.explored)
        if seen and self.archive.values is before:
            self.closed = np.concatenate([self.closed, corner], axis=1)

    def tell(self) -> None:
        """How many points the front has so far."""
        self.explored[0].tell()


def _corners(values: Numbers) -> Numbers:
    """The corners of the gaps between neighbours, and beyond the first and last."""
    order = np.argsort(values[0])
    first = np.append(values[0, order], math.inf)
    second = np.concatenate([[math.inf], values[1, order]])
    return np.stack([first, second])


def _look(one: Exploration, corner: Numbers, tally: Tally) -> bool:
    """Offer the archive what a part holds below a corner; whether there was time to see it all."""
    problem = one.problem
    first, second = problem.roots
    limit, most = corner.tolist()
    holds = second < most
    if first.op == "where":
        holds, first = both(first.args[0], second.args[1] < most), first.args[1]
    root = constant(where(holds, first, math.inf))
    goal = Least()
    goal.heed(limit)
    late = search(problem.asked(root), goal, tally) < math.inf
    if goal.place is not None:
        one.offer(goal.place[:, None])
    return not late
