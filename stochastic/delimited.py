"""Read tables from delimited text of any origin (CSV and the like), and report the assumptions.

An ambiguous file is an error that names the ambiguous lines. :meth:`DelimitedTable.assumptions`
reports the separator, the decimal mark and the skipped lines. We use Python's parser because
pandas' parser pads short lines, drops blank lines and loses line numbers.

A file has one decimal mark. This mark is known from a cell such as ``2,508,800.5``, ``2.508.800,5``
or ``3,5``. The cell ``1,234`` is ambiguous, so it is an error unless other cells show the mark.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from stochastic import sizes
from stochastic.checks import LawError

Columns = Sequence[Sequence[str]]

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
#: The text of :meth:`DelimitedTable.assumptions` for a file in the most common format.
USUAL_FORMAT = "read as text: columns separated by commas, decimal point"
#: Marks that can only group digits, never be a decimal mark: apostrophes and non-breaking spaces.
_GROUPING = "'\u2019\u00a0\u202f\u2009"
_PLAIN_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*|,[0-9]+)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED_NUMBER = re.compile(
    rf"[+-]?[1-9][0-9]{{0,2}}(?P<mark>[.,{_GROUPING}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    r"(?:(?!(?P=mark))[.,][0-9]*)?"
)
#: A number whose only mark, before its last three digits, may be decimal or group digits.
_AMBIGUOUS_NUMBER = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,])[0-9]{3}")
#: The only characters in numbers that Python parses without any replacement.
_NUMBER_CHARACTERS = frozenset("0123456789+-.eE")
_MINUS = str.maketrans({"\u2212": "-"})
_MISSING = frozenset(
    (
        *("", "-", "--", "?", "n/a", "#n/a", "na", "#na", "<na>", "nan", "-nan", "none", "null"),
        *("nil", "missing", "no data", "nodata", "<overflow>", "1.#ind", "-1.#ind", "1.#qnan"),
        *("-1.#qnan", "#div/0!", "#value!", "#num!"),
    )
)
_INFINITE = {s + word: float(s + "inf") for s in ("", "+", "-") for word in ("inf", "infinity")}
_HINT = "write the file with decimal points and without thousands separators (LC_ALL=C)"


class TableError(LawError):
    """An error about a file that is not a delimited table, or that is ambiguous."""


class Cell(NamedTuple):
    """The text of a cell and its line number; ``is_count`` is True if it must be a whole number."""

    line: int
    text: str
    is_count: bool = False


class NumericColumns(NamedTuple):
    """Parsed columns and the decimal mark of their file.

    ``ambiguous`` is an example of a number whose point was assumed to be a decimal point, but
    perhaps groups thousands; empty if there is none.
    """

    columns: list[list[int | float | str | None]]
    decimal: str
    ambiguous: str


def is_missing(text: str) -> bool:
    """True if a text means that there is no value: it is empty, ``n/a``, ``NaN``, ``NULL``, ..."""
    return text.strip().removeprefix("(!)").strip().lower() in _MISSING


def parse_number(text: str, decimal: str = ".") -> int | float | None:
    """Return the number in a text, an int if it is whole; None if the text is not a number."""
    text = text.strip().translate(_MINUS)
    grouped = _GROUPED_NUMBER.fullmatch(text)
    if grouped and grouped["mark"] != decimal:
        text = text.replace(grouped["mark"], "")
    if not _PLAIN_NUMBER.fullmatch(text):
        return _INFINITE.get(text.lower())
    other = "," if decimal == "." else "."
    if other in text:
        return None
    text = text.replace(decimal, ".")
    is_real = set(text) & set(".eE") or len(text) >= 4000  # Python refuses longer integers
    return float(text) if is_real else int(text)


def is_numeric(text: str) -> bool:
    """True if a text is a number, with a decimal point or a decimal comma."""
    return parse_number(text, ".") is not None or parse_number(text, ",") is not None


def decimal_mark(columns: Iterable[Iterable[Cell]], name: str, *, strict: bool = False) -> str:
    """Return the decimal mark of a file, a point or a comma, judged from its numbers.

    If all numbers with a mark are like ``1,234``, this is an error. If all are like ``1.234``, the
    point is a decimal point, or an error with ``strict`` (for files in an unknown locale).
    """
    decimals: dict[str, Cell] = {}  # decimal mark: the first cell that shows it
    groups: dict[str, Cell] = {}  # mark that groups digits: the first cell that shows it
    undecided: list[Cell] = []
    for cells in columns:
        open_cells, is_plain = [], False  # is_plain: a number has four digits without a mark
        for cell in cells:
            text = cell.text.strip().translate(_MINUS)
            grouped = _GROUPED_NUMBER.fullmatch(text)
            if not grouped and not _PLAIN_NUMBER.fullmatch(text):
                continue
            marks = [mark for mark in text if mark in ".,"]
            is_plain = is_plain or bool(re.match(r"[+-]?[0-9]{4}", text))
            if grouped and grouped["mark"] not in _GROUPING:
                if _AMBIGUOUS_NUMBER.fullmatch(text) and not cell.is_count:
                    open_cells.append(cell)
                    continue
                groups.setdefault(marks[0], cell)
                marks = [mark for mark in marks[-1:] if mark != marks[0]]
            for mark in marks:
                decimals.setdefault(mark, cell)
        if not is_plain:
            undecided += open_cells
        else:
            for cell in open_cells:
                decimals.setdefault(_first_mark(cell), cell)
    for mark, cell in decimals.items():
        rival = groups.get(mark) or next((c for m, c in decimals.items() if m != mark), None)
        if rival is not None:
            raise _contradiction_error(name, cell, rival, "cannot both be numbers of one locale")
    if len(groups) > 1:
        one, other = groups.values()
        raise _contradiction_error(name, one, other, "group digits by different marks")
    if decimals or groups:
        return next(iter(decimals), "." if "," in groups else ",")
    result = {_first_mark(cell) for cell in undecided}
    if not result or (result == {"."} and not strict):
        return "."
    cell = next(c for c in undecided if "," in c.text or result == {"."})
    text = cell.text.strip()
    raise TableError(
        f"{name}, line {cell.line}: {text!r} may be {re.sub('[.,]', '', text)} or "
        f"{text.replace(',', '.')}, and no other line shows how thousands are written: {_HINT}"
    )


def _first_mark(cell: Cell) -> str:
    return next(mark for mark in cell.text if mark in ".,")


def _contradiction_error(name: str, first: Cell, other: Cell, what: str) -> TableError:
    return TableError(
        f"{name}, lines {first.line} and {other.line}: {first.text.strip()!r} and "
        f"{other.text.strip()!r} {what}: {_HINT}"
    )


def number_reader(cells: Iterable[Cell], name: str) -> Callable[[Cell], int | float | None]:
    """Return a function that parses a cell as a number; it returns None for other texts."""
    decimal = decimal_mark([cells], name, strict=True)
    return lambda cell: parse_number(cell.text, decimal)


def parse_columns(columns: Columns, lines: Sequence[int], name: str) -> NumericColumns:
    """Return the columns of a table with numbers parsed, and its decimal mark.

    Words that mean a missing value ("NA") become None if their column contains a number or only
    such words. In a column of texts, they stay as labels. Empty cells always become None.
    """
    simple = [_parse_plain_column(column) for column in columns]
    decimal = "."
    pairs = list(zip(simple, columns, strict=True))
    if any(column is None and _has_marks(texts) for column, texts in pairs):
        decimal = decimal_mark((map(Cell, lines, texts) for texts in columns), name)
    read = [c if c is not None and decimal == "." else _parse_column(t, decimal) for c, t in pairs]
    return NumericColumns(read, decimal, _ambiguous_example(columns) if decimal == "." else "")


def _ambiguous_example(columns: Columns) -> str:
    """Return a number such as 1.234, whose point may group digits; "" if another rules it out."""
    example = ""
    for text in itertools.chain.from_iterable(columns):
        if "." in text and _PLAIN_NUMBER.fullmatch(text.strip()):
            if not _AMBIGUOUS_NUMBER.fullmatch(text.strip()):
                return ""
            example = example or text.strip()
    return example


def _has_marks(texts: Sequence[str]) -> bool:
    return any(
        ("," in text and _PLAIN_NUMBER.fullmatch(text)) or _GROUPED_NUMBER.fullmatch(text)
        for text in {text.strip().translate(_MINUS) for text in texts}
    )


def _parse_plain_column(texts: Sequence[str]) -> list[int | float | str | None] | None:
    """Return the numbers of a column (None for empty cells); None if a cell is another text."""
    texts = [text.strip() for text in texts]
    if not set("".join(texts)) <= _NUMBER_CHARACTERS:
        return None
    try:
        return [
            None if not t else float(t) if "." in t or "e" in t or "E" in t else int(t)
            for t in texts
        ]
    except ValueError:
        return None


def _parse_column(texts: Sequence[str], decimal: str) -> list[int | float | str | None]:
    read = {text: parse_number(text, decimal) for text in set(texts)}
    some = any(value is not None for value in read.values())
    some = some or all(is_missing(text) and text.strip().lower() != "none" for text in read)
    empty = {text for text in read if not text.strip() or (some and is_missing(text))}
    return [text if read[text] is None and text not in empty else read[text] for text in texts]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelimitedTable:
    """A table whose cells are texts.

    ``lines`` are the line numbers of the rows; ``skipped_lines`` are (line number, reason).
    ``names`` is empty if the first line holds numbers and a header is not required.
    """

    name: str
    names: tuple[str, ...]
    columns: Columns
    lines: Sequence[int]
    separator: str
    skipped_lines: tuple[tuple[int, str], ...] = ()

    def parse_numbers(self) -> NumericColumns:
        """Return the columns with numbers parsed, and the decimal mark of these numbers."""
        return parse_columns(self.columns, self.lines, self.name)

    def assumptions(self, parsed: NumericColumns) -> list[str]:
        """Return the assumptions under which the file was read, with one sentence for each."""
        how = f"columns separated by {_SEPARATORS.get(self.separator, repr(self.separator))}"
        how = how if len(self.columns) > 1 else "one column"
        notes = [f"read as text: {how}, decimal {'comma' if parsed.decimal == ',' else 'point'}"]
        if parsed.ambiguous:
            notes.append(f"{parsed.ambiguous} and its like have decimals, and are no thousands")
        for why in dict.fromkeys(why for _, why in self.skipped_lines):
            lines = [line for line, reason in self.skipped_lines if reason == why]
            shown = ", ".join(map(str, lines[:5])) + (", ..." if len(lines) > 5 else "")
            notes.append(f"left out, {why}: line{'s' if len(lines) > 1 else ''} {shown}")
        return notes


def read_table(path: Path, *, header: bool = True) -> DelimitedTable:
    """Read a file and return its table; see :func:`parse_table`."""
    return parse_table(read_text(path), str(path), header=header)


def parse_table(text: str, name: str, *, header: bool = True) -> DelimitedTable:
    """Return the table in a delimited text; TableError if the text is ambiguous.

    Error messages refer to the text as ``name``. Without ``header``, numbers in line 1 are data.
    """
    given = re.match(r"sep=(.)(?:\r\n?|\n)", text)
    comments = _comment_lines(text)
    skipped: list[tuple[int, str]] = []

    def skip(_: str, place: int) -> bool:
        if place in comments:
            skipped.append((place, "beginning with #"))
        return place in comments or (place == 1 and given is not None)

    separator = given[1] if given else _find_separator(text, comments, name)
    records = list(iterate_records(text, separator, name, skip))
    if not records and not header:
        return DelimitedTable(name=name, names=(), columns=((),), lines=[], separator=separator)
    if not records:
        raise TableError(f"{name!r} is no table: it is empty; expected a header and rows")
    width = _trimmed_width(records)
    start = _table_start(records, width, name, separator)
    head, rows = _split_header(records[start:], header)
    before = records[: len(records) - len(rows) - (head is not None)]
    if head is not None:
        _refuse_first_table(before, head, name)
    skipped += [(record.line, "before the header") for record in before]
    if head is None and header:
        head = _commented_header(comments, separator, width)
        if head is None:
            raise TableError(
                f"{name!r} is no table with a header: line {rows[0].line} holds numbers, "
                f"{separator.join(rows[0].fields)[:60]!r}: name the columns in the first line"
            )
        skipped = [one for one in skipped if one[0] != head.line]
    if start and head is not None:
        _refuse_other_header(records[start - 1], head, rows, name)
    again = [row for row in rows if head is not None and row.fields == head.fields]
    skipped += [(row.line, "the header again") for row in again]
    kept_rows = [row for row in rows if head is None or row.fields != head.fields]
    columns: Columns = tuple(zip(*(row.fields for row in kept_rows), strict=True))
    columns = columns or ((),) * width
    _refuse_second_table(columns, kept_rows, name)
    names: tuple[str, ...] = ()
    if head is not None:
        named = _columns_by_name(head, columns, name)
        names, columns = tuple(named), tuple(named.values())
    return DelimitedTable(
        name=name,
        names=names,
        columns=columns,
        lines=[record.line for record in kept_rows],
        separator=separator,
        skipped_lines=tuple(sorted(skipped)),
    )


def _columns_by_name(head: Record, columns: Columns, name: str) -> dict[str, Sequence[str]]:
    names = [text.strip() for text in head.fields]
    if len(names) > 1 and not names[0] and all(names[1:]):
        names[0] = "index"  # pandas leaves the name of its index column empty
    result: dict[str, Sequence[str]] = {}
    for place, (text, column) in enumerate(zip(names, columns, strict=True), 1):
        if not text and not any(map(str.strip, column)):
            continue
        if not text:
            raise TableError(
                f"{name}, line {head.line}: a column without a name (column {place}): give it one"
            )
        if text in result:
            places = f"{names.index(text) + 1} and {place}"
            raise TableError(
                f"{name}, line {head.line}: two columns {text!r} (columns {places}): give each a "
                "name of its own"
            )
        result[text] = column
    return result


# --- layout of a table: separator, header, first line
def _comment_lines(text: str) -> dict[int, str]:
    """Return the comments by line number: lines that begin with # and are not rows of the table."""
    if "#" not in text:
        return {}
    result: dict[int, str] = {}
    others: list[int] = []
    for place, line in enumerate(io.StringIO(text, newline=""), 1):
        bare = line.strip()
        word = re.split(r"[,;\t| ]", bare, maxsplit=1)[0].strip('"')
        if word.startswith("#") and re.match(r"#(?!\s*[,;\t|])", bare) and not is_missing(word):
            result[place] = bare
        elif bare:
            others.append(place)
    labels = len(others) == 1 and all(place > others[0] for place in result)
    return {} if labels else result  # if all lines below the header begin with #, they are rows


