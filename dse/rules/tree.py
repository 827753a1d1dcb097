"""A decision rule: tests of formulas, and formulas for the value of an axis at its leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from symbolic.node import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A leaf of a rule: the formula with the least predicted objective, the first of equals."""

    formulas: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A test of a rule: ``yes`` decides where the condition holds, otherwise ``no``."""

    test: Node
    yes: RuleTree
    no: RuleTree


RuleTree: TypeAlias = Choice | Threshold


def formulas_of(tree: RuleTree) -> list[Node]:
    """Return the tests of a rule, and the formulas at its leaves."""
    if isinstance(tree, Choice):
        return list(tree.formulas)
    return [tree.test, *formulas_of(tree.yes), *formulas_of(tree.no)]
