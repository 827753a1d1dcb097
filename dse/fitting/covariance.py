"""The covariance of fitted values, and which of them the rows do not tell."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dse.fitting.columns import Floats
from dse.fitting.problem import Problem
from dse.fitting.search import FLAT, STEP, Found, derivatives, units_at


def _idle(problem: Problem, point: Floats) -> NDArray[np.bool_]:
    """Which values could be larger, or could be smaller, with no change of any prediction."""
    steps, none = STEP * units_at(problem, point), np.zeros(len(point))
    found = none > 0
    low, high = np.array([c.low for c in problem.free]), np.array([c.high for c in problem.free])
    for ahead, back, room in ((steps, none, point < high), (none, steps, point > low)):
        slopes = problem.slopes(point, ahead, back)
        change = steps * np.sqrt(np.square(slopes).sum(axis=0))
        found |= room & (change <= FLAT * STEP * problem.size)
    return found


def _cancelling(problem: Problem, found: Found, slopes: Floats) -> NDArray[np.bool_]:
    """Which values at ends and others could change together, inwards, with no change at all."""
    none = np.zeros(len(found.point), dtype=bool)
    if not found.at_end.any() or len(slopes) < len(none):
        return none
    lengths = np.sqrt(np.square(slopes).sum(axis=0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    _, sizes, directions = np.linalg.svd(slopes / lengths, full_matrices=False)
    moving = np.where(np.abs(directions[-1]) > 0.1, np.sign(directions[-1]), 0.0)
    inward = np.where(found.point <= [c.low for c in problem.free], 1.0, -1.0)
    ways = (moving * inward)[found.at_end & (moving != 0)]
    loose = sizes[-1] <= FLAT * sizes[0] and (np.all(ways > 0) or np.all(ways < 0))
    return (moving != 0) if loose else none


def covariance(problem: Problem, found: Found) -> tuple[Floats, tuple[str, ...]]:
    """Covariance of the values, and the quantities that the rows do not determine.

    s² (JᵀJ)⁻¹ with s² = sum of squares / (residuals - free). What stands at an end of its domain
    is held there: its own errors are NaN, those of the others given that it stands there.
    """
    keys = [c.key for c in problem.free]
    full = np.full((len(keys), len(keys)), math.nan)
    kept = np.flatnonzero(~found.at_end)
    slopes = derivatives(problem, found.point)
    for loose in (_idle(problem, found.point), _cancelling(problem, found, slopes)):
        if loose.any():
            return full, tuple(keys[k] for k in np.flatnonzero(loose))
    if not kept.size:
        return full, ()
    slopes = slopes[:, kept]
    lengths = np.sqrt(np.square(slopes).sum(axis=0))
    _, sizes, directions = np.linalg.svd(slopes / lengths, full_matrices=False)
    if len(sizes) < len(kept) or sizes[-1] <= FLAT * sizes[0]:
        return full, tuple(keys[k] for k in kept[np.abs(directions[-1]) > 0.1])
    spare = int(np.count_nonzero(problem.scale)) - len(kept)
    if spare <= 0:
        return full, ()
    inverse = (directions.T / sizes**2) @ directions / np.outer(lengths, lengths)
    full[np.ix_(kept, kept)] = inverse * (found.cost / spare)
    return full, ()
