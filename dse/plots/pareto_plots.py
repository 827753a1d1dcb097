"""Draw configurations: Pareto fronts, parallel coordinates, and scatter plots."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.arguments import axis_conditions, require_mapping
from dse.plots.axes import add_legend, axes_of, fold, format_axis, log_norm, unit_of, use_log_scale
from dse.plots.data import (
    MAX_SERIES,
    AxisValues,
    PlotSource,
    check_finite,
    goal_words,
    mask_infeasible,
    needed_quantities,
    plot_data,
)
from dse.plots.style import STYLES, UNIFORM, distinct_styles
from dse.study.study import StudyData
from dse.verbs.optimum import pareto as front_of
from sweeps.grid.goals import read_goals, texts_of
from sweeps.nest.reduce import lower_by_share
from sweeps.scan.values import DatasetTable
from symbolic.answer import value_text
from symbolic.errors import DseError
from symbolic.ops import references

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_POINTS, _MAX_LINES = 20_000, 3_000
#: Above this number of configurations, only the Pareto front is drawn, which needs no run.
_MAX_RUN = 1 << 24
_THICK_LINES = 10
_MAX_LABELS = 12
_MAX_MARKERS = 60  # markers of a longer front would hide each other and its line
_LOG_RATIO = 10.0  # largest by smallest value above which a scale is logarithmic


def pareto(
    source: PlotSource,
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    at: AxisValues = None,
    epsilon: float | None = None,
    time_limit: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw all configurations in the plane of two objectives, and the Pareto front.

    The markers show the labels of an axis, such as machines; points of a short front are named by
    further labels. With ``epsilon``, draw points that cover the front within this share, and a line
    that no configuration beats. Of a large study, only the front is computed and drawn; the legend
    says if it was not proven within ``time_limit``.
    """
    import xarray as xr
    from matplotlib.lines import Line2D

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    if len(goals) != 2:
        given = ", ".join(goal.text for goal in goals)
        raise DseError(
            f"a Pareto front needs two goals, not {given}: name two, as in --minimize time,power, "
            "and bound others by --where; dse pareto --epsilon lists a front of several"
        )
    query: dict[str, Any] = {"minimize": minimize or None, "maximize": maximize or None}
    query |= {"where": texts, "epsilon": epsilon}
    if isinstance(source, StudyData) and source.grid().points > _MAX_RUN:
        query["where"] = [*texts, *axis_conditions(source.grid(), require_mapping(at))]
        ds = front = front_of(source, **query, time_limit=time_limit)
        sizes = [axis.size for name, axis in source.grid().axes.items() if name in front.coords]
        texts, many = (), f"{math.prod(sizes):,} configurations"  # without averaged axes
    else:
        names = [n for goal in goals for n in needed_quantities(source, goal.text, texts)]
        ds = plot_data(source, names, at)
        front, many = front_of(ds, **query), ""
    signs, table = [goal.sign for goal in goals], DatasetTable(ds, texts)
    values, order = table.values(goals)
    nodes = [goal.node(table.quantities) for goal in goals]
    used = {str(dim) for name in references(*nodes) for dim in ds[name].dims}
    dims = [dim for dim in order if dim in used]
    others = tuple(k for k, dim in enumerate(order) if dim not in used)
    values = [value.min(axis=others) for value in values]  # infinite where nothing is feasible
    shown = np.isfinite(values).all(axis=0)
    across, up = (sign * value[shown] for sign, value in zip(signs, values, strict=True))
    labels = {
        name: np.broadcast_to(each.reshape([-1 if d == dim else 1 for d in dims]), shown.shape)
        for name, (dim, each, _) in table.coordinates.items()
        if dim in dims and each.dtype.kind not in "iufb"
    }
    labels = {n: each[shown] for n, each in labels.items() if len({*each[shown].tolist()}) > 1}
    named = next((n for n, each in labels.items() if len({*each.tolist()}) <= MAX_SERIES), "")
    step = -(-across.size // _MAX_POINTS)
    words = f"the front of {many}" if many else f"{across.size:,} configurations"
    words += f", one in {step:,}" * (step > 1)
    column = labels[named] if named else np.full(across.size, words)
    groups, ax = list(dict.fromkeys(column.tolist())), axes_of(ax)
    looks = distinct_styles(groups, ["front"]) if named else [STYLES["configurations"]]
    ends = DatasetTable(front, ()).values(goals)[0]
    are_all = not named and not many and ends[0].size == across.size
    many = "all configurations" if are_all else many
    for group, look in zip(groups, looks, strict=True) if named or not many else ():
        x, y = (each[column == group][::step] for each in (across, up))
        style = look.mark_options(5, mew=0.3 * bool(named), zorder=2)
        ax.plot(x, y, rasterized=across.size > 2000, label=group, **style)
    along = np.argsort(signs[0] * ends[0])
    x, y = (sign * value[along] for sign, value in zip(signs, ends, strict=True))
    # the line runs on the side of dominated points
    stairs = "steps-post" if signs[0] > 0 else "steps-pre"
    style = STYLES["front"].points_options(drawstyle=stairs)
    style |= {"mfc": "none", "ms": 10} if named else {}
    style |= {"marker": ""} if len(x) > _MAX_MARKERS else {}
    share = f"cover of the Pareto front within {100 * epsilon:.4g} %" if epsilon else "Pareto front"
    late = not front.attrs.get("complete", 1) or front.attrs.get("points_left")
    share = f"not proven: {share}" if late else share
    size = "all {:,} configurations" if are_all else f"{{:,}} of {many or 'them'}"
    ax.plot(x, y, **style, label=f"{share}: {size.format(len(x))}")
    further = [name for name in labels if name != named]
    for k, point in enumerate(zip(x, y, strict=True)) if len(x) <= _MAX_LABELS else ():
        text = ", ".join(str(front[name].values[along[k]]) for name in further)
        ax.annotate(text, point, (6, 5), textcoords="offset points", fontsize="small", zorder=7)
    if epsilon and not late:
        x, y = (s * lower_by_share(s * v, epsilon) for s, v in zip(signs, (x, y), strict=True))
        style = STYLES["level"].line_options(drawstyle=stairs)
        ax.plot(x, y, **style, label="no configuration is better")
    known = source.grid().model.quantities if isinstance(source, StudyData) else table.quantities
    for axis, goal, numbers in ((ax.xaxis, goals[0], across), (ax.yaxis, goals[1], up)):
        variables = front.variables.items()
        about = next(v for n, v in variables if goal.text in (n, v.attrs.get("long_name")))
        attrs = about.attrs | {"long_name": goal_words(goal, known)}
        format_axis(axis, xr.DataArray(numbers, dims="point", name=goal.text, attrs=attrs))
        if numbers.size and log_norm(numbers, _LOG_RATIO) is not None:
            use_log_scale(ax, axis.axis_name)
    corner = "lower" if signs[1] > 0 else "upper"
    corner += " left" if signs[0] > 0 else " right"
    study = json.loads(front.attrs.get("study", "{}"))
    names = [Path(study[key]).stem for key in ("machine", "workload") if study.get(key)]
    of = ", ".join(names) + ": " * bool(names)
    ax.set_title(f"{of}better towards the {corner}", fontsize="medium")
    handles, entries = ax.get_legend_handles_labels()
    if not named and not many:  # a dot of the figure would be too small
        handles[0] = Line2D([], [], **STYLES["configurations"].mark_options(10, mew=0))
    heading, columns = words if named else "", 1 if epsilon and not named else 2
    add_legend(ax, heading=heading, at_bottom=True, ncols=columns, handles=handles, labels=entries)
    return ax


def parallel(
    source: PlotSource,
    *,
    quantity: Sequence[str] = (),
    minimize: str | None = None,
    maximize: str | None = None,
    at: AxisValues = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each configuration as a line across parallel vertical axes, coloured by rank."""
    import xarray as xr
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    goal = minimize or maximize
    if goal is None or (minimize and maximize):
        raise DseError("parallel ranks by one goal: give minimize= or maximize=")
    names = list(dict.fromkeys([*texts_of(quantity, "quantity"), goal]))
    ds = plot_data(source, [*names, *needed_quantities(source, None)], at)
    arrays = xr.broadcast(*(mask_infeasible(ds, ds[name]) for name in names))
    dims = [str(dim) for dim in arrays[-1].dims if arrays[-1].sizes[dim] > 1]
    if not dims:
        raise DseError(f"{', '.join(names)} vary over no axis: give the study one")
    check_finite(goal, arrays[-1])
    columns = {dim: ds[dim].broadcast_like(arrays[-1]).values.ravel() for dim in dims}
    columns |= {name: array.values.ravel() for name, array in zip(names, arrays, strict=True)}
    whole = np.flatnonzero(np.isfinite(np.stack([columns[n] for n in names])).all(axis=0))
    order = whole[np.argsort(columns[goal][whole], kind="stable")][:: -1 if minimize else 1]
    best = np.arange(max(len(order) - _THICK_LINES, 0), len(order))
    drawn = np.union1d(np.arange(0, len(order), -(-len(order) // _MAX_LINES)), best)
    ax = axes_of(ax, max(6.4, 1.5 * len(columns)), 4.4)
    ax.grid(visible=False)
    places = order[drawn]
    heights = [
        _draw_parallel_axis(ax, k, ds[name], values, places)
        for k, (name, values) in enumerate(columns.items())
    ]
    up = np.stack(heights, axis=-1)
    lines = np.stack([np.broadcast_to(np.arange(len(columns)), up.shape), up], axis=-1)
    many = min(_THICK_LINES, len(lines))
    rest = LineCollection(list(lines[:-many]), cmap=f"{UNIFORM}_r", lw=0.7, alpha=0.5)
    rest.set_array(np.arange(len(lines) - many))  # colours show ranks, as values may be close
    thick = LineCollection(list(lines[-many:]), colors=STYLES["optimum"].color, lw=1.8)
    thick.set_path_effects([withStroke(linewidth=4, foreground="white")])  # visible in grey, too
    for collection in (rest, thick):
        ax.add_collection(collection, autolim=False)
    ax.set(xlim=(-0.25, len(columns) - 0.55), ylim=(-0.06, 1.06), yticks=[])
    # the titles need no units: the numbers at the ends of the axes have them
    titles = [str(ds[name].attrs.get("long_name") or name) for name in columns]
    ax.set_xticks(range(len(columns)), [fold(text, 16) for text in titles])
    ax.set(xlabel="each line is a configuration", ylabel="from smallest to largest value")
    ax.tick_params(axis="x", length=0, pad=12)
    ax.spines[:].set_visible(False)
    text = f"{len(order):,} configurations"
    text += f", {len(drawn):,} drawn" if len(drawn) < len(order) else ""
    text += f"; darker is better in {goal}, the best {many} thick"
    ax.set_title(fold(text, 72), fontsize="medium")
    return ax


def _draw_parallel_axis(ax: Axes, place: int, variable: Any, values: Any, indices: Any) -> Any:
    ax.axvline(place, color="0.3", lw=1)
    write: dict[str, Any] = {"fontsize": "small", "ha": "left", "va": "center"}
    if values.dtype.kind not in "iufb":
        labels = [str(label) for label in dict.fromkeys(variable.values.tolist())]
        at = {label: k / max(len(labels) - 1, 1) for k, label in enumerate(labels)}
        for label in labels if len(labels) <= _MAX_LABELS else labels[:: len(labels) - 1]:
            ax.text(place + 0.03, at[label], label, **write)
        return np.array([at[str(value)] for value in values[indices]])
    low, high = float(values[indices].min()), float(values[indices].max())
    for end, height in ((low, -0.03), (high, 1.03)):
        ax.text(place + 0.03, height, value_text(end, unit_of(variable)), **write)
    numbers = values[indices].astype(float)
    if low > 0 and high > 100 * low:
        numbers, low, high = np.log(numbers), float(np.log(low)), float(np.log(high))
    return (numbers - low) / (high - low) if high > low else np.full(numbers.shape, 0.5)


def scatter(
    *,
    points: Sequence[Sequence[Any]],
    across: str,
    up: str,
    fit: bool = False,
    diagonal: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw pairs of numbers as points, with a different marker for each label."""
    if not len(points) or any(not 2 <= len(point) <= 3 for point in points):
        raise DseError(f"points = {points!r}: expected pairs of numbers, each with a label or none")
    ax = axes_of(ax)
    x, y = (np.array([point[k] for point in points]) for k in (0, 1))
    labels = np.array([str(point[2]) if len(point) > 2 else "each" for point in points])
    names = list(dict.fromkeys(labels.tolist()))
    for name, look in zip(names, distinct_styles(names), strict=True):
        mask, text = labels == name, name if len(names) > 1 else None
        ax.plot(x[mask], y[mask], label=text, **look.mark_options(7))
    ends = np.array([x.min(), x.max()])
    if fit:
        slope, offset = np.polyfit(x, y, 1)
        share = np.corrcoef(x, y)[0, 1] ** 2
        text = f"least squares: {offset:.4g} + {slope:.4g} x, r² = {share:.4f}"
        ax.plot(ends, offset + slope * ends, label=text, **STYLES["result"].line_options(lw=1.4))
    if diagonal:
        ax.plot(ends, ends, label="equal", **STYLES["level"].line_options())
    ax.set(xlabel=across, ylabel=up)
    add_legend(ax)
    return ax
