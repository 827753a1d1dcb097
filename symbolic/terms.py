"""The tokens and terms into which a formula is parsed, and errors that point at them."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NoReturn

from symbolic import ops
from symbolic.errors import DseError, ExpressionError, UnitError, UnknownNameError, nearest_hint
from symbolic.ops import Node, constant, either, equal, negate, reference
from symbolic.primitives import PRIMITIVES
from symbolic.quantity import Quantity, label_index_name
from symbolic.statistics import resolve_direction
from symbolic.units import Dimension, dimension, mismatch_message

MAX_LENGTH = 10_000
MAX_DIGITS = 1_000


class ExpressionUnitError(ExpressionError, UnitError):
    """Error for a unit in a formula that is unknown, is ambiguous, or does not fit."""


class ExpressionNameError(ExpressionError, UnknownNameError):
    """Error for an unknown name in a formula."""


_NUMBER = r"(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?"
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
#: Quoted text, or one of the two Unicode characters for micro before s, J or W.
_MICRO = re.compile(rf"(?P<quoted>{_QUOTED})|[\u00b5\u03bc](?=[sJW]\b)", re.ASCII)
_TOKEN = re.compile(
    rf"""\s*(?:(?P<number>{_NUMBER})
    |(?P<name>[A-Za-z_]\w*)
    |(?P<text>{_QUOTED})
    |(?P<bad>//|:=|=(?!=)|!(?!=))
    |(?P<operator>\*\*|<=|>=|==|!=|[-+*/^<>(),%])
    |(?P<end>\Z)
    |(?P<rest>.))""",
    re.ASCII | re.VERBOSE | re.DOTALL,
)

_BAD_TOKENS = {
    "//": "'//' is no operator here: write floor(a / b)",
    "=": "'=' assigns nothing in a formula: == compares, and arguments have no names",
    ":=": "':=' assigns nothing in a formula: == compares",
    ".": "'.' has no place here: a formula reads no attributes",
    "!": "'!' is no operator here: write not, or !=",
    "~": "'~' is no operator here: write not",
    "&": "'&' is no operator here: write and",
    "|": "'|' is no operator here: write or",
    **dict.fromkeys("'\"", "the text in quotes is never closed: put the same quote behind it"),
    "`": "'`' is no quote: write a label in ' or \"",
    **dict.fromkeys("[]{}", "a formula knows only round parentheses"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A token: ``kind`` is number, name, text, operator, bad or end; ``position`` is 0-based.

    A token of kind ``text`` includes its quotes.
    """

    kind: str
    text: str
    position: int

    @property
    def end(self) -> int:
        """Return the position after the last character of the token."""
        return self.position + len(self.text)


def quote(text: str) -> str:
    """Return the text in quotes, shortened if it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def unit_suffix(text: str) -> str:
    """Return the text after a leading number: 'GB/s' for '-120 GB/s', and "" without a number."""
    match = re.match(rf"\s*[-+]?\s*{_NUMBER}", text, re.ASCII)
    return text[match.end() :].strip() if match else ""


class FormulaText:
    """The text of a formula, split into tokens; outside quotes it must be ASCII."""

    __slots__ = ("text", "tokens")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise DseError(
                f"a formula is text such as '2 * time', not {type(text).__name__} "
                f"{quote(repr(text))}: put it in quotes"
            )
        if len(text) > MAX_LENGTH:
            raise ExpressionError(
                f"the formula has {len(text)} characters, and at most {MAX_LENGTH} are read: "
                "give parts of it names of their own",
                text[:60] + "...",
                0,
            )
        text = _MICRO.sub(lambda match: match["quoted"] or "u", text)
        self.text = re.sub(r"\s", " ", text, flags=re.ASCII)
        bare = re.sub(_QUOTED, lambda match: " " * len(match[0]), text)
        if not bare.isascii():
            place = next(i for i, character in enumerate(bare) if not character.isascii())
            self.fail(f"{text[place]!a} is no ASCII character: rewrite it", place)
        if not self.text.strip():
            self.fail("the formula is empty: give a number, a quantity or a formula", 0)
        self.tokens = self._tokenize(text)

    def _tokenize(self, text: str) -> list[Token]:
        tokens: list[Token] = []
        place = 0
        while not tokens or tokens[-1].kind != "end":
            match = _TOKEN.match(text, place)
            kind = match.lastgroup if match else None
            if match is None or kind is None:  # pragma: no cover - the pattern matches anything
                self.fail("this cannot be read", place)
            tokens.append(Token("bad" if kind == "rest" else kind, match[kind], match.start(kind)))
            place = match.end()
        return tokens

    def fail(
        self, message: str, position: int, error: type[ExpressionError] = ExpressionError
    ) -> NoReturn:
        """Raise an error whose message points at a position in the text."""
        raise error(message, self.text, position)

    def fail_token(self, token: Token) -> NoReturn:
        """Raise the error for a token that is not allowed at its position."""
        where = token.position
        if token.kind == "bad":
            self.fail(
                _BAD_TOKENS.get(token.text, f"{token.text!r} has no place in a formula"), where
            )
        if token.kind == "end":
            self.fail("the formula ends where a number, a quantity or '(' is expected", where)
        if token.text == ")":
            self.fail("')' closes nothing that is open and complete", where)
        if token.text == "%":
            self.fail(
                "'%' is a unit, which follows a number as in 50 %; for a remainder write "
                "a - b * floor(a / b)",
                where,
            )
        self.fail(
            f"{quote(token.text)} cannot be here: a number, a quantity or '(' is expected", where
        )

    def parse_number(self, token: Token) -> int | Fraction:
        """Return the exact value of a number token; an int if it has no point and no exponent."""
        text = token.text
        if len(text) > MAX_DIGITS:
            self.fail(f"a number of more than {MAX_DIGITS} characters: round it", token.position)
        rough = float(text)
        if math.isinf(rough):
            self.fail(f"{quote(text)} is beyond the range of floats", token.position)
        if rough == 0:
            if re.search("[1-9]", re.split("[eE]", text)[0]):
                self.fail(f"{quote(text)} is too small for a float: write 0", token.position)
            return 0
        if text.replace("_", "").isdigit():
            return int(text)
        return Fraction(text)


def formula_text(text: str) -> FormulaText:
    """Return a formula split into tokens; cached, because the same texts are parsed often."""
    return _cached_formula(text) if isinstance(text, str) else FormulaText(text)


_cached_formula = lru_cache(maxsize=1 << 10)(FormulaText)

_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a formula, from ``start`` to ``end`` in the text.

    ``value`` is a number if the part is a literal, and otherwise a node. ``dimension`` is None for
    a number without a unit, which fits any dimension. If the part is a label, or a quantity that
    takes labels, ``label`` is this label or quantity, and ``value`` has no meaning. If the part is
    a case or bound, ``flag_quantity`` is its quantity; such a part can be compared with numbers and
    with labels.
    """

    value: Node | int | Fraction
    dimension: Dimension | None
    start: int
    end: int
    label: str | Quantity | None = None
    flag_quantity: Quantity | None = None

    @property
    def is_literal(self) -> bool:
        """True if the term is a number and not a node."""
        return not isinstance(self.value, Node)

    @property
    def is_condition(self) -> bool:
        """True if the term is a condition."""
        return isinstance(self.value, Node) and self.value.is_boolean

    @property
    def node(self) -> Node:
        """Return the term as a node."""
        value = self.value
        if isinstance(value, Node):
            return value
        exact = isinstance(value, int) and abs(value) <= _LARGEST_EXACT
        return constant(value if exact else float(value))


def _label_clause(label: str | Quantity) -> str:
    if isinstance(label, str):
        return f"{quote(label)} is a label"
    return f"{label.name} takes labels ({_label_list(label)})"


def _label_numbers(row: Quantity) -> dict[str, list[int]]:
    result: dict[str, list[int]] = {}
    for number, label in row.flags or enumerate(row.axis_labels):
        result.setdefault(label, []).append(number)
    return result


def _label_list(row: Quantity) -> str:
    labels = [*_label_numbers(row)] or row.labels or ()
    return ", ".join(labels[:12]) + ", ..." * (len(labels) > 12) or "none here: give it one"


def _label_example(label: str | Quantity | None) -> str:
    if isinstance(label, Quantity) and label.axis_labels:
        return f"{label.name} == {label.axis_labels[0]!r}"
    return "machine == 'gtx280'"


def label_condition(formula: FormulaText, operator: str, left: Term, right: Term) -> Node:
    """Return the condition that a quantity equals (or does not equal) a label."""
    term, label = (left, right.label) if isinstance(right.label, str) else (right, left.label)
    row = term.flag_quantity or term.label
    if not isinstance(row, Quantity) or not isinstance(label, str):
        odd, other = (left, right) if left.label is not None else (right, left)
        assert odd.label is not None
        text = quote(formula.text[other.start : other.end])
        if other.label is None:
            message = f"{text} is {'a condition' if other.is_condition else 'a number'}"
        else:
            message = _label_clause(other.label)
        example = _label_example(row if isinstance(row, Quantity) else odd.label)
        formula.fail(
            f"{_label_clause(odd.label)}, and {message}: compare a quantity that takes labels with "
            f"one of them in quotes, as in {example}",
            other.start,
        )
    if operator not in ("==", "!="):
        formula.fail(
            f"the labels of {row.name} have no order: compare them by == or !=", left.start
        )
    numbers = _label_numbers(row)
    if row.flags and label not in numbers:  # data files have underscores for blanks
        spaced = label.replace("_", " ")
        label = next((known for known in numbers if known.replace("_", " ") == spaced), label)
    if label not in numbers:
        formula.fail(
            f"{row.name} has no label {quote(label)}{nearest_hint(label, numbers)}; "
            f"it takes {_label_list(row)}",
            right.start if isinstance(right.label, str) else left.start,
            ExpressionNameError,
        )
    index = reference(row.name if row.flags else label_index_name(row.name))
    node: Node = either(*(equal(index, number) for number in numbers[label]))
    return node if operator == "==" else negate(node)


_MAX_BITS = 2000
_PLAIN, _TIME = Dimension(), dimension("s")
_ORDER_OPERATORS = ("<", "<=", ">", ">=")


def require_number(formula: FormulaText, term: Term) -> Term:
    """Return the term; raise an error if it is not a number."""
    why = "is a condition where a number is expected: where(condition, a, b) makes numbers of it"
    return _expect(formula, term, why, is_condition=False)


def require_condition(formula: FormulaText, term: Term) -> Term:
    """Return the term; raise an error if it is not a condition."""
    why = "is a number where a condition is expected: compare it, as in a <= b"
    return _expect(formula, term, why, is_condition=True)


def _expect(formula: FormulaText, term: Term, message: str, *, is_condition: bool) -> Term:
    if term.label is not None:
        formula.fail(
            f"{_label_clause(term.label)}, no number and no condition: compare labels by == or !=, "
            f"as in {_label_example(term.label)}",
            term.start,
        )
    if term.is_condition is not is_condition:
        formula.fail(f"{quote(formula.text[term.start : term.end])} {message}", term.start)
    return term


def _common_dimension(formula: FormulaText, left: Term, right: Term) -> Dimension | None:
    a, b = left.dimension, right.dimension
    if a is not None and b is not None and a != b:
        _fail_dimensions(formula, left, right)
    return b if a is None else a


def _fail_dimensions(formula: FormulaText, left: Term, right: Term) -> NoReturn:
    a, b = left.dimension, right.dimension
    assert a is not None
    assert b is not None
    first, second = (formula.text[term.start : term.end] for term in (left, right))
    literal = second if right.is_literal else first if left.is_literal else ""
    if right.is_literal:
        message = mismatch_message(quote(second), b, a, unit_suffix(second))
    elif left.is_literal:
        message = mismatch_message(quote(first), a, b, unit_suffix(first))
    else:
        message = (
            f"{quote(first)} is {a}, and {quote(second)} is {b}: only quantities of the same "
            "dimension can be added, compared or chosen between"
        )
    if literal and {a, b} == {_PLAIN, _TIME}:
        message += f"; cycles are compared with {quote(f'{literal} * core_clock')}"
    formula.fail(message, right.start, ExpressionUnitError)


def _product_dimension(
    left: Dimension | None, right: Dimension | None, sign: int
) -> Dimension | None:
    """Return the dimension of a product, or of a quotient if ``sign`` is -1; None if unknown.

    A factor without a unit does not change the dimension of the other factor. But if that factor is
    a count, the dimension of the product is unknown.
    """
    if left is None or right is None:
        known = (left or _PLAIN) * (right or _PLAIN) ** sign
        return None if known.is_plain else known
    return left * right**sign


def _require_plain(formula: FormulaText, term: Term, what: str) -> None:
    if term.dimension is not None and not term.dimension.is_plain:
        text = quote(formula.text[term.start : term.end])
        formula.fail(
            f"{what} must be a plain number, and {text} is {term.dimension}: divide it by a unit",
            term.start,
            ExpressionUnitError,
        )


def _power_dimension(formula: FormulaText, base: Term, exponent: Term) -> Dimension | None:
    _require_plain(formula, exponent, "an exponent")
    if base.dimension is None or base.dimension.is_plain:
        return base.dimension
    if isinstance(exponent.value, Node):
        text = quote(formula.text[base.start : base.end])
        formula.fail(
            f"{text} is {base.dimension}, whose exponent must be a literal number",
            exponent.start,
            ExpressionUnitError,
        )
    return base.dimension**exponent.value


def fold_literals(
    formula: FormulaText, function: Callable[..., Any], terms: tuple[Term, ...], position: int
) -> int | Fraction:
    """Return the exact value of a function of literals; an infinite or NaN value is an error."""
    try:
        value = function(*(term.value for term in terms))
        rough = float(value)
    except ZeroDivisionError:
        formula.fail("division by zero", position)
    except OverflowError:
        rough, value = math.inf, 0
    if not math.isfinite(rough):
        formula.fail("the result is no finite number", position)
    if isinstance(value, int):
        return value
    if isinstance(value, float) or value.denominator.bit_length() > _MAX_BITS:
        return Fraction(rough)
    return Fraction(value)


def _exact_power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, Fraction):
        exponent = float(exponent)
        exponent = int(exponent) if exponent.is_integer() else exponent
    if isinstance(base, int) and not isinstance(exponent, Node) and exponent < 0:
        base = Fraction(base)
    return ops.power(base, exponent)


