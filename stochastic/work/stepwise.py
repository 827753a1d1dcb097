"""Families whose neighbouring terms have a simple ratio: walked to from the mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from stochastic import sizes
from stochastic.work.distribution import SMALLEST_LOG, Distribution, Reals

__all__ = ["Stepwise", "apart", "complement", "first_held", "shortly", "two_doubles"]

#: Farthest from the mode that a term is reached step by step, at 12 ns a step.
_WALKABLE = sizes.WALK_STEPS


class Stepwise(Distribution):
    """A family whose neighbours have a simple ratio: the terms are walked to, from the mode."""

    __slots__ = ()

    if TYPE_CHECKING:  # a field or a property

        @property
        def mode(self) -> int:
            """A most probable value."""

    def _steps(self) -> tuple[float, float, float, float]:
        """(ratio, rest, shape, slope): f(k+1)/f(k) = (ratio + rest)·(shape + slope·k)/(k + 1)."""
        raise NotImplementedError

    def _direct(self, k: Reals) -> Reals:
        """P(W = k) without steps."""
        raise NotImplementedError

    def pmf(self, k: Reals) -> Reals:
        """P(W = k), walked to where that is near, to the last digits."""
        if k.size == 0:
            return np.zeros(k.shape)
        first, last = int(k.min()), int(k.max())
        if max(last, self.mode) - min(first, self.mode) > _WALKABLE:
            return self._direct(k)
        return self.table(first, last)[(k - first).astype(np.int64)]

    def table(self, first: int, last: int) -> Reals:
        """P(W = k) for k = first..last."""
        scale = float(self._direct(np.array([float(self.mode)]))[0])
        low, high = first, last
        if max(last, self.mode) - min(first, self.mode) <= _WALKABLE:
            low, high = min(first, self.mode), max(last, self.mode)
        elif not first <= self.mode <= last:
            scale = float(self._direct(np.array([float(self._start(first, last))]))[0])
        return scale * self.relative(low, high)[first - low : last - low + 1]

    def relative(self, first: int, last: int) -> Reals:
        """The table over its largest term."""
        from stochastic.kernels.recurrence import walk

        terms = np.zeros(last - first + 1)
        walk(first, last, self._start(first, last), *map(float, self._steps()), terms)
        return terms

    def _start(self, first: int, last: int) -> int:
        return min(max(self.mode, first), last)


def first_held(log_pmf: Callable[[int], float], none: int, held: int) -> int:
    """On the way from a value whose probability no double holds to one that is: the first held."""
    while abs(held - none) > 1:
        middle = (held + none) // 2
        if log_pmf(middle) < SMALLEST_LOG:
            none = middle
        else:
            held = middle
    return held


def apart(x: float, mean: float) -> float:
    """x·log(x/m) + m - x, to a few digits: minus the logarithm of a term of Loader's product."""
    return x * math.log1p((x - mean) / mean) - (x - mean)


def complement(p: float) -> tuple[float, float]:
    """1 - p as a double and what it lacks."""
    q = 1 - p
    return q, (1 - q) - p


def two_doubles(x: Fraction) -> tuple[float, float]:
    """A fraction as a double and what it lacks."""
    high = float(x)
    return high, float(x - Fraction(high))


def shortly(x: float) -> str:
    """A number as people write it: a whole one without its .0."""
    return repr(int(x)) if x.is_integer() and x < 2**53 else repr(x)
