"""Where the values come from: the grid of a study, or a Dataset, in blocks of either."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.effects.slopes import Slopes, arc, at_point
from dse.given import places_of
from dse.study.data import StudyData
from stochastic import sizes
from sweeps.bounds.check import check
from sweeps.grid.at import part_of
from sweeps.grid.dataset import axis_coordinates, describe, quantities_of
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import FEASIBLE, Grid
from sweeps.grid.space import parse_axis
from sweeps.nest.run import prepare
from sweeps.scan.values import Table
from symbolic.errors import DseError, check_known
from symbolic.expression import parse

if TYPE_CHECKING:
    import xarray as xr


Floats = NDArray[np.float64]
#: Points from which on a nest is worth its compilation; its blocks keep no steps between.
COMPILED, _LARGE, _SMALL = sizes.EFFECTS_COMPILED, sizes.EFFECTS_LARGE, sizes.EFFECTS_SMALL
#: Points of a block of a Dataset.
BLOCK = sizes.EFFECTS_BLOCK
_RESERVED = ("axis", "input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is analysed: formulas over axes, of a study or of a Dataset.

    ``coords`` are (dims, values, attributes) by axis; ``point`` an index along each, given for the
    axes of ``fixed``; ``asked`` whether the formulas were named.
    """

    texts: tuple[str, ...]
    asked: bool
    coords: Mapping[str, tuple[Any, NDArray[Any], dict[str, Any]]]
    units: Mapping[str, str]
    point: Mapping[str, int]
    fixed: frozenset[str]
    attributes: Mapping[str, Any]

    @property
    def limit(self) -> int:
        """Points of a block."""
        return BLOCK

    def dims(self, text: str) -> tuple[str, ...]:
        """Return the axes on which a formula, or whether its points count, depends."""
        raise NotImplementedError

    def block(self, text: str, bounds: Mapping[str, slice]) -> Floats:
        """Return the values within a slice of each of its axes; NaN where no point counts."""
        raise NotImplementedError

    def slopes(self) -> Slopes:
        """Return the elasticities at the point."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSource(Source):
    """Formulas over the grid of a study, computed block by block."""

    grid: Grid

    @property
    def limit(self) -> int:
        """Points of a block."""
        return _LARGE if self.grid.points >= COMPILED else _SMALL

    def dims(self, text: str) -> tuple[str, ...]:
        """See :class:`Source`."""
        return self.grid.ordered(dims_of(self.grid, [Goal(text=text, sign=1.0)]))

    def block(self, text: str, bounds: Mapping[str, slice]) -> Floats:
        """See :class:`Source`; by NumPy, or by a compiled nest where the grid is large."""
        grid, goal = part_of(self.grid, bounds), Goal(text=text, sign=1.0)
        dims = tuple(bounds)
        plain, full = grid.plain(dims), np.empty(grid.shape(dims))
        compiled = math.prod(grid.shape(plain)) > _SMALL
        compiled &= math.prod(self.grid.shape(dims)) >= COMPILED
        for key, piece in grid.pieces(full, dims):
            node = objective_node(grid, key, goal)
            if compiled:
                ready = prepare(grid, key, plain, [(node, "float")])
                found = np.empty(piece.size)
                ends = np.stack([np.zeros_like(ready.sizes), ready.sizes], axis=1)
                ready.run(ends.reshape(-1), 0, found)
                piece[...] = found.reshape(piece.shape)
            else:
                piece[...] = grid.evaluate([node], key, plain)[0]
        return np.where(np.isinf(full), np.nan, full)

    def slopes(self) -> Slopes:
        """See :class:`Source`; by steps on the graph."""
        return at_point(self.grid, self.texts, self.point)


def read_source(
    source: StudyData | xr.Dataset,
    texts: tuple[str, ...] | None,
    where: tuple[str, ...],
    at: Mapping[str, Any],
    part: Mapping[str, int],
) -> Source:
    """Read what is to be analysed, at one index of some axes; see :func:`dse.sensitivity`."""
    if isinstance(source, StudyData):
        return _of_study(source, texts, where, at, part)
    source = source.isel({axis: slice(index, index + 1) for axis, index in part.items()})
    return _of_dataset(source, texts, where, at)


def _no_flag(text: str, flags: Any) -> None:
    if flags:
        raise DseError(
            f"{text} tells cases, not amounts: its numbers have no variance that means anything"
        )


def _of_errors(name: str) -> bool:
    """Whether an output tells how far another is off, which no one asks what moves it."""
    return str(name).startswith("error(")


# --- a study
def _of_study(
    study: StudyData,
    texts: tuple[str, ...] | None,
    where: tuple[str, ...],
    at: Mapping[str, Any],
    part: Mapping[str, int],
) -> Source:
    grid = part_of(study._question(texts or (), where), part)
    check(grid)
    if not grid.axes:
        raise DseError("the study has no axes: without one nothing varies")
    quantities = grid.model.quantities
    amounts = (name for name in grid.outputs if grid.kind(name) == "float")
    named = texts or tuple(name for name in amounts if not _of_errors(name))
    for text in named:
        _no_flag(text, text in quantities and grid.kind(text) != "float")
    point = {name: axis.size // 2 for name, axis in grid.axes.items()} | places_of(grid, at)
    coords = axis_coordinates(grid)
    return GridSource(
        texts=tuple(dict.fromkeys(named)),
        asked=texts is not None,
        coords={name: coords[name] for name in grid.axes},
        units={t: str(describe(grid, t).get("units", "")) for t in named if t in quantities},
        point=point,
        fixed=frozenset(at),
        attributes={"model": study.model, "study": study.text()},
        grid=grid,
    )


# --- a Dataset
@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource(Source):
    """Formulas over the arrays of a Dataset."""

    table: Table

    def dims(self, text: str) -> tuple[str, ...]:
        """See :class:`Source`."""
        return self.table.dims([parse(text, self.table.quantities), *self.table.conditions])

    def block(self, text: str, bounds: Mapping[str, slice]) -> Floats:
        """See :class:`Source`."""
        (values,), dims = self.table.part(bounds).values([Goal(text=text, sign=1.0)])
        shape = [bounds[dim].stop - bounds[dim].start for dim in dims]
        found: Floats = np.broadcast_to(values, shape).transpose([dims.index(d) for d in bounds])
        return np.where(np.isinf(found), np.nan, found)

    def slopes(self) -> Slopes:
        """See :class:`Source`; between neighbours on each axis of positive numbers."""
        inputs = tuple(
            name
            for name, (_, values, _) in self.coords.items()
            if values.dtype.kind in "iuf" and values.size > 1
        )
        shape = (len(self.texts), len(inputs))
        down, up, both = (np.full(shape, np.nan) for _ in range(3))
        here = np.full(len(self.texts), np.nan)
        for row, text in enumerate(self.texts):
            dims = self.dims(text)
            spot = {d: slice(self.point[d], self.point[d] + 1) for d in dims}
            here[row] = self.block(text, spot).reshape(()).item() if dims else math.nan
            for k, name in enumerate(inputs):
                if name not in dims:
                    down[row, k] = up[row, k] = both[row, k] = 0.0
                    continue
                line = self.block(text, {**spot, name: slice(0, len(self.coords[name][1]))})
                x, y = self.coords[name][1].astype(float), line.reshape(-1)
                order = np.argsort(x)
                i = int(np.flatnonzero(order == self.point[name])[0])
                x, y = x[order], y[order]
                if i > 0:
                    down[row, k] = arc(x[i], y[i], x[i - 1], y[i - 1])
                if i + 1 < x.size:
                    up[row, k] = arc(x[i], y[i], x[i + 1], y[i + 1])
                if np.isnan(down[row, k]) or np.isnan(up[row, k]):
                    both[row, k] = up[row, k] if np.isnan(down[row, k]) else down[row, k]
                else:
                    both[row, k] = arc(x[i - 1], y[i - 1], x[i + 1], y[i + 1])
        held = [float(self.coords[name][1][self.point[name]]) for name in inputs]
        return Slopes(inputs=inputs, values=np.array(held), here=here, down=down, up=up, both=both)


def _of_dataset(
    ds: xr.Dataset, texts: tuple[str, ...] | None, where: tuple[str, ...], at: Mapping[str, Any]
) -> Source:
    table = Table(ds, where)
    axes = list(table.axes)
    if axes == ["configuration"]:
        raise DseError(
            "the rows lie along configuration, and their columns are no axes: make a grid of the "
            "measurements (dse.open(..., shape='grid'), dse import --shape grid)"
        )
    if not axes:
        raise DseError("the Dataset has no axes: without one nothing varies")
    for name in _RESERVED:
        if name in axes:
            raise DseError(f"the axis {name} has a name that the answer uses: rename it")
    named = texts
    if named is None:
        named = tuple(
            str(name)
            for name, variable in ds.data_vars.items()
            if name != FEASIBLE
            and variable.dtype.kind == "f"
            and variable.ndim
            and not _of_errors(str(name))
        )
        if not named:
            raise DseError("the Dataset holds no number that varies over an axis")
    for text in named:
        parse(text, table.quantities)
        _no_flag(text, text in ds.variables and "flag_values" in ds[text].attrs)
    for name in at:
        check_known(name, axes, f"at: {name!r} is no axis", "the axes are")
    known = table.coordinates
    coords = {name: known[name] for name in axes}
    point = {}
    for name, (_, values, _) in coords.items():
        point[name] = values.size // 2
        if name in at:
            rows = {name: table.quantities[name]} if name in ds.coords else {}
            axis = parse_axis(name, values.tolist(), rows)
            point[name] = axis.position(at[name], quantities_of(ds))
    kept = {k: ds.attrs[k] for k in ("model", "study") if k in ds.attrs}
    return TableSource(
        texts=tuple(dict.fromkeys(named)),
        asked=texts is not None,
        coords=coords,
        units={t: str(ds[t].attrs.get("units", "")) for t in named if t in ds.variables},
        point=point,
        fixed=frozenset(at),
        attributes=kept,
        table=table,
    )
