"""Transit figures of kernels, by a profiler's counters (Li 2015, Figs. 18 and 19)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.evaluation import evaluate
from dse.fitting.columns import read_columns, read_table
from dse.plots.frame import axes_of, title
from dse.plots.sources import MOST
from dse.plots.transits import transit
from symbolic.errors import DseError
from symbolic.library import load_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["kernels"]

_MODEL = "transit + transit_profiler"
#: Of a panel, in inches.
_WIDE, _HIGH = 5.2, 3.9


def kernels(
    counters: str | Path | Mapping[str, Any] | Any,
    *,
    machine: str | None = None,
    ax: Axes | None = None,
    **point: Any,
) -> Axes:
    """A transit figure of each kernel, with the throughput that was measured as a star.

    Parameters
    ----------
    counters : path, mapping or DataFrame
        A row a kernel: its name in the column ``kernel``, and quantities of ``transit_profiler``
        (``occupancy``, ``issued_insts``, ``dram_reads``, ``dram_writes`` and ``kernel_time``), of
        one multiprocessor; with units in the headers if need be, ``kernel_time [us]``.
    machine, **point
        As for :func:`dse.evaluate`: what is the same for all kernels.
    ax : Axes, optional
        In whose place to draw; a new figure where None.

    Returns
    -------
    Axes
        That of the first kernel; its figure holds all.

    Raises
    ------
    DseError
        A table without rows, or with more than 16, or with what is no quantity.
    """
    table = read_table(counters)
    if not 1 <= table.rows <= MOST:
        raise DseError(f"{table.rows} kernels: expected 1 to {MOST} rows to draw")
    named = [name for name in table.columns if name != "kernel"]
    columns = read_columns(table, load_model(_MODEL), named)
    numbers = [str(row + 1) for row in range(table.rows)]
    labels = [str(name) for name in np.asarray(table.columns.get("kernel", numbers))]
    across = min(table.rows, math.ceil(math.sqrt(table.rows)))
    down = math.ceil(table.rows / across)
    first = axes_of(ax, _WIDE * across, _HIGH * down)
    figure, place = first.figure, first.get_subplotspec()
    if place is None:
        raise DseError("ax stands in no grid of subplots: leave it out")
    grid = place.subgridspec(down, across)
    first.remove()
    panels = []
    for row, label in enumerate(labels):
        panel = figure.add_subplot(grid[row // across, row % across])
        given: dict[str, Any] = {name: float(column[row]) for name, column in columns.items()}
        transit(model=_MODEL, machine=machine, ax=panel, **point, **given)
        title(panel, f"{label}: {' '.join(panel.get_title().split())}", 44)
        if (below := panel.get_legend()) is not None:
            below.remove()
        panels.append(panel)
    handles = panels[0].get_legend_handles_labels()[0]
    names = ("supply of memory, f(k)", "demand of the lanes, g(n - k)", "predicted", "measured")
    look: dict[str, Any] = {"ncols": 2, "fontsize": 8, "edgecolor": "0.8"}
    figure.legend(handles, names[: len(handles)], loc="outside lower center", **look)
    if "kernel_time" in columns:
        rows: dict[str, Any] = {**point, **columns}
        ds = evaluate(_MODEL, machine=machine, outputs=["prediction_accuracy"], **rows)
        mean = float(ds["prediction_accuracy"].mean())
        figure.suptitle(f"accuracy of the computation throughput: mean {mean:.1%}", fontsize=10)
    return panels[0]
