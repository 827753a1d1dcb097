"""The law of a launch in whole numbers: slow, and as plain as the theorem is.

Polynomials in z (blocks begun) and y (their work) are single integers, z and y large powers of two.
The durations have whole weights that sum to W, so that what stands at z**n is over W**n. See
stochastic.launch_time.inversion; here x / (x - 1) · (A_s**M - A_{s-1}**M) is H(s)·x times the sum
of A_s**m A_{s-1}**(M-1-m), m = 0..M-1, without any difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Polynomials:
    """Layout of polynomials, of degree ``most`` in z and below ``width`` in y, in an integer."""

    most: int
    width: int
    bits: int

    def shift(self, value: int, blocks: int, work: int) -> int:
        """Times z**blocks y**work, up to the highest power of z."""
        value <<= self.bits * (blocks * self.width + (work if self.width > 1 else 0))
        return value & ((1 << self.bits * self.width * (self.most + 1)) - 1)

    def product(self, factors: Sequence[tuple[int, int]]) -> int:
        """The product of (polynomial, power)."""
        result = 1
        for value, power in factors:
            for _ in range(power):
                result = self.shift(result * value, 0, 0)
        return result

    def row(self, value: int, blocks: int) -> list[int]:
        """Coefficients of z**blocks, a number for each power of y."""
        mask, at = (1 << self.bits) - 1, self.bits * self.width * blocks
        return [value >> (at + self.bits * i) & mask for i in range(self.width)]


@dataclass(frozen=True, kw_only=True, eq=False)
class RationalLaunch:
    """Weights of durations 0, 1, ..., K for each kind of slots, which are served in this order.

    ``weights`` and the sums to which they are, alike for all; ``idle`` the probability that a block
    has no work, which the weights leave out.
    """

    weights: tuple[tuple[int, ...], ...]
    slots: tuple[int, ...]
    blocks: int
    idle: Fraction = Fraction(0)

    @cached_property
    def whole(self) -> int:
        """Return the sum of the weights."""
        return sum(self.weights[0])

    @property
    def longest(self) -> int:
        """The longest duration."""
        return len(self.weights[0]) - 1

    @cached_property
    def shares(self) -> list[Fraction]:
        """P(n blocks have work), n = 0..blocks."""
        n, p = self.blocks, self.idle
        return [math.comb(n, k) * (1 - p) ** k * p ** (n - k) for k in range(n + 1)]

    def _plan(self, totals: bool) -> Polynomials:
        width = self.blocks * self.longest + 1 if totals else 1
        bits = self.blocks * self.whole.bit_length() + sum(self.slots).bit_length() + 4
        return Polynomials(self.blocks, width, bits)

    def _starts(self, plan: Polynomials, last: int) -> list[list[int]]:
        """H(0), ..., H(last) of each kind, with the work up to then."""
        result = []
        for weights in self.weights:
            starts = [1]
            for u in range(1, last + 1):
                near = range(1, min(u, self.longest) + 1)
                terms = (plan.shift(weights[k] * starts[u - k], 1, k) for k in near)
                starts.append(sum(terms))
            result.append(starts)
        return result

    def count_blocks(self, t: int, *, totals: bool = False) -> list[list[Fraction]]:
        """P(n blocks end by t, with this total work): a row for each n = 0..blocks.

        Without ``totals`` a row has one entry.
        """
        plan = self._plan(totals)
        starts = self._starts(plan, t)
        ending = [self._ending(plan, weights, t) for weights in self.weights]
        alive = [1] * len(self.slots)  # A_{s-1}
        result = 0
        for s in range(t + 1):
            served = []  # A_s
            for g, begun in enumerate(starts):
                gone = plan.shift(begun[s] * ending[g][t - s], 0, 0)
                served.append(alive[g] - begun[s] + gone)
            for g, slots in enumerate(self.slots):
                others = [(served[h], self.slots[h]) for h in range(g)]
                others += [(alive[h], self.slots[h]) for h in range(g + 1, len(self.slots))]
                last = plan.shift(starts[g][s] * ending[g][t - s], 0, 0)
                each = sum(
                    plan.product([(served[g], m), (alive[g], slots - 1 - m)]) for m in range(slots)
                )
                result += plan.product([*others, (last, 1), (each, 1)])
            alive = served
        rows = [plan.row(result, n) for n in range(self.blocks + 1)]
        rows[0][0] = 1
        return [[Fraction(one, self.whole**n) for one in row] for n, row in enumerate(rows)]

    def _ending(self, plan: Polynomials, weights: Sequence[int], t: int) -> list[int]:
        """x = z Σ_{k<=d} p(k) y**k for d = 0..t."""
        result = [0]
        for k in range(1, t + 1):
            more = plan.shift(weights[k], 1, k) if k <= self.longest else 0
            result.append(result[-1] + more)
        return result

    def cdf(self, t: int) -> Fraction:
        """P(C <= t)."""
        if t < 0:
            return Fraction(0)
        rows = self.count_blocks(t)
        return sum(
            (share * row[0] for share, row in zip(self.shares, rows, strict=True)), Fraction(0)
        )

    def cdf_values(self) -> list[Fraction]:
        """P(C <= t) for t = 0, 1, ... up to 1."""
        result = [self.cdf(0)]
        while result[-1] < 1:
            result.append(self.cdf(len(result)))
        return result

    def joint(self) -> list[list[Fraction]]:
        """P(C <= t, T = w) for t = 0, 1, ... until all have ended; w = 0..blocks·K."""
        result: list[list[Fraction]] = []
        while not result or sum(result[-1]) < 1:
            rows = self.count_blocks(len(result), totals=True)
            columns = zip(*rows, strict=True)
            result.append(
                [sum(map(Fraction.__mul__, self.shares, c), Fraction(0)) for c in columns]
            )
        return result

    def last_start_cdf(self) -> list[Fraction]:
        """P(the last block begins by s) for s = 0, 1, ... up to 1; 0 where none has work."""
        plan, result = self._plan(False), list[Fraction]()
        while not result or result[-1] < 1:
            s = len(result)
            alive = []
            for weights, begun in zip(self.weights, self._starts(plan, s), strict=True):
                tails = [sum(weights[j + 1 :]) for j in range(s + 1)]
                alive.append(plan.shift(sum(begun[u] * tails[s - u] for u in range(s + 1)), 1, 0))
            value = plan.product(list(zip(alive, self.slots, strict=True)))
            few = [Fraction(plan.row(value, n)[0], self.whole**n) for n in range(self.blocks)]
            at_least = [1 - sum(few[:n], Fraction(0)) for n in range(self.blocks + 1)]
            result.append(sum(map(Fraction.__mul__, self.shares, at_least), Fraction(0)))
        return result


def in_fractions(
    laws: Sequence[Sequence[Fraction]], slots: Sequence[int], blocks: int
) -> RationalLaunch:
    """Return the launch of blocks whose laws are P(D = 0), P(D = 1), ... on each kind of slots."""
    size = max(map(len, laws))
    idle = laws[0][0]
    rows = [[*law[1:], *[Fraction(0)] * (size - len(law))] for law in laws]
    shares = [[one / sum(row) for one in row] for row in rows]
    common = math.lcm(*(one.denominator for row in shares for one in row))
    weights = tuple((0, *(int(one * common) for one in row)) for row in shares)
    return RationalLaunch(weights=weights, slots=tuple(slots), blocks=blocks, idle=idle)
