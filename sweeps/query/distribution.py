"""Count feasible configurations, and compute their quantiles, histograms and folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.compile_cache import compiled
from sweeps.bounds.checks import check_grid
from sweeps.bounds.problem import Floats, Mask
from sweeps.grid.dataset import assemble
from sweeps.grid.goals import OBJECTIVE
from sweeps.grid.grid import FEASIBLE, Grid, Indexers, subgrid
from sweeps.grid.lazy_statistics import statistic_portions
from sweeps.nest.tiles import SkippedTiles, aggregate_points
from sweeps.query.source import QuerySource, stack_answers
from sweeps.scan.values import (
    DatasetTable,
    FormulaValues,
    condition_texts,
    iterate_blocks,
    no_number_error,
)
from symbolic.errors import DseError
from symbolic.expression import parse_value
from symbolic.node import conjuncts
from symbolic.ops import Node, both, constant, interpret_arrays, reference, references

if TYPE_CHECKING:
    import xarray as xr


@compiled(_nrt=False)
def count_bins(values, allowed, edges, first_bin, scale, counts, outside_counts) -> None:
    """Count the values in each bin between ``edges`` for :class:`BinCounts`.

    The whole range is divided into many equal slots. ``first_bin`` has the bin in which each slot
    begins, then the last bin. ``outside_counts`` counts values below, values above, and NaN.
    """
    slots = first_bin.size - 2
    low, high = edges[0], edges[edges.size - 1]
    for j in range(values.size):
        if not allowed[j]:
            continue
        value = values[j]
        if value >= low and value <= high:
            slot = min(max(int((value - low) * scale), 0), slots)
            # because of rounding, the index of the slot may be one too high or too low
            place = first_bin[max(slot - 1, 0)]
            left = first_bin[min(slot + 2, slots + 1)] - place
            while left > 0:
                half = (left + 1) >> 1
                place += half if value >= edges[place + half] else 0
                left -= half
            counts[place] += 1
        elif value < low:
            outside_counts[0] += 1
        elif value > high:
            outside_counts[1] += 1
        else:
            outside_counts[2] += 1


@compiled(_nrt=False)
def count_digits(values, allowed, prefixes, first_prefix, shift, width, counts, totals) -> None:
    """Count the next digit of the keys that begin with certain prefixes, for :class:`DigitCounts`.

    ``counts`` has a row for each of the ascending ``prefixes``. ``first_prefix`` has, for each
    value of the first digit, the index of the first prefix that begins with this digit, or -1. It
    is empty in the pass that counts the first digit. ``totals`` counts the numbers and the NaN.
    """
    bits = values.view(np.uint64)
    sign, one = np.uint64(1) << np.uint64(63), np.uint64(1)
    mask = (one << np.uint64(width)) - one
    for j in range(values.size):
        if not allowed[j]:
            continue
        if values[j] != values[j]:
            totals[1] += 1
            continue
        totals[0] += 1
        key = bits[j] if values[j] != 0.0 else np.uint64(0)
        key = ~key if key & sign else key | sign
        start = first_prefix[np.int64(key >> np.uint64(64 - width))] if first_prefix.size else 0
        if start < 0:
            continue
        begin = key >> np.uint64(shift)
        digit = np.int64(begin & mask)
        begin = begin >> np.uint64(width)
        for k in range(start, prefixes.size):
            if prefixes[k] >= begin:
                if prefixes[k] == begin:
                    counts[k, digit] += 1
                break


_COMPILED_MIN_VALUES = sizes.BINS_COMPILED
_SLOTS = sizes.BINS_SLOTS
DIGIT_BITS = sizes.BINS_DIGIT


class ValueRange:
    """The smallest and the largest finite value."""

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf

    def feed(self, values: Floats, allowed: Mask) -> None:
        """Include the values where ``allowed`` is True."""
        counts = np.isfinite(values) & allowed
        self.low = min(self.low, float(np.min(values, where=counts, initial=math.inf)))
        self.high = max(self.high, float(np.max(values, where=counts, initial=-math.inf)))

    def add(self, other: ValueRange) -> None:
        """Extend this range by the range of another part."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


