"""The law of a launch: its tail, its quantiles over an axis, where the time of slots goes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.places import places_of
from dse.plots.curves import draw_lines, line_looks
from dse.plots.frame import axes_of, legend, number_text, side
from dse.plots.looks import LOOKS
from dse.plots.sources import MOST, Line, Source, allowed, alone, dataset
from dse.study.data import StudyData
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RARE", "bands", "common", "lost", "tail", "times_side"]

#: Rarer launches are not drawn.
RARE = 1e-6
_LEVELS = (0.01, 0.1, 0.5, 0.9, 0.99)
_SHARES = {
    "working_share": ("lanes work", "performance"),
    "lane_idle_share": ("lanes wait for their warp", "computation"),
    "warp_idle_share": ("warps wait for their block", "application"),
    "tail_idle_share": ("slots wait for the end", "held at 1"),
}


def tail(source: Source, *, at: Mapping[str, Any] | None = None, ax: Axes | None = None) -> Axes:
    """The chance that a launch lasts longer, to one in a million, a line for each configuration.

    Parameters
    ----------
    source : Study
        Of a model with ``launch``.
    at : mapping
        Values of axes; of the others each configuration has a line.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    found = _laws(source, at or {})
    ax = axes_of(ax)
    draw_lines(ax, found, line_looks(found), drawstyle="steps-post", marker="")
    for line in found:
        late = int(np.argmax(line.y <= 0.01))
        ax.plot(line.x[late], 0.01, **LOOKS["optimum"].of_mark(7, marker="o"))
    if len(found) == 1:
        for name, look in (("waves_time", "level"), ("launch_time_mean", "result")):
            value = float(found[0].at[name])
            ax.axvline(value, label=_SAYS[name], **LOOKS[look].of_line(lw=1.2))
    ax.set_yscale("log")
    ax.set_ylim(RARE, 1.3)
    ax.set_ylabel("chance that it lasts longer; dots at 1 %")
    times_side(ax)
    legend(ax, beside=len(found) > 4)
    return ax


_SAYS = {"waves_time": "waves · mean block", "launch_time_mean": "mean"}


def common(below: Any) -> slice:
    """Where a distribution function is neither too small nor too large to be drawn."""
    first, last = np.searchsorted(below, [RARE, 1 - RARE])
    return slice(int(first), int(last) + 1)


def times_side(ax: Axes) -> None:
    """Name the side across after the time of a launch."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(EngFormatter(unit="s", sep=" "))
    ax.set_xlabel("time of a launch")


def _laws(source: Any, at: Mapping[str, Any]) -> list[Line]:
    """The chances of each configuration that it lasts longer than a time, and means beside."""
    if not isinstance(source, StudyData):
        raise DseError(f"{type(source).__name__}: a law is drawn of a study, not of its results")
    names = ["launch_time_mean", "waves_time", "step_time"]
    grid = source.grid(names)
    fixed = places_of(grid, at)
    free = [name for name in grid.dims("launch_time_mean") if name not in fixed]
    sizes = [grid.axes[name].size for name in free]
    if math.prod(sizes) > MOST:
        raise DseError(
            f"{math.prod(sizes):,} laws over {', '.join(free)} are too many to tell apart (at "
            f"most {MOST}): choose values with at="
        )
    found = []
    for index in itertools.product(*map(range, sizes)):
        places = dict.fromkeys(grid.axes, 0) | fixed | dict(zip(free, index, strict=True))
        values = grid.at(places, names)
        key = tuple(grid.axes[name].labels[places[name]] for name in grid.switch_axes)
        leaf = grid.leaves[key]["launch_steps"]
        law = leaf.array[tuple(places[name] for name in leaf.axes)]
        law = law if leaf.axes else law.item()
        known = {name: float(values[name]) for name in names}
        chosen = [grid.axes[name].coordinate[places[name]].item() for name in free]
        texts = zip(free, chosen, strict=True)
        label = ", ".join(v if isinstance(v, str) else f"{n} = {v:g}" for n, v in texts)
        kept = common(law.below)
        x, y = law.values[kept] * known["step_time"], np.maximum(1 - law.below[kept], 0)
        x, y = np.append(x[0], x), np.append(1.0, y)
        found.append(Line(label=label or "time of a launch", at=known, x=x, y=y))
    return found


def bands(
    source: Source,
    *,
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Quantiles of the time of a launch over an axis, beside the usual estimate by waves.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of a model with ``launch``; a Dataset holds ``quantile(launch_time, 0.5)`` and the others.
    over : str, optional
        The axis across; the last one of numbers where None.
    at : mapping, optional
        Values of all other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    names = [f"quantile(launch_time, {level:g})" for level in _LEVELS]
    ds = dataset(source, [*names, "waves_time", "work_bound_time"], at)
    over = alone(ds, over, names[0])
    x = ds[over].values
    low, less, middle, more, high = (allowed(ds, ds[name]).values for name in names)
    ax, look = axes_of(ax), LOOKS["exact"]
    ax.fill_between(x, low, high, color=look.color, alpha=0.2, lw=0, label="98 of 100 launches")
    ax.fill_between(x, less, more, color=look.color, alpha=0.4, lw=0, label="80 of 100")
    ax.plot(x, middle, label="median", **look.of_line())
    for name, text, look in (
        ("waves_time", _SAYS["waves_time"], LOOKS["level"]),
        ("work_bound_time", "no slot waits", LOOKS["result"]),
    ):
        values = np.broadcast_to(allowed(ds, ds[name]).values, x.shape)
        ax.plot(x, values, label=text, **look.of_line(lw=1.2))
    side(ax.xaxis, ds[over])
    side(ax.yaxis, ds[names[2]], "time of a launch")
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax


def lost(
    source: Source,
    *,
    over: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Where the time of all slots goes: work, and waiting of lanes, warps and slots, in shares.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of a model with ``launch``.
    over : str, optional
        The axis across, of numbers or labels; the last one of numbers where None.
    at : mapping, optional
        Values of all other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    ds = dataset(source, list(_SHARES), at)
    over = alone(ds, over, "tail_idle_share")
    ax = axes_of(ax)
    places, below = np.arange(ds.sizes[over]), np.zeros(ds.sizes[over])
    for name, (text, meaning) in _SHARES.items():
        values = np.broadcast_to(allowed(ds, ds[name]).values, below.shape)
        ax.bar(places, values, 0.8, bottom=below, label=text, **LOOKS[meaning].of_area(alpha=0.7))
        below = below + values
    labels = [v if isinstance(v, str) else number_text(v) for v in ds[over].values.tolist()]
    step = max(1, len(labels) // 12)
    ax.set_xticks(places[::step], labels[::step])
    ax.set_xlabel(str(ds[over].attrs.get("long_name", over)))
    ax.set_ylabel("share of the time of all slots")
    ax.set_ylim(0, 1)
    legend(ax, below=True, ncols=2)
    return ax
