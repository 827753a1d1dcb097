"""Aggregate the values of formulas over a Dataset or over a grid that is not stored."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.checks import check_grid
from sweeps.bounds.problem import Floats, Indices, Key, Mask
from sweeps.grid.dataset import add_label_indices, quantities_of, variable_attributes
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE, Grid, Indexers, Tiling, subgrid
from sweeps.grid.lazy_statistics import statistic_portions
from sweeps.nest.tiles import SkippedTiles, aggregate_points
from symbolic.errors import InfeasibleError, UnknownNameError
from symbolic.expression import formula_unit, parse, parse_condition
from symbolic.ops import Node, both, constant, interpret_arrays, references, where
from symbolic.quantities import indexed_quantity

if TYPE_CHECKING:
    import xarray as xr

#: Name of the dimension along which measured rows lie.
ROW_DIMENSION = "configuration"


class DatasetTable:
    """A Dataset whose variables can be used in formulas, as arrays over its axes."""

    def __init__(self, ds: xr.Dataset, where: Sequence[str]) -> None:
        self.ds = ds = add_label_indices(ds)
        self.where = tuple(where)
        self.quantities = quantities_of(ds)
        self.axes = axis_sizes(ds)
        self.conditions = [parse_condition(text, self.quantities) for text in where]

    def part_at(self, indexers: Indexers) -> DatasetTable:
        """Return the part at an index or slice of some axes. All axes stay."""
        return DatasetTable(select_part(self.ds, indexers), self.where)

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        """Return the attributes of each variable that is not a coordinate."""
        return {str(name): dict(one.attrs) for name, one in self.ds.data_vars.items()}

    def dims(self, nodes: Sequence[Node]) -> tuple[str, ...]:
        """Return the axes on which formulas or feasibility depend."""
        names = references(*nodes)
        if missing := [name for name in names if name not in self.ds.variables]:
            raise UnknownNameError(
                f"{missing[0]} is not in the Dataset, from which no statistics are computed: make "
                "it an output of the study, or query the study"
            )
        used = {str(d) for name in names for d in self.ds[name].dims}
        if FEASIBLE in self.ds:
            used |= {str(d) for d in self.ds[FEASIBLE].dims}
        return tuple(axis for axis in self.axes if axis in used)

    def broadcast_over(self, name: str, dims: Sequence[str]) -> NDArray[Any]:
        """Return a variable as an array that can be broadcast over the axes ``dims``."""
        variable = self.ds[name].variable
        present = [dim for dim in dims if dim in variable.dims]
        array = variable.transpose(*present).values.astype(np.float64, copy=False)
        return array.reshape([self.axes[d] if d in variable.dims else 1 for d in dims])

    def feasible_mask(self, dims: Sequence[str]) -> Mask:
        """Return the mask of points that are feasible and meet the conditions."""
        names = references(*self.conditions)
        arrays = {name: self.broadcast_over(name, dims) for name in names}
        has_mask = FEASIBLE in self.ds
        counts: Any = self.broadcast_over(FEASIBLE, dims).astype(bool) if has_mask else True
        for condition in interpret_arrays(self.conditions, arrays):
            counts = counts & condition
        return np.broadcast_to(counts, tuple(self.axes[dim] for dim in dims))

    def values(self, goals: Sequence[Goal]) -> tuple[list[Floats], tuple[str, ...]]:
        """Return the signed objectives (infinite at infeasible points), and their axes."""
        nodes = [goal.node(self.quantities) for goal in goals]
        dims = self.dims([*nodes, *self.conditions])
        arrays = {name: self.broadcast_over(name, dims) for name in references(*nodes)}
        results = interpret_arrays(nodes, arrays)
        holds = self.feasible_mask(dims)
        result = [np.where(holds & np.isfinite(value), value, np.inf) for value in results]
        return result, dims

    @property
    def coordinates(self) -> dict[str, tuple[str, NDArray[Any], dict[str, Any]]]:
        """Return, for each coordinate, its axis, its values and its attributes."""
        result = {
            str(name): (str(c.dims[0]), np.asarray(c.values), dict(c.attrs))
            for name, c in self.ds.coords.items()
            if c.ndim == 1 and name == indexed_quantity(str(name))
        }
        for axis, size in self.axes.items():
            result.setdefault(axis, (axis, np.arange(size), {}))
        return result

    def values_at(self, name: str, places: Mapping[str, Indices]) -> NDArray[Any]:
        """Return a variable at some points, given by indices along each axis."""
        variable = self.ds[name]
        index = tuple(np.maximum(places[str(d)], 0) for d in variable.dims)
        if not _is_lazy(variable):
            return np.asarray(variable.variable.values[index])
        flat = tuple(i.reshape(-1) for i in index)
        return np.asarray(variable.variable.data.vindex[flat].compute()).reshape(index[0].shape)

    @property
    def is_lazy(self) -> bool:
        """True if some variable is not in memory."""
        return any(_is_lazy(variable) for variable in self.ds.data_vars.values())


def select_part(ds: xr.Dataset, indexers: Indexers) -> xr.Dataset:
    """Return the part of a Dataset at an index or slice of some axes. All axes stay."""
    cut = {a: i if isinstance(i, slice) else slice(i, i + 1) for a, i in indexers.items()}
    return ds.isel(cut) if cut else ds


def _is_lazy(variable: Any) -> bool:
    return hasattr(variable.variable.data, "vindex") and variable.ndim > 0


def axis_sizes(ds: xr.Dataset) -> dict[str, int]:
    """Return the length of each axis. The study's axes come first, as their order breaks ties."""
    sizes = {str(dim): int(size) for dim, size in ds.sizes.items()}
    listed = [axis for axis in str(ds.attrs.get("axes", "")).split() if axis in sizes]
    return {axis: sizes[axis] for axis in (*listed, *sizes)}


