"""Questions of a grid or of a Dataset: the best configurations, and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.dataset import axis_coordinates, describe, quantities_of
from sweeps.grid import FEASIBLE, Grid
from sweeps.reduce import front, smallest
from sweeps.run import TILE, compiled, in_threads, prepare
from symbolic.errors import DseError, InfeasibleError, UnknownNameError, nearest
from symbolic.expression import parse, parse_condition
from symbolic.ops import Node, both, equal, interpret_all, references, where

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Goal", "dataset_optimum", "dataset_pareto", "grid_optimum", "grid_pareto", "read_goals"]

OBJECTIVE = "objective"
#: Points of a tile that is only reduced, and below which NumPy does it.
REDUCED_TILE, SMALL = 1 << 24, 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A formula to be made small (``sign`` 1) or large (``sign`` -1)."""

    text: str
    sign: float

    def node(self, quantities: Mapping[str, Any]) -> Node:
        """The formula, signed so that smaller is better."""
        node = parse(self.text, quantities)
        return node if self.sign > 0 else -node


def read_goals(minimize: Any, maximize: Any) -> tuple[Goal, ...]:
    """The goals of ``minimize=`` and ``maximize=``: each a text, a list of texts, or None."""
    goals = []
    for texts, sign in ((minimize, 1.0), (maximize, -1.0)):
        listed = [texts] if isinstance(texts, str) else list(texts or ())
        for text in listed:
            if not isinstance(text, str):
                raise DseError(
                    f"{text!r} is no objective: expected a quantity or a formula as text"
                )
            goals.append(Goal(text=text, sign=sign))
    if not goals:
        raise DseError("nothing to optimise: give minimize= or maximize= a quantity")
    return tuple(goals)


def one_goal(minimize: Any, maximize: Any) -> Goal:
    """The one goal of an optimum."""
    goals = read_goals(minimize, maximize)
    if len(goals) != 1:
        texts = ", ".join(goal.text for goal in goals)
        raise DseError(f"optimum takes one objective, was given {texts}: for several ask pareto")
    return goals[0]


def _check_top(top: int) -> None:
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise DseError(f"top = {top!r}: expected a whole number of at least 1")


def _per_axes(per: str | Sequence[str] | None, axes: Sequence[str]) -> tuple[str, ...]:
    names = [per] if isinstance(per, str) else list(per or ())
    for name in names:
        if name not in axes:
            raise UnknownNameError(
                f"per = {name!r} is no axis{nearest(name, axes)}; there are: {', '.join(axes)}"
            )
    return tuple(axis for axis in axes if axis in names)


# --- choosing among places -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """Winning places: an index along each axis, of shape (*per, top); -1 where there is none."""

    per: tuple[str, ...]
    places: Mapping[str, NDArray[np.int64]]


