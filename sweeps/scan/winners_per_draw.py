"""An objective over configurations and draws: which configurations can be best, and how often.

Nothing is kept of the values but the least in each draw. Who is as good as the least so far is
looked at again when the least is known: nobody else can be best, whatever the order.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.checks import check_grid
from sweeps.bounds.problem import evenly_spaced
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import POINT_AXIS, Grid, gather_points
from sweeps.nest.reduce import share_wins_and_regret, sum_cells, update_two_best, update_winners
from sweeps.nest.tiles import visit_rows
from sweeps.scan.optimum import ravel_with_switches
from sweeps.scan.values import DatasetTable
from symbolic.confidence import MIN_NORMAL_DRAWS, ZERO_COUNT_BOUND, half_width, poisson_upper_width
from symbolic.ops import references
from symbolic.statistics import DRAW

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
#: Told of the values of some configurations in all draws, and of their flat indices or numbers.
ScoreConsumer = Callable[[Floats, Indices], None]
ScoreFilter = Callable[[Floats], NDArray[np.bool_]]
#: Parts of draws of which nothing is told, each taken for a sample by itself.
_REPLICATES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawScores(ABC):
    """The signed objective over configurations and draws, infinite where a point does not count.

    There are ``count`` configurations, over the axes ``rest``. ``weights`` of the draws sum to 1;
    of ``replicates`` equal parts each is a sample by itself.
    """

    axes: tuple[str, ...]
    count: int
    weights: Floats
    replicates: int

    @abstractmethod
    def visit_all(self, consume: ScoreConsumer, may_matter: ScoreFilter) -> None:
        """Tell of every configuration, by its flat index; from several threads.

        Some are left out of which ``keep`` is not true, told a number that none of their values is
        below.
        """

    @abstractmethod
    def visit_some(self, flat: Indices, consume: ScoreConsumer) -> None:
        """Tell of some configurations, by their numbers among those that are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDrawScores(DrawScores):
    """See :class:`DrawScores`; of a grid."""

    grid: Grid
    goal: Goal

    @classmethod
    def from_grid(cls, grid: Grid, goal: Goal) -> GridDrawScores:
        """Return that of an objective; axes along which nothing varies are left out."""
        check_grid(grid)
        rest, draws = grid.sort_axes(dims_of(grid, [goal]) - {DRAW}), grid.axes[DRAW]
        return cls(
            grid=grid,
            goal=goal,
            axes=rest,
            count=math.prod(grid.shape(rest)),
            weights=draws.value_weights,
            replicates=draws.replicates,
        )

    def visit_all(self, consume: ScoreConsumer, may_matter: ScoreFilter) -> None:
        """See :class:`DrawScores`."""
        grid, rest = self.grid, self.axes
        plain = grid.non_switch_axes(rest)
        for at, key in grid.keys(rest):

            def consume_rows(rows: list[Floats], first: int, at: dict[str, int] = at) -> None:
                flat = np.arange(first, first + len(rows[0]))
                consume(rows[0], ravel_with_switches(flat, plain, at, rest, grid))

            node = objective_node(grid, key, self.goal)
            visit_rows(grid, key, [node], plain, (DRAW,), consume_rows, may_matter)

    def visit_some(self, flat: Indices, consume: ScoreConsumer) -> None:
        """See :class:`DrawScores`."""
        grid, rest = self.grid, self.axes
        split = unravel(flat, grid.shape(rest))
        places = dict(zip(rest, split, strict=True))
        for at, key in grid.keys(rest):
            here = np.ones(flat.size, dtype=bool)
            for axis, place in at.items():
                here &= places[axis] == place
            numbers = np.flatnonzero(here)
            if not numbers.size:
                continue
            node = objective_node(grid, key, self.goal)
            used = {name: grid.leaves[key][name] for name in references(node)}
            own = {axis: i[numbers] for axis, i in places.items() if axis not in at}
            part = gather_points(replace(grid, leaves={key: used}), key, own, (DRAW,))
            copies = 1 if own else numbers.size  # nothing but switches: a point each

            def consume_points(
                rows: list[Floats], first: int, numbers: Indices = numbers, c: int = copies
            ) -> None:
                consume(np.repeat(rows[0], c, axis=0), numbers[first : first + c * len(rows[0])])

            visit_rows(part, (), [node], (POINT_AXIS,), (DRAW,), consume_points)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDrawScores(DrawScores):
    """See :class:`DrawScores`; of values in memory, of shape (configurations, draws)."""

    values: Floats

    @classmethod
    def from_table(cls, table: DatasetTable, goal: Goal, draw_axis: str) -> TableDrawScores:
        """Return that of an objective; parts of the draws that follow each other are samples."""
        values, dims = table.values([goal])
        size, rest = table.axes[draw_axis], tuple(axis for axis in dims if axis != draw_axis)
        whole = np.broadcast_to(values[0], [table.axes[axis] for axis in dims])
        if draw_axis not in dims:
            whole = np.broadcast_to(whole[..., None], (*whole.shape, size))
        else:
            whole = np.moveaxis(whole, dims.index(draw_axis), -1)
        parts = max(1, min(_REPLICATES, size // 2))
        groups = np.array_split(np.arange(size), parts)
        longest = max(group.size for group in groups)
        columns = [np.pad(group, (0, longest - group.size), constant_values=-1) for group in groups]
        order = np.concatenate(columns)
        rows = np.where(order >= 0, whole.reshape(-1, size)[:, order], np.inf)
        return cls(
            axes=rest,
            values=np.ascontiguousarray(rows),
            count=len(rows),
            weights=np.where(order >= 0, 1 / size, 0.0),
            replicates=parts,
        )

    def visit_all(self, consume: ScoreConsumer, may_matter: ScoreFilter) -> None:
        """See :class:`DrawScores`."""
        consume(self.values, np.arange(len(self.values)))

    def visit_some(self, flat: Indices, consume: ScoreConsumer) -> None:
        """See :class:`DrawScores`."""
        consume(np.ascontiguousarray(self.values[flat]), np.arange(flat.size))


# --- How often configurations are best among each other, and what they miss where they are not


@dataclass(frozen=True, slots=True, kw_only=True)
class WinStatistics:
    """How often some configurations are best, ties in equal shares, and what they miss on average.

    ``chances`` and ``regrets``, of shape (configurations, replicates), are the same of each
    replicate. ``none`` is the weight of draws in which nothing counts; regrets are of the others.
    In ``losses`` draws another is better.
    ``apart`` is how far each is from the best of the others (root mean square).
    """

    chance: Floats
    regret: Floats
    replicate_chances: Floats
    replicate_regrets: Floats
    no_winner_weight: float
    losses: Floats
    distance_to_best: Floats


def widen_for_few_draws(width: Floats, count: Any, mean: Any, size: Any, draws: int) -> Floats:
    """Return half the width of a mean's interval, widened where few draws tell it.

    ``count`` draws make up the mean; ``size`` is what another one may count.
    """
    count = np.asarray(count, dtype=np.float64)
    some = np.maximum(count, 1.0)
    few = np.maximum(poisson_upper_width(some) / some * np.abs(mean), width)
    result = np.where(count < MIN_NORMAL_DRAWS, few, width)
    return np.where(count < 1, np.maximum(result, ZERO_COUNT_BOUND * size / draws), result)


def regret_width(statistics: WinStatistics, selection: Any, draws: int) -> Floats:
    """Return half the widths of the intervals of some regrets."""
    width = half_width(statistics.replicate_regrets[selection])
    return widen_for_few_draws(
        width,
        statistics.losses[selection],
        statistics.regret[selection],
        statistics.distance_to_best[selection],
        draws,
    )


def win_statistics(scores: DrawScores, flat: Indices) -> WinStatistics:
    """What some configurations win among each other; ties share a draw in equal parts."""
    weights, parts = scores.weights, scores.replicates
    best, second = np.full((2, weights.size), np.inf)
    ties = np.zeros(weights.size, dtype=np.int64)
    lock = threading.Lock()

    def tally_best(values: Floats, _: Any) -> None:
        with lock:
            update_two_best(values, best, second, ties)

    scores.visit_some(flat, tally_best)
    won, lost = np.empty((2, flat.size, parts))
    about = np.empty((flat.size, 3))

    def add_shares(values: Floats, numbers: Indices) -> None:
        gain, loss = np.empty((2, len(values), parts))
        more = np.empty((len(values), 3))
        share_wins_and_regret(values, best, second, ties, weights, gain, loss, more)
        won[numbers], lost[numbers], about[numbers] = gain, loss, more

    scores.visit_some(flat, add_shares)
    each = weights.reshape(parts, -1).sum(axis=1)
    some = np.where(best < np.inf, weights, 0.0).reshape(parts, -1).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return WinStatistics(
            chance=won.sum(axis=1),
            regret=lost.sum(axis=1) / some.sum(),
            replicate_chances=won / each,
            replicate_regrets=lost / some,
            no_winner_weight=float(1 - some.sum()),
            losses=about[:, 1],
            distance_to_best=about[:, 2],
        )


# --- Which configurations can be best in some draw, and which are most often


#: Configurations looked at first, so that little is as good as the least so far.
_FIRST_VISITED = sizes.LEADERS_FIRST
#: Likely winners with which all others are compared on fresh draws.
MAX_RIVALS = sizes.CHANCE_RIVALS
#: Equal up to rounding, as a share.
_ROUNDING = 1e-12


def possible_winners(scores: DrawScores, likely: Indices | None = None) -> Indices:
    """The configurations that are best, or as good, in some draw, and maybe others; ascending.

    ``known`` are some that are likely to be good.
    """

    def find_winners(values: Floats, numbers: Indices) -> int:
        return int(update_winners(values, best, numbers))

    best = np.full(scores.weights.size, np.inf)
    some = (
        sample_configurations(scores)
        if likely is None
        else np.union1d(sample_configurations(scores), likely)
    )
    scores.visit_some(some, lambda values, _: _lower_best(values, best))
    return _collect_winners(scores, find_winners, lambda low: np.asarray(low <= best.max()))


def possible_cell_winners(scores: DrawScores, cells: NDArray[np.int64]) -> Indices:
    """The configurations with the least mean in some cell of draws, and maybe others; ascending.

    ``cells`` of shape (partitions, draws), as of :func:`sweeps.nest.reduce.sum_cells`.
    """
    best = np.full(int(cells.max()) + 1, np.inf)
    weights = scores.weights

    def find_winners(values: Floats, numbers: Indices) -> int:
        sums = np.empty((len(values), best.size))
        sum_cells(values, weights, cells, sums)
        return int(update_winners(sums, best, numbers))

    def visit_first(values: Floats, flat: Indices) -> None:
        find_winners(values, np.empty_like(flat))

    scores.visit_some(sample_configurations(scores), visit_first)
    best += _ROUNDING * np.abs(best)  # what is found elsewhere may be a last bit off
    each = np.bincount(cells.reshape(-1), np.tile(weights, len(cells)))

    def may_win(low: Floats) -> NDArray[np.bool_]:
        return np.asarray(low <= (best[each > 0] / each[each > 0]).max())

    return _collect_winners(scores, find_winners, may_win)


def _lower_best(values: Floats, best: Floats) -> None:
    least = values.min(axis=0)  # what is found elsewhere may be a last bit off
    np.minimum(best, least + _ROUNDING * np.abs(least), out=best)


def sample_configurations(scores: DrawScores, count: int = _FIRST_VISITED) -> Indices:
    """Some configurations all over."""
    return evenly_spaced(scores.count, count)


def _collect_winners(
    scores: DrawScores, find_winners: Callable[[Floats, Indices], int], may_win: ScoreFilter
) -> Indices:
    result: list[Indices] = [np.empty(0, dtype=np.int64)]

    def collect(values: Floats, flat: Indices) -> None:
        kept = np.empty(len(values), dtype=np.int64)
        if count := find_winners(
            values, kept
        ):  # threads may undo each other's least: more is kept then
            result.append(flat[kept[:count]])

    scores.visit_all(collect, may_win)
    return np.sort(np.concatenate(result))
