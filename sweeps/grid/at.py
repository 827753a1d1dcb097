"""A part of what is asked: at one index, or within a slice, of some axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.grid import Grid, Leaf
from sweeps.grid.space import Axis

#: The axis of points that are looked at by themselves.
POINT = "point"

#: Indices or slices by axis.
At = Mapping[str, int | slice]


def part_of(grid: Grid, at: At) -> Grid:
    """The grid at one index of some axes, which stay as axes of one value, or within a slice."""
    if not at:
        return grid
    cut = {a: i if isinstance(i, slice) else slice(i, i + 1) for a, i in at.items()}
    leaves = {
        key: {name: leaf.cut(cut) for name, leaf in known.items()}
        for key, known in grid.leaves.items()
    }
    axes = dict(grid.axes)
    axes |= {name: _held(axes[name], part) for name, part in cut.items()}
    kept = {"formulas": True} if grid.kept.get("formulas") else {}
    return replace(grid, axes=axes, leaves=leaves, _dims={}, kept=kept)


def _held(axis: Axis, cut: slice) -> Axis:
    """A part of an axis; of a switch the values tell the places of its labels."""
    size = cut.stop - cut.start
    return replace(
        axis,
        coordinate=axis.coordinate[cut],
        values=np.arange(float(size)) if axis.kind == "switch" else axis.values[cut],
        labels=axis.labels[cut],
        columns={name: column[cut] for name, column in axis.columns.items()},
        weights=None if axis.weights is None else axis.weights[cut],
    )


def points_of(
    grid: Grid, key: tuple[str, ...], places: Mapping[str, NDArray[np.int64]], whole: Sequence[str]
) -> Grid:
    """Some points of a grid along one axis, and the axes that stay ``whole``, which come last.

    Parameters
    ----------
    grid : Grid
        In the leaves of which the axes that stay come after the others.
    key : tuple of str
        The labels of its switch axes; of the grid that is made it is ().
    places : mapping of str to array of int
        An index along each of the other axes, for each point.
    """
    here = {axis: np.atleast_1d(index) for axis, index in places.items()}
    index = np.arange(len(next(iter(here.values()))) if here else 1)
    axis = Axis(name=POINT, kind="index", coordinate=index, values=index.astype(np.float64))
    leaves = {}
    for name, leaf in grid.leaves[key].items():
        inner = tuple(one for one in leaf.axes if one in whole)
        if len(inner) == len(leaf.axes):
            leaves[name] = leaf
        else:
            found = leaf.pick({**here, **dict.fromkeys(inner, slice(None))})
            leaves[name] = Leaf(axes=(POINT, *inner), array=found)
    return replace(
        grid,
        axes={POINT: axis, **{one: grid.axes[one] for one in whole}},
        switch_axes=(),
        graphs={(): grid.graphs[key]},
        leaves={(): leaves},
        _dims={},
        kept={},
    )
