"""Mean loss and slowdown of a finite law given as plain arrays, for what asks for many of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.checks import fraction
from stochastic.errors import LawError
from stochastic.numeric import NumericLaw
from stochastic.pmf import Pmf

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["finite", "mean_loss", "mean_max", "slowdown"]


def finite(pmf: Any, lanes: int, tol: float) -> Pmf:
    """The law itself where its support is finite, else cut where no mean moves by ``tol``.

    The mean loss of up to ``lanes`` items moves by less than tol; the longest item, relative to the
    mean, by about as little where the tail falls geometrically or faster.
    """
    if not isinstance(pmf, Pmf):
        raise LawError(
            f"{pmf!r} is no law of work: expected a Pmf, such as Pmf.geometric(0.05) or "
            "Pmf.from_samples(lengths)"
        )
    tol = fraction("tol", tol, "1e-9")
    if not math.isfinite(pmf.mean()):
        raise LawError(
            f"{pmf!r} has an infinite mean, so that no number of items makes its average; bound "
            "its items with truncate(high)"
        )
    return pmf.cut(tol / (2.0 * lanes * lanes))


def mean_loss(low: int, weights: npt.NDArray[np.float64], lanes: int) -> float:
    """E[lanes · max / sum], 1 for a group without work; of values low, low + 1, ..."""
    law = NumericLaw(low=low, weights=weights, lanes=lanes, zero_work="one", way="auto")
    return law.moment(1)[0]


def mean_max(low: int, weights: npt.NDArray[np.float64], lanes: int) -> float:
    """E[max] = low + Σ (1 - F(a)**lanes), all terms positive, of values low, low + 1, ...

    >>> mean_max(1, np.full(6, 1 / 6), 2) * 36
    161.0
    """
    tail = np.minimum(np.cumsum(weights[:0:-1]), 1.0)
    with np.errstate(divide="ignore"):
        return low + float(np.sum(-np.expm1(lanes * np.log1p(-tail))))


def slowdown(low: int, weights: npt.NDArray[np.float64], lanes: int) -> float:
    """E[max] / E[W]; 1 where there is no work at all."""
    longest = mean_max(low, weights, lanes)
    return longest / mean_max(low, weights, 1) if longest else 1.0