#: For each name in formulas, the syntax of its primitive.
_SYNTAX = {name: row.syntax for row in PRIMITIVES.values() for name in row.syntax.names}
#: For each function, the minimum and maximum number of its arguments.
FUNCTIONS: dict[str, tuple[int, float]] = {
    name: (syntax.min_terms, syntax.max_terms)
    for name, syntax in _SYNTAX.items()
    if name.isidentifier()
}
_LOGICAL = frozenset({"both", "either", "negate"})
#: Operations that `ops` does not have, or that give exact values for literals.
_EXACT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: (Fraction(a) if isinstance(a, int) else a) / b,
    "power": _exact_power,
    "divide": lambda a, b, at_zero: ops.divide(
        Fraction(a) if isinstance(a, int) else a, b, at_zero=at_zero
    ),
    "negative": operator.neg,
}

_COMPARISONS: dict[str, Callable[[Node, Node], Node]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": ops.equal,
    "!=": lambda a, b: ops.negate(ops.equal(a, b)),
}  # fmt: skip


def _result_dimension(formula: FormulaText, name: str, terms: tuple[Term, ...]) -> Dimension | None:
    first, units = terms[0], _SYNTAX[name].units if name in _SYNTAX else "like"
    if units == "product":
        return _product_dimension(first.dimension, terms[1].dimension, 1)
    if units == "power":
        return _power_dimension(formula, first, terms[1])
    if units == "root":
        return None if first.dimension is None else first.dimension ** Fraction(1, 2)
    if units == "plain":
        _require_plain(formula, first, f"the argument of {name}")
    if units == "quotient":
        kind = _product_dimension(first.dimension, terms[1].dimension, -1)
        first, terms = Term(first.value, kind, first.start, terms[1].end), terms[2:]
    kind = first.dimension
    for term in terms:
        kind = _common_dimension(formula, Term(first.value, kind, first.start, first.end), term)
    return kind


