"""Draw bar charts: bars side by side, stacked bars, and rankings with the strongest on top."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.axes import (
    LINEAR,
    add_legend,
    axes_of,
    axis_label,
    fold,
    format_axis,
    label_rows,
    label_with_unit,
    log_norm,
    quantity_array,
    set_title,
    split_axes,
    unit_of,
    use_log_scale,
)
from dse.plots.data import (
    MAX_SERIES,
    AxisValues,
    PlotSource,
    check_finite,
    goal_words,
    is_numeric,
    mask_infeasible,
    needed_quantities,
    only_axis,
    plot_axis,
    plot_data,
    point_text,
)
from dse.plots.style import STYLES, distinct_styles, style_of
from dse.study.study import StudyData
from sweeps.grid.goals import Goal, texts_of
from sweeps.grid.grid import FEASIBLE
from symbolic.answer import value_text
from symbolic.errors import DseError, InfeasibleError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


#: Bars have a logarithmic scale if the longest exceeds the shortest by this factor.
_LOG_RATIO = 100.0


def _check_count(ds: xr.Dataset, axis: str) -> None:
    if ds.sizes[axis] > MAX_SERIES:
        raise DseError(
            f"bars for {ds.sizes[axis]:,} values of {axis} are too many (at most {MAX_SERIES}): "
            "give the axis fewer values, or draw lines"
        )


def bar_positions(ax: Axes, ds: xr.Dataset, over: str) -> Any:
    """Label a row for each value of an axis, the first on top; return the vertical positions."""
    _check_count(ds, over)
    name = axis_label(ds[over])
    ax.set_ylabel(name if name.count("\n") < 2 else over)  # some long names are whole sentences
    return label_rows(ax, [str(value) for value in ds[over].values])


def bars(
    source: PlotSource,
    quantity: Sequence[str] = (),
    *,
    over: str | None = None,
    at: AxisValues = None,
    relative: bool = False,
    row: Mapping[str, Any] = {},
    ax: Axes | None = None,
) -> Axes:
    """Draw quantities as bars, with a group of bars for each label of an axis.

    ``row["series"]`` maps quantities to labels; ``row["span"]`` is an interval that is drawn across
    the last bar of each group.
    """
    series, span = dict(row.get("series", {})), row.get("span")
    names = [*series] or list(texts_of(quantity, "quantity"))
    ds = plot_data(source, [*names, *((span["low"], span["high"]) if span else ())], at)
    dims = list(dict.fromkeys(str(dim) for name in names for dim in ds[name].dims))
    label = next((dim for dim in dims if not is_numeric(ds, dim)), None)
    over = plot_axis(ds, over or label, *names)
    check_finite(", ".join(names), *(mask_infeasible(ds, ds[name]) for name in names))
    rest = [dim for dim in dims if dim != over]
    if rest and (len(names) > 1 or len(rest) > 1):
        raise DseError(
            f"{', '.join(names)} over {', '.join(dims)}: bars show several quantities over one "
            "axis, or one over two; fix the other axes with at="
        )
    if rest:
        _check_count(ds, rest[0])
    count = ds.sizes[rest[0]] if rest else len(names)
    ax = axes_of(ax, 6.4, max(3.4, 0.16 * min(ds.sizes[over], MAX_SERIES) * (count + 1) + 1.8))
    places = bar_positions(ax, ds, over)
    values = {name: mask_infeasible(ds, ds[name].broadcast_like(ds[over])) for name in names}
    words = str(ds[names[0]].attrs.get("long_name", names[0]))
    words = words if names[0].isidentifier() else goal_words(Goal(text=names[0], sign=1.0), {})
    if rest:
        rows = values[names[0]].transpose(rest[0], over).values
        drawn = dict(zip(map(str, ds[rest[0]].values), rows, strict=True))
        looks = distinct_styles(list(drawn))
    else:
        looks = distinct_styles(names)
        texts = [series.get(name) or axis_label(ds[name], 80) for name in names]
        head, colon, _ = texts[0].partition(": ")
        if not (colon and all(text.startswith(head + colon) for text in texts)):
            head = colon = ""
        texts = [fold(text.removeprefix(head + colon), 40) for text in texts]
        drawn = {text: values[name].values for text, name in zip(texts, names, strict=True)}
        if len(names) > 1:
            words = head or (axis_label(ds[names[-1]]) if series else "value")
    if relative:
        most = np.nanmax(list(drawn.values()), axis=0)
        drawn = {text: each / most for text, each in drawn.items()}
        ax.set_xlabel(f"{words}, share of the largest")
    else:
        last = ds[names[-1] if series else names[0]]
        format_axis(ax.xaxis, last, words if series else label_with_unit(words, unit_of(last)))
    why = "not feasible" if FEASIBLE in ds else "no value"
    wide = 0.8 / len(drawn)
    missing = ~np.isfinite(np.array([*drawn.values()], dtype=float))
    note: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center"}
    for k, ((text, each), look) in enumerate(zip(drawn.items(), looks, strict=True)):
        middle = places + (k - (len(drawn) - 1) / 2) * wide
        ax.barh(middle, each, wide, **look.area_options(), label=text)
        for y in middle[missing[k] & ~missing.all(axis=0)]:
            ax.text(0.01, y, why, fontsize="x-small", **note)
    for y in places[missing.all(axis=0)]:
        ax.text(0.01, y, why, fontsize="small", **note)
    if rest and log_norm(np.array([*drawn.values()], dtype=float), _LOG_RATIO) is not None:
        use_log_scale(ax, "x")  # on a linear scale, the smallest bars would be invisible
    if span:
        low, high = (ds[span[end]].broadcast_like(ds[over]).values for end in ("low", "high"))
        style: dict[str, Any] = {"fmt": "none", "ecolor": "black", "elinewidth": 1.6, "capsize": 3}
        style |= {"xerr": abs(high - low) / 2, "zorder": 4, "label": span["label"]}
        ax.errorbar((low + high) / 2, places + 0.4 * (1 - 1 / len(names)), **style)
    heading = str(ds[rest[0]].attrs.get("long_name", rest[0])) if rest else ""
    set_title(ax, str(ds.attrs.get("model", "")))
    add_legend(ax, heading=heading, at_bottom=True, ncols=min(count, 4) if rest else 2)
    return ax


def stack(
    source: PlotSource,
    *,
    over: str | None = None,
    at: AxisValues = None,
    row: Mapping[str, Any],
    ax: Axes | None = None,
) -> Axes:
    """Draw stacked shares along one axis: bars if it has labels, areas if it has numbers.

    ``row["series"]`` maps quantities to labels and ``row["total"]`` is their sum. ``row["ylabel"]``
    is the label of the sum if it is not a quantity, and ``row["top"]`` the end of its axis.
    """
    series = row["series"]
    total = row.get("total", next(reversed(series)))
    ds = plot_data(source, [*series, total], at)
    over = only_axis(ds, over, total)
    check_finite(total, mask_infeasible(ds, ds[total]))
    spread = {name: mask_infeasible(ds, ds[name].broadcast_like(ds[over])) for name in series}
    values = {name: np.nan_to_num(array.values) for name, array in spread.items()}
    ax, upright = axes_of(ax), is_numeric(ds, over)
    places = ds[over].values if upright else bar_positions(ax, ds, over)
    base = np.zeros(ds.sizes[over])
    for name, share in values.items():
        if share.max() <= 0:
            continue
        text = series[name] or str(ds[name].attrs.get("long_name", name)).partition(": ")[2]
        style = style_of(name).area_options(label=text)
        if upright:
            ax.fill_between(places, base, base + share, **style)
        else:
            ax.barh(places, share, 0.65, left=base, **style)
        base = base + share
    format_axis(ax.yaxis if upright else ax.xaxis, ds[total], row.get("ylabel"))
    if upright:
        format_axis(ax.xaxis, ds[over])
        ax.margins(x=0)
    (ax.set_ylim if upright else ax.set_xlim)(0, row.get("top"))
    handles, labels = ax.get_legend_handles_labels()
    add_legend(ax, at_right=True, handles=handles[::-1], labels=labels[::-1])
    return ax


_MIN_ELASTICITY, _MAX_BARS = 1e-4, 12
_NAME_WIDTH = 36  # maximum number of characters in a line of a row's name


def _ranking_axes(names: Sequence[str], ax: Axes | None, width: float = 6.4) -> tuple[Axes, Any]:
    """Return Axes with a labelled row for each name, and the positions of the rows."""
    from symbolic.quantities import TABLE

    words = {n: fold(TABLE[n].meaning, _NAME_WIDTH) for n in names if n in TABLE}
    row = max(0.5, *(0.2 * len(name.splitlines()) for name in names))  # height in inches
    ax = axes_of(ax, width, max(2.6, 1.6 + row * len(names)))
    places = label_rows(ax, [f"{name}\n{words[name]}" if name in words else name for name in names])
    if words:
        ax.tick_params(axis="y", labelsize="small")
    return ax, places


def tornado(
    source: PlotSource,
    quantity: str,
    *,
    where: str | Sequence[str] = (),
    at: AxisValues = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the range of a quantity's mean along each axis, with Sobol indices."""
    from dse.verbs.distribution import sensitivity

    texts = texts_of(where, "where")
    if at or not isinstance(source, StudyData):
        source = plot_data(source, needed_quantities(source, quantity, texts), at)
    return draw_tornado(sensitivity(source, output=quantity, where=texts), quantity, ax)


