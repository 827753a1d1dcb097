"""Draw maps over two axes: values or cases, the optimum, constraints, and borders of a case."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.plots.axes import (
    add_legend,
    axes_of,
    axis_label,
    format_axis,
    is_geometric,
    log_norm,
    set_title,
)
from dse.plots.data import (
    AxisValues,
    PlotSource,
    cases_of,
    check_finite,
    flags_of,
    is_numeric,
    needed_quantities,
    plot_data,
    study_text,
)
from dse.plots.style import GREY, STYLES, UNIFORM, Style, distinct_styles
from dse.study.study import StudyData
from dse.verbs.optimum import best_config, optimum
from sweeps.certify.borders import NO_BORDER
from sweeps.grid.dataset import add_label_indices, quantities_of
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import FEASIBLE
from symbolic.errors import DseError, check_name
from symbolic.expression import parse_condition
from symbolic.ops import interpret_arrays, references

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

Array = NDArray[Any]
Point = tuple[float, float]

#: Maps with more cells than this are rasterized in a vector figure.
_RASTER_CELLS = 10_000
_LINE_STYLES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))


def heatmap(
    source: PlotSource,
    quantity: str,
    *,
    over: str | None = None,
    by: str | None = None,
    where: str | Sequence[str] = (),
    at: AxisValues = None,
    minimize: str | None = None,
    maximize: str | None = None,
    borders: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a quantity over two axes, with its optimum and its constraints."""
    texts, goal = texts_of(where, "where"), minimize or maximize
    ds = plot_data(source, [quantity, *needed_quantities(source, goal, texts)], at)
    flags = flags_of(ds[quantity])
    over, by = _choose_axes(ds, quantity, over, by)
    values = ds[quantity].broadcast_like(ds[[over, by]]).transpose(by, over).values.astype(float)
    feasible, broken = _constraint_masks(ds, texts, over, by)
    check_finite(quantity, values[feasible])
    ax = axes_of(ax, 6.4, 4.6)
    ax.grid(visible=False)
    cells = _Cells(ax, ds, over, by)
    handles: list[Any] = []
    if flags:
        looks = distinct_styles(list(flags.values()))
        for (flag, word), look in zip(flags.items(), looks, strict=True):
            inside = (values == flag) & feasible
            handles += cells.draw_cells(inside, f"{flag}: {word}", look, alpha=0.55)
        set_title(ax, f"{axis_label(ds[quantity], 100)}\n{study_text(ds)}")
    else:
        cells.draw_values(np.where(feasible, values, np.nan), ds[quantity])
        set_title(ax, study_text(ds, source))
    handles += cells.draw_cells(feasible & np.isnan(values), "no value", STYLES["no value"])
    handles += cells.draw_cells(feasible & np.isinf(values), "infinite", STYLES["infinite"])
    if goal is not None:
        best = best_config(optimum(ds, minimize=minimize, maximize=maximize, where=texts))
        side = "minimum" if minimize else "maximum"
        handles.append(cells.draw_optimum(best, f"{side} of {goal}"))
    handles += cells.draw_constraints(broken)
    if borders is not None:
        handles.append(_draw_borders(cells, source, borders, at, texts))
    if not feasible.all():
        from matplotlib.patches import Patch

        hatch = STYLES["constraint"].hatch
        cells.draw_hatch(~feasible, hatch, GREY)
        handles.append(Patch(fc="white", ec=GREY, hatch=hatch, label="not feasible"))
    for axis, name in ((ax.xaxis, over), (ax.yaxis, by)):
        format_axis(axis, ds[name])
        if not is_numeric(ds, name):
            axis.set_ticks(np.arange(ds[name].size), [str(value) for value in ds[name].values])
    add_legend(ax, at_bottom=True, handles=handles, ncols=2)
    return ax


