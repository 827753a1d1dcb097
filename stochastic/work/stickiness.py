"""How alike neighbouring lanes are, as a trace of work tells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic.errors import LawError

_ROUNDS = 10_000


def runs(lanes: int, rho: float) -> npt.NDArray[np.float64]:
    """P(the lanes hold 1, 2, ..., lanes different draws): 1 and a binomial number more."""
    k, most = np.arange(lanes), lanes - 1
    ways = np.append(0.0, np.cumsum(np.log((most - k[:-1]) / (k[:-1] + 1.0))))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways + np.where(k > 0, k * np.log1p(-rho), 0.0)
        logs += np.where(k < most, (most - k) * np.log(rho), 0.0)
    found = np.exp(logs)
    return np.asarray(found / found.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stickiness:
    """How often neighbours in a trace repeat each other's work, by maximum likelihood.

    Attributes
    ----------
    rho : float
        The probability.
    error : float
        Its standard error, of the observed information.
    low, high : float
        Interval of 95 % (Wald's, of the logit where rho is inside 0..1).
    """

    rho: float
    error: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.rho


def stickiness(trace: Any) -> Stickiness:
    """The probability that a lane repeats its neighbour's work, of items in the order of lanes.

    A pair of equal neighbours is a repeat with the probability rho / (rho + (1 - rho) f), f that of
    its value among items drawn anew; both are found by turns (EM).

    Raises
    ------
    LawError
        Where fewer than two different values are there.

    >>> round(float(stickiness([3, 3, 3, 1, 1, 2, 2, 2, 3, 1])), 2)
    0.34
    """
    items = np.asarray(trace)
    values, where, counts = np.unique(items, return_inverse=True, return_counts=True)
    if items.ndim != 1 or len(values) < 2:
        raise LawError(
            f"a trace of {items.size} items of {len(values)} values: expected two or more in one "
            "dimension"
        )
    same = where[1:] == where[:-1]
    equal = np.bincount(where[1:][same], minlength=len(values)).astype(np.float64)
    pairs = len(items) - 1
    law, rho = counts / len(items), float(same.mean())
    for _ in range(_ROUNDS):
        repeats = equal * rho / np.maximum(rho + (1.0 - rho) * law, 1e-300)
        law = counts - repeats
        law = law / law.sum()
        before, rho = rho, float(repeats.sum()) / pairs
        if abs(rho - before) < 1e-13:
            break
    slopes = (1.0 - law) / np.maximum(rho + (1.0 - rho) * law, 1e-300)
    other = pairs - float(equal.sum())
    curve = float(equal @ slopes**2) + (other / (1.0 - rho) ** 2 if rho < 1 else math.inf)
    error = 1.0 / math.sqrt(curve) if 0 < curve < math.inf else 0.0
    low, high = max(rho - 1.96 * error, 0.0), min(rho + 1.96 * error, 1.0)
    if 1e-6 < rho < 1 - 1e-6 and error:
        middle, wide = math.log(rho / (1 - rho)), 1.96 * error / (rho * (1 - rho))
        low, high = (1.0 / (1.0 + math.exp(-one)) for one in (middle - wide, middle + wide))
    return Stickiness(rho=rho, error=error, low=low, high=high)
