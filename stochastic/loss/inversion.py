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

with the inner sum a geometric one. Few frequencies matter (:mod:`stochastic.loss.spectra`). For
its n-th power :math:`G_a` is kept as what it lacks to 1, about the mean of an item:

.. math:: G_a - 1 = \sum_j f_j (e^{i\omega(j-c)} - 1) - \sum_{j>a} f_j e^{i\omega(j-c)}

with :math:`e^{ix}-1 = -2\sin^2(x/2) + i\sin x`, and so is the power, :math:`z \to 2z + z^2` for
each doubling of n. Few lanes with a wide law are convolved instead: their characteristic function
needs half of all frequencies, which for 4 lanes of 5,000 values is 800 MB of coefficients.

Where hardly any group has work, and the others are dropped, an absolute error of 1e-16 says little:
such a group may have a probability of 1e-12. So the items with work are counted first: K of them,
binomial given K >= 1, of which few values matter,

.. math:: P(X \le t \mid \Sigma>0) = \sum_{k\ge1} P(K = k \mid K \ge 1)\; P(X_k \le t\,k/n),

:math:`X_k` the loss of k lanes of the law of an item that has work: positive terms alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.errors import LawError
from stochastic.loss.moments import any_work
from stochastic.loss.spectra import LEFT_OUT, Items, Plan, Spectrum

_AT_ONCE = sizes.ATOMS_AT_ONCE
_LISTED = sizes.QUANTILES_LISTED  # candidates for a quantile that are compared one by one
_WHOLE = 2**53
_LEVEL = 1e-17  # error where every loss is 1, but for what was left out
_EPS = 2.0**-53
_COEFFICIENTS = sizes.LATTICE_KEPT  # most that are kept, of 16 bytes each
_TRANSFORMS = sizes.LATTICE_TRANSFORMS  # most of a single value at a frequency
_PRODUCTS = sizes.LATTICE_PRODUCTS  # most of a convolution
#: Probability of any work below which items with work are counted.
RARE = 2.0**-10
_TAIL = 1e-18  # probability of more items with work, which is left out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convolution:
    """A few lanes: halves of the group convolved, while the largest value grows."""

    items: Items
    lanes: int

    method = "convolution"

    @property
    def kept(self) -> int:
        """Values that the largest item can have."""
        return len(self.items.places) - self.items.idle

    @property
    def error(self) -> float:
        """Of a probability, estimated: sums of positive terms."""
        return _EPS * (16.0 + 2.0 * math.sqrt(len(self.items.places))) + 2.0 * LEFT_OUT

    @property
    def products(self) -> float:
        """Products for the sums of halves, and for an answer, of three lanes or more."""
        half = self.lanes - self.lanes // 2
        places = self.items.places
        return (half**3 / 12 + 0.25 * self.lanes) * len(places) * float(places[-1])

    def __call__(self, least: Ints) -> Floats:
        """Probabilities, one for each row of least sums."""
        from stochastic.kernels.inversion import between, of_two

        items = self.items
        if self.lanes == 2:
            found = of_two(items.places, items.weights, items.idle, least)
        else:
            # of equal weights, sums of 1 are exact where those of a fraction drift
            most = float(items.weights.max())
            weights = items.weights / most
            found = between(items.places, weights, self.lanes, items.idle, least)
            found *= most**self.lanes
        return np.asarray(found)


