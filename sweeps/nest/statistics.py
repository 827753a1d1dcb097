"""Compute statistics of a formula over a grid in one pass over its values, and their errors.

The error of a statistic over draws is half the width of its 95 % interval. Every statistic is a
mean over the draws or a function of a mean: a chance is the mean of a condition, a tail is the mean
excess over a quantile, and a quantile is the value at which a chance equals the quantile's level.
So one rule serves all: the replicates give the error of a mean (Student's interval). Other rules
allow for values that few or no draws have reached:

- A chance with few hits has the interval of Clopper and Pearson (1934): 3.7 / n for no hit in n.
- The error of a mean includes 3.7 / n times a distance: the widest gap between two values or, if
  longer, the reach of a tail beyond the extremes, estimated from the extremes of the replicates.
  If few draws contribute most of a mean, its error allows for the error of such a small count.
- If all draws have the same value, other values have a chance of at most 3.7 / n. They lie in the
  range of the formula over the laws of its inputs, which an enclosure proves.
- A quantile lies between order statistics. Beyond the last one, the formula's range bounds it.

The error is infinite if nothing bounds a statistic. It is 0 if the statistic is proven, or if both
ends of a quantile's interval (error probability 1e-4) are the same value.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.compile_cache import compiled
from stochastic.threads import cpu_count
from sweeps.grid.grid import Grid, Tiling, subgrid
from sweeps.grid.lazy_statistics import StatisticGroup
from sweeps.nest.tiles import ROWS_BLOCK, Floats, visit_rows
from sweeps.runtime.resources import check_memory
from symbolic.confidence import (
    MIN_NORMAL_DRAWS,
    ROUNDING,
    TAIL_PROBABILITY,
    ZERO_COUNT_BOUND,
    chance_half_width_of_rows,
    half_width,
    poisson_upper_width,
    quantile_ranks,
    student_factor,
)
from symbolic.intervals import Interval, enclose, interval_algebra
from symbolic.ops import Node, references, walk
from symbolic.primitives import elementary
from symbolic.statistics import DRAW, Statistic

Indices = NDArray[np.int64]

_ENCLOSED_POINTS = sizes.REACH_TOGETHER
#: A tail is taken as that of a Pareto law. The tail index estimated from the replicates is
#: multiplied by the factor, and then limited to the maximum.
_TAIL_FACTOR, _MAX_TAIL_INDEX = 1.25, 0.9
#: Values of ``kind`` in :func:`moments`.
MEAN, STD = 0, 1
_NO_WEIGHTS = np.empty(0)
#: Rows of up to this length are summed in the order in which `statistics_as_formulas` sums.
SHORT_ROW = sizes.SUM_SHORT


def _range_function(group: StatisticGroup) -> Callable[[Indices, bool], tuple[Floats, Floats]]:
    """Return a function that encloses a formula at points given by flat indices.

    The function returns lower and upper bounds of shape (points, values within a draw).
    """
    inner = tuple(axis for axis in group.reduced_axes if axis != DRAW)
    dims, each = (*group.result_axes, *inner), math.prod(group.grid.shape(inner))
    *outer, row = group.grid.shape(group.result_axes) or (1,)
    tiling = Tiling(outer, row, max(_ENCLOSED_POINTS // each, 1))
    lock = threading.Lock()

    @lru_cache(maxsize=4 * cpu_count())
    def enclose_tile(number: int, whole: bool) -> tuple[Floats, Floats]:
        bounds, _, points = tiling.bounds(number)
        ends = bounds.reshape(-1, 2).tolist()
        tile = {axis: slice(*part) for axis, part in zip(group.result_axes, ends, strict=False)}
        part = subgrid(group.grid, tile)
        low, high = range_of(part, group.root, dims, whole)
        shape = part.shape(dims)
        low, high = (np.broadcast_to(e, shape).reshape(points, each) for e in (low, high))
        return low, high

    def range_at(flat: Indices, whole: bool) -> tuple[Floats, Floats]:
        low, high = np.empty((2, flat.size, each))
        numbers, starts = tiling.locate(flat)
        for number in np.unique(numbers).tolist():
            here = numbers == number
            with lock:  # so that only one thread computes a tile
                least, most = enclose_tile(number, whole)
            places = flat[here] - starts[here]
            low[here], high[here] = least[places], most[places]
        return low, high

    return range_at


def range_of(
    part: Grid, root: Node, dims: Sequence[str], whole: bool = False
) -> tuple[Floats, Floats]:
    """Return bounds of a formula over a part of a grid. The bounds hold for all draws.

    Both bounds broadcast over ``dims``, which are all axes of the formula except the draws. A
    random input lies in the range of its draws or, if ``whole``, in the range of its law. The
    bounds are infinite if a primitive or input of the formula has no enclosure.
    """
    spans, leaves = part.axes[DRAW].random_ranges, part.leaves[()]
    known = {*interval_algebra(), "constant", "reference"}
    boxes = {}
    for name in references(root):
        leaf = leaves[name]
        if DRAW not in leaf.axes:
            values = np.asarray(leaf.align_to(dims), dtype=np.float64)
            boxes[name] = Interval(values, values)
        elif leaf.axes == (DRAW,) and name in spans:
            boxes[name] = Interval(*(np.float64(end) for end in spans[name][whole]))
    if len(boxes) < len(references(root)) or any(node.op not in known for node in walk((root,))):
        return np.array(-math.inf), np.array(math.inf)
    (result,) = enclose([root], boxes)
    assert isinstance(result, Interval)
    return np.asarray(result.lo), np.asarray(result.hi)


@compiled(_nrt=False)
def _fill_mean_error_terms(rows, replicates, work, ends, out) -> None:
    """Fill each row of ``out`` with seven terms of the error of the row's mean.

    Let d be the distance of a value to the median, divided by the range. The terms are: the
    standard deviation of the replicates' means; the widest gap between values; the sum of d; the
    sum of d²; the smallest value; the largest value; the distance by which the tail exceeds both.
    """
    draws = rows.shape[1]
    size = draws // replicates
    for i in range(rows.shape[0]):
        row = rows[i]
        low, high = np.inf, -np.inf
        middle, squares, bad = 0.0, 0.0, False
        for k in range(replicates):
            total, least, most = 0.0, np.inf, -np.inf
            for j in range(k * size, (k + 1) * size):
                value = row[j]
                bad = bad or not np.isfinite(value)
                least, most = min(least, value), max(most, value)
                total += value
            ends[0, k], ends[1, k] = least, most
            low, high = min(low, least), max(high, most)
            off = total / size - middle
            middle += off / (k + 1)
            squares += off * (total / size - middle)
        width = high - low
        for j in range(7):
            out[i, j] = np.nan if bad or not np.isfinite(width) else 0.0
        if bad or not np.isfinite(width):
            continue
        out[i, 4], out[i, 5] = low, high
        if width == 0:
            continue
        for j in range(draws):
            work[0, j], work[1, j], work[2, j] = 0.0, np.inf, -np.inf
        # with a bucket per value, the widest gap is between buckets unless all gaps are equal
        for j in range(draws):
            place = min(int((row[j] - low) / width * draws), draws - 1)
            work[0, place] += 1.0
            work[1, place] = min(work[1, place], row[j])
            work[2, place] = max(work[2, place], row[j])
        gap, last, upto, centre = 0.0, low, 0.0, low
        for place in range(draws):
            if work[0, place] > 0:
                gap = max(gap, work[1, place] - last)
                last = work[2, place]
                if upto < draws / 2:
                    centre = work[1, place]
                upto += work[0, place]
        far, square = 0.0, 0.0
        for j in range(draws):
            d = abs(row[j] - centre) / width
            far += d
            square += d * d
        for side in range(2):
            mean, spread = 0.0, 0.0
            reach = abs((low if side == 0 else high) - centre)
            for k in range(replicates):
                d = math.log(max(abs(ends[side, k] - centre) / width, 1 / draws))
                off = d - mean
                mean += off / (k + 1)
                spread += off * (d - mean)
            index = min(_TAIL_FACTOR * math.sqrt(spread / (replicates - 1)), _MAX_TAIL_INDEX)
            out[i, 6] = max(out[i, 6], reach * index / (1 - index))
        out[i, 0] = math.sqrt(squares / (replicates - 1))
        out[i, 1], out[i, 2], out[i, 3] = gap, far, square


class SortedRows:
    """Rows of values in ascending order, from which quantiles are read."""

    def __init__(self, values: Floats, weights: Floats | None) -> None:
        if weights is None:
            self.values, self.cumulative_weights = np.sort(values, axis=1), None
        else:
            order = np.argsort(values, axis=1, kind="stable")
            self.values = np.take_along_axis(values, order, axis=1)
            self.cumulative_weights = np.cumsum(weights[order], axis=1)
        self.has_nan = np.isnan(self.values[:, -1])

    def quantile(self, level: Fraction | Floats) -> Floats:
        """Return the quantile of each row: the smallest value with P(X <= value) >= level."""
        count = self.values.shape[1]
        if self.cumulative_weights is not None:
            least = np.broadcast_to(np.asarray(level, dtype=np.float64), len(self.values))
            rank = np.count_nonzero(self.cumulative_weights < least[:, None] - ROUNDING, axis=1)
        elif isinstance(level, Fraction):
            rank = np.full(len(self.values), math.ceil(level * count) - 1)
        else:
            rank = np.ceil(level * count - count * ROUNDING).astype(np.int64) - 1
        rank = np.clip(rank, 0, count - 1)[:, None]
        result: Floats = np.take_along_axis(self.values, rank, axis=1)[:, 0]
        return np.where(self.has_nan, np.nan, result)


#: Function that returns lower and upper bounds of a formula, of shape (rows, values within a draw).
#: Its arguments are row indices and a flag: True for the laws of the inputs, False for their draws.
RangeFunction = Callable[[Indices, bool], tuple[Floats, Floats]]
#: Function that turns lower bounds, upper bounds and row indices into bounds of derived values.
Change = Callable[[Floats, Floats, Indices], tuple[Floats, Floats]]

#: Error probability per side of a quantile's interval. If both ends are equal, the error is 0.
_CERTAIN_TAIL = 5e-5
#: Values with at most this relative difference are taken as equal.
_EQUAL_TOLERANCE = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDesign:
    """The way in which rows of values were drawn.

    A row stores the values of draw 0, then those of draw 1, and so on, equally many for each. The
    draws form ``replicates`` independent parts. If ``replicates`` is 0 or 1, they are not random,
    but list all values of a law. The ``weights`` of the values in a row sum to 1; all draws have
    the same weight. ``range_at`` returns bounds on the formula over all values of its inputs.
    """

    draws: int
    replicates: int
    weights: Floats | None = None
    range_at: RangeFunction | None = None

    def value_weights(self, count: int) -> Floats:
        """Return the weights of the values within a draw. Their sum is 1."""
        each = count // self.draws
        if self.weights is None:
            return np.full(each, 1 / each)
        return self.weights[:each] * self.draws

    def means_per_draw(self, values: Floats) -> Floats:
        """Return the weighted mean of the values in each draw, of shape (points, draws)."""
        points, count = values.shape
        if count == self.draws:
            return np.ascontiguousarray(values)
        return _weighted_sum(values.reshape(points, self.draws, -1), self.value_weights(count))

    def value_ranges(self, rows: Indices, count: int, whole: bool = False) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of the formula at some rows; infinite if unknown."""
        if self.range_at is None:
            shape = rows.size, count // self.draws
            return np.full(shape, -np.inf), np.full(shape, np.inf)
        low, high = self.range_at(rows, whole)
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _weighted_sum(values: Floats, shares: Floats) -> Floats:
    """Return weighted sums along the last axis; values with weight 0 are ignored, even infinity."""
    some = shares > 0
    return np.asarray(values[..., some] @ shares[some])


