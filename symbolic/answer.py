"""Answers as records, rendered as text for a terminal, as JSON, or as HTML for a notebook."""

from __future__ import annotations

import math
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TextIO

from symbolic.safe_text import escape_controls, one_line

#: Maximum numbers of rows that a table shows on a terminal and in a notebook (JSON has all rows).
TEXT_ROWS, HTML_ROWS = 60, 200
_NAMES_SHOWN = 6
#: A last column that contains words is wrapped to at least this width. [characters]
_MIN_TEXT_WIDTH = 24
#: Prefixes of numbers in texts: powers of 1000 from -5 to 4, powers of 1024, and their units.
PREFIXES = ("f", "p", "n", "µ", "m", "", "k", "M", "G", "T")
BINARY_PREFIXES = ("", "Ki", "Mi", "Gi", "Ti")
PREFIXED_UNITS = ("Hz", "s", "J", "W", "B/s", "B", "FLOP/s", "OP/s", "J s")
#: A number in a unit with prefixes is shown as 0 if it is below _SMALLEST, or below _SMALLEST_SHARE
#: times the largest number in its column.
_SMALLEST, _SMALLEST_SHARE = 1e-18, 1e-12
#: Pattern of cells that a table aligns on the right: a number, possibly with a unit.
_NUMBER = re.compile(r"([-+±]? ?(\d[\d,]*\.?\d*(e[-+]?\d+)?|inf|nan)( ?%| \S+( [A-Za-z]\S*)?)?|-)?")
_is_wide = ContextVar("_is_wide", default=False)
_CELL_STYLE = "text-align:left;padding:0.1em 0.8em 0.1em 0;vertical-align:top"
#: Cells of at most this many characters are not wrapped in HTML.
_NOWRAP_LENGTH, _NOWRAP_STYLE = 24, ";white-space:nowrap"
_PLAIN_HEADING = '"'
_SORTABLE_HEADING = """;cursor:pointer" title="sort" onclick="
const t=this.closest('table'),k=this.cellIndex,s=this.dataset.s=-(this.dataset.s||-1);
[...t.rows].slice(1).sort((a,b)=>{const x=a.cells[k].dataset.k,y=b.cells[k].dataset.k,d=x-y;
return s*(isNaN(d)?x.localeCompare(y):d)}).forEach(r=>t.tBodies[0].append(r))\""""
_SUMMARY_STYLE = "cursor:pointer;padding:0.15em 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: rows of cells under the names of the columns.

    ``columns`` are names, or a mapping from names to the units of their values. A cell is text, a
    value in the unit of its column, a pair (value, unit), or None. A terminal shows at most
    ``max_rows`` rows. If the columns do not fit side by side, they are shown in several blocks, and
    each block repeats the first ``key_columns`` columns. In a notebook, the table is folded behind
    its title unless ``is_open``; a click on a heading sorts a ``sortable`` table.
    """

    title: str = ""
    columns: Sequence[str] | Mapping[str, str] = ()
    rows: Sequence[Sequence[Any]]
    max_rows: int | None = None
    key_columns: int = 1
    is_open: bool = False
    sortable: bool = False

    def cells(self, max_rows: int | None) -> list[list[str]]:
        """Return the first rows as text; the numbers in a column share a prefix."""
        units = [*self.columns.values()] if isinstance(self.columns, Mapping) else []
        units = units or [""] * max(map(len, self.rows), default=0)
        columns = [
            _column_texts(column, unit)
            for column, unit in zip(zip(*self.rows[:max_rows], strict=True), units, strict=True)
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def text(self) -> str:
        """Return the table as text for a terminal, below its title."""
        rows, title = self.cells(self.max_rows), self.title
        if self.columns:
            names, keys = list(self.columns), self.key_columns
            lines = text_table(names, rows, total_rows=len(self.rows), key_columns=keys)
        else:
            lines = "\n".join(f"  {'  '.join(filter(None, row))}" for row in rows)
            title = title and f"{title}:"
        return f"{title}\n{lines}" if title else lines


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """Result of a query or command, ready to be rendered.

    ``kind`` is the name of this kind of result. ``title`` is a summary in one line, and ``facts``
    are shown below it, each with its name. ``notes`` are assumptions and warnings, ``certificate``
    states what is proven, ``data`` is the content of the JSON.
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
        return f"<{self.kind}: {one_line(self.title.partition(chr(10))[0])}>"

    def __str__(self) -> str:
        facts = [f"  {name}: {text}" for name, text in self.facts.items()]
        parts = ["\n".join(filter(None, [self.title, *facts]))]
        parts += [table.text() for table in self.tables if table.rows]
        return "\n\n".join(filter(None, [*parts, "\n".join(self.notes), self.certificate]))

    def _repr_html_(self) -> str:
        return to_html(self)


