"""Find the first point where a condition holds, in order to check domains and feasibility."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.merge_axes import merge_axes
from sweeps.bounds.problem import Indices, Key, MergedProblem, Roots
from sweeps.bounds.search import Incumbent, search
from sweeps.grid.grid import FEASIBLE, Grid, Tiling, unravel
from sweeps.runtime.search_loop import SearchStats
from symbolic.answer import value_text
from symbolic.errors import DomainError, DseError, InfeasibleError, OutOfTimeError
from symbolic.graph import Condition
from symbolic.intervals import trend_algebra
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
    where,
)
from symbolic.quantities import Domain

_BLOCK_POINTS, _FIRST_BLOCK_POINTS = sizes.FIRST_BLOCK, sizes.FIRST_GLANCE
_MAX_SCAN_POINTS = sizes.FIRST_MANY
_SAMPLE = sizes.CHECK_SAMPLE


def first_point(
    grid: Grid, condition: Any, dims: Sequence[str], stats: SearchStats | None = None
) -> dict[str, int] | None:
    """Return the first point over the axes ``dims`` where a condition holds, or None.

    ``condition`` is a function from switch labels to a node. If the time is up before a point is
    proven to be the first, OutOfTimeError is raised.
    """
    best: tuple[int, ...] | None = None
    for at, key in grid.keys(dims):
        plain = grid.non_switch_axes(dims)
        result = _first_point_of_case(grid, condition(key), key, plain, stats or SearchStats())
        if result is not None:
            point = {**at, **result}
            place = tuple(point[d] for d in dims)
            best = place if best is None else min(best, place)
    return None if best is None else dict(zip(dims, best, strict=True))


def _first_point_of_case(
    grid: Grid, node: Node, key: Key, axes: Sequence[str], stats: SearchStats
) -> dict[str, int] | None:
    used = grid.sort_axes(grid.node_dims(node, key) & set(axes))
    shape = grid.shape(used) or (1,)
    first, blocks = (Tiling(shape[:-1], shape[-1], n) for n in (_FIRST_BLOCK_POINTS, _BLOCK_POINTS))
    many = math.prod(shape) > _MAX_SCAN_POINTS
    for tiling, count in ((first, 1), (blocks, 0 if many else blocks.count)):
        for number in range(count):
            bounds = tiling.bounds(number)[0].reshape(-1, 2)
            place = _first_point_in_box(grid, node, key, used, bounds)
            if place is not None:
                return {**dict.fromkeys(axes, 0), **dict(zip(used, place, strict=False))}
            if stats.is_late and number + 1 < tiling.count:
                raise _domain_time_error()
    if not many:
        return None
    root = constant(where(node, 0.0, math.inf))  # search for a point with the value 0
    with np.errstate(all="ignore"):
        sizes = {axis: grid.axes[axis].size for axis in used}
        space = merge_axes(root, grid.leaves[key], sizes, {}, stats)
        result, proven = first_configuration(space, used, None, 0.0, stats)
    if result is None and not proven:
        raise _domain_time_error()
    return None if result is None else {**dict.fromkeys(axes, 0), **result}


def _domain_time_error() -> OutOfTimeError:
    return OutOfTimeError(
        "it was not proven in time that all formulas stay in their domains: give more time"
    )


def _first_point_in_box(
    grid: Grid, node: Node, key: Key, axes: Sequence[str], bounds: Indices
) -> list[int] | None:
    values = {}
    box = {axis: slice(*ends) for axis, ends in zip(axes, bounds.tolist(), strict=False)}
    for name in references(node):
        values[name] = np.atleast_1d(grid.leaves[key][name].slice_axes(box).align_to(axes))
    holds = interpret_arrays((node,), values)[0]
    sizes = tuple(bounds[:, 1] - bounds[:, 0])
    holds = np.broadcast_to(holds, sizes)
    if not holds.any():
        return None
    place = unravel(int(np.argmax(holds.reshape(-1))), sizes)
    return [int(low + step) for low, step in zip(bounds[:, 0], place, strict=True)]


# --- Find the first of equal configurations, one axis after the other


def _find_as_low(
    space: MergedProblem, target: float, stats: SearchStats
) -> tuple[dict[str, int] | None, bool]:
    """Return a point whose value is at most ``target`` (or None), and True if the time was up."""
    goal = Incumbent(value=float(np.nextafter(target, math.inf)), target=target)
    late = search(space.problem, goal, stats) < math.inf
    return (None, late) if goal.place is None else (space.grid_place(goal.place), False)


def lowest_along_axis(
    space: MergedProblem, axis: str, low: int, high: int, target: float, stats: SearchStats
) -> tuple[dict[str, int] | None, bool]:
    """Find the lowest index in [low, high) along ``axis`` with a value of at most ``target``.

    Return a configuration with this index (None if there is none), and True if this is proven.
    """
    number, along = space.rows_of_axis(axis)
    result: dict[str, int] | None = None
    middle = high - 1  # first search the whole range, because most searches find nothing
    while low < high:  # then search the lower half of the remaining range
        rows = np.flatnonzero((along >= low) & (along <= middle))
        earlier, late = None, False
        if rows.size:
            earlier, late = _find_as_low(space.select_rows(number, rows), target, stats)
        if late:
            return result, False
        if earlier is None:
            low = middle + 1
        else:
            result, high = earlier, earlier[axis]
        middle = (low + high - 1) // 2
    return result, True


def first_configuration(
    space: MergedProblem,
    axes: Sequence[str],
    place: Mapping[str, int] | None,
    target: float,
    stats: SearchStats,
) -> tuple[dict[str, int] | None, bool]:
    """Return the first configuration with a value of at most ``target``; and True if it is proven.

    One axis after the other is fixed at the lowest index that allows such a configuration. Of a
    merged axis only the rows are tried, because a row stands for the first of its combinations.
    ``place`` is a known configuration with a value of at most ``target``, or None.
    """
    if place is None:
        place, late = _find_as_low(space, target, stats)
        if place is None:
            return None, not late
    result = dict(place)
    for axis in axes:
        if axis in space.fixed_indices:
            continue
        earlier, proven = lowest_along_axis(space, axis, 0, result[axis], target, stats)
        result = earlier or result
        if not proven:
            return result, False
        number, along = space.rows_of_axis(axis)
        rows = np.flatnonzero(along == result[axis])
        if rows.size < along.size:
            space = space.select_rows(number, rows)
    return result, True


def check_point_count(grid: Grid) -> None:
    """Raise DseError if there are more points than 64-bit indices can count."""
    if grid.points >= 2**63:
        raise DseError(
            f"the axes make {grid.points:.3g} points, more than 64-bit indices hold: shorten an "
            "axis (optimum with method='certified' counts no points)"
        )


def check_grid(
    grid: Grid,
    *,
    count_points: bool = True,
    require_feasible: bool = True,
    stats: SearchStats | None = None,
) -> None:
    """Raise an error if a formula of the user leaves its domain, or if no point is feasible.

    Each grid is checked once. OutOfTimeError is raised if the time is up before all formulas are
    checked. If the time is up before a feasible point is found, the query reports this.
    """
    if count_points:
        check_point_count(grid)
    if not grid.cache.get("formulas"):
        for name in dict.fromkeys(
            name
            for graph in grid.graphs.values()
            for name, definition in graph.definitions.items()
            if definition.kind == "formula"
        ):
            _check_formula(grid, name, stats)
        grid.cache["formulas"] = True
    if require_feasible and not grid.cache.get("checked"):
        try:
            dims = grid.dims(FEASIBLE)
            if grid.conditions and first_point(grid, grid.feasible_node, dims, stats) is None:
                raise InfeasibleError(_why_infeasible(grid, stats))
        except OutOfTimeError:
            return
        grid.cache["checked"] = True


def _why_infeasible(grid: Grid, stats: SearchStats | None) -> str:
    lines, relax = [], False
    for condition in grid.conditions:
        dims = grid.condition_dims(condition)

        def holds(key: Key, condition: Condition = condition) -> Node:
            graph = grid.graphs[key]
            applies = any(c.text == condition.text for c in graph.conditions)
            return graph.flat_condition(condition) if applies else constant(True)

        try:
            broken = first_point(grid, holds, dims, stats) is None
        except OutOfTimeError:
            broken = False
        if broken:
            name, shown, _ = condition_at(grid, condition, dict.fromkeys(grid.axes, 0))
            lines.append(f"{name} is broken at every point (at the first: {shown})")
            relax |= not condition.is_rule
    if not lines:
        relax = True
        texts = " and ".join(repr(c.text) for c in grid.conditions)
        lines.append(f"no point satisfies {texts} together{_most_excluding_condition(grid)}")
    way_out = "change the axes or the values" + ", or relax the constraints" * relax
    return f"{'; '.join(lines)}: {way_out}"


def condition_at(
    grid: Grid, condition: Condition, point: Mapping[str, int]
) -> tuple[str, str, bool]:
    """Return a condition's name, the values of its quantities at a point, and if it holds there."""
    values = grid.evaluate_point(point, references(condition.node))
    labels = dict(grid.decode_value(name, value) for name, value in values.items())
    rows = {name: grid.model.quantity(name) for name in labels}
    shown = "; ".join(
        f"{n} = {value_text(v, rows[n].unit)}, {rows[n].meaning}" for n, v in labels.items()
    )
    kind = "the model's rule" if condition.is_rule else "the constraint"
    holds = bool(interpret_arrays([condition.node], values)[0])
    return f"{kind} {condition.text!r}", shown, holds