def draw_tornado(table: xr.Dataset, text: str, ax: Axes | None = None) -> Axes:
    """Draw the tornado of one output from the result of a sensitivity analysis."""
    table = table.sel(output=text)
    order = np.argsort(table.low.values - table.high.values, kind="stable")
    axes = [str(name) for name in table.axis.values]
    moving = [k for k in order if table.sizes[axes[k]] > 1]
    low, high = table.low.values[moving], table.high.values[moving]
    ax, right = map(axes_of, split_axes(axes_of(ax, 9.6, 1.8 + 0.5 * len(moving)), 1, 2))
    ax, places = _ranking_axes([axes[k] for k in moving], ax)
    mean, unit = float(table["mean"]), str(table.unit.values)
    wide = float(np.ptp([*low, *high, mean])) or 1.0
    seen = np.maximum(high - low, 0.004 * wide)  # a minimum width, so that each bar is visible
    style = STYLES["performance"].area_options(left=low, label="means along the axis")
    ax.barh(places, seen, 0.62, **style)
    ax.axvline(mean, label="mean", **STYLES["level"].line_options())
    ax.set(ylabel="axis", xlim=(float(min(low)) - 0.06 * wide, float(max(high)) + 0.06 * wide))
    ends = quantity_array([*low, *high], text, unit)
    format_axis(ax.xaxis, ends, f"mean of {axis_label(ends)}")
    label_rows(right, [""] * len(places))
    looks = (STYLES["simulated"], STYLES["performance"])
    texts = {"first": "first-order: alone", "total": "total: with interactions"}
    for shift, (name, label), look in zip((-0.19, 0.19), texts.items(), looks, strict=True):
        shares = 100 * table[name].values[moving]
        bars = right.barh(places + shift, shares, 0.36, label=label, **look.area_options())
        right.bar_label(bars, fmt="%.0f %%", fontsize="small", padding=2)
    right.set_label(LINEAR)  # a small index is not a reason to see many decades
    right.set(xlabel="Sobol index, share of the variance [%]", xlim=(0, 1.2 * right.get_xlim()[1]))
    for panel in (ax, right):
        add_legend(panel, at_bottom=True, ncols=2)
    return ax


