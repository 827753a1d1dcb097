"""A Dataset as a source: formulas are evaluated from its variables at all points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.bounds.problem import Floats, Places
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE, Indexers
from sweeps.nest.reduce import pareto_indices, round_to_cells, rounding_share
from sweeps.query.distribution import dataset_count
from sweeps.query.source import (
    Front,
    ObjectiveStage,
    QuerySource,
    RankedPoints,
    describe_near_best,
    list_all_points,
    places_in_whole,
    points_in_whole,
    ranked_points,
    shape_of,
    tolerance_limit,
)
from sweeps.scan.optimum import broadcast_axes, top_k, unravel_places
from sweeps.scan.values import DatasetTable, TableValues, select_part
from sweeps.scan.winners_per_draw import TableDrawScores
from symbolic.errors import InfeasibleError
from symbolic.ops import Node, constant, interpret_arrays, reference, references

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScan(QuerySource):
    """A Dataset as a source that evaluates all its points."""

    table: DatasetTable
    fixed_indices: Mapping[str, int] = field(default_factory=dict)
    _values_cache: dict[Any, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return the length of each axis, in order."""
        return self.table.axes

    def part_at(self, indices: Mapping[str, int]) -> TableScan:
        """Return the part at one index of some axes."""
        fixed = {**self.fixed_indices, **indices}
        return TableScan(table=self.table.part_at(indices), fixed_indices=fixed)

    @property
    def coordinates(self) -> Mapping[str, tuple[str, Any, Any]]:
        """Return, for each coordinate, its axis, its values and its attributes."""
        return self.table.coordinates

    @property
    def quantities(self) -> Mapping[str, Any]:
        """Return the quantities that a formula can contain."""
        return self.table.quantities

    def count(self) -> xr.Dataset:
        """Return the number of feasible configurations and of all configurations."""
        return dataset_count(self.table.ds, self.table.where)

    def values(self, text: str, *more: str, indexers: Indexers | None = None) -> TableValues:
        """Return the values of formulas over the source, or over the part at ``indexers``."""
        ds = select_part(self.table.ds, indexers or {})
        return TableValues(ds, text, *more, where=self.table.where)

    def draw_scores(self, goal: Goal, along: str) -> TableDrawScores:
        """Return the objective of each configuration in each draw of the axis ``along``."""
        return TableDrawScores.from_table(self.table, goal, along)

    def _stage_values(self, stage: ObjectiveStage) -> tuple[Floats, tuple[str, ...]]:
        """Return a stage's objective (infinite where a point is excluded) and its axes."""
        if stage.goals not in self._values_cache:
            self._values_cache[stage.goals] = self.table.values(stage.goals)
        values, dims = self._values_cache[stage.goals]
        shape = tuple(self.table.axes[dim] for dim in dims)
        result = np.broadcast_to(values[stage.number], shape)
        for bound in stage.earlier_bounds:
            holds = bound.condition(values[stage.goals.index(bound.goal)])
            result = np.where(holds, result, np.inf)
        return result, dims

    def best(self, stage: ObjectiveStage, per: Sequence[str], top: int) -> RankedPoints:
        """Return the ``top`` best points by a stage's objective, with ties in axis order."""
        values, dims = self._stage_values(stage)
        values, dims = broadcast_axes(values, dims, per, self.sizes)
        points = ranked_points(*top_k(values, dims, per, top), per, self.sizes)
        return points_in_whole(points, self.fixed_indices)

    def within_tolerance(
        self, stage: ObjectiveStage, best_score: float, tolerance: float
    ) -> RankedPoints:
        """Return all points whose objective is <= ``tolerance_limit(best_score, tolerance)``."""
        values, dims = self._stage_values(stage)
        flat = np.flatnonzero(values <= tolerance_limit(best_score, tolerance))
        scores = values.reshape(-1)[flat]
        what = describe_near_best(stage.goal, best_score, tolerance)
        points = list_all_points(flat, scores, dims, self.sizes, what)
        return points_in_whole(points, self.fixed_indices)

    def front(self, goals: Sequence[Goal], epsilon: float = 0.0) -> Front:
        """Return the Pareto front, without equal points; raise InfeasibleError if it is empty."""
        values, dims = self.table.values(goals)
        shape = tuple(self.sizes[dim] for dim in dims)
        whole = np.stack([np.broadcast_to(value, shape).reshape(-1) for value in values])
        share = rounding_share(epsilon)
        best = round_to_cells(whole, share)
        best = best[pareto_indices(whole[:, best])]
        if not best.size:
            raise no_row_error(goals, self.table.where)
        places = places_in_whole(unravel_places(best, dims, (), self.sizes), self.fixed_indices)
        return Front(places=places, attributes={"method": "scan"}, epsilon=share)

    def compute(self, nodes: Sequence[Node], places: Places) -> list[Any]:
        """Return the values of formulas at some points, each in the shape of the index arrays."""
        known = {n: self.table.values_at(n, places).astype(np.float64) for n in references(*nodes)}
        shape = shape_of(places)
        return [np.broadcast_to(np.asarray(v), shape) for v in interpret_arrays(nodes, known)]

    def outputs_at(self, places: Places, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return every output at some points, in the given shape, with its attributes."""
        at = self.table.values_at
        return {
            name: (np.broadcast_to(at(name, places), shape), attributes)
            for name, attributes in self.table.outputs.items()
        }

    @property
    def condition_texts(self) -> tuple[str, ...]:
        """Return the conditions of feasible points, as text."""
        return self.table.where

    @property
    def conditions(self) -> list[Node]:
        """Return formulas that are all true where a point is feasible."""
        feasible = [constant(reference(FEASIBLE) > 0)] if FEASIBLE in self.table.ds else []
        return [*self.table.conditions, *feasible]

    @property
    def is_cheap(self) -> bool:
        """True if single points can be evaluated at little cost, so that answers can be checked."""
        return not self.table.is_lazy

    def no_point_error(self, stage: ObjectiveStage) -> InfeasibleError:
        """Return the error to raise if no feasible point has finite objectives."""
        return no_row_error(stage.goals[: stage.number + 1], self.table.where)

    def result_attributes(self, goals: Sequence[Goal], answer: xr.Dataset) -> dict[str, Any]:
        """Return the method as an attribute."""
        return {"method": "scan"}


def no_row_error(goals: Sequence[Goal], where: Sequence[str]) -> InfeasibleError:
    """Return the error to raise if no recorded point has finite objectives and meets ``where``."""
    constraints = " and ".join(map(repr, where)) or "the constraints of the study"
    return InfeasibleError(
        f"no point with a finite {', '.join(goal.text for goal in goals)} satisfies "
        f"{constraints}: relax them, or sweep other values"
    )
