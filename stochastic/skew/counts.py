"""Invert generating functions of independent counts that are conditioned on their sum.

Loads of bins with fixed probabilities are independent Poisson counts, given that they sum to the
number N of items. So P(each unit meets a condition) is the coefficient of z**N in a product with
one factor for each unit (bin or group), divided by P(sum = N). A discrete Fourier transform on the
unit circle gives the coefficient. So many nodes are used that aliases are negligible, and nodes at
which the product is provably negligible are left out.

Bound on a factor: |Σ a(n) exp(iφn)| <= V / sin(φ/2), where V is half the total variation of a.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.work.families import poisson_pmf

Complexes = npt.NDArray[np.complex128]
#: Number of groups with the same bins, and for each kind of bins its place and its number.
GroupKind = tuple[int, tuple[tuple[int, int], ...]]

#: Minus the logarithm of a probability that is left out.
_NEGLIGIBLE = 44.0
_ROUNDOFF = 2.0**-53
#: Rounding errors of a term of a factor, in units of roundoff: its probability, root and product.
_TERM_ROUNDING = 70.0
_TOGETHER = sizes.LOADS_TOGETHER
_MOST = sizes.LOADS_PRODUCTS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Probabilities of the counts low, low + 1, ... of each of ``copies`` equal units."""

    low: int
    chances: Floats
    copies: int

    @property
    def half_variation(self) -> float:
        """Return half the total variation of the probabilities."""
        return float(np.abs(np.diff(self.chances, prepend=0.0, append=0.0)).sum()) / 2

    @property
    def rounding(self) -> float:
        """Return a bound on the rounding error of a factor of one unit, in units of roundoff."""
        return _TERM_ROUNDING + 3 * math.sqrt(len(self.chances))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TileTable:
    """A table of counts cut into pieces, in each of which ⌈n / tile⌉ is one of ``tiles``."""

    table: Table
    starts: Ints
    tiles: Ints

    @classmethod
    def from_table(cls, table: Table, tile: int) -> TileTable:
        """Cut a table; pieces are also short enough for sums with a small rounding error."""
        size = len(table.chances)
        tiles = -(-np.arange(table.low, table.low + size) // tile)
        is_start = np.diff(tiles, prepend=-1) != 0
        is_start[:: math.isqrt(size) + 1] = True
        starts = np.flatnonzero(is_start)
        return cls(table=table, starts=starts, tiles=tiles[starts])

    @property
    def half_variation(self) -> float:
        """Return the sum over tiles of half the total variation within each."""
        cuts = self.starts[1:][np.diff(self.tiles) > 0]
        chances = self.table.chances
        return self.table.half_variation + float(np.minimum(chances[cuts], chances[cuts - 1]).sum())

    @property
    def rounding(self) -> float:
        """Return a bound on the rounding error of a factor of one bin, in units of roundoff."""
        return self.table.rounding + len(self.starts)

    def sums(self, circle: Circle, nodes: Ints) -> Complexes:
        """Return Σ P(n) exp(iφ(n - low)) over each piece (rows), at each node (columns)."""
        terms = self.table.chances[:, None] * circle.roots(
            np.arange(len(self.table.chances)), nodes
        )
        return np.add.reduceat(terms, self.starts, axis=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Circle:
    """The first of ``count`` equidistant nodes on the unit circle, at which a product counts.

    ``error`` bounds the error of an inverted probability.
    """

    count: int
    used: int
    items: int
    scale: float
    error: float

    def roots(self, powers: Ints, nodes: Ints) -> Complexes:
        """Return the powers (rows) of the nodes (columns); angles are reduced in whole numbers."""
        turns = np.multiply.outer(powers, nodes)
        return _unit_roots(turns, self.count)

    def parts(self, width: int) -> Iterator[Ints]:
        """Yield the nodes that are used, in parts for which arrays of this width are small."""
        step = max(1, _TOGETHER // max(width, 1))
        for first in range(0, self.used, step):
            yield np.arange(first, min(first + step, self.used))

    def weights(self, nodes: Ints, shift: int) -> Complexes:
        """Return the factors by which values at the nodes add up to the coefficient of z**N.

        ``shift`` is the power of z that was left out of the values. The nodes below the real axis
        contribute the conjugates.
        """
        result = self.roots(np.array([shift - self.items]), nodes)[0]
        return np.asarray(result * np.where(nodes == 0, self.scale, 2 * self.scale))


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """Independent counts of bins, given that they sum to ``items``.

    Attributes
    ----------
    items : int
        Sum of the counts.
    bins : list of Table
        The table of each kind of bins.
    kinds : sequence of GroupKind
        The kinds of groups.
    groups : list of Table
        The table of the total of a group of each kind.
    log_total : float
        Logarithm of P(the independent counts sum to ``items``).
    reach : float
        Distance from ``items`` at which the sum has a negligible probability.
    """

    items: int
    bins: list[Table]
    kinds: Sequence[GroupKind]
    groups: list[Table]
    log_total: float
    reach: float

    @classmethod
    def from_rates(cls, items: int, rates: Floats, kinds: Sequence[GroupKind]) -> Counts:
        """Return Poisson counts with the given means above 0, one for each kind of bins."""
        copies = np.zeros(len(rates), dtype=np.int64)
        for count, bins in kinds:
            for place, times in bins:
                copies[place] += count * times
        total = math.fsum(copies * rates)
        log_total = math.log(poisson_pmf(np.array([float(items)]), total)[0])
        tail = _NEGLIGIBLE + math.log(copies.sum()) - log_total
        sums = np.array([math.fsum(rates[place] * n for place, n in bins) for _, bins in kinds])
        return cls(
            items=items,
            bins=_poisson_tables(items, rates, copies, tail),
            kinds=kinds,
            groups=_poisson_tables(items, sums, np.array([count for count, _ in kinds]), tail),
            log_total=log_total,
            reach=tail / 3 + math.sqrt(tail**2 / 9 + 2 * tail * items),
        )

    def circle(self, half_variations: Floats, copies: Ints, roundings: Floats) -> Circle:
        """Return the nodes at which a product of factors counts, one factor for each unit."""
        count = 2 * int(self.reach / 2) + 3
        with np.errstate(divide="ignore"):
            log_variations = np.log(half_variations)

        def log_bounds(nodes: Ints) -> Floats:
            log_sines = np.log(np.sin(math.pi / count * nodes))
            return np.asarray(copies @ np.minimum(log_variations[:, None] - log_sines, 0.0))

        first, last = 1, count // 2 + 1  # the bound falls from node to node
        while first < last:
            middle = (first + last) // 2
            if log_bounds(np.array([middle]))[0] <= self.log_total - _NEGLIGIBLE:
                last = middle
            else:
                first = middle + 1
        places = np.unique(np.geomspace(1, first, 256).astype(np.int64))
        bounds = np.exp(log_bounds(places[:-1])) @ np.diff(places)  # the sum from 1 to first - 1
        scale = math.exp(-self.log_total) / count
        rounding = (1.0 + 2.0 * float(bounds)) * float(copies @ (roundings + 4)) * _ROUNDOFF * scale
        return Circle(
            count=count,
            used=first,
            items=self.items,
            scale=scale,
            error=rounding + 8 * math.exp(-_NEGLIGIBLE) + math.sqrt(self.items) * _ROUNDOFF,
        )

    @cached_property
    def _tile_cache(self) -> dict[int, list[TileTable]]:
        return {}

    def tile_tables(self, tile: int) -> list[TileTable]:
        """Return the table of each kind of bins, cut at the ends of tiles."""
        if tile not in self._tile_cache:
            self._tile_cache[tile] = [TileTable.from_table(table, tile) for table in self.bins]
        return self._tile_cache[tile]

    def _circle_of(self, tables: Sequence[Table] | Sequence[TileTable]) -> Circle:
        whole = [one.table if isinstance(one, TileTable) else one for one in tables]
        return self.circle(
            np.array([one.half_variation for one in tables]),
            np.array([one.copies for one in whole]),
            np.array([one.rounding for one in tables]),
        )

    # --- the largest unit
    def largest(self, of_groups: bool, first: int, last: int) -> tuple[Floats, float]:
        """Return P(no unit has more than m items) for m = first..last, and the error.

        The units are the bins, or the groups.
        """
        tables = self.groups if of_groups else self.bins
        circle = self._circle_of(tables)
        result = np.zeros(last - first + 1)
        width = max(max(len(table.chances) for table in tables), len(result))
        shift = sum(table.low * table.copies for table in tables)
        for nodes in circle.parts(width):
            roots = circle.roots(np.arange(width), nodes)
            product = np.ones((len(result), len(nodes)), dtype=np.complex128)
            for table in tables:
                terms = table.chances[:, None] * roots[: len(table.chances)]
                _multiply(product, terms, table.low - first, table.copies)
            result += (product @ circle.weights(nodes, shift)).real
        return result, circle.error

    def most_tiles(self, tile: int) -> tuple[int, Floats, float]:
        """Return the first m, P(no group has more than m tiles) for m and above, and the error."""
        tables = self.tile_tables(tile)
        circle = self._circle_of(tables)
        ends = [
            [
                sum(times * int(tables[place].tiles[end]) for place, times in bins)
                for _, bins in self.kinds
            ]
            for end in (0, -1)
        ]
        first, last = max(ends[0]), max(ends[1])
        sizes_ = [high - low + 1 for low, high in zip(*ends, strict=True)]
        result = np.zeros(last - first + 1)
        shift = sum(table.low * table.copies for table in self.bins)
        width = max(max(sizes_), max(len(one.starts) for one in tables), len(result))
        width = max(width, max(len(table.chances) for table in self.bins))
        for nodes in circle.parts(width):
            sums = [table.sums(circle, nodes) for table in tables]
            product = np.ones((len(result), len(nodes)), dtype=np.complex128)
            for (copies, bins), low, size in zip(self.kinds, ends[0], sizes_, strict=True):
                factor = np.ones((size, len(nodes)), dtype=np.complex128)
                for place, times in bins:
                    tiles = tables[place].tiles - tables[place].tiles[0]
                    phases = _unit_roots(np.outer(np.arange(size), tiles), size)
                    factor *= _power(phases @ sums[place], times)
                _multiply(product, np.fft.fft(factor, axis=0) / size, low - first, copies)
            result += (product @ circle.weights(nodes, shift)).real
        return first, result, circle.error * max(sizes_)

    # --- totals
    def total_tiles(self, tile: int) -> tuple[int, Floats, float]:
        """Return the first v, P(Σ ⌈n/tile⌉ = v) for v and above, and the error of all of them."""
        tables = self.tile_tables(tile)
        circle = self._circle_of(tables)
        first, last = self._tile_range(tile)
        size = last - first + 1
        result = np.zeros(size)
        shift = sum(table.low * table.copies for table in self.bins)
        turns = np.arange(size)
        for nodes in circle.parts(max(size, max(len(table.chances) for table in self.bins))):
            product = np.ones((size, len(nodes)), dtype=np.complex128)
            for table in tables:
                phases = _unit_roots(np.outer(turns, table.tiles), size)
                product *= _power(phases @ table.sums(circle, nodes), table.table.copies)
            values = product @ circle.weights(nodes, shift) * _unit_roots(-turns * first, size)
            result += np.fft.fft(values).real / size
        return first, result, circle.error

    def _tile_range(self, tile: int) -> tuple[int, int]:
        """Return the least and the largest Σ ⌈n/tile⌉ whose probability is not negligible.

        Given the sum, Σ (⌈n/tile⌉ - n/tile) of independent bins determines it (Chernoff's bound).
        """
        waste, chances, copies = [], [], []
        for table in self.bins:
            counts = np.arange(table.low, table.low + len(table.chances))
            waste.append(-(-counts // tile) - counts / tile)
            chances.append(table.chances)
            copies.append(table.copies)
        mean = np.array([p @ w for p, w in zip(chances, waste, strict=True)])
        spread = math.sqrt(
            sum(
                n * float(p @ (w - m) ** 2)
                for n, p, w, m in zip(copies, chances, waste, mean, strict=True)
            )
        )
        middle = float(np.dot(copies, mean))
        limit = _NEGLIGIBLE - self.log_total
        ends = [-math.inf, math.inf]
        for scale in (0.6, 1.0, 1.5, 2.5):
            for sign, side in ((-1, 0), (1, 1)):
                theta = sign * scale * min(math.sqrt(2 * limit) / max(spread, 1e-9), 20.0)
                log_mgf = sum(
                    n * math.log(max(float(p @ np.exp(theta * (w - m))), 5e-324))
                    for n, p, w, m in zip(copies, chances, waste, mean, strict=True)
                )
                end = middle + (log_mgf + limit) / theta
                ends[side] = min(ends[side], end) if side else max(ends[side], end)
        least = self.items / tile
        bins = sum(copies)
        low = max(math.ceil(least), math.floor(least + ends[0]))
        high = min(self.items, math.ceil(least) + bins, math.ceil(least + ends[1]))
        return min(low, high), max(high, low)


def _poisson_tables(items: int, rates: Floats, copies: Ints, tail: float) -> list[Table]:
    """Return tables of Poisson counts; exp(-tail) bounds the probability left out on each side."""
    low = np.maximum(np.floor(rates - np.sqrt(2 * tail * rates)), 0).astype(np.int64)
    high = np.ceil(rates + tail / 3 + np.sqrt(tail**2 / 9 + 2 * tail * rates)).astype(np.int64)
    widths = np.minimum(high, items) - low + 1
    ends = np.cumsum(widths)
    counts = np.arange(ends[-1]) - np.repeat(ends - widths - low, widths)
    chances = poisson_pmf(counts.astype(np.float64), np.repeat(rates, widths))
    parts = np.split(chances, ends[:-1])
    return [
        Table(low=int(one), chances=part, copies=int(n))
        for one, part, n in zip(low, parts, copies, strict=True)
    ]


def _unit_roots(turns: Ints, count: int) -> Complexes:
    return np.asarray(np.exp(2j * math.pi / count * (turns % count)))


def _power(values: Complexes, exponent: int) -> Complexes:
    """Return values**exponent by repeated squaring."""
    result, left = None, exponent
    while True:
        if left & 1:
            result = values if result is None else result * values
        left >>= 1
        if not left:
            assert result is not None
            return result
        values = values * values


def _multiply(product: Complexes, terms: Complexes, offset: int, copies: int) -> None:
    """Multiply row m of the product by (the sum of terms[: m - offset + 1])**copies."""
    size = math.isqrt(len(terms)) + 1  # sums of sums have a small rounding error
    rows = -(-len(terms) // size)
    padded = np.zeros((rows * size, terms.shape[1]), dtype=np.complex128)
    padded[: len(terms)] = terms
    blocks = padded.reshape(rows, size, -1).cumsum(axis=1)
    blocks[1:] += blocks[:-1, -1].cumsum(axis=0)[:, None]
    sums = blocks.reshape(rows * size, -1)
    start, stop = max(0, offset), min(max(0, offset + len(terms)), len(product))
    product[:start] = 0.0
    product[start:stop] *= _power(sums[start - offset : max(stop, start) - offset], copies)
    product[stop:] *= _power(sums[-1], copies)
