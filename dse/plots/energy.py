"""Performance, power and work per energy against the SMs in use (Hong 2012, ch. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.frame import axes_of, legend, named, side
from dse.plots.looks import LOOKS, look_of, variants
from dse.plots.sources import Source, alone, dataset, lines_of
from dse.study.data import StudyData
from symbolic.errors import DseError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["sms"]

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
