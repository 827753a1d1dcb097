"""The law of the loss in fractions: the oracle of the answers in doubles, for small laws.

With weights as whole numbers over a common denominator, the ways in which ``lanes`` items make each
sum are the coefficients of a power of a polynomial. Its value at a power of two that is above every
coefficient is one integer that holds them all, so that one power of one integer gives the ways with
no item above a; the differences from one a to the next are those whose largest item is a.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from stochastic.checks import ZERO_WORK, LawError, check_choice, check_integer


def _integers(weights: Sequence[Fraction]) -> list[int]:
    """The weights over their common denominator."""
    common = math.lcm(*(Fraction(w).denominator for w in weights))
    return [int(w * common) for w in weights]


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactLaw:
    """X = lanes · max / sum of independent items, every answer a fraction.

    Attributes
    ----------
    low, weights : int, tuple of Fraction
        The law of an item: probabilities of low, low + 1, ...; only their ratios count.
    lanes : int
        Items in lockstep.
    zero_work : {"one", "drop", "zero"}
        What a group without any work loses: X = 1, not counted, X = 0.

    >>> die = ExactLaw(low=1, weights=(Fraction(1, 6),) * 6, lanes=2)
    >>> die.mean(), die.quantile(Fraction(1, 2)), die.cdf(Fraction(6, 5))
    (Fraction(64877, 49896), Fraction(5, 4), Fraction(4, 9))
    """

    low: int
    weights: tuple[Fraction, ...]
    lanes: int
    zero_work: str = "one"
    _moments: dict[int, Fraction] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_integer("low", self.low, least=0)
        check_integer("lanes", self.lanes, least=1, example=32)
        check_choice("zero_work", self.zero_work, ZERO_WORK)
        if not any(self.weights) or min(self.weights) < 0:
            raise LawError("weights: expected fractions of 0 or more, at least one of them above 0")
        if self.zero_work == "drop" and self.low == 0 and not any(self.weights[1:]):
            raise LawError("there is never any work, and zero_work='drop' drops every group")

    # --- whole numbers
    @cached_property
    def _all(self) -> int:
        whole: int = sum(_integers(self.weights)) ** self.lanes
        return whole

    @property
    def _idle(self) -> int:
        """Groups without any work."""
        return self._ways.get((0, 0), 0)

    @property
    def _group_count(self) -> int:
        """Groups that count."""
        return self._all - (self._idle if self.zero_work == "drop" else 0)

    @cached_property
    def _ways(self) -> dict[tuple[int, int], int]:
        """Return how many of ``_all`` equally likely groups have each (max, sum)."""
        size = self._all.bit_length() // 8 + 1  # bytes that hold any coefficient
        result, below, before = {}, 0, 0
        for a, weight in enumerate(_integers(self.weights)):
            if weight == 0:
                continue
            below += weight << (8 * size * a)
            power = below**self.lanes
            packed = (power - before).to_bytes(size * (self.lanes * a + 1), "little")
            before = power
            for b in range(a, self.lanes * a + 1):
                ways = int.from_bytes(packed[size * b : size * (b + 1)], "little")
                if ways:
                    result[self.low + a, self.lanes * self.low + b] = ways
        return result

    # --- atoms
    def joint(self) -> dict[tuple[int, int], Fraction]:
        """P(max = a, sum = b), groups without any work included."""
        return {outcome: Fraction(ways, self._all) for outcome, ways in self._ways.items()}

    def pmf(self) -> dict[Fraction, Fraction]:
        """P(X = x), ascending."""
        losses, ways = self._losses
        return {x: Fraction(w, self._group_count) for x, w in zip(losses, ways, strict=True)}

    @cached_property
    def _losses(self) -> tuple[list[Fraction], list[int]]:
        """The losses, ascending, and how many groups have each."""
        result: dict[tuple[int, int], int] = {}
        for (a, b), ways in self._ways.items():
            if b > 0:
                common = math.gcd(self.lanes * a, b)
                key = self.lanes * a // common, b // common
                result[key] = result.get(key, 0) + ways
        if self._idle and self.zero_work != "drop":
            key = (1, 1) if self.zero_work == "one" else (0, 1)
            result[key] = result.get(key, 0) + self._idle
        largest = max(below for _, below in result)
        ascending = sorted(result, key=lambda x: x[0] * largest**2 // x[1])
        return [Fraction(*x) for x in ascending], [result[x] for x in ascending]

    # --- moments
    def mean(self) -> Fraction:
        """E[X]."""
        return self.moment(1)

    def moment(self, k: int) -> Fraction:
        """E[X**k]."""
        if k not in self._moments:
            self._moments[k] = self._moment(k)
        return self._moments[k]

    def _moment(self, k: int) -> Fraction:
        of_sum: dict[int, int] = {}
        for (a, b), ways in self._ways.items():
            if b > 0:
                of_sum[b] = of_sum.get(b, 0) + ways * (self.lanes * a) ** k
        common = math.lcm(*of_sum)
        part = sum(ways * (common // b) ** k for b, ways in of_sum.items())
        idle = self._idle if self.zero_work == "one" or (self.zero_work == "zero" and k == 0) else 0
        return Fraction(part + idle * common**k, common**k * self._group_count)

    def var(self) -> Fraction:
        """The variance."""
        return self.moment(2) - self.mean() ** 2

    # --- probabilities
    @cached_property
    def _cumulative_counts(self) -> list[int]:
        """Groups that lose at most each of the losses."""
        return list(accumulate(self._losses[1]))

    def cdf(self, t: Fraction) -> Fraction:
        """P(X <= t)."""
        at = bisect_right(self._losses[0], t)
        return Fraction(self._cumulative_counts[at - 1], self._group_count) if at else Fraction(0)

    def sf(self, t: Fraction) -> Fraction:
        """P(X > t)."""
        return 1 - self.cdf(t)

    def quantile(self, q: Fraction) -> Fraction:
        """The smallest loss x with P(X <= x) >= q."""
        if not 0 <= q <= 1:
            raise LawError(f"q = {q!r}: expected a probability from 0 to 1")
        return self._losses[0][bisect_left(self._cumulative_counts, q * self._group_count)]
