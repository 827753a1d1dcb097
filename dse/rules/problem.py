"""Decision rules, and their problem: choose the best value of an axis at each point of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dse.study.study import StudyData
from stochastic import sizes
from sweeps.bounds.problem import Boxes, Floats, Indices, RangeExtremes
from sweeps.grid.axes import Axis
from sweeps.grid.goals import one_goal
from sweeps.grid.grid import Grid
from sweeps.grid.lazy_statistics import LazyStatistic
from sweeps.grid.replaced_axes import value_tests
from symbolic.errors import DseError
from symbolic.expression import parse
from symbolic.intervals import Interval, enclose, interval_algebra
from symbolic.node import Node, constant, references, substitute, walk
from symbolic.ops import both, ceil, floor, interpret_arrays, maximum, minimum, sqrt, where
from symbolic.statistics import StatisticName


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A leaf of a rule: it takes the first formula with the least predicted objective."""

    formulas: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A test of a rule: if the condition holds, the rule ``yes`` decides, otherwise ``no``."""

    test: Node
    yes: RuleTree
    no: RuleTree


RuleTree: TypeAlias = Choice | Threshold


def formulas_of(tree: RuleTree) -> list[Node]:
    """Return the tests of a rule, and the formulas at its leaves."""
    if isinstance(tree, Choice):
        return list(tree.formulas)
    return [tree.test, *formulas_of(tree.yes), *formulas_of(tree.no)]


_MAX_VALUES, _FEW = sizes.RULE_VALUES, sizes.RULE_CONSTANTS
#: Factors and divisors in :meth:`RuleProblem.candidates`. Neighbors differ by at most a factor of
#: 2, so one of them is near the best.
_FILLS, _PARTS = (1, 2, 3, 4, 6, 8), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_ROOTS = (4, 8, 12, 16, 24, 32, 40, 64)


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """An objective over a grid, and the axis whose value a rule chooses.

    ``node`` is the formula of the objective; it is infinite at infeasible points. ``extremes`` has
    the quantities that vary along the other axes, and ``constants`` those with a single value.
    """

    study: StudyData
    grid: Grid
    objective: str
    axis: Axis
    node: Node
    extremes: dict[str, RangeExtremes]
    constants: dict[str, Node]

    @classmethod
    def from_study(cls, study: StudyData, objective: str, of: str) -> RuleProblem:
        """Return the problem; raise DseError if a rule for the axis cannot be certified."""
        grid = study._query_grid([one_goal(objective, None)], ())
        axis = grid.axes.get(of)
        if axis is None or axis.kind != "number":
            named = ", ".join(n for n, each in grid.axes.items() if each.kind == "number")
            raise DseError(f"{of!r} is no axis of numbers of the study: choose one of {named}")
        if grid.switch_axes:
            raise DseError(f"a rule cannot depend on the switch {grid.switch_axes[0]}: fix it")
        if axis.size > _MAX_VALUES:
            raise DseError(
                f"{of} has {axis.size:,} values, and a rule chooses among {_MAX_VALUES:,} at most: "
                "shorten the axis"
            )
        leaves, others = grid.leaves[()], [name for name in grid.axes if name != of]
        node = study._parse_formula(objective)
        if folded := [n for n in references(node) if isinstance(n, StatisticName)]:
            raise DseError(f"a rule has no objective with {folded[0]}: use values at single points")
        node = grid.graph.flatten(node)
        feasible = constant(both(grid.feasible_node(()), *grid.no_failure_nodes(node, ())))
        constants, extremes = dict[str, Node](), dict[str, RangeExtremes]()
        for name, leaf in leaves.items():
            if isinstance(leaf, LazyStatistic) or (of in leaf.axes and name != of):
                if name in references(node, feasible):
                    raise DseError(f"{name} is a table along {of}: a rule needs a formula of {of}")
            elif not leaf.axes:
                constants[name] = constant(float(leaf.array))
            elif name != of:
                extremes[name] = RangeExtremes(leaf, [others.index(a) for a in leaf.axes])
        node, feasible = (_fold(substitute(each, constants)) for each in (node, feasible))
        if feasible is not constant(True):
            node = constant(where(feasible, node, math.inf))
        known = {*interval_algebra(), "constant", "reference"}
        if bad := [step.op for step in walk([node]) if step.op not in known]:
            raise DseError(f"{objective} has no bounds over boxes, because of {bad[0]}")
        if of not in references(node):
            raise DseError(f"{objective} does not depend on {of}: there is nothing to choose")
        if not extremes:
            raise DseError(f"{of} is the only axis, so a rule has no inputs: use optimum")
        return cls(study, grid, objective, axis, node, extremes, constants)

    @property
    def whole_box(self) -> Boxes:
        """Return the box of all points of the other axes."""
        ends = np.array([[axis.size - 1] for axis in self.other_axes], dtype=np.int64)
        return Boxes(0 * ends, ends)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the arguments of the rule: quantities that vary along the other axes."""
        return tuple(n for n in references(self.node) if n != self.axis.name)

    @property
    def other_axes(self) -> list[Axis]:
        """Return the axes that the rule does not choose."""
        return [axis for name, axis in self.grid.axes.items() if name != self.axis.name]

    @property
    def used_constants(self) -> dict[str, Node]:
        """Return the constants on which the objective depends."""
        needed = references(self.grid.graph.flatten(self.study._parse_formula(self.objective)))
        return {name: node for name, node in self.constants.items() if name in needed}

    def parse(self, text: str, read: Callable[..., Node] = parse) -> Node:
        """Parse a formula of the inputs, and replace constants by their values."""
        node, graph = read(text, self.grid.model.quantities), self.grid.graph
        other = [name for name in references(node) if name not in graph.definitions]
        if not other:
            node = _fold(substitute(graph.flatten(node), self.constants))
            other = [name for name in references(node) if name not in self.extremes]
        if other:
            raise DseError(
                f"a rule for {self.axis.name} depends on {other[0]}, which is no axis or value of "
                f"the study: use {', '.join(self.inputs)}"
            )
        return node

    def has_whole_values(self, name: str) -> bool:
        """True if all values of an input are whole."""
        array = self.extremes[name].array
        return bool(np.all(array == np.floor(array)))

    def is_value(self, rule: Node) -> Node:
        """Return the condition that the value of a formula is a value of the axis."""
        return _fold(constant(both(*value_tests(rule, self.axis, self.grid.model.quantities))))

    def point(self, place: Sequence[int]) -> dict[str, Any]:
        """Return the values of the other axes at the indices ``place``."""
        pairs = zip(self.other_axes, place, strict=True)
        return {axis.name: axis.coordinate[at].item() for axis, at in pairs}

    def candidates(self) -> list[Node]:
        """Return formulas that may be leaves: values of the axis, and formulas from the objective.

        If the objective rounds a multiple of the axis, as ``ceil(groups * splits / sms)`` does, a
        formula is the largest value of the axis with the same rounded term. If it rounds a quotient
        by the axis, as ``ceil(kv_tiles / splits)`` does, a formula is the least such value.
        """
        values = np.sort(self.axis.values)
        some = np.unique(np.geomspace(1, values.size, _FEW).round().astype(int)) - 1
        some = np.arange(values.size) if values.size <= _FEW else some
        result = [constant(float(value)) for value in values[some]]
        if not np.array_equal(values, np.arange(values[0], values[0] + values.size)):
            return result
        caps, wholes = self.rounded_terms()
        fills = [floor(float(k) * cap) for cap in caps for k in _FILLS]
        parts = [ceil(whole / float(c)) for whole in wholes for c in _PARTS]
        inside = [whole * cap for whole in wholes for cap in caps] + wholes
        roots = [floor(sqrt(each / float(c))) for each in inside for c in _ROOTS]
        rounded = [floor(ceil(root / cap) * cap) for cap in caps for root in roots]
        smaller = [minimum(a, b) for a in fills[:4] for b in (*parts, *roots)]
        full = [*fills, *parts, *roots, *rounded, *smaller]
        low, high = float(values[0]), float(values[-1])
        return [*result, *(_fold(maximum(low, minimum(high, node))) for node in full)]

    def rounded_terms(self) -> tuple[list[Node], list[Node]]:
        """Return b / a for each rounded a * axis / b in the objective, and c for each c / axis."""
        caps, wholes, name = [], [], self.axis.name
        rng = np.random.default_rng(0)
        for node in walk([self.node]):
            if node.op not in ("ceil", "floor") or name not in references(node):
                continue
            inside = node.args[0]
            values = {n: rng.uniform(1, 9, 16) for n in references(inside)}
            one, two = (interpret_arrays([inside], {**values, name: k})[0] for k in (1.0, 2.0))
            once = _fold(substitute(inside, {name: constant(1.0)}))
            if np.allclose(two, 2 * one):
                caps.append(once.args[1] / once.args[0] if once.op == "div" else 1.0 / once)
            elif np.allclose(2 * two, one):
                wholes.append(once)
        return caps, wholes


