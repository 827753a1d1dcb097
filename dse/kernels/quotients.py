"""Quotients of whole-number expressions, rounded down.

A division by a constant takes out what it divides, so that ``n - n % 4``, as compilers unroll
loops, divides by 4 again.
"""

from __future__ import annotations

from dse.kernels.linear import ONE, Whole, atom, constant

__all__ = ["floordiv", "remainder"]


def floordiv(one: Whole, two: Whole) -> Whole:
    """The quotient of two expressions, rounded down.

    >>> n = atom("argument", 0)
    >>> floordiv(n - remainder(n, constant(4)), constant(4)) == floordiv(n, constant(4))
    True
    """
    divisor = two.number
    if divisor == 0:
        return atom("unknown", "division by zero")
    if divisor is None:
        exact = _exact(one, two)
        return exact if exact is not None else atom("over", one, two)
    if divisor < 0:
        one, divisor = -one, -divisor
    if divisor == 1:
        return one
    whole = {p: t // divisor for p, t in one.terms.items() if p and t % divisor == 0}
    rest = {p: t for p, t in one.terms.items() if not p or t % divisor}
    number = rest.pop((), 0)
    if not rest:
        return Whole(whole) + constant(number // divisor)
    whole_number, number = divmod(number, divisor)
    rest |= {(): number} if number else {}
    inner = _floor_of_floor(Whole(rest), divisor)
    return Whole(whole) + constant(whole_number) + inner


def _floor_of_floor(one: Whole, divisor: int) -> Whole:
    """(x // a) // b as x // (a b)."""
    if len(one.terms) == 1:
        ((product, times),) = one.terms.items()
        if times == 1 and len(product) == 1 and product[0].kind == "over":
            inside, below = product[0].of
            if (number := below.number) is not None:
                return floordiv(inside, constant(number * divisor))
    return atom("over", one, constant(divisor))


def _exact(one: Whole, two: Whole) -> Whole | None:
    """The quotient where every product of the one has the only product of the other."""
    if len(two.terms) != 1:
        return ONE if one == two else None
    ((below, by),) = two.terms.items()
    terms = {}
    for product, times in one.terms.items():
        left = list(product)
        for each in below:
            if each not in left:
                return None
            left.remove(each)
        if times % by:
            return None
        terms[tuple(left)] = times // by
    return Whole(terms)


def remainder(one: Whole, two: Whole) -> Whole:
    """What a division leaves."""
    return one - two * floordiv(one, two)
