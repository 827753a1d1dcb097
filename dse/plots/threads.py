"""Threads and blocks: the scheduling zigzag, run time of TMM, MWP and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.bars import groups
from dse.plots.curves import draw_lines, line_looks, sparse
from dse.plots.frame import axes_of, legend, named, side, title
from dse.plots.looks import LOOKS, MEANS, look_of, variants
from dse.plots.sources import Source, axis_of, counted, dataset, finite, lines_of
from dse.study.data import StudyData
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["mwp", "runtime", "zigzag"]

#: So many times above all later passes the first one leaves the figure.
_SPIKE = 3.0
_WARPS = "warps of one SM at once"


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


def mwp(
    source: Source,
    *,
    over: str | None = None,
    quantity: Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Memory warp parallelism and the terms of which it is the smallest.

    Hong 2012, Figs. 21, 104 and 124: lines along an axis of numbers, bars along one of labels.
    Each term is drawn over the axes on which it depends, so that it may be one level for all.

    Parameters
    ----------
    source : Study, or Dataset of one
        Of a model that yields ``mwp``, such as ``mwp_cwp`` or ``throughput``.
    over : str, optional
        The axis along which the figure runs, if there are several.
    quantity : sequence of str, optional
        The terms to draw; of a study those of which ``mwp`` is the smallest where left out.
    at : mapping, optional
        Values of other axes.
    ax : Axes, optional
        Where to draw; a new figure where None.
    """
    names = list(texts_of(quantity, "quantity"))
    names = names or _terms(source)
    ds = dataset(source, names, at)
    finite(names[-1], *(ds[name] for name in names))
    names = [name for name in names if np.isfinite(ds[name]).any()]
    over = axis_of(ds, over, *names)
    ax = axes_of(ax)
    if ds[over].dtype.kind not in "iuf":
        groups(ax, ds, over, {name: named(ds[name], 34) for name in names})
        ax.set_xlabel(_WARPS)
        legend(ax, below=True, ncols=2)
    else:
        for name in names:
            _term(ax, ds, over, name)
        side(ax.xaxis, ds[over])
        ax.set_ylabel(_WARPS)
        ax.set_ylim(bottom=0)
        legend(ax, beside=True)
    title(ax, str(ds.attrs.get("model", "")))
    return ax


def _terms(source: Any) -> list[str]:
    """MWP after the terms of which the model says that it is the smallest."""
    if isinstance(source, StudyData):
        for family in source.grid().model.families:
            if family.of == "mwp":
                return [*family.terms.values(), "mwp"]
    if hasattr(source, "data_vars"):
        held = [name for name in MEANS if name.startswith(("mwp", "parallel_warps"))]
        names = [name for name in held if name in source]
        if "mwp" in names:
            return [*(name for name in names if name != "mwp"), "mwp"]
    raise DseError("there are no terms of mwp: name them with quantity=, or draw a model of MWP")


def _term(ax: Axes, ds: xr.Dataset, over: str, name: str) -> None:
    """One term, a line for each value of the other axes along which it varies."""
    array = ds[name]
    same = [dim for dim in array.dims if dim != over and (array == array.isel({dim: 0})).all()]
    _, found = lines_of(ds.isel(dict.fromkeys(same, 0)), over, name, over)
    told = named(array, 34)
    broad = {"lw": 4, "alpha": 0.35} if name == "mwp" else {}
    for line, look in zip(found, variants(look_of(name), len(found)), strict=True):
        marks = {"markevery": sparse(len(line.x))} if over in array.dims and len(found) > 1 else {}
        style = look.of_points(**marks) if marks else look.of_line()
        text = f"{told}:\n{counted(ds, line.at)}" if line.at else told
        ax.plot(line.x, line.y, **(style | broad), label=text)