def _most_excluding_condition(grid: Grid) -> str:
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
            values = {name: np.atleast_1d(leaves[name].gather(drawn)) for name in references(node)}
            holds = interpret_arrays((node,), values)[0]
            count += int((np.broadcast_to(holds, _SAMPLE) & chosen).sum())
        met[condition.text] = count
    least = min(met, key=lambda text: met[text])
    return f"; {least!r} excludes most: {met[least]:,} of {_SAMPLE:,} points drawn meet it"


def _check_formula(grid: Grid, name: str, stats: SearchStats | None) -> None:
    row = grid.model.quantity(name)
    everywhere = all(name in graph.definitions for graph in grid.graphs.values())
    dims = grid.sort_axes({*grid.dims(name), *(() if everywhere else grid.switch_axes)})

    def outside(key: Key) -> Node:
        graph = grid.graphs[key]
        if name not in graph.definitions:  # the formula exists under other switch labels only
            return constant(False)
        return outside_domain(graph.flat(name), row.domain)

    point = first_point(grid, outside, dims, stats)
    if point is not None:
        value = float(grid.evaluate_point({**dict.fromkeys(grid.axes, 0), **point}, [name])[name])
        raise DomainError(
            f"{name} = {value:g} by its formula, at {grid.describe(point) or 'every point'}, "
            f"is outside its domain {row.domain}: change the formula or the axes"
        )


