"""Temperature against time or power (Hong 2012, ch. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.curves import line_looks
from dse.plots.frame import axes_of, legend, named, side, title
from dse.plots.looks import LOOKS
from dse.plots.sources import axis_of, dataset, lines_of
from dse.study.data import StudyData
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["temperature"]


def temperature(
    source: StudyData,
    *,
    over: str = "elapsed",
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Temperature while a workload runs and after it, and where it would settle (Fig. 38).

    Parameters
    ----------
    source : Study
        Of ``temperature`` with ``ipp`` or ``power``, over ``elapsed``; a further axis gives a line
        for each value. Cooling begins where heating ends, and is drawn for as long.
    over : str
        The time.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    if not isinstance(source, StudyData):
        raise DseError("expected a Study, because cooling begins where heating ends")
    ds = dataset(source, ["temperature", "max_temperature", "idle_temperature"], at)
    heading, rising = lines_of(ds, over, "temperature", axis_of(ds, over, "temperature"))
    reached = ds["temperature"].isel({over: -1}, drop=True)
    pinned = replace(source, set={**source.set, "cooling_start": _axes_only(source, reached, at)})
    cooled = dataset(pinned, ["cooling_temperature"], at)
    _, falling = lines_of(cooled, over, "cooling_temperature", over)
    ax = axes_of(ax)
    looks = line_looks(rising) if len(rising) > 1 else [LOOKS["temperature"]]
    for up, down, look in zip(rising, falling, looks, strict=True):
        across = np.concatenate([up.x, up.x[-1] + down.x])
        along = np.concatenate([up.y, down.y])
        step = max(1, len(across) // 12)
        style = look.of_points(markevery=step)
        ax.plot(across, along, **style, label=up.label or named(ds["temperature"]))
        steady = float(ds["max_temperature"].sel(up.at))
        ax.plot([up.x[0], up.x[-1]], [steady, steady], color=look.color, lw=1, ls=":")
    ax.plot([], [], color="black", lw=1, ls=":", label=named(ds["max_temperature"]))
    ax.axvline(float(rising[0].x[-1]), color="0.4", lw=1, ls="--", label="the workload ends")
    level = LOOKS["level"]
    ax.axhline(float(ds["idle_temperature"].max()), **level.of_line(), label="at rest")
    side(ax.xaxis, ds[over], "time since the workload began [s]")
    side(ax.yaxis, ds["temperature"])
    title(ax, str(ds.attrs.get("model", "")))
    legend(ax, heading=heading, beside=True)
    return ax


def _axes_only(source: StudyData, reached: xr.DataArray, at: Mapping[str, Any] | None) -> Any:
    """Temperatures as a study takes them: a number, or an array over some of its axes."""
    return float(reached) if not reached.dims else reached.drop_vars([*(at or {})], errors="ignore")