def importance(
    source: PlotSource, quantity: str, *, at: AxisValues = None, ax: Axes | None = None
) -> Axes:
    """Draw the elasticities of a quantity at one configuration."""
    from dse.verbs.distribution import sensitivity

    table = sensitivity(source, output=quantity, at=at).sel(output=quantity)
    sides = {"if the input falls": "elasticity_down", "if it rises": "elasticity_up"}
    slopes = np.nan_to_num(np.stack([table[name].values for name in sides.values()]))
    most = np.abs(slopes).max(axis=0)
    most[table.input.values == quantity] = 0.0
    order = [k for k in np.argsort(-most, kind="stable") if most[k] > _MIN_ELASTICITY]
    place = point_text(table, json.loads(table.attrs["configuration"]))
    if not order:
        raise InfeasibleError(
            f"{quantity} has no elasticity at {place} (statistics and laws have none): use "
            "tornado, or another configuration with at="
        )
    drawn = order[:_MAX_BARS]
    ax, places = _ranking_axes([str(table.input.values[k]) for k in drawn], ax)
    looks = (STYLES["simulated"], STYLES["performance"])
    for k, (text, row, look) in enumerate(zip(sides, slopes, looks, strict=True)):
        ax.barh(places + 0.38 * k - 0.19, row[drawn], 0.36, label=text, **look.area_options())
    ax.axvline(0, color="0.3", lw=1)
    ax.set(ylabel="input", xlabel=f"elasticity: change of {quantity} for 1 % of the input [%]")
    rest = f"; {len(order) - len(drawn)} smaller omitted" if len(order) > len(drawn) else ""
    set_title(ax, f"at {place}{rest}", 56)
    add_legend(ax, at_bottom=True, ncols=2)
    return ax


