"""Expressions of machine code as formulas in quantities, and names of those for its arguments.

A formula that would be long refers to named parts, so that what is written never meets the limits
of the reader of formulas (operators, nesting, characters).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence

from dse.kernels.affine import Atom, Condition, Whole
from symbolic.expression import KEYWORDS
from symbolic.quantities import TABLE
from symbolic.statistic import STATISTICS
from symbolic.terms import FUNCTIONS
from symbolic.units import is_unit

#: Operators of a formula, and of an operand within one: beyond these, pieces get names.
_MOST, _INSIDE = 80, 12
#: Terms of a count.
_TERMS = 40

_FORMS = {
    "over": "floor(({}) / ({}))",
    "least": "minimum({}, {})",
    "most": "maximum({}, {})",
}
_OPPOSITE = {">=": "<", "==": "!="}

#: A piece of a formula and how many operators and functions are in it.
Piece = tuple[str, int]


class UnwrittenError(Exception):
    """An expression that is no formula: it differs between threads, or follows a loop."""


class Formulas:
    """Writes expressions as formulas; long pieces become ``parts``.

    Attributes
    ----------
    names : mapping
        The quantities of atoms.
    parts : dict
        Names of parts by their formulas, in an order in which each rests on those before it.
    """

    def __init__(self, names: Mapping[Atom, str]) -> None:
        self.names = names
        self.parts: dict[str, str] = {}
        self._known: dict[Atom, Piece] = {}

    def text(self, value: Whole) -> str:
        """Return an expression as a formula.

        Raises
        ------
        UnwrittenError
            An atom that ``names`` does not hold and that is no operation on such.
        """
        kept, known = dict(self.parts), dict(self._known)
        try:
            return self._whole(value)[0]
        except UnwrittenError:
            self.parts, self._known = kept, known
            raise

    def total(self, terms: Sequence[str]) -> str:
        """Return the sum of products with numbers, which are texts already.

        Of each a number is the first factor, so that it may be read in any unit.
        """
        while len(terms) > _TERMS:
            groups = [terms[at : at + _TERMS] for at in range(0, len(terms), _TERMS)]
            terms = [f"1 * {self._named(' + '.join(group))}" for group in groups]
        return " + ".join(terms)

    def _named(self, text: str) -> str:
        return self.parts.setdefault(text, f"part_{len(self.parts) + 1}")

    def _operand(self, piece: Piece) -> Piece:
        """Return a piece that is short enough to stand within another."""
        return piece if piece[1] <= _INSIDE else (self._named(piece[0]), 0)

    def _joined(self, pieces: Sequence[Piece], sign: str) -> Piece:
        """Return pieces with a sign between them; groups get names where they are too many."""
        if sum(many + 1 for _, many in pieces) > _MOST:
            pieces = [self._operand(piece) for piece in pieces]
        while sum(many + 1 for _, many in pieces) > _MOST:
            groups: list[list[Piece]] = [[]]
            for piece in pieces:
                if sum(many + 1 for _, many in groups[-1]) + piece[1] + 1 > _MOST:
                    groups.append([])
                groups[-1].append(piece)
            pieces = [
                (self._named(sign.join(text for text, _ in group)), 0)
                if len(group) > 1
                else group[0]
                for group in groups
            ]
        return sign.join(text for text, _ in pieces), sum(many + 1 for _, many in pieces)

    def _whole(self, value: Whole) -> Piece:
        added: list[tuple[bool, Piece]] = []
        taken: list[Piece] = []
        for product, times in value.terms.items():
            factors = sorted(self._operand(self._atom(one)) for one in product)
            number = abs(times)
            if number != 1 or not factors:
                factors.insert(0, (str(number), 0))
            piece = self._joined(factors, " * ")
            if times < 0:
                taken.append(piece)
            else:
                added.append((not product, piece))
        plus = [piece for _, piece in sorted(added)]
        if not plus and not taken:
            return "0", 0
        if sum(many + 1 for _, many in (*plus, *taken)) > _MOST:
            plus = [self._joined(plus, " + ")] if plus else []
            taken = [self._operand(self._joined(taken, " + "))] if taken else []
            taken = [(f"({text})" if " + " in text else text, many) for text, many in taken]
            plus = [self._operand(piece) for piece in plus]
        text = " + ".join(one for one, _ in plus)
        for one, _ in sorted(taken):
            text = f"{text} - {one}" if text else f"-{one}"
        return text, sum(many + 1 for _, many in (*plus, *taken))

    def _atom(self, one: Atom) -> Piece:
        if one in self.names:
            return self.names[one], 0
        if one not in self._known:
            self._known[one] = self._operation(one)
        return self._known[one]

    def _operation(self, one: Atom) -> Piece:
        match one:
            case Atom("asked", (name,)):
                return str(name), 0
            case Atom("over" | "least" | "most" as kind, values):
                return self._applied(_FORMS[kind], *values)
            case Atom("if", (when,)):
                text, many = self._condition(when)
                return f"where({text}, 1, 0)", many + 1
        raise UnwrittenError

    def _applied(self, form: str, *values: Whole) -> Piece:
        pieces = [self._operand(self._whole(value)) for value in values]
        return form.format(*(text for text, _ in pieces)), 2 + sum(many for _, many in pieces)

    def _condition(self, when: Condition) -> Piece:
        match when:
            case ("true",):
                return "1 >= 0", 1
            case ("false",):
                return "1 < 0", 1
            case (">=" | "==" as word, value):
                return self._applied(f"{{}} {word} 0", value)
            case ("not", (">=" | "==" as word, value)):
                return self._applied(f"{{}} {_OPPOSITE[word]} 0", value)
            case ("not", inside):
                text, many = self._short(inside)
                return f"not ({text})", many + 1
            case ("and" | "or" as word, one, two):
                (left, many), (right, more) = self._short(one), self._short(two)
                return f"({left}) {word} ({right})", many + more + 1
        raise UnwrittenError

    def _short(self, when: Condition) -> Piece:
        """Return a condition that is short; a long one is that of a part, which is 1 or 0."""
        text, many = self._condition(when)
        if many <= _INSIDE:
            return text, many
        return f"{self._named(f'where({text}, 1, 0)')} != 0", 1


#: Words that studies and the command line use for something else.
_RESERVED = frozenset(
    {
        *("at", "axes", "axis", "best", "case", "configuration", "design", "draw", "draws"),
        *("error", "fit", "inf", "machine", "model", "nan", "outputs", "path", "prefer"),
        *("random", "run", "seed", "set", "status", "store", "where", "workload"),
    }
)
#: Names that counting itself gives to parts of a kernel.
_PART = re.compile(r"(trips|chance|loaded|leaves|runs|part|slow)_(line|at)_|part_\d")
_LONGEST = 60


def quantity_names(arguments: Sequence[str]) -> list[str]:
    """Return a name of a quantity for each argument, all different.

    An argument keeps its name where a formula can use it.

    >>> quantity_names(["n", "N", "blocks", "_x", "s"])
    ['n', 'n_2', 'kernel_blocks', 'x', 'kernel_s']
    """
    found: list[str] = []
    taken = {name for name in arguments if name == _plain(name) and not _is_reserved(name)}
    for argument in arguments:
        name = _plain(argument)
        if _is_reserved(name):
            name = f"kernel_{name}"
        if name != argument or name in found:
            base, number = name, 2
            while name in taken or name in found or name in TABLE:
                name, number = f"{base}_{number}", number + 1
        found.append(name)
    return found


def _plain(name: str) -> str:
    """Return the name in the letters that formulas know, without underscores before it."""
    name = re.sub(r"[^a-z0-9_]", "_", name.lower()).strip("_")[:_LONGEST]
    return name if name[:1].isalpha() else f"arg_{name}".rstrip("_")


def _is_reserved(name: str) -> bool:
    return (
        any(name in each for each in (_RESERVED, TABLE, FUNCTIONS, STATISTICS, KEYWORDS))
        or keyword.iskeyword(name)
        or is_unit(name)
        or _PART.match(name) is not None
    )
