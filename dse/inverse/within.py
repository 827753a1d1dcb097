"""Outputs between certified ends, where some inputs are known within ±."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.inverse.ends import uncertain_input
from dse.inverse.opening import opened
from stochastic import sizes
from sweeps.bounds.check import check, enclosed
from sweeps.grid.dataset import assemble, axis_coordinates, describe
from sweeps.grid.goals import Goal, dims_of
from sweeps.grid.grid import Grid
from sweeps.prove.tolerances import Uncertain, can_be_best, extremes, spread_dims
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.expression import parse
from symbolic.ops import Node, both, constant, references, where

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

#: Most configurations of an answer; parts into which the space of the inputs is cut for the best.
MOST, CELLS = sizes.WITHIN_MOST, sizes.WITHIN_CELLS
ENDS = ("lower", "given", "upper")


def ranged(
    study: StudyData,
    within: Mapping[str, Any],
    outputs: Sequence[str] | None,
    goal: Goal | None,
    where: tuple[str, ...],
) -> xr.Dataset:
    """Enclose outputs; see :func:`dse.ranges`."""
    if not isinstance(within, Mapping) or not within:
        raise DseError(f"within = {within!r}: expected inputs, such as {{'mem_bandwidth': '5 %'}}")
    quantities = study.grid().model.quantities
    named = tuple(study.grid().outputs if outputs is None else outputs)
    texts = [*named, *([goal.text] if goal is not None else [])]
    needed = [n for text in texts for n in references(parse(text, quantities))]
    grid = study.grid(needed, where)
    for name in within:
        if not any(name in graph.definitions for graph in grid.graphs.values()):
            known = [*grid.graph.definitions]
            raise UnknownNameError(
                f"within: nothing asked depends on {name!r}{nearest(name, known)}"
            )
        if name not in quantities or quantities[name].is_label:
            raise DseError(f"within: the values of {name} are no numbers")
        if grid.flags(name):
            raise DseError(f"within: {name} tells cases, not amounts: name what it is made of")
    grid = opened(study, grid, list(within), needed, where)
    fixed = [text for text in named if text in within or text in axis_coordinates(grid)]
    if fixed and outputs is not None:
        raise DseError(f"{fixed[0]} is given, not computed: ask for outputs that depend on it")
    named = tuple(text for text in named if text not in fixed)
    flags = [text for text in named if text in quantities and grid.kind(text) != "float"]
    if flags and outputs is not None:
        raise DseError(f"{flags[0]} tells cases, not amounts: ask dse.borders where it changes")
    named = tuple(text for text in named if text not in flags)
    check(grid)
    inputs = [uncertain_input(grid, quantities[name], spec) for name, spec in within.items()]
    if goal and outputs is None and math.prod(grid.shape(dims_of(grid, [goal]))) > MOST:
        from dse.inverse.rivalry import rivalry

        told = json.dumps({name: str(spec) for name, spec in within.items()})
        return rivalry(study, grid, goal, inputs).assign_attrs(within=told)
    variables: dict[str, Any] = {}
    for text in named:
        _add(variables, grid, text, _roots(grid, text), inputs)
    held: Any = (np.array(True), np.array(True))
    dims: tuple[str, ...] = ()
    if grid.conditions:
        feasible = {key: grid.feasible_node(key) for key in grid.graphs}
        dims = _checked_dims(grid, feasible)
        low, high = extremes(grid, feasible, dims, inputs, {})
        held = (low == 1, high == 1)
        texts_of = "; ".join(condition.text for condition in grid.conditions)
        for name, array, said in (
            ("certainly_feasible", held[0], "whatever the inputs, every rule and constraint holds"),
            ("possibly_feasible", held[1], "every rule and constraint may hold"),
        ):
            variables[name] = (dims, array, {"long_name": said, "conditions": texts_of})
    if goal is not None:
        variables["can_be_best"] = _best(grid, goal, inputs, dims, held)
    from dse.provenance import version

    attributes = {
        "question": f"ranges of {', '.join(named)}",
        "within": json.dumps({name: str(spec) for name, spec in within.items()}),
        "model": study.model,
        "study": study.text(),
        "simt_dse_version": version(),
    }
    if goal is not None:
        attributes["objective"] = f"{'minimize' if goal.sign > 0 else 'maximize'} {goal.text}"
    taken = [name for name in ("end", *variables) if name in grid.axes]
    if taken:
        raise DseError(f"the axis {taken[0]} has a name that the answer needs: call it otherwise")
    used = {dim for dims_, *_ in variables.values() for dim in dims_}
    coords: dict[str, Any] = {
        name: entry for name, entry in axis_coordinates(grid).items() if entry[0] in used
    }
    if "end" in used:
        coords["end"] = list(ENDS)
    return assemble(variables, coords, attributes)


def _roots(grid: Grid, text: str) -> dict[tuple[str, ...], Node]:
    node = parse(text, grid.model.quantities)
    return {key: graph.flattened(node) for key, graph in grid.graphs.items()}


def _checked_dims(grid: Grid, roots: Mapping[tuple[str, ...], Node]) -> tuple[str, ...]:
    enclosed(grid, roots)
    dims = spread_dims(grid, roots)
    points = math.prod(grid.shape(dims))
    if points > MOST:
        raise DseError(
            f"{points:,} configurations are more than are enclosed one by one ({MOST:,}): shorten "
            "the axes"
        )
    return dims


def _add(
    variables: dict[str, Any],
    grid: Grid,
    text: str,
    roots: Mapping[tuple[str, ...], Node],
    inputs: Sequence[Uncertain],
) -> None:
    """An output: lower, given, upper."""
    dims = _checked_dims(grid, roots)
    rules = {}
    for key, graph in grid.graphs.items():
        held = [c for c in graph.conditions if c.is_rule]
        held = [c for c in held if set(grid.condition_dims(c)) <= set(dims)]
        if held:
            rules[key] = constant(both(*(graph.flat_condition(c) for c in held)))
    low, high = extremes(grid, roots, dims, inputs, rules)
    low, high = (np.where(low > high, math.nan, end) for end in (low, high))
    given = np.empty(grid.shape(dims))
    for key, piece in grid.pieces(given, dims):
        piece[...] = grid.evaluate([roots[key]], key, grid.plain(dims))[0]
    known = text in grid.model.quantities
    said = describe(grid, text) if known else {"long_name": text}
    variables[text] = (("end", *dims), np.stack([low, given, high]), said)


def _best(
    grid: Grid, goal: Goal, inputs: Sequence[Uncertain], over: tuple[str, ...], held: Any
) -> tuple[Any, ...]:
    """Which configurations may be the best, over the axes of the goal and of the conditions."""
    roots = _roots(grid, goal.text)
    if goal.sign < 0:
        roots = {key: constant(-1.0 * root) for key, root in roots.items()}
    # nowhere the best: no number, or infinite
    roots = {k: constant(where(root > -math.inf, root, math.inf)) for k, root in roots.items()}
    dims = grid.ordered({*_checked_dims(grid, roots), *over})
    if math.prod(grid.shape(dims)) > MOST:
        raise DseError(f"the configurations are more than {MOST:,}: shorten the axes")
    shape = [grid.axes[dim].size if dim in over else 1 for dim in dims]
    sure, may = (np.broadcast_to(h.reshape(shape), grid.shape(dims)) for h in held)
    found = can_be_best(grid, roots, dims, inputs, (sure, may), CELLS)
    said = f"whether it can be the best by {goal.text}, for some values of the inputs"
    return dims, found, {"long_name": said}