class DisplayMixin:
    """Base class of objects that a prompt and a notebook show as an :class:`Answer`."""

    __slots__ = ()

    def _answer(self) -> Answer:
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self._answer())

    def _repr_html_(self) -> str:
        return to_html(self._answer())


class Report(DisplayMixin):
    """Base class of dataclasses that are shown as an :class:`Answer`, also by ``print``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        result: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return result

    def __str__(self) -> str:
        return str(self._answer())


def names_answer(kind: str, rows: Mapping[str, str], data: Any = None) -> Answer:
    """Return an answer that lists names, each with a line of text."""
    title = f"{len(rows):,}: {shorten(rows)}" if rows else "none"
    columns = (kind.lower().removesuffix("s"), "title")
    table = Table(columns=columns, rows=[*rows.items()], is_open=len(rows) <= _NAMES_SHOWN)
    return Answer(kind=kind, title=title, tables=[table], data=data)


def shorten(names: Iterable[str], limit: int = _NAMES_SHOWN) -> str:
    """Return the first ``limit`` names as text, followed by the number of the other names.

    >>> shorten("abcd", 2)
    'a, b and 2 more'
    """
    every = list(names)
    shown = ", ".join(every[:limit])
    return f"{shown} and {len(every) - limit:,} more" if len(every) > limit else shown


def value_text(value: Any, unit: str = "", prefix: tuple[float, str] | None = None) -> str:
    """Return a value as readable text, with a prefix if its unit takes prefixes.

    ``prefix`` is a pair of factor and prefix, such as (1e-3, "m"); by default it is chosen to fit
    the value.

    >>> value_text(1.35e9, "Hz"), value_text(0.016660123, "s"), value_text(49152, "B")
    ('1.35 GHz', '16.66 ms', '48 KiB')
    """
    if isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool":
        return "yes" if value else "no"
    if isinstance(value, str):
        return one_line(value)
    unit = "" if unit == "1" else one_line(unit)
    number = float(value)
    if math.isnan(number):
        return "-"
    if unit in PREFIXED_UNITS and math.isfinite(number):
        if abs(number) < _SMALLEST:
            return f"0 {unit}"
        factor, letters = prefix or common_prefix([number], unit)
        return f"{number / factor:.4g} {letters}{unit}"
    text = str(value) if isinstance(value, Integral) else f"{number:.6g}"
    return f"{text} {unit}{'s' if unit == 'cycle' and number != 1 else ''}".rstrip()


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a count as text: ``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def half_width_text(error: float, unit: str) -> str:
    """Return the half-width of a confidence interval as text."""
    return f"± {value_text(error, unit)}" if error else "exact"


def cell_text(cell: Any, unit: str = "", prefix: tuple[float, str] | None = None) -> str:
    """Return a cell of a :class:`Table` as readable text."""
    if isinstance(cell, tuple):
        value, unit = cell
        return value_text(value, unit, prefix)
    return "" if cell is None else value_text(cell, unit, prefix)


def common_prefix(numbers: Iterable[float], unit: str) -> tuple[float, str]:
    """Return (factor, text) of the smallest prefix with which no number has over four digits."""
    sizes = [abs(x) for x in numbers if math.isfinite(x) and abs(x) >= _SMALLEST]
    if not sizes:
        return 1.0, ""
    is_binary = unit == "B" and all(size % 1024 == 0 for size in sizes)
    base = 1024.0 if is_binary else 1000.0
    step = math.floor(round(math.log(min(sizes)) / math.log(base), 12))
    while max(sizes) / base**step >= 9999.5:
        step += 1
    step = min(max(step, 0 if unit == "B" else -5), 4)
    return base**step, BINARY_PREFIXES[step] if is_binary else PREFIXES[step + 5]


def _column_texts(cells: Sequence[Any], unit: str) -> list[str]:
    """Return the cells of a column as text; numbers of a single unit share one prefix."""
    pairs = [cell if isinstance(cell, tuple) else (cell, unit) for cell in cells]
    numeric = [(float(x), u) for x, u in pairs if _is_number(x)]
    units = {u for _, u in numeric}
    if len(units) != 1 or not units <= {*PREFIXED_UNITS}:
        return [cell_text(cell, unit) for cell in cells]
    sizes = [abs(x) for x, _ in numeric if math.isfinite(x)]
    limit = _SMALLEST_SHARE * max(sizes, default=0.0)
    prefix = common_prefix((size for size in sizes if size >= limit), *units)
    return [
        cell_text((0.0, u) if _is_number(x) and abs(x) < limit else cell, unit, prefix)
        for cell, (x, u) in zip(cells, pairs, strict=True)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@contextmanager
def wide_tables() -> Iterator[None]:
    """Print tables with all columns side by side, whatever the width of the terminal."""
    token = _is_wide.set(True)
    try:
        yield
    finally:
        _is_wide.reset(token)


def terminal_width(stream: TextIO) -> int | None:
    """Return the number of columns of a terminal; None for other streams, or with --wide."""
    return shutil.get_terminal_size().columns if stream.isatty() and not _is_wide.get() else None


def fold_lines(text: str, width: int | None) -> str:
    """Wrap each line that is longer than ``width``; further lines are indented.

    >>> print(fold_lines("  one two three", 10))
      one two
        three
    """
    if width is None:
        return text
    result = []
    for line in text.split("\n"):
        if len(line) <= width:
            result.append(line)
            continue
        result += textwrap.wrap(
            line,
            width,
            subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2),
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(result)


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    total_rows: int | None = None,
    key_columns: int = 1,
) -> str:
    """Return a table as text: columns under their names, numbers aligned on the right.

    A table wider than ``width`` (default: the width of the terminal, if there is one) loses its
    columns ``error(...)``, and then the key columns in which all rows are equal. The last line
    names these columns. If the table is still too wide, the last column of a block is wrapped, and
    columns are printed in several blocks, each with the key columns. If ``total_rows`` exceeds the
    number of rows, a line at the end says how many rows are missing.

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
    width = terminal_width(sys.stdout) if width is None else width
    columns, notes = [*range(len(header))], list[str]()
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    if width is not None:
        errors = [k for k in reversed(columns[1:]) if header[k].startswith("error(")]
        same = [k for k in columns[:key_columns] if len({row[k] for row in rows}) == 1 < len(rows)]
        for k in [*errors, *same]:
            if sum(widths[j] + 2 for j in columns) - 2 <= width or len(columns) == 1:
                break
            columns.remove(k)
            notes.append(header[k] if k in errors else f"{header[k]} (always {rows[0][k]})")
    keys = [k for k, column in enumerate(columns) if column < key_columns]
    header, widths = [header[k] for k in columns], [widths[k] for k in columns]
    rows = [[row[k] for k in columns] for row in rows]
    right = [
        any(row[k] for row in rows) and all(_NUMBER.fullmatch(row[k]) for row in rows)
        for k in range(len(header))
    ]
    room = sum(widths) + 2 * len(widths) if width is None else width
    least = [*widths[:-1], widths[-1] if right[-1] else min(widths[-1], _MIN_TEXT_WIDTH)]
    others = [least[k] for k in range(len(header)) if k not in keys]
    if sum(widths[k] + 2 for k in keys) + max(others, default=0) > room:
        keys = [0]
    blocks: list[list[int]] = [[]]
    for k in range(len(header)):
        is_full = sum(least[j] + 2 for j in blocks[-1]) + least[k] > room
        if is_full and len(blocks[-1]) > (len(keys) if blocks[1:] else 1):
            blocks.append([*keys])
        blocks[-1].append(k)

    def lines(cells: Sequence[str], columns: Sequence[int]) -> Iterator[str]:
        *before, end = columns
        cut = [cells[k].rjust(widths[k]) if right[k] else cells[k].ljust(widths[k]) for k in before]
        shown = cells[end].rjust(widths[end]) if right[end] else cells[end]
        start = "".join(f"{part}  " for part in cut)
        wide = not right[end] and len(start) + len(shown) > room
        pieces = textwrap.wrap(shown, max(room - len(start), _MIN_TEXT_WIDTH)) if wide else [shown]
        yield (start + pieces[0]).rstrip()
        yield from (" " * len(start) + piece for piece in pieces[1:])

    text = "\n\n".join(
        "\n".join(line for cells in [header, *rows] for line in lines(cells, columns))
        for columns in blocks
    )
    more = 0 if total_rows is None else total_rows - len(rows)
    ends = [f"... and {more:,} more (--json has them all)"] if more > 0 else []
    if notes:
        ends.append(textwrap.fill(f"not shown: {', '.join(notes)} (--wide shows all)", room))
    return "\n".join([text, *ends])


