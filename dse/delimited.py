"""Read delimited text (CSV and similar), and the units in column headers."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from stochastic import delimited
from symbolic.errors import DseError, UnitError
from symbolic.units import dimension

_BRACKETS = re.compile(r"\s*(?P<name>.*?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*", re.DOTALL)
_PARENTHESES = re.compile(r"\s*(?P<name>.*\S)(?P<space>\s*)\((?P<unit>[^()]+)\)\s*", re.DOTALL)
#: Texts in parentheses that are not read as units: "(min)" usually means minimum, not minutes.
_NO_UNITS = {"min", "K", "A"}
#: Ends of names after which "(s)" means seconds; after other names "(s)" is a plural.
_TIMES = re.compile(r"(time|duration|latency|elapsed)$", re.IGNORECASE)
_WORDS = {
    "s": "sec secs second seconds",
    "ms": "msec msecs millisecond milliseconds miliseconds millis",
    "us": "usec usecs microsecond microseconds micros",
    "ns": "nsec nsecs nanosecond nanoseconds nanos",
    "W": "watt watts",
    "mW": "milliwatt milliwatts",
    "J": "joule joules",
    "mJ": "millijoule millijoules",
    "B": "byte bytes",
    "Hz": "hertz",
    "MHz": "megahertz",
    "GHz": "gigahertz",
}
_UNIT_OF_WORD = {word: unit for unit, words in _WORDS.items() for word in words.split()}


def split_commas(text: str) -> list[str]:
    """Split a text at commas outside brackets.

    >>> split_commas("a, min(b, c)")
    ['a', 'min(b, c)']
    """
    pieces, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces]


def split_header(text: str) -> tuple[str, str | None]:
    """Split a header such as ``time [ms]`` into a name and a unit (None if it has no unit)."""
    match = _BRACKETS.fullmatch(text)
    return (match["name"], match["unit"]) if match else (text, None)


def split_column_header(text: str) -> tuple[str, str | None]:
    """Split a column header into a name and a unit, which may be in brackets or parentheses."""
    name, unit = split_header(text)
    if unit is not None:
        return name, normalize_unit(unit) or unit
    match = _PARENTHESES.fullmatch(text)
    if match is None or match["unit"] in _NO_UNITS or not (unit := normalize_unit(match["unit"])):
        return name, None
    if (
        len(unit) == 1
        and unit.isalpha()
        and not match["space"]
        and not _TIMES.search(match["name"])
    ):
        return name, None
    return match["name"], unit


def normalize_unit(text: str) -> str | None:
    """Return the unit for a symbol or a word such as ``Microseconds``; None if it is unknown."""
    unit = text.strip().replace("\u00b5", "u").replace("\u03bc", "u")
    if unit.lower() in _UNIT_OF_WORD:
        return _UNIT_OF_WORD[unit.lower()]
    try:
        dimension(unit)
    except UnitError:
        return None
    return unit


def normalize_time_unit(text: str) -> str:
    """Return the unit of time for a symbol or a word; ``""`` if it is no unit of time."""
    unit = normalize_unit(text) or ""
    return unit if dimension(unit) == dimension("s") else ""


@contextmanager
def table_errors() -> Iterator[None]:
    """Convert errors that reading a table raises to :class:`DseError`."""
    try:
        yield
    except delimited.TableError as error:
        raise DseError(str(error)) from error.__cause__


read_bytes = table_errors()(delimited.read_bytes)
read_text = table_errors()(delimited.read_text)
read_delimited = table_errors()(delimited.read_table)
