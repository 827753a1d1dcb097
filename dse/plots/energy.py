"""Performance, power and work per energy; shares of the power; temperature (Hong 2012, ch. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.bars import places_of
from dse.plots.curves import line_looks
from dse.plots.frame import axes_of, legend, named, side, title
from dse.plots.looks import LOOKS, PARTS, look_of, variants
from dse.plots.sources import Source, allowed, alone, axis_of, dataset, finite, lines_of
from dse.study.data import StudyData
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["power_shares", "sms", "temperature"]

#: What tells how many SMs to use, in words.
_TOLD = {"optimal_sms": "by the equation", "suggested_sms": "by the bandwidth"}


def sms(
    source: Source,
    *,
    over: str = "active_sms",
    quantity: str = "insts_per_second",
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Performance, power and performance per watt, each relative to its largest (Figs. 34, 50).

    A star marks the most work per energy; dotted lines the SMs that the paper's equations tell:
    ``optimal_sms`` and ``suggested_sms``, where the study yields them.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``ipp``, or of ``occupancy + throughput + power``, over ``active_sms``.
    over : str
        The axis along which the lines run.
    quantity : str
        What performance is.
    at : mapping
        Values of all other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    names = [quantity, "power", "perf_per_watt"]
    told = [name for name in _TOLD if _can(source, name)]
    ds = dataset(source, [*names, *told], at)
    alone(ds, over, *names)
    ax = axes_of(ax)
    for name in names:
        _, found = lines_of(ds, over, name, over)
        line, look = found[0], look_of(name)
        most, every = np.nanmax(line.y), max(1, len(line.x) // 10)
        ax.plot(line.x, line.y / most, **look.of_points(markevery=every), label=named(ds[name], 34))
    best = int(np.nanargmax(line.y))
    star = LOOKS["optimum"]
    text = f"best: {line.x[best]:.6g}"
    ax.plot([line.x[best]], [line.y[best] / most], label=text, **star.of_mark(13))
    for name, look in zip(told, variants(LOOKS["published"], len(told)), strict=True):
        array = ds[name].isel({over: int(np.argmax(ds[over].values))}, missing_dims="ignore")
        if array.ndim == 0 and np.isfinite(array):  # of as many SMs as there are
            count = float(array)
            ax.axvline(count, **look.of_line(lw=1.6), label=f"{_TOLD[name]}: {count:.6g}")
    side(ax.xaxis, ds[over])
    ax.set_ylabel("share of the largest")
    ax.set_ylim(0, 1.08)
    legend(ax, below=True, ncols=2)
    return ax


def _can(source: Any, name: str) -> bool:
    """Whether a Dataset holds a quantity, or a study has all that it needs."""
    if not isinstance(source, StudyData):
        return name in getattr(source, "data_vars", ())
    try:
        replace(source, outputs=[name], best=None).grid()
    except DseError:
        return False
    return True


def power_shares(
    source: Source,
    *,
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Power by the parts of the machine that draw it, one upon the other (Figs. 36 and 72).

    Parts that draw nothing anywhere are left out.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``ipp`` or ``power``, over one axis: bars for labels, areas for numbers.
    over : str, optional
        The axis along which the figure runs.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ds = dataset(source, [*PARTS, "power"], at)
    over = alone(ds, over, "power")
    finite("power", allowed(ds, ds["power"]))
    shares = {name: _spread(ds, name) for name in PARTS}
    drawn = {name: values for name, values in shares.items() if np.nanmax(values) > 0}
    ax = axes_of(ax)
    labels = ds[over].dtype.kind not in "iuf"
    across = places_of(ax, ds, over) if labels else ds[over].values
    base = np.zeros(ds.sizes[over])
    for name, values in drawn.items():
        look = PARTS[name].of_area(label=_part(ds[name]))
        if labels:
            ax.barh(across, values, 0.65, left=base, **look)
        else:
            ax.fill_between(across, base, base + values, **look)
        base = base + values
    side(ax.xaxis if labels else ax.yaxis, ds["power"])
    if not labels:
        side(ax.xaxis, ds[over])
        ax.margins(x=0)
        ax.set_ylim(bottom=0)
    handles, texts = ax.get_legend_handles_labels()
    legend(ax, beside=True, handles=handles[::-1], labels=texts[::-1], heading="share of the power")
    return ax


def _spread(ds: xr.Dataset, name: str) -> Any:
    """A share at each place, also where it does not vary; nothing where it is not allowed."""
    array = allowed(ds, ds[name].broadcast_like(ds["power"]))
    return np.nan_to_num(array.values)


def _part(variable: Any) -> str:
    """The name of a share without what is the same for all."""
    return str(variable.attrs.get("long_name", variable.name)).removeprefix("share of the power: ")


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
