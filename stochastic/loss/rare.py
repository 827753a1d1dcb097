r"""CDF and quantiles of the loss where hardly any group has work, given that one has.

Absolute errors of 1e-16 are all there is where such a group has a probability of 1e-12. So the
items with work are counted first: K of them, binomial given K >= 1, of which few values matter,

.. math:: P(X \le t \mid \Sigma>0) = \sum_{k\ge1} P(K = k \mid K \ge 1)\; P(X_k \le t\,k/n),

:math:`X_k` the loss of k lanes of the law of an item that has work: positive terms alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic.loss.inversion import Inversion
from stochastic.loss.rational import limit

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["RARE", "Rare"]

#: Probability of any work below which items with work are counted.
RARE = 2.0**-10
_LEFT_OUT = 1e-18  # probability of more items with work


class Rare:
    """The CDF of the loss X = lanes·max/sum of a group, given that it has work; as ``Inversion``.

    Parameters
    ----------
    weights : array of float, shape (values,)
        Probabilities of 0, 1, ... of an item.
    lanes : int
        Items in a group.

    >>> law = Rare(np.array([1.0, 0.0, 1e-16]), 4)
    >>> law.quantile(0.9), f"{float(law.cdf(3.9)):.6g}"
    ((4, 1), '1.5e-16')
    """

    __slots__ = ("_lanes", "_parts", "error", "mass")

    def __init__(self, weights: npt.NDArray[np.float64], lanes: int) -> None:
        low = 1 + int(np.flatnonzero(weights[1:])[0])
        some = math.fsum(weights[1:].tolist())
        shares, log = [], math.log(some) - math.log1p(-some)
        for k in range(1, lanes + 1):
            shares.append(math.comb(lanes, k) * math.exp((k - 1) * log))  # over that of one
            if shares[-1] < _LEFT_OUT:
                break
        whole = math.fsum(shares)
        self._lanes, self.mass = lanes, 1.0
        self._parts = [
            (share / whole, k, Inversion(low, weights[low:] / some, k))
            for k, share in enumerate(shares, 1)
        ]
        self.error = _LEFT_OUT + math.fsum(share * part.error for share, _, part in self._parts)

    def cdf(self, t: Any) -> Any:
        """P(X <= t | sum > 0), for a number or an array; a float stands for what rounds to it."""
        return self._of(t, [(share, k, part.cdf) for share, k, part in self._parts])

    def sf(self, t: Any) -> Any:
        """P(X > t | sum > 0), as :meth:`cdf`."""
        return self._of(t, [(share, k, part.sf) for share, k, part in self._parts])

    def _of(self, t: Any, parts: Any) -> Any:
        asked = np.asarray(t)
        limits = [limit(one) for one in asked.reshape(-1).tolist()]
        found = np.zeros(len(limits))
        for share, k, ask in parts:
            found += share * ask(np.array([x * k / self._lanes for x in limits], dtype=object))
        return np.clip(found, 0.0, 1.0).reshape(asked.shape)[()]

    def quantile(self, q: float) -> tuple[int, int]:
        """The smallest loss x with P(X <= x | sum > 0) >= q, to the nearest double."""
        below, above, wanted = 1.0, float(self._lanes), q - self.error
        if self.cdf(below) >= wanted:
            return 1, 1
        while (half := 0.5 * (below + above)) not in (below, above):
            if self.cdf(half) >= wanted:
                above = half
            else:
                below = half
        return above.as_integer_ratio()
