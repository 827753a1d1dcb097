"""Compute the Dataset and the lines that a plot draws, and the default options of a plot."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.arguments import require_mapping
from dse.catalog.entries import workload
from dse.plots.axes import unit_of
from dse.study.comparison import ComparisonData
from dse.study.study import StudyData
from dse.verbs.optimum import optimum
from dse.verbs.study import run
from sweeps.grid.axes import parse_axis
from sweeps.grid.dataset import quantities_of, read_flag_meanings
from sweeps.grid.goals import Goal, goals_in_order
from sweeps.grid.grid import FEASIBLE
from sweeps.store.records import check_finished
from symbolic.answer import count_text, value_text
from symbolic.errors import DseError, InfeasibleError, UnknownNameError, check_name, nearest_hint
from symbolic.expression import parse, parse_condition
from symbolic.ops import references
from symbolic.quantities import TABLE, Quantity, indexed_quantity
from symbolic.statistics import STATISTICS

if TYPE_CHECKING:
    import xarray as xr

    from dse.plots.kinds import PlotKind

PlotSource: TypeAlias = "StudyData | ComparisonData | xr.Dataset"
AxisValues: TypeAlias = "Mapping[str, Any] | None"
#: Maximum number of lines or groups of bars in a plot, because people cannot distinguish more.
MAX_SERIES = 16
#: Maximum number of letters of the fixed values in a title, without the count of the others.
_MAX_VALUES = 52
#: Maximum number of letters of a legend's title; a longer meaning is replaced by its name.
_MAX_HEADING = 56
#: Kinds of plots that can draw any study, as text for error messages.
GENERAL_KINDS = "lines, heatmap, bars, parallel, tornado or importance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plot: its label, the fixed values of the other axes, and its points."""

    label: str
    coordinates: Mapping[str, Any]
    x: NDArray[Any]
    y: NDArray[Any]


def plot_data(source: Any, names: Sequence[str], at: AxisValues = None) -> xr.Dataset:
    """Return a Dataset of the quantities of a plot; ``at`` fixes axes of the study or Dataset."""
    for name in names:
        if not isinstance(name, str):
            raise DseError(f"{name!r} is no quantity: expected one name, such as 'time'")
    place = require_mapping(at)
    if isinstance(source, StudyData):
        axes = {*source.grid().axes, *(c for a in source.grid().axes.values() for c in a.columns)}
        wanted = [name for name in dict.fromkeys(names) if name not in axes]
        ds = run(replace(source, outputs=wanted, best=None))
    elif isinstance(source, ComparisonData):
        ds = run(source)
    elif hasattr(source, "data_vars"):
        check_finished(source)
        ds = source
    else:
        raise DseError(f"{source!r} cannot be drawn: expected a Study or a Dataset")
    for name in names:
        if name not in ds.variables and f"mean({name})" in ds.variables:  # a random output
            ds = ds.assign({name: ds[f"mean({name})"]})
        if name not in ds.variables:
            known = [str(variable) for variable in ds.variables]
            raise UnknownNameError(
                f"the figure needs {name}, which the Dataset lacks{nearest_hint(name, known)}; it "
                f"has {', '.join(known)}; run the study with {name} among its outputs"
            )
    for name, value in place.items():
        known = [str(dim) for dim in ds.dims if dim in ds.coords]
        check_name(name, known, f"at: {name!r} is no axis of the Dataset", "its axes are")
        if not any(each.isidentifier() or name in ds[each].dims for each in names):
            raise DseError(f"at: {', '.join(names)} does not vary over {name}: leave {name} out")
        quantities = quantities_of(ds)
        axis = parse_axis(name, ds[name].values.tolist(), quantities)
        ds = ds.isel({name: axis.position(value, quantities)})
    empty = [str(dim) for dim, size in ds.sizes.items() if size == 0]
    if empty:
        raise InfeasibleError(f"the Dataset has no values of {', '.join(empty)}: nothing to draw")
    return ds


