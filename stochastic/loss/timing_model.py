"""Model losses measured by clocks as the exact loss times lognormal noise, with outliers.

In undisturbed groups, log(measured loss / loss) is normal. In groups with an interrupted run, this
logarithm is drawn from observed values. The noise is independent of the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.arrays import Floats
from stochastic.checks import LawError, check_probability

if TYPE_CHECKING:
    from stochastic.loss.law import Law

_FAR = 5.0  # Standard deviations from the median beyond which a group counts as interrupted.
_NODES = 200  # Number of values by which the noise is represented.
_TABLE = 1001  # Number of losses at which the CDF is tabulated.
_HALF = 0.6744897501960817  # Upper quartile of the standard normal law.


@dataclass(frozen=True, kw_only=True, eq=False)
class TimedLoss:
    """The law of a measured loss; ``law`` is the law of the exact loss.

    ``offset`` and ``scale`` are the median and standard deviation of log(measured / loss) in
    undisturbed groups. ``interrupted_share`` is the share of interrupted groups, and
    ``interrupted_noise`` holds their log(measured / loss), ascending.
    """

    law: Law
    offset: float
    scale: float
    interrupted_share: float
    interrupted_noise: Floats

    def cdf(self, x: float) -> float:
        """Return P(measured loss <= x)."""
        if not x > 0:
            return 0.0
        places, weights = self._noise
        logs, below = self._table
        share = float(weights @ np.interp(math.log(x) - places, logs, below, left=0.0, right=1.0))
        return min(share, 1.0)  # the weights sum to 1 except for rounding

    def quantile(self, q: float) -> float:
        """Return the x with P(measured loss <= x) = q, with a relative error of about 0.2 %."""
        check_probability("q", q)
        low, high = math.log(1e-3), math.log(1e3 * self.law.lanes)
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self.cdf(math.exp(middle)) >= q else (middle, high)
        return math.exp(high)

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Return log x and P(loss <= x) for losses x from 1 to the number of lanes."""
        logs = np.linspace(0.0, math.log(max(self.law.lanes, 2)), _TABLE)
        return logs, np.asarray(self.law.cdf(np.exp(logs)), dtype=np.float64)

    @cached_property
    def _noise(self) -> tuple[Floats, Floats]:
        """Return values of log(measured / loss), and the weight of each value."""
        from scipy.special import ndtri

        shares = (np.arange(_NODES) + 0.5) / _NODES
        places = self.offset + self.scale * ndtri(shares)
        weights = np.full(_NODES, (1.0 - self.interrupted_share) / _NODES)
        if self.interrupted_share:
            seen = np.quantile(self.interrupted_noise, shares)
            weights = np.append(weights, np.full(_NODES, self.interrupted_share / _NODES))
            places = np.append(places, seen)
        return places, weights


def fit_timing(law: Law, loss: Any, measured: Any) -> TimedLoss:
    """Fit the noise of measured losses to groups whose work is known.

    Parameters:
        law (Law): The law of the loss of a group (:func:`stochastic.imbalance`).
        loss, measured (array, shape (groups,)): The loss of each group computed from its work
            (lanes · max / sum), and from its clocks.

    Raises:
        LawError: There are fewer than 20 groups, the lengths differ, or a loss is not above 0.

    Notes:
        ``offset`` and ``scale`` come from quartiles, on which a few interrupted groups have little
        influence. A group counts as interrupted if it is more than five ``scale`` from the median.
    """
    loss, measured = np.asarray(loss, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    if loss.ndim != 1 or loss.shape != measured.shape or len(loss) < 20:
        raise LawError(
            f"losses of shape {loss.shape}, measured losses of shape {measured.shape}: expected "
            "one of each for 20 groups or more"
        )
    both = np.concatenate([loss, measured])
    if not np.all((both > 0) & (both < np.inf)):
        raise LawError("expected finite losses above 0: leave out groups without work")
    noise = np.log(measured / loss)
    lower, offset, upper = np.quantile(noise, [0.25, 0.5, 0.75])
    scale = float(upper - lower) / (2.0 * _HALF)
    far = np.abs(noise - offset) > _FAR * scale
    return TimedLoss(
        law=law,
        offset=float(offset),
        scale=scale,
        interrupted_share=float(far.mean()),
        interrupted_noise=np.sort(noise[far]),
    )
