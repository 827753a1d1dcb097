"""Why no point of a grid is feasible: which condition excludes most."""

from __future__ import annotations

import numpy as np

from sweeps.bounds.first import first
from sweeps.grid.grid import Grid
from sweeps.runtime.loop import Tally
from symbolic.errors import OutOfTimeError
from symbolic.graph import Condition
from symbolic.ops import Node, constant, interpret_arrays, references

__all__ = ["why_infeasible"]

#: Points drawn to tell which of several conditions excludes most.
_SAMPLE = 1 << 12


def why_infeasible(grid: Grid, tally: Tally | None) -> str:
    """What each condition leaves, and which excludes most where all together leave nothing."""
    lines = []
    for condition in grid.conditions:
        dims = grid.condition_dims(condition)

        def holds(key: tuple[str, ...], condition: Condition = condition) -> Node:
            graph = grid.graphs[key]
            applies = any(c.text == condition.text for c in graph.conditions)
            return graph.flat_condition(condition) if applies else constant(True)

        try:
            broken = first(grid, holds, dims, tally) is None
        except OutOfTimeError:
            broken = False
        if broken:
            names = references(condition.node)
            values = grid.at(dict.fromkeys(grid.axes, 0), names)
            told = dict(grid.told(name, value) for name, value in values.items())
            shown = ", ".join(
                f"{n} = {v if isinstance(v, str) else f'{v:g}'}" for n, v in told.items()
            )
            kind = "rule" if condition.is_rule else "constraint"
            lines.append(
                f"the {kind} {condition.text!r} is broken at every point (at the first: {shown})"
            )
    if not lines:
        texts = " and ".join(repr(c.text) for c in grid.conditions)
        lines.append(f"no point satisfies {texts} together{_excluding_most(grid)}")
    return "; ".join(lines) + ": change the axes or the values, or relax the constraints"


def _excluding_most(grid: Grid) -> str:
    """Which condition the fewest of some points meet, drawn the same each time."""
    if len(grid.conditions) < 2:
        return ""
    rng = np.random.default_rng(0)
    drawn = {name: rng.integers(0, axis.size, _SAMPLE) for name, axis in grid.axes.items()}
    met = {}
    for condition in grid.conditions:
        count = 0
        for at, key in grid.keys(grid.switch_axes):
            chosen = np.ones(_SAMPLE, dtype=bool)
            for axis, label in at.items():
                chosen &= drawn[axis] == label
            graph, leaves = grid.graphs[key], grid.leaves[key]
            if not any(c.text == condition.text for c in graph.conditions):
                count += int(chosen.sum())
                continue
            node = graph.flat_condition(condition)
            values = {
                name: np.atleast_1d(leaves[name].array[tuple(drawn[a] for a in leaves[name].axes)])
                for name in references(node)
            }
            holds = interpret_arrays((node,), values)[0]
            count += int((np.broadcast_to(holds, _SAMPLE) & chosen).sum())
        met[condition.text] = count
    least = min(met, key=lambda text: met[text])
    return f"; {least!r} excludes most: {met[least]:,} of {_SAMPLE:,} points drawn meet it"