class BinCounts:
    """The numbers of values in each bin, below all bins and above all bins, and of NaN."""

    def __init__(self, edges: Floats) -> None:
        self.edges, bins = edges, len(edges) - 1
        self.counts = np.zeros(bins, dtype=np.int64)
        self.outside_counts = np.zeros(3, dtype=np.int64)
        slots, span = max(2 * bins, _SLOTS), float(edges[-1]) - float(edges[0])
        self.scale = slots / span if 0 < span < math.inf and slots / span < math.inf else 0.0
        starts = edges[0] + np.arange(slots) / self.scale if self.scale else edges[:1]
        self.first_bin = np.clip(np.searchsorted(edges, starts, side="right") - 1, 0, bins - 1)
        self.first_bin = np.append(self.first_bin, bins - 1)

    def feed(self, values: Floats, allowed: Mask) -> None:
        """Count the values where ``allowed`` is True."""
        edges, rest = self.edges, self.outside_counts
        if values.size >= _COMPILED_MIN_VALUES:
            count_bins(values, allowed, edges, self.first_bin, self.scale, self.counts, rest)
            return
        known = values[allowed]
        inside = known[(known >= edges[0]) & (known <= edges[-1])]
        place = np.minimum(np.searchsorted(edges, inside, side="right") - 1, len(self.counts) - 1)
        self.counts += np.bincount(place, minlength=len(self.counts))
        outside = (known < edges[0], known > edges[-1], np.isnan(known))
        rest += [np.count_nonzero(chosen) for chosen in outside]

    def add(self, other: BinCounts) -> None:
        """Add the counts of another part."""
        self.counts += other.counts
        self.outside_counts += other.outside_counts


class DigitCounts:
    """Histograms of one digit of 64-bit keys, one for each prefix of the keys.

    The digit begins at the bit ``shift``.
    """

    def __init__(self, prefixes: NDArray[np.uint64], shift: int) -> None:
        self.prefixes, self.shift = prefixes, shift
        self.first_prefix = np.full(1 << DIGIT_BITS if shift + DIGIT_BITS < 64 else 0, -1)
        for k in range(len(prefixes) - 1 if self.first_prefix.size else -1, -1, -1):
            self.first_prefix[(int(prefixes[k]) << (shift + DIGIT_BITS)) >> (64 - DIGIT_BITS)] = k
        self.counts = np.zeros((len(prefixes), 1 << DIGIT_BITS), dtype=np.int64)
        self.totals = np.zeros(2, dtype=np.int64)  # numbers, NaN

    def feed(self, values: Floats, allowed: Mask) -> None:
        """Count the values where ``allowed`` is True."""
        if values.size >= _COMPILED_MIN_VALUES:
            table = (self.prefixes, self.first_prefix, self.shift, DIGIT_BITS)
            count_digits(values, allowed, *table, self.counts, self.totals)
            return
        known = values[allowed & ~np.isnan(values)]
        self.totals += np.array([known.size, np.count_nonzero(allowed) - known.size])
        begin = order_key(known) >> np.uint64(self.shift)
        digit = (begin & np.uint64((1 << DIGIT_BITS) - 1)).astype(np.int64)
        begin >>= np.uint64(DIGIT_BITS)
        for row, wanted in zip(self.counts, self.prefixes, strict=True):
            row += np.bincount(digit[begin == wanted], minlength=row.size)

    def add(self, other: DigitCounts) -> None:
        """Add the counts of another part."""
        self.counts += other.counts
        self.totals += other.totals


def order_key(values: Floats) -> NDArray[np.uint64]:
    """Return integer keys in the order of the floats; 0.0 and -0.0 have the same key."""
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def value_of_key(key: int) -> float:
    """Return the float that has a key of :func:`order_key`."""
    bits = key ^ (1 << 63) if key >> 63 else key ^ ((1 << 64) - 1)
    return float(np.uint64(bits).view(np.float64))


