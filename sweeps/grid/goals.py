"""Read the objectives of queries from options, and convert them to nodes of a grid."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stochastic import sizes
from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.errors import DseError, check_name
from symbolic.expression import parse
from symbolic.node import UNDEFINED, conjuncts
from symbolic.ops import Node, both, constant, references, walk, where
from symbolic.primitives import PRIMITIVES
from symbolic.statistics import resolve_direction

#: Name of an objective in an answer if it is a formula instead of a quantity.
OBJECTIVE = "objective"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """An objective: a formula to minimize (``sign`` 1) or maximize (``sign`` -1)."""

    text: str
    sign: float

    def __str__(self) -> str:
        return self.text

    def formula(self, quantities: Mapping[str, Any]) -> Node:
        """Return the formula; ``worst`` and ``best`` in it depend on the goal's sign."""
        return resolve_direction(parse(self.text, quantities), self.sign > 0)

    def node(self, quantities: Mapping[str, Any]) -> Node:
        """Return the formula, signed so that smaller is better."""
        node = self.formula(quantities)
        return node if self.sign > 0 else -node


def texts_of(value: Any, key: str) -> tuple[str, ...]:
    """Convert None, a text or a list of texts to a tuple. Errors name the option ``key``."""
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if not isinstance(value, Iterable):
        raise DseError(f"{key} = {value!r}: expected text, or a list of texts")
    listed = tuple(value)
    for text in listed:
        if not isinstance(text, str):
            raise DseError(f"{key} holds {text!r}: expected text, or a list of texts")
    return listed


def read_goals(minimize: Any, maximize: Any) -> tuple[Goal, ...]:
    """Return the goals of the options ``minimize`` and ``maximize`` (texts, lists or None)."""
    goals = []
    for key, texts, sign in (("minimize", minimize, 1.0), ("maximize", maximize, -1.0)):
        goals += [Goal(text=text, sign=sign) for text in texts_of(texts, key)]
    if not goals:
        raise DseError("nothing to optimise: give minimize= or maximize= a quantity")
    return tuple(goals)


def one_goal(minimize: Any, maximize: Any) -> Goal:
    """Return the goal of the options; raise DseError unless they give exactly one goal."""
    goals = read_goals(minimize, maximize)
    if len(goals) != 1:
        texts = ", ".join(goal.text for goal in goals)
        raise DseError(f"expected one objective, was given {texts}: use pareto for several")
    return goals[0]


def goals_in_order(minimize: Any, maximize: Any) -> tuple[Goal, ...]:
    """Return the goals in order of priority; a minus sign before a name reverses the direction.

    >>> [(goal.text, goal.sign) for goal in goals_in_order(["time", "-throughput"], None)]
    [('time', 1.0), ('throughput', -1.0)]
    """
    goals = read_goals(minimize, maximize)
    if len(goals) == 1:
        return goals
    texts = ", ".join(goal.text for goal in goals)
    if len({goal.sign for goal in goals}) > 1:
        around = {g.text: f"-{g.text}" if g.text.isidentifier() else f"-({g.text})" for g in goals}
        listed = [g.text if g.sign > 0 else around[g.text] for g in goals]
        raise DseError(
            f"minimize and maximize have no order of priority, was given {texts}: put all in one "
            f"list in order of priority, such as minimize={listed!r}, or use pareto"
        )
    turned = []
    for goal in goals:
        name = goal.text.strip().removeprefix("-").strip()
        minus = goal.text.strip().startswith("-") and name.isidentifier()
        turned.append(Goal(text=name, sign=-goal.sign) if minus else goal)
    for number, goal in enumerate(turned):
        if any(goal.text == other.text for other in turned[:number]):
            raise DseError(f"{goal.text} is given twice among the objectives {texts}: remove one")
    return tuple(turned)


def check_top(top: int, where: str = "") -> None:
    """Raise DseError unless ``top`` is an integer from 1 to the maximum."""
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise DseError(f"{where}top = {top!r}: expected a whole number of at least 1")
    if top > sizes.TOP_MOST:
        raise DseError(
            f"{where}top = {top}: expected at most {sizes.TOP_MOST:,}; to get more, export the run "
            "and sort it"
        )


def per_axes(per: str | Sequence[str] | None, axes: Sequence[str]) -> tuple[str, ...]:
    """Return the axes named by ``per``, in the order of the grid."""
    names = texts_of(per, "per")
    for name in names:
        check_name(name, axes, f"per = {name!r} is no axis")
    return tuple(axis for axis in axes if axis in names)


def describe_goals(goals: Sequence[Goal]) -> str:
    """Return objectives as text: ``minimize time, then maximize throughput``."""
    return ", then ".join(f"{'minimize' if g.sign > 0 else 'maximize'} {g.text}" for g in goals)


def objective_name(goals: Sequence[Goal], number: int, quantities: Any) -> str:
    """Return the name of an objective in an answer; several formulas are numbered."""
    text = goals[number].text
    formula = OBJECTIVE if len(goals) == 1 else f"{OBJECTIVE}_{number + 1}"
    return text if text in quantities else formula


def split_missing(root: Node) -> tuple[list[Node], Node]:
    """Split a formula into tests and a value: it is NaN where a test fails, else the value.

    Bounds of the value are then not weakened by the points where it is missing.
    """
    done: dict[int, tuple[dict[Node, None], Node]] = {}
    for node in walk([root]):
        tests: dict[Node, None] = {}
        same = node
        if node.op == "where" and node.args[2] is UNDEFINED:
            below, value = done[id(node.args[1])]
            done[id(node)] = {**dict.fromkeys(conjuncts(node.args[:1])), **below}, value
            continue
        if node.op in PRIMITIVES:
            row = PRIMITIVES[node.op]
            if row.propagates_nan and not row.is_condition:
                for arg in node.args:
                    tests |= done[id(arg)][0]
                same = Node(node.op, tuple(done[id(arg)][1] for arg in node.args))
        done[id(node)] = tests, same
    result, value = done[id(root)]
    return list(result), value


def objective_node(grid: Grid, key: tuple[str, ...], goal: Goal) -> Node:
    """Return the signed objective, infinite where it has no value or where a condition fails."""
    graph = grid.graphs[key]
    tests, value = split_missing(graph.flatten(goal.node(grid.model.quantities)))
    # False for NaN, and for infinity if the goal is to maximize
    holds = both(*tests, value > -math.inf)
    if graph.conditions:
        holds = both(grid.feasible_node(key), holds)
    if failed := grid.no_failure_nodes(value, key):
        holds = both(*failed, holds)
    return constant(where(holds, value, math.inf))


def dims_of(grid: Grid, goals: Sequence[Goal]) -> set[str]:
    """Return the axes on which the goals or the feasibility depend."""
    names = {n for goal in goals for n in references(goal.node(grid.model.quantities))}
    dims = {dim for name in names for dim in grid.dims(name)}
    return dims | set(grid.dims(FEASIBLE))