def _choose(items: Items, lanes: int) -> Convolution | Spectrum:
    """The way that costs less for an answer: few lanes with a wide law are convolved."""
    convolution = Convolution(items=items, lanes=lanes)
    if lanes == 2:
        return convolution
    plan = Plan.of(items, lanes)
    needed = plan.frequencies * plan.kept
    fits = needed <= _COEFFICIENTS and plan.frequencies * len(items.places) <= _TRANSFORMS
    if fits and needed <= convolution.products:
        return Spectrum.of(plan)
    if convolution.products <= _PRODUCTS:
        return convolution
    if fits:
        return Spectrum.of(plan)
    raise LawError(
        f"the CDF of {lanes} lanes over {len(items.places)} uneven values up to "
        f"{int(items.places[-1])} steps apart takes too long ({needed:.1g} coefficients): "
        "simulate it, or group the values on a coarser grid"
    )


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
    factor : int, optional
        Of the loss factor·max/sum, where it is not ``lanes``.

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
    (1.7142857142857142, 0.05463910598)
    """

    __slots__ = (
        *("_ask", "_factor", "_high", "_lanes", "_least", "_low", "_step", "_values"),
        *("error", "mass", "method"),
    )

    def __init__(self, low: int, weights: Floats, lanes: int, factor: int | None = None) -> None:
        high = low + len(weights) - 1
        if lanes * high >= _WHOLE:
            raise LawError(
                f"{lanes} lanes of items up to {high} sum up to more than 2**53: give work in "
                "larger units, or simulate it"
            )
        self._low, self._high, self._lanes = low, high, lanes
        self._factor = lanes if factor is None else factor
        self.mass = any_work(low, weights, lanes)
        items = Items.of(low, weights, lanes)
        self._step, self._least = items.step, lanes * items.first
        if lanes == 1 or len(items.places) == 1:  # X = 1
            self._ask, self._values = None, items.places[:0]
            self.method, self.error = "closed form", _LEVEL
            return
        way = _choose(items, lanes)
        self._ask, self.method, self.error = way, way.method, way.error
        self._values = items.first + items.step * items.places[len(items.places) - way.kept :]

    def cdf(self, t: Any) -> Any:
        """P(X <= t; sum > 0), for a number or an array; a t stands for all that rounds to it."""
        asked = np.asarray(t, dtype=np.float64)
        flat = asked.reshape(-1)
        if np.any(flat != flat):
            raise LawError("t is not a number: expected a loss to compare with, 1 or more")
        least = self._factor / self._lanes
        chances = np.where(flat >= least, self.mass, 0.0)
        if self._ask is not None:
            inside = np.flatnonzero((flat >= least) & (flat < self._factor))
            rows = _AT_ONCE // max(len(self._values), 1) + 1
            for begin in range(0, len(inside), rows):
                part = inside[begin : begin + rows]
                chances[part] = np.clip(self._ask(self._steps(flat[part])), 0.0, self.mass)
        return chances.reshape(asked.shape)[()]

    def sf(self, t: Any) -> Any:
        """P(X > t; sum > 0), for a number or an array, as :meth:`cdf`."""
        return self.mass - self.cdf(t)

    def _steps(self, t: npt.NDArray[Any]) -> Ints:
        """Return the least sums with factor·value/sum <= t, in steps of the lattice."""
        return least_sums(t, self._values, self._factor, self._least, self._step)

    def quantile(self, q: float) -> float:
        """Return the smallest loss x with P(X <= x; sum > 0) >= q.

        It is one of the losses that can occur. Where P(X <= x) is within
        :attr:`error` of q it counts as reached, so that a probability that is met exactly is found
        to be met; q above :attr:`mass` gives the largest loss.
        """
        if not 0.0 <= q <= 1.0:
            raise LawError(f"q = {q!r}: expected a probability from 0 to 1")
        wanted = q - self.error
        lacking = self.cdf(1.0) - wanted
        if lacking >= 0.0 or self._high == 0:
            return 1.0
        listed: list[float] = []
        if wanted <= self.mass and q < 1.0:
            rows = zip(self._values.tolist(), *self._bracket(wanted, lacking), strict=True)
            listed = sorted(
                {
                    self._lanes * value / (self._least + self._step * place)
                    for value, start, stop in rows
                    for place in range(start, stop)
                }
            )
        if not listed:
            return self._lanes * self._high / (self._high + (self._lanes - 1) * self._low)
        start, stop = 0, len(listed) - 1
        while start < stop:
            half = (start + stop) // 2
            if self.cdf(listed[half]) >= wanted:
                stop = half
            else:
                start = half + 1
        return listed[start]

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


def least_sums(t: Floats, values: Ints, lanes: int, least: int, step: int) -> Ints:
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
    (4.0, '1.5e-16')
    """

    __slots__ = ("_lanes", "_parts", "error", "mass")

    def __init__(self, weights: Floats, lanes: int) -> None:
        low = 1 + int(np.flatnonzero(weights[1:])[0])
        some = math.fsum(weights[1:].tolist())
        shares, log = [], math.log(some) - math.log1p(-some)
        for k in range(1, lanes + 1):
            shares.append(math.comb(lanes, k) * math.exp((k - 1) * log))  # over that of one
            if shares[-1] < _TAIL:
                break
        whole = math.fsum(shares)
        self._lanes, self.mass = lanes, 1.0
        self._parts = [
            (share / whole, Inversion(low, weights[low:] / some, k, lanes))
            for k, share in enumerate(shares, 1)
        ]
        self.error = _TAIL + math.fsum(share * part.error for share, part in self._parts)

    def cdf(self, t: Any) -> Any:
        """P(X <= t | sum > 0), for a number or an array; a t stands for what rounds to it."""
        return np.clip(sum(share * part.cdf(t) for share, part in self._parts), 0.0, 1.0)

    def sf(self, t: Any) -> Any:
        """P(X > t | sum > 0), as :meth:`cdf`."""
        return np.clip(sum(share * part.sf(t) for share, part in self._parts), 0.0, 1.0)

    def quantile(self, q: float) -> float:
        """The smallest loss x with P(X <= x | sum > 0) >= q, to the nearest double."""
        below, above, wanted = 1.0, float(self._lanes), q - self.error
        if self.cdf(below) >= wanted:
            return below
        while (half := 0.5 * (below + above)) not in (below, above):
            if self.cdf(half) >= wanted:
                above = half
            else:
                below = half
        return above
