"""Find boxes of configurations that meet targets, and bound outputs under tolerances."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dse.inputs.provenance import version
from dse.study.random import drop_axes
from stochastic import sizes
from sweeps.bounds.checks import check_enclosable, check_grid
from sweeps.bounds.statistics_as_formulas import expand_statistics, unexpanded_statistic
from sweeps.certify.targets import CertifiedBoxes, certified_boxes
from sweeps.certify.tolerances import UncertainInput, can_be_best, output_ranges, root_axes
from sweeps.grid.dataset import assemble, axis_coordinates, variable_attributes
from sweeps.grid.goals import Goal, describe_goals, dims_of, objective_node, per_axes
from sweeps.grid.grid import FEASIBLE, Grid, Leaf, ravel, subgrid
from sweeps.nest.statistics import compute_statistics
from sweeps.query.support_table import reject_statistic
from sweeps.runtime.search_loop import SearchStats
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.expression import parse, parse_value
from symbolic.ops import Node, both, constant, references, where
from symbolic.statistics import DRAW

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.study import StudyData
    from symbolic.quantities import Quantity

Inputs: TypeAlias = Sequence[UncertainInput]
MAX_POINTS = sizes.WITHIN_MOST
ENDS = ("lower", "given", "upper")


def answer_attributes(study: StudyData, question: str, **more: Any) -> dict[str, Any]:
    """Return the attributes of an answer: the question, ``more``, and attributes of the study."""
    identity = {"model": study.model, "study": study.text(), "simt_dse_version": version()}
    return {"question": question, **more, **identity}


def meets_of(
    study: StudyData,
    targets: tuple[str, ...],
    max_boxes: Any,
    time_limit: Any,
    where: tuple[str, ...] = (),
    per: tuple[str, ...] = (),
) -> xr.Dataset:
    """Find the boxes that meet targets; see :func:`dse.meets`."""
    if isinstance(max_boxes, bool) or not isinstance(max_boxes, int) or max_boxes < 1:
        raise DseError(f"boxes = {max_boxes!r}: expected a whole number of at least 1")
    wrong = isinstance(time_limit, bool) or not isinstance(time_limit, (int, float))
    if time_limit is not None and (wrong or not time_limit >= 0):
        raise DseError(f"time_limit = {time_limit!r}: expected seconds")
    tally = SearchStats.start(time_limit)
    grid = study.grid((), (*targets, *where))
    if not (targets or where or study.where):
        raise DseError("no target is given: name one, such as 'time <= 2 ms'")
    grid = expand_statistics(grid)
    roots = {key: grid.feasible_node(key) for key in grid.graphs}
    reject_statistic(unexpanded_statistic(grid, roots), "many")
    check_enclosable(grid, roots)
    check_grid(study.grid(), count_points=False, stats=tally)
    labels = per_axes(per, tuple(grid.axes))
    boxes = _find_boxes(grid, labels, max_boxes, tally)
    return boxes_dataset(study, grid, targets, boxes, labels)


def _find_boxes(grid: Grid, per: Sequence[str], count: int, tally: SearchStats) -> CertifiedBoxes:
    parts = []
    dims = grid.sort_axes({*grid.dims(FEASIBLE), *per})
    shape = grid.shape(per)
    for cell in np.ndindex(*shape):
        at = dict(zip(per, cell, strict=True))
        sub = subgrid(grid, at)
        roots = {key: sub.feasible_node(key) for key in sub.graphs}
        part_count = max(count // math.prod(shape), 1)
        result = certified_boxes(sub, roots, dims, tally, max_boxes=part_count)
        for axis, index in at.items():
            result.lo[dims.index(axis)] = result.hi[dims.index(axis)] = index
        parts.append(result)
    return CertifiedBoxes(
        dims=dims,
        lo=np.concatenate([part.lo for part in parts], axis=1),
        hi=np.concatenate([part.hi for part in parts], axis=1),
        certain=np.concatenate([part.certain for part in parts]),
        boxes_bounded=sum(part.boxes_bounded for part in parts),
        complete=all(part.complete for part in parts),
    )


def _box_sizes(boxes: CertifiedBoxes) -> list[int]:
    return [math.prod(row) for row in (boxes.hi - boxes.lo + 1).T.tolist()]


def box_order(boxes: CertifiedBoxes) -> Any:
    """Return the order of boxes: proven boxes first, and large boxes before small boxes."""
    sizes = [-float(count) for count in _box_sizes(boxes)]
    order = np.lexsort([*(-row for row in boxes.lo[::-1]), sizes])
    return order[np.argsort(~boxes.certain[order], kind="stable")]


def boxes_dataset(
    study: StudyData,
    grid: Grid,
    targets: tuple[str, ...],
    boxes: CertifiedBoxes,
    per: tuple[str, ...] = (),
) -> xr.Dataset:
    """Return a Dataset of boxes, and of the numbers of configurations for each value of ``per``."""
    idle = math.prod(axis.size for name, axis in grid.axes.items() if name not in boxes.dims)
    counts = [idle * count for count in _box_sizes(boxes)]
    order = box_order(boxes)
    variables: dict[str, Any] = {}
    coordinates = axis_coordinates(grid)
    for name, axis in grid.axes.items():
        _, values, attrs = coordinates[name]
        for side, places in (("first", boxes.lo), ("last", boxes.hi)):
            end = 0 if side == "first" else axis.size - 1
            row = places[boxes.dims.index(name)][order] if name in boxes.dims else None
            index = np.full(order.size, end) if row is None else row
            text = f"{attrs['long_name']}, the {side} of the box"
            variables[f"{name}_{side}"] = ("box", values[index], {**attrs, "long_name": text})
    shape = grid.shape(per)
    total = grid.points // math.prod(shape)
    inner, outer = ([0] * math.prod(shape) for _ in range(2))
    rows = [boxes.lo[boxes.dims.index(axis)] for axis in per]
    for place, (count, sure) in enumerate(zip(counts, boxes.certain, strict=True)):
        cell = int(ravel([row[place] for row in rows], shape))
        inner[cell] += count if sure else 0
        outer[cell] += count
    points = [counts[place] for place in order]
    variables["certain"] = (
        "box",
        boxes.certain[order],
        {"long_name": "true if every configuration of the box meets the targets"},
    )
    variables["points"] = ("box", _count_array(points), {"long_name": "configurations of the box"})
    for name, numbers, text in (
        ("inner", inner, "configurations that certainly meet the targets"),
        ("outer", outer, "configurations that may meet the targets"),
        ("total", [total] * math.prod(shape), "configurations of the study"),
    ):
        variables[name] = (per, _count_array(numbers).reshape(shape), {"long_name": text})
    attributes = answer_attributes(
        study,
        f"configurations that meet {' and '.join(targets)}",
        targets="; ".join(targets),
        conditions="; ".join(condition.text for condition in grid.conditions),
        complete=int(boxes.complete),
        boxes_bounded=boxes.boxes_bounded,
    )
    return assemble(variables, {axis: coordinates[axis] for axis in per}, attributes)


def _count_array(counts: list[int]) -> Any:
    """Return counts as integers, or as floats if they exceed 64 bits."""
    kind = np.int64 if max(counts, default=0) < 2**63 else np.float64
    return np.array(counts, dtype=kind)


def read_tolerance(grid: Grid, row: Quantity, spec: Any) -> UncertainInput:
    """Return an uncertain input, with a lower and an upper end for each of its given values."""
    lows, highs = {}, {}
    for key, leaves in grid.leaves.items():
        leaf = leaves.get(row.name)
        if leaf is None:
            continue
        value = np.asarray(leaf.array, dtype=float)
        low, high = _tolerance_ends(row, spec, value)
        low, high = (np.clip(end, *_closed_limits(row)) for end in (low, high))
        low, high = (np.where(np.isnan(value), math.nan, end) for end in (low, high))
        if row.domain.whole:
            low, high = np.ceil(low), np.floor(high)
        if np.any((low > value) | (high < value)):
            raise DseError(f"within: {row.name} = {spec!r} does not contain the value of the study")
        lows[key] = Leaf(axes=leaf.axes, array=low, switch_axes=leaf.switch_axes)
        highs[key] = Leaf(axes=leaf.axes, array=high, switch_axes=leaf.switch_axes)
    return UncertainInput(name=row.name, low=lows, high=highs, whole=row.domain.whole)


def _closed_limits(row: Quantity) -> tuple[float, float]:
    domain = row.domain
    low = np.nextafter(domain.low, math.inf) if domain.low_open else domain.low
    high = np.nextafter(domain.high, -math.inf) if domain.high_open else domain.high
    return float(low), float(high)


def _tolerance_ends(row: Quantity, spec: Any, value: Any) -> tuple[Any, Any]:
    """Return the ends for a tolerance ``"5 %"`` or ``"3 GB/s"``, or for a pair (low, high)."""
    if isinstance(spec, (list, tuple)):
        if len(spec) != 2:
            raise DseError(f"within: {row.name} = {spec!r}: expected a lower and an upper end")
        low, high = (read_value(end, row) for end in spec)
        if math.isnan(low) or math.isnan(high):
            raise DseError(f"within: {row.name} = {spec!r}: expected a lower and an upper end")
        return np.full_like(value, min(low, high)), np.full_like(value, max(low, high))
    text = spec.replace("±", "").strip() if isinstance(spec, str) else spec
    if isinstance(text, str) and text.endswith("%"):
        try:
            share = float(text[:-1]) / 100
        except ValueError:
            hint = "; give each input separately (--within a=1% --within b=2%)" * ("=" in text)
            raise DseError(
                f"within: {row.name} = {spec!r}: expected a percentage such as '5 %'{hint}"
            ) from None
        away = np.abs(value) * share
    else:
        away = np.full_like(value, read_value(text, row))
    if not np.all((away >= 0) & np.isfinite(away) | np.isnan(value)):
        raise DseError(f"within: {row.name} = {spec!r}: expected a tolerance of 0 or more")
    return value - away, value + away


MAX_RIVAL_BOXES = sizes.RIVALRY_BOXES
_CHANCE = "bound on the chance that the box contains the best, inputs uniform and independent"
_LONG_NAMES = {
    "certain": "true if the box is one configuration that is the best for some inputs",
    "inner": "configurations that certainly can be the best",
    "outer": "configurations that may be the best",
}


def rivals_dataset(study: StudyData, grid: Grid, goal: Goal, inputs: Inputs) -> xr.Dataset:
    """Return boxes that contain all configurations that can be the best; see :func:`dse.ranges`."""
    from sweeps.certify.tolerances import possible_winners

    if grid.switch_axes:
        raise DseError(
            f"{grid.points:,} configurations can be searched only under one label of "
            f"{grid.switch_axes[0]}: set it instead of the axis"
        )
    if len(inputs) > sizes.RIVALRY_INPUTS:
        raise DseError(
            f"{grid.points:,} configurations can be searched for at most {sizes.RIVALRY_INPUTS} "
            "uncertain inputs"
        )
    check_enclosable(grid, {key: objective_node(grid, key, goal) for key in grid.graphs})
    result, shares = possible_winners(grid, goal, inputs, max_boxes=MAX_RIVAL_BOXES)
    ds, order = boxes_dataset(study, grid, (), result), box_order(result)
    for name, row in zip(("chance_lower", "chance_upper"), shares, strict=True):
        ds[name] = ("box", row[order], {"units": "1", "long_name": _CHANCE})
    for name, text in _LONG_NAMES.items():
        ds[name].attrs["long_name"] = text
    objective = describe_goals([goal])
    question = f"which can be the best: {objective}"
    return ds.assign_attrs(question=question, objective=objective, targets="")


def read_value(value: Any, row: Quantity) -> float:
    """Parse one value of a quantity: a number, or text with a unit."""
    result = parse_value(value, row, {}) if isinstance(value, str) else value
    if isinstance(result, bool) or not isinstance(result, (int, float, np.number)):
        raise DseError(f"{row.name} = {value!r}: expected a number, with or without a unit")
    return float(result)


def free_quantities(
    study: StudyData,
    grid: Grid,
    names: Sequence[str],
    outputs: Sequence[str],
    where: tuple[str, ...],
) -> Grid:
    """Return ``grid`` with the named quantities as inputs, which keep their present values."""
    parts = study._parts
    values = dict(parts.values)
    tables: dict[str, Mapping[str, Any]] = {axis: dict(t) for axis, t in parts.tables.items()}
    pinned = False
    for name in names:
        kinds = {g.definitions[name].kind for g in grid.graphs.values() if name in g.definitions}
        if kinds <= {"given", "default"}:
            continue
        if "table" in kinds:
            raise DseError(f"{name} comes from a table: vary the inputs of the table instead")
        dims = grid.dims(name)
        array = np.empty(grid.shape(dims))
        for key, piece in grid.split_by_switches(array, dims):
            if name in grid.graphs[key].definitions:
                root = grid.graphs[key].flat(name)
                piece[...] = grid.evaluate([root], key, grid.non_switch_axes(dims))[0]
        values[name] = Leaf(axes=dims, array=array)
        tables = {a: {n: c for n, c in t.items() if n != name} for a, t in tables.items()}
        pinned = True
    if not pinned:
        return _expand_statistics(grid, names)
    result = parts.build_grid(
        values=values,
        tables=tables,
        outputs=[name for name in dict.fromkeys([*grid.outputs, *outputs]) if name not in names],
        constraints=tuple(dict.fromkeys([*study.where, *where])),
        compute_statistics=compute_statistics,
    )
    return _expand_statistics(drop_axes(result, {DRAW}), names)


def _expand_statistics(grid: Grid, names: Sequence[str]) -> Grid:
    """Return the grid with statistics written as formulas, so that they change with the inputs."""
    whole = expand_statistics(grid, inputs_move=True)
    for graph, leaves in zip(whole.graphs.values(), whole.leaves.values(), strict=True):
        for stat in graph.statistics:
            reject_statistic(stat if graph.ancestors([stat]) & set(names) else "", "moved")
        for name in names:
            if apart := [n for n in leaves if n.startswith(f"{name} at ")]:
                raise DseError(
                    f"{name} differs along the axes of a statistic ({apart[0]}), so it has no "
                    "single value to vary: leave out the statistic, or these axes"
                )
    return whole


def ranges_of(
    study: StudyData,
    within: Mapping[str, Any],
    outputs: Sequence[str] | None,
    goal: Goal | None,
    where: tuple[str, ...],
) -> xr.Dataset:
    """Return bounds on outputs for inputs with tolerances; see :func:`dse.ranges`."""
    if not isinstance(within, Mapping) or not within:
        raise DseError(f"within = {within!r}: expected inputs, such as {{'mem_bandwidth': '5 %'}}")
    quantities = study.grid().model.quantities
    named = tuple(study.grid().outputs if outputs is None else outputs)
    texts = [*named, *([goal.text] if goal is not None else [])]
    needed = [n for text in texts for n in references(parse(text, quantities))]
    grid = study.grid(needed, where)
    for name in within:
        if not any(name in graph.definitions for graph in grid.graphs.values()):
            hint = nearest_hint(name, [*grid.graph.definitions])
            raise UnknownNameError(f"within: no output depends on {name!r}{hint}")
        if name not in quantities or quantities[name].is_label:
            raise DseError(f"within: the values of {name} are no numbers")
        if grid.flag_meanings(name):
            raise DseError(f"within: {name} is a case, not a number: name its inputs")
    grid = free_quantities(study, grid, list(within), needed, where)
    fixed = [text for text in named if text in within or text in axis_coordinates(grid)]
    if fixed and outputs is not None:
        raise DseError(f"{fixed[0]} is an input: name outputs that depend on it")
    named = tuple(text for text in named if text not in fixed)
    flags = [text for text in named if text in quantities and grid.kind(text) != "float"]
    if flags and outputs is not None:
        raise DseError(f"{flags[0]} is a case, not a number: dse.borders finds where it changes")
    named = tuple(text for text in named if text not in flags)
    check_grid(grid)
    inputs = [read_tolerance(grid, quantities[name], spec) for name, spec in within.items()]
    tolerances = json.dumps({name: str(spec) for name, spec in within.items()})
    if goal and outputs is None and math.prod(grid.shape(dims_of(grid, [goal]))) > MAX_POINTS:
        return rivals_dataset(study, grid, goal, inputs).assign_attrs(within=tolerances)
    variables: dict[str, Any] = {}
    dims: tuple[str, ...]
    for text in named:
        roots = _roots(grid, text)
        dims, rules = _check_dims(grid, roots), {}
        for key, graph in grid.graphs.items():
            nodes = [
                graph.flat_condition(c)
                for c in graph.conditions
                if c.is_rule and set(grid.condition_dims(c)) <= set(dims)
            ]
            if nodes:
                rules[key] = constant(both(*nodes))
        low, high = output_ranges(grid, roots, dims, inputs, rules)
        low, high = (np.where(low > high, math.nan, end) for end in (low, high))
        given = grid.evaluate_cases(roots, dims)
        attrs = variable_attributes(grid, text) if text in quantities else {"long_name": text}
        variables[text] = (("end", *dims), np.stack([low, given, high]), attrs)
    feasible: Any = (np.array(True), np.array(True))
    dims = ()
    if grid.conditions:
        roots = {key: grid.feasible_node(key) for key in grid.graphs}
        dims = _check_dims(grid, roots)
        low, high = output_ranges(grid, roots, dims, inputs, {})
        feasible = (low == 1, high == 1)
        conditions = "; ".join(condition.text for condition in grid.conditions)
        for name, array, text in (
            ("certainly_feasible", low == 1, "every rule and constraint holds for all inputs"),
            ("possibly_feasible", high == 1, "every rule and constraint may hold"),
        ):
            variables[name] = (dims, array, {"long_name": text, "conditions": conditions})
    if goal is not None:
        variables["can_be_best"] = _can_be_best_variable(grid, goal, inputs, dims, feasible)
    attributes = answer_attributes(study, f"ranges of {', '.join(named)}", within=tolerances)
    if goal is not None:
        attributes["objective"] = describe_goals([goal])
    taken = [name for name in ("end", *variables) if name in grid.axes]
    if taken:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: rename it")
    used = {dim for dims_, *_ in variables.values() for dim in dims_}
    coords: dict[str, Any] = {n: e for n, e in axis_coordinates(grid).items() if e[0] in used}
    if "end" in used:
        coords["end"] = list(ENDS)
    return assemble(variables, coords, attributes)


def _roots(grid: Grid, text: str) -> dict[tuple[str, ...], Node]:
    node = parse(text, grid.model.quantities)
    return {key: graph.flatten(node) for key, graph in grid.graphs.items()}


def _check_dims(grid: Grid, roots: Mapping[tuple[str, ...], Node]) -> tuple[str, ...]:
    check_enclosable(grid, roots)
    dims = root_axes(grid, roots)
    points = math.prod(grid.shape(dims))
    if points > MAX_POINTS:
        raise DseError(
            f"{points:,} configurations are too many (at most {MAX_POINTS:,}): shorten the axes"
        )
    return dims


def _can_be_best_variable(
    grid: Grid, goal: Goal, inputs: Inputs, condition_dims: tuple[str, ...], feasible: Any
) -> tuple[Any, ...]:
    roots = _roots(grid, goal.text)
    if goal.sign < 0:
        roots = {key: constant(-1.0 * root) for key, root in roots.items()}
    # NaN and infinities are never the best
    roots = {k: constant(where(root > -math.inf, root, math.inf)) for k, root in roots.items()}
    dims = grid.sort_axes({*_check_dims(grid, roots), *condition_dims})
    if math.prod(grid.shape(dims)) > MAX_POINTS:
        raise DseError(f"there are more than {MAX_POINTS:,} configurations: shorten the axes")
    shape = [grid.axes[dim].size if dim in condition_dims else 1 for dim in dims]
    sure, may = (np.broadcast_to(h.reshape(shape), grid.shape(dims)) for h in feasible)
    result = can_be_best(grid, roots, dims, inputs, (sure, may), sizes.WITHIN_CELLS)
    text = f"true if it can be the best by {goal.text} for some values of the inputs"
    return dims, result, {"long_name": text}
