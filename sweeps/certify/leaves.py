"""Boxes of many points scanned one by one, by the fused nest that keeps the least value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.certify.boxes import Boxes, Indices, Problem
from sweeps.compile import compiled
from sweeps.emit import emit
from symbolic.ops import walk

__all__ = ["Scanner"]

#: Axes that form the innermost loop; steps for which a call of the library counts; boxes a thread
#: takes at once.
_ROW, _CALL, _SHARE = 2, 10, 32
_CALLS = frozenset({"exp", "log", "log2", "log10", "pow"})


class Scanner:
    """The least value of a problem in each of some boxes, by machine code made for it.

    The axes on which most steps depend are the outermost loops.
    """

    def __init__(self, problem: Problem) -> None:
        weight = dict.fromkeys(range(len(problem.dims)), 0)
        for node in problem.steps:
            for axis in weight:
                if problem.bits[id(node)] >> axis & 1:
                    weight[axis] += _CALL if node.op in _CALLS else 1
        self.order = sorted(weight, key=lambda axis: -weight[axis])
        rows = min(_ROW, len(self.order))
        names = [problem.dims[axis] for axis in self.order]
        self.outer, self.row = names[: len(names) - rows], names[len(names) - rows :]
        self.leaves = problem.used
        self.places = {axis: number for number, axis in enumerate(problem.dims)}
        self.nest = emit(
            outer=self.outer,
            row=self.row,
            leaves={
                name: tuple(axis for axis in names if axis in leaf.axes)
                for name, leaf in self.leaves.items()
            },
            outputs=[(problem.root, "float")],
            names={id(node): f"t_{k}" for k, node in enumerate(walk((problem.root,)))},
            known={n: float(leaf.array) for n, leaf in self.leaves.items() if not leaf.axes},
            reduce=True,
        )
        self.scalars = np.array([float(self.leaves[n].array) for n in self.nest.scalars])
        self.function = compiled(self.nest)

    def least(self, boxes: Boxes, limit: float) -> Indices:
        """Where the least value below a limit is in each box; -1 in a box that has none."""
        from sweeps.run import in_threads, workers

        count = boxes.lo.shape[1]
        places = np.full((len(self.order), count), -1)
        share = max(1, min(_SHARE, math.ceil(count / workers())))

        def work(part: int) -> None:
            for box in range(part * share, min((part + 1) * share, count)):
                self._scan(boxes.lo[:, box], boxes.hi[:, box], limit, places[:, box])

        in_threads(work, math.ceil(count / share))
        return places

    def _scan(self, lo: Indices, hi: Indices, limit: float, place: Indices) -> None:
        ranges = {axis: slice(int(lo[k]), int(hi[k]) + 1) for axis, k in self.places.items()}
        sizes = {axis: part.stop - part.start for axis, part in ranges.items()}
        arrays = [self._part(name, ranges, sizes) for name in self.nest.arrays]
        row = math.prod(sizes[axis] for axis in self.row)
        shape = np.array([*(sizes[axis] for axis in self.outer), row], dtype=np.int64)
        bounds = np.stack([np.zeros_like(shape), shape], axis=1).reshape(-1)
        best, found = np.array([limit]), np.array([-1], dtype=np.int64)
        self.function(bounds, shape, 0, self.scalars, *arrays, best, found)
        if found[0] >= 0:
            split = np.unravel_index(int(found[0]), [sizes[a] for a in (*self.outer, *self.row)])
            for axis, index in zip(self.order, split, strict=True):
                place[axis] = lo[axis] + index

    def _part(self, name: str, ranges: Any, sizes: Any) -> NDArray[np.float64]:
        """A leaf over a box as the nest reads it: over its outer axes, and the row if it varies."""
        leaf = self.leaves[name]
        own = [axis for axis in self.outer if axis in leaf.axes]
        wanted = [*own, *self.row] if set(leaf.axes) & set(self.row) else own
        present = [axis for axis in wanted if axis in leaf.axes]
        part = leaf.array[tuple(ranges[axis] for axis in leaf.axes)]
        part = part.transpose([leaf.axes.index(axis) for axis in present])
        part = part.reshape([sizes[axis] if axis in leaf.axes else 1 for axis in wanted])
        part = np.broadcast_to(part, [sizes[axis] for axis in wanted])
        return np.array(part, dtype=np.float64, order="C").reshape(-1)
