"""A grid as a source that is scanned: compiled loop nests evaluate every point but store none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.checks import check_grid
from sweeps.bounds.problem import Floats, Indices, Key, Mask, Places
from sweeps.grid.dataset import axis_coordinates, variable_attributes
from sweeps.grid.goals import Goal, describe_goals, dims_of, objective_node
from sweeps.grid.grid import FEASIBLE, Grid, Indexers, subgrid
from sweeps.grid.lazy_statistics import labels_without_value, statistic_portions
from sweeps.nest.reduce import rounding_share
from sweeps.nest.tiles import SkippedTiles, aggregate_points
from sweeps.query.distribution import grid_count
from sweeps.query.source import (
    Front,
    ObjectiveStage,
    QuerySource,
    RankedPoints,
    check_listable,
    describe_near_best,
    list_all_points,
    merge_ranked_points,
    places_in_whole,
    points_in_whole,
    ranked_points,
    shape_of,
    tolerance_limit,
)
from sweeps.scan.optimum import ravel_with_switches, scan_front, scan_top_k
from sweeps.scan.values import GridValues
from sweeps.scan.winners_per_draw import GridDrawScores
from symbolic.errors import InfeasibleError
from symbolic.ops import Node, both, constant, interpret_arrays, reference, references, where

if TYPE_CHECKING:
    import xarray as xr


def stage_node(grid: Grid, key: Key, stage: ObjectiveStage) -> Node:
    """Return the node of an objective; infinite where an earlier objective breaks its bound."""
    bounds = stage.earlier_bounds
    before = [bound.condition(objective_node(grid, key, bound.goal)) for bound in bounds]
    root = objective_node(grid, key, stage.goal)
    return constant(where(both(*before), root, math.inf)) if before else root


class GridSource(QuerySource, Protocol):
    """The common methods of `GridScan` and `GridProof`."""

    grid: Grid

    @property
    def sizes(self) -> dict[str, int]:
        """Return the length of each axis, in order."""
        return {axis: self.grid.axes[axis].size for axis in self.grid.axes}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """Return, for each coordinate, its axis, its values and its attributes."""
        return axis_coordinates(self.grid)

    @property
    def quantities(self) -> Mapping[str, Any]:
        """Return the quantities that a formula can contain."""
        return self.grid.model.quantities

    def compute(self, nodes: Sequence[Node], places: Places) -> list[Any]:
        """Return the values of formulas at some points; NumPy evaluates each point separately."""
        known = self.grid.outputs_at_points(_flat_places(places), references(*nodes))
        result = interpret_arrays(nodes, {n: a.astype(np.float64) for n, a in known.items()})
        shape = shape_of(places)
        size = math.prod(shape)
        return [np.broadcast_to(np.asarray(v), size).reshape(shape) for v in result]

    def outputs_at(self, places: Places, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return every output at some points, in the given shape, with its attributes."""
        names = [*self.grid.outputs, *([FEASIBLE] if self.grid.conditions else [])]
        result = self.grid.outputs_at_points(_flat_places(places), names)
        return {n: (a.reshape(shape), variable_attributes(self.grid, n)) for n, a in result.items()}

    @property
    def condition_texts(self) -> list[str]:
        """Return the conditions of feasible points, as text."""
        return [condition.text for condition in self.grid.conditions]

    @property
    def conditions(self) -> list[Node]:
        """Return formulas that are all true where a point is feasible."""
        return [reference(FEASIBLE)]

    @property
    def is_cheap(self) -> bool:
        """True if single points are cheap to evaluate: all statistics are already computed."""
        every = (leaf for leaves in self.grid.leaves.values() for leaf in leaves.values())
        return all(leaf.pending_group is None for leaf in every)

    def no_point_error(self, stage: ObjectiveStage) -> InfeasibleError:
        """Return the error to raise if no feasible point has finite objectives."""
        before = describe_goals(stage.goals[: stage.number])
        among = f" that is best by {before}" if before else ""
        why = "".join(f"; {text}" for text in self.labels_without_value(stage.goals))
        return InfeasibleError(
            f"{stage.goal.text} is not finite at any feasible point{among}: nothing to choose; "
            f"relax the constraints or change the axes{why}"
        )

    def labels_without_value(self, goals: Sequence[Goal]) -> list[str]:
        """Return a text for each label at which a statistic in an objective has no value."""
        nodes = [goal.node(self.quantities) for goal in goals]
        roots = {key: [graph.flatten(n) for n in nodes] for key, graph in self.grid.graphs.items()}
        return labels_without_value(self.grid, roots)

    def count(self) -> xr.Dataset:
        """Return the number of feasible configurations and of all configurations."""
        return grid_count(self.grid)

    def values(self, text: str, *more: str, indexers: Indexers | None = None) -> GridValues:
        """Return the values of formulas over the source, or over the part at ``indexers``."""
        return GridValues(subgrid(self.grid, indexers or {}), text, *more)

    def draw_scores(self, goal: Goal, along: str) -> GridDrawScores:
        """Return the objective of each configuration in each draw. The draws' axis is `DRAW`."""
        return GridDrawScores.from_grid(self.grid, goal)


