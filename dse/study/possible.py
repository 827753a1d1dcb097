"""Find predictions that no machine can attain, which show a fault of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.display import select_rows
from symbolic.answer import Answer
from symbolic.expression import parse
from symbolic.ops import Node, constant, interpret_arrays, reference, references, substitute
from symbolic.physical_limits import LIMITS, TOLERANCE, PhysicalLimit

if TYPE_CHECKING:
    from dse.inputs.merge import StudyInputs
    from dse.study.study import StudyData
    from sweeps.grid.grid import Grid

#: For each axis, the index of every configuration.
Indices = Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """A limit of the hardware that predictions exceed, at most by the factor ``factor``.

    ``points`` is the mask of these predictions; ``is_given`` is True if the quantity is an input.
    """

    limit: PhysicalLimit
    factor: float
    points: NDArray[np.bool_]
    is_given: bool = False

    @property
    def text(self) -> str:
        """The limit and the factor by which it is exceeded, as text."""
        whose = "as it is given" if self.is_given else "a fault of the model"
        return (
            f"{self.limit.uses[0]} is impossible, {whose}: {self.limit.statement}; exceeded by "
            f"a factor of {self.factor:.4g} [{self.limit.least} <= {self.limit.most}]"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the limit as plain data for JSON."""
        row = {"quantity": self.limit.uses[0], "limit": self.limit.name, "factor": self.factor}
        return {**row, "points": int(self.points.sum()), "why": self.text}


def impossible_points(grid: Grid, parts: StudyInputs, indices: Indices) -> list[Impossible]:
    """Return the hardware limits that predictions exceed at configurations with equal labels."""
    count = max(map(len, indices.values()), default=1)
    first = {name: int(index[0]) for name, index in indices.items()}
    key = grid.switch_labels(first)
    graph, leaves = grid.graphs[key], grid.leaves[key]
    labels = {
        name: grid.axes[name].labels[place]
        for name, place in first.items()
        if grid.axes[name].labels
    }
    result = []
    for limit in LIMITS:
        known = graph.definitions.keys()
        if not known >= set(limit.uses) or known & set(limit.without):
            continue
        try:
            sides = [
                _over_leaves(parse(text, grid.model.quantities), grid, parts, key, labels)
                for text in (limit.least, limit.most)
            ]
        except LookupError:
            continue
        roots = [*sides, grid.feasible_node(key)]
        names = references(*roots)
        if any(leaves[name].pending_group is not None for name in names):
            continue
        values = {name: np.atleast_1d(leaves[name].gather(indices)) for name in names}
        with np.errstate(all="ignore"):
            columns = interpret_arrays(roots, values)
            least, most, feasible = (np.broadcast_to(each, (count,)) for each in columns)
            wrong = (least > most * (1 + TOLERANCE)) & feasible
            if wrong.any():
                factor = float(np.max(least[wrong] / most[wrong]))
                given = graph.definitions[limit.uses[0]].equation is None
                result.append(Impossible(limit=limit, factor=factor, points=wrong, is_given=given))
    return result


def _over_leaves(
    node: Node, grid: Grid, parts: StudyInputs, key: tuple[str, ...], labels: Mapping[str, str]
) -> Node:
    """Return a formula over the leaves of a grid; raise LookupError for an unknown quantity."""
    graph, nodes = grid.graphs[key], {}
    for name in references(node):
        if name in graph.definitions:
            nodes[name] = graph.flat(name)
            continue
        value = _given_value(name, grid, parts, labels)
        is_node = isinstance(value, Node)
        nodes[name] = (
            _over_leaves(value, grid, parts, key, labels) if is_node else constant(float(value))
        )
    return constant(substitute(node, nodes))


def _given_value(name: str, grid: Grid, parts: StudyInputs, labels: Mapping[str, str]) -> Any:
    """Return a quantity that the model does not need; raise LookupError if it has no value."""
    value: Any = parts.values.get(name)
    for axis, table in parts.tables.items():
        known = next((a.labels for a in parts.axes if a.name == axis), ())
        if name in table and labels.get(axis) in known:
            value = table[name][known.index(labels[axis])]
    row = grid.model.quantity(name)
    if value is None and name != "fp_insts":  # the default of fp_insts may count other instructions
        value = reference(row.default) if isinstance(row.default, str) else row.default
    if isinstance(value, bool) or not isinstance(value, (int, float, Node)):
        raise LookupError(name)
    return value


def impossible_rows(study: StudyData, indices: Indices) -> list[Impossible]:
    """Return the hardware limits that predictions of a study exceed at some configurations."""
    if study.random_inputs is not None:
        return []  # statistics over random inputs cannot be checked
    grid = study.grid()
    count = max(map(len, indices.values()), default=1)
    split = [name for name, axis in grid.axes.items() if axis.labels]
    keys = np.array([indices[name] for name in split], dtype=int).reshape(len(split), count)
    worst: dict[PhysicalLimit, Impossible] = {}
    for column in {tuple(each) for each in keys.T.tolist()}:
        chosen = np.flatnonzero(np.all(keys == np.reshape(column, (-1, 1)), axis=0))
        part = {name: index[chosen] for name, index in indices.items()}
        for each in impossible_points(grid, study._parts, part):
            points = np.zeros(count, dtype=bool)
            points[chosen] = each.points
            before = worst.get(each.limit, replace(each, factor=0.0, points=~points & points))
            factor, points = max(each.factor, before.factor), points | before.points
            worst[each.limit] = replace(each, factor=factor, points=points)
    return list(worst.values())


def all_indices(grid: Grid) -> dict[str, NDArray[np.int64]]:
    """Return the indices of all points of a grid, by axis."""
    shape = tuple(axis.size for axis in grid.axes.values())
    places = np.indices(shape, dtype=np.int64).reshape(len(shape), math.prod(shape))
    return dict(zip(grid.axes, places, strict=True))


def impossible_winners(study: StudyData, rows: Sequence[Mapping[str, Any]]) -> list[Impossible]:
    """Return the limits that rows of an answer exceed; an empty list if the rows lack an axis."""
    from dse.arguments import axis_indices

    grid = study.grid()
    if not rows or not grid.axes.keys() <= rows[0].keys():
        return []
    there = [row for row in rows if all(row[name] == row[name] for name in grid.axes)]
    if not there:
        return []
    at = [axis_indices(grid, {name: row[name] for name in grid.axes}) for row in there]
    return impossible_rows(study, {n: np.array([one[n] for one in at]) for n in grid.axes})


def without_impossible(answer: Answer, passed: Sequence[Impossible]) -> Answer:
    """Return the answer of a Dataset without the values that are impossible."""
    if not passed:
        return answer
    rows = [dict(row) for row in answer.data["rows"]]
    for each in passed:
        name = each.limit.uses[0]
        for at in np.flatnonzero(each.points) if name in rows[0] and not each.is_given else ():
            rows[at][name] = None
    shown = [{name: "impossible" if v is None else v for name, v in row.items()} for row in rows]
    return replace(select_rows(answer, shown), data={**answer.data, "rows": rows})
