"""A decision rule: thresholds on formulas, and formulas for the value of an axis at its leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from symbolic.errors import DseError
from symbolic.ops import Node

Floats: TypeAlias = NDArray[np.float64]
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_CALLS = ("minimum", "maximum", "floor", "ceil", "sqrt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A leaf of a rule: the formula with the least predicted objective, the first of equals."""

    formulas: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A test of a rule: ``yes`` decides if the formula is at most ``limit``, otherwise ``no``."""

    formula: str
    limit: float
    yes: RuleTree
    no: RuleTree


RuleTree: TypeAlias = Choice | Threshold


def choices(tree: RuleTree) -> Iterator[Choice]:
    """Yield the leaves of a rule from left to right."""
    if isinstance(tree, Choice):
        yield tree
    else:
        yield from choices(tree.yes)
        yield from choices(tree.no)


def count_leaves(tree: RuleTree) -> int:
    """Return the number of formulas that a rule may choose; a comparison of two counts as two."""
    return sum(len(leaf.formulas) for leaf in choices(tree))


def objective_at_rule(tree: RuleTree, objective: str, axis: str) -> str:
    """Return the formula of the objective at the value that the rule chooses.

    The objective at the best of several formulas is the least of their objectives. This form has
    tighter enclosures than ``at`` of the chosen value.
    """
    if isinstance(tree, Threshold):
        yes, no = (objective_at_rule(part, objective, axis) for part in (tree.yes, tree.no))
        return f"where({tree.formula} <= {tree.limit!r}, {yes}, {no})"
    parts = [f"at({objective}, {axis}, {formula})" for formula in tree.formulas]
    return parts[0] if len(parts) == 1 else f"minimum({', '.join(parts)})"


def evaluate_tree(
    tree: RuleTree, value: Callable[[str], Floats], cost: Callable[[str], Floats]
) -> Floats:
    """Return the objective at the values that a rule chooses at points.

    ``value`` returns the values of a formula, ``cost`` the objective at a formula's values.
    """
    if isinstance(tree, Choice):
        return np.min([cost(formula) for formula in tree.formulas], axis=0)
    yes, no = (evaluate_tree(part, value, cost) for part in (tree.yes, tree.no))
    return np.where(value(tree.formula) <= tree.limit, yes, no)


def tree_from_json(record: Mapping[str, Any]) -> RuleTree:
    """Return the rule that `tree_to_json` wrote."""
    if "choose" in record:
        return Choice(formulas=tuple(record["choose"]))
    yes, no = tree_from_json(record["yes"]), tree_from_json(record["no"])
    return Threshold(formula=record["if"], limit=float(record["at_most"]), yes=yes, no=no)


def tree_to_json(tree: RuleTree) -> dict[str, Any]:
    """Return a rule as plain data."""
    if isinstance(tree, Choice):
        return {"choose": list(tree.formulas)}
    parts = {"yes": tree_to_json(tree.yes), "no": tree_to_json(tree.no)}
    return {"if": tree.formula, "at_most": tree.limit, **parts}


def node_text(node: Node, values: Mapping[str, str] = {}) -> str:
    """Return a formula as text that formulas, Python and C read in the same way.

    ``values`` are texts for some quantities. Numbers are written with a decimal point, so that C
    divides them as doubles.
    """
    if node.op == "reference":
        return values.get(node.args[0], node.args[0])
    if node.op == "constant":
        return repr(float(node.args[0]))
    parts = [node_text(arg, values) for arg in node.args]
    if node.op in _INFIX:
        parts = [
            f"({text})" if arg.op in _INFIX or text.startswith("-") else text
            for arg, text in zip(node.args, parts, strict=True)
        ]
        return f"{parts[0]} {_INFIX[node.op]} {parts[1]}"
    if node.op in _CALLS:
        return f"{node.op}({', '.join(parts)})"
    raise DseError(
        f"a rule cannot be written with {node.op!r} in its formulas: it can have "
        f"{', '.join([*_INFIX.values(), *_CALLS])}"
    )
