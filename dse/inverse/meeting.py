"""The configurations that meet targets, as a Dataset of boxes."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.check import check, enclosed
from sweeps.dataset import assemble, axis_coordinates
from sweeps.grid import FEASIBLE, Grid
from sweeps.inverse.targets import Meeting, meeting
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

__all__ = ["met"]


def met(study: StudyData, targets: tuple[str, ...], most: Any, time_limit: Any) -> xr.Dataset:
    """Subdivide the grid; see :func:`dse.meets`."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise DseError(f"boxes = {most!r}: expected a whole number of at least 1")
    wrong = isinstance(time_limit, bool) or not isinstance(time_limit, (int, float))
    if time_limit is not None and (wrong or not time_limit >= 0):
        raise DseError(f"time_limit = {time_limit!r}: expected seconds")
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    grid = study.grid((), targets)
    if not (targets or study.where):
        raise DseError("no target is given: name one, such as 'time <= 2 ms'")
    roots = {key: grid.feasible_node(key) for key in grid.graphs}
    enclosed(grid, roots)
    check(study.grid(), counted=False)
    found = meeting(grid, roots, grid.dims(FEASIBLE), most=most, deadline=deadline)
    return _labelled(study, grid, targets, found)


def _labelled(study: StudyData, grid: Grid, targets: tuple[str, ...], found: Meeting) -> xr.Dataset:
    idle = math.prod(axis.size for name, axis in grid.axes.items() if name not in found.dims)
    sizes = (found.hi - found.lo + 1).T.tolist()
    counts = [idle * math.prod(row) for row in sizes]
    order = np.lexsort([*(-row for row in found.lo[::-1]), [-float(c) for c in counts]])
    order = order[np.argsort(~found.certain[order], kind="stable")]
    variables: dict[str, Any] = {}
    coordinates = axis_coordinates(grid)
    for name, axis in grid.axes.items():
        _, values, said = coordinates[name]
        for side, places in (("first", found.lo), ("last", found.hi)):
            end = 0 if side == "first" else axis.size - 1
            row = places[found.dims.index(name)][order] if name in found.dims else None
            index = np.full(order.size, end) if row is None else row
            text = f"{said['long_name']}, the {side} of the box"
            variables[f"{name}_{side}"] = ("box", values[index], {**said, "long_name": text})
    total = grid.points
    inner = sum(count for count, sure in zip(counts, found.certain, strict=True) if sure)
    outer = sum(counts)
    points = [counts[place] for place in order]
    variables["certain"] = (
        "box",
        found.certain[order],
        {"long_name": "whether every configuration of the box meets the targets"},
    )
    variables["points"] = ("box", _numbers(points), {"long_name": "configurations of the box"})
    for name, count, text in (
        ("inner", inner, "configurations that certainly meet the targets"),
        ("outer", outer, "configurations that may meet the targets"),
        ("total", total, "configurations of the study"),
    ):
        variables[name] = ((), _numbers([count])[0], {"long_name": text})
    from dse.provenance import version

    attributes = {
        "question": f"configurations that meet {' and '.join(targets)}",
        "targets": "; ".join(targets),
        "conditions": "; ".join(condition.text for condition in grid.conditions),
        "complete": int(found.complete),
        "boxes_bounded": found.bounded,
        "model": study.model,
        "study": study.text(),
        "simt_dse_version": version(),
    }
    return assemble(variables, {}, attributes)


def _numbers(counts: list[int]) -> Any:
    """Counts as whole numbers, where those are not too large for 64 bits."""
    kind = np.int64 if max(counts, default=0) < 2**63 else np.float64
    return np.array(counts, dtype=kind)
