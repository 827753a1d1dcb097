"""Inputs that nobody published: assumed numbers with their possible range."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.answer import value_text
from symbolic.expression import parse_condition
from symbolic.intervals import enclose, interval_of
from symbolic.node import conjuncts
from symbolic.ops import interpret_arrays, references
from symbolic.quantities import label_index_name

if TYPE_CHECKING:
    from sweeps.grid.grid import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedInput:
    """An assumed number of a machine or workload; it may be wrong by the share ``spread``.

    ``entry`` is the name of the machine or workload, ``kind`` is ``"machine"`` or ``"workload"``,
    and ``why`` is the origin of the number.
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


def used_inputs(
    grid: Grid, assumed: Sequence[AssumedInput], where: Sequence[str] = ()
) -> tuple[AssumedInput, ...]:
    """Return the assumed inputs on which an output of a grid depends.

    An input is left out if enclosures prove that all quantities computed from it are 0, as the time
    of atomics in a kernel without atomics; or if a condition excludes its machine or workload.
    """
    used, excluded = set[str](), set[tuple[str, str]]()
    nodes = [parse_condition(text, grid.model.quantities) for text in where if assumed]
    tests = conjuncts([*(condition.node for condition in grid.conditions), *nodes])
    for kind in grid.axes.keys() & {each.kind for each in assumed}:
        index, labels = label_index_name(kind), grid.axes[kind].labels
        decided = [test for test in tests if {*references(test)} == {index}]
        masks = interpret_arrays(decided, {index: np.arange(len(labels))})
        rows = zip(labels, *masks, strict=True)
        excluded |= {(kind, label) for label, *holds in rows if not all(holds)}
    for key, graph in grid.graphs.items() if assumed else ():
        numbers = (v for v in grid.leaves[key].items() if v[1].pending_group is None)
        known = {n: leaf.array for n, leaf in numbers if leaf.array.dtype.kind in "biuf"}
        ranges = {n: interval_of(np.min(array), np.max(array)) for n, array in known.items()}
        for name in {each.name for each in assumed} & graph.ancestors(grid.outputs):
            nodes = [graph.flat(n) for n, d in graph.definitions.items() if name in d.needs]
            is_known = nodes and ranges.keys() >= {*references(*nodes)}
            boxes = enclose(nodes, ranges, outward=False) if is_known else [None]
            if any(box != (0, 0, False) for box in boxes):
                used.add(name)
    return tuple(a for a in assumed if a.name in used and (a.kind, a.entry) not in excluded)


def assumed_json(grid: Grid, assumed: Sequence[AssumedInput], where: Any = ()) -> dict[str, str]:
    """Return the attribute of a Dataset that lists its assumed inputs; an empty dict for none."""
    rows = [each.to_dict() for each in used_inputs(grid, assumed, where)]
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


def interval_text(interval: tuple[float, float], unit: str) -> str:
    """Return an interval as text."""
    return " to ".join(value_text(end, unit) for end in interval)
