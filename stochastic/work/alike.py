"""Lanes whose neighbours are alike: the law of the longest of a group."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic.errors import LawError
from stochastic.work.pmf import Pmf, law_of_work


@dataclass(frozen=True, slots=True)
class Sticky:
    """A lane repeats its neighbour's work with probability rho, and else draws anew."""

    rho: Any

    def longest(self, work: Pmf, lanes: int) -> Pmf:
        """P(max <= a) = F (rho + (1 - rho) F)**(lanes - 1), of a finite law."""
        rho = self.rho
        if work.exact is not None and isinstance(rho, int | Fraction):
            below = np.cumsum(np.array(work.exact, dtype=object))
            return _of_below(work.low, below * (rho + (1 - rho) * below) ** (lanes - 1))
        rho = float(rho)
        weights = work.weights
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
        law = _weights(work, self.moves)
        below = []
        for a in range(1, len(law) + 1):
            held = law[:a]
            for _ in range(lanes - 1):
                held = held @ self.moves[:a, :a]
            below.append(held.sum())
        return _of_below(work.low, np.array(below))

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
        found, counts = np.unique(self._longest(lanes), return_counts=True)
        weights = [0] * int(found[-1] - found[0] + 1)
        for value, count in zip(found - found[0], counts.tolist(), strict=True):
            weights[value] = count
        return Pmf.from_weights([Fraction(w, len(self.trace)) for w in weights], low=int(found[0]))

    def losses(self, lanes: int) -> dict[Fraction, Fraction]:
        """P(X = x), X = lanes · max / sum of a window, and 1 without any work."""
        longest, size = self._longest(lanes), len(self.trace)
        rounds, rest = divmod(lanes, size)
        upto = np.concatenate([[0], np.cumsum(np.tile(self.trace, 2))])
        total = rounds * int(self.trace.sum()) + upto[rest : size + rest] - upto[:size]
        pairs, counts = np.unique(np.stack([longest, total]), axis=1, return_counts=True)
        found: dict[Fraction, Fraction] = {}
        for most, work, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            x = Fraction(lanes * most, work) if work else Fraction(1)
            found[x] = found.get(x, Fraction(0)) + Fraction(count, size)
        return found

    def _longest(self, lanes: int) -> npt.NDArray[np.int64]:
        """That of the window from each item on."""
        from scipy.ndimage import maximum_filter1d

        size = min(lanes, len(self.trace))
        return np.asarray(
            maximum_filter1d(self.trace, size, mode="wrap", origin=-(size // 2)), dtype=np.int64
        )


Alike = Sticky | Markov | Shock | Windows


def _weights(work: Pmf, moves: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if moves.dtype == object and work.exact is not None:
        return np.array(work.exact, dtype=object)
    return work.weights


def _of_below(low: int, below: npt.NDArray[Any]) -> Pmf:
    chances = np.diff(below, prepend=below[0] * 0)
    if below.dtype == object:
        return Pmf.from_weights(list(chances), low=low)
    return Pmf.from_weights(np.maximum(chances, 0.0), low=low, normalise=True)


def alike_of(given: Any, work: Pmf) -> Alike | None:
    """How lanes are alike, as it was given: a number, (probability, law) pairs, a matrix, a trace.

    Raises
    ------
    LawError
        For what is none of them, or leaves a lane another law than ``work``.
    """
    if isinstance(given, int | float | Fraction | np.number) and not isinstance(given, bool):
        if not 0 <= given <= 1:
            raise LawError(
                f"alike = {given!r}: expected the probability that a lane repeats its neighbour's "
                "work, from 0 to 1"
            )
        return Sticky(given) if given else None
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
    return Markov(moves if moves.dtype == object else real)
