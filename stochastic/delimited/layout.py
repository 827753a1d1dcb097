"""How the lines of a text make a table: its separator, its header, its first line."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable

from stochastic import sizes
from stochastic.delimited.numerals import TableError, is_missing, is_numeric
from stochastic.delimited.text import Record, lines_of_fields

__all__ = [
    "SEPARATORS",
    "comment_lines",
    "commented_header",
    "find_separator",
    "split_header",
    "table_start",
    "trimmed_width",
]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
#: Characters and records from the beginning by which the separator is found.
_SAMPLE, _RECORDS = sizes.DELIMITED_SAMPLE, sizes.DELIMITED_RECORDS
#: Records in which the header is looked for.
_HEAD = sizes.DELIMITED_HEAD


def comment_lines(text: str) -> dict[int, str]:
    """Return the lines that begin with # and are no rows, by their numbers."""
    if "#" not in text:
        return {}
    found: dict[int, str] = {}
    others: list[int] = []
    for place, line in enumerate(io.StringIO(text, newline=""), 1):
        bare = line.strip()
        word = re.split(r"[,;\t| ]", bare, maxsplit=1)[0].strip('"')
        if word.startswith("#") and re.match(r"#(?!\s*[,;\t|])", bare) and not is_missing(word):
            found[place] = bare
        elif bare:
            others.append(place)
    labels = len(others) == 1 and all(place > others[0] for place in found)
    return {} if labels else found  # below a header, where every row begins with #


def trimmed_width(records: list[Record]) -> int:
    """Return the width of the table; separators that end its lines are taken off."""
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


def table_start(records: list[Record], width: int, name: str, separator: str) -> int:
    """Return the place of the first record of the table; all after it belong to it."""
    start = next(k for k, record in enumerate(records) if len(record.fields) == width)
    others = [k for k, record in enumerate(records) if k > start and len(record.fields) != width]
    if not others:
        return start
    after = others[-1] + 1
    words = not any(is_numeric(cell) for record in records[:after] for cell in record.fields)
    if words and after < len(records) and records[after].after_blank:
        return after  # a report stands before the table
    record = records[others[0]]
    what = "a second table or a remark: keep one table in the file"
    raise TableError(
        f"{name}, line {record.line}: {len(record.fields)} fields where line "
        f"{records[start].line} has {width} (separated by "
        f"{SEPARATORS.get(separator, repr(separator))}): "
        + (what if record.after_blank else "the file is cut off, or a cell needs quotes")
    )


def split_header(records: list[Record], required: bool) -> tuple[Record | None, list[Record]]:
    """Return the record that names the columns, and the rows; None where there is none."""
    some = records[:_HEAD]
    begins = []  # for each column of numbers, the first record from which on it holds them
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


def commented_header(comments: dict[int, str], separator: str, width: int) -> Record | None:
    """Return the last comment as a header, where it names as many columns as there are."""
    for place, text in sorted(comments.items(), reverse=True)[:1]:
        found = next(csv.reader([text.lstrip("# \t")], delimiter=separator, skipinitialspace=True))
        fields = [field.strip() for field in found]
        if len(fields) == width and all(fields) and not any(map(is_numeric, fields)):
            return Record(place, fields)
    return None


def find_separator(text: str, skip: Callable[[str, int], bool], name: str) -> str:
    """Return what separates the cells: what cuts the lines alike, and gives most numbers."""
    sample = text[:_SAMPLE]
    whole, uneven = len(sample) == len(text), False
    found: list[tuple[tuple[bool, int, bool, float], int, str]] = []
    for separator in SEPARATORS:
        records = _sample(sample, separator, skip, whole)
        if not any(len(record.fields) > 1 for record in records):
            continue
        width = trimmed_width(records)
        longer = sum(len(record.fields) > 1 for record in records)
        if width == 1 and longer:
            uneven = uneven or (longer > 1 and separator != " ")
            continue
        alike = [k for k, record in enumerate(records) if len(record.fields) == width]
        start = alike[0]
        body = records[start + 1 :]
        fits = all(len(record.fields) == width for record in body)
        cells = [cell for record in body for cell in record.fields]
        share = sum(is_numeric(cell) or is_missing(cell) for cell in cells) / max(len(cells), 1)
        if separator != " " or (fits and share >= 0.5 and width > 1):
            begin = -start if fits else len(body)
            found.append(((fits, begin, separator != " ", share), len(alike), separator))
    if not found and uneven:
        raise TableError(
            f"{name}: neither commas, semicolons, tabs nor bars cut its lines into as many fields"
        )
    if not found:
        return ","
    best, lines, _ = max(found, key=lambda one: one[0])
    ways = [
        separator
        for fits, count, separator in found
        if fits == best or (best[0] and best[1] < 0 and not fits[0] and count >= lines)
    ]
    if len(ways) > 1 and best[0]:
        told = " or ".join(SEPARATORS[way] for way in ways)
        raise TableError(
            f"{name}: {told} may separate the columns: put cells that hold either in quotes"
        )
    return ways[0]


def _sample(
    text: str, separator: str, skip: Callable[[str, int], bool], whole: bool
) -> list[Record]:
    """Return the first records under a separator; none where it cannot be that of the file."""
    if separator not in text:
        return []
    lines = lines_of_fields(text, separator, "", skip, strict=whole)
    try:
        records = list(itertools.islice(lines, _RECORDS))
    except TableError:
        return []
    return records if whole or len(records) == _RECORDS else records[:-1]