def _trimmed_width(records: list[Record]) -> int:
    """Drop empty fields after the last column from the records; return the number of columns."""
    counts = Counter(len(record.fields) for record in records)
    width = max(counts, key=lambda size: (counts[size], size))
    while width > 1 and not any(r.fields[-1].strip() for r in records if len(r.fields) == width):
        for record in records:
            if len(record.fields) == width:
                record.fields.pop()
        width -= 1
    for record in records:
        if not any(map(str.strip, record.fields[width:])):
            del record.fields[width:]
    return width


def _table_start(records: list[Record], width: int, name: str, separator: str) -> int:
    """Return the index of the table's first record; TableError if rows differ in length."""
    start = next(k for k, record in enumerate(records) if len(record.fields) == width)
    others = [k for k, record in enumerate(records) if k > start and len(record.fields) != width]
    if not others:
        return start
    after = others[-1] + 1
    words = not any(is_numeric(cell) for record in records[:after] for cell in record.fields)
    if words and after < len(records) and records[after].after_blank:
        return after  # a report precedes the table
    record = records[others[0]]
    what = "a second table or a remark: keep one table in the file"
    raise TableError(
        f"{name}, line {record.line}: {len(record.fields)} fields where line "
        f"{records[start].line} has {width} (separated by "
        f"{_SEPARATORS.get(separator, repr(separator))}): "
        + (what if record.after_blank else "the file is cut off, or a cell needs quotes")
    )