def _max_distance(low: Floats, value: Floats, high: Floats) -> Floats:
    far = np.maximum(np.maximum(high - value, value - low), 0.0)
    equal = far <= _EQUAL_TOLERANCE * np.abs(value)
    return np.where(equal, 0.0, np.nan_to_num(far, nan=np.inf, posinf=np.inf))


@compiled
def _total(row):
    """Return the sum of a row; long rows are summed in eight interleaved parts."""
    count = row.size
    whole = count - count % 8 if count >= 32 else 0
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(0, whole, 8):
        a += row[j]
        b += row[j + 1]
        c += row[j + 2]
        d += row[j + 3]
        e += row[j + 4]
        f += row[j + 5]
        g += row[j + 6]
        h += row[j + 7]
    result = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for j in range(whole, count):
        result += row[j]
    return result


@compiled
def _mean(row, weights):
    if weights.size == 0:
        return _total(row) / row.size
    result = 0.0
    for j in range(row.size):
        if weights[j] > 0:  # weight 0 times an infinite value would be NaN
            result += weights[j] * row[j]
    return result


@compiled
def totals(values, out) -> None:
    """Fill ``out`` with the sum of each row."""
    for i in range(values.shape[0]):
        out[i] = _total(values[i])


@compiled
def moments(values, weights, kind, out) -> None:
    """Fill ``out`` with each row's mean or population standard deviation, depending on ``kind``.

    An empty array of ``weights`` means equal weights.
    """
    work = np.empty(values.shape[1])
    for i in range(values.shape[0]):
        row = values[i]
        mean = _mean(row, weights)
        if kind == 1:
            for j in range(row.size):
                work[j] = (row[j] - mean) * (row[j] - mean)
            mean = math.sqrt(_mean(work, weights))
        out[i] = mean


