"""Delimited text for this package: its errors, and units in headers and in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from stochastic import delimited
from symbolic.errors import DseError, UnitError
from symbolic.units import dimension

_BRACKETS = re.compile(r"\s*(?P<name>.*?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*", re.DOTALL)
_PARENTHESES = re.compile(r"\s*(?P<name>.*\S)(?P<space>\s*)\((?P<unit>[^()]+)\)\s*", re.DOTALL)
#: In parentheses these more often say something else: the smallest, thousands, a letter.
_NO_UNITS = {"min", "K", "A"}
#: Behind these names "(s)" is a unit, not a plural.
_TIMES = re.compile(r"(time|duration|latency|elapsed)$", re.IGNORECASE)
_WORDS = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(
        ("msec", "msecs", "millisecond", "milliseconds", "miliseconds", "millis"), "ms"
    ),
    **dict.fromkeys(("usec", "usecs", "microsecond", "microseconds", "micros"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanosecond", "nanoseconds", "nanos"), "ns"),
    **dict.fromkeys(("watt", "watts"), "W"),
    **dict.fromkeys(("milliwatt", "milliwatts"), "mW"),
    **dict.fromkeys(("joule", "joules"), "J"),
    **dict.fromkeys(("millijoule", "millijoules"), "mJ"),
    **dict.fromkeys(("byte", "bytes"), "B"),
    **dict.fromkeys(("hertz",), "Hz"),
    **dict.fromkeys(("megahertz",), "MHz"),
    **dict.fromkeys(("gigahertz",), "GHz"),
}


def split_header(text: str) -> tuple[str, str | None]:
    """Return the name and the unit in a text such as ``time [ms]``.

    >>> split_header("time [ms]"), split_header("time")
    (('time', 'ms'), ('time', None))
    """
    match = _BRACKETS.fullmatch(text)
    return (match["name"], match["unit"]) if match else (text, None)


def split_column_header(text: str) -> tuple[str, str | None]:
    """Return the name and the unit of a column; the unit may stand in parentheses, too.

    >>> split_column_header("Time (ms)"), split_column_header("Time(µs)"), split_column_header("Block(s)")
    (('Time', 'ms'), ('Time', 'us'), ('Block(s)', None))
    >>> split_column_header("Time (min)"), split_column_header("Size (count)")
    (('Time (min)', None), ('Size (count)', None))
    """
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
    """Return a unit as this library writes it, also from words; None if it is unknown.

    >>> normalize_unit("Microseconds"), normalize_unit("µs"), normalize_unit("GB/s"), normalize_unit("KB")
    ('us', 'us', 'GB/s', None)
    """
    unit = text.strip().replace("\u00b5", "u").replace("\u03bc", "u")
    if unit.lower() in _WORDS:
        return _WORDS[unit.lower()]
    try:
        dimension(unit)
    except UnitError:
        return None
    return unit


def normalize_time_unit(text: str) -> str:
    """Return a unit of time as this library writes it; nothing if it is none.

    >>> normalize_time_unit("Milliseconds"), normalize_time_unit("GB"), normalize_time_unit("")
    ('ms', '', '')
    """
    unit = normalize_unit(text) or ""
    return unit if dimension(unit) == dimension("s") else ""


@contextmanager
def table_errors() -> Iterator[None]:
    """Raise errors of the reader of delimited text as those of this package."""
    try:
        yield
    except delimited.TableError as error:
        raise DseError(str(error)) from error.__cause__


read_bytes = table_errors()(delimited.read_bytes)
read_text = table_errors()(delimited.read_text)
read_delimited = table_errors()(delimited.read_table)