def _split_header(records: list[Record], required: bool) -> tuple[Record | None, list[Record]]:
    some = records[: sizes.DELIMITED_HEAD]
    begins = []  # for each numeric column: the index of the row where its numbers begin
    for cells in zip(*(record.fields for record in some), strict=True):
        place = len(cells)
        while place and (is_numeric(cells[place - 1]) or is_missing(cells[place - 1])):
            place -= 1
        if any(is_numeric(cell) for cell in cells[place:]):
            begins.append(place)
    first = records[0].fields
    if begins and not any(begins) and (required or is_numeric(first[0])):
        return None, records
    place = min(begins, default=1) - 1
    if place > 0 and (
        some[place].after_blank
        or not all(map(str.strip, some[0].fields))
        or any(mark in text for text in some[0].fields for mark in ":=")
    ):
        return records[place], records[place + 1 :]
    return records[0], records[1:]


def _commented_header(comments: dict[int, str], separator: str, width: int) -> Record | None:
    for place, text in sorted(comments.items(), reverse=True)[:1]:
        result = next(csv.reader([text.lstrip("# \t")], delimiter=separator, skipinitialspace=True))
        fields = [field.strip() for field in result]
        if len(fields) == width and all(fields) and not any(map(is_numeric, fields)):
            return Record(place, fields)
    return None