@compiled(_nrt=False)
def fill_extremes(values, sign, skip, out) -> None:
    """Fill ``out`` with each row's maximum (``sign`` 1) or minimum (-1); ``skip`` ignores NaN."""
    for i in range(values.shape[0]):
        row = values[i]
        result, holes = -np.inf, 0
        for j in range(row.size):
            value = row[j] * sign
            holes += 1 if value != value else 0
            result = value if value > result else result
        if holes == row.size or (holes and not skip):
            result = np.nan
        out[i] = result * sign


def compute_statistics(groups: Sequence[StatisticGroup]) -> Mapping[str, Floats]:
    """Return a mapping of all statistics of formulas over one grid, computed in one pass."""
    first = groups[0]
    rest, along, weights = first.result_axes, first.reduced_axes, first.weights
    grid = first.grid
    if len(groups) > 1:
        leaves = {n: leaf for g in groups for n, leaf in g.grid.leaves[()].items()}
        grid = replace(grid, leaves={(): leaves}, _dims={}, cache={})
    roots = list(dict.fromkeys(group.root for group in groups))
    names = [(name, about, f.root) for f in groups for name, about in f.statistics.items()]
    shape, count = grid.shape(rest), math.prod(grid.shape(along))
    points = math.prod(shape)
    check_memory(
        8 * (points * len(names) + (3 + len(roots)) * cpu_count() * max(count, ROWS_BLOCK)),
        f"{', '.join(name for name, _, _ in names)} over {points:.4g} points",
        "shorten axes, or leave some out of the study",
    )
    result = {name: np.empty(points) for name, _, _ in names}
    reaches = {group.root: _range_function(group) for group in groups}

    def sample_at(root: Node, start: int) -> SamplingDesign:
        return SamplingDesign(
            draws=first.draws,
            replicates=first.replicates,
            weights=weights,
            range_at=lambda rows, whole: reaches[root](start + rows, whole),
        )

    def fill_rows(values: list[Floats], start: int) -> None:
        for root, rows in zip(roots, values, strict=True):
            selected = [(name, about) for name, about, node in names if node is root]
            inner = [a.argument.args[0].statistic if a.kind == "error" else a for _, a in selected]
            kinds = [about.kind for about in inner]
            ordered = SortedRows(rows, weights) if kinds.count("quantile") > 1 else None
            for (name, about), of in zip(selected, inner, strict=True):
                out = result[name][start : start + len(rows)]
                if about.kind == "error":
                    out[...] = error_of(of, rows, sample_at(root, start), ordered)
                else:
                    summary(about, rows, weights, out, ordered)

    visit_rows(grid, (), roots, rest, along, fill_rows)
    return {name: array.reshape(shape) for name, array in result.items()}


