"""What a unit measures, as exponents of the base units."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Dimension"]

#: Dimensions in words, by the base unit in which they are stored.
_WORDS = {
    "": "a plain number or count",
    "s": "a time",
    "s^2": "a squared time",
    "1/s": "a frequency",
    "B": "an amount of data",
    "B/s": "a bandwidth",
    "s/B": "a time per byte",
    "J": "an energy",
    "J/s": "a power",
    "J/B": "an energy per byte",
    "J s": "an energy-delay product",
    "J s^2": "an energy-delay-squared product",
    "1/J": "work per energy",
    "B/J": "data per energy",
    "K": "a temperature difference",
    "V": "a voltage",
    "A": "a current",
    "degC": "a temperature",
}


@dataclass(frozen=True, slots=True)
class Dimension:
    """What a unit measures: exponents of base units. Hashable; ``str`` says it in words.

    Attributes
    ----------
    exponents : tuple of (str, Fraction)
        Base units and their exponents, sorted, without zeros; empty for numbers and counts.

    >>> from symbolic.units import dimension
    >>> str(dimension("GB/s")), str(dimension("warps"))
    ('a bandwidth [B/s]', 'a plain number or count')
    >>> dimension("B") / dimension("s") == dimension("GB/s")
    True
    """

    exponents: tuple[tuple[str, Fraction], ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it belongs to plain numbers and counts."""
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
        """The base unit in which such values are stored, as ``"B/s"``."""

        def factor(base: str, exponent: Fraction) -> str:
            return base if exponent == 1 else f"{base}^{exponent}"

        above = " ".join(factor(base, exp) for base, exp in self.exponents if exp > 0)
        below = "".join("/" + factor(base, -exp) for base, exp in self.exponents if exp < 0)
        return (above or "1" if below else above) + below

    def __str__(self) -> str:
        unit = self.unit
        words = _WORDS.get(unit, "a quantity")
        shown = "W" if unit == "J/s" else unit
        return f"{words} [{shown}]" if unit else words
