"""A Dataset as arrays over its axes, for formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.at import At
from sweeps.grid.dataset import placed, quantities_of
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE
from symbolic.errors import UnknownNameError
from symbolic.expression import parse_condition
from symbolic.ops import Node, interpret_arrays, references
from symbolic.quantities import label_of

if TYPE_CHECKING:
    import xarray as xr

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
    def variables(self) -> Mapping[Any, Any]:
        """What it holds, coordinates included."""
        return self.ds.variables

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

    def pick(
        self, places: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates by axis, and variables at the given places, of the given shape."""
        coordinates, found = self.coordinates, {}
        for name, variable in self.ds.data_vars.items():
            picked = np.broadcast_to(self.at(str(name), places), shape)
            found[str(name)] = (picked, dict(variable.attrs))
        return coordinates, found

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
