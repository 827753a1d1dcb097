"""Lanes whose neighbours are alike: the law of the longest of a group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic.errors import LawError
from stochastic.work.pmf import Pmf, law_of_work

_ROUNDS = 10_000  # of stickiness: turns of its two estimates


@dataclass(frozen=True, slots=True)
class Sticky:
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
            found = below * mixed ** (lanes - 1) * -np.expm1(fall)
        return Pmf.from_weights(found, low=work.low, normalise=True)

    def step(self, held: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From P(a lane's work is k, ...) along the first axis to that of its neighbour."""
        law = work.reshape(-1, *(1,) * (held.ndim - 1))
        return np.asarray(self.rho * held + (1 - self.rho) * law * held.sum(axis=0))


@dataclass(frozen=True, slots=True)
class Markov:
    """A lane's work follows from its neighbour's: a matrix of P(next | this), low..high."""

    moves: npt.NDArray[Any]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """P(max <= a) = π_a P_a**(lanes - 1) 1, over the states up to a."""
        law = work.weights
        below = []
        for a in range(1, len(law) + 1):
            held = law[:a]
            for _ in range(lanes - 1):
                held = held @ self.moves[:a, :a]
            below.append(held.sum())
        chances = np.maximum(np.diff(below, prepend=0.0), 0.0)
        return Pmf.from_weights(chances, low=work.low, normalise=True)

    def step(self, held: npt.NDArray[Any], work: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From P(a lane's work is k, ...) along the first axis to that of its neighbour."""
        size = len(held)
        return np.asarray(np.tensordot(self.moves[:size, :size].T, held, axes=1))


@dataclass(frozen=True, slots=True)
class Shock:
    """All lanes have the one law or the other: (probability, law) of each."""

    parts: tuple[tuple[Any, Pmf], ...]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """P(max <= a) = Σ_c π_c F_c(a)**lanes."""
        return Pmf.mixture([(p, part.max_of(lanes)) for p, part in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The lanes are items of a trace in a row, from one on that is drawn; its first follow its
    last, so that the law of one lane is that of the trace.
    """

    trace: npt.NDArray[np.int64]

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """The longest of each window, all in O(items) (van Herk 1992)."""
        del work  # that of the trace
        return Pmf.from_samples(self._longest(lanes))

    def losses(self, lanes: int) -> dict[float, float]:
        """P(X = x), X = lanes · max / sum of a window, and 1 without any work."""
        longest, size = self._longest(lanes), len(self.trace)
        rounds, rest = divmod(lanes, size)
        upto = np.concatenate([[0], np.cumsum(np.tile(self.trace, 2))])
        total = rounds * int(self.trace.sum()) + upto[rest : size + rest] - upto[:size]
        losses = np.where(total > 0, float(lanes) * longest / np.maximum(total, 1), 1.0)
        values, counts = np.unique(losses, return_counts=True)
        return dict(zip(values.tolist(), (counts / size).tolist(), strict=True))

    def _longest(self, lanes: int) -> npt.NDArray[np.int64]:
        """That of the window from each item on."""
        from scipy.ndimage import maximum_filter1d

        size = min(lanes, len(self.trace))
        return np.asarray(
            maximum_filter1d(self.trace, size, mode="wrap", origin=-(size // 2)), dtype=np.int64
        )


Alike = Sticky | Markov | Shock | Windows


def repeats(alike: Any) -> float:
    """Return the probability that a lane repeats its neighbour's work, checked."""
    fits = isinstance(alike, Real) and not isinstance(alike, bool)
    if not (fits and 0 <= alike <= 1):
        raise LawError(
            f"alike = {alike!r:.60}: expected the probability that a lane repeats its neighbour's "
            "work, from 0 to 1, such as stickiness(trace).rho"
        )
    return float(alike)


def alike_of(given: Any, work: Pmf) -> Alike | None:
    """How lanes are alike, as it was given: a number, (probability, law) pairs, a matrix, a trace.

    Raises
    ------
    LawError
        For what is none of them, or leaves a lane another law than ``work``.
    """
    if isinstance(given, Real):
        rho = repeats(given)
        return Sticky(rho) if rho else None
    if isinstance(given, list | tuple) and given and all(_is_part(one) for one in given):
        parts = tuple((p, law_of_work(law)) for p, law in given)
        whole = Pmf.mixture(parts)
        apart = abs(whole.mean() - work.mean()), abs(whole.var() - work.var())
        if max(apart) > 1e-9 * (1.0 + work.var()):
            raise LawError(
                f"alike: a lane of these laws works {whole.mean():.6g} on average, of work "
                f"{work.mean():.6g}: expected work=Pmf.mixture(alike)"
            )
        return Shock(parts)
    if isinstance(given, list | tuple | np.ndarray) and np.ndim(given) == 2:
        return _chain(np.asarray(given), work)
    if isinstance(given, list | tuple | np.ndarray) and np.ndim(given) == 1 and len(given):
        return _windows(given, work)
    raise LawError(
        f"alike = {given!r:.80}: expected the probability that a lane repeats its neighbour's "
        "work, pairs (probability, law) of which one holds for all lanes, a matrix of "
        "P(next | this), or a trace of items in the order of the lanes"
    )


def _windows(given: Any, work: Pmf) -> Windows:
    own = Pmf.from_samples(given)
    apart = abs(own.mean() - work.mean()), abs(own.var() - work.var())
    if max(apart) > 1e-9 * (1.0 + work.var()):
        raise LawError(
            f"alike: an item of this trace works {own.mean():.6g} on average, of work "
            f"{work.mean():.6g}: expected work=Pmf.from_samples(alike)"
        )
    return Windows(np.asarray(given, dtype=np.int64))


def _is_part(one: Any) -> bool:
    return isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[1], Pmf)


def _chain(moves: npt.NDArray[Any], work: Pmf) -> Markov:
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
