"""A Dataset as what is asked: its arrays over its axes, for formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.source import (
    Choice,
    Front,
    Source,
    Stage,
    as_good,
    limit_of,
    listed,
    placed,
    placed_in,
    restored,
    shape_of,
)
from sweeps.ask.spread import dataset_count
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE, At
from sweeps.nest.reduce import front
from sweeps.scan.contest import TableContest
from sweeps.scan.fused import choose, spread, widened
from sweeps.scan.values import Table, TableValues, within
from symbolic.errors import InfeasibleError
from symbolic.ops import Node, constant, interpret_arrays, reference, references

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan(Source):
    """A Dataset of which every point is looked at."""

    table: Table
    at: Mapping[str, int] = field(default_factory=dict)
    _kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The axes, in order, and how many values each has."""
        return self.table.axes

    def only(self, at: Mapping[str, int]) -> TableScan:
        """The part at one index of some axes."""
        return TableScan(table=self.table.part(at), at={**self.at, **at})

    @property
    def coordinates(self) -> Mapping[str, tuple[str, Any, Any]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""
        return self.table.coordinates

    @property
    def quantities(self) -> Mapping[str, Any]:
        """What formulas may name."""
        return self.table.quantities

    def count(self) -> xr.Dataset:
        """See :class:`sweeps.ask.source.Source`."""
        return dataset_count(self.table.ds, self.table.where)

    def values(self, text: str, *more: str, at: At | None = None) -> TableValues:
        """See :class:`sweeps.ask.source.Source`."""
        return TableValues(within(self.table.ds, at or {}), text, *more, where=self.table.where)

    def contest(self, goal: Goal, along: str) -> TableContest:
        """See :class:`sweeps.ask.source.Source`."""
        return TableContest.of(self.table, goal, along)

    def _asked(self, stage: Stage) -> tuple[Floats, tuple[str, ...]]:
        """The next objective, infinite where a point does not count or another does not hold."""
        if stage.goals not in self._kept:
            self._kept[stage.goals] = self.table.values(stage.goals)
        values, dims = self._kept[stage.goals]
        shape = tuple(self.table.axes[dim] for dim in dims)
        found = np.broadcast_to(values[stage.number], shape)
        for one in stage.held:
            found = np.where(one.of(values[stage.goals.index(one.goal)]), found, np.inf)
        return found, dims

    def best(self, stage: Stage, per: Sequence[str], top: int) -> Choice:
        """See :class:`sweeps.ask.source.Source`."""
        values, dims = self._asked(stage)
        values, dims = widened(values, dims, per, self.sizes)
        return restored(placed(*choose(values, dims, per, top), per, self.sizes), self.at)

    def upto(self, stage: Stage, least: float, within: float) -> Choice:
        """See :class:`sweeps.ask.source.Source`."""
        values, dims = self._asked(stage)
        flat = np.flatnonzero(values <= limit_of(least, within))
        scores = values.reshape(-1)[flat]
        choice = listed(flat, scores, dims, self.sizes, as_good(stage.goal, least, within))
        return restored(choice, self.at)

    def front(self, goals: Sequence[Goal]) -> Front:
        """See :class:`sweeps.ask.source.Source`."""
        values, dims = self.table.values(goals)
        shape = tuple(self.sizes[dim] for dim in dims)
        whole = [np.broadcast_to(value, shape).reshape(-1) for value in values]
        best = front(np.stack(whole))
        if not best.size:
            raise nothing_left(goals, self.table.where)
        places = spread(best, dims, (), self.sizes)
        return Front(places=placed_in(places, self.at), told={"method": "scan"})

    def compute(self, nodes: Sequence[Node], places: Mapping[str, Indices]) -> list[Any]:
        """See :class:`sweeps.ask.source.Source`."""
        known = {n: self.table.at(n, places).astype(np.float64) for n in references(*nodes)}
        shape = shape_of(places)
        return [np.broadcast_to(np.asarray(v), shape) for v in interpret_arrays(nodes, known)]

    def pick(self, places: Mapping[str, Indices], shape: tuple[int, ...]) -> dict[str, Any]:
        """See :class:`sweeps.ask.source.Source`."""
        at = self.table.at
        return {
            name: (np.broadcast_to(at(name, places), shape), attributes)
            for name, attributes in self.table.outputs.items()
        }

    @property
    def asked_where(self) -> tuple[str, ...]:
        """See :class:`sweeps.ask.source.Source`."""
        return self.table.where

    @property
    def conditions(self) -> list[Node]:
        """See :class:`sweeps.ask.source.Source`."""
        feasible = [constant(reference(FEASIBLE) > 0)] if FEASIBLE in self.table.ds else []
        return [*self.table.conditions, *feasible]

    @property
    def is_cheap(self) -> bool:
        """See :class:`sweeps.ask.source.Source`."""
        return not self.table.is_lazy

    def nothing(self, stage: Stage) -> InfeasibleError:
        """See :class:`sweeps.ask.source.Source`."""
        return nothing_left(stage.goals[: stage.number + 1], self.table.where)

    def told(self, goals: Sequence[Goal], found: xr.Dataset) -> dict[str, Any]:
        """That every point was looked at."""
        return {"method": "scan"}


def nothing_left(goals: Sequence[Goal], where: Sequence[str]) -> InfeasibleError:
    """What to raise where no recorded point is left."""
    constraints = " and ".join(map(repr, where)) or "the constraints of the study"
    return InfeasibleError(
        f"no point with a finite {', '.join(goal.text for goal in goals)} satisfies "
        f"{constraints}: relax them, or sweep other values"
    )
