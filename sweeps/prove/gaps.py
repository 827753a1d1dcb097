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

from sweeps.bounds.search import Least, Tally, search
from sweeps.prove.beating import Exploration
from symbolic.ops import both, constant, where

__all__ = ["close_gaps"]

Numbers = NDArray[np.float64]


def close_gaps(explored: Sequence[Exploration], tally: Tally) -> Numbers:
    """Look into every gap, and those that points found there leave; the corners left when late."""
    archive, closed = explored[0].archive, np.empty((2, 0))
    while True:
        corners = _corners(archive.values)
        known = np.all(corners[:, :, None] <= closed[:, None], axis=0).any(axis=1)
        corners = corners[:, ~known]
        if not corners.shape[1]:
            return corners
        before = archive.values
        for one in explored:
            if not _look(one, corners[:, 0], tally):
                return corners
        if archive.values is before:
            closed = np.concatenate([closed, corners[:, :1]], axis=1)


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
