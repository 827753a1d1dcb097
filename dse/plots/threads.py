"""The run time of TMM against threads and blocks (Ma 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.curves import draw_lines, line_looks
from dse.plots.frame import axes_of, legend, side
from dse.plots.looks import look_of
from dse.plots.sources import Source, axis_of, dataset, lines_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["runtime"]


def runtime(
    source: Source,
    *,
    x: str = "root_blocks_per_thread",
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Run time of the calibrated TMM against √B_r/𝒯, the threads of a core or the blocks.

    Ma 2014, Figs. 2-4: a line where latency shows, a level where computation bounds.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``tmm_calibrated`` with ``apsp``, over ``tile_dim`` and ``threads_per_core``.
    x : str
        What is drawn across: ``root_blocks_per_thread``, ``threads_per_core`` or ``blocks``.
    over : str, optional
        The axis along which a line runs.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    limits = ("memory_bound_time", "compute_bound_time")
    ds = dataset(source, ["time", x, *limits], at)
    over = axis_of(ds, over, x)
    heading, found = lines_of(ds, x, "time", over)
    ax = axes_of(ax)
    draw_lines(ax, found, line_looks(found, "memory", "computation"), zorder=3)
    if x == "root_blocks_per_thread":  # the line is the same for all
        across = np.concatenate([line.x for line in found])
        order = np.argsort(across)
        slope = np.concatenate([part.y for part in lines_of(ds, x, limits[0], over)[1]])
        ends = across[order][[0, -1]]
        look = look_of(limits[0])
        ax.plot(across[order], slope[order], **look.of_line(lw=4, alpha=0.3), label="latency shows")
        level = float(ds[limits[1]].max())
        ax.plot(ends, [level, level], **look_of(limits[1]).of_line(lw=1.4), label="latency hidden")
    elif ds[limits[1]].ndim == 0:
        look = look_of(limits[1])
        ax.axhline(float(ds[limits[1]]), **look.of_line(lw=1.4), label="latency hidden")
    side(ax.xaxis, ds[x])
    side(ax.yaxis, ds["time"])
    ax.set_ylim(bottom=0)
    legend(ax, heading=heading, beside=len(ax.get_legend_handles_labels()[0]) > 5)
    return ax
