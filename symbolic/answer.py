"""An answer as one record, and what renders it: text for a terminal, JSON, HTML for a notebook."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from symbolic.safe_text import escape_controls, one_line

#: Rows of a table on a terminal, where JSON has them all, and in a notebook.
TEXT_ROWS, HTML_ROWS = 60, 200
#: Names in a line before the rest is counted.
_NAMES_SHOWN = 6
#: The least room for the words of a last column.
_MIN_TEXT_WIDTH = 24
_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}
_PREFIXED_UNITS = ("Hz", "s", "J", "W", "B/s")
_CELL_STYLE = "text-align:left;padding:0.1em 0.8em 0.1em 0;vertical-align:top"
#: Texts of at most so many letters stay on one line.
_NOWRAP_LENGTH, _NOWRAP_STYLE = 24, ";white-space:nowrap"
_PLAIN_HEADING = '"'
_SORTABLE_HEADING = """;cursor:pointer" title="sort" onclick="
const t=this.closest('table'),k=this.cellIndex,s=this.dataset.s=-(this.dataset.s||-1);
[...t.rows].slice(1).sort((a,b)=>{const x=a.cells[k].dataset.k,y=b.cells[k].dataset.k,d=x-y;
return s*(isNaN(d)?x.localeCompare(y):d)}).forEach(r=>t.tBodies[0].append(r))\""""
_SUMMARY_STYLE = "cursor:pointer;padding:0.15em 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns.

    ``columns`` are names, or names with the units of their values. A cell is text, a value in the
    unit of its column, a value with a unit of its own (a pair), or None. A terminal shows ``most``
    rows at most. In a notebook a table is folded behind its title unless ``opened``; a ``sortable``
    one is sorted by a click on a heading.
    """

    title: str = ""
    columns: Sequence[str] | Mapping[str, str] = ()
    rows: Sequence[Sequence[Any]]
    max_rows: int | None = None
    is_open: bool = False
    sortable: bool = False

    def cells(self, max_rows: int | None) -> list[list[str]]:
        """Return the first rows as text."""
        units = [*self.columns.values()] if isinstance(self.columns, Mapping) else []
        return [
            [cell_text(cell, units[k] if units else "") for k, cell in enumerate(row)]
            for row in self.rows[:max_rows]
        ]

    def text(self) -> str:
        """Return the table for a terminal, under its title."""
        shown = self.cells(self.max_rows)
        if self.columns:
            lines, title = (
                text_table(list(self.columns), shown, total_rows=len(self.rows)),
                self.title,
            )
        else:
            lines = "\n".join(f"  {'  '.join(filter(None, row))}" for row in shown)
            title = f"{self.title}:" if self.title else ""
        return f"{title}\n{lines}" if title else lines


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """What a question is answered by.

    ``kind`` names it, ``title`` says it in a line, ``facts`` stand below with a name each.
    ``notes`` are assumptions and warnings, ``certificate`` says what is proven, ``data`` is what
    JSON holds. All texts are plain: they are escaped where they are shown.
    """

    kind: str = "Table"
    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    certificate: str = ""
    data: Any = None

    def to_dict(self) -> Any:
        """Return the answer as plain data."""
        return self.data

    def __repr__(self) -> str:
        return f"<{self.kind}: {one_line(self.title)}>"

    def __str__(self) -> str:
        facts = [f"  {name}: {text}" for name, text in self.facts.items()]
        parts = ["\n".join(filter(None, [self.title, *facts]))]
        parts += [table.text() for table in self.tables if table.rows]
        return "\n\n".join(filter(None, [*parts, "\n".join(self.notes), self.certificate]))

    def _repr_html_(self) -> str:
        return to_html(self)


class DisplayMixin:
    """An object that an :class:`Answer` shows at a prompt and in notebooks."""

    __slots__ = ()

    def _answer(self) -> Answer:
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self._answer())

    def _repr_html_(self) -> str:
        return to_html(self._answer())


