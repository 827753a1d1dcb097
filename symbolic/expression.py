"""Parse formulas such as ``"power <= 150 W"``, ``"2 * time"`` and ``"141.7 GB/s"``.

A Pratt parser converts the text to a :class:`symbolic.node.Node`; the text is never evaluated as
Python. A number may be followed by a unit. A name is a quantity; operators and functions are those
of :mod:`symbolic.ops`. Units are checked. A number without a unit fits any dimension, and counts
are plain numbers.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NoReturn

from stochastic import sizes
from symbolic import ops
from symbolic.errors import DseError, UnitError, nearest_hint
from symbolic.ops import Node, reference
from symbolic.quantity import Quantity
from symbolic.statistics import (
    ABSOLUTE,
    DESIGN,
    DRAW,
    STATISTICS,
    Statistic,
    StatisticName,
    exclude_axes,
    statistics_of,
)
from symbolic.terms import (
    FUNCTIONS,
    ExpressionNameError,
    ExpressionUnitError,
    FormulaText,
    Term,
    Token,
    apply,
    compare,
    formula_text,
    quote,
    require_condition,
    require_number,
    unit_suffix,
)
from symbolic.units import (
    Dimension,
    dimension,
    is_unit,
    mismatch_message,
    nearest_unit_hint,
    spellings,
    to_si_exact,
)

KEYWORDS = frozenset({"and", "or", "not"})
_PLAIN = Dimension()

MAX_DEPTH = 100
MAX_OPERATORS = 300

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_PRECEDENCE = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(_COMPARISONS, 4),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys("*/", 6),
    **dict.fromkeys(("**", "^"), 8),
}
_NOT_PRECEDENCE, _SIGN_PRECEDENCE = 3, 7
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
#: A text in quotes, or a name.
_NAME = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])[^\W\d]\w*")
#: Cache of literals: maps (text, unit of the quantity) to (value in that unit, names in the text).
_LITERALS: dict[tuple[str, str], tuple[float, tuple[str, ...]]] = {}


class _Parser:
    """The parser of one formula; ``allow_labels`` permits comparisons with labels."""

    def __init__(
        self, text: str, quantities: Mapping[str, Quantity], *, allow_labels: bool = False
    ) -> None:
        self.formula = formula_text(text)
        self.tokens = self.formula.tokens
        self.quantities = quantities
        self.allow_labels = allow_labels
        self.index, self.unit_end = 0, -1
        self.depth = self.operator_count = 0
        self.statistics: list[tuple[Term, Statistic]] = []

    def parse(self) -> Term:
        term = self._parse_expression(0)
        if self._current.kind != "end":
            self._fail_stray(self._current)
        return term

    @property
    def _current(self) -> Token:
        return self.tokens[self.index]

    def _peek(self, steps: int) -> Token:
        return self.tokens[min(self.index + steps, len(self.tokens) - 1)]

    def _advance(self) -> Token:
        token = self.tokens[self.index]
        self.index += 1
        return token

    def _end_position(self) -> int:
        return self.tokens[self.index - 1].end

    def _fail_stray(self, token: Token) -> NoReturn:
        """Raise the error for a token that follows an operand without an operator between them."""
        if token.text == ",":
            self.formula.fail("',' is outside the parentheses of a function", token.position)
        operand = token.kind in ("number", "name", "text") and token.text != "not"
        if token.text == "(" or operand:
            self.formula.fail(
                f"an operator is missing before {quote(token.text)}: for a product write *",
                token.position,
            )
        self.formula.fail_token(token)

    def _parse_expression(self, precedence: int) -> Term:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.formula.fail(
                f"the formula is nested deeper than {MAX_DEPTH} levels: give parts of it names",
                self._current.position,
            )
        left = self._parse_prefix()
        while (bound := _PRECEDENCE.get(self._current.text, 0)) > precedence:
            self.operator_count += 1
            if self.operator_count > MAX_OPERATORS:
                self.formula.fail(
                    f"the formula has more than {MAX_OPERATORS} operators: give parts of it names",
                    self._current.position,
                )
            left = self._parse_infix(left, bound)
        self.depth -= 1
        return left

    def _parse_infix(self, left: Term, precedence: int) -> Term:
        operator = self._advance()
        text, position = operator.text, operator.position
        if text in _COMPARISONS:
            return self._parse_comparisons(left, text)
        if text in ("and", "or"):
            require_condition(self.formula, left)
            right = self._parse_expression(precedence)
            name = "both" if text == "and" else "either"
            return apply(self.formula, name, (left, right), left.start, self._end_position())
        if text in ("**", "^"):
            right = self._parse_expression(_SIGN_PRECEDENCE)
            return apply(self.formula, "power", (left, right), position, self._end_position())
        unit = self._parse_divisor_unit() if text == "/" else None
        right = self._parse_expression(precedence) if unit is None else unit
        return apply(self.formula, text, (left, right), position, self._end_position())

    def _parse_comparisons(self, left: Term, operator: str) -> Term:
        """Parse a comparison; the chain a < b < c becomes (a < b) and (b < c)."""
        start, bound = left.start, _PRECEDENCE[operator]
        right = self._parse_expression(bound)
        whole = compare(self.formula, operator, left, right)
        while self._current.text in _COMPARISONS:
            operator, left = self._advance().text, right
            right = self._parse_expression(bound)
            link = compare(self.formula, operator, left, right)
            whole = apply(self.formula, "both", (whole, link), start, self._end_position())
        return whole

    def _parse_number(self) -> Term:
        token = self._advance()
        number = self.formula.parse_number(token)
        start = self.index
        inverse = self._current.text == "1" and self._peek(1).text == "/"
        if self._current.text == "%" or (inverse and is_unit(self._peek(2).text)):
            self._advance()
        elif self._is_unit_ahead(0):
            self._take_unit()
        else:
            return Term(number, None, token.position, token.end)
        while self._is_unit_ahead(1 if self._current.text in ("*", "/") else 0):
            if self._current.text in ("*", "/"):
                self._advance()
            self._take_unit()
        return self._unit_term(number, start, token.position)

    def _is_unit_ahead(self, steps: int) -> bool:
        """True if the token ``steps`` ahead, which follows a number or another unit, is a unit.

        Raise an error if the token is both a unit and a quantity, or neither.
        """
        token = self._peek(steps)
        name = token.text
        called = self._peek(steps + 1).text == "("
        if token.kind != "name" or name in KEYWORDS or (called and name in FUNCTIONS):
            return False
        if is_unit(name) and name in self.quantities:
            other = next((known for known in spellings(name) if known not in self.quantities), "")
            unit = f", and {other!r} for the unit" if other else ""
            self.formula.fail(
                f"{name!r} is both a unit and a quantity: use parentheses for the quantity, as in "
                f"2 * ({name}) or 2 / ({name}){unit}",
                token.position,
                ExpressionUnitError,
            )
        if not is_unit(name) and name not in self.quantities and not called:
            near = nearest_unit_hint(name) or nearest_hint(name[:100], self.quantities)
            self.formula.fail(
                f"{quote(name)} is neither a unit nor a quantity{near}",
                token.position,
                ExpressionUnitError,
            )
        return is_unit(name)

    def _take_unit(self) -> None:
        self._advance()
        if self._current.text not in ("**", "^"):
            return
        self._advance()
        if self._current.text == "-":
            self._advance()
        if not self._current.text.isdigit():
            self.formula.fail(
                "the exponent of a unit is a whole number; to raise a number with its unit, "
                "put both in parentheses",
                self._current.position,
            )
        self._advance()
        if self._current.text in ("**", "^"):
            self.formula.fail("a unit has one exponent: use parentheses", self._current.position)

    def _unit_term(self, number: int | Fraction, start: int, position: int) -> Term:
        self.unit_end = self.index
        place = self.tokens[start].position
        try:
            value, kind = to_si_exact(number, self.formula.text[place : self._end_position()])
            if math.isinf(float(value)):
                raise OverflowError
        except UnitError as error:
            self.formula.fail(str(error), place, ExpressionUnitError)
        except OverflowError:
            self.formula.fail("the number is beyond the range of floats", position)
        return Term(value, kind, position, self._end_position())

    def _parse_divisor_unit(self) -> Term | None:
        """Parse the unit after a number and ``/``, as in ``5/s``; return None if none follows."""
        follows = self.tokens[self.index - 2].kind == "number" or self.unit_end == self.index - 1
        if not follows or not is_unit(self._current.text) or not self._is_unit_ahead(0):
            return None
        start = self.index
        self._take_unit()
        return self._unit_term(1, start, self.tokens[start].position)

    def _parse_prefix(self) -> Term:
        token = self._current
        if token.kind == "number":
            return self._parse_number()
        if token.kind == "name" and token.text not in ("and", "or"):
            return self._parse_name()
        if token.kind == "text":
            self._advance()
            return Term(0, None, token.position, token.end, token.text[1:-1])
        if token.text == "(":
            self._advance()
            inner = self._parse_expression(0)
            self._expect_close(token)
            return replace(inner, start=token.position, end=self._end_position())
        if token.text not in ("-", "+"):
            self.formula.fail_token(token)
        self._advance()
        operand = require_number(self.formula, self._parse_expression(_SIGN_PRECEDENCE))
        if token.text == "+":
            return replace(operand, start=token.position)
        return apply(self.formula, "negative", (operand,), token.position, self._end_position())

    def _expect_close(self, opening: Token) -> None:
        if self._current.kind == "end":
            self.formula.fail("'(' is never closed", opening.position)
        if self._current.text != ")":
            self._fail_stray(self._current)
        self._advance()

    def _parse_name(self) -> Term:
        token = self._advance()
        name = token.text
        if name == "not":
            inner = self._parse_expression(_NOT_PRECEDENCE)
            return apply(self.formula, "negate", (inner,), token.position, self._end_position())
        if self._current.text == "(":
            return self._parse_call(token)
        if name not in self.quantities:
            self._fail_quantity(token)
        return self._quantity_term(self.quantities[name], token)

    def _fail_quantity(self, token: Token) -> NoReturn:
        name = token.text
        if name in FUNCTIONS:
            self.formula.fail(f"{name} is a function: write {name}(...)", token.position)
        if is_unit(name):
            self.formula.fail(
                f"{name!r} is a unit, which follows a number, as in 1 {name}",
                token.position,
                ExpressionUnitError,
            )
        owners = [row.name for row in self.quantities.values() if name in self._labels_of(row)]
        if owners:
            self.formula.fail(
                f"{quote(name)} is a label, which stands in quotes, as in {owners[0]} == '{name}'",
                token.position,
                ExpressionNameError,
            )
        self._fail_unknown(token, "is no quantity")

    def _labels_of(self, row: Quantity) -> Iterable[str]:
        return [*(row.axis_labels if self.allow_labels else ()), *(label for _, label in row.flags)]

    def _fail_unknown(self, token: Token, what: str) -> NoReturn:
        known = [*self.quantities, *FUNCTIONS, *STATISTICS, *KEYWORDS]
        hint = _HINTS.get(token.text) or nearest_hint(token.text[:100], known)
        self.formula.fail(f"{quote(token.text)} {what}{hint}", token.position, ExpressionNameError)

    def _quantity_term(self, row: Quantity, token: Token) -> Term:
        if row.is_label and self.allow_labels and not row.is_law:
            return Term(0, None, token.position, token.end, row)
        if row.is_label and not row.is_law:
            labels = ", ".join(row.labels or row.axis_labels) or "any label"
            self.formula.fail(
                f"{row.name} takes labels ({labels}), not numbers, and cannot stand in a formula: "
                "set it to one of them, or compare it in a condition",
                token.position,
            )
        try:
            kind = dimension(row.unit)
        except UnitError as error:
            self.formula.fail(
                f"the declared unit of {row.name} cannot be read: {error}",
                token.position,
                ExpressionUnitError,
            )
        flagged = row if row.flags else None
        return Term(ops.reference(row.name), kind, token.position, token.end, flag_quantity=flagged)

    def _parse_call(self, token: Token) -> Term:
        name = token.text
        if name in STATISTICS:
            rules = STATISTICS[name].has_rules
            return self._parse_at_rules(token) if rules else self._parse_statistic(token)
        if name not in FUNCTIONS:
            if name in self.quantities:
                self.formula.fail(
                    f"{name} is a quantity, not a function: for a product write {name} * (...)",
                    token.position,
                )
            self._fail_unknown(token, "is no function")
        opening = self._advance()
        terms: list[Term] = []
        if self._current.text != ")":
            terms.append(self._parse_expression(0))
            while self._current.text == ",":
                self._advance()
                terms.append(self._parse_expression(0))
        self._expect_close(opening)
        fewest, most = FUNCTIONS[name]
        if not fewest <= len(terms) <= most:
            count = f"{fewest}" if fewest == most else f"at least {fewest}"
            plural = "" if fewest == 1 else "s"
            third = " (the third is the value where the divisor is 0)" if name == "divide" else ""
            self.formula.fail(
                f"{name} takes {count} argument{plural}{third}, and {len(terms)} are given",
                token.position,
            )
        return apply(self.formula, name, tuple(terms), token.position, self._end_position())

    def _parse_statistic(self, word: Token) -> Term:
        kind, source = word.text, self.formula
        opening = self._advance()
        terms, axes = [self._parse_expression(0)], list[Token]()
        while self._current.text == ",":
            self._advance()
            if self._current.kind == "name" and self._peek(1).text in (",", ")"):
                axes.append(self._advance())
            else:
                terms.append(self._parse_expression(0))
        self._expect_close(opening)
        first = terms[0]
        require = require_condition if kind == "chance" else require_number
        test = require(source, first)
        leveled = STATISTICS[kind].has_level
        if len(terms) != 1 + leveled:
            what = "a formula and a level between 0 and 1" if leveled else "one formula"
            example = f"{kind}(time, 0.95)" if leveled else f"{kind}(time, workload)"
            source.fail(
                f"{kind} takes {what}, then names of axes, as in {example}; {len(terms)} "
                f"{'is' if len(terms) == 1 else 'are'} given",
                word.position,
            )
        names = tuple(axis.text for axis in axes)
        for k, name in enumerate(names):
            if name in names[:k]:
                source.fail(f"{kind} names the axis {name} twice: remove one", axes[k].position)
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
            argument=exclude_axes(test.node, tuple(axis for axis in along if axis != DESIGN)),
            argument_text=self._formula_text(first),
            axes=along,
            level=self._statistic_level(kind, terms[1]) if leveled else None,
            level_text=source.text[terms[1].start : terms[1].end].strip() if leveled else "",
            unit="" if kind == "chance" else self._statistic_unit(test),
        )
        kind_dimension = _PLAIN if kind == "chance" else test.dimension
        node = reference(StatisticName(about))
        result = Term(node, kind_dimension, word.position, self._end_position())
        self.statistics.append((result, about))
        return result

    def _parse_at_rules(self, word: Token) -> Term:
        """Parse ``at(time, splits, rule)``, where ``splits = rule`` may be written for both."""
        kind, source = word.text, self.formula
        opening = self._advance()
        first = require_number(source, self._parse_expression(0))
        rules: dict[str, Term] = {}
        absolute = ""
        fits = True
        while fits and self._current.text == ",":
            self._advance()
            self._skip_argument_name("kind")
            axis = self._current
            fits = axis.kind == "name" and self._peek(1).text in (",", "=")
            if rules and kind == "regret" and axis.text in (ABSOLUTE, '"absolute"'):
                self._advance()
                absolute, fits = ABSOLUTE, self._current.text == ")"
                break
            fits = fits and axis.text not in rules
            if fits:
                self.index += 2
                self._skip_argument_name("rule")
                rule = self._parse_expression(0)
                if isinstance(rule.label, str):  # of an axis of labels
                    rule = replace(rule, value=Node("constant", (rule.label,)), label=None)
                rules[axis.text] = require_number(source, rule)
                if statistics_of([rule.node]):
                    source.fail("a rule contains no statistic: give it a name", rule.start)
                if row := self.quantities.get(axis.text):
                    _check_unit(source, rule, row, dimension(row.unit))
        if self._current.text != ")" or not (fits and rules):
            more = ", 'absolute'" if kind == "regret" else ""
            source.fail(
                f"{kind} takes a formula, then axes, each with the formula that replaces it: "
                f"{kind}(time, splits, rule{more}), or {kind}(time, a, rule_a, b, rule_b)",
                self._current.position,
            )
        self._expect_close(opening)
        relative = kind == "regret" and not absolute
        about = Statistic(
            kind=kind,
            argument=exclude_axes(first.node, tuple(rules)),
            argument_text=self._formula_text(first),
            axes=tuple(rules),
            level_text=absolute,
            rules=tuple(rule.node for rule in rules.values()),
            rule_texts=tuple(self._formula_text(rule) for rule in rules.values()),
            unit="" if relative else self._statistic_unit(first),
        )
        node = reference(StatisticName(about))
        kind_dimension = _PLAIN if relative else first.dimension
        result = Term(node, kind_dimension, word.position, self._end_position())
        self.statistics.append((result, about))
        return result

    def _skip_argument_name(self, name: str) -> None:
        if self._current.text == name and self._peek(1).text == "=":
            self.index += 2

    def _statistic_unit(self, term: Term) -> str:
        """Return the unit of a term: that of a quantity, or the base unit of a formula."""
        if term.dimension is None:
            return ""
        name = term.node.args[0] if term.node.op == "reference" else ""
        if isinstance(name, StatisticName):
            return name.statistic.unit
        unit = term.dimension.unit
        known = self.quantities
        return known[name].unit if name in known else "W" if unit == "J/s" else unit

    def _statistic_level(self, kind: str, term: Term) -> Fraction:
        source, value = self.formula, term.value
        if not isinstance(value, (int, Fraction)) or (term.dimension or _PLAIN) != _PLAIN:
            source.fail(
                f"the level of {kind} is a number between 0 and 1, such as 0.95", term.start
            )
        if not (0 < value < 1 or (STATISTICS[kind].includes_ends and 0 <= value <= 1)):
            source.fail(
                f"the level of {kind} is {quote(source.text[term.start : term.end])}, expected a "
                "number between 0 and 1, such as 0.95",
                term.start,
            )
        return Fraction(value)

    def _formula_text(self, term: Term) -> str:
        """Return the text of a formula, with each statistic rewritten in its standard form."""
        inside = {
            part.start: (part.end, about.formula_text)
            for part, about in self.statistics
            if term.start <= part.start and part.end <= term.end
        }
        text, place = "", term.start
        for start, (end, written) in sorted(inside.items()):
            if start >= place:
                text, place = text + self.formula.text[place:start] + written, end
        return re.sub(r"\s+", " ", text + self.formula.text[place : term.end]).strip()


def parse(text: str, quantities: Mapping[str, Quantity]) -> Node:
    """Parse a formula whose value is a number in SI units, and return its node.

    Raise an ``ExpressionError`` that points at the part of the text that cannot be parsed. The
    error is also a ``UnitError`` if units do not fit, or an ``UnknownNameError`` if a name is
    unknown.

    >>> from symbolic.quantities import TABLE
    >>> parse("core_clock * 2 ms + 1", TABLE)
    add(mul(core_clock, 0.002), 1)
    """
    if isinstance(text, str) and text.strip() in quantities and not text.strip().isidentifier():
        return ops.reference(text.strip())  # a statistic stored in a Dataset, named by its text
    parser = _Parser(text, quantities)
    return require_number(parser.formula, parser.parse()).node


def formula_unit(text: str, quantities: Mapping[str, Quantity]) -> str:
    """Return the unit of a formula: that of a quantity or statistic, or the base unit.

    >>> from symbolic.quantities import TABLE
    >>> formula_unit("max(time, 1 ms)", TABLE), formula_unit("time / time", TABLE)
    ('s', '')
    """
    if text in quantities:
        return quantities[text].unit
    parser = _Parser(text, quantities)
    return parser._statistic_unit(parser.parse())


def parse_condition(text: str, quantities: Mapping[str, Quantity]) -> Node:
    """Parse a formula that is true or false, and return its node.

    Parameters and errors are those of :func:`parse`. A quantity that takes labels may be compared
    by ``==`` and ``!=`` with one of its ``axis_labels``; the node then compares the index of the
    label (:func:`symbolic.quantity.label_index_name`).

    >>> from symbolic.quantities import TABLE
    >>> parse_condition("time <= 10 ms and 1 < active_sms < n_sms", TABLE)
    both(less_equal(time, 0.01), both(less(1, active_sms), less(active_sms, n_sms)))
    >>> machine = Quantity(name="machine", labels=(), axis_labels=("gtx280", "c2050"))
    >>> parse_condition("machine == 'c2050'", {"machine": machine})
    equal(PLACE_OF_machine, 1)
    """
    parser = _Parser(text, quantities, allow_labels=True)
    return require_condition(parser.formula, parser.parse()).node


def rewrite_formula(text: str, names: Mapping[str, str]) -> str:
    """Return a formula in which names are replaced by other texts.

    >>> rewrite_formula("time / n <= 2 ms and kind != 'n'", {"n": "threads"})
    "time / threads <= 2 ms and kind != 'n'"
    """
    return _NAME.sub(lambda match: names.get(match[0], match[0]), text)


def parse_output(text: str, quantities: Mapping[str, Quantity]) -> str:
    """Return the name of an output from its text, which is a quantity or a single statistic.

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
            f"the output {quote(text)} is a formula: expected a quantity, or one statistic such "
            "as mean(time)"
        )
    return name