def to_json(value: Any) -> str:
    """Return a value as a valid JSON document: NaN becomes null, infinity becomes "inf".

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
    if hasattr(value, "tolist"):
        return _json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return str(value) if isinstance(value, Path) else value


def to_html(answer: Answer) -> str:
    """Return an answer as an HTML fragment that keeps the colours of the page around it.

    >>> to_html(Answer(kind="Study", title="a < b"))
    '<div><div><b>Study</b> a &lt; b</div></div>'
    """
    lines = ' style="white-space:pre-wrap"' * ("\n" in answer.title)
    parts = [f"<div{lines}><b>{escape_html(answer.kind)}</b> {escape_html(answer.title)}</div>"]
    if answer.facts:
        parts.append(_html_table(Table(rows=[*answer.facts.items()])))
    tables = [*answer.tables, Table(title="notes", rows=[[text] for text in answer.notes])]
    for table in tables:
        if table.rows:
            is_open = " open" if table.is_open else ""
            many = len(table.rows)
            title = escape_html(table.title or f"{many:,} row{'s' * (many != 1)}")
            summary = f'<summary style="{_SUMMARY_STYLE}">{title}</summary>'
            parts.append(f"<details{is_open}>{summary}{_html_table(table)}</details>")
    if answer.certificate:
        parts.append(f'<div style="white-space:pre-wrap">{escape_html(answer.certificate)}</div>')
    return f"<div>{''.join(parts)}</div>"


def escape_html(text: str) -> str:
    """Escape text for HTML; control characters and direction marks are shown by their codes."""
    from html import escape as escaped

    return escaped(escape_controls(text))


def _html_table(table: Table) -> str:
    style = f"{_CELL_STYLE}{_SORTABLE_HEADING if table.sortable else _PLAIN_HEADING}"
    heads = "".join(f'<th style="{style}>{escape_html(name)}</th>' for name in table.columns)
    lines = [heads] if heads else []
    for row, cells in zip(table.rows, table.cells(HTML_ROWS), strict=False):
        keys = [f' data-k="{escape_html(str(key))}"' if table.sortable else "" for key in row]
        line = ""
        for text, key in zip(cells, keys, strict=True):
            nowrap = _NOWRAP_STYLE if len(text) <= _NOWRAP_LENGTH else ""
            line += f'<td style="{_CELL_STYLE}{nowrap}"{key}>{escape_html(text)}</td>'
        lines.append(line)
    if (left := len(table.rows) - HTML_ROWS) > 0:
        lines.append(f"<td>and {left:,} more</td>")
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div style="overflow-x:auto;margin:0.2em 0 0.4em 0"><table>{body}</table></div>'
