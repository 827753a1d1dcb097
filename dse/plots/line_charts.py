"""Draw lines of quantities along an axis, with marks and reference lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.axes import (
    add_legend,
    axes_of,
    axis_label,
    fold,
    format_axis,
    name_flags,
    set_title,
    split_axes,
    unit_of,
)
from dse.plots.bar_charts import bars
from dse.plots.data import (
    AxisValues,
    Line,
    PlotSource,
    check_finite,
    flags_of,
    has_quantity,
    is_numeric,
    lines_of,
    mask_infeasible,
    needed_quantities,
    only_axis,
    plot_axis,
    plot_data,
    point_text,
    study_text,
)
from dse.plots.style import MEANINGS, STYLES, Style, distinct_styles, style_of, style_variants
from dse.study.study import StudyData
from dse.verbs.optimum import optimum
from sweeps.grid.goals import OBJECTIVE, texts_of
from symbolic.answer import value_text
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

_MAX_MARKERS = 24
#: The spike before the first full pass is clipped if it is larger than all later values by this
#: factor.
_SPIKE_RATIO = 3.0


def _is_coincident(line: Line, other: Line) -> bool:
    both = ((line.x, other.x), (line.y, other.y))
    return all(a.shape == b.shape and np.allclose(a, b, equal_nan=True) for a, b in both)


def draw_lines(
    ax: Axes, lines: Sequence[Line], looks: Sequence[Style], *, same: bool = False, **style: Any
) -> None:
    """Draw lines; if some coincide or ``same`` is True, mark different points on each line."""
    room = all(len(line.x) >= 2 * len(lines) for line in lines)
    same = same or (room and any(_is_coincident(*pair) for pair in combinations(lines, 2)))
    for k, (line, look) in enumerate(zip(lines, looks, strict=True)):
        step = max(-(-len(line.x) // _MAX_MARKERS), len(lines)) if same else 1
        marks: dict[str, Any] = {"markevery": (k * step // max(len(lines), 1), step)}
        marks |= {"ms": 4.5} if step > 1 else {}
        if len(line.x) > _MAX_MARKERS and not same:
            marks["marker"] = ""  # marks at some points would show a false period
        ax.plot(line.x, line.y, label=line.label, **(look.points_options(**marks) | style))


def _relative_values(ds: xr.Dataset, name: str, over: str, by: bool | str) -> xr.DataArray:
    """Divide a quantity by its maximum along an axis; for ``by="growth"``, by proportional growth.

    Proportional growth is the first value times the ratio of the last to the first axis value.
    """
    words, whole = "share of its largest", abs(mask_infeasible(ds, ds[name])).max(over)
    if by == "growth":
        times = (ds[over][-1] / ds[over][0]).item()
        words, whole = f"share of {times:g} times its first", ds[name].isel({over: 0}) * times
    text = f"{ds[name].attrs.get('long_name', name)}, {words}"
    share: xr.DataArray = ds[name] / whole
    return share.assign_attrs({**ds[name].attrs, "long_name": text, "units": "1"})


def lines(
    source: PlotSource,
    quantity: str,
    *,
    over: str | None = None,
    x: str | None = None,
    at: AxisValues = None,
    minimize: str | None = None,
    maximize: str | None = None,
    relative: bool | str = False,
    row: Mapping[str, Any] = {},
    ax: Axes | None = None,
) -> Axes:
    """Draw a quantity along one axis, with a line for each value of the other axes.

    Keys of ``row``: ``with`` lists further quantities; ``alone`` forbids other axes; ``apart``
    reserves the colours of some meanings; ``smallest`` names the minimum of all quantities;
    ``style`` and ``label`` apply to the lines; ``mark`` adds marks, ``references`` reference lines,
    ``bottom`` a lower limit, and ``ylabel`` a label; ``cut`` clips a spike.
    """
    goal, names = minimize or maximize, [quantity, *row.get("with", ())]
    known = [r for r in row.get("references", ()) if r.get("x", x) == x]
    references = [r for r in known if not r.get("across") or has_quantity(source, r["quantity"])]
    extra = [*([x] if x else []), *(reference["quantity"] for reference in references)]
    ds = plot_data(source, [*names, *extra, *needed_quantities(source, goal)], at)
    over = plot_axis(ds, over, *([x] if x else names))
    if row.get("alone"):
        only_axis(ds, over, *names)
    labels = {name: axis_label(ds[name], 34) for name in names}
    if not x and is_numeric(ds, over):
        ds = ds.sortby(over)
    if relative:
        shares = [name for name in (*names, x) if name and name in ds.data_vars]
        ds = ds.assign({name: _relative_values(ds, name, over, relative) for name in shares})
    heading, drawn = lines_of(ds, x or over, quantity, over)
    looks = distinct_styles([line.label for line in drawn], row.get("apart", ()))
    drawn = [replace(line, label=line.label or row.get("label", "")) for line in drawn]
    if len(names) > 1:
        heading, drawn, looks = "", [], []
        for name in names:
            each = lines_of(ds, x or over, name, over)[1]
            looks += style_variants(style_of(name), len(each))
            for line in each:
                place = f":\n{point_text(ds, line.coordinates)}" if line.coordinates else ""
                drawn.append(replace(line, label=labels[name] + place))
    flags = flags_of(ds[quantity])
    style = {"same": True, "drawstyle": "steps-mid"} if flags else dict(row.get("style", {}))
    ax = axes_of(ax)
    draw_lines(ax, drawn, looks, **style)
    for line, artist in zip(drawn[::-1], ax.get_lines()[::-1], strict=False):
        if len(names) > 1 and line.label.startswith(labels.get(row.get("smallest", ""), "\n")):
            artist.set(lw=4, alpha=0.35, marker="")  # wide: it lies behind its terms
    if mark := row.get("mark"):
        marked = [np.stack([o.x, o.y])[:, o.y == mark["equals"]] for o in drawn]
        if (points := np.concatenate(marked, 1)).size:
            ax.plot(*points, label=mark["label"], **STYLES["optimum"].mark_options(4, marker="o"))
    for reference in references:
        _draw_reference(ax, ds, over, reference)
    if goal is not None:
        others = [str(dim) for dim in ds[quantity].dims if dim != over]
        best = optimum(ds, minimize=minimize, maximize=maximize, per=others)
        shown = goal if goal in names else quantity
        places = [np.atleast_1d(best[name].values).ravel() for name in (x or over, shown)]
        score = best[goal if goal in best else OBJECTIVE]
        values = np.atleast_1d(score.values).ravel()
        if len(values) > 1:
            look = STYLES["optimum"].mark_options(5, marker="o")
            ax.plot(*places, label="best of each line", **look)
        if np.isfinite(values).any():
            first = int(np.nanargmin(values) if minimize else np.nanargmax(values))
            across = value_text(places[0][first], unit_of(ds[x or over]))
            text = f"{'minimum' if minimize else 'maximum'} of {goal}"
            text += f":\n{value_text(values[first], unit_of(score))} at {across}"
            point = [place[first : first + 1] for place in places]
            ax.plot(*point, label=text, **STYLES["optimum"].mark_options(12))
    format_axis(ax.xaxis, ds[x or over])
    format_axis(ax.yaxis, ds[quantity], row.get("ylabel"))
    for axis, name, wide in ((ax.xaxis, x or over, 14), (ax.yaxis, quantity, 28)):
        if flags_of(ds[name]):
            name_flags(axis, flags_of(ds[name]), ds[name].values, wide)
    if ds[x or over].dtype.kind not in "iufb":
        ax.tick_params(axis="x", rotation=30)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    set_title(ax, study_text(ds, source))
    if "bottom" in row:
        ax.set_ylim(bottom=row["bottom"])
    if row.get("cut"):
        _clip_spike(ax, drawn)
    below = bool(flags) or len(names) > 1  # long labels leave no room at the side
    many = len(ax.get_legend_handles_labels()[0])
    at_right = len(drawn) > 4 or (many > 4 and not below)
    add_legend(ax, heading=heading, at_right=at_right, at_bottom=below, ncols=2 if below else 1)
    return ax


def _draw_reference(ax: Axes, ds: xr.Dataset, over: str, row: Mapping[str, Any]) -> None:
    quantity, label = row["quantity"], row["label"]
    values = ds[quantity]
    if row.get("across"):
        value = values.isel({over: int(np.argmax(ds[over].values))}, missing_dims="ignore")
        if value.ndim == 0 and np.isfinite(value):
            look = STYLES["published"] if quantity == "optimal_sms" else STYLES["level"]
            text = f"{label}: {value_text(float(value))}"
            ax.axvline(float(value), **look.line_options(), label=text)
    elif row.get("level"):
        if values.ndim == 0:
            ax.axhline(float(values), **style_of(quantity).line_options(lw=1.4), label=label)
    else:
        curve = lines_of(ds, row.get("x", over), quantity, over)[1]
        points = np.concatenate([np.stack([line.x, line.y]) for line in curve], axis=1)
        points = points[:, np.argsort(points[0])]
        ax.plot(*points, **style_of(quantity).line_options(lw=4, alpha=0.3), label=label)


def _clip_spike(ax: Axes, lines: Sequence[Line]) -> None:
    most = max(float(np.nanmax(line.y)) for line in lines)
    later = 1.0
    for line in lines:
        full = np.flatnonzero(line.y == 1)
        later = max([later, *line.y[full[0] :]]) if full.size else later
    if most > _SPIKE_RATIO * later > _SPIKE_RATIO:
        ax.set_ylim(top=1 + 1.15 * (later - 1))
        set_title(ax, f"above the figure: up to {most:.4g} before the first pass is full")


def terms(
    source: PlotSource,
    *,
    over: str | None = None,
    quantity: Sequence[str] = (),
    at: AxisValues = None,
    row: Mapping[str, Any],
    ax: Axes | None = None,
) -> Axes:
    """Draw several terms and their minimum along an axis."""
    names = list(texts_of(quantity, "quantity")) or _term_names(source, row["smallest"])
    ds = plot_data(source, names, at)
    check_finite(names[-1], *(ds[name] for name in names))
    names = [name for name in names if np.isfinite(ds[name]).any()]
    over = plot_axis(ds, over, *names)
    if not is_numeric(ds, over):
        ax = bars(ds, names, over=over, ax=ax)
        ax.set_xlabel(row["ylabel"])
        return ax
    for name in names:
        array = ds[name]
        same = [d for d in array.dims if d != over and (array == array.isel({d: 0})).all()]
        ds = ds.assign({name: array.isel(dict.fromkeys(same, 0), drop=True)})
    return lines(ds, names[0], over=over, row={**row, "with": names[1:]}, ax=ax)


def _term_names(source: Any, smallest: str) -> list[str]:
    if isinstance(source, StudyData):
        for family in source.grid().model.families:
            if family.of == smallest:
                return [*family.terms.values(), smallest]
    elif smallest in getattr(source, "data_vars", ()):
        known = [n for n in MEANINGS if n.startswith((smallest, "parallel_warps"))]
        return [*(name for name in known if name in source and name != smallest), smallest]
    raise DseError(f"the terms of {smallest} are unknown: name them with quantity=")


def temperature(
    source: StudyData, *, over: str = "elapsed", at: AxisValues = None, ax: Axes | None = None
) -> Axes:
    """Draw the temperature over time during and after a workload, and its steady states."""
    if not isinstance(source, StudyData):
        raise DseError("expected a Study, as cooling begins where heating ends")
    ds = plot_data(source, ["temperature", "max_temperature", "idle_temperature"], at)
    heading, rising = lines_of(ds, over, "temperature", plot_axis(ds, over, "temperature"))
    end = ds["temperature"].isel({over: -1}, drop=True)
    start = end.drop_vars([*(at or {})], errors="ignore") if end.dims else float(end)
    cooled = plot_data(
        replace(source, set={**source.set, "cooling_start": start}), ["cooling_temperature"], at
    )
    falling = lines_of(cooled, over, "cooling_temperature", over)[1]
    name = axis_label(ds["temperature"])
    both = [
        Line(
            label=up.label or name,
            coordinates=up.coordinates,
            x=np.concatenate([up.x, up.x[-1] + down.x]),
            y=np.concatenate([up.y, down.y]),
        )
        for up, down in zip(rising, falling, strict=True)
    ]
    ax = axes_of(ax)
    styles = distinct_styles([line.label for line in both])
    looks = styles if len(both) > 1 else [STYLES["temperature"]]
    draw_lines(ax, both, looks)
    for line, look in zip(rising, looks, strict=True):
        steady = float(ds["max_temperature"].sel(line.coordinates))
        ax.plot([line.x[0], line.x[-1]], [steady, steady], color=look.color, lw=1, ls=":")
    ax.plot([], [], color="black", lw=1, ls=":", label=axis_label(ds["max_temperature"]))
    ax.axvline(float(rising[0].x[-1]), color="0.4", lw=1, ls="--", label="end of the workload")
    idle = float(ds["idle_temperature"].max())
    ax.axhline(idle, **STYLES["level"].line_options(), label="idle machine")
    format_axis(ax.xaxis, ds[over], "time since the workload began [s]")
    format_axis(ax.yaxis, ds["temperature"])
    set_title(ax, study_text(ds, source))
    add_legend(ax, heading=heading, at_right=True)
    return ax


def efficiency(
    source: PlotSource,
    *,
    over: str = "gpu_share",
    at: AxisValues = None,
    relative: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw speed-up against energy efficiency, and against the effect of power alone.

    Values above 1 are better. The flag ``relative`` draws only the second panel; if it is False,
    only the first. The first of two panels has no legend, because many of its series coincide.
    """
    ds = plot_data(source, ["speedup", "energy_efficiency"], at)
    if relative is None:
        ax, right = split_axes(axes_of(ax, 11, 4.6), 1, 2)
        efficiency(ds, over=over, relative=True, ax=right)
    across = "energy efficiency: baseline energy over the new (E)"
    if relative:
        across = "effect of power: energy efficiency over speed-up (E / S)"
        ds = ds.assign(energy_efficiency=ds.energy_efficiency / ds.speedup)
    ax = lines(ds, "speedup", x="energy_efficiency", over=over, ax=axes_of(ax, 6.4, 5.0))
    _powers_of_two(ax.yaxis, ds.speedup)
    if not relative:
        _powers_of_two(ax.xaxis, ds.energy_efficiency)
    ax.axvline(1, color="0.35", lw=1)
    ax.axhline(1, color="0.35", lw=1)
    ax.set(xlabel=fold(across, 34), ylabel="speed-up: baseline time over the new (S)")
    if relative is None and (legend := ax.get_legend()) is not None:
        legend.remove()
    return ax


def _powers_of_two(axis: Any, values: xr.DataArray) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    positive = values.values[np.isfinite(values.values) & (values.values > 0)]
    low, high = np.floor(np.log2(positive.min())), np.ceil(np.log2(positive.max()))
    ax, name = axis.axes, axis.axis_name
    getattr(ax, f"set_{name}scale")("log", base=2)
    getattr(ax, f"set_{name}lim")(2.0**low / 1.1, 2.0**high * 1.1)
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}" if v >= 1 else f"1/{1 / v:g}"))
    axis.set_minor_locator(NullLocator())
