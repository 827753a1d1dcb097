"""Tables of text, which follow the width of a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

from symbolic.plain_text import one_line

#: Rows of a table for people; JSON has them all.
ROWS = 60
#: The least room for the words of a last column.
_WORDS = 24


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    of: int | None = None,
) -> str:
    """Columns under their names; a column of numbers stands on the right.

    Where these are the first rows ``of`` more, the end says how many are left.

    What is wider than ``width``, by default the terminal's where it is printed on one, goes on
    below: words of the last column, else whole columns, beside the first one again.

    >>> print(table(["name", "n"], [["one", "1"], ["ten", "10"]]))
    name   n
    one    1
    ten   10
    >>> print(table(["name", "n", "m"], [["one", "1", "2"]], width=9))
    name  n
    one   1
    <BLANKLINE>
    name  m
    one   2
    """
    header = [one_line(text) for text in header]
    rows = [[one_line(text) for text in row] for row in rows]
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    right = [
        bool(rows) and all(row[k][:1] in "-0123456789" for row in rows) for k in range(len(header))
    ]
    room = sum(widths) + 2 * len(widths) if width is None else width
    last = len(header) - 1
    least = [*widths[:-1], widths[-1] if right[-1] else min(widths[-1], _WORDS)]
    blocks: list[list[int]] = [[]]
    for k in range(len(header)):
        if len(blocks[-1]) > 1 and sum(least[j] + 2 for j in blocks[-1]) + least[k] > room:
            blocks.append([0])
        blocks[-1].append(k)

    def lines(cells: Sequence[str], columns: Sequence[int]) -> Iterator[str]:
        *before, end = columns
        parts = [
            cells[k].rjust(widths[k]) if right[k] else cells[k].ljust(widths[k]) for k in before
        ]
        shown = cells[end].rjust(widths[end]) if right[end] else cells[end]
        start = "".join(f"{part}  " for part in parts)
        wide = end == last and not right[end] and len(start) + len(shown) > room
        pieces = textwrap.wrap(shown, max(room - len(start), _WORDS)) if wide else [shown]
        yield (start + pieces[0]).rstrip()
        yield from (" " * len(start) + piece for piece in pieces[1:])

    told = "\n\n".join(
        "\n".join(line for cells in [header, *rows] for line in lines(cells, columns))
        for columns in blocks
    )
    more = 0 if of is None else of - len(rows)
    return told + (f"\n... and {more:,} more (--json has them all)" if more > 0 else "")
