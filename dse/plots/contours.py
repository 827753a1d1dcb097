"""The borders of a case over a map, where they lie between the values of its axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.inverse.rows import case_of
from dse.plots.cells import edges_of, numbers_of
from dse.plots.looks import LOOKS
from dse.study.data import StudyData
from sweeps.prove.borders import NONE
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["contours", "pieces"]

Array = NDArray[Any]
#: A place on the map, and pieces of lines between two of them.
Place = tuple[float, float]


def contours(
    ax: Axes,
    ds: xr.Dataset,
    source: Any,
    quantity: str,
    over: str,
    by: str,
    at: Mapping[str, Any] | None,
    where: Sequence[str],
) -> Any:
    """Draw the borders of a case as double lines; what a legend shows."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.patheffects import withStroke

    from dse.verbs.borders import borders

    if not isinstance(source, StudyData):
        raise DseError("borders are drawn of a study: a Dataset tells its values alone")
    ways = [name for name in (over, by) if source.grid().axes[name].kind == "number"]
    if not ways:
        raise DseError(f"neither {over} nor {by} has an order: no borders can be drawn")
    fixed = {name: value for name, value in (at or {}).items() if name not in (over, by)}
    found = borders(source, quantity, along=_moving(source, quantity, ways), at=fixed, where=where)
    quantities = source.grid().model.quantities
    real = {name for name in ways if not quantities[name].domain.whole}
    lines = pieces(ds, found, over, by, real)
    outer = withStroke(linewidth=3.4, foreground=LOOKS["optimum"].color)
    double: dict[str, Any] = {"lw": 1.0, "path_effects": [outer]}
    ax.add_collection(LineCollection(lines, colors="white", **double), autolim=False)
    return Line2D([], [], color="white", **double, label=f"border of {quantity}")


def _moving(study: StudyData, quantity: str, ways: Sequence[str]) -> list[str]:
    """The axes along which there can be a border at all."""
    from dse.inverse.cases import read_case
    from symbolic.ops import references

    case = read_case(study, quantity)
    grid = study.grid(references(case.node))
    dims = {dim for name in references(case.node) for dim in grid.dims(name)}
    dims |= set(grid.dims("feasible"))
    return [name for name in ways if name in dims] or list(ways)


def pieces(
    ds: xr.Dataset, found: xr.Dataset, over: str, by: str, real: Collection[str]
) -> list[list[Place]]:
    """Pieces of the borders, cell by cell of the values of two axes.

    Between two values that differ in their case the border lies where it was found, or half way
    where only the values of the axis count. In each cell the places on its sides are joined: two
    with each other, more through their middle. ``real`` are the axes between whose values there
    are others.
    """
    case = case_of(found)
    missing = {name: ds.sizes[name] for name in (over, by) if name not in found[case].dims}
    here = found[case].expand_dims(missing).transpose(by, over).values
    x, y = (numbers_of(ds, name) for name in (over, by))
    crossing_x = _crossings(ds, found, (by, over), here, missing, real)
    crossing_y = _crossings(ds, found, (over, by), here.T, missing, real).T
    lines: list[list[Place]] = []
    sides = ~np.isnan(crossing_x), ~np.isnan(crossing_y)
    cells = sides[0][:-1] | sides[0][1:] | sides[1][:, :-1] | sides[1][:, 1:]
    for j, i in np.argwhere(cells).tolist():
        ends: list[Place] = []
        ends += [(crossing_x[row, i], y[row]) for row in (j, j + 1) if sides[0][row, i]]
        ends += [(x[column], crossing_y[j, column]) for column in (i, i + 1) if sides[1][j, column]]
        if len(ends) == 2:
            lines.append(ends)
        elif len(ends) > 2:
            middle = (float(np.mean([e[0] for e in ends])), float(np.mean([e[1] for e in ends])))
            lines += [[end, middle] for end in ends]
    return lines


def _crossings(
    ds: xr.Dataset,
    found: xr.Dataset,
    dims: tuple[str, str],
    here: Array,
    missing: Mapping[str, int],
    real: Collection[str],
) -> Array:
    """Where the case changes between neighbours along the last axis: NaN where it does not."""
    along = dims[-1]
    values = numbers_of(ds, along)
    differs = here[:, 1:] != here[:, :-1]
    place = np.broadcast_to(edges_of(ds, along)[1:-1], differs.shape).copy()
    if along in real and along in found.along.values and along not in missing:
        told = found.sel(along=along, side="above")
        border, beyond = (
            told[name].expand_dims(missing).transpose(*dims).values for name in ("border", "beyond")
        )
        rises = values[1:] > values[:-1]
        low, high = np.minimum(values[1:], values[:-1]), np.maximum(values[1:], values[:-1])
        start, then = (np.where(rises, a[:, :-1], a[:, 1:]) for a in (border, beyond))
        place = np.where((then != NONE) & (start >= low) & (start <= high), start, place)
    return np.where(differs, place, np.nan)
