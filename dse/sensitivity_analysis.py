"""Analyse the sensitivity of outputs: variance shares of axes, means along axes, elasticities."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.arguments import axis_indices
from dse.inputs.provenance import version
from dse.study.study import StudyData
from stochastic import sizes
from sweeps.bounds.checks import check_grid
from sweeps.grid.axes import parse_axis
from sweeps.grid.build import recompute_tables
from sweeps.grid.dataset import axis_coordinates, quantities_of
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import FEASIBLE, Grid, Leaf, leaf_at, subgrid
from sweeps.nest.run import prepare
from sweeps.scan.values import DatasetTable
from sweeps.scan.variance import VarianceDecomposition, decompose_variance
from symbolic.answer import value_text
from symbolic.errors import DseError, InfeasibleError, check_name
from symbolic.expression import formula_unit, parse
from symbolic.ops import interpret_arrays, references
from symbolic.quantities import Quantity, label_index_name

if TYPE_CHECKING:
    import xarray as xr

Floats = NDArray[np.float64]

#: Larger of the two steps for a derivative, in the logarithm of an input.
_STEP = 1e-4
_STEP_RATIO = 8
#: Slopes whose difference exceeds this times (1 + |slope|) indicate a jump or a corner.
_SLOPE_TOLERANCE = 1e-2
#: Relative step of an integer input; the step is at least one.
_INTEGER_STEP = 0.01
_COMPILE_POINTS = sizes.EFFECTS_COMPILED
_LARGE, _SMALL = sizes.EFFECTS_LARGE, sizes.EFFECTS_SMALL
BLOCK = sizes.EFFECTS_BLOCK
_RESERVED = ("axis", "input", "output")


class Elasticities(NamedTuple):
    """Elasticities; ``sides`` (3, outputs, inputs) are slopes downwards, upwards and two-sided."""

    inputs: tuple[str, ...]
    input_values: Floats
    output_values: Floats
    sides: Floats
    notes: Sequence[str] = ()


def elasticities_at(grid: Grid, formulas: Sequence[str], point: Mapping[str, int]) -> Elasticities:
    """Return the elasticities of formulas by every number on which they depend.

    Each step evaluates the whole model, with the tables (such as laws) that depend on the input. An
    integer is changed by 1 %, but at least by one; any other number by 0.01 %. An elasticity is NaN
    if a step leaves the domain of the input or breaks a rule, if a table has no value there, if the
    output is 0, changes its sign or jumps, or if the formula has a statistic. The two-sided
    elasticity is also NaN if the one-sided elasticities differ, as at a border of regimes.
    """
    key = tuple(grid.axes[a].labels[point[a]] for a in grid.switch_axes)
    graph, leaves = grid.graphs[key], grid.leaves[key]
    quantities = grid.model.quantities
    roots = [graph.flatten(parse(text, quantities)) for text in formulas]
    rules = [graph.flat_condition(c) for c in graph.conditions if c.is_rule]
    names = references(*roots, *rules)
    known = graph.ancestors(names) & leaves.keys()  # without those over axes of statistics
    here = {n: leaf_at(leaves[n], point) for n in known if point.keys() >= {*leaves[n].axes}}
    behind = graph.ancestors(references(*roots)) - {label_index_name(a) for a in grid.axes}
    inputs = tuple(
        name
        for name, definition in graph.definitions.items()
        if name in behind & here.keys() & quantities.keys() and not quantities[name].is_label
        if definition.kind in ("given", "default")
    )
    base = {name: float(here[name].array) for name in {*names, *inputs}}
    steps = [np.array(_step_values(base[name], quantities[name])) for name in inputs]
    places = [slice(1 + 4 * k, 5 + 4 * k) for k in range(len(inputs))]
    size = 1 + 4 * len(inputs)
    values = {name: np.full(size, value) for name, value in base.items()}
    allowed = np.ones(size, dtype=bool)
    notes: list[str] = []
    for name, place, to in zip(inputs, places, steps, strict=True):
        values[name][place] = to
        allowed[place] = quantities[name].domain.is_inside(to)
        for side in (slice(place.start, place.stop - 2), slice(place.start + 2, place.stop)):
            moved = {name: Leaf(axes=("step",), array=values[name][side])}
            try:
                moved = recompute_tables(graph, here, moved) if allowed[side].all() else {}
            except DseError as error:
                allowed[side] = False
                notes.append(f"no elasticity by {name} towards {moved[name].array[0]:g}: {error}")
            for table in moved.keys() & values.keys():
                values[table][side] = moved[table].array
                failed = dict.fromkeys(moved[table].failures.values())
                notes += [f"no elasticity by {name} at a step: {reason}" for reason in failed]
    results = interpret_arrays([*roots, *rules], values)
    for rule in results[len(roots) :]:
        allowed &= np.broadcast_to(rule, (size,)).astype(bool)
    sides, at_point = np.full((3, len(roots), len(inputs)), np.nan), np.full(len(roots), np.nan)
    for row, result in enumerate(results[: len(roots)]):
        y = np.where(allowed, np.broadcast_to(result, (size,)).astype(np.float64), np.nan)
        at_point[row] = y[0]
        for k, (name, place) in enumerate(zip(inputs, places, strict=True)):
            x, whole = values[name], quantities[name].domain.whole
            sides[:, row, k] = _elasticities(x[0], y[0], x[place], y[place], whole)
    sides[:, [bool(graph.ancestors(references(r)) & {*graph.statistics}) for r in roots]] = np.nan
    return Elasticities(inputs, np.array([base[n] for n in inputs]), at_point, sides, notes)


def _step_values(value: float, row: Quantity) -> list[float]:
    """Return four changed values of an input: far below, near below, near above, far above."""
    if row.domain.whole:
        step = max(1.0, round(_INTEGER_STEP * value))
        return [value - step, value - step, value + step, value + step]
    far, near = math.expm1(_STEP), math.expm1(_STEP / _STEP_RATIO)
    return [value / (1 + far), value / (1 + near), value * (1 + near), value * (1 + far)]


def _elasticities(
    x: float, y: float, xs: Floats, ys: Floats, whole: bool
) -> tuple[float, float, float]:
    """Return one-sided and two-sided elasticities at (x, y) from the four points (xs, ys)."""
    far_down, down, up, far_up = (log_slope(x, y, to, at) for to, at in zip(xs, ys, strict=True))
    both = log_slope(xs[0], ys[0], xs[-1], ys[-1])
    if not whole:
        down, up = _extrapolated_slope(far_down, down), _extrapolated_slope(far_up, up)
    if math.isnan(down) or math.isnan(up):
        # x is the first or last point, or an integer
        at_end = whole or np.isnan(ys[0]) or np.isnan(ys[-1])
        return down, up, (up if math.isnan(down) else down) if at_end else math.nan
    if not whole and abs(up - down) > _SLOPE_TOLERANCE * (1 + abs(up)):
        return down, up, math.nan
    return down, up, both


def _extrapolated_slope(far: float, near: float) -> float:
    """Extrapolate two slopes to step 0 (Richardson); return NaN if they differ, as at a jump."""
    if not abs(near - far) <= _SLOPE_TOLERANCE * (1 + abs(far)):
        return math.nan
    return (_STEP_RATIO * near - far) / (_STEP_RATIO - 1)


def log_slope(x1: float, y1: float, x2: float, y2: float) -> float:
    """Return the slope between two points in log-log scale; NaN if a logarithm is undefined."""
    if not (x1 > 0 and x2 > 0 and x1 != x2 and y1 * y2 > 0) or math.isinf(y1) or math.isinf(y2):
        return math.nan
    return math.log(y2 / y1) / math.log(x2 / x1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSource:
    """Access to the values of formulas over the axes of a study or of a Dataset.

    ``coords`` maps each axis to (dims, values, attributes). ``point`` is the configuration of the
    elasticities; the user fixed its indices on ``fixed_axes``. ``axes_of`` returns the axes on
    which a formula or its feasibility depends. ``read_block`` returns the values of a formula in a
    slice of each of these axes, with NaN at infeasible and undefined points.
    """

    formulas: tuple[str, ...]
    coords: Mapping[str, tuple[Any, NDArray[Any], dict[str, Any]]]
    units: Mapping[str, str]
    point: Mapping[str, int]
    fixed_axes: frozenset[str]
    attributes: Mapping[str, Any]
    block_size: int
    axes_of: Callable[[str], tuple[str, ...]]
    read_block: Callable[[str, Mapping[str, slice]], Floats]
    elasticities: Callable[[Mapping[str, int]], Elasticities]


def read_analysis_source(
    source: StudyData | xr.Dataset,
    formulas: tuple[str, ...] | None,
    where: tuple[str, ...],
    at: Mapping[str, Any],
    fixed_indices: Mapping[str, int],
) -> AnalysisSource:
    """Return the source of an analysis; ``fixed_indices`` reduces some axes to one index."""
    if isinstance(source, StudyData):
        return _source_of_study(source, formulas, where, at, fixed_indices)
    source = source.isel({axis: slice(index, index + 1) for axis, index in fixed_indices.items()})
    return _source_of_dataset(source, formulas, where, at)


def _check_numeric(text: str, flags: Any) -> None:
    if flags:
        raise DseError(
            f"{text} is a case, not an amount: the variance of its numbers has no meaning"
        )


def _source_of_study(
    study: StudyData,
    formulas: tuple[str, ...] | None,
    where: tuple[str, ...],
    at: Mapping[str, Any],
    fixed_indices: Mapping[str, int],
) -> AnalysisSource:
    grid = subgrid(study._query_grid(formulas or (), where), fixed_indices)
    check_grid(grid)
    if not grid.axes:
        raise DseError("the study has no axes: without one nothing varies")
    quantities = grid.model.quantities
    amounts = (name for name in grid.outputs if grid.kind(name) == "float")
    named = formulas or tuple(name for name in amounts if not name.startswith("error("))
    for text in named:
        _check_numeric(text, text in quantities and grid.kind(text) != "float")
    coords = axis_coordinates(grid)

    def read_block(text: str, bounds: Mapping[str, slice]) -> Floats:
        here, goal, dims = subgrid(grid, bounds), Goal(text=text, sign=1.0), tuple(bounds)
        plain, full = here.non_switch_axes(dims), np.empty(here.shape(dims))
        compiled = math.prod(here.shape(plain)) > _SMALL
        compiled &= math.prod(grid.shape(dims)) >= _COMPILE_POINTS
        for key, piece in here.split_by_switches(full, dims):
            node = objective_node(here, key, goal)
            if compiled:
                ready = prepare(here, key, plain, [(node, "float")])
                result = np.empty(piece.size)
                ends = np.stack([np.zeros_like(ready.sizes), ready.sizes], axis=1)
                ready.run(ends.reshape(-1), 0, result)
                piece[...] = result.reshape(piece.shape)
            else:
                piece[...] = here.evaluate([node], key, plain)[0]
        return np.where(np.isinf(full), np.nan, full)

    listed = tuple(dict.fromkeys(named))
    return AnalysisSource(
        formulas=listed,
        coords={name: coords[name] for name in grid.axes},
        units={text: formula_unit(text, quantities) or "1" for text in named},
        point={name: axis.size // 2 for name, axis in grid.axes.items()} | axis_indices(grid, at),
        fixed_axes=frozenset(at),
        attributes={"model": study.model, "study": study.text()},
        block_size=_LARGE if grid.points >= _COMPILE_POINTS else _SMALL,
        axes_of=lambda text: grid.sort_axes(dims_of(grid, [Goal(text=text, sign=1.0)])),
        read_block=read_block,
        elasticities=lambda point: elasticities_at(grid, listed, point),
    )


def _source_of_dataset(
    ds: xr.Dataset, formulas: tuple[str, ...] | None, where: tuple[str, ...], at: Mapping[str, Any]
) -> AnalysisSource:
    table = DatasetTable(ds, where)
    axes = list(table.axes)
    if axes == ["configuration"]:
        raise DseError(
            "the rows are along configuration, and their columns are no axes: make a grid of the "
            "measurements (dse.open(..., shape='grid'), dse import --shape grid)"
        )
    if not axes:
        raise DseError("the Dataset has no axes: without one nothing varies")
    for name in _RESERVED:
        if name in axes:
            raise DseError(f"the axis {name} has a name that the answer uses: rename it")
    named = formulas
    if named is None:
        named = tuple(
            str(name)
            for name, variable in ds.data_vars.items()
            if name != FEASIBLE
            and variable.dtype.kind == "f"
            and variable.ndim
            and not str(name).startswith("error(")
        )
        if not named:
            raise DseError("the Dataset has no number that varies over an axis")
    for text in named:
        parse(text, table.quantities)
        _check_numeric(text, text in ds.variables and "flag_values" in ds[text].attrs)
    for name in at:
        check_name(name, axes, f"at: {name!r} is no axis", "the axes are")
    known = table.coordinates
    coords = {name: known[name] for name in axes}
    point = {}
    for name, (_, values, _) in coords.items():
        point[name] = values.size // 2
        if name in at:
            rows = {name: table.quantities[name]} if name in ds.coords else {}
            axis = parse_axis(name, values.tolist(), rows)
            point[name] = axis.position(at[name], quantities_of(ds))

    def axes_of(text: str) -> tuple[str, ...]:
        return table.dims([parse(text, table.quantities), *table.conditions])

    def read_block(text: str, bounds: Mapping[str, slice]) -> Floats:
        (values,), over = table.part_at(bounds).values([Goal(text=text, sign=1.0)])
        shape = [bounds[dim].stop - bounds[dim].start for dim in over]
        result: Floats = np.broadcast_to(values, shape).transpose([over.index(d) for d in bounds])
        return np.where(np.isinf(result), np.nan, result)

    listed = tuple(dict.fromkeys(named))

    def elasticities(point: Mapping[str, int]) -> Elasticities:
        lines = {n: v for n, (_, v, _) in coords.items() if v.dtype.kind in "iuf" and v.size > 1}
        sides, here = np.zeros((3, len(listed), len(lines))), np.full(len(listed), np.nan)
        for row, text in enumerate(listed):
            spot = {d: slice(point[d], point[d] + 1) for d in axes_of(text)}
            if spot:
                here[row] = read_block(text, spot).item()
            for k, (name, x) in enumerate(lines.items()):
                if name in spot:
                    y, order = read_block(text, {**spot, name: slice(0, x.size)}), np.argsort(x)
                    i = int(np.flatnonzero(order == point[name])[0])
                    near = np.full((2, x.size + 2), np.nan)  # NaN beyond both ends
                    near[:, 1:-1] = np.stack([x, y.reshape(-1)])[:, order]
                    xs, ys = near[:, [i + 1, i, i, i + 2, i + 2]]
                    sides[:, row, k] = _elasticities(xs[0], ys[0], xs[1:], ys[1:], whole=True)
        at = np.array([float(x[point[name]]) for name, x in lines.items()])
        return Elasticities(tuple(lines), at, here, sides)

    return AnalysisSource(
        formulas=listed,
        coords=coords,
        units={text: formula_unit(text, table.quantities) or "1" for text in named},
        point=point,
        fixed_axes=frozenset(at),
        attributes={k: ds.attrs[k] for k in ("model", "study") if k in ds.attrs},
        block_size=BLOCK,
        axes_of=axes_of,
        read_block=read_block,
        elasticities=elasticities,
    )


_SEARCH_POINTS = sizes.SEARCHED_AROUND
_MEANINGS = {
    "first": "share of the variance that the axis explains alone (first-order index of Sobol)",
    "total": "share of the variance left where all other axes are known (total index of Sobol)",
    "low": "least mean of the output at one value of the axis",
    "high": "largest mean of the output at one value of the axis",
    "mean": "mean of the output over all points that count",
    "std": "standard deviation of the output over all points that count",
    "value": "the output at the configuration of the elasticities",
    "counted": "points that count: feasible, with a finite number",
    "points": "number of points over the axes on which the output depends",
    "elasticity": "d log(output) / d log(input) at the configuration; none at a border or jump",
    "elasticity_down": "the elasticity towards smaller values of the input",
    "elasticity_up": "the elasticity towards larger values of the input",
    "input_value": "the input at the configuration of the elasticities",
}


def analyse(source: AnalysisSource) -> xr.Dataset:
    """Return a Dataset with the variance shares, means and elasticities of every output."""
    import xarray as xr

    axes = list(source.coords)
    parts: dict[str, VarianceDecomposition] = {}
    for text in source.formulas:
        dims = source.axes_of(text)

        def block(place: tuple[slice, ...], text: str = text, dims: tuple[str, ...] = dims) -> Any:
            return source.read_block(text, dict(zip(dims, place, strict=True)))

        sizes = [len(source.coords[dim][1]) for dim in dims]
        parts[text] = decompose_variance(sizes, block, limit=source.block_size)
        if not parts[text].count:
            raise InfeasibleError(
                f"no point with a finite {text} satisfies the rules and constraints: relax them, "
                "or sweep other values"
            )
    varying = [t for t in source.formulas if not parts[t].is_constant]
    if not varying:
        means = [f"{t} is {value_text(p.mean, source.units.get(t, ''))}" for t, p in parts.items()]
        raise DseError(
            f"{', '.join(means)} at every point that counts, so there is no variance to decompose: "
            "sweep other axes or values, relax the constraints, or choose another output"
        )
    curves: list[dict[str, Floats]] = []
    columns: dict[str, list[list[float]]] = {name: [] for name in ("first", "total", "low", "high")}
    for text, part in parts.items():
        dims = source.axes_of(text)
        at = {axis: dims.index(axis) for axis in axes if axis in dims}
        flat = {axis: np.full(len(source.coords[axis][1]), part.mean) for axis in axes}
        curves.append(flat | {axis: part.means[place] for axis, place in at.items()})
        columns["low"].append([np.nanmin(curves[-1][axis]) for axis in axes])
        columns["high"].append([np.nanmax(curves[-1][axis]) for axis in axes])
        for name in ("first", "total"):
            indices = getattr(part, name) if part.variance else [0.0] * len(dims)
            shares = [indices[at[a]] / (part.variance or 1.0) if a in at else 0.0 for a in axes]
            columns[name].append([math.nan] * len(axes) if part.is_constant else shares)
    source = _at_valid_point(source, varying[0])
    slopes = source.elasticities(source.point)
    over, by = ("output", "axis"), ("output", "input")
    variables: dict[str, Any] = {name: (over, np.array(rows)) for name, rows in columns.items()}
    variables |= {
        "mean": ("output", [part.mean for part in parts.values()]),
        "std": ("output", [math.sqrt(part.variance) for part in parts.values()]),
        "counted": ("output", [part.count for part in parts.values()]),
        "points": ("output", [_points(source, text) for text in source.formulas]),
        "value": ("output", slopes.output_values),
        "elasticity": (by, slopes.sides[2]),
        "elasticity_down": (by, slopes.sides[0]),
        "elasticity_up": (by, slopes.sides[1]),
        "input_value": ("input", slopes.input_values),
    }
    without_unit = ("first", "total", "counted", "points", "elasticity")
    for name, (dims, array) in variables.items():
        unit = {"units": "1"} if name.startswith(without_unit) else {}
        variables[name] = (dims, array, {"long_name": _MEANINGS[name]} | unit)
    for axis in axes:
        meaning = f"mean of the output at each value of {axis}; in the unit of the output"
        curve = np.stack([means[axis] for means in curves])
        variables[f"over_{axis}"] = (("output", axis), curve, {"long_name": meaning})
    coords: dict[str, Any] = {axis: source.coords[axis] for axis in axes}
    coords |= {
        "output": ("output", list(source.formulas)),
        "unit": ("output", [source.units.get(text, "") for text in source.formulas]),
        "axis": ("axis", axes),
        "input": ("input", list(slopes.inputs)),
    }
    return xr.Dataset(variables, coords=coords, attrs=_attributes(source, parts, slopes.notes))


def _at_valid_point(source: AnalysisSource, text: str) -> AnalysisSource:
    """Replace the configuration of a source by the nearest feasible point with a finite value."""
    dims = source.axes_of(text)
    sizes = {dim: len(source.coords[dim][1]) for dim in dims}
    reach = 0
    while True:
        box = {
            dim: slice(source.point[dim], source.point[dim] + 1)
            if dim in source.fixed_axes
            else slice(max(0, source.point[dim] - reach), min(size, source.point[dim] + reach + 1))
            for dim, size in sizes.items()
        }
        if math.prod(s.stop - s.start for s in box.values()) > _SEARCH_POINTS and reach:
            return source
        places = np.argwhere(~np.isnan(source.read_block(text, box)))
        if len(places):
            places += np.array([s.start for s in box.values()], dtype=np.int64)
            away = (places - [source.point[dim] for dim in dims]) / [*sizes.values()]
            best = places[np.argmin((away**2).sum(axis=1))]
            point = {**source.point, **dict(zip(dims, best.tolist(), strict=True))}
            return replace(source, point=point)
        if all(s.stop - s.start == sizes[d] or d in source.fixed_axes for d, s in box.items()):
            return source
        reach = 2 * reach + 1


def _points(source: AnalysisSource, text: str) -> int:
    return math.prod(len(source.coords[dim][1]) for dim in source.axes_of(text))


def _attributes(
    source: AnalysisSource, parts: dict[str, VarianceDecomposition], more: Sequence[str]
) -> dict[str, Any]:
    point = {
        name: np.asarray(values)[[source.point[name]]].tolist()[0]
        for name, (_, values, _) in source.coords.items()
    }
    has_gaps = any(p.count < _points(source, text) for text, p in parts.items())
    treatment = "every point of the grid has the same weight"
    if has_gaps:
        treatment = (
            "every point that counts has the same weight; points that break a rule or constraint "
            "or have no number are left out, which makes the axes depend on each other: the "
            "first-order index of an axis may then exceed its total index"
        )
    constant = [text for text, part in parts.items() if part.is_constant]
    notes = [*(f"{text} is the same at every point: it has no indices" for text in constant), *more]
    return {
        "title": f"sensitivity of {', '.join(source.formulas)}",
        "method": "exact decomposition of the variance over the full grid, uniform weights",
        "treatment": treatment,
        "configuration": json.dumps(point),
        **({"notes": json.dumps(notes)} if notes else {}),
        **source.attributes,
        "simt_dse_version": version(),
    }
