"""Names and units in the headers of columns, and units in words."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from symbolic.errors import UnitError
from symbolic.units import dimension

__all__ = ["base_unit", "column_header", "header", "known_unit", "time_unit"]

_BRACKETS = re.compile(r"\s*(?P<name>.*?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*", re.DOTALL)
_PARENTHESES = re.compile(r"\s*(?P<name>.*\S)(?P<space>\s*)\((?P<unit>[^()]+)\)\s*", re.DOTALL)
#: In parentheses these more often say something else: the smallest, thousands, a letter.
_NO_UNITS = {"min", "K", "A"}
#: Behind these names "(s)" is a unit, not a plural.
_TIMES = re.compile(r"(time|duration|latency|elapsed)$", re.IGNORECASE)
_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("hz", "hertz"), "Hz"),
    **dict.fromkeys(("inst", "sector", "request", "register", "cycle", "block", "thread"), ""),
    **dict.fromkeys(("warp", "sample", "sm", "op", "pass", "wavefront", "instruction", "way"), ""),
}
_PREFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "K": 3, "G": 9, "T": 12}
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


def header(text: str) -> tuple[str, str | None]:
    """Return the name and the unit in a text such as ``time [ms]``.

    >>> header("time [ms]"), header("time")
    (('time', 'ms'), ('time', None))
    """
    match = _BRACKETS.fullmatch(text)
    return (match["name"], match["unit"]) if match else (text, None)


def column_header(text: str) -> tuple[str, str | None]:
    """Return the name and the unit of a column; the unit may stand in parentheses, too.

    >>> column_header("Time (ms)"), column_header("Time(µs)"), column_header("Block(s)")
    (('Time', 'ms'), ('Time', 'us'), ('Block(s)', None))
    >>> column_header("Time (min)"), column_header("Size (count)")
    (('Time (min)', None), ('Size (count)', None))
    """
    name, unit = header(text)
    if unit is not None:
        return name, known_unit(unit) or unit
    match = _PARENTHESES.fullmatch(text)
    if match is None or match["unit"] in _NO_UNITS or not (unit := known_unit(match["unit"])):
        return name, None
    if (
        len(unit) == 1
        and unit.isalpha()
        and not match["space"]
        and not _TIMES.search(match["name"])
    ):
        return name, None
    return match["name"], unit


def known_unit(text: str) -> str | None:
    """Return a unit as this library writes it, also from words; None if it is unknown.

    >>> known_unit("Microseconds"), known_unit("µs"), known_unit("GB/s"), known_unit("KB")
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


def time_unit(text: str) -> str:
    """Return a unit of time as this library writes it; nothing if it is none.

    >>> time_unit("Milliseconds"), time_unit("GB"), time_unit("")
    ('ms', '', '')
    """
    unit = known_unit(text) or ""
    return unit if dimension(unit) == dimension("s") else ""


def base_unit(unit: str, binary: bool = False) -> tuple[Fraction, str]:
    """Return a profiler's unit as a factor and a unit of this library; an unknown one stays.

    ``binary`` is for nvprof, whose KB are 1024 bytes: its traces print 1028 bytes as 1.003906 KB.

    >>> base_unit("usecond"), base_unit("Gbyte/second"), base_unit("Kbyte/block")
    ((Fraction(1, 1000000), 's'), (Fraction(1000000000, 1), 'B/s'), (Fraction(1000, 1), 'B'))
    >>> base_unit("cycle/nsecond"), base_unit("inst"), base_unit("%")
    ((Fraction(1000000000, 1), 'Hz'), (Fraction(1, 1), ''), (Fraction(1, 1), '%'))
    """
    unit = unit.strip().replace("\u00b5", "u").replace("\u03bc", "u")
    above, _, below = unit.partition("/")
    first, second = _part(above), _part(below) if below else (Fraction(1), "")
    if binary and first and first[1] == "B":
        first = Fraction(1024) ** round(math.log10(first[0]) / 3), "B"
    if first is None or second is None:
        return Fraction(1), unit
    named = f"{first[1] or '1'}/{second[1]}" if second[1] else first[1]
    return first[0] / second[0], {"1/s": "Hz"}.get(named, named)


def _part(unit: str) -> tuple[Fraction, str] | None:
    for prefix, power in _PREFIXES.items():
        rest = unit.removeprefix(prefix).lower()
        rest = rest if rest in _UNITS else rest.removesuffix("s")
        if unit.startswith(prefix) and rest in _UNITS and (not prefix or _UNITS[rest]):
            return Fraction(10) ** power, _UNITS[rest]
    return None
