"""The words of a formula, and the errors that point at them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

from symbolic.errors import DseError, ExpressionError, UnitError, UnknownNameError

MAX_LENGTH = 10_000
MAX_DIGITS = 1_000


class ExpressionUnitError(ExpressionError, UnitError):
    """A unit in a formula that is unknown, ambiguous, or does not fit."""


class ExpressionNameError(ExpressionError, UnknownNameError):
    """A name in a formula that is not known."""


_NUMBER = r"(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?"
_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
#: Quotes, or a unit of microseconds, microjoules, microwatts with either character for micro.
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

_BAD = {
    "//": "'//' is no operator here: write floor(a / b)",
    "=": "'=' assigns nothing in a formula: == compares, and arguments have no names",
    ":=": "':=' assigns nothing in a formula: == compares",
    ".": "'.' has no place here: a formula reads no attributes",
    "!": "'!' is no operator here: write not, or !=",
    "~": "'~' is no operator here: write not",
    "&": "'&' is no operator here: write and",
    "|": "'|' is no operator here: write or",
    **dict.fromkeys("'\"", "the text in quotes is never closed: put the same quote behind it"),
    "`": "'`' is no quote: a label stands in ' or \"",
    **dict.fromkeys("[]{}", "a formula knows only round parentheses"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word: ``kind`` is number, name, text, operator, bad or end; ``position`` is 0-based.

    A text keeps its quotes.
    """

    kind: str
    text: str
    position: int

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.position + len(self.text)


def shown(text: str) -> str:
    """The text in quotes, shortened where it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def unit_of(text: str) -> str:
    """What follows the number with which a text begins; nothing where it begins otherwise.

    >>> unit_of("-120 GB/s")
    'GB/s'
    """
    match = re.match(rf"\s*[-+]?\s*{_NUMBER}", text, re.ASCII)
    return text[match.end() :].strip() if match else ""


class Source:
    """The text of a formula, checked and cut into :class:`Token`.

    Parameters
    ----------
    text : str
        The formula; ASCII but for what stands in quotes, at most 10 000 characters.

    Raises
    ------
    DseError
        Where it is no text.
    ExpressionError
        Where it is empty, too long, or not ASCII.

    >>> [token.text for token in Source("2*(a+1)").tokens]
    ['2', '*', '(', 'a', '+', '1', ')', '']
    """

    __slots__ = ("text", "tokens")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise DseError(
                f"a formula is text such as '2 * time', not {type(text).__name__} "
                f"{shown(repr(text))}: put it in quotes"
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
        self.tokens = self._cut(text)

    def _cut(self, text: str) -> list[Token]:
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
        """Raise an error that points at a position."""
        raise error(message, self.text, position)

    def fail_at(self, token: Token) -> NoReturn:
        """Raise the error of a word that cannot stand where it does."""
        where = token.position
        if token.kind == "bad":
            self.fail(
                _BAD.get(token.text, f"{token.text!r} has no place in a formula"),
                where,
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
            f"{shown(token.text)} stands where a number, a quantity or '(' is expected", where
        )

    def number(self, token: Token) -> int | Fraction:
        """The exact value of a number: an int as written without point and exponent."""
        text = token.text
        if len(text) > MAX_DIGITS:
            self.fail(f"a number of more than {MAX_DIGITS} characters: round it", token.position)
        rough = float(text)
        if math.isinf(rough):
            self.fail(f"{shown(text)} is beyond the range of floats", token.position)
        if rough == 0:
            if re.search("[1-9]", re.split("[eE]", text)[0]):
                self.fail(f"{shown(text)} is too small for a float: write 0", token.position)
            return 0
        if text.replace("_", "").isdigit():
            return int(text)
        return Fraction(text)


def source_of(text: str) -> Source:
    """A formula cut into words; the same texts are read over and over."""
    return _source(text) if isinstance(text, str) else Source(text)


_source = lru_cache(maxsize=1 << 10)(Source)
