"""What has draws: a grid with random inputs, a Dataset of values that repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.source import Parted, placed_in
from sweeps.grid.at import part_of
from sweeps.grid.dataset import axis_coordinates
from sweeps.grid.flat_index import unravel
from sweeps.grid.goals import Goal
from sweeps.grid.grid import Grid
from sweeps.scan.arrays import Table
from sweeps.scan.contest import Contest, GridContest, TableContest
from symbolic.errors import DseError
from symbolic.statistic import DRAW, RUN

Indices = NDArray[np.int64]

#: Parts of draws of which nothing is told, each taken for a sample by itself.
_PARTS = 16


class Draws(Parted, Protocol):
    """Configurations of which an objective has a value in each of some draws."""

    @property
    def exact(self) -> bool:
        """Whether all that may happen is looked at."""

    @property
    def quantities(self) -> Mapping[str, Any]:
        """What formulas may name."""

    @property
    def at(self) -> Mapping[str, int]:
        """The index along each axis that is fixed."""

    def rest(self, goal: Goal) -> tuple[str, ...]:
        """The axes, draws excluded, on which it depends."""

    def contests(self, goal: Goal) -> tuple[Contest, Contest]:
        """The objective over draws, and over fresh ones if there are."""

    def places(self, goal: Goal, flat: Indices) -> Mapping[str, Indices]:
        """An index along each of these axes for some configurations."""
        rest, sizes = self.rest(goal), self.sizes
        split = unravel(flat, [sizes[axis] for axis in rest])
        return placed_in(dict(zip(rest, split, strict=True)), self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridDraws(Draws):
    """See :class:`Draws`: of a grid, and of the same with ``fresh`` draws; ``at`` is a part."""

    grid: Grid
    fresh: Grid | None
    at: Mapping[str, int] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """See :class:`Draws`."""
        return self.fresh is None

    @property
    def quantities(self) -> Mapping[str, Any]:
        """See :class:`Draws`."""
        return self.grid.model.quantities

    @property
    def sizes(self) -> dict[str, int]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {name: axis.size for name, axis in self.grid.axes.items() if name != DRAW}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {n: c for n, c in axis_coordinates(self.grid).items() if c[0] != DRAW}

    def only(self, at: Mapping[str, int]) -> Self:
        """See :class:`sweeps.ask.source.Parted`."""
        fresh = None if self.fresh is None else part_of(self.fresh, at)
        return replace(self, grid=part_of(self.grid, at), fresh=fresh, at={**self.at, **at})

    def rest(self, goal: Goal) -> tuple[str, ...]:
        """See :class:`Draws`."""
        return GridContest.of(self.grid, goal).rest

    def contests(self, goal: Goal) -> tuple[Contest, Contest]:
        """See :class:`Draws`."""
        first = GridContest.of(self.grid, goal)
        return first, first if self.fresh is None else GridContest.of(self.fresh, goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDraws(Draws):
    """See :class:`Draws`: of a Dataset along ``draw`` or ``run``; there are no fresh ones."""

    table: Table
    at: Mapping[str, int] = field(default_factory=dict)
    exact: bool = False

    @property
    def quantities(self) -> Mapping[str, Any]:
        """See :class:`Draws`."""
        return self.table.quantities

    @property
    def along(self) -> str:
        """The dimension of the draws."""
        found = [axis for axis in (DRAW, RUN) if axis in self.table.axes]
        if len(found) != 1:
            what = "neither" if not found else "both"
            raise DseError(
                f"the Dataset has {what} of the dimensions {DRAW} and {RUN}: chances are over one "
                "of them; rename the dimension of the repeated values (ds.rename), or ask a study "
                "whose inputs have laws (random=)"
            )
        return found[0]

    @property
    def sizes(self) -> dict[str, int]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {axis: size for axis, size in self.table.axes.items() if axis != self.along}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """See :class:`sweeps.ask.source.Parted`."""
        return {n: c for n, c in self.table.coordinates.items() if c[0] != self.along}

    def only(self, at: Mapping[str, int]) -> Self:
        """See :class:`sweeps.ask.source.Parted`."""
        return replace(self, table=self.table.part(at), at={**self.at, **at})

    def rest(self, goal: Goal) -> tuple[str, ...]:
        """See :class:`Draws`."""
        return tuple(axis for axis in self.table.values([goal])[1] if axis != self.along)

    def contests(self, goal: Goal) -> tuple[Contest, Contest]:
        """See :class:`Draws`; parts that follow each other are taken for samples."""
        values, dims = self.table.values([goal])
        along, size = self.along, self.table.axes[self.along]
        shape = [self.table.axes[axis] for axis in dims]
        whole = np.broadcast_to(values[0], shape)
        if along not in dims:
            whole = np.broadcast_to(whole[..., None], (*shape, size))
        else:
            whole = np.moveaxis(whole, dims.index(along), -1)
        parts = max(1, min(_PARTS, size // 2))
        groups = np.array_split(np.arange(size), parts)
        longest = max(group.size for group in groups)
        columns = [np.pad(group, (0, longest - group.size), constant_values=-1) for group in groups]
        order = np.concatenate(columns)
        rows = np.where(order >= 0, whole.reshape(-1, size)[:, order], np.inf)
        weights = np.where(order >= 0, 1 / size, 0.0)
        contest = TableContest(values=np.ascontiguousarray(rows), weights=weights, replicates=parts)
        return contest, contest
