"""What a last pass that is not full costs: the zigzag of scheduling (Ma 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.curves import line_looks
from dse.plots.frame import axes_of, legend, side, title
from dse.plots.looks import LOOKS
from dse.plots.sources import Source, axis_of, dataset, lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["zigzag"]

#: So many times above all later passes the first one leaves the figure.
_SPIKE = 3.0


def zigzag(
    source: Source,
    *,
    over: str = "blocks",
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What a last pass that is not full costs against the blocks (Ma 2014, Fig. 1).

    Points on the level of 1 are where blocks fill every pass. Where the first pass, filled by few
    blocks, rises far above all later ones, those are shown, and it is told how far it rises.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``tmm`` over ``blocks``; a further axis gives a line for each value.
    over : str
        The axis along which the line runs.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ds = dataset(source, ["sched_factor"], at)
    heading, found = lines_of(ds, over, "sched_factor", axis_of(ds, over, "sched_factor"))
    ax = axes_of(ax)
    full = LOOKS["optimum"]
    for line, look in zip(found, line_looks(found, "optimum"), strict=True):
        ax.plot(line.x, line.y, label=line.label or "all passes", **look.of_line(lw=1.4))
        filled = line.y == 1
        ax.plot(line.x[filled], line.y[filled], "o", ms=4, color=full.color, mec="black")
    if any((line.y == 1).any() for line in found):
        ax.plot([], [], "o", ms=4, color=full.color, mec="black", label="every pass full")
    side(ax.xaxis, ds[over])
    side(ax.yaxis, ds["sched_factor"])
    ax.set_ylim(bottom=0.9)
    most = max(float(np.nanmax(line.y)) for line in found)
    later = [float(np.nanmax(line.y[_full(line.y) :], initial=1.0)) for line in found]
    if most > _SPIKE * max(later) > _SPIKE:
        ax.set_ylim(top=1 + 1.15 * (max(later) - 1))
        title(ax, f"above the figure: up to {most:.4g} before the first pass is full")
    legend(ax, heading=heading)
    return ax


def _full(factors: Any) -> int:
    """Where the first pass is full: the first place of the least that can be."""
    whole = np.flatnonzero(factors == 1)
    return int(whole[0]) if whole.size else len(factors)