def has_quantity(source: Any, name: str) -> bool:
    """True if a Dataset contains a quantity, or a study has all inputs to compute it."""
    if not isinstance(source, StudyData):
        return name in getattr(source, "data_vars", ())
    try:
        replace(source, outputs=[name], best=None).grid()
    except DseError:
        return False
    return True


def check_finite(name: str, *values: Any) -> None:
    """Raise InfeasibleError if a quantity has no finite value."""
    if not any(np.isfinite(np.asarray(each, dtype=float)).any() for each in values):
        raise InfeasibleError(
            f"{name} has no finite value where all constraints hold: relax them, or choose other "
            "values with at="
        )


def is_numeric(ds: xr.Dataset, axis: str) -> bool:
    """True if the values of an axis are numbers rather than labels."""
    return ds[axis].dtype.kind in "iuf"


def flags_of(array: xr.DataArray) -> dict[int, str]:
    """Return a mapping from the values of a bound, case, category or limiter to their names.

    The mapping is empty for other arrays.
    """
    attrs = array.attrs
    if "flag_values_by_model" in attrs:
        if "model" in array.dims or "model" not in array.coords:
            raise DseError(
                f"the values of {array.name} have different meanings in the models: choose one "
                "model with at={'model': ...}"
            )
        model = str(array["model"].item())
        attrs = {
            f"flag_{what}": json.loads(attrs[f"flag_{what}_by_model"]).get(model) or ()
            for what in ("values", "meanings")
        }
        attrs["flag_meanings"] = attrs["flag_meanings"] or ""
    return read_flag_meanings(attrs)


def mask_infeasible(ds: xr.Dataset, array: xr.DataArray) -> xr.DataArray:
    """Replace the values of infeasible points by NaN."""
    if FEASIBLE not in ds or not array.dims:
        return array
    feasible = ds[FEASIBLE]
    extra = [dim for dim in feasible.dims if dim not in array.dims]
    masked: xr.DataArray = array.where(feasible.any(extra) if extra else feasible)
    return masked.assign_attrs(array.attrs).rename(array.name)


def plot_axis(ds: xr.Dataset, over: str | None, *names: str) -> str:
    """Return the horizontal axis of a plot: ``over``, or the axis of numbers with most values."""
    dims = list(dict.fromkeys(str(dim) for name in names for dim in ds[name].dims))
    subject = f"{', '.join(names)} {'varies' if len(names) == 1 else 'vary'} over"
    if over is not None and over not in dims:
        axes = f"{', '.join(dims) or 'no axis'}{nearest_hint(over, dims)}"
        if over in ds and {*ds[over].dims} & {*dims}:  # a column of a table of rows
            axes += f"; {over} is a column: make it an axis, with the other columns that tell rows "
            axes += f"apart (dse import ROWS.csv GRID.zarr --shape grid --axes machine,{over})"
        raise UnknownNameError(f"over = {over!r}: {subject} {axes}")
    if not dims:
        raise DseError(f"{subject} no axis: give the study one")
    numbers = [dim for dim in dims if is_numeric(ds, dim)]
    return over or max(reversed(numbers or dims[-1:]), key=lambda dim: ds.sizes[dim])


def only_axis(ds: xr.Dataset, over: str | None, *names: str) -> str:
    """Return the horizontal axis; raise DseError if quantities vary along any other axis."""
    over = plot_axis(ds, over, *names)
    for name in names:
        if set(ds[name].dims) - {over}:
            raise DseError(
                f"{name} varies over {', '.join(map(str, ds[name].dims))}: fix all axes but "
                f"{over} with at="
            )
    return over


