"""Arithmetic of machine code: quotients in fixed point, masks and shifts as divisions."""

from __future__ import annotations

from dse.kernels.conditions import bits
from dse.kernels.linear import ZERO, Whole, atom, constant
from dse.kernels.quotients import floordiv

__all__ = ["high", "masked", "power_of_two", "quotient", "shifted_down"]


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


def power_of_two(power: Whole) -> Whole:
    """2 to a power that is no number."""
    return atom("power of two", power)


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
