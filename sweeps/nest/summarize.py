"""Statistics of a formula over a grid: its values some points at a time, none of which is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from stochastic.kept import compiled
from stochastic.threads import workers
from sweeps.grid.awaited import Folding
from sweeps.nest.errors import Ordered, RowErrors, Sample, reach_of
from sweeps.nest.passes import ROWS_BLOCK, over_rows
from sweeps.runtime.memory import check_memory
from symbolic.node import Node
from symbolic.primitives import elementary
from symbolic.statistic import Statistic

# --- Moments and extremes of rows of values, in machine code: each row gives one number


#: What :func:`moments` gives: the mean, the standard deviation.
MEAN, STD = 0, 1


@compiled
def _total(row):
    """The sum, several terms at a time; of few terms in order."""
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
    found = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for j in range(whole, count):
        found += row[j]
    return found


@compiled
def _mean(row, weights):
    if weights.size == 0:
        return _total(row) / row.size
    found = 0.0
    for j in range(row.size):
        if weights[j] > 0:  # what never is may be infinite
            found += weights[j] * row[j]
    return found


@compiled
def totals(values, out) -> None:
    """Fill ``out`` with the sum of each row."""
    for i in range(values.shape[0]):
        out[i] = _total(values[i])


@compiled
def moments(values, weights, kind, out) -> None:
    """The mean of each row (rows of equal weight where none are given), or what follows of it.

    A standard deviation is that of the law which the row is.
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
def extreme(values, sign, skip, out) -> None:
    """The largest of each row (``sign`` 1) or the least (-1); NaN left out, or passed on."""
    for i in range(values.shape[0]):
        row = values[i]
        found, holes = -np.inf, 0
        for j in range(row.size):
            value = row[j] * sign
            holes += 1 if value != value else 0
            found = value if value > found else found
        if holes == row.size or (holes and not skip):
            found = np.nan
        out[i] = found * sign


Floats = NDArray[np.float64]

_NONE = np.empty(0)
#: Rows of at most so many values may be proven of, term by term (:mod:`sweeps.bounds.expanding`).
SHORT = sizes.SUM_SHORT


def summarized(foldings: Sequence[Folding]) -> Mapping[str, Floats]:
    """Return every statistic of some formulas over the same grid, in one pass over their values."""
    first = foldings[0]
    rest, along, weights = first.rest, first.along, first.weights
    grid = first.grid
    if len(foldings) > 1:
        leaves = {n: leaf for one in foldings for n, leaf in one.grid.leaves[()].items()}
        grid = replace(grid, leaves={(): leaves}, _dims={}, kept={})
    roots = list(dict.fromkeys(folding.root for folding in foldings))
    names = [(name, about, f.root) for f in foldings for name, about in f.statistics.items()]
    shape, count = grid.shape(rest), math.prod(grid.shape(along))
    points = math.prod(shape)
    check_memory(
        8 * (points * len(names) + (3 + len(roots)) * workers() * max(count, ROWS_BLOCK)),
        f"{', '.join(name for name, _, _ in names)} over {points:.4g} points",
        "shorten axes, or leave some out of the study",
    )
    found = {name: np.empty(points) for name, _, _ in names}
    reaches = {folding.root: reach_of(folding) for folding in foldings}

    def sample_at(root: Node, start: int) -> Sample:
        return Sample(
            draws=first.draws,
            replicates=first.replicates,
            weights=weights,
            reach=lambda rows, whole: reaches[root](start + rows, whole),
        )

    def tell(values: list[Floats], start: int) -> None:
        for root, rows in zip(roots, values, strict=True):
            own = [(name, about) for name, about, node in names if node is root]
            inner = [a.argument.args[0].statistic if a.kind == "error" else a for _, a in own]
            kinds = [about.kind for about in inner]
            ordered = Ordered(rows, weights) if kinds.count("quantile") > 1 else None
            for (name, about), of in zip(own, inner, strict=True):
                out = found[name][start : start + len(rows)]
                if about.kind == "error":
                    out[...] = error_of(of, rows, sample_at(root, start), ordered)
                else:
                    summary(about, rows, weights, out, ordered)

    over_rows(grid, (), roots, rest, along, tell)
    return {name: array.reshape(shape) for name, array in found.items()}


