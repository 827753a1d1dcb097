"""Numbers as people and programs write them, by the locale of whoever wrote the file.

One decimal mark holds for a whole file. ``2,508,800.5`` and ``2.508.800,5`` settle it; so does
``3,5``. ``1,234`` alone may be two numbers: it is read only where other cells settle it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stochastic.errors import LawError

#: Marks that group digits and are no decimal mark anywhere: apostrophes and hard spaces.
_GROUPING = "'\u2019\u00a0\u202f\u2009"
_PLAIN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*|,[0-9]+)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?P<mark>[.,{_GROUPING}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    r"(?:(?!(?P=mark))[.,][0-9]*)?"
)
#: One group of three digits behind a mark: thousands, or three decimals.
_OPEN = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")
#: Characters of numbers that Python reads as they stand.
SIMPLE = frozenset("0123456789+-.eE")
_MINUS = str.maketrans({"\u2212": "-"})
_MISSING = frozenset(
    (
        *("", "-", "--", "?", "n/a", "#n/a", "na", "#na", "<na>", "nan", "-nan", "none", "null"),
        *("nil", "missing", "no data", "nodata", "<overflow>", "1.#ind", "-1.#ind", "1.#qnan"),
        *("-1.#qnan", "#div/0!", "#value!", "#num!"),
    )
)
_INFINITE = {
    sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in ("inf", "infinity")
}
_WAY_OUT = "write the file with decimal points and without thousands separators (LC_ALL=C)"


class TableError(LawError):
    """A file that is no table of text that can be read in one way only."""


class Cell(NamedTuple):
    """A text, its line, and whether it counts something, so that it is a whole number."""

    line: int
    text: str
    whole: bool = False


class Numbers(NamedTuple):
    """Columns with numbers as numbers, the decimal mark, and a number that may be thousands."""

    columns: list[list[int | float | str | None]]
    decimal: str
    doubtful: str


def is_missing(text: str) -> bool:
    """True if a text stands for no value: nothing, ``n/a``, ``NaN``, ``NULL``.

    >>> is_missing(" N/A "), is_missing("(!) nan"), is_missing("0")
    (True, True, False)
    """
    return text.strip().removeprefix("(!)").strip().lower() in _MISSING


def number(text: str, decimal: str = ".") -> int | float | None:
    """Return the number of a text, exact where it is whole; None if it is no number.

    >>> number("1.234,5", ","), number("9007199254740993"), number("1,23", "."), number("1e3")
    (1234.5, 9007199254740993, None, 1000.0)
    """
    text = text.strip().translate(_MINUS)
    grouped = _GROUPED.fullmatch(text)
    if grouped and grouped["mark"] != decimal:
        text = text.replace(grouped["mark"], "")
    if not _PLAIN.fullmatch(text):
        return _INFINITE.get(text.lower())
    other = "," if decimal == "." else "."
    if other in text:
        return None
    text = text.replace(decimal, ".")
    return float(text) if set(text) & set(".eE") else _integer(text)


def is_numeric(text: str) -> bool:
    """True if a text is a number under some decimal mark."""
    return number(text, ".") is not None or number(text, ",") is not None


def _integer(text: str) -> int | float:
    return int(text) if len(text) < 4000 else float(text)  # Python refuses longer ones


@dataclass(slots=True)
class _Evidence:
    """Cells that settle the decimal mark, by the mark, and cells that leave it open."""

    decimals: dict[str, Cell] = field(default_factory=dict)
    groups: dict[str, Cell] = field(default_factory=dict)
    open: list[Cell] = field(default_factory=list)

    def add(self, cells: Iterable[Cell]) -> None:
        """Take the cells of a column. Where one has four digits in a row, none are grouped."""
        plain, undecided = False, []
        for cell in cells:
            text = cell.text.strip().translate(_MINUS)
            marks = [mark for mark in text if mark in ".,"]
            grouped = _GROUPED.fullmatch(text)
            if not grouped and not _PLAIN.fullmatch(text):
                continue
            plain = plain or bool(re.match(r"[+-]?[0-9]{4}", text))
            if grouped and grouped["mark"] in _GROUPING:
                self.decimals |= {mark: cell for mark in marks if mark not in self.decimals}
            elif _OPEN.fullmatch(text):
                if cell.whole:
                    self.groups.setdefault(marks[0], cell)
                else:
                    undecided.append(cell)
            elif grouped:
                self.groups.setdefault(marks[0], cell)
                if marks[-1] != marks[0]:
                    self.decimals.setdefault(marks[-1], cell)
            elif marks:
                self.decimals.setdefault(marks[0], cell)
        if not plain:
            self.open += undecided
        else:
            for cell in undecided:
                self.decimals.setdefault(next(m for m in cell.text if m in ".,"), cell)


def decimal_mark(columns: Iterable[Iterable[Cell]], name: str, *, printed: bool = False) -> str:
    """Return the decimal mark of a file: a point or a comma.

    Parameters
    ----------
    columns : iterable of iterables of Cell
        The cells of each column; texts that are no numbers do not count.
    name : str
        The file, for messages.
    printed : bool
        One program printed the file in its locale: ``1.234`` alone is refused like ``1,234``.
        In other files a point is a decimal point unless a cell says otherwise.

    Raises
    ------
    TableError
        Cells contradict each other, or ``1,234`` may mean two numbers.
    """
    seen = _Evidence()
    for cells in columns:
        seen.add(cells)
    for mark, cell in seen.decimals.items():
        rival = next((c for m, c in seen.decimals.items() if m != mark), None)
        rival = seen.groups.get(mark) or rival
        if rival is not None:
            raise TableError(
                f"{name}, lines {cell.line} and {rival.line}: {cell.text.strip()!r} and "
                f"{rival.text.strip()!r} cannot both be numbers of one locale: {_WAY_OUT}"
            )
    decimal = next(iter(seen.decimals), "")
    if len(seen.groups) > 1:
        one, other = list(seen.groups.values())[:2]
        raise TableError(
            f"{name}, lines {one.line} and {other.line}: {one.text.strip()!r} and "
            f"{other.text.strip()!r} group digits by different marks: {_WAY_OUT}"
        )
    if not decimal and seen.groups:
        decimal = "." if "," in seen.groups else ","
    if decimal or not seen.open:
        return decimal or "."
    marks = {next(m for m in cell.text if m in ".,") for cell in seen.open}
    if marks == {"."} and not printed:
        return "."
    cell = next(c for c in seen.open if "," in c.text or marks == {"."})
    text = cell.text.strip()
    raise TableError(
        f"{name}, line {cell.line}: {text!r} may be {re.sub('[.,]', '', text)} or "
        f"{text.replace(',', '.')}, and no other line tells how thousands are written: {_WAY_OUT}"
    )


def numbers_of(cells: Iterable[Cell], name: str) -> Callable[[Cell], int | float | None]:
    """Return the reader of the numbers of a printed file; it gives None for what is no number."""
    decimal = decimal_mark([cells], name, printed=True)
    return lambda cell: number(cell.text, decimal)


def numbers(columns: Sequence[Sequence[str]], lines: Sequence[int], name: str) -> Numbers:
    """Return the columns of a table with its numbers as numbers, and its decimal mark.

    A column that holds any number, or nothing but words for no value, holds None where such a word
    stands; a column of texts keeps every word ("none" is a label there), and None for empty cells
    only. Whole numbers are exact.
    """
    simple = [_simple(column) for column in columns]
    decimal = "."
    if any(
        column is None and _has_marks(texts) for column, texts in zip(simple, columns, strict=True)
    ):
        decimal = decimal_mark((map(Cell, lines, texts) for texts in columns), name)
    read = [
        column if column is not None and decimal == "." else _read(texts, decimal)
        for column, texts in zip(simple, columns, strict=True)
    ]
    return Numbers(read, decimal, _doubtful(columns) if decimal == "." else "")


def _doubtful(columns: Sequence[Sequence[str]]) -> str:
    """Return a number such as 1.234 if no other shows that the point is a decimal point."""
    example = ""
    for text in itertools.chain.from_iterable(columns):
        if "." in text and _PLAIN.fullmatch(text.strip()):
            if not _OPEN.fullmatch(text.strip()):
                return ""
            example = example or text.strip()
    return example


def _has_marks(texts: Sequence[str]) -> bool:
    """True if a number of a column has a comma, groups of digits, or two points."""
    return any(
        ("," in text and _PLAIN.fullmatch(text)) or _GROUPED.fullmatch(text)
        for text in {text.strip().translate(_MINUS) for text in texts}
    )


def _simple(texts: Sequence[str]) -> list[int | float | str | None] | None:
    """Return a column of nothing but plain numbers and empty cells; None if it holds more."""
    if not set("".join(texts)) <= SIMPLE:
        texts = [text.strip() for text in texts]
        if not set("".join(texts)) <= SIMPLE:
            return None
    try:
        if not set("".join(texts)) & set(".eE"):
            found: list[int | float | str | None] = [int(t) if t else None for t in texts]
        else:
            found = [
                None if not t else float(t) if "." in t or "e" in t or "E" in t else int(t)
                for t in texts
            ]
    except ValueError:
        return None
    return found


def _read(texts: Sequence[str], decimal: str) -> list[int | float | str | None]:
    read = {text: number(text, decimal) for text in set(texts)}
    some = any(value is not None for value in read.values())
    some = some or all(is_missing(text) and text.strip().lower() != "none" for text in read)
    return [
        None
        if read[text] is None and (not text.strip() or (some and is_missing(text)))
        else text
        if read[text] is None
        else read[text]
        for text in texts
    ]
