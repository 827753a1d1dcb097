"""Lines of one quantity against another, a line for each category: of any Dataset of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, legend, name_flags, side, title
from dse.plots.looks import LOOKS, Look, looks_of
from dse.plots.sources import Line, Source, allowed, axis_of, dataset, flags_of, lines_of, needed
from dse.verbs.chosen import optimum

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["draw_lines", "line_looks", "lines", "sparse"]

#: Up to this many points of a line are marked each.
_MARKED = 24


def sparse(count: int) -> int:
    """Which points of a line are marked: all of few, every so many of more."""
    return max(1, -(-count // _MARKED))


def line_looks(found: Sequence[Line], *apart: str) -> list[Look]:
    """Looks of lines, the same for the same category in every figure; none like ``apart``."""
    return looks_of([line.label for line in found], apart)


def _coincide(one: Line, other: Line) -> bool:
    """Whether one line lies upon another."""
    both = ((one.x, other.x), (one.y, other.y))
    return all(a.shape == b.shape and np.allclose(a, b, equal_nan=True) for a, b in both)


def draw_lines(
    ax: Axes, found: Sequence[Line], looks: Sequence[Look], *, same: bool = False, **more: Any
) -> None:
    """Draw lines, their markers a little apart so that neighbours do not hide each other.

    Of lines that lie upon each other, or ``same``, each marks other places, if there are enough.
    """
    room = all(len(line.x) >= 2 * len(found) for line in found)
    same = same or (room and any(_coincide(*pair) for pair in combinations(found, 2)))
    for k, (line, look) in enumerate(zip(found, looks, strict=True)):
        step = max(sparse(len(line.x)), len(found) if same else 1)
        given: dict[str, Any] = {"markevery": (k * step // max(len(found), 1), step)}
        if step > 1:
            given["ms"] = 4.5
        ax.plot(line.x, line.y, label=line.label, **(look.of_points(**given) | more))


def _shares(ds: xr.Dataset, name: str, over: str, by: bool | str) -> xr.DataArray:
    """A quantity as a share of its largest value along an axis, or of what growth would reach."""
    words = "share of its largest"
    whole = abs(allowed(ds, ds[name])).max(over)
    if by == "growth":
        times = (ds[over][-1] / ds[over][0]).item()
        words, whole = f"share of {times:g} times its first", ds[name].isel({over: 0}) * times
    text = f"{ds[name].attrs.get('long_name', name)}, {words}"
    share: xr.DataArray = ds[name] / whole
    return share.assign_attrs({**ds[name].attrs, "long_name": text, "units": "1"})


def lines(
    source: Source,
    quantity: str,
    *,
    over: str | None = None,
    x: str | None = None,
    at: Mapping[str, Any] | None = None,
    minimize: str | None = None,
    maximize: str | None = None,
    relative: bool | str = False,
    ax: Axes | None = None,
) -> Axes:
    """A quantity of a study along one axis, a line for each value of the others.

    Bounds, cases and categories are told by their names, in steps.

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : str
        What is drawn upwards.
    over : str, optional
        The axis along which a line runs; the last one of numbers where None.
    x : str, optional
        The quantity drawn across, where it is not ``over`` itself.
    at : mapping, optional
        Values of other axes, such as ``{"core_clock": "1.3 GHz"}``.
    minimize, maximize : str, optional
        The goal whose optimum along each line is starred.
    relative : bool or "growth"
        Each line as a share of its largest value; or of what it would reach at the end of the
        axis if it grew in proportion from its first value.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    goal = minimize or maximize
    ds = dataset(source, [quantity, *([x] if x else []), *needed(source, goal)], at)
    over = axis_of(ds, over, x or quantity)
    if relative:
        names = [name for name in (quantity, x) if name and name in ds.data_vars]
        ds = ds.assign({name: _shares(ds, name, over, relative) for name in names})
    heading, found = lines_of(ds, x or over, quantity, over)
    steps: dict[str, Any] = {}
    if flags_of(ds[quantity]):
        steps = {"same": True, "drawstyle": "steps-mid"}
    ax = axes_of(ax)
    draw_lines(ax, found, line_looks(found), **steps)
    if goal is not None:
        others = [str(dim) for dim in ds[quantity].dims if dim != over]
        best = optimum(ds, minimize=minimize, maximize=maximize, per=others)
        look = LOOKS["optimum"]
        text = f"{'least' if minimize else 'most'} {goal}"
        at_best = [np.atleast_1d(best[name].values).ravel() for name in (x or over, quantity)]
        ax.plot(*at_best, label=text, **look.of_mark(12))
    side(ax.xaxis, ds[x or over])
    side(ax.yaxis, ds[quantity])
    for axis, name, wide in ((ax.xaxis, x or over, 14), (ax.yaxis, quantity, 28)):
        flags = flags_of(ds[name])
        if flags:
            name_flags(axis, flags, ds[name].values, wide)
    if ds[x or over].dtype.kind not in "iufb":
        ax.tick_params(axis="x", rotation=30)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    title(ax, str(ds.attrs.get("model", "")))
    below = bool(steps)  # names at the left take the width
    legend(ax, heading=heading, beside=len(found) > 4, below=below, ncols=2 if below else 1)
    return ax