def _quantiles(source: FormulaValues, q: float | Sequence[float]) -> xr.Dataset:
    """Return the exact quantiles of a formula over the feasible configurations.

    The q-quantile of N values is the smallest value x such that at least q N values are <= x (the
    inverse of the distribution function, without interpolation). The 0-quantile is the minimum. NaN
    is ignored. Each of four passes determines 16 bits of the keys of the quantiles.
    """
    shares = _parse_shares(q)
    begins, before = [0] * len(shares), [0] * len(shares)
    ranks: list[int] = []
    rest = np.zeros(2, dtype=np.int64)
    # keys outside of this range are those of NaN
    lowest, highest = order_key(np.array([-math.inf, math.inf])).tolist()
    for shift in range(64 - DIGIT_BITS, -1, -DIGIT_BITS):
        distinct = sorted(set(begins))
        wanted = np.array(distinct, dtype=np.uint64)
        open_ = 1 << (shift + DIGIT_BITS)
        ends = [(max(b * open_, lowest), min((b + 1) * open_ - 1, highest)) for b in distinct]
        within = [(value_of_key(low), value_of_key(high)) for low, high in ends]
        first = not ranks

        def make(wanted: NDArray[np.uint64] = wanted, shift: int = shift) -> DigitCounts:
            return DigitCounts(wanted, shift)

        result = source.gather(make, None if first else within)
        if first:
            rest = result.totals
            if not rest[0]:
                raise no_number_error(source)
            skipped = source.skipped_tiles.attributes(source.weight)
            ranks = [max(math.ceil(share * int(rest[0])), 1) for share in shares]
        sums = np.cumsum(result.counts, axis=1)
        for k, rank in enumerate(ranks):
            row = sums[distinct.index(begins[k])]
            digit = int(np.searchsorted(row, rank - before[k]))
            before[k] += int(row[digit - 1]) if digit else 0
            begins[k] = (begins[k] << DIGIT_BITS) + digit
    values = np.array([value_of_key(key) for key in begins])
    name = source.text if source.row is not None else OBJECTIVE
    attributes = {
        "definition": "inverse of the distribution function",
        **count_attributes(source, rest),
    }
    return assemble(
        {name: ("quantile", values, unit_attributes(source))},
        {"quantile": ("quantile", np.array([float(s) for s in shares]), {"units": "1"})},
        {"question": f"quantiles of {source.text}", **attributes, **skipped},
    )


def count_attributes(source: FormulaValues, totals: NDArray[np.int64]) -> dict[str, Any]:
    """Return attributes: the conditions, and the numbers of feasible and of undefined points."""
    numbers, undefined = (int(n) * source.weight for n in totals)
    return {
        "conditions": "; ".join(source.conditions),
        "points": source.points,
        "feasible_points": numbers + undefined,
        "undefined": undefined,
    }


def unit_attributes(source: FormulaValues) -> dict[str, Any]:
    """Return the unit and the long name of the formula."""
    return {k: v for k, v in source.attributes.items() if k in ("units", "long_name")}


def _parse_shares(q: Any) -> list[Fraction]:
    """Return shares as exact decimal fractions, so that 0.1 is exactly one tenth."""
    listed = q[()] if isinstance(q, np.ndarray) else [q] if isinstance(q, str) else q
    shares = []
    for share in listed if isinstance(listed, (Sequence, np.ndarray)) else [listed]:
        number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if not number or not 0 <= float(share) <= 1:
            raise DseError(f"q = {share!r}: expected numbers from 0 to 1, such as [0.5, 0.9]")
        shares.append(Fraction(str(float(share))))
    if not shares:
        raise DseError("q is empty: give it at least one number from 0 to 1")
    return shares


_MAX_BINS = sizes.BINS_MOST


def _histogram(source: FormulaValues, edges: Floats) -> xr.Dataset:
    result = source.gather(lambda: BinCounts(edges))
    skipped = source.skipped_tiles.attributes(source.weight)
    weight, outside = source.weight, result.outside_counts
    totals = np.array([result.counts.sum() + outside[:2].sum(), outside[2]])
    text = {k: v for k, v in unit_attributes(source).items() if k == "units"}
    about = {"long_name": "feasible configurations in the bin"}
    return assemble(
        {"configurations": ("bin", result.counts * weight, about)},
        {
            "low": ("bin", edges[:-1], {"long_name": f"low edge of {source.text}", **text}),
            "high": ("bin", edges[1:], {"long_name": f"high edge of {source.text}", **text}),
        },
        {
            "question": f"histogram of {source.text}",
            "definition": "a bin holds its low edge, the last one both of its edges",
            "below": int(outside[0]) * weight,
            "above": int(outside[1]) * weight,
            **count_attributes(source, totals),
            **skipped,
        },
    )


