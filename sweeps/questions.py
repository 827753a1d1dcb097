"""Questions of a Dataset: the best configurations, and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import (
    OBJECTIVE,
    Chosen,
    Goal,
    answer,
    answer_points,
    check_top,
    choose,
    per_axes,
    spread,
    trimmed,
    with_idle_axes,
)
from sweeps.dataset import quantities_of
from sweeps.grid import FEASIBLE
from sweeps.reduce import front
from sweeps.ties import all_tied, answer_ties, check_ties
from symbolic.errors import InfeasibleError
from symbolic.expression import parse, parse_condition
from symbolic.ops import Node, interpret_arrays, references
from symbolic.quantities import Quantity

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Source",
    "Table",
    "dataset_optimum",
    "dataset_pareto",
    "source_optimum",
    "source_pareto",
]


class Source(Protocol):
    """What is asked: a Dataset in memory, or a store."""

    @property
    def variables(self) -> Mapping[Any, Any]:
        """Outputs and coordinates by name; those that lie along no axis with their ``values``."""

    @property
    def where(self) -> Sequence[str]:
        """The constraints besides those that the Dataset carries."""

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """What may stand in formulas."""

    @property
    def axes(self) -> Mapping[str, int]:
        """The axes, in order, and their sizes."""

    def choose(
        self, goal: Goal, per: Sequence[str], top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
        """The best, as :func:`sweeps.answers.choose` has them."""

    def tied(self, goal: Goal, score: float) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Flat indices of all points with a signed value, and over which axes."""

    def front(self, goals: Sequence[Goal]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Flat indices of the points that no other dominates, and over which axes."""

    def pick(
        self, places: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates by axis, and variables at the given places, of the given shape."""


class Table:
    """A Dataset as arrays over its axes, for formulas."""

    def __init__(self, ds: xr.Dataset, where: Sequence[str]) -> None:
        self.ds, self.where, self.variables = ds, tuple(where), ds.variables
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
        array = variable.transpose(*present).values.astype(np.float64, copy=False)
        return array.reshape([self.axes[d] if d in variable.dims else 1 for d in dims])

    def holds(self, dims: Sequence[str]) -> NDArray[np.bool_]:
        """Where a point counts: it is feasible, and the conditions hold."""
        names = references(*self.conditions)
        arrays = {name: self.over(name, dims) for name in names}
        counts: Any = self.over(FEASIBLE, dims).astype(bool) if FEASIBLE in self.ds else True
        for condition in interpret_arrays(self.conditions, arrays):
            counts = counts & condition
        return np.broadcast_to(counts, tuple(self.axes[dim] for dim in dims))

    def values(self, goals: Sequence[Goal]) -> tuple[list[NDArray[np.float64]], tuple[str, ...]]:
        """The signed goals over their axes, infinite where a point does not count."""
        nodes = [goal.node(self.quantities) for goal in goals]
        dims = self.dims([*nodes, *self.conditions])
        arrays = {name: self.over(name, dims) for name in references(*nodes)}
        results = interpret_arrays(nodes, arrays)
        holds = self.holds(dims)
        found = [np.where(holds & np.isfinite(value), value, np.inf) for value in results]
        return found, dims

    def choose(
        self, goal: Goal, per: Sequence[str], top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
        """The best, as :func:`sweeps.answers.choose` has them."""
        (values,), dims = self.values([goal])
        missing = [axis for axis in per if axis not in dims]
        if missing:
            dims = tuple(axis for axis in self.axes if axis in dims or axis in missing)
            own = [axis for axis in dims if axis not in missing]
            shape = [self.axes[a] if a in own else 1 for a in dims]
            values = np.broadcast_to(values.reshape(shape), [self.axes[a] for a in dims])
        return choose(values, dims, per, top)

    def tied(self, goal: Goal, score: float) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Flat indices of all points with a signed value, and over which axes."""
        (values,), dims = self.values([goal])
        return np.flatnonzero(values.reshape(-1) == score), dims

    def front(self, goals: Sequence[Goal]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Flat indices of the points that no other dominates, and over which axes."""
        values, dims = self.values(goals)
        return front(np.stack([value.reshape(-1) for value in values])), dims

    def pick(
        self, places: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates by axis, and variables at the given places, of the given shape."""
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
            found[str(name)] = (np.broadcast_to(picked, shape), dict(variable.attrs))
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
    ties: bool = False,
) -> xr.Dataset:
    """As :func:`grid_optimum`, of a Dataset; ``where`` adds constraints to those it carries."""
    return source_optimum(Table(ds, where), goal, per=per, top=top, ties=ties)


def source_optimum(
    source: Source,
    goal: Goal,
    *,
    per: str | Sequence[str] | None = None,
    top: int = 1,
    ties: bool = False,
) -> xr.Dataset:
    """As :func:`grid_optimum`, of a Dataset in memory or in a store."""
    check_top(top)
    kept = per_axes(per, tuple(source.axes))
    if ties:
        check_ties(top, kept)
    flat, scores, rest = source.choose(goal, kept, top)
    if np.all(flat < 0):
        raise InfeasibleError(_nothing_left(goal.text, source.where))
    if ties:
        places, rest = source.tied(goal, float(scores[0]))
        places = all_tied(places, rest, source.axes)
        chosen = Chosen(per=(), places=spread(places, tuple(source.axes), (), source.axes))
    else:
        flat, rest = with_idle_axes(flat, scores, rest, kept, source.axes)
        flat = trimmed(flat, kept)
        chosen = Chosen(per=kept, places=spread(flat, rest, kept, source.axes))
    shape = next(iter(chosen.places.values())).shape if chosen.places else flat.shape
    coordinates, found = source.pick(chosen.places, shape)
    if goal.text not in source.variables:
        node = parse(goal.text, source.quantities)
        arrays = {}
        for name in references(node):
            if name in found:
                array = found[name][0]
            elif name in coordinates:
                axis, values_on_axis, _ = coordinates[name]
                array = values_on_axis[np.maximum(chosen.places[axis], 0)]
            else:  # an axis of which one value was selected
                array = np.broadcast_to(source.variables[name].values, shape)
            arrays[name] = array.astype(np.float64)
        number = np.broadcast_to(interpret_arrays((node,), arrays)[0], shape)
        found[OBJECTIVE] = (number, {"long_name": goal.text})
    if ties:
        return answer_ties(coordinates, found, chosen, goal)
    return answer(coordinates, found, chosen, top, goal)


def _nothing_left(text: str, where: Sequence[str]) -> str:
    constraints = " and ".join(map(repr, where)) or "the constraints of the study"
    return (
        f"no point with a finite {text} satisfies {constraints}: relax them, or sweep other values"
    )


def dataset_pareto(
    ds: xr.Dataset, goals: Sequence[Goal], *, where: Sequence[str] = ()
) -> xr.Dataset:
    """As :func:`grid_pareto`, of a Dataset."""
    return source_pareto(Table(ds, where), goals)


def source_pareto(source: Source, goals: Sequence[Goal]) -> xr.Dataset:
    """As :func:`grid_pareto`, of a Dataset in memory or in a store."""
    best, dims = source.front(goals)
    if not best.size:
        raise InfeasibleError(_nothing_left(", ".join(g.text for g in goals), source.where))
    places = spread(best, dims, (), source.axes)
    coordinates, found = source.pick(places, best.shape)
    return answer_points(coordinates, found, places, goals)