def _flat_places(places: Places) -> dict[str, Indices]:
    return {axis: np.maximum(index, 0).reshape(-1) for axis, index in places.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class GridScan(GridSource):
    """A grid as a source that evaluates all points except in tiles that bounds exclude."""

    grid: Grid
    skipped_tiles: SkippedTiles = field(default_factory=SkippedTiles)
    fixed_indices: Mapping[str, int] = field(default_factory=dict)

    def part_at(self, indices: Mapping[str, int]) -> GridScan:
        """Return the part at one index of each given axis. All parts share ``skipped_tiles``."""
        fixed = {**self.fixed_indices, **indices}
        return replace(self, grid=subgrid(self.grid, indices), fixed_indices=fixed)

    def _stage_nodes(
        self, stage: ObjectiveStage, per: Sequence[str] = ()
    ) -> tuple[dict[tuple[str, ...], Node], tuple[str, ...], list[dict[str, slice]]]:
        """Return each graph's objective, its axes, and parts of the grid that fit in memory."""
        grid = self.grid
        nodes = {key: stage_node(grid, key, stage) for key in grid.graphs}
        roots = {key: [node] for key, node in nodes.items()}
        cuts = statistic_portions(grid, roots, {*per, *self.fixed_indices})
        return nodes, grid.sort_axes(dims_of(grid, stage.goals)), cuts

    def _answer_cuts(
        self,
        cuts: Sequence[Mapping[str, slice]],
        answer_part: Callable[[GridScan], RankedPoints],
        top: int | None = None,
    ) -> RankedPoints:
        """Answer for one part of the grid after the other; merge the answers."""
        result: list[RankedPoints] = []
        for cut in cuts:
            part = subgrid(self.grid, cut)
            part.cache["checked"] = True  # the check applies only to the whole grid
            here = answer_part(replace(self, grid=part))
            ((axis, where_),) = cut.items()
            index = here.places[axis]
            moved = {**here.places, axis: np.where(index < 0, -1, index + where_.start)}
            result.append(replace(here, places=moved))
            if top is not None:  # keep only the best points so far
                result = [merge_ranked_points(result, top)]
        return merge_ranked_points(result, top)

    def best(self, stage: ObjectiveStage, per: Sequence[str], top: int) -> RankedPoints:
        """Return the ``top`` best points by a stage's objective, with ties in axis order."""
        grid = self.grid
        check_grid(grid)
        nodes, dims, cuts = self._stage_nodes(stage, per)
        if len(cuts) > 1:
            return self._answer_cuts(cuts, lambda part: part.best(stage, per, top), top)
        dims = grid.sort_axes({*dims, *per})
        flat, scores, rest = scan_top_k(grid, nodes, dims, per, top, self.skipped_tiles)
        points = ranked_points(flat, scores, rest, per, self.sizes)
        return points_in_whole(points, self.fixed_indices)

    def within_tolerance(
        self, stage: ObjectiveStage, best_score: float, tolerance: float
    ) -> RankedPoints:
        """Return all points within a tolerance of a value. Bounds exclude tiles above the limit."""
        grid = self.grid
        nodes, dims, cuts = self._stage_nodes(stage)
        if len(cuts) > 1:
            return self._answer_cuts(
                cuts, lambda part: part.within_tolerance(stage, best_score, tolerance)
            )
        limit = tolerance_limit(best_score, tolerance)
        what = describe_near_best(stage.goal, best_score, tolerance)
        plain, skipped = grid.non_switch_axes(dims), self.skipped_tiles
        count, parts = 0, [(np.empty(0, dtype=np.int64), np.empty(0))]
        for at, key in grid.keys(dims):
            for flat, values in _points_below(grid, key, nodes[key], plain, limit, skipped):
                count += flat.size
                check_listable(count, what, exact=False)
                parts.append((ravel_with_switches(flat, plain, at, dims, grid), values))
        flat, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        points = list_all_points(flat, scores, dims, self.sizes, what)
        return points_in_whole(points, self.fixed_indices)

    def front(self, goals: Sequence[Goal], epsilon: float = 0.0) -> Front:
        """Return the Pareto front, without equal points; raise InfeasibleError if it is empty."""
        skipped, share = SkippedTiles(), rounding_share(epsilon)
        places = scan_front(self.grid, goals, skipped, share)
        attributes = replace(self, skipped_tiles=skipped).result_attributes(goals, None)
        places = places_in_whole(places, self.fixed_indices)
        return Front(places=places, attributes=attributes, epsilon=share)

    def result_attributes(self, goals: Sequence[Goal], answer: xr.Dataset | None) -> dict[str, Any]:
        """Return the method and the number of skipped points, as attributes."""
        dims = self.grid.sort_axes(dims_of(self.grid, goals))
        weight = self.grid.points // math.prod(self.grid.shape(dims))
        return {"method": "scan", **self.skipped_tiles.attributes(weight)}


def _points_below(
    grid: Grid, key: Key, node: Node, dims: Sequence[str], limit: float, skipped_tiles: SkippedTiles
) -> Iterator[tuple[Indices, Floats]]:
    """Yield the values <= ``limit``, and their flat indices over ``dims`` (without switch axes)."""

    def add_tile(points: list[Any], values: Floats, _: Any, origin: int) -> None:
        flat = np.flatnonzero(values[0] <= limit)
        points.append((flat + origin, values[0, flat]))

    def may_be_below(enclosures: list[Any], _: Any) -> Mask:
        return np.asarray(enclosures[0].lo <= limit)

    for result in aggregate_points(
        grid, key, dims, [node], None, list[Any], add_tile, may_be_below, skipped_tiles
    ):
        yield from result
