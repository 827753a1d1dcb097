"""Write expressions of machine code as formulas in quantities that are named after arguments.

Long formulas refer to named parts, so that they stay within the limits of the formula parser
(operators, nesting, characters).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence

from dse.cuda.integer_expressions import Atom, Condition, IntExpr
from symbolic.expression import KEYWORDS
from symbolic.quantities import TABLE
from symbolic.statistics import STATISTICS
from symbolic.terms import FUNCTIONS
from symbolic.units import is_unit

#: Upper limits on the operators in a formula and in an operand; longer pieces become named parts.
_MAX_OPERATORS, _MAX_NESTED = 80, 12
#: Upper limit on the number of terms of a count.
_MAX_TERMS = 40

_FORMS = {"over": "floor(({}) / ({}))", "least": "minimum({}, {})", "most": "maximum({}, {})"}
_OPPOSITE = {">=": "<", "==": "!="}

#: A piece of a formula, and its number of operators and functions.
Piece = tuple[str, int]


class NoFormulaError(Exception):
    """Error for an expression without a formula: it differs between threads or iterations."""


class FormulaWriter:
    """Writes expressions as formulas; long pieces become ``parts``.

    ``names`` maps atoms to quantities. ``parts`` maps formulas to names of parts, and a part refers
    to earlier parts only.
    """

    def __init__(self, names: Mapping[Atom, str]) -> None:
        self.names = names
        self.parts: dict[str, str] = {}
        self._pieces: dict[Atom, Piece] = {}

    def write(self, value: IntExpr) -> str:
        """Return an expression as a formula; raise NoFormulaError if an atom has no name."""
        parts, pieces = dict(self.parts), dict(self._pieces)
        try:
            return self._write_expr(value)[0]
        except NoFormulaError:
            self.parts, self._pieces = parts, pieces
            raise

    def write_sum(self, terms: Sequence[str]) -> str:
        """Return the sum of terms, or a sum of named parts if the sum of terms is too long."""
        while len(terms) > _MAX_TERMS:
            groups = [terms[at : at + _MAX_TERMS] for at in range(0, len(terms), _MAX_TERMS)]
            terms = [f"1 * {self._name_part(' + '.join(group))}" for group in groups]
        return " + ".join(terms)

    def _name_part(self, text: str) -> str:
        return self.parts.setdefault(text, f"part_{len(self.parts) + 1}")

    def _as_operand(self, piece: Piece) -> Piece:
        return piece if piece[1] <= _MAX_NESTED else (self._name_part(piece[0]), 0)

    def _join(self, pieces: Sequence[Piece], operator: str) -> Piece:
        if sum(many + 1 for _, many in pieces) > _MAX_OPERATORS:
            pieces = [self._as_operand(piece) for piece in pieces]
        while sum(many + 1 for _, many in pieces) > _MAX_OPERATORS:
            groups: list[list[Piece]] = [[]]
            for piece in pieces:
                if sum(many + 1 for _, many in groups[-1]) + piece[1] + 1 > _MAX_OPERATORS:
                    groups.append([])
                groups[-1].append(piece)
            pieces = [
                (self._name_part(operator.join(text for text, _ in group)), 0)
                if len(group) > 1
                else group[0]
                for group in groups
            ]
        return operator.join(text for text, _ in pieces), sum(many + 1 for _, many in pieces)

    def _write_expr(self, value: IntExpr) -> Piece:
        added: list[tuple[bool, Piece]] = []  # positive terms; the constant term comes last
        minus: list[Piece] = []
        for product, times in value.terms.items():
            factors = sorted(self._as_operand(self._write_atom(one)) for one in product)
            number = abs(times)
            if number != 1 or not factors:
                factors.insert(0, (str(number), 0))
            piece = self._join(factors, " * ")
            if times < 0:
                minus.append(piece)
            else:
                added.append((not product, piece))
        plus = [piece for _, piece in sorted(added)]
        if not plus and not minus:
            return "0", 0
        if sum(many + 1 for _, many in (*plus, *minus)) > _MAX_OPERATORS:
            plus = [self._join(plus, " + ")] if plus else []
            minus = [self._as_operand(self._join(minus, " + "))] if minus else []
            minus = [(f"({text})" if " + " in text else text, many) for text, many in minus]
            plus = [self._as_operand(piece) for piece in plus]
        text = " + ".join(term for term, _ in plus)
        for term, _ in sorted(minus):
            text = f"{text} - {term}" if text else f"-{term}"
        return text, sum(many + 1 for _, many in (*plus, *minus))

    def _write_atom(self, atom: Atom) -> Piece:
        if atom in self.names:
            return self.names[atom], 0
        if atom not in self._pieces:
            self._pieces[atom] = self._write_operation(atom)
        return self._pieces[atom]

    def _write_operation(self, atom: Atom) -> Piece:
        match atom:
            case Atom("input", (name,)):
                return str(name), 0
            case Atom("over" | "least" | "most" as kind, values):
                return self._apply(_FORMS[kind], *values)
            case Atom("if", (when,)):
                text, many = self._write_condition(when)
                return f"where({text}, 1, 0)", many + 1
        raise NoFormulaError

    def _apply(self, form: str, *values: IntExpr) -> Piece:
        pieces = [self._as_operand(self._write_expr(value)) for value in values]
        return form.format(*(text for text, _ in pieces)), 2 + sum(many for _, many in pieces)

    def _write_condition(self, when: Condition) -> Piece:
        match when:
            case ("true",):
                return "1 >= 0", 1
            case ("false",):
                return "1 < 0", 1
            case (">=" | "==" as word, value):
                return self._apply(f"{{}} {word} 0", value)
            case ("not", (">=" | "==" as word, value)):
                return self._apply(f"{{}} {_OPPOSITE[word]} 0", value)
            case ("not", inside):
                text, many = self._short_condition(inside)
                return f"not ({text})", many + 1
            case ("and" | "or" as word, one, two):
                (left, many), (right, more) = self._short_condition(one), self._short_condition(two)
                return f"({left}) {word} ({right})", many + more + 1
        raise NoFormulaError

    def _short_condition(self, when: Condition) -> Piece:
        """Return a condition as text; a long one becomes a comparison of a named part with 0."""
        text, many = self._write_condition(when)
        if many <= _MAX_NESTED:
            return text, many
        return f"{self._name_part(f'where({text}, 1, 0)')} != 0", 1


#: Words with another meaning in studies and on the command line.
_RESERVED = frozenset(
    {
        *("at", "axes", "axis", "best", "case", "configuration", "design", "draw", "draws"),
        *("error", "fit", "inf", "machine", "model", "nan", "outputs", "path", "prefer"),
        *("random", "run", "seed", "set", "status", "store", "where", "workload"),
    }
)
#: Names that this package itself gives to quantities of a kernel.
_GENERATED_NAME = re.compile(
    r"(trips|chance|skip|take|loaded|leaves|runs|part|slow)_(line|at)_|part_\d"
)
_MAX_LENGTH = 60


def quantity_names(arguments: Sequence[str]) -> list[str]:
    """Return a distinct quantity name for each argument, if possible the argument's own name.

    >>> quantity_names(["n", "N", "blocks", "_x", "s"])
    ['n', 'n_2', 'kernel_blocks', 'x', 'kernel_s']
    """
    result: list[str] = []
    taken = {name for name in arguments if name == _identifier(name) and not _is_reserved(name)}
    for argument in arguments:
        name = _identifier(argument)
        if _is_reserved(name):
            name = f"kernel_{name}"
        if name != argument or name in result:
            base, number = name, 2
            while name in taken or name in result or name in TABLE:
                name, number = f"{base}_{number}", number + 1
        result.append(name)
    return result


def _identifier(name: str) -> str:
    name = re.sub(r"[^a-z0-9_]", "_", name.lower()).strip("_")[:_MAX_LENGTH]
    return name if name[:1].isalpha() else f"arg_{name}".rstrip("_")


def _is_reserved(name: str) -> bool:
    return (
        any(name in each for each in (_RESERVED, TABLE, FUNCTIONS, STATISTICS, KEYWORDS))
        or keyword.iskeyword(name)
        or is_unit(name)
        or _GENERATED_NAME.match(name) is not None
    )
