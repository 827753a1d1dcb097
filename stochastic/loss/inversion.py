r"""CDF and quantiles of the loss X = n·max/sum, without its law.

By the largest value,

.. math:: P(X \le t; \Sigma>0) = \sum_a P(M = a,\; \Sigma \ge na/t),

and whether a sum reaches :math:`na/t` is decided in exact arithmetic. The probabilities come from
the characteristic function of the sum of items that are at most a, the n-th power of
:math:`G_a(\omega) = \sum_{j\le a} f_j e^{i\omega j}`, on the lattice of the sums, over a window of
N of them that holds all but 1e-18 on either side:

.. math::
    P(M = a, \Sigma \ge s) = \frac1N \sum_{|k|<N/2} (G_a^n - G_{a-}^n)(\omega_k)
    \sum_{r=s}^{\mathrm{end}-1} e^{-i\omega_k r}, \qquad \omega_k = 2\pi k/N,

with the inner sum a geometric one. Few frequencies matter (:mod:`stochastic.loss.frequencies`). For
its n-th power :math:`G_a` is kept as what it lacks to 1, about the mean of an item:

.. math:: G_a - 1 = \sum_j f_j (e^{i\omega(j-c)} - 1) - \sum_{j>a} f_j e^{i\omega(j-c)}

with :math:`e^{ix}-1 = -2\sin^2(x/2) + i\sin x`, and so is the power, :math:`z \to 2z + z^2` for
each doubling of n. Two lanes need no transform, and a few with a wide law are convolved instead.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from stochastic import sizes
from stochastic.errors import LawError
from stochastic.loss.items import Items
from stochastic.loss.lattice import choose

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Inversion", "least_sums"]

_AT_ONCE = sizes.ATOMS_AT_ONCE
_LISTED = (
    sizes.QUANTILES_LISTED
)  # candidates for a quantile that are told apart by exact comparison
_WHOLE = 2**53
_LEVEL = 1e-17  # error where every loss is 1, but for what was left out


class Inversion:
    """The CDF of the loss X = lanes·max/sum of groups with work, prepared once.

    Groups without any work are left out, and the rest is not rescaled. It may be asked by several
    threads at once.

    Parameters
    ----------
    low : int
        Smallest value of an item.
    weights : array of float, shape (values,)
        Probabilities of low, low + 1, ...; the first and the last are above 0, the sum is 1.
    lanes : int
        Items in a group.

    Attributes
    ----------
    error : float
        Absolute error of a probability: bounds on what is left out, an estimate of the rounding.
    mass : float
        P(sum > 0), the limit of the CDF.
    method : str
        ``characteristic function``, of few lanes ``convolution``, or, where X = 1, ``closed form``.

    Raises
    ------
    LawError
        Where neither way is feasible: in few lanes, over some 10,000 values and more (two lanes:
        any); in up to about 30 of a law that is uneven as well; or where sums are above 2**53.

    Notes
    -----
    Swatman 2022, Eqs. 4-11, for the law that is asked; no law is built. Coefficients are kept for
    each value that is the largest of a group with a probability above 1e-18 and each frequency.

    >>> law = Inversion(1, np.full(6, 1 / 6), 32)
    >>> law.quantile(0.5), round(float(law.cdf(1.5)), 12)
    ((12, 7), 0.05463910598)
    """

    __slots__ = (
        *("_ask", "_high", "_lanes", "_least", "_low", "_step", "_values"),
        *("error", "mass", "method"),
    )

    def __init__(self, low: int, weights: npt.NDArray[np.float64], lanes: int) -> None:
        high = low + len(weights) - 1
        if lanes * high >= _WHOLE:
            raise LawError(
                f"{lanes} lanes of items up to {high} sum up to more than 2**53: give work in "
                "larger units, or simulate it"
            )
        self._low, self._high, self._lanes = low, high, lanes
        self.mass = _mass(weights, lanes) if low == 0 else 1.0
        items = Items.of(low, weights, lanes)
        self._step, self._least = items.step, lanes * items.first
        if lanes == 1 or len(items.places) == 1:  # X = 1
            self._ask, self._values = None, items.places[:0]
            self.method, self.error = "closed form", _LEVEL
            return
        way = choose(items, lanes)
        self._ask, self.method, self.error = way, way.method, way.error
        self._values = items.first + items.step * items.places[len(items.places) - way.kept :]

    def cdf(self, t: Any) -> Any:
        """P(X <= t; sum > 0), for a number or an array.

        A Fraction is compared exactly; a float stands for all numbers that round to it.
        """
        return self._of(t, lambda found: found)

    def sf(self, t: Any) -> Any:
        """P(X > t; sum > 0), for a number or an array, as :meth:`cdf`."""
        return self._of(t, lambda found: self.mass - found)

    def _of(self, t: Any, told: Any) -> Any:
        asked = np.asarray(t)
        if asked.dtype.kind in "iu":
            asked = asked.astype(np.float64)
        flat = asked.reshape(-1)
        if np.any(flat != flat):
            raise LawError("t is not a number: expected a loss to compare with, 1 or more")
        found = np.where(flat >= 1, self.mass, 0.0)
        if self._ask is not None:
            inside = np.flatnonzero((flat >= 1) & (flat < self._lanes))
            rows = _AT_ONCE // max(len(self._values), 1) + 1
            for begin in range(0, len(inside), rows):
                part = inside[begin : begin + rows]
                found[part] = np.clip(self._ask(self._steps(flat[part])), 0.0, self.mass)
        return told(found.reshape(asked.shape))[()]

    def _steps(self, t: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Least sums with lanes·value/sum <= t, in steps of the lattice."""
        if t.dtype != object:
            return least_sums(
                t.astype(np.float64), self._values, self._lanes, self._least, self._step
            )
        found = np.empty((len(t), len(self._values)), dtype=np.int64)
        for row, one in zip(found, t.tolist(), strict=True):
            exact = Fraction(one)
            above, below = self._lanes * exact.denominator, exact.numerator
            fits = above * self._high < 2**62 and below < 2**62
            values = self._values if fits else self._values.astype(object)
            sums = -(-above * values // below)
            row[:] = np.maximum(-((self._least - sums) // self._step), 0)
        return found

    def quantile(self, q: float) -> tuple[int, int]:
        """The smallest loss x with P(X <= x; sum > 0) >= q: numerator, denominator, reduced.

        An exact fraction, one of the losses that can occur. Where P(X <= x) is within
        :attr:`error` of q it counts as reached, so that a probability that is met exactly is found
        to be met; q above :attr:`mass` gives the largest loss.
        """
        if not 0.0 <= q <= 1.0:
            raise LawError(f"q = {q!r}: expected a probability from 0 to 1")
        wanted = q - self.error
        lacking = self.cdf(1.0) - wanted
        if lacking >= 0.0 or self._high == 0:
            return 1, 1
        listed = []
        if wanted <= self.mass and q < 1.0:
            rows = zip(self._values.tolist(), *self._bracket(wanted, lacking), strict=True)
            listed = sorted(
                {
                    Fraction(self._lanes * value, self._least + self._step * place)
                    for value, start, stop in rows
                    for place in range(start, stop)
                }
            )
        if not listed:
            largest = Fraction(self._lanes * self._high, self._high + (self._lanes - 1) * self._low)
            return largest.numerator, largest.denominator
        start, stop = 0, len(listed) - 1
        while start < stop:
            half = (start + stop) // 2
            if self.cdf(listed[half]) >= wanted:
                stop = half
            else:
                start = half + 1
        return listed[start].numerator, listed[start].denominator

    def _bracket(self, wanted: float, lacking: float) -> Any:
        """Steps of each value from the first to before the last: few losses, one the quantile.

        By the ITP method (Oliveira & Takahashi 2020), which takes hardly more evaluations than
        bisection where the CDF jumps, and far fewer where it is smooth.
        """
        below, above, excess = 1.0, float(self._lanes), self.mass - wanted
        width = above - below
        radius = width
        while True:
            first, last = self._steps(np.array([above, below]))
            half = 0.5 * (below + above)
            if int((last - first).sum()) <= _LISTED or not below < half < above:
                return first, last
            line = (excess * below - lacking * above) / (excess - lacking)
            towards = math.copysign(1.0, half - line)
            point = line + towards * min(0.2 * (above - below) ** 2 / width, abs(half - line))
            reach = max(radius - 0.5 * (above - below), 0.0)
            if abs(point - half) > reach:
                point = half - towards * reach
            if not below < point < above:
                point = half
            radius *= 0.5
            found = float(self.cdf(point)) - wanted
            if found >= 0.0:
                above, excess = point, found
            else:
                below, lacking = point, found


def least_sums(
    t: npt.NDArray[np.float64], values: npt.NDArray[np.int64], lanes: int, least: int, step: int
) -> npt.NDArray[np.int64]:
    """Least sums with lanes·value/sum <= t, as numbers of steps from ``least``: a row for each t.

    Division of doubles is rounded correctly, so that a loss, the quotient of two whole numbers
    below 2**53, is compared as it would be printed.
    """
    needed, limit = (lanes * values).astype(np.float64), t[:, np.newaxis]
    total = np.ceil(needed / limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        while (short := needed / total > limit).any():
            total += short
        while (more := (needed / (total - 1.0) <= limit) & (total > 1.0)).any():
            total -= more
    return np.maximum(-((least - total.astype(np.int64)) // step), 0)


def _mass(weights: npt.NDArray[np.float64], lanes: int) -> float:
    """P(sum > 0), where the first weight is that of 0; near 1, its power keeps its digits."""
    if weights[0] < 0.5:
        return 1.0 - float(weights[0]) ** lanes
    return -math.expm1(lanes * math.log1p(-float(weights[1:].sum())))
