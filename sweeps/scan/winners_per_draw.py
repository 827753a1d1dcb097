"""Find the configurations that are best in some draw, and how often each is best.

Only the minimum of each draw is stored. A first pass collects the configurations that are at least
as good as the minimum so far. No others can be best. A second pass evaluates them again.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.checks import check_grid
from sweeps.bounds.problem import Floats, Indices, Mask, evenly_spaced
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import POINT_AXIS, Grid, gather_points, unravel
from sweeps.nest.reduce import share_wins_and_regret, sum_cells, update_two_best, update_winners
from sweeps.nest.tiles import visit_rows
from sweeps.scan.optimum import ravel_with_switches
from sweeps.scan.values import DatasetTable
from symbolic.confidence import MIN_NORMAL_DRAWS, ZERO_COUNT_BOUND, half_width, poisson_upper_width
from symbolic.ops import references
from symbolic.statistics import DRAW

#: Function that takes values (configurations, draws) and an index or position per configuration.
ScoreConsumer = Callable[[Floats, Indices], None]
ScoreFilter = Callable[[Floats], Mask]
#: Draws without replicates are split into this number of parts, which serve as replicates.
_REPLICATES = 16
MAX_RIVALS = sizes.CHANCE_RIVALS
#: Values with at most this relative difference may be equal: nests and NumPy round differently.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawScores(ABC):
    """The signed objective over configurations and draws. It is infinite at infeasible points.

    There are ``count`` configurations over the ``axes``. The ``weights`` of the draws sum to 1. The
    draws consist of ``replicates`` equal parts, each of which is an independent sample.
    """

    axes: tuple[str, ...]
    count: int
    weights: Floats
    replicates: int

    @abstractmethod
    def visit_all(self, consume: ScoreConsumer, may_matter: ScoreFilter) -> None:
        """Call a consumer with all configurations and their flat indices, from several threads.

        ``may_matter`` takes lower bounds of the values of configurations in all draws.
        Configurations for which it returns False may be left out.
        """

    @abstractmethod
    def visit_some(self, flat: Indices, consume: ScoreConsumer) -> None:
        """Call a consumer with the configurations whose indices are in ``flat``.

        The consumer also gets the position of each configuration in ``flat``.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDrawScores(DrawScores):
    """The scores of a grid. NumPy or a loop nest evaluates its points."""

    grid: Grid
    goal: Goal

    @classmethod
    def from_grid(cls, grid: Grid, goal: Goal) -> GridDrawScores:
        """Return the scores of an objective. Axes without influence are left out."""
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
        """Call a consumer with all configurations and their flat indices, from several threads."""
        grid, rest = self.grid, self.axes
        plain = grid.non_switch_axes(rest)
        for at, key in grid.keys(rest):

            def consume_rows(rows: list[Floats], first: int, at: dict[str, int] = at) -> None:
                flat = np.arange(first, first + len(rows[0]))
                consume(rows[0], ravel_with_switches(flat, plain, at, rest, grid))

            node = objective_node(grid, key, self.goal)
            visit_rows(grid, key, [node], plain, (DRAW,), consume_rows, may_matter)

    def visit_some(self, flat: Indices, consume: ScoreConsumer) -> None:
        """Call a consumer with the configurations whose indices are in ``flat``."""
        grid, rest = self.grid, self.axes
        places = dict(zip(rest, unravel(flat, grid.shape(rest)), strict=True))
        for at, key in grid.keys(rest):
            here = np.ones(flat.size, dtype=bool)
            for axis, place in at.items():
                here &= places[axis] == place
            numbers = np.flatnonzero(here)
            if not numbers.size:
                continue
            node = objective_node(grid, key, self.goal)
            used = {name: grid.leaves[key][name] for name in references(node)}
            plain = {axis: i[numbers] for axis, i in places.items() if axis not in at}
            part = gather_points(replace(grid, leaves={key: used}), key, plain, (DRAW,))
            copies = 1 if plain else numbers.size  # without other axes, the part is a single point

            def consume_points(
                rows: list[Floats], first: int, numbers: Indices = numbers, c: int = copies
            ) -> None:
                consume(np.repeat(rows[0], c, axis=0), numbers[first : first + c * len(rows[0])])

            visit_rows(part, (), [node], (POINT_AXIS,), (DRAW,), consume_points)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDrawScores(DrawScores):
    """The scores of values in memory, of shape (configurations, draws)."""

    values: Floats

    @classmethod
    def from_table(cls, table: DatasetTable, goal: Goal, draw_axis: str) -> TableDrawScores:
        """Return the scores of an objective. Replicates are equal parts of consecutive draws."""
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
        """Call a consumer with all configurations and their flat indices, from several threads."""
        consume(self.values, np.arange(len(self.values)))

    def visit_some(self, flat: Indices, consume: ScoreConsumer) -> None:
        """Call a consumer with the configurations whose indices are in ``flat``."""
        consume(np.ascontiguousarray(self.values[flat]), np.arange(flat.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class WinStatistics:
    """Chances and mean regrets of some configurations. Tied winners share a draw equally.

    ``replicate_chances`` and ``replicate_regrets`` have the shape (configurations, replicates).
    ``no_winner_weight`` is the weight of the draws without a feasible configuration; regrets are
    means over the other draws. ``losses`` is the number of draws in which another configuration is
    better. ``distance_to_best`` is the root mean square distance to the best other configuration.
    """

    chance: Floats
    regret: Floats
    replicate_chances: Floats
    replicate_regrets: Floats
    no_winner_weight: float
    losses: Floats
    distance_to_best: Floats


def widen_for_few_draws(width: Floats, count: Any, mean: Any, size: Any, draws: int) -> Floats:
    """Return a larger half width of a mean's interval if few draws contribute to the mean.

    ``count`` draws contribute to the mean. One more draw might contribute ``size``.
    """
    count = np.asarray(count, dtype=np.float64)
    some = np.maximum(count, 1.0)
    few = np.maximum(poisson_upper_width(some) / some * np.abs(mean), width)
    result = np.where(count < MIN_NORMAL_DRAWS, few, width)
    return np.where(count < 1, np.maximum(result, ZERO_COUNT_BOUND * size / draws), result)


def regret_width(statistics: WinStatistics, selection: Any, draws: int) -> Floats:
    """Return half the width of the interval of each selected configuration's regret."""
    width = half_width(statistics.replicate_regrets[selection])
    return widen_for_few_draws(
        width,
        statistics.losses[selection],
        statistics.regret[selection],
        statistics.distance_to_best[selection],
        draws,
    )


def win_statistics(scores: DrawScores, flat: Indices) -> WinStatistics:
    """Return the win statistics of the configurations at the indices ``flat``.

    These configurations are compared only with each other.
    """
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


def possible_winners(scores: DrawScores, likely: Indices | None = None) -> Indices:
    """Return, ascending, all configurations that win or tie in some draw, and perhaps others."""

    def find_winners(values: Floats, numbers: Indices) -> int:
        return int(update_winners(values, best, numbers))

    def lower_best(values: Floats, _: Indices) -> None:
        least = values.min(axis=0)  # `visit_all` may round differently
        np.minimum(best, least + _ROUNDING * np.abs(least), out=best)

    best = np.full(scores.weights.size, np.inf)
    some = sample_configurations(scores)
    some = some if likely is None else np.union1d(some, likely)
    scores.visit_some(some, lower_best)
    return _collect_winners(scores, find_winners, lambda low: np.asarray(low <= best.max()))


def possible_cell_winners(scores: DrawScores, cells: Indices) -> Indices:
    """Return all configurations with the smallest mean in some cell of draws, and perhaps others.

    :func:`sweeps.nest.reduce.sum_cells` describes ``cells`` (partitions, draws).
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
    best += _ROUNDING * np.abs(best)  # `visit_all` may round differently
    each = np.bincount(cells.reshape(-1), np.tile(weights, len(cells)))

    def may_win(low: Floats) -> Mask:
        return np.asarray(low <= (best[each > 0] / each[each > 0]).max())

    return _collect_winners(scores, find_winners, may_win)


def sample_configurations(scores: DrawScores, count: int = sizes.LEADERS_FIRST) -> Indices:
    """Return ``count`` evenly spaced configurations."""
    return evenly_spaced(scores.count, count)


def _collect_winners(
    scores: DrawScores, find_winners: Callable[[Floats, Indices], int], may_win: ScoreFilter
) -> Indices:
    result: list[Indices] = [np.empty(0, dtype=np.int64)]

    def collect(values: Floats, flat: Indices) -> None:
        numbers = np.empty(len(values), dtype=np.int64)
        # threads may overwrite each other's minima, which only adds configurations to the result
        if count := find_winners(values, numbers):
            result.append(flat[numbers[:count]])

    scores.visit_all(collect, may_win)
    return np.sort(np.concatenate(result))