def _find_separator(text: str, comments: Collection[int], name: str) -> str:
    """Return the separator that gives rows of equal length and the most numbers."""
    sample = text[: sizes.DELIMITED_SAMPLE]
    whole, uneven = len(sample) == len(text), False
    result: list[tuple[tuple[bool, int, bool, float], int, str]] = []
    for separator in _SEPARATORS:
        records = _sample_records(sample, separator, comments, whole)
        if not any(len(record.fields) > 1 for record in records):
            continue
        width = _trimmed_width(records)
        longer = sum(len(record.fields) > 1 for record in records)
        if width == 1 and longer:
            uneven = uneven or (longer > 1 and separator != " ")
            continue
        full = [k for k, record in enumerate(records) if len(record.fields) == width]
        start = full[0]
        body = records[start + 1 :]
        fits = all(len(record.fields) == width for record in body)
        cells = [cell for record in body for cell in record.fields]
        share = sum(is_numeric(cell) or is_missing(cell) for cell in cells) / max(len(cells), 1)
        if separator != " " or (fits and share >= 0.5 and width > 1):
            begin = -start if fits else len(body)
            result.append(((fits, begin, separator != " ", share), len(full), separator))
    if not result and uneven:
        raise TableError(
            f"{name}: neither commas, semicolons, tabs nor bars cut its lines into as many fields"
        )
    if not result:
        return ","
    best, lines, _ = max(result, key=lambda one: one[0])
    ways = [
        separator
        for fits, count, separator in result
        if fits == best or (best[0] and best[1] < 0 and not fits[0] and count >= lines)
    ]
    if len(ways) > 1 and best[0]:
        names = " or ".join(_SEPARATORS[way] for way in ways)
        raise TableError(
            f"{name}: {names} may separate the columns: put cells that hold either in quotes"
        )
    return ways[0]