def categories(
    source: PlotSource, *, quantity: str | None = None, row: Mapping[str, Any] = {}, **options: Any
) -> Axes:
    """Draw a bound, case or category over two axes; if ``row["borders"]``, with its borders."""
    data: Any = source if isinstance(source, StudyData) else plot_data(source, [])
    case = quantity or next(iter(cases_of(data)), "")
    if case and isinstance(data, StudyData):
        data = replace(data, outputs=(case,), best=None)
    if case not in cases_of(data):
        names = ", ".join(cases_of(data)) or "none: add a bound, case, category or limiter"
        raise DseError(f"{case or 'this study'} has no categories; quantities with some: {names}")
    return heatmap(data, case, borders=case if row else None, **options)


def _choose_axes(ds: Any, quantity: str, over: str | None, by: str | None) -> tuple[str, str]:
    dims = [str(dim) for dim in ds[quantity].dims]
    for name in filter(None, (over, by)):
        known = [str(dim) for dim in ds.dims]
        check_name(name, known, f"{name!r} is no axis of the Dataset", "its axes are")
    rest = [dim for dim in dims if dim not in (over, by)]
    over = over or (rest.pop() if rest else None)
    by = by or (rest.pop() if rest else None)
    if over is None or by is None or over == by or set(dims) - {over, by}:
        way = "choose them with over= and by= (--over, --by), and fix all others with at= (--at)"
        if len(dims) < 2:
            way = "sweep another of its inputs, choose another quantity (--quantity), or draw lines"
        dims = dims or ["no axis"]
        raise DseError(f"{quantity} varies over {', '.join(dims)}, and a map has two axes: {way}")
    return over, by


def _constraint_masks(
    ds: xr.Dataset, texts: Sequence[str], over: str, by: str
) -> tuple[Array, dict[str, Array]]:
    """Return the mask of all constraints together, and a mask per constraint that is violated."""
    known = add_label_indices(ds)
    quantities = quantities_of(known)
    stored = str(ds[FEASIBLE].attrs.get("conditions", "")).split("; ") if FEASIBLE in ds else []

    def flat(array: Any) -> Array:
        whole = array.broadcast_like(ds[[over, by]])
        extra = [dim for dim in whole.dims if dim not in (over, by)]
        return np.asarray((whole.any(extra) if extra else whole).transpose(by, over), dtype=bool)

    each: dict[str, Array] = {}
    for text in filter(None, dict.fromkeys([*stored, *texts])):
        try:
            node = parse_condition(text, quantities)
            if text in texts or all(name in known.variables for name in references(node)):
                each[text] = flat(_condition_mask(known, node))
        except DseError:
            if text in texts:
                raise
    everywhere = np.ones((ds.sizes[by], ds.sizes[over]), bool)
    feasible = np.logical_and.reduce([everywhere, *each.values()])
    if FEASIBLE in ds:
        whole = flat(ds[FEASIBLE])
        if (feasible & ~whole).any():
            each["the rules of the model"] = whole
        feasible &= whole
    return feasible, {text: array for text, array in each.items() if not array.all()}


def _condition_mask(ds: xr.Dataset, node: Any) -> xr.DataArray:
    import xarray as xr

    names = references(node)
    arrays = xr.broadcast(*(ds[name].astype(float) for name in names))
    values = {name: array.values for name, array in zip(names, arrays, strict=True)}
    return arrays[0].copy(data=np.asarray(interpret_arrays([node], values)[0], dtype=bool))


def _axis_numbers(ds: xr.Dataset, axis: str) -> Array:
    values = ds[axis].values
    return values.astype(float) if is_numeric(ds, axis) else np.arange(len(values)) * 1.0


def _cell_edges(ds: xr.Dataset, axis: str) -> Array:
    middles, geometric = _axis_numbers(ds, axis), is_geometric(ds[axis].values)
    if len(middles) == 1:
        return np.array([middles[0] - 0.5, middles[0] + 0.5])
    middles = np.log(middles) if geometric else middles
    inner = (middles[1:] + middles[:-1]) / 2
    ends = 2 * middles[[0, -1]] - inner[[0, -1]]
    edges = np.concatenate([ends[:1], inner, ends[1:]])
    return np.exp(edges) if geometric else edges


