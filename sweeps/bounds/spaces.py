"""A problem over axes each of which is one of the grid or several of them, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sweeps.bounds.alike import alike
from sweeps.bounds.boxes import Indices
from sweeps.bounds.problem import Problem

__all__ = ["Space"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A problem over some axes, each one of the grid or several merged."""

    problem: Problem
    #: For each axis of the problem the axes of the grid, and their indices row by row.
    rows: tuple[tuple[tuple[str, ...], Indices], ...]
    fixed: Mapping[str, int]

    def original(self, place: Indices) -> dict[str, int]:
        """The index along each axis of the grid."""
        found = dict(self.fixed)
        for (axes, table), index in zip(self.rows, place.tolist(), strict=True):
            found.update(zip(axes, table[:, index].tolist(), strict=True))
        return found

    def along(self, axis: str) -> tuple[int, Indices]:
        """The axis of the problem in which one of the grid lies, and its index row by row."""
        for number, (axes, table) in enumerate(self.rows):
            if axis in axes:
                return number, table[axes.index(axis)]
        raise KeyError(axis)

    def only(self, number: int, chosen: Indices) -> Space:
        """The part with some rows of one axis."""
        problem = self.problem
        name = problem.dims[number]
        if len(self.rows[number][0]) > 1:  # halves of what is left should be alike, too
            own = [leaf.array for leaf in problem.used.values() if leaf.axes == (name,)]
            chosen = chosen[alike(np.stack(own)[:, chosen].astype(np.float64))]
        return self._taken(number, chosen)

    def in_order(self, order: Sequence[str]) -> tuple[Space, list[Indices]]:
        """The same with all rows in the order of the grid, and where each of the rows is then."""
        found, moved = self, []
        for number, (axes, table) in enumerate(self.rows):
            chosen = np.lexsort([table[axes.index(a)] for a in reversed(order) if a in axes])
            moved.append(np.argsort(chosen))
            if np.any(np.diff(chosen) < 0):
                found = found._taken(number, chosen)
        return found, moved

    def _taken(self, number: int, chosen: Indices) -> Space:
        problem = self.problem
        name = problem.dims[number]
        leaves = {key: leaf.taken({name: chosen}) for key, leaf in problem.used.items()}
        sizes = dict(zip(problem.dims, problem.sizes.tolist(), strict=True))
        rows = list(self.rows)
        rows[number] = rows[number][0], rows[number][1][:, chosen]
        sizes[name] = chosen.size
        part = Problem(problem.root, leaves, sizes, problem.roots[1:])
        return Space(problem=part, rows=tuple(rows), fixed=self.fixed)
