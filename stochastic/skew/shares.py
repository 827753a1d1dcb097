"""Invert the laws of loads of bins whose shares are fixed, or made of random weights."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.skew.counts import NEGLIGIBLE, ROUNDOFF, Counts, CountTable, poisson_reach
from stochastic.skew.law import LoadLaw, Loads
from stochastic.skew.weights import WeightLaw
from stochastic.work.distribution import first_true, tabulate
from stochastic.work.pmf import Pmf

_TINY = 1e-200  # mean load that counts as 0
_LEFT_OUT = 1e-19  # probability of loads that are left out
_QUADRATURE = 32.0  # minus the logarithm of the error of the quadrature
_LEAST_NODE = 1e-15  # probability of a node that is left out
_MISSING = 1e-12  # probability of all nodes that are left out
_MOST = sizes.LOADS_QUADRATURE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FixedLoads(Loads):
    """Laws of loads of bins with fixed probabilities, ``shares``."""

    shares: Floats
    _known: dict[bool, list[Counts]] = field(default_factory=dict)

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random loads of all bins, in rows."""
        return np.asarray(rng.multinomial(self.items, self.shares / self.shares.sum(), size))

    def law(self, name: str) -> LoadLaw:
        """Return the law of a number, such as ``largest``."""
        is_total = name in ("occupied", "tiles")
        x, y, table, error = self._invert("", name) if is_total else self._invert(name, "")
        low, cdf = (y, np.cumsum(table[0])) if is_total else (x, table[:, 0])
        rising = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0))
        return LoadLaw(
            distribution=tabulate(low, np.diff(rising, prepend=0.0) / rising[-1]),
            name=name,
            error=2 * error + len(cdf) * ROUNDOFF,
        )

    def _joint(self, first: str, second: str) -> tuple[int, int, Floats, float]:
        low, other, table, error = self._invert(first, second)
        chances = np.maximum(np.diff(table, axis=0, prepend=0.0), 0.0)
        return low, other, chances / chances.sum(), 4 * error

    def _invert(self, first: str, second: str) -> tuple[int, int, Floats, float]:
        """Return the first x, the first y, and P(first <= x, second = y); "" sets no condition."""
        if self.items == 0:
            return 0, 0, np.ones((1, 1)), 0.0
        by_group = first.startswith("busiest")
        x_tile = self.layout.tile if first == "busiest_tiles" else int(first != "")
        y_tile = {"": 0, "occupied": self.items}.get(second, self.layout.tile)
        columns = self._columns(y_tile) if y_tile else (0, 0)
        rows = self._rows(by_group, x_tile) if x_tile else None
        low = rows[0] if rows else 0
        if rows and rows[0] == rows[1]:
            by_group, x_tile, rows = False, 0, None
        is_joined = by_group and x_tile == 1 and not y_tile
        by_group = by_group and not is_joined
        results = [
            counts.invert(x_tile, y_tile, by_group=by_group, rows=rows, columns=columns)
            for counts in self._counts(is_joined)
        ]
        table = np.sum([result[1] for result in results], axis=0)
        error = math.fsum(result[2] for result in results) + self._error
        return low or results[0][0], columns[0], table, error

    # --- what depends on the law of shares
    @property
    def _error(self) -> float:
        """Return a bound on the error in addition to that of inversions: rounding (Pinsker)."""
        return 2 * math.sqrt(self.items) * ROUNDOFF

    def _units(self, by_group: bool) -> list[Floats]:
        """Return the shares of the bins of each group, or the share of each group."""
        parts = np.split(self.shares[self.layout.order], self.layout.starts[1:])
        return [np.array([math.fsum(part)]) for part in parts] if by_group else parts

    def _counts(self, by_group: bool) -> list[Counts]:
        """Return independent counts of bins, or of groups, whose probabilities add up."""
        if by_group not in self._known:
            parts = self._units(by_group)
            distinct, place = np.unique(self.items * np.concatenate(parts), return_inverse=True)
            empty = int(np.searchsorted(distinct, _TINY, side="right"))
            kinds: Counter[tuple[tuple[int, int], ...]] = Counter()
            for part in np.split(place - empty, np.cumsum([len(part) for part in parts[:-1]])):
                used, times = np.unique(part[part >= 0], return_counts=True)
                kinds[tuple(zip(used.tolist(), times.tolist(), strict=True))] += 1
            groups = [(count, key) for key, count in kinds.items() if key]
            self._known[by_group] = [Counts.from_rates(self.items, distinct[empty:], groups)]
        return self._known[by_group]

    def _columns(self, tile: int) -> tuple[int, int]:
        """Return the range of the number of tiles of all bins."""
        return self._counts(False)[0].tile_range(tile)

    def _rows(self, by_group: bool, tile: int) -> tuple[int, int] | None:
        """Return the range of the number of tiles of the fullest unit; None if counts give it.

        Loads are negatively associated: P(all <= m) is at most the product of the P(load <= m).
        """
        from scipy.special import betainc, betaincc

        if tile > 1:
            return None
        parts, items = np.concatenate(self._units(by_group)), self.items
        parts = np.minimum(parts[parts * items > _TINY] / self.shares.sum(), 1.0)
        shares, copies = np.unique(parts, return_counts=True)

        def is_possible(m: int) -> bool:
            below = np.maximum(betaincc(m + 1.0, max(items - m, 1), shares), 5e-324)
            return m >= items or bool(copies @ np.log(below) > math.log(_LEFT_OUT))

        def is_most(m: int) -> bool:
            return m >= items or bool(copies @ betainc(m + 1.0, items - m, shares) < _LEFT_OUT)

        low = first_true(is_possible, -(-items // len(parts))) or 0
        return low, first_true(is_most, low) or low


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RandomLoads(FixedLoads):
    """Laws of loads of bins whose shares are independent weights, divided by their sum.

    Let w be a weight, and g(n, s) the probability that a Poisson count with the mean s·w is n.
    Because 1 / Σw**N is the integral of s**(N - 1)·exp(-s·Σw) / (N - 1)!, P(each unit meets a
    condition) is N times the integral over log s of the coefficient of z**N in the product of
    factors Σ g(n, s) z**n. The trapezoidal rule with the step h has an error of at most
    2 cos(θ)**-N / (exp(2πθ/h) - 1) for any θ < π/2: where abs(Im log s) <= θ, the integrand is
    analytic, and its integral is at most cos(θ)**-N. With gamma weights, one node is exact.
    """

    weights: WeightLaw

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random loads of all bins, in rows."""
        shares = _draw_shares(self.weights, (size, self.bins), rng)
        return np.asarray(rng.multinomial(self.items, shares))

    @cached_property
    def _step(self) -> float:
        theta = np.linspace(0, math.pi / 2, 1025)[1:-1]
        limits = _QUADRATURE - self.items * np.log(np.cos(theta))
        return float(np.max(2 * math.pi * theta / limits))

    def _node(self, s: float) -> Counts:
        """Return counts at a node, whose probabilities include the weight of the node."""
        law, items = self.weights, self.items
        n = np.arange(items + 1.0)
        assert law.chances is not None
        chances = law.chances(n, s)
        log_total = -math.log(items * self._step)
        if law.concentration:
            total = Pmf.negative_binomial(self.bins * law.concentration, 1 / (1 + s))
            log_total = math.log(total.pmf(items))
        low, high = -50.0, 600.0 / items
        for _ in range(60):  # tilt the law, so that the mean sum is the number of items
            tilt = (low + high) / 2
            terms = chances * np.exp(tilt * n)
            is_high = self.bins * float(terms @ n) > items * float(terms.sum())
            low, high = (low, tilt) if is_high else (tilt, high)
        mass = terms.sum()
        log_total += items * tilt - self.bins * math.log(mass)
        slopes = 2.0 ** np.arange(-3, 9) / items
        logs = np.log(np.exp(np.multiply.outer(slopes, n)) @ (terms / mass))
        reach = float(np.min((self.bins * logs + 2 * NEGLIGIBLE) / slopes)) - items  # Chernoff
        rounding = 200.0 + 4 * len(n) + law.terms + 2 * items * abs(tilt)
        groups = Counter(self.layout.sizes.tolist())
        return Counts(
            items=items,
            bins=[CountTable(low=0, chances=terms / mass, copies=self.bins, rounding=rounding)],
            kinds=[(count, ((0, size),)) for size, count in groups.items()],
            log_total=log_total,
            reach=max(reach, items + 1.0),
        )

    @cached_property
    def nodes(self) -> tuple[list[Counts], float] | None:
        """Return the nodes and the probability that they leave out; None if they take too long."""
        law, items = self.weights, self.items
        if law.chances is None or law.terms * items > _MOST:
            return None
        middle = math.log(items / self.bins) - math.log(law.mean)
        count = 1.0 if law.concentration else 30 + 2 / self._step
        node = self._node(math.exp(middle))
        if count * len(node.bins[0].chances) * (node.reach / 2 + 20 * law.terms) > _MOST:
            return None
        if law.concentration:
            return [node], 0.0
        first = math.log(items / self.bins) - math.log(law.span[1]) - 1 - NEGLIGIBLE / items
        last = math.log(items + float(poisson_reach(NEGLIGIBLE, items))) - math.log(law.span[0])
        middle = min(max(middle, first), last)
        result, missing = [], 1.0 - law.empty**self.bins
        for i in range(2 * math.ceil((last - first) / self._step) + 2):  # alternate sides
            log_s = middle + (i + 1) // 2 * (-1) ** i * self._step
            if first <= log_s <= last and missing > _MISSING:
                node = self._node(math.exp(log_s))
                chance = float(node.invert(0)[1][0, 0])
                if chance > _LEAST_NODE:
                    result.append(node)
                    missing -= chance
        return result, abs(missing)

    @property
    def _error(self) -> float:
        assert self.nodes is not None
        law, rounding = self.weights, 2 * math.sqrt(self.items) * ROUNDOFF
        error = self.nodes[1] + 3 * math.exp(-_QUADRATURE) + rounding + self.bins * law.missing
        return error / (1 - law.empty**self.bins)

    def _counts(self, by_group: bool) -> list[Counts]:
        assert self.nodes is not None
        if not by_group:
            return self.nodes[0]
        result = []  # counts whose bins are the groups
        for node in self.nodes[0]:
            table, bins = node.bins[0], []
            for count, ((_, size),) in node.kinds:
                chances = table.chances
                for _ in range(size - 1):
                    chances = np.convolve(chances, table.chances)[: self.items + 1]
                rounding = size * (table.rounding + len(chances))
                bins.append(CountTable(low=0, chances=chances, copies=count, rounding=rounding))
            kinds = [(each.copies, ((place, 1),)) for place, each in enumerate(bins)]
            result.append(replace(node, bins=bins, kinds=kinds))
        return result

    def _columns(self, tile: int) -> tuple[int, int]:
        most = (self.items + self.bins * (tile - 1)) // tile
        return -(-self.items // tile), min(self.items, most)

    def _rows(self, by_group: bool, tile: int) -> tuple[int, int]:
        groups = self.layout.sizes if by_group else np.ones(self.bins, dtype=np.int64)
        most = -(-self.items // tile) + int(groups.max()) - 1
        return -(-self.items // (tile * len(groups))), min(self.items, most)


def _draw_shares(law: WeightLaw, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    drawn = law.draw(rng, shape)
    while (is_empty := ~(drawn.max(axis=1) > 0)).any():
        drawn[is_empty] = law.draw(rng, (int(is_empty.sum()), shape[1]))
    drawn /= drawn.max(axis=1, keepdims=True)  # no sum overflows
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EvenLoads(Loads):
    """Laws of loads that are spread as evenly as random shares allow, estimated on first use."""

    weights: WeightLaw

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random loads of all bins, in rows."""
        return spread_evenly(self.items, _draw_shares(self.weights, (size, self.bins), rng), rng)


def spread_evenly(items: int, shares: Floats, rng: np.random.Generator) -> Ints:
    """Return loads of bins, in rows: items · share, rounded down or up (systematic sampling)."""
    ends = np.cumsum(shares, axis=1)
    ends *= items
    ends += rng.random((len(ends), 1))
    places = np.minimum(ends.astype(np.int64), items)
    places[:, -1] = items
    return np.diff(places, axis=1, prepend=0)