def _sample_records(text: str, mark: str, comments: Collection[int], whole: bool) -> list[Record]:
    """Return the first records with a given mark; none if the text does not contain it."""
    if mark not in text:
        return []
    lines = iterate_records(text, mark, "", lambda _, at: at in comments, strict=whole)
    try:
        records = list(itertools.islice(lines, sizes.DELIMITED_RECORDS))
    except TableError:
        return []
    return records if whole or len(records) == sizes.DELIMITED_RECORDS else records[:-1]


def _refuse_other_header(previous: Record, head: Record, rows: list[Record], name: str) -> None:
    """Raise TableError if the line ``previous``, above the assumed header, may be the header."""
    one_short = len(previous.fields) == len(head.fields) - 1 and len(previous.fields) > 1
    numbers_below = any(
        is_numeric(cell) for row in rows[: sizes.DELIMITED_NEAR] for cell in row.fields
    )
    unlike = not numbers_below or any(map(is_numeric, head.fields))
    if unlike or (one_short and not head.after_blank):
        raise TableError(
            f"{name}: line {previous.line} has {len(previous.fields)} fields and line {head.line} "
            f"has {len(head.fields)}: expected a name for each column, and one separator throughout"
        )


def _refuse_first_table(preceding: list[Record], head: Record, name: str) -> None:
    for _, group in itertools.groupby(preceding, key=lambda record: len(record.fields)):
        first, *rows = (record.fields for record in group)
        pairs = zip(first, list(zip(*rows, strict=True)), strict=False)
        has_header = any(not is_numeric(t) and any(map(is_numeric, cells)) for t, cells in pairs)
        numbers = (sum(map(is_numeric, row)) for row in (first, *rows))
        if (len(first) > 1 and has_header) or any(k > 1 or k == len(first) for k in numbers):
            raise _second_table_error(name, head)