def _check_unit(formula: FormulaText, term: Term, row: Quantity, expected: Dimension) -> None:
    if term.dimension is not None and term.dimension != expected:
        unit = unit_suffix(formula.text) if term.is_literal else ""
        text = quote(formula.text.strip())
        stored = f" [{row.unit}]" if row.unit else ""
        why = mismatch_message(text, term.dimension, expected, unit)
        if row.unit == "cycle" and term.dimension == dimension("s"):
            clocked = formula.text.strip() + " * core_clock"
            why += f", in cycles, or as a time at the clock, {quote(clocked)}"
        formula.fail(f"{row.name}{stored}: {why}", term.start, ExpressionUnitError)


def parse_value(text: str, quantity: Quantity, quantities: Mapping[str, Quantity]) -> float | Node:
    """Parse the value of a quantity: return a float in its unit, or a formula of ``quantities``.

    A number without a unit is in the unit of the quantity. The domain is not checked here. Errors
    are those of :func:`parse`; a unit that does not fit the quantity is an error too.

    >>> from symbolic.quantities import TABLE
    >>> parse_value("120 GB/s", TABLE["mem_bandwidth"], TABLE)
    120000000000.0
    >>> parse_value("2*16", TABLE["tile"], TABLE)
    32.0
    >>> parse_value("n_sms / 2", TABLE["active_sms"], TABLE)
    div(n_sms, 2)
    """
    key = text, quantity.unit
    value, names = _LITERALS.get(key, (math.nan, ())) if isinstance(text, str) else (math.nan, ())
    if value == value and not (quantity.is_label or any(name in quantities for name in names)):
        return value
    parser = _Parser(text, quantities)
    source = parser.formula
    if quantity.is_label:
        raise DseError(
            f"{quantity.name} takes a label ({', '.join(quantity.labels or ()) or 'any'}), "
            f"not the formula {quote(text)}"
        )
    term = require_number(source, parser.parse())
    try:
        expected = dimension(quantity.unit)
    except UnitError as error:
        raise UnitError(f"the declared unit of {quantity.name} cannot be read: {error}") from None
    _check_unit(source, term, quantity, expected)
    if not isinstance(term.value, Node):
        value = float(term.value)
        if len(_LITERALS) < sizes.LITERALS_MOST:
            names = tuple(token.text for token in parser.tokens if token.kind == "name")
            _LITERALS[key] = value, names
        return value
    if ops.references(term.value):
        return term.value
    try:
        value = float(ops.interpret(term.value, {}, number=float))
    except (ZeroDivisionError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        source.fail("the result is no finite number", term.start)
    return value
