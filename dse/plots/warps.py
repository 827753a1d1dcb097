"""Memory warp parallelism, and what limits it (Hong 2012)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.plots.curves import sparse
from dse.plots.frame import axes_of, legend, named, side, title
from dse.plots.levels import groups
from dse.plots.looks import MEANS, look_of, variants
from dse.plots.sources import Source, axis_of, counted, dataset, finite, lines_of
from dse.study.data import StudyData
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["mwp"]

_WARPS = "warps of one SM at once"


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