def summary(
    statistic: Statistic,
    values: Floats,
    weights: Floats | None,
    out: Floats,
    sorted_rows: SortedRows | None = None,
) -> None:
    """Fill ``out`` with the given statistic of each row of values."""
    rows = RowValues(values, weights, statistic.level, sorted_rows)
    ROW_STATISTICS[statistic.kind].fill(rows, out)


class RowValues:
    """Rows of values, with methods for the statistics of each row and their errors.

    ``weights`` of the values in a row sum to 1; None means equal weights. ``sorted_rows`` are the
    rows in ascending order, if known. ``sample`` describes how the values were drawn.
    """

    def __init__(
        self,
        values: Floats,
        weights: Floats | None,
        level: Fraction | None,
        sorted_rows: SortedRows | None = None,
        sample: SamplingDesign | None = None,
    ) -> None:
        self.values, self.weights, self.sorted_rows = values, weights, sorted_rows
        self.level = Fraction(0) if level is None else level
        self.points, self.count = values.shape
        self.sample = sample or SamplingDesign(draws=self.count, replicates=1, weights=weights)
        self.draws, self.value_weights = self.sample.draws, self.sample.value_weights(self.count)

    def moment(self, kind: int, out: Floats, values: Floats | None = None) -> None:
        """Fill ``out`` with each row's mean or standard deviation, depending on ``kind``."""
        weights = _NO_WEIGHTS if self.weights is None else self.weights
        moments(self.values if values is None else values, weights, kind, out)

    def geomean(self, out: Floats) -> None:
        """Fill ``out`` with the geometric mean of each row."""
        self.moment(MEAN, out, elementary.log(self.values))
        out[...] = elementary.exp(out)

    def quantile(self, out: Floats) -> None:
        """Fill ``out`` with the quantile of each row."""
        if self.weights is None and self.sorted_rows is None:
            rank = self._rank
            out[...] = np.partition(self.values, rank, axis=1)[:, rank]
            out[np.isnan(self.values).any(axis=1)] = np.nan
        else:
            rows = self.sorted_rows or SortedRows(self.values, self.weights)
            out[...] = rows.quantile(self.level)

    def tail(self, sign: float, out: Floats) -> None:
        """Fill ``out`` with the mean of values above (``sign`` 1) or below (-1) the quantile.

        The value at the quantile has a partial weight. Short rows are summed in ascending order,
        which is the order of such sums in proofs (:class:`symbolic.statistics.NodeValues`).
        """
        values = self.values if sign > 0 else -self.values
        with np.errstate(all="ignore"):
            if self.weights is None:
                level, count, rank = self.level, self.count, self._rank
                short = count <= SHORT_ROW
                values = np.sort(values, axis=1) if short else np.partition(values, rank, axis=1)
                totals(np.ascontiguousarray(values[:, rank + 1 :]), out)
                out += values[:, rank] * float(rank + 1 - level * count)
                out /= float((1 - level) * count)
            else:  # equation 4 of Rockafellar and Uryasev (Journal of Risk 2, 2000)
                out[...] = SortedRows(values, self.weights).quantile(self.level)
                more = np.empty_like(out)
                moments(np.maximum(values - out[:, None], 0.0), self.weights, MEAN, more)
                finite = np.isfinite(out)
                out[finite] += more[finite] / (1 - float(self.level))
        out *= sign
        out[np.isnan(self.values).any(axis=1)] = np.nan

    @property
    def _rank(self) -> int:
        return int(max(math.ceil(self.level * self.count) - 1, 0))

    def mean_error(self, values: Floats, change: Change) -> Floats:
        """Return the error of the mean of ``values``, which are derived from the rows.

        ``change`` converts bounds of the formula into bounds of the derived values.
        """
        rows = self.sample.means_per_draw(values)
        about, parts = np.empty((self.points, 7)), self.sample.replicates
        _fill_mean_error_terms(rows, parts, np.empty((3, self.draws)), np.empty((2, parts)), about)
        wide, gap, total, squares, low, high, tail = about.T
        unseen = ZERO_COUNT_BOUND / self.draws * np.maximum(gap, tail)
        result = np.hypot(student_factor(parts) * wide, unseen)
        few = np.flatnonzero(total * total < MIN_NORMAL_DRAWS * squares)
        if few.size:
            count = total[few] ** 2 / squares[few]
            width = high[few] - low[few]
            excess = poisson_upper_width(count) / count * total[few] * width / self.draws
            result[few] = np.maximum(result[few], excess)
        constant = high - low <= _EQUAL_TOLERANCE * np.maximum(np.abs(low), np.abs(high))
        places = np.flatnonzero(constant)
        if places.size:
            least, most = change(*self.sample.value_ranges(places, self.count), places)
            here = rows[places, 0]
            low, high = (_weighted_sum(end, self.value_weights) for end in (least, most))
            beyond = _max_distance(low, here, high)
            result[places] = min(ZERO_COUNT_BOUND / self.draws, 1.0) * beyond
        return np.where(np.isnan(wide), np.nan, result)

    def std_error(self) -> Floats:
        """Return the error of the standard deviation, computed from the error of the variance."""
        centre = self.sample.means_per_draw(self.values).mean(axis=1)[:, None]
        squares = (self.values - centre) ** 2

        def change(low: Floats, high: Floats, places: Indices) -> tuple[Floats, Floats]:
            far = _max_distance(low, centre[places], high)
            return np.zeros_like(far), far * far

        variance = self.sample.means_per_draw(squares).mean(axis=1)
        off, here = self.mean_error(squares, change), np.sqrt(variance)
        below = here - np.sqrt(np.maximum(variance - off, 0.0))
        return np.maximum(below, np.sqrt(variance + off) - here)

    def geomean_error(self) -> Floats:
        """Return the error of the geometric mean, computed from the error of the mean logarithm."""
        logs = np.log(self.values)

        def change(low: Floats, high: Floats, _: Indices) -> tuple[Floats, Floats]:
            return np.log(np.maximum(low, 0.0)), np.log(np.maximum(high, 0.0))

        off = self.mean_error(logs, change)
        middle = np.exp(self.sample.means_per_draw(logs).mean(axis=1))
        return np.where(off == 0, 0.0, middle * np.expm1(off))

    def chance_error(self) -> Floats:
        """Return the error of a chance, or 0 if the chance is proven to be 0 or 1."""
        rows = self.sample.means_per_draw(self.values)
        result = chance_half_width_of_rows(rows, self.sample.replicates)
        places = np.flatnonzero((rows == rows[:, :1]).all(axis=1))
        if places.size:
            low, high = self.sample.value_ranges(places, self.count)
            result[places[(low == high).all(axis=1)]] = 0.0
        return result

    def extreme_error(self, high: bool, skip: bool) -> Floats:
        """Return the distance from the largest or smallest value to the formula's bound."""
        sign = 1.0 if high else -1.0
        least, most = self.sample.value_ranges(np.arange(self.points), self.count, whole=True)
        end = np.where(self.value_weights > 0, most if high else -least, -np.inf).max(axis=1)
        here = (np.fmax if skip else np.maximum).reduce(sign * self.values, axis=1)
        return np.where(np.isnan(here), np.nan, _max_distance(here, here, end))

    def quantile_error(self) -> Floats:
        """Return the distance from a quantile to the farther end of its confidence interval.

        The share of draws up to the quantile is a mean. The confidence interval of this mean gives
        the levels of both ends (Woodruff 1952). If one side has few draws, order statistics give
        the levels.
        """
        if self.level in (0, 1):
            return self.extreme_error(self.level == 1, False)
        order = self.sorted_rows or SortedRows(self.values, self.weights)
        here, p = order.quantile(self.level), float(self.level)
        below = self.sample.means_per_draw((self.values <= here[:, None]).astype(np.float64))
        wide = half_width(below.reshape(self.points, self.sample.replicates, -1).mean(axis=-1))
        if min(p, 1 - p) * self.draws < MIN_NORMAL_DRAWS:
            ranks = quantile_ranks(self.draws, p, TAIL_PROBABILITY)
            low, high = (rank / self.draws for rank in ranks)
            levels = np.minimum(low, p - wide), np.maximum(high, p + wide)
        else:
            off = np.hypot(wide, ZERO_COUNT_BOUND / self.draws)
            levels = p - off, p + off
        result = self._quantile_distance(order, here, *levels)
        sure = np.flatnonzero(result == 0)
        if sure.size:
            ranks = quantile_ranks(self.draws, p, _CERTAIN_TAIL)
            ends = [np.full(self.points, rank / self.draws) for rank in ranks]
            result[sure] = self._quantile_distance(order, here, ends[0], ends[1])[sure]
        return np.where(np.isnan(here), np.nan, result)

    def _quantile_distance(
        self, order: SortedRows, quantile: Floats, low: Floats, high: Floats
    ) -> Floats:
        first, last = order.quantile(low), order.quantile(high)
        open_ended = np.flatnonzero((low * self.draws < 1 - ROUNDING) | (high > 1 + ROUNDING))
        if open_ended.size:
            least, most = self.sample.value_ranges(open_ended, self.count)
            least = np.where(self.value_weights > 0, least, np.inf).min(axis=1)
            most = np.where(self.value_weights > 0, most, -np.inf).max(axis=1)
            under = low[open_ended] * self.draws < 1 - ROUNDING
            first[open_ended] = np.where(under, least, first[open_ended])
            over = high[open_ended] > 1 + ROUNDING
            last[open_ended] = np.where(over, most, last[open_ended])
        return _max_distance(first, quantile, last)

    def tail_error(self, sign: float) -> Floats:
        """Return the error of a tail's mean: the error of the mean excess over the quantile.

        The two errors are equal to first order (Rockafellar and Uryasev 2000). If there are too few
        draws to bound the quantile, the error extends to the bounds of the formula.
        """
        p, rank, signed = float(self.level), self._rank, sign * self.values
        if self.weights is None:
            quantile = np.partition(signed, rank, axis=1)[:, rank : rank + 1]
        else:
            quantile = SortedRows(signed, self.weights).quantile(self.level)[:, None]
        over = np.maximum(signed - quantile, 0.0) / (1 - p)

        def change(low: Floats, high: Floats, places: Indices) -> tuple[Floats, Floats]:
            most = np.maximum(sign * (high if sign > 0 else low) - quantile[places], 0.0)
            return np.zeros_like(most), most / (1 - p)

        result = self.mean_error(over, change)
        low, high = quantile_ranks(self.draws, p, TAIL_PROBABILITY)
        if high > self.draws:
            here = quantile[:, 0] + self.sample.means_per_draw(over).mean(axis=1)
            least, most = self.sample.value_ranges(np.arange(self.points), self.count)
            end = np.where(self.value_weights > 0, most if sign > 0 else -least, -np.inf)
            end = end.max(axis=1)
            order = SortedRows(signed, self.weights)
            start = order.quantile(np.full(self.points, low / self.draws)) if low else -end
            result = np.maximum(result, _max_distance(start, here, end))
            result[np.isnan(here)] = np.nan
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStatistic:
    """The functions that compute a statistic and half the width of its 95 % interval."""

    fill: Callable[[RowValues, Floats], None]
    error: Callable[[RowValues], Floats] | None = None


