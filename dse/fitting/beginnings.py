"""Where a search begins: many points about typical values, each solved for what is linear."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.fitting.problem import HELD, Problem

#: Points for each quantity that is not solved for, the most in all, and those that are enough where
#: every one is; how often what is linear is solved for.
EACH, MOST, ENOUGH, PASSES = 96, 384, 16, 2
#: Parts of the range of each quantity of which the best points are kept; and the best of all.
PARTS, BEST = 8, 4
#: Points at which predictions are tried for being linear, and the step, as a share of a unit,
#: within which they may be so in one regime.
TRIALS, NEARBY = 4, 1e-3
#: What a second difference may be of the values that it is the difference of.
ROUNDING = 1e-9


def beginnings(problem: Problem) -> Floats:
    """Points at which to begin, those of the given starts first.

    Kept are the best of all, and the best of each part of the range of each quantity that is not
    solved for.
    """
    trials = _drawn(problem, TRIALS)[0]
    linear = np.all([_linear(problem, trial, 1.0) for trial in trials], axis=0)
    nearby = np.any([_linear(problem, trial, NEARBY) for trial in trials], axis=0)
    sought = sum(not linear[places[0]] for places in problem.places.values())
    points, shares = _drawn(problem, min(EACH * sought, MOST) or ENOUGH)
    for which in (linear, nearby) * PASSES:
        points = _solved(problem, points, which) if which.any() else points
    costs = problem.costs(points)
    order = np.argsort(costs, kind="stable")
    kept = dict.fromkeys([0, *order[:BEST].tolist()])
    for number, places in enumerate(problem.places.values()):
        if not linear[places[0]]:
            parts = np.minimum((shares[order, number] * PARTS).astype(int), PARTS - 1)
            firsts = [np.flatnonzero(parts == part)[:1] for part in range(PARTS)]
            kept |= dict.fromkeys(order[np.concatenate(firsts)].tolist())
    return points[[place for place in kept if math.isfinite(costs[place])]]


def _drawn(problem: Problem, count: int) -> tuple[Floats, Floats]:
    """So many points, twice as many where starts are given; and their shares of the ranges.

    All labels have the same values. The first has the given starts, and the middle of all other
    ranges.
    """
    free, places = problem.free, list(problem.places.values())
    shares = _halton(count, len(places))
    shares[0] = 0.5
    drawn = np.empty((count, len(free)))
    for number, several in enumerate(places):
        for place in several:
            drawn[:, place] = free[place].beginning(shares[:, number])
    started = [k for k, c in enumerate(free) if c.start is not None]
    if started:
        mixed = drawn.copy()
        mixed[:, started] = [free[k].start for k in started]
        drawn, shares = np.concatenate([mixed, drawn]), np.concatenate([shares, shares])
    low, high = [c.low for c in free], [c.high for c in free]
    return np.clip(drawn, low, high), shares


def _halton(count: int, wide: int) -> Floats:
    """The first points of the Halton sequence, from its second on: evenly spread shares.

    >>> _halton(3, 2)[:, 0].tolist()
    [0.5, 0.25, 0.75]
    """
    primes: list[int] = []
    number = 2
    while len(primes) < wide:
        primes += [number] if all(number % prime for prime in primes) else []
        number += 1
    shares = np.zeros((count, wide))
    for column, base in enumerate(primes):
        rest, weight = np.arange(1, count + 1), 1.0
        while rest.any():
            weight /= base
            shares[:, column] += weight * (rest % base)
            rest //= base
    return shares


def _solved(problem: Problem, points: Floats, linear: NDArray[np.bool_]) -> Floats:
    """The points, with the values that predictions are linear in moved to where they fit best.

    A point stays as it is where that is better: linear may hold in one regime alone.
    """
    steps = NEARBY * np.where(linear, [c.unit for c in problem.free], 0.0)
    low, high = [c.low for c in problem.free], [c.high for c in problem.free]
    moved, blocks = points.copy(), _blocks(problem, linear)
    measured = (problem.measured * problem.scale).reshape(-1)
    count = max(1, HELD // max(problem.measured.size * (2 * len(problem.free) + 1), 1))
    for first in range(0, len(points), count):
        predicted, slopes = problem.around(points[first : first + count], steps)
        wanted = measured - predicted
        known = np.isfinite(wanted).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
        here = first + np.flatnonzero(known)
        for rows, places in blocks:
            own = slopes[known][:, rows][:, :, places]
            moved[here[:, None], places] += _solutions(own, wanted[known][:, rows])
    moved = np.clip(moved, low, high)
    better = problem.costs(moved) < problem.costs(points)
    return np.where(better[:, None], moved, points)


def _blocks(problem: Problem, linear: NDArray[np.bool_]) -> list[tuple[Any, list[int]]]:
    """Residuals and linear values that belong together: those of a label, where none is shared."""
    places = np.flatnonzero(linear).tolist()
    if any(problem.free[place].label is None for place in places):
        return [(slice(None), places)]
    labels = np.tile(problem.labels, len(problem.measured))
    own: dict[int, list[int]] = {}
    for several in problem.places.values():
        for order, place in enumerate(several):
            if linear[place]:
                own.setdefault(order, []).append(place)
    return [(labels == order, mine) for order, mine in own.items()]


def _solutions(slopes: Floats, wanted: Floats) -> Floats:
    """The steps that least squares ask for at each of some points, in columns of equal length."""
    lengths = np.sqrt(np.square(slopes).sum(axis=1))
    lengths = np.where(lengths > 0, lengths, 1.0)
    rounding = float(np.finfo(float).eps) * max(slopes.shape[1:])
    inverse = np.linalg.pinv(slopes / lengths[:, None, :], rcond=rounding)
    steps: Floats = (inverse @ wanted[..., None])[..., 0] / lengths
    return steps


def _linear(problem: Problem, point: Floats, step: float) -> NDArray[np.bool_]:
    """Which values the predictions depend on linearly from a point on, each by itself."""
    found = np.zeros(len(point), dtype=bool)
    for places in problem.places.values():
        trial = np.repeat(point[None, :], 3, axis=0)
        units = step * np.array([problem.free[place].unit for place in places])
        trial[1, places] += units
        trial[2, places] += 2 * units
        here, near, far = problem.scaled(trial)
        bend = np.abs(far - 2 * near + here)
        size = np.abs(far) + 2 * np.abs(near) + np.abs(here)
        found[places] = bool(np.all(bend <= ROUNDING * size)) and math.isfinite(float(size.sum()))
    return found