def summary(
    about: Statistic,
    values: Floats,
    weights: Floats | None,
    out: Floats,
    ordered: Ordered | None = None,
) -> None:
    """Fill ``out`` with a statistic of each row of values; ``ordered`` are the rows sorted."""
    rows = Rows(values=values, weights=weights, level=about.level, ordered=ordered)
    ROWS[about.kind].fill(rows, out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of values, each of which one statistic summarizes.

    ``weights`` is how much each value of a row counts, in sum 1, where they do not count alike;
    ``ordered`` are the rows in order, where they are known.
    """

    values: Floats
    weights: Floats | None
    level: Fraction | None
    ordered: Ordered | None

    def moment(self, kind: int, out: Floats) -> None:
        """Fill ``out`` with the mean of each row, or with the standard deviation."""
        moments(self.values, _NONE if self.weights is None else self.weights, kind, out)

    def geomean(self, out: Floats) -> None:
        """Fill ``out`` with the geometric mean of each row."""
        replace(self, values=elementary.log(self.values)).moment(MEAN, out)
        out[...] = elementary.exp(out)

    def extreme(self, high: bool, skip: bool, out: Floats) -> None:
        """Fill ``out`` with the largest or least value of each row; ``skip`` leaves NaN out."""
        extreme(self.values, 1.0 if high else -1.0, skip, out)

    def quantile(self, out: Floats) -> None:
        """Fill ``out`` with the quantile of each row."""
        assert self.level is not None
        if self.weights is None and self.ordered is None:
            rank = self._rank
            out[...] = np.partition(self.values, rank, axis=1)[:, rank]
            out[np.isnan(self.values).any(axis=1)] = np.nan
        else:
            out[...] = (self.ordered or Ordered(self.values, self.weights)).at(self.level)

    def tail(self, sign: float, out: Floats) -> None:
        """Fill ``out`` with the mean beyond the quantile: above for ``sign`` 1, below for -1."""
        values = self.values if sign > 0 else -self.values
        with np.errstate(all="ignore"):  # infinite values may make NaN, as their sums do
            if self.weights is None:
                self._plain_tail(values, out)
            else:
                self._weighted_tail(values, out)
        out *= sign
        out[np.isnan(self.values).any(axis=1)] = np.nan

    @property
    def _rank(self) -> int:
        assert self.level is not None
        rank: int = max(math.ceil(self.level * self.values.shape[1]) - 1, 0)
        return rank

    def _plain_tail(self, values: Floats, out: Floats) -> None:
        """Fill ``out`` with the mean from a rank on, whose value counts for a part.

        Short rows are added in ascending order, as a proof expands them
        (:class:`symbolic.statistic.FewValues`).
        """
        level, count, rank = self.level, values.shape[1], self._rank
        assert level is not None
        values = np.sort(values, axis=1) if count <= SHORT else np.partition(values, rank, axis=1)
        totals(np.ascontiguousarray(values[:, rank + 1 :]), out)
        out += values[:, rank] * float(rank + 1 - level * count)
        out /= float((1 - level) * count)

    def _weighted_tail(self, values: Floats, out: Floats) -> None:
        """Fill ``out`` with the mean beyond the first value up to which weights reach the level.

        It is that value and the mean excess over it (Rockafellar and Uryasev 2000, Optimization of
        conditional value-at-risk, Journal of Risk 2, equation 4).
        """
        weights, level = self.weights, self.level
        assert weights is not None
        assert level is not None
        out[...] = Ordered(values, weights).at(level)
        more = np.empty_like(out)
        moments(np.maximum(values - out[:, None], 0.0), weights, MEAN, more)
        finite = np.isfinite(out)
        out[finite] += more[finite] / (1 - float(level))


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStatistic:
    """How a statistic of :data:`symbolic.statistic.STATISTICS` summarizes rows of values.

    ``fill`` computes it; ``error`` is half the width of its 95 % interval over draws, infinite
    where None.
    """

    fill: Callable[[Rows, Floats], None]
    error: Callable[[RowErrors, Fraction | None], Floats] | None = None


def _quantile_error(rows: RowErrors, level: Fraction | None) -> Floats:
    assert level is not None
    if level in (0, 1):
        return rows.extreme(level == 1, False)
    return rows.quantile(level)


def _tail_of(sign: float) -> RowStatistic:
    def error(rows: RowErrors, level: Fraction | None) -> Floats:
        assert level is not None
        return rows.tail(level, sign)

    return RowStatistic(fill=lambda rows, out: rows.tail(sign, out), error=error)


def _extreme_of(high: bool, skip: bool) -> RowStatistic:
    return RowStatistic(
        fill=lambda rows, out: rows.extreme(high, skip, out),
        error=lambda rows, _: rows.extreme(high, skip),
    )


#: What stands in rows of values, by the name of the statistic.
ROWS: dict[str, RowStatistic] = {
    "mean": RowStatistic(
        fill=lambda rows, out: rows.moment(MEAN, out), error=lambda rows, _: rows.mean_of_rows()
    ),
    "std": RowStatistic(
        fill=lambda rows, out: rows.moment(STD, out), error=lambda rows, _: rows.std()
    ),
    "geomean": RowStatistic(fill=Rows.geomean, error=lambda rows, _: rows.geomean()),
    "chance": RowStatistic(
        fill=lambda rows, out: rows.moment(MEAN, out), error=lambda rows, _: rows.chance()
    ),
    "worst_high": _extreme_of(high=True, skip=False),
    "worst_low": _extreme_of(high=False, skip=False),
    "best_high": _extreme_of(high=True, skip=True),
    "best_low": _extreme_of(high=False, skip=True),
    "quantile": RowStatistic(fill=Rows.quantile, error=_quantile_error),
    "cvar_high": _tail_of(1.0),
    "cvar_low": _tail_of(-1.0),
}


def error_of(
    about: Statistic, values: Floats, sample: Sample, ordered: Ordered | None = None
) -> Floats:
    """Return half the width of the 95 % interval of a statistic of each row of values."""
    if sample.replicates < 2:
        return np.zeros(len(values))
    error = ROWS[about.kind].error
    if error is None:
        return np.full(len(values), np.inf)
    with np.errstate(all="ignore"):
        return error(RowErrors(np.ascontiguousarray(values), sample, ordered), about.level)
