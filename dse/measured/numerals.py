"""Numbers and units as profilers print them, by the locale of whoever ran them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

from symbolic.errors import DseError

__all__ = ["Cell", "base_unit", "is_missing", "numbers_of"]

_NUMBER = re.compile(r"[+-]?(\d[\d.,'\u2019\u00a0\u202f]*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_TRIPLE = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")
_MISSING = {"", "-", "n/a", "nan", "none", "null", "inf", "+inf", "-inf", "no data", "<overflow>"}
_GROUPING = "'\u2019\u00a0\u202f"
_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("hz", "hertz"), "Hz"),
    **dict.fromkeys(("inst", "sector", "request", "register", "cycle", "block", "thread"), ""),
    **dict.fromkeys(("warp", "sample", "sm", "op", "pass", "wavefront", "instruction", "way"), ""),
}
_PREFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "K": 3, "G": 9, "T": 12}


class Cell(NamedTuple):
    """A number as printed, its line, and whether it counts something, so that it is whole."""

    line: int
    text: str
    whole: bool = False


def is_missing(text: str) -> bool:
    """Whether a text stands for no value: ``n/a``, ``nan``, nothing."""
    return text.strip().removeprefix("(!)").strip().lower() in _MISSING


def base_unit(unit: str, binary: bool = False) -> tuple[Fraction, str]:
    """A profiler's unit as a factor and a unit of this library; an unknown one stays as it is.

    ``binary`` is for nvprof, whose KB are 1024 bytes: its traces print 1028 bytes as 1.003906 KB.

    >>> base_unit("usecond"), base_unit("Gbyte/second"), base_unit("Kbyte/block")
    ((Fraction(1, 1000000), 's'), (Fraction(1000000000, 1), 'B/s'), (Fraction(1000, 1), 'B'))
    >>> base_unit("cycle/nsecond"), base_unit("inst"), base_unit("%")
    ((Fraction(1000000000, 1), 'Hz'), (Fraction(1, 1), ''), (Fraction(1, 1), '%'))
    """
    above, _, below = unit.strip().partition("/")
    first, second = _part(above), _part(below) if below else (Fraction(1), "")
    if binary and first and first[1] == "B":
        first = Fraction(1024) ** round(math.log10(first[0]) / 3), "B"
    if first is None or second is None:
        return Fraction(1), unit.strip()
    named = f"{first[1] or '1'}/{second[1]}" if second[1] else first[1]
    return first[0] / second[0], {"1/s": "Hz"}.get(named, named)


def _part(unit: str) -> tuple[Fraction, str] | None:
    for prefix, power in _PREFIXES.items():
        rest = unit.removeprefix(prefix).lower()
        rest = rest if rest in _UNITS else rest.removesuffix("s")
        if unit.startswith(prefix) and rest in _UNITS and (not prefix or _UNITS[rest]):
            return Fraction(10) ** power, _UNITS[rest]
    return None


def numbers_of(cells: Iterable[Cell], name: str) -> Callable[[Cell], float | None]:
    """What reads the numbers of a file: None for what is no number, by the file's separators.

    ``2,508,800.5`` and ``2.508.800,5`` tell theirs; ``1,234`` alone may be two numbers, and is
    settled by the other cells of the file, or as it is a count.

    Raises
    ------
    DseError
        Cells that contradict each other, or one that may mean two numbers; with its line.
    """
    decimals: dict[str, Cell] = {}
    groups: dict[str, Cell] = {}
    open_: list[Cell] = []
    plain = False
    for cell in cells:
        text = cell.text.strip()
        if not _NUMBER.fullmatch(text):
            continue
        marks = [mark for mark in text if mark in ".,"]
        if not marks:
            plain = plain or bool(re.match(r"[+-]?\d{4}", text))
        elif len(set(marks)) == 2:
            decimals.setdefault(marks[-1], cell)
            groups.setdefault(marks[0], cell)
        elif len(marks) > 1:
            groups.setdefault(marks[0], cell)
        elif re.fullmatch(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", text):
            (groups.setdefault(marks[0], cell) if cell.whole else open_.append(cell))
        else:
            decimals.setdefault(marks[0], cell)
    for mark, cell in decimals.items():
        others = [c for m, c in decimals.items() if m != mark]
        one = groups.get(mark) or next(iter(others), None)
        if one is not None:
            raise DseError(
                f"{name}, lines {cell.line} and {one.line}: {cell.text.strip()!r} and "
                f"{one.text.strip()!r} cannot both be numbers of one locale: print the file anew "
                "under LC_ALL=C"
            )
    decimal = next(iter(decimals), None)
    if decimal is None and groups:
        decimal = "." if "," in groups else ","
    if decimal is None and open_:
        text = open_[0].text.strip()
        if not plain:
            raise DseError(
                f"{name}, line {open_[0].line}: {text!r} may be {re.sub('[.,]', '', text)} or "
                f"{text.replace(',', '.')}, and no other line tells how thousands are written: "
                "print the file anew under LC_ALL=C"
            )
        decimal = next(mark for mark in text if mark in ".,")
    decimal = decimal or "."

    def read(cell: Cell) -> float | None:
        text = cell.text.strip()
        triple = _TRIPLE.fullmatch(text)
        if triple:
            return float(int(triple[1]) * int(triple[2]) * int(triple[3]))
        if not _NUMBER.fullmatch(text):
            return None
        for mark in ".,":
            text = text.replace(mark, "" if mark != decimal else "\0")
        for mark in _GROUPING:
            text = text.replace(mark, "")
        try:
            return float(text.replace("\0", "."))
        except ValueError:
            raise DseError(f"{name}, line {cell.line}: {cell.text!r} is no number") from None

    return read