def compare(formula: FormulaText, operator: str, left: Term, right: Term) -> Term:
    """Return the term of a comparison between two numbers.

    With ``==`` and ``!=``, one term may be a label, and the other a case or a quantity with labels.
    """
    if left.label is not None or right.label is not None:
        return Term(label_condition(formula, operator, left, right), _PLAIN, left.start, right.end)
    _common_dimension(formula, require_number(formula, left), require_number(formula, right))
    a, b = left.node, right.node
    if operator in _ORDER_OPERATORS:  # in worst(a) <= b, a should be small
        a, b = resolve_direction(a, operator[0] == "<"), resolve_direction(b, operator[0] == ">")
    return Term(_COMPARISONS[operator](a, b), _PLAIN, left.start, right.end)


def apply(
    formula: FormulaText, name: str, terms: tuple[Term, ...], position: int, end: int
) -> Term:
    """Return the term of an operator or function applied to terms; literals are computed at once.

    ``name`` is one of ``+ - * / negative`` or a function; errors point at ``position``.
    """
    start = min(position, terms[0].start)
    if name in _LOGICAL:
        nodes = [require_condition(formula, term).node for term in terms]
        return Term(getattr(ops, name)(*nodes), _PLAIN, start, end)
    if name == "equal":
        return compare(formula, "==", *terms)
    if name == "where":
        test, *terms_ = terms
        require_condition(formula, test)
        kind = _result_dimension(formula, name, tuple(require_number(formula, t) for t in terms_))
        return Term(ops.where(*(term.node for term in terms)), kind, start, end)
    for term in terms:
        require_number(formula, term)
    kind = _result_dimension(formula, name, terms)
    name = _SYNTAX[name].names[0] if name in _SYNTAX else name
    function = _EXACT.get(name) or getattr(ops, name)
    if name == "/" and not isinstance(terms[1].value, Node) and float(terms[1].value) == 0:
        formula.fail("division by zero", terms[1].start)
    try:
        if all(term.is_literal for term in terms):
            return Term(fold_literals(formula, function, terms, position), kind, start, end)
        last = terms[-1].value
        if name == "power" and not isinstance(last, Node):
            return Term(_exact_power(terms[0].node, last), kind, start, end)
        return Term(function(*(term.node for term in terms)), kind, start, end)
    except DseError:
        raise
    except ValueError as error:
        formula.fail(str(error), terms[-1].start)
