"""Checks before any work: formulas stay in their domains, and some point is feasible."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sweeps.bounds.first import first
from sweeps.bounds.infeasible import why_infeasible
from sweeps.grid.grid import FEASIBLE, Grid
from sweeps.runtime.loop import Tally
from symbolic.errors import DomainError, DseError, InfeasibleError, OutOfTimeError
from symbolic.monotone import trends
from symbolic.ops import Node, both, constant, either, equal, floor, negate, references, walk
from symbolic.quantities import Domain

__all__ = ["check", "check_count", "enclosed", "outside_of"]


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
                raise InfeasibleError(why_infeasible(grid, tally))
        except OutOfTimeError:
            return
        grid.kept["checked"] = True


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
