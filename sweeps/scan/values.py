"""The values of a formula, some at a time: over a grid that is not stored, or of a Dataset."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.check import check
from sweeps.grid.awaited import portions
from sweeps.grid.dataset import describe, placed, quantities_of
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE, At, Grid, Tiling, part_of
from sweeps.nest.passes import Skipped, over_points
from symbolic.errors import InfeasibleError, UnknownNameError
from symbolic.expression import parse, parse_condition
from symbolic.ops import Node, both, constant, interpret_arrays, references, where
from symbolic.quantities import label_of

if TYPE_CHECKING:
    import xarray as xr

# --- A Dataset as arrays over its axes, for formulas


#: The dimension of measured rows.
ROWS = "configuration"


class Table:
    """A Dataset as arrays over its axes, for formulas."""

    def __init__(self, ds: xr.Dataset, where: Sequence[str]) -> None:
        self.ds = ds = placed(ds)
        self.where = tuple(where)
        self.quantities = quantities_of(ds)
        self.axes = sizes_of(ds)
        self.conditions = [parse_condition(text, self.quantities) for text in where]

    def part(self, at: At) -> Table:
        """The part at an index, or within a slice, of some axes, which stay."""
        return Table(within(self.ds, at), self.where)

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of each variable that is no coordinate."""
        return {str(name): dict(one.attrs) for name, one in self.ds.data_vars.items()}

    def dims(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        """The axes on which formulas, and feasibility, depend."""
        names = references(*nodes)
        if missing := [name for name in names if name not in self.ds.variables]:
            raise UnknownNameError(
                f"{missing[0]} is not in the Dataset, which tells no statistics of its own: make "
                "it an output of the study, or ask the study"
            )
        used = {str(d) for name in names for d in self.ds[name].dims}
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

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""
        found = {
            str(name): (str(c.dims[0]), np.asarray(c.values), dict(c.attrs))
            for name, c in self.ds.coords.items()
            if c.ndim == 1 and name == label_of(str(name))
        }
        for axis, size in self.axes.items():
            found.setdefault(axis, (axis, np.arange(size), {}))
        return found

    def at(self, name: str, places: Mapping[str, NDArray[np.int64]]) -> NDArray[Any]:
        """Return a variable at some points, given by indices along each axis."""
        variable = self.ds[name]
        index = tuple(np.maximum(places[str(d)], 0) for d in variable.dims)
        if not _lazy(variable):
            return np.asarray(variable.variable.values[index])
        flat = tuple(i.reshape(-1) for i in index)
        return np.asarray(variable.variable.data.vindex[flat].compute()).reshape(index[0].shape)

    @property
    def is_lazy(self) -> bool:
        """True if a variable is not in memory."""
        return any(_lazy(variable) for variable in self.ds.data_vars.values())


def within(ds: xr.Dataset, at: At) -> xr.Dataset:
    """The part of a Dataset at an index, or within a slice, of some axes, which stay."""
    cut = {a: i if isinstance(i, slice) else slice(i, i + 1) for a, i in at.items()}
    return ds.isel(cut) if cut else ds


def _lazy(variable: Any) -> bool:
    return hasattr(variable.variable.data, "vindex") and variable.ndim > 0


def sizes_of(ds: xr.Dataset) -> dict[str, int]:
    """The length of each axis, in the order of the study, which breaks ties; then of others."""
    sizes = {str(dim): int(size) for dim, size in ds.sizes.items()}
    listed = [axis for axis in str(ds.attrs.get("axes", "")).split() if axis in sizes]
    return {axis: sizes[axis] for axis in (*listed, *sizes)}


def grouped(ds: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Measured rows with some of their columns as axes: each row counts at its own values.

    Columns that are none, or axes already, are left as they are.
    """
    names = [n for n in names if n in ds.variables and n not in ds.dims and ds[n].dims == (ROWS,)]
    for name in names:
        column, about = ds[name], dict(ds[FEASIBLE].attrs) if FEASIBLE in ds else {}
        values = np.unique(column.values)
        own = column.values == values[:, None]
        counts = ds[FEASIBLE].variable if FEASIBLE in ds else True
        feasible = type(column.variable)((name, ROWS), own) & counts
        ds = ds.drop_vars(name).assign({FEASIBLE: feasible}).assign_coords({name: values})
        ds[name].attrs.update(column.attrs)
        ds[FEASIBLE].attrs.update(about)
    return ds.assign_attrs(axes=" ".join([*names, ROWS])) if names else ds


#: Points of a Dataset that are read together.
BLOCK = sizes.TABLE_BLOCK

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Bounds = Sequence[tuple[float, float]]


class Part(Protocol):
    """What is kept of some values; parts of different values are added."""

    def feed(self, values: Floats, allowed: Truths) -> None:
        """Some values, and which of them count; of several formulas a row each."""

    def add(self, other: Self) -> None:
        """What another part keeps."""


AnyPart = TypeVar("AnyPart", bound=Part)


class GridValues:
    """Formulas over a grid, by one loop nest; what conditions make impossible is left out."""

    def __init__(self, grid: Grid, text: str, *more: str) -> None:
        check(grid, possible=False)
        self.grid, self.text = grid, text
        self.nodes = [parse(each, grid.model.quantities) for each in (text, *more)]
        names = references(*self.nodes)
        used = {dim for name in (*names, FEASIBLE) for dim in grid.dims(name)}
        self.dims = grid.ordered(used)
        self.points = grid.points
        self.weight = grid.points // math.prod(grid.shape(self.dims))
        self.conditions = tuple(condition.text for condition in grid.conditions)
        self.row = grid.model.quantities.get(text)
        self.attributes = describe(grid, text) if self.row is not None else {"long_name": text}
        self.skipped = Skipped()

    def gather(self, make: Callable[[], AnyPart], within: Bounds | None = None) -> AnyPart:
        """See :data:`Values`."""
        whole, self.skipped = make(), Skipped()
        roots = {key: [*self._over(key), *self._held(key)] for key in self.grid.graphs}
        for cut in portions(self.grid, roots):
            self._gather(part_of(self.grid, cut), whole, make, within)
        return whole

    def _held(self, key: tuple[str, ...]) -> list[Node]:
        return [self.grid.feasible_node(key)] if self.grid.conditions else []

    def _gather(
        self, grid: Grid, whole: AnyPart, make: Callable[[], AnyPart], within: Bounds | None
    ) -> None:
        """Add what a part keeps of the values of a part of the grid."""

        def feed(part: AnyPart, values: Floats, allowed: Truths, _: int) -> None:
            part.feed(values[0] if len(values) == 1 else values, allowed)

        def keep(known: list[Any], points: NDArray[np.int64]) -> Truths:
            worth = np.ones(points.size, dtype=bool)
            if grid.conditions:
                worth &= np.asarray(known[-1].possible, dtype=bool)
            if within is not None:
                ranges = [(known[0].lo <= high) & (known[0].hi >= low) for low, high in within]
                worth &= np.any(ranges, axis=0)
            return worth

        plain, judge = grid.plain(self.dims), keep if grid.conditions or within else None
        for _, key in grid.keys(self.dims):
            holds = next(iter(self._held(key)), None)
            asked = (grid, key, plain, self._over(key), holds, make, feed, judge, self.skipped)
            for part in over_points(*asked):
                whole.add(part)

    def _over(self, key: tuple[str, ...]) -> list[Node]:
        """The formulas over the leaves, no number where something has no value."""
        grid, found = self.grid, []
        for node in self.nodes:
            value = grid.graphs[key].flattened(node)
            if failed := grid.computed(value, key):
                value = constant(where(both(*failed), value, math.nan))
            found.append(value)
        return found


def nothing(source: Values) -> InfeasibleError:
    """What to raise where a formula is a number at no configuration; which conditions exclude all.

    Those of a grid are told apart by :func:`sweeps.bounds.check.check`, which raises where none is
    met.
    """
    if isinstance(source, GridValues):
        check(source.grid)
    said = " and ".join(map(repr, source.conditions)) or "all conditions"
    return InfeasibleError(
        f"{source.text} is a number at no configuration that satisfies {said}: relax them"
    )


def pieces(ds: xr.Dataset, dims: Sequence[str]) -> Iterator[xr.Dataset]:
    """A Dataset some points at a time, along some dimensions; each chunk is read once."""
    sizes = {dim: int(ds.sizes[dim]) for dim in dims}
    largest = max(ds.variables.values(), key=lambda variable: variable.size, default=None)
    chunks: Mapping[Any, tuple[int, ...]] = {}
    if largest is not None and largest.chunks is not None:
        chunks = dict(zip(largest.dims, largest.chunks, strict=True))
    cuts = [_ranges(chunks.get(dim, (size,))) for dim, size in sizes.items()]
    for box in itertools.product(*cuts):
        part = ds.isel(dict(zip(dims, box, strict=True)))
        part = part.load() if chunks else part
        shape = [cut.stop - cut.start for cut in box]
        tiling = Tiling(shape[:-1], shape[-1] if shape else 1, BLOCK)
        if tiling.count == 1:
            yield part
            continue
        for number in range(tiling.count):
            bounds = tiling.bounds(number)[0].reshape(-1, 2).tolist()
            yield part.isel({dim: slice(*ends) for dim, ends in zip(dims, bounds, strict=True)})


def _ranges(lengths: Sequence[int]) -> list[slice]:
    ends = list(itertools.accumulate(lengths, initial=0))
    return [slice(low, high) for low, high in itertools.pairwise(ends)]


# --- The values of a formula over a Dataset, some at a time


class TableValues:
    """Formulas over a Dataset: in memory, or read chunk by chunk."""

    def __init__(self, ds: xr.Dataset, text: str, *more: str, where: Sequence[str] = ()) -> None:
        table = Table(ds, where)
        self.ds, self.text, self.where = table.ds, text, tuple(where)
        self.nodes = [parse(each, table.quantities) for each in (text, *more)]
        self.dims = table.dims([*self.nodes, *table.conditions])
        self.names = list(references(*self.nodes, *table.conditions))
        self.names += [FEASIBLE] if FEASIBLE in ds and FEASIBLE not in self.names else []
        self.axes = table.axes
        self.points = math.prod(table.axes.values())
        self.weight = self.points // math.prod(table.axes[dim] for dim in self.dims)
        self.conditions = conditions_of(ds, where)
        self.row = table.quantities.get(text)
        self.attributes = dict(ds[text].attrs) if self.row is not None else {"long_name": text}
        self.skipped = Skipped()

    def gather(self, make: Callable[[], AnyPart], within: Bounds | None = None) -> AnyPart:
        """See :data:`Values`; everything is read."""
        whole = make()
        for part in pieces(self.ds[self.names], self.dims):
            table = Table(part, self.where)
            arrays = {name: table.over(name, self.dims) for name in references(*self.nodes)}
            values = interpret_arrays(self.nodes, arrays)
            holds = table.holds(self.dims)
            rows = [_flat(value, np.float64, holds.shape) for value in values]
            whole.feed(
                rows[0] if len(rows) == 1 else np.stack(rows), _flat(holds, np.bool_, holds.shape)
            )
        return whole


def _flat(array: Any, kind: type, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of some shape as one row, as compiled code takes it; no copy where it is one."""
    given: NDArray[Any] = np.asarray(array, dtype=kind)
    whole = given if given.shape == shape else np.broadcast_to(given, shape)
    return np.require(whole.reshape(-1), requirements=["C", "W"])


#: A formula over a source; each value stands for ``weight`` configurations. Its ``gather`` returns
#: what a part keeps of all values; it may be spared those outside of some bounds.
Values = GridValues | TableValues


def conditions_of(ds: xr.Dataset, further: Sequence[str]) -> tuple[str, ...]:
    """The conditions that a Dataset carries, and those of a question."""
    carried = str(ds[FEASIBLE].attrs.get("conditions", "")) if FEASIBLE in ds else ""
    texts = [text for text in carried.split("; ") if text] or [FEASIBLE] * (FEASIBLE in ds)
    return tuple(dict.fromkeys([*texts, *further]))
