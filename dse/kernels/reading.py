"""What readers of instructions ask: what operands and predicates hold before one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dse.kernels.assembly import Instruction
from dse.kernels.conditions import Condition
from dse.kernels.linear import Whole, atom
from dse.kernels.operands import Constants

__all__ = ["Reader", "Registers", "unknown"]


class Registers(Protocol):
    """Values of operands and predicates before an instruction, as readers ask for them."""

    constants: Constants

    def operand(self, text: str, block: int, place: int) -> Whole:
        """The value of an operand."""

    def inputs(self, one: Instruction, block: int, place: int) -> list[Whole]:
        """The operands that are read."""

    def predicate(self, text: str, block: int, place: int) -> Condition:
        """When a predicate holds."""

    def is_low_half(self, one: Instruction, block: int, place: int) -> bool:
        """True if a comparison is of the low halves of pairs."""

    def chosen(self, when: Condition, one: Any, two: Any) -> Any:
        """One value or the other."""


Reader = Callable[[Registers, Instruction, int, int, int], Any]


def unknown(what: str, block: int, place: int) -> Whole:
    """A value that is not followed."""
    return atom("unknown", (what, block, place))
