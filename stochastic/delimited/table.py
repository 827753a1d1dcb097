"""Delimited text (CSV and its relatives) as columns of cells, whoever wrote it.

The parts of a file that one may read in two ways are refused with their lines. What was assumed
(encoding, separator, decimal mark, lines left out) is told by :meth:`Delimited.assumptions`.
Python's parser serves here rather than pandas': pandas pads short lines, drops blank ones and
does not tell the numbers of lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stochastic.delimited.layout import (
    SEPARATORS,
    comment_lines,
    commented_header,
    find_separator,
    split_header,
    table_start,
    trimmed_width,
)
from stochastic.delimited.numerals import Numbers, TableError, numbers
from stochastic.delimited.refusals import (
    refuse_first_table,
    refuse_other_header,
    refuse_second_table,
)
from stochastic.delimited.text import Record, lines_of_fields, text_of

__all__ = ["USUAL", "Delimited", "parse", "read"]


#: What is assumed of most files.
USUAL = "read as text: columns separated by commas, decimal point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delimited:
    """A table of texts: ``lines`` are the lines of its rows, ``skipped`` those left out, and why.

    ``names`` is empty where the first line holds numbers and a header is not required.
    """

    name: str
    names: tuple[str, ...]
    columns: tuple[Sequence[str], ...]
    lines: Sequence[int]
    separator: str
    skipped: tuple[tuple[int, str], ...] = ()

    def numbers(self) -> Numbers:
        """Return the columns with numbers as numbers, and how these are written."""
        return numbers(self.columns, self.lines, self.name)

    def assumptions(self, read: Numbers) -> list[str]:
        """Return how the file was read, a sentence each."""
        how = f"columns separated by {SEPARATORS.get(self.separator, repr(self.separator))}"
        how = how if len(self.columns) > 1 else "one column"
        told = [f"read as text: {how}, decimal {'comma' if read.decimal == ',' else 'point'}"]
        if read.doubtful:
            told.append(f"{read.doubtful} and its like have decimals, and are no thousands")
        for why in dict.fromkeys(why for _, why in self.skipped):
            lines = [line for line, reason in self.skipped if reason == why]
            shown = ", ".join(map(str, lines[:5])) + (", ..." if len(lines) > 5 else "")
            told.append(f"left out, {why}: line{'s' if len(lines) > 1 else ''} {shown}")
        return told


def read(path: Path, *, header: bool = True) -> Delimited:
    """Return the table of a file; see :func:`parse`."""
    return parse(text_of(path), str(path), header=header)


def parse(text: str, name: str, *, header: bool = True) -> Delimited:
    """Return the table of a delimited text.

    Parameters
    ----------
    text : str
        Its content.
    name : str
        What messages call it.
    header : bool
        Names of columns are required; else a first line of numbers belongs to the rows.

    Raises
    ------
    TableError
        Lines of other lengths among the rows, a second table, two columns of one name, a
        separator that cannot be told, no header; with the lines.
    """
    skipped: list[tuple[int, str]] = []
    given = re.match(r"sep=(.)(?:\r\n?|\n)", text)
    comments = comment_lines(text)

    def skip(line: str, place: int) -> bool:
        if place == 1 and given:
            return True
        if place not in comments:
            return False
        skipped.append((place, "beginning with #"))
        return True

    def quietly(line: str, place: int) -> bool:
        return place in comments or (place == 1 and given is not None)

    separator = given[1] if given else find_separator(text, quietly, name)
    records = list(lines_of_fields(text, separator, name, skip))
    if not records and not header:
        return Delimited(name=name, names=(), columns=((),), lines=[], separator=separator)
    if not records:
        raise TableError(f"{name!r} is no table: it is empty; expected a header and rows")
    width = trimmed_width(records)
    start = table_start(records, width, name, separator)
    head, rows = split_header(records[start:], header)
    before = records[: len(records) - len(rows) - (head is not None)]
    if head is not None:
        refuse_first_table(before, head, name)
    skipped += [(record.line, "before the header") for record in before]
    if head is None and header:
        head = commented_header(comments, separator, width)
        if head is None:
            raise TableError(
                f"{name!r} is no table with a header: line {rows[0].line} holds numbers, "
                f"{separator.join(rows[0].fields)[:60]!r}: name the columns in the first line"
            )
        skipped = [one for one in skipped if one[0] != head.line]
    if start and head is not None:
        refuse_other_header(records[start - 1], head, rows, name)
    kept = []
    for record in rows:
        if head is not None and record.fields == head.fields:
            skipped.append((record.line, "the header again"))
        else:
            kept.append(record)
    columns: tuple[Sequence[str], ...] = tuple(
        zip(*(record.fields for record in kept), strict=True)
    )
    columns = columns or ((),) * width
    refuse_second_table(columns, kept, name)
    names: tuple[str, ...] = ()
    if head is not None:
        named = named_columns(head, columns, name)
        names, columns = tuple(named), tuple(named.values())
    return Delimited(
        name=name,
        names=names,
        columns=columns,
        lines=[record.line for record in kept],
        separator=separator,
        skipped=tuple(sorted(skipped)),
    )


def named_columns(
    head: Record, columns: tuple[Sequence[str], ...], name: str
) -> dict[str, Sequence[str]]:
    """Return the columns by their names."""
    names = [text.strip() for text in head.fields]
    if len(names) > 1 and not names[0] and all(names[1:]):
        names[0] = "index"  # as pandas writes its own
    found: dict[str, Sequence[str]] = {}
    for place, (text, column) in enumerate(zip(names, columns, strict=True), 1):
        if not text and not any(map(str.strip, column)):
            continue
        if not text:
            raise TableError(
                f"{name}, line {head.line}: a column without a name (column {place}): give it one"
            )
        if text in found:
            places = f"{names.index(text) + 1} and {place}"
            raise TableError(
                f"{name}, line {head.line}: two columns {text!r} (columns {places}): give each a "
                "name of its own"
            )
        found[text] = column
    return found
