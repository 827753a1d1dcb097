"""Good configurations before any proof: along each axis in turn, then along pairs of axes."""

from __future__ import annotations

import itertools

import numpy as np

from stochastic import sizes
from sweeps.bounds.boxes import Indices
from sweeps.bounds.problem import Problem
from sweeps.bounds.search import Least
from sweeps.runtime.loop import Tally

#: Points drawn, and how many of the best are improved.
_DRAWN, _KEPT = sizes.DESCENT_DRAWN, sizes.DESCENT_KEPT
#: Values tried along an axis; points tried along a pair of axes; rounds.
_ALONG, _PAIR, _ROUNDS = sizes.DESCENT_ALONG, sizes.DESCENT_PAIR, sizes.DESCENT_ROUNDS


def descend(problem: Problem, goal: Least, tally: Tally) -> None:
    """Offer the goal what coordinate descent finds from a few starts, the same each time."""
    rng = np.random.default_rng(0)
    sizes = problem.sizes
    drawn = rng.integers(0, sizes[:, None], (len(sizes), _DRAWN if len(sizes) else 1))
    drawn[:, 0], drawn[:, -1] = 0, sizes - 1
    values = problem.values(drawn)
    tally.visited += values.size
    order = np.argsort(values, kind="stable")[:_KEPT]
    for number in order[values[order] < np.inf]:
        begun = drawn[:, number]
        place, value = _improved(problem, begun, float(values[number]), 1, tally)
        goal.offer(place[:, None], np.array([value]))
    if goal.place is not None:
        place, value = _improved(problem, goal.place, goal.value, 2, tally)
        goal.offer(place[:, None], np.array([value]))


def _improved(
    problem: Problem, place: Indices, value: float, together: int, tally: Tally
) -> tuple[Indices, float]:
    """As good as changing up to so many axes together makes it."""
    movable = np.flatnonzero(problem.sizes > 1).tolist()
    moves = [m for k in range(1, together + 1) for m in itertools.combinations(movable, k)]
    for _ in range(_ROUNDS):
        before = value
        for axes in moves:
            if tally.late:
                return place, value
            tried = _tried(problem, place, axes)
            values = problem.values(tried)
            tally.visited += values.size
            best = int(np.argmin(values))
            if values[best] < value:
                place, value = tried[:, best], float(values[best])
        if value == before:
            break
    return place, value


def _tried(problem: Problem, place: Indices, axes: tuple[int, ...]) -> Indices:
    """The place with every value along some axes, or those near and a few of those further off."""
    most = _ALONG if len(axes) == 1 else int(_PAIR ** (1 / len(axes)))
    steps = []
    for axis in axes:
        size = int(problem.sizes[axis])
        if size <= most:
            steps.append(np.arange(size))
            continue
        near = np.clip(np.arange(most // 2) - most // 4 + place[axis], 0, size - 1)
        far = np.linspace(0, size - 1, most - most // 2).astype(np.int64)
        steps.append(np.unique(np.concatenate([near, far])))
    mesh = np.meshgrid(*steps, indexing="ij")
    tried = np.repeat(place[:, None], mesh[0].size, axis=1)
    for axis, along in zip(axes, mesh, strict=True):
        tried[axis] = along.reshape(-1)
    return tried
