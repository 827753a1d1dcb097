"""An objective over configurations and draws: which configurations can be best, and how often.

Nothing is kept of the values but the least in each draw. Who is as good as the least so far is
looked at again when the least is known: nobody else can be best, whatever the order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.check import check
from sweeps.grid.at import POINT, points_of
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import Grid
from sweeps.nest.rows import over_rows
from sweeps.scan.fused import to_rest
from symbolic.ops import references
from symbolic.statistic import DRAW

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
#: Told of the values of some configurations in all draws, and of their flat indices or numbers.
Tell = Callable[[Floats, Indices], None]
Keep = Callable[[Floats], NDArray[np.bool_]]


class Contest(Protocol):
    """The signed objective over configurations and draws, infinite where a point does not count.

    ``weights`` of the draws sum to 1; of ``replicates`` equal parts each is a sample by itself.
    """

    @property
    def count(self) -> int:
        """How many configurations there are."""

    @property
    def weights(self) -> Floats:
        """How much each draw counts."""

    @property
    def replicates(self) -> int:
        """How many samples there are."""

    def all(self, tell: Tell, keep: Keep) -> None:
        """Tell of every configuration, by its flat index; from several threads.

        Some are left out of which ``keep`` is not true, told a number that none of their values is
        below.
        """

    def some(self, flat: Indices, tell: Tell) -> None:
        """Tell of some configurations, by their numbers among those that are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridContest:
    """See :class:`Contest`; of a grid. ``rest`` are the axes but the draws on which it depends."""

    grid: Grid
    goal: Goal
    rest: tuple[str, ...]

    @classmethod
    def of(cls, grid: Grid, goal: Goal) -> GridContest:
        """That of an objective; axes along which nothing varies are left out."""
        check(grid)
        dims = dims_of(grid, [goal]) - {DRAW}
        return cls(grid=grid, goal=goal, rest=grid.ordered(dims))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the configurations."""
        return self.grid.shape(self.rest)

    @property
    def count(self) -> int:
        """See :class:`Contest`."""
        return math.prod(self.shape)

    @property
    def weights(self) -> Floats:
        """See :class:`Contest`."""
        axis = self.grid.axes[DRAW]
        return np.full(axis.size, 1 / axis.size) if axis.weights is None else axis.weights

    @property
    def replicates(self) -> int:
        """See :class:`Contest`."""
        return self.grid.axes[DRAW].replicates

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
        split = unravel(flat, self.shape)
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
class TableContest:
    """See :class:`Contest`; of values in memory, of shape (configurations, draws)."""

    values: Floats
    weights: Floats
    replicates: int

    @property
    def count(self) -> int:
        """See :class:`Contest`."""
        return len(self.values)

    def all(self, tell: Tell, keep: Keep) -> None:
        """See :class:`Contest`."""
        tell(self.values, np.arange(len(self.values)))

    def some(self, flat: Indices, tell: Tell) -> None:
        """See :class:`Contest`."""
        tell(np.ascontiguousarray(self.values[flat]), np.arange(flat.size))
