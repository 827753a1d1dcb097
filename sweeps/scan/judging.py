"""How often configurations are best among each other, and what they miss where they are not."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.nest.contests import shared, tallied
from sweeps.scan.contest import Contest

__all__ = ["Judged", "at_least", "judged"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: What is seen in fewer draws is rare.
_FEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How often some configurations are best, ties in equal shares, and what they miss on average.

    ``chances`` and ``regrets``, of shape (configurations, replicates), are the same of each
    replicate. ``none`` is the weight of draws in which nothing counts; regrets are of the others.
    In ``losses`` draws another is better; in ``seen`` that happens or does not, whichever is rarer.
    ``apart`` is how far each is from the best of the others (root mean square).
    """

    chance: Floats
    regret: Floats
    chances: Floats
    regrets: Floats
    none: float
    seen: Floats
    losses: Floats
    apart: Floats


def at_least(width: Floats, seen: Any, most: Any, draws: int) -> Floats:
    """Half the width of an interval, widened where what it is of was seen in few draws or none.

    What happens in none of n draws has at most the chance 3 / n, in 95 of 100 cases; ``most`` is
    what it would count.
    """
    return np.where(np.asarray(seen) < _FEW, np.hypot(width, 3.0 * most / draws), width)


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
            seen=np.minimum(about[:, 0], about[:, 1]),
            losses=about[:, 1],
            apart=about[:, 2],
        )