def bin_edges(source: FormulaValues, bins: Any) -> Floats:
    """Return the edges of ``bins`` equal bins over the finite values, or check given edges."""
    bins = bins[()] if isinstance(bins, np.ndarray) else bins  # an array of shape () is a number
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        if not 1 <= bins <= _MAX_BINS:
            raise DseError(f"bins = {bins}: expected from 1 to {_MAX_BINS:,} bins, or their edges")
        result = source.gather(ValueRange)
        if result.low > result.high:
            raise no_number_error(source)
        edges = np.linspace(result.low, result.high, int(bins) + 1)
        if not np.all(np.isfinite(edges)):  # high - low overflows
            edges = 2 * np.linspace(result.low / 2, result.high / 2, int(bins) + 1)
        edges = np.unique(np.clip(edges, result.low, result.high))
        return edges if edges.size > 1 else np.repeat(edges, 2)
    if isinstance(bins, str) or not isinstance(bins, (Sequence, np.ndarray)):
        raise DseError(f"bins = {bins!r}: expected their number, or a list of edges")
    edges = np.array([_parse_edge(source, edge) for edge in bins], dtype=np.float64)
    if not 2 <= edges.size <= _MAX_BINS + 1 or not np.all(np.diff(edges) > 0):
        shown = ", ".join(f"{edge:g}" for edge in edges[:8]) or "none"
        raise DseError(f"bins with the edges {shown}: expected two or more in ascending order")
    return edges


def _parse_edge(source: FormulaValues, edge: Any) -> float:
    if isinstance(edge, str) and source.row is not None:
        edge = parse_value(edge, source.row, {})
    if isinstance(edge, (int, float, np.number)) and math.isfinite(edge):
        return float(edge)
    raise DseError(
        f"{edge!r} is no edge of a bin: expected a finite number"
        + (", with or without a unit" if source.row is not None else "")
    )


def grid_count(grid: Grid) -> xr.Dataset:
    """Count the feasible points of a grid. Tiles that bounds decide are not evaluated."""
    check_grid(grid, require_feasible=False)
    skipped, total = SkippedTiles(), 0
    dims = grid.dims(FEASIBLE)
    plain = {axis: grid.axes[axis].size for axis in grid.non_switch_axes(grid.axes)}
    for _, key in grid.keys(dims):
        graph = grid.graphs[key]
        conditions = [graph.flat_condition(condition) for condition in graph.conditions]
        known = [(node, grid.node_dims(node, key) & set(plain)) for node in conjuncts(conditions)]

        def count(node: Node, node_axes: Sequence[str], key: tuple[str, ...] = key) -> int:
            return _count_condition(grid, key, node, node_axes, skipped)

        total += count_by_independent_groups(known, plain, count)
    others = [axis for axis in grid.switch_axes if axis not in dims]
    total *= math.prod(grid.shape(others))
    texts = [condition.text for condition in grid.conditions]
    return count_dataset(total, grid.points, texts, skipped.attributes())


def dataset_count(ds: xr.Dataset, where: Sequence[str] = ()) -> xr.Dataset:
    """Count the points of a Dataset that are feasible and meet the conditions ``where``."""
    table = DatasetTable(ds, where)
    ds = table.ds
    nodes = conjuncts([*table.conditions, *([reference(FEASIBLE) > 0] if FEASIBLE in ds else [])])
    known = [(n, {str(d) for name in references(n) for d in ds[name].dims}) for n in nodes]

    def count(node: Node, node_axes: Sequence[str]) -> int:
        total = 0
        names = references(node)
        for part in iterate_blocks(ds[list(names)], node_axes):
            block = DatasetTable(part, ())
            arrays = {name: block.broadcast_over(name, node_axes) for name in names}
            total += int(np.count_nonzero(interpret_arrays((node,), arrays)[0]))
        return total

    total = count_by_independent_groups(known, table.axes, count)
    points = math.prod(table.axes.values())
    return count_dataset(total, points, condition_texts(ds, where), SkippedTiles().attributes())


def count_by_independent_groups(
    conditions: Sequence[tuple[Node, set[str]]],
    sizes: Mapping[str, int],
    count: Callable[[Node, Sequence[str]], int],
) -> int:
    """Count points that meet all conditions: multiply the counts of groups without common axes."""
    groups: list[tuple[list[Node], set[str]]] = []
    for node, axes in conditions:
        meets = [group for group in groups if not group[1].isdisjoint(axes)]
        groups = [group for group in groups if group[1].isdisjoint(axes)]
        nodes = [n for group in meets for n in group[0]]
        groups.append(([*nodes, node], axes.union(*(group[1] for group in meets))))
    total = math.prod(n for axis, n in sizes.items() if not any(axis in g[1] for g in groups))
    for nodes, axes in groups:
        if total:
            total *= count(constant(both(*nodes)), [axis for axis in sizes if axis in axes])
    return total


