r"""Compute the CDF and quantiles of the loss X = n·max/sum without its probabilities.

We sum over the largest value a,

.. math:: P(X \le t; \Sigma>0) = \sum_a P(M = a,\; \Sigma \ge na/t),

and decide in exact arithmetic whether a sum reaches :math:`na/t`. The probabilities come from the
characteristic function of the sum of items that are at most a, which is the n-th power of
:math:`G_a(\omega) = \sum_{j\le a} f_j e^{i\omega j}`. A window of N lattice points contains the sum
except for a probability of 1e-18 on either side:

.. math::
    P(M = a, \Sigma \ge s) = \frac1N \sum_{|k|<N/2} (G_a^n - G_{a-}^n)(\omega_k)
    \sum_{r=s}^{\mathrm{end}-1} e^{-i\omega_k r}, \qquad \omega_k = 2\pi k/N,

where the inner sum is geometric. For an accurate n-th power, we compute :math:`G_a - 1`, about the
mean c of an item:

.. math:: G_a - 1 = \sum_j f_j (e^{i\omega(j-c)} - 1) - \sum_{j>a} f_j e^{i\omega(j-c)}

with :math:`e^{ix}-1 = -2\sin^2(x/2) + i\sin x`, and its power by :math:`z \to 2z + z^2` for each
doubling of n. For few lanes with a wide law we convolve the laws of sums instead, because the
characteristic function needs half of all frequencies: 800 MB for 4 lanes of 5,000 values.

If groups without work are dropped and few groups have work, an absolute error of 1e-16 is too
large, because a group may have work with a probability of only 1e-12. Then we sum over the number K
of items with work, which is binomial given K >= 1; only few values of K matter:

.. math:: P(X \le t \mid \Sigma>0) = \sum_{k\ge1} P(K = k \mid K \ge 1)\; P(X_k \le t\,k/n),

where :math:`X_k` is the loss of k lanes whose items all have work. All terms are positive.

A frequency is left out if :math:`G_a^n` is negligible for every a, by one of three bounds:

* near 0, where :math:`\omega \le \pi/\mathrm{range}`, from :math:`\sin y \ge 2y/\pi`:
  :math:`|G_a| \le F_a \exp(-2\omega^2\sigma_a^2/\pi^2)`, with the variance of items up to a;
* by summation by parts: :math:`|G_a| \le V / (2\sin(\omega/2))`, where V is the total variation of
  the weights; this is good for smooth laws;
* by Fourier transforms of the law truncated at some values, with a bound on the change between
  these values and between the points of a grid; this is good for rough laws, such as measured ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError
from stochastic.loss.moments import work_probability

_LEFT_OUT = 1e-18  # Probability that a group has a value that is left out.
#: Modulus of a characteristic function below which a frequency is left out.
_NEGLIGIBLE = 1e-22

_LOG_WINDOW_TAIL = 41.5  # -log of the probability beyond either end of the window of sums.
_BEYOND_LAST = 1e-17  # Maximum contribution to a probability by frequencies beyond the last.
#: Above this number of transforms of single values, the search by the third bound is faster.
_SEARCH_THRESHOLD = sizes.FREQUENCIES_WORTH
_EPS = 2.0**-53  # Largest relative error of one rounding.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemLattice:
    """The law of an item on a lattice: values ``first + step·places``, without negligible ends."""

    first: int
    step: int
    places: Ints
    weights: Floats
    tail: Floats

    @classmethod
    def from_weights(cls, low: int, weights: Floats, lanes: int) -> ItemLattice:
        """Return the lattice of the given weights of low, low + 1, ..., without negligible ends."""
        used = np.flatnonzero(weights)
        some = weights[used]
        above = np.append(np.cumsum(some[:0:-1])[::-1], 0.0)
        least = _LEFT_OUT / lanes
        is_needed = (np.append(1.0, above[:-1]) > least) & (np.cumsum(some) > least)
        used = used[is_needed]
        step = max(int(np.gcd.reduce(used - used[0])), 1)
        return cls(
            first=low + int(used[0]),
            step=step,
            places=(used - used[0]) // step,
            weights=some[is_needed],
            tail=above[is_needed],
        )

    @property
    def idle(self) -> int:
        """Return the number of values without work: 0 or 1."""
        return int(self.first == 0)


def sum_window(items: ItemLattice, lanes: int) -> tuple[int, int]:
    """Return the range of sums of ``lanes`` items outside which Chernoff's bound is negligible."""
    places, weights = items.places, items.weights
    mean = float((places * weights).sum())
    off = places - mean
    spread = math.sqrt(float((off * off * weights).sum()))
    if spread == 0.0:
        return lanes * int(places[0]), lanes * int(places[0])
    ends = []
    for side in (-off, off):
        most = 600.0 / float(side.max()) if side.max() > 0.0 else math.inf
        tilts = math.sqrt(2.0 * _LOG_WINDOW_TAIL / lanes) / spread * 2.0 ** np.arange(-8, 4)
        for _ in range(2):
            tilts = np.minimum(tilts, most)
            logs = np.log1p((np.expm1(np.outer(tilts, side)) * weights).sum(axis=1))
            reach = (lanes * logs + _LOG_WINDOW_TAIL) / tilts
            best = int(np.argmin(reach))
            tilts = tilts[best] * 2.0 ** np.linspace(-0.6, 0.6, 5)
        ends.append(float(reach[best]))
    first = math.floor(lanes * mean - ends[0])
    last = math.ceil(lanes * mean + ends[1])
    return max(first, lanes * int(places[0])), min(last, lanes * int(places[-1]))


