"""Formulas as people write them: ``"power <= 150 W"``, ``"2 * time"``, ``"141.7 GB/s"``.

A Pratt parser of our own reads them into :class:`symbolic.node.Node`; nothing is ever evaluated as
Python. A number may be followed by a unit, a name is a quantity, operators and functions are those
of :mod:`symbolic.ops`. Units are checked as far as they can be inferred: a bare number fits
anything, and counts are plain numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from symbolic import ops
from symbolic.errors import DseError, UnitError, nearest
from symbolic.ops import Node, reference
from symbolic.quantity import Quantity
from symbolic.statistic import (
    DESIGN,
    DRAW,
    STATISTICS,
    Statistic,
    StatisticName,
    surrounded,
)
from symbolic.terms import (
    FUNCTIONS,
    ExpressionNameError,
    ExpressionUnitError,
    Source,
    Term,
    Token,
    apply,
    compare,
    condition,
    numeric,
    shown,
    source_of,
    unit_of,
)
from symbolic.units import Dimension, dimension, exact, is_unit, misfit, nearest_unit, spellings

# --- the grammar: from words to terms


KEYWORDS = frozenset({"and", "or", "not"})
_PLAIN = Dimension()

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


class Parser:
    """Reads one formula, once; ``labels`` says that it may compare labels."""

    def __init__(
        self, text: str, quantities: Mapping[str, Quantity], *, labels: bool = False
    ) -> None:
        self.source = source_of(text)
        self.tokens = self.source.tokens
        self.quantities = quantities
        self.labels = labels
        self.index, self.unit_end = 0, -1
        self.depth = self.operators = 0
        self.statistics: list[tuple[Term, Statistic]] = []

    def term(self) -> Term:
        """The whole formula."""
        term = self._expression(0)
        if self._now.kind != "end":
            self._stray(self._now)
        return term

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

    # --- statistics
    def _statistic(self, word: Token) -> Term:
        """A formula, the level where there is one, and the axes."""
        kind, source = word.text, self.source
        opening = self._take()
        terms, axes = [self._expression(0)], list[Token]()
        while self._now.text == ",":
            self._take()
            if self._now.kind == "name" and self._after(1).text in (",", ")"):
                axes.append(self._take())
            else:
                terms.append(self._expression(0))
        self._close(opening)
        first = terms[0]
        test = condition(source, first) if kind == "chance" else numeric(source, first)
        leveled = STATISTICS[kind].leveled
        if len(terms) != 1 + leveled:
            what = "a formula and a level between 0 and 1" if leveled else "one formula"
            example = f"{kind}(time, 0.95)" if leveled else f"{kind}(time, workload)"
            source.fail(
                f"{kind} takes {what}, then names of axes, as in {example}; {len(terms)} "
                f"{'is' if len(terms) == 1 else 'are'} given",
                word.position,
            )
        names = tuple(axis.text for axis in axes)
        for number, name in enumerate(names):
            if name in names[:number]:
                source.fail(
                    f"{kind} names the axis {name} twice: remove one", axes[number].position
                )
        if kind == "error":
            inner = test.node.args[0] if test.node.op == "reference" else None
            if not isinstance(inner, StatisticName) or inner.statistic.kind == "error":
                source.fail("error is that of one statistic, as in error(mean(time))", first.start)
            if names:
                source.fail("the axes of an error are those of its statistic", axes[0].position)
            names = inner.statistic.axes
        along = names or (DRAW,)
        about = Statistic(
            kind=kind,
            argument=surrounded(test.node, tuple(axis for axis in along if axis != DESIGN)),
            text=self._formula_text(first),
            axes=along,
            level=self._level(kind, terms[1]) if leveled else None,
            said=source.text[terms[1].start : terms[1].end].strip() if leveled else "",
            unit="" if kind == "chance" else self._unit(test),
        )
        measures = _PLAIN if kind == "chance" else test.kind
        found = Term(reference(StatisticName(about)), measures, word.position, self._end())
        self.statistics.append((found, about))
        return found

    def _unit(self, term: Term) -> str:
        """The unit of its values: that of a quantity alone, else what is known of a formula."""
        if term.kind is None:
            return ""
        name = term.node.args[0] if term.node.op == "reference" else ""
        if isinstance(name, StatisticName):
            return name.statistic.unit
        unit = term.kind.unit
        known = self.quantities
        return known[name].unit if name in known else "W" if unit == "J/s" else unit

    def _level(self, kind: str, term: Term) -> Fraction:
        source, value = self.source, term.value
        if not isinstance(value, (int, Fraction)) or (term.kind or _PLAIN) != _PLAIN:
            source.fail(
                f"the level of {kind} is a number between 0 and 1, such as 0.95", term.start
            )
        if not (0 < value < 1 or (STATISTICS[kind].level_ends and 0 <= value <= 1)):
            source.fail(
                f"the level of {kind} is {shown(source.text[term.start : term.end])}, expected a "
                "number between 0 and 1, such as 0.95",
                term.start,
            )
        return Fraction(value)

    def _formula_text(self, term: Term) -> str:
        """The formula as it was written, the statistics in it by their names."""
        inside = {
            part.start: (part.end, about.written)  # of those that begin together the outermost
            for part, about in self.statistics
            if term.start <= part.start and part.end <= term.end
        }
        text, place = "", term.start
        for start, (end, written) in sorted(inside.items()):
            if start >= place:
                text, place = text + self.source.text[place:start] + written, end
        return re.sub(r"\s+", " ", text + self.source.text[place : term.end]).strip()


# --- what is read


def parse(text: str, quantities: Mapping[str, Quantity]) -> Node:
    """Read a formula that is a number.

    Parameters
    ----------
    text : str
        The formula; numbers with units are taken in SI.
    quantities : mapping of str to Quantity
        The quantities it may name.

    Returns
    -------
    Node
        The formula, to be evaluated by :func:`symbolic.ops.interpret`.

    Raises
    ------
    ExpressionError
        Where it cannot be read; the error points at the place. It is a ``UnitError`` too where
        units do not fit, and an ``UnknownNameError`` where a name is not known.

    >>> from symbolic.quantities import TABLE
    >>> parse("core_clock * 2 ms + 1", TABLE)
    add(mul(core_clock, 0.002), 1)
    """
    if isinstance(text, str) and text.strip() in quantities and not text.strip().isidentifier():
        return ops.reference(text.strip())  # a statistic that is held under its text
    parser = Parser(text, quantities)
    return numeric(parser.source, parser.term()).node


def parse_condition(text: str, quantities: Mapping[str, Quantity]) -> Node:
    """Read a formula that holds or does not, as ``where`` takes it.

    Parameters and errors as for :func:`parse`. Besides it may compare labels, by ``==`` and
    ``!=``, with those in the ``places`` of their quantity: the node speaks of the place
    (:func:`symbolic.quantity.place_of`).

    >>> from symbolic.quantities import TABLE
    >>> parse_condition("time <= 10 ms and 1 < active_sms < n_sms", TABLE)
    both(less_equal(time, 0.01), both(less(1, active_sms), less(active_sms, n_sms)))
    >>> machine = Quantity(name="machine", labels=(), places=("gtx280", "c2050"))
    >>> parse_condition("machine == 'c2050'", {"machine": machine})
    equal(PLACE_OF_machine, 1)
    """
    parser = Parser(text, quantities, labels=True)
    return condition(parser.source, parser.term()).node


def parse_output(text: str, quantities: Mapping[str, Quantity]) -> str:
    """The name under which a quantity, or one statistic, is an output.

    >>> from symbolic.quantities import TABLE
    >>> parse_output("mean( time )", TABLE), parse_output("time", TABLE)
    ('mean(time)', 'time')
    """
    if isinstance(text, StatisticName) or text.isidentifier():
        return text
    node = parse(text, quantities)
    name = node.args[0] if node.op == "reference" else None
    if not isinstance(name, str):
        raise DseError(
            f"the output {shown(text)} is a formula: expected a quantity, or one statistic such "
            "as mean(time)"
        )
    return name


def _fit(source: Source, term: Term, row: Quantity, expected: Dimension) -> None:
    if term.kind is not None and term.kind != expected:
        unit = unit_of(source.text) if term.is_literal else ""
        given = shown(source.text.strip())
        stored = f" [{row.unit}]" if row.unit else ""
        why = misfit(given, term.kind, expected, unit)
        if row.unit == "cycle" and term.kind == dimension("s"):
            clocked = source.text.strip() + " * core_clock"
            why += f", in cycles, or as a time at the clock, {shown(clocked)}"
        source.fail(
            f"{row.name}{stored}: {why}",
            term.start,
            ExpressionUnitError,
        )


def parse_value(text: str, quantity: Quantity, quantities: Mapping[str, Quantity]) -> float | Node:
    """Read what a quantity is set to: a number with or without a unit, or a formula.

    Parameters
    ----------
    text : str
        The value; a bare number is in the unit of the quantity.
    quantity : Quantity
        The quantity that is given the value; its domain is not checked here.
    quantities : mapping of str to Quantity
        The quantities a formula may name.

    Returns
    -------
    float or Node
        A float in the stored unit where the text names no quantity, else the formula.

    Raises
    ------
    ExpressionError
        As for :func:`parse`; it is a ``UnitError`` too where the unit does not fit the quantity.

    >>> from symbolic.quantities import TABLE
    >>> parse_value("120 GB/s", TABLE["mem_bandwidth"], TABLE)
    120000000000.0
    >>> parse_value("2*16", TABLE["tile"], TABLE)
    32.0
    >>> parse_value("n_sms / 2", TABLE["active_sms"], TABLE)
    div(n_sms, 2)
    """
    parser = Parser(text, quantities)
    source = parser.source
    if quantity.is_label:
        raise DseError(
            f"{quantity.name} takes a label ({', '.join(quantity.labels or ()) or 'any'}), "
            f"not the formula {shown(text)}"
        )
    term = numeric(source, parser.term())
    try:
        expected = dimension(quantity.unit)
    except UnitError as error:
        raise UnitError(f"the declared unit of {quantity.name} cannot be read: {error}") from None
    _fit(source, term, quantity, expected)
    if not isinstance(term.value, Node):
        return float(term.value)
    if ops.references(term.value):
        return term.value
    try:
        value = float(ops.interpret(term.value, {}, number=float))
    except (ZeroDivisionError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        source.fail("the result is no finite number", term.start)
    return value
