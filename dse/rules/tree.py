"""Define decision rules: trees of conditions with formulas for the value of an axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from symbolic.node import Node


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