def frequency_runs(
    items: ItemLattice, lanes: int, period: int, value_count: int
) -> tuple[list[tuple[int, int]], float]:
    """Return the runs (begin, end) of frequencies that may matter, and an error bound.

    The bound limits the contribution of all other frequencies to the sum of P(max = v, sum >= s)
    over the last ``value_count`` values v.
    """
    places, weights = items.places, items.weights
    half = (period - 1) // 2
    steps = np.where(np.diff(places) == 1, np.abs(np.diff(weights)), weights[1:] + weights[:-1])
    variation = float(weights[0] + steps.sum() + weights.max())
    # |G| <= reach/k, as sin(y) >= 2y/pi. So all frequencies beyond k add less than
    # 2·value_count/lanes·(reach/k)**lanes.
    reach = variation * period / 4.0
    last = reach * (2.0 * value_count / lanes / _BEYOND_LAST) ** (1.0 / lanes)
    last = half if last >= half else math.ceil(last)
    turn = period // (2 * max(int(places[-1] - places[0]), 1))  # the first bound holds up to here
    near = min(_variance_limit(items, lanes, period, value_count), last)
    if near >= turn:
        turn = near
    runs = [(1, near + 1), (turn + 1, last + 1)]
    if float(last - turn) * len(weights) > _SEARCH_THRESHOLD:
        runs[1:] = _search_runs(turn + 1, last + 1, items, lanes, period, value_count)
    others = 2.0 * value_count * _NEGLIGIBLE * (1.0 + math.log(max(half, 1)))
    return [(a, b) for a, b in runs if a < b], others + (_BEYOND_LAST if last < half else 0.0)


def _variance_limit(items: ItemLattice, lanes: int, period: int, value_count: int) -> int:
    """Return the last frequency that may matter, by the first bound of the module text."""
    places, weights = items.places, items.weights
    off = places - float((places * weights).sum())
    mass = np.cumsum(weights)[-value_count:]
    first = np.cumsum(weights * off)[-value_count:] / mass
    square = np.cumsum(weights * off * off)[-value_count:] / mass - first * first
    square -= 1e-12 * float((weights * off * off).sum())  # margin for rounding errors
    needed = lanes * np.log(np.minimum(mass, 1.0)) - math.log(_NEGLIGIBLE)
    ratio = np.where(needed > 0, needed / np.maximum(square, 1e-300), 0.0)
    angle = math.pi * math.sqrt(float(ratio.max()) / (2.0 * lanes))
    return math.ceil(min(angle / (2.0 * math.pi) * period, float(period)))


