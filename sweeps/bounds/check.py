"""Checks before any work: formulas stay in their domains, and some point is feasible."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from stochastic import sizes
from sweeps.bounds.first import first
from sweeps.grid.grid import FEASIBLE, Grid
from sweeps.runtime.loop import Tally
from symbolic.errors import DomainError, DseError, InfeasibleError, OutOfTimeError
from symbolic.graph import Condition
from symbolic.intervals import trends
from symbolic.ops import (
    Node,
    both,
    constant,
    either,
    equal,
    floor,
    interpret_arrays,
    negate,
    references,
    walk,
)
from symbolic.quantities import Domain

#: Points drawn to tell which of several conditions excludes most.
_SAMPLE = sizes.CHECK_SAMPLE


def check_count(grid: Grid) -> None:
    """Raise where there are more points than can be counted."""
    if grid.points >= 2**63:
        raise DseError(
            f"the axes make {grid.points:.3g} points, more than 64-bit indices hold: shorten an "
            "axis (optimum with method='certified' counts no points)"
        )


def check(
    grid: Grid, *, counted: bool = True, possible: bool = True, tally: Tally | None = None
) -> None:
    """Raise where a given formula leaves its domain, or no point is feasible; once a grid.

    ``counted``: the points will be counted, so that there must be less than 2**63 of them.
    ``possible``: some point must be feasible, unless the time of a tally is up before that is known
    (what is asked of the grid then tells). Formulas must be checked in time.
    """
    if counted:
        check_count(grid)
    if not grid.kept.get("formulas"):
        _check_formulas(grid, tally)
        grid.kept["formulas"] = True
    if possible and not grid.kept.get("checked"):
        try:
            dims = grid.dims(FEASIBLE)
            if grid.conditions and first(grid, grid.feasible_node, dims, tally) is None:
                raise InfeasibleError(_why_infeasible(grid, tally))
        except OutOfTimeError:
            return
        grid.kept["checked"] = True


def _why_infeasible(grid: Grid, tally: Tally | None) -> str:
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
            values = {name: np.atleast_1d(leaves[name].pick(drawn)) for name in references(node)}
            holds = interpret_arrays((node,), values)[0]
            count += int((np.broadcast_to(holds, _SAMPLE) & chosen).sum())
        met[condition.text] = count
    least = min(met, key=lambda text: met[text])
    return f"; {least!r} excludes most: {met[least]:,} of {_SAMPLE:,} points drawn meet it"


def _check_formulas(grid: Grid, tally: Tally | None) -> None:
    formulas = (
        name
        for graph in grid.graphs.values()
        for name, definition in graph.definitions.items()
        if definition.kind == "formula"
    )
    for name in dict.fromkeys(formulas):
        _check_formula(grid, name, tally)


def _check_formula(grid: Grid, name: str, tally: Tally | None) -> None:
    row = grid.model.quantity(name)
    everywhere = all(name in graph.definitions for graph in grid.graphs.values())
    dims = grid.ordered({*grid.dims(name), *(() if everywhere else grid.switch_axes)})

    def outside(key: tuple[str, ...]) -> Node:
        graph = grid.graphs[key]
        if name not in graph.definitions:  # of another switch's branch
            return constant(False)
        return outside_of(graph.flat(name), row.domain)

    point = first(grid, outside, dims, tally)
    if point is not None:
        value = float(grid.at({**dict.fromkeys(grid.axes, 0), **point}, [name])[name])
        raise DomainError(
            f"{name} = {value:g} by its formula, at {grid.describe(point) or 'every point'}, "
            f"is outside its domain {row.domain}: change the formula or the axes"
        )


def enclosed(grid: Grid, roots: Mapping[tuple[str, ...], Node]) -> None:
    """Raise where something below the roots has no enclosure, naming the quantity it is in."""
    for key, root in roots.items():
        for name in references(root):
            if grid.leaves[key][name].failed:
                why = next(iter(grid.leaves[key][name].failed.values()))
                raise DseError(
                    f"{name} has no value at some points ({why}), so that nothing can be proven: "
                    "ask method='scan', or leave these points out"
                )
    known = {*trends(), "constant", "reference"}
    for key, root in roots.items():
        missing = {node.op for node in walk((root,))} - known
        if missing:
            for name, definition in grid.graphs[key].definitions.items():
                used = {node.op for node in walk((definition.node,))} & missing
                if used:
                    raise DseError(
                        f"{name} has no enclosure, for it uses {', '.join(sorted(used))}: ask "
                        "method='scan', which looks at every point"
                    )


def outside_of(node: Node, domain: Domain) -> Node:
    """Whether a value is none of a domain."""
    below = node <= domain.low if domain.low_open else node < domain.low
    above = node >= domain.high if domain.high_open else node > domain.high
    tests = [negate(both(node >= -math.inf, node <= math.inf)), below, above]
    if domain.whole:
        tests.append(negate(equal(floor(node), node)))
    return constant(either(*tests))
