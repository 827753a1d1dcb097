"""The objective of a study at some points, for each value that a rule may choose there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.rules.tree import Floats, RuleTree, evaluate_tree, node_text
from dse.study.study import StudyData
from sweeps.grid.axes import Axis
from sweeps.grid.grid import Grid
from symbolic.errors import DseError
from symbolic.expression import parse
from symbolic.ops import Node, constant, interpret_arrays, references, substitute, walk

Indices = NDArray[np.int64]
#: Factors of a term, and divisors of the quantity that is split, which are tried. Their ratios are
#: at most 2, so the best of them is near the best of all.
_FILLS, _PARTS = (1, 2, 3, 4, 6, 8), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_ROOTS = (4, 8, 12, 16, 24, 32, 40, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleProblem:
    """An objective to minimize by the choice of the values of one axis, given all other inputs."""

    study: StudyData
    grid: Grid
    objective: str
    axis: Axis
    node: Node
    conditions: tuple[Node, ...]
    _parsed: dict[str, Node] = field(default_factory=dict)

    @classmethod
    def from_study(cls, study: StudyData, objective: str, of: str) -> RuleProblem:
        """Return the problem; raise DseError if a rule for the axis cannot be written."""
        node = study._parse_formula(objective)
        grid = study.grid(references(node))
        axis = grid.axes.get(of)
        if axis is None or axis.kind != "number":
            named = ", ".join(n for n, each in grid.axes.items() if each.kind == "number")
            raise DseError(f"{of!r} is no axis of numbers of the study: choose one of {named}")
        if grid.switch_axes:
            raise DseError(f"a rule cannot depend on the switch {grid.switch_axes[0]}: fix it")
        graph, leaves = grid.graph, grid.leaves[()]
        node = graph.flatten(node)
        if of not in references(node):
            raise DseError(f"{objective} does not depend on {of}: there is nothing to choose")
        flat = [graph.flat_condition(c) for c in graph.conditions]
        flat = [node for node in flat if set(references(node)) <= leaves.keys()]
        return cls(
            study=study,
            grid=grid,
            objective=objective,
            axis=axis,
            node=node,
            conditions=tuple(flat),
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the quantities that vary with the other axes: the arguments of the rule."""
        leaves, own = self.grid.leaves[()], self.axis.name
        return tuple(n for n in references(self.node) if leaves[n].axes and n != own)

    @property
    def constants(self) -> dict[str, str]:
        """Return the quantities with one value, as texts."""
        leaves = self.grid.leaves[()]
        names = [n for n in references(self.node) if not leaves[n].axes]
        return {n: repr(float(leaves[n].array)) for n in names}

    @property
    def is_free(self) -> bool:
        """True if no constraint excludes values of the axis."""
        return not any(self.axis.name in references(node) for node in self.conditions)

    def parse(self, text: str) -> Node:
        """Return a formula of the inputs."""
        if text not in self._parsed:
            node = self.grid.graph.flatten(parse(text, self.grid.model.quantities))
            known = {*self.inputs, *self.constants}
            if other := [name for name in references(node) if name not in known]:
                raise DseError(
                    f"{text!r} depends on {other[0]}, which is no input of {self.objective}: use "
                    f"{', '.join(self.inputs)}"
                )
            self._parsed[text] = node
        return self._parsed[text]

    def formulas(self) -> list[str]:
        """Return formulas for the axis: its values, and formulas derived from the objective.

        Rounded terms in proportion to the axis, such as ``ceil(groups * splits / sms)``, give the
        largest value with the same rounded term. Rounded quotients by the axis, such as
        ``ceil(kv_tiles / splits)``, give the least value.
        """
        values = self.axis.values
        few = np.unique(np.geomspace(1, values.size, 12).round().astype(int)) - 1
        result = [repr(float(v)) for v in np.sort(values)[few]]
        if not np.array_equal(np.sort(values), np.arange(values.min(), values.max() + 1)):
            return [repr(float(v)) for v in values] if values.size <= 64 else result
        low, high = repr(float(values.min())), repr(float(values.max()))
        shares, wholes = self.terms()
        fills = [f"floor({k}.0 * {up} / {down})" for up, down in shares for k in _FILLS]
        parts = [f"ceil({whole} / {c}.0)" for whole in wholes for c in _PARTS]
        roots = [f"floor(sqrt({whole} / {c}.0))" for whole in wholes for c in _ROOTS]
        roots += [
            f"floor(sqrt({whole} * {up} / {down} / {c}.0))"
            for whole in wholes
            for up, down in shares
            for c in _ROOTS
        ]
        rounded = [
            f"floor(ceil({root} * {down} / {up}) * {up} / {down})"
            for up, down in shares
            for root in roots
        ]
        smaller = [f"minimum({a}, {b})" for a in fills[:4] for b in (*parts, *roots)]
        full = [*fills, *parts, *roots, *rounded, *smaller]
        return [*result, *(f"maximum({low}, minimum({high}, {text}))" for text in full)]

    def terms(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Return rounded terms (up, down) = axis * down / up of the objective, and quotients."""
        shares, wholes = [], []
        name = self.axis.name
        rng = np.random.default_rng(0)
        for node in walk([self.node]):
            if node.op not in ("ceil", "floor") or name not in references(node):
                continue
            inside = node.args[0]
            values = {n: rng.uniform(1, 9, 16) for n in references(inside)}
            one, two = (interpret_arrays([inside], {**values, name: k})[0] for k in (1.0, 2.0))
            once = substitute(inside, {name: constant(1.0)})
            if np.allclose(two, 2 * one) and once.op == "div":
                up, down = (node_text(_without_ones(arg), self.constants) for arg in once.args)
                shares.append((f"({down})", f"({up})"))
            elif np.allclose(2 * two, one):
                wholes.append(f"({node_text(_without_ones(once), self.constants)})")
        return shares, wholes


def _without_ones(node: Node) -> Node:
    """Return a formula without products with 1 and quotients by 1."""
    if node.op in ("mul", "div"):
        a, b = (_without_ones(arg) for arg in node.args)
        if b.op == "constant" and b.args[0] == 1:
            return a
        if node.op == "mul" and a.op == "constant" and a.args[0] == 1:
            return b
        return a * b if node.op == "mul" else a / b
    return node


class Sample:
    """Points of a problem (indices along all axes but the rule's), with the best objective."""

    def __init__(self, problem: RuleProblem, indices: dict[str, Indices]) -> None:
        self.problem, self.indices = problem, indices
        leaves = problem.grid.leaves[()]
        own = problem.axis.name
        wanted = {*references(problem.node, *problem.conditions)}
        self.values: dict[str, Any] = {
            n: leaves[n].gather(indices) if leaves[n].axes else float(leaves[n].array)
            for n in wanted
            if n != own
        }
        self.size = len(next(iter(indices.values()))) if indices else 1
        with np.errstate(all="ignore"):
            best = np.full(self.size, math.inf)
            for value in problem.axis.values:
                best = np.fmin(best, self._cost(np.full(self.size, value)))
        self.best = np.where(best < math.inf, best, math.nan)

    def _cost(self, chosen: Floats) -> Floats:
        """Return the objective at values of the axis; infinite where they are infeasible."""
        problem, values = self.problem, {**self.values, self.problem.axis.name: chosen}
        with np.errstate(all="ignore"):
            cost, *tests = interpret_arrays([problem.node, *problem.conditions], values)
        ok = np.isin(chosen, problem.axis.values)
        for test in tests:
            ok = ok & test
        return np.where(ok & ~np.isnan(cost), cost, math.inf)

    def value(self, formula: str) -> Floats:
        """Return the values of a formula of the inputs."""
        with np.errstate(all="ignore"):
            result = interpret_arrays([self.problem.parse(formula)], self.values)[0]
        return np.broadcast_to(np.asarray(result, dtype=np.float64), (self.size,))

    def regret(self, formula: str) -> Floats:
        """Return the objective at the values of a formula, divided by the best objective."""
        return self._cost(self.value(formula)) / self.best

    def regret_of(self, tree: RuleTree) -> Floats:
        """Return the regret of a rule at each point; NaN where no value is feasible."""
        return evaluate_tree(tree, self.value, self.regret)

    def select(self, mask: Any) -> dict[str, Indices]:
        """Return the indices of some points."""
        return {axis: index[mask] for axis, index in self.indices.items()}


def draw_points(problem: RuleProblem, count: int, rng: np.random.Generator) -> dict[str, Indices]:
    """Return random points: half of them with uniform, half with logarithmic indices."""
    result = {}
    kinds = rng.random(count) < 0.3
    for name, axis in problem.grid.axes.items():
        if name != problem.axis.name:
            uniform = rng.integers(0, axis.size, count)
            low = np.exp(rng.uniform(0, math.log(axis.size + 1), count)).astype(np.int64) - 1
            result[name] = np.where(kinds, uniform, np.minimum(low, axis.size - 1))
    return result


def join_points(*parts: dict[str, Indices]) -> dict[str, Indices]:
    """Return several sets of points as one."""
    return {axis: np.concatenate([part[axis] for part in parts]) for axis in parts[0]}


def near_points(problem: RuleProblem, place: dict[str, int]) -> Iterator[dict[str, Indices]]:
    """Yield a point, and its neighbors along each axis."""
    axes = [name for name in problem.grid.axes if name != problem.axis.name]
    for step in (0, 1, -1, 2, -2):
        for moved in axes if step else axes[:1]:
            at = {a: place[a] + (step if a == moved else 0) for a in axes}
            if all(0 <= at[a] < problem.grid.axes[a].size for a in axes):
                yield {a: np.array([at[a]]) for a in axes}
