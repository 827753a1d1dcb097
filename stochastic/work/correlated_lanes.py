"""Compute the law of the longest item and of the loss of a group whose lanes are correlated."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_real
from stochastic.work.pmf import Pmf, check_law, is_weighted_law

_ROUNDS = 10_000  # Upper limit on the iterations of EM.
_ROUNDING = 1e-14  # Rounding error of a probability.
_CUT = 1e-10  # Product of lanes**2 and the tail probability at which an infinite law is truncated.
QUADRATURE_STEP = 0.25  # Step of log t, with which the trapezoidal rule is exact to 2e-16.
QUADRATURE_REACH = 45.0  # Factors below exp(-45) are negligible.


class _NeighbourChain(ABC):
    """A model in which the work of each lane depends on the work of the previous lane."""

    __slots__ = ()

    @abstractmethod
    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """Return the law of the longest item of a group."""

    @abstractmethod
    def step(self, state: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the joint law one lane further: axis 0 becomes the work of the next lane."""

    def losses(self, work: Pmf, lanes: int) -> dict[float, float]:
        """Return P(X = x), adding one lane at a time to the law of (last item, longest, sum)."""
        size, most = int(work.high) - work.low + 1, lanes * int(work.high)
        if float(size) ** 2 * (most + 1) * lanes > sizes.CORRELATED_STATES:
            raise LawError(
                f"the law of {lanes} correlated lanes of up to {int(work.high):,} is too large: "
                "ask for mean(), slowdown() or longest, or count the work in larger units"
            )
        law = work.weights
        state = np.zeros((size, size, most + 1))  # last item, longest item, sum
        for k in range(size):
            state[k, k, k + work.low] = law[k]
        for _ in range(lanes - 1):
            moved = self.step(state, law)
            state = np.zeros_like(state)
            for k in range(size):
                far = np.roll(moved[k], k + work.low, axis=1)
                state[k, k] = far[: k + 1].sum(axis=0)
                state[k, k + 1 :] = far[k + 1 :]
        chances: dict[float, float] = {}
        for (a, b), p in np.ndenumerate(state.sum(axis=0)):
            if p:
                x = lanes * (a + work.low) / b if b else 1.0
                chances[x] = chances.get(x, 0.0) + float(p)
        return chances

    def mean_loss(self, work: Pmf, lanes: int) -> float:
        values = np.arange(work.low, int(work.high) + 1).astype(np.float64)
        some = values[values > 0]
        if not len(some):
            return 1.0
        nodes = log_nodes(some[0], some[-1], lanes)
        each = lanes if isinstance(self, Sticky) else float(len(values)) ** 2
        if each * len(values) * len(nodes) * lanes > sizes.CORRELATED_PRODUCTS:
            raise LawError(
                f"the mean loss of {lanes} correlated lanes of {len(values):,} values takes too "
                "many products: ask for slowdown() or longest, or count the work in larger units"
            )
        decay = np.exp(-values[:, None] * nodes)
        law = work.weights
        upto = self._prefix_transforms(law, decay, lanes)
        area = upto[-1] * work.low + (upto[-1] - upto[:-1]).sum(axis=0)
        longest = self.longest(work, lanes).mean()
        total = float(nodes @ area) + longest * nodes[0] / np.expm1(QUADRATURE_STEP)
        idle = 0.0
        if work.low == 0:
            state = law[:1]
            for _ in range(lanes - 1):
                state = self.step(state, law[:1])
            idle = float(state.sum())
        return float(lanes * QUADRATURE_STEP * total + idle)

    def _prefix_transforms(self, law: Floats, decay: Floats, lanes: int) -> Floats:
        """Return E[exp(-t·sum); max <= value] for each value (rows) and node t (columns)."""
        result = []
        for size in range(1, len(law) + 1):
            state = law[:size, None] * decay[:size]
            for _ in range(lanes - 1):
                state = self.step(state, law[:size]) * decay[:size]
            result.append(state.sum(axis=0))
        return np.array(result)