def columns_as_axes(ds: xr.Dataset, names: Sequence[str]) -> xr.Dataset:
    """Turn columns of measured rows into axes. A row is feasible only at its recorded values.

    Names that are no columns or already axes are ignored.
    """
    columns = [str(n) for n, v in ds.variables.items() if v.dims == (ROW_DIMENSION,)]
    names = [name for name in names if name in columns and name not in ds.dims]
    for name in names:
        column, about = ds[name], dict(ds[FEASIBLE].attrs) if FEASIBLE in ds else {}
        values = np.unique(column.values)
        mask = column.values == values[:, None]
        counts = ds[FEASIBLE].variable if FEASIBLE in ds else True
        feasible = type(column.variable)((name, ROW_DIMENSION), mask) & counts
        ds = ds.drop_vars(name).assign({FEASIBLE: feasible}).assign_coords({name: values})
        ds[name].attrs.update(column.attrs)
        ds[FEASIBLE].attrs.update(about)
    return ds.assign_attrs(axes=" ".join([*names, ROW_DIMENSION])) if names else ds


BLOCK = sizes.TABLE_BLOCK

ValueRanges = Sequence[tuple[float, float]]


class Aggregate(Protocol):
    """An aggregate of values that can be merged with the aggregate of other values."""

    def feed(self, values: Floats, allowed: Mask) -> None:
        """Include the values (a row for each formula) where ``allowed`` is True."""

    def add(self, other: Self) -> None:
        """Include the values of another aggregate."""


AnyAggregate = TypeVar("AnyAggregate", bound=Aggregate)


class GridValues:
    """The values of formulas over a grid. Tiles where the conditions cannot be met are left out."""

    def __init__(self, grid: Grid, text: str, *more: str) -> None:
        check_grid(grid, require_feasible=False)
        self.grid, self.text = grid, text
        self.nodes = [parse(each, grid.model.quantities) for each in (text, *more)]
        names = references(*self.nodes)
        used = {dim for name in (*names, FEASIBLE) for dim in grid.dims(name)}
        self.dims = grid.sort_axes(used)
        self.points = grid.points
        self.weight = grid.points // math.prod(grid.shape(self.dims))
        self.conditions = tuple(condition.text for condition in grid.conditions)
        self.row = grid.model.quantities.get(text)
        about = {"long_name": text, "units": formula_unit(text, grid.model.quantities) or "1"}
        self.attributes = about if self.row is None else variable_attributes(grid, text)
        self.skipped_tiles = SkippedTiles()

    def gather(
        self, make: Callable[[], AnyAggregate], value_ranges: ValueRanges | None = None
    ) -> AnyAggregate:
        """Aggregate the values. Tiles that lie outside of ``value_ranges`` are skipped."""
        whole, self.skipped_tiles = make(), SkippedTiles()
        keys = self.grid.graphs
        roots = {key: [*self._formula_nodes(key), *self._feasible_nodes(key)] for key in keys}
        for cut in statistic_portions(self.grid, roots):
            self._gather_cut(subgrid(self.grid, cut), whole, make, value_ranges)
        return whole

    def _feasible_nodes(self, key: Key) -> list[Node]:
        return [self.grid.feasible_node(key)] if self.grid.conditions else []

    def _gather_cut(
        self,
        grid: Grid,
        whole: AnyAggregate,
        make: Callable[[], AnyAggregate],
        value_ranges: ValueRanges | None,
    ) -> None:
        def add_tile(part: AnyAggregate, values: Floats, allowed: Mask, _: int) -> None:
            part.feed(values[0] if len(values) == 1 else values, allowed)

        def may_matter(enclosures: list[Any], points: Indices) -> Mask:
            worth = np.ones(points.size, dtype=bool)
            if grid.conditions:
                worth &= np.asarray(enclosures[-1].possible, dtype=bool)
            if value_ranges is not None:
                low, high = np.array(value_ranges).T[:, :, None]
                meets = (enclosures[0].lo <= high) & (enclosures[0].hi >= low)
                worth &= np.any(meets, axis=0)
            return worth

        plain = grid.non_switch_axes(self.dims)
        test = may_matter if grid.conditions or value_ranges else None
        for _, key in grid.keys(self.dims):
            holds = next(iter(self._feasible_nodes(key)), None)
            what = (grid, key, plain, self._formula_nodes(key), holds)
            for part in aggregate_points(*what, make, add_tile, test, self.skipped_tiles):
                whole.add(part)

    def _formula_nodes(self, key: Key) -> list[Node]:
        grid, result = self.grid, []
        for node in self.nodes:
            value = grid.graphs[key].flatten(node)
            if failed := grid.no_failure_nodes(value, key):
                value = constant(where(both(*failed), value, math.nan))
            result.append(value)
        return result


