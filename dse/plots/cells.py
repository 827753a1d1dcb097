"""Cells of a map: their places, hatches, and the lines along which constraints come to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.plots.scales import by_factor

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["edges_of", "hatch_cells", "mesh", "numbers_of", "runs", "steps"]

Array = NDArray[Any]

#: Above this many cells their colours are a picture within a vector figure.
_CELLS = 10_000
#: Lines of constraints, in their order.
_BORDERS = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))


def numbers_of(ds: xr.Dataset, axis: str) -> Array:
    """The values of an axis as numbers; of labels their places."""
    values = ds[axis].values
    return values.astype(float) if values.dtype.kind in "iuf" else np.arange(len(values)) * 1.0


def edges_of(ds: xr.Dataset, axis: str) -> Array:
    """Where the cells along an axis begin and end: half way between its values.

    Of values that lie apart by a factor, half way by factors.
    """
    values, middles = ds[axis].values, numbers_of(ds, axis)
    if len(middles) == 1:
        return np.array([middles[0] - 0.5, middles[0] + 0.5])
    if by_factor(values):
        middles = np.log(middles)
    inner = (middles[1:] + middles[:-1]) / 2
    ends = 2 * middles[[0, -1]] - inner[[0, -1]]
    edges = np.concatenate([ends[:1], inner, ends[1:]])
    return np.exp(edges) if by_factor(values) else edges


def mesh(ax: Axes, ds: xr.Dataset, grid: xr.DataArray, values: Array, **more: Any) -> Any:
    """The cells of an array over two axes, coloured by some values."""
    y, x = (edges_of(ds, str(dim)) for dim in grid.dims)
    shown = np.ma.masked_invalid(values)
    return ax.pcolormesh(x, y, shown, rasterized=values.size > _CELLS, **more)


def runs(inside: Array) -> Iterator[tuple[int, int, int]]:
    """Runs of cells side by side: their row, the first column, and the one past the last.

    >>> list(runs(np.array([[True, True, False, True]])))
    [(0, 0, 2), (0, 3, 4)]
    """
    padded = np.pad(inside.astype(np.int8), ((0, 0), (1, 1)))
    steps = np.diff(padded, axis=1)
    begins, ends = np.argwhere(steps == 1), np.argwhere(steps == -1)
    for (row, first), (_, past) in zip(begins.tolist(), ends.tolist(), strict=True):
        yield row, first, past


def hatch_cells(
    ax: Axes, ds: xr.Dataset, over: str, by: str, inside: Array, hatch: str, color: str
) -> None:
    """Hatch cells as one area, without drawing their edges."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    x, y = edges_of(ds, over), edges_of(ds, by)
    boxes = [
        [(x[i], y[j]), (x[k], y[j]), (x[k], y[j + 1]), (x[i], y[j + 1]), (x[i], y[j])]
        for j, i, k in runs(inside)
    ]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(boxes)
    area = Path(np.concatenate(boxes), codes)
    ax.add_patch(PathPatch(area, facecolor="none", edgecolor=color, hatch=hatch, lw=0))


def steps(ax: Axes, ds: xr.Dataset, over: str, by: str, held: Mapping[str, Array]) -> Iterator[Any]:
    """Lines along the cells between which each constraint comes to hold; what a legend shows."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    x, y = edges_of(ds, over), edges_of(ds, by)
    for count, (text, inside) in enumerate(held.items()):
        beside = runs((inside[:, 1:] != inside[:, :-1]).T)
        above = runs(inside[1:] != inside[:-1])
        parts = [[(x[i + 1], y[j]), (x[i + 1], y[k])] for i, j, k in beside]
        parts += [[(x[i], y[j + 1]), (x[k], y[j + 1])] for j, i, k in above]
        line = _BORDERS[count % len(_BORDERS)]
        ax.add_collection(LineCollection(parts, colors="white", lw=3.4), autolim=False)
        ax.add_collection(LineCollection(parts, colors="black", lw=1.6, ls=line), autolim=False)
        yield Line2D([], [], color="black", lw=1.6, ls=line, label=text)