def _refuse_second_table(columns: Columns, records: list[Record], name: str) -> None:
    """Raise TableError if a row of texts below numbers looks like the header of another table."""
    if any(set("".join(column)) <= _NUMBER_CHARACTERS for column in columns):
        return
    texts, numeric = set(range(len(records))), 0
    for column in columns:
        numbers = {cell for cell in set(column) if is_numeric(cell)}
        texts = {k for k in texts if column[k] not in numbers and not is_missing(column[k])}
        numeric += bool(numbers)
    for place in sorted(texts):
        alone = records[place].after_blank or numeric == len(columns) > 1
        near = records[max(0, place - sizes.DELIMITED_NEAR) : place]
        above = (cell for record in near for cell in record.fields)
        if alone and (not numeric or any(map(is_numeric, above))):
            raise _second_table_error(name, records[place])


def _second_table_error(name: str, head: Record) -> TableError:
    return TableError(
        f"{name}, line {head.line}: a second table seems to begin with "
        f"{', '.join(head.fields)[:80]!r}: keep one table in the file"
    )


class Record(NamedTuple):
    """The fields of a line, its number, and a flag that is true if a blank line precedes it."""

    line: int
    fields: list[str]
    after_blank: bool = False


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if it is a gzip file."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise TableError(f"{path} cannot be read: {why}") from error


def read_text(path: Path) -> str:
    """Return the text of a file, decoded as UTF-16 if its first bytes say so, else as UTF-8."""
    raw = read_bytes(path)
    encoding = next((e for bom, e in _BOMS.items() if raw.startswith(bom)), "utf-8")
    if encoding == "utf-8" and b"\0" in raw[:4]:
        encoding = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} cannot be read: it is no text in UTF-8, nor in UTF-16 with a byte order mark "
            f"({error})"
        ) from error
    if "\0" in text:
        raise TableError(f"{path} cannot be read: it holds zero bytes and is no text")
    return text


def iterate_records(
    text: str, separator: str, name: str, skip: Callable[[str, int], bool], *, strict: bool = True
) -> Iterator[Record]:
    """Yield the records of a text, without lines for which ``skip(line, number)`` is true.

    Quoted fields may contain separators and line ends. ``strict`` is as for csv.reader.
    """
    place = first = 0
    fresh, blank, after = True, False, False

    def feed() -> Iterator[str]:
        nonlocal place, first, fresh, blank, after
        for place, line in enumerate(io.StringIO(text, newline=""), 1):
            if fresh:
                if not line.strip() and (separator == " " or separator not in line):
                    blank = True
                    continue
                if skip(line, place):
                    continue
                first, fresh, after, blank = place, False, blank, False
            yield line

    spaced = separator == " " or re.search(f'(?m)(?:^|{re.escape(separator)}) +"', text) is not None
    reader = csv.reader(feed(), delimiter=separator, strict=strict, skipinitialspace=spaced)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            where = f" to {place}" if place > first else ""
            raise TableError(
                f"{name}, line {first}{where}: {error}: a quote is not closed, or the file is "
                "cut off"
            ) from None
        if fields is None:
            return
        fresh = True
        yield Record(first, fields, after)
