"""Lanes whose neighbours are alike: the longest of a group, and what lockstep costs them."""

from __future__ import annotations

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
from stochastic.checks import check_real
from stochastic.errors import LawError
from stochastic.work.pmf import Pmf, check_law

_ROUNDS = 10_000  # of stickiness: turns of its two estimates
_STATES = sizes.ALIKE_STATES  # of longest, total and last lane, times lanes
_PRODUCTS = sizes.ALIKE_PRODUCTS
_ROUNDING = 1e-14  # of a probability
_CUT = 1e-10  # of an infinite law, over the square of the lanes
QUADRATURE_STEP = 0.25  # of log t: the trapezoidal rule for ∫ exp(-t·sum) dt is then exact to 2e-16
QUADRATURE_REACH = 45.0  # exp(-45) is nothing


class _NeighbourChain(ABC):
    """Lanes of which the work of each depends on that of the one before."""

    __slots__ = ()

    @abstractmethod
    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """Return the law of the longest of a group."""

    @abstractmethod
    def step(self, state: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From P(a lane's work is k, ...) along the first axis to that of its neighbour."""

    def losses(self, work: Pmf, lanes: int) -> dict[float, float]:
        """P(X = x), lane after lane: the work of the last, the longest, and the sum of all."""
        size, most = int(work.high) - work.low + 1, lanes * int(work.high)
        if float(size) ** 2 * (most + 1) * lanes > _STATES:
            raise LawError(
                f"the law of {lanes} alike lanes of up to {int(work.high):,} is too large to tell "
                "all of it: mean(), slowdown() and longest are told, or count the work in larger "
                "units"
            )
        law = work.weights
        held = np.zeros((size, size, most + 1))  # work of the last, longest, sum
        for k in range(size):
            held[k, k, k + work.low] = law[k]
        for _ in range(lanes - 1):
            moved = self.step(held, law)
            held = np.zeros_like(held)
            for k in range(size):
                far = np.roll(moved[k], k + work.low, axis=1)
                held[k, k] = far[: k + 1].sum(axis=0)
                held[k, k + 1 :] = far[k + 1 :]
        chances: dict[float, float] = {}
        for (a, b), p in np.ndenumerate(held.sum(axis=0)):
            if p:
                x = lanes * (a + work.low) / b if b else 1.0
                chances[x] = chances.get(x, 0.0) + float(p)
        return chances

    def mean_loss(self, work: Pmf, lanes: int) -> float:
        """E[max / sum] = ∫ E[max·exp(-t·sum)] dt, E[max; ...] = Σ_a (all - those up to a).

        Raises
        ------
        LawError
            Where that is too many products.
        """
        values = np.arange(work.low, int(work.high) + 1).astype(np.float64)
        some = values[values > 0]
        if not len(some):
            return 1.0
        nodes = log_nodes(some[0], some[-1], lanes)
        each = lanes if isinstance(self, Sticky) else float(len(values)) ** 2
        if each * len(values) * len(nodes) * lanes > _PRODUCTS:
            raise LawError(
                f"the mean loss of {lanes} alike lanes of {len(values):,} values takes too many "
                "products: slowdown() and longest are told, or count the work in larger units"
            )
        decay = np.exp(-values[:, None] * nodes)
        law = work.weights
        upto = self._prefix_transforms(law, decay, lanes)
        area = upto[-1] * work.low + (upto[-1] - upto[:-1]).sum(axis=0)
        longest = self.longest(work, lanes).mean()
        total = float(nodes @ area) + longest * nodes[0] / np.expm1(QUADRATURE_STEP)
        idle = 0.0
        if work.low == 0:
            held = law[:1]
            for _ in range(lanes - 1):
                held = self.step(held, law[:1])
            idle = float(held.sum())
        return float(lanes * QUADRATURE_STEP * total + idle)

    def _prefix_transforms(self, law: Floats, decay: Floats, lanes: int) -> Floats:
        """E[exp(-t·sum); all among the first values] of 1, 2, ... values, at each node t."""
        result = []
        for size in range(1, len(law) + 1):
            held = law[:size, None] * decay[:size]
            for _ in range(lanes - 1):
                held = self.step(held, law[:size]) * decay[:size]
            result.append(held.sum(axis=0))
        return np.array(result)


@dataclass(frozen=True, slots=True)
class Sticky(_NeighbourChain):
    """A lane repeats its neighbour's work with probability rho, and else draws anew."""

    rho: float

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """P(max <= a) = F (rho + (1 - rho) F)**(lanes - 1), of a finite law."""
        rho, weights = self.rho, work.weights
        below = np.cumsum(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where(below > 0, np.minimum(weights / below, 1.0), 0.0)
            mixed = rho + (1.0 - rho) * below
            other = np.where(mixed > 0, np.minimum((1.0 - rho) * weights / mixed, 1.0), 0.0)
            fall = (
                np.log1p(-first) + (lanes - 1) * np.log1p(-other) if lanes > 1 else np.log1p(-first)
            )
            result = below * mixed ** (lanes - 1) * -np.expm1(fall)
        return Pmf.from_weights(result, low=work.low, normalise=True)

    def step(self, state: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From P(a lane's work is k, ...) along the first axis to that of its neighbour."""
        law = work.reshape(-1, *(1,) * (state.ndim - 1))
        return np.asarray(self.rho * state + (1 - self.rho) * law * state.sum(axis=0))

    def _prefix_transforms(self, law: Floats, decay: Floats, lanes: int) -> Floats:
        """The same for every first value at once, run of equal draws after run."""
        rho = self.rho
        each = [rho**r * np.cumsum(law[:, None] * decay ** (r + 1), axis=0) for r in range(lanes)]
        before = np.ones((lanes, *decay.shape))  # of so many lanes, a new draw next
        for n in range(1, lanes):
            first_runs = [each[r] * before[n - 1 - r] for r in range(n)]
            before[n] = (1.0 - rho) * np.sum(first_runs, axis=0)
        return np.asarray(np.sum([each[r] * before[lanes - 1 - r] for r in range(lanes)], axis=0))


@dataclass(frozen=True, slots=True)
class Markov(_NeighbourChain):
    """A lane's work follows from its neighbour's: a matrix of P(next | this), low..high."""

    transitions: npt.NDArray[Any]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """P(max <= a) = π_a P_a**(lanes - 1) 1, over the states up to a."""
        law = work.weights
        below = []
        for a in range(1, len(law) + 1):
            held = law[:a]
            for _ in range(lanes - 1):
                held = held @ self.transitions[:a, :a]
            below.append(held.sum())
        chances = np.maximum(np.diff(below, prepend=0.0), 0.0)
        return Pmf.from_weights(chances, low=work.low, normalise=True)

    def step(self, state: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From P(a lane's work is k, ...) along the first axis to that of its neighbour."""
        size = len(state)
        return np.asarray(np.tensordot(self.transitions[:size, :size].T, state, axes=1))


@dataclass(frozen=True, slots=True)
class CommonShock:
    """All lanes have the one law or the other: (probability, law) of each."""

    parts: tuple[tuple[Any, Pmf], ...]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """P(max <= a) = Σ_c π_c F_c(a)**lanes."""
        return Pmf.mixture([(p, part.max_of(lanes)) for p, part in self.parts])

    def losses(self, work: Pmf, lanes: int) -> dict[float, float]:
        """P(X = x), from those of each law."""
        chances: dict[float, float] = {}
        for p, part in self._cut_laws(lanes):
            for x, chance in Sticky(0).losses(part, lanes).items():
                chances[x] = chances.get(x, 0.0) + p * chance
        return chances

    def mean_loss(self, work: Pmf, lanes: int) -> float:
        """E[X], from those of each law."""
        return sum(p * Sticky(0).mean_loss(part, lanes) for p, part in self._cut_laws(lanes))

    def _cut_laws(self, lanes: int) -> list[tuple[float, Pmf]]:
        """The laws, each cut where it is infinite, with their probabilities."""
        return [(float(p), law.cut(_CUT / lanes**2)) for p, law in self.parts]


@dataclass(frozen=True, slots=True, eq=False)
class TraceWindows:
    """The lanes are items of a trace in a row, from one on that is drawn; its first follow its
    last, so that the law of one lane is that of the trace.
    """

    trace: Ints

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """The longest of each window, all in O(items) (van Herk 1992)."""
        return Pmf.from_samples(self._window_maxima(lanes))

    def losses(self, work: Pmf, lanes: int) -> dict[float, float]:
        """P(X = x), X = lanes · max / sum of a window, and 1 without any work."""
        longest, size = self._window_maxima(lanes), len(self.trace)
        rounds, rest = divmod(lanes, size)
        upto = np.concatenate([[0], np.cumsum(np.tile(self.trace, 2))])
        total = rounds * int(self.trace.sum()) + upto[rest : size + rest] - upto[:size]
        losses = np.where(total > 0, float(lanes) * longest / np.maximum(total, 1), 1.0)
        values, counts = np.unique(losses, return_counts=True)
        return dict(zip(values.tolist(), (counts / size).tolist(), strict=True))

    def mean_loss(self, work: Pmf, lanes: int) -> float:
        """E[X]."""
        return math.fsum(p * x for x, p in self.losses(work, lanes).items())

    def _window_maxima(self, lanes: int) -> Ints:
        """That of the window from each item on."""
        from scipy.ndimage import maximum_filter1d

        size = min(lanes, len(self.trace))
        return np.asarray(
            maximum_filter1d(self.trace, size, mode="wrap", origin=-(size // 2)), dtype=np.int64
        )


Correlation = Sticky | Markov | CommonShock | TraceWindows


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrelatedLoss:
    """The loss X = lanes · max / sum of a group whose lanes are alike; without any work X = 1.

    Attributes
    ----------
    work : Pmf
        The law of one item, cut where it is infinite.
    lanes : int
        Items in lockstep.
    alike : Sticky, Markov, Shock or Windows
        How they are alike.
    """

    work: Pmf
    lanes: int
    correlation: Correlation

    @cached_property
    def longest(self) -> Pmf:
        """The law of the longest item of a group, exact."""
        return self.correlation.longest(self.work, self.lanes)

    def slowdown(self) -> float:
        """E[max] / E[W]: what a workload of many groups pays."""
        return self.longest.mean() / self.work.mean() if self.work.mean() else 1.0

    def mean(self) -> float:
        """E[X], to some 1e-11 of it."""
        return self.correlation.mean_loss(self.work, self.lanes)

    @cached_property
    def table(self) -> dict[float, float]:
        """P(X = x) of each loss, ascending.

        Raises
        ------
        LawError
            Where the law is too large.
        """
        return dict(sorted(self.correlation.losses(self.work, self.lanes).items()))

    def cdf(self, t: Any) -> float:
        """P(X <= t), of a small law."""
        return math.fsum(p for x, p in self.table.items() if x <= float(t))

    def quantile(self, q: Any) -> float:
        """The smallest x with P(X <= x) >= q, to within rounding, of a small law."""
        chance = 0.0
        for x, p in self.table.items():
            chance += p
            if chance >= q - _ROUNDING:
                return x
        return x


def log_nodes(least: float, most: float, lanes: int) -> Floats:
    """Nodes t, equally spaced in log t, for E[max / sum] = ∫ E[max·exp(-t·sum)] dt of many laws.

    Values are 0 or lie between ``least`` and ``most``. With weights STEP·t the rule is exact to
    2e-16 for every sum at once: its error is that of Γ(1 + 2πi / STEP). Up to the first node the
    integrand is E[max] to 1e-8, and that interval is 1e-8 of the whole.
    """
    first = math.log(1e-8 / (lanes * most))
    last = math.log((QUADRATURE_REACH + math.log(lanes * most / least)) / least)
    nodes: Floats = np.exp(np.arange(first, last + QUADRATURE_STEP, QUADRATURE_STEP))
    return nodes


def check_repeat_probability(value: Any) -> float:
    """Return the probability that a lane repeats its neighbour's work, checked."""
    expected = (
        "the probability that a lane repeats its neighbour's work, from 0 to 1, such as "
        "stickiness(trace).rho"
    )
    return check_real("alike", value, lambda rho: 0 <= rho <= 1, expected)


def parse_correlation(value: Any, work: Pmf) -> Correlation | None:
    """How lanes are alike, as it was given: a number, (probability, law) pairs, a matrix, a trace.

    Raises
    ------
    LawError
        For what is none of them, or leaves a lane another law than ``work``.
    """
    if isinstance(value, Real):
        rho = check_repeat_probability(value)
        return Sticky(rho) if rho else None
    if isinstance(value, list | tuple) and value and all(_is_weighted_law(one) for one in value):
        parts = tuple((p, check_law(law)) for p, law in value)
        _check_lane(Pmf.mixture(parts), work, "a lane of these laws", "mixture")
        return CommonShock(parts)
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 2:
        return _markov_lanes(np.asarray(value), work)
    if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value):
        _check_lane(Pmf.from_samples(value), work, "an item of this trace", "from_samples")
        return TraceWindows(np.asarray(value, dtype=np.int64))
    raise LawError(
        f"alike = {value!r:.80}: expected the probability that a lane repeats its neighbour's "
        "work, pairs (probability, law) of which one holds for all lanes, a matrix of "
        "P(next | this), or a trace of items in the order of the lanes"
    )


def _check_lane(lane_law: Pmf, work: Pmf, what: str, constructor: str) -> None:
    """Refuse a law of a lane that is another than that of the work."""
    apart = abs(lane_law.mean() - work.mean()), abs(lane_law.var() - work.var())
    if max(apart) > 1e-9 * (1.0 + work.var()):
        raise LawError(
            f"alike: {what} works {lane_law.mean():.6g} on average, of work {work.mean():.6g}: "
            f"expected work=Pmf.{constructor}(alike)"
        )


def _is_weighted_law(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], Pmf)


def _markov_lanes(moves: npt.NDArray[Any], work: Pmf) -> Markov:
    size = len(moves)
    if not work.is_finite or moves.shape != (size, size) or size != work.high - work.low + 1:
        raise LawError(
            f"alike: a matrix of {moves.shape} for work of {work.low} to {work.high}: expected one "
            "row and one column for each value of a finite law"
        )
    real = moves.astype(np.float64)
    stays = work.weights @ real
    if not (np.all(real >= 0) and np.allclose(real.sum(axis=1), 1, atol=1e-9, rtol=0)):
        raise LawError("alike: expected rows of probabilities, each of which sums to 1")
    if np.abs(stays - work.weights).max() > 1e-9:
        raise LawError(
            "alike: after one more lane the law of its work is another: expected the law that the "
            "matrix keeps, its left eigenvector, as work"
        )
    return Markov(real)


# --- as a trace tells
def distinct_draw_weights(lanes: int, rho: float) -> Floats:
    """P(the lanes hold 1, 2, ..., lanes different draws): 1 and a binomial number more."""
    k, most = np.arange(lanes), lanes - 1
    ways = np.append(0.0, np.cumsum(np.log((most - k[:-1]) / (k[:-1] + 1.0))))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = ways + np.where(k > 0, k * np.log1p(-rho), 0.0)
        logs += np.where(k < most, (most - k) * np.log(rho), 0.0)
    result = np.exp(logs)
    return np.asarray(result / result.sum())


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
