"""Draws of assumed inputs, and the intervals of outputs that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.inputs.assumed import AssumedInput, used_inputs
from dse.inputs.merge import StudyInputs
from dse.uncertain.draws import RandomInputs
from dse.uncertain.laws import read_input_law
from symbolic.errors import DseError
from symbolic.ops import interpret_arrays, reference
from symbolic.quantities import TABLE, Quantity
from symbolic.statistics import statistics_of

if TYPE_CHECKING:
    from sweeps.grid.grid import Grid

LEVELS = (0.05, 0.95)


def output_intervals(
    grid: Grid, assumed: Sequence[AssumedInput], indices: Mapping[str, int], names: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return the 5 and 95 % quantiles of outputs at a point, over draws of the assumed inputs."""
    labels = {name: a.labels[indices[name]] for name, a in grid.axes.items() if a.labels}
    here = {
        each.name: each
        for each in used_inputs(grid, assumed)
        if labels.get(each.kind, each.entry) == each.entry
    }
    key = grid.switch_labels(indices)
    graph, leaves = grid.graphs[key], grid.leaves[key]
    names = [n for n in names if n in graph.definitions and here.keys() & graph.ancestors([n])]
    # a statistic depends on other points, too
    names = [name for name in names if not statistics_of([graph.flat(name)])]
    if not here or not names:
        return {}
    values = {
        name: np.array([leaf.array[tuple(indices[a] for a in leaf.axes)]])
        for name, leaf in leaves.items()
        if leaf.pending_group is None
    }
    values |= draw_inputs(tuple(here.values()))
    with np.errstate(all="ignore"):
        columns = interpret_arrays([graph.flat(name) for name in names], values)
    result = {}
    for name, column in zip(names, columns, strict=True):
        drawn = np.atleast_1d(column)
        low, high = np.quantile(drawn, LEVELS).tolist() if np.isfinite(drawn).all() else (0.0, 0.0)
        if low < high and not grid.flag_meanings(name):
            result[name] = low, high
    return result


def draw_inputs(inputs: Sequence[AssumedInput]) -> dict[str, Any]:
    """Return draws of assumed inputs, by quantity."""
    laws = {each.name: read_input_law(each.law, TABLE[each.name], each.name) for each in inputs}
    return dict(RandomInputs(laws=laws).axis().columns)


def name_for_label(name: str, label: str) -> str:
    """Return the name of the random quantity for one label, such as ``l2_latency_of_l40s``."""
    return f"{name}_of_" + re.sub(r"\W", "_", label.removesuffix(".toml"))


#: Mapping from (axis, label, quantity) to the random quantity that is drawn for the label.
Drawn = Mapping[tuple[str, str, str], str]


def drawn_quantities(quantities: Mapping[str, Quantity], drawn: Drawn) -> dict[str, Quantity]:
    """Return the quantities of a model and those that are drawn for single labels of an axis."""
    if len({*drawn.values()}) < len(drawn):
        names = ", ".join(dict.fromkeys(label for _, label, _ in drawn))
        raise DseError(f"random: {names} differ in punctuation only: rename one of the files")
    return {**quantities} | {
        new: replace(quantities[name], name=new, meaning=f"{quantities[name].meaning} ({label})")
        for (_, label, name), new in drawn.items()
    }


def with_drawn(parts: StudyInputs, drawn: Drawn) -> StudyInputs:
    """Return inputs of a study in which labels take values from the quantities drawn for them."""
    tables = {kind: dict(table) for kind, table in parts.tables.items()}
    for axis in parts.axes:
        for (kind, label, name), new in drawn.items():
            if kind == axis.name:
                column = tables.setdefault(kind, {}).get(name, [None] * axis.size)
                cells = zip(axis.labels, column, strict=True)
                tables[kind][name] = [reference(new) if at == label else x for at, x in cells]
    known = [x for x in parts.assumed if (x.kind, x.entry, x.name) not in drawn]
    return replace(parts, tables=tables, assumed=tuple(known))
