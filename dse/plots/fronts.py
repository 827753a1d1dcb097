"""The Pareto front of a study: the configurations that no other beats in both of two goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, legend, side
from dse.plots.looks import LOOKS
from dse.plots.sources import Source, allowed, dataset, needed
from dse.verbs.fronts import pareto as front_of
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["pareto"]

#: Above this many, every so many configurations are drawn beside the front.
_DRAWN = 20_000


def pareto(
    source: Source,
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    where: str | Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """All configurations of a study in two goals, and the front that no other beats.

    Parameters
    ----------
    source : Study, or Dataset of one
    minimize, maximize : str or list of str
        Two quantities in all: the first across, the second upwards, those to minimize before.
    where : str or list of str
        Constraints besides those of the study.
    at : mapping, optional
        Values of some axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    import xarray as xr

    small, large = texts_of(minimize, "minimize"), texts_of(maximize, "maximize")
    goals, texts = [*small, *large], texts_of(where, "where")
    if len(goals) != 2:
        told = ", ".join(goals) or "none"
        raise DseError(f"a front is drawn of two quantities, was given {told}: name two")
    ds = dataset(source, [*goals, *needed(source, None, texts)], at)
    found = front_of(ds, minimize=small or None, maximize=large or None, where=texts)
    across, up = (a.values.ravel() for a in xr.broadcast(*(allowed(ds, ds[n]) for n in goals)))
    step = -(-across.size // _DRAWN)
    ax = axes_of(ax)
    rest, front = LOOKS["configurations"], LOOKS["front"]
    text = f"{across.size:,} configurations" + (f", every {step:,}th" if step > 1 else "")
    look: dict[str, Any] = {"marker": rest.marker, "ms": 4, "color": rest.color, "label": text}
    ax.plot(across[::step], up[::step], ls="", rasterized=across.size > 2000, **look)
    order = np.argsort(found[goals[0]].values)
    x, y = (found[name].values[order] for name in goals)
    many = f"the front: {len(x):,} of them"
    stairs = "steps-post" if goals[0] in small else "steps-pre"  # on the side that is beaten
    ax.plot(x, y, **front.of_points(drawstyle=stairs), label=many)
    side(ax.xaxis, ds[goals[0]])
    side(ax.yaxis, ds[goals[1]])
    corner = "lower" if goals[1] in small else "upper"
    corner += " left" if goals[0] in small else " right"
    ax.set_title(f"the nearer to the {corner}, the better", fontsize=10)
    legend(ax)
    return ax
