"""Convert numbers with the units that users write to SI units or plain counts, exactly.

The byte is a base dimension, so 80 GB/s is not a frequency. Cycles, threads, warps, blocks,
instructions, requests, lanes and flops (operations) are dimensionless counts. Only the units,
prefixes and plurals listed here are known. We do not use pint, because its import takes longer than
all other imports of a study; a test compares our definitions with those of pint.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

from symbolic.errors import UnitError, nearest_hint

#: For each base unit in which values are stored, the name of its dimension.
_DIMENSION_NAMES = {
    "": "a plain number or count", "s": "a time", "s^2": "a squared time", "1/s": "a frequency",
    "B": "an amount of data", "B/s": "a bandwidth", "s/B": "a time per byte", "J": "an energy",
    "J/s": "a power", "J/B": "an energy per byte", "J s": "an energy-delay product",
    "J s^2": "an energy-delay-squared product", "1/J": "work per energy", "B/J": "data per energy",
    "K": "a temperature difference", "V": "a voltage", "A": "a current", "degC": "a temperature",
}  # fmt: skip
_FACTOR = re.compile(
    r"\s*(?P<operator>[*/]?)\s*(?P<name>[A-Za-z_]\w*|%)(?:\s*(?:\^|\*\*)\s*(?P<exponent>-?\d+))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Dimension:
    """The dimension of a unit, as sorted pairs of a base unit and a nonzero exponent.

    Plain numbers and counts have no pairs. ``str`` gives a description of the dimension.

    >>> from symbolic.units import dimension
    >>> str(dimension("GB/s")), str(dimension("warps"))
    ('a bandwidth [B/s]', 'a plain number or count')
    >>> dimension("B") / dimension("s") == dimension("GB/s")
    True
    """

    exponents: tuple[tuple[str, Fraction], ...] = ()

    @property
    def is_plain(self) -> bool:
        """True if this is the dimension of plain numbers and counts."""
        return not self.exponents

    def __mul__(self, other: Dimension) -> Dimension:
        total = dict(self.exponents)
        for base, exponent in other.exponents:
            total[base] = total.get(base, Fraction(0)) + exponent
        return Dimension(tuple(sorted((base, exp) for base, exp in total.items() if exp)))

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other ** Fraction(-1)

    def __pow__(self, exponent: Fraction | int) -> Dimension:
        if not exponent:
            return Dimension()
        return Dimension(tuple((base, exp * exponent) for base, exp in self.exponents))

    @property
    def unit(self) -> str:
        """Return the unit in which values of this dimension are stored, such as ``"B/s"``."""

        def factor(base: str, exponent: Fraction) -> str:
            return base if exponent == 1 else f"{base}^{exponent}"

        above = " ".join(factor(base, exp) for base, exp in self.exponents if exp > 0)
        below = "".join("/" + factor(base, -exp) for base, exp in self.exponents if exp < 0)
        return (above or "1" if below else above) + below

    def __str__(self) -> str:
        unit = self.unit
        words = _DIMENSION_NAMES.get(unit, "a quantity")
        shown = "W" if unit == "J/s" else unit
        return f"{words} [{shown}]" if unit else words


#: The two Unicode characters for micro, both replaced by the letter u.
_MICRO = {0xB5: "u", 0x3BC: "u"}
MAX_EXPONENT = 12
MAX_LENGTH = 200

#: The names of each base unit, symbol first, and pint's name of its dimension.
_BASES = {
    "s second seconds": "[time]",
    "B byte bytes": "[information]",
    "J joule joules": "[energy]",
    "K kelvin": "[temperature]",
    "V volt volts": "[electric_potential]",
    "A ampere amperes": "[electric_current]",
    "degC celsius": "[celsius]",  # temperatures; differences are in K
}
_COUNTS = "cycle thread warp block instruction request lane operation flop FLOP OP"
#: The names of each derived unit, and its definition by base units.
_DERIVED = {
    "min minute minutes": "60 s", "h hour hours": "3600 s", "Hz hertz": "1 / s",
    "W watt watts": "J / s", "percent": "1 / 100",
}  # fmt: skip
_SCALES = {"f": -15, "p": -12, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
#: The prefixes that each unit may take.
_PREFIXES = {
    "s": "m u n p f", "Hz": "k M G T", "B": "k M G T P Ki Mi Gi Ti", "J": "f p n u m k M",
    "W": "u m k M", "V": "m", **dict.fromkeys(("flop", "FLOP", "OP"), "k M G T P"),
}  # fmt: skip


def _prefix_definition(unit: str, prefix: str) -> str:
    if prefix in _BINARY:
        return f"{2 ** _BINARY[prefix]} {unit}"
    power = _SCALES[prefix]
    return f"{10**power} {unit}" if power > 0 else f"{unit} / {10**-power}"


_DERIVED |= {
    prefix + unit: _prefix_definition(unit, prefix)
    for unit, prefixes in _PREFIXES.items()
    for prefix in prefixes.split()
}
_BASE_OF = {name: names.split()[0] for names in _BASES for name in names.split()}
_DEFINITIONS = {name: text for names, text in _DERIVED.items() for name in names.split()}
_NAMES = frozenset(" ".join([*_BASES, *_DERIVED]).split()) | {
    count + plural for count in _COUNTS.split() for plural in ("", "s")
}
#: The names of all units; the page of ``dse explore`` also reads them.
UNITS = _NAMES

#: Units that an error message may suggest in place of a unit of the wrong dimension.
_COMMON = (
    *("ms", "s", "us", "ns", "min", "h", "GHz", "MHz", "kHz", "Hz", "GB/s", "MB/s", "kB/s", "B/s"),
    *("KiB", "MiB", "GiB", "B", "kB", "MB", "GB", "W", "mW", "kW", "J", "mJ", "kJ", "K", "V", "mV"),
    "degC",
    *("J s", "J s^2", "s^2"),
)


@lru_cache(maxsize=256)
def _parse_name(name: str) -> tuple[Fraction, Dimension]:
    if name in _BASE_OF:
        return Fraction(1), Dimension(((_BASE_OF[name], Fraction(1)),))
    factor, total = Fraction(1), Dimension()  # counts, such as "cycles"
    above, _, below = _DEFINITIONS.get(name, "1").partition(" / ")
    for side, sign in ((above, 1), (below, -1)):
        for word in side.split():
            one, kind = (Fraction(word), Dimension()) if word.isdigit() else _parse_name(word)
            factor, total = factor * one**sign, total * kind**sign
    return factor, total


def _refuse(unit: object, why: str) -> NoReturn:
    shown = repr(unit)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    raise UnitError(
        f"{shown} is no unit: {why}; expected for example 'GHz', 'GB/s', 'KiB', 'ms', 'W', 'J s'"
    )


@lru_cache(maxsize=1024)
def _parse_product(unit: str) -> tuple[Fraction, Dimension]:
    factor, total = Fraction(1), Dimension()
    text = re.sub(r"^\s*1\s*(?=/)", "", unit)
    started = text != unit
    place, end = 0, len(text.rstrip())
    while place < end:
        part = _FACTOR.match(text, place)
        if part is None:
            _refuse(unit, f"{text[place:].strip()[:20]!r} cannot be read")
        name, operator = part["name"], part["operator"]
        name = "percent" if name == "%" else name
        if operator and not started:
            _refuse(unit, f"a factor is missing before {operator!r}")
        if name not in _NAMES:
            _refuse(unit, f"{name[:40]!r} is unknown{nearest_unit_hint(name)}")
        exponent = int(part["exponent"] or 1)
        if abs(exponent) > MAX_EXPONENT:
            _refuse(unit, f"the exponent {exponent} is beyond {MAX_EXPONENT}")
        exponent = -exponent if operator == "/" else exponent
        one, kind = _parse_name(name)
        factor, total = factor * one**exponent, total * kind**exponent
        place, started = part.end(), True
    return factor, total


def _parse_unit(unit: str) -> tuple[Fraction, Dimension]:
    if not isinstance(unit, str):
        _refuse(unit, "a unit is text")
    if len(unit) > MAX_LENGTH:
        _refuse(unit, f"it is longer than {MAX_LENGTH} characters")
    return _parse_product(unit.translate(_MICRO))


def is_unit(name: str) -> bool:
    """True if a single name (or ``%``) is a unit; a product such as ``GB/s`` is no name."""
    return name.translate(_MICRO) in _NAMES or name == "%"


def spellings(name: str) -> tuple[str, ...]:
    """Return all names of the unit with a name, such as ``("s", "second", "seconds")`` for "s"."""
    groups = [*_BASES, *_DERIVED, *(f"{count} {count}s" for count in _COUNTS.split())]
    return next(tuple(group.split()) for group in groups if name in group.split())


def nearest_unit_hint(name: str) -> str:
    """Return "; did you mean 'GHz'?" for the nearest unit name, or "" if none is near."""
    if name.casefold() in ("kb", "kbs", "kbytes"):
        return "; did you mean 'KiB' (1024 B) or 'kB' (1000 B)?"
    folded = {known.casefold(): known for known in sorted(_NAMES)}
    if name.casefold() in folded:
        return f"; did you mean {folded[name.casefold()]!r}?"
    above = folded.get(re.sub("ps$|psec$|persec$", "", name.casefold()), "")
    if above.endswith(("B", "flop")):
        return f"; did you mean '{above}/s'?"
    return nearest_hint(name[:MAX_LENGTH], sorted(_NAMES))


def dimension(unit: str) -> Dimension:
    """Return the dimension of a unit such as ``"B/s"``, ``"J s^2"``, ``"cycle"`` or ``""``."""
    return _parse_unit(unit)[1]


def to_si_exact(number: float | Fraction, unit: str) -> tuple[Fraction, Dimension]:
    """Return the exact SI value and the dimension of a finite number; see :func:`to_si`.

    The value of a float is that of its shortest decimal form.
    """
    factor, kind = _parse_unit(unit)
    if not isinstance(number, (int, Fraction)):
        number = Fraction(repr(float(number)))
    return number * factor, kind


def to_si(number: float | Fraction, unit: str) -> tuple[float, Dimension]:
    """Convert a number with a unit to SI units or a plain count; return it and its dimension.

    The product is computed exactly and rounded once: 1.3 GHz is 1.3e9, 10 ms is 0.01. Infinities
    and NaN are returned unchanged. A value beyond the range of floats is a :class:`UnitError`.
    """
    if isinstance(number, float) and not math.isfinite(number):
        return float(number), _parse_unit(unit)[1]
    try:
        value, kind = to_si_exact(number, unit)
        return float(value), kind
    except OverflowError:
        raise UnitError(
            f"a number of {unit} is beyond the range of floats: give a smaller one"
        ) from None


def mismatch_message(text: str, actual: Dimension, expected: Dimension, unit: str = "") -> str:
    """Return the message that a value has the wrong dimension; it suggests a unit that fits.

    >>> mismatch_message("'120 GB'", dimension("GB"), dimension("B/s"), "GB")
    "'120 GB' is an amount of data [B], expected a bandwidth [B/s]; give a unit such as 'GB/s'"
    """
    fitting = [known for known in _COMMON if dimension(known) == expected]
    way_out = "give it without a unit"
    if not expected.is_plain:
        near = nearest_hint(unit, fitting).removeprefix("; did you mean ").rstrip("?")
        way_out = f"give a unit such as {near or repr((fitting or [expected.unit])[0])}"
    return f"{text} is {actual}, expected {expected}; {way_out}"