def _fold(root: Node) -> Node:
    """Simplify a formula: compute its constants, and drop factors and divisors of 1."""
    done: dict[int, Node] = {}
    one = constant(1.0)
    for node in walk([root]):
        args = [done[id(arg)] for arg in node.args] if node.op in interval_algebra() else []
        if node.op == "constant" and not isinstance(node.args[0], bool):
            result = constant(float(node.args[0]))
        elif not args:
            result = node
        elif all(arg.op == "constant" for arg in args):
            value = interpret_arrays([Node(node.op, tuple(args))], {})[0]
            result = constant(np.asarray(value).item())
        elif node.op in ("mul", "div") and args[1] is one:
            result = args[0]
        elif node.op == "mul" and args[0] is one:
            result = args[1]
        else:
            result = Node(node.op, tuple(args))
        done[id(node)] = result
    return done[id(root)]


class BoxCosts:
    """Bounds of the objective, of shape (values of the axis, boxes of the other axes).

    For a box of one point, both bounds are the value that a scan computes. The upper bound is
    infinite if some point may be infeasible, and the lower bound if all points are infeasible.
    """

    def __init__(self, problem: RuleProblem, boxes: Boxes) -> None:
        self.problem, self.boxes = problem, boxes
        lows, highs = list(boxes.lo), list(boxes.hi)
        self.known: dict[str, Any] = {
            name: leaf(lows, highs).enclosure for name, leaf in problem.extremes.items()
        }
        values = problem.axis.values[:, None]
        shape = (values.size, boxes.lo.shape[1])
        at = {**self.known, problem.axis.name: Interval(values, values)}
        cost = enclose([problem.node], at, outward=False)[0]
        if not isinstance(cost, Interval):
            raise DseError(f"{problem.objective} is a condition: expected a number")
        self.low = np.broadcast_to(cost.lo, shape)
        self.high = np.broadcast_to(np.where(cost.may_be_nan, math.inf, cost.hi), shape)
        self.best = self.low.min(axis=0)

    def enclose(self, node: Node) -> Any:
        """Return the enclosure of a formula of the inputs, over each box."""
        shape = self.boxes.lo.shape[1:]
        result = enclose([node], self.known, outward=False)[0]
        return type(result)(*(np.broadcast_to(part, shape) for part in result))

    def regret(self, tree: RuleTree) -> Floats:
        """Return an upper bound of a rule's regret over each box; 0 for infeasible boxes."""
        most = self._most(tree)
        with np.errstate(all="ignore"):
            ratio = np.where(self.best > 0, most / self.best, math.inf)
        return np.where(self.best < math.inf, ratio, 0.0)

    def _most(self, tree: RuleTree) -> Floats:
        if not isinstance(tree, Choice):
            test = self.enclose(tree.test)
            yes, no = self._most(tree.yes), self._most(tree.no)
            most = np.where(test.certain, yes, np.maximum(yes, no))
            return np.where(test.possible, most, no)
        least, values = np.full(self.boxes.lo.shape[1], math.inf), self.problem.axis.values[:, None]
        valid = np.ones(least.shape, dtype=bool)
        for formula in tree.formulas:
            chosen = self.enclose(formula)
            valid &= self.enclose(self.problem.is_value(formula)).certain
            within = (values >= chosen.lo) & (values <= chosen.hi)
            least = np.minimum(least, np.where(within, self.high, -math.inf).max(axis=0))
        return np.where(valid & (least > -math.inf), least, math.inf)


def random_points(problem: RuleProblem, count: int, seed: int) -> Indices:
    """Return random points (columns): most have log-uniform indices, the others uniform ones."""
    rng = np.random.default_rng(seed)
    sizes = problem.whole_box.hi + 1
    uniform = rng.integers(0, sizes, (len(sizes), count))
    low = np.exp(rng.random((len(sizes), count)) * np.log(sizes + 1)).astype(np.int64) - 1
    return np.where(rng.random(count) < 0.3, uniform, np.minimum(low, sizes - 1))
