"""Parallel coordinates: every configuration a line across the axes of a study and its outputs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, unit_of
from dse.plots.looks import LOOKS, UNIFORM
from dse.plots.sources import Source, allowed, dataset, finite, needed
from dse.wording import value_text
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["parallel"]

#: Above this many configurations every so many are drawn; so many of the best are drawn above all.
_DRAWN, _BEST = 3_000, 10
#: Labels of an axis that are written beside it.
_WRITTEN = 12


def parallel(
    source: Source,
    *,
    quantity: Sequence[str] = (),
    minimize: str | None = None,
    maximize: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Configurations as lines across the axes of a study and some outputs, coloured by rank.

    The better in the goal, the darker; the ten best are drawn thick. Each upright runs from the
    least of its values, below, to the largest; where an output spans a factor of 100, by factors.

    Parameters
    ----------
    source : Study, or Dataset of one
    quantity : sequence of str, optional
        Further outputs, before the goal.
    minimize, maximize : str
        The goal: one of both.
    at : mapping, optional
        Values of some axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    import xarray as xr
    from matplotlib.collections import LineCollection

    goal = minimize or maximize
    if goal is None or (minimize and maximize):
        raise DseError("configurations are ranked by one goal: give minimize= or maximize=")
    names = list(dict.fromkeys([*texts_of(quantity, "quantity"), goal]))
    ds = dataset(source, [*names, *needed(source, None)], at)
    held = xr.broadcast(*(allowed(ds, ds[name]) for name in names))
    dims = [str(dim) for dim in held[-1].dims if held[-1].sizes[dim] > 1]
    if not dims:
        raise DseError(f"{', '.join(names)} vary over no axis: give the study one")
    finite(goal, held[-1])
    columns = {dim: ds[dim].broadcast_like(held[-1]).values.ravel() for dim in dims}
    columns |= {name: array.values.ravel() for name, array in zip(names, held, strict=True)}
    kept = np.flatnonzero(np.isfinite(np.stack([columns[n] for n in names])).all(axis=0))
    order = kept[np.argsort(columns[goal][kept], kind="stable")][:: -1 if minimize else 1]
    drawn = np.union1d(
        np.arange(0, len(order), -(-len(order) // _DRAWN)),
        np.arange(max(len(order) - _BEST, 0), len(order)),
    )
    places = order[drawn]
    ax = axes_of(ax, max(6.4, 1.5 * len(columns)), 4.4)
    ax.grid(visible=False)
    up = np.stack([_upright(ax, k, ds[n], v, places) for k, (n, v) in enumerate(columns.items())])
    lines = np.stack([np.broadcast_to(np.arange(len(columns)), up.T.shape), up.T], axis=-1)
    many = min(_BEST, len(lines))
    rest = LineCollection(list(lines[:-many]), cmap=f"{UNIFORM}_r", lw=0.7, alpha=0.5)
    rest.set_array(np.arange(len(lines) - many))  # by rank: values crowd at one end
    ax.add_collection(rest, autolim=False)
    best = LOOKS["optimum"].color
    ax.add_collection(LineCollection(list(lines[-many:]), colors=best, lw=1.8), autolim=False)
    ax.set_xlim(-0.25, len(columns) - 0.55)
    ax.set_ylim(-0.06, 1.06)
    ax.set_yticks([])
    ax.set_xticks(range(len(columns)), [_name(ds[name]) for name in columns])
    ax.set_xlabel("each line is a configuration")
    ax.set_ylabel("from the least value to the largest")
    ax.tick_params(axis="x", length=0, pad=12)
    for spine in ax.spines.values():
        spine.set_visible(False)
    told = f"{len(order):,} configurations"
    told += f", {len(drawn):,} drawn" if len(drawn) < len(order) else ""
    ax.set_title(f"{told}; the darker, the better in {goal}, the best {many} thick", fontsize=10)
    return ax


def _name(variable: xr.DataArray) -> str:
    """The name of an upright, whose numbers bear their unit."""
    return textwrap.fill(str(variable.attrs.get("long_name") or variable.name), 16)


def _upright(ax: Axes, place: int, variable: xr.DataArray, values: Any, drawn: Any) -> Any:
    """One upright with the values at its ends; where on it each drawn configuration passes."""
    ax.axvline(place, color="0.3", lw=1)
    write: dict[str, Any] = {"fontsize": 7, "ha": "left", "va": "center"}
    if values.dtype.kind not in "iufb":
        labels = [str(label) for label in dict.fromkeys(variable.values.tolist())]
        at = {label: k / max(len(labels) - 1, 1) for k, label in enumerate(labels)}
        for label in labels if len(labels) <= _WRITTEN else labels[:: len(labels) - 1]:
            ax.text(place + 0.03, at[label], label, **write)
        return np.array([at[str(value)] for value in values[drawn]])
    low, high = float(values[drawn].min()), float(values[drawn].max())
    for end, height in ((low, -0.03), (high, 1.03)):
        ax.text(place + 0.03, height, value_text(end, unit_of(variable)), **write)
    found = values[drawn].astype(float)
    if low > 0 and high > 100 * low:
        found, low, high = np.log(found), float(np.log(low)), float(np.log(high))
    return (found - low) / (high - low) if high > low else np.full(found.shape, 0.5)
