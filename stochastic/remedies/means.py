"""Mean loss and slowdown of a finite law given as plain arrays, for what asks for many of them."""

from __future__ import annotations

from typing import Any

from stochastic.arrays import Floats
from stochastic.checks import fraction
from stochastic.loss.moments import no_work, order_statistics, raw_moment
from stochastic.work.alike import Sticky
from stochastic.work.pmf import Pmf, law_of_work


def finite(pmf: Any, lanes: int, tol: float) -> Pmf:
    """The law itself where its support is finite, else cut where no mean moves by ``tol``.

    The mean loss of up to ``lanes`` items moves by less than tol; the longest item, relative to the
    mean, by about as little where the tail falls geometrically or faster.
    """
    tol = fraction("tol", tol, "1e-9")
    return law_of_work(pmf).cut(tol / (2.0 * lanes * lanes))


def mean_loss(low: int, weights: Floats, lanes: int, alike: float = 0.0) -> float:
    """E[lanes · max / sum], 1 for a group without work; of values low, low + 1, ..."""
    if alike:
        work = Pmf.from_weights(weights, low=low, normalise=True)
        return Sticky(alike).mean_loss(work, lanes)
    if lanes == 1 or len(weights) == 1:
        return 1.0
    return raw_moment(low, weights, lanes)[0] + no_work(low, weights, lanes)


def slowdown(low: int, weights: Floats, lanes: int, alike: float = 0.0) -> float:
    """E[max] / E[W], 1 where there is no work at all; of values low, low + 1, ...

    >>> round(slowdown(1, np.full(6, 1 / 6), 2), 12)
    1.277777777778
    """
    if alike:
        work = Pmf.from_weights(weights, low=low, normalise=True)
        return Sticky(alike).longest(work, lanes).mean() / work.mean() if work.high else 1.0
    found = order_statistics(low, weights, lanes)
    return found.mean_max / found.mean if found.mean else 1.0
