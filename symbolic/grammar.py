"""The grammar of formulas: a Pratt parser from words to terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NoReturn

from symbolic import ops
from symbolic.errors import UnitError, nearest
from symbolic.literals import KEYWORDS, Words
from symbolic.quantity import Quantity
from symbolic.statistic import STATISTICS
from symbolic.summaries import Summary, summary
from symbolic.term import Term
from symbolic.terms import FUNCTIONS, apply, compare, condition, numeric
from symbolic.tokens import ExpressionNameError, ExpressionUnitError, Token, shown
from symbolic.units import dimension, is_unit

__all__ = ["Parser"]

MAX_DEPTH = 100
MAX_OPERATORS = 300

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_BINDING = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(_COMPARISONS, 4),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys("*/", 6),
    **dict.fromkeys(("**", "^"), 8),
}
_NOT, _SIGN = 3, 7
_HINTS = {
    "abs": "; write absolute(a)",
    "if": "; write where(condition, a, b)",
    "else": "; write where(condition, a, b)",
    "ln": "; write log(a)",
    "pow": "; write power(a, b) or a ** b",
    "round": "; write floor(a + 0.5)",
    "int": "; write floor(a)",
    "lambda": "; a formula defines no functions",
}


class Parser(Words):
    """Reads one formula, once; ``labels`` says that it may compare labels."""

    def __init__(
        self, text: str, quantities: Mapping[str, Quantity], *, labels: bool = False
    ) -> None:
        super().__init__(text, quantities)
        self.labels = labels
        self.depth = self.operators = 0
        self.summaries: list[Summary] = []

    def term(self) -> Term:
        """The whole formula."""
        term = self._expression(0)
        if self._now.kind != "end":
            self._stray(self._now)
        return term

    def _stray(self, token: Token) -> NoReturn:
        """What follows a complete part without an operator."""
        if token.text == ",":
            self.source.fail("',' stands outside the parentheses of a function", token.position)
        operand = token.kind in ("number", "name", "text") and token.text != "not"
        if token.text == "(" or operand:
            self.source.fail(
                f"an operator is missing before {shown(token.text)}: for a product write *",
                token.position,
            )
        self.source.fail_at(token)

    # --- operators
    def _expression(self, binding: int) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.source.fail(
                f"the formula is nested deeper than {MAX_DEPTH} levels: give parts of it names",
                self._now.position,
            )
        left = self._prefix()
        while (bound := _BINDING.get(self._now.text, 0)) > binding:
            self.operators += 1
            if self.operators > MAX_OPERATORS:
                self.source.fail(
                    f"the formula has more than {MAX_OPERATORS} operators: give parts of it names",
                    self._now.position,
                )
            left = self._infix(left, bound)
        self.depth -= 1
        return left

    def _infix(self, left: Term, bound: int) -> Term:
        operator = self._take()
        text, position = operator.text, operator.position
        if text in _COMPARISONS:
            return self._chain(left, text)
        if text in ("and", "or"):
            condition(self.source, left)
            right = self._expression(bound)
            name = "both" if text == "and" else "either"
            return apply(self.source, name, (left, right), left.start, self._end())
        if text in ("**", "^"):
            right = self._expression(_SIGN)
            return apply(self.source, "power", (left, right), position, self._end())
        unit = self._divisor_unit() if text == "/" else None
        right = self._expression(bound) if unit is None else unit
        return apply(self.source, text, (left, right), position, self._end())

    def _chain(self, left: Term, operator: str) -> Term:
        """A comparison, or several in a row that must all hold."""
        start, bound = left.start, _BINDING[operator]
        right = self._expression(bound)
        whole = compare(self.source, operator, left, right)
        while self._now.text in _COMPARISONS:
            operator, left = self._take().text, right
            right = self._expression(bound)
            link = compare(self.source, operator, left, right)
            whole = apply(self.source, "both", (whole, link), start, self._end())
        return whole

    # --- operands
    def _prefix(self) -> Term:
        token = self._now
        if token.kind == "number":
            return self._number()
        if token.kind == "name" and token.text not in ("and", "or"):
            return self._name()
        if token.kind == "text":
            return self._text()
        if token.text == "(":
            self._take()
            inner = self._expression(0)
            self._close(token)
            return replace(inner, start=token.position, end=self._end())
        if token.text not in ("-", "+"):
            self.source.fail_at(token)
        self._take()
        operand = numeric(self.source, self._expression(_SIGN))
        if token.text == "+":
            return replace(operand, start=token.position)
        return apply(self.source, "negative", (operand,), token.position, self._end())

    def _close(self, opening: Token) -> None:
        if self._now.kind == "end":
            self.source.fail("'(' is never closed", opening.position)
        if self._now.text != ")":
            self._stray(self._now)
        self._take()

    def _name(self) -> Term:
        token = self._take()
        name = token.text
        if name == "not":
            inner = self._expression(_NOT)
            return apply(self.source, "negate", (inner,), token.position, self._end())
        if self._now.text == "(":
            return self._call(token)
        if name not in self.quantities:
            self._no_quantity(token)
        return self._quantity(self.quantities[name], token)

    def _text(self) -> Term:
        token = self._take()
        return Term(0, None, token.position, token.end, token.text[1:-1])

    def _no_quantity(self, token: Token) -> NoReturn:
        name = token.text
        if name in FUNCTIONS:
            self.source.fail(f"{name} is a function: write {name}(...)", token.position)
        if is_unit(name):
            self.source.fail(
                f"{name!r} is a unit, which follows a number, as in 1 {name}",
                token.position,
                ExpressionUnitError,
            )
        held = [row.name for row in self.quantities.values() if name in self._labels(row)]
        if held:
            self.source.fail(
                f"{shown(name)} is a label, which stands in quotes, as in {held[0]} == '{name}'",
                token.position,
                ExpressionNameError,
            )
        self._unknown(token, "is no quantity")

    def _labels(self, row: Quantity) -> Iterable[str]:
        return [*(row.places if self.labels else ()), *(label for _, label in row.flags)]

    def _unknown(self, token: Token, what: str) -> NoReturn:
        known = [*self.quantities, *FUNCTIONS, *STATISTICS, *KEYWORDS]
        hint = _HINTS.get(token.text) or nearest(token.text[:100], known)
        self.source.fail(f"{shown(token.text)} {what}{hint}", token.position, ExpressionNameError)

    def _quantity(self, row: Quantity, token: Token) -> Term:
        if row.is_label and self.labels and not row.law:
            return Term(0, None, token.position, token.end, row)
        if row.is_label and not row.law:
            labels = ", ".join(row.labels or row.places) or "any label"
            self.source.fail(
                f"{row.name} takes labels ({labels}), not numbers, and cannot stand in a formula: "
                "set it to one of them, or compare it in a condition",
                token.position,
            )
        try:
            kind = dimension(row.unit)
        except UnitError as error:
            self.source.fail(
                f"the declared unit of {row.name} cannot be read: {error}",
                token.position,
                ExpressionUnitError,
            )
        flagged = row if row.flags else None
        return Term(ops.reference(row.name), kind, token.position, token.end, flagged=flagged)

    def _call(self, token: Token) -> Term:
        name = token.text
        if name in STATISTICS:
            return self._statistic(token)
        if name not in FUNCTIONS:
            if name in self.quantities:
                self.source.fail(
                    f"{name} is a quantity, not a function: for a product write {name} * (...)",
                    token.position,
                )
            self._unknown(token, "is no function")
        opening = self._take()
        terms: list[Term] = []
        if self._now.text != ")":
            terms.append(self._expression(0))
            while self._now.text == ",":
                self._take()
                terms.append(self._expression(0))
        self._close(opening)
        fewest, most = FUNCTIONS[name]
        if not fewest <= len(terms) <= most:
            count = f"{fewest}" if fewest == most else f"at least {fewest}"
            plural = "" if fewest == 1 else "s"
            third = " (the third is the value where the divisor is 0)" if name == "divide" else ""
            self.source.fail(
                f"{name} takes {count} argument{plural}{third}, and {len(terms)} are given",
                token.position,
            )
        return apply(self.source, name, tuple(terms), token.position, self._end())

    def _statistic(self, token: Token) -> Term:
        """A formula, the level where there is one, and the axes."""
        opening = self._take()
        terms, axes = [self._expression(0)], list[Token]()
        while self._now.text == ",":
            self._take()
            if self._now.kind == "name" and self._after(1).text in (",", ")"):
                axes.append(self._take())
            else:
                terms.append(self._expression(0))
        self._close(opening)
        known = (self.source, self.quantities)
        found = summary(*known, token, terms, axes, self.summaries, self._end())
        self.summaries.append(found)
        return found.term
