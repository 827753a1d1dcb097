"""Bars for labels, lying so that names of any length stand apart."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, in_unit, legend, named, rows_of, side, title, unit_of
from dse.plots.looks import Look, looks_of
from dse.plots.sources import MOST, Source, allowed, axis_of, dataset, finite
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["bars", "draw_bars", "places_of"]


def places_of(ax: Axes, ds: xr.Dataset, over: str) -> Any:
    """Places for the values of an axis, from the top, with their names at the left."""
    if ds.sizes[over] > MOST:
        raise DseError(
            f"bars for {ds.sizes[over]:,} values of {over} are too many to tell apart (at most "
            f"{MOST}): give the axis fewer values, or draw lines"
        )
    ax.set_ylabel(named(ds[over]))
    return rows_of(ax, [str(value) for value in ds[over].values])


def draw_bars(ax: Axes, places: Any, found: Mapping[str, Any], looks: Sequence[Look]) -> None:
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
    draw_bars(ax, places, found, looks)
    heading = str(ds[rest[0]].attrs.get("long_name", rest[0])) if rest else ""
    title(ax, str(ds.attrs.get("model", "")))
    legend(ax, heading=heading, below=True, ncols=min(count, 4) if rest else 2)
    return ax