def lines_of(ds: xr.Dataset, x: str, y: str, over: str) -> tuple[str, list[Line]]:
    """Return a heading for the legend, and a line along ``over`` per value of the other axes."""
    import xarray as xr

    across, up = xr.broadcast(ds[x], mask_infeasible(ds, ds[y]))
    if over not in up.dims:
        across, up = (array.expand_dims({over: ds[over].values}) for array in (across, up))
    others = [str(dim) for dim in up.dims if dim != over]
    count = int(np.prod([up.sizes[dim] for dim in others], dtype=int))
    if count > MAX_SERIES:
        raise DseError(
            f"{count:,} lines of {y}, one for each {' and '.join(others)}, are too many (at most "
            f"{MAX_SERIES}): choose values with at= (--at) or a longer axis with over= (--over)"
        )
    shown = [dim for dim in others if up.sizes[dim] > 1] or others
    lines = []
    for places in np.ndindex(*(up.sizes[dim] for dim in others)):
        index = dict(zip(others, places, strict=True))
        # indexing an array of labels would give NumPy texts instead of str
        at = {dim: up[dim].values[k : k + 1].tolist()[0] for dim, k in index.items()}
        label = point_text(ds, {dim: at[dim] for dim in shown}, bare=len(shown) == 1)
        points = {"x": across.isel(index).values, "y": up.isel(index).values}
        lines.append(Line(label=label, coordinates=at, **points))
    check_finite(y, *(line.y for line in lines))
    words = str(ds[shown[0]].attrs.get("long_name", shown[0])) if len(shown) == 1 else ""
    return words if len(words) <= _MAX_HEADING else shown[0], lines


def point_text(ds: xr.Dataset, at: Mapping[str, Any], *, bare: bool = False) -> str:
    """Return a configuration as text. If ``bare`` is True, the names of the axes are omitted."""
    texts = {name: value_text(value, unit_of(ds[name])) for name, value in at.items()}
    plain = {name for name, value in at.items() if bare or isinstance(value, str)}
    return ", ".join(text if n in plain else f"{n} = {text}" for n, text in texts.items())


def goal_words(goal: Goal, quantities: Mapping[str, Quantity]) -> str:
    """Return an objective in words if it is a quantity or a statistic of one; else its formula."""
    plain = {**TABLE, **{n: row for n, row in quantities.items() if n.isidentifier()}}
    try:
        formula, words = goal.formula(plain), "{}"
    except DseError:
        return goal.text  # a Dataset may lack the quantities of a statistic
    name: Any = formula.args[0] if formula.op == "reference" else ""
    about = getattr(name, "statistic", None)
    if about is not None and not about.rules and about.level is None:
        text = STATISTICS[about.kind].meaning.removeprefix("the ").partition(" of those")[0]
        words = f"{text} of {{}} over {' and '.join(about.axes)}"
        name = about.argument.args[0] if about.argument.op == "reference" else ""
    return words.format(plain[name].meaning or name) if name in plain else goal.text


def study_text(ds: xr.Dataset, source: Any = None) -> str:
    """Return the model of a Dataset with its workload and machine, and a line of fixed values.

    A workload's file has its title, if the ``source`` is a study. Values that do not fit into the
    line are counted.
    """
    study = json.loads(ds.attrs.get("study", "{}"))
    if isinstance(source, StudyData) and str(source.workload).endswith(".toml"):
        study["workload"] = workload(str(source.workload), folder=source.folder).title
    single = {str(name): ds[name].item() for name in ds.coords if ds[name].size == 1}
    names = [study.get(key) or single.get(key) for key in ("workload", "machine")]
    fixed = {n: value for n, value in single.items() if not ds[n].dims and value not in names}
    values = [point_text(ds, {name: value}) for name, value in fixed.items()]
    values += [f"{name} = {value}" for name, value in study.get("set", {}).items()]
    shown: list[str] = []
    for text in values:
        shown += [text] * (len(", ".join([*shown, text])) <= _MAX_VALUES)
    if hidden := len(values) - len(shown):
        shown.append(f"and {hidden} more" if shown else f"{count_text(hidden, 'value')} set")
    title = ", ".join(map(str, filter(None, [ds.attrs.get("model"), *names])))
    return "\n".join(filter(None, [title, ", ".join(shown)]))


