"""A grid as what is asked: every point is looked at, by compiled nests that store nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.source import (
    Choice,
    Front,
    Source,
    Stage,
    as_good,
    check_listed,
    first_of,
    limit_of,
    listed,
    placed,
    placed_in,
    restored,
    shape_of,
)
from sweeps.ask.spread import grid_count
from sweeps.bounds.check import check
from sweeps.grid.awaited import portions
from sweeps.grid.dataset import axis_coordinates, describe
from sweeps.grid.goals import Goal, dims_of, in_words, objective_node
from sweeps.grid.grid import FEASIBLE, At, Grid, part_of
from sweeps.nest.passes import Skipped, over_points
from sweeps.scan.contest import GridContest
from sweeps.scan.fused import scanned, scanned_front, to_rest
from sweeps.scan.values import GridValues
from symbolic.errors import InfeasibleError
from symbolic.ops import Node, both, constant, interpret_arrays, reference, references, where

if TYPE_CHECKING:
    import xarray as xr

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


def stage_node(grid: Grid, key: tuple[str, ...], stage: Stage) -> Node:
    """An objective where what was decided before holds, over the leaves."""
    before = [one.of(objective_node(grid, key, one.goal)) for one in stage.held]
    root = objective_node(grid, key, stage.goal)
    return constant(where(both(*before), root, math.inf)) if before else root


class OfGrid(Source, Protocol):
    """What is told of a grid, however it is searched."""

    grid: Grid

    @property
    def sizes(self) -> dict[str, int]:
        """The axes, in order, and how many values each has."""
        return {axis: self.grid.axes[axis].size for axis in self.grid.axes}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""
        return axis_coordinates(self.grid)

    @property
    def quantities(self) -> Mapping[str, Any]:
        """What formulas may name."""
        return self.grid.model.quantities

    def compute(self, nodes: Sequence[Node], places: Mapping[str, Indices]) -> list[Any]:
        """See :class:`sweeps.ask.source.Source`; each point by itself, in NumPy."""
        known, shape = self.grid.at_points(_flat(places), references(*nodes)), shape_of(places)
        found = interpret_arrays(nodes, {n: a.astype(np.float64) for n, a in known.items()})
        size = math.prod(shape)
        return [np.broadcast_to(np.asarray(v), size).reshape(shape) for v in found]

    def pick(self, places: Mapping[str, Indices], shape: tuple[int, ...]) -> dict[str, Any]:
        """See :class:`sweeps.ask.source.Source`."""
        names = [*self.grid.outputs, *([FEASIBLE] if self.grid.conditions else [])]
        found = self.grid.at_points(_flat(places), names)
        return {n: (a.reshape(shape), describe(self.grid, n)) for n, a in found.items()}

    @property
    def asked_where(self) -> list[str]:
        """See :class:`sweeps.ask.source.Source`."""
        return [condition.text for condition in self.grid.conditions]

    @property
    def conditions(self) -> list[Node]:
        """See :class:`sweeps.ask.source.Source`."""
        return [reference(FEASIBLE)]

    @property
    def is_cheap(self) -> bool:
        """See :class:`sweeps.ask.source.Source`; not where a statistic is yet to compute."""
        every = (leaf for leaves in self.grid.leaves.values() for leaf in leaves.values())
        return all(leaf.pending is None for leaf in every)

    def nothing(self, stage: Stage) -> InfeasibleError:
        """See :class:`sweeps.ask.source.Source`."""
        before = in_words(stage.goals[: stage.number])
        among = f" that is best by {before}" if before else ""
        return InfeasibleError(
            f"{stage.goal.text} is finite at no feasible point{among}: nothing to choose; relax "
            "the constraints or change the axes"
        )

    def count(self) -> xr.Dataset:
        """See :class:`sweeps.ask.source.Source`."""
        return grid_count(self.grid)

    def values(self, text: str, *more: str, at: At | None = None) -> GridValues:
        """See :class:`sweeps.ask.source.Source`."""
        return GridValues(part_of(self.grid, at or {}), text, *more)

    def contest(self, goal: Goal, along: str) -> GridContest:
        """See :class:`sweeps.ask.source.Source`; draws are along their axis."""
        return GridContest.of(self.grid, goal)


def _flat(places: Mapping[str, Indices]) -> dict[str, Indices]:
    return {axis: np.maximum(index, 0).reshape(-1) for axis, index in places.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class GridScan(OfGrid):
    """A grid of which every point is looked at but those of which bounds tell enough."""

    grid: Grid
    skipped: Skipped = field(default_factory=Skipped)
    at: Mapping[str, int] = field(default_factory=dict)

    def only(self, at: Mapping[str, int]) -> GridScan:
        """The part at one index of some axes; what is left out is counted together."""
        return replace(self, grid=part_of(self.grid, at), at={**self.at, **at})

    def _asked(
        self, stage: Stage, per: Sequence[str] = ()
    ) -> tuple[dict[tuple[str, ...], Node], tuple[str, ...], list[dict[str, slice]]]:
        """The next objective where the others hold, of each graph; the axes that matter to all.

        And parts of which the statistics can be held.
        """
        grid = self.grid
        asked = {key: stage_node(grid, key, stage) for key in grid.graphs}
        cuts = portions(grid, {key: [node] for key, node in asked.items()}, {*per, *self.at})
        return asked, grid.ordered(dims_of(grid, stage.goals)), cuts

    def _in_turn(
        self,
        cuts: Sequence[Mapping[str, slice]],
        ask: Callable[[GridScan], Choice],
        top: int | None = None,
    ) -> Choice:
        """What is asked of parts of the grid, one after the other, as one answer."""
        found: list[Choice] = []
        for cut in cuts:
            part = part_of(self.grid, cut)
            part.kept["checked"] = True  # of the whole
            here = ask(replace(self, grid=part))
            ((axis, where_),) = cut.items()
            index = here.places[axis]
            moved = {**here.places, axis: np.where(index < 0, -1, index + where_.start)}
            found.append(replace(here, places=moved))
            if top is not None:  # no more are needed than the first
                found = [first_of(found, top)]
        return first_of(found, top)

    def best(self, stage: Stage, per: Sequence[str], top: int) -> Choice:
        """See :class:`sweeps.ask.source.Source`."""
        grid = self.grid
        check(grid)
        asked, dims, cuts = self._asked(stage, per)
        if len(cuts) > 1:
            return self._in_turn(cuts, lambda part: part.best(stage, per, top), top)
        dims = grid.ordered({*dims, *per})
        flat, scores, rest = scanned(grid, asked, dims, per, top, self.skipped)
        return restored(placed(flat, scores, rest, per, self.sizes), self.at)

    def upto(self, stage: Stage, least: float, within: float) -> Choice:
        """See :class:`sweeps.ask.source.Source`; tiles that lie above are left out."""
        grid = self.grid
        asked, dims, cuts = self._asked(stage)
        limit, what = limit_of(least, within), as_good(stage.goal, least, within)
        if len(cuts) > 1:
            return self._in_turn(cuts, lambda part: part.upto(stage, least, within))
        plain = grid.plain(dims)
        count, parts = 0, [(np.empty(0, dtype=np.int64), np.empty(0))]
        for at, key in grid.keys(dims):
            for flat, values in _below(grid, key, asked[key], plain, limit, self.skipped):
                count += flat.size
                check_listed(count, what, counted=False)
                parts.append((to_rest(flat, plain, at, dims, grid), values))
        flat, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return restored(listed(flat, scores, dims, self.sizes, what), self.at)

    def front(self, goals: Sequence[Goal]) -> Front:
        """See :class:`sweeps.ask.source.Source`."""
        skipped = Skipped()
        places = scanned_front(self.grid, goals, skipped)
        told = replace(self, skipped=skipped).told(goals, None)
        return Front(places=placed_in(places, self.at), told=told)

    def told(self, goals: Sequence[Goal], found: xr.Dataset | None) -> dict[str, Any]:
        """That every point was looked at, and how many needed no look."""
        dims = self.grid.ordered(dims_of(self.grid, goals))
        weight = self.grid.points // math.prod(self.grid.shape(dims))
        return {"method": "scan", **self.skipped.attributes(weight)}


def _below(
    grid: Grid,
    key: tuple[str, ...],
    node: Node,
    dims: Sequence[str],
    limit: float,
    skipped: Skipped,
) -> Iterator[tuple[Indices, Floats]]:
    """Flat indices over switch-free axes of what does not exceed a limit, and the values there."""

    def feed(found: list[Any], values: Floats, _: Any, origin: int) -> None:
        flat = np.flatnonzero(values[0] <= limit)
        found.append((flat + origin, values[0, flat]))

    def keep(known: list[Any], _: Any) -> NDArray[np.bool_]:
        return np.asarray(known[0].lo <= limit)

    for found in over_points(grid, key, dims, [node], None, list[Any], feed, keep, skipped):
        yield from found
