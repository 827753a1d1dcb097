"""Every point of a small part of a problem, by a loop nest written for its objectives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from sweeps.bounds.boxes import Indices
from sweeps.bounds.problem import Problem
from sweeps.grid.flat_index import unravel
from sweeps.nest.compile import compiled
from sweeps.nest.emit import emit
from sweeps.runtime.loop import Tally
from sweeps.runtime.stopping import in_time
from symbolic.errors import OutOfTimeError
from symbolic.ops import reference, substitute

#: Least points of a row, if the whole problem were looked at.
_ROW = sizes.LEAF_ROW


class Leaves:
    """The objectives of a problem at all combinations of some indices along each axis."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        order = np.argsort(problem.sizes, kind="stable").tolist()
        count, length = 0, 1  # boxes are smaller than the whole
        while count < len(order) and length < _ROW:
            count += 1
            length *= int(problem.sizes[order[-count]])
        self.outer, self.row = order[: len(order) - count], order[len(order) - count :]
        names = {name: f"x{k}" for k, name in enumerate(problem.used)}
        place = {axis: f"axis{k}" for k, axis in enumerate(problem.dims)}
        swap = {name: reference(short) for name, short in names.items()}
        self.nest = emit(
            outer=[f"axis{axis}" for axis in self.outer],
            row=[f"axis{axis}" for axis in self.row],
            leaves={
                short: [place[axis] for axis in problem.used[name].axes]
                for name, short in names.items()
            },
            outputs=[(substitute(root, swap), "float") for root in problem.roots],
            names={},
        )
        self.leaf_of = {short: problem.used[name] for name, short in names.items()}
        numbers = [float(self.leaf_of[name].array) for name in self.nest.scalars]
        self.scalars = np.array(numbers, dtype=np.float64)
        compiled(self.nest)

    def values(self, chosen: Sequence[Indices]) -> NDArray[np.float64]:
        """The objectives (rows), the combinations in the order that :meth:`places` tells."""
        outer, row = ([chosen[axis].size for axis in own] for own in (self.outer, self.row))
        sizes = np.array([*outer, math.prod(row)], dtype=np.int64)
        bounds = np.stack([np.zeros_like(sizes), sizes], axis=1).reshape(-1)
        arrays = []
        for name in self.nest.arrays:
            leaf = self.leaf_of[name]
            own = [self.problem.dims.index(axis) for axis in leaf.axes]
            part = np.asarray(leaf.array)[np.ix_(*(chosen[axis] for axis in own))]
            order = [axis for axis in (*self.outer, *self.row) if axis in own]
            part = part.transpose([own.index(axis) for axis in order])
            if any(axis in own for axis in self.row):
                kept = [axis for axis in self.outer if axis in own]
                shape = [chosen[axis].size for axis in (*kept, *self.row)]
                ends = [
                    n if axis in own else 1
                    for n, axis in zip(shape, (*kept, *self.row), strict=True)
                ]
                part = np.broadcast_to(part.reshape(ends), shape)
            arrays.append(np.array(part, dtype=np.float64, order="C").reshape(-1))
        found = np.empty((len(self.problem.roots), int(np.prod(sizes))))
        compiled(self.nest)(bounds, sizes, 0, self.scalars, *arrays, *found)
        return found

    def places(self, chosen: Sequence[Indices], flat: Indices) -> Indices:
        """The index along each axis (rows) of some of the values."""
        order = (*self.outer, *self.row)
        split = unravel(flat, [chosen[axis].size for axis in order])
        places = np.empty((len(chosen), flat.size), dtype=np.int64)
        for axis, index in zip(order, split, strict=True):
            places[axis] = chosen[axis][index]
        return places


def leaves_in_time(problem: Problem, tally: Tally) -> Leaves | None:
    """Those of a problem, unless the time is up before they are compiled."""
    found: list[Leaves] = []

    def load() -> None:
        made = Leaves(problem)
        made.values([np.zeros(1, dtype=np.int64)] * len(problem.dims))  # compiles it
        found.append(made)

    if not tally.late:
        with suppress(OutOfTimeError):
            in_time(load, tally.deadline, "a nest was compiled")
    return found[0] if found and not tally.late else None
