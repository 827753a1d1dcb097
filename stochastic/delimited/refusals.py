"""Texts that may be read in two ways: two tables, or two lines that may be the header."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from stochastic import sizes
from stochastic.delimited.numerals import SIMPLE, TableError, is_missing, is_numeric
from stochastic.delimited.text import Record

__all__ = ["refuse_first_table", "refuse_other_header", "refuse_second_table"]

#: Rows in which numbers are looked for.
_HEAD = sizes.DELIMITED_NEAR


def refuse_other_header(before: Record, head: Record, rows: list[Record], name: str) -> None:
    """Refuse a header that may be a row, since the line before it may be the header."""
    beside = len(before.fields) == len(head.fields) - 1 and len(before.fields) > 1
    numbers_below = any(is_numeric(cell) for record in rows[:_HEAD] for cell in record.fields)
    unlike = not numbers_below or any(map(is_numeric, head.fields))
    if unlike or (beside and not head.after_blank):
        raise TableError(
            f"{name}: line {before.line} has {len(before.fields)} fields and line {head.line} has "
            f"{len(head.fields)}: expected a name for each column, and one separator throughout"
        )


def refuse_first_table(before: list[Record], head: Record, name: str) -> None:
    """Refuse lines before the header that are a table of their own."""
    for _, group in itertools.groupby(before, key=lambda record: len(record.fields)):
        first, *rows = (record.fields for record in group)
        columns = list(zip(*rows, strict=True))
        alike = any(
            not is_numeric(text) and any(map(is_numeric, cells))
            for text, cells in zip(first, columns, strict=False)
        )
        numbers = (sum(map(is_numeric, row)) for row in (first, *rows))
        if (len(first) > 1 and alike) or any(k > 1 or k == len(first) for k in numbers):
            raise TableError(
                f"{name}, line {head.line}: a second table seems to begin with "
                f"{', '.join(head.fields)[:80]!r}: keep one table in the file"
            )


def refuse_second_table(columns: tuple[Sequence[str], ...], kept: list[Record], name: str) -> None:
    """Refuse a row of nothing but texts below numbers: the header of another table."""
    if any(set("".join(column)) <= SIMPLE for column in columns):
        return
    texts, numeric = set(range(len(kept))), 0
    for column in columns:
        numbers = {cell for cell in set(column) if is_numeric(cell)}
        texts = {k for k in texts if column[k] not in numbers and not is_missing(column[k])}
        numeric += bool(numbers)
    for place in sorted(texts):
        alone = kept[place].after_blank or numeric == len(columns) > 1
        above = (cell for record in kept[max(0, place - _HEAD) : place] for cell in record.fields)
        if alone and (not numeric or any(map(is_numeric, above))):
            raise TableError(
                f"{name}, line {kept[place].line}: a second table seems to begin with "
                f"{', '.join(kept[place].fields)[:80]!r}: keep one table in the file"
            )
