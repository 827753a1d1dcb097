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
from sweeps.bounds.check import check
from sweeps.bounds.problem import thinned
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import POINT, Grid, points_of
from sweeps.nest.passes import over_rows
from sweeps.nest.reduce import shared, summed, tallied, winning
from sweeps.scan.fused import to_rest
from sweeps.scan.values import Table
from symbolic.confidence import FEW, UNSEEN, count_width, half_width
from symbolic.ops import references
from symbolic.statistic import DRAW

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
#: Told of the values of some configurations in all draws, and of their flat indices or numbers.
Tell = Callable[[Floats, Indices], None]
Keep = Callable[[Floats], NDArray[np.bool_]]
#: Parts of draws of which nothing is told, each taken for a sample by itself.
_PARTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest(ABC):
    """The signed objective over configurations and draws, infinite where a point does not count.

    There are ``count`` configurations, over the axes ``rest``. ``weights`` of the draws sum to 1;
    of ``replicates`` equal parts each is a sample by itself.
    """

    rest: tuple[str, ...]
    count: int
    weights: Floats
    replicates: int

    @abstractmethod
    def all(self, tell: Tell, keep: Keep) -> None:
        """Tell of every configuration, by its flat index; from several threads.

        Some are left out of which ``keep`` is not true, told a number that none of their values is
        below.
        """

    @abstractmethod
    def some(self, flat: Indices, tell: Tell) -> None:
        """Tell of some configurations, by their numbers among those that are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridContest(Contest):
    """See :class:`Contest`; of a grid."""

    grid: Grid
    goal: Goal

    @classmethod
    def of(cls, grid: Grid, goal: Goal) -> GridContest:
        """Return that of an objective; axes along which nothing varies are left out."""
        check(grid)
        rest, draws = grid.ordered(dims_of(grid, [goal]) - {DRAW}), grid.axes[DRAW]
        return cls(
            grid=grid,
            goal=goal,
            rest=rest,
            count=math.prod(grid.shape(rest)),
            weights=draws.shares,
            replicates=draws.replicates,
        )

    def all(self, tell: Tell, keep: Keep) -> None:
        """See :class:`Contest`."""
        grid, rest = self.grid, self.rest
        plain = grid.plain(rest)
        for at, key in grid.keys(rest):

            def told(rows: list[Floats], first: int, at: dict[str, int] = at) -> None:
                flat = np.arange(first, first + len(rows[0]))
                tell(rows[0], to_rest(flat, plain, at, rest, grid))

            node = objective_node(grid, key, self.goal)
            over_rows(grid, key, [node], plain, (DRAW,), told, keep)

    def some(self, flat: Indices, tell: Tell) -> None:
        """See :class:`Contest`."""
        grid, rest = self.grid, self.rest
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
            part = points_of(replace(grid, leaves={key: used}), key, own, (DRAW,))
            copies = 1 if own else numbers.size  # nothing but switches: a point each

            def told(
                rows: list[Floats], first: int, numbers: Indices = numbers, c: int = copies
            ) -> None:
                tell(np.repeat(rows[0], c, axis=0), numbers[first : first + c * len(rows[0])])

            over_rows(part, (), [node], (POINT,), (DRAW,), told)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContest(Contest):
    """See :class:`Contest`; of values in memory, of shape (configurations, draws)."""

    values: Floats

    @classmethod
    def of(cls, table: Table, goal: Goal, along: str) -> TableContest:
        """Return that of an objective; parts of the draws that follow each other are samples."""
        values, dims = table.values([goal])
        size, rest = table.axes[along], tuple(axis for axis in dims if axis != along)
        whole = np.broadcast_to(values[0], [table.axes[axis] for axis in dims])
        if along not in dims:
            whole = np.broadcast_to(whole[..., None], (*whole.shape, size))
        else:
            whole = np.moveaxis(whole, dims.index(along), -1)
        parts = max(1, min(_PARTS, size // 2))
        groups = np.array_split(np.arange(size), parts)
        longest = max(group.size for group in groups)
        columns = [np.pad(group, (0, longest - group.size), constant_values=-1) for group in groups]
        order = np.concatenate(columns)
        rows = np.where(order >= 0, whole.reshape(-1, size)[:, order], np.inf)
        return cls(
            rest=rest,
            values=np.ascontiguousarray(rows),
            count=len(rows),
            weights=np.where(order >= 0, 1 / size, 0.0),
            replicates=parts,
        )

    def all(self, tell: Tell, keep: Keep) -> None:
        """See :class:`Contest`."""
        tell(self.values, np.arange(len(self.values)))

    def some(self, flat: Indices, tell: Tell) -> None:
        """See :class:`Contest`."""
        tell(np.ascontiguousarray(self.values[flat]), np.arange(flat.size))


# --- How often configurations are best among each other, and what they miss where they are not


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How often some configurations are best, ties in equal shares, and what they miss on average.

    ``chances`` and ``regrets``, of shape (configurations, replicates), are the same of each
    replicate. ``none`` is the weight of draws in which nothing counts; regrets are of the others.
    In ``losses`` draws another is better.
    ``apart`` is how far each is from the best of the others (root mean square).
    """

    chance: Floats
    regret: Floats
    chances: Floats
    regrets: Floats
    none: float
    losses: Floats
    apart: Floats


