"""What is wanted of a store: goals, and conditions as formulas between two values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from symbolic.ops import Node

__all__ = ["Term", "read_condition", "read_goal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A goal, or a condition: a formula, which has a sign, or must lie between two values.

    ``name`` is that of a quantity, if the formula is nothing else.
    """

    node: Node
    name: str | None = None
    sign: float = 1.0
    low: float = -math.inf
    high: float = math.inf


def read_goal(node: Node) -> Term:
    """A goal: a quantity or its opposite, or else a formula."""
    name = _name(node)
    if name is None and node.op == "mul":
        sign, other = node.args
        if sign.op == "constant" and sign.args[0] == -1 and (name := _name(other)) is not None:
            return Term(node=other, name=name, sign=-1.0)
    return Term(node=node, name=name)


def read_condition(node: Node) -> Term:
    """A condition: a quantity or formula between two values, or else one that must be true.

    >>> from symbolic.node import reference
    >>> term = read_condition(reference("time") < 1)
    >>> term.name, term.low, term.high < 1
    ('time', -inf, True)
    """
    if node.op in ("less", "less_equal", "equal"):
        first, second = node.args
        for held, other, above in ((first, second, False), (second, first, True)):
            number = other.args[0]
            if other.op != "constant" or not math.isfinite(number):
                continue
            end = -math.inf if not above else math.inf
            value = float(number) if node.op != "less" else math.nextafter(number, end)
            low = value if above or node.op == "equal" else -math.inf
            high = value if not above or node.op == "equal" else math.inf
            return Term(node=held, name=_name(held), low=low, high=high)
    return Term(node=node, low=1.0, high=1.0)


def _name(node: Node) -> str | None:
    return str(node.args[0]) if node.op == "reference" else None
