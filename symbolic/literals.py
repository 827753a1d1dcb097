"""The words of a formula, taken one after another: numbers, each with its unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from symbolic.errors import UnitError, nearest
from symbolic.quantity import Quantity
from symbolic.term import Term
from symbolic.terms import FUNCTIONS
from symbolic.tokens import ExpressionUnitError, Token, shown, source_of
from symbolic.units import exact, is_unit, nearest_unit, spellings

__all__ = ["KEYWORDS", "Words"]

KEYWORDS = frozenset({"and", "or", "not"})


class Words:
    """A place among the words of a formula, which may name the given quantities."""

    def __init__(self, text: str, quantities: Mapping[str, Quantity]) -> None:
        self.source = source_of(text)
        self.tokens = self.source.tokens
        self.quantities = quantities
        self.index = 0
        self.unit_end = -1

    @property
    def _now(self) -> Token:
        return self.tokens[self.index]

    def _after(self, steps: int) -> Token:
        return self.tokens[min(self.index + steps, len(self.tokens) - 1)]

    def _take(self) -> Token:
        token = self.tokens[self.index]
        self.index += 1
        return token

    def _end(self) -> int:
        return self.tokens[self.index - 1].end

    # --- numbers and their units
    def _number(self) -> Term:
        token = self._take()
        number = self.source.number(token)
        start = self.index
        inverse = self._now.text == "1" and self._after(1).text == "/"
        if self._now.text == "%" or (inverse and is_unit(self._after(2).text)):
            self._take()
        elif self._names_unit(0):
            self._unit_item()
        else:
            return Term(number, None, token.position, token.end)
        while self._names_unit(1 if self._now.text in ("*", "/") else 0):
            if self._now.text in ("*", "/"):
                self._take()
            self._unit_item()
        return self._with_unit(number, start, token.position)

    def _names_unit(self, steps: int) -> bool:
        """Whether the word so many steps ahead, after a number or its unit, is a unit.

        Refused where it could be a quantity too, and where it is neither.
        """
        token = self._after(steps)
        name = token.text
        called = self._after(steps + 1).text == "("
        if token.kind != "name" or name in KEYWORDS or (called and name in FUNCTIONS):
            return False
        if is_unit(name) and name in self.quantities:
            other = next((known for known in spellings(name) if known not in self.quantities), "")
            unit = f", and {other!r} for the unit" if other else ""
            self.source.fail(
                f"{name!r} is both a unit and a quantity: use parentheses for the quantity, as in "
                f"2 * ({name}) or 2 / ({name}){unit}",
                token.position,
                ExpressionUnitError,
            )
        if not is_unit(name) and name not in self.quantities and not called:
            near = nearest_unit(name) or nearest(name[:100], self.quantities)
            self.source.fail(
                f"{shown(name)} is neither a unit nor a quantity{near}",
                token.position,
                ExpressionUnitError,
            )
        return is_unit(name)

    def _unit_item(self) -> None:
        """Take one unit name with its exponent."""
        self._take()
        if self._now.text not in ("**", "^"):
            return
        self._take()
        if self._now.text == "-":
            self._take()
        if not self._now.text.isdigit():
            self.source.fail(
                "the exponent of a unit is a whole number; to raise a number with its unit, "
                "put both in parentheses",
                self._now.position,
            )
        self._take()
        if self._now.text in ("**", "^"):
            self.source.fail("a unit has one exponent: use parentheses", self._now.position)

    def _with_unit(self, number: int | Fraction, start: int, position: int) -> Term:
        """The term of a number and the unit from word ``start`` to here."""
        self.unit_end = self.index
        place = self.tokens[start].position
        try:
            value, kind = exact(number, self.source.text[place : self._end()])
            if math.isinf(float(value)):
                raise OverflowError
        except UnitError as error:
            self.source.fail(str(error), place, ExpressionUnitError)
        except OverflowError:
            self.source.fail("the number is beyond the range of floats", position)
        return Term(value, kind, position, self._end())

    def _divisor_unit(self) -> Term | None:
        """The unit of ``5/s``: after a number and ``/``, one unit; None where no unit follows."""
        follows = self.tokens[self.index - 2].kind == "number" or self.unit_end == self.index - 1
        if not follows or not is_unit(self._now.text) or not self._names_unit(0):
            return None
        start = self.index
        self._unit_item()
        return self._with_unit(1, start, self.tokens[start].position)