def _cell_runs(inside: Array) -> Iterator[tuple[int, int, int]]:
    """Yield each run of cells in the mask: the row, the first column, and the last column + 1."""
    padded = np.pad(inside.astype(np.int8), ((0, 0), (1, 1)))
    steps = np.diff(padded, axis=1)
    begins, ends = np.argwhere(steps == 1), np.argwhere(steps == -1)
    for (row, first), (_, past) in zip(begins.tolist(), ends.tolist(), strict=True):
        yield row, first, past


class _Cells:
    """The cells of a map; its methods draw parts of the map and return entries for the legend."""

    def __init__(self, ax: Axes, ds: xr.Dataset, over: str, by: str) -> None:
        self.ax, self.ds, self.over, self.by = ax, ds, over, by
        self.x, self.y = _cell_edges(ds, over), _cell_edges(ds, by)

    def draw_mesh(self, values: Array, **style: Any) -> Any:
        shown, raster = np.ma.masked_invalid(values), values.size > _RASTER_CELLS
        return self.ax.pcolormesh(self.x, self.y, shown, rasterized=raster, **style)

    def draw_values(self, values: Array, variable: xr.DataArray) -> None:
        norm = log_norm(values)
        bar = self.ax.figure.colorbar(self.draw_mesh(values, cmap=UNIFORM, norm=norm), ax=self.ax)
        format_axis(bar.ax.yaxis, variable, span=norm.vmax / norm.vmin if norm else 0)

    def draw_cells(self, inside: Array, text: str, look: Style, **style: Any) -> list[Any]:
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        if not inside.any():
            return []
        self.draw_mesh(np.where(inside, 1.0, np.nan), cmap=ListedColormap([look.color]), **style)
        self.draw_hatch(inside, look.hatch, "0.25")
        return [Patch(**look.area_options(label=text, **style))]

    def draw_hatch(self, inside: Array, hatch: str, color: str) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        x, y = self.x, self.y
        boxes = [
            [(x[i], y[j]), (x[k], y[j]), (x[k], y[j + 1]), (x[i], y[j + 1]), (x[i], y[j])]
            for j, i, k in _cell_runs(inside)
        ]
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(boxes)
        area = Path(np.concatenate(boxes), codes)
        self.ax.add_patch(PathPatch(area, fc="none", ec=color, hatch=hatch, lw=0))

    def draw_constraints(self, broken: Mapping[str, Array]) -> Iterator[Any]:
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        x, y = self.x, self.y
        for count, (text, inside) in enumerate(broken.items()):
            upright = _cell_runs((inside[:, 1:] != inside[:, :-1]).T)
            level = _cell_runs(inside[1:] != inside[:-1])
            parts = [[(x[i + 1], y[j]), (x[i + 1], y[k])] for i, j, k in upright]
            parts += [[(x[i], y[j + 1]), (x[k], y[j + 1])] for j, i, k in level]
            style: dict[str, Any] = {"lw": 1.6, "ls": _LINE_STYLES[count % len(_LINE_STYLES)]}
            for look in ({"colors": "white", "lw": 3.4}, {"colors": "black", **style}):
                self.ax.add_collection(LineCollection(parts, **look), autolim=False)
            yield Line2D([], [], color="black", label=text, **style)

    def draw_optimum(self, best: Mapping[str, Any], text: str) -> Any:
        at = []
        for axis in (self.over, self.by):
            labels = self.ds[axis].values.tolist()
            at.append(labels.index(best[axis]) if isinstance(best[axis], str) else best[axis])
        style = STYLES["optimum"].mark_options(16) | {"clip_on": False}
        return self.ax.plot([at[0]], [at[1]], label=text, **style)[0]


