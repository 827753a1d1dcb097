"""Inputs that nobody published, as random inputs: their laws, and their effect on an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.answer import value_text
from symbolic.ops import interpret_arrays

if TYPE_CHECKING:
    from sweeps.grid.grid import Grid

#: Levels of the two quantiles at the ends of an interval.
LEVELS = (0.05, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedInput:
    """An assumed number of a machine or workload; it may be wrong by the share ``spread``.

    ``entry`` is the name of the machine or workload, ``kind`` says which of both it is, and ``why``
    says where the number is from.
    """

    name: str
    kind: str
    entry: str
    value: float
    spread: float
    unit: str
    why: str

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest possible value; all values between are equally likely."""
        return self.value * (1 - self.spread), self.value * (1 + self.spread)

    @property
    def law(self) -> str:
        """The law of the random input as text, as in a study."""
        low, high = (f"{end!r} {self.unit}".rstrip() for end in self.range)
        return f"uniform: {low}, {high}"

    @property
    def text(self) -> str:
        """The input, its value and the origin of the value as text."""
        return f"{self.name} of {self.entry} = {value_text(self.value, self.unit)}, {self.why}"

    def to_dict(self) -> dict[str, Any]:
        """Return the input as plain data for JSON."""
        low, high = self.range
        row = {"quantity": self.name, "of": self.entry, "value": self.value, "unit": self.unit}
        return {**row, "low": low, "high": high, "why": self.why}


def used_inputs(grid: Grid, assumed: Sequence[AssumedInput]) -> tuple[AssumedInput, ...]:
    """Return the assumed inputs on which an output of a grid depends."""
    used = {name for g in grid.graphs.values() for name in g.ancestors(grid.outputs)}
    return tuple(each for each in assumed if each.name in used)


def assumed_json(grid: Grid, assumed: Sequence[AssumedInput]) -> dict[str, str]:
    """Return the attribute of a Dataset that lists its assumed inputs; empty if it has none."""
    rows = [each.to_dict() for each in used_inputs(grid, assumed)]
    return {"assumed": json.dumps(rows)} if rows else {}


def read_assumed(text: str) -> list[AssumedInput]:
    """Return the assumed inputs from the attribute that :func:`assumed_json` made."""
    result = []
    for row in json.loads(text or "[]"):
        value, spread = row["value"], (row["high"] - row["low"]) / 2 / abs(row["value"])
        about = {"name": row["quantity"], "kind": "machine", "entry": row["of"]}
        more = {"value": value, "spread": spread, "unit": row["unit"], "why": row["why"]}
        result.append(AssumedInput(**about, **more))
    return result


def output_intervals(
    grid: Grid, assumed: Sequence[AssumedInput], indices: Mapping[str, int], names: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return the 5 and 95 % quantiles of outputs at a point, if assumed inputs are random.

    ``indices`` are the indices of the point along each axis. Outputs that do not vary are left out.
    """
    labels = {name: a.labels[indices[name]] for name, a in grid.axes.items() if a.labels}
    here = {
        each.name: each
        for each in used_inputs(grid, assumed)
        if labels.get(each.kind, each.entry) == each.entry
    }
    key = grid.switch_labels(indices)
    graph, leaves = grid.graphs[key], grid.leaves[key]
    names = [n for n in names if n in graph.definitions and here.keys() & graph.ancestors([n])]
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
    from dse.uncertain.draws import RandomInputs
    from dse.uncertain.laws import read_input_law
    from symbolic.quantities import TABLE

    laws = {each.name: read_input_law(each.law, TABLE[each.name], each.name) for each in inputs}
    return dict(RandomInputs(laws=laws).axis().columns)


def interval_text(interval: tuple[float, float], unit: str) -> str:
    """Return an interval as text."""
    return " to ".join(value_text(end, unit) for end in interval)
