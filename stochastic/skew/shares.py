"""Invert the laws of loads of bins whose shares are fixed, or made of random weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import check_integer
from stochastic.errors import LawError
from stochastic.labels import law_array
from stochastic.skew.counts import NEGLIGIBLE, ROUNDOFF, Counts, Table, poisson_reach
from stochastic.skew.weights import WeightLaw
from stochastic.work.distribution import first_true, tabulate
from stochastic.work.pmf import Pmf

_TINY = 1e-200  # mean load that counts as 0
_LEFT_OUT = 1e-19  # probability of loads that are left out
_MISSING = 1e-9  # probability that nodes near the middle may leave out
_MOST = sizes.LOADS_QUADRATURE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoadLaw(Pmf):
    """The law of one number of a set of loads: a Pmf with an error.

    Attributes
    ----------
    error : float
        Bound on the error of any probability P(number <= x). If ``is_estimate``, the probabilities
        are shares of simulations, and the bound holds with a confidence of 0.9999
        (Dvoretzky–Kiefer–Wolfowitz).
    """

    name: str
    error: float
    is_estimate: bool = False

    def pmf(self, k: Any = None) -> Any:
        """Return P(number = k), for a number or an array; by default, for all k, labelled."""
        if k is not None:
            return Pmf.pmf(self, k)
        axis = {self.name: np.arange(self.low, int(self.high) + 1)}
        return law_array(self.weights, {}, **axis)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Bins in groups: the bins in the order of groups, and the place of the first of each group."""

    order: Ints
    starts: Ints
    tile: int

    @classmethod
    def from_groups(cls, groups: Any, bins: int, tile: Any) -> Layout:
        """Check and return a layout; LawError if the groups do not contain each bin once."""
        tile = check_integer("tile", tile, least=1, example=128)
        if isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str):
            parts = list(groups)
            if all(np.ndim(part) == 0 for part in parts):
                widths = [check_integer("a size of groups", part, least=1) for part in parts]
                ends = np.cumsum(widths)
                parts = np.split(np.arange(ends[-1] if len(ends) else 0), ends[:-1])
        else:
            count = check_integer("groups", groups, least=1, most=bins, example=8)
            parts = np.array_split(np.arange(bins), count)
        order = np.concatenate([np.ravel(part) for part in parts]) if parts else np.empty(0)
        if not np.array_equal(np.sort(order), np.arange(bins)) or not all(map(len, parts)):
            raise LawError(
                f"groups = {groups!r:.60}: expected each of the bins 0 to {bins - 1} in one group: "
                f"a number of groups, their sizes with the sum {bins}, or lists of bins"
            )
        starts = np.cumsum([0, *map(len, parts[:-1])])
        return cls(order=order.astype(np.int64), starts=starts, tile=tile)

    def measure(self, loads: Ints) -> dict[str, Ints]:
        """Return the number of each law, for rows of loads of all bins."""
        tiles = -(-loads // self.tile)
        return {
            "largest": loads.max(axis=1),
            "busiest": self._totals(loads).max(axis=1),
            "occupied": np.count_nonzero(loads, axis=1),
            "tiles": tiles.sum(axis=1),
            "busiest_tiles": self._totals(tiles).max(axis=1),
        }

    def _totals(self, loads: Ints) -> Ints:
        return np.asarray(np.add.reduceat(loads[:, self.order], self.starts, axis=1))


@dataclass(frozen=True, kw_only=True, eq=False)
class InvertedLoads:
    """Laws of loads, from probabilities of independent counts that are inverted and added up."""

    items: int
    layout: Layout

    @property
    def total(self) -> float:
        """Return the sum of all probabilities."""
        return 1.0

    @property
    def error(self) -> float:
        """Return a bound on the error of probabilities in addition to that of inversions."""
        return 2 * math.sqrt(self.items) * ROUNDOFF  # rounding of shares (Pinsker's inequality)

    def counts(self, by_group: bool) -> list[Counts]:
        """Return independent counts of bins, or of groups, whose probabilities add up."""
        raise NotImplementedError

    def rows(self, by_group: bool, tile: int) -> tuple[int, int] | None:
        """Return the range of the number of tiles of the fullest unit; None if counts give it."""
        raise NotImplementedError

    def columns(self, tile: int) -> tuple[int, int]:
        """Return the range of the number of tiles of all bins."""
        raise NotImplementedError

    def law(self, name: str) -> LoadLaw:
        """Return the law of a number."""
        is_total = name in ("occupied", "tiles")
        x, y, table, error = self._invert("", name) if is_total else self._invert(name, "")
        low, cdf = (y, np.cumsum(table[0])) if is_total else (x, table[:, 0])
        rising = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0))
        return LoadLaw(
            distribution=tabulate(low, np.diff(rising, prepend=0.0) / rising[-1]),
            name=name,
            error=2 * error + len(cdf) * ROUNDOFF,
        )

    def joint(self, first: str, second: str) -> tuple[int, int, Floats]:
        """Return the first values of two numbers, and their joint probabilities."""
        low, other, table, _ = self._invert(first, second)
        chances = np.maximum(np.diff(table, axis=0, prepend=0.0), 0.0)
        return low, other, chances / chances.sum()

    def _invert(self, first: str, second: str) -> tuple[int, int, Floats, float]:
        """Return the first x, the first y, and P(first <= x, second = y); "" sets no condition."""
        if self.items == 0:
            return 0, 0, np.ones((1, 1)), 0.0
        by_group = first.startswith("busiest")
        x_tile = self.layout.tile if first == "busiest_tiles" else int(first != "")
        y_tile = {"": 0, "occupied": self.items}.get(second, self.layout.tile)
        columns = self.columns(y_tile) if y_tile else (0, 0)
        rows = self.rows(by_group, x_tile) if x_tile else None
        low = rows[0] if rows else 0
        if rows and rows[0] == rows[1]:
            by_group, x_tile, rows = False, 0, None
        is_joined = by_group and x_tile == 1 and not y_tile
        options = {"by_group": by_group and not is_joined, "rows": rows, "columns": columns}
        results = [each.invert(x_tile, y_tile, **options) for each in self.counts(is_joined)]
        table = sum(result[1] for result in results)
        error = sum(result[2] for result in results) + self.error
        return low or results[0][0], columns[0], table, error / self.total


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedShares(InvertedLoads):
    """Laws of loads of bins with fixed probabilities."""

    shares: Floats

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random loads of all bins, in rows."""
        return np.asarray(rng.multinomial(self.items, self.shares / self.shares.sum(), size))

    def _units(self, by_group: bool) -> list[Floats]:
        """Return the shares of the bins of each group, or the share of each."""
        parts = np.split(self.shares[self.layout.order], self.layout.starts[1:])
        return [np.array([math.fsum(part)]) for part in parts] if by_group else parts

    def counts(self, by_group: bool) -> list[Counts]:
        """Return Poisson counts; equal bins, or groups, are one kind."""
        parts = self._units(by_group)
        distinct, place = np.unique(self.items * np.concatenate(parts), return_inverse=True)
        empty = int(np.searchsorted(distinct, _TINY, side="right"))
        kinds: Counter[tuple[tuple[int, int], ...]] = Counter()
        for part in np.split(place - empty, np.cumsum([len(part) for part in parts[:-1]])):
            used, times = np.unique(part[part >= 0], return_counts=True)
            kinds[tuple(zip(used.tolist(), times.tolist(), strict=True))] += 1
        groups = [(count, key) for key, count in kinds.items() if key]
        return [Counts.from_rates(self.items, distinct[empty:], groups)]

    def columns(self, tile: int) -> tuple[int, int]:
        """Return the range of the number of tiles of all bins."""
        return self.counts(False)[0].tile_range(tile)

    def rows(self, by_group: bool, tile: int) -> tuple[int, int] | None:
        """Return the range of the load of the fullest unit; None for larger tiles.

        Loads are negatively associated: P(all <= m) is at most the product of the P(load <= m).
        """
        from scipy.special import betainc, betaincc

        if tile > 1:
            return None
        shares = np.concatenate(self._units(by_group))
        shares = np.minimum(shares[shares * self.items > _TINY] / self.shares.sum(), 1.0)
        distinct, copies = np.unique(shares, return_counts=True)
        items = self.items

        def is_above(m: int) -> bool:
            return m >= items or copies @ betainc(m + 1.0, items - m, distinct) < _LEFT_OUT

        def is_possible(m: int) -> bool:
            if m >= items:
                return True
            chances = np.maximum(betaincc(m + 1.0, items - m, distinct), 5e-324)
            return bool(copies @ np.log(chances) > math.log(_LEFT_OUT))

        low = first_true(is_possible, -(-items // len(shares)))
        assert low is not None
        high = first_true(is_above, low)
        assert high is not None
        return low, high


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomShares(InvertedLoads):
    r"""Laws of loads of bins whose shares are independent weights, divided by their sum.

    Let w be a weight, and g(n, s) the probability that a Poisson count with the mean s·w is n.
    The integral of s**(N - 1)·exp(-s·Σw) gives 1 / Σw**N. So P(each unit meets a condition) is N
    times the integral over log s of the coefficient of z**N in the product of factors
    Σ g(n, s) z**n. The trapezoidal rule has an error below 2 cos(θ)**-N / (exp(2πθ/h) - 1) with the
    step h, for all θ < π/2, because the integrand is analytic where \|Im log s\| < π/2, and its
    integral there is at most cos(θ)**-N.
    """

    weights: WeightLaw
    is_even: bool = False

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Return random loads of all bins, in rows; of even spreads if ``is_even``."""
        bins = len(self.layout.order)
        drawn = self.weights.draw(rng, (size, bins))
        while (is_empty := ~(drawn.max(axis=1) > 0)).any():
            drawn[is_empty] = self.weights.draw(rng, (int(is_empty.sum()), bins))
        drawn /= drawn.max(axis=1, keepdims=True)  # no sum overflows
        drawn /= drawn.sum(axis=1, keepdims=True)
        if self.is_even:
            return spread_evenly(self.items, drawn, rng)
        return np.asarray(rng.multinomial(self.items, drawn))

    @cached_property
    def _step(self) -> float:
        theta = np.linspace(0, math.pi / 2, 1025)[1:-1]
        limits = NEGLIGIBLE - self.items * np.log(np.cos(theta))
        return float(np.max(2 * math.pi * theta / limits))

    @cached_property
    def _centre(self) -> float:
        """Return log s, where s times the mean of all weights is the number of items."""
        middle = math.log(self.items / len(self.layout.order)) - math.log(self.weights.mean)
        if self.weights.concentration:
            return middle
        return min(max(middle, self._ends[0]), self._ends[1])

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return values of log s beyond which the integrand is negligible."""
        least, most = self.weights.span
        first = math.log(self.items / len(self.layout.order)) - math.log(most)
        last = math.log(self.items + float(poisson_reach(NEGLIGIBLE, self.items)))
        return first - 1 - NEGLIGIBLE / self.items, last - math.log(least)

    @cached_property
    def is_small(self) -> bool:
        """True if the laws are inverted in seconds."""
        if self.items == 0:
            return True
        law = self.weights
        if law.chances is None or law.terms * min(self.items, _MOST) > _MOST or self.items > _MOST:
            return False
        nodes = 1 if law.concentration else 30 + 2 / self._step
        node = self._node(self._centre)
        return nodes * len(node.bins[0].chances) * (node.reach / 2 + 20 * law.terms) < _MOST

    def _node(self, log_s: float) -> Counts:
        """Return counts at a node, whose probabilities include the weight of the node."""
        law, items, bins = self.weights, self.items, len(self.layout.order)
        s = math.exp(log_s)
        assert law.chances is not None
        last = items
        if law.span[1] < math.inf:
            mean = s * law.span[1]
            last = math.ceil(mean + float(poisson_reach(2 * NEGLIGIBLE, mean)))
        n = np.arange(last + 1.0)
        chances = law.chances(n, s)[: items + 1]
        slopes = 2.0 ** np.arange(-3, 9) / items
        logs = np.log(np.exp(np.multiply.outer(slopes, n[: items + 1])) @ chances)
        reach = float(np.min((bins * logs + 2 * NEGLIGIBLE) / slopes)) - items
        log_total = -math.log(items * self._step)
        if law.concentration:
            total = Pmf.negative_binomial(bins * law.concentration, 1 / (1 + s))
            log_total = math.log(total.pmf(items))
        rounding = 150.0 + 2 * len(chances) + law.terms
        sizes_ = Counter(np.diff(self.layout.starts, append=bins).tolist())
        return Counts(
            items=items,
            bins=[Table(low=0, chances=chances, copies=bins, rounding=rounding)],
            kinds=[(count, ((0, size),)) for size, count in sizes_.items()],
            log_total=log_total,
            reach=max(reach, items + 1.0),
        )

    @cached_property
    def _nodes(self) -> tuple[list[Counts], float]:
        """Return the nodes that are not negligible, and the probability of the others."""
        if self.weights.concentration:
            return [self._node(self._centre)], 0.0
        for is_full in (False, True):
            result, mass = [], 0.0
            for sign in (1, -1):
                place = min(sign, 0)
                while (
                    self._ends[0] <= (log_s := self._centre + place * self._step) <= self._ends[1]
                ):
                    node = self._node(log_s)
                    chance = float(node.invert(0)[1][0, 0])
                    if chance > math.exp(-NEGLIGIBLE):
                        result.append(node)
                        mass += chance
                    elif not is_full:
                        break
                    place += sign
            missing = abs(self.total - mass)
            if missing < _MISSING:
                break
        return result, missing

    @property
    def total(self) -> float:
        """Return P(not all weights are 0)."""
        return 1.0 - self.weights.empty ** len(self.layout.order)

    @property
    def error(self) -> float:
        """Return a bound on the error by the quadrature, and by the rounding of weights."""
        rounding = 2 * math.sqrt(self.items) * ROUNDOFF
        return self._nodes[1] + 8 * math.exp(-NEGLIGIBLE) + rounding + self.weights.missing

    def counts(self, by_group: bool) -> list[Counts]:
        """Return the counts at each node of the quadrature."""
        nodes = self._nodes[0]
        return [self._join(node) for node in nodes] if by_group else nodes

    def _join(self, node: Counts) -> Counts:
        """Return counts whose bins are the groups, up to the number of items."""
        bins, kinds = [], []
        for count, ((_, size),) in node.kinds:
            chances = node.bins[0].chances
            for _ in range(size - 1):
                chances = np.convolve(chances, node.bins[0].chances)[: self.items + 1]
            rounding = size * (node.bins[0].rounding + len(chances))
            kinds.append((count, ((len(bins), 1),)))
            bins.append(Table(low=0, chances=chances, copies=count, rounding=rounding))
        return replace(node, bins=bins, kinds=kinds)

    def columns(self, tile: int) -> tuple[int, int]:
        """Return the range of the number of tiles of all bins."""
        least = -(-self.items // tile)
        return least, min(self.items, least + len(self.layout.order) - 1)

    def rows(self, by_group: bool, tile: int) -> tuple[int, int] | None:
        """Return the range of the number of tiles of the fullest unit."""
        bins = len(self.layout.order)
        widths = np.diff(self.layout.starts, append=bins) if by_group else np.ones(bins)
        most = -(-self.items // tile) + int(widths.max()) - 1
        return -(-self.items // (tile * len(widths))), min(self.items, most)


def spread_evenly(items: int, shares: Floats, rng: np.random.Generator) -> Ints:
    """Return loads of bins with these shares, in rows: items · share, rounded down or up.

    This is systematic sampling: the mean load of a bin is exactly items · share.
    """
    ends = np.cumsum(shares, axis=1)
    ends *= items
    ends += rng.random((len(ends), 1))
    places = np.minimum(ends.astype(np.int64), items)
    places[:, -1] = items
    return np.diff(places, axis=1, prepend=0)
