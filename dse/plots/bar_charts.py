"""Bars: side by side, and one upon the other."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend, named, rows_of, side, title, unit_of
from dse.plots.looks import Look, look_of, looks_of
from dse.plots.sources import MOST, At, Source, allowed, alone, axis_of, dataset, finite, is_numeric
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def _check_count(ds: xr.Dataset, axis: str) -> None:
    if ds.sizes[axis] > MOST:
        raise DseError(
            f"bars for {ds.sizes[axis]:,} values of {axis} are too many to tell apart (at most "
            f"{MOST}): give the axis fewer values, or draw lines"
        )


def places_of(ax: Axes, ds: xr.Dataset, over: str) -> Any:
    """Return the places of the values of an axis, from the top, and name them at the left."""
    _check_count(ds, over)
    name = named(ds[over])
    ax.set_ylabel(name if name.count("\n") < 2 else over)  # some names are whole sentences
    return rows_of(ax, [str(value) for value in ds[over].values])


def draw_bars(ax: Axes, places: Any, values: Mapping[str, Any], looks: Sequence[Look]) -> None:
    """Draw a bar for each entry of ``values`` side by side at each place."""
    wide = 0.8 / len(values)
    for k, ((text, each), look) in enumerate(zip(values.items(), looks, strict=True)):
        at = places + (k - (len(values) - 1) / 2) * wide
        ax.barh(at, each, wide, **look.of_area(), label=text)


def bars(
    source: Source,
    quantity: Sequence[str] = (),
    *,
    over: str | None = None,
    at: At = None,
    relative: bool = False,
    row: Mapping[str, Any] = {},
    ax: Axes | None = None,
) -> Axes:
    """Draw quantities as bars, a group for each label of an axis.

    Keys of ``row``: ``series`` are quantities with their labels, ``span`` an interval across the
    last of them.
    """
    series, span = dict(row.get("series", {})), row.get("span")
    names = [*series] or list(texts_of(quantity, "quantity"))
    ds = dataset(source, [*names, *((span["low"], span["high"]) if span else ())], at)
    dims = list(dict.fromkeys(str(dim) for name in names for dim in ds[name].dims))
    label = next((dim for dim in dims if not is_numeric(ds, dim)), None)
    over = axis_of(ds, over or label, *names)
    finite(", ".join(names), *(allowed(ds, ds[name]) for name in names))
    rest = [dim for dim in dims if dim != over]
    if rest and (len(names) > 1 or len(rest) > 1):
        raise DseError(
            f"{', '.join(names)} over {', '.join(dims)}: bars are of several quantities over one "
            "axis, or of one over two; choose with at= one value of each other axis"
        )
    if rest:
        _check_count(ds, rest[0])
    count = ds.sizes[rest[0]] if rest else len(names)
    ax = axes_of(ax, 6.4, max(3.4, 0.16 * min(ds.sizes[over], MOST) * (count + 1) + 1.8))
    places = places_of(ax, ds, over)
    values = {name: allowed(ds, ds[name].broadcast_like(ds[over])) for name in names}
    words = str(ds[names[0]].attrs.get("long_name", names[0]))
    if rest:
        one = values[names[0]].transpose(rest[0], over)
        drawn = {str(text): bar for text, bar in zip(ds[rest[0]].values, one.values, strict=True)}
        looks = looks_of(list(drawn))
    else:
        looks = looks_of(names)
        texts = [series.get(name) or named(ds[name], 80) for name in names]
        head, colon, _ = texts[0].partition(": ")
        if not (colon and all(text.startswith(head + colon) for text in texts)):
            head = colon = ""
        texts = [textwrap.fill(text.removeprefix(head + colon), 40) for text in texts]
        drawn = {text: values[name].values for text, name in zip(texts, names, strict=True)}
        if len(names) > 1:
            words = head or (named(ds[names[-1]]) if series else "value")
    if relative:
        most = np.nanmax(list(drawn.values()), axis=0)
        drawn = {text: each / most for text, each in drawn.items()}
        ax.set_xlabel(f"{words}, share of the largest")
    else:
        last = ds[names[-1] if series else names[0]]
        side(ax.xaxis, last, words if series else in_unit(words, unit_of(last)))
    draw_bars(ax, places, drawn, looks)
    if span:
        low, high = (ds[span[end]].broadcast_like(ds[over]).values for end in ("low", "high"))
        style: dict[str, Any] = {"fmt": "none", "ecolor": "black", "elinewidth": 1.6, "capsize": 3}
        style |= {"xerr": abs(high - low) / 2, "zorder": 4, "label": span["label"]}
        ax.errorbar((low + high) / 2, places + 0.4 * (1 - 1 / len(names)), **style)
    heading = str(ds[rest[0]].attrs.get("long_name", rest[0])) if rest else ""
    title(ax, str(ds.attrs.get("model", "")))
    legend(ax, heading=heading, below=True, ncols=min(count, 4) if rest else 2)
    return ax


def stack(
    source: Source,
    *,
    over: str | None = None,
    at: At = None,
    row: Mapping[str, Any],
    ax: Axes | None = None,
) -> Axes:
    """Draw shares one upon the other along one axis: bars for labels, areas for numbers.

    Keys of ``row``: ``series`` are quantities with their labels, ``total`` is their sum, ``ylabel``
    names it where it is no quantity, and ``top`` is the most that it can be.
    """
    series = row["series"]
    total = row.get("total", next(reversed(series)))
    ds = dataset(source, [*series, total], at)
    over = alone(ds, over, total)
    finite(total, allowed(ds, ds[total]))
    spread = {name: allowed(ds, ds[name].broadcast_like(ds[over])) for name in series}
    values = {name: np.nan_to_num(array.values) for name, array in spread.items()}
    ax, upright = axes_of(ax), is_numeric(ds, over)
    places = ds[over].values if upright else places_of(ax, ds, over)
    base = np.zeros(ds.sizes[over])
    for name, share in values.items():
        if share.max() <= 0:
            continue
        text = series[name] or str(ds[name].attrs.get("long_name", name)).partition(": ")[2]
        style = look_of(name).of_area(label=text)
        if upright:
            ax.fill_between(places, base, base + share, **style)
        else:
            ax.barh(places, share, 0.65, left=base, **style)
        base = base + share
    side(ax.yaxis if upright else ax.xaxis, ds[total], row.get("ylabel"))
    if upright:
        side(ax.xaxis, ds[over])
        ax.margins(x=0)
    (ax.set_ylim if upright else ax.set_xlim)(0, row.get("top"))
    handles, labels = ax.get_legend_handles_labels()
    legend(ax, beside=True, handles=handles[::-1], labels=labels[::-1])
    return ax
