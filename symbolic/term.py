"""One part of a formula while it is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from symbolic.dimensions import Dimension
from symbolic.ops import Node, constant
from symbolic.quantity import Quantity

__all__ = ["Term"]

_WHOLE = 2**53


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a formula.

    Attributes
    ----------
    value : Node, int or Fraction
        A number where the part is literal, else a node.
    kind : Dimension or None
        What it measures; None is a bare number, which fits anything.
    start, end : int
        Its place in the text.
    word : str or Quantity, optional
        A label, or the quantity that takes labels; such a part has no value.
    flagged : Quantity, optional
        The case or bound that it is: a number that is compared with labels too.
    """

    value: Node | int | Fraction
    kind: Dimension | None
    start: int
    end: int
    word: str | Quantity | None = None
    flagged: Quantity | None = None

    @property
    def is_literal(self) -> bool:
        """Whether it is a number."""
        return not isinstance(self.value, Node)

    @property
    def is_condition(self) -> bool:
        """Whether it is a condition."""
        return isinstance(self.value, Node) and self.value.is_boolean

    @property
    def node(self) -> Node:
        """As a node."""
        return self.value if isinstance(self.value, Node) else _number_node(self.value)


def _number_node(value: int | Fraction) -> Node:
    """The node of a literal: an int where it was written as one and floats hold it, else a float.

    >>> _number_node(3), _number_node(Fraction(3))
    (3, 3.0)
    """
    exact = isinstance(value, int) and abs(value) <= _WHOLE
    return constant(value if exact else float(value))
