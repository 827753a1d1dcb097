"""A decision rule: tests of formulas, and formulas for the value of an axis at its leaves."""

from __future__ import annotations

from collections.abc import Iterator
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


def formulas_of(tree: RuleTree) -> list[Node]:
    """Return the tests of a rule, and the formulas at its leaves."""
    if isinstance(tree, Choice):
        return list(tree.formulas)
    return [tree.test, *formulas_of(tree.yes), *formulas_of(tree.no)]
