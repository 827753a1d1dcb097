"""Bars for labels, lying so that names of any length stand apart; levels of performance."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend, named, rows_of, side, title, unit_of
from dse.plots.looks import Look, look_of, looks_of
from dse.plots.sources import MOST, Source, allowed, alone, axis_of, dataset, finite
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["bars", "groups", "levels", "places_of"]

#: Fig. 108, from the most to what is left of it.
LEVELS = {
    "peak_achievable": "the peak of this mix",
    "flops_without_memory": "if memory took no time",
    "flops_without_ilp": "the same, one instruction at a time",
    "flops": "all in all",
}


def places_of(ax: Axes, ds: xr.Dataset, over: str) -> Any:
    """Places for the values of an axis, from the top, with their names at the left."""
    if ds.sizes[over] > MOST:
        raise DseError(
            f"bars for {ds.sizes[over]:,} values of {over} are too many to tell apart (at most "
            f"{MOST}): give the axis fewer values, or draw lines"
        )
    ax.set_ylabel(named(ds[over]))
    return rows_of(ax, [str(value) for value in ds[over].values])


def groups(ax: Axes, ds: xr.Dataset, over: str, words: Mapping[str, str]) -> None:
    """Bars of several quantities side by side for each value of an axis; ``words`` names them."""
    alone(ds, over, *words)
    found = {
        text: allowed(ds, ds[name].broadcast_like(ds[over])).values for name, text in words.items()
    }
    _draw(ax, places_of(ax, ds, over), found, [look_of(name) for name in words])


def _draw(ax: Axes, places: Any, found: Mapping[str, Any], looks: Sequence[Look]) -> None:
    """Bars of each of several things side by side at some places."""
    wide = 0.8 / len(found)
    for k, ((text, values), look) in enumerate(zip(found.items(), looks, strict=True)):
        at = places + (k - (len(found) - 1) / 2) * wide
        ax.barh(at, values, wide, **look.of_area(), label=text)


def bars(
    source: Source,
    quantity: Sequence[str],
    *,
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    relative: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Quantities of a study as bars, a group for each label of an axis.

    Of one quantity over two axes a group has a bar for each value of the other axis; of several
    quantities, one for each of them.

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : str or sequence of str
        What is drawn across; several are of one unit.
    over : str, optional
        The axis with a group for each value; the first one of labels where None.
    at : mapping, optional
        Values of other axes.
    relative : bool
        Each bar as a share of the largest of its group.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    names = list(texts_of(quantity, "quantity"))
    ds = dataset(source, names, at)
    dims = list(dict.fromkeys(str(dim) for name in names for dim in ds[name].dims))
    label = next((dim for dim in dims if ds[dim].dtype.kind not in "iuf"), None)
    over = axis_of(ds, over or label, *names)
    finite(", ".join(names), *(allowed(ds, ds[name]) for name in names))
    rest = [dim for dim in dims if dim != over]
    if rest and (len(names) > 1 or len(rest) > 1):
        raise DseError(
            f"{', '.join(names)} over {', '.join(dims)}: bars are of several quantities over one "
            "axis, or of one over two; choose with at= one value of each other axis"
        )
    if rest and ds.sizes[rest[0]] > MOST:
        raise DseError(
            f"bars for {ds.sizes[rest[0]]:,} values of {rest[0]} are too many to tell apart (at "
            f"most {MOST}): give the axis fewer values"
        )
    count = ds.sizes[rest[0]] if rest else len(names)
    ax = axes_of(ax, 6.4, max(3.4, 0.16 * min(ds.sizes[over], MOST) * (count + 1) + 1.8))
    places = places_of(ax, ds, over)
    values = {name: allowed(ds, ds[name].broadcast_like(ds[over])) for name in names}
    if rest:
        one = values[names[0]].transpose(rest[0], over)
        found = {str(label): row for label, row in zip(ds[rest[0]].values, one.values, strict=True)}
        looks = looks_of(list(found))
    else:
        texts = [named(ds[name], 80) for name in names]
        head, colon, _ = texts[0].partition(": ")
        same = colon and all(text.startswith(head + colon) for text in texts)
        alike = head + colon if same else ""
        words = [textwrap.fill(text.removeprefix(alike), 40) for text in texts]
        found = {word: values[name].values for word, name in zip(words, names, strict=True)}
        looks = looks_of(names)
    told = str(ds[names[0]].attrs.get("long_name", names[0]))
    if len(names) > 1:
        told = head if alike else "value"
    if relative:
        most = np.nanmax(list(found.values()), axis=0)
        found = {text: each / most for text, each in found.items()}
        ax.set_xlabel(f"{told}, share of the largest")
    else:
        side(ax.xaxis, ds[names[0]], in_unit(told, unit_of(ds[names[0]])))
    _draw(ax, places, found, looks)
    heading = str(ds[rest[0]].attrs.get("long_name", rest[0])) if rest else ""
    title(ax, str(ds.attrs.get("model", "")))
    legend(ax, heading=heading, below=True, ncols=min(count, 4) if rest else 2)
    return ax


def levels(
    source: Source,
    *,
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Levels of performance: the peak of the mix, without memory, without ILP, all in all.

    Hong 2012, Figs. 108 and 112. The line across the last bar goes from what comes out if DRAM
    serves all requests to what does if the first cache serves all.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``throughput``, over ``workload`` or another axis.
    over : str, optional
        The axis with a group of bars for each value.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ds = dataset(source, [*LEVELS, "flops_dram", "flops_l1"], at)
    over = axis_of(ds, over, *LEVELS)
    finite("flops", allowed(ds, ds["flops"]))
    ax = axes_of(ax, 6.4, max(5.0, 0.45 * min(ds.sizes[over], MOST) + 2.0))
    groups(ax, ds, over, LEVELS)
    low, high = (
        allowed(ds, ds[name].broadcast_like(ds[over])).values for name in ("flops_dram", "flops_l1")
    )
    wide = 0.8 / len(LEVELS)
    rows = np.arange(ds.sizes[over]) + (len(LEVELS) - 1) / 2 * wide
    ax.errorbar(
        (low + high) / 2,
        rows,
        xerr=abs(high - low) / 2,
        fmt="none",
        ecolor="black",
        elinewidth=1.6,
        capsize=3,
        zorder=4,
        label="from DRAM alone to L1 alone",
    )
    side(ax.xaxis, ds["flops"])
    title(ax, str(ds.attrs.get("model", "")))
    legend(ax, below=True, ncols=2)
    return ax