def _moment_of(kind: int, error: Callable[[RowValues], Floats]) -> RowStatistic:
    return RowStatistic(fill=lambda rows, out: rows.moment(kind, out), error=error)


def _tail_of(sign: float) -> RowStatistic:
    return RowStatistic(
        fill=lambda rows, out: rows.tail(sign, out), error=lambda rows: rows.tail_error(sign)
    )


def _extreme_of(high: bool, skip: bool) -> RowStatistic:
    return RowStatistic(
        fill=lambda rows, out: fill_extremes(rows.values, 1.0 if high else -1.0, skip, out),
        error=lambda rows: rows.extreme_error(high, skip),
    )


#: The functions for each kind of statistic.
ROW_STATISTICS: dict[str, RowStatistic] = {
    "mean": _moment_of(
        MEAN, lambda rows: rows.mean_error(rows.values, lambda low, high, _: (low, high))
    ),
    "std": _moment_of(STD, RowValues.std_error),
    "geomean": RowStatistic(fill=RowValues.geomean, error=RowValues.geomean_error),
    "chance": _moment_of(MEAN, RowValues.chance_error),
    "worst_high": _extreme_of(high=True, skip=False),
    "worst_low": _extreme_of(high=False, skip=False),
    "best_high": _extreme_of(high=True, skip=True),
    "best_low": _extreme_of(high=False, skip=True),
    "quantile": RowStatistic(fill=RowValues.quantile, error=RowValues.quantile_error),
    "cvar_high": _tail_of(1.0),
    "cvar_low": _tail_of(-1.0),
}


def error_of(
    statistic: Statistic,
    values: Floats,
    sample: SamplingDesign,
    sorted_rows: SortedRows | None = None,
) -> Floats:
    """Return, for each row, half the width of the 95 % interval of a statistic."""
    if sample.replicates < 2:
        return np.zeros(len(values))
    error = ROW_STATISTICS[statistic.kind].error
    if error is None:
        return np.full(len(values), np.inf)
    values = np.ascontiguousarray(values)
    rows = RowValues(values, sample.weights, statistic.level, sorted_rows, sample)
    with np.errstate(all="ignore"):
        return error(rows)
