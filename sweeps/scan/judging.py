"""How often configurations are best among each other, and what they miss where they are not."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.nest.contests import shared, tallied
from sweeps.scan.contest import Contest
from symbolic.confidence import FEW, UNSEEN, count_width, half_width

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How often some configurations are best, ties in equal shares, and what they miss on average.

    ``chances`` and ``regrets``, of shape (configurations, replicates), are the same of each
    replicate. ``none`` is the weight of draws in which nothing counts; regrets are of the others.
    In ``losses`` draws another is better.
    ``apart`` is how far each is from the best of the others (root mean square).
    """

    chance: Floats
    regret: Floats
    chances: Floats
    regrets: Floats
    none: float
    losses: Floats
    apart: Floats


def at_least(width: Floats, count: Any, mean: Any, size: Any, draws: int) -> Floats:
    """Return half the width of a mean's interval, widened where few draws tell it.

    ``count`` draws make up the mean; ``size`` is what another one may count.
    """
    count = np.asarray(count, dtype=np.float64)
    some = np.maximum(count, 1.0)
    few = np.maximum(count_width(some) / some * np.abs(mean), width)
    found = np.where(count < FEW, few, width)
    return np.where(count < 1, np.maximum(found, UNSEEN * size / draws), found)


def regret_width(found: Judged, of: Any, draws: int) -> Floats:
    """Return half the widths of the intervals of some regrets."""
    width = half_width(found.regrets[of])
    return at_least(width, found.losses[of], found.regret[of], found.apart[of], draws)


def judged(contest: Contest, flat: Indices) -> Judged:
    """What some configurations win among each other; ties share a draw in equal parts."""
    weights, parts = contest.weights, contest.replicates
    best, second = np.full((2, weights.size), np.inf)
    ties = np.zeros(weights.size, dtype=np.int64)
    lock = threading.Lock()

    def tell(values: Floats, _: Any) -> None:
        with lock:
            tallied(values, best, second, ties)

    contest.some(flat, tell)
    won, lost = np.empty((2, flat.size, parts))
    about = np.empty((flat.size, 3))

    def share(values: Floats, numbers: Indices) -> None:
        gain, loss = np.empty((2, len(values), parts))
        more = np.empty((len(values), 3))
        shared(values, best, second, ties, weights, gain, loss, more)
        won[numbers], lost[numbers], about[numbers] = gain, loss, more

    contest.some(flat, share)
    each = weights.reshape(parts, -1).sum(axis=1)
    some = np.where(best < np.inf, weights, 0.0).reshape(parts, -1).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Judged(
            chance=won.sum(axis=1),
            regret=lost.sum(axis=1) / some.sum(),
            chances=won / each,
            regrets=lost / some,
            none=float(1 - some.sum()),
            losses=about[:, 1],
            apart=about[:, 2],
        )