class Report(DisplayMixin):
    """A dataclass that an :class:`Answer` shows when it is printed, too."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        result: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return result

    def __str__(self) -> str:
        return str(self._answer())


def names_answer(kind: str, rows: Mapping[str, str], data: Any = None) -> Answer:
    """Return the answer that lists names with a line on each."""
    title = f"{len(rows):,}: {shorten(rows)}" if rows else "none"
    columns = (kind.lower().removesuffix("s"), "title")
    table = Table(columns=columns, rows=[*rows.items()], is_open=len(rows) <= _NAMES_SHOWN)
    return Answer(kind=kind, title=title, tables=[table], data=data)


def shorten(names: Iterable[str], limit: int = _NAMES_SHOWN) -> str:
    """Return the first of some names, and how many more there are.

    >>> shorten("abcd", 2)
    'a, b and 2 more'
    """
    every = list(names)
    shown = ", ".join(every[:limit])
    return f"{shown} and {len(every) - limit:,} more" if len(every) > limit else shown


# --- values
def value_text(value: Any, unit: str = "") -> str:
    """Return a value for people, with a prefix where its unit takes one.

    >>> value_text(1.35e9, "Hz"), value_text(0.016660123, "s"), value_text(float("nan"))
    ('1.35 GHz', '16.66 ms', '-')
    """
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool":
        return "yes" if value else "no"
    if isinstance(value, str):
        return one_line(value)
    unit = "" if unit == "1" else one_line(unit)
    number = float(value)
    if math.isnan(number):
        return "-"
    if unit in _PREFIXED_UNITS and math.isfinite(number) and number:
        power = min(max(3 * math.floor(math.log10(abs(number)) / 3), -12), 12)
        return f"{number / 10.0**power:.4g} {_PREFIXES[power]}{unit}"
    text = str(value) if isinstance(value, Integral) else f"{number:.6g}"
    return f"{text} {unit}{'s' if unit == 'cycle' and number != 1 else ''}".rstrip()


def cell_text(cell: Any, unit: str = "") -> str:
    """Return a cell of a :class:`Table` for people."""
    if isinstance(cell, tuple):
        return value_text(*cell)
    return "" if cell is None else value_text(cell, unit)


# --- text
def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    total_rows: int | None = None,
) -> str:
    """Return columns under their names; a column of numbers stands on the right.

    Where these are the first rows ``of`` more, the end says how many are left. What is wider than
    ``width``, by default the terminal's where it is printed on one, goes on below: words of the
    last column, else whole columns, again with the first one.

    >>> print(text_table(["name", "n"], [["one", "1"], ["ten", "10"]]))
    name   n
    one    1
    ten   10
    >>> print(text_table(["name", "n", "m"], [["one", "1", "2"]], width=9))
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
    least = [*widths[:-1], widths[-1] if right[-1] else min(widths[-1], _MIN_TEXT_WIDTH)]
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
        pieces = textwrap.wrap(shown, max(room - len(start), _MIN_TEXT_WIDTH)) if wide else [shown]
        yield (start + pieces[0]).rstrip()
        yield from (" " * len(start) + piece for piece in pieces[1:])

    text = "\n\n".join(
        "\n".join(line for cells in [header, *rows] for line in lines(cells, columns))
        for columns in blocks
    )
    more = 0 if total_rows is None else total_rows - len(rows)
    return text + (f"\n... and {more:,} more (--json has them all)" if more > 0 else "")


# --- JSON
def to_json(value: Any) -> str:
    """Return one valid JSON document: NaN is null, infinity the text "inf".

    >>> import numpy as np
    >>> to_json({"a": float("nan"), "b": [np.int8(1), -np.inf]}).split()
    ['{', '"a":', 'null,', '"b":', '[', '1,', '"-inf"', ']', '}']
    """
    import json

    return json.dumps(_json_value(value), indent=2, allow_nan=False, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy: an array, or one number
        return _json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return str(value) if isinstance(value, Path) else value


# --- HTML
def to_html(answer: Answer) -> str:
    """Return an answer as a part of an HTML page, in the colours of the page.

    >>> to_html(Answer(kind="Study", title="a < b"))
    '<div><div><b>Study</b> a &lt; b</div></div>'
    """
    parts = [f"<div><b>{escape_html(answer.kind)}</b> {escape_html(answer.title)}</div>"]
    if answer.facts:
        parts.append(_html_table(Table(rows=[*answer.facts.items()])))
    tables = [*answer.tables, Table(title="notes", rows=[[text] for text in answer.notes])]
    for table in tables:
        if table.rows:
            opened = " open" if table.is_open else ""
            title = escape_html(table.title or f"{len(table.rows):,} rows")
            summary = f'<summary style="{_SUMMARY_STYLE}">{title}</summary>'
            parts.append(f"<details{opened}>{summary}{_html_table(table)}</details>")
    if answer.certificate:
        parts.append(f"<div>{escape_html(answer.certificate)}</div>")
    return f"<div>{''.join(parts)}</div>"


def escape_html(text: str) -> str:
    """Return text as HTML shows it, without characters that steer the direction of writing."""
    from html import escape as escaped

    return escaped(escape_controls(text))


def _html_table(table: Table) -> str:
    style = f"{_CELL_STYLE}{_SORTABLE_HEADING if table.sortable else _PLAIN_HEADING}"
    heads = "".join(f'<th style="{style}>{escape_html(name)}</th>' for name in table.columns)
    lines = [heads] if heads else []
    for row, cells in zip(table.rows, table.cells(HTML_ROWS), strict=False):
        keys = [f' data-k="{escape_html(str(key))}"' if table.sortable else "" for key in row]
        lines.append(
            "".join(
                f'<td style="{_CELL_STYLE}{_NOWRAP_STYLE * (len(text) <= _NOWRAP_LENGTH)}"{key}>{escape_html(text)}</td>'
                for text, key in zip(cells, keys, strict=True)
            )
        )
    if (left := len(table.rows) - HTML_ROWS) > 0:
        lines.append(f"<td>and {left:,} more</td>")
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="margin:0.2em 0 0.4em 0">{body}</table>'