def _count_condition(
    grid: Grid, key: tuple[str, ...], node: Node, dims: Sequence[str], skipped_tiles: SkippedTiles
) -> int:
    certain = 0

    def is_undecided(enclosures: list[Any], points: NDArray[np.int64]) -> Mask:
        nonlocal certain
        certain += int(points[np.asarray(enclosures[0].certain, dtype=bool)].sum())
        return np.asarray(enclosures[0].possible & ~enclosures[0].certain, dtype=bool)

    def add_count(totals: list[int], _: Any, holds: Mask, __: int) -> None:
        totals.append(int(np.count_nonzero(holds)))

    result = 0
    for cut in statistic_portions(grid, {key: [node]}):
        part = subgrid(grid, cut)
        counts = aggregate_points(
            part, key, dims, (), node, list[int], add_count, is_undecided, skipped_tiles
        )
        result += sum(map(sum, counts))
    return result + certain


def count_dataset(
    feasible: int, points: int, conditions: Sequence[str], skip_attributes: Mapping[str, int]
) -> xr.Dataset:
    """Return the Dataset that answers a count."""
    variables = {
        "feasible_points": ((), np.int64(feasible), {"long_name": "feasible configurations"}),
        "points": ((), np.int64(points), {"long_name": "configurations in all"}),
    }
    attributes = {"question": "count", "conditions": "; ".join(conditions), **skip_attributes}
    return assemble(variables, {}, attributes)


def count(source: QuerySource, per: Sequence[str] = ()) -> xr.Dataset:
    """Count the feasible configurations for each value of the axes ``per``."""
    return stack_answers(source, per, lambda part: part.count())


def histogram(source: QuerySource, text: str, bins: Any, per: Sequence[str] = ()) -> xr.Dataset:
    """Count the feasible configurations in each bin. All values of ``per`` have the same bins."""
    values = source.values(text)
    edges = bin_edges(values, bins)
    if not per:
        return _histogram(values, edges)
    return stack_answers(source, per, lambda part: _histogram(part.values(text), edges))


def quantiles(source: QuerySource, text: str, q: Any, per: Sequence[str] = ()) -> xr.Dataset:
    """Return the quantiles of a formula for each value of the axes ``per``."""
    return stack_answers(source, per, lambda part: _quantiles(part.values(text), q))


class Fold(Protocol):
    """An aggregate of the feasible configurations, written by a user of ``fold``.

    Each thread or process feeds a separate fold. The folds are merged in the order of the axes.
    """

    def feed(self, values: Floats, weight: int) -> None:
        """Include configurations: ``values`` has a row for each formula, a column for each point.

        A column stands for ``weight`` configurations (1 unless an axis has no influence).
        """

    def merge(self, other: Self) -> None:
        """Include the configurations of another fold."""

    def answer(self) -> Any:
        """Return the result: a number, an array or a Dataset."""


AnyFold = TypeVar("AnyFold", bound=Fold)


class _FoldAggregate:
    def __init__(self, fold: Any, weight: int) -> None:
        self.fold, self.weight = fold, weight

    def feed(self, values: Floats, allowed: Mask) -> None:
        rows = np.atleast_2d(values)
        rows = rows if np.all(allowed) else rows[:, allowed]
        if rows.shape[1]:
            self.fold.feed(rows, self.weight)

    def add(self, other: _FoldAggregate) -> None:
        self.fold.merge(other.fold)


def run_fold(
    source: QuerySource,
    make: Callable[[], AnyFold],
    formulas: Sequence[str],
    indexers: Indexers | None = None,
) -> AnyFold:
    """Return the fold of all feasible configurations; ``make`` creates the empty folds."""
    make_checked_fold(make, formulas)
    values = source.values(*formulas, indexers=indexers)
    result = values.gather(lambda: _FoldAggregate(make(), values.weight))
    return result.fold


def make_checked_fold(make: Callable[[], AnyFold], formulas: Sequence[str]) -> AnyFold:
    """Create a fold; raise DseError unless it has the methods of :class:`Fold`."""
    if not formulas:
        raise DseError("formulas is empty: name the quantities whose values the fold is fed")
    fold = make()
    for name in ("feed", "merge", "answer"):
        if not callable(getattr(fold, name, None)):
            raise DseError(
                f"the result of {getattr(make, '__name__', make)!r} has no method {name}(): a fold "
                "has feed(values, weight), merge(other) and answer()"
            )
    return fold