def no_number_error(source: FormulaValues) -> InfeasibleError:
    """Return the error to raise if a formula is NaN at all feasible configurations."""
    if isinstance(source, GridValues):
        check_grid(source.grid)
    texts = " and ".join(map(repr, source.conditions)) or "all conditions"
    return InfeasibleError(
        f"{source.text} is not a number at any configuration that satisfies {texts}: relax them"
    )


def iterate_blocks(ds: xr.Dataset, dims: Sequence[str]) -> Iterator[xr.Dataset]:
    """Yield blocks of a Dataset along the dimensions ``dims``. Each chunk is read once."""
    sizes = {dim: int(ds.sizes[dim]) for dim in dims}
    largest = max(ds.variables.values(), key=lambda variable: variable.size, default=None)
    chunks: Mapping[Any, tuple[int, ...]] = {}
    if largest is not None and largest.chunks is not None:
        chunks = dict(zip(largest.dims, largest.chunks, strict=True))
    ends = [[0, *itertools.accumulate(chunks.get(dim, (size,)))] for dim, size in sizes.items()]
    cuts = [itertools.starmap(slice, itertools.pairwise(each)) for each in ends]
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


class TableValues:
    """The values of formulas over a Dataset, which is in memory or is read chunk by chunk."""

    def __init__(self, ds: xr.Dataset, text: str, *more: str, where: Sequence[str] = ()) -> None:
        table = DatasetTable(ds, where)
        self.ds, self.text, self.where = table.ds, text, tuple(where)
        self.nodes = [parse(each, table.quantities) for each in (text, *more)]
        self.dims = table.dims([*self.nodes, *table.conditions])
        self.names = list(references(*self.nodes, *table.conditions))
        self.names += [FEASIBLE] if FEASIBLE in ds and FEASIBLE not in self.names else []
        self.axes = table.axes
        self.points = math.prod(table.axes.values())
        self.weight = self.points // math.prod(table.axes[dim] for dim in self.dims)
        self.conditions = condition_texts(ds, where)
        self.row = table.quantities.get(text)
        about = {"long_name": text, "units": formula_unit(text, table.quantities) or "1"}
        self.attributes = about if self.row is None else dict(ds[text].attrs)
        self.skipped_tiles = SkippedTiles()

    def gather(
        self, make: Callable[[], AnyAggregate], value_ranges: ValueRanges | None = None
    ) -> AnyAggregate:
        """Aggregate all values, including those outside of ``value_ranges``."""
        whole = make()
        for part in iterate_blocks(self.ds[self.names], self.dims):
            table = DatasetTable(part, self.where)
            names = references(*self.nodes)
            arrays = {name: table.broadcast_over(name, self.dims) for name in names}
            values = interpret_arrays(self.nodes, arrays)
            holds = table.feasible_mask(self.dims)
            rows = [_contiguous_row(value, np.float64, holds.shape) for value in values]
            allowed = _contiguous_row(holds, np.bool_, holds.shape)
            whole.feed(rows[0] if len(rows) == 1 else np.stack(rows), allowed)
        return whole


def _contiguous_row(array: Any, kind: type, shape: tuple[int, ...]) -> NDArray[Any]:
    whole: NDArray[Any] = np.asarray(array, dtype=kind)
    if whole.shape != shape:
        whole = np.broadcast_to(whole, shape)
    return np.require(whole.reshape(-1), requirements=["C", "W"])


#: The values of formulas over a source. Each value stands for ``weight`` configurations.
#: ``gather(make, value_ranges)`` feeds all values to an aggregate created by ``make``; values
#: outside of the ranges may be left out.
FormulaValues = GridValues | TableValues


def condition_texts(ds: xr.Dataset, more: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of the conditions stored in a Dataset, and the texts in ``more``."""
    carried = str(ds[FEASIBLE].attrs.get("conditions", "")) if FEASIBLE in ds else ""
    texts = [text for text in carried.split("; ") if text] or [FEASIBLE] * (FEASIBLE in ds)
    return tuple(dict.fromkeys([*texts, *more]))
