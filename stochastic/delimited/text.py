"""The text of a file, and its lines cut into fields."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from stochastic.delimited.numerals import TableError

__all__ = ["Record", "bytes_of", "lines_of_fields", "text_of"]

_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class Record(NamedTuple):
    """The fields of a line, its number, and whether a blank line stands before it."""

    line: int
    fields: list[str]
    after_blank: bool = False


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if it is compressed."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise TableError(f"{path} cannot be read: {why}") from error


def text_of(path: Path) -> str:
    """Return the text of a file, in UTF-8, or in UTF-16 where its first bytes say so."""
    raw = bytes_of(path)
    encoding = next((e for bom, e in _BOMS.items() if raw.startswith(bom)), "utf-8")
    if encoding == "utf-8" and b"\0" in raw[:4]:
        encoding = "utf-16-le" if raw[1:2] == b"\0" else "utf-16-be"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path} cannot be read: it is no text in UTF-8, nor in UTF-16 that says so in its "
            f"first bytes ({error})"
        ) from error
    if "\0" in text:
        raise TableError(f"{path} cannot be read: it holds zero bytes and is no text")
    return text


def lines_of_fields(
    text: str, separator: str, name: str, skip: Callable[[str, int], bool], *, strict: bool = True
) -> Iterator[Record]:
    """Yield the records of a text with their first lines; quotes may hold separators and lines.

    ``skip`` is asked of each line that begins a record: True leaves the line out.
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
