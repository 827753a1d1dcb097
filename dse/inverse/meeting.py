"""The configurations that meet targets, as a Dataset of boxes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.ask.matrix import refuse_statistic
from sweeps.bounds.check import check, enclosed
from sweeps.bounds.expanding import expanded, waiting
from sweeps.grid.dataset import assemble, axis_coordinates
from sweeps.grid.flat_index import ravel
from sweeps.grid.goals import per_axes
from sweeps.grid.grid import FEASIBLE, Grid, part_of
from sweeps.prove.targets import Meeting, meeting
from sweeps.runtime.loop import Tally
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData


def met(
    study: StudyData,
    targets: tuple[str, ...],
    most: Any,
    time_limit: Any,
    where: tuple[str, ...] = (),
    per: tuple[str, ...] = (),
) -> xr.Dataset:
    """Subdivide the grid; see :func:`dse.meets`."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise DseError(f"boxes = {most!r}: expected a whole number of at least 1")
    wrong = isinstance(time_limit, bool) or not isinstance(time_limit, (int, float))
    if time_limit is not None and (wrong or not time_limit >= 0):
        raise DseError(f"time_limit = {time_limit!r}: expected seconds")
    tally = Tally.of(time_limit)
    grid = study.grid((), (*targets, *where))
    if not (targets or where or study.where):
        raise DseError("no target is given: name one, such as 'time <= 2 ms'")
    grid = expanded(grid)
    roots = {key: grid.feasible_node(key) for key in grid.graphs}
    refuse_statistic(waiting(grid, roots), "many")
    enclosed(grid, roots)
    check(study.grid(), counted=False, tally=tally)
    labels = per_axes(per, tuple(grid.axes))
    return labelled(study, grid, targets, _met(grid, labels, most, tally), labels)


def _met(grid: Grid, per: tuple[str, ...], most: int, tally: Tally) -> Meeting:
    """The boxes, of which none holds several values of the axes ``per``."""
    parts = []
    dims = grid.ordered({*grid.dims(FEASIBLE), *per})
    shape = grid.shape(per)
    for cell in np.ndindex(*shape):
        at = dict(zip(per, cell, strict=True))
        part = part_of(grid, at)
        roots = {key: part.feasible_node(key) for key in part.graphs}
        boxes = max(most // math.prod(shape), 1)
        found = meeting(part, roots, dims, tally, most=boxes)
        for axis, index in at.items():
            found.lo[dims.index(axis)] = found.hi[dims.index(axis)] = index
        parts.append(found)
    return Meeting(
        dims=dims,
        lo=np.concatenate([one.lo for one in parts], axis=1),
        hi=np.concatenate([one.hi for one in parts], axis=1),
        certain=np.concatenate([one.certain for one in parts]),
        bounded=sum(one.bounded for one in parts),
        complete=all(one.complete for one in parts),
    )


def _counts(found: Meeting) -> list[int]:
    return [math.prod(row) for row in (found.hi - found.lo + 1).T.tolist()]


def in_order(found: Meeting) -> Any:
    """The numbers of the boxes: the certain ones first, the largest before others."""
    sizes = [-float(count) for count in _counts(found)]
    order = np.lexsort([*(-row for row in found.lo[::-1]), sizes])
    return order[np.argsort(~found.certain[order], kind="stable")]


def labelled(
    study: StudyData,
    grid: Grid,
    targets: tuple[str, ...],
    found: Meeting,
    per: tuple[str, ...] = (),
) -> xr.Dataset:
    """The boxes of a grid as a Dataset, the certain ones first."""
    idle = math.prod(axis.size for name, axis in grid.axes.items() if name not in found.dims)
    counts = [idle * count for count in _counts(found)]
    order = in_order(found)
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
    shape = grid.shape(per)
    total = grid.points // math.prod(shape)
    inner, outer = ([0] * math.prod(shape) for _ in range(2))
    rows = [found.lo[found.dims.index(axis)] for axis in per]
    for place, (count, sure) in enumerate(zip(counts, found.certain, strict=True)):
        cell = int(ravel([row[place] for row in rows], shape))
        inner[cell] += count if sure else 0
        outer[cell] += count
    points = [counts[place] for place in order]
    variables["certain"] = (
        "box",
        found.certain[order],
        {"long_name": "whether every configuration of the box meets the targets"},
    )
    variables["points"] = ("box", _numbers(points), {"long_name": "configurations of the box"})
    for name, numbers, text in (
        ("inner", inner, "configurations that certainly meet the targets"),
        ("outer", outer, "configurations that may meet the targets"),
        ("total", [total] * math.prod(shape), "configurations of the study"),
    ):
        variables[name] = (per, _numbers(numbers).reshape(shape), {"long_name": text})
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
    return assemble(variables, {axis: coordinates[axis] for axis in per}, attributes)


def _numbers(counts: list[int]) -> Any:
    """Counts as whole numbers, where those are not too large for 64 bits."""
    kind = np.int64 if max(counts, default=0) < 2**63 else np.float64
    return np.array(counts, dtype=kind)