def _draw_borders(
    cells: _Cells, source: Any, quantity: str, at: AxisValues, where: Sequence[str]
) -> Any:
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import withStroke

    from dse.inverse.borders import read_case
    from dse.verbs.inverse import borders

    ds, over, by = cells.ds, cells.over, cells.by
    if not isinstance(source, StudyData):
        raise DseError("borders need a study: a Dataset has only values, which categories draws")
    ways = [name for name in (over, by) if source.grid().axes[name].kind == "number"]
    if not ways:
        raise DseError(f"borders need an axis of numbers: {over} and {by} have labels")
    names = references(read_case(source, quantity).node)
    grid = source.grid(names)
    dims = {dim for name in (*names, "feasible") for dim in grid.dims(name)}
    along = [name for name in ways if name in dims] or ways
    fixed = {name: value for name, value in (at or {}).items() if name not in (over, by)}
    table = borders(source, quantity, along=along, at=fixed, where=where)
    real = {name for name in ways if not source.grid().model.quantities[name].domain.whole}
    outer = withStroke(linewidth=3.4, foreground=STYLES["optimum"].color)
    style: dict[str, Any] = {"lw": 1.0, "path_effects": [outer]}
    pieces = LineCollection(border_segments(ds, table, over, by, real), colors="white", **style)
    cells.ax.add_collection(pieces, autolim=False)
    return Line2D([], [], color="white", **style, label=f"border of {quantity}")


def border_segments(
    ds: xr.Dataset, table: xr.Dataset, over: str, by: str, real: Collection[str]
) -> list[list[Point]]:
    """Return the borders of a case over two axes as line segments.

    Between two neighbouring points with different cases there is a border. On an axis in ``real``,
    ``table`` gives its position; on other axes it lies halfway. A cell has four points at its
    corners. Two borders on the edges of a cell are joined; more than two are joined to their mean.
    """
    from dse.inverse.borders import case_name

    case = case_name(table)
    missing = {name: ds.sizes[name] for name in (over, by) if name not in table[case].dims}
    here = table[case].expand_dims(missing).transpose(by, over).values
    x, y = _axis_numbers(ds, over), _axis_numbers(ds, by)
    known = {*real} & {*table.along.values.tolist()} - {*missing}
    across = _crossings(ds, table, (by, over), here, missing, known)
    up = _crossings(ds, table, (over, by), here.T, missing, known).T
    is_across, is_up = ~np.isnan(across), ~np.isnan(up)
    crossed = is_across[:-1] | is_across[1:] | is_up[:, :-1] | is_up[:, 1:]
    lines: list[list[Point]] = []
    for j, i in np.argwhere(crossed).tolist():
        ends = [(across[row, i], y[row]) for row in (j, j + 1) if is_across[row, i]]
        ends += [(x[column], up[j, column]) for column in (i, i + 1) if is_up[j, column]]
        if len(ends) == 2:
            lines.append(ends)
        elif len(ends) > 2:
            middle = (float(np.mean([e[0] for e in ends])), float(np.mean([e[1] for e in ends])))
            lines += [[end, middle] for end in ends]
    x_edges, y_edges = _cell_edges(ds, over), _cell_edges(ds, by)
    for k in (0, -1):  # from the outermost points to the edges of the map
        lines += [[(at, y[k]), (at, y_edges[k])] for at in across[k][is_across[k]].tolist()]
        lines += [[(x[k], at), (x_edges[k], at)] for at in up[:, k][is_up[:, k]].tolist()]
    return lines


def _crossings(
    ds: xr.Dataset,
    table: xr.Dataset,
    dims: tuple[str, str],
    cases: Array,
    missing: Mapping[str, int],
    located: Collection[str],
) -> Array:
    """Return the position of the border between neighbours along the last axis; NaN for none."""
    along = dims[-1]
    values = _axis_numbers(ds, along)
    differs = cases[:, 1:] != cases[:, :-1]
    place = np.broadcast_to(_cell_edges(ds, along)[1:-1], differs.shape).copy()
    if along in located:
        rows = table.sel(along=along, side="above")
        border, beyond = (
            rows[name].expand_dims(missing).transpose(*dims).values for name in ("border", "beyond")
        )
        rises = values[1:] > values[:-1]
        low, high = np.minimum(values[1:], values[:-1]), np.maximum(values[1:], values[:-1])
        start, then = (np.where(rises, a[:, :-1], a[:, 1:]) for a in (border, beyond))
        place = np.where((then != NO_BORDER) & (start >= low) & (start <= high), start, place)
    return np.where(differs, place, np.nan)
