"""A grid as what is asked: every point is looked at, by compiled nests that store nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.answers import answer, answer_points
from sweeps.ask.front import Front
from sweeps.ask.optimum import Choice, Held
from sweeps.ask.places import as_good, check_listed, limit_of, listed, placed, placed_in, restored
from sweeps.bounds.check import check
from sweeps.grid.at import At, part_of
from sweeps.grid.dataset import coordinates_by_axis, describe
from sweeps.grid.goals import Goal, dims_of, in_words, no_choice, objective_name, objective_node
from sweeps.grid.grid import FEASIBLE, Grid
from sweeps.nest.passes import Skipped, over_points
from sweeps.scan.choosing import Chosen
from sweeps.scan.counting import grid_count
from sweeps.scan.fused import scanned, to_rest
from sweeps.scan.pareto import scanned_front
from sweeps.scan.values import GridValues
from symbolic.errors import InfeasibleError
from symbolic.expression import parse
from symbolic.ops import Node, both, constant, interpret_arrays, references, where

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["GridScan", "OfGrid", "among", "answer_grid"]

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


def among(root: Node, held: Sequence[Node]) -> Node:
    """An objective where what was decided before holds."""
    return constant(where(both(*held), root, math.inf)) if held else root


class OfGrid:
    """What is told of a grid, however it is searched."""

    __slots__ = ()
    grid: Grid

    @property
    def sizes(self) -> dict[str, int]:
        """The axes, in order, and how many values each has."""
        return {axis: self.grid.axes[axis].size for axis in self.grid.axes}

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""
        return coordinates_by_axis(self.grid)

    def points(self, places: Mapping[str, Indices], goals: Sequence[Goal]) -> xr.Dataset:
        """See :class:`sweeps.ask.front.FrontSource`."""
        found = _picked(self.grid, places)
        return answer_points(coordinates_by_axis(self.grid), found, places, goals)

    def nothing(self, goals: Sequence[Goal], number: int) -> InfeasibleError:
        """See :class:`sweeps.ask.optimum.Source`."""
        before = f" that is best by {in_words(goals[:number])}" if number else ""
        return no_choice(goals[number], before)

    def answer(self, chosen: Chosen, goals: Sequence[Goal], ranked: bool) -> xr.Dataset:
        """See :class:`sweeps.ask.optimum.Source`."""
        return answer_grid(self.grid, goals, chosen, ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridScan(OfGrid):
    """A grid of which every point is looked at but those of which bounds tell enough."""

    grid: Grid
    skipped: Skipped = field(default_factory=Skipped)
    at: Mapping[str, int] = field(default_factory=dict)

    def only(self, at: Mapping[str, int]) -> GridScan:
        """The part at one index of some axes; what is left out is counted together."""
        return replace(self, grid=part_of(self.grid, at), at={**self.at, **at})

    def count(self) -> xr.Dataset:
        """See :class:`sweeps.ask.spread.Spread`."""
        return grid_count(self.grid)

    def values(self, text: str, *more: str, at: At | None = None) -> GridValues:
        """See :class:`sweeps.ask.spread.Spread`."""
        return GridValues(part_of(self.grid, at or {}), text, *more)

    def _asked(
        self, goals: Sequence[Goal], number: int, held: Sequence[Held]
    ) -> tuple[dict[tuple[str, ...], Node], tuple[str, ...]]:
        """The next objective where the others hold, of each graph; the axes that matter to all."""
        grid, asked = self.grid, {}
        for key in grid.graphs:
            before = [one.of(objective_node(grid, key, one.goal)) for one in held]
            asked[key] = among(objective_node(grid, key, goals[number]), before)
        return asked, grid.ordered(dims_of(grid, goals))

    def best(
        self,
        goals: Sequence[Goal],
        number: int,
        held: Sequence[Held],
        per: Sequence[str],
        top: int,
    ) -> Choice:
        """See :class:`sweeps.ask.optimum.Source`."""
        grid = self.grid
        check(grid)
        asked, dims = self._asked(goals, number, held)
        dims = grid.ordered({*dims, *per})
        flat, scores, rest = scanned(grid, asked, dims, per, top, self.skipped)
        return restored(placed(flat, scores, rest, per, self.sizes), self.at)

    def upto(
        self,
        goals: Sequence[Goal],
        number: int,
        held: Sequence[Held],
        least: float,
        within: float,
    ) -> Choice:
        """See :class:`sweeps.ask.optimum.Source`; tiles that lie above are left out."""
        grid = self.grid
        asked, dims = self._asked(goals, number, held)
        limit, what = limit_of(least, within), as_good(goals[number], least, within)
        switched = [dim for dim in dims if dim in grid.switch_axes]
        plain = [dim for dim in dims if dim not in grid.switch_axes]
        count, parts = 0, [(np.empty(0, dtype=np.int64), np.empty(0))]
        for index, key in grid.keys(dims):
            at = dict(zip(switched, index, strict=True))
            for flat, values in _below(grid, key, asked[key], plain, limit, self.skipped):
                count += flat.size
                check_listed(count, what)
                parts.append((to_rest(flat, plain, at, dims, grid), values))
        flat, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
        return restored(listed(flat, scores, dims, self.sizes, what), self.at)

    def front(self, goals: Sequence[Goal]) -> Front:
        """See :class:`sweeps.ask.front.FrontSource`."""
        skipped = Skipped()
        places = scanned_front(self.grid, goals, skipped)
        dims = self.grid.ordered(dims_of(self.grid, goals))
        weight = self.grid.points // math.prod(self.grid.shape(dims))
        told = {"method": "scan", **skipped.attributes(weight)}
        return Front(places=placed_in(places, self.at), told=told)

    def told(self, goals: Sequence[Goal], found: xr.Dataset) -> dict[str, Any]:
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


def _picked(
    grid: Grid, places: Mapping[str, Indices]
) -> dict[str, tuple[NDArray[Any], dict[str, Any]]]:
    """Every output at some points, given as indices along every axis."""
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    return {n: (a, describe(grid, n)) for n, a in grid.at_points(places, names).items()}


def answer_grid(grid: Grid, goals: Sequence[Goal], chosen: Chosen, ranked: bool) -> xr.Dataset:
    """The Dataset of winning configurations, with every output and objective there."""
    shape = next(iter(chosen.places.values())).shape if chosen.places else (1,)
    flat = {axis: np.maximum(index, 0).reshape(-1) for axis, index in chosen.places.items()}
    found = {n: (array.reshape(shape), about) for n, (array, about) in _picked(grid, flat).items()}
    quantities = grid.model.quantities
    for number, goal in enumerate(goals):
        if goal.text in quantities:
            continue
        formula = parse(goal.text, quantities)
        values = grid.at_points(flat, list(references(formula)))
        values = {name: array.astype(np.float64) for name, array in values.items()}
        told = np.asarray(interpret_arrays((formula,), values)[0])
        told = np.broadcast_to(told, math.prod(shape)).reshape(shape)
        found[objective_name(goals, number, quantities)] = (told, {"long_name": goal.text})
    return answer(coordinates_by_axis(grid), found, chosen, goals, ranked)