def check_enclosable(grid: Grid, roots: Roots) -> None:
    """Raise an error if the formulas ``roots`` contain a primitive that has no enclosure."""
    for key, root in roots.items():
        for name in references(root):
            if grid.leaves[key][name].failures:
                why = next(iter(grid.leaves[key][name].failures.values()))
                raise DseError(
                    f"{name} has no value at some points ({why}), so nothing can be proven: "
                    "use method='scan', or leave these points out"
                )
    known = {*trend_algebra(), "constant", "reference"}
    for key, root in roots.items():
        missing = {node.op for node in walk((root,))} - known
        if missing:
            for name, definition in grid.graphs[key].definitions.items():
                used = {node.op for node in walk((definition.node,))} & missing
                if used:
                    raise DseError(
                        f"{name} has no enclosure because it uses {', '.join(sorted(used))}: use "
                        "method='scan', which evaluates every point"
                    )


def outside_domain(node: Node, domain: Domain) -> Node:
    """Return a condition that is true where a node's value lies outside its domain."""
    below = node <= domain.low if domain.low_open else node < domain.low
    above = node >= domain.high if domain.high_open else node > domain.high
    tests = [negate(both(node >= -math.inf, node <= math.inf)), below, above]
    if domain.whole:
        tests.append(negate(equal(floor(node), node)))
    return constant(either(*tests))
