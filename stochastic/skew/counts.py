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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stochastic import sizes
from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError
from stochastic.work.families import poisson_pmf

Complexes = npt.NDArray[np.complex128]
#: Number of groups with the same bins, and for each kind of bins its place and its number.
GroupKind = tuple[int, tuple[tuple[int, int], ...]]

#: Minus the logarithm of a probability that is left out.
NEGLIGIBLE = 44.0
ROUNDOFF = 2.0**-53
#: Rounding errors of a term of a factor, in units of roundoff: its probability, root and product.
_TERM_ROUNDING = 70.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountTable:
    """Probabilities of the counts low, low + 1, ... of each of ``copies`` equal bins.

    ``rounding`` bounds the relative error of a probability, in units of roundoff.
    """

    low: int
    chances: Floats
    copies: int
    rounding: float = _TERM_ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces:
    """A table cut into pieces of equal x and y, such as ⌈n / tile⌉; x is 0, or determines y.

    ``starts`` are the first values of short blocks, so that sums have small rounding errors;
    ``blocks`` are the first blocks of pieces. ``half_variation`` is the sum, over ranges of equal y
    (and of equal x, if they are cut there), of half the total variation of the probabilities.
    """

    table: CountTable
    starts: Ints
    blocks: Ints
    x: Ints
    y: Ints
    half_variation: float

    @classmethod
    def from_table(cls, table: CountTable, x_tile: int, y_tile: int, is_cut_at_x: bool) -> Pieces:
        """Cut a table at the ends of tiles; a tile of 0 gives x = 0 or y = 0."""
        chances, size = table.chances, len(table.chances)
        n = np.arange(table.low, table.low + size)
        x, y = (-(-n // tile) if tile else 0 * n for tile in (x_tile, y_tile))
        x_ends, y_ends = np.diff(x) != 0, np.diff(y) != 0
        ends = x_ends | y_ends
        pieces = np.append(0, np.flatnonzero(ends) + 1)
        ends[math.isqrt(size) :: math.isqrt(size) + 1] = True
        starts = np.append(0, np.flatnonzero(ends) + 1)
        variation = np.abs(np.diff(chances, prepend=0.0, append=0.0)).sum() / 2
        cuts = x_ends | y_ends if is_cut_at_x else y_ends
        variation += np.minimum(chances[1:], chances[:-1])[cuts].sum()
        return cls(
            table=table,
            starts=starts,
            blocks=np.searchsorted(starts, pieces),
            x=x[pieces],
            y=y[pieces],
            half_variation=float(variation),
        )

    @property
    def rounding(self) -> float:
        """Return a bound on the rounding error of a factor, in units of roundoff."""
        phases = len(self.y) if self.x[0] == self.x[-1] else 1
        return self.table.rounding + phases + 5 * math.sqrt(len(self.table.chances))

    def factors(self, roots: Complexes, y_count: int) -> Complexes:
        """Return Σ P(n) exp(iφ(n - low) + iψy) over all n of each x (rows), for ψ and φ."""
        terms = self.table.chances[:, None] * roots[: len(self.table.chances)]
        for starts in (self.starts, self.blocks):
            if len(starts) < len(terms):
                terms = np.add.reduceat(terms, starts, axis=0)
        phases = _unit_roots(np.outer(np.arange(y_count), self.y), y_count)
        if self.x[0] < self.x[-1]:
            return np.asarray(phases.T[:, :, None] * terms[:, None])
        if y_count * terms.size > sizes.LOADS_THREADS:
            return np.asarray((phases @ terms)[None])
        return np.asarray(np.einsum("yp,pn->yn", phases, terms)[None])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """Independent counts of bins, given that they sum to ``items``.

    Attributes:
        items (int): Sum of the counts.
        bins (list of CountTable): The table of each kind of bins.
        kinds (sequence of GroupKind): The kinds of groups.
        log_total (float): Logarithm of the probability of the sum, by which results are divided.
        reach (float): Distance from ``items`` beyond which the sum has a negligible probability.
    """

    items: int
    bins: Sequence[CountTable]
    kinds: Sequence[GroupKind]
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
        tail = NEGLIGIBLE + math.log(copies.sum()) - log_total
        low = np.maximum(np.floor(rates - np.sqrt(2 * tail * rates)), 0).astype(np.int64)
        high = np.ceil(rates + poisson_reach(tail, rates)).astype(np.int64)
        widths = np.minimum(high, items) - low + 1
        ends = np.cumsum(widths)
        if ends[-1] > sizes.LOADS_VALUES:
            raise _size_error(items)
        n = np.arange(ends[-1]) - np.repeat(ends - widths - low, widths)
        chances = np.split(poisson_pmf(n.astype(np.float64), np.repeat(rates, widths)), ends[:-1])
        tables = zip(low.tolist(), chances, copies.tolist(), strict=True)
        return cls(
            items=items,
            bins=[
                CountTable(low=first, chances=part, copies=times) for first, part, times in tables
            ],
            kinds=kinds,
            log_total=log_total,
            reach=float(poisson_reach(tail, items)),
        )

    def _nodes(
        self, half_variations: Floats, copies: Floats, rounding: float
    ) -> tuple[int, int, float]:
        """Return how many nodes the circle has, how many from 1 on count, and the error.

        There is one factor for each unit. Nodes below the real axis are not counted, because
        factors there are conjugates.
        """
        count = 2 * int(self.reach / 2) + 3
        with np.errstate(divide="ignore"):
            log_variations = np.log(half_variations)

        def log_bounds(nodes: Ints) -> tuple[Floats, Floats]:
            """Return the logarithms of bounds on the product, and on that without one factor."""
            log_sines = np.log(np.sin(math.pi / count * nodes))
            each = np.minimum(log_variations[:, None] - log_sines, 0.0)
            return copies @ each, copies @ each - each.min(axis=0)

        used, last = 1, count // 2 + 1  # the bound falls from node to node
        while used < last:
            middle = (used + last) // 2
            if log_bounds(np.array([middle]))[0][0] <= self.log_total - NEGLIGIBLE:
                last = middle
            else:
                used = middle + 1
        places = np.unique(np.geomspace(1, used, 256).astype(np.int64))
        total = 1.0 + 2.0 * float(np.exp(log_bounds(places[:-1])[1]) @ np.diff(places))
        error = total * math.exp(-self.log_total) / count * rounding * ROUNDOFF
        return count, used, error + 8 * math.exp(-NEGLIGIBLE)

    def invert(
        self,
        x_tile: int,
        y_tile: int = 0,
        *,
        by_group: bool = False,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] = (0, 0),
    ) -> tuple[int, Floats, float]:
        """Return P(no unit has more than x, and Σ ⌈n / y_tile⌉ = y) for rows of x and columns of y.

        The units are bins, or groups, whose number is Σ ⌈n / x_tile⌉. A tile of 0 sets no
        condition. Also return the first x, and a bound on the error of a sum over some y.
        """
        by_tiles = by_group and x_tile != 1
        pieces = [Pieces.from_table(table, x_tile, y_tile, by_tiles) for table in self.bins]
        units = self.kinds
        if not by_group:
            units = [(table.copies, ((i, 1),)) for i, table in enumerate(self.bins)]
        copies = np.array([float(table.copies) for table in self.bins])
        rounding = float(copies @ [each.rounding + 4 for each in pieces])
        variations = np.array([each.half_variation for each in pieces])
        if by_group and not by_tiles:
            copies = np.array([float(count) for count, _ in units])
            variations = np.array([min(variations[i] for i, _ in bins) for _, bins in units])
        count, used, error = self._nodes(variations, copies, rounding)
        lows, highs = (
            [sum(times * int(pieces[i].x[end]) for i, times in bins) for _, bins in units]
            for end in (0, -1)
        )
        first, last = rows or (max(lows), max(highs))
        y_count = columns[1] - columns[0] + 1
        result = np.zeros((last - first + 1, y_count))
        longest = max(len(table.chances) for table in self.bins)
        widths = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
        width = max(longest, y_count * max(len(result), *widths))
        if used * (width + longest) * len(units) > sizes.LOADS_PRODUCTS:
            raise _size_error(self.items)
        power = sum(table.low * table.copies for table in self.bins) - self.items
        step = max(1, sizes.LOADS_TOGETHER // width)
        for start in range(0, used, step):
            nodes = np.arange(start, min(start + step, used))
            roots = _unit_roots(np.multiply.outer(np.arange(longest), nodes), count)
            product = np.ones((len(result), y_count, len(nodes)), dtype=np.complex128)
            for (number, bins), low, size in zip(units, lows, widths, strict=True):
                parts = [(pieces[i].factors(roots, y_count), times) for i, times in bins]
                _multiply(product, _convolve(parts, size), low - first, number)
            values = product @ (_unit_roots(power % count * nodes, count) * (1 + (nodes > 0)))
            values *= _unit_roots(-np.arange(y_count) * columns[0], y_count)
            result += np.fft.fft(values, axis=1).real
        result *= math.exp(-self.log_total) / (count * y_count)
        factor = (2 + math.log(y_count)) * (2 + math.log(max(widths)) if by_group else 1)
        return first, result, error * factor

    def tile_range(self, tile: int) -> tuple[int, int]:
        """Return the least and the largest Σ ⌈n/tile⌉ whose probability is not negligible.

        Given the sum, Σ (⌈n/tile⌉ - n/tile) of independent bins determines it (Chernoff's bound).
        """
        n = np.concatenate([np.arange(len(each.chances)) + each.low for each in self.bins])
        chances = np.concatenate([each.chances for each in self.bins])
        lengths = [len(each.chances) for each in self.bins]
        copies = np.array([each.copies for each in self.bins])
        starts = np.cumsum([0, *lengths[:-1]])
        unused = -(-n // tile) - n / tile
        means = np.add.reduceat(chances * unused, starts)
        unused -= np.repeat(means, lengths)
        spread = math.sqrt(copies @ np.add.reduceat(chances * unused**2, starts))
        limit = NEGLIGIBLE - self.log_total
        ends = []
        for sign in (-1, 1):
            theta = sign * min(math.sqrt(2 * limit) / max(spread, 1e-9), 20.0)
            steps = theta * np.array([0.6, 1.0, 1.5, 2.5])
            terms = chances * np.exp(np.multiply.outer(steps, unused))
            logs = np.log(np.add.reduceat(terms, starts, axis=1)) @ copies
            ends.append(sign * float(np.min(sign * (logs + limit) / steps)))
        middle = self.items / tile + float(copies @ means)
        low = max(-(-self.items // tile), math.floor(middle + ends[0]))
        most = (self.items + int(copies.sum()) * (tile - 1)) // tile
        high = min(self.items, most, math.ceil(middle + ends[1]))
        return low, max(low, high)


def poisson_reach(tail: float, mean: Floats | float) -> Floats | float:
    """Return a distance from the mean with a Poisson tail of exp(-tail) at most (Bernstein)."""
    return tail / 3 + np.sqrt(tail**2 / 9 + 2 * tail * mean)


def _size_error(items: int) -> LawError:
    return LawError(
        f"the law of the loads of {items} items takes too long: expected fewer items (count them "
        "in larger units), fewer different probabilities, or estimates, simulate()"
    )


def _unit_roots(turns: Ints, count: int) -> Complexes:
    """Return exp(2πi·turns/count); angles are reduced in whole numbers."""
    turns = turns % count
    if turns.size < count:
        return np.asarray(np.exp(2j * math.pi / count * turns))
    return np.asarray(np.exp(2j * math.pi / count * np.arange(count))[turns])


def _power(values: Complexes, exponent: int) -> Complexes:
    """Return values**exponent, exponent >= 1, by repeated squaring."""
    half = exponent // 2
    if not half:
        return values
    root = _power(values, half)
    return root * root * values if exponent % 2 else root * root


def _convolve(parts: Sequence[tuple[Complexes, int]], size: int) -> Complexes:
    """Return the convolution (along rows) of terms, each taken as often as its number says."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    factors = [_power(np.fft.fft(terms, size, axis=0), times) for terms, times in parts]
    return np.asarray(np.fft.ifft(math.prod(factors[1:], start=factors[0]), axis=0))


def _multiply(product: Complexes, terms: Complexes, offset: int, copies: int) -> None:
    """Multiply row m of the product by (the sum of terms[: m - offset + 1])**copies."""
    size = math.isqrt(len(terms)) + 1  # sums of sums have small rounding errors
    rows = -(-len(terms) // size)
    sums = np.zeros((rows * size, *terms.shape[1:]), dtype=np.complex128)
    sums[: len(terms)] = terms
    blocks = sums.reshape(rows, size, *terms.shape[1:])
    np.cumsum(blocks, axis=1, out=blocks)
    blocks[1:] += np.cumsum(blocks[:-1, -1], axis=0)[:, None]
    start, stop = max(0, offset), min(max(0, offset + len(terms)), len(product))
    product[:start] = 0.0
    product[start:stop] *= _power(sums[start - offset : max(stop, start) - offset], copies)
    product[stop:] *= _power(sums[len(terms) - 1], copies)
