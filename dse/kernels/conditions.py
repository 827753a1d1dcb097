"""Conditions of machine code, and its arithmetic of fixed point, masks and shifts as divisions.

A condition says when a guard holds, as far as that is known before a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dse.kernels.affine import (
    ONE,
    ZERO,
    Atom,
    Whole,
    atom,
    atoms_of,
    constant,
    floordiv,
    rebuilt,
)

#: ``(">=", x)``: x ≥ 0; ``("==", x)``; ``("and", a, b)``, ``("or", a, b)``, ``("not", a)``;
#: ``("true",)``, ``("false",)``; ``("unknown", what)``.
Condition = tuple[Any, ...]
TRUE: Condition = ("true",)
FALSE: Condition = ("false",)


def negated(one: Condition) -> Condition:
    """The opposite."""
    match one:
        case ("true",):
            return FALSE
        case ("false",):
            return TRUE
        case ("not", inside):
            return inside  # type: ignore[no-any-return]
        case (">=", value):
            return (">=", -value - ONE)
    return ("not", one)


def both(one: Condition, two: Condition, *, word: str = "and") -> Condition:
    """One and the other, or one or the other."""
    keeps, ends = (TRUE, FALSE) if word == "and" else (FALSE, TRUE)
    if one in (keeps, two):
        return two
    if two == keeps:
        return one
    return ends if ends in (one, two) else (word, one, two)


def alone(when: Condition) -> list[Condition]:
    """The conditions that must all hold."""
    match when:
        case ("and", one, two):
            return [*alone(one), *alone(two)]
        case ("not", ("or", one, two)):
            return [*alone(negated(one)), *alone(negated(two))]
    return [when]


def truth(word: str, value: Whole) -> Condition:
    """``value >= 0`` or ``value == 0``, decided where it is a number."""
    if (number := value.number) is not None:
        return TRUE if (number >= 0 if word == ">=" else number == 0) else FALSE
    if any(abs(times) >= 2**31 for times in value.terms.values()):
        return ("unknown", ("overflow", 0, 0))  # what is meant to wrap around, such as an inverse
    if word == "==" and (packed := bits(value)) is not None:
        found = TRUE
        for each in packed.values():
            found = both(found, negated(each))
        return found
    if word == ">=":
        if _not_negative(value):
            return TRUE
        if _not_negative(-value - ONE):
            return FALSE
        if (certain := _of_remainder(value)) is not None:
            return certain
        if (certain := _of_remainder(-value - ONE)) is not None:
            return negated(certain)
    return (word, value)


def bits(value: Whole) -> dict[int, Condition] | None:
    """The conditions that a word packs, by their bits, as a register of predicates is kept."""
    found: dict[int, Condition] = {}
    for product, times in value.terms.items():
        if len(product) != 1 or product[0].kind != "if" or times <= 0 or times & (times - 1):
            return None
        found[times.bit_length() - 1] = product[0].of[0]
    return found


def _not_negative(value: Whole) -> bool:
    """True if a sum is of parts that are never negative: sizes, places, passes, remainders."""
    if any(times < 0 for times in value.terms.values()):
        value = _below(value)
    for product, times in value.terms.items():
        if times < 0 or not all(one.kind in _SIZES for one in product):
            return False
        if any(isinstance(p, Whole) and not _not_negative(p) for one in product for p in one.of):
            return False
    return True


def _below(value: Whole) -> Whole:
    """Return what is no larger than a sum: quotients that are taken away are at most n / d."""
    found = value
    for product, times in value.terms.items():
        for one in product:
            if times >= 0 or one.kind != "over" or not (by := one.of[1].number) or times % by:
                continue
            rest = list(product)
            rest.remove(one)
            if by > 0 and _not_negative(Whole({tuple(rest): 1})):
                part = Whole({product: times})
                found = found - part + one.of[0] * Whole({tuple(rest): times // by})
                break
    return found


_SIZES = (
    *("argument", "special", "pass", "over", "exclusive or", "bitwise and", "bitwise or"),
    *("least", "most", "power", "scaled", "if", "first", "total"),
)


def _of_remainder(value: Whole) -> Condition | None:
    """What is certain of n − d ⌊n/d⌋ − d, which is below 0, and of n − d ⌊n/d⌋, which is not."""
    for product in value.terms:
        for one in product:
            if one.kind != "over":
                continue
            above, below = one.of
            left = above - below * Whole({(one,): 1})
            if value == left - below:
                return FALSE
            if value == left:
                return TRUE
    return None


def indicator(when: Condition) -> Whole:
    """Return 1 where a condition holds, else 0."""
    return ONE if when == TRUE else ZERO if when == FALSE else atom("if", when)


class Replacing:
    """Atoms replaced in expressions and conditions, each once, as far as that decides choices."""

    def __init__(self, change: Callable[[Atom], Whole | None]) -> None:
        self._change = change
        self._atoms: dict[Atom, Whole | None] = {}
        self._conditions: dict[Condition, Condition] = {}
        self._values: dict[Whole, Whole] = {}

    def value(self, one: Whole) -> Whole:
        """An expression, replaced."""
        if one not in self._values:
            self._values[one] = rebuilt(one, self._atom, self._atoms)
        return self._values[one]

    def condition(self, one: Condition) -> Condition:
        """A condition, replaced."""
        if one not in self._conditions:
            self._conditions[one] = self._condition(one)
        return self._conditions[one]

    def _condition(self, one: Condition) -> Condition:
        match one:
            case (">=" | "==" as word, value):
                return self._related(word, self.value(value))
            case ("and" | "or" as word, left, right):
                return both(self.condition(left), self.condition(right), word=word)
            case ("not", inside):
                return negated(self.condition(inside))
        return one

    def _related(self, word: str, value: Whole) -> Condition:
        """``value >= 0`` or ``value == 0``, of a value in which atoms are replaced."""
        return truth(word, value)

    def _atom(self, one: Atom) -> Whole | None:
        if one.kind == "if":
            when = self.condition(one.of[0])
            return indicator(when)
        return self._change(one)


_UNKNOWN = ("unknown", "entry", "reciprocal", "table")


def known(when: Condition) -> bool:
    """True if a condition rests on nothing that cannot be followed."""
    return all(one.kind not in _UNKNOWN for one in atoms_of(when))


def high(one: Whole, two: Whole, *, signed: bool) -> Whole:
    """The high half of a product; with a constant it may be a quotient in fixed point."""
    value, factor = (two, one.number) if one.number is not None else (one, two.number)
    if factor is None or abs(factor) < 2**16:
        return ZERO  # of sizes, whose product is no larger than 2^32
    if value.number is not None:
        return constant(value.number * factor >> 32)
    if factor >= 0:
        return _scaled(value, factor, 0)
    found = _scaled(value, factor + 2**32, 0)
    return found - value if signed else found


def _scaled(value: Whole, factor: int, by: int) -> Whole:
    """⌊value factor / 2^(32 + by)⌋, which is ⌊value / d⌋ where the factor is made for that."""
    scale = 2 ** (32 + by)
    divisor = round(scale / factor) if factor else 0
    if divisor > 1 and 0 <= factor * divisor - scale < max(divisor, factor >> 16):
        return floordiv(value, constant(divisor))
    return atom("scaled", value, factor, by)


def shifted_down(value: Whole, by: int) -> Whole:
    """A value shifted down."""
    if len(value.terms) == 1:
        ((product, times),) = value.terms.items()
        if times == 1 and len(product) == 1 and product[0].kind == "scaled":
            inside, factor, before = product[0].of
            return _scaled(inside, factor, before + by)
    return floordiv(value, constant(2**by))


def masked(one: Whole, mask: Whole, where: tuple[int, int]) -> Whole:
    """Some bits of a value; ``where`` it is, tells unknown ones apart."""
    if one.number is not None and mask.number is None:
        one, mask = mask, one
    number = mask.number
    if number is not None:
        number &= 2**32 - 1
        if one.terms and (packed := bits(one)) is not None:
            kept = [
                atom("if", when).times(2**at) for at, when in packed.items() if number >> at & 1
            ]
            return sum(kept, ZERO)
        if one.number is not None:
            return constant(one.number & number)
        least = number & -number
        ones = number // least + 1 if least else 0
        if ones and ones & (ones - 1) == 0:  # bits from one to another
            if number >= 2**24:  # to the highest that sizes have
                return floordiv(one, constant(least)).times(least)
            inside = floordiv(one, constant(least))
            return (inside - floordiv(inside, constant(ones)).times(ones)).times(least)
        if number == 0:
            return ZERO
    elif one.number is None:
        return atom("bitwise and", one, mask)
    return atom("unknown", ("mask", *where))


def quotient(parts: list[Whole]) -> Whole | None:
    """What the high half of a product with a reciprocal is: a refined one, or the quotient."""
    for one, two in ((parts[0], parts[1]), (parts[1], parts[0])):
        if len(one.terms) == 1:
            (product,) = one.terms
            if len(product) == 1 and product[0].kind == "reciprocal":
                if any(each.kind == "reciprocal" for each in two.atoms()):
                    return one
                return floordiv(two, product[0].of[0])
    return None