def _errors(
    names: Sequence[str], values: Any, errors: Any, label: str, ax: Axes | None, title: str
) -> Axes:
    ax, places = _ranking_axes(names, ax)
    style = STYLES["performance"].area_options(xerr=np.nan_to_num(errors), capsize=2, label=label)
    ax.barh(places, values, 0.62, **style)
    set_title(ax, title, 56)
    return ax


def chances(
    source: StudyData,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw the chance that each configuration is the best, and its regret."""
    from dse.verbs.random import chances as ask

    table = ask(source, minimize=minimize, maximize=maximize, where=where)
    shown = table.isel(rank=slice(_MAX_BARS))
    values, errors = shown.chance.values, shown.chance_error.values
    ranked = {str(n): each for n, each in shown.coords.items() if each.dims == ("rank",)}
    coords = {n: each.values.tolist() for n, each in ranked.items() if n != "rank"}
    same = {n: each[0] for n, each in coords.items() if len({*each}) == 1 < len(each)}
    varied = [n for n in coords if n not in same]
    rows = list(zip(*(coords[n] for n in varied), strict=True))
    regrets = [f"regret {value_text(each, unit_of(table.regret))}" for each in shown.regret.values]
    if len(varied) == 1 and len(options := source.grid().axes[varied[0]].labels) <= _MAX_BARS:
        never = [(label,) for label in options if (label,) not in rows]
        rows, regrets = [*rows, *never], [*regrets, *["never the best"] * len(never)]
        values, errors = (np.append(each, np.zeros(len(never))) for each in (values, errors))
    texts = [point_text(shown, dict(zip(varied, row, strict=True))) for row in rows]
    names = [fold(text, _NAME_WIDTH) for text in texts] or ["the only one"]
    title = str(table.attrs["question"]) + (f", at {point_text(shown, same)}" if same else "")
    label = "chance to be the best"
    ax = _errors(names, values, errors, label, ax, title)
    for place, end in enumerate((values + np.nan_to_num(errors)).tolist()):
        ax.annotate(f"  {regrets[place]}", (end, place), va="center", fontsize="small")
    ax.set_xlim(0, 1.5 * float(np.nanmax(values + errors)))
    left = float(table.left + table.chance.isel(rank=slice(_MAX_BARS, None)).sum())
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= 1])
    notes = f"(regret: mean loss of choosing it)\n(chance of all others: {left:.2g})"
    ax.set_xlabel(f"{label}\n{notes}")
    return ax


def worth(
    source: StudyData,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw the value of learning each random input (EVPPI) and all random inputs (EVPI)."""
    from dse.verbs.random import information

    table = information(source, minimize=minimize, maximize=maximize, where=where)
    order = np.argsort(-table.evppi.values, kind="stable")
    values, errors = table.evppi.values[order], table.evppi_error.values[order]
    names = [str(name) for name in table["set"].values[order]]
    label = "value of learning an input (EVPPI)"
    title = f"{table.attrs['question']}: measure {table.attrs['next']}"
    ax = _errors(names, values, errors, label, ax, title)
    ax.axvline(float(table.evpi), label="all inputs (EVPI)", **STYLES["level"].line_options())
    ax.set_xlabel(label_with_unit(label, str(table.evppi.attrs["units"])))
    ax.set_xlim(0, 1.1 * float(table.evpi + table.evpi_error) or 1)
    add_legend(ax, at_bottom=True, ncols=2)
    return ax