def _search_runs(
    start: int, stop: int, items: ItemLattice, lanes: int, period: int, value_count: int
) -> list[tuple[int, int]]:
    """Return the runs of frequencies that may matter, by the third bound of the module text."""
    places, weights = items.places, items.weights
    span = int(places[-1] - places[0])
    level = _NEGLIGIBLE ** (1.0 / lanes)
    mass = np.cumsum(weights)
    first = len(weights) - value_count - 1  # the last ``value_count`` values follow
    low = float(mass[first]) if first >= 0 else 0.0
    blocks = math.ceil((1.0 - low) / (0.5 * level))
    size, slack = period, 0.0
    if period > sizes.FREQUENCIES_FINE * span:
        size = 1 << (sizes.FREQUENCIES_FINE * span - 1).bit_length()
        slack = math.pi / size * float((np.abs(places - (places * weights).sum()) * weights).sum())
    if float(blocks) * size * math.log2(size) > float(stop - start) * len(weights):
        return [(start, stop)]
    cuts = np.searchsorted(mass, low + (1.0 - low) / blocks * np.arange(1, blocks))
    cuts = np.unique(np.concatenate([[first], cuts[cuts > first], [len(mass) - 1]]))
    most = np.zeros(size // 2 + 1)
    between, below, left = 0.0, low, first
    for right in cuts.tolist():
        cut = np.bincount(places[: right + 1] % size, weights[: right + 1], minlength=size)
        np.maximum(most, np.abs(np.fft.rfft(cut)), out=most)
        if right > left + 1:  # a law cut between two values is close to the law cut at one of them
            between = max(between, min(mass[right - 1] - below, 0.5 * (mass[right] - below)))
        below, left = (float(mass[right]) if right >= 0 else 0.0), right
    open_ = np.concatenate([[False], most + between + slack > level, [False]])
    edges = np.flatnonzero(open_[1:] != open_[:-1]).reshape(-1, 2)
    scale = period / size
    runs = []
    for a, b in edges.tolist():  # a cell of the grid covers the nearest frequencies
        begin = max(start, math.floor((a - 0.5) * scale))
        end = min(stop, math.ceil((b - 0.5) * scale) + 1)
        if begin < end:
            runs.append((begin, end))
            start = end
    return runs


@dataclass(frozen=True, kw_only=True, eq=False)
class SpectralMethod:
    """A method for P(max = v, sum >= s), by coefficients for each frequency and value v.

    Sums are resolved only between ``end - period`` and ``end``. Only the last ``value_count``
    values are the maximum with a probability that is not negligible. ``idle`` is the number of
    these values without work.
    """

    items: ItemLattice
    lanes: int
    end: int
    period: int
    log_max_cdf: Floats
    value_count: int
    idle: int
    runs: list[tuple[int, int]]
    left_out: float

    method = "characteristic function"

    @classmethod
    def from_items(cls, items: ItemLattice, lanes: int) -> SpectralMethod:
        """Return the method with its range of sums, values and frequencies."""
        begin, last = sum_window(items, lanes)
        period = (last - begin + 1) | 1
        below = np.log(np.minimum(np.cumsum(items.weights), 1.0))
        rest = np.log1p(-np.minimum(items.tail, 0.5))
        log_upto = lanes * np.where(items.tail < 0.5, rest, below)
        value_count = len(log_upto) - int(np.searchsorted(log_upto, math.log(_LEFT_OUT)))
        runs, left_out = frequency_runs(items, lanes, period, value_count)
        return cls(
            items=items,
            lanes=lanes,
            end=begin + period,
            period=period,
            log_max_cdf=log_upto,
            value_count=value_count,
            idle=items.idle if value_count == len(log_upto) else 0,
            runs=runs,
            left_out=left_out,
        )

    @property
    def max_count(self) -> int:
        """Return the number of values that the largest item can have."""
        return self.value_count - self.idle

    @property
    def frequency_count(self) -> float:
        """Return the number of frequencies that may matter."""
        return float(sum(stop - start for start, stop in self.runs))

    @property
    def _centre(self) -> int:
        return round(float((self.items.places * self.items.weights).sum()) * 2**20)

    @cached_property
    def coefficients(self) -> tuple[Ints, Floats]:
        """Return the frequencies that matter, and their coefficients for each value."""
        from stochastic.kernels.inversion import spectrum_coefficients

        places, value_count, centre = self.items.places, self.value_count, self._centre / 2**20
        if places[-1] >= sizes.COEFFICIENT_SPARSE * len(places):
            rows, column = np.zeros(1), np.arange(len(places))
            columns = places - centre
        else:
            count = min(1 << round(math.log2(places[-1] + 1) / 2), sizes.COEFFICIENT_ROWS)
            rows, column = np.arange(float(count)), places // count
            columns = count * np.arange(column[-1] + 1) - centre
        row = places % len(rows)
        used, parts = [np.empty(0, dtype=np.int64)], [np.empty((2, 0, self.max_count))]
        step = max(sizes.COEFFICIENT_CHUNK // value_count, 1)
        edges, turned = np.empty((2, len(columns) + len(rows))), np.empty((2, len(places)))
        lacking, power = np.empty((2, 2, value_count))
        for start, stop in self.runs:
            for begin in range(start, stop, step):
                frequencies = np.arange(begin, min(begin + step, stop))
                chosen = np.empty_like(frequencies)
                result = np.empty((2, len(frequencies), self.max_count))
                size = spectrum_coefficients(
                    *(frequencies, self.period, columns, rows, column, row, self.items.weights),
                    *(self.idle, self.lanes, _NEGLIGIBLE),
                    *(edges, turned, lacking, power, chosen, result),
                )
                used.append(chosen[:size])
                parts.append(result[:, :size].copy())
        return np.concatenate(used), np.concatenate(parts, axis=1)

    @cached_property
    def _tables(self) -> tuple[int, float, Floats, Floats]:
        """Return the arguments of ``spectrum_probabilities`` from ``origin`` to ``chances``."""
        used, result = self.coefficients
        origin, fraction = divmod(self.lanes * self._centre, 2**20)
        turns = used * ((self.end - origin) - fraction / 2**20) / self.period
        angles = -2.0 * math.pi * (turns - np.floor(turns))
        at_end = np.einsum("pf,pfa->a", np.array([np.cos(angles), -np.sin(angles)]), result)
        chances = np.diff(np.exp(self.log_max_cdf[-self.value_count :]), prepend=0.0)[self.idle :]
        return origin, fraction / 2**20, at_end, chances

    @property
    def error(self) -> float:
        """Return the error of a probability: a bound on omitted parts, plus estimated rounding."""
        roots = math.sqrt(self.value_count) + math.sqrt(len(self.coefficients[0]))
        rounding = _EPS * (48.0 + roots + 0.5 * math.sqrt(self.lanes))
        return self.left_out + 6.0 * _LEFT_OUT + rounding

    def __call__(self, least: Ints) -> Floats:
        """Return, for each row of ``least``, the sum over values v of P(max = v, sum >= row[v])."""
        from stochastic.kernels.inversion import BLOCK, spectrum_probabilities

        origin, fraction, at_end, chances = self._tables
        result = np.zeros(len(least))
        spectrum_probabilities(
            *(least, self.end, self.period, origin, fraction),
            *(*self.coefficients, at_end, chances),
            *(np.empty((10, BLOCK)), result),
        )
        return result


_MAX_EXACT_INTEGER = 2**53
_CONSTANT_ERROR = 1e-17  # Error of a probability if every loss is 1.
#: If a group has work with a lower probability, we sum over the number of items with work.
RARE = 2.0**-10
_TAIL = 1e-18  # omitted probability of larger numbers of items with work


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConvolutionMethod:
    """A method for P(max = v, sum >= s), by convolving the laws of the sums of half groups."""

    items: ItemLattice
    lanes: int

    method = "convolution"

    @property
    def max_count(self) -> int:
        """Return the number of values that the largest item can have."""
        return len(self.items.places) - self.items.idle

    @property
    def error(self) -> float:
        """Return an estimate of the error of a probability, which is a sum of positive terms."""
        return _EPS * (16.0 + 2.0 * math.sqrt(len(self.items.places))) + 2.0 * _LEFT_OUT

    @property
    def product_count(self) -> float:
        """Return an estimate of the number of products needed for an answer, for >= 3 lanes."""
        half = self.lanes - self.lanes // 2
        places = self.items.places
        return (half**3 / 12 + 0.25 * self.lanes) * len(places) * float(places[-1])

    def __call__(self, least: Ints) -> Floats:
        """Return, for each row of ``least``, the sum over values v of P(max = v, sum >= row[v])."""
        from stochastic.kernels.inversion import convolution_probabilities, pair_probabilities

        items = self.items
        if self.lanes == 2:
            result = pair_probabilities(items.places, items.weights, items.idle, least)
        else:
            # scale to a maximum of 1: if all weights are equal, sums are then exact
            most = float(items.weights.max())
            weights = items.weights / most
            result = convolution_probabilities(items.places, weights, self.lanes, items.idle, least)
            result *= most**self.lanes
        return np.asarray(result)


def _choose_method(items: ItemLattice, lanes: int) -> ConvolutionMethod | SpectralMethod:
    convolution = ConvolutionMethod(items=items, lanes=lanes)
    if lanes == 2:
        return convolution
    spectrum = SpectralMethod.from_items(items, lanes)
    needed = spectrum.frequency_count * spectrum.value_count
    fits = (
        needed <= sizes.LATTICE_COEFFICIENTS
        and spectrum.frequency_count * len(items.places) <= sizes.LATTICE_TRANSFORMS
    )
    if fits and needed <= convolution.product_count:
        return spectrum
    if convolution.product_count <= sizes.LATTICE_PRODUCTS:
        return convolution
    if fits:
        return spectrum
    raise LawError(
        f"the CDF of {lanes} lanes over {len(items.places)} uneven values up to "
        f"{int(items.places[-1])} steps apart takes too long ({needed:.1g} coefficients): "
        "simulate it, or group the values on a coarser grid"
    )


class LossInversion:
    """The CDF of the loss X = factor·max/sum over groups with work (Swatman 2022, Eqs. 4-11).

    Groups without work are left out; the probabilities of other groups are not rescaled.
    ``factor`` is ``lanes`` by default. ``error`` is an absolute bound on omitted parts plus an
    estimate of rounding; ``mass`` is P(sum > 0). LawError if no method is feasible: with few lanes,
    if there are over 10,000 values; with up to 30 lanes, also if the law is uneven; with any number
    of lanes, if sums exceed 2**53.
    """

    __slots__ = (
        *("_evaluate", "_factor", "_high", "_lanes", "_least", "_low", "_step", "_values"),
        *("error", "mass", "method"),
    )

    def __init__(self, low: int, weights: Floats, lanes: int, factor: int | None = None) -> None:
        high = low + len(weights) - 1
        if lanes * high >= _MAX_EXACT_INTEGER:
            raise LawError(
                f"{lanes} lanes of items up to {high} sum up to more than 2**53: give work in "
                "larger units, or simulate it"
            )
        self._low, self._high, self._lanes = low, high, lanes
        self._factor = lanes if factor is None else factor
        self.mass = work_probability(low, weights, lanes)
        items = ItemLattice.from_weights(low, weights, lanes)
        self._step, self._least = items.step, lanes * items.first
        if lanes == 1 or len(items.places) == 1:  # X = 1
            self._evaluate, self._values = None, items.places[:0]
            self.method, self.error = "closed form", _CONSTANT_ERROR
            return
        way = _choose_method(items, lanes)
        self._evaluate, self.method, self.error = way, way.method, way.error
        self._values = items.first + items.step * items.places[len(items.places) - way.max_count :]

    def cdf(self, t: Any) -> Any:
        """Return P(X <= t; sum > 0), for a number or an array; losses are rounded to doubles."""
        limits = np.asarray(t, dtype=np.float64)
        flat = limits.reshape(-1)
        if np.any(flat != flat):
            raise LawError("t is not a number: expected a loss to compare with, 1 or more")
        least = self._factor / self._lanes
        chances = np.where(flat >= least, self.mass, 0.0)
        if self._evaluate is not None:
            inside = np.flatnonzero((flat >= least) & (flat < self._factor))
            rows = sizes.ATOMS_AT_ONCE // max(len(self._values), 1) + 1
            for begin in range(0, len(inside), rows):
                part = inside[begin : begin + rows]
                chances[part] = np.clip(self._evaluate(self._steps(flat[part])), 0.0, self.mass)
        return chances.reshape(limits.shape)[()]

    def sf(self, t: Any) -> Any:
        """Return P(X > t; sum > 0), for a number or an array; losses are rounded to doubles."""
        return self.mass - self.cdf(t)

    def _steps(self, t: npt.NDArray[Any]) -> Ints:
        return _least_sums(t, self._values, self._factor, self._least, self._step)

    def quantile(self, q: float) -> float:
        """Return the smallest possible loss x with P(X <= x; sum > 0) >= q.

        P may be below q by up to :attr:`error`. If q is above :attr:`mass`, x is the largest loss.
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
            pairs = ((value, place) for value, *ends in rows for place in range(*ends))
            sums = ((value, self._least + self._step * place) for value, place in pairs)
            listed = sorted({self._lanes * value / total for value, total in sums})
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
        """Return, for each value, the range of sums (in steps) whose losses are near the quantile.

        The search is the ITP method (Oliveira & Takahashi 2020). If the CDF jumps, it takes hardly
        more evaluations than bisection; if the CDF is smooth, it takes far fewer.
        """
        below, above, excess = 1.0, float(self._lanes), self.mass - wanted
        width = above - below
        radius = width
        while True:
            first, last = self._steps(np.array([above, below]))
            half = 0.5 * (below + above)
            if int((last - first).sum()) <= sizes.QUANTILES_LISTED or not below < half < above:
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
            result = float(self.cdf(point)) - wanted
            if result >= 0.0:
                above, excess = point, result
            else:
                below, lacking = point, result


def _least_sums(t: Floats, values: Ints, lanes: int, least: int, step: int) -> Ints:
    """Return, for each t (rows) and value, the smallest sum with lanes·value/sum <= t.

    Sums are in steps from ``least``. The comparison is with the quotient rounded to a double; its
    numerator and denominator are whole numbers below 2**53.
    """
    needed, limit = (lanes * values).astype(np.float64), t[:, np.newaxis]
    total = np.ceil(needed / limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        while (short := needed / total > limit).any():
            total += short
        while (more := (needed / (total - 1.0) <= limit) & (total > 1.0)).any():
            total -= more
    return np.maximum(-((least - total.astype(np.int64)) // step), 0)


class RareWorkInversion:
    """The CDF of the loss of a group with work, for a law where few groups have work."""

    __slots__ = ("_lanes", "_parts", "error", "mass")

    def __init__(self, weights: Floats, lanes: int) -> None:
        low = 1 + int(np.flatnonzero(weights[1:])[0])
        some = math.fsum(weights[1:].tolist())
        shares, log = [], math.log(some) - math.log1p(-some)
        for k in range(1, lanes + 1):
            shares.append(math.comb(lanes, k) * math.exp((k - 1) * log))  # relative to k = 1
            if shares[-1] < _TAIL:
                break
        whole = math.fsum(shares)
        self._lanes, self.mass = lanes, 1.0
        self._parts = [
            (share / whole, LossInversion(low, weights[low:] / some, k, lanes))
            for k, share in enumerate(shares, 1)
        ]
        self.error = _TAIL + math.fsum(share * part.error for share, part in self._parts)

    def cdf(self, t: Any) -> Any:
        """Return P(X <= t | sum > 0), for a number or an array."""
        return np.clip(sum(share * part.cdf(t) for share, part in self._parts), 0.0, 1.0)

    def sf(self, t: Any) -> Any:
        """Return P(X > t | sum > 0), for a number or an array."""
        return np.clip(sum(share * part.sf(t) for share, part in self._parts), 0.0, 1.0)

    def quantile(self, q: float) -> float:
        """Return the smallest loss x with P(X <= x | sum > 0) >= q, to the nearest double."""
        below, above, wanted = 1.0, float(self._lanes), q - self.error
        if self.cdf(below) >= wanted:
            return below
        while (half := 0.5 * (below + above)) not in (below, above):
            if self.cdf(half) >= wanted:
                above = half
            else:
                below = half
        return above