def needed_quantities(source: Any, goal: str | None, where: Sequence[str] = ()) -> list[str]:
    """Return the quantities that a study must compute for an objective and constraints."""
    if not isinstance(source, StudyData):
        return []
    quantities = source.grid().model.quantities
    nodes = [parse_condition(text, quantities) for text in (*where, *source.where)]
    nodes += [parse(goal, quantities)] if goal is not None else []
    return [name for name in references(*nodes) if name == indexed_quantity(name)]


def complete_options(
    kind: PlotKind, explicit: Mapping[str, Any], source: StudyData | xr.Dataset
) -> dict[str, Any]:
    """Return the options of a plot: the given options, and defaults for others that it needs.

    The study's ``[best]`` gives the objective, which is also the quantity to draw; without
    ``[best]``, the first output is drawn. Axes that the plot does not show are fixed at the optimum
    of ``[best]``, or at a middle value if there is no ``[best]``.
    """
    is_study, options = isinstance(source, StudyData), dict(explicit)
    random = source.random if isinstance(source, StudyData) else {"draw", "run"} & {*source.dims}
    if kind.source == "random" and not random:
        raise DseError(
            f"{kind.name} needs random inputs: give some a law, as in [random] mem_latency = "
            f'"normal: 600 cycles, 10 %", or use {kind.instead}'
        )
    best = (source.best if is_study else None) or {}
    goals = _goals(source, best)
    if kind.goals and not explicit.get("minimize") and not explicit.get("maximize"):
        options |= _goal_options(kind, goals, best)
    needed, cases = kind.outputs, cases_of(source)
    known = source.grid().model.yields if isinstance(source, StudyData) else source.variables
    is_drawable = all(name in known for name in needed)
    if "quantity" in kind.required_options and "quantity" not in explicit:
        outputs = _outputs(source)
        plain = [name for name in (*goals, *outputs) if name in outputs and name not in cases]
        options |= {"quantity": plain[0]} if plain else {}
    if "quantity" in kind.option_names and kind.options.get("quantity") in needed and cases:
        options |= {} if "quantity" in explicit or is_drawable else {"quantity": cases[0]}
    if needed and "quantity" not in options and not is_drawable:
        raise DseError(f"{kind.name} needs {needed[0]}, which the study lacks: use {GENERAL_KINDS}")
    names = options.get("quantity") or needed or (cases[:1] if "by" in kind.option_names else [])
    names = [names] if isinstance(names, str) else list(names)
    if names:
        at = explicit.get("at", {})
        free = _free_axes(source, names, at)
        over = options.get("over") or kind.options.get("over")
        shown = _axes_to_show(kind, free, [over, options.get("by")], len(names))
        is_missing = "over" in kind.required_options or (over and over not in free)
        if shown and is_missing and not explicit.get("over"):
            options["over"] = shown[0]
        rest = {name: values for name, values in free.items() if name not in shown}
        if rest:
            options["at"] = {**at, **_default_point(source, best, rest, names[0], at)}
    return options


def _goal_options(kind: PlotKind, goals: list[str], best: Mapping[str, Any]) -> dict[str, Any]:
    side = "minimize" if best.get("minimize") else "maximize"
    if kind.goals == 1 and goals:
        return {side: goals[0]}
    if kind.goals == len(goals):
        return {side: goals}
    known = f"the study has only {goals[0]}" if goals else "the study has none"
    if kind.goals == 2:
        raise DseError(
            f"{kind.name} needs two goals, but {known}: give both, as in --minimize time,power; "
            "for one goal use parallel"
        )
    raise DseError(
        f"{kind.name} needs a goal, but {known}: give --minimize or --maximize, or use lines or "
        "tornado"
    )


