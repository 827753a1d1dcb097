"""Levels of performance beside each other, as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.bars import draw_bars, places_of
from dse.plots.frame import axes_of, legend, side, title
from dse.plots.looks import look_of
from dse.plots.sources import MOST, Source, allowed, alone, axis_of, dataset, finite

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["groups", "levels"]

#: Fig. 108, from the most to what is left of it.
LEVELS = {
    "peak_achievable": "the peak of this mix",
    "flops_without_memory": "if memory took no time",
    "flops_without_ilp": "the same, one instruction at a time",
    "flops": "all in all",
}


def groups(ax: Axes, ds: xr.Dataset, over: str, words: Mapping[str, str]) -> None:
    """Bars of several quantities side by side for each value of an axis; ``words`` names them."""
    alone(ds, over, *words)
    found = {
        text: allowed(ds, ds[name].broadcast_like(ds[over])).values for name, text in words.items()
    }
    draw_bars(ax, places_of(ax, ds, over), found, [look_of(name) for name in words])


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
