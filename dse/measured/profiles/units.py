"""Units as profilers print them."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["base_unit"]

_UNITS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("hz", "hertz"), "Hz"),
    **dict.fromkeys(("inst", "sector", "request", "register", "cycle", "block", "thread"), ""),
    **dict.fromkeys(("warp", "sample", "sm", "op", "pass", "wavefront", "instruction", "way"), ""),
}
_PREFIXES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "K": 3, "G": 9, "T": 12}


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