def _choose(
    values: NDArray[np.float64], dims: Sequence[str], per: Sequence[str], top: int
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Flat indices over the axes besides ``per`` of the ``top`` smallest, shape (*per, top)."""
    rest = tuple(dim for dim in dims if dim not in per)
    moved = values.transpose([dims.index(dim) for dim in (*per, *rest)])
    shape = moved.shape[: len(per)]
    rows = moved.reshape(math.prod(shape), -1)
    found = np.full((len(rows), top), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        best = smallest(row, top)
        found[place, : best.size] = best
    return found.reshape(*shape, top), rest


def _spread(
    flat: NDArray[np.int64],
    rest: Sequence[str],
    per: Sequence[str],
    sizes: Mapping[str, int],
) -> dict[str, NDArray[np.int64]]:
    """From flat indices over ``rest``, shape (*per, top), to an index along every axis."""
    shape = tuple(sizes[axis] for axis in rest)
    split = np.unravel_index(np.maximum(flat, 0), shape) if rest else ()
    places = {axis: np.zeros(flat.shape, dtype=np.int64) for axis in sizes}
    places.update(
        {axis: np.asarray(i, dtype=np.int64) for axis, i in zip(rest, split, strict=True)}
    )
    for position, axis in enumerate(per):
        steps = np.arange(sizes[axis]).reshape(
            [-1 if k == position else 1 for k in range(flat.ndim)]
        )
        places[axis] = np.broadcast_to(steps, flat.shape).copy()
    for axis in places:
        places[axis][flat < 0] = -1
    return places


# --- on a grid ---------------------------------------------------------------------------------


def grid_optimum(
    grid: Grid, goal: Goal, *, per: str | Sequence[str] | None = None, top: int = 1
) -> xr.Dataset:
    """The best configurations of a grid, found by a fused nest that stores nothing.

    Parameters
    ----------
    grid : Grid
        Its outputs are reported for each winner; its conditions must hold there.
    goal : Goal
        What to make small or large.
    per : str or sequence of str, optional
        Axes for each value of which a winner is wanted.
    top : int
        How many, best first; ties go to the lowest index in axis order.

    Raises
    ------
    InfeasibleError
        No point satisfies the conditions, or the objective is finite nowhere.
    """
    _check_top(top)
    grid.check()
    kept = _per_axes(per, tuple(grid.axes))
    objectives = {key: _objective(grid, key, goal) for key in grid.graphs}
    dims = grid.ordered({*_dims_of(grid, [goal]), *kept})
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    if math.prod(grid.shape(dims)) <= SMALL:
        flat, rest = _choose(_over(grid, objectives, dims), dims, kept, top)
    else:
        flat, rest = _fused(grid, objectives, dims, kept, top)
    chosen = _Chosen(per=kept, places=_spread(flat, rest, kept, sizes))
    if np.all(flat < 0):
        raise InfeasibleError(
            f"{goal.text} is finite at no feasible point: nothing to choose; relax the constraints "
            "or change the axes"
        )
    return _report_grid(grid, goal, chosen, top)


def _objective(grid: Grid, key: tuple[str, ...], goal: Goal) -> Node:
    """The signed objective over the leaves, infinite where a condition fails or it is no number."""
    graph = grid.graphs[key]
    value = _flat(grid, key, goal.node(grid.model.quantities))
    holds = equal(value, value)
    if graph.conditions:
        holds = both(grid.feasible_node(key), holds)
    return where(holds, value, math.inf)


def _flat(grid: Grid, key: tuple[str, ...], node: Node) -> Node:
    from symbolic.ops import substitute

    graph = grid.graphs[key]
    return substitute(node, {name: graph.flat(name) for name in references(node)})


def _dims_of(grid: Grid, goals: Sequence[Goal]) -> set[str]:
    names = {n for goal in goals for n in references(goal.node(grid.model.quantities))}
    dims = {dim for name in names for dim in grid.dims(name)}
    return dims | set(grid.dims(FEASIBLE))


def _over(
    grid: Grid, nodes: Mapping[tuple[str, ...], Node], dims: Sequence[str]
) -> NDArray[np.float64]:
    """A node of each graph over all given axes, switch axes included, in NumPy."""
    switched = [d for d in dims if d in grid.switch_axes]
    plain = [d for d in dims if d not in grid.switch_axes]
    inner = (*switched, *plain)
    full = np.empty(grid.shape(inner))
    for index, key in grid.keys(dims):
        full[(*index, ...)] = grid.evaluate([nodes[key]], key, plain)[0]
    return full.transpose([inner.index(dim) for dim in dims])


def _fused(
    grid: Grid,
    objectives: Mapping[tuple[str, ...], Node],
    dims: Sequence[str],
    per: Sequence[str],
    top: int,
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """As :func:`_choose`, by the fused nest: each tile keeps its best, the tiles are merged."""
    rest = tuple(dim for dim in dims if dim not in per)
    shape = grid.shape(per)
    found = np.full((*shape, top), -1, dtype=np.int64)
    best = np.full((*shape, top), np.inf)
    plain_per = [d for d in per if d not in grid.switch_axes]
    plain_rest = [d for d in rest if d not in grid.switch_axes]
    switched = [d for d in dims if d in grid.switch_axes]
    for index, key in grid.keys(dims):
        at = dict(zip(switched, index, strict=True))
        for fixed in np.ndindex(*grid.shape(plain_per)):
            here = {**at, **dict(zip(plain_per, fixed, strict=True))}
            part = _restrict(grid, key, dict(zip(plain_per, fixed, strict=True)))
            values, flat = _fused_one(part, key, objectives[key], plain_rest, top)
            places = _to_rest(flat, plain_rest, at, rest, grid)
            slot = tuple(here[d] for d in per)
            values = np.concatenate([best[slot], values])
            places = np.concatenate([found[slot], places])
            order = np.lexsort((places, values))[:top]
            best[slot], found[slot] = values[order], places[order]
    found[~np.isfinite(best)] = -1
    return found, rest


def _restrict(grid: Grid, key: tuple[str, ...], fixed: Mapping[str, int]) -> Grid:
    """The grid with some axes held at one index (they vanish from the leaves)."""
    if not fixed:
        return grid
    from dataclasses import replace

    from sweeps.grid import Leaf

    leaves = {}
    for name, leaf in grid.leaves[key].items():
        index = tuple(fixed.get(axis, slice(None)) for axis in leaf.axes)
        axes = tuple(axis for axis in leaf.axes if axis not in fixed)
        leaves[name] = Leaf(axes=axes, array=np.asarray(leaf.array[index]))
    return replace(grid, leaves={**grid.leaves, key: leaves}, _dims={})


def _to_rest(
    flat: NDArray[np.int64],
    plain: Sequence[str],
    at: Mapping[str, int],
    rest: Sequence[str],
    grid: Grid,
) -> NDArray[np.int64]:
    """From flat indices over the switch-free axes to flat indices over ``rest``."""
    if not any(dim in at for dim in rest):
        return flat
    split = np.unravel_index(np.maximum(flat, 0), grid.shape(plain)) if plain else ()
    along = dict(zip(plain, split, strict=True))
    index = [along.get(d, np.full(flat.shape, at.get(d, 0))) for d in rest]
    places = np.ravel_multi_index(index, grid.shape(rest)).astype(np.int64)
    places[flat < 0] = -1
    return places


def _fused_one(
    grid: Grid, key: tuple[str, ...], objective: Node, dims: Sequence[str], top: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The ``top`` smallest values over some axes and their flat indices (-1: none)."""
    points = math.prod(grid.shape(dims))
    if points <= SMALL:
        values = grid.evaluate([objective], key, dims)[0].reshape(-1)
        flat = smallest(values, top)
        return values[flat].astype(np.float64), flat
    ready = prepare(grid, key, dims, [(objective, "float")], reduce=True)
    compiled(ready.nest)
    tiling = ready.tiling(REDUCED_TILE)

    def work(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        bounds, _, _ = tiling.bounds(number)
        values = np.full(top, np.inf)
        places = np.full(top, -1, dtype=np.int64)
        ready.run(bounds, 0, values, places)
        return values, places

    results = in_threads([lambda n=n: work(n) for n in range(tiling.count)])  # type: ignore[misc]
    values = np.concatenate([v for v, _ in results])
    places = np.concatenate([p for _, p in results])
    order = np.lexsort((places, values))[:top]
    return values[order], places[order]


def _report_grid(grid: Grid, goal: Goal, chosen: _Chosen, top: int) -> xr.Dataset:
    shape = next(iter(chosen.places.values())).shape if chosen.places else (top,)
    flat = {axis: np.maximum(index, 0).reshape(-1) for axis, index in chosen.places.items()}
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    found: dict[str, tuple[NDArray[Any], dict[str, Any]]] = {
        name: (array.reshape(shape), describe(grid, name))
        for name, array in grid.at_points(flat, names).items()
    }
    if goal.text not in grid.model.quantities:
        needed = list(references(goal.node(grid.model.quantities)))
        values = grid.at_points(flat, needed)
        formula = parse(goal.text, grid.model.quantities)
        number = interpret_all((formula,), values)[0]
        found[OBJECTIVE] = (np.asarray(number).reshape(shape), {"long_name": goal.text})
    coordinates = {
        name: (dims[0], array, attrs)
        for name, (dims, array, attrs) in axis_coordinates(grid).items()
    }
    return _report(coordinates, found, chosen, top, goal)


def _report(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    found: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    chosen: _Chosen,
    top: int,
    goal: Goal,
) -> xr.Dataset:
    """The Dataset of some winners: the axes as coordinates, the outputs as variables."""
    import xarray as xr

    ranked = top > 1
    dims = (*chosen.per, *(["rank"] if ranked else []))

    def shaped(array: NDArray[Any]) -> NDArray[Any]:
        return array if ranked else array[..., 0]

    none = next(iter(chosen.places.values())) < 0 if chosen.places else np.zeros((top,), dtype=bool)
    coords: dict[str, Any] = {"rank": ("rank", np.arange(1, top + 1))} if ranked else {}
    for name, (axis, array, attrs) in coordinates.items():
        if axis in chosen.per:
            coords[name] = (axis, array, attrs)
            continue
        values = array[np.maximum(chosen.places[axis], 0)]
        coords[name] = (dims, _blank(shaped(values), shaped(none)), attrs)
    variables = {
        name: (dims, _blank(shaped(array), shaped(none)), attrs)
        for name, (array, attrs) in found.items()
    }
    sense = "minimize" if goal.sign > 0 else "maximize"
    return xr.Dataset(variables, coords=coords, attrs={"question": f"{sense} {goal.text}"})


def _blank(array: NDArray[Any], none: NDArray[np.bool_]) -> NDArray[Any]:
    """The array with nothing where there is no winner: NaN, -1, False or an empty label."""
    if not np.any(none):
        return array
    if array.dtype.kind == "i" and array.dtype.itemsize > 1:
        array = array.astype(np.float64)
    empty = {"f": np.nan, "i": -1, "b": False}.get(array.dtype.kind, "")
    return np.where(none, np.array(empty, dtype=array.dtype), array)


def _fronts(
    grid: Grid, goals: Sequence[Goal], key: tuple[str, ...], dims: Sequence[str]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Objectives and flat indices of each tile's own front over the switch-free axes."""
    nodes = [_objective(grid, key, goal) for goal in goals]
    points = math.prod(grid.shape(dims))
    if points <= SMALL:
        values = np.stack([a.reshape(-1) for a in grid.evaluate(nodes, key, dims)])
        places = front(values)
        yield values[:, places], places
        return
    ready = prepare(grid, key, dims, [(node, "float") for node in nodes])
    compiled(ready.nest)
    tiling = ready.tiling(TILE)

    def work(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        bounds, origin, size = tiling.bounds(number)
        values = np.empty((len(goals), size))
        ready.run(bounds, origin, *values)
        places = front(values)
        return values[:, places], places + origin

    yield from in_threads([lambda n=n: work(n) for n in range(tiling.count)])  # type: ignore[misc]


def grid_pareto(grid: Grid, goals: Sequence[Goal]) -> xr.Dataset:
    """The configurations that no other beats in every objective, tile by tile.

    The result has the dimension ``point``, in axis order. Of configurations equal in every
    objective the first in axis order stands for all.
    """
    grid.check()
    dims = grid.ordered(_dims_of(grid, goals))
    plain = [d for d in dims if d not in grid.switch_axes]
    switched = [d for d in dims if d in grid.switch_axes]
    values, places = [np.empty((len(goals), 0))], [np.empty(0, dtype=np.int64)]
    for index, key in grid.keys(dims):
        at = dict(zip(switched, index, strict=True))
        for part, flat in _fronts(grid, goals, key, plain):
            values.append(part)
            places.append(_to_rest(flat, plain, at, dims, grid))
    joined, flat = np.concatenate(values, axis=1), np.concatenate(places)
    order = np.argsort(flat, kind="stable")
    best = flat[order][front(np.ascontiguousarray(joined[:, order]))]
    if not best.size:
        raise InfeasibleError("no feasible point has finite objectives: relax the constraints")
    sizes = {axis: grid.axes[axis].size for axis in grid.axes}
    spread = _spread(best, dims, (), sizes)
    names = [*grid.outputs, *([FEASIBLE] if grid.conditions else [])]
    found = {n: (a, describe(grid, n)) for n, a in grid.at_points(spread, names).items()}
    coordinates = {
        name: (axis[0], array, attrs)
        for name, (axis, array, attrs) in axis_coordinates(grid).items()
    }
    return _report_points(coordinates, found, spread, goals)


def _report_points(
    coordinates: Mapping[str, tuple[str, NDArray[Any], dict[str, Any]]],
    found: Mapping[str, tuple[NDArray[Any], dict[str, Any]]],
    places: Mapping[str, NDArray[np.int64]],
    goals: Sequence[Goal],
) -> xr.Dataset:
    import xarray as xr

    coords = {
        name: ("point", array[places[axis]], attrs)
        for name, (axis, array, attrs) in coordinates.items()
    }
    question = ", ".join(
        f"{'minimize' if goal.sign > 0 else 'maximize'} {goal.text}" for goal in goals
    )
    variables = {name: ("point", array, attrs) for name, (array, attrs) in found.items()}
    return xr.Dataset(variables, coords=coords, attrs={"question": question})


# --- on a Dataset ------------------------------------------------------------------------------


class _Table:
    """A Dataset as arrays over its axes, for formulas."""

    def __init__(self, ds: xr.Dataset, where: Sequence[str]) -> None:
        self.ds = ds
        self.quantities = quantities_of(ds)
        self.axes = {str(d): int(n) for d, n in ds.sizes.items()}
        order = [d for d in _axis_order(ds) if d in self.axes]
        self.axes = {d: self.axes[d] for d in [*order, *(d for d in self.axes if d not in order)]}
        self.conditions = [parse_condition(text, self.quantities) for text in where]

    def dims(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        """The axes on which formulas, and feasibility, depend."""
        used = {str(d) for name in references(*nodes) for d in self.ds[name].dims}
        if FEASIBLE in self.ds:
            used |= {str(d) for d in self.ds[FEASIBLE].dims}
        return tuple(axis for axis in self.axes if axis in used)

    def over(self, name: str, dims: Sequence[str]) -> NDArray[Any]:
        """A variable shaped for broadcasting over some axes."""
        variable = self.ds[name].variable
        present = [dim for dim in dims if dim in variable.dims]
        array = np.asarray(variable.transpose(*present).values)
        return array.reshape([self.axes[d] if d in variable.dims else 1 for d in dims])

    def values(self, goals: Sequence[Goal]) -> tuple[list[NDArray[np.float64]], tuple[str, ...]]:
        """The signed goals over their axes, infinite where a point does not count."""
        nodes = [goal.node(self.quantities) for goal in goals]
        dims = self.dims([*nodes, *self.conditions])
        names = references(*nodes, *self.conditions)
        arrays = {name: self.over(name, dims) for name in names}
        shape = tuple(self.axes[dim] for dim in dims)
        with np.errstate(all="ignore"):
            results = interpret_all([*nodes, *self.conditions], arrays)
        holds: Any = self.over(FEASIBLE, dims).astype(bool) if FEASIBLE in self.ds else True
        for condition in results[len(nodes) :]:
            holds = holds & condition
        found = []
        for value in results[: len(nodes)]:
            counts = holds & ~np.isnan(value)
            found.append(np.broadcast_to(np.where(counts, value, np.inf), shape))
        return found, dims

    def pick(
        self, places: Mapping[str, NDArray[np.int64]]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates by axis, and variables at the given places."""
        ds = self.ds
        coordinates = {
            str(name): (str(c.dims[0]), np.asarray(c.values), dict(c.attrs))
            for name, c in ds.coords.items()
            if c.ndim == 1
        }
        for axis, size in self.axes.items():
            coordinates.setdefault(axis, (axis, np.arange(size), {}))
        found = {}
        for name, variable in ds.data_vars.items():
            index = tuple(np.maximum(places[str(d)], 0) for d in variable.dims)
            data = variable.variable.values if not _lazy(variable) else None
            if data is None:
                flat = [i.reshape(-1) for i in index]
                data_at = variable.variable.data.vindex[tuple(flat)].compute()
                picked = np.asarray(data_at).reshape(index[0].shape)
            else:
                picked = np.asarray(data[index])
            if not variable.dims and places:
                picked = np.broadcast_to(picked, next(iter(places.values())).shape)
            found[str(name)] = (picked, dict(variable.attrs))
        return coordinates, found


def _lazy(variable: Any) -> bool:
    return hasattr(variable.variable.data, "vindex") and variable.ndim > 0


def _axis_order(ds: xr.Dataset) -> list[str]:
    """The axes in the order of the study, which breaks ties; else as the Dataset lists them."""
    listed = str(ds.attrs.get("axes", "")).split()
    return listed or [str(dim) for dim in ds.sizes]


def dataset_optimum(
    ds: xr.Dataset,
    goal: Goal,
    *,
    where: Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    top: int = 1,
) -> xr.Dataset:
    """As :func:`grid_optimum`, of a Dataset; ``where`` adds constraints to those it carries."""
    _check_top(top)
    table = _Table(ds, where)
    kept = _per_axes(per, tuple(table.axes))
    (values,), dims = table.values([goal])
    missing = [axis for axis in kept if axis not in dims]
    if missing:
        dims = tuple(axis for axis in table.axes if axis in dims or axis in missing)
        own = [axis for axis in dims if axis not in missing]
        shape = [table.axes[a] if a in own else 1 for a in dims]
        values = np.broadcast_to(values.reshape(shape), [table.axes[a] for a in dims])
    flat, rest = _choose(values, dims, kept, top)
    if np.all(flat < 0):
        raise InfeasibleError(_nothing_left(goal.text, where))
    chosen = _Chosen(per=kept, places=_spread(flat, rest, kept, table.axes))
    coordinates, found = table.pick(chosen.places)
    if goal.text not in ds.variables:
        node = parse(goal.text, table.quantities)
        arrays = {n: found[n][0] if n in found else None for n in references(node)}
        for name in arrays:
            if arrays[name] is None:
                axis, array, _ = coordinates[name]
                arrays[name] = array[np.maximum(chosen.places[axis], 0)]
        found[OBJECTIVE] = (np.asarray(interpret_all((node,), arrays)[0]), {"long_name": goal.text})
    return _report(coordinates, found, chosen, top, goal)


def _nothing_left(text: str, where: Sequence[str]) -> str:
    constraints = " and ".join(map(repr, where)) or "the constraints of the study"
    return (
        f"no point with a finite {text} satisfies {constraints}: relax them, or sweep other values"
    )


def dataset_pareto(
    ds: xr.Dataset, goals: Sequence[Goal], *, where: Sequence[str] = ()
) -> xr.Dataset:
    """As :func:`grid_pareto`, of a Dataset."""
    table = _Table(ds, where)
    values, dims = table.values(goals)
    best = front(np.stack([value.reshape(-1) for value in values]))
    if not best.size:
        raise InfeasibleError(_nothing_left(", ".join(g.text for g in goals), where))
    places = _spread(best, dims, (), table.axes)
    coordinates, found = table.pick(places)
    return _report_points(coordinates, found, places, goals)