@dataclass(frozen=True, slots=True)
class Sticky(_NeighbourChain):
    """Lanes that repeat the work of the previous lane with probability rho, or else draw again."""

    rho: float

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """Return the law with P(max <= a) = F·(rho + (1 - rho)·F)**(lanes - 1), F = P(W <= a)."""
        rho, weights = self.rho, work.weights
        below = np.cumsum(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
            mixed = rho + (1.0 - rho) * below
            other = np.where(mixed > 0, np.minimum((1.0 - rho) * weights / mixed, 1.0), 0.0)
            fall = np.log1p(-first)
            if lanes > 1:
                fall += (lanes - 1) * np.log1p(-other)
            result = below * mixed ** (lanes - 1) * -np.expm1(fall)
        return Pmf.from_weights(result, low=work.low, normalise=True)

    def step(self, state: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the joint law one lane further: axis 0 becomes the work of the next lane."""
        law = work.reshape(-1, *(1,) * (state.ndim - 1))
        return np.asarray(self.rho * state + (1 - self.rho) * law * state.sum(axis=0))

    def _prefix_transforms(self, law: Floats, decay: Floats, lanes: int) -> Floats:
        """Return E[exp(-t·sum); max <= value] for all values, summed over runs of equal draws."""
        rho = self.rho
        each = [rho**r * np.cumsum(law[:, None] * decay ** (r + 1), axis=0) for r in range(lanes)]
        before = np.ones((lanes, *decay.shape))  # row n: for n lanes before a lane that draws again
        for n in range(1, lanes):
            first_runs = [each[r] * before[n - 1 - r] for r in range(n)]
            before[n] = (1.0 - rho) * np.sum(first_runs, axis=0)
        return np.asarray(np.sum([each[r] * before[lanes - 1 - r] for r in range(lanes)], axis=0))


@dataclass(frozen=True, slots=True)
class Markov(_NeighbourChain):
    """Lanes whose work is a Markov chain with a matrix of P(next | this) over low..high."""

    transitions: npt.NDArray[Any]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """Return the law with P(max <= a) = sum(π_a P_a**(lanes - 1)), for the states up to a."""
        law = work.weights
        below = []
        for a in range(1, len(law) + 1):
            state = law[:a]
            for _ in range(lanes - 1):
                state = state @ self.transitions[:a, :a]
            below.append(state.sum())
        chances = np.maximum(np.diff(below, prepend=0.0), 0.0)
        return Pmf.from_weights(chances, low=work.low, normalise=True)

    def step(self, state: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the joint law one lane further: axis 0 becomes the work of the next lane."""
        size = len(state)
        return np.asarray(np.tensordot(self.transitions[:size, :size].T, state, axes=1))


@dataclass(frozen=True, slots=True)
class CommonShock:
    """Lanes that all follow one law, which each group draws from pairs (probability, law)."""

    parts: tuple[tuple[Any, Pmf], ...]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """Return the law with P(max <= a) = Σ_c π_c F_c(a)**lanes."""
        return Pmf.mixture([(p, part.max_of(lanes)) for p, part in self.parts])

    def losses(self, work: Pmf, lanes: int) -> dict[float, float]:
        """Return P(X = x), the mixture over the laws."""
        chances: dict[float, float] = {}
        for p, part in self._cut_laws(lanes):
            for x, chance in Sticky(0).losses(part, lanes).items():
                chances[x] = chances.get(x, 0.0) + p * chance
        return chances

    def mean_loss(self, work: Pmf, lanes: int) -> float:
        """Return E[X], the mean over the laws."""
        return sum(p * Sticky(0).mean_loss(part, lanes) for p, part in self._cut_laws(lanes))

    def _cut_laws(self, lanes: int) -> list[tuple[float, Pmf]]:
        return [(float(p), law.cut(_CUT / lanes**2)) for p, law in self.parts]


@dataclass(frozen=True, slots=True, eq=False)
class TraceWindows:
    """Lanes that take consecutive items of a circular trace, starting at a random item."""

    trace: Ints

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """Return the law of the longest item of a random window, in O(items) (van Herk 1992)."""
        return Pmf.from_samples(self._window_maxima(lanes))

    def losses(self, work: Pmf, lanes: int) -> dict[float, float]:
        """Return P(X = x), X = lanes · max / sum of a window; X = 1 without any work."""
        longest, size = self._window_maxima(lanes), len(self.trace)
        rounds, rest = divmod(lanes, size)
        upto = np.concatenate([[0], np.cumsum(np.tile(self.trace, 2))])
        total = rounds * int(self.trace.sum()) + upto[rest : size + rest] - upto[:size]
        losses = np.where(total > 0, float(lanes) * longest / np.maximum(total, 1), 1.0)
        values, counts = np.unique(losses, return_counts=True)
        return dict(zip(values.tolist(), (counts / size).tolist(), strict=True))

    def mean_loss(self, work: Pmf, lanes: int) -> float:
        """Return E[X]."""
        return math.fsum(p * x for x, p in self.losses(work, lanes).items())

    def _window_maxima(self, lanes: int) -> Ints:
        from scipy.ndimage import maximum_filter1d

        size = min(lanes, len(self.trace))
        return np.asarray(
            maximum_filter1d(self.trace, size, mode="wrap", origin=-(size // 2)), dtype=np.int64
        )


Correlation = Sticky | Markov | CommonShock | TraceWindows


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrelatedLoss:
    """The loss X = lanes · max / sum of a group of correlated lanes; without any work X = 1.

    ``work`` is the law of one item, truncated if it is infinite.
    """

    work: Pmf
    lanes: int
    correlation: Correlation

    @cached_property
    def longest(self) -> Pmf:
        """Return the exact law of the longest item of a group."""
        return self.correlation.longest(self.work, self.lanes)

    def slowdown(self) -> float:
        """Return E[max] / E[W], the cost for a workload of many groups."""
        return self.longest.mean() / self.work.mean() if self.work.mean() else 1.0

    def mean(self) -> float:
        """Return E[X], with a relative error of about 1e-11."""
        return self.correlation.mean_loss(self.work, self.lanes)

    @cached_property
    def table(self) -> dict[float, float]:
        """Return P(X = x) for each loss x, ascending; LawError if the law is too large."""
        return dict(sorted(self.correlation.losses(self.work, self.lanes).items()))

    def cdf(self, t: Any) -> float:
        """Return P(X <= t); LawError if the law is too large."""
        return math.fsum(p for x, p in self.table.items() if x <= float(t))

    def quantile(self, q: Any) -> float:
        """Return the smallest x with P(X <= x) >= q up to rounding; LawError for a large law."""
        chance = 0.0
        for x, p in self.table.items():
            chance += p
            if chance >= q - _ROUNDING:
                return x
        return x


def log_nodes(least: float, most: float, lanes: int) -> Floats:
    """Return nodes t, equally spaced in log t, for E[max / sum] = ∫ E[max·exp(-t·sum)] dt.

    Values are either 0 or between ``least`` and ``most``. With the weights QUADRATURE_STEP·t, the
    trapezoidal rule is exact to 2e-16 for every sum (see stochastic.loss.moments). The part below
    the first node is 1e-8 of the integral. There the integrand is E[max] within 1e-8.
    """
    first = math.log(1e-8 / (lanes * most))
    last = math.log((QUADRATURE_REACH + math.log(lanes * most / least)) / least)
    return np.exp(np.arange(first, last + QUADRATURE_STEP, QUADRATURE_STEP))


def check_repeat_probability(value: Any) -> float:
    """Return the probability that a lane repeats its neighbour's work, or raise LawError."""
    expected = (
        "the probability that a lane repeats its neighbour's work, from 0 to 1, such as "
        "stickiness(trace).rho"
    )
    return check_real("correlation", value, lambda rho: 0 <= rho <= 1, expected)


def parse_correlation(value: Any, work: Pmf) -> Correlation | None:
    """Return the correlation given as a number, pairs (probability, law), a matrix or a trace.

    Raise LawError for anything else, or if the law of a lane is not ``work``.
    """
    if isinstance(value, Real):
        rho = check_repeat_probability(value)
        return Sticky(rho) if rho else None
    if isinstance(value, list | tuple) and value and all(is_weighted_law(one) for one in value):
        parts = tuple((p, check_law(law)) for p, law in value)
        _check_lane(Pmf.mixture(parts), work, "a lane of these laws", "mixture")
        return CommonShock(parts)
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 2:
        return _markov_lanes(np.asarray(value), work)
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value):
        _check_lane(Pmf.from_samples(value), work, "an item of this trace", "from_samples")
        return TraceWindows(np.asarray(value, dtype=np.int64))
    raise LawError(
        f"correlation = {value!r:.80}: expected the probability that a lane repeats its "
        "neighbour's work, pairs (probability, law) of which one holds for all lanes, a matrix of "
        "P(next | this), or a trace of items in the order of the lanes"
    )


def _check_lane(lane_law: Pmf, work: Pmf, what: str, constructor: str) -> None:
    apart = abs(lane_law.mean() - work.mean()), abs(lane_law.var() - work.var())
    if max(apart) > 1e-9 * (1.0 + work.var()):
        raise LawError(
            f"correlation: {what} has mean {lane_law.mean():.6g}, the work {work.mean():.6g}: "
            f"expected work=Pmf.{constructor}(correlation)"
        )


def _markov_lanes(moves: npt.NDArray[Any], work: Pmf) -> Markov:
    size = len(moves)
    if not work.is_finite or moves.shape != (size, size) or size != work.high - work.low + 1:
        raise LawError(
            f"correlation: a matrix of {moves.shape} for work of {work.low} to {work.high}: "
            "expected one row and one column for each value of a finite law"
        )
    real = moves.astype(np.float64)
    stays = work.weights @ real
    if not (np.all(real >= 0) and np.allclose(real.sum(axis=1), 1, atol=1e-9, rtol=0)):
        raise LawError("correlation: expected rows of probabilities, each of which sums to 1")
    if np.abs(stays - work.weights).max() > 1e-9:
        raise LawError(
            "correlation: the law of work is not stationary under the matrix: give as work the "
            "stationary law, which is the left eigenvector of the matrix"
        )
    return Markov(real)


# --- the probability that a lane repeats its neighbour, estimated from a trace
def distinct_draw_weights(lanes: int, rho: float) -> Floats:
    """Return P(k lanes draw their work, and the others repeat a neighbour), k = 1, ..., lanes."""
    k, most = np.arange(lanes), lanes - 1
    ways = np.append(0.0, np.cumsum(np.log((most - k[:-1]) / (k[:-1] + 1.0))))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways + np.where(k > 0, k * np.log1p(-rho), 0.0)
        logs += np.where(k < most, (most - k) * np.log(rho), 0.0)
    result = np.exp(logs)
    return np.asarray(result / result.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stickiness:
    """Maximum-likelihood estimate of the probability that an item of a trace repeats its neighbour.

    ``rho`` is the probability, and ``error`` is its standard error from the observed information.
    ``low`` to ``high`` is a 95 % Wald interval, for the logit of rho unless rho is 0 or 1.
    """

    rho: float
    error: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.rho


def stickiness(trace: Any) -> Stickiness:
    """Estimate the probability that a lane repeats its neighbour's work, from a trace.

    Two equal neighbours are a repeat with the probability rho / (rho + (1 - rho) f), where f is the
    probability of their value in a new draw; rho and f are estimated alternately (EM).

    Raises:
        LawError: The trace has fewer than two different values.

    >>> round(float(stickiness([3, 3, 3, 1, 1, 2, 2, 2, 3, 1])), 2)
    0.34
    """
    items = np.asarray(trace)
    values, where, counts = np.unique(items, return_inverse=True, return_counts=True)
    if items.ndim != 1 or len(values) < 2:
        raise LawError(
            f"a trace of {items.size} items with {len(values)} different values: expected one "
            "dimension, and two or more different values"
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
