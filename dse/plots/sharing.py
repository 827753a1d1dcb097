"""Speed-up against energy efficiency where a CPU and a GPU share the work (Hong 2012, app. A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.curves import draw_lines, line_looks
from dse.plots.frame import axes_of, legend, side
from dse.plots.looks import Look, looks_of
from dse.plots.sources import Line, Source, dataset, lines_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["efficiency"]

#: What tells the series of Table 16 apart: two words for each device.
_SPEEDS, _POWERS = ("cpu_work", "gpu_work"), ("cpu_core_power", "gpu_core_power")
#: How markers are filled, for each pair of speeds.
_FILLS = ("full", "none", "left", "top")
_KINDS = ("slow_work", "fast_work", "low_core_power", "high_core_power")


def efficiency(
    source: Source,
    *,
    over: str = "gpu_share",
    at: Mapping[str, Any] | None = None,
    relative: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Speed-up against energy efficiency, a line for each series (Figs. 150-159).

    Both scales are logarithmic in powers of two; above 1 is faster than the baseline, right of 1
    takes less energy: as the thesis has it, more power moves a figure to the left (A.4, A.6).
    Of ``benchmark_series`` colour and fill tell how fast the devices are, markers how much power
    they draw.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of ``energy_speedup``.
    over : str
        The axis along which a line runs: the share of the work, a clock ...
    at : mapping, optional
        Values of other axes.
    relative : bool
        Energy efficiency over speed-up across: what power alone does, by which series differ that
        lie upon each other else.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ds = dataset(source, ["speedup", "energy_efficiency"], at)
    series = "benchmark_series" in ds["speedup"].dims and "data_vars" not in dir(source)
    if series:
        ds = dataset(source, ["speedup", "energy_efficiency", *_SPEEDS, *_POWERS, *_KINDS], at)
    heading, found = lines_of(ds, "energy_efficiency", "speedup", over)
    if relative:
        found = [replace(line, x=line.x / line.y) for line in found]
    ax = axes_of(ax, 6.4, 5.0)
    looks = line_looks(found)
    if series:
        words = [_words(ds, line.at["benchmark_series"]) for line in found]
        looks, handles = _two_ways(words)
    draw_lines(ax, found, looks, lw=1.1)
    ax.set_yscale("log", base=2)
    if not relative:
        ax.set_xscale("log", base=2)
        ax.set_xlim(*_powers(found, "x"))
    ax.set_ylim(*_powers(found, "y"))
    for line in (ax.axvline, ax.axhline):
        line(1, color="0.35", lw=1)
    across = "what power does: energy efficiency over speed-up (E / S)"
    across = across if relative else "energy efficiency: baseline energy over the new (E)"
    side(ax.xaxis, ds["energy_efficiency"], across)
    side(ax.yaxis, ds["speedup"], "speed-up: baseline time over the new (S)")
    _plain([ax.yaxis] if relative else [ax.xaxis, ax.yaxis])
    if series:
        legend(ax, beside=True, handles=handles)
    else:
        legend(ax, heading=heading, beside=len(found) > 4)
    return ax


def _powers(found: Sequence[Line], side: str) -> tuple[float, float]:
    """The powers of two between which all points lie, with a margin."""
    values = np.concatenate([getattr(line, side) for line in found])
    ends = np.log2([values[values > 0].min(), values[np.isfinite(values)].max()])
    low, high = (float(2.0**end) for end in (np.floor(ends[0]), np.ceil(ends[1])))
    return low / 1.1, high * 1.1


def _plain(sides: Sequence[Any]) -> None:
    """Powers of two as people write them."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    for axis in sides:
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}" if v >= 1 else f"1/{1 / v:g}"))
        axis.set_minor_locator(NullLocator())


def _words(ds: xr.Dataset, number: Any) -> tuple[str, str]:
    """How fast the devices of a series are and how much power they draw, by the quantities."""

    def word(name: str, low: str) -> str:
        at = ds[name].sel(benchmark_series=number) if ds[name].ndim else ds[name]
        other = low.replace("slow", "fast").replace("low", "high", 1) if "core" in low else ""
        return low.split("_")[0] if float(at) == float(ds[low]) else (other or "fast").split("_")[0]

    speeds = [word(name, "slow_work") for name in _SPEEDS]
    powers = [word(name, "low_core_power") for name in _POWERS]
    return (
        f"{speeds[0]} CPU, {speeds[1]} GPU",
        f"{powers[0]} power of CPU, {powers[1]} of GPU",
    )


def _two_ways(words: list[tuple[str, str]]) -> tuple[list[Look], list[Any]]:
    """Colour and fill for each pair of speeds, line and marker for each of powers; their legend."""
    from matplotlib.lines import Line2D

    speeds, powers = (list(dict.fromkeys(pair[k] for pair in words)) for k in (0, 1))
    filled = zip(looks_of(speeds), _FILLS, strict=False)
    colors = dict(zip(speeds, (replace(look, fill=fill) for look, fill in filled), strict=True))
    others = dict(zip(powers, looks_of(powers), strict=True))
    looks = [
        replace(colors[speed], line=others[power].line, marker=others[power].marker)
        for speed, power in words
    ]
    handles = [
        Line2D([], [], **(colors[s].of_points(marker="s", ls="-", ms=7) | {"lw": 3}), label=s)
        for s in speeds
    ]
    handles += [
        Line2D([], [], **(others[p].of_points(mec="black") | {"color": "0.4"}), label=p)
        for p in powers
    ]
    return looks, handles