def _axes_to_show(
    kind: PlotKind, free: dict[str, NDArray[Any]], first: Sequence[str | None], several: int
) -> list[str]:
    labels = [name for name, values in free.items() if values.dtype.kind not in "iuf"]
    numbers = [name for name in reversed(free) if name not in labels]
    numbers.sort(key=lambda name: -len(free[name]))
    order = [*labels, *numbers] if kind.prefers == "labels" else [*numbers, *labels[::-1]]
    shown: list[str] = []
    for name in dict.fromkeys([*(name for name in first if name in free), *order]):
        if kind.axes is None:
            fits = not shown or math.prod(free[n].size for n in [*shown[1:], name]) <= kind.lines
        elif kind.axes == 2 and kind.prefers:
            fits = len(shown) < (2 if several == 1 else 1) and free[name].size <= MAX_SERIES
        else:
            fits = len(shown) < kind.axes
        shown += [name] if fits else []
    return shown


def _goals(source: StudyData | xr.Dataset, best: Mapping[str, Any]) -> list[str]:
    if not best or not isinstance(source, StudyData):
        return []
    quantities = source.grid().model.quantities
    goals = goals_in_order(best.get("minimize"), best.get("maximize"))
    nodes = [(goal, goal.formula(quantities)) for goal in goals]
    return [str(node.args[0]) if node.op == "reference" else goal.text for goal, node in nodes]


def _outputs(source: StudyData | xr.Dataset) -> list[str]:
    if isinstance(source, StudyData):
        return list(source.grid().outputs)
    return [str(name) for name, array in source.data_vars.items() if array.dtype.kind in "iuf"]


def cases_of(source: StudyData | xr.Dataset) -> list[str]:
    """Return the names of bounds and cases: first those that vary over a map, then the outputs."""
    if isinstance(source, StudyData):
        grid = source.grid()
        known = (*grid.outputs, *next(iter(grid.graphs.values())).definitions)
        cases = [name for name in dict.fromkeys(known) if grid.flag_meanings(name)]
        return sorted(cases, key=lambda name: -min(2, len(grid.dims(name))))
    marks = {"flag_values", "flag_values_by_model"}
    return [name for name in _outputs(source) if marks & source[name].attrs.keys()]


def _free_axes(
    source: StudyData | xr.Dataset, names: Sequence[str], at: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    if isinstance(source, StudyData):
        grid = source.grid([name for name in names if name not in source.axes])
        # a statistic has no value for each value of the axes that it reduces
        drawn = [name for name in grid.outputs if name in names and not name.isidentifier()]
        drawn = drawn if len(drawn) == len(names) else list(grid.outputs)
        dims = {dim for name in drawn for dim in grid.dims(name)} - {"draw"}
        axes = {dim: grid.axes[dim].coordinate for dim in grid.axes if dim in dims}
    else:
        dims = {str(dim) for name in names if name in source for dim in source[name].dims}
        axes = {str(d): source[d].values for d in source.sizes if d in dims and d in source.coords}
    return {name: values for name, values in axes.items() if name not in at}


def _default_point(
    source: StudyData | xr.Dataset,
    best: Mapping[str, Any],
    rest: Mapping[str, NDArray[Any]],
    name: str,
    at: Mapping[str, Any],
) -> dict[str, Any]:
    """Return values of the axes ``rest`` at the optimum of ``[best]``, or at a middle point."""
    goal = {key: best[key] for key in ("minimize", "maximize", "where") if best.get(key)}
    place = dict(optimum(source, **goal).coords) if goal else {}
    if any(axis not in place for axis in rest):
        ds = plot_data(source, [name], at)
        array = mask_infeasible(ds, ds[name])
        defined = np.argwhere(np.isfinite(np.asarray(array.values, dtype=float)))
        if defined.size:
            index = dict(zip(array.dims, defined[len(defined) // 2].tolist(), strict=True))
            place = {**array.isel(index).coords, **place}
    return {axis: place[axis].values.item() for axis in rest if axis in place}
