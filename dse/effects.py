"""What an output depends on: shares of its variance by axis, curves of its mean, elasticities."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.given import places_of
from dse.provenance import version
from dse.study.data import StudyData
from stochastic import sizes
from sweeps.bounds.check import check
from sweeps.grid.dataset import axis_coordinates, describe, quantities_of
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import FEASIBLE, Grid, part_of
from sweeps.grid.space import parse_axis
from sweeps.nest.run import prepare
from sweeps.scan.decompose import Decomposition, decompose
from sweeps.scan.values import Table
from symbolic.errors import DseError, InfeasibleError, check_known
from symbolic.expression import parse
from symbolic.ops import interpret_arrays, references
from symbolic.quantities import Quantity, place_of

if TYPE_CHECKING:
    import xarray as xr


Floats = NDArray[np.float64]

# --- Elasticities at one configuration, d log y / d log x, by steps on the graph

#: Steps in the logarithm of an input, and the agreement that tells a slope from a jump or a corner.
_STEP, _FINER, _AGREE = 1e-4, 8, 1e-2
#: The share by which a whole quantity moves, if that is more than one.
_WHOLE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """Elasticities of outputs (rows) by inputs (columns): ``sides`` are downwards, upwards, both.

    ``values`` are those of the inputs, ``here`` those of the outputs.
    """

    inputs: tuple[str, ...]
    values: Floats
    here: Floats
    sides: Floats


def at_point(grid: Grid, texts: Sequence[str], point: Mapping[str, int]) -> Slopes:
    """Elasticities of formulas by every number on which they depend.

    A whole quantity moves by one or a hundredth, any other by a ten-thousandth. NaN stands where a
    step leaves the domain of the input or breaks a rule, where the output is 0 or changes its sign,
    and where it jumps; that of both sides also where these differ, as at the border of a regime.
    """
    key = tuple(grid.axes[a].labels[point[a]] for a in grid.switch_axes)
    graph, leaves = grid.graphs[key], grid.leaves[key]
    quantities = grid.model.quantities
    roots = [graph.flattened(parse(text, quantities)) for text in texts]
    rules = [graph.flat_condition(c) for c in graph.conditions if c.is_rule]
    base = {}
    for name in references(*roots, *rules):
        array = leaves[name].array
        base[name] = array[tuple(point[a] for a in leaves[name].axes)] if array.ndim else array
    labels = {place_of(axis) for axis in grid.axes}  # which label of an axis
    inputs = tuple(
        name
        for name in references(*roots)
        if name not in labels and name in quantities and not quantities[name].is_label
    )
    steps = [_moves(float(base[name]), quantities[name]) for name in inputs]
    places = [slice(1 + 4 * k, 5 + 4 * k) for k in range(len(inputs))]
    size = 1 + 4 * len(inputs)
    values = {name: np.full(size, float(value)) for name, value in base.items()}
    for name, place, to in zip(inputs, places, steps, strict=True):
        values[name][place] = to
    found = interpret_arrays([*roots, *rules], values)
    allowed = np.ones(size, dtype=bool)
    for rule in found[len(roots) :]:
        allowed &= np.broadcast_to(rule, (size,)).astype(bool)
    for name, place in zip(inputs, places, strict=True):
        allowed[place] &= quantities[name].domain.holds(values[name][place])
    sides, here = np.full((3, len(texts), len(inputs)), np.nan), np.full(len(texts), np.nan)
    for row, result in enumerate(found[: len(roots)]):
        y = np.where(allowed, np.broadcast_to(result, (size,)).astype(np.float64), np.nan)
        here[row] = y[0]
        for k, (name, place) in enumerate(zip(inputs, places, strict=True)):
            x, whole = values[name], quantities[name].domain.whole
            sides[:, row, k] = _slopes(x[0], y[0], x[place], y[place], whole)
    held = np.array([float(base[name]) for name in inputs])
    return Slopes(inputs=inputs, values=held, here=here, sides=sides)


def _moves(value: float, row: Quantity) -> list[float]:
    """Where an input is moved to: far and near below, near and far above."""
    if row.domain.whole:
        step = max(1.0, round(_WHOLE * value))
        return [value - step, value - step, value + step, value + step]
    far, near = math.expm1(_STEP), math.expm1(_STEP / _FINER)
    return [value / (1 + far), value / (1 + near), value * (1 + near), value * (1 + far)]


def _slopes(
    x: float, y: float, moved: Floats, around: Floats, whole: bool
) -> tuple[float, float, float]:
    """Elasticities downwards, upwards and of both."""
    far_down, near_down, near_up, far_up = (
        arc(x, y, to, at) for to, at in zip(moved, around, strict=True)
    )
    if whole:
        if math.isnan(near_down) or math.isnan(near_up):
            return near_down, near_up, near_up if math.isnan(near_down) else near_down
        return near_down, near_up, arc(moved[0], around[0], moved[-1], around[-1])
    down, up = _smooth(far_down, near_down), _smooth(far_up, near_up)
    if math.isnan(down) or math.isnan(up):
        one_side = np.isnan(around[0]) or np.isnan(around[-1])  # at the end of a domain
        return down, up, (up if math.isnan(down) else down) if one_side else math.nan
    if abs(up - down) > _AGREE * (1 + abs(up)):
        return down, up, math.nan
    return down, up, arc(moved[0], around[0], moved[-1], around[-1])


def _smooth(far: float, near: float) -> float:
    """A slope without the first term of the error of its steps; NaN where there is a jump."""
    if not abs(near - far) <= _AGREE * (1 + abs(far)):
        return math.nan
    return (_FINER * near - far) / (_FINER - 1)


def between_neighbours(x: Floats, y: Floats, place: int) -> tuple[float, float, float]:
    """Return elasticities downwards, upwards and of both, between a place and its neighbours."""
    order = np.argsort(x)
    i = int(np.flatnonzero(order == place)[0])
    x, y = x[order], y[order]
    down = arc(x[i], y[i], x[i - 1], y[i - 1]) if i > 0 else math.nan
    up = arc(x[i], y[i], x[i + 1], y[i + 1]) if i + 1 < x.size else math.nan
    if math.isnan(down) or math.isnan(up):
        return down, up, up if math.isnan(down) else down
    return down, up, arc(x[i - 1], y[i - 1], x[i + 1], y[i + 1])


def arc(x: float, y: float, to: float, at: float) -> float:
    """The slope between two points in logarithms; NaN where there is none.

    >>> arc(2, 4, 3, 9)
    2.0
    """
    if not (x > 0 and to > 0 and x != to and y * at > 0) or math.isinf(y) or math.isinf(at):
        return math.nan
    return math.log(at / y) / math.log(to / x)


# --- Where the values come from: the grid of a study, or a Dataset, in blocks of either

#: Points from which on a nest is worth its compilation; its blocks keep no steps between.
COMPILED, _LARGE, _SMALL = sizes.EFFECTS_COMPILED, sizes.EFFECTS_LARGE, sizes.EFFECTS_SMALL
#: Points of a block of a Dataset.
BLOCK = sizes.EFFECTS_BLOCK
_RESERVED = ("axis", "input", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is analysed: formulas over axes, of a study or of a Dataset.

    ``coords`` are (dims, values, attributes) by axis; ``point`` an index along each, given for the
    axes of ``fixed``; ``asked`` is True if the formulas were named. ``dims`` returns the axes on
    which a formula, or whether its points count, depends; ``block`` its values within a slice of
    each of them, at most ``limit``, NaN where no point counts; ``slopes`` the elasticities.
    """

    texts: tuple[str, ...]
    asked: bool
    coords: Mapping[str, tuple[Any, NDArray[Any], dict[str, Any]]]
    units: Mapping[str, str]
    point: Mapping[str, int]
    fixed: frozenset[str]
    attributes: Mapping[str, Any]
    limit: int
    dims: Callable[[str], tuple[str, ...]]
    block: Callable[[str, Mapping[str, slice]], Floats]
    slopes: Callable[[Mapping[str, int]], Slopes]


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
    """True if an output tells how far another is off, which no one asks what moves it."""
    return str(name).startswith("error(")


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
    coords = axis_coordinates(grid)

    def block(text: str, bounds: Mapping[str, slice]) -> Floats:
        """Compute values by NumPy, or by a compiled nest where the grid is large."""
        here, goal, dims = part_of(grid, bounds), Goal(text=text, sign=1.0), tuple(bounds)
        plain, full = here.plain(dims), np.empty(here.shape(dims))
        compiled = math.prod(here.shape(plain)) > _SMALL
        compiled &= math.prod(grid.shape(dims)) >= COMPILED
        for key, piece in here.pieces(full, dims):
            node = objective_node(here, key, goal)
            if compiled:
                ready = prepare(here, key, plain, [(node, "float")])
                found = np.empty(piece.size)
                ends = np.stack([np.zeros_like(ready.sizes), ready.sizes], axis=1)
                ready.run(ends.reshape(-1), 0, found)
                piece[...] = found.reshape(piece.shape)
            else:
                piece[...] = here.evaluate([node], key, plain)[0]
        return np.where(np.isinf(full), np.nan, full)

    listed = tuple(dict.fromkeys(named))
    return Source(
        texts=listed,
        asked=texts is not None,
        coords={name: coords[name] for name in grid.axes},
        units={t: str(describe(grid, t).get("units", "")) for t in named if t in quantities},
        point={name: axis.size // 2 for name, axis in grid.axes.items()} | places_of(grid, at),
        fixed=frozenset(at),
        attributes={"model": study.model, "study": study.text()},
        limit=_LARGE if grid.points >= COMPILED else _SMALL,
        dims=lambda text: grid.ordered(dims_of(grid, [Goal(text=text, sign=1.0)])),
        block=block,
        slopes=lambda point: at_point(grid, listed, point),
    )


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

    def dims(text: str) -> tuple[str, ...]:
        return table.dims([parse(text, table.quantities), *table.conditions])

    def block(text: str, bounds: Mapping[str, slice]) -> Floats:
        (values,), over = table.part(bounds).values([Goal(text=text, sign=1.0)])
        shape = [bounds[dim].stop - bounds[dim].start for dim in over]
        found: Floats = np.broadcast_to(values, shape).transpose([over.index(d) for d in bounds])
        return np.where(np.isinf(found), np.nan, found)

    listed = tuple(dict.fromkeys(named))

    def slopes(point: Mapping[str, int]) -> Slopes:
        """Return slopes between neighbours on each axis of positive numbers."""
        lines = {n: v for n, (_, v, _) in coords.items() if v.dtype.kind in "iuf" and v.size > 1}
        sides, here = np.zeros((3, len(listed), len(lines))), np.full(len(listed), np.nan)
        for row, text in enumerate(listed):
            spot = {d: slice(point[d], point[d] + 1) for d in dims(text)}
            if spot:
                here[row] = block(text, spot).item()
            for k, (name, x) in enumerate(lines.items()):
                if name in spot:
                    y = block(text, {**spot, name: slice(0, x.size)}).reshape(-1)
                    sides[:, row, k] = between_neighbours(x.astype(float), y, point[name])
        held = np.array([float(x[point[name]]) for name, x in lines.items()])
        return Slopes(inputs=tuple(lines), values=held, here=here, sides=sides)

    return Source(
        texts=listed,
        asked=texts is not None,
        coords=coords,
        units={t: str(ds[t].attrs.get("units", "")) for t in named if t in ds.variables},
        point=point,
        fixed=frozenset(at),
        attributes={k: ds.attrs[k] for k in ("model", "study") if k in ds.attrs},
        limit=BLOCK,
        dims=dims,
        block=block,
        slopes=slopes,
    )


# --- The Dataset of a sensitivity analysis, which says what its numbers mean

#: Points about the middle among which one that counts is sought.
_SEARCHED = sizes.SEARCHED_AROUND
_MEANINGS = {
    "first": "share of the variance that the axis explains alone (first-order index of Sobol)",
    "total": "share of the variance left where all other axes are known (total index of Sobol)",
    "low": "least mean of the output at one value of the axis",
    "high": "largest mean of the output at one value of the axis",
    "mean": "mean of the output over all points that count",
    "std": "standard deviation of the output over all points that count",
    "value": "the output at the configuration of the elasticities",
    "counted": "points that count: feasible, with a finite number",
    "points": "points of the axes on which the output depends",
    "elasticity": "d log(output) / d log(input) at the configuration; none at a border or jump",
    "elasticity_down": "the elasticity towards smaller values of the input",
    "elasticity_up": "the elasticity towards larger values of the input",
    "input_value": "the input at the configuration of the elasticities",
}


def analysed(source: Source) -> xr.Dataset:
    """Share out the variance of every output and find its slopes."""
    import xarray as xr

    axes = list(source.coords)
    found: dict[str, Decomposition] = {}
    for text in source.texts:
        dims = source.dims(text)

        def block(place: tuple[slice, ...], text: str = text, dims: tuple[str, ...] = dims) -> Any:
            return source.block(text, dict(zip(dims, place, strict=True)))

        sizes = [len(source.coords[dim][1]) for dim in dims]
        found[text] = decompose(sizes, block, limit=source.limit)
        _check(source, text, found[text])
    kept = [t for t in source.texts if not found[t].constant]
    if not kept:
        _constant(source, found)
    curves: list[dict[str, Floats]] = []
    columns: dict[str, list[list[float]]] = {name: [] for name in ("first", "total", "low", "high")}
    for text, one in found.items():
        dims = source.dims(text)
        at = {axis: dims.index(axis) for axis in axes if axis in dims}
        plain = {axis: np.full(len(source.coords[axis][1]), one.mean) for axis in axes}
        curves.append(plain | {axis: one.means[place] for axis, place in at.items()})
        columns["low"].append([np.nanmin(curves[-1][axis]) for axis in axes])
        columns["high"].append([np.nanmax(curves[-1][axis]) for axis in axes])
        for name in ("first", "total"):
            parts = getattr(one, name) if one.variance else [0.0] * len(dims)
            shares = [parts[at[a]] / (one.variance or 1.0) if a in at else 0.0 for a in axes]
            columns[name].append([math.nan] * len(axes) if one.constant else shares)
    source = _settled(source, kept[0])
    slopes = source.slopes(source.point)
    over, by = ("output", "axis"), ("output", "input")
    variables: dict[str, Any] = {name: (over, np.array(told)) for name, told in columns.items()}
    each = list(found.values())
    variables |= {
        "mean": ("output", [one.mean for one in each]),
        "std": ("output", [math.sqrt(one.variance) for one in each]),
        "counted": ("output", [one.count for one in each]),
        "points": ("output", [_points(source, text) for text in source.texts]),
        "value": ("output", slopes.here),
        "elasticity": (by, slopes.sides[2]),
        "elasticity_down": (by, slopes.sides[0]),
        "elasticity_up": (by, slopes.sides[1]),
        "input_value": ("input", slopes.values),
    }
    variables = {
        name: (dims, array, {"long_name": _MEANINGS[name]} | _unit(name))
        for name, (dims, array) in variables.items()
    }
    for axis in axes:
        said = f"mean of the output at each value of {axis}; in the unit of the output"
        curve = np.stack([one[axis] for one in curves])
        variables[f"over_{axis}"] = (("output", axis), curve, {"long_name": said})
    coords: dict[str, Any] = {axis: source.coords[axis] for axis in axes}
    coords |= {
        "output": ("output", list(source.texts)),
        "unit": ("output", [source.units.get(text, "") for text in source.texts]),
        "axis": ("axis", axes),
        "input": ("input", list(slopes.inputs)),
    }
    return xr.Dataset(variables, coords=coords, attrs=_attributes(source, found))


def _settled(source: Source, text: str) -> Source:
    """With its configuration moved, along axes that are free, to the nearest point that counts."""
    dims = source.dims(text)
    sizes = {dim: len(source.coords[dim][1]) for dim in dims}
    reach = 0
    while True:
        box = {
            dim: slice(source.point[dim], source.point[dim] + 1)
            if dim in source.fixed
            else slice(max(0, source.point[dim] - reach), min(size, source.point[dim] + reach + 1))
            for dim, size in sizes.items()
        }
        if math.prod(s.stop - s.start for s in box.values()) > _SEARCHED and reach:
            return source
        places = np.argwhere(~np.isnan(source.block(text, box)))
        if len(places):
            places += np.array([s.start for s in box.values()], dtype=np.int64)
            away = (places - [source.point[dim] for dim in dims]) / [*sizes.values()]
            best = places[np.argmin((away**2).sum(axis=1))]
            point = {**source.point, **dict(zip(dims, best.tolist(), strict=True))}
            return replace(source, point=point)
        if all(s.stop - s.start == sizes[dim] or dim in source.fixed for dim, s in box.items()):
            return source
        reach = 2 * reach + 1


def _unit(name: str) -> dict[str, str]:
    plain = name.startswith(("first", "total", "counted", "points", "elasticity"))
    return {"units": "1"} if plain else {}


def _points(source: Source, text: str) -> int:
    return math.prod(len(source.coords[dim][1]) for dim in source.dims(text))


def _check(source: Source, text: str, one: Decomposition) -> None:
    if not one.count:
        raise InfeasibleError(
            f"no point with a finite {text} satisfies the rules and constraints: relax them, or "
            "sweep other values"
        )
    if one.constant and source.asked and len(source.texts) == 1:
        _constant(source, {text: one})


def _constant(source: Source, found: dict[str, Decomposition]) -> None:
    from symbolic.answer import value_text

    told = ", ".join(
        f"{text} is {value_text(one.mean, source.units.get(text, ''))}"
        for text, one in found.items()
    )
    raise DseError(
        f"{told} at every point that counts, so that there is no variance to share out: sweep "
        "other axes or values, relax the constraints, or choose another output"
    )


def _attributes(source: Source, found: dict[str, Decomposition]) -> dict[str, Any]:
    point = {
        name: np.asarray(values)[[source.point[name]]].tolist()[0]
        for name, (_, values, _) in source.coords.items()
    }
    holes = any(one.count < _points(source, text) for text, one in found.items())
    treatment = "every point of the grid weighs the same"
    if holes:
        treatment = (
            "every point that counts weighs the same; points that break a rule or constraint or "
            "have no number are left out, which makes the axes depend on each other: an axis may "
            "then explain more alone than in all"
        )
    constant = [text for text, one in found.items() if one.constant]
    notes = [f"{text} is the same at every point: it has no indices" for text in constant]
    return {
        "title": f"sensitivity of {', '.join(source.texts)}",
        "method": "exact decomposition of the variance over the full grid, uniform weights",
        "treatment": treatment,
        "configuration": json.dumps(point),
        **({"notes": json.dumps(notes)} if notes else {}),
        **source.attributes,
        "simt_dse_version": version(),
    }
