"""Which configurations can be best in some draw, and which are most often."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Indices, thinned
from sweeps.nest.contests import summed, winning
from sweeps.scan.contest import Contest, Keep

Floats = NDArray[np.float64]

#: Configurations looked at first, so that little is as good as the least so far.
_FIRST = sizes.LEADERS_FIRST
#: Likely winners with which all others are compared on fresh draws.
RIVALS = sizes.CHANCE_RIVALS
#: Equal up to rounding, as a share.
_CLOSE = 1e-12


def can_win(contest: Contest, known: Indices | None = None) -> Indices:
    """The configurations that are best, or as good, in some draw, and maybe others; ascending.

    ``known`` are some that are likely to be good.
    """

    def told(values: Floats, kept: Indices) -> int:
        return int(winning(values, best, kept))

    best = np.full(contest.weights.size, np.inf)
    some = all_over(contest) if known is None else np.union1d(all_over(contest), known)
    contest.some(some, lambda values, _: _least(values, best))
    return _kept(contest, told, lambda low: np.asarray(low <= best.max()))


def leaders(contest: Contest, cells: NDArray[np.int64]) -> Indices:
    """The configurations with the least mean in some cell of draws, and maybe others; ascending.

    ``cells`` of shape (partitions, draws), as of :func:`sweeps.nest.contests.summed`.
    """
    best = np.full(int(cells.max()) + 1, np.inf)
    weights = contest.weights

    def told(values: Floats, kept: Indices) -> int:
        sums = np.empty((len(values), best.size))
        summed(values, weights, cells, sums)
        return int(winning(sums, best, kept))

    contest.some(all_over(contest), lambda values, flat: _fed(told, values, flat))
    best += _CLOSE * np.abs(best)  # what is found elsewhere may be a last bit off
    each = np.bincount(cells.reshape(-1), np.tile(weights, len(cells)))

    def keep(low: Floats) -> NDArray[np.bool_]:
        return np.asarray(low <= (best[each > 0] / each[each > 0]).max())

    return _kept(contest, told, keep)


def _fed(told: Callable[[Floats, Indices], int], values: Floats, flat: Indices) -> None:
    told(values, np.empty_like(flat))


def _least(values: Floats, best: Floats) -> None:
    least = values.min(axis=0)  # what is found elsewhere may be a last bit off
    np.minimum(best, least + _CLOSE * np.abs(least), out=best)


def all_over(contest: Contest, most: int = _FIRST) -> Indices:
    """Some configurations all over."""
    return thinned(contest.count, most)


def _kept(contest: Contest, told: Callable[[Floats, Indices], int], keep: Keep) -> Indices:
    found: list[Indices] = [np.empty(0, dtype=np.int64)]

    def tell(values: Floats, flat: Indices) -> None:
        kept = np.empty(len(values), dtype=np.int64)
        if count := told(values, kept):  # threads may undo each other's least: more is kept then
            found.append(flat[kept[:count]])

    contest.all(tell, keep)
    return np.sort(np.concatenate(found))