def at_least(width: Floats, count: Any, mean: Any, size: Any, draws: int) -> Floats:
    """Return half the width of a mean's interval, widened where few draws tell it.

    ``count`` draws make up the mean; ``size`` is what another one may count.
    """
    count = np.asarray(count, dtype=np.float64)
    some = np.maximum(count, 1.0)
    few = np.maximum(count_width(some) / some * np.abs(mean), width)
    found = np.where(count < FEW, few, width)
    return np.where(count < 1, np.maximum(found, UNSEEN * size / draws), found)


def regret_width(found: Judged, of: Any, draws: int) -> Floats:
    """Return half the widths of the intervals of some regrets."""
    width = half_width(found.regrets[of])
    return at_least(width, found.losses[of], found.regret[of], found.apart[of], draws)


def judged(contest: Contest, flat: Indices) -> Judged:
    """What some configurations win among each other; ties share a draw in equal parts."""
    weights, parts = contest.weights, contest.replicates
    best, second = np.full((2, weights.size), np.inf)
    ties = np.zeros(weights.size, dtype=np.int64)
    lock = threading.Lock()

    def tell(values: Floats, _: Any) -> None:
        with lock:
            tallied(values, best, second, ties)

    contest.some(flat, tell)
    won, lost = np.empty((2, flat.size, parts))
    about = np.empty((flat.size, 3))

    def share(values: Floats, numbers: Indices) -> None:
        gain, loss = np.empty((2, len(values), parts))
        more = np.empty((len(values), 3))
        shared(values, best, second, ties, weights, gain, loss, more)
        won[numbers], lost[numbers], about[numbers] = gain, loss, more

    contest.some(flat, share)
    each = weights.reshape(parts, -1).sum(axis=1)
    some = np.where(best < np.inf, weights, 0.0).reshape(parts, -1).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Judged(
            chance=won.sum(axis=1),
            regret=lost.sum(axis=1) / some.sum(),
            chances=won / each,
            regrets=lost / some,
            none=float(1 - some.sum()),
            losses=about[:, 1],
            apart=about[:, 2],
        )


# --- Which configurations can be best in some draw, and which are most often


#: Configurations looked at first, so that little is as good as the least so far.
_FIRST = sizes.LEADERS_FIRST
#: Likely winners with which all others are compared on fresh draws.
RIVALS = sizes.CHANCE_RIVALS
#: Equal up to rounding, as a share.
_CLOSE = 1e-12


def can_win(contest: Contest, known: Indices | None = None) -> Indices:
    """The configurations that are best, or as good, in some draw, and maybe others; ascending.

    ``known`` are some that are likely to be good.
    """

    def told(values: Floats, kept: Indices) -> int:
        return int(winning(values, best, kept))

    best = np.full(contest.weights.size, np.inf)
    some = all_over(contest) if known is None else np.union1d(all_over(contest), known)
    contest.some(some, lambda values, _: _least(values, best))
    return _kept(contest, told, lambda low: np.asarray(low <= best.max()))


def leaders(contest: Contest, cells: NDArray[np.int64]) -> Indices:
    """The configurations with the least mean in some cell of draws, and maybe others; ascending.

    ``cells`` of shape (partitions, draws), as of :func:`sweeps.nest.reduce.summed`.
    """
    best = np.full(int(cells.max()) + 1, np.inf)
    weights = contest.weights

    def told(values: Floats, kept: Indices) -> int:
        sums = np.empty((len(values), best.size))
        summed(values, weights, cells, sums)
        return int(winning(sums, best, kept))

    def first(values: Floats, flat: Indices) -> None:
        told(values, np.empty_like(flat))

    contest.some(all_over(contest), first)
    best += _CLOSE * np.abs(best)  # what is found elsewhere may be a last bit off
    each = np.bincount(cells.reshape(-1), np.tile(weights, len(cells)))

    def keep(low: Floats) -> NDArray[np.bool_]:
        return np.asarray(low <= (best[each > 0] / each[each > 0]).max())

    return _kept(contest, told, keep)


def _least(values: Floats, best: Floats) -> None:
    least = values.min(axis=0)  # what is found elsewhere may be a last bit off
    np.minimum(best, least + _CLOSE * np.abs(least), out=best)


def all_over(contest: Contest, most: int = _FIRST) -> Indices:
    """Some configurations all over."""
    return thinned(contest.count, most)


def _kept(contest: Contest, told: Callable[[Floats, Indices], int], keep: Keep) -> Indices:
    found: list[Indices] = [np.empty(0, dtype=np.int64)]

    def tell(values: Floats, flat: Indices) -> None:
        kept = np.empty(len(values), dtype=np.int64)
        if count := told(values, kept):  # threads may undo each other's least: more is kept then
            found.append(flat[kept[:count]])

    contest.all(tell, keep)
    return np.sort(np.concatenate(found))
